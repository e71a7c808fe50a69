"""A traced function: named inputs, named outputs, and the nodes between. Every backend takes one."""

from __future__ import annotations

import hashlib
import math
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from qddot.graph.expr import Expr, plain, schedule
from qddot.model.scalar import Scalar

MARGINS = "margins"
"""Name of the last output of a program whose results may not exist for every input."""


class Input(NamedTuple):
    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Output(NamedTuple):
    """An output of a program. `values` has one scalar for each element, row-major: a node or a plain number."""

    name: str
    shape: tuple[int, ...]
    values: tuple[Scalar, ...]

    @property
    def size(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Program:
    """A function of arrays, element by element."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]

    @cached_property
    def nodes(self) -> list[Expr]:
        """All nodes that the outputs need, operands first."""
        return schedule(value for output in self.outputs for value in output.values)

    @property
    def shown(self) -> tuple[Output, ...]:
        """The outputs that a caller sees."""
        return tuple(x for x in self.outputs if x.name != MARGINS)

    @property
    def margins(self) -> tuple[Output, ...]:
        """The output, none or one, whose elements are positive where the results exist."""
        return tuple(x for x in self.outputs if x.name == MARGINS)

    def is_finite(self, largest: float = sys.float_info.max) -> bool:
        """Return False if a constant is NaN, or larger than `largest`: it would spread through results without raising a flag.

        A program with a constant margin that is not positive has no result for any input, and every call says so: True.
        """
        if any(x.__class__ is not Expr and x <= 0 for margins in self.margins for x in margins.values):
            return True
        constants = {x for node in self.nodes if node.op != "var" for x in node.args if x.__class__ is not Expr}
        constants |= {x for output in self.outputs for x in output.values if x.__class__ is not Expr}
        return all(abs(x) <= largest for x in constants)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of names of inputs and outputs, and of every operation; the same in every process."""
        place = {node: k for k, node in enumerate(self.nodes)}
        shown = lambda x: f"%{place[x]}" if x.__class__ is Expr else float(x).hex()  # noqa: E731
        lines = [f"{x.name} {x.shape}" for x in self.inputs]
        for node in self.nodes:
            lines.append(f"{node.op} {' '.join(map(str, node.args) if node.op == 'var' else map(shown, node.args))}")
        lines += [f"{x.name} {x.shape} {' '.join(map(shown, x.values))}" for x in self.outputs]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def operations(self) -> Counter[str]:
        """Return how often each operation occurs; leaves are not operations."""
        return Counter(node.op for node in self.nodes if node.op != "var")


class Operations(NamedTuple):
    """Number of scalar operations of a program. Changes of sign are free: they become part of another operation."""

    multiplications: int
    additions: int
    divisions: int
    angles: int  # angles whose sine or cosine is taken
    other: int

    @staticmethod
    def of(program: Program) -> Operations:
        counts = program.operations()
        angles = {node.args[0] for node in program.nodes if node.op in ("sin", "cos")}
        other = sum(n for op, n in counts.items() if op not in ("+", "-", "*", "/", "neg", "sin", "cos"))
        return Operations(counts["*"], counts["+"] + counts["-"], counts["/"], len(angles), other)

    @property
    def total(self) -> int:
        """Multiplications, additions and divisions."""
        return self.multiplications + self.additions + self.divisions


def output(name: str, value, rank: int) -> Output:
    """Return an output of `rank` dimensions from a scalar or a nested sequence of scalars (all rows of one length)."""
    shape: list[int] = []
    flat = [value]
    for _ in range(rank):
        shape.append(len(flat[0]) if flat else 0)
        flat = [x for row in flat for x in row]
    return Output(name, tuple(shape), tuple(plain(x) for x in flat))
