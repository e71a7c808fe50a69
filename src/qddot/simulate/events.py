"""Events of a simulation: stick, slip and stops, and the caller's own events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from qddot.compile.repeated import MOST
from qddot.errors import InputError
from qddot.simulate.fixed_step import Ahead, State, Step
from qddot.simulate.torque import as_real, read_only

Moment = tuple[float, np.ndarray, np.ndarray]
"""t, q, qd."""

TIGHT = 1e-12  # tolerance of an event's time, as a fraction of the step


@dataclass(frozen=True)
class Event:
    """An event; `kind` is `"stick"`, `"slip"`, `"stop"` or `"release"` of a joint, or the name of the caller's function.

    >>> def upright(t, q, qd):
    ...     return q[0] - np.pi / 2
    ...
    >>> motion = qddot.load("two_link").simulate([0, 0], [9, 0], 1.0, events=upright)
    >>> motion.events[0].kind, round(motion.events[0].time, 3)
    ('upright', 0.199)
    """

    time: float
    kind: str
    joint: str = ""


@dataclass(frozen=True)
class Watch:
    """A function of (t, q, qd) whose zero crossings are events. As in SciPy, it may have attributes `terminal` (end the simulation)
    and `direction` (1: only upward, -1: only downward)."""

    name: str
    value: Callable[[float, np.ndarray, np.ndarray], float]
    terminal: bool
    direction: float

    def crosses(self, before: float, after: float) -> bool:
        upward = before < 0 <= after and self.direction >= 0
        return upward or (before > 0 >= after and self.direction <= 0)


def as_watches(events: Any, batch: tuple[int, ...]) -> list[Watch]:
    """Return the caller's events, one function or several, as a list."""
    several = isinstance(events, Iterable) and getattr(events, "ndim", 1) > 0
    given: list[Any] = list(events) if several else [events] if events is not None else []
    for f in given:
        if not callable(f):
            raise InputError(f"events={f!r} is not a function of (t, q, qd)")
    if given and batch:
        raise InputError(f"events belong to one motion, q0 has a batch {batch}: simulate the motions one by one")
    return [as_watch(f) for f in given]


def as_watch(f: Callable) -> Watch:
    """Return a caller's function as a `Watch` that checks its results."""
    name = getattr(f, "__name__", type(f).__name__)

    def value(t: float, q: np.ndarray, qd: np.ndarray) -> float:
        found = as_real(f(t, read_only(q), read_only(qd)), f"event {name!r} at t = {t:g} s")
        if found.size != 1 or not np.isfinite(found).all():
            raise InputError(f"event {name!r} gave {found} at t = {t:g} s: one finite number is needed")
        return float(found.reshape(()))

    return Watch(name, value, bool(getattr(f, "terminal", False)), float(getattr(f, "direction", 0)))


def march(
    step: Step,
    q: np.ndarray,
    qd: np.ndarray,
    grid: np.ndarray,
    wanted: np.ndarray,
    watches: list[Watch],
    found: list[Event],
    ahead: Ahead | None = None,
) -> Iterator[Moment]:
    """Yield the states at the `wanted` times of the grid, with one step between neighbours; events are added to `found`.

    `ahead` takes many steps of one motion at once if there are no watches.
    """
    yield float(grid[0]), q, qd
    values = [w.value(grid[0], q, qd) for w in watches]
    ahead = ahead if q.ndim == 1 and not watches else None
    reach, k, times, is_wanted = MOST, 0, grid.tolist(), wanted.tolist()
    while k + 1 < len(times):
        if ahead is not None:
            qs, qds = ahead(grid[k : k + reach + 1], q, qd)
            reach = min(2 * len(qs) + 1, MOST)  # after a doubtful step, the next ones are often doubtful, too
            for i, state in enumerate(zip(qs, qds), k + 1):
                if is_wanted[i]:
                    yield times[i], *state
            if len(qs):
                k, q, qd = k + len(qs), qs[-1].copy(), qds[-1].copy()
                continue
        t, end = times[k], times[k + 1]
        start, (q, qd), k = (q, qd), step(t, q, qd, end - t), k + 1
        if watches:
            after = [w.value(end, q, qd) for w in watches]
            crossed = [(locate(w, step, t, start, end - t), w) for w, a, b in zip(watches, values, after) if w.crosses(a, b)]
            for moment, w in sorted(crossed, key=lambda x: x[0][0]):
                found.append(Event(moment[0], w.name))
                if w.terminal:
                    yield moment
                    return
            values = after
        if is_wanted[k]:
            yield end, q, qd


def locate(watch: Watch, step: Step, t: float, start: State, h: float) -> Moment:
    """Locate an event within a step, by trying shorter steps; return the time and the state there."""
    from scipy.optimize import brentq

    part = lambda x: (t + x, *(step(t, *start, x) if x > 0 else start))  # noqa: E731
    when = brentq(lambda x: watch.value(*part(x)), 0.0, h, xtol=TIGHT * h)
    return part(float(when))  # type: ignore[return-value]
