"""From columns as written to joint coordinates in SI units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike

from qddot.errors import InputError
from qddot.identify.layout import Choice, Layout, layout_of
from qddot.identify.table import Finding, Table, bad_row
from qddot.identify.units import TimeUnit, angle_scale, time_scale

if TYPE_CHECKING:
    from qddot.robot import Robot


class Options(TypedDict, total=False):
    """What a file does not say about itself."""

    columns: Mapping[str, Choice]
    """quantity (`t`, `q`, `qd`, `qdd`, `tau`, `current`) -> a name that numbered columns or a matrix share, or names, or numbers"""
    rate: float
    """samples a second, where time is missing or counts samples"""
    time_unit: TimeUnit
    """of the time column"""
    degrees: bool
    """whether angles are in degrees"""
    motor_matrix: ArrayLike
    """N (n, n): the file's positions are those of motors, N q (offsets apart)"""
    offsets: ArrayLike
    """(n,), rad: added to joint positions"""
    torque_matrix: ArrayLike
    """(n, n): joint torques from the file's; by default N^T, which keeps power"""
    gains: ArrayLike
    """(n,): torque a unit of the file's torque or current column"""
    repair: bool
    """leave out rows that are no samples, and report them, instead of refusing the file"""


class Reading:
    """What was decided of a log from its first rows, applied to all of them."""

    def __init__(self, robot: Robot | None, options: Options) -> None:
        unknown = set(options) - set(Options.__annotations__)
        if unknown:
            raise TypeError(f"Log.load() has no option {min(unknown)!r}")
        self.robot, self.options = robot, options
        self.repair = options.get("repair", False)
        self.layout: Layout | None = None
        self.start: float | None = None
        self.last: float | None = None
        self.epoch = 0
        self.joint_names: tuple[str, ...] = ()
        self.time = 1.0
        self.to_joint = self.to_torque = self.offsets = np.empty(0)

    def new_file(self) -> None:
        """The clock of the next file starts anew."""
        self.start = self.last = None

    def converted(self, table: Table) -> tuple[dict[str, np.ndarray], list[Finding]]:
        """Arrays t (N,), q, qd, qdd, tau (N, n) of a table, and what was found on the way."""
        findings: list[Finding] = []
        new = self.layout is None
        if new:
            self._lay_out(table, findings)
        raw = self._raw(table)
        raw = self._sound(table, raw, findings)
        if new:
            self._decide(table, raw, findings)
        if self.start is None:
            self.start = float(raw["t"][0])
            if self.start:
                findings.append(Finding("found", "time", f"{table.file}: begins at {self.start:.10g}, which becomes 0"))
        arrays = {"t": (raw.pop("t") - self.start) * self.time}
        for name, value in raw.items():
            arrays[name] = mapped(value, self.to_torque if name == "tau" else self.to_joint)
        arrays["q"] = arrays["q"] + self.offsets
        return arrays, findings

    def _lay_out(self, table: Table, findings: list[Finding]) -> None:
        names = self.robot.joint_names if self.robot else None
        self.layout = layout_of(table, self.options.get("columns"), names)
        findings += self.layout.findings
        if table.texts:
            findings.append(Finding("found", "columns", f"text, left out: {', '.join(table.texts)}"))
        labels = self.layout.groups["q"].labels
        self.joint_names = names or tuple(f"joint{label}" if label.isdigit() else label for label in labels)

    def _raw(self, table: Table) -> dict[str, np.ndarray]:
        """The columns as written; sample counts where there is no time."""
        assert self.layout is not None
        raw = {name: self.layout.take(table, name) for name in self.layout.groups}
        if "current" in raw:
            raw["tau"] = raw.pop("current")
        if "t" in raw:
            t = raw["t"][:, 0]
            if t.dtype.kind in "iu":  # nanoseconds since 1970 do not fit a double
                self.epoch = int(t[0]) if self.start is None else self.epoch
                raw["t"] = t.astype(np.int64) - self.epoch
            else:
                raw["t"] = t
        elif "rate" in self.options:
            raw["t"] = table.row - 1 + np.arange(len(table), dtype=float)
        else:
            raise InputError(f"{table.file}: no time column (give rate= in Hz, or columns={{'t': ...}})")
        return {name: np.asarray(value, dtype=float) for name, value in raw.items()}

    def _sound(self, table: Table, raw: dict[str, np.ndarray], findings: list[Finding]) -> dict[str, np.ndarray]:
        """Refuses rows that are no samples; with `repair` leaves them out and says so."""
        t = raw["t"]
        faults = {row - table.row: why for row, why in table.faults.items()}
        for name, value in raw.items():
            for i in np.flatnonzero(~np.isfinite(value).reshape(len(t), -1).all(axis=1)):
                faults.setdefault(int(i), self._which(table, name, int(i)))
        latest = -np.inf if self.last is None else self.last
        ahead = np.concatenate([[latest], np.maximum.accumulate(np.where(np.isfinite(t), t, -np.inf))[:-1]]).clip(latest)
        for i in np.flatnonzero(t <= ahead):
            faults.setdefault(int(i), f"t not increasing: {t[i]:.10g} after {ahead[i]:.10g}")
        if not faults:
            self.last = float(t[-1])
            return raw
        first = min(faults)
        if not self.repair:
            more = f"; {len(faults) - 1} more such rows" if len(faults) > 1 else ""
            raise bad_row(table.file, table.row + first, faults[first] + more, "repair=True leaves such rows out")
        kept = np.setdiff1d(np.arange(len(t)), sorted(faults))
        if len(kept) < 2:
            raise InputError(f"{table.file}: {len(faults)} of {len(t)} rows are no samples: nothing is left")
        told = "; ".join(f"row {table.row + i}: {faults[i]}" for i in sorted(faults)[:5])
        findings.append(Finding("repaired", "rows", f"{table.file}: {len(faults)} of {len(t)} rows left out: {told}"))
        self.last = float(t[kept[-1]])
        return {name: value[kept] for name, value in raw.items()}

    def _which(self, table: Table, quantity: str, row: int) -> str:
        """`q2 is nan`: the column and value that is no number."""
        assert self.layout is not None
        group = self.layout.groups["current" if quantity == "tau" and "tau" not in self.layout.groups else quantity]
        for name, at in group.members:
            value = table.columns[name][row] if at is None else table.columns[name][row, at]
            if not np.isfinite(value):
                return f"{name if at is None else f'{name}[{at}]'} is {value}"
        raise AssertionError("a row is faulty for a column")

    def _decide(self, table: Table, raw: dict[str, np.ndarray], findings: list[Finding]) -> None:
        """Units, matrices and gains, once."""
        layout, n = self.layout, raw["q"].shape[1]
        assert layout is not None
        said: TimeUnit | None = self.options.get("time_unit")
        if said is None and "t" in layout.groups:
            said = next((unit for unit in get_args(TimeUnit) if unit != "s" and layout.says("t", {unit})), None)
        self.time, found = time_scale(table.file, raw["t"], raw["q"], raw.get("qd"), said, self.options.get("rate"))
        findings.append(found)
        motors = matrix(self.options.get("motor_matrix"), n, "motor_matrix")
        inverse = np.linalg.inv(motors)
        limits = (self.robot.limits.lower, self.robot.limits.upper) if self.robot else None
        named = layout.says("q", {"deg", "degree", "degrees"})
        scale, found = angle_scale(raw["q"] @ inverse.T, self.options.get("degrees"), named, limits)
        findings.append(found)
        angular = self._angular(n)
        self.to_joint = np.where(angular, scale, 1.0)[:, None] * inverse
        self.offsets = vector(self.options.get("offsets"), n, "offsets", 0.0)
        torques = matrix(self.options.get("torque_matrix", motors.T), n, "torque_matrix")
        self.to_torque = torques * vector(self.options.get("gains"), n, "gains", 1.0)
        if "motor_matrix" in self.options and "torque_matrix" not in self.options:
            findings.append(
                Finding("assumed", "torque", "joint torques are N^T times the motors', which keeps power (torque_matrix=)")
            )
        if "tau" not in layout.groups and "gains" not in self.options:
            findings.append(
                Finding("warning", "torque", f"tau is a current, {layout.groups['current']}, without gains: not in N m")
            )

    def _angular(self, n: int) -> np.ndarray:
        """Which joints turn; sliders are in metres whatever the angles are in."""
        if self.robot is None:
            return np.ones(n, dtype=bool)
        kinds = {joint.name: joint.kind for joint in self.robot.model.joints}
        return np.array([kinds.get(name) != "prismatic" for name in self.joint_names])


def mapped(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Each row of x (N, n) under a matrix (n, n)."""
    diagonal = np.diag(by)
    return x * diagonal if np.array_equal(by, np.diag(diagonal)) else np.einsum("ij,kj->ki", by, x)


def matrix(given: ArrayLike | None, n: int, name: str) -> np.ndarray:
    """An (n, n) matrix that can be inverted; by default the identity."""
    made = np.eye(n) if given is None else np.asarray(given, dtype=float)
    if made.shape != (n, n) or not np.isfinite(made).all() or np.linalg.cond(made) > 1e12:
        raise InputError(f"{name} of shape {made.shape}: an invertible ({n}, {n}) matrix is wanted, one row a joint of the log")
    return made


def vector(given: ArrayLike | None, n: int, name: str, default: float) -> np.ndarray:
    """n numbers."""
    made = np.full(n, default) if given is None else np.asarray(given, dtype=float)
    if made.shape != (n,) or not np.isfinite(made).all():
        raise InputError(f"{name} of shape {made.shape}: {n} numbers are wanted, one a joint of the log")
    return made
