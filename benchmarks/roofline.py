"""How near every batch comes to what one core of this machine can do at all.

    .venv/bin/python benchmarks/roofline.py [--robots panda,ur5,g1] [--works mass_matrix,...] [--seconds 0.3]

A row's limit is the larger of two times: its operations at the measured peak of fused multiply-adds (counted as two each), and its
bytes, read and written once, at the rate at which loops that do nothing else move as many (through the caches or around them, the
faster). Both, and the public method on 4,096 states with one thread, are measured in turn; each time is the shortest of many short
ones, in processor time, so that neighbours on the machine disturb little.

`at most` is the share of the peak that one instruction after another could reach: a sum or product that finds no partner to be
fused with takes as long as both together. (Cores with adders beside their multipliers, such as Zen 4, may go beyond.) `in turn` is
how much of the time the two limits explain one after the other, arithmetic with what it may reach at most: what is left of a row's
share where nothing of it overlaps.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import ours
import peak
import table

from qddot.graph.program import Program
from robots import TITLES, Case
from robots import case as make_case

WORKS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "regressor",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "jacobian",
)


@dataclass(frozen=True)
class Row:
    """One work of one robot: times of one state in s, at the limits and as measured."""

    work: str
    robot: str
    operations: int
    ceiling: float
    bytes: int
    arithmetic: float
    memory: float
    time: float

    @property
    def limit(self) -> str:
        return "arithmetic" if self.arithmetic > self.memory else "memory"

    @property
    def share(self) -> float:
        return max(self.arithmetic, self.memory) / self.time

    @property
    def in_turn(self) -> float:
        """The part of the time that arithmetic and memory take one after the other."""
        return (self.arithmetic / self.ceiling + self.memory) / self.time


def measured(case: Case, work: str, seconds: float) -> Row:
    """A batch beside its limits."""
    program, states = ours.kernel(case, work).program, len(case.q)
    read, written = (8 * sum(x.size for x in part) for part in (program.inputs, results(program)))
    jobs = {"spin": peak.spinning(), "here": ours.batch(case, work).run}
    jobs |= {f"move {way}": peak.moving(read, written, states, way) for way in peak.WAYS}
    best = shortest(jobs, seconds)
    flops = peak.flops(program)
    return Row(
        work,
        case.name,
        flops,
        flops / (2 * peak.instructions(program)),
        read + written,
        flops * best["spin"] / peak.SPINS,
        min(best[f"move {way}"] for way in peak.WAYS) / states,
        best["here"] / states,
    )


def results(program: Program) -> list:
    """What a caller gets."""
    return [x for x in program.outputs if x.name != "margins"]


def shortest(jobs: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """The shortest processor time of each, in turn, for about `seconds` and at least 15 rounds; each twice, to warm the caches."""
    best = dict.fromkeys(jobs, np.inf)
    start, rounds = time.perf_counter(), 0
    while rounds < 15 or time.perf_counter() - start < seconds:
        for name, job in jobs.items():
            for _ in range(2):
                before = time.thread_time_ns()
                job()
                best[name] = min(best[name], (time.thread_time_ns() - before) * 1e-9)
        rounds += 1
    return best


HEAD = ("work", "robot", "one state", "operations", "at most", "at the peak", "bytes", "moved in", "limit", "share", "in turn")


def cells(row: Row) -> tuple[str, ...]:
    return (
        row.work,
        TITLES[row.robot],
        table.duration(row.time),
        str(row.operations),
        f"{100 * row.ceiling:.0f} %",
        table.duration(row.arithmetic),
        str(row.bytes),
        table.duration(row.memory),
        row.limit,
        f"{100 * row.share:.0f} %",
        f"{100 * row.in_turn:.0f} %",
    )


def text(found: Iterable[Row]) -> str:
    return table.plain(HEAD, [cells(row) for row in found])


def rows(cases: Sequence[Case], works: Sequence[str] = WORKS, seconds: float = 0.3) -> Iterable[Row]:
    for case in cases:
        for work in works:
            yield measured(case, work, seconds)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", default="panda,ur5,g1")
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--seconds", type=float, default=0.3)
    given = parser.parse_args()
    cases = [make_case(name) for name in given.robots.split(",")]
    print(text(rows(cases, given.works.split(","), given.seconds)))


if __name__ == "__main__":
    main()
