"""Trials of a fit's model on an excerpt of its log: fitted as it is, and again under other assumptions.

With rms residuals sigma_j of joint j for the model and s_j for an alternative, the alternative explains

    share = 1 - (product over joints of s_j^2 / sigma_j^2)^(1 / joints)     or     1 - sum of s_j^2 / sum of sigma_j^2

of the residual, whichever is larger: in the first mean no joint counts more because its torques are larger, in the second all
torques count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qddot.algorithms.regressor import INERTIAL
from qddot.identify.checks.normal_equations import Equations, Left, fitted
from qddot.identify.regression.base import Base, random_motions
from qddot.identify.regression.drive_terms import is_friction
from qddot.identify.regression.residuals import rms, structure
from qddot.identify.regression.rows import Rows, Samples
from qddot.identify.regression.signals import Signals
from qddot.thresholds import (
    DRY_BLUR,
    HARD_STEP,
    INDEPENDENT,
    LARGEST_SOUGHT,
    MOST_OF_IT,
    POSTURES,
    STILL_EXPLAINED,
    SURELY_LIKELIER,
    TRACE,
    TRIAL_FIFTHS,
    TRIAL_PARTS,
    TRIAL_ROWS,
)


@dataclass(frozen=True)
class Alternative:
    """Another explanation of the log, with the share of the residual that it explains."""

    kind: str  # one word, or two
    text: str  # the explanation in words, with its size
    share: float  # fraction of the residual that it explains
    unpredicted: float  # fraction of one half's torques that parameters of the other half miss, beyond the residual of both
    joints: tuple[str, ...]  # the joints it concerns; none if it concerns all
    own: float = 0.0  # fraction of the residual of these joints that it explains
    left: Left | None = None  # the residuals with it


class Trial:
    """The model of a fit on an excerpt of its log, to be fitted again under other assumptions."""

    def __init__(self, base: Base, theta: np.ndarray, signals: Signals) -> None:
        self.base, self.theta, self.signals = base, theta, signals
        self.robot, self.evaluator = base.parameter_set.robot, base.parameter_set.evaluator()
        self.motion = Samples(signals.q, signals.qd, signals.qdd, signals.tau_raw)
        self.names, self.nv = self.robot.joint_names, self.robot.nv
        self.regressor = Rows(base)

    def rows(self, motion: Samples, more: np.ndarray | None = None, sliding: np.ndarray | None = None) -> np.ndarray:
        """Rows `[X_j | tau_j]` of all joints side by side (N, K) for a motion; `more` (N, nv, links) is added to the links'
        columns; `sliding`: other rates (N, nv) for dry friction."""
        found = np.empty((len(motion.q), self.regressor.ends[-1]))
        self.regressor.fill(found, motion, more, self.sliding(motion) if sliding is None else sliding)
        return found

    def sliding(self, motion: Samples) -> np.ndarray | None:
        """Rates (N, nv) for dry friction. In an excerpt its step is widened to the change of speed between two samples, since the
        torques have been low-passed accordingly. None: the rates as they are."""
        if self.signals.thinned == 1:
            return None
        width = np.maximum(self.base.parameter_set.widths, HARD_STEP)
        return motion.qd * width / np.maximum(np.hypot(width, DRY_BLUR * np.abs(motion.qdd) / self.signals.rate), 1e-300)

    def each(self, rows: np.ndarray) -> list[np.ndarray]:
        """Split rows (N, K) into those of each joint."""
        return self.regressor.each(rows)

    def predicted(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """Torques (N, nv) of the fit's parameters along a motion, without the known torques."""
        return self.regressor.torques(self.rows(motion, more), self.theta)

    def smoothed(self, x: np.ndarray) -> np.ndarray:
        """Filter and decimate a signal (N, ...): (M, ...)."""
        low_pass, step = self.signals.low_pass, max(self.signals.factor, len(x) // TRIAL_ROWS)
        ends = {"lead": low_pass.half, "trail": low_pass.half}
        return np.concatenate([low_pass.decimated(x[segment], step, **ends) for segment in self.signals.segments])

    def filtered(self, x: np.ndarray) -> np.ndarray:
        """Filter and decimate a signal (N, nv, ...) of the joints along the samples at which they move: (M, nv, ...), 0 in rows
        that do not count."""
        if self.moving_samples.all():
            return self.smoothed(x)
        kept, weights = (a.reshape(*a.shape, *(1,) * (x.ndim - 2)) for a in (self.moving_samples, self.weights))
        return self.smoothed(x * kept) * weights

    def filtered_of(self, j: int, x: np.ndarray) -> np.ndarray:
        """Filter and decimate signals (N, k) of joint j likewise: (M, k)."""
        return self.smoothed(x * self.moving_samples[:, [j]]) * self.weights[:, [j]]

    def filtered_rows(self, rows: np.ndarray) -> np.ndarray:
        """Filter and decimate rows (N, K) of all joints side by side likewise: (M, K)."""
        if self.moving_samples.all():
            return self.smoothed(rows)
        owners = np.repeat(np.arange(self.nv), np.diff(self.regressor.ends, prepend=0))
        return self.smoothed(rows * self.moving_samples[:, owners]) * self.weights[:, owners]

    def equations(self, rows: np.ndarray, part: np.ndarray | None = None) -> Equations:
        """Normal equations of filtered rows (M, K), by halves of the log or by the `part` (M,) that each row belongs to."""
        return Equations(self.each(rows), self.regressor.columns, self.base.rank, self.second if part is None else part)

    @cached_property
    def whole(self) -> np.ndarray:
        """The rows of the model as given (N, K)."""
        return self.rows(self.motion)

    @cached_property
    def known_torques(self) -> np.ndarray:
        """Torques (N, nv) that do not depend on the base parameters."""
        return self.motion.tau - np.stack([a[:, -1] for a in self.each(self.whole)], axis=1)

    @cached_property
    def given(self) -> np.ndarray:
        """The filtered rows of the model as given (M, K)."""
        return self.filtered_rows(self.whole)

    @cached_property
    def moving_samples(self) -> np.ndarray:
        """True for samples (N, nv) that count. As in the fit, rests do not, since friction may hold the joint with any torque up to
        its own."""
        return self.signals.paces >= self.base.parameter_set.rest_speeds

    @cached_property
    def weights(self) -> np.ndarray:
        """Factors (M, nv) that scale to sum 1 what is left of a kernel on samples that count; 0 where that is less than half."""
        share = self.smoothed(self.moving_samples.astype(float))
        return np.where(share > MOST_OF_IT, 1 / np.maximum(share, MOST_OF_IT), 0.0)

    @property
    def moving(self) -> np.ndarray:
        """True for rows (M, nv) that count."""
        return self.weights > 0

    @cached_property
    def holding(self) -> np.ndarray:
        """Filtered torques (M, nv), N m, by which friction may differ from its law: at a turn, where a joint is as slow as
        friction's step is wide, it may hold the joint for a moment with any torque up to its own."""
        slow = self.base.parameter_set.turning(self.motion.qd)
        return np.abs(self.filtered(slow * np.max(np.abs(self.sliding_torques) * slow, axis=0)))

    @cached_property
    def torques(self) -> np.ndarray:
        """Torques that the fit predicts (N, nv), without the known torques."""
        return self.regressor.torques(self.whole, self.theta)

    @cached_property
    def known(self) -> Equations:
        """Normal equations of the model as given, by halves of the log."""
        return self.equations(self.given)

    @cached_property
    def by_turns(self) -> Equations:
        """Normal equations of the model as given, in two parts that take turns: each has all of what comes and goes."""
        return self.equations(self.given, np.arange(len(self.given)) * TRIAL_PARTS // len(self.given) % 2)

    @cached_property
    def in_fifths(self) -> Equations:
        """Normal equations of the model as given, by fifths of the log."""
        return self.equations(self.given, np.arange(len(self.given)) * TRIAL_FIFTHS // len(self.given))

    @cached_property
    def fit(self) -> tuple[np.ndarray, Left]:
        """Parameters (r,) of the model as given, fitted to these samples alone, and their residuals."""
        return fitted(self.known.G, len(self.given))

    @property
    def left(self) -> Left:
        """Residuals of the model as given."""
        return self.fit[1]

    @cached_property
    def measured(self) -> np.ndarray:
        """Filtered measured torques (M, nv), without the known torques."""
        return np.stack([a[:, -1] for a in self.each(self.given)], axis=1)

    @cached_property
    def errors(self) -> np.ndarray:
        """Filtered residuals of the model as given (M, nv), N m."""
        return self.measured - self.regressor.torques(self.given, self.fit[0])

    @cached_property
    def bases(self) -> list[np.ndarray]:
        """For each joint an orthonormal basis (M, k) of its columns."""
        columns = (a[:, :-1] for a in self.each(self.given))
        found = (np.linalg.svd(X / np.maximum(np.linalg.norm(X, axis=0), 1e-300), full_matrices=False) for X in columns)
        return [U[:, s > 1e-9 * s.max(initial=0.0)] for U, s, _ in found]

    @cached_property
    def times(self) -> np.ndarray:
        """Time of each filtered row (M,), s; where it decreases, another recording begins."""
        return self.smoothed(self.signals.t[:, None])[:, 0]

    @cached_property
    def recordings(self) -> np.ndarray:
        """Indices of the filtered rows with which recordings begin; the first is 0."""
        return np.concatenate([[0], 1 + np.flatnonzero(np.diff(self.times) < 0)])

    def cuts(self, parts: int) -> list[int]:
        """Filtered rows that split the log into about equal parts, and those at which recordings begin."""
        return np.unique(np.append(np.linspace(0, len(self.given), parts + 1).astype(int), self.recordings)).tolist()

    def since(self, row: int) -> str:
        """The time from a filtered row on, in words."""
        k = int(np.searchsorted(self.recordings, row, side="right"))
        if len(self.recordings) > 1 and row == self.recordings[k - 1]:
            return f"from recording {k} on"
        return f"from t = {self.times[row]:.3g} s {f'of recording {k} ' if len(self.recordings) > 1 else ''}on"

    def between(self, a: int, b: int) -> str:
        """The time between two filtered rows, in words."""
        if b == len(self.times):
            return self.since(a)
        if len(self.recordings) == 1:
            return f"between t = {self.times[a]:.3g} and {self.times[b - 1]:.3g} s"
        first, last = (int(np.searchsorted(self.recordings, row, side="right")) for row in (a, b - 1))
        to = f"{self.times[b - 1]:.3g} s of recording {last}"
        return f"between t = {self.times[a]:.3g} s of recording {first} and {to}"

    @cached_property
    def size(self) -> np.ndarray:
        """Rms of each joint's filtered torque (nv,), N m."""
        return np.sqrt(np.mean(self.measured**2, axis=0))

    @property
    def noise(self) -> np.ndarray:
        """Rms residual of each joint (nv,), N m, with the model as given."""
        return self.left.noise

    @cached_property
    def second(self) -> np.ndarray:
        """True for filtered rows (M,) in the second half of their segment."""
        halves = [later_half(s.stop - s.start) for s in self.signals.segments]
        return self.smoothed(np.concatenate(halves)[:, None].astype(float))[:, 0] > 0.5

    @cached_property
    def rigid(self) -> np.ndarray:
        """Torques of the links in the prediction (N, nv)."""
        return self.rigid_of(self.theta)

    def rigid_of(self, theta: np.ndarray) -> np.ndarray:
        """Torques of the links (N, nv) with other parameters."""
        return self.torques_of(lambda name: name.rpartition(".")[2].removesuffix("_c") in INERTIAL, theta)

    @cached_property
    def load(self) -> np.ndarray:
        """Torques of links and rotors in the prediction (N, nv), with which friction may grow."""
        return self.rigid + self.torques_of(lambda name: name.endswith(".armature"))

    @cached_property
    def sliding_torques(self) -> np.ndarray:
        """Torques of friction in the prediction (N, nv)."""
        return self.torques_of(is_friction)

    def torques_of(self, some: Callable[[str], bool], theta: np.ndarray | None = None) -> np.ndarray:
        """Torques in the prediction (N, nv) of those base parameters whose names are selected; `theta`: with other values."""
        values = self.theta if theta is None else theta
        return self.regressor.torques(self.whole, np.where([some(name) for name in self.base.names], values, 0.0))

    @cached_property
    def powers(self) -> np.ndarray:
        """Contributions (2, r + 1) of each base parameter, and of all that is known, to the mean of `qdd . M qdd` along the log and
        to the mean power of friction. The sums are positive for every arm, whatever its motion."""
        rest, slides = np.zeros_like(self.motion.q), np.array([is_friction(name) for name in self.base.names])
        moved, still = (self.rows(self.motion._replace(qd=rest, qdd=a)) for a in (self.motion.qdd, rest))
        found = np.zeros((2, self.base.rank + 1))
        for j, (pushed, whole, here) in enumerate(zip(self.each(moved - still), self.each(self.whole), self.regressor.columns)):
            by_inertia = self.motion.qdd[:, j] @ pushed / len(rest)
            found[0, here] += by_inertia[:-1]
            found[0, -1] -= by_inertia[-1]  # the last column is what is measured less what is known
            found[1, here] += self.motion.qd[:, j] @ (whole[:, :-1] * slides[here]) / len(rest)
        return found

    def is_an_arm(self, theta: np.ndarray) -> bool:
        """False if parameters (r,) have inertia and friction that are both negative."""
        inertia, friction = self.powers @ np.append(theta, 1.0)
        return bool(inertia >= 0 or friction > 0)

    def only(self, j: int) -> np.ndarray:
        """Mask (nv,) that is True for joint j only."""
        return np.arange(self.nv) == j

    def told(self, kind: str, text: str, left: Left, *joints: int) -> Alternative:
        """Make an alternative from its residuals. If it concerns some joints, it must explain these together and make none of them
        worse: a channel taken for another joint's may just have met more parameters there."""
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
        named = tuple(self.names[j] for j in joints)
        return Alternative(kind, text, share, left.unpredicted, named, own if joints else 0.0, left)

    def beyond_noise(self, one: Alternative, floor: np.ndarray) -> float:
        """The share of what is not noise that an alternative explains; `floor` (nv,): rms noise of the filtered torques, N m. 0 if
        chance might explain as much."""
        if one.left is None:
            return 0.0
        before, after = (structure(x, floor) for x in (self.noise, one.left.noise))
        likelier = INDEPENDENT * len(self.given) * float(np.sum(2 * np.log(self.noise / one.left.noise)))
        if likelier < SURELY_LIKELIER or not np.any(before > TRACE * floor):
            return 0.0
        return float(max(1 - np.sum((after / size) ** 2) / np.sum((before / size) ** 2) for size in (1.0, floor)))

    def elsewhere(self, one: Alternative) -> float:
        """How much torques anywhere in the workspace, at the log's speeds, differ between the parameters of an alternative and
        those of the model as given, as a fraction; of a scaled torque the size of the error, which scales friction along. 0 if
        each part of the log has parameters of its own."""
        if one.left is None or one.left.theta is None:
            return 0.0
        mine, (other, sizes) = self.fit[0], np.split(one.left.theta, [self.base.rank])
        if one.kind == "gain":
            return float(np.abs(sizes).max())
        return float(np.sqrt((mine - other) @ self.workspace @ (mine - other) / max(mine @ self.workspace @ mine, 1e-300)))

    def moved(self, one: Alternative, reach: np.ndarray) -> float:
        """The fraction of all parameters that an alternative moves by more than `reach` (r,), half their intervals."""
        if one.left is None or one.left.theta is None:
            return 0.0
        return float(np.mean(np.abs(one.left.theta[: self.base.rank] - self.fit[0]) > reach))

    @cached_property
    def workspace(self) -> np.ndarray:
        """Sum of squares (r, r) of the columns in postures all over the workspace, at speeds and accelerations like the log's."""
        parameter_set = self.base.parameter_set
        q, qd, qdd = random_motions(parameter_set, POSTURES)
        qd, qdd = (x / rms(x) * rms(like) for x, like in ((qd, self.motion.qd), (qdd, self.motion.qdd)))
        Y = parameter_set.matrix(q, qd, qdd)[..., list(self.base.independent)]
        return np.einsum("njr,njs->rs", Y, Y)

    def with_columns(self, Z: np.ndarray, *, passing: bool = False) -> tuple[np.ndarray, Left]:
        """Fit the sizes (d,) of errors whose effect on the torques is Z (N, nv, d): the sizes, and the residuals."""
        return self.with_filtered(self.filtered(Z), passing=passing)

    def with_filtered(self, Z: np.ndarray, *, passing: bool = False) -> tuple[np.ndarray, Left]:
        """Fit the sizes (d,) of errors whose effect on the filtered torques is Z (M, nv, d): the sizes, and the residuals.
        `passing`: they change in the course of the log, so that one half of it does not show what they do in the other."""
        known = self.by_turns if passing else self.known
        theta, left = fitted(known.with_columns(Z), len(self.given))
        return theta[self.base.rank :], left

    def with_torques(self, tau: np.ndarray) -> Left:
        """Residuals of the model fitted to the same motion with other torques (N, nv)."""
        y = self.measured + self.filtered(tau - self.motion.tau)
        return fitted(self.known.with_torques(y), len(self.given))[1]

    def sought(self, changed: Callable[[float], Samples], step: float, rounds: int, size: float = 0.0) -> tuple[float, Left]:
        """Fit the size of an error of the motion, which `changed(size)` removes, and the parameters by Gauss-Newton steps: the
        size, and the residuals."""
        theta, left = (self.theta, self.left) if size == 0 else (None, self.left)
        for _ in range(rounds):
            if abs(size) > LARGEST_SOUGHT:
                break
            rows = self.whole if size == 0 else self.rows(changed(size))
            equations = self.known if size == 0 else self.equations(self.filtered_rows(rows))
            theta = fitted(equations.G, equations.samples)[0] if theta is None else theta
            ahead = self.regressor.torques(self.rows(changed(size + step)), theta)
            slope = (ahead - self.regressor.torques(rows, theta)) / step
            found, left = fitted(equations.with_columns(self.filtered(slope)[..., None]), equations.samples)
            theta, size = found[:-1], size + float(found[-1])
        return size, left

    def with_torques_and(self, tau: np.ndarray, Z: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, Left]:
        """Fit the sizes (d,) of errors to the same motion with other torques (N, nv), where the effect Z (N, nv, d) of an error
        depends on the parameters (r,): the sizes, and the residuals."""
        y = self.measured + self.filtered(tau - self.motion.tau)
        rows = self.given.copy()
        rows[:, np.array(self.regressor.ends) - 1] = y
        equations = self.equations(rows)
        columns = self.filtered(Z(fitted(equations.G, equations.samples)[0]))
        theta, left = fitted(equations.with_columns(columns), equations.samples)
        return theta[self.base.rank :], left

    def instead(
        self, motion: Samples, more: np.ndarray | None = None, Z: np.ndarray | None = None, *, in_other_units: bool = False
    ) -> Left:
        """Residuals of the model fitted to another motion; `more` (N, nv, links) is added to the links' columns, and Z (N, nv, d)
        are columns of further parameters. `in_other_units`: it is the same motion, at which dry friction takes its step as
        found."""
        sliding = self.sliding(self.motion) if in_other_units else None
        sliding = self.motion.qd if in_other_units and sliding is None else sliding
        equations = self.equations(self.filtered_rows(self.rows(motion, more, sliding)))
        G = equations.G if Z is None or not Z.shape[-1] else equations.with_columns(self.filtered(Z))
        return fitted(G, equations.samples)[1]

    def instead_and(self, more: np.ndarray, Z: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, Left]:
        """Fit the sizes (d,) of errors to the same motion with `more` (N, nv, links) added to the links' columns, where the effect
        Z (N, nv, d) of an error depends on the parameters (r,): the sizes, and the residuals without the errors."""
        equations = self.equations(self.filtered_rows(self.rows(self.motion, more)))
        theta, left = fitted(equations.G, equations.samples)
        found = fitted(equations.with_columns(self.filtered(Z(theta))), equations.samples)[0]
        return found[self.base.rank :], left


def later_half(count: int) -> np.ndarray:
    """Mask (count,) that is True in the second half."""
    return np.arange(count) * 2 >= count
