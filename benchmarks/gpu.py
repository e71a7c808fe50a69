"""What a GPU makes of the programs: states and steps a second, beside the bandwidth of a plain copy; bits beside the CPU's.

    python benchmarks/gpu.py panda.urdf [g1.urdf ...] [--short]

With --short the leading rows alone. Needs an NVIDIA GPU and PyTorch, which holds the memory and measures time; JAX is measured
where it is installed.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import qddot
from qddot.compile.gpu.device_kernel import DeviceKernel, Rows
from qddot.compile.gpu.driver import LOCAL_BYTES, REGISTERS, device, wait
from qddot.compile.gpu.thread import Shape
from qddot.compile.trace import complete, trace
from qddot.rollout import ComputedTorqueLaw, PDLaw

STATES = 1 << 20
SAMPLE = 1000
QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "jacobian",
    "regressor",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
WIDE = QUANTITIES[-3:]  # results of many numbers, for which states last is worth asking
STEPS = 100
LAWS = {
    "torque": None,
    "PD": PDLaw(100, 10, gravity=False),
    "PD + gravity": PDLaw(100, 10),
    "computed torque": ComputedTorqueLaw(100, 20),
}


def seconds(call: Callable[[], Any], repeats: int = 20) -> float:
    """Of one call, the best mean of five."""
    for _ in range(3):
        call()
    best = np.inf
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            call()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / repeats * 1e-3)
    return best


def by_the_clock(call: Callable[[], Any], settle: Callable[[Any], None], repeats: int = 2000) -> float:
    """Of one call as Python sees it, the best mean of five."""
    best = np.inf
    for _ in range(6):
        start = time.perf_counter()
        for _ in range(repeats):
            found = call()
        best = min(best, (time.perf_counter() - start) / repeats)
        settle(found)
    return best


def bandwidth() -> float:
    """Bytes read and written a second by a copy."""
    a = torch.zeros(1 << 28, dtype=torch.float32, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() * 4 / seconds(lambda: b.copy_(a), 10)


def states(robot: qddot.Robot, sizes: list[int], dtype: type, count: int = SAMPLE) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-2, 2, (count, n)).astype(dtype) for n in sizes]


def measure(robot: qddot.Robot, quantity: str, dtype: type, copy: float, options: dict[str, str], **shape: Any) -> None:
    """One quantity, in rows as users hold them or with the states last."""
    where = device(0)
    program = trace(robot.model, [complete(quantity, options, lambda: robot.tip)], dtype)
    began = time.perf_counter()
    kernel = DeviceKernel(program, np.dtype(dtype), where, Shape(**shape))
    compiled = time.perf_counter() - began
    drawn = states(robot, [x.size for x in program.inputs], dtype)
    small = [torch.from_numpy(x).cuda() for x in drawn]
    outputs = [x for x in program.outputs if x.name != "margins"]
    found = [torch.full((SAMPLE, x.size), -7.0, dtype=small[0].dtype, device="cuda") for x in outputs]

    def launch(count: int, inputs: list, results: list) -> None:
        kernel.launch(count, [Rows(x.data_ptr(), x.shape[1]) for x in inputs], [x.data_ptr() for x in results])

    torch.cuda.synchronize()
    launch(SAMPLE, small, found)
    wait(where, 0)
    wrong = kernel.now.take()
    wanted = getattr(robot, quantity)(*drawn, dtype=dtype, check=False, **options)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    got = [x.cpu().numpy() for x in found]
    if shape.get("element_major"):
        got = [x.reshape(-1).reshape(y.size, SAMPLE).T for x, y in zip(got, outputs)]
    same = np.mean([np.mean(a == b.reshape(SAMPLE, -1)) for a, b in zip(got, wanted)])
    exact = getattr(robot, quantity)(*(x.astype(float) for x in drawn), check=False, **options)
    exact = exact if isinstance(exact, tuple) else (exact,)
    error = max(np.max(np.abs(a - b.reshape(SAMPLE, -1))) / np.max(np.abs(b)) for a, b in zip(got, exact))
    big = [torch.from_numpy(np.resize(x, (STATES, x.shape[1]))).cuda() for x in drawn]
    results = [torch.empty((STATES, x.size), dtype=small[0].dtype, device="cuda") for x in outputs]
    t = seconds(lambda: launch(STATES, big, results))
    size = sum(x.numel() * x.element_size() for x in (*big, *results))
    registers, local = kernel.function.attribute(REGISTERS), kernel.function.attribute(LOCAL_BYTES)
    say = " ".join(f"{k}={v}" for k, v in {**options, **shape}.items())
    print(
        f"{quantity:30s} {np.dtype(dtype).name} {say:42s} {STATES / t / 1e9:7.2f} G/s {size / t / copy:6.1%} of copy, "
        f"{registers:3d} registers, {local:4d} local, {compiled:.2f} s, same bits {same:.2%}, error {error:.0e}, wrong {wrong}",
        flush=True,
    )


def rollouts(robot: qddot.Robot, method: str, law: str, dtype: type, **options: Any) -> None:
    """Steps a second of a batch of motions, and their bits."""
    run = robot.rollout(LAWS[law], method=method, **options)
    lower, upper = np.clip(robot.limits.lower, -2, 2), np.clip(robot.limits.upper, -2, 2)
    rng = np.random.default_rng(0)
    q = rng.uniform(lower, upper, (SAMPLE, robot.nv)).astype(dtype)
    qd, control = (rng.uniform(-1, 1, (SAMPLE, robot.nv)).astype(dtype) for _ in range(2))
    began = time.perf_counter()
    on = [torch.from_numpy(x).cuda() for x in (q, qd, control)]
    found = run(*on, steps=20)
    compiled = time.perf_counter() - began
    want = run(q, qd, control, steps=20, dtype=dtype)
    same = np.mean([np.mean(a.cpu().numpy() == b) for a, b in zip(found, want)])
    many = STATES if method != "variational" else STATES // 8
    big = [torch.from_numpy(np.resize(x, (many, x.shape[1]))).cuda() for x in (q, qd, control)]
    t = seconds(lambda: run(*big, steps=STEPS, every=STEPS, check=False), 2)
    say = ", ".join(f"{k}={v}" for k, v in options.items())
    print(
        f"rollout {method:14s} {law:16s} {np.dtype(dtype).name} {say:30s} {many * STEPS / t / 1e9:7.2f} G steps/s, "
        f"{compiled:.2f} s, same bits {same:.2%}",
        flush=True,
    )


def overhead(robot: qddot.Robot) -> None:
    """One state through PyTorch and JAX, beside their own x + y."""
    x, y, z = (torch.zeros((1, robot.nv), device="cuda") for _ in range(3))
    wait_for = lambda _: torch.cuda.synchronize()  # noqa: E731
    ours, theirs = by_the_clock(lambda: robot.inverse_dynamics(x, y, z), wait_for), by_the_clock(lambda: x + y, wait_for)
    print(f"PyTorch, one state: {1e6 * ours:.1f} us a call, x + y {1e6 * theirs:.1f} us: {ours / theirs:.2f} times", flush=True)
    try:
        import jax
    except ImportError:
        return
    a, b, c = (jax.numpy.zeros((1, robot.nv)) for _ in range(3))
    add = jax.jit(lambda x, y: x + y)
    settle = lambda found: found.block_until_ready()  # noqa: E731
    ours, theirs = by_the_clock(lambda: robot.inverse_dynamics(a, b, c), settle), by_the_clock(lambda: add(a, b), settle)
    print(f"JAX, one state: {1e6 * ours:.1f} us a call, jitted x + y {1e6 * theirs:.1f} us: {ours / theirs:.2f} times", flush=True)


class Nothing(torch.autograd.Function):
    """A gradient in which nothing is computed: what PyTorch itself takes."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(weights)


def gradient(robot: qddot.Robot, copy: float) -> None:
    """Value and gradient of inverse dynamics through PyTorch."""
    inputs = [
        torch.from_numpy(np.resize(x, (STATES, robot.nv))).cuda().requires_grad_()
        for x in states(robot, [robot.nv] * 3, np.float32)
    ]
    weights = torch.ones((STATES, robot.nv), device="cuda")

    def both() -> tuple:
        return torch.autograd.grad(robot.inverse_dynamics(*inputs), inputs, weights)

    def backward() -> None:
        for x in inputs:
            x.grad = None
        robot.inverse_dynamics(*inputs).backward(weights)

    def least() -> None:
        one.grad = None
        Nothing.apply(one).backward(weight)

    numbers = STATES * robot.nv * (4 + 7)  # three read and one written; four read and three written

    def say(how: str, t: float) -> None:
        print(f"PyTorch, value and gradient {how}: {STATES / t / 1e9:.2f} G/s, {numbers * 4 / t / copy:.1%} of copy", flush=True)

    one, weight = torch.ones((1, 1), device="cuda", requires_grad=True), torch.ones((1, 1), device="cuda")
    say("by backward()", seconds(backward))
    say("by autograd.grad()", seconds(both))
    settle = lambda _: torch.cuda.synchronize()  # noqa: E731
    floor = by_the_clock(least, settle, 200)
    with torch.autograd.set_multithreading_enabled(False):
        say("by backward(), in the caller's thread", seconds(backward))
        say("by autograd.grad(), in the caller's thread", seconds(both))
        here = by_the_clock(least, settle, 200)
    half = 2 * numbers * 4 / copy
    print(
        f"PyTorch's least gradient, no kernel at all: {1e6 * floor:.0f} us by its own thread, {1e6 * here:.0f} us in the caller's; "
        f"half of copy's bandwidth is {1e6 * half:.0f} us; {len(os.sched_getaffinity(0))} cores",
        flush=True,
    )
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        both()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        kept = both()
    say("in a CUDA graph", seconds(graph.replay))
    del kept


def way_back(robot: qddot.Robot, method: str) -> None:
    """Steps a second of rollouts and their gradients, through PyTorch and JAX."""
    many = STATES // 8
    run = robot.rollout(LAWS["PD"], method=method, stops=False, saturate=False)
    q, control = torch.rand((many, robot.nv), device="cuda"), torch.rand((STEPS, many, robot.nv), device="cuda", requires_grad=True)
    last = lambda x, u: run(x, x, u, every=STEPS).q[-1]  # noqa: E731
    say = lambda what, t: print(f"{what} {method:14s} float32 {many * STEPS / t / 1e9:7.3f} G steps/s", flush=True)  # noqa: E731
    say("PyTorch, rollout and gradient", seconds(lambda: torch.autograd.grad(last(q, control).sum(), control), 1))
    try:
        import jax
    except ImportError:
        return
    x, u = jax.numpy.asarray(q.cpu().numpy()), jax.numpy.asarray(control.detach().cpu().numpy())
    there, back = jax.jit(last), jax.jit(jax.grad(lambda u: last(x, u).sum()))
    settle = lambda found: found.block_until_ready()  # noqa: E731
    say("JAX, rollout", by_the_clock(lambda: settle(there(x, u)), settle, 2))
    say("JAX, rollout and gradient", by_the_clock(lambda: settle(back(u)), settle, 2))


def learning(robot: qddot.Robot) -> None:
    """Actions a second of environments whose state is on the device."""
    try:
        from qddot.environments import Environments, Reach
    except qddot.QddotError:
        return
    for count in (4096, 65536):
        envs = Environments(Reach(robot, frame=robot.frame_names[-1]), count, device="cuda")
        envs.reset(seed=0)
        actions = torch.rand((count, robot.nv), device="cuda") / 5 - 0.1  # held, so that more would send the arm spinning
        t = seconds(lambda envs=envs, actions=actions: envs.step(actions), 10)
        print(f"Reach, {count} environments, four steps an action: {count / t / 1e6:.1f} M actions/s, {1e3 * t:.2f} ms", flush=True)


def crossing(robot: qddot.Robot) -> None:
    """The batch from which a GPU is faster than two cores, arrays where they are computed; the call and its end."""
    for exponent in range(0, 21, 2):
        given = [np.resize(x, (1 << exponent, robot.nv)) for x in states(robot, [robot.nv] * 3, np.float32)]
        gpu, cpu = beside_each_other(robot, given, 200 if exponent < 14 else 10)
        print(f"inverse dynamics of {1 << exponent:8d} states: GPU {1e6 * gpu:9.1f} us, two cores {1e6 * cpu:9.1f} us", flush=True)


def all_cores(robot: qddot.Robot) -> None:
    """What the processor beside the GPU makes of the same batch."""
    for quantity, dtype in itertools.product(QUANTITIES[:2], (np.float32, np.float64)):
        given = [np.resize(x, (STATES, robot.nv)) for x in states(robot, [robot.nv] * 3, dtype)]
        t = by_the_clock(lambda: getattr(robot, quantity)(*given, dtype=dtype), lambda _: None, 3)  # noqa: B023
        print(f"{quantity} {np.dtype(dtype).name} on {os.cpu_count()} cores: {STATES / t / 1e9:.3f} G/s", flush=True)


def beside_each_other(robot: qddot.Robot, given: list[np.ndarray], repeats: int) -> tuple[float, float]:
    on = [torch.from_numpy(x).cuda() for x in given]

    def there() -> None:
        robot.inverse_dynamics(*on)
        torch.cuda.synchronize()

    here = lambda: robot.inverse_dynamics(*given, dtype=np.float32, threads=2)  # noqa: E731
    gpu, cpu = (by_the_clock(call, lambda _: None, repeats) for call in (there, here))
    return gpu, cpu


def tried(measurement: Callable[..., None], *arguments: Any, **options: Any) -> None:
    try:
        measurement(*arguments, **options)
    except qddot.QddotError as failure:
        print(f"{measurement.__name__} {arguments[1:]} {options}: {failure}", flush=True)


def leads(quantity: str, dtype: type, shape: dict[str, bool], number: int) -> bool:
    """Does a short run have it? Of the first robot what docs/how_to/gpu.md speaks of, of others two rows."""
    if number or dtype is np.float64:
        return quantity in QUANTITIES[:2] and not shape and (number == 0 or dtype is np.float32)
    return quantity in WIDE or not shape


def named(path: str) -> qddot.Robot:
    robot = qddot.load(path)
    fingers = {name: 0.0 for name in robot.joint_names if "finger" in name}
    return robot.with_locked(fingers) if fingers else robot


def main() -> None:
    warnings.simplefilter("ignore")
    copy = bandwidth()
    paths = [x for x in sys.argv[1:] if x != "--short"]
    short = len(paths) < len(sys.argv) - 1
    robots = [named(path) for path in paths]
    for number, robot in enumerate(robots):
        print(f"{device(0).name}, {robot.name}, {robot.nv} joints; copy {copy / 1e12:.2f} TB/s", flush=True)
        quantities = QUANTITIES if number == 0 else QUANTITIES[:4]
        for quantity, dtype, shape in itertools.product(quantities, (np.float32, np.float64), ({}, {"element_major": True})):
            if not short or leads(quantity, dtype, shape, number):
                options = {"frame": robot.frame_names[-1]} if quantity == "jacobian" else {}
                tried(measure, robot, quantity, dtype, copy, options, **shape)
    robot = robots[0]
    print(f"{robot.name}:", flush=True)
    for method, law, dtype in itertools.product(("semi_implicit", "rk4"), LAWS, (np.float32, np.float64)):
        if not short or (law, dtype) == ("PD", np.float32):
            tried(rollouts, robot, method, law, dtype, stops=False, saturate=False)
    tried(gradient, robot, copy)  # before JAX is there, whose threads slow calls of PyTorch down
    for other in (overhead, crossing, learning):
        tried(other, robot)
    if not short:
        tried(all_cores, robot)
        for method, dtype in itertools.product(("semi_implicit", "rk4"), (np.float32, np.float64)):
            tried(rollouts, robot, method, "torque", dtype)
        tried(rollouts, robot, "variational", "torque", np.float64, stops=False)
        for method in ("semi_implicit", "rk4"):
            tried(way_back, robot, method)
    print(f"memory held at most: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)


if __name__ == "__main__":
    main()
