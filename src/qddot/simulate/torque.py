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


class Torque:
    """Joint forces as a law, held within what the drives can give.

    Attributes:
        law: the joint forces of a time and state, before saturation.
        period: of a controller that is sampled (it says so by an attribute of this name), s; otherwise None.
        is_held: within a step they do not depend on the state.
    """

    def __init__(self, robot: Robot, given: Any, times: np.ndarray | None, saturate: bool) -> None:
        self.robot, self.period = robot, getattr(given, "period", None)
        self.law = as_law(robot.nv, given, times)
        if self.period is not None:
            self.law = Sampled(self.law, self.period)
        self.is_held = not callable(given) or self.period is not None
        self.limits = TorqueLimits(robot) if saturate else None

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Called where a step begins, in the order of time."""
        if isinstance(self.law, Sampled):
            self.law.begin(t, q, qd)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.asarray(self.law(t, q, qd), dtype=float)
        if tau.shape[-1:] != (self.robot.nv,) or not np.isfinite(tau).all():
            what = f"shape {tau.shape}" if tau.shape[-1:] != (self.robot.nv,) else "a value that is not finite"
            raise InputError(f"torque gave {what} at t = {t:g}: {self.robot.nv} finite numbers are needed")
        return tau if self.limits is None else self.limits(tau, qd)


class Sampled:
    """A law that is asked once every period, and held in between."""

    def __init__(self, law: Law, period: float) -> None:
        if not period > 0:
            raise InputError(f"the period of a controller is positive, got {period}")
        self.law, self.period, self.sample, self.tau = law, period, -1, np.zeros(0)

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """A step begins: ask the law if its time has come."""
        sample = int(t / self.period * (1 + 1e-12) + 1e-9)
        if sample != self.sample:
            self.sample, self.tau = sample, np.asarray(self.law(t, q, qd), float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


def as_law(nv: int, given: Any, times: np.ndarray | None) -> Law:
    if given is None:
        return lambda t, q, qd: np.zeros(nv)
    if callable(given):
        return given  # type: ignore[return-value]
    table = np.asarray(given, dtype=float)
    if not np.isfinite(table).all():
        raise InputError("torque has a value that is not finite")
    if table.ndim >= 1 and table.shape[-1] == nv and (table.ndim == 1 or times is None or table.shape[0] != len(times)):
        return lambda t, q, qd: table
    if times is None or table.ndim < 2 or table.shape[-1] != nv or table.shape[0] != len(times):
        raise InputError(f"torque has shape {table.shape}: give ({nv},), or one row for each of the times t, or a function")
    return lambda t, q, qd: table[max(int(np.searchsorted(times, t + 1e-12 * abs(t), side="right")) - 1, 0)]


class TorqueLimits:
    """Effort limits of the joints and torque-speed lines of the motors; `active` is False where there are none."""

    def __init__(self, robot: Robot) -> None:
        self.effort = robot.limits.effort
        self.stall, self.speed = np.full(robot.nv, np.inf), np.full(robot.nv, np.inf)
        columns = {c.name: c.v.start for c in robot.model.mechanism.coordinates}
        for name, drive in robot.drives.items():
            if drive.torque_speed and name in columns:
                gear = abs(float(drive.gear_ratio))
                self.stall[columns[name]] = drive.torque_speed[0] * gear
                self.speed[columns[name]] = drive.torque_speed[1] / gear
        self.active = bool(np.isfinite(np.concatenate([self.effort, self.stall])).any())

    def __call__(self, tau: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The nearest joint forces that can be had at this speed."""
        if not self.active:
            return tau
        with np.errstate(invalid="ignore"):
            line = np.where(np.isfinite(self.speed), qd / self.speed, 0.0)
        upper = np.minimum(self.effort, np.where(np.isfinite(self.stall), self.stall * (1 - line), np.inf))
        lower = np.maximum(-self.effort, np.where(np.isfinite(self.stall), -self.stall * (1 + line), -np.inf))
        return np.clip(tau, np.minimum(lower, np.maximum(upper, 0)), np.maximum(upper, np.minimum(lower, 0)))
