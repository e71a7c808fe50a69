"""What drives a simulation: nothing, constant forces, a table over time, a function of the state, a controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.robot import Robot

Law = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
"""(t, q, qd) -> tau (..., nv)."""

ROUNDING = 1e-9  # of a period: a time this close to a sample is the sample


class Torque:
    """Joint forces as a law, held within what the drives can give.

    Attributes:
        law: the joint forces of a time and state, before saturation.
        period: of a controller that is sampled (it says so by an attribute of this name), s; otherwise None.
        is_held: within a step they do not depend on time or state.
        is_constant: they never do.
    """

    def __init__(self, robot: Robot, given: Any, times: np.ndarray, saturate: bool) -> None:
        self.nv, self.times = robot.nv, times
        self.law = as_law(robot.nv, given, times)
        if getattr(given, "period", None) is not None:
            self.law = Sampled(self.law, given.period)
        self.limits = TorqueLimits(robot) if saturate else None
        self.is_held = isinstance(self.law, (Constant, Table, Sampled))
        self.is_constant = isinstance(self.law, Constant) and (self.limits is None or not self.limits.active)

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Called where a step begins, in the order of time."""
        if isinstance(self.law, (Table, Sampled)):
            self.law.begin(t, q, qd)

    def next_jump(self, t: float) -> float:
        """When the joint forces jump next, s."""
        if isinstance(self.law, Sampled):
            return (self.law.sample_at(t) + 1) * self.law.period
        if isinstance(self.law, Table):
            later = self.times[self.times > t]
            return float(later[0]) if len(later) else np.inf
        return np.inf

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.asarray(self.law(t, q, qd), dtype=float)
        if tau.shape[-1:] != (self.nv,) or not np.isfinite(tau).all():
            what = f"shape {tau.shape}" if tau.shape[-1:] != (self.nv,) else "a value that is not finite"
            raise InputError(f"torque gave {what} at t = {t:g} s: (..., {self.nv}) finite numbers are needed")
        return tau if self.limits is None else self.limits(tau, qd)


class Constant:
    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


class Table:
    """One row for each time, held until the next."""

    def __init__(self, times: np.ndarray, rows: np.ndarray) -> None:
        self.times, self.rows, self.tau = times, rows, rows[0]

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        self.tau = self.rows[max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)]

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


class Sampled:
    """A law that is asked once every period, and held in between."""

    def __init__(self, law: Law, period: float) -> None:
        if not period > 0:
            raise InputError(f"the period of a controller is positive, got {period}")
        self.law, self.period, self.sample, self.tau = law, float(period), -1, np.zeros(0)

    def sample_at(self, t: float) -> int:
        return int(t / self.period + ROUNDING)

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """A step begins: ask the law if its time has come."""
        if self.sample_at(t) != self.sample:
            self.sample, self.tau = self.sample_at(t), np.asarray(self.law(t, q, qd), float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


def as_law(nv: int, given: Any, times: np.ndarray) -> Law:
    """What a user may give, as a function of time and state."""
    if given is None:
        return Constant(np.zeros(nv))
    if callable(given):
        return given  # type: ignore[return-value]
    table = np.asarray(given, dtype=float)
    if not np.isfinite(table).all():
        raise InputError("torque has a value that is not finite")
    if table.ndim == 0 or table.shape[-1] != nv:
        raise InputError(f"torque has shape {table.shape}: give (..., {nv}), or one row for each of the times t, or a function")
    return Table(times, table) if table.ndim > 1 and len(table) == len(times) else Constant(table)


class TorqueLimits:
    """Effort limits of the joints and torque-speed lines of the motors; `active` is False where there are none."""

    def __init__(self, robot: Robot) -> None:
        self.effort = robot.limits.effort
        self.stall, self.speed = np.full(robot.nv, np.inf), np.full(robot.nv, np.inf)
        columns = {c.name: c.v.start for c in robot.model.mechanism.coordinates}
        for name, drive in robot.drives.items():
            driven = name if drive.series_stiffness is None else f"{name}.motor"
            if drive.torque_speed and driven in columns:
                gear = abs(float(drive.gear_ratio))
                self.stall[columns[driven]] = drive.torque_speed[0] * gear
                self.speed[columns[driven]] = drive.torque_speed[1] / gear
        self.active = bool(np.isfinite(np.concatenate([self.effort, self.stall])).any())

    def __call__(self, tau: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The nearest joint forces that can be had at this speed."""
        if not self.active:
            return tau
        has_line, part = np.isfinite(self.stall), qd / self.speed  # the line falls from stall to zero at the no-load speed
        upper = np.where(has_line, np.where(has_line, self.stall, 0.0) * (1 - part), np.inf)
        lower = np.where(has_line, np.where(has_line, -self.stall, 0.0) * (1 + part), -np.inf)
        upper, lower = np.maximum(upper, 0.0), np.minimum(lower, 0.0)
        return np.clip(tau, np.maximum(lower, -self.effort), np.minimum(upper, self.effort))
