"""Alternatives for the channels of a log: the other sign, another joint, another unit, another gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from qddot.identify.checks.normal_equations import Left, score
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.checks.verdict import listed
from qddot.identify.physical.identified import HINGES
from qddot.identify.regression.rows import Samples
from qddot.thresholds import ENDLESS_ANGLE, LARGEST_ANGLE, LEAST_GAIN, REFINED


def signs(trial: Trial) -> Iterator[Alternative]:
    """Joints that count backwards."""
    for j, name in enumerate(trial.names):
        flipped = np.where(trial.only(j), -1.0, 1.0)
        yield reversed_torques(trial, j, trial.with_torques(flipped * trial.motion.tau))
        mirrored = Samples(*(flipped * x for x in trial.motion))
        yield trial.told("axis", f"{name} counts positions and torques the other way", trial.instead(mirrored), j)
        backwards = trial.instead(mirrored._replace(tau=trial.motion.tau))
        yield trial.told("sign", f"positions of {name} have the other sign", backwards, j)
    q, qd, qdd, tau = trial.motion
    if trial.nv > 1:
        yield trial.told("sign", "all positions have the other sign", trial.instead(Samples(-q, -qd, -qdd, tau)))


def reversed_torques(trial: Trial, j: int, left: Left) -> Alternative:
    """The torques of joint j have the other sign against those of all others; if the parameters then are those of no arm, it is
    the others' that have."""
    found = trial.told("sign", f"torques of {trial.names[j]} have the other sign", left, j)
    assert left.theta is not None
    if trial.nv == 1 or trial.is_an_arm(left.theta):
        return found
    others = tuple(name for name in trial.names if name != trial.names[j])
    true = left._replace(theta=-left.theta)
    return replace(found, text=f"torques of {listed(others)} have the other sign", joints=others, left=true)


def order(trial: Trial) -> Iterator[Alternative]:
    """Joints in another order: two exchanged, all shifted by some columns, from the tip to the base, alphabetical; or torques in
    any order."""
    names, every = trial.names, np.arange(trial.nv)
    for i, j in combinations(range(trial.nv), 2):
        place = every.copy()
        place[[i, j]] = j, i
        left = trial.with_torques(trial.motion.tau[:, place])
        yield trial.told("order", f"torques of {names[i]} and {names[j]} are exchanged", left, i, j)
        yield trial.told("order", f"{names[i]} and {names[j]} are exchanged", placed(trial, place), i, j)
        left = trial.instead(trial.motion._replace(**{x: getattr(trial.motion, x)[:, place] for x in ("q", "qd", "qdd")}))
        yield trial.told("order", f"positions of {names[i]} and {names[j]} are exchanged", left, i, j)
    if trial.nv < 3:
        return
    for by in range(1, trial.nv):
        place = np.roll(every, by)
        left = trial.with_torques(trial.motion.tau[:, place])
        yield trial.told("order", f"torques are {trial.nv - by} columns off: the first is that of {names[place[0]]}", left)
        left = trial.instead(trial.motion._replace(**{x: getattr(trial.motion, x)[:, place] for x in ("q", "qd", "qdd")}))
        yield trial.told("order", f"positions are {trial.nv - by} columns off: the first is that of {names[place[0]]}", left)
    by_name = np.argsort(np.argsort(names))  # rank of each joint's name
    for how, place in (("from the tip to the base", every[::-1]), ("in the order of the alphabet", by_name)):
        if np.count_nonzero(place != every) > 2:
            yield trial.told("order", f"joints are {how}", placed(trial, place))
    place = sorted_out(trial)
    if np.count_nonzero(place != every) > 2:
        told = ", ".join(names[j] for j in np.argsort(place))
        yield trial.told("order", f"torques are those of {told}, in this order", trial.with_torques(trial.motion.tau[:, place]))


def placed(trial: Trial, place: np.ndarray) -> Left:
    """Residuals, in the order of the channels, if the channels of joint j are those at place[j]."""
    left = trial.instead(Samples(*(x[:, place] for x in trial.motion)))
    return left._replace(noise=left.noise[np.argsort(place)])


def sorted_out(trial: Trial) -> np.ndarray:
    """For each joint the torque channel that its columns explain best (nv,), in the best assignment of all together."""
    left = [np.sum((trial.measured - Q @ (Q.T @ trial.measured)) ** 2, axis=0) for Q in trial.bases]
    return linear_sum_assignment(np.log(np.maximum(left, 1e-300)))[1]


def units(trial: Trial) -> Iterator[Alternative]:
    """Positions of one joint in degrees, or of all in turns."""
    q, qd, qdd, tau = trial.motion
    hinges = {joint.name for joint in trial.robot.model.joints if joint.kind in HINGES}
    turns = np.where([name in hinges for name in trial.names], 2 * np.pi, 1.0)
    if np.abs(turns * q).max() < ENDLESS_ANGLE:
        left = trial.instead(Samples(turns * q, turns * qd, turns * qdd, tau), in_other_units=True)
        yield trial.told("units", "positions are in turns", left)
    for j in np.flatnonzero(np.abs(trial.motion.q).max(axis=0) > LARGEST_ANGLE).tolist():
        scale = np.where(trial.only(j), np.pi / 180, 1.0)
        q, qd, qdd, tau = trial.motion
        left = trial.instead(Samples(scale * q, scale * qd, scale * qdd, tau))
        yield trial.told("units", f"positions of {trial.names[j]} are in degrees", left, j)


def gains(trial: Trial) -> Iterator[Alternative]:
    """Torques, of one joint or of each, that are scaled."""
    tau = trial.rigid  # friction is no evidence, since its parameters scale along
    found = []
    for j in range(trial.nv):
        sizes, left = trial.with_columns((tau * trial.only(j))[..., None])
        found.append((1 + sizes, left))
    best = int(np.argmin([score(left) for _, left in found]))
    found[best] = min(found[best], sharper_gains(trial, [best], found[best][0]), key=lambda one: score(one[1]))
    for j, ((gain,), left) in enumerate(found):
        kind = "gain" if gain > 0 else "sign"
        yield trial.told(kind, f"torques of {trial.names[j]} are {gain:.3g} times what those of the others say", left, j)
    if trial.nv > 2:
        others = list(range(1, trial.nv))
        sizes, left = trial.with_columns(np.stack([tau * trial.only(j) for j in others], axis=-1))
        each, left = min((1 + sizes, left), sharper_gains(trial, others, 1 + sizes), key=lambda one: score(one[1]))
        told = ", ".join(f"{name} {gain:.3g}" for name, gain in zip(trial.names[1:], each))
        yield trial.told("gain", f"torques are in a unit of their own at each joint, against {trial.names[0]}: {told}", left)


def sharper_gains(trial: Trial, joints: Sequence[int], gains: np.ndarray) -> tuple[np.ndarray, Left]:
    """Gains (d,) of the torques of d joints and the residuals, by Gauss-Newton steps from first values: parameters fitted to
    torques with a gain far from 1 are those of no arm, and say little of the gain."""
    scale, left = np.ones(trial.nv), trial.left

    def scaled(theta: np.ndarray) -> np.ndarray:
        return np.stack([trial.rigid_of(theta) * trial.only(j) for j in joints], axis=-1)

    for _ in range(REFINED):
        scale[joints] = gains
        more, left = trial.with_torques_and(trial.motion.tau / scale, scaled)
        gains = gains * (1 + more)
        if not np.all((np.abs(gains) > LEAST_GAIN) & (np.abs(gains) < 1 / LEAST_GAIN)):
            return np.ones(len(gains)), trial.left
    scale[joints] = np.abs(gains)
    assert left.theta is not None
    theta = np.append(left.theta[: trial.base.rank], gains - 1)
    return gains, left._replace(noise=left.noise * scale, theta=theta)
