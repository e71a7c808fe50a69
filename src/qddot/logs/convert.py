"""Conversion of a file's columns to joint coordinates in SI units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from qddot.errors import InputError
from qddot.logs.column_names import shown
from qddot.logs.groups import Group
from qddot.logs.layout import Choice, Layout, layout_of
from qddot.logs.table import Finding, Hints, Table, bad_row
from qddot.logs.units import CELSIUS, KELVIN, SCALE, TIME, TimeUnit, angle_scale, time_scale, velocity_scale
from qddot.thresholds import DOUBLE_STEPS, FEW_RUNS, HOTTEST, JITTER, PLAIN_STEPS, ROUNDED_STAMPS

if TYPE_CHECKING:
    from qddot.robot import Robot

HALF_A_DAY = 43200.0  # s


class Options(TypedDict, total=False):
    """Options for reading a file: facts that the file itself does not contain."""

    columns: Mapping[str, Choice]
    """quantity (`t`, `q`, `qd`, `qdd`, `tau`, `current`, `temperature`) -> a name that numbered columns or a matrix share, or
    names, or numbers"""
    rate: float
    """samples a second, where time is missing or counts samples"""
    time_unit: TimeUnit
    """unit of the time column"""
    degrees: bool
    """true if angles are in degrees"""
    motor_matrix: ArrayLike
    """N (n, n): the file's positions are those of motors, N q (offsets apart)"""
    offsets: ArrayLike
    """(n,), rad: added to joint positions"""
    torque_matrix: ArrayLike
    """(n, n): joint torques from the file's; by default N^T, which keeps power"""
    gains: ArrayLike
    """(n,): N m an ampere of the file's currents; N m a unit of its torques, where their names give none"""
    topic: str
    """topic to read, of a bag with several topics of joint states"""
    repair: bool
    """leave out rows that are no samples, and report them, instead of refusing the file"""


class Reading:
    """Decisions made from the first rows of a log (columns, units, matrices), applied to all rows.

    Attributes:
        layout: which columns hold which quantity; decided first.
    """

    layout: Layout

    def __init__(self, robot: Robot | None, options: Options) -> None:
        unknown = set(options) - set(Options.__annotations__)
        if unknown:
            raise TypeError(f"Log.load() has no option {min(unknown)!r}")
        self.robot, self.options = robot, options
        if robot is not None and not hasattr(robot, "joint_names"):
            raise InputError(f"the robot is a {type(robot).__name__}: Log.load(path, robot), with a robot of qddot.load")
        joints = robot.joint_names if robot else ()
        self.hints = Hints(options.get("repair", False), options.get("topic"), joints)
        self.is_new = True
        self.start: float | None = None
        self.last: float | None = None
        self.position: np.ndarray | None = None
        self.epoch = np.empty(0)
        self.joint_names: tuple[str, ...] = ()
        self.time = 1.0
        self.offsets = np.empty(0)
        self.to_si: dict[str, np.ndarray] = {}
        self.last_temperature: np.ndarray | None = None  # as written
        self.temperature_zero = np.empty(0)

    def new_file(self) -> None:
        """Forget the state of the previous file: the next one has its own clock."""
        self.start = self.last = self.position = None

    def converted(self, table: Table) -> tuple[dict[str, np.ndarray], list[Finding]]:
        """Return the arrays t (N,), q, qd, qdd, tau, temperature (N, n) of a table in SI units, and the findings."""
        findings: list[Finding] = []
        if self.is_new:
            self._lay_out(table, findings)
        raw = self._valid_rows(table, self._as_written(table, findings), findings)
        if self.is_new:
            self._decide(table, raw, findings)
            self.is_new = False
        if self.start is None:
            self.start = float(raw["t"][0])
            if self.start:
                findings.append(Finding("found", "time", f"{table.file}: begins at {self.start:.10g}, which becomes 0"))
        t = (raw.pop("t") - self.start) * self.time
        arrays = {"t": t} | {name: mapped(value, self.to_si[name]) for name, value in raw.items()}
        arrays["q"] = self._unwound(arrays["q"], table.file, findings)
        if self.offsets.any():
            arrays["q"] = arrays["q"] + self.offsets
        if "temperature" in arrays:
            arrays["temperature"] = arrays["temperature"] + self.temperature_zero
        return arrays, findings

    def _unwound(self, q: np.ndarray, file: str, findings: list[Finding]) -> np.ndarray:
        """Return joint positions without jumps by a whole turn, as of a controller that counts from 0 to 360 degrees.

        Only joints that otherwise move by less than a quarter of a turn per sample are changed: there a jump is unambiguous.
        """
        before = q[:1] if self.position is None else self.position
        if all(np.all(np.abs(steps) < np.pi / 2) for steps in (q[0] - before, np.diff(q, axis=0))):
            self.position = q[-1:]
            return q
        unwound = np.unwrap(np.concatenate([before, q]), axis=0)
        plain = np.mean(np.abs(np.diff(unwound, axis=0)) < np.pi / 2, axis=0) > PLAIN_STEPS
        unwound = np.where(plain & self._angular(q.shape[1]), unwound[1:], q)
        self.position = unwound[-1:]
        jumps = np.sum(np.abs(np.diff(unwound - q, axis=0)) > np.pi, axis=0)
        for i in np.flatnonzero(jumps):
            message = f"{file}: {self.joint_names[i]} jumps by a turn {jumps[i]} times: counted on"
            findings.append(Finding("repaired", "angles", message))
        return unwound

    def _lay_out(self, table: Table, findings: list[Finding]) -> None:
        """Decide which columns hold which quantity, and what the joints are called."""
        names = self.robot.joint_names if self.robot else None
        self.layout = layout_of(table, self.options.get("columns"), names)
        findings += [*table.findings, *self.layout.findings]
        for why in dict.fromkeys(table.left_out.values()):
            names_left = (name for name, reason in table.left_out.items() if reason == why)
            findings.append(Finding("found", "columns", f"{why}, left out: {shown(names_left)}"))
        labels = self.layout.groups["q"].labels
        self.joint_names = names or tuple(f"joint{label}" if label.isdigit() else label for label in labels)

    def _as_written(self, table: Table, findings: list[Finding]) -> dict[str, np.ndarray]:
        """Return the columns in the file's units; with a rate given, row numbers replace a time that is missing or rounded."""
        raw = {name: self.layout.take(table, name) for name in self.layout.groups}
        if "current" in raw:
            raw["tau"] = raw.pop("current")
        if "t" in raw:
            raw["t"] = self._time(raw["t"])
        if "rate" in self.options and ("t" not in raw or repeated_share(raw["t"]) > ROUNDED_STAMPS):
            if "t" in raw:
                findings.append(Finding("assumed", "time", "stamps are rounded: rows are counted instead, at the rate told"))
            raw["t"] = table.row - 1 + np.arange(len(table), dtype=float)
        elif "t" not in raw:
            raise InputError(f"{table.file}: no time column (give rate= in Hz, or columns={{'t': ...}})")
        raw = {name: np.asarray(value, dtype=float) for name, value in raw.items()}
        if "temperature" in raw and self.last_temperature is None and not np.isfinite(raw["temperature"]).any(axis=0).all():
            findings.append(Finding("found", "columns", f"{table.file}: a temperature is NaN throughout: all are left out"))
            self.layout.groups.pop("temperature")
            del raw["temperature"]
        if "temperature" in raw:
            raw["temperature"] = self._forward_filled(raw["temperature"], table.file, findings)
        return raw

    def _forward_filled(self, T: np.ndarray, file: str, findings: list[Finding]) -> np.ndarray:
        """Replace each NaN between temperatures by the last value before it; those before the first value by that one."""
        known = np.isfinite(T)
        if not known.all():
            findings.append(Finding("repaired", "columns", f"{file}: where temperature is NaN, the last one holds"))
            before = T[np.argmax(known, axis=0), np.arange(T.shape[1])] if self.last_temperature is None else self.last_temperature
            T = np.concatenate([before[None], T])
            last = np.maximum.accumulate(np.where(np.isfinite(T), np.arange(len(T))[:, None], 0), axis=0)
            T = np.take_along_axis(T, last, axis=0)[1:]
        self.last_temperature = T[-1]
        return T

    def _time(self, t: np.ndarray) -> np.ndarray:
        """Return time (N,) from one column, or from seconds and nanoseconds; counted from the first row where it is whole numbers,
        since a double cannot hold nanoseconds since 1970."""
        if self.start is None:
            self.epoch = t[0].copy() if t.dtype.kind in "iu" or t.shape[1] > 1 else np.zeros(t.shape[1])
        t = t - self.epoch  # also in blocks with a missing time, which are floats
        units = self.layout.units("t")
        if t.shape[1] == 1:
            return t[:, 0]
        if None in units:
            raise InputError("time in several columns needs their units in the names, as in sec and nanosec (or give one column)")
        return t @ [unit.scale for unit in units if unit]

    def _valid_rows(self, table: Table, raw: dict[str, np.ndarray], findings: list[Finding]) -> dict[str, np.ndarray]:
        """Refuse rows that are no samples; with `repair`, leave them out and report them."""
        t, latest = raw["t"], -np.inf if self.last is None else self.last
        finite = all(np.isfinite(value).all() for value in raw.values())
        if finite and not table.faults and t[0] > latest and np.all(np.diff(t) > 0):
            self.last = float(t[-1])
            return raw
        faults = {row - table.row: why for row, why in table.faults.items()}
        for name, value in raw.items():
            for i in np.flatnonzero(~np.isfinite(value).reshape(len(t), -1).all(axis=1)):
                faults.setdefault(int(i), self._not_finite(table, name, int(i)))
        ahead = np.concatenate([[latest], np.maximum.accumulate(np.where(np.isfinite(t), t, -np.inf))[:-1]]).clip(latest)
        for i in np.flatnonzero(t <= ahead):
            faults.setdefault(int(i), f"t not increasing: {t[i]:.10g} after {ahead[i]:.10g}")
        first = min(faults)
        if not self.hints.repair:
            more = f"; {len(faults) - 1} more such rows" if len(faults) > 1 else ""
            fix = "repair=True leaves such rows out"
            if t[first] < ahead[first] - HALF_A_DAY and self._unit_names("t") == "s":
                fix = "times of day beyond midnight? write the date with each"
            if repeated_share(t) > ROUNDED_STAMPS:
                fix = (
                    f"{len(t)} rows from {t[0]:.10g} to {t[-1]:.10g}: stamps rounded by the writer? rate= in Hz counts rows instead"
                )
            raise bad_row(table.file, table.row + first, faults[first] + more, fix)
        kept = np.setdiff1d(np.arange(len(t)), sorted(faults))
        if len(kept) < 2:
            why = f"row {table.row + first}: {faults[first]}"
            raise InputError(f"{table.file}: {len(faults)} of {len(t)} rows are no samples ({why}): nothing is left")
        listed = "; ".join(f"row {table.row + i}: {faults[i]}" for i in sorted(faults)[:5])
        findings.append(Finding("repaired", "rows", f"{table.file}: {len(faults)} of {len(t)} rows left out: {listed}"))
        self.last = float(t[kept[-1]])
        return {name: value[kept] for name, value in raw.items()}

    def _not_finite(self, table: Table, quantity: str, row: int) -> str:
        """Return which column is not finite in a row: `q2 is nan`."""
        group = self.layout.groups["current" if quantity == "tau" and "tau" not in self.layout.groups else quantity]
        for name, at in group.members:
            value = table.columns[name][row] if at is None else table.columns[name][row, at]
            if not np.isfinite(value):
                return f"{name if at is None else f'{name}[{at}]'} is {value}"
        return f"{quantity} is not finite in SI units"

    def _decide(self, table: Table, raw: dict[str, np.ndarray], findings: list[Finding]) -> None:
        """Decide units, matrices and gains from the first rows."""
        n = raw["q"].shape[1]
        for quantity, group in self.layout.groups.items():
            if strange := strange_units(group):
                message = f"[{strange}] of {quantity} is no unit known here: taken as if nothing was said"
                findings.append(Finding("warning", "units", message))
        motors = matrix(self.options.get("motor_matrix"), n, "motor_matrix")
        self.offsets = vector(self.options.get("offsets"), n, "offsets", 0.0)
        findings += self._decide_positions(raw, np.linalg.inv(motors))
        findings += self._decide_time(table, raw)
        findings += self._decide_torques(n, motors)
        if "temperature" in raw:
            findings += self._decide_temperature(raw["temperature"])

    def _decide_positions(self, raw: dict[str, np.ndarray], inverse: np.ndarray) -> Iterator[Finding]:
        """Decide how joint positions, velocities and accelerations follow from the file's: q = N^-1 motor, each in its unit."""
        named, told = self._named_scales("q"), self.options.get("degrees")
        if told is not None or named is None:
            limits = (self.robot.limits.lower, self.robot.limits.upper) if self.robot else None
            scale, found = angle_scale(raw["q"] @ inverse.T, told, limits)
            self.to_si["q"] = np.where(self._angular(len(inverse)), scale, 1.0)[:, None] * inverse
        else:
            found = Finding("found", "angles", f"in {self._unit_names('q')}, as the columns are named")
            self.to_si["q"] = inverse * named
        yield found
        for name in {"qd", "qdd"} & set(raw):
            own = self._named_scales(name)
            self.to_si[name] = self.to_si["q"] if own is None else inverse * own

    def _decide_time(self, table: Table, raw: dict[str, np.ndarray]) -> Iterator[Finding]:
        """Decide the unit of time, and that of velocities where it is not the positions'."""
        t, q = raw["t"], mapped(raw["q"], self.to_si["q"])
        qd = mapped(raw["qd"], self.to_si["qd"]) if "qd" in raw else None
        rate, told = self.options.get("rate"), self.options.get("time_unit")
        if rate is not None:
            if not rate > 0:
                raise InputError(f"rate={rate}: samples a second, above zero")
            step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
            self.time = 1 / (rate * step)
            found = Finding("found", "time", f"rate={rate:g} Hz as told; a step of the file is {step:g}")
        elif told is not None:
            if told not in SCALE:
                raise InputError(f"time_unit={told!r}: one of {', '.join(SCALE)} (a sample count needs rate=)")
            self.time, found = SCALE[told], Finding("found", "time", f"in {told}, as told")
        else:
            fastest = self.robot.limits.velocity if self.robot else None
            units = self.layout.units("t")
            named = units[0] if len(units) == 1 else TIME["s"]
            self.time, found = time_scale(table.file, t, q, qd, named, fastest)
        yield found
        if rate is None and (even := rate_before_rounding(t * self.time)):
            message = f"stamps look rounded by the writer, of samples at even steps: rate={even:.4g} reads them so"
            yield Finding("warning", "time", message)
        if qd is not None and self._named_scales("qd") is None and (other := velocity_scale(t * self.time, q, qd)):
            self.to_si["qd"] = self.to_si["qd"] * other[0]
            yield other[1]

    def _decide_torques(self, n: int, motors: np.ndarray) -> Iterator[Finding]:
        """Decide how joint torques follow from the file's torques or currents."""
        column = "tau" if "tau" in self.layout.groups else "current"
        group, units, scale = self.layout.groups[column], self.layout.units(column), self._named_scales(column)
        torques = matrix(self.options.get("torque_matrix", motors.T), n, "torque_matrix")
        gains = vector(self.options.get("gains"), n, "gains", 1.0)
        self.to_si["tau"] = torques * gains * (1.0 if scale is None else scale)
        if "motor_matrix" in self.options and "torque_matrix" not in self.options:
            yield Finding("assumed", "torque", "joint torques are N^T times the motors', which keeps power (torque_matrix=)")
        named = "" if scale is None else f" in {self._unit_names(column)}, as the columns are named"
        kinds = {unit.kind for unit in units if unit} or {"current" if column == "current" else ""}
        if kinds != {""} and "gains" not in self.options:
            kind = "a share of a rated torque" if "share" in kinds else "a current"
            yield Finding("warning", "torque", f"tau is {kind}, {group}{named}, without gains: not in N m (gains=)", serious=True)
        elif named:
            yield Finding("found", "torque", f"{group}{named}")
        elif "gains" not in self.options:
            yield Finding("assumed", "torque", "in N m, or N: the columns name no unit (gains= if not)")

    def _decide_temperature(self, T: np.ndarray) -> Iterator[Finding]:
        """Decide the unit of temperatures; without a named one, those that would destroy a motor in degrees C are in K."""
        units = self.layout.units("temperature")
        named = next((unit for unit in units if unit), None)
        guess = KELVIN if np.median(T) > HOTTEST else CELSIUS
        each = [unit or named or guess for unit in units]
        self.to_si["temperature"] = np.diag([unit.scale for unit in each])
        self.temperature_zero = np.array([unit.zero for unit in each])
        if named:
            yield Finding("found", "units", f"temperature in {self._unit_names('temperature')}, as the columns are named")
        else:
            yield Finding("assumed", "units", f"temperature in {guess.name}: it is about {np.median(T):.3g}")

    def _named_scales(self, quantity: str) -> np.ndarray | None:
        """Return the unit of each column (k,) in SI units, by its name; a column without one has the first's. None if none has."""
        units = self.layout.units(quantity)
        first = next((unit for unit in units if unit), None)
        return np.array([(unit or first).scale for unit in units]) if first else None

    def _unit_names(self, quantity: str) -> str:
        """Return the names of a quantity's units, separated by commas."""
        return ", ".join(dict.fromkeys(unit.name for unit in self.layout.units(quantity) if unit))

    def _angular(self, n: int) -> np.ndarray:
        """Return which joints (n,) turn; those of sliders are in metres whatever the angles are in."""
        if self.robot is None:
            return np.ones(n, dtype=bool)
        kinds = {joint.name: joint.kind for joint in self.robot.model.joints}
        return np.array([kinds.get(name) != "prismatic" for name in self.joint_names])


def repeated_share(t: np.ndarray) -> float:
    """Return the share of time stamps (N,) that repeat that of the row before."""
    return float(np.mean(np.diff(t) == 0)) if len(t) > 1 else 0.0


def rate_before_rounding(t: np.ndarray) -> float | None:
    """Return the rate in Hz of evenly spaced samples whose stamps (N,) were rounded to a coarse unit; None if they were not.

    Rounded so, steps are m or m + 1 units, and no stamp is further than a unit from its even place. Where samples are lost,
    stamps drift away from it.
    """
    steps = np.diff(t)
    if len(steps) < FEW_RUNS:
        return None
    step, begin = np.polyfit(np.arange(len(t)), t, 1).tolist()
    short, long = float(steps.min()), float(steps.max())
    even = begin + step * np.arange(len(t))
    coarse = long - short
    rare = np.mean(steps - short > coarse / 2) < DOUBLE_STEPS
    if rare and abs(long - 2 * short) < JITTER * short:  # a row is missing
        return None
    two = np.minimum(np.abs(steps - short), np.abs(steps - long)) < JITTER * coarse
    if coarse < JITTER * step or coarse > (1 + JITTER) * short or not two.all() or np.abs(t - even).max() > coarse:
        return None
    return 1 / step


def strange_units(group: Group) -> str:
    """Return the first text in brackets behind a column's name that is neither a unit nor the joint; empty if there is none."""
    for (name, _), label, unit in zip(group.members, group.labels, group.units):
        for text in re.findall(r"[\[(]([^\[\]()]*[^\W\d_][^\[\]()]*)[\])]\s*$", name):
            if text != unit and text not in label:
                return text
    return ""


def mapped(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Multiply each row of x (N, n) by a matrix (n, n)."""
    diagonal = np.diag(by)
    if not np.array_equal(by, np.diag(diagonal)):
        return np.einsum("ij,kj->ki", by, x, order="F")
    return x if np.all(diagonal == 1) else x * diagonal


def matrix(given: ArrayLike | None, n: int, name: str) -> np.ndarray:
    """Return an option as an invertible (n, n) matrix; by default the identity."""
    made = np.eye(n) if given is None else np.asarray(given, dtype=float)
    if made.shape != (n, n) or not np.isfinite(made).all() or np.linalg.cond(made) > 1e12:
        raise InputError(f"{name} of shape {made.shape}: an invertible ({n}, {n}) matrix is wanted, one row a joint of the log")
    return made


def vector(given: ArrayLike | None, n: int, name: str, default: float) -> np.ndarray:
    """Return an option as n numbers."""
    made = np.full(n, default) if given is None else np.asarray(given, dtype=float)
    if made.shape != (n,) or not np.isfinite(made).all():
        raise InputError(f"{name} of shape {made.shape}: {n} numbers are wanted, one a joint of the log")
    return made
