"""Worth of a log: which seconds of it determine the parameters, and which further motion would determine the others.

    A = sum over blocks of A_k,     A_k = X_k^T X_k        information on the base parameters, rows weighted by their noise

A block is worth `log det A - log det (A - A_k)`, the information that would be lost without it. The information of a planned motion
is known before it is measured: with it, a parameter's standard deviation would shrink from `sqrt((A^-1)_ii)` to that of `A +
A_new`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qddot.identify.fit import Fit
from qddot.identify.regression.base import random_motions
from qddot.identify.regression.estimators import stacked
from qddot.identify.regression.residuals import rms
from qddot.identify.scaling import nonzero
from qddot.thresholds import (
    ABSURD_TORQUE,
    IDLE_SHARE,
    MATTERS,
    NO_INFORMATION,
    POSTURES,
    PROPOSED_HELPS,
    PROPOSED_LEAST,
    PROPOSED_POSTURES,
    PROPOSED_SECONDS,
    PROPOSED_SPEEDS,
    PROPOSED_SWING,
)


class Stretch(NamedTuple):
    """A block of time: start and stop, s, and its share of the information; 1 / blocks if all have as much."""

    start: float
    stop: float
    share: float


class Proposal(NamedTuple):
    """A proposed motion of one joint: its speed, rad/s or m/s, its duration, s, and the parameters that it would determine.

    `helps`: parameter -> half its 95 % interval now and afterwards, SI units; `values`: parameter -> magnitude of its present
    value.
    """

    joint: str
    speed: float
    seconds: float
    helps: dict[str, tuple[float, float]]
    values: dict[str, float]

    def __str__(self) -> str:
        names = ", ".join(f"{name} ({narrowed(*widths, self.values[name])})" for name, widths in self.helps.items())
        head = f"{self.seconds:g} s of {self.joint} to and fro at up to {self.speed:.2g} rad/s (m/s)"
        return f"{head}, others held in {PROPOSED_POSTURES} postures: {names}"


def narrowed(before: float, after: float, value: float) -> str:
    """Format half an interval before and after, relative to the value unless that is much smaller."""
    return f"± {before / value:.0%} to {after / value:.0%}" if before < 10 * value else f"± {before:.2g} to {after:.2g}"


@dataclass(frozen=True)
class Worth:
    """Worth of a log: its informative blocks, the parameters that it leaves unknown, and motions that would help.

    Attributes:
        stretches: blocks of time, each with its share of the information.
        unknown: base parameters whose 95 % interval reaches further than half their value, and which matter: the interval makes
            more than a hundredth of a joint's torque in motions like the log's, anywhere in the workspace.
        proposals: motions that would determine them, the best first.
        beyond: unknown parameters that none of these motions determines, since they are too small beside the noise.
    """

    stretches: tuple[Stretch, ...]
    unknown: tuple[str, ...]
    proposals: tuple[Proposal, ...]
    beyond: tuple[str, ...]

    @property
    def idle(self) -> tuple[Stretch, ...]:
        """Stretches that could be left out: they have less than a fifth of their even share of the information."""
        return tuple(s for s in self.stretches if s.share < IDLE_SHARE / len(self.stretches))

    def __repr__(self) -> str:
        best = max(self.stretches, key=lambda s: s.share)
        lines = [f"the most informative part is from {best.start:.3g} to {best.stop:.3g} s ({best.share:.0%} of all information)"]
        if self.idle:
            lines.append("almost uninformative: " + ", ".join(f"from {s.start:.3g} to {s.stop:.3g} s" for s in self.idle))
        lines.append(f"poorly known: {', '.join(self.unknown)}" if self.unknown else "every parameter that matters is known")
        lines += [str(proposal) for proposal in self.proposals]
        if self.beyond:
            lines.append(f"too small beside the noise of the torques to be found by any such motion: {', '.join(self.beyond)}")
        return "\n".join(lines)


def worth(fit: Fit) -> Worth:
    """See `Fit.worth`."""
    names = fit.base.names
    A = np.array([information(fit, [k])[0] for k in range(len(fit.factors.R))])
    motions = list(candidates(fit))
    size = np.sqrt(np.diagonal(A.sum(axis=0) + sum(new for _, _, new in motions)))
    scale = np.outer(*[nonzero(size)] * 2)
    A = A / scale
    total = A.sum(axis=0) + information(fit, [0])[1] / scale + NO_INFORMATION * np.eye(len(size))
    widths = half_widths(fit, total, size)
    costs, values = felt(fit), np.abs(fit.estimate.theta)
    values = np.where(costs * values < ABSURD_TORQUE, values, 0.0)
    unknown = np.flatnonzero((costs * widths > MATTERS) & (widths > values / 2)).tolist()
    proposals = []
    for joint, speed, new in motions:
        after = half_widths(fit, total + new / scale, size)
        helps = {names[j]: (float(widths[j]), float(after[j])) for j in unknown if after[j] < PROPOSED_HELPS * widths[j]}
        proposals.append(Proposal(joint, speed, PROPOSED_SECONDS, helps, {names[j]: float(values[j]) for j in unknown}))
    chosen, helped = [], set()
    while more := [p._replace(helps={n: w for n, w in p.helps.items() if n not in helped}) for p in proposals]:
        best = max(more, key=lambda p: sum(np.log(before / after) for before, after in p.helps.values()))
        if not best.helps:
            break
        chosen.append(best)
        helped |= set(best.helps)
    beyond = tuple(names[j] for j in unknown if names[j] not in helped)
    return Worth(stretches(fit, A, total), tuple(names[j] for j in unknown), tuple(chosen), beyond)


def half_widths(fit: Fit, information: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Half the 95 % interval of each base parameter (r,) with this scaled information, for residuals as coloured as the log's."""
    estimate = fit.estimate
    ratios = estimate.std / np.maximum(estimate.std_classical, 1e-300)
    colour = float(np.median(ratios)) if np.isfinite(ratios).all() else 1.0  # a single block has no spread
    return estimate.reach * colour * np.sqrt(np.diagonal(np.linalg.inv(information))) / nonzero(size)


def felt(fit: Fit) -> np.ndarray:
    """Effect of a unit of each base parameter (r,) on the most affected joint's torque, relative to that torque, 1/unit."""
    parameter_set, log = fit.parameter_set, fit.signals
    q, qd, qdd = random_motions(parameter_set, POSTURES)
    # joints that rested in the log are assumed to move in later motions
    usual = [np.maximum(rms(x), PROPOSED_LEAST * rms(x).max()) for x in (log.qd, log.qdd)]
    Y = fit.base.matrix(q, qd / rms(qd) * usual[0], qdd / rms(qdd) * usual[1])
    size = fit.training.size[:, None]
    return np.max(rms(Y) / np.where(size > 0, size, np.inf), axis=0)


def information(fit: Fit, blocks: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Information (r, r) of some blocks of a log, and that of the priors."""
    X, _ = stacked(fit.base, fit.factors.columns, fit.factors.merged(blocks), fit.estimate.sigma)
    data, known = np.split(X, [len(X) - len(fit.parameter_set.priors)])
    return data.T @ data, known.T @ known


def stretches(fit: Fit, A: np.ndarray, total: np.ndarray) -> tuple[Stretch, ...]:
    """The blocks with their shares of the information; times count through all segments, without pauses."""
    ends = np.cumsum(fit.factors.counts) * fit.signals.factor / fit.signals.rate
    inverse = np.linalg.inv(total)
    _, kept = np.linalg.slogdet(np.eye(len(total)) - inverse @ A * (1 - 1e-9))
    lost = np.maximum(-kept, 0.0)
    shares = lost / (lost.sum() or 1.0)
    return tuple(Stretch(float(a), float(b), float(s)) for a, b, s in zip([0.0, *ends], ends, shares))


def candidates(fit: Fit) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield (joint, speed, information (r, r)) of motions of one joint to and fro, slow and fast, with the others held in some
    postures."""
    parameter_set, signals = fit.parameter_set, fit.signals
    robot, limits = parameter_set.robot, parameter_set.robot.limits
    rate = signals.rate / signals.factor
    t = np.arange(int(PROPOSED_SECONDS * rate) + 1) / rate
    draw = np.random.default_rng(0)
    postures = np.stack([robot.random_configuration(draw) for _ in range(PROPOSED_POSTURES)])
    held = postures[(len(t) - np.arange(len(t)) - 1) * PROPOSED_POSTURES // len(t)]
    low, high = (np.where(np.isfinite(x), x, s * np.pi) for x, s in ((limits.lower, -1), (limits.upper, 1)))
    fastest = np.where(np.isfinite(limits.velocity), limits.velocity, np.maximum(np.abs(signals.qd).max(axis=0), 1.0))
    for j, joint in enumerate(robot.joint_names):
        for part in PROPOSED_SPEEDS:
            speed, reach = part * float(fastest[j]), PROPOSED_SWING * float(high[j] - low[j])
            reach = min(reach, speed * PROPOSED_SECONDS / (2 * np.pi))  # to and fro at least once
            w = speed / reach
            q, qd, qdd = held.copy(), np.zeros_like(held), np.zeros_like(held)
            q[:, j] = (low[j] + high[j]) / 2 + reach * np.sin(w * t)
            qd[:, j], qdd[:, j] = speed * np.cos(w * t), -speed * w * np.sin(w * t)
            Y = fit.base.matrix(q, qd, qdd) / fit.estimate.sigma[:, None]
            Y[np.abs(qd) < parameter_set.rest_speeds] = 0.0  # torques at rest are undetermined, see `rest_speeds`
            yield joint, speed, np.einsum("njr,njs->rs", Y, Y)
