"""Drives in full on paper: gyroscopic rotors, elastic joints, coupled motors and Stribeck friction."""

from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy

import qddot
from qddot import Drive, Inertia, InputError, Transmission
from tests.symbolic.well_formed import assert_well_formed

LINK = Inertia(1.0, (-0.1, 0, 0.02), np.diag([0.01, 0.02, 0.03]))
METHODS = ("lagrange", "jacobian", "newton-euler")
COUPLED = Transmission(
    ("joint1", "joint2"), ((10, 0), (5, -5)), (Drive(rotor_inertia=0.01, viscous=0.1), Drive(rotor_inertia=0.02))
)
STEEP = Drive(coulomb=(0.5, 0.4), static=0.7, stribeck_velocity=3)
RUBBING = Transmission(("joint1", "joint2"), ((-10, 0), (5, -5)), (STEEP, Drive(coulomb=(0.2, 0.1))))


def arm(first=None, second=None, inertia=LINK):
    """Two hinges across each other."""
    return qddot.from_dh([(0.3, np.pi / 2, 0, 0), (0.2, 0, 0, 0)], inertias=[LINK, inertia], drives=[first, second])


ARMS = {
    "gyroscope": lambda: arm(Drive(viscous=0.1), Drive(rotor_inertia=0.1, gear_ratio=5, rotor_axis=(0, 1, 0))),
    "elastic": lambda: arm(None, Drive(rotor_inertia=0.1, series_stiffness=100, series_damping=0.5, viscous=0.2, coulomb=0.3)),
    "elastic gyroscope": lambda: arm(
        None, Drive(rotor_inertia=0.1, gear_ratio=-7, series_stiffness=100, rotor_axis=(0, 1, 1), stiffness=3)
    ),
    "coupled": lambda: arm().with_transmission(COUPLED),
    "rubbing motors": lambda: arm(Drive(coulomb=0.1)).with_transmission(RUBBING),
    "load": lambda: arm(Drive(stiffness=2, load_friction=0.1), Drive(coulomb=0.1, load_friction=0.2, rotor_inertia=0.1)),
    "Stribeck": lambda: arm(Drive(viscous=0.1), Drive(coulomb=(0.5, 0.4), static=(0.9, 0.5), stribeck_velocity=0.1)),
}
every_arm = pytest.mark.parametrize("name", ARMS)


@cache
def robot(name):
    return ARMS[name]()


@cache
def equations(name):
    return robot(name).equations()


@cache
def derivation(name, method):
    return robot(name).derive(method)


@cache
def properties(name):
    return robot(name).properties(effort=0.02)


def state(r, seed=0):
    return np.random.default_rng(seed).normal(size=(3, r.nv))


# derivations ------------------------------------------------------------------------------------------------------------------


@every_arm
@pytest.mark.parametrize("method", METHODS)
def test_every_arm_is_derived_by_every_route(name, method):
    found = derivation(name, method)
    assert found.equations.tau == equations(name).tau
    assert max(check.worst for check in found.checks) < 1e-7
    ElementTree.fromstring(found.html())
    assert_well_formed(found.latex())


@pytest.mark.parametrize(("name", "method"), [*(("elastic gyroscope", method) for method in METHODS), ("Stribeck", "lagrange")])
def test_with_symbols_for_numbers(name, method):
    r = robot(name)
    assert r.derive(method, symbols="inertial").equations.tau.evaluate(*state(r)) == pytest.approx(r.inverse_dynamics(*state(r)))


def test_a_rotor_has_the_energy_of_its_spinning():
    text = derivation("gyroscope", "lagrange").markdown()
    assert r"\sigma_{3} &= \hat s_{3}^{\mathsf T} \omega_{1} + N_{3}^{\mathsf T} \dot q = \dot{q}_{1} + 5 \dot{q}_{2}" in text
    assert r"K_{3} &= \frac{1}{2} J_{3} \sigma_{3}^2" in text
    assert "| 3: joint2.rotor | none | shaft | 1 | turned by $\\dot q_{2}$ |" in text


def test_an_elastic_gear_stores_energy():
    text = derivation("elastic", "lagrange").markdown()
    assert r"P_{4} &= \frac{1}{2} k_{4} (q_{2} - q_{3})^2 = 50 \left(q_{2} - q_{3}\right)^{2}" in text
    assert "The motor of an elastic joint has a coordinate of its own, its angle divided by the gear ratio: here $q_{3}$." in text


def test_coupled_motors_share_the_mass_matrix():
    text = derivation("coupled", "jacobian").markdown()
    assert r"M_{4} &= J_{4} \, j_{4} j_{4}^{\mathsf T} = \begin{bmatrix} 0.5 & -0.5 \\ -0.5 & 0.5 \end{bmatrix}" in text
    assert r"V_{4} &= S_{4} (\dot q_{1}, \dot q_{2})" in derivation("coupled", "newton-euler").markdown()


def test_friction_by_the_load_is_written_by_the_load():
    text = derivation("load", "lagrange").markdown()
    assert r"\tau_{f2} &= 0.1 \operatorname{sign}\left(\dot{q}_{2}\right) + 0.2" in text
    assert r"\operatorname{sign}\left(\dot{q}_{2}\right) \left|\mathrm{load}_{2}\right|" in text
    for method in METHODS:
        said = r"Some friction grows with the load: $\mathrm{load}_i$ is $\tau_i$ without friction."
        assert said in derivation("load", method).markdown()
        assert said not in derivation("Stribeck", method).markdown()


def test_friction_by_a_long_load_is_short():
    """A force may have a hundred terms; what friction makes of it is written as one."""
    rows = [(0.3, np.pi / 2, 0, 0), (0.2, 0, 0.1, 0), (0.1, np.pi / 2, 0, 0), (0.1, 0, 0.2, 0)]
    e = qddot.from_dh(rows, inertias=[LINK] * 4, drives=[Drive(coulomb=0.1, load_friction=0.2), None, None, None]).equations()
    lost = (e.tau - e.load_torque)[0]
    assert lost.terms > 100
    assert e.alphabet.length(lost.entries.item()) == 2


# properties -------------------------------------------------------------------------------------------------------------------


@every_arm
def test_properties(name):
    claims = properties(name)
    for claim in ("symmetry", "positive_definite", "mass_rate", "skew", "no_power", "passivity"):
        assert claims[claim].holds, claim
        assert claims[claim].how.startswith("exact")


@pytest.mark.parametrize("name", ["gyroscope", "elastic gyroscope", "coupled"])
def test_bounds_hold(name):
    r, claims = robot(name), properties(name)
    q, qd, _ = np.random.default_rng(1).uniform(-np.pi, np.pi, (3, 50, r.nv))
    for norm in (1, 2, np.inf):
        size = np.linalg.norm(r.mass_matrix(q), norm, axis=(-2, -1))
        c = np.linalg.norm(r.coriolis_torque(q, qd), norm, axis=-1) / np.linalg.norm(qd, norm, axis=-1) ** 2
        assert (size <= claims.mu_2[norm].rigorous * (1 + 1e-9)).all()
        assert (c <= claims.c_b[norm].rigorous * (1 + 1e-9)).all()
    assert np.linalg.eigvalsh(r.mass_matrix(q)).min() >= claims.mu_1[2].rigorous


def test_a_rotor_will_do_for_a_link():
    light = Inertia.point(0.0, (0, 0, 0))
    claims = arm(None, Drive(rotor_inertia=0.1, rotor_axis=(1, 0, 0)), light).properties(effort=0.02)
    assert claims["positive_definite"].holds
    assert "or of its rotor" in claims["positive_definite"].how


def test_a_motor_without_inertia_leaves_the_mass_matrix_singular():
    claims = arm(None, Drive(series_stiffness=100)).properties(effort=0.02)
    assert claims["positive_definite"].holds is False
    assert claims["positive_definite"].how == "exact: row 3 of M is 0 at every q, its motor has no inertia"
    assert claims["passivity"].holds


def test_passivity_whatever_the_friction():
    claims = arm(None, Drive(load_friction=0.2)).properties(effort=0.02)
    assert claims["passivity"].holds
    assert claims["passivity"].statement == "d(K + P)/dt = tau . qd - friction . qd"


# parameters -------------------------------------------------------------------------------------------------------------------


@every_arm
def test_regressor_is_the_compiled_one(name):
    r = robot(name)
    Y, remainder, names = equations(name).regressor()
    assert names == tuple(r.parameter_names)
    assert not remainder
    for seed in range(3):
        np.testing.assert_allclose(Y.evaluate(*state(r, seed)), r.regressor(*state(r, seed)), atol=1e-12)


@every_arm
def test_base_parameters_give_the_joint_forces(name):
    r, base = robot(name), equations(name).base_parameters()
    x = [state(r, seed) for seed in range(20)]
    stacked = np.concatenate([r.regressor(*s) for s in x])
    assert base.rank == np.linalg.matrix_rank(stacked, tol=1e-9 * np.linalg.norm(stacked))
    found = base.regressor.evaluate(*x[0]) @ base.values.evaluate(x[0][0])
    np.testing.assert_allclose(found, r.inverse_dynamics(*x[0]), atol=1e-12)


def test_why_a_rotor_hides():
    r = arm(None, Drive(rotor_inertia=0.1, gear_ratio=5, rotor_axis=(1, 0, 0)))
    reason = r.equations().base_parameters().grouped["joint2.rotor.inertia"]
    assert "link2.Izz + 25*joint2.rotor.inertia" in reason
    assert "joint2.rotor spins with what the same joints move" in reason


def test_parameters_of_drives_by_name():
    K, J = sympy.symbols("K J", positive=True)
    e = arm(None, Drive(rotor_inertia=J, gear_ratio=3, series_stiffness=K)).equations()
    joint, motor, faster = e.q[1], e.q[2], 9 * e.qdd[2]
    assert not e.regressor(["K", "J"]).Y - [[0, 0], [joint - motor, 0], [motor - joint, faster]]
    assert e.identifiability(["K", "J"]).alone == ("K", "J")


def test_parameters_of_stribeck_friction_by_name():
    F, S, v = sympy.symbols("F S v", positive=True)
    e = arm(None, Drive(coulomb=F, static=S, stribeck_velocity=v)).equations()
    Y, remainder, _ = e.regressor(["F", "S"])
    assert (Y @ [e.read("F"), e.read("S")] + remainder) == e.tau
    assert e.identifiability(["F", "S"]).alone == ("F", "S")
    with pytest.raises(InputError, match="not linear in v"):
        e.regressor(["v"])
