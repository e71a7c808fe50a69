"""Reference motions: each is called with a time and returns q, qd and qdd there; smooth ones also return jerk and snap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array, finite_number, positive_number
from qddot.errors import InputError, as_written


class Reference(NamedTuple):
    """The values of a reference at one time, (..., n) each; jerk and snap are the third and fourth derivative, or None.

    >>> want = qddot.control.Cubic([0, 0], [1, 2], duration=2.0)(1.0)  # halfway
    >>> want.q, want.qd, want.qdd
    (array([0.5, 1. ]), array([0.75, 1.5 ]), array([0., 0.]))
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    jerk: np.ndarray | None = None
    snap: np.ndarray | None = None


Follow = Callable[[float], Iterable[Any]]
"""A function of t that returns a `Reference`, or the arrays of one in that order."""


class Hold:
    """A constant position.

    Args:
        q: position (..., n).
        nv: number of velocities, if it is not n, as for spherical and free joints.

    >>> qddot.control.Hold([1.0, 0.5])(7.0).q
    array([1. , 0.5])
    """

    def __init__(self, q: ArrayLike, nv: int | None = None) -> None:
        self.q = positions("q", q)
        self.zero = np.zeros(self.q.shape if nv is None else (*self.q.shape[:-1], nv))

    def __call__(self, t: float) -> Reference:
        return Reference(self.q, self.zero, self.zero, self.zero, self.zero)


class RestToRest:
    """A straight line in joint positions, along which a polynomial s(t / duration) goes from 0 to 1. `start`, `end`: positions
    (n,); `duration`: s."""

    order: ClassVar[int]  # of the highest derivative that is returned
    steepest: ClassVar[float]  # largest value of that derivative, for a duration of 1 s

    def __init__(self, start: ArrayLike, end: ArrayLike, duration: float) -> None:
        self.start, self.way = line(start, end)
        self.duration = positive_number("duration", duration)
        refuse_overflow(self.way, self.steepest, *[self.duration] * self.order)

    def __call__(self, t: float) -> Reference:
        t, T = finite_number("t", t), self.duration
        s, *rates = self.along(min(max(t / T, 0.0), 1.0), 1.0 if 0 < t < T else 0.0, T)
        return Reference(self.start + self.way * s, *(self.way * rate for rate in rates))

    def along(self, x: float, moves: float, T: float) -> tuple[float, ...]:
        """Return s at the time x T and its derivatives by t. `moves` is 0 at rest, for derivatives that do not end at zero.

        They are divided by T several times, since T**2 would overflow earlier.
        """
        raise NotImplementedError


class Cubic(RestToRest):
    """From rest to rest along a polynomial of degree three: lower top speed than `Quintic`, but the acceleration jumps at the ends.

    Args:
        start, end: positions (n,).
        duration: s.

    >>> move = qddot.control.Cubic([0, 0], [1, 2], duration=2.0)
    >>> move(1.0).qd  # fastest halfway: 3/2 of the mean speed
    array([0.75, 1.5 ])
    >>> move.along(0.5, 1.0, 2.0)  # the part of the way, and its rates
    (0.5, 0.75, 0.0)
    """

    order, steepest = 2, 6.0

    def along(self, x: float, moves: float, T: float) -> tuple[float, ...]:
        return x**2 * (3 - 2 * x), 6 * x * (1 - x) / T, moves * 6 * (1 - 2 * x) / T / T


class Quintic(RestToRest):
    """From rest to rest along a polynomial of degree five, whose acceleration begins and ends at zero.

    Args:
        start, end: positions (n,).
        duration: s.

    >>> move = qddot.control.Quintic([0], [1], duration=2.0)
    >>> move(0.0).qdd, move(2.0).qdd + 0  # starts and stops without a jolt
    (array([0.]), array([0.]))
    >>> move.along(0.5, 1.0, 2.0)[0]
    0.5
    """

    order, steepest = 4, 360.0

    def along(self, x: float, moves: float, T: float) -> tuple[float, ...]:
        s = x**3 * (10 - 15 * x + 6 * x**2)
        sd = 30 * x**2 * (1 - x) ** 2 / T
        sdd = 60 * x * (1 - x) * (1 - 2 * x) / T / T
        jerk = moves * 60 * (1 - 6 * x + 6 * x**2) / T / T / T
        snap = moves * 360 * (2 * x - 1) / T / T / T / T
        return s, sd, sdd, jerk, snap


class Trapezoidal:
    """From rest to rest as fast as limits of speed and acceleration permit, all joints together along a straight line.

    Args:
        start, end: positions (n,).
        speed, acceleration: largest magnitudes (n,) or one number for all; the speed may be inf.

    >>> move = qddot.control.Trapezoidal([0, 0], [1, 2], speed=1.0, acceleration=2.0)
    >>> move.duration, move(1.0).qd
    (2.5, array([0.5, 1. ]))
    """

    def __init__(self, start: ArrayLike, end: ArrayLike, speed: ArrayLike, acceleration: ArrayLike) -> None:
        self.start, self.way = line(start, end)
        far = abs(self.way)
        speed, acceleration = limits("speed", speed, far.shape), limits("acceleration", acceleration, far.shape)
        with np.errstate(divide="ignore"):
            self.speed = float(np.min(np.where(far > 0, speed / np.where(far > 0, far, 1), np.inf)))  # as fraction of the way, 1/s
            self.rise = float(np.min(np.where(far > 0, acceleration / np.where(far > 0, far, 1), np.inf)))
        if not far.any():
            self.speed = self.rise = 1.0
        if not math.isfinite(self.rise):
            raise InputError("no joint that moves has a finite acceleration: it would leap")
        refuse_overflow(self.way, self.rise)
        self.speed = min(self.speed, float(np.sqrt(self.rise)))  # on a short way the profile is a triangle
        self.ramp = self.speed / self.rise
        self.duration = 1 / self.speed + self.ramp

    def __call__(self, t: float) -> Reference:
        t = min(max(t, 0.0), self.duration)
        v, a, ramp = self.speed, self.rise, self.ramp
        if t < ramp:
            s, sd, sdd = a * t * t / 2, a * t, a
        elif t <= self.duration - ramp:
            s, sd, sdd = v * (t - ramp / 2), v, 0.0
        else:
            left = self.duration - t
            s, sd, sdd = 1 - a * left * left / 2, a * left, -a if left > 0 else 0.0
        return Reference(self.start + self.way * s, self.way * sd, self.way * sdd)


@dataclass(frozen=True)
class Followed:
    """A user's reference, with its values converted to arrays."""

    given: Follow

    def __call__(self, t: float) -> Reference:
        return Reference(*(None if x is None else np.asarray(x, float) for x in self.given(t)))  # type: ignore[arg-type]


def followed(reference: Follow, nq: int, nv: int, smooth: bool = False) -> Followed:
    """Return the reference of a law, checked by calling it once at t = 0. `nq`, `nv`: numbers of positions and rates that the law
    follows; `smooth`: the law needs jerk and snap, too. Raises InputError: it does not fit."""
    if not callable(reference):
        raise InputError(f"{reference!r} is no reference: give Hold(q), Quintic(...), or a function of t")
    follow = Followed(reference)
    try:
        first = follow(0.0)
    except (TypeError, ValueError) as error:
        raise InputError(f"the reference does not give arrays q, qd, qdd, and perhaps jerk and snap, at t = 0: {error}") from error
    for name, value, n in zip(Reference._fields[: 5 if smooth else 3], first, (nq, nv, nv, nv, nv)):
        if value is None:
            raise InputError(f"the reference gives no {name}, which this law needs: Hold and Quintic give all five")
        if value.shape[-1:] != (n,):
            raise InputError(f"the reference gives {name} of shape {value.shape} at t = 0, expected (..., {n})")
    return follow


def positions(name: str, value: ArrayLike) -> np.ndarray:
    """Return positions (..., n) as an array. Raises InputError: a single number, or not finite."""
    array = finite_array(name, value)
    if array.ndim == 0:
        raise InputError(f"{name}={as_written(value)}: positions are a list, one number a joint")
    return array


def line(start: ArrayLike, end: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of a straight line, and the difference to its end."""
    first, last = positions("start", start), positions("end", end)
    if first.shape != last.shape:
        raise InputError(f"start has shape {first.shape}, end {last.shape}: they are positions of the same joints")
    return first, last - first


def refuse_overflow(way: np.ndarray, factor: float, *times: float) -> None:
    """Refuse a way so long, or times so short, that a rate overflows."""
    with np.errstate(all="ignore"):
        rate = way * factor
        for time in times:
            rate = rate / time
    if not np.isfinite(rate).all():
        raise InputError(f"the way {way.tolist()} is too long, or too fast, for float64: give positions in rad or m, times in s")


def limits(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return limits as an array. Raises InputError: not positive, or another shape."""
    array = finite_array(name, value, infinite=True)
    if not (array > 0).all():
        raise InputError(f"{name} is positive, got {as_written(value)}")
    if array.shape not in ((), (1,), shape):
        raise InputError(f"{name} has shape {array.shape}: one number, or one for each position {shape}")
    return array
