"""Seconds and radians: what the file's numbers mean, decided once and said."""

from __future__ import annotations

from typing import Literal

import numpy as np

from qddot.errors import InputError
from qddot.identify.table import Finding

TimeUnit = Literal["s", "ms", "us", "ns"]
SCALE = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LARGEST_ANGLE = 4 * np.pi  # beyond two turns a joint's angle is more likely in degrees


def time_scale(
    file: str, t: np.ndarray, q: np.ndarray, qd: np.ndarray | None, said: TimeUnit | None, rate: float | None
) -> tuple[float, Finding]:
    """Seconds a unit of `t`: as told, or by what velocities and positions say, or by the length of a step."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    if rate is not None:
        if not rate > 0:
            raise InputError(f"rate={rate}: samples a second, above zero")
        return 1 / (rate * step), Finding("found", "time", f"rate={rate:g} Hz as told; a step of the file is {step:g}")
    if said is not None:
        if said not in SCALE:
            raise InputError(f"time_unit={said!r}: one of {', '.join(SCALE)} (a sample count needs rate=)")
        return SCALE[said], Finding("found", "time", f"in {said}, as told")
    by_motion = step_by_motion(t, q, qd)
    if by_motion is not None:
        unit = min(SCALE, key=lambda u: abs(np.log(SCALE[u] * step / by_motion)))
        if abs(np.log(SCALE[unit] * step / by_motion)) < 0.1:
            return SCALE[unit], Finding(
                "assumed", "time", f"in {unit}: positions move by velocity times steps of {SCALE[unit] * step:.4g} s"
            )
        if step == 1 and np.all(t == np.round(t)):
            raise InputError(
                f"{file}: t counts samples, and positions move as if a step took {by_motion:.4g} s (give rate= or time_unit=)"
            )
    if step == 1 and np.all(t == np.round(t)):
        raise InputError(f"{file}: t counts 0, 1, 2, ...: samples or milliseconds? (give rate= in Hz, or time_unit='ms')")
    unit = "s" if step < 0.5 else "ms" if step < 200 else "us" if step < 2e5 else "ns"
    return SCALE[unit], Finding("assumed", "time", f"in {unit}: a step is {step:.4g}, so {1 / (SCALE[unit] * step):.4g} Hz")


def step_by_motion(t: np.ndarray, q: np.ndarray, qd: np.ndarray | None) -> float | None:
    """Seconds a step, from `q[k+2] - q[k] = 2 step qd[k+1]`; None where nothing moves or they do not agree."""
    if qd is None or len(t) < 10:
        return None
    dq, speed = q[2:] - q[:-2], 2 * qd[1:-1]
    power = np.sum(speed * speed)
    if power == 0:
        return None
    slope = float(np.sum(dq * speed) / power)
    misfit = np.sum((dq - slope * speed) ** 2) / max(np.sum(dq * dq), 1e-300)
    return slope if slope > 0 and misfit < 0.5 else None


def angle_scale(
    q: np.ndarray, degrees: bool | None, named_degrees: bool, limits: tuple[np.ndarray, np.ndarray] | None
) -> tuple[float, Finding]:
    """Radians a unit of `q` (in joint coordinates): as told, as the columns are named, or as far as they go."""
    if degrees is not None:
        unit = "degrees" if degrees else "radians"
        return (np.pi / 180 if degrees else 1.0), Finding("found", "angles", f"in {unit}, as told")
    if named_degrees:
        return np.pi / 180, Finding("found", "angles", "in degrees, as the columns are named")
    reach = np.abs(q).max(axis=0)
    allowed = np.full(q.shape[1], LARGEST_ANGLE)
    if limits is not None and len(limits[0]) == q.shape[1]:
        bound = np.maximum(np.abs(limits[0]), np.abs(limits[1]))
        allowed = np.where(np.isfinite(bound), np.clip(3 * bound, LARGEST_ANGLE / 2, LARGEST_ANGLE), LARGEST_ANGLE)
    beyond = np.flatnonzero(reach > allowed)
    if len(beyond):
        i = beyond[np.argmax(reach[beyond] / allowed[beyond])]
        return np.pi / 180, Finding(
            "assumed", "angles", f"in degrees: joint {i + 1} goes to {reach[i]:.4g} (degrees=False if radians)"
        )
    return 1.0, Finding("assumed", "angles", f"in radians: no joint goes beyond {reach.max():.4g} (degrees=True if degrees)")
