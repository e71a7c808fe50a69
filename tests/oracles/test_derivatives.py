"""Derivatives, the Coriolis matrix, the regressor, energies, momentum and frames against Pinocchio."""

import sys
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import qddot  # noqa: E402
from qddot.robot import Robot  # noqa: E402
from tests.oracles.comparison import EPS, Plain, State, assert_close  # noqa: E402
from tests.oracles.pinocchio_oracle import described, parsed  # noqa: E402
from tests.oracles.random_trees import FRAME, random_tree  # noqa: E402
from tests.slow import slow_but  # noqa: E402

ROBOTS = next((p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists()), None)
if ROBOTS is None:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

FIXED = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
}
FLOATING = {
    "floating solo12": "solo_description/robots/solo12.urdf",
    "floating anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "floating panda": "panda_description/urdf/panda.urdf",
}
COUPLED = {"panda", "floating panda"}  # one finger follows the other
TREES = range(2000, 2040)
LARGEST = 12


def real(name: str):
    floating = name in FLOATING
    path = ROBOTS / {**FIXED, **FLOATING}[name]
    robot = qddot.load(path, floating=floating)
    return robot, parsed(path, robot.model, floating=floating), State.random(robot.model, np.random.default_rng(5))


def tree(seed: int):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 1 + seed % LARGEST)
    return Plain(model), described(model), State.random(model, rng)


UNCOUPLED = [seed for seed in TREES if not random_tree(np.random.default_rng(seed), 1 + seed % LARGEST).leaders]


def real_and_random(name):
    return real(name) if isinstance(name, str) else tree(name)


everything = pytest.mark.parametrize("name", [*FIXED, *FLOATING, *slow_but(TREES, *TREES[::3])])


@everything
def test_inverse_dynamics(name):
    ours, oracle, state = real_and_random(name)
    found, reference = ours.inverse_dynamics_derivatives(*state), oracle.inverse_dynamics_derivatives(*state)
    for what, one, other in zip(("dtau/dq", "dtau/dqd", "dtau/dqdd"), found, reference, strict=True):
        assert_close(one, other, what=what, floor=1e-2 * np.abs(reference[0]).max())


@pytest.mark.parametrize("name", [*sorted({*FIXED, *FLOATING} - COUPLED), *slow_but(UNCOUPLED, *UNCOUPLED[::3])])
def test_forward_dynamics(name):
    """But where joints follow others: Pinocchio's derivatives of forward dynamics do not project."""
    ours, oracle, (q, qd, qdd) = real_and_random(name)
    tau = oracle.inverse_dynamics(q, qd, qdd)
    found = ours.forward_dynamics_derivatives(q, qd, tau + oracle.drive_torque(q, qd))
    reference = oracle.forward_dynamics_derivatives(q, qd, tau)
    tolerance = max(50 * np.linalg.cond(oracle.mass_matrix(q)) * EPS, 1e-12)
    for what, one, other in zip(("dqdd/dq", "dqdd/dqd", "dqdd/dtau"), found, reference, strict=True):
        assert_close(one, other, tolerance, what=what, floor=1e-2 * np.abs(reference[0]).max())


@everything
def test_forward_dynamics_undoes_inverse(name):
    """Also where joints follow others: dqdd/dx = -M^-1 dtau/dx at the acceleration itself."""
    ours, oracle, (q, qd, qdd) = real_and_random(name)
    dq, dqd, M = oracle.inverse_dynamics_derivatives(q, qd, qdd)
    found = ours.forward_dynamics_derivatives(q, qd, oracle.inverse_dynamics(q, qd, qdd) + oracle.drive_torque(q, qd))
    tolerance = max(50 * np.linalg.cond(M) * EPS, 1e-12)
    reference = [-np.linalg.solve(M, dq), -np.linalg.solve(M, dqd), np.linalg.inv(M)]
    for one, other in zip(found, reference, strict=True):
        assert_close(one, other, tolerance, floor=1e-2 * np.abs(reference[0]).max())


@everything
def test_coriolis_matrix(name):
    """Pinocchio's matrix is the same factor of C qd: equal as matrices."""
    ours, oracle, (q, qd, _) = real_and_random(name)
    C, reference = ours.coriolis_matrix(q, qd), oracle.coriolis_matrix(q, qd)
    floor = 1e-2 * np.abs(oracle.mass_matrix(q)).max()
    assert_close(C, reference, what="C", floor=floor)
    assert_close(C @ qd, oracle.coriolis_torque(q, qd), what="C qd", floor=floor)


@everything
def test_mass_matrix_rate(name):
    """Of the mass matrix there, by a central difference."""
    ours, oracle, (q, qd, _) = real_and_random(name)
    robot = ours if isinstance(ours, Robot) else Robot(ours.lifted.source)
    step = 1e-5
    ahead, behind = (oracle.mass_matrix(robot.integrate(q, sign * step * qd)) for sign in (1, -1))
    floor = np.abs(oracle.mass_matrix(q)).max()
    assert_close(ours.mass_matrix_rate(q, qd), (ahead - behind) / (2 * step), 1e-7, what="dM/dt", floor=floor)


@pytest.mark.parametrize("name", [*FIXED, *FLOATING])
def test_regressor(name):
    """Ten columns a link: the same numbers as there, whose joint frames are the URDF's link frames."""
    robot, oracle, state = real(name)
    Y, links = robot.regressor(*state), 10 * len(robot.body_names)
    assert_close(Y[:, :links], oracle.regressor(*state), what="regressor")
    pi = np.concatenate([oracle.parameters(d) for d in oracle.driven])
    assert_close(robot.parameters()[:links], pi, what="parameters")
    assert_close(Y @ robot.parameters(), robot.inverse_dynamics(*state), what="Y pi")


@everything
def test_energy_and_momentum(name):
    ours, oracle, (q, qd, _) = real_and_random(name)
    assert_close(ours.kinetic_energy(q, qd), oracle.kinetic_energy(q, qd), what="kinetic energy")
    gravity = ours.potential_energy(q) - oracle.spring_energy(q)
    size = np.abs(oracle.center_of_mass(q)).max() * 9.81 * pin.computeTotalMass(oracle.model)
    assert_close(gravity, oracle.gravity_energy(q), what="potential energy", floor=size + oracle.spring_energy(q))
    assert_close(ours.center_of_mass(q), oracle.center_of_mass(q), what="centre of mass")
    assert_close(ours.momentum(q, qd), oracle.momentum(q, qd), what="momentum")


@pytest.mark.parametrize("seed", TREES)
def test_frames(seed):
    plain, oracle, (q, qd, _) = tree(seed)
    assert_close(plain.transform(q, frame=FRAME), oracle.transform(q, FRAME), what="pose")
    for reference in ("space", "body", "world_aligned"):
        J = oracle.jacobian(q, FRAME, reference)
        Jdot = oracle.jacobian_dot(q, qd, FRAME, reference)
        assert_close(plain.jacobian(q, frame=FRAME, reference=reference), J, what=f"{reference} J")
        assert_close(
            plain.jacobian_dot(q, qd, frame=FRAME, reference=reference), Jdot, what=f"{reference} dJ/dt", floor=np.abs(J).max()
        )


@pytest.mark.parametrize("name", [*FIXED, *FLOATING])
def test_every_link_pose(name):
    robot, oracle, state = real(name)
    plain = Plain(robot.model)
    for link in robot.link_names:
        if link in oracle.frames:
            assert_close(plain.transform(state.q, frame=link), oracle.transform(state.q, link), what=f"pose of {link}")
    assert len(set(robot.link_names) & set(oracle.frames)) >= len(robot.link_names) - 1
