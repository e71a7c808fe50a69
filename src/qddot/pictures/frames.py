"""Frames of links; those of a Denavit-Hartenberg table with their distances a and d, as textbooks draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qddot.model.model import Model

XYZ = ("#d55e00", "#009e73", "#0072b2")
"""Colours of the axes, as in the explorer."""

TOLERANCE = 1e-6


class Step(NamedTuple):
    """A distance of a Denavit-Hartenberg table, as a line between two points (2, 3), with its letter."""

    line: np.ndarray
    letter: str

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.line[1] - self.line[0]))


def serial_frames(model: Model) -> list[str]:
    """Return the root and each moving link, from the base outward, of a robot that is one chain; an empty list for a tree."""
    links = [body for body in model.bodies if body.is_link]
    chain = [model.root, *(body.name for body in links)]
    return chain if all(body.parent == body.index - 1 for body in links) and len(links) == len(model.bodies) else []


def table_kind(frames: Sequence[np.ndarray], reach: float) -> str | None:
    """Return `standard` or `modified` if the frames of a chain in general position are those of such a table, else None."""
    pairs = list(pairwise(frames))
    if all(meets(after, 0, before, 2, reach) for before, after in pairs):
        return "standard"
    if all(meets(before, 0, after, 2, reach) for before, after in pairs):
        return "modified"
    return None


def meets(one: np.ndarray, x: int, other: np.ndarray, z: int, reach: float) -> bool:
    """True if an axis of one frame meets an axis of the other at right angles."""
    u, v = one[:3, x], other[:3, z]
    apart = other[:3, 3] - one[:3, 3]
    return bool(abs(u @ v) < TOLERANCE and abs(apart @ np.cross(u, v)) < TOLERANCE * reach)


def steps(frames: Sequence[np.ndarray], kind: str, reach: float) -> Iterator[Step]:
    """Yield the distances that are not zero: d along z, a along x, in the order of the convention."""
    for i, (before, after) in enumerate(pairwise(frames), start=1):
        start, end = before[:3, 3], after[:3, 3]
        along = before[:3, 2] if kind == "standard" else before[:3, 0]
        corner = start + along * (along @ (end - start))
        letters = (f"d_{{{i}}}", f"a_{{{i}}}") if kind == "standard" else (f"a_{{{i - 1}}}", f"d_{{{i}}}")
        found = (Step(np.array(line), letter) for letter, line in zip(letters, ((start, corner), (corner, end))))
        yield from (step for step in found if step.length > TOLERANCE * reach)
