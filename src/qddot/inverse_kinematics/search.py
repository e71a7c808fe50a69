"""Search for configurations that bring a frame to given poses, by damped least squares from many starts at once.

A start that does not converge within a few steps is replaced by another one: about half of all random starts lead to a solution,
and a step of thousands of them is one call of a kernel (see `qddot.algorithms.reaching`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qddot.algorithms.kinematics import path_to_root
from qddot.arguments import random_numbers
from qddot.errors import ConvergenceError
from qddot.inverse_kinematics.target import DAMPING, Target
from qddot.model import configuration
from qddot.model.field import Floats
from qddot.model.joints import Revolute

STEPS = 16
"""Steps of one start: most starts that converge at all have done so by then, and a new start is more promising than more steps."""

FIRST, BETWEEN = 5, 2
"""Steps before the first check which trials have arrived, and between two checks: a step costs no more than a check, and adds
digits."""

TOGETHER = 256
"""Number of trials that take hardly more time than one."""

SETTLING = 100
"""Steps towards the closest configuration, if there is no solution."""

AT_ONCE = 1 << 16
"""Most trials that are in memory at the same time."""


@dataclass(frozen=True, eq=False)
class Reached:
    """The result of inverse kinematics: one configuration for each pose.

    Attributes:
        q: (..., nq), within the joint limits unless they were ignored.
        reached: (...), True where the pose is reached to the tolerance; elsewhere q is the closest configuration found.
        angle, distance: (...), remaining errors of orientation, rad, and of position, m, in the rows that were asked for.

    >>> robot = qddot.load("two_link")
    >>> found = robot.inverse_kinematics([3, 0, 0], rows=["x", "y"], nearest=True)  # too far
    >>> bool(found.reached), round(float(found.distance), 3)
    (False, 1.8)
    """

    q: np.ndarray
    reached: np.ndarray
    angle: np.ndarray
    distance: np.ndarray

    def __repr__(self) -> str:
        if np.ndim(self.reached):
            return f"Reached: {int(self.reached.sum())} of {self.reached.size} poses"
        left = f"{float(self.distance):.2g} m and {float(self.angle):.2g} rad are left"
        return f"{'Reached' if self.reached else 'Not reached'}: q = {np.array2string(self.q, precision=6)}, {left}"


class Trials(NamedTuple):
    """Ends of several starts: configurations (m, nq), and their squared remaining errors (m, 2) of angle and distance."""

    q: np.ndarray
    far: np.ndarray


def search(target: Target, start: np.ndarray | None, starts: int, seed: int) -> Reached:
    """Find one configuration for each pose: from `start` (..., nq), if given, then from random ones, at most `starts` in all."""
    n, nq, rng = len(target.poses), target.evaluate.model.mechanism.nq, random_numbers(seed)
    near = np.broadcast_to(
        configuration.neutral(target.evaluate.model.mechanism) if start is None else start, (*target.batch, nq)
    ).reshape(n, nq)
    q = random_starts(target, rng, near) if start is None else near.copy()
    far = np.full((n, 2), np.inf)
    pending, tried = np.arange(n), 0
    while len(pending) and tried < starts:
        wide = 1 if tried == 0 else min(max(TOGETHER // len(pending), 1), starts - tried)  # the last few get many starts at once
        for part in parts(len(pending), wide):
            some = pending[part]
            each = np.repeat(some, wide)
            trials = follow(target, q[some] if tried == 0 else random_starts(target, rng, near[each]), each)
            best = badness(target, trials.far).reshape(-1, wide).argmin(1) + wide * np.arange(len(some))
            better = badness(target, trials.far[best]) < badness(target, far[some])
            q[some[better]], far[some[better]] = trials.q[best[better]], trials.far[best[better]]
        pending = pending[~target.reached(far[pending])]
        tried += wide
    q, far = polished(target, wound(target, q, near, target.poses), target.poses, 1)
    if len(pending):
        q[pending], far[pending] = settled(target, q[pending], target.poses[pending])
    return result(target, q, far)


def follow(target: Target, q: np.ndarray, pose: np.ndarray, steps: int = STEPS) -> Trials:
    """Take steps from each start (m, nq) towards its pose, given by index, until it arrives or has taken all steps."""
    ends, away = np.empty_like(q), np.empty((len(q), 2))
    on, poses = np.arange(len(q)), target.poses[pose]
    for k in range(steps):
        ahead, far = target.step(q, poses)
        last = k + 1 == steps
        if not last and (k < FIRST or (k - FIRST) % BETWEEN):
            q = ahead
            continue
        there = np.full(len(q), True) if last else target.reached(far)
        if there.any():
            done, going = on[there], ~there
            ends[done], away[done] = q[there], far[there]
            on, ahead, poses = on[going], ahead[going], poses[going]
        q = ahead
    return Trials(ends, away)


def polished(target: Target, q: np.ndarray, poses: np.ndarray, steps: int) -> Trials:
    """Take a few more steps, as long as they come closer: near a solution each doubles the number of digits."""
    ahead, far = target.step(q, poses)
    q = q.copy()
    for _ in range(steps):
        further, left = target.step(ahead, poses)
        better = left.max(-1) < far.max(-1)
        q[better], far[better] = ahead[better], left[better]
        ahead = further
    return Trials(q, far)


def settled(target: Target, q: np.ndarray, poses: np.ndarray) -> Trials:
    """Continue to the closest configuration for poses out of reach, by Levenberg and Marquardt's rule for the damping."""
    damping = np.broadcast_to(DAMPING, (len(q), 1)).copy()
    q, (ahead, far) = q.copy(), target.step(q, poses, damping)
    for _ in range(SETTLING):
        _, left = target.step(ahead, poses, damping)
        better = badness(target, left) < badness(target, far)
        q[better] = ahead[better]
        damping *= np.where(better, 0.3, 4.0)[:, None]
        ahead, far = target.step(q, poses, damping)
    return Trials(q, far)


def parts(n: int, wide: int) -> Iterator[slice]:
    """Divide n poses with `wide` starts each into slices that fit into memory."""
    stride = max(AT_ONCE // wide, 1)
    return (slice(i, min(i + stride, n)) for i in range(0, n, stride))


def badness(target: Target, far: np.ndarray) -> np.ndarray:
    """Return squared angle plus squared distance, in units of the arm's length."""
    return far[..., 0] + far[..., 1] / target.length**2


def random_starts(target: Target, rng: np.random.Generator, near: np.ndarray) -> np.ndarray:
    """Return random configurations (m, nq) within the limits; held joints stay where `near` (m, nq) has them."""
    mechanism = target.evaluate.model.mechanism
    q = configuration.random_configuration(mechanism, rng, target.lower, target.upper, (len(near),))
    for c in mechanism.coordinates:
        if not target.moving[c.v.start]:
            q[:, c.q.start : c.q.stop] = near[:, c.q.start : c.q.stop]
    return q


def wound(target: Target, q: np.ndarray, near: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Return q (m, nq) with its hinges in the turn closest to `near`, if limits permit and the pose does not depend on the turn."""
    turned = q.copy()
    for c in target.evaluate.model.mechanism.coordinates:
        if c.kind in ("revolute", "continuous") and target.moving[c.v.start]:
            i = c.q.start
            x = near[:, i] + np.remainder(q[:, i] - near[:, i] + np.pi, 2 * np.pi) - np.pi
            low, high = (target.lower[i], target.upper[i]) if target.limits else (-np.inf, np.inf)
            x = np.where(x < low, x + 2 * np.pi, np.where(x > high, x - 2 * np.pi, x))
            turned[:, i] = np.where((x >= low) & (x <= high), x, q[:, i])
    if (turned == q).all():
        return q
    _, before = target.step(q, poses)
    _, after = target.step(turned, poses)
    slack = np.where(before <= target.tolerance**2, target.tolerance**2, 4 * before)
    return np.where((after <= slack).all(-1, keepdims=True), turned, q)


def result(target: Target, q: np.ndarray, far: np.ndarray) -> Reached:
    """Return configurations and their squared errors as a `Reached`, in the leading shape of the poses."""
    angle = 2 * np.arcsin(np.minimum(np.sqrt(far[:, 0]) / 2, 1.0))
    shaped = [x.reshape(target.batch) for x in (target.reached(far), angle, np.sqrt(far[:, 1]))]
    return Reached(q.reshape(*target.batch, q.shape[-1]), *shaped)


def refuse_unreached(target: Target, found: Reached, starts: int) -> None:
    """Refuse a result with poses that were not reached. Raises ConvergenceError, which names the first and its remaining error."""
    missed = np.flatnonzero(~found.reached)
    if not len(missed):
        return
    k = int(missed[0])
    where = list(map(int, np.unravel_index(k, target.batch))) if target.batch else ""
    among = f" ({len(missed)} of {found.reached.size} poses)" if target.batch else ""
    left = f"{float(found.distance.flat[k]):.3g} m and {float(found.angle.flat[k]):.3g} rad are left"
    raise ConvergenceError(
        f"pose{where} was not reached by {target.frame!r} from {starts} starts{among}: at the closest configuration found {left}. "
        f"{why(target, k)}nearest=True returns that configuration"
    )


def why(target: Target, k: int) -> str:
    """Say that the pose is out of reach, if lengths alone prove it, or that it may be."""
    model, away = target.evaluate.model.over(Floats()), float(np.linalg.norm(target.poses[k, :3, 3]))
    hinges = all(isinstance(model.bodies[i].joint, Revolute) for i in path_to_root(model, model.frame(target.frame)[0]))
    if hinges and {"x", "y", "z"} <= set(target.rows) and away > target.length * (1 + 1e-9):
        return f"It is {away:.4g} m from the base, and the arm at most {target.length:.4g} m long; "
    return "It may be out of reach" + (" within the joint limits; " if target.limits else "; ")
