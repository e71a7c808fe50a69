"""Digests of results, to be compared between computers: `python tests/platforms/probe.py [--level LEVEL] [--output FILE]`.

A level makes code for less than this computer has: `avx2`, `fma16` (16-byte vectors), and without fused multiply-add `avx`, `sse2`.
Angles stay below `sincos.LIMIT`, beyond which the C library's sine answers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from pathlib import Path

import numpy as np

import qddot
from qddot.compile import kernel, layout, llvm

ROBOTS = ("two_link", "puma560", "point_mass_2r", "cart_pole", "acrobot", "arm7", "delta", "five_bar")
LEVELS = {
    "avx2": llvm.Computer("x86-64-v3", "", 32, True),
    "fma16": llvm.Computer("x86-64-v3", "", 16, True),
    "avx": llvm.Computer("sandybridge", "", 32, False),
    "sse2": llvm.Computer("x86-64", "", 16, False),
}


def digests(robots: tuple[str, ...] = ROBOTS) -> dict[str, str]:
    """Of each quantity of each robot; a batch, single calls, other strides and a bound quantity must agree, or it is an error."""
    found, rng = {}, np.random.default_rng(1)
    for name in robots:
        robot = qddot.load(name)
        q, qd, x = rng.normal(size=(3, 37, robot.nv))
        for method, arguments in {"inverse_dynamics": (q, qd, x), "forward_dynamics": (q, qd, x), "mass_matrix": (q,)}.items():
            call = getattr(robot, method)
            for label, inputs in {"": arguments, " far": (q * 1e5, *arguments[1:])}.items():
                found[f"{name} {method}{label}"] = digest(same_however_called(call, inputs))
            found[f"{name} {method} float32"] = digest(same_however_called(call, arguments, dtype=np.float32))
        step = robot.bind("inverse_dynamics")
        step.q, step.qd, step.qdd = q[0], qd[0], x[0]
        np.testing.assert_array_equal(step(), robot.inverse_dynamics(q[0], qd[0], x[0]))
    return found


def same_however_called(call, inputs: tuple[np.ndarray, ...], **options) -> np.ndarray:
    batch = call(*inputs, **options)
    single = [call(*(a[k].copy() for a in inputs), **options) for k in range(len(batch))]
    strided = call(*(np.repeat(a, 2, axis=-1)[..., ::2] for a in inputs), **options)
    np.testing.assert_array_equal(batch, single)
    np.testing.assert_array_equal(batch, strided)
    return batch


def digest(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()[:16]


def use(level: str) -> None:
    """From here on, make code for another computer."""
    llvm.this_computer()  # sets LLVM up
    llvm.this_computer = kernel.this_computer = lambda: LEVELS[level]  # type: ignore[assignment]


def about() -> dict[str, object]:
    """Where this ran."""
    computer = llvm.this_computer()
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "python": sys.version.split()[0],
        "lock": getattr(sys, "_is_gil_enabled", lambda: True)(),
        "numpy": np.__version__,
        "cpu": computer.cpu,
        "vector_bytes": computer.vector_bytes,
        "fma": computer.fma,
        "direct_entry": layout.why_no_direct_entry() or "yes",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--level", choices=LEVELS)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    if chosen.level:
        use(chosen.level)
    report = json.dumps({"about": about(), "digests": digests()}, indent=1)
    if chosen.output:
        chosen.output.write_text(report, "utf-8")
    else:
        print(report)
