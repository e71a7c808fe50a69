"""Intervals that allow for dry friction whose curves have another shape than the model's.

    s(v) = v / (|v|^p + w^p)^(1/p),  p = 4;     u = |v| / w
    ds / dp = s [ln(1 + u^p) / p^2 - u^p ln u / (p (1 + u^p))],     ds / d ln w = -s / (1 + u^p)

    Stribeck: s(v) / (1 + x^2),  x = v / v_s;     d / d ln v_s = s 2 x^2 / (1 + x^2)^2;     or else s(v) 2^(-x^2)

Dry friction turns back sharply in one drive and slowly in another, and its width w, which is fitted, does not say how; so does
Stribeck's curve fall. Where a log would surely have another shape or speed, parameters move with it, by more than their noise: by
so much their intervals are widened.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qddot.errors import InputError
from qddot.identify.estimation import Estimated
from qddot.identify.more_columns import extended
from qddot.identify.regression.base import Base
from qddot.identify.regression.drive_terms import stribeck_of
from qddot.identify.regression.excerpt import many
from qddot.identify.regression.signals import Signals
from qddot.logs.table import Finding
from qddot.model.friction import OTHER_WAY, smooth_step, stribeck_part
from qddot.thresholds import SURE_SHAPE

POWER = 4  # p of `smooth_step`


def allowing_for_shape(found: Estimated, signals: Signals) -> tuple[Estimated, list[Finding]]:
    """Return an estimate with intervals that allow for another shape of dry friction where the log surely has one, and what to say
    of it."""
    base, estimate, excerpt = found.base, found.estimate, many(signals)
    columns = shape_columns(base, estimate.theta, excerpt)
    if not columns:
        return found, []
    try:
        further = extended(base, excerpt, columns).further
        sure = [name for name, (x, std) in further.items() if abs(x) > SURE_SHAPE * std]
        if not sure:
            return found, []
        more = extended(base, excerpt, {name: columns[name] for name in sure})
    except InputError:  # no joint turns back slowly enough to tell
        return found, []
    moved = more.theta - more.alone
    wider = replace(estimate, sandwich=estimate.sandwich + np.outer(moved, moved))
    joints = dict.fromkeys(name.rpartition(".")[0] for name in sure)
    message = f"dry friction of {', '.join(joints)} has another shape than the model's, beyond doubt: intervals allow for it"
    return found._replace(estimate=wider), [Finding("found", "shape", message)]


def shape_columns(base: Base, theta: np.ndarray, signals: Signals) -> dict[str, np.ndarray]:
    """Return the effect (N, nv), N m, on the torques, of the power p and of the logarithm of the width w of each joint's step; and
    of the logarithm of the speed of its Stribeck curve, and of a normal distribution's curve instead."""
    found, constants, asked = {}, dict(zip(base.names, theta)), base.parameter_set.asked
    for j, (joint, w) in enumerate(zip(base.parameter_set.robot.joint_names, base.parameter_set.widths)):
        name = f"{joint}.coulomb"
        if w == 0 or name not in constants:
            continue
        v = signals.qd[:, j]
        size = np.where(v < 0, constants.get(name + OTHER_WAY, constants[name]), constants[name])
        columns = {part: size * slope for part, slope in zip("pw", step_slopes(v, w))}
        if (speed := stribeck_of(asked, joint)) and (rise := constants.get(f"{joint}.stribeck")):
            x, y = v / speed, rise * smooth_step(v, w)
            columns |= {"speed": y * 2 * x**2 * stribeck_part(x) ** 2, "fall": y * (2 ** -(x**2) - stribeck_part(x))}
        for part, torque in columns.items():
            found[f"{joint}.{part}"] = torque[:, None] * np.eye(signals.qd.shape[1])[j]
    return {name: column for name, column in found.items() if column.any()}


def step_slopes(v: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of the smoothed step at speeds v (N,) with respect to its power and to the logarithm of its width."""
    step, u = smooth_step(v, width), np.maximum(np.abs(v) / width, 1e-300)
    rest = 1 / (1 + u**POWER)  # of the step, which is 1 - rest to the power 1 / p
    return step * (-np.log(rest) / POWER**2 - (1 - rest) * np.log(u) / POWER), -step * rest
