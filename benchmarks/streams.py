"""Identification of a 7-joint arm from a Parquet file, too long for memory: rows a processor second, stage by stage, and memory.

    taskset -c 0 python benchmarks/streams.py [rows] [folder]

The files (in a temporary folder, unless one is named) are written first, if they are not there: an hour of positions and torques at
1 kHz is 3.6 million rows of 146 bytes. Two lengths are identified, each in a process of its own, since what does not grow with the
log (compiling, the choice of speeds, laws and filters) takes seconds: a further row is what the difference says. Beside it stand
the machine's own limits for the same file: decoding it with pyarrow and nothing else, and writing and reading as many bytes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import qddot
from qddot.identify import ParameterSet

ROBOT = "arm7"
RATE = 1000.0  # Hz
NOISE = 1e-5, 0.1  # rad, N m
BLOCK = 50_000  # rows of a group in the file
FRICTION = {"viscous": 2.0, "coulomb": 3.0, "offset": 0.3, "armature": 0.3}


def write(path: Path, rows: int) -> None:
    """A motion of five harmonics a joint, whose periods have no common multiple, and the torques of links and friction."""
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    robot, draw = qddot.load(ROBOT), np.random.default_rng(0)
    parameters, k = ParameterSet.of(robot), np.arange(1, 6)[:, None]
    kinds = [name.rpartition(".")[2] for name in parameters.names]
    theta = [FRICTION[kind] * draw.uniform(0.5, 1.5) if kind in FRICTION else x for kind, x in zip(kinds, parameters.described)]
    a, b = draw.normal(size=(2, 5, robot.nv)) / k
    w = 0.2 * np.pi * k * (1 + 0.05 * draw.normal(size=(5, robot.nv)))
    limits = robot.limits
    reach, middle = 0.4 * (limits.upper - limits.lower) / np.hypot(a, b).sum(axis=0), (limits.upper + limits.lower) / 2
    names = ["t", *(f"{kind}{j + 1}" for kind in ("q", "tau") for j in range(robot.nv))]
    schema = arrow.schema([(name, arrow.float64()) for name in names])
    with ParquetWriter(path, schema) as file:
        for start in range(0, rows, BLOCK):
            t = np.arange(start, min(start + BLOCK, rows)) / RATE
            sin, cos = np.sin(t[:, None, None] * w), np.cos(t[:, None, None] * w)
            q = middle + reach * np.sum(a * sin + b * cos, axis=1)
            qd, qdd = reach * np.sum(w * (a * cos - b * sin), axis=1), -reach * np.sum(w * w * (a * sin + b * cos), axis=1)
            tau = parameters.matrix(q, qd, qdd) @ theta + NOISE[1] * draw.normal(size=q.shape)
            columns = [t, *(q + NOISE[0] * draw.normal(size=q.shape)).T, *tau.T]
            file.write_table(arrow.table([np.ascontiguousarray(x) for x in columns], schema=schema))


class Stages:
    """Processor seconds in functions, those within others not counted twice."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[float] = []

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        begin = time.process_time()
        self._open.append(0.0)
        try:
            yield
        finally:
            took, inner = time.process_time() - begin, self._open.pop()
            self.seconds[name] = self.seconds.get(name, 0.0) + took - inner
            if self._open:
                self._open[-1] += took

    def watch(self, owner: object, name: str, stage: str) -> None:
        """Time every call of a function, and every item of an iterator that it returns."""
        given = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
        function: Callable = given.__func__ if isinstance(given, staticmethod) else given

        def timed(*args, **options):
            with self.within(stage):
                result = function(*args, **options)
            return self.items(result, stage) if isinstance(result, Iterator) else result

        setattr(owner, name, staticmethod(timed) if isinstance(given, staticmethod) else timed)

    def items(self, made: Iterator, stage: str) -> Iterator:
        while True:
            with self.within(stage):
                try:
                    item = next(made)
                except StopIteration:
                    return
            yield item


def watched() -> Stages:
    from qddot.identify.regression import motion_summary, reduction, residuals, rows, signals
    from qddot.logs import kept_tables, log, log_summary, read_arrays

    stages = Stages()
    stages.watch(read_arrays, "batches", "decode Parquet")
    stages.watch(log.Log, "from_table", "columns, units, quality")
    stages.watch(kept_tables.Kept, "_keep", "keep for the next passes")
    stages.watch(kept_tables.Kept, "_read", "read again, twice")
    stages.watch(log_summary.LogSummary, "of", "extremes, lost and frozen samples")
    stages.watch(signals, "without_spikes", "spikes, twice")
    stages.watch(signals, "filtered", "low-pass and derivatives, twice")
    stages.watch(motion_summary.Gathered, "add", "motion as a whole")
    stages.watch(rows.Rows, "__call__", "regressor and low-pass")
    stages.watch(reduction, "condensed", "triangles")
    stages.watch(residuals, "residuals", "torques predicted")
    stages.watch(residuals, "sums", "residuals, outliers")
    return stages


def identified(path: Path) -> None:
    """One process: the fit, its time and its memory."""
    robot, stages = qddot.load(ROBOT), watched()
    begin, wall = time.process_time(), time.perf_counter()
    fit = robot.identify(path)
    seconds, wall = time.process_time() - begin, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "wall": wall, "peak": peak, "good": bool(fit.verdict), "stages": stages.seconds}))


def limits(path: Path) -> dict[str, float]:
    """Processor seconds of the machine for the same bytes: decoding, writing and reading them."""
    from pyarrow.parquet import ParquetFile

    found, begin, size = {}, time.process_time(), 0
    with ParquetFile(path) as file:
        for k in range(file.metadata.num_row_groups):
            for batch in file.iter_batches(row_groups=[k], use_threads=False):
                size += batch.nbytes
    found["pyarrow decodes the file"] = time.process_time() - begin
    block, count = np.ones(12 * BLOCK), -(-size // (96 * BLOCK))
    with tempfile.TemporaryFile() as copy:
        for name, move in (("as many bytes written to a file", copy.write), ("and read", copy.readinto)):
            copy.seek(0)
            begin = time.process_time()
            for _ in range(count):
                move(block)
            found[name] = time.process_time() - begin
    return found


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "one":
        identified(Path(sys.argv[2]))
        return
    if len(sys.argv) > 3 and sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
        return
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 4_000_000
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for count in (rows // 4, rows):
        path = folder / f"{ROBOT}_{count}.parquet"
        if not path.exists():  # by a process of its own: the peak of one that has started others is theirs, too
            subprocess.run([sys.executable, __file__, "write", str(path), str(count)], check=True)
        out = subprocess.run([sys.executable, __file__, "one", str(path)], capture_output=True, text=True, check=True)
        told = json.loads(out.stdout)
        found.append((count, told["seconds"], told["stages"]))
        said = "identified" if told["good"] else "NOT identified"
        took = f"{told['seconds']:7.2f} processor s, {told['wall']:7.2f} s"
        print(f"{count:>10} rows: {took}, peak {told['peak']:.0f} MiB, {said}", flush=True)
    (few, before, first), (many, after, last) = found
    row = (after - before) / (many - few)
    print(f"\na further row: {1e9 * row:.0f} ns, {1 / row:.0f} rows a processor second")
    for stage in last:
        print(f"  {stage:38}{1e9 * (last[stage] - first.get(stage, 0.0)) / (many - few):8.0f} ns")
    rest = (after - sum(last.values())) - (before - sum(first.values()))
    print(f"  {'all else':38}{1e9 * rest / (many - few):8.0f} ns\nthe machine, a row of the same file:")
    for name, seconds in limits(path).items():
        print(f"  {name:38}{1e9 * seconds / many:8.0f} ns")


if __name__ == "__main__":
    main()
