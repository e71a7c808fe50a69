"""JAX arrays: the same numbers, every transform in every order, and errors in our words."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-arrays")

import jax.numpy as jnp  # noqa: E402

import qddot  # noqa: E402
from qddot.arrays import xla_ir  # noqa: E402
from qddot.errors import InputError, SingularityError  # noqa: E402
from tests.arrays.cases import (  # noqa: E402
    CALLS,
    arm,
    fresh_arm,
    parts,
    singular_where_the_mass_is_on_the_axis,
    states,
    with_quaternions,
    without_joints,
)

jax.config.update("jax_enable_x64", True)


def arrays(robot, lead=(), seed=0, dtype=np.float64):
    return {name: jnp.asarray(x, dtype) for name, x in states(robot, lead, seed).items()}


def three_of(robot, lead=(), seed=0, dtype=np.float64):
    given = arrays(robot, lead, seed, dtype)
    return [given[x] for x in ("q", "qd", "qdd")]


# values ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("lead", [(), (37,), (2, 3), (0,)])
def test_same_bits_as_numpy(lead, jit):
    robot, given = arm(), states(arm(), lead)
    for quantity, names in CALLS.items():
        call = getattr(robot, quantity)
        found = (jax.jit(lambda *x, call=call: call(*x)) if jit else call)(*(jnp.asarray(given[x]) for x in names))
        for ours, theirs in zip(parts(found), parts(call(*(given[x] for x in names))), strict=True):
            assert isinstance(ours, jax.Array)
            assert (ours.dtype, ours.shape) == (np.float64, theirs.shape)
            assert np.array_equal(ours, theirs)


def test_single_precision_stays_single():
    robot = arm()
    given = three_of(robot, (20,), dtype=np.float32)
    found = robot.inverse_dynamics(*given)
    assert found.dtype == np.float32
    assert np.array_equal(found, robot.inverse_dynamics(*map(np.asarray, given), dtype=np.float32))


def test_subnormal_numbers_are_kept():
    """XLA's threads flush them to zero; within our code they do not."""
    robot, zero = arm(), jnp.zeros(7)
    tiny = jnp.full(7, 1e-310)
    found = robot.generalized_momentum(zero, tiny)
    assert np.array_equal(found, robot.generalized_momentum(np.zeros(7), np.full(7, 1e-310)))
    assert np.abs(found).max() > 0
    assert float(jnp.float64(1e-310) * 2) == 0.0  # and elsewhere in XLA it is as it was


def test_leading_shapes_are_broadcast_and_so_are_gradients():
    robot = arm()
    q, qd, qdd = three_of(robot, (5,))
    found = robot.inverse_dynamics(q, qd[0], qdd[:1])
    assert np.array_equal(found, robot.inverse_dynamics(np.asarray(q), np.asarray(qd[0]), np.asarray(qdd[:1])))
    slope = jax.grad(lambda qd: robot.inverse_dynamics(q, qd, qdd[:1]).sum())(qd[0])
    each = jax.grad(lambda qd: robot.inverse_dynamics(q, qd, qdd[:1]).sum())(jnp.broadcast_to(qd[0], q.shape))
    assert np.allclose(slope, each.sum(0), rtol=1e-13)


def test_external_forces():
    robot, given, rng = arm(), states(arm(), (4,)), np.random.default_rng(1)
    wrench, stack = rng.normal(size=(4, 6)), rng.normal(size=(4, len(robot.body_names), 6))
    numbers = [given[x] for x in ("q", "qd", "qdd")]
    for f_ext, f_tip in (({robot.tip: wrench}, None), (stack, {robot.tip: wrench})):
        mine = jax.tree.map(jnp.asarray, (f_ext, f_tip))
        found = jax.jit(lambda *x, mine=mine: robot.inverse_dynamics(*x, f_ext=mine[0], f_tip=mine[1]))(*map(jnp.asarray, numbers))
        assert np.allclose(found, robot.inverse_dynamics(*numbers, f_ext=f_ext, f_tip=f_tip), rtol=1e-12, atol=1e-12)


def test_a_robot_without_joints():
    robot, q = without_joints(), jnp.zeros((3, 0))
    assert robot.inverse_dynamics(q, q, q).shape == (3, 0)
    assert np.array_equal(robot.transform(q, "base"), np.broadcast_to(np.eye(4), (3, 4, 4)))


# derivatives ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_jacobians_are_the_exact_ones(transform, quantity):
    robot, given = arm(), states(arm())
    numbers = [given[x] for x in CALLS[quantity]]
    found = jax.jit(transform(getattr(robot, quantity), (0, 1, 2)))(*map(jnp.asarray, numbers))
    for ours, exact in zip(found, getattr(robot, f"{quantity}_derivatives")(*numbers)):
        assert np.abs(exact).max() > 0.01
        assert np.allclose(ours, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())


def test_gradient_beside_differences():
    robot, given = arm(), states(arm())
    numbers, h = [given[x] for x in ("q", "qd", "qdd")], 1e-6
    slope = jax.grad(lambda *x: jnp.sin(robot.inverse_dynamics(*x)).sum(), (0, 1, 2))(*map(jnp.asarray, numbers))
    for k in range(3):
        for i in range(7):
            ends = [[x.copy() for x in numbers] for _ in range(2)]
            ends[0][k][i] += h
            ends[1][k][i] -= h
            up, down = (np.sin(robot.inverse_dynamics(*end)).sum() for end in ends)
            assert slope[k][i] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-6)


def test_orders_and_modes_mix():
    robot = arm()
    f, three = lambda *x: robot.inverse_dynamics(*x), three_of(robot)
    ways = [
        jax.jacrev(jax.jacrev(f)),
        jax.jacfwd(jax.jacfwd(f)),
        jax.jacfwd(jax.jacrev(f)),
        jax.jacrev(jax.jacfwd(f)),
        jax.hessian(f),
    ]
    first, *others = (jax.jit(way)(*three) for way in ways)
    assert np.abs(first).max() > 0.1
    assert all(np.allclose(first, x, rtol=1e-11, atol=1e-11) for x in others)


def test_vmap():
    robot, numbers = arm(), [states(arm(), (5,))[x] for x in ("q", "qd", "qdd")]
    f, (q, qd, qdd) = lambda *x: robot.inverse_dynamics(*x), map(jnp.asarray, numbers)
    expected = robot.inverse_dynamics(*numbers)
    assert np.array_equal(jax.vmap(f)(q, qd, qdd), expected)
    assert np.array_equal(jax.vmap(f, (1, 1, 1), 1)(q.T, qd.T, qdd.T), expected.T)
    some = jax.vmap(f, (0, None, None))(q, qd[0], qdd[0])
    assert np.array_equal(some, robot.inverse_dynamics(numbers[0], numbers[1][0], numbers[2][0]))
    nested = jax.vmap(jax.vmap(f, (None, 0, 0)), (0, None, None))(q, qd, qdd)
    assert np.array_equal(nested, robot.inverse_dynamics(numbers[0][:, None], *numbers[1:]))
    mixed = jax.vmap(f, (None, 0, None))(q, qd, qdd)  # a batch beside single states, both within
    assert np.array_equal(mixed, robot.inverse_dynamics(numbers[0], numbers[1][:, None], numbers[2]))


@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, None)])
def test_gradients_under_vmap(axes):
    robot, numbers = arm(), [states(arm(), (4,))[x] for x in ("q", "qd", "qdd")]
    given = [jnp.asarray(x if axis == 0 else x[0]) for x, axis in zip(numbers, axes)]
    f = lambda *x: jnp.sin(robot.inverse_dynamics(*x)).sum()  # noqa: E731
    each = jax.vmap(jax.grad(f, (0, 1, 2)), axes)(*given)
    for i in range(4):
        one = jax.grad(f, (0, 1, 2))(*(x[i] if axis == 0 else x for x, axis in zip(given, axes)))
        assert all(np.allclose(a[i], b, rtol=1e-13, atol=1e-13) for a, b in zip(each, one))
    whole = jax.grad(lambda *x: jax.vmap(f, axes)(*x).sum(), (0, 1, 2))(*given)
    for slope, axis, total in zip(each, axes, whole):
        assert np.allclose(slope if axis == 0 else slope.sum(0), total, rtol=1e-12, atol=1e-12)


def test_scan_and_checkpoint_without_tracing_again():
    robot, traced = arm(), []
    q, qd, qdd = three_of(robot, (30,))

    @jax.jit
    def through(q0, qdd):
        traced.append(1)

        def step(q, qdd):
            return q + 0.01 * jnp.tanh(robot.inverse_dynamics(q, qd[0], qdd)), None

        return jnp.sum(jax.lax.scan(jax.checkpoint(step), q0, qdd)[0] ** 2)

    slope = jax.jit(jax.grad(through, (0, 1)))
    a, b = slope(q[0], qdd), slope(q[0] + 1, qdd)
    assert len(traced) == 1
    assert not np.allclose(a[0], b[0])
    h, direction = 1e-6, jnp.ones(7)
    difference = (through(q[0] + h * direction, qdd) - through(q[0] - h * direction, qdd)) / (2 * h)
    assert float(a[0] @ direction) == pytest.approx(float(difference), rel=1e-6)


def test_gradients_that_are_not_jitted_are_compiled_once(caplog):
    robot, (q, qd, qdd) = arm(), three_of(arm())
    run = robot.rollout(stops=False)
    slope = jax.grad(lambda q: jnp.sin(robot.inverse_dynamics(q, qd, qdd)).sum() + run(q, qd, qdd, steps=3).q.sum())
    slope(q)
    with jax.log_compiles():
        slope(q)
    assert not [x.getMessage() for x in caplog.records if "Compiling" in x.getMessage()]


def test_without_jit():
    robot, (q, qd, qdd) = arm(), three_of(arm())
    loss = lambda q: jnp.sin(robot.inverse_dynamics(q, qd, qdd)).sum()  # noqa: E731
    expected = jax.grad(loss)(q)
    with jax.disable_jit():
        assert np.allclose(jax.grad(loss)(q), expected, rtol=1e-13)
        assert np.array_equal(robot.inverse_dynamics(q, qd, qdd), jax.jit(robot.inverse_dynamics)(q, qd, qdd))


def test_shard_map():
    """In a process of its own, since the number of devices is fixed when JAX starts."""
    text = """
import jax, jax.numpy as jnp, numpy as np, qddot
jax.config.update("jax_enable_x64", True)
from jax.sharding import Mesh, PartitionSpec as P
shard_map = getattr(jax, "shard_map", None) or __import__("jax.experimental.shard_map", fromlist=["x"]).shard_map
robot = qddot.load("arm7")
q, qd, qdd = (jnp.asarray(x) for x in np.random.default_rng(0).normal(size=(3, 8, 7)))
f = lambda *x: robot.inverse_dynamics(*x)
mesh = Mesh(np.array(jax.devices()), ("b",))
split = jax.jit(shard_map(f, mesh=mesh, in_specs=(P("b"), P("b"), P("b")), out_specs=P("b")))
assert len(jax.devices()) == 4
assert np.array_equal(split(q, qd, qdd), f(q, qd, qdd))
assert "all-gather" not in split.lower(q, qd, qdd).compile().as_text()
loss = lambda *x: jnp.sin(split(*x)).sum()
assert np.allclose(jax.grad(loss)(q, qd, qdd), jax.grad(lambda *x: jnp.sin(f(*x)).sum())(q, qd, qdd), rtol=1e-13)
print("fine")
"""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert ran.stdout.strip() == "fine", ran.stderr[-2000:]


def test_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    robot, numbers = arm(), [states(arm(), (500,))[x] for x in ("q", "qd", "qdd")]
    given, expected = [jnp.asarray(x) for x in numbers], robot.inverse_dynamics(*numbers)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: np.array_equal(robot.inverse_dynamics(*given), expected), range(40)))


# quaternions ----------------------------------------------------------------------------------------------------------------


def test_quaternions_derivative_along_q_and_along_the_tangent():
    robot, given = with_quaternions(), states(with_quaternions())
    q, qd, qdd = (jnp.asarray(given[x]) for x in ("q", "qd", "qdd"))
    along_q = jax.jacrev(robot.inverse_dynamics)(q, qd, qdd)
    assert np.allclose(along_q, jax.jacfwd(robot.inverse_dynamics)(q, qd, qdd), rtol=1e-11, atol=1e-11)
    for c in robot.model.mechanism.coordinates:
        if c.parts[0].quaternion:  # made unit within: no part along the quaternion itself
            four = slice(c.q.start, c.q.start + 4)
            assert np.allclose(along_q[:, four] @ q[four], 0, atol=1e-10)
    tangent = jax.jacrev(lambda v: robot.inverse_dynamics(robot.integrate(q, v), qd, qdd))(jnp.zeros(robot.nv))
    assert np.allclose(
        tangent, robot.inverse_dynamics_derivatives(given["q"], given["qd"], given["qdd"]).dtau_dq, rtol=1e-10, atol=1e-10
    )
    rates = jax.jacfwd(lambda v: robot.integrate(q, v))(jnp.zeros(robot.nv))
    assert np.allclose(along_q @ rates, tangent, rtol=1e-10, atol=1e-10)


# a batch of different robots ------------------------------------------------------------------------------------------------


def test_variables_and_their_gradient():
    robot = arm().with_variable("payload", "gravity", "joint2.viscous")
    three, loads = three_of(arm(), (3,)), jnp.array([0.1, 0.5, 2.0])
    of = jax.jit(lambda load: robot.inverse_dynamics(*three, variables={"payload": load}))
    assert np.array_equal(of(loads), robot.inverse_dynamics(*map(np.asarray, three), variables={"payload": np.asarray(loads)}))
    exact = robot.derivative("inverse_dynamics", *map(np.asarray, three), variables={"payload": np.asarray(loads)})[..., 0]
    assert np.allclose(jax.jvp(of, (loads,), (jnp.ones(3),))[1], exact, rtol=1e-12, atol=1e-12)
    each = jax.vmap(lambda *x: robot.inverse_dynamics(*x[:3], variables={"payload": x[3]}))(*three, loads)
    assert np.array_equal(each, of(loads))
    with pytest.raises(InputError, match=r"payload holds float32, but q holds float64: payload.astype\(q.dtype\)"):
        robot.inverse_dynamics(*three, variables={"payload": loads.astype(jnp.float32)})


def test_systems_roll_out_and_starts_are_looked_at():
    values = {"m": 1, "g": 9.81, "l": 1}
    system = qddot.System("m*(xd**2 + yd**2)/2", "m*g*y", coordinates="x y", constraints=["x**2 + y**2 - l**2"], values=values)
    run, q = system.with_variable("g").rollout(step=1e-3), np.array([0.6, -0.8])
    end = lambda g: run(jnp.asarray(q), None, jnp.zeros(2), steps=100, every=100, variables={"g": g}).q[-1]  # noqa: E731
    assert np.allclose(end(jnp.array(5.0)), run(q, None, [0, 0], steps=100, every=100, variables={"g": 5.0}).q[-1], atol=1e-14)
    slope = jax.jit(jax.jacrev(end))(jnp.array(5.0))
    assert np.allclose(slope, (end(jnp.array(5.001)) - end(jnp.array(4.999))) / 0.002, rtol=1e-5)
    with pytest.raises(InputError, match="violates the constraints"):
        run(jnp.asarray(1.1 * q), None, jnp.zeros(2), steps=1)
    ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
    contacts = qddot.contact.Contacts(ball, [qddot.contact.Sphere("ball", 0.1)], [qddot.contact.Plane()])
    with pytest.raises(InputError, match=r"0.05 m inside"):
        ball.rollout(contacts=contacts)(jnp.array([0.05]), None, jnp.zeros(1), steps=1)


# rollouts -------------------------------------------------------------------------------------------------------------------


def test_rollouts_and_their_gradient():
    import qddot

    robot = qddot.load("two_link").with_variable("payload", "joint1.viscous")
    run = robot.rollout(step=0.01, stops=False)
    rng = np.random.default_rng(0)
    q0, qd0, control = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=(12, 3, 2))
    load = rng.uniform(size=3)

    @jax.jit
    def through(q0, qd0, control, load):
        return run(q0, qd0, control, every=4, variables={"payload": load})

    found = through(*map(jnp.asarray, (q0, qd0, control, load)))
    way = run.differentiable(q0, qd0, control, every=4, variables={"payload": load})
    assert np.array_equal(found.q, way.states.q)
    weights = rng.normal(size=way.states.q.shape)
    slope = jax.grad(lambda *x: jnp.sum(weights * through(*x).q), (0, 1, 2, 3))(*map(jnp.asarray, (q0, qd0, control, load)))
    exact = way(q=weights)
    for ours, theirs in zip(slope, (exact.q0, exact.qd0, exact.control, exact.variables[:, 0])):
        assert np.allclose(ours, theirs, rtol=1e-11, atol=1e-12)
    held = jax.vmap(lambda q, v: run(q, v, jnp.ones(2), steps=5, every=5).q[-1])(jnp.asarray(q0), jnp.asarray(qd0))
    assert np.allclose(held, run(q0, qd0, np.ones(2), steps=5, every=5).q[-1], rtol=1e-13)
    ways = [
        make(lambda q: run(q, jnp.asarray(qd0[0]), jnp.asarray(control[:, 0])).q[-1])(jnp.asarray(q0[0]))
        for make in (jax.jacfwd, jax.jacrev)
    ]
    assert np.allclose(*ways, rtol=1e-12, atol=1e-14)
    with pytest.raises(InputError, match=r'method="variational" is for NumPy arrays.*"semi_implicit" and "rk4" have'):
        robot.rollout(method="variational")(jnp.asarray(q0), None, steps=2)


# what goes wrong ------------------------------------------------------------------------------------------------------------

WRONG = {
    "a NumPy array": (lambda q, qd, qdd: (q, np.asarray(qd), qdd), r"qd is a NumPy array, but q is a JAX array.*jnp.asarray\(qd"),
    "a list": (lambda q, qd, qdd: (q, qd.tolist(), qdd), "qd is 'list'"),
    "another type": (lambda q, qd, qdd: (q, qd.astype(jnp.float32), qdd), r"qd holds float32, but q holds float64: qd.astype"),
    "integers": (lambda q, qd, qdd: (q.astype(int), qd, qdd), "q holds int64, float64 or float32 is needed"),
    "half precision": (lambda q, qd, qdd: [x.astype(jnp.bfloat16) for x in (q, qd, qdd)], "q holds bfloat16"),
    "a short row": (lambda q, qd, qdd: (q[:, :6], qd, qdd), r"q has shape \(3, 6\), expected \(..., 7\)"),
    "other batches": (lambda q, qd, qdd: (q, qd[:2], qdd), r"leading dimensions.*q \(3, 7\), qd \(2, 7\)"),
}


@pytest.mark.parametrize("where", ["first", "again", "jit"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_inputs_are_named(case, where):
    spoil, message = WRONG[case]
    robot, three = fresh_arm(), three_of(arm(), (3,))
    if where == "again":  # the direct way is there
        robot.inverse_dynamics(*three)
    call = (
        jax.jit(lambda *x: robot.inverse_dynamics(*spoil(*x)))
        if where == "jit" and case not in ("a NumPy array", "a list")
        else None
    )
    with pytest.raises(InputError, match=message):
        call(*three) if call else robot.inverse_dynamics(*spoil(*three))


def test_options_that_are_not_for_jax():
    robot, three = arm(), three_of(arm(), (3,))
    with pytest.raises(InputError, match="out= is not for JAX arrays"):
        robot.inverse_dynamics(*three, out=jnp.zeros((3, 7)))
    with pytest.raises(InputError, match="threads belongs to NumPy"):
        robot.inverse_dynamics(*three, threads=2)
    with pytest.raises(InputError, match="dtype=float32, but q holds float64"):
        robot.inverse_dynamics(*three, dtype=np.float32)


def test_a_tracer_where_a_value_is_needed():
    robot, three = arm(), three_of(arm(), (3,))
    with pytest.raises(InputError, match="check=True needs values, and within jit"):
        jax.jit(lambda *x: robot.inverse_dynamics(*x, check=True))(*three)
    with pytest.raises(InputError, match=r"q0 has no values within jit.*call it outside, or take robot.rollout, which can"):
        jax.jit(lambda q: robot.simulate(q, None, 0.1).q)(three[0][0])


def test_not_a_number_in_not_a_number_out_and_check_says_why():
    robot = arm()
    q, qd, qdd = three_of(robot, (3,))
    q = q.at[1, 2].set(jnp.nan)
    assert jnp.isfinite(robot.inverse_dynamics(q, qd, qdd)).all(-1).tolist() == [True, False, True]
    with pytest.raises(InputError, match=r"q\[1, 2\] is nan"):
        robot.inverse_dynamics(q, qd, qdd, check=True)


def test_a_singular_state_has_no_numbers():
    robot = singular_where_the_mass_is_on_the_axis()
    q = jnp.array([[0.0, 0.3], [0.0, jnp.pi / 2]])
    zero = jnp.zeros_like(q)
    assert jnp.isnan(jax.jit(robot.forward_dynamics)(q, zero, zero)).all(-1).tolist() == [False, True]
    slope = jax.grad(lambda q: robot.forward_dynamics(q, zero, zero).sum())(q)
    assert jnp.isnan(slope).any(-1).tolist() == [False, True]
    with pytest.raises(SingularityError, match="nothing resists joint"):
        robot.forward_dynamics(q, zero, zero, check=True)


def test_versions_of_the_interface_are_read():
    assert xla_ir.interface_version() <= xla_ir.NEWEST
    assert xla_ir.known_version(0, 1) == (0, 1)
    assert xla_ir.known_version(0, 9) == xla_ir.NEWEST
    for version in ((0, 0), (1, 0), (2, 3)):
        with pytest.raises(InputError, match=r"XLA's C interface is version .*install jax"):
            xla_ir.known_version(*version)


def test_the_handler_looks_before_it_reads():
    """A call that went round our front: XLA's error, and no memory that is not its own."""
    from qddot.arrays.jax_guest import target

    name = arm()._guests.operation("inverse_dynamics", "float64", False, ()).once(target)
    shape = jax.ShapeDtypeStruct((4, 7), np.float64)
    for wrong in ([(4, 7), (4, 7)], [(4, 7), (3, 7), (4, 7)], [(4, 6)] * 3, [(4, 7)] * 4):
        with pytest.raises(Exception, match="inverse_dynamics needs float64 arrays"):
            jax.block_until_ready(jax.ffi.ffi_call(name, shape)(*(jnp.zeros(s) for s in wrong)))
    with pytest.raises(Exception, match="inverse_dynamics needs float64 arrays"):
        jax.block_until_ready(jax.ffi.ffi_call(name, shape)(*(jnp.zeros((4, 7), jnp.float32),) * 3))


def test_targets_are_named_by_content_and_outlive_their_robot():
    import gc

    robot = fresh_arm()
    three = three_of(robot)
    f = jax.jit(robot.inverse_dynamics)
    text, expected = f.lower(*three).as_text(), f(*three)
    assert f"qddot_{robot._guests.operation('inverse_dynamics', 'float64', False, ()).name}" in text
    compiled = f.lower(*three).compile()
    del robot, f
    gc.collect()
    assert np.array_equal(compiled(*three), expected)
