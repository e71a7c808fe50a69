"""Alternatives for the arm: mounted another way, other lengths, coupled motors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from qddot.algorithms.regressor import regressor
from qddot.identify.checks.normal_equations import Left, score
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.regression.residuals import rms
from qddot.model.field import Arrays
from qddot.model.model import Model
from qddot.model.spatial import Vec
from qddot.thresholds import LARGEST_TILT, LEANING_ROUNDS, MOST_OF_IT, POSITION_STEP, TORQUE_ROUNDING


def askew(trial: Trial) -> Iterator[Alternative]:
    """Another direction of gravity: the regressor is linear in it, so only its part at rest changes."""
    sideways = across(trial)
    if not sideways:
        return
    rest, bare = np.zeros_like(trial.motion.q), trial.evaluator.bare
    own = bare.regressor(trial.motion.q, rest, rest, threads=1)
    tilt, left = trial.with_columns(by_gravity(trial, sideways))
    leaning = np.cos(tilted_by(tilt)) * (own + np.tensordot(tilt, [Y for _, Y in sideways], axes=1))  # gravity stays as large
    left = min(left, trial.instead(trial.motion, leaning - own), key=score)
    yield trial.told("tilt", told_tilt(tilt), left)
    where, left = leaned(trial, own, sideways)
    angle = float(np.arccos(np.clip(where @ down(trial) / (down(trial) @ down(trial)), -1.0, 1.0)))
    if angle < LARGEST_TILT:
        yield trial.told("tilt", f"the base is tilted by {np.degrees(angle):.2g} degrees", left)
    else:
        yield trial.told("gravity", told_gravity(where), left)
    yield trial.told("gravity", "gravity is not in the torques", trial.instead(trial.motion, -own))
    restored = trial.with_torques(trial.motion.tau + bare.gravity_torque(trial.motion.q))
    yield trial.told("gravity", "gravity is not in the torques: that of the arm as described has been taken from them", restored)
    for where, Y in ((-down(trial), -own), *((s * g, s * Y) for g, Y in sideways for s in (1, -1))):
        yield trial.told("gravity", told_gravity(where), trial.instead(trial.motion, Y - own))


def leaned(trial: Trial, own: np.ndarray, sideways: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, Left]:
    """Any direction of gravity (3,) and the residuals with it, by Gauss-Newton steps with the parameters from the best of a few:
    those of a base that leans far tell little of how far. `own`: the links' columns at rest under the described gravity."""
    axes = np.stack([down(trial), *(g for g, _ in sideways)])
    columns = [own, *(Y for _, Y in sideways)]
    starts = [np.eye(3)[0], *(s * x for x in np.eye(3)[1:] for s in (1, -1)), -np.eye(3)[0]]

    def under(part: np.ndarray) -> np.ndarray:
        return sum(x * Y for x, Y in zip(part, columns)) - own

    def instead(part: np.ndarray) -> Left:
        return trial.instead(trial.motion, under(part), not_carried(trial, under(part)))

    found = [(instead(start), start) for start in starts]
    left, part = min(found, key=lambda one: score(one[0]))
    for _ in range(LEANING_ROUNDS):
        across = np.linalg.svd(part[None])[2][1:]
        more = under(part)

        def slopes(theta: np.ndarray, across: np.ndarray = across, more: np.ndarray = more) -> np.ndarray:
            now = trial.regressor.torques(trial.rows(trial.motion, more), theta)
            ahead = [trial.regressor.torques(trial.rows(trial.motion, more + under(x) + own), theta) for x in across]
            return np.stack(ahead, axis=-1) - now[..., None]

        size, _ = trial.instead_and(more, slopes)
        step = part + np.clip(size, -1.0, 1.0) @ across
        step /= np.linalg.norm(step)
        better = instead(step)
        if score(better) >= score(left):
            break
        left, part = better, step
    return part @ axes, left


def not_carried(trial: Trial, more: np.ndarray) -> np.ndarray:
    """Additions to the links' columns (N, nv, links) of those joints that do not have them (N, nv, d): about an upright axis,
    gravity acts by the links' first moments as soon as it leans."""
    have = np.zeros((trial.nv, more.shape[-1]), bool)
    for j, here in enumerate(trial.evaluator.carried):
        have[j, here] = True
    new = np.where(have, 0.0, more)
    return new[..., rms(new.reshape(-1, new.shape[-1])) > TORQUE_ROUNDING * rms(more.ravel())]


def told_gravity(where: np.ndarray) -> str:
    return f"gravity is ({', '.join(f'{x:.3g}' for x in np.round(where, 2) + 0.0)}) m/s^2"


def down(trial: Trial) -> np.ndarray:
    """Gravity as described (3,), m/s^2."""
    return np.array([float(x) for x in trial.robot.model.gravity])


def across(trial: Trial) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two vectors of gravity (3,) normal to the described one, each with the links' columns at rest (N, nv, links); none if the
    described gravity is 0."""
    size, rest = float(np.linalg.norm(down(trial))), np.zeros_like(trial.motion.q)
    sideways = size * np.linalg.svd(down(trial)[None])[2][1:] if size > 0 else ()
    model = trial.evaluator.bare.model
    return [(g, columns_of(model.copy(gravity=tuple(g)), trial.motion.q, rest, rest)) for g in sideways]


def by_gravity(trial: Trial, sideways: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Effect on the torques (N, nv, d) of further gravities, with the links' columns at rest under each."""
    return np.stack([trial.predicted(trial.motion, Y) - trial.torques for _, Y in sideways], axis=-1)


def tilted_by(tilt: np.ndarray) -> float:
    """Angle of a base whose gravity has these components (2,) across, relative to the one along, rad."""
    return float(np.arctan(np.linalg.norm(tilt)))


def told_tilt(tilt: np.ndarray) -> str:
    return f"the base is tilted by {np.degrees(tilted_by(tilt)):.2g} degrees"


def misdrawn(trial: Trial) -> Iterator[Alternative]:
    """A joint at another place of the link that carries it: a length of another arm, or a misread drawing."""
    model, tau = trial.evaluator.bare.model, trial.torques
    own = trial.evaluator.bare.regressor(*trial.motion[:3], threads=1)
    longest = MOST_OF_IT * max(float(np.linalg.norm([float(x) for x in joint.origin.p])) for joint in model.joints)
    moving = {joint.child for joint in model.joints if joint.name in trial.names}
    for joint in model.joints:
        if joint.name not in trial.names or joint.parent not in moving:
            continue
        Z = np.zeros((*tau.shape, 3))
        for k, aside in enumerate(np.eye(3) * POSITION_STEP):
            moved = joint.origin._replace(p=joint.origin.p + Vec(*aside.tolist()))
            changed = [replace(one, origin=moved) if one is joint else one for one in model.joints]
            Y = columns_of(model.copy(joints=changed), *trial.motion[:3])
            Z[..., k] = (trial.predicted(trial.motion, Y - own) - tau) / POSITION_STEP
        Z = Z[..., rms(Z.reshape(-1, 3)) > TORQUE_ROUNDING * rms(tau.ravel())]  # not the shifts along parallel axes
        if not Z.shape[-1]:
            continue
        Z = trial.filtered(Z)
        for some in {(0, 1, 2)[: Z.shape[-1]], *((k,) for k in range(Z.shape[-1]))} - {()}:  # also along one axis: the others
            where, left = trial.with_filtered(Z[..., list(some)])  # may hardly show, and then come out large
            if np.linalg.norm(where) < longest:
                text = f"{joint.name} sits {told_length(where)} from where the description has it on {joint.parent}"
                yield trial.told("geometry", text, left)


def columns_of(model: Model, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """The links' columns (N, nv, links) of a model, computed without compiling since it is used only once."""
    rows = regressor(model.over(Arrays()), [*q.T], [*qd.T], [*qdd.T])
    return np.stack([np.stack(np.broadcast_arrays(*row, q[:, 0])[:-1], axis=-1) for row in rows], axis=1)


def coupled(trial: Trial) -> Iterator[Alternative]:
    """Motors that turn with two joints."""
    q, qd, qdd, _ = trial.motion
    for i, j in zip(range(trial.nv), range(1, trial.nv)):
        Z = np.zeros((*q.shape, 3))
        both = np.sign(qd[:, i] + qd[:, j])
        Z[:, i], Z[:, j] = (np.stack([qdd[:, k], qd[:, k], both], axis=-1) for k in (j, i))
        text = f"the motors of {trial.names[i]} and {trial.names[j]} are coupled (ParameterSet.of(coupled=...))"
        yield trial.told("coupled", text, trial.with_columns(Z)[1], i, j)


def told_length(where: np.ndarray) -> str:
    """Format the length of a vector, m, in mm with three digits and without an exponent."""
    size = 1e3 * float(np.linalg.norm(where))
    return f"{float(f'{size:.3g}'):.10g} mm"
