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
from typing import Any, NamedTuple, Protocol

import numpy as np

from qddot.cluster import AHEAD, in_cluster, window
from qddot.compile.threads import thread_count
from qddot.errors import InputError
from qddot.identify.regression.base import Base
from qddot.identify.regression.drive_terms import Column, Motion, is_smooth
from qddot.identify.regression.triangles import CHUNK, Tree, Triangles, condensed, merge, tree, triangle
from qddot.thresholds import HAMPEL, MOST_BLOCKS

ENGINES = ("serial", "threads", "dask")
CACHED = 256  # samples whose regressor stays in the cache
STRIP = 16 * CHUNK  # samples of one task


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
    """The joints' rows of the regressor of the base parameters. Holds compiled code: made once in a process."""

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
        plain = all(how.ndim == 1 for how in self._from)
        self.spares = plain and not self.evaluator.knows and not base.parameter_set.is_loaded
        drives = [self._drive_columns(j, how) for j, how in enumerate(self._from)] if self.spares else []
        self._smooth, self._sharp = [smooth for smooth, _ in drives], [sharp for _, sharp in drives]

    def _drive_columns(self, j: int, picks: np.ndarray) -> tuple[list[tuple[int, Column]], list[tuple[int, Column]]]:
        """Places in joint j's row, and columns, of its drive: those that are smooth, and those that change within a few samples, of
        dry friction, where a joint turns back."""
        names = [term.name for term in self.base.parameter_set.terms]
        links, driven = len(self.evaluator.carried[j]), self.evaluator.driven[j]
        found = [(k, *driven[place - links]) for k, place in enumerate(picks.tolist()) if place >= links]
        smooth = {k for k, at, _ in found if is_smooth(names[at - self.evaluator.links], names)}
        return [(k, column) for k, _, column in found if k in smooth], [(k, column) for k, _, column in found if k not in smooth]

    def predicted(self, motion: Samples, theta: np.ndarray, step: int = 1) -> np.ndarray:
        """Torques (N, nv) of parameters (r,) along a stretch of a motion, without what is known anyway. What is smooth is computed
        for every `step`-th sample and interpolated."""
        N, nv = motion.q.shape
        step = step if self.spares and 4 * step < N else 1
        at = np.arange(0, N, step)
        rest = np.arange(at[-1] + 1, N)
        smooth = [theta[here].copy() for here in self.columns]
        for weights, sharp in zip(smooth, self._sharp if step > 1 else ()):
            weights[[k for k, _ in sharp]] = 0.0
        some = np.append(at, rest) if step > 1 else slice(None)
        thinned = Samples(*(x[some] for x in motion))
        found = np.empty((len(thinned.q), nv))
        for start in range(0, len(found), CHUNK):
            part = slice(start, start + CHUNK)
            A = [a[: len(found[part])] for a in self._scratch(CHUNK)]
            self.fill(A, Samples(*(x[part] for x in thinned)))
            found[part] = np.stack([a[:, :-1] @ weights for a, weights in zip(A, smooth)], axis=1)
        if step == 1:
            return found
        tau = np.concatenate([interpolated(found[: len(at)], step), found[len(at) :]])
        moved = Motion(motion.q, motion.qd, motion.qdd, np.zeros((0, nv)))
        for j, (here, sharp) in enumerate(zip(self.columns, self._sharp)):
            for k, column in sharp:
                tau[:, j] += theta[here[k]] * column(moved)
        return tau

    def __call__(self, piece: Piece) -> list[np.ndarray]:
        """For each joint `[X_j | tau_j]` (M, k + 1), filtered; what a filter does not copy is valid until the next call.

        Columns of links and all else that is smooth are computed for some samples only, if the log has many in a period of the
        cut-off; dry friction for all.
        """
        thinned = self.spares and piece.step > 1
        samples = piece.thinned() if thinned else piece.samples()
        N = len(samples.q)
        A = [a[:N] for a in self._scratch(N)]
        self.fill(A, samples, sharp=not thinned)
        if not thinned:
            return [piece.filtered(a) for a in A]
        found, (q, qd, qdd, tau) = [piece.filtered(a, thinned=True) for a in A], piece.samples()
        motion = Motion(q, qd, qdd, np.zeros((0, q.shape[1])))
        sharp = [tau, *(column(motion)[:, None] for each in self._sharp for _, column in each)]
        filtered = piece.filtered(np.concatenate(sharp, axis=1))
        places = iter(range(tau.shape[1], filtered.shape[1]))
        for j, (a, each) in enumerate(zip(found, self._sharp)):
            a[:, -1] = filtered[:, j]
            for k, _ in each:
                a[:, k] = filtered[:, next(places)]
        return found

    def moving(self, piece: Piece) -> np.ndarray:
        """The rows (M, nv) that count. Coulomb friction may hold a joint that rests with any torque up to its own: no `Y pi`."""
        return piece.pace() >= self.base.parameter_set.rest_speeds

    def _scratch(self, N: int) -> list[np.ndarray]:
        found = getattr(self._memory, "A", None)
        if found is None or len(found[0]) < N:
            found = self._memory.A = [np.empty((N, len(columns) + 1)) for columns in self.columns]
        return found

    def fill(
        self,
        A: Sequence[np.ndarray],
        samples: Samples,
        more: np.ndarray | None = None,
        sliding: np.ndarray | None = None,
        sharp: bool = True,
    ) -> None:
        """Write `[X_j | tau_j]` of each joint into A; `more` (N, nv, links) is added to the columns of the links, `sliding` are
        rates as dry friction sees them. Without `sharp`, columns of dry friction are left as they are, if they can be spared."""
        for start in range(0, len(samples.q), CACHED):
            part = slice(start, start + CACHED)
            rates = None if sliding is None else sliding[part]
            moved = self.evaluator.at(samples.q[part], samples.qd[part], samples.qdd[part], rates)
            moved = moved if more is None else moved._replace(Y=moved.Y + more[part])
            known = moved.known() if self.evaluator.knows else 0.0
            for j, (a, how) in enumerate(zip(A, self._from)):
                if self.spares:
                    moved.links(j, how, a[part])
                elif how.ndim == 1:
                    moved.picked(j, how, a[part])
                else:
                    a[part, :-1] = moved.row(j) @ how
                a[part, -1] = (samples.tau[part] - known)[:, j]
        if self.spares:  # a column of a drive costs less for many samples at once
            motion = Motion(samples.q, samples.qd, samples.qdd, np.zeros((0, samples.q.shape[1])), sliding)
            for a, smooth, dry in zip(A, self._smooth, self._sharp):
                for k, column in (*smooth, *(dry if sharp else ())):
                    a[:, k] = column(motion)


Robust = tuple[np.ndarray, np.ndarray]
"""Parameters (r,) and noise of each joint (nv,): rows are weighted by how well they agree with these."""


class Strip(NamedTuple):
    """Factors of a strip, or of several: samples, rows of each joint that count (nv,), and what has the R of each joint."""

    count: int
    rows: np.ndarray
    R: Triangles


def factors_of(rows: Rows, piece: Piece, robust: Robust | None) -> Strip:
    """The factors of a strip. Pure: the same bits in any process."""
    found, moving = [], rows.moving(piece)
    for j, A in enumerate(rows(piece)):
        A = A if moving[:, j].all() else A[moving[:, j]]
        if robust is not None:
            theta, sigma = robust
            residual = A[:, -1] - A[:, :-1] @ theta[rows.columns[j]]
            A = A * np.sqrt(hampel(residual / sigma[j]))[:, None]
        found.append(condensed(A))
    return Strip(len(moving), moving.sum(axis=0), found)


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
        pieces: (block, piece), the blocks in order. Of more than 64 blocks, neighbours are joined.
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
    nothing = np.zeros(len(rows.columns), int)
    pending, count, some, current = Tree(), 0, nothing, None
    for strip in run(rows, noted(pieces, numbers), robust, engine, address):
        block = numbers.popleft()
        if current is not None and block != current:
            found.append(Strip(count, some, pending.result()))
            pending, count, some = Tree(), 0, nothing
            found = halved(found) if len(found) >= MOST_BLOCKS else found
        pending.add(strip.R)
        count, some, current = count + strip.count, some + strip.rows, block
        if on_progress is not None:
            on_progress(strip.count)
    if current is None:
        raise InputError("there is nothing to identify from: the log has no samples")
    found.append(Strip(count, some, pending.result()))
    counts, each, R = zip(*found)
    triangles = [[triangle(A) for A in one] for one in R]
    return Factors(base, rows.columns, triangles, np.array(counts), np.array(each))


def noted(pieces: Iterable[tuple[int, Piece]], numbers: deque[int]) -> Iterator[Piece]:
    """The pieces; their blocks are written down."""
    for block, piece in pieces:
        numbers.append(block)
        yield piece


def halved(found: list[Strip]) -> list[Strip]:
    """Neighbouring blocks joined."""
    return [Strip(a.count + b.count, a.rows + b.rows, merge(a.R, b.R)) for a, b in zip(found[::2], found[1::2])]


def interpolated(x: np.ndarray, step: int) -> np.ndarray:
    """A signal (M, n) with `step` times as many samples ((M - 1) step + 1, n): by cubics through four of them."""
    ends = np.array([4.0, -6.0, 4.0, -1.0])
    padded = np.concatenate([ends @ x[:4][None], x, ends @ x[:-5:-1][None]])
    s = np.arange(step) / step
    cubics = np.stack(
        [-s * (s - 1) * (s - 2) / 6, (s + 1) * (s - 1) * (s - 2) / 2, -(s + 1) * s * (s - 2) / 2, (s + 1) * s * (s - 1) / 6]
    )
    windows = np.lib.stride_tricks.sliding_window_view(padded, 4, axis=0)  # (M - 1, n, 4), between a sample and the next
    between = np.ascontiguousarray((windows @ cubics).transpose(0, 2, 1)).reshape(-1, x.shape[1])
    return np.concatenate([between, x[-1:]])


def hampel(x: np.ndarray) -> np.ndarray:
    """Hampel's weights of standardised residuals: 1 up to a, falling as a / x to b, to nothing at c."""
    a, b, c = HAMPEL
    x = np.abs(x)
    falling = a / np.maximum(x, a)
    return np.where(x <= b, falling, np.where(x < c, falling * (c - x) / (c - b), 0.0))


# engines --------------------------------------------------------------------------------------------------------------------


def run(rows: Rows, pieces: Iterable[Piece], robust: Robust | None, engine: str, address: Any) -> Iterator[Strip]:
    """The factors of each piece, in order, whoever makes them."""
    if engine == "serial":
        return (factors_of(rows, piece, robust) for piece in pieces)
    if engine == "threads":
        return in_threads(rows, pieces, robust)
    if engine == "dask":
        base = pickle.dumps(rows.base)
        return in_cluster(at_worker, ((base, piece, robust) for piece in pieces), address)
    raise InputError(f"engine={engine!r} is not one of {', '.join(map(repr, ENGINES))}")


def in_threads(rows: Rows, pieces: Iterable[Piece], robust: Robust | None) -> Iterator[Strip]:
    """Reduce pieces on all cores, in their order."""
    workers = thread_count(None)
    with ThreadPoolExecutor(workers) as pool:
        yield from window((pool.submit(factors_of, rows, piece, robust) for piece in pieces), AHEAD * workers)


def at_worker(base: bytes, piece: Piece, robust: Robust | None) -> Strip:
    return factors_of(unpacked(base), piece, robust)


@lru_cache(maxsize=2)
def unpacked(base: bytes) -> Rows:
    """Compiled once in a worker, not for every strip."""
    return Rows(pickle.loads(base))
