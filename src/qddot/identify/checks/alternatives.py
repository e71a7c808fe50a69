"""What else may be true of a log: torques that come late, a joint counted backwards, a base that stands askew.

A fit that leaves torques unexplained has a reason. Each alternative here is fitted as the model is. Where the model leaves sigma_j
of joint j's torque, rms, and the alternative s_j, it explains

    share = 1 - (product over joints of s_j^2 / sigma_j^2)^(1 / joints)     or     1 - sum of s_j^2 / sum of sigma_j^2

It is the part of the unexplained sigma_j that it explains, the larger of two means over the joints: one in which no joint counts
more because its torques are larger, one in which all torques count alike. An alternative that explains most of it is the reason.
Friction that no model has cannot hide in one of them: it depends on other things.

What is true of a log is true of both its halves. With parameters of one half, an alternative must therefore predict the other half,
up to the limit that holds for the model itself; else it only is more freedom for parameters that the log does not determine, and
explains what any freedom would.

Small errors (a delay, a tilt, an offset of a zero) are one more column each, the derivative of the predicted torque by the error,
and their size is the column's parameter. Others (a sign, an order of joints, no gravity) are tried as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from qddot.algorithms.regressor import INERTIAL
from qddot.identify.regression.base import Base
from qddot.identify.regression.reduction import Samples
from qddot.identify.regression.signals import Signals, stacked
from qddot.thresholds import (
    DELAYS_TRIED,
    POSITION_STEP,
    SHORT_WHILE,
    STANDS_OUT,
    TRIAL_PARTS,
    TRIAL_RATE,
    TRIAL_ROUNDS,
    TRIAL_ROWS,
    TRIAL_SAMPLES,
    TRIAL_WINDOW,
    UNCERTAIN,
)

SIMPLEST = ("sign", "axis", "order", "gravity", "delay", "tilt", "zero", "contact", "load", "coupled", "gain")


@dataclass(frozen=True)
class Alternative:
    """Something else that may be true.

    Attributes:
        kind: one of `SIMPLEST`.
        text: what it says of the log, with its size.
        share: of the unexplained torque that it explains.
        unpredicted: part of the torques of one half that parameters of the other miss, beyond what is left of both.
    """

    kind: str
    text: str
    share: float
    unpredicted: float


class Left(NamedTuple):
    """What a fit leaves of each joint's torque (nv,), rms; what parameters of a half miss of the other (as in `Alternative`), and
    what they leave of each joint there (nv,), rms."""

    noise: np.ndarray
    unpredicted: float
    unseen: np.ndarray


def alternatives(base: Base, theta: np.ndarray, signals: Signals) -> list[Alternative]:
    """All that predict one half of the log from the other, the best first; of equals the simplest."""
    found = [one for one in Trial(base, theta, few(signals)).alternatives() if one.unpredicted < UNCERTAIN]
    return sorted(found, key=lambda one: (-round(one.share, 2), SIMPLEST.index(one.kind)))


def few(signals: Signals) -> Signals:
    """As many samples as tell what the filter passes, in stretches all over the log."""
    step = max(1, int(signals.rate / (TRIAL_RATE * signals.cutoff)))
    window = TRIAL_WINDOW * (2 * signals.low_pass.half + 1)
    every = window * max(1, -(-len(signals) // (step * TRIAL_SAMPLES)))
    starts = [(start, s.stop) for s in signals.segments for start in range(s.start, s.stop, every)]
    stretches = [range(start, min(start + window, stop), step) for start, stop in starts]
    if every == window:
        stretches = [range(s.start, s.stop, step) for s in signals.segments]
    stretches = [stretch for stretch in stretches if len(stretch) > 1]
    rows = np.concatenate([np.asarray(stretch) for stretch in stretches])
    arrays = {name: getattr(signals, name)[rows] for name in ("t", "q", "qd", "qdd", "tau", "tau_raw")}
    return replace(signals, **arrays, rate=signals.rate / step, segments=stacked(map(len, stretches)), goes_on=(False, False))


class Trial:
    """The model as given on these samples, and what becomes of it when something else is assumed."""

    def __init__(self, base: Base, theta: np.ndarray, signals: Signals) -> None:
        self.base, self.theta, self.signals = base, theta, signals
        self.robot, self.evaluator = base.parameter_set.robot, base.parameter_set.evaluator()
        self.motion = Samples(signals.q, signals.qd, signals.qdd, signals.tau_raw)
        self.names, self.nv = self.robot.joint_names, self.robot.nv
        self.T = [base.parameter_set.T[np.ix_(used, np.array(base.independent, int))] for used in self.evaluator.used]

    def alternatives(self) -> Iterator[Alternative]:
        """Every one, in no order."""
        yield from self.late()
        yield from self.askew()
        yield from self.wrong_way()
        yield from self.joint_by_joint()
        yield from self.for_a_while()

    # the model and its errors -----------------------------------------------------------------------------------------------

    def rows(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """`[X | tau]` (N, nv, r + 1) for a motion; `more` (N, nv, links) is added to the columns of the links."""
        moved = self.evaluator.at(motion.q, motion.qd, motion.qdd)
        moved = moved if more is None else moved._replace(Y=moved.Y + more)
        X = np.stack([moved.row(j) @ T for j, T in enumerate(self.T)], axis=1)
        return np.concatenate([X, (motion.tau - moved.known())[..., None]], axis=-1)

    def predicted(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """Torques (N, nv) of the parameters found, without what is known anyway."""
        return self.rows(motion, more)[..., :-1] @ self.theta

    def filtered(self, x: np.ndarray) -> np.ndarray:
        """A signal (N, ...) through the filter, at some of its samples (M, ...)."""
        low_pass, step = self.signals.low_pass, max(self.signals.factor, len(x) // TRIAL_ROWS)
        ends = {"lead": low_pass.half, "trail": low_pass.half}
        return np.concatenate([low_pass.decimated(x[segment], step, **ends) for segment in self.signals.segments])

    @cached_property
    def whole(self) -> np.ndarray:
        """The rows of the model as given (N, nv, r + 1)."""
        return self.rows(self.motion)

    @cached_property
    def given(self) -> np.ndarray:
        """The rows of the model as given, filtered (M, nv, r + 1)."""
        return self.filtered(self.whole)

    @cached_property
    def left(self) -> Left:
        """What the model as given leaves."""
        return fitted(self.given, self.second)[1]

    @property
    def noise(self) -> np.ndarray:
        """What the model as given leaves of each joint's torque (nv,), rms."""
        return self.left.noise

    @cached_property
    def second(self) -> np.ndarray:
        """Which rows (M,) lie in the second half of their stretch."""
        halves = [np.arange(s.stop - s.start) * 2 >= s.stop - s.start for s in self.signals.segments]
        return self.filtered(np.concatenate(halves)[:, None].astype(float))[:, 0] > 0.5

    @cached_property
    def rigid(self) -> np.ndarray:
        """The links' own part of the predicted torques (N, nv)."""
        links = [name.rpartition(".")[2].removesuffix("_c") in INERTIAL for name in self.base.names]
        return self.whole[..., :-1][..., links] @ self.theta[links]

    def told(self, kind: str, text: str, left: Left, *joints: int) -> Alternative:
        """With what it leaves in place of what the model does. What is said of some joints must be true of each of
        them as well: in another place a channel may only have met more parameters."""
        noise = left.noise
        change = 2 * np.log(noise / self.noise)
        here = change[list(joints)]
        mean = (here if kind == "coupled" else change).mean()  # a coupling changes no other row
        total = np.log(np.sum(noise**2) / np.sum(self.noise**2))
        return Alternative(kind, text, float(1 - np.exp(max(min(mean, total), *here, -np.inf))), left.unpredicted)

    def with_columns(self, Z: np.ndarray) -> tuple[np.ndarray, Left]:
        """Size (d,) of errors whose effect on the torques is Z (N, nv, d), and what they leave."""
        whole = np.concatenate([self.given[..., :-1], self.filtered(Z), self.given[..., -1:]], axis=-1)
        theta, left = fitted(whole, self.second)
        return theta[-Z.shape[-1] :], left

    def with_torques(self, tau: np.ndarray) -> Left:
        """What the model leaves of the same motion with other torques (N, nv)."""
        y = self.filtered(self.whole[..., -1] + tau - self.motion.tau)
        return fitted(np.concatenate([self.given[..., :-1], y[..., None]], axis=-1), self.second)[1]

    def instead(self, motion: Samples, more: np.ndarray | None = None) -> Left:
        """What the model leaves of another motion, or with other columns of the links."""
        return fitted(self.filtered(self.rows(motion, more)), self.second)[1]

    # what may be wrong ------------------------------------------------------------------------------------------------------

    def late(self) -> Iterator[Alternative]:
        """tau(t) = tau_model(t - delay)."""
        tau, slope = self.predicted(self.motion), np.zeros_like(self.motion.q)
        for segment in self.signals.segments:
            slope[segment] = np.gradient(tau[segment], 1 / self.signals.rate, axis=0)
        (delay,), left = self.with_columns(-slope[..., None])
        yield self.told("delay", f"torques are {late(delay)}", left)
        for j, name in enumerate(self.names):
            one = np.arange(self.nv) == j
            found = [(0.0, *self.with_columns(-(slope * one)[..., None]))]
            for shift in DELAYS_TRIED:
                moved = self.shifted(j, shift)
                found.append((shift, np.zeros(1), self.with_torques(moved)))
            start, (more,), left = min(found, key=lambda each: each[2].noise[j])
            yield self.told("delay", f"torques of {name} are {late(start + more)}", left, j)

    def shifted(self, j: int, delay: float) -> np.ndarray:
        """Torques as they would be if those of joint j came so much earlier, s; held at the ends of stretches."""
        tau, by = self.motion.tau.copy(), round(delay * self.signals.rate)
        for segment in self.signals.segments:
            rows = np.clip(np.arange(segment.start, segment.stop) + by, segment.start, segment.stop - 1)
            tau[segment, j] = self.motion.tau[rows, j]
        return tau

    def askew(self) -> Iterator[Alternative]:
        """Gravity from elsewhere: Y is linear in it, so what weight adds at rest is all that changes."""
        down = np.array([float(x) for x in self.robot.model.gravity])
        size = float(np.linalg.norm(down))
        if size == 0:
            return
        rest = np.zeros_like(self.motion.q)
        aside = size * np.linalg.svd(down[None])[2][1:]  # two directions across
        bare = self.evaluator.bare
        own, *others = (
            robot.regressor(self.motion.q, rest, rest, threads=1) for robot in (bare, *(bare.with_gravity(tuple(g)) for g in aside))
        )
        tau = self.predicted(self.motion)
        tilt, left = self.with_columns(np.stack([self.predicted(self.motion, Y) - tau for Y in others], axis=-1))
        yield self.told("tilt", f"the base is tilted by {np.degrees(np.arctan(np.linalg.norm(tilt))):.2g} degrees", left)
        yield self.told("gravity", "gravity is not in the torques", self.instead(self.motion, -own))
        for where, Y in ((-down, -own), *((s * g, s * Y) for g, Y in zip(aside, others) for s in (1, -1))):
            text = f"gravity is ({', '.join(f'{x:.3g}' for x in where + 0.0)}) m/s^2"
            yield self.told("gravity", text, self.instead(self.motion, Y - own))

    def wrong_way(self) -> Iterator[Alternative]:
        """Joints that count backwards, and joints in another order."""
        tau = self.motion.tau
        for j, name in enumerate(self.names):
            signs = np.where(np.arange(self.nv) == j, -1.0, 1.0)
            yield self.told("sign", f"torques of {name} have the other sign", self.with_torques(signs * tau), j)
            mirrored = Samples(*(signs * x for x in self.motion))
            yield self.told("axis", f"{name} counts positions and torques the other way", self.instead(mirrored), j)
        for i, j in combinations(range(self.nv), 2):
            order = np.arange(self.nv)
            order[[i, j]] = j, i
            left = self.with_torques(tau[:, order])
            yield self.told("order", f"torques of {self.names[i]} and {self.names[j]} are exchanged", left, i, j)
            left = self.instead(Samples(*(x[:, order] for x in self.motion)))
            yield self.told(
                "order", f"{self.names[i]} and {self.names[j]} are exchanged", left._replace(noise=left.noise[order]), i, j
            )

    def joint_by_joint(self) -> Iterator[Alternative]:
        """Zeros, gains, and motors that turn with two joints."""
        q, qd, qdd, _ = self.motion
        tau = self.rigid  # friction has parameters in any unit
        for j, name in enumerate(self.names):
            aside = POSITION_STEP * (np.arange(self.nv) == j)
            there, here = (self.predicted(self.motion._replace(q=q + s * aside)) for s in (1, -1))
            (offset,), left = self.with_columns(((there - here) / (2 * POSITION_STEP))[..., None])
            text = f"positions of {name} are {abs(offset):.2g} rad (m) too {'small' if offset > 0 else 'large'}"
            yield self.told("zero", text, left)
            (gain,), left = self.with_columns((tau * (np.arange(self.nv) == j))[..., None])
            yield self.told("gain", f"torques of {name} are {1 + gain:.3g} times what those of the others say", left, j)
        for i, j in zip(range(self.nv), range(1, self.nv)):
            Z = np.zeros((*q.shape, 3))
            both = np.sign(qd[:, i] + qd[:, j])
            Z[:, i], Z[:, j] = (np.stack([qdd[:, k], qd[:, k], both], axis=-1) for k in (j, i))
            text = f"the motors of {self.names[i]} and {self.names[j]} are coupled (ParameterSet.of(coupled=...))"
            yield self.told("coupled", text, self.with_columns(Z)[1], i, j)

    def for_a_while(self) -> Iterator[Alternative]:
        """A contact in some stretch of time, which the model knows nothing of; a load from some time on."""
        t = self.filtered(self.signals.t[:, None])[:, 0]
        error = self.given[..., -1] - self.given[..., :-1] @ fitted(self.given, self.second)[0]
        power = np.sum((error / self.noise) ** 2, axis=1)
        cuts = np.linspace(0, len(t), TRIAL_PARTS + 1).astype(int)
        sums = np.array([power[a:b].sum() for a, b in pairwise(cuts)])
        a, b = about_peak(sums, int(SHORT_WHILE * TRIAL_PARTS))
        inside = np.zeros(len(t), bool)
        inside[cuts[a] : cuts[b]] = True
        rest = fitted(self.given[~inside], later_half((~inside).sum()))[1]
        text = f"something else acts on the arm between t = {t[cuts[a]]:.3g} and {t[cuts[b] - 1]:.3g} s (a contact?)"
        yield self.told("contact", text, rest)
        k = self.given.shape[-1]
        for cut in cuts[3:-3].tolist():
            parts = [fitted(rows, later_half(len(rows)))[1].noise for rows in (self.given[:cut], self.given[cut:])]
            freedom = max(len(t) * self.nv - 2 * k, 1) / (len(t) * self.nv)
            noise = np.sqrt((cut * parts[0] ** 2 + (len(t) - cut) * parts[1] ** 2) / (len(t) * freedom))
            text = f"from t = {t[cut]:.3g} s on the arm carries another load, or is another one"
            yield self.told("load", text, Left(noise, 0.0, noise))


def later_half(count: int) -> np.ndarray:
    """Which of so many rows come in the second half."""
    return np.arange(count) * 2 >= count


def about_peak(x: np.ndarray, longest: int) -> tuple[int, int]:
    """The stretch [a, b) about the largest value, with neighbours that stand out too."""
    a, usual = int(np.argmax(x)), STANDS_OUT * np.median(x)
    b = a + 1
    while b - a < longest:
        before, after = x[a - 1] if a else 0.0, x[b] if b < len(x) else 0.0
        if max(before, after) <= usual:
            break
        a, b = (a - 1, b) if before > after else (a, b + 1)
    return a, b


def late(delay: float) -> str:
    return f"{abs(1e3 * delay):.2g} ms {'late' if delay > 0 else 'early'}"


def fitted(rows: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, Left]:
    """Parameters (k,) of `[X | tau]` (M, nv, k + 1) by weighted least squares, and what they leave; `second` (M,) says which rows
    are of the second half."""
    M, _, k = rows.shape
    scale = np.linalg.norm(rows, axis=(0, 1))
    scale = np.where(scale > 0, scale, 1.0)
    rows = np.ascontiguousarray(np.moveaxis(rows, 1, 0)) / scale  # in order, for the sake of matrix products
    halves = [half.transpose(0, 2, 1) @ half for half in (rows[:, ~second], rows[:, second])]
    G = halves[0] + halves[1]
    least = 1e-7 * np.sqrt(G[:, -1, -1].max() / M)  # rounding
    noise, theta = np.ones(len(G)), np.zeros(k - 1)
    for _ in range(TRIAL_ROUNDS):
        theta = solved(G, noise)
        noise = np.maximum(np.sqrt(remaining(G, theta) / M), least)
    unseen = remaining(halves[1], solved(halves[0], noise)) + remaining(halves[0], solved(halves[1], noise))
    beyond = max(float(np.sum(unseen - remaining(G, theta))), 0.0)
    missed = np.sqrt(beyond / np.sum(G[:, -1, -1]))
    return theta * scale[-1] / scale[:-1], Left(noise * scale[-1], missed, np.maximum(np.sqrt(unseen / M), least) * scale[-1])


def solved(G: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Parameters (k,) of the normal equations G (nv, k + 1, k + 1), the joints weighted by 1 / noise."""
    whole = np.einsum("j,jkl->kl", 1 / noise**2, G)
    k = len(whole) - 1
    ridge = 1e-12 * np.trace(whole[:-1, :-1]) / max(k, 1)  # columns that nothing tells apart
    return np.linalg.solve(whole[:-1, :-1] + ridge * np.eye(k), whole[:-1, -1])


def remaining(G: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Sum of the squared torques that parameters leave of each joint (nv,)."""
    left = np.append(-theta, 1.0)
    return np.maximum(np.einsum("k,jkl,l->j", left, G, left), 0.0)
