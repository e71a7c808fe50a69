"""Joint forces that drive a simulation: none, constant ones, a table over time, a function of the state, a controller."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.compile.kinds import guest_refused, library_of
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.robot import Robot

Law = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
"""(t, q, qd) -> tau (..., nv)."""

ROUNDING = 1e-9  # fraction of a period within which a time counts as that of a sample


class Torque:
    """Joint forces as a law, kept within the limits of the drives.

    Attributes:
        law: joint forces as a function of time and state, before saturation.
        period: of a sampled controller (one with an attribute of this name), s; otherwise None.
        is_held: True if within a step they do not depend on time or state.
        is_constant: True if they never do.
    """

    def __init__(self, robot: Robot, given: Any, times: np.ndarray, batch: tuple[int, ...], saturate: bool) -> None:
        self.nv, self.times = robot.nv, times
        self.law, self.period = as_law(robot.nv, given, times, batch), getattr(given, "period", None)
        if self.period is not None:
            self.law = Sampled(self.law, self.period)
        self.limits = TorqueLimits(robot) if saturate else None
        if hasattr(given, "samples"):  # a law that samples some of its parts itself
            self.period = given.samples
        self.is_held = isinstance(self.law, (Constant, Table, Sampled))
        self.is_constant = isinstance(self.law, Constant) and (self.limits is None or not self.limits.active)

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Announce the beginning of a step; steps come in the order of time."""
        if hasattr(self.law, "begin"):
            self.law.begin(t, q, qd)  # type: ignore[attr-defined]

    def next_jump(self, t: float) -> float:
        """Return the time of the next jump of the joint forces, s."""
        return self.law.next_jump(t) if hasattr(self.law, "next_jump") else np.inf  # type: ignore[attr-defined]

    def jumps(self, start: float, end: float) -> np.ndarray | None:
        """Return the times between which the joint forces are constant; None if they follow time or state continuously."""
        if isinstance(self.law, Sampled):
            first, last = self.law.sample_at(start) + 1, math.ceil(end / self.law.period)
            return np.arange(first, last) * self.law.period
        if self.is_constant:
            return np.zeros(0)
        return self.times[(self.times > start) & (self.times < end)] if isinstance(self.law, Table) else None

    def ahead(self, times: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the joint forces (n, nv) in the first n of the steps between these times, for the steps in which they are
        known."""
        tau, n = self(times[0], q, qd), len(times) - 1
        if self.limits is not None and self.limits.columns:  # these depend on the speed
            n = 1
        elif isinstance(self.law, Sampled):
            n = int((self.law.samples_at(times[:-1]) == self.law.sample_at(times[0])).sum())
        elif isinstance(self.law, Table):
            rows = self.law.at(times[:-1])
            return rows if self.limits is None else self.limits(rows, qd)
        return np.broadcast_to(tau, (n, self.nv))

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = as_real(self.law(t, read_only(q), read_only(qd)), f"torque at t = {t:g} s")
        if tau.shape[-1:] != (self.nv,) or not np.isfinite(tau).all():
            what = f"shape {tau.shape}" if tau.shape[-1:] != (self.nv,) else "a value that is not finite"
            raise InputError(f"torque gave {what} at t = {t:g} s: (..., {self.nv}) finite numbers are needed")
        return tau if self.limits is None else self.limits(tau, qd)


class Constant:
    """Joint forces that never change."""

    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


class Table:
    """Joint forces as one row for each time, held until the next time."""

    def __init__(self, times: np.ndarray, rows: np.ndarray) -> None:
        self.times, self.rows, self.tau = times, rows, rows[0]

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        self.tau = self.at(t)

    def at(self, t: Any) -> np.ndarray:
        """Return the row of a time, or of each of several."""
        return self.rows[np.maximum(np.searchsorted(self.times, t, side="right") - 1, 0)]

    def next_jump(self, t: float) -> float:
        later = self.times[self.times > t]
        return float(later[0]) if len(later) else np.inf

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


class Sampled:
    """A law that is called once every period, and whose result is held in between."""

    def __init__(self, law: Law, period: float) -> None:
        if not isinstance(period, (int, float, np.number)) or not 0 < period < np.inf:
            raise InputError(f"the period of a controller is a positive number of seconds, got {period!r}")
        self.law, self.period, self.sample, self.tau = law, float(period), None, np.zeros(0)

    def sample_at(self, t: float) -> int:
        return math.floor(t / self.period + ROUNDING)

    def samples_at(self, times: np.ndarray) -> np.ndarray:
        return np.floor(times / self.period + ROUNDING)

    def next_jump(self, t: float) -> float:
        return (self.sample_at(t) + 1) * self.period

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Begin a step, and call the law if a new period has begun."""
        if self.sample_at(t) != self.sample:
            self.sample, self.tau = self.sample_at(t), as_real(self.law(t, read_only(q), read_only(qd)), f"torque at t = {t:g} s")

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


def as_real(value: Any, what: str) -> np.ndarray:
    """Return the array of the real numbers that a caller gave. Raises InputError: text, complex numbers, rows of different lengths
    and the like."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        if library_of(value):
            raise guest_refused(what, value) from None
        raise InputError(f"{what} is not an array: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{what} is {value!r}: real numbers are needed, not {array.dtype}")
    return array.astype(float, copy=False)


def read_only(x: np.ndarray) -> np.ndarray:
    """Return a read-only view for a caller's function: a change in place would change the motion."""
    x = x.view()
    x.flags.writeable = False
    return x


def as_law(nv: int, given: Any, times: np.ndarray, batch: tuple[int, ...], name: str = "torque") -> Law:
    """Return the torque that a user gave, in any form, as a function of time and state; `batch`: leading dimensions of the
    states."""
    if given is None:
        return Constant(np.zeros(nv))
    if callable(given):
        return given  # type: ignore[return-value]
    if isinstance(given, str):
        raise InputError(f"{name}={given!r}: give an array, or a function (t, q, qd) -> tau")
    table = as_real(given, "torque")
    if not np.isfinite(table).all():
        raise InputError(f"{name} has a value that is not finite")
    wanted = f"{(*batch, nv)}, {(len(times), *batch, nv)} for the times, or a function"
    if table.ndim == 0 or table.shape[-1] != nv:
        raise InputError(f"{name} has shape {table.shape}: give {wanted}")
    is_table, is_batch = table.ndim > 1 and len(table) == len(times), fits(table.shape[:-1], batch)
    if is_table and is_batch and table.ndim == 2:
        raise InputError(f"{name} has shape {table.shape}, for {batch} motions or for as many times? Give {wanted}")
    if not is_batch and not (is_table and fits(table.shape[1:-1], batch)):
        raise InputError(f"{name} has shape {table.shape}: give {wanted}")
    return Constant(table) if is_batch else Table(times, table)


def fits(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """True if leading dimensions broadcast to those of the states."""
    try:
        return np.broadcast_shapes(shape, batch) == batch
    except ValueError:
        return False


class TorqueLimits:
    """Effort limits of the joints and torque-speed lines of the motors; `active` is False if there are none.

    A line belongs to a motor: with motor speeds `N qd` and `tau = N^T motor torques`, the motor torques are limited.
    """

    def __init__(self, robot: Robot) -> None:
        self.effort = robot.limits.effort
        lines = [*own_lines(robot), *coupled_lines(robot)]
        self.columns = [c for line in lines for c in line.columns]
        self.turns = np.zeros((len(self.columns), len(self.columns)))
        at = 0
        for line in lines:
            block = slice(at, at := at + len(line.columns))
            self.turns[block, block] = line.turns
        self.stall, self.speed = (np.array([x[k] for line in lines for x in line.stall_and_speed]) for k in (0, 1))
        self.active = bool(lines) or bool(np.isfinite(self.effort).any())

    def __call__(self, tau: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the joint forces within the limits at this speed."""
        if self.columns:
            N, part = self.turns, qd[..., self.columns] @ self.turns.T / self.speed
            motors = np.linalg.solve(N.T, tau[..., self.columns, None])[..., 0]
            upper = np.maximum(self.stall * (1 - part), 0.0)  # the line falls from stall to zero at the no-load speed
            lower = np.minimum(-self.stall * (1 + part), 0.0)
            held = np.clip(motors, lower, upper)
            tau = np.broadcast_to(tau, (*held.shape[:-1], tau.shape[-1])).copy()
            tau[..., self.columns] = held @ N
        return np.clip(tau, -self.effort, self.effort)


class Lines(NamedTuple):
    """Torque-speed lines of motors that share columns of qd: each motor's (stall torque, no-load speed), inf if it has none."""

    columns: list[int]
    turns: np.ndarray
    stall_and_speed: list[tuple[float, float]]


NO_LINE = (np.inf, np.inf)


def own_lines(robot: Robot) -> list[Lines]:
    """Return the lines of motors that drive one joint each; that of an elastic joint turns with its own coordinate."""
    columns = {c.name: c.v.start for c in robot.model.mechanism.coordinates}
    found = []
    for name, drive in robot.drives.items():
        driven = name if drive.series_stiffness is None else f"{name}.motor"
        if drive.torque_speed and driven in columns:
            found.append(Lines([columns[driven]], np.array([[float(drive.gear_ratio)]]), [drive.torque_speed]))
    return found


def coupled_lines(robot: Robot) -> list[Lines]:
    """Return the lines of coupled motors. Raises InputError: their matrix does not determine the motor torques."""
    columns = {c.name: c.v.start for c in robot.model.mechanism.coordinates}
    found = []
    for x in robot.model.transmissions:
        lines = [drive.torque_speed if drive and drive.torque_speed else NO_LINE for drive in x.drives]
        if any(line is not NO_LINE for line in lines):
            N = np.array(x.matrix, dtype=float)
            if N.shape[0] != N.shape[1] or np.linalg.matrix_rank(N) < len(N):
                raise InputError(
                    f"motors {', '.join(x.motors)} have torque-speed lines, but their matrix does not say how forces are shared: "
                    "it must be square and invertible (or simulate with saturate=False)"
                )
            found.append(Lines([columns[name] for name in x.joints], N, lines))
    return found
