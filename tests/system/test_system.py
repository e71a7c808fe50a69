"""Systems from their energies: SymPy's LagrangesMethod as oracle, the tree's equations in the ring, and everything a robot does."""

from __future__ import annotations

import pickle
import shutil
import subprocess

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

import qddot
from qddot import System
from qddot.errors import InputError, SingularityError, UnboundSymbolError, UnknownNameError

CART = {
    "T": "M*xd**2/2 + m*(xd**2 + 2*l*xd*thetad*cos(theta) + l**2*thetad**2)/2",
    "V": "m*g*l*cos(theta)",
    "coordinates": ["x", "theta"],
}

TEN = {
    "pendulum": {"T": "m*l**2*thetad**2/2", "V": "-m*g*l*cos(theta)", "coordinates": ["theta"], "dissipation": "b*thetad**2/2"},
    "pendulum on a cart": {**CART, "dissipation": "b*xd**2/2 + k*thetad**2/2"},
    "double pendulum": {
        "T": "(m1 + m2)*a**2*q1d**2/2 + m2*l**2*q2d**2/2 + m2*a*l*q1d*q2d*cos(q1 - q2)",
        "V": "-(m1 + m2)*g*a*cos(q1) - m2*g*l*cos(q2)",
        "coordinates": ["q1", "q2"],
    },
    "bead on a parabola": {"T": "m*(1 + 4*a**2*x**2)*xd**2/2", "V": "m*g*a*x**2", "coordinates": ["x"]},
    "bead on a turning hoop": {
        "T": "m*r**2*(thetad**2 + w**2*sin(theta)**2)/2",
        "V": "-m*g*r*cos(theta)",
        "coordinates": ["theta"],
    },
    "point on a turntable": {
        "T": "m*((xd - w*y)**2 + (yd + w*x)**2)/2",
        "V": "k*(x**2 + y**2)/2",
        "coordinates": ["x", "y"],
    },
    "RP arm in polar coordinates": {
        "T": "m*(rd**2 + r**2*phid**2)/2 + J*phid**2/2",
        "V": "m*g*r*sin(phi)",
        "coordinates": ["phi", "r"],
    },
    "central force": {"T": "m*(rd**2 + r**2*phid**2)/2", "V": "-k/r", "coordinates": ["r", "phi"]},
    "spherical pendulum": {
        "T": "m*l**2*(thetad**2 + sin(theta)**2*phid**2)/2",
        "V": "-m*g*l*cos(theta)",
        "coordinates": ["theta", "phi"],
        "forces": {"phi": "-b*phid*sin(theta)**2"},
    },
    "pendulum on a spring": {
        "T": "m*(rd**2 + r**2*thetad**2)/2",
        "V": "k*(r - l)**2/2 - m*g*r*cos(theta)",
        "coordinates": ["r", "theta"],
        "dissipation": "b*rd**2/2",
    },
}


def oracle(given: dict) -> tuple[sympy.Matrix, list, list]:
    """tau of SymPy's LagrangesMethod, in its dynamic symbols; and these."""
    names = given["coordinates"]
    q = [dynamicsymbols(x) for x in names]
    qd = [x.diff() for x in q]
    local = dict(zip(names, q)) | {f"{x}d": f for x, f in zip(names, qd)}
    read = lambda x: sympy.sympify(x, locals={**{s: sympy.Symbol(s) for s in "gJS"}, **local})  # noqa: E731
    D, forces = read(given.get("dissipation", 0)), given.get("forces", {})
    L = read(given["T"]) - read(given["V"])
    method = LagrangesMethod(L, q)
    method.form_lagranges_equations()
    Q = sympy.Matrix([read(forces.get(x, 0)) for x in names])
    return method.eom + sympy.Matrix([sympy.diff(D, v) for v in qd]) - Q, q, qd


@pytest.mark.parametrize("name", TEN)
def test_sympys_lagranges_method_agrees(name):
    given = TEN[name]
    system = System(**given)
    rng = np.random.default_rng(0)
    values = {s.name: float(rng.uniform(0.5, 1.5)) for s in system.symbols}
    numeric = system.subs(values)
    tau, q, qd = oracle(given)
    x = rng.uniform(0.3, 1.2, size=(3, 5, system.nv))
    found = numeric.inverse_dynamics(*x)
    for k in range(5):
        motion = dict(zip([f.diff().diff() for f in q], x[2, k])) | dict(zip(qd, x[1, k])) | dict(zip(q, x[0, k]))
        wanted = tau.subs({f.diff().diff(): v for f, v in zip(q, x[2, k])}).subs(motion)
        wanted = wanted.subs({sympy.Symbol(s): v for s, v in values.items()})
        assert_allclose(found[k], np.array(wanted, float).ravel(), rtol=1e-10, atol=1e-11)
    assert_allclose(numeric.inverse_dynamics(x[0], x[1], numeric.forward_dynamics(*x)), x[2], rtol=1e-8, atol=1e-8)
    if name != "central force":  # 1/r is no polynomial
        closed = system.equations().tau
        assert_allclose(closed.evaluate(*x[:, 0], parameters=values), found[0], rtol=1e-9, atol=1e-9)
        A, _ = system.equations().linearize()
        assert_allclose(
            A.evaluate(*x[:, 0], parameters=values), numeric.linearize(x[0, 0], x[1, 0], found[0]).A, rtol=1e-8, atol=1e-8
        )
    else:
        with pytest.raises(InputError, match="no canonical closed form"):
            _ = system.equations().tau


def test_kanes_method_agrees_on_the_cart():
    x, theta = dynamicsymbols("x theta")
    u, w = dynamicsymbols("u w")
    M, m, l, g = sympy.symbols("M m l g")
    N, O = ReferenceFrame("N"), Point("O")
    O.set_vel(N, 0)
    cart, bob = O.locatenew("C", x * N.x), O.locatenew("B", (x + l * sympy.sin(theta)) * N.x + l * sympy.cos(theta) * N.y)
    put = {x.diff(): u, theta.diff(): w}
    cart.set_vel(N, cart.pos_from(O).dt(N).subs(put))
    bob.set_vel(N, bob.pos_from(O).dt(N).subs(put))
    method = KanesMethod(N, [x, theta], [u, w], [x.diff() - u, theta.diff() - w])
    method.kanes_equations([Particle("c", cart, M), Particle("b", bob, m)], [(bob, -m * g * N.y)])
    values = {"M": 1.3, "m": 0.4, "l": 0.7, "g": 9.81}
    system = System(**CART, values=values)
    q, qd = np.array([0.2, 0.9]), np.array([0.5, -1.1])
    at = {x: q[0], theta: q[1], u: qd[0], w: qd[1]} | {sympy.Symbol(k): v for k, v in values.items()}
    qdd = np.array(method.mass_matrix.subs(at).LUsolve(method.forcing.subs(at)), float).ravel()
    assert_allclose(system.forward_dynamics(q, qd, [0, 0]), qdd, rtol=1e-12)


# the tree's equations, where both exist --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_link", "cart_pole", "acrobot", "rp_arm", "point_mass_2r"])
def test_the_ring_sees_that_tree_and_system_are_one(name):
    robot = qddot.load(name)
    tree = robot.equations()
    T, V = tree.kinetic_energy.sympy(), tree.potential_energy.sympy()
    system = System(T, V, coordinates=[f"q{i + 1}" for i in range(robot.nv)])
    own = system.equations()
    drives = tree.friction_torque.sympy()
    for quantity in ("mass_matrix", "coriolis_torque", "christoffel"):
        assert getattr(own, quantity) == Form_in(own, getattr(tree, quantity))
    assert own.gravity_torque == Form_in(own, tree.gravity_torque + tree.spring_torque)
    assert own.inverse_dynamics == Form_in(own, tree.inverse_dynamics - tree.friction_torque)
    assert drives.shape == (robot.nv, 1)


def Form_in(equations, form):
    """A form of other equations, read by these."""
    from qddot.symbolic.form import Form

    return Form(equations, np.vectorize(lambda x: x.adopted(equations.alphabet.ring), otypes=[object])(form.entries))


# everything a robot does -----------------------------------------------------------------------------------------------------


def test_batches_derivatives_energies_and_simulation():
    system = System(**CART, values={"M": 1, "m": 0.1, "l": 0.5, "g": 9.81})
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 40, 2))
    qdd = system.forward_dynamics(q, qd, tau)
    assert_array_equal(qdd[7], system.forward_dynamics(q[7], qd[7], tau[7]))
    slopes = system.forward_dynamics_derivatives(q, qd, tau)
    h = 1e-6
    for k in range(2):
        e = np.eye(2)[k] * h
        for found, ends in (
            (slopes.dqdd_dq, (system.forward_dynamics(q + e, qd, tau), system.forward_dynamics(q - e, qd, tau))),
            (slopes.dqdd_dqd, (system.forward_dynamics(q, qd + e, tau), system.forward_dynamics(q, qd - e, tau))),
            (slopes.dqdd_dtau, (system.forward_dynamics(q, qd, tau + e), system.forward_dynamics(q, qd, tau - e))),
        ):
            assert_allclose(found[..., k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-6)
    C, rate = system.coriolis_matrix(q, qd), system.mass_matrix_rate(q, qd)
    assert_allclose(rate - C, C.swapaxes(-1, -2), atol=1e-12)
    assert_allclose(np.einsum("bij,bj->bi", C, qd), system.coriolis_torque(q, qd), atol=1e-12)
    motion = system.simulate(q[:8], qd[:8], 2.0, step=1e-3)
    start, end = (system.hamiltonian(motion.q[k], motion.qd[k]) for k in (0, -1))
    assert_allclose(end, start, rtol=1e-7, atol=1e-8)
    p = system.generalized_momentum(q, qd)
    assert_allclose(system.hamiltonian_of_momentum(q, p), system.hamiltonian(q, qd), atol=1e-12)
    rates = system.hamilton_rates(q, p, tau)
    assert_allclose(rates.qd, qd, atol=1e-11)
    pd = np.einsum("bij,bj->bi", system.mass_matrix(q), qdd) + np.einsum("bij,bj->bi", rate, qd)
    assert_allclose(rates.pd, pd, atol=1e-10)
    assert_array_equal(pickle.loads(pickle.dumps(system)).mass_matrix(q), system.mass_matrix(q))


def test_tree_and_system_simulate_alike():
    robot = qddot.load("acrobot")
    equations = robot.equations()
    system = System(equations.kinetic_energy.sympy(), equations.potential_energy.sympy(), coordinates=["q1", "q2"])
    mine, other = (x.simulate([1.0, 0.5], [0.1, -0.3], 2.0) for x in (system, robot))
    assert_allclose(mine.q, other.q, atol=1e-9)


def test_jacobis_integral_where_axes_are_driven():
    """Energy is not kept on a hoop that is turned, `qd dL/dqd - L` is."""
    system = System(**TEN["bead on a turning hoop"], values={"m": 1.0, "w": 3.0, "r": 0.5, "g": 9.81})
    motion = system.simulate([0.3], [0.5], 5.0)
    kept = system.hamiltonian(motion.q, motion.qd)
    assert np.ptp(kept) < 1e-9
    assert np.ptp(system.kinetic_energy(motion.q, motion.qd) + system.potential_energy(motion.q)) > 1e-2
    p = system.generalized_momentum(motion.q, motion.qd)
    assert_allclose(system.hamiltonian_of_momentum(motion.q, p), kept, atol=1e-12)


def test_constraints():
    """A pendulum in Cartesian coordinates is a pendulum; a rolling coin has a velocity constraint."""
    system = System(
        "m*(xd**2 + yd**2)/2", "m*g*y", coordinates="x y", constraints=["x**2 + y**2 - l**2"], values={"m": 1, "g": 9.81, "l": 1}
    )
    swing = System("thetad**2/2", "-9.81*cos(theta)", coordinates=["theta"])
    held, free = system.simulate([np.sin(0.5), -np.cos(0.5)], None, 2.0), swing.simulate([0.5], None, 2.0)
    assert_allclose(np.arctan2(held.q[:, 0], -held.q[:, 1]), free.q[:, 0], atol=1e-6)
    assert_allclose(system.constraint_residual(held.q), 0, atol=1e-9)
    rolling = System("m*xd**2/2 + J*phid**2/2", "-m*g*x*s", coordinates="x phi", constraints="xd - r*phid")
    numeric = rolling.subs({"m": 2.0, "J": 0.5, "r": 0.4, "g": 9.81, "s": 0.3})
    qdd = numeric.constrained_forward_dynamics([0, 0], [0.4, 1.0], [0, 0]).qdd
    assert_allclose(qdd, [9.81 * 0.3 / (1 + 0.5 / (2 * 0.16))] / np.array([1, 0.4]), rtol=1e-12)


def test_limits_are_stops():
    system = System("xd**2/2", "9.81*x", coordinates=["x"], limits={"x": (0, 10)})
    motion = system.simulate([1.0], None, 2.0)
    assert_allclose(motion.q[-1], 0.0, atol=1e-12)
    assert_allclose(motion.qd[-1], 0.0)


@pytest.mark.parametrize("method", ["semi_implicit", "rk4", "variational"])
def test_tree_and_system_roll_out_alike(method):
    robot = qddot.load("acrobot")
    equations = robot.equations()
    system = System(equations.kinetic_energy.sympy(), equations.potential_energy.sympy(), coordinates=["q1", "q2"])
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 5, 2))
    runs = [x.rollout(step=2e-3, method=method, stops=False, saturate=False) for x in (system, robot)]
    mine, other = (run(q, qd, tau, steps=100, every=50) for run in runs)
    assert_allclose(mine.q, other.q, atol=1e-12)
    assert_allclose(mine.qd, other.qd, atol=1e-11)
    if method == "variational":
        return
    mine, other = (run.differentiable(q, qd, tau, steps=20, every=20)(q=np.ones((2, 5, 2))) for run in runs)
    assert_allclose(mine.q0, other.q0, atol=1e-11)
    assert_allclose(mine.control, other.control, atol=1e-11)


def test_a_law_and_stops_within_a_rollout():
    system = System(
        **CART, limits={"x": (-0.2, 0.2)}, dissipation="b*xd**2", values={"M": 1, "m": 0.1, "l": 0.5, "g": 9.81, "b": 1}
    )
    q, tau = np.array([0.0, np.pi - 0.3]), [2.0, 0.0]
    found = system.rollout(step=1e-3, method="rk4")(q, None, tau, steps=800, every=100)
    motion = system.simulate(q, None, 0.8, torque=np.array(tau), method="rk4", step=1e-3, every=100)
    assert_allclose(found.q, motion.q, atol=1e-9)
    assert found.q[-1, 0] == pytest.approx(0.2)
    law = qddot.rollout.ComputedTorqueLaw(kp=25, kd=10)
    assert_allclose(system.rollout(law, stops=False)(q, None, [0.1, 0.2], steps=3000, every=3000).q[-1], [0.1, 0.2], atol=1e-3)


def test_rollouts_under_constraints():
    values = {"m": 1, "g": 9.81, "l": 1}
    system = System("m*(xd**2 + yd**2)/2", "m*g*y", coordinates="x y", constraints=["x**2 + y**2 - l**2"], values=values)
    angles = np.array([0.3, 0.5, 1.0])
    q = np.stack([np.sin(angles), -np.cos(angles)], -1)
    motion = system.simulate(q, None, 1.0, method="rk4", step=1e-3, every=500)
    assert_allclose(system.rollout(step=1e-3, method="rk4")(q, None, None, steps=1000, every=500).q, motion.q, atol=1e-9)
    run = system.rollout(step=1e-3)
    assert_allclose(np.linalg.norm(run(q, None, None, steps=1000, every=500).q, axis=-1), 1, atol=1e-12)
    slope = run.differentiable(q[0], None, np.zeros(2), steps=50, every=50)(q=np.array([[0, 0], [1.0, 0]])).control
    h = 1e-5
    ends = [run(q[0], None, [x, 0.0], steps=50, every=50).q[-1, 0] for x in (h, -h)]
    assert_allclose(slope[0], (ends[0] - ends[1]) / (2 * h), rtol=1e-6)
    with pytest.raises(InputError, match=r"violates the constraints, constraint 'constraint 1'"):
        run(1.1 * q, None, None, steps=1)
    with pytest.raises(InputError, match="l stands in a constraint"):
        system.with_variable("l")
    light = system.with_variable("g").rollout(step=1e-3)
    fallen = light(q, None, None, steps=100, every=100, variables={"g": [0.0, 9.81, 20.0]}).q[-1]
    assert_allclose(fallen[0], q[0], atol=1e-15)
    assert_allclose(fallen[1], run(q[1], None, None, steps=100, every=100).q[-1], atol=1e-12)


def test_symbols_that_vary_in_a_batch(tmp_path):
    values = {"M": 1, "m": 0.1, "l": 0.5, "g": 9.81, "b": 0.3}
    system = System(**CART, dissipation="b*xd**2/2", values=values)
    several = system.with_variable("l", "b")
    assert isinstance(several, System)
    rng = np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, 4, 2))
    l, b = rng.uniform(0.2, 1.0, (2, 4))
    found = several.forward_dynamics(q, qd, tau, variables={"l": l, "b": b})
    rolled = several.rollout(step=1e-3)(q, qd, tau, steps=100, every=100, variables={"l": l, "b": b}).q[-1]
    for k in range(4):
        alone = System(**CART, dissipation="b*xd**2/2", values={**values, "l": l[k], "b": b[k]})
        assert_allclose(found[k], alone.forward_dynamics(q[k], qd[k], tau[k]), rtol=1e-12)
        assert_allclose(rolled[k], alone.rollout(step=1e-3)(q[k], qd[k], tau[k], steps=100, every=100).q[-1], atol=1e-12)
        assert_allclose(several.with_values({"l": l[k], "b": b[k]}).forward_dynamics(q[k], qd[k], tau[k]), found[k], rtol=1e-12)
    assert_allclose(several.forward_dynamics(q, qd, tau), system.forward_dynamics(q, qd, tau), rtol=1e-12)
    way = several.rollout(step=1e-3).differentiable(q, qd, tau, steps=50, every=50, variables={"l": l, "b": b})
    slopes = way(q=np.array([np.zeros((4, 2)), np.ones((4, 2))])).variables
    ends = [several.rollout(step=1e-3)(q, qd, tau, steps=50, every=50, variables={"l": l + h, "b": b}) for h in (1e-5, -1e-5)]
    assert_allclose(slopes[:, 0], (ends[0].q[-1] - ends[1].q[-1]).sum(-1) / 2e-5, rtol=1e-5)
    assert pickle.loads(pickle.dumps(several)).variables == several.variables
    with pytest.raises(UnknownNameError, match="no variable 'k'"):
        system.with_variable("k")
    with pytest.raises(InputError, match="l has no value yet"):
        System(**CART).with_variable("l")


def test_variational_steps_keep_the_energy():
    values = {"m": 1.0, "k": 20.0, "l": 1.0, "g": 9.81, "b": 0.0}
    system = System(**TEN["pendulum on a spring"], values=values)
    motion = system.simulate([1.5, 0.5], None, 20.0, step=0.02, method="variational")
    assert np.ptp(motion.energy) < 0.05
    assert np.ptp(system.simulate([1.5, 0.5], None, 20.0, step=0.005, method="variational").energy) < 0.05 / 15  # of order two
    turned = System(**TEN["point on a turntable"], values={"m": 1, "w": 1, "k": 3})
    with pytest.raises(InputError, match="without terms linear in the velocities"):
        turned.simulate([0.3, 0], None, 1.0, method="variational")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_exported_c(tmp_path):
    system = System(**CART, values={"M": 1, "m": 0.1, "l": 0.5, "g": 9.81}, name="cart")
    files = system.export_c(tmp_path, ["mass_matrix", "forward_dynamics"])
    sources = [str(f) for f in files if f.suffix == ".c"]
    subprocess.run(["cc", "-std=c99", "-O2", "-o", str(tmp_path / "test"), *sources, "-lm"], check=True, cwd=tmp_path)
    subprocess.run([str(tmp_path / "test")], check=True)


@pytest.mark.parametrize("name", ["pendulum on a cart", "RP arm in polar coordinates", "spherical pendulum"])
def test_derivations(name, tmp_path):
    derivation = System(**TEN[name], name=name).derive()
    assert max(check.worst for check in derivation.checks) < 1e-12
    assert "The momenta" in derivation.markdown()
    assert derivation.save(tmp_path / "derivation.html").stat().st_size > 1000
    assert "begin{document}" in derivation.latex()


# what makes no sense ---------------------------------------------------------------------------------------------------------


def test_sympys_dynamicsymbols_are_understood():
    x, theta = dynamicsymbols("x theta")
    m, l = sympy.symbols("m l", positive=True)
    T = m * (x.diff() ** 2 + l**2 * theta.diff() ** 2 + 2 * l * x.diff() * theta.diff() * sympy.cos(theta)) / 2
    system = System(T, coordinates=[x, theta])
    assert system.joint_names == ("x", "theta")
    assert system.equations().mass_matrix.sympy()[1, 1] == m * l**2


def test_what_has_no_equations_is_refused():
    bead = System("m*xd**2/2", coordinates=["x"], values={"m": 1})
    with pytest.raises(InputError, match="without links that could touch"):
        qddot.contact.Contacts(bead, [qddot.contact.Sphere("body of x", 0.1)], [qddot.contact.Plane()])
    with pytest.raises(InputError, match="does not depend on the velocity of 'y'"):
        System("m*xd**2/2", coordinates=["x", "y"])
    with pytest.raises(SingularityError, match="singular at every q"):
        System("m*(xd + yd)**2/2", coordinates=["x", "y"])
    with pytest.raises(InputError, match="not quadratic"):
        System("m*xd**4", coordinates=["x"])
    with pytest.raises(InputError, match="V depends on the velocity"):
        System("m*xd**2/2", "xd*x", coordinates=["x"])
    with pytest.raises(InputError, match="exp"):
        System("xd**2/2", sympy.exp(sympy.Symbol("x")), coordinates=["x"])
    with pytest.raises(InputError, match="time"):
        System("xd**2/2", "x*t", coordinates=["x"])
    with pytest.raises(InputError, match="coordinates"):
        System("xd**2/2", coordinates=[])
    with pytest.raises(UnknownNameError, match="z"):
        System("xd**2/2", coordinates=["x"], forces={"z": 1})
    with pytest.raises(InputError, match="not linear in the velocities"):
        System("xd**2/2", coordinates=["x"], constraints=["xd**2 - 1"])
    with pytest.raises(InputError, match="no coordinate"):
        System("xd**2/2", coordinates=["x"], constraints=["l - 1"])
    with pytest.raises(InputError, match="not an expression"):
        System(None, coordinates=["x"])
    system = System(**CART)
    with pytest.raises(UnboundSymbolError, match="M, g, l, m"):
        system.mass_matrix([0, 0])
    with pytest.raises(UnknownNameError, match="mm"):
        system.subs({"mm": 1})
    numeric = system.subs({"M": 1, "m": 1, "l": 1, "g": 9.81})
    for call in (
        lambda: numeric.transform([0, 0], "x"),
        lambda: numeric.to_urdf("x.urdf"),
        lambda: numeric.regressor([0, 0], [0, 0], [0, 0]),
    ):
        with pytest.raises(InputError, match="energies"):
            call()
    with pytest.raises(InputError, match="energies"):
        numeric.forward_dynamics([0, 0], [0, 0], [0, 0], f_ext={"x": np.zeros(6)})
    with pytest.raises(SingularityError, match="positive definite"):
        System("r**2*phid**2/2 + rd**2/2", coordinates="r phi").forward_dynamics([0, 0], [0, 0], [0, 0])
