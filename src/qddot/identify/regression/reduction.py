"""From any number of samples to triangular factors: for each joint and each block of time the R of `[X | tau] = Q R`.

R is all that least squares needs, in any weighting of the joints and any choice of the blocks, and its size does not depend on the
length of the log. A block is cut into strips; the rows of a strip, few as they are after the filter, or their R are merged with the
next pairwise, always in the same order, whoever computed them: so threads and a cluster give the same bits as a loop.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from qddot.cluster import AHEAD, in_cluster, window
from qddot.compile.threads import thread_count
from qddot.errors import InputError
from qddot.identify.regression.base import Base
from qddot.identify.regression.drive_terms import Column, Motion, is_smooth
from qddot.identify.regression.triangles import CHUNK, Matrices, Tree, Triangles, condensed, merge, tree, triangle
from qddot.thresholds import HAMPEL, MOST_BLOCKS

ENGINES = ("serial", "threads", "dask")
CACHED = 256  # samples whose regressor stays in the cache
STRIP = 32 * CHUNK  # samples of one task


class Samples(NamedTuple):
    """A piece of a log: the motion (N, nv) and the torques (N, nv).

    >>> samples = qddot.identify.Samples(*np.zeros((4, 50, 2)))
    >>> samples.q.shape, samples.tau.shape
    ((50, 2), (50, 2))
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


class Piece(Protocol):
    """Some consecutive samples; it travels to other processes, so it holds arrays or the name of a file."""

    def samples(self) -> Samples:
        """These samples, and those about them that the filter needs."""
        ...

    def pace(self) -> np.ndarray:
        """How slow each joint is for a while about each sample that remains after the filter (M, nv), rad/s or m/s."""
        ...

    @property
    def step(self) -> int:
        """Samples for one that says all of a smooth signal; 1 if none can be spared."""
        ...

    @property
    def cuts(self) -> Sequence[int]:
        """Filtered samples at which another block begins."""
        ...

    def thinned(self) -> Samples:
        """Samples thinned to those that tell all of a smooth signal."""
        ...

    def filtered(self, x: np.ndarray, thinned: bool = False) -> np.ndarray:
        """Filter a signal (N, ...) along them, or along the thinned ones: (M, ...)."""
        ...


@dataclass(frozen=True, eq=False)
class Factors:
    """Triangular factors that stand for a log.

    Attributes:
        base: whose columns are factored.
        columns: for each joint, which base parameters its row has.
        R: for each block and joint, the upper triangle (k + 1, k + 1) of `[X_j | tau_j]`, tau last.
        counts: filtered samples in each block (blocks,).
        rows: of them, for each joint, those in which it does not rest (blocks, nv).

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

    def merged(self, blocks: Iterable[int]) -> Triangles:
        """The factors of several blocks together."""
        return tree([self.R[k] for k in blocks])

    @property
    def left_out(self) -> np.ndarray:
        """Part of each joint's samples (nv,) in which it rests."""
        return 1 - self.rows.sum(axis=0) / self.counts.sum()


class Rows:
    """The joints' rows of the regressor of the base parameters, those of all joints side by side. Holds compiled code: made once in
    a process."""

    def __init__(self, base: Base) -> None:
        self.base, self.evaluator = base, base.parameter_set.evaluator()
        self._memory = threading.local()  # fresh pages would cost as much as what is written to them
        self.columns: list[np.ndarray] = []  # base parameters in each joint's row
        self._from: list[np.ndarray] = []
        for used in self.evaluator.used:
            T = base.parameter_set.T[np.ix_(used, np.array(base.independent, int))]
            here = np.flatnonzero(np.any(T != 0, axis=0))
            T = T[:, here]
            picks = np.argmax(T, axis=0)
            plain = np.array_equal(T, np.eye(len(T))[:, picks])  # no ties: columns as they are
            self.columns.append(here)
            self._from.append(picks if plain else T)
        self.ends = np.cumsum([len(here) + 1 for here in self.columns])  # of each joint's columns, the torque last
        plain = all(how.ndim == 1 for how in self._from)
        self.spares = plain and not self.evaluator.knows and not base.parameter_set.is_loaded
        drives = [self._drive_columns(j, how) for j, how in enumerate(self._from)] if self.spares else []
        self._smooth, self._sharp = ([one for each in kind for one in each] for kind in (zip(*drives) if drives else ((), ())))
        self._picks = np.concatenate([self._link_picks(j, how) for j, how in enumerate(self._from)]) if self.spares else None

    def _drive_columns(self, j: int, picks: np.ndarray) -> tuple[list[tuple[int, Column]], list[tuple[int, Column]]]:
        """Places, and columns, of joint j's drive: those that are smooth, and those that change within a few samples, of dry
        friction, where a joint turns back."""
        names = [term.name for term in self.base.parameter_set.terms]
        links, driven, start = len(self.evaluator.carried[j]), self.evaluator.driven[j], self.ends[j] - len(picks) - 1
        found = [(start + k, *driven[place - links]) for k, place in enumerate(picks.tolist()) if place >= links]
        smooth = {k for k, at, _ in found if is_smooth(names[at - self.evaluator.links], names)}
        return [(k, column) for k, _, column in found if k in smooth], [(k, column) for k, _, column in found if k not in smooth]

    def _link_picks(self, j: int, picks: np.ndarray) -> np.ndarray:
        """For each column of joint j its place in the flattened regressor of the links; any, where it is no link's."""
        carried = self.evaluator.carried[j]
        of_links = np.where(picks < len(carried), carried[np.minimum(picks, len(carried) - 1)], 0) if len(carried) else 0 * picks
        return j * self.evaluator.links + np.append(of_links, 0)

    def each(self, rows: np.ndarray) -> list[np.ndarray]:
        """`[X_j | tau_j]` of each joint, of rows (N, K) in which they stand side by side."""
        return np.split(rows, self.ends[:-1], axis=1)

    def torques(self, rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Torques (N, nv) that parameters (r,) make of rows (N, K)."""
        return rows @ self._weights(theta)

    def _weights(self, theta: np.ndarray) -> np.ndarray:
        """By what each column counts for each joint's torque (K, nv)."""
        found = np.zeros((self.ends[-1], len(self.columns)))
        for j, (end, here) in enumerate(zip(self.ends, self.columns)):
            found[end - 1 - len(here) : end - 1, j] = theta[here]
        return found

    def predicted(self, motion: Samples, theta: np.ndarray, step: int = 1) -> np.ndarray:
        """Torques (N, nv) of parameters (r,) along a stretch of a motion, without what is known anyway. What is smooth is computed
        for every `step`-th sample and interpolated."""
        N, nv = motion.q.shape
        step = step if self.spares and 4 * step < N else 1
        at = np.arange(0, N, step)
        rest = np.arange(at[-1] + 1, N)
        weights = self._weights(theta)
        smooth = weights.copy()
        smooth[[k for k, _ in self._sharp if step > 1]] = 0.0
        thinned = Samples(*(np.concatenate([x[::step], x[rest]]) if step > 1 else x for x in motion))
        found = np.empty((len(thinned.q), nv), order="F")
        for start in range(0, len(found), CHUNK):
            part = slice(start, start + CHUNK)
            A = self._scratch("A", CHUNK, (self.ends[-1],))[: len(found[part])]
            self.fill(A, Samples(*(x[part] for x in thinned)), sharp=step == 1)
            found[part] = A @ smooth
        if step == 1:
            return found
        tau = np.concatenate([interpolated(found[: len(at)], step), found[len(at) :]])
        moved = Motion(motion.q, motion.qd, motion.qdd, np.zeros((0, nv)))
        for k, column in self._sharp:
            j = int(np.searchsorted(self.ends, k, side="right"))
            tau[:, j] += weights[k, j] * column(moved)
        return tau

    def __call__(self, piece: Piece) -> np.ndarray:
        """`[X_j | tau_j]` of all joints side by side, filtered (M, K); what a filter does not copy is valid until the next call.

        Columns of links and all else that is smooth are computed for some samples only, if the log has many in a period of the
        cut-off; dry friction for all.
        """
        thinned = self.spares and piece.step > 1
        samples = piece.thinned() if thinned else piece.samples()
        A = self._scratch("A", len(samples.q), (self.ends[-1],))
        self.fill(A, samples, sharp=not thinned)
        if not thinned:
            return piece.filtered(A)
        found, (q, qd, qdd, tau) = piece.filtered(A, thinned=True), piece.samples()
        motion = Motion(q, qd, qdd, np.zeros((0, q.shape[1])))
        sharp = np.empty((len(q), q.shape[1] + len(self._sharp)), order="F")
        sharp[:, : q.shape[1]] = tau
        for k, (_, column) in enumerate(self._sharp, start=q.shape[1]):
            sharp[:, k] = column(motion)
        found[:, [*(self.ends - 1), *(k for k, _ in self._sharp)]] = piece.filtered(sharp)
        return found

    def moving(self, piece: Piece) -> np.ndarray:
        """The rows (M, nv) that count. Coulomb friction may hold a joint that rests with any torque up to its own: no `Y pi`."""
        return piece.pace() >= self.base.parameter_set.rest_speeds

    def _scratch(self, name: str, N: int, shape: tuple[int, ...]) -> np.ndarray:
        """An array (N, ...) of this thread, to be written to."""
        found = getattr(self._memory, name, None)
        if found is None or len(found) < N:
            found = np.empty((N, *shape))
            setattr(self._memory, name, found)
        return found[:N]

    def fill(
        self,
        A: np.ndarray,
        samples: Samples,
        more: np.ndarray | None = None,
        sliding: np.ndarray | None = None,
        sharp: bool = True,
    ) -> None:
        """Write `[X_j | tau_j]` of all joints side by side into A (N, K); `more` (N, nv, links) is added to the columns of links,
        `sliding` are rates as dry friction sees them. Without `sharp`, columns of dry friction and torques hold anything, if they
        can be spared."""
        q, qd, qdd = (np.ascontiguousarray(x) for x in samples[:3])
        Y = self._scratch("Y", CACHED, (q.shape[1], self.evaluator.links))
        for start in range(0, len(q), CACHED):
            part = slice(start, start + CACHED)
            rates = None if sliding is None else sliding[part]
            moved = self.evaluator.at(q[part], qd[part], qdd[part], rates, Y[: len(q[part])])
            moved = moved if more is None else moved._replace(Y=moved.Y + more[part])
            if self._picks is not None:
                np.take(moved.Y.reshape(len(moved.Y), -1), self._picks, axis=1, out=A[part], mode="clip")
                continue
            tau = samples.tau[part] - (moved.known() if self.evaluator.knows else 0.0)
            for j, (a, how) in enumerate(zip(self.each(A[part]), self._from)):
                if how.ndim == 1:
                    moved.picked(j, how, a)
                else:
                    a[:, :-1] = moved.row(j) @ how
                a[:, -1] = tau[:, j]
        if self.spares:  # a column of a drive costs less for many samples at once
            motion = Motion(samples.q, samples.qd, samples.qdd, np.zeros((0, samples.q.shape[1])), sliding)
            for k, column in (*self._smooth, *(self._sharp if sharp else ())):
                A[:, k] = column(motion)
            if sharp:
                A[:, self.ends - 1] = samples.tau


Robust = tuple[np.ndarray, np.ndarray]
"""Parameters (r,) and noise of each joint (nv,): rows are weighted by how well they agree with these."""


@dataclass(frozen=True, eq=False)
class Strip:
    """A part of a block: samples, rows of each joint that count (nv,), and what has the R of each joint."""

    count: int
    rows: np.ndarray
    R: Matrices

    def __add__(self, other: Strip) -> Strip:
        """Both together, this one on top."""
        return Strip(self.count + other.count, self.rows + other.rows, merge(self.R, other.R))


def factors_of(rows: Rows, piece: Piece, robust: Robust | None) -> list[Strip]:
    """The factors of a piece, block by block. Pure: the same bits in any process."""
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
    pieces: Iterable[tuple[int, Piece]],
    *,
    robust: Robust | None = None,
    engine: str = "serial",
    address: Any = None,
    on_progress: Callable[[int], None] | None = None,
) -> Factors:
    """Stream pieces into factors.

    Args:
        pieces: (block, piece), the blocks in order; a piece may hold several. Of more than 64 blocks, neighbours are joined.
        robust: for the robust estimate, else all rows count alike.
        engine: `"serial"`, `"threads"` or `"dask"`.
        address: of a Dask scheduler, or a `distributed.Client`; None: a cluster on this machine for the time of the call.
        on_progress: called with the number of rows of each piece that is done.

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
    pending, current = Tree[Strip](), None
    for strips in run(rows, noted(pieces, numbers), robust, engine, address):
        for block, strip in enumerate(strips, start=numbers.popleft()):
            if current is not None and block != current:
                found.append(pending.result())
                pending = Tree[Strip]()
                found = halved(found) if len(found) >= MOST_BLOCKS else found
            pending.add(strip)
            current = block
        if on_progress is not None:
            on_progress(sum(strip.count for strip in strips))
    if current is None:
        raise InputError("there is nothing to identify from: the log has no samples")
    found.append(pending.result())
    triangles = [[triangle(A) for A in one.R] for one in found]
    return Factors(base, rows.columns, triangles, np.array([one.count for one in found]), np.array([one.rows for one in found]))


def noted(pieces: Iterable[tuple[int, Piece]], numbers: deque[int]) -> Iterator[Piece]:
    """The pieces; the block in which each begins is written down."""
    for block, piece in pieces:
        numbers.append(block)
        yield piece


def halved(found: list[Strip]) -> list[Strip]:
    """Neighbouring blocks joined."""
    return [a + b for a, b in zip(found[::2], found[1::2])]


def interpolated(x: np.ndarray, step: int) -> np.ndarray:
    """A signal (M, n) with `step` times as many samples ((M - 1) step + 1, n): by cubics through four of them."""
    ends = np.array([4.0, -6.0, 4.0, -1.0])
    padded = np.concatenate([ends @ x[:4][None], x, ends @ x[:-5:-1][None]])
    s = np.arange(step) / step
    cubics = np.stack(
        [-s * (s - 1) * (s - 2) / 6, (s + 1) * (s - 1) * (s - 2) / 2, -(s + 1) * s * (s - 2) / 2, (s + 1) * s * (s - 1) / 6]
    )
    windows = sliding_window_view(padded.T, 4, axis=1)  # (n, M - 1, 4), between a sample and the next
    found = np.empty(((len(x) - 1) * step + 1, x.shape[1]), order="F")
    for column, four in zip(found.T, windows):
        np.matmul(four, cubics, out=column[:-1].reshape(-1, step))
    found[-1] = x[-1]
    return found


def hampel(x: np.ndarray) -> np.ndarray:
    """Hampel's weights of standardised residuals: 1 up to a, falling as a / x to b, to nothing at c."""
    a, b, c = HAMPEL
    x = np.abs(x)
    falling = a / np.maximum(x, a)
    return np.where(x <= b, falling, np.where(x < c, falling * (c - x) / (c - b), 0.0))


# engines --------------------------------------------------------------------------------------------------------------------


def run(rows: Rows, pieces: Iterable[Piece], robust: Robust | None, engine: str, address: Any) -> Iterator[list[Strip]]:
    """The factors of each piece, in order, whoever makes them."""
    if engine == "serial":
        return (factors_of(rows, piece, robust) for piece in pieces)
    if engine == "threads":
        return in_threads(rows, pieces, robust)
    if engine == "dask":
        base = pickle.dumps(rows.base)
        return in_cluster(at_worker, ((base, piece, robust) for piece in pieces), address)
    raise InputError(f"engine={engine!r} is not one of {', '.join(map(repr, ENGINES))}")


def in_threads(rows: Rows, pieces: Iterable[Piece], robust: Robust | None) -> Iterator[list[Strip]]:
    """Reduce pieces on all cores, in their order."""
    workers = thread_count(None)
    with ThreadPoolExecutor(workers) as pool:
        yield from window((pool.submit(factors_of, rows, piece, robust) for piece in pieces), AHEAD * workers)


def at_worker(base: bytes, piece: Piece, robust: Robust | None) -> list[Strip]:
    return factors_of(unpacked(base), piece, robust)


@lru_cache(maxsize=2)
def unpacked(base: bytes) -> Rows:
    """Compiled once in a worker, not for every strip."""
    return Rows(pickle.loads(base))
