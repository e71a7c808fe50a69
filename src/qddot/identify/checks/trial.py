"""The model of a fit on some samples of its log, and what becomes of it when something else is assumed.

Where the model leaves sigma_j of joint j's torque, rms, and an alternative s_j, it explains

    share = 1 - (product over joints of s_j^2 / sigma_j^2)^(1 / joints)     or     1 - sum of s_j^2 / sum of sigma_j^2

It is the part of the unexplained sigma_j that it explains, the larger of two means over the joints: one in which no joint counts
more because its torques are larger, one in which all torques count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import maximum_filter1d

from qddot.algorithms.regressor import INERTIAL
from qddot.identify.checks.normal_equations import Equations, Left, fitted
from qddot.identify.regression.base import Base
from qddot.identify.regression.drive_terms import is_friction
from qddot.identify.regression.rows import Rows, Samples
from qddot.identify.regression.signals import Signals
from qddot.thresholds import DRY_BLUR, STILL_EXPLAINED, TRIAL_FIFTHS, TRIAL_ROWS


@dataclass(frozen=True)
class Alternative:
    """Something else that may be true."""

    kind: str  # one word, or two
    text: str  # what it says of the log, with its size
    share: float  # of the unexplained torque that it explains
    unpredicted: float  # part of the torques of one half that parameters of the other miss, beyond what is left of both
    joints: tuple[str, ...]  # that it is said of; none where it is said of all
    own: float = 0.0  # of the unexplained torque of these joints that it explains


class Trial:
    """The model as given on these samples, and what becomes of it when something else is assumed."""

    def __init__(self, base: Base, theta: np.ndarray, signals: Signals) -> None:
        self.base, self.theta, self.signals = base, theta, signals
        self.robot, self.evaluator = base.parameter_set.robot, base.parameter_set.evaluator()
        self.motion = Samples(signals.q, signals.qd, signals.qdd, signals.tau_raw)
        self.names, self.nv = self.robot.joint_names, self.robot.nv
        self.of = Rows(base)

    def rows(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """`[X_j | tau_j]` of all joints side by side (N, K) for a motion; `more` (N, nv, links) is added to the columns of the
        links."""
        found = np.empty((len(motion.q), self.of.ends[-1]))
        self.of.fill(found, motion, more, self.sliding(motion))
        return found

    def sliding(self, motion: Samples) -> np.ndarray | None:
        """Rates (N, nv) as dry friction sees them: of some samples of a log, its step is as wide as what a joint gains from one to
        the next, for torques have been low-passed as much."""
        if self.signals.thinned == 1:
            return None
        width = self.base.parameter_set.widths
        return motion.qd * width / np.maximum(np.hypot(width, DRY_BLUR * np.abs(motion.qdd) / self.signals.rate), 1e-300)

    def each(self, rows: np.ndarray) -> list[np.ndarray]:
        """The rows of each joint, which stand side by side."""
        return self.of.each(rows)

    def predicted(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """Torques (N, nv) of the parameters found, without what is known anyway."""
        return self.with_parameters(self.rows(motion, more), self.theta)

    def with_parameters(self, rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Torques (N, nv) that parameters (r,) make of rows (N, K)."""
        return self.of.torques(rows, theta)

    def filtered(self, x: np.ndarray) -> np.ndarray:
        """A signal (N, ...) through the filter, at some of its samples (M, ...)."""
        low_pass, step = self.signals.low_pass, max(self.signals.factor, len(x) // TRIAL_ROWS)
        ends = {"lead": low_pass.half, "trail": low_pass.half}
        return np.concatenate([low_pass.decimated(x[segment], step, **ends) for segment in self.signals.segments])

    def equations(self, rows: np.ndarray, part: np.ndarray | None = None) -> Equations:
        """Normal equations of filtered rows (M, K), in the halves of the log, or in parts as told (M,)."""
        return Equations(self.each(rows), self.of.columns, self.base.rank, self.second if part is None else part)

    @cached_property
    def whole(self) -> np.ndarray:
        """The rows of the model as given (N, K)."""
        return self.rows(self.motion)

    @cached_property
    def known_torques(self) -> np.ndarray:
        """The torques that are known anyway (N, nv)."""
        return self.motion.tau - np.stack([a[:, -1] for a in self.each(self.whole)], axis=1)

    @cached_property
    def given(self) -> np.ndarray:
        """The rows of the model as given, filtered (M, K)."""
        return self.counted(self.filtered(self.whole))

    @cached_property
    def moving(self) -> np.ndarray:
        """Whether each joint's rows count (M, nv): at rest, friction holds it with any torque up to its own, as for the fit. A row
        that has only touched a rest does not: a brake that is let go changes a torque at once."""
        rests = self.signals.paces < self.base.parameter_set.rest_speeds
        near = {"size": 2 * self.signals.low_pass.half + 1, "axis": 0, "mode": "nearest"}
        touched = np.concatenate([maximum_filter1d(rests[s].astype(np.int8), **near) for s in self.signals.segments])
        at = np.rint(self.filtered(np.arange(len(rests), dtype=float)[:, None])[:, 0]).astype(int)  # kernels are symmetric
        return touched[at] == 0

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Filtered rows (M, K), those of joints at rest nothing."""
        return rows if self.moving.all() else rows * np.repeat(self.moving, np.diff(self.of.ends, prepend=0), axis=1)

    @cached_property
    def torques(self) -> np.ndarray:
        """The torques as predicted (N, nv), without what is known anyway."""
        return self.with_parameters(self.whole, self.theta)

    @cached_property
    def known(self) -> Equations:
        """The normal equations of the model as given."""
        return self.equations(self.given)

    @cached_property
    def in_fifths(self) -> Equations:
        """The normal equations of the model as given, by fifths of the log."""
        return self.equations(self.given, np.arange(len(self.given)) * TRIAL_FIFTHS // len(self.given))

    @cached_property
    def fit(self) -> tuple[np.ndarray, Left]:
        """Parameters (r,) of the model as given, of these samples alone, and what they leave."""
        return fitted(self.known.G, len(self.given))

    @property
    def left(self) -> Left:
        """Errors that the model as given leaves."""
        return self.fit[1]

    @cached_property
    def measured(self) -> np.ndarray:
        """The filtered torques (M, nv), without what is known anyway."""
        return np.stack([a[:, -1] for a in self.each(self.given)], axis=1)

    @cached_property
    def errors(self) -> np.ndarray:
        """Filtered torques less those of the model as given (M, nv), N m."""
        return self.measured - self.with_parameters(self.given, self.fit[0])

    @cached_property
    def bases(self) -> list[np.ndarray]:
        """An orthonormal basis (M, k) of the columns of each joint."""
        found = (
            np.linalg.svd(a[:, :-1] / np.maximum(np.linalg.norm(a[:, :-1], axis=0), 1e-300), full_matrices=False)
            for a in self.each(self.given)
        )
        return [U[:, s > 1e-9 * s.max(initial=0.0)] for U, s, _ in found]

    @cached_property
    def times(self) -> np.ndarray:
        """When each row is (M,), s; where they go back, another recording begins."""
        return self.filtered(self.signals.t[:, None])[:, 0]

    @cached_property
    def recordings(self) -> np.ndarray:
        """Rows with which recordings begin, the first one's 0."""
        return np.concatenate([[0], 1 + np.flatnonzero(np.diff(self.times) < 0)])

    def cuts(self, parts: int) -> list[int]:
        """Rows that part the log about evenly, and where recordings begin."""
        return np.unique(np.append(np.linspace(0, len(self.given), parts + 1).astype(int), self.recordings)).tolist()

    def since(self, row: int) -> str:
        """From a row on, in words."""
        k = int(np.searchsorted(self.recordings, row, side="right"))
        if len(self.recordings) > 1 and row == self.recordings[k - 1]:
            return f"from recording {k} on"
        return f"from t = {self.times[row]:.3g} s {f'of recording {k} ' if len(self.recordings) > 1 else ''}on"

    def between(self, a: int, b: int) -> str:
        """From row a to row b, in words."""
        if b == len(self.times):
            return self.since(a)
        if len(self.recordings) == 1:
            return f"between t = {self.times[a]:.3g} and {self.times[b - 1]:.3g} s"
        first, last = (int(np.searchsorted(self.recordings, row, side="right")) for row in (a, b - 1))
        to = f"{self.times[b - 1]:.3g} s of recording {last}"
        return f"between t = {self.times[a]:.3g} s of recording {first} and {to}"

    @cached_property
    def size(self) -> np.ndarray:
        """Each joint's filtered torque (nv,), rms."""
        return np.sqrt(np.mean(self.measured**2, axis=0))

    @property
    def noise(self) -> np.ndarray:
        """Error of the model as given, joint by joint (nv,), N m, rms."""
        return self.left.noise

    @cached_property
    def second(self) -> np.ndarray:
        """Which rows (M,) lie in the second half of their stretch."""
        halves = [np.arange(s.stop - s.start) * 2 >= s.stop - s.start for s in self.signals.segments]
        return self.filtered(np.concatenate(halves)[:, None].astype(float))[:, 0] > 0.5

    @cached_property
    def rigid(self) -> np.ndarray:
        """The links' own part of the predicted torques (N, nv)."""
        links = np.array([name.rpartition(".")[2].removesuffix("_c") in INERTIAL for name in self.base.names])
        return self.with_parameters(self.whole, np.where(links, self.theta, 0.0))

    @cached_property
    def load(self) -> np.ndarray:
        """Part of links and rotors of the predicted torques (N, nv), with which friction may grow."""
        rotors = np.array([name.endswith(".armature") for name in self.base.names])
        return self.rigid + self.with_parameters(self.whole, np.where(rotors, self.theta, 0.0))

    @cached_property
    def sliding_torques(self) -> np.ndarray:
        """Friction's own part of the predicted torques (N, nv)."""
        drives = np.array([is_friction(name) for name in self.base.names])
        return self.with_parameters(self.whole, np.where(drives, self.theta, 0.0))

    @property
    def inertia_power(self) -> float:
        """Mean of `qdd . M qdd` along the log, which no arm has negative."""
        rest = np.zeros_like(self.motion.q)
        moved, still = (self.predicted(self.motion._replace(qd=rest, qdd=a)) for a in (self.motion.qdd, rest))
        return float(np.mean(np.sum(self.motion.qdd * (moved - still), axis=1)))

    def only(self, j: int) -> np.ndarray:
        """Which of the joints (nv,) is joint j."""
        return np.arange(self.nv) == j

    def told(self, kind: str, text: str, left: Left, *joints: int) -> Alternative:
        """Alternative with the errors it leaves in place of the model's. What is said of some joints must be true of them
        together, and make none worse: in another place a channel may only have met more parameters."""
        noise, some = left.noise, list(joints)
        change = 2 * np.log(noise / self.noise)
        mean = (change[some] if kind == "coupled" else change).mean()  # a coupling changes no other row
        total = np.log(np.sum(noise**2) / np.sum(self.noise**2))
        here = np.log(np.sum(noise[some] ** 2) / np.sum(self.noise[some] ** 2)) if some else -np.inf
        own = float(1 - np.exp(here))
        worse = (change > 0) & (noise > STILL_EXPLAINED * self.size)
        if np.any(worse[some]):
            here = max(here, float(change[some].max()))
        share = float(1 - np.exp(max(min(mean, total), here)))
        return Alternative(kind, text, share, left.unpredicted, tuple(self.names[j] for j in joints), own if joints else 0.0)

    def with_columns(self, Z: np.ndarray) -> tuple[np.ndarray, Left]:
        """Size (d,) of errors whose effect on the torques is Z (N, nv, d), and what they leave."""
        return self.with_filtered(self.filtered(Z))

    def with_filtered(self, Z: np.ndarray) -> tuple[np.ndarray, Left]:
        """Size (d,) of errors whose effect on the filtered torques is Z (M, nv, d), and what they leave."""
        theta, left = fitted(self.known.with_columns(Z * self.moving[..., None]), len(self.given))
        return theta[-Z.shape[-1] :], left

    def with_torques(self, tau: np.ndarray) -> Left:
        """Errors of the model fitted to the same motion with other torques (N, nv)."""
        y = self.measured + self.filtered(tau - self.motion.tau) * self.moving
        return fitted(self.known.with_torques(y), len(self.given))[1]

    def sought(self, changed: Callable[[float], Samples], step: float, rounds: int, size: float = 0.0) -> tuple[float, Left]:
        """Size of an error of the motion, `changed(size)` without it, and what it leaves: Gauss and Newton, with the parameters."""
        theta, left = (self.theta, self.left) if size == 0 else (None, self.left)
        for _ in range(rounds):
            rows = self.whole if size == 0 else self.rows(changed(size))
            equations = self.known if size == 0 else self.equations(self.counted(self.filtered(rows)))
            theta = fitted(equations.G, equations.samples)[0] if theta is None else theta
            ahead = self.with_parameters(self.rows(changed(size + step)), theta)
            slope = (ahead - self.with_parameters(rows, theta)) / step
            found, left = fitted(equations.with_columns((self.filtered(slope) * self.moving)[..., None]), equations.samples)
            theta, size = found[:-1], size + float(found[-1])
        return size, left

    def instead(self, motion: Samples, more: np.ndarray | None = None) -> Left:
        """Errors of the model fitted to another motion, or with other columns of the links."""
        equations = self.equations(self.counted(self.filtered(self.rows(motion, more))))
        return fitted(equations.G, equations.samples)[1]


def later_half(count: int) -> np.ndarray:
    """Which of so many rows come in the second half."""
    return np.arange(count) * 2 >= count
