"""What a GPU makes of the programs: states a second, as a share of the bandwidth of a plain copy; bits beside the CPU's.

    python benchmarks/gpu.py panda.urdf

Needs an NVIDIA GPU and PyTorch, which only holds the memory and measures time.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings

import numpy as np
import torch

import qddot
from qddot.compile.gpu.device_kernel import DeviceKernel, Rows
from qddot.compile.gpu.driver import LOCAL_BYTES, REGISTERS, device
from qddot.compile.gpu.thread import Shape
from qddot.compile.trace import complete, trace

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


REGISTERS_TRIED = {"forward_dynamics": {"float32": (96,), "float64": (168,)}}


def seconds(call, repeats: int = 20) -> float:
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


def bandwidth() -> float:
    """Bytes read and written a second by a copy."""
    a = torch.zeros(1 << 28, dtype=torch.float32, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() * 4 / seconds(lambda: b.copy_(a), 10)


def measure(robot: qddot.Robot, quantity: str, dtype: type, copy: float, options: dict[str, str] = {}, **shape) -> None:  # noqa: B006
    where = device(0)
    program = trace(robot.model, [complete(quantity, options, lambda: robot.tip)], dtype)
    began = time.perf_counter()
    kernel = DeviceKernel(program, np.dtype(dtype), where, Shape(**shape))
    compiled = time.perf_counter() - began
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(-2, 2, (SAMPLE, x.size)).astype(dtype) for x in program.inputs]
    small = [torch.from_numpy(x).cuda() for x in drawn]
    outputs = [x for x in program.outputs if x.name != "margins"]
    found = [torch.full((SAMPLE, x.size), -7.0, dtype=small[0].dtype, device="cuda") for x in outputs]

    def launch(states: int, inputs: list, results: list) -> None:
        kernel.launch(states, [Rows(x.data_ptr(), x.shape[1]) for x in inputs], [x.data_ptr() for x in results])

    torch.cuda.synchronize()
    launch(SAMPLE, small, found)
    wrong = kernel.worst.read(0)
    torch.cuda.synchronize()
    wanted = getattr(robot, quantity)(*drawn, dtype=dtype, **options)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    got = [x.cpu().numpy() for x in found]
    if shape.get("element_major"):
        got = [x.reshape(-1).reshape(y.size, SAMPLE).T for x, y in zip(got, outputs)]
    pairs = [(a, b.reshape(SAMPLE, -1)) for a, b in zip(got, wanted)]
    same = np.mean([np.mean(a == b) for a, b in pairs])
    error = max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)
    big = [torch.from_numpy(np.resize(x, (STATES, x.shape[1]))).cuda() for x in drawn]
    results = [torch.empty((STATES, x.size), dtype=small[0].dtype, device="cuda") for x in outputs]
    t = seconds(lambda: launch(STATES, big, results))
    size = sum(x.numel() * x.element_size() for x in (*big, *results))
    registers, local = kernel.function.attribute(REGISTERS), kernel.function.attribute(LOCAL_BYTES)
    say = " ".join(f"{k}={v}" for k, v in {**options, **shape}.items())
    print(
        f"{quantity:30s} {np.dtype(dtype).name} {say:42s} {STATES / t / 1e9:7.2f} G/s {size / t / copy:6.1%} of copy, "
        f"{registers:3d} registers, {local:4d} local, {compiled:.2f} s, same bits {same:.2%}, error {error:.1e}, wrong {wrong}",
        flush=True,
    )


def main() -> None:
    warnings.simplefilter("ignore")
    robot = qddot.load(sys.argv[1])
    fingers = {name: 0.0 for name in robot.joint_names if "finger" in name}
    robot = robot.with_locked(fingers) if fingers else robot
    copy = bandwidth()
    print(f"{device(0).name}, {robot.name}, {robot.nv} joints; copy {copy / 1e12:.2f} TB/s", flush=True)
    for quantity, dtype in itertools.product(QUANTITIES, (np.float32, np.float64)):
        shapes = [{}, {"element_major": True}]
        shapes += [{"registers": n} for n in REGISTERS_TRIED.get(quantity, {}).get(np.dtype(dtype).name, ())]
        ways = [{"frame": robot.frame_names[-1]}] if quantity == "jacobian" else [{}]
        for options, shape in itertools.product(ways, shapes):
            try:
                measure(robot, quantity, dtype, copy, options, **shape)
            except qddot.QddotError as failure:
                print(f"{quantity} {np.dtype(dtype).name} {options} {shape}: {failure}", flush=True)


if __name__ == "__main__":
    main()
