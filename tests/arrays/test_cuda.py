"""Arrays on a GPU: the CPU's bits, on the caller's stream, in the caller's kind; rollouts in one kernel. Skipped without a GPU."""

import itertools
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import InputError, IntegrationError, SingularityError
from qddot.compile.gpu import driver
from qddot.errors import DeviceError
from qddot.rollout import ComputedTorqueLaw, PDLaw

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "gravity_torque", "inverse_dynamics_derivatives")


@pytest.fixture(scope="module", autouse=True)
def gpu():
    try:
        return driver.device(0)
    except DeviceError as error:
        pytest.skip(f"no GPU here: {error}")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.fixture(scope="module")
def arm():
    return qddot.load("arm7")


def drawn(robot, quantity, lead, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*lead, x.size)).astype(dtype) for x in robot.program(quantity).inputs]


def parts(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lead", [(), (1,), (33,), (3, 50), (0,)])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_torch_tensors(torch, arm, quantity, lead, dtype):
    given = drawn(arm, quantity, lead, dtype)
    found = getattr(arm, quantity)(*(torch.from_numpy(x).cuda() for x in given))
    for got, want in zip(parts(found), parts(getattr(arm, quantity)(*given, dtype=dtype)), strict=True):
        assert got.device.type == "cuda"
        assert got.shape == want.shape
        assert_array_equal(got.cpu().numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_cupy_arrays(cupy, arm, quantity, dtype):
    for lead in ((), (33,), (3, 50)):
        given = drawn(arm, quantity, lead, dtype)
        found = getattr(arm, quantity)(*map(cupy.asarray, given))
        for got, want in zip(parts(found), parts(getattr(arm, quantity)(*given, dtype=dtype)), strict=True):
            assert isinstance(got, cupy.ndarray)
            assert_array_equal(got.get(), want)


def test_memory_in_any_order(torch, cupy, arm):
    q, qd, qdd = drawn(arm, "inverse_dynamics", (6, 20), "float64")
    want = arm.inverse_dynamics(q, qd[0, 0], qdd)
    columns = torch.from_numpy(q).cuda().permute(2, 1, 0).contiguous().permute(2, 1, 0)
    every = torch.from_numpy(np.repeat(qdd, 2, axis=1)).cuda()[:, ::2]
    one = torch.from_numpy(qd[0, 0]).cuda()
    assert_array_equal(arm.inverse_dynamics(columns, one, every).cpu().numpy(), want)
    big = cupy.asarray(np.repeat(qdd, 3, axis=0))
    found = arm.inverse_dynamics(cupy.asfortranarray(cupy.asarray(q)), cupy.asarray(qd[0, 0]), big[::3])
    assert_array_equal(found.get(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_differences_of_configurations(torch, cupy, dtype):
    """Rotations have angles, for which there is no library on a GPU."""
    robot = qddot.load("two_link").with_floating_base()
    rng = np.random.default_rng(3)
    start, end = (robot.random_configuration(rng, 100).astype(dtype) for _ in range(2))
    want, close = robot.difference(start.astype(float), end.astype(float)), 40 * np.finfo(dtype).eps
    assert_allclose(robot.difference(*(torch.from_numpy(x).cuda() for x in (start, end))).cpu().numpy(), want, atol=close)
    assert_allclose(robot.difference(*map(cupy.asarray, (start, end))).get(), want, atol=close)


def test_the_current_stream_is_respected(torch, cupy, arm):
    q = torch.zeros((1 << 18, 7), device="cuda")
    want = arm.gravity_torque(q + 0.3).cpu()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)  # what follows on this stream waits
        q += 0.3
        found = arm.gravity_torque(q)
    side.synchronize()
    assert torch.equal(found.cpu(), want)
    with cupy.cuda.Stream(non_blocking=True) as side:
        x = cupy.zeros((1 << 18, 7), "float32")
        for _ in range(200):
            x += 1.0
        x *= 0.0
        x += 0.3
        found = arm.gravity_torque(x)
        side.synchronize()
    assert_array_equal(found.get(), want.numpy())


def test_torch_gradients_and_transforms(torch, arm):
    given = [torch.from_numpy(x) for x in drawn(arm, "inverse_dynamics", (5,), "float64")]

    def loss(q, qd, qdd):
        return arm.inverse_dynamics(q, qd, qdd).sin().sum()

    here, there = ([x.clone().to(device).requires_grad_() for x in given] for device in ("cpu", "cuda"))
    loss(*here).backward()
    loss(*there).backward()
    for a, b in zip(here, there):
        assert_allclose(b.grad.cpu().numpy(), a.grad.numpy(), rtol=1e-12, atol=1e-12)
    on = [x.cuda() for x in given]
    exact = arm.inverse_dynamics_derivatives(*given)[0].numpy()
    slope = torch.func.vmap(torch.func.jacrev(lambda q, qd, qdd: arm.inverse_dynamics(q, qd, qdd)))(*on)
    assert_allclose(slope.cpu().numpy(), exact, rtol=1e-10, atol=1e-10)


def test_torch_compile(torch):
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 12):
        pytest.skip(f"the tracer of PyTorch {torch.__version__} does not know how to go over a named tuple")
    arm = qddot.load("arm7")
    given = [torch.from_numpy(x) for x in drawn(arm, "inverse_dynamics", (5,), "float64")]
    compiled = torch.compile(lambda q, qd, qdd: arm.inverse_dynamics(q, qd, qdd) * 2, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(*(x.cuda() for x in given)).cpu(), 2 * arm.inverse_dynamics(*given))


def test_cuda_graphs(torch, arm):
    q, qd, tau = (torch.from_numpy(x).cuda() for x in drawn(arm, "forward_dynamics", (1000,), "float32"))
    arm.forward_dynamics(q, qd, tau)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = arm.forward_dynamics(q, qd, tau)
    q.add_(0.1)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(found, arm.forward_dynamics(q, qd, tau))


def test_out(torch, cupy, arm):
    q, qd, qdd = drawn(arm, "inverse_dynamics", (8,), "float64")
    want = arm.inverse_dynamics(q, qd, qdd)
    for room in (
        torch.empty((8, 7), dtype=torch.float64, device="cuda"),
        torch.empty((7, 8), dtype=torch.float64, device="cuda").T,
    ):
        arm.inverse_dynamics(*(torch.from_numpy(x).cuda() for x in (q, qd, qdd)), out=room)
        assert_array_equal(room.cpu().numpy(), want)
    for room in (cupy.empty((8, 7)), cupy.empty((7, 8)).T):
        arm.inverse_dynamics(*map(cupy.asarray, (q, qd, qdd)), out=room)
        assert_array_equal(room.get(), want)
    with pytest.raises(InputError, match="states last"):
        arm.inverse_dynamics(*map(cupy.asarray, (q, qd, qdd)), out=cupy.empty((8, 14))[:, ::2])


def test_results_with_the_states_last(torch, cupy, arm):
    q, qd, qdd = drawn(arm, "regressor", (5, 9), "float32")
    want = arm.regressor(q, qd, qdd, dtype="float32")
    room = torch.full((*want.shape[-2:], 5, 9), -7.0, device="cuda")
    found = room.movedim((-2, -1), (0, 1))
    arm.regressor(*(torch.from_numpy(x).cuda() for x in (q, qd, qdd)), out=found)
    assert_array_equal(found.cpu().numpy(), want)
    assert_array_equal(room[1, 2].cpu().numpy(), want[..., 1, 2])
    rooms = tuple(cupy.moveaxis(cupy.empty((7, 7, 5, 9), "float32"), (2, 3), (0, 1)) for _ in range(3))
    arm.inverse_dynamics_derivatives(*map(cupy.asarray, (q, qd, qdd)), out=rooms, check="now")
    for got, wanted in zip(rooms, arm.inverse_dynamics_derivatives(q, qd, qdd, dtype="float32")):
        assert_array_equal(got.get(), wanted)


def test_errors_now_and_later(torch, cupy, arm):
    for put in (lambda x: torch.from_numpy(x).cuda(), cupy.asarray):
        q, qd, tau = drawn(arm, "forward_dynamics", (100,), "float64")
        good = [put(x) for x in (q, qd, tau)]
        q[7, 3] = np.nan
        bad = [put(q), *good[1:]]
        assert np.isnan(float(arm.forward_dynamics(*bad)[7, 0]))
        arm.forward_dynamics(*good, check=False)
        with pytest.raises((InputError, SingularityError)):
            arm.forward_dynamics(*bad, check="now")
        arm.forward_dynamics(*good, check="now")
        arm.forward_dynamics(*bad, check="later")  # nothing is raised
        torch.cuda.synchronize()
        with pytest.raises(SingularityError, match="not finite in state 7 of an earlier call"):
            arm.forward_dynamics(*good, check="later")
        arm.forward_dynamics(*good, check="now")
        with pytest.raises(InputError, match="check='soon'"):
            arm.forward_dynamics(*good, check="soon")


def test_what_is_refused(torch, cupy, arm):
    q = torch.zeros((3, 7), device="cuda")
    with pytest.raises(InputError, match="qd is on cpu, but q is on cuda:0"):
        arm.coriolis_torque(q, torch.zeros((3, 7)))
    with pytest.raises(InputError, match="several types"):
        arm.coriolis_torque(cupy.zeros((3, 7)), cupy.zeros((3, 7), "float32"))
    with pytest.raises(InputError, match=r"q has shape \(3, 6\)"):
        arm.gravity_torque(cupy.zeros((3, 6)))
    with pytest.raises(InputError, match="do not fit each other"):
        arm.coriolis_torque(cupy.zeros((3, 7)), cupy.zeros((4, 7)))


def test_jax_arrays(arm):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip(f"JAX runs on {jax.default_backend()}")
    q, qd, qdd = drawn(arm, "inverse_dynamics", (50,), "float32")
    want = arm.inverse_dynamics(q, qd, qdd, dtype="float32")
    on = [jax.numpy.asarray(x) for x in (q, qd, qdd)]
    found = arm.inverse_dynamics(*on)
    assert found.devices().pop().platform == "gpu"
    assert_array_equal(np.asarray(found), want)
    jitted = jax.jit(lambda q, qd, qdd: 2 * arm.inverse_dynamics(q, qd, qdd))
    assert_array_equal(np.asarray(jitted(*on)), 2 * want)
    mapped = jax.vmap(lambda q: arm.inverse_dynamics(q, on[1][0], on[2][0]))(on[0])
    assert_array_equal(np.asarray(mapped), arm.inverse_dynamics(q, qd[0], qdd[0], dtype="float32"))
    slopes = jax.vmap(jax.jacrev(lambda *x: arm.inverse_dynamics(*x)))(*on)
    assert_allclose(np.asarray(slopes), arm.inverse_dynamics_derivatives(q, qd, qdd)[0], rtol=1e-3, atol=1e-3)


CAPTURED = """
import jax, numpy as np, qddot
arm = qddot.load("arm7")
run = jax.jit(lambda q, qd, tau: arm.inverse_dynamics(q, qd, arm.forward_dynamics(q, qd, tau)))
for seed in range(3):
    q, qd, tau = np.random.default_rng(seed).normal(size=(3, 500, 7)).astype(np.float32)
    want = arm.inverse_dynamics(q, qd, arm.forward_dynamics(q, qd, tau, dtype="float32"), dtype="float32")
    assert (np.asarray(run(q, qd, tau)) == want).all()
"""


def test_calls_in_cuda_graphs_of_xla(tmp_path):
    """XLA puts our calls into a command buffer, a graph of the driver, once it is asked to put custom calls there."""
    pytest.importorskip("jax", reason="JAX is not installed")
    flags = "--xla_gpu_enable_command_buffer=FUSION,CUSTOM_CALL --xla_gpu_graph_min_graph_size=1"
    environment = {**os.environ, "XLA_FLAGS": f"{flags} --xla_dump_to={tmp_path}", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    done = subprocess.run([sys.executable, "-c", CAPTURED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (x for x in tmp_path.glob("*thunk_sequence_after_thunk_passes*") if "kCustomCall" in x.read_text())
    lines = path.read_text().splitlines()
    depth = {line: len(line) - len(line.lstrip(" 0123456789:")) for line in lines}
    (buffer,) = (line for line in lines if "kCommandBuffer" in line)
    calls = [line for line in lines if "kCustomCall" in line]
    assert len(calls) == 2
    assert all(depth[line] > depth[buffer] for line in calls), path.read_text()


LAWS = {"torque": None, "PD": PDLaw(30.0, 4.0), "computed torque": ComputedTorqueLaw(30.0, 8.0)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("law", LAWS)
def test_rollouts(torch, cupy, arm, law, method, dtype):
    rng = np.random.default_rng(1)
    q, qd = (rng.normal(size=(40, 7)).astype(dtype) for _ in range(2))
    control = rng.normal(size=(30, 40, 7)).astype(dtype)
    run = arm.rollout(LAWS[law], method=method, stops=False)
    for given, steps in ((control, None), (control[0], 30), (control[0, 0], 30)):
        want = run(q, qd, given, steps=steps, every=10, dtype=dtype)
        for put, back in ((lambda x: torch.from_numpy(x).cuda(), lambda x: x.cpu().numpy()), (cupy.asarray, lambda x: x.get())):
            found = run(put(q), put(qd), put(given), steps=steps, every=10)
            assert_array_equal(back(found.q), want.q)
            assert_array_equal(back(found.qd), want.qd)


def test_rollouts_with_dry_friction_and_stops(torch):
    robot = qddot.load("puma560")
    rng = np.random.default_rng(2)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (30, 6))
    tau = robot.gravity_torque(q) + rng.normal(size=(30, 6))
    run = robot.rollout()
    want = run(q, None, tau, steps=200, every=50)
    found = run(torch.from_numpy(q).cuda(), None, torch.from_numpy(tau).cuda(), steps=200, every=50)
    assert_array_equal(found.q.cpu().numpy(), want.q)
    assert 0.1 < np.mean(want.qd[-1] == 0) < 0.95


def test_rollouts_with_parameters_and_by_momenta(torch, arm):
    rng = np.random.default_rng(3)
    q, tau = rng.normal(size=(2, 300, 7))
    parameters = arm.parameters()[: 10 * len(arm.body_names)] * rng.uniform(0.9, 1.1, (300, 1))
    on = lambda x: torch.from_numpy(x).cuda()  # noqa: E731
    for method, law in itertools.product(("semi_implicit", "rk4"), (None, lambda x: [u + x.sin(u * x.t) for u in x.control])):
        run = arm.rollout(law, method=method, stops=False)
        want = run(q, None, tau, steps=20, parameters=parameters)
        found = run(on(q), None, on(tau), steps=20, parameters=on(parameters))
        assert_array_equal(found.q.cpu().numpy(), want.q)
        assert_array_equal(found.qd.cpu().numpy(), want.qd)
    run = arm.rollout(method="variational", stops=False)
    for moved in ({}, {"parameters": parameters}):
        found = run(on(q), on(tau), on(tau), steps=5, **{name: on(x) for name, x in moved.items()})
        want = run(q, tau, tau, steps=5, **moved)
        assert_array_equal(found.qd.cpu().numpy(), want.qd)


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
def test_rollouts_with_quaternions(torch, cupy, method):
    robot = qddot.Builder("box").body("box", joint="free", mass=1.0, tensor=(0.2, 0.3, 0.4)).robot()
    rng = np.random.default_rng(6)
    q, (qd, tau) = robot.random_configuration(rng, 40), rng.normal(size=(2, 40, 6))
    run = robot.rollout(method=method, stops=False)
    want = run(q, qd, tau, steps=30)
    for put, back in ((lambda x: torch.from_numpy(x).cuda(), lambda x: x.cpu().numpy()), (cupy.asarray, lambda x: x.get())):
        found = run(put(q), put(qd), put(tau), steps=30)
        assert_array_equal(back(found.q), want.q)
        assert_array_equal(back(found.qd), want.qd)


@pytest.mark.parametrize("method", ["semi_implicit", "rk4", "variational"])
def test_rollouts_of_robots_with_variables(torch, cupy, method):
    """Payload, gravity, armature and friction of each motion its own."""
    robot = qddot.load("two_link").with_variable("payload", "gravity", "joint1.rotor_inertia", "joint2.viscous")
    rng = np.random.default_rng(4)
    q, qd, tau = rng.normal(size=(3, 30, 2))
    values = {name: x + rng.uniform(0, 0.2, (30, *x.shape)) for name, x in robot.variables.items()}
    run = robot.rollout(method=method, stops=False, step=0.01)
    want = run(q, qd, tau, steps=20, variables=values)
    assert np.ptp(want.q[-1], axis=0).min() > 0.1
    for put, back in ((lambda x: torch.from_numpy(x).cuda(), lambda x: x.cpu().numpy()), (cupy.asarray, lambda x: x.get())):
        found = run(put(q), put(qd), put(tau), steps=20, variables={name: put(x) for name, x in values.items()})
        assert_array_equal(back(found.q), want.q)
        some = run(put(q), put(qd), put(tau), steps=20, variables={"payload": put(values["payload"])})
        assert_array_equal(back(some.q), run(q, qd, tau, steps=20, variables={"payload": values["payload"]}).q)


def test_rollouts_with_friction_that_sticks_and_varies(torch):
    robot = qddot.load("two_link").with_variable("joint1.coulomb", "joint2.coulomb")
    rng = np.random.default_rng(8)
    q, tau = rng.normal(size=(2, 40, 2))
    values = {"joint1.coulomb": rng.uniform(0, 6, 40), "joint2.coulomb": rng.uniform(0, 3, 40)}
    run = robot.rollout(step=0.005)
    want = run(q, None, 3 * tau, steps=100, every=20, variables=values)
    on = lambda x: torch.from_numpy(x).cuda()  # noqa: E731
    found = run(on(q), None, on(3 * tau), steps=100, every=20, variables={name: on(x) for name, x in values.items()})
    assert_array_equal(found.q.cpu().numpy(), want.q)
    assert 0.1 < np.mean(want.qd[-1] == 0) < 0.95


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
def test_gradients_of_rollouts(torch, cupy, method):
    """Those of the CPU: with respect to first states, controls, parameters and variables."""
    robot = qddot.load("two_link").with_variable("gravity", "joint1.viscous")
    rng = np.random.default_rng(5)
    q, qd = rng.normal(size=(2, 3, 10, 2))
    control, weights = rng.normal(size=(25, 3, 10, 2)), rng.normal(size=(2, 6, 3, 10, 2))
    gravity = robot.variables["gravity"] + rng.normal(size=(10, 3))
    run = robot.rollout(PDLaw(20.0, 2.0), method=method, stops=False, step=0.01)
    want = run.differentiable(q, qd, control, every=5, variables={"gravity": gravity})(*weights)
    wanted = (want.q0, want.qd0, want.control, want.variables[..., :3])

    leaves = [torch.from_numpy(x).cuda().requires_grad_() for x in (q, qd, control, gravity)]
    on = [torch.from_numpy(x).cuda() for x in weights]
    states = run(*leaves[:3], every=5, variables={"gravity": leaves[3]})
    ((on[0] * states.q).sum() + (on[1] * states.qd).sum()).backward()
    for x, y in zip(leaves, wanted):
        assert_allclose(x.grad.cpu().numpy(), y, rtol=1e-9, atol=1e-9)
    with torch.no_grad():
        assert torch.equal(run(*leaves[:3], every=5, variables={"gravity": leaves[3]}).q, states.q)

    way = run.differentiable(*map(cupy.asarray, (q, qd, control)), every=5, variables={"gravity": cupy.asarray(gravity)})
    found = way(*map(cupy.asarray, weights))
    for x, y in zip((found.q0, found.qd0, found.control, found.variables[..., :3]), wanted):
        assert_allclose(x.get(), y, rtol=1e-9, atol=1e-9)

    robot = qddot.load("arm7")
    parameters = robot.parameters()[: 10 * len(robot.body_names)] * rng.uniform(0.9, 1.1, (10, 1))
    q, tau, weight = rng.normal(size=(3, 10, 7))
    run = robot.rollout(method=method, stops=False)
    want = run.differentiable(q, None, tau, steps=30, every=30, parameters=parameters)(np.stack([0 * weight, weight]))
    leaves = [torch.from_numpy(x).cuda().requires_grad_() for x in (tau, parameters)]
    states = run(torch.from_numpy(q).cuda(), None, leaves[0], steps=30, every=30, parameters=leaves[1])
    (torch.from_numpy(weight).cuda() * states.q[-1]).sum().backward()
    for x, y in zip(leaves, (want.control, want.parameters)):
        assert_allclose(x.grad.cpu().numpy(), y, rtol=1e-9, atol=1e-12)


def test_rollouts_of_jax_arrays(arm):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip(f"JAX runs on {jax.default_backend()}")
    rng = np.random.default_rng(6)
    q, qd = (rng.normal(size=(20, 7)).astype("float32") for _ in range(2))
    control = rng.normal(size=(12, 20, 7)).astype("float32")
    for method in ("semi_implicit", "rk4"):
        run = arm.rollout(PDLaw(20.0, 2.0), method=method, stops=False)
        want = run(q, qd, control, every=4, dtype="float32")
        on = [jax.numpy.asarray(x) for x in (q, qd, control)]
        found = run(*on, every=4)
        assert found.q.devices().pop().platform == "gpu"
        assert_allclose(np.asarray(found.q), want.q, rtol=1e-5, atol=1e-5)
        slope = jax.jit(jax.grad(lambda u, run=run, on=on: run(*on[:2], u, every=4).q[-1].sum()))(on[2])
        weights = np.zeros_like(want.q)
        weights[-1] = 1
        exact = run.differentiable(q, qd, control, every=4)(q=weights).control
        assert_allclose(np.asarray(slope), exact, rtol=1e-3, atol=1e-6)


def test_a_rollout_that_runs_away(torch, arm):
    run = arm.rollout(lambda x: [x.control[0] * v * v * v for v in x.qd], saturate=False, stops=False)
    q, gain = torch.zeros((50, 7), device="cuda"), torch.zeros((50, 1), device="cuda")
    gain[33] = 1e8
    with pytest.raises(IntegrationError, match=r"motion \[33\].*step \d+ after t"):
        run(q, q + 1, gain, steps=200, every=200)
    found, here = (
        run(*given, steps=200, every=100, check=False) for given in ((q, q + 1, gain), [x.cpu() for x in (q, q + 1, gain)])
    )
    for there, wanted in zip(found, here):  # NaN of that one alone, and the others go on
        assert_array_equal(there.cpu(), wanted)
        assert torch.isnan(there[-1]).all(-1).nonzero().tolist() == [[33]]
    run(q, q + 1, 0 * gain, steps=200, every=200)
    run(q, q + 1, gain, steps=200, every=200, check="later")
    torch.cuda.synchronize()
    with pytest.raises(IntegrationError, match="motion 33 of an earlier call"):
        run(q, q + 1, 0 * gain, steps=200, every=200, check="later")


def test_a_reach_by_65536_samples(torch):
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "mppi_on_gpu.py"))
    assert example["main"]("arm7", 65536) < 0.03  # m from its goal


BOTH = """
import numpy as np, torch, qddot
arm = qddot.load("arm7")
q = np.random.default_rng(0).normal(size=(1000, 7))
for _ in range(50):
    found = arm.mass_matrix(torch.from_numpy(q).cuda())
assert (found.cpu().numpy() == arm.mass_matrix(q)).all()
"""


def test_two_processes_on_one_device(torch):
    running = [subprocess.Popen([sys.executable, "-c", BOTH]) for _ in range(2)]
    assert [process.wait(timeout=300) for process in running] == [0, 0]


@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_cluster_on_one_device(torch, arm):
    """Two processes, a task of each half of the motions; and the same from NumPy arrays here."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    rng = np.random.default_rng(7)
    q, tau = rng.normal(size=(2, 40, 7))
    want = arm.rollout(stops=False)(q, None, tau, steps=50, every=10)
    found = arm.rollout(stops=False, device="cuda")(q, None, tau, steps=50, every=10)
    assert_array_equal(found.q, want.q)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        run = arm.rollout(stops=False, engine="dask", address=client, device="cuda")
        found = run(q, None, tau, steps=50, every=10)
    assert_array_equal(found.q, want.q)
    assert_array_equal(found.qd, want.qd)
