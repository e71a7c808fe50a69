"""Reduction of any number of samples to triangular factors: for each joint and each block of time the R of `[X | tau] = Q R`.

R is all that least squares needs, for any weighting of the joints and any choice of the blocks, and its size does not depend on the
length of the log. A block is cut into strips. The rows of strips, or their R if there are many, are merged pairwise in a fixed
order, so threads and a cluster give the same bits as a loop.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.cluster import AHEAD, in_cluster, window
from qddot.compile.threads import thread_count
from qddot.errors import InputError
from qddot.identify.regression.base import Base
from qddot.identify.regression.rows import Rows
from qddot.identify.regression.triangles import CHUNK, Matrices, Tree, Triangles, condensed, merge, tree, triangle
from qddot.thresholds import HAMPEL, MOST_BLOCKS

if TYPE_CHECKING:
    from qddot.identify.regression.pieces import Stretch

ENGINES = ("serial", "threads", "dask")
STRIP = 32 * CHUNK  # samples of one task


@dataclass(frozen=True, eq=False)
class Factors:
    """Triangular factors of a log's equations.

    Attributes:
        base: the base parameters whose columns are factored.
        columns: for each joint, indices of the base parameters in its row.
        R: for each block and joint, the upper triangle (k + 1, k + 1) of `[X_j | tau_j]`, tau last.
        counts: number of filtered samples in each block (blocks,).
        rows: number of those in which each joint does not rest (blocks, nv).

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> factors = reduce(base, pieces(signals))
    >>> len(factors.R) == len(factors.counts)  # a triangle for each joint of each block
    True
    >>> len(factors.merged(range(len(factors.R))))  # of all blocks together
    2
    """

    base: Base
    columns: list[np.ndarray]
    R: list[Triangles]
    counts: np.ndarray
    rows: np.ndarray

    def __repr__(self) -> str:
        return f"Factors of {len(self.columns)} joints, {self.counts.sum()} samples in {len(self.R)} blocks"

    def merged(self, blocks: Iterable[int]) -> list[np.ndarray]:
        """The factors of several blocks together."""
        return tree(self.R[k] for k in blocks)

    @property
    def left_out(self) -> np.ndarray:
        """Fraction of the samples in which each joint rests (nv,)."""
        return 1 - self.rows.sum(axis=0) / self.counts.sum()


Robust = tuple[np.ndarray, np.ndarray]
"""Parameters (r,) and noise of each joint (nv,): rows are weighted by how well they agree with these."""


@dataclass(frozen=True, eq=False)
class Strip:
    """A part of a block: number of samples, number of rows of each joint that count (nv,), and matrices with the R of each
    joint."""

    count: int
    rows: np.ndarray
    R: Matrices

    def __add__(self, other: Strip) -> Strip:
        """Merge two strips, this one on top."""
        return Strip(self.count + other.count, self.rows + other.rows, merge(self.R, other.R))


def factors_of(rows: Rows, piece: Stretch, robust: Robust | None) -> list[Strip]:
    """The factors of a piece, block by block, with the same bits in any process."""
    found, moving = rows(piece), rows.moving(piece)
    parts = [slice(a, b) for a, b in pairwise([0, *piece.cuts, len(moving)])]
    triangles = []
    for j, A in enumerate(rows.each(found)):
        if robust is not None:
            theta, sigma = robust
            residual = A[:, -1] - A[:, :-1] @ theta[rows.columns[j]]
            A = A * np.sqrt(hampel(residual / sigma[j]))[:, None]
        still = not moving[:, j].all()
        triangles.append([condensed(A[part][moving[part, j]] if still else A[part]) for part in parts])
    return [Strip(p.stop - p.start, moving[p].sum(axis=0), list(R)) for p, R in zip(parts, zip(*triangles))]


def reduce(
    base: Base,
    pieces: Iterable[tuple[int, Stretch]],
    *,
    robust: Robust | None = None,
    engine: str = "serial",
    address: Any = None,
    on_progress: Callable[[int], None] | None = None,
) -> Factors:
    """Reduce a stream of pieces to triangular factors.

    Args:
        pieces: (block, piece), the blocks in order; a piece may contain several. Beyond 64 blocks, neighbours are joined,
            as many in each.
        robust: parameters and noise for robust weights of the rows; None: all rows count alike.
        engine: `"serial"`, `"threads"` or `"dask"`.
        address: address of a Dask scheduler, or a `distributed.Client`; None: a cluster on this machine for the time of the call.
        on_progress: called with the number of rows of each finished piece.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> factors = reduce(base, pieces(signals))
    >>> factors
    Factors of 2 joints, 576 samples in 11 blocks
    """
    rows = Rows(base)
    numbers: deque[int] = deque()
    found: list[Strip] = []
    pending, current = Tree(Strip.__add__), None
    joined, wanted = 0, 1  # blocks in `pending`, and in each that is found, so that these stay equally long
    for strips in run(rows, noted(pieces, numbers), robust, engine, address):
        for block, strip in enumerate(strips, start=numbers.popleft()):
            if current is not None and block != current:
                joined += 1
            if joined == wanted:
                found.append(pending.result())
                pending, joined = Tree(Strip.__add__), 0
                if len(found) >= MOST_BLOCKS:
                    found, wanted = halved(found), 2 * wanted
            pending.add(strip)
            current = block
        if on_progress is not None:
            on_progress(sum(strip.count for strip in strips))
    if current is None:
        raise InputError("there is nothing to identify from: the log has no samples")
    found.append(pending.result())
    triangles = [[triangle(A) for A in one.R] for one in found]
    return Factors(base, rows.columns, triangles, np.array([one.count for one in found]), np.array([one.rows for one in found]))


def noted(pieces: Iterable[tuple[int, Stretch]], numbers: deque[int]) -> Iterator[Stretch]:
    """Yield the pieces, and append the number of the block in which each begins to `numbers`."""
    for block, piece in pieces:
        numbers.append(block)
        yield piece


def halved(found: list[Strip]) -> list[Strip]:
    """Join neighbouring blocks."""
    return [a + b for a, b in zip(found[::2], found[1::2])]


def hampel(x: np.ndarray) -> np.ndarray:
    """Hampel's weights of standardised residuals: 1 up to a, decreasing as a / x to b, and to 0 at c."""
    a, b, c = HAMPEL
    x = np.abs(x)
    falling = a / np.maximum(x, a)
    return np.where(x <= b, falling, np.where(x < c, falling * (c - x) / (c - b), 0.0))


# engines --------------------------------------------------------------------------------------------------------------------


def run(rows: Rows, pieces: Iterable[Stretch], robust: Robust | None, engine: str, address: Any) -> Iterator[list[Strip]]:
    """Yield the factors of each piece, in order, computed by the chosen engine."""
    if engine == "serial":
        return (factors_of(rows, piece, robust) for piece in pieces)
    if engine == "threads":
        return in_threads(rows, pieces, robust)
    if engine == "dask":
        base = pickle.dumps(rows.base)
        return in_cluster(at_worker, ((base, piece, robust) for piece in pieces), address)
    raise InputError(f"engine={engine!r} is not one of {', '.join(map(repr, ENGINES))}")


def in_threads(rows: Rows, pieces: Iterable[Stretch], robust: Robust | None) -> Iterator[list[Strip]]:
    """Reduce pieces on all cores, in their order."""
    workers = thread_count(None)
    with ThreadPoolExecutor(workers) as pool:
        yield from window((pool.submit(factors_of, rows, piece, robust) for piece in pieces), AHEAD * workers)


def at_worker(base: bytes, piece: Stretch, robust: Robust | None) -> list[Strip]:
    return factors_of(unpacked(base), piece, robust)


@lru_cache(maxsize=2)
def unpacked(base: bytes) -> Rows:
    """Unpickle the base in a worker, from a cache, since its code is compiled at the first use."""
    return Rows(pickle.loads(base))
