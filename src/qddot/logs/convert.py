"""From columns as written to joint coordinates in SI units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from qddot.errors import InputError
from qddot.logs.column_names import shown
from qddot.logs.layout import Choice, Group, Layout, layout_of
from qddot.logs.table import Finding, Hints, Table, bad_row
from qddot.logs.units import CELSIUS, KELVIN, SCALE, TIME, TimeUnit, angle_scale, time_scale, velocity_scale
from qddot.thresholds import DOUBLE_STEPS, FEW_RUNS, HOTTEST, JITTER, PLAIN_STEPS, ROUNDED_STAMPS

if TYPE_CHECKING:
    from qddot.robot import Robot

HALF_A_DAY = 43200.0  # s


class Options(TypedDict, total=False):
    """Options for what a file does not say about itself."""

    columns: Mapping[str, Choice]
    """quantity (`t`, `q`, `qd`, `qdd`, `tau`, `current`, `temperature`) -> a name that numbered columns or a matrix share, or
    names, or numbers"""
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
    """(n,): N m an ampere of the file's currents; N m a unit of its torques, where their names give none"""
    topic: str
    """of a bag with several topics of joint states"""
    repair: bool
    """leave out rows that are no samples, and report them, instead of refusing the file"""


class Reading:
    """Decisions about a log from its first rows, applied to all of them.

    Attributes:
        layout: which columns are which; decided first of all.
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
        self.warmth: np.ndarray | None = None  # the last temperatures, as written
        self.zero_warmth = np.empty(0)

    def new_file(self) -> None:
        """The clock of the next file starts anew."""
        self.start = self.last = self.position = None

    def converted(self, table: Table) -> tuple[dict[str, np.ndarray], list[Finding]]:
        """Arrays t (N,), q, qd, qdd, tau, temperature (N, n) of a table, and what was found on the way."""
        findings: list[Finding] = []
        if self.is_new:
            self._lay_out(table, findings)
        raw = self._raw(table, findings)
        raw = self._sound(table, raw, findings)
        if self.is_new:
            self._decide(table, raw, findings)
            self.is_new = False
        if self.start is None:
            self.start = float(raw["t"][0])
            if self.start:
                findings.append(Finding("found", "time", f"{table.file}: begins at {self.start:.10g}, which becomes 0"))
        arrays = {"t": (raw.pop("t") - self.start) * self.time}
        for name, value in raw.items():
            arrays[name] = mapped(value, self.to_si[name])
        arrays["q"] = self._unwound(arrays["q"], table.file, findings)
        if self.offsets.any():
            arrays["q"] = arrays["q"] + self.offsets
        if "temperature" in arrays:
            arrays["temperature"] = arrays["temperature"] + self.zero_warmth
        return arrays, findings

    def _unwound(self, q: np.ndarray, file: str, findings: list[Finding]) -> np.ndarray:
        """Joint angles that jump by a turn, where a controller counts from 0 to 360 degrees, as they moved.

        Only of joints that otherwise move by less than a quarter of a turn from sample to sample, so that a jump is plain.
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
        names = self.robot.joint_names if self.robot else None
        self.layout = layout_of(table, self.options.get("columns"), names)
        findings += [*table.findings, *self.layout.findings]
        for why in dict.fromkeys(table.left_out.values()):
            names_left = (name for name, reason in table.left_out.items() if reason == why)
            findings.append(Finding("found", "columns", f"{why}, left out: {shown(names_left)}"))
        labels = self.layout.groups["q"].labels
        self.joint_names = names or tuple(f"joint{label}" if label.isdigit() else label for label in labels)

    def _raw(self, table: Table, findings: list[Finding]) -> dict[str, np.ndarray]:
        """The columns as written; sample counts where there is no time, or none that a writer did not round away."""
        raw = {name: self.layout.take(table, name) for name in self.layout.groups}
        if "current" in raw:
            raw["tau"] = raw.pop("current")
        if "t" in raw:
            raw["t"] = self._time(raw["t"])
        if "rate" in self.options and ("t" not in raw or shared(raw["t"]) > ROUNDED_STAMPS):
            if "t" in raw:
                findings.append(Finding("assumed", "time", "stamps are rounded: rows are counted instead, at the rate told"))
            raw["t"] = table.row - 1 + np.arange(len(table), dtype=float)
        elif "t" not in raw:
            raise InputError(f"{table.file}: no time column (give rate= in Hz, or columns={{'t': ...}})")
        raw = {name: np.asarray(value, dtype=float) for name, value in raw.items()}
        if "temperature" in raw and self.warmth is None and not np.isfinite(raw["temperature"]).any(axis=0).all():
            findings.append(Finding("found", "columns", f"{table.file}: a temperature is NaN throughout: all are left out"))
            self.layout.groups.pop("temperature")
            del raw["temperature"]
        if "temperature" in raw:
            raw["temperature"] = self._held(raw["temperature"], table.file, findings)
        return raw

    def _held(self, T: np.ndarray, file: str, findings: list[Finding]) -> np.ndarray:
        """Temperatures that a logger writes now and then (NaN in between) hold until the next; the first holds before it, too."""
        known = np.isfinite(T)
        if not known.all():
            findings.append(Finding("repaired", "columns", f"{file}: where temperature is NaN, the last one holds"))
            before = T[np.argmax(known, axis=0), np.arange(T.shape[1])] if self.warmth is None else self.warmth
            T = np.concatenate([before[None], np.where(known, T, np.nan)])
            last = np.maximum.accumulate(np.where(np.isfinite(T), np.arange(len(T))[:, None], 0), axis=0)
            T = np.take_along_axis(T, last, axis=0)[1:]
        self.warmth = T[-1]
        return T

    def _time(self, t: np.ndarray) -> np.ndarray:
        """Time (N,) of one column, or of seconds and nanoseconds. Counted from the first, since 1970 does not fit a double."""
        if t.dtype.kind in "iu" or t.shape[1] > 1:
            self.epoch = t[0].copy() if self.start is None else self.epoch
            t = t - self.epoch
        units = self.layout.units("t")
        if t.shape[1] == 1:
            return t[:, 0]
        if None in units:
            raise InputError("time in several columns needs their units in the names, as in sec and nanosec (or give one column)")
        return t @ [unit.scale for unit in units if unit]

    def _sound(self, table: Table, raw: dict[str, np.ndarray], findings: list[Finding]) -> dict[str, np.ndarray]:
        """Refuses rows that are no samples; with `repair` leaves them out and says so."""
        t, latest = raw["t"], -np.inf if self.last is None else self.last
        finite = all(np.isfinite(value).all() for value in raw.values())
        if finite and not table.faults and t[0] > latest and np.all(np.diff(t) > 0):
            self.last = float(t[-1])
            return raw
        faults = {row - table.row: why for row, why in table.faults.items()}
        for name, value in raw.items():
            for i in np.flatnonzero(~np.isfinite(value).reshape(len(t), -1).all(axis=1)):
                faults.setdefault(int(i), self._which(table, name, int(i)))
        ahead = np.concatenate([[latest], np.maximum.accumulate(np.where(np.isfinite(t), t, -np.inf))[:-1]]).clip(latest)
        for i in np.flatnonzero(t <= ahead):
            faults.setdefault(int(i), f"t not increasing: {t[i]:.10g} after {ahead[i]:.10g}")
        first = min(faults)
        if not self.hints.repair:
            more = f"; {len(faults) - 1} more such rows" if len(faults) > 1 else ""
            fix = "repair=True leaves such rows out"
            if t[first] < ahead[first] - HALF_A_DAY and self._units("t") == "s":
                fix = "times of day beyond midnight? write the date with each"
            if shared(t) > ROUNDED_STAMPS:
                fix = (
                    f"{len(t)} rows from {t[0]:.10g} to {t[-1]:.10g}: stamps rounded by the writer? rate= in Hz counts rows instead"
                )
            raise bad_row(table.file, table.row + first, faults[first] + more, fix)
        kept = np.setdiff1d(np.arange(len(t)), sorted(faults))
        if len(kept) < 2:
            why = f"row {table.row + first}: {faults[first]}"
            raise InputError(f"{table.file}: {len(faults)} of {len(t)} rows are no samples ({why}): nothing is left")
        told = "; ".join(f"row {table.row + i}: {faults[i]}" for i in sorted(faults)[:5])
        findings.append(Finding("repaired", "rows", f"{table.file}: {len(faults)} of {len(t)} rows left out: {told}"))
        self.last = float(t[kept[-1]])
        return {name: value[kept] for name, value in raw.items()}

    def _which(self, table: Table, quantity: str, row: int) -> str:
        """`q2 is nan`: the column and value that is no number."""
        group = self.layout.groups["current" if quantity == "tau" and "tau" not in self.layout.groups else quantity]
        for name, at in group.members:
            value = table.columns[name][row] if at is None else table.columns[name][row, at]
            if not np.isfinite(value):
                return f"{name if at is None else f'{name}[{at}]'} is {value}"
        return f"{quantity} is not finite in SI units"

    def _decide(self, table: Table, raw: dict[str, np.ndarray], findings: list[Finding]) -> None:
        """Units, matrices and gains, once."""
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
            findings += self._decide_warmth(raw["temperature"])

    def _decide_positions(self, raw: dict[str, np.ndarray], inverse: np.ndarray) -> Iterator[Finding]:
        """Joint positions, velocities and accelerations from the file's: q = N^-1 motor, each in the unit its name says."""
        named, told = self._named("q"), self.options.get("degrees")
        guess = np.ones(len(inverse))
        if told is not None or named is None:
            limits = (self.robot.limits.lower, self.robot.limits.upper) if self.robot else None
            scale, found = angle_scale(raw["q"] @ inverse.T, told, limits)
            guess = np.where(self._angular(len(inverse)), scale, 1.0)
            named = None
        else:
            found = Finding("found", "angles", f"in {self._units('q')}, as the columns are named")
        yield found
        self.to_si["q"] = guess[:, None] * inverse * (1.0 if named is None else named)
        for name in {"qd", "qdd"} & set(raw):
            own = self._named(name)
            self.to_si[name] = self.to_si["q"] if own is None else inverse * own

    def _decide_time(self, table: Table, raw: dict[str, np.ndarray]) -> Iterator[Finding]:
        """Seconds a unit of time, and velocities that are not in the positions' unit."""
        t, q = raw["t"], mapped(raw["q"], self.to_si["q"])
        qd = mapped(raw["qd"], self.to_si["qd"]) if "qd" in raw else None
        rate, told = self.options.get("rate"), self.options.get("time_unit")
        if rate is not None:
            if not rate > 0:
                raise InputError(f"rate={rate}: samples a second, above zero")
            step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
            self.time, found = (
                1 / (rate * step),
                Finding("found", "time", f"rate={rate:g} Hz as told; a step of the file is {step:g}"),
            )
        elif told is not None:
            if told not in SCALE:
                raise InputError(f"time_unit={told!r}: one of {', '.join(SCALE)} (a sample count needs rate=)")
            self.time, found = SCALE[told], Finding("found", "time", f"in {told}, as told")
        else:
            fastest = self.robot.limits.velocity if self.robot else None
            units = self.layout.units("t")
            said = units[0] if len(units) == 1 else TIME["s"]
            self.time, found = time_scale(table.file, t, q, qd, said, fastest)
        yield found
        if rate is None and (even := rate_before_rounding(t * self.time)):
            message = f"stamps look rounded by the writer, of samples at even steps: rate={even:.4g} reads them so"
            yield Finding("warning", "time", message)
        if qd is not None and self._named("qd") is None and (other := velocity_scale(t * self.time, q, qd)):
            self.to_si["qd"] = self.to_si["qd"] * other[0]
            yield other[1]

    def _decide_torques(self, n: int, motors: np.ndarray) -> Iterator[Finding]:
        """Joint torques from the file's torques or currents."""
        column = "tau" if "tau" in self.layout.groups else "current"
        group, units, scale = self.layout.groups[column], self.layout.units(column), self._named(column)
        torques = matrix(self.options.get("torque_matrix", motors.T), n, "torque_matrix")
        gains = vector(self.options.get("gains"), n, "gains", 1.0)
        self.to_si["tau"] = torques * gains * (1.0 if scale is None else scale)
        if "motor_matrix" in self.options and "torque_matrix" not in self.options:
            yield Finding("assumed", "torque", "joint torques are N^T times the motors', which keeps power (torque_matrix=)")
        named = "" if scale is None else f" in {self._units(column)}, as the columns are named"
        kinds = {unit.kind for unit in units if unit} or {"current" if column == "current" else ""}
        if kinds != {""} and "gains" not in self.options:
            what = "a share of a rated torque" if "share" in kinds else "a current"
            yield Finding("warning", "torque", f"tau is {what}, {group}{named}, without gains: not in N m (gains=)", serious=True)
        elif named:
            yield Finding("found", "torque", f"{group}{named}")
        elif "gains" not in self.options:
            yield Finding("assumed", "torque", "in N m, or N: the columns name no unit (gains= if not)")

    def _decide_warmth(self, T: np.ndarray) -> Iterator[Finding]:
        """Degrees C of the file's temperatures; without a unit, what no motor stands is in K."""
        units = self.layout.units("temperature")
        said = next((unit for unit in units if unit), None)
        guess = KELVIN if np.median(T) > HOTTEST else CELSIUS
        each = [unit or said or guess for unit in units]
        self.to_si["temperature"] = np.diag([unit.scale for unit in each])
        self.zero_warmth = np.array([unit.zero for unit in each])
        if said:
            yield Finding("found", "units", f"temperature in {self._units('temperature')}, as the columns are named")
        else:
            yield Finding("assumed", "units", f"temperature in {guess.name}: it is about {np.median(T):.3g}")

    def _named(self, quantity: str) -> np.ndarray | None:
        """SI units a unit of each column (k,), where their names say; one that says nothing is like the first that does."""
        units = self.layout.units(quantity)
        first = next((unit for unit in units if unit), None)
        return np.array([(unit or first).scale for unit in units]) if first else None

    def _units(self, quantity: str) -> str:
        """The names of a quantity's units."""
        return ", ".join(dict.fromkeys(unit.name for unit in self.layout.units(quantity) if unit))

    def _angular(self, n: int) -> np.ndarray:
        """Which joints turn; sliders are in metres whatever the angles are in."""
        if self.robot is None:
            return np.ones(n, dtype=bool)
        kinds = {joint.name: joint.kind for joint in self.robot.model.joints}
        return np.array([kinds.get(name) != "prismatic" for name in self.joint_names])


def shared(t: np.ndarray) -> float:
    """Part of the stamps (N,) that are those of the row before."""
    return float(np.mean(np.diff(t) == 0)) if len(t) > 1 else 0.0


def rate_before_rounding(t: np.ndarray) -> float | None:
    """Samples a second of even steps whose stamps (N,) were rounded to a coarse unit; None where they were not.

    Then steps are m or m + 1 units, and no stamp is further than a unit from its place among even ones. Where samples are lost,
    stamps wander off.
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
    """First text in brackets behind a name that is neither a unit nor the joint; empty if there is none."""
    for (name, _), label, unit in zip(group.members, group.labels, group.units):
        for text in re.findall(r"[\[(]([^\[\]()]*[^\W\d_][^\[\]()]*)[\])]\s*$", name):
            if text != unit and text not in label:
                return text
    return ""


def mapped(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Each row of x (N, n) under a matrix (n, n)."""
    diagonal = np.diag(by)
    if not np.array_equal(by, np.diag(diagonal)):
        return np.einsum("ij,kj->ki", by, x, order="F")
    return x if np.all(diagonal == 1) else x * diagonal


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
