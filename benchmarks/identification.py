"""Samples a second into triangular factors, against a loop over Pinocchio's regressor in the same run; memory; Dask.

    python benchmarks/identification.py [samples]

One thread (set OPENBLAS_NUM_THREADS=1). The motion is generated chunk by chunk, so nothing but the factors stays.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qddot
from qddot.identify import ParameterSet, Samples, base_parameters, least_squares, reduce

STRIP = 16384
warnings.simplefilter("ignore")


@dataclass(frozen=True)
class Generated:
    """A strip of a random motion: the same numbers wherever it is asked for."""

    number: int
    joints: int

    @property
    def motion(self) -> Samples:
        x = np.random.default_rng(self.number).random((4, STRIP, self.joints), dtype=np.float32)
        return Samples(*(4.0 * x.astype(float) - 2.0))

    @property
    def paces(self) -> np.ndarray:
        return np.ones((STRIP, self.joints))  # no joint ever rests

    step = 1
    cuts = ()

    def thinned(self) -> Samples:
        return self.motion

    def filtered(self, x: np.ndarray, thinned: bool = False) -> np.ndarray:
        return x


def strips(samples: int, joints: int) -> Iterator[tuple[int, Generated]]:
    count = max(1, samples // STRIP)
    return ((k * 40 // count, Generated(k, joints)) for k in range(count))


def pinocchio(path: Path, samples: int) -> float:
    """Seconds a sample: the regressor in a loop, then its R factor a chunk."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q, v, a = np.random.default_rng(0).normal(size=(3, samples, model.nv))
    R = np.zeros((0, 10 * model.nv))
    cpu = time.process_time()
    for start in range(0, samples, 512):
        some = range(start, min(start + 512, samples))
        rows = [pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k]).copy() for k in some]
        R = np.linalg.qr(np.vstack([R, *rows]), mode="r")
    return (time.process_time() - cpu) / samples


def main() -> None:
    total = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    robot = qddot.load("arm7")
    parameters = ParameterSet.of(robot)
    base = base_parameters(parameters)
    robot.to_urdf(path := Path("/tmp/arm7_bench.urdf"))
    reduce(base, strips(STRIP, robot.nv))
    print(f"{robot.name}: {base.rank} base parameters")
    for samples in (total // 10, total):
        cpu, wall = time.process_time(), time.perf_counter()
        factors = reduce(base, strips(samples, robot.nv))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        done = int(factors.counts.sum())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{done:>9} samples: {done / cpu:9.0f} a CPU second ({done / wall:.0f} a second), peak {peak:.0f} MiB", flush=True)
    print(f"condition {least_squares(factors).condition:.3g}")
    print(f"Pinocchio: {1 / pinocchio(path, 5000):9.0f} samples a CPU second")


if __name__ == "__main__":
    main()
