"""Units of a file's numbers: by the names of columns, by options, or by the motion itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from qddot.errors import InputError
from qddot.logs.table import Finding
from qddot.thresholds import (
    FAR_BEYOND_LIMITS,
    FASTEST_TIMES,
    LARGEST_ANGLE,
    POSSIBLE_RATES,
    SAME_UNIT,
    SPEED_PARTS,
    VELOCITY_MISFIT,
)

TimeUnit = Literal["s", "ms", "us", "ns"]
SCALE = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
DEGREE, TURN_A_MINUTE = np.pi / 180, 2 * np.pi / 60


@dataclass(frozen=True)
class Unit:
    """A unit: `value * scale + zero` is in SI units, of a temperature in degrees C. `kind` is `current` or `share` (of a rated
    torque) if it is no torque."""

    name: str
    scale: float
    kind: str = ""
    zero: float = 0.0


def spelled(unit: Unit, *spellings: str) -> dict[str, Unit]:
    """Return the unit under each of its spellings."""
    return dict.fromkeys(spellings, unit)


TIME = (
    spelled(Unit("s", 1.0), "s", "sec", "secs", "second", "seconds")
    | spelled(Unit("ms", 1e-3), "ms", "msec", "msecs", "millis", "millisecond", "milliseconds")
    | spelled(Unit("us", 1e-6), "us", "µs", "μs", "usec", "usecs", "micros", "microsecond", "microseconds")
    | spelled(Unit("min", 60.0), "min", "minute", "minutes")
    | spelled(Unit("ns", 1e-9), "ns", "nsec", "nsecs", "nanos", "nanosec", "nanosecs", "nanosecond", "nanoseconds")
)
POSITION = (
    spelled(Unit("rad", 1.0), "rad", "rads", "radian", "radians")
    | spelled(Unit("mrad", 1e-3), "mrad")
    | spelled(Unit("degrees", DEGREE), "deg", "degs", "degree", "degrees", "°", "grad", "degré", "degrés")
    | spelled(Unit("turns", 2 * np.pi), "rev", "revs", "turn", "turns", "revolutions")
    | spelled(Unit("mm", 1e-3), "mm")
    | spelled(Unit("m", 1.0), "m", "meter", "metre", "meters", "metres")
)
ANGLES = {spelling for spelling, unit in POSITION.items() if unit.name not in ("m", "mm")}
SPEED = spelled(Unit("turns a minute", TURN_A_MINUTE), "rpm", "revmin", "1min", "umin", "trmin") | spelled(
    Unit("degrees/s", DEGREE), "dps"
)
TORQUE = (
    spelled(Unit("N m", 1.0), "nm", "newtonmeter", "newtonmeters", "newtonmetre", "newtonmetres", "n")
    | spelled(Unit("mN m", 1e-3), "mnm", "nmm")
    | spelled(Unit("N cm", 1e-2), "ncm")
    | spelled(Unit("kN m", 1e3), "knm")
    | spelled(Unit("A", 1.0, "current"), "a", "amp", "amps", "ampere", "amperes")
    | spelled(Unit("mA", 1e-3, "current"), "ma", "milliamp", "milliamps")
    | spelled(Unit("% of a rated torque", 1.0, "share"), "%", "percent")
    | spelled(Unit("‰ of a rated torque", 1.0, "share"), "‰", "permille")
)
CELSIUS, KELVIN = Unit("degrees C", 1.0), Unit("K", 1.0, zero=-273.15)
TEMPERATURE = (
    spelled(CELSIUS, "degc", "celsius", "°c", "c", "deg", "degree", "degrees", "°")
    | spelled(KELVIN, "kelvin", "degk", "°k", "k")
    | spelled(Unit("degrees F", 5 / 9, zero=-160 / 9), "degf", "fahrenheit", "°f", "f")
)
UNITS = {
    "t": TIME,
    "q": POSITION,
    "qd": POSITION | SPEED,
    "qdd": POSITION,
    "tau": TORQUE,
    "current": TORQUE,
    "temperature": TEMPERATURE,
}
IN_BRACKETS_ONLY = {"s", "min", "m", "n", "a", "ma", "c", "k", "f", "°", "°c", "°k", "°f", "%", "‰"}
"""Spellings that are too short to mean a unit as a word of a name."""

UNIT_WORDS = {word for units in UNITS.values() for word in units} - IN_BRACKETS_ONLY


def unit_of(quantity: str, name: str, bracketed: str) -> Unit | None:
    """Return the unit of a quantity by the text in brackets, or by a word of the columns' name: `tau_mNm`, `vel_deg_per_s`."""
    units = UNITS[quantity]
    if bracketed:
        return units.get(plain(bracketed)) or units.get(plain(re.split(r"/|per|\*?s\^?-", bracketed.strip())[0]))
    for word in re.findall(r"[^\W\d_]+", name):
        if word == "mA" and quantity in ("tau", "current"):
            return units["ma"]
        for part in (word, *re.findall(r"[A-Z]?[a-z]+", word)):
            if part.lower() in units and part.lower() not in IN_BRACKETS_ONLY:
                return units[part.lower()]
    return None


def quantity_of(bracketed: str) -> str | None:
    """Return the quantity that a unit in brackets is plainly of: `tau` for `Nm`, `qd` for `deg/s`; None for units that other
    quantities have, too, as N and m."""
    found = plain(bracketed)
    if rate := re.fullmatch(r"(.+?)\s*/\s*s(\^?2|²)?", bracketed.strip()):
        return ("qdd" if rate[2] else "qd") if plain(rate[1]) in ANGLES else None
    for units, quantity in ((TIME, "t"), (SPEED, "qd"), (ANGLES, "q")):
        if found in units:
            return quantity
    if found not in TORQUE or found == "n" or TORQUE[found].kind == "share":
        return None
    return TORQUE[found].kind or "tau"


def is_unit(text: str) -> bool:
    """Return True if a text in brackets is a unit of a quantity of a log."""
    return bool(text.strip()) and any(unit_of(quantity, "", text) for quantity in UNITS)


def plain(text: str) -> str:
    """Return a unit's letters only: `nm`, `mnm`, `1min` for `N*m`, `mN m`, `1/min`."""
    return re.sub(r"[\s.*·⋅_/\-]", "", text).lower()


def time_scale(
    file: str, t: np.ndarray, q: np.ndarray, qd: np.ndarray | None, said: Unit | None, fastest: np.ndarray | None
) -> tuple[float, Finding]:
    """Return the unit of `t` in seconds: as named, or by comparing velocities with positions (SI), or by the length of a step.
    `fastest`: (n,), rad/s or m/s, the speed limits of the robot's joints; None if unknown."""
    if said is not None:
        return said.scale, Finding("found", "time", f"in {said.name}, as the column is named")
    if len(t) == 1:
        raise InputError(f"{file}: a single row: no step that tells the unit of time (give time_unit= or rate=)")
    step = float(np.median(np.diff(t)))
    by_motion = step_by_motion(t, q, qd)
    counts = step == 1 and bool(np.all(t == np.round(t)))
    if by_motion is not None:
        unit = min(SCALE, key=lambda u: abs(np.log(SCALE[u] * step / by_motion)))
        if abs(np.log(SCALE[unit] * step / by_motion)) < SAME_UNIT:
            return SCALE[unit], Finding(
                "assumed", "time", f"in {unit}: positions move by velocity times steps of {SCALE[unit] * step:.4g} s"
            )
        if counts:
            raise InputError(
                f"{file}: t counts samples, and positions move as if a step took {by_motion:.4g} s (give rate= or time_unit=)"
            )
    if counts:
        raise InputError(f"{file}: t counts 0, 1, 2, ...: samples or milliseconds? (give rate= in Hz, or time_unit='ms')")
    return by_step(file, t, q, step, fastest)


def by_step(file: str, t: np.ndarray, q: np.ndarray, step: float, fastest: np.ndarray | None) -> tuple[float, Finding]:
    """Return the unit of time by the length of a step; if several give possible rates, that in which joints have usual speeds.

    Units differ by factors of a thousand, the peak speeds of robots hardly more (0.03 to 30 rad/s), so speeds decide.
    """
    slowest, highest = POSSIBLE_RATES
    possible = [unit for unit, scale in SCALE.items() if slowest <= 1 / (scale * step) <= highest]
    speeds = peak_speeds(t, q)
    if fastest is not None and len(fastest) == len(speeds):
        within = [unit for unit in possible if np.all(speeds <= FASTEST_TIMES * fastest * SCALE[unit])]
        possible = within or possible
    peak = float(speeds.max(initial=0.0))
    if not possible:
        raise InputError(
            f"{file}: a step of time is {step:.4g}, which is no rate between {slowest:g} Hz and {highest:g} Hz in "
            f"{', '.join(SCALE)} (give time_unit= or rate=)"
        )
    unit = min(possible, key=lambda u: abs(np.log(peak / SCALE[u]))) if peak else possible[0]
    rate, others = 1 / (SCALE[unit] * step), [u for u in possible if u != unit]
    why = f"in {unit}: a step is {step:.4g}, so {rate:.4g} Hz and {(t[-1] - t[0]) * SCALE[unit]:.4g} s in {len(t):,} rows"
    if others:
        why += (
            f", and joints move at up to {peak / SCALE[unit]:.3g} rad/s; in {others[0]} it would be {peak / SCALE[others[0]]:.3g}"
        )
    return SCALE[unit], Finding("assumed", "time", f"{why} (time_unit= if not)")


def peak_speeds(t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the largest speed of each joint in units of `t`, over hundredths of the record, so that noise counts little."""
    lag = max(1, len(t) // SPEED_PARTS)

    elapsed = (t[lag:] - t[:-lag])[:, None]
    return (np.abs(q[lag:] - q[:-lag]) / elapsed).max(axis=0)


def step_by_motion(t: np.ndarray, q: np.ndarray, qd: np.ndarray | None) -> float | None:
    """Return the seconds per step by `q[k+2] - q[k] = 2 step qd[k+1]`; None where nothing moves or the two do not agree."""
    if qd is None or len(t) < 10:
        return None
    dq, speed = q[2:] - q[:-2], 2 * qd[1:-1]
    power = np.sum(speed * speed)
    if power == 0:
        return None
    slope = float(np.sum(dq * speed) / power)
    misfit = np.sum((dq - slope * speed) ** 2) / max(np.sum(dq * dq), 1e-300)
    return slope if slope > 0 and misfit < VELOCITY_MISFIT else None


def velocity_scale(t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> tuple[float, Finding] | None:
    """Return the factor for velocities that are in another unit than the positions. Arguments are in SI units as far as known.

    None if they agree, or if no usual unit explains the difference.
    """
    by_motion = step_by_motion(t, q, qd)
    if by_motion is None:
        return None
    ratio = by_motion / float(np.median(np.diff(t)))
    known = {
        "degrees/s, positions in radians": DEGREE,
        "rad/s, positions in degrees": 1 / DEGREE,
        "turns a minute, positions in radians": TURN_A_MINUTE,
        "turns a minute, positions in degrees": TURN_A_MINUTE / DEGREE,
    }
    unit = min(known, key=lambda u: abs(np.log(known[u] / ratio)))
    if abs(np.log(known[unit] / ratio)) > SAME_UNIT:
        return None
    return known[unit], Finding("assumed", "velocity", f"in {unit}: positions move by {ratio:.4g} times velocity times time")


def angle_scale(q: np.ndarray, degrees: bool | None, limits: tuple[np.ndarray, np.ndarray] | None) -> tuple[float, Finding]:
    """Return the unit of `q` (joint coordinates) in radians: as told, or by the range of the angles."""
    if degrees is not None:
        unit = "degrees" if degrees else "radians"
        return (DEGREE if degrees else 1.0), Finding("found", "angles", f"in {unit}, as told")
    reach = np.abs(q).max(axis=0)
    allowed = np.full(q.shape[1], LARGEST_ANGLE)
    if limits is not None and len(limits[0]) == q.shape[1]:
        bound = np.maximum(np.abs(limits[0]), np.abs(limits[1]))
        allowed = np.where(np.isfinite(bound), np.clip(FAR_BEYOND_LIMITS * bound, LARGEST_ANGLE / 2, LARGEST_ANGLE), LARGEST_ANGLE)
    beyond = np.flatnonzero(reach > allowed)
    if len(beyond):
        i = beyond[np.argmax(reach[beyond] / allowed[beyond])]
        return DEGREE, Finding("assumed", "angles", f"in degrees: joint {i + 1} goes to {reach[i]:.4g} (degrees=False if radians)")
    return 1.0, Finding("assumed", "angles", f"in radians: no joint goes beyond {reach.max():.4g} (degrees=True if degrees)")
