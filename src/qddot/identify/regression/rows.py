"""The regressor of the base parameters along pieces of a log: filtered rows of the joints, and predicted torques."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from qddot.identify.regression.base import Base
from qddot.identify.regression.drive_terms import Column, Motion, is_smooth
from qddot.identify.regression.triangles import CHUNK

if TYPE_CHECKING:
    from qddot.identify.regression.pieces import Stretch

CACHED = 256  # samples whose regressor fits into the cache
IN_CACHE = 16384  # samples of which a few channels fit into the cache


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


class Rows:
    """Computes the joints' rows of the regressor of the base parameters, side by side. It holds compiled code and buffers, so one
    is made for each process."""

    def __init__(self, base: Base) -> None:
        self.base, self.evaluator = base, base.parameter_set.evaluator()
        self._memory = threading.local()  # buffers, since fresh memory costs as much as the writing to it
        self.columns: list[np.ndarray] = []  # base parameters in each joint's row
        self._from: list[np.ndarray] = []
        for used in self.evaluator.used:
            T = base.parameter_set.T[np.ix_(used, np.array(base.independent, int))]
            here = np.flatnonzero(np.any(T != 0, axis=0))
            T = T[:, here]
            picks = np.argmax(T, axis=0)
            plain = np.array_equal(T, np.eye(len(T))[:, picks])  # without ties, columns are only picked
            self.columns.append(here)
            self._from.append(picks if plain else T)
        self.ends = np.cumsum([len(here) + 1 for here in self.columns])  # ends of the joints' columns, with the torque last
        plain = all(how.ndim == 1 for how in self._from)
        self.spares = plain and not self.evaluator.knows and not base.parameter_set.is_loaded
        drives = [self._drive_columns(j, how) for j, how in enumerate(self._from)] if self.spares else []
        self._smooth, self._sharp = ([one for each in kind for one in each] for kind in (zip(*drives) if drives else ((), ())))
        self._picks = np.concatenate([self._link_picks(j, how) for j, how in enumerate(self._from)]) if self.spares else None

    def _drive_columns(self, j: int, picks: np.ndarray) -> tuple[list[tuple[int, Column]], list[tuple[int, Column]]]:
        """Indices and columns of joint j's drive: the smooth ones, and those of dry friction, which change within a few samples
        when a joint turns back."""
        names = [term.name for term in self.base.parameter_set.terms]
        links, driven, start = len(self.evaluator.carried[j]), self.evaluator.driven[j], self.ends[j] - len(picks) - 1
        found = [(start + k, *driven[place - links]) for k, place in enumerate(picks.tolist()) if place >= links]
        smooth = {k for k, at, _ in found if is_smooth(names[at - self.evaluator.links], names)}
        return [(k, column) for k, _, column in found if k in smooth], [(k, column) for k, _, column in found if k not in smooth]

    def _link_picks(self, j: int, picks: np.ndarray) -> np.ndarray:
        """For each column of joint j its index in the flattened regressor of the links; 0 for columns of drives."""
        carried = self.evaluator.carried[j]
        of_links = np.where(picks < len(carried), carried[np.minimum(picks, len(carried) - 1)], 0) if len(carried) else 0 * picks
        return j * self.evaluator.links + np.append(of_links, 0)

    def each(self, rows: np.ndarray) -> list[np.ndarray]:
        """Split rows (N, K) of all joints side by side into `[X_j | tau_j]` of each joint."""
        return np.split(rows, self.ends[:-1], axis=1)

    def torques(self, rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Torques (N, nv) of parameters (r,), from rows (N, K)."""
        return rows @ self._weights(theta)

    def _weights(self, theta: np.ndarray) -> np.ndarray:
        """Matrix (K, nv) whose product with rows are the torques of parameters theta (r,)."""
        found = np.zeros((self.ends[-1], len(self.columns)))
        for j, (end, here) in enumerate(zip(self.ends, self.columns)):
            found[end - 1 - len(here) : end - 1, j] = theta[here]
        return found

    def predicted(self, motion: Samples, theta: np.ndarray, step: int = 1) -> np.ndarray:
        """Torques (N, nv) of parameters (r,) along a stretch of a motion, without the known torques. Smooth columns are computed
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
        for start in range(0, N, IN_CACHE):
            part = slice(start, start + IN_CACHE)
            moved = Motion(motion.q[part], motion.qd[part], motion.qdd[part], np.zeros((0, nv)))
            for k, column in self._sharp:
                j = int(np.searchsorted(self.ends, k, side="right"))
                tau[part, j] += weights[k, j] * column(moved)
        return tau

    def __call__(self, piece: Stretch) -> np.ndarray:
        """Filtered rows `[X_j | tau_j]` of all joints side by side (M, K); they may be a buffer that the next call overwrites.

        Smooth columns, such as those of links, are computed for every `step`-th sample only; those of dry friction for all.
        """
        moving = piece.moving(self.base.parameter_set.rest_speeds)
        if not (self.spares and piece.step > 1):
            return self._of_all(piece, moving)
        samples, (q, qd, qdd, tau) = piece.thinned(), piece.motion
        A = self._scratch("A", len(samples.q), (self.ends[-1],))
        self.fill(A, samples, sharp=False)
        found, motion = piece.filtered(A, thinned=True), Motion(q, qd, qdd, np.zeros((0, q.shape[1])))
        sharp = np.empty((len(q), q.shape[1] + len(self._sharp)), order="F")  # channel by channel, as columns are computed
        sharp[:, : q.shape[1]] = tau
        for k, (_, column) in enumerate(self._sharp, start=q.shape[1]):
            sharp[:, k] = column(motion)
        found[:, [*(self.ends - 1), *(k for k, _ in self._sharp)]] = piece.filtered(sharp)
        if moving is not None:  # every sample counts where some are left out
            for rows in piece.touching(~np.all(moving, axis=1)):
                part, inside = piece.part(rows)
                found[rows] = self._of_all(part, moving[inside])
        return found

    def _of_all(self, piece: Stretch, moving: np.ndarray | None) -> np.ndarray:
        """Filtered rows of all joints side by side (M, K), from columns of every sample: of those at which joints move (N, nv), or
        of all of them."""
        A = self._scratch("A", len(piece.motion.q), (self.ends[-1],))
        self.fill(A, piece.motion)
        if moving is None:
            return piece.filtered(A)
        kept = np.all(moving, axis=0)
        each = ((a, moving[:, [j]]) for j, a in enumerate(self.each(A)))
        found = [piece.filtered(a) if kept[j] else piece.filtered_where(a, m)[0] for j, (a, m) in enumerate(each)]
        return np.concatenate(found, axis=1)

    def moving(self, piece: Stretch) -> np.ndarray:
        """Mask of the rows (M, nv) that count: not those of resting joints, which Coulomb friction holds with any torque up to its
        own, so that `tau = Y pi` does not hold."""
        moving = piece.moving(self.base.parameter_set.rest_speeds)
        if moving is None:
            return np.ones((piece.count, len(self.columns)), bool)
        return piece.filtered_where(moving, moving)[1]

    def _scratch(self, name: str, N: int, shape: tuple[int, ...]) -> np.ndarray:
        """A buffer (N, ...) of this thread."""
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
        `sliding` are rates for dry friction. Without `sharp`, columns of dry friction and torques may be left unset."""
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
        if self.spares:  # columns of drives are faster for many samples at once
            motion = Motion(samples.q, samples.qd, samples.qdd, np.zeros((0, samples.q.shape[1])), sliding)
            for k, column in (*self._smooth, *(self._sharp if sharp else ())):
                A[:, k] = column(motion)
            if sharp:
                A[:, self.ends - 1] = samples.tau


def interpolated(x: np.ndarray, step: int) -> np.ndarray:
    """Interpolate a signal (M, n) to `step` times as many samples ((M - 1) step + 1, n), by cubics through four neighbours."""
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
