"""Which columns of a file are time, positions, velocities, accelerations and torques: by name, or as told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qddot.errors import InputError, near_matches
from qddot.identify.table import Finding, Table

WORDS = {
    "t": {"t", "time", "times", "timestamp", "timestamps", "stamp"},
    "q": {"q", "pos", "position", "positions", "angle", "angles", "theta"},
    "qd": {"qd", "dq", "qdot", "vel", "velocity", "velocities", "speed", "speeds"},
    "qdd": {"qdd", "ddq", "qddot", "acc", "acceleration", "accelerations"},
    "tau": {"tau", "torque", "torques", "effort", "efforts", "moment", "moments"},
    "current": {"current", "currents", "cur", "curr", "i"},
}
NEUTRAL = {
    "actual", "act", "measured", "meas", "joint", "joints", "j", "link", "axis", "motor", "mot", "read", "data", "abs", "cont",
    "deg", "rad", "per", "s", "sec", "ms", "us", "ns", "nm", "amp", "degree", "degrees", "radians", "state", "states",
}  # fmt: skip
REFERENCE = {
    "target",
    "ref",
    "reference",
    "desired",
    "des",
    "cmd",
    "command",
    "commanded",
    "cmptd",
    "setpoint",
    "error",
    "err",
    "goal",
}

Choice = str | int | Sequence[str] | Sequence[int]
Member = tuple[str, int | None]  # a column of the table; of a matrix, which of its columns


@dataclass(frozen=True)
class Group:
    """Columns that belong together: `Position1 ... Position7`, or one matrix."""

    name: str
    labels: tuple[str, ...]
    members: tuple[Member, ...]

    def __str__(self) -> str:
        first, last = self.members[0], self.members[-1]
        if first[1] is not None:
            return f"{first[0]} ({len(self.members)} columns)"
        return first[0] if first == last else f"{first[0]} ... {last[0]}"


@dataclass(frozen=True)
class Layout:
    """Where each quantity stands; of one file, or of all blocks of it."""

    groups: dict[str, Group]
    findings: tuple[Finding, ...]

    def take(self, table: Table, quantity: str) -> np.ndarray:
        """The samples (N, k) of a quantity."""
        columns = []
        for name, at in self.groups[quantity].members:
            if name not in table.columns:
                raise InputError(f"{table.file}: no column {name!r}: {near_matches(name, table.columns)}")
            column = table.columns[name]
            columns.append(column if at is None else column[:, at])
        return np.column_stack(columns)

    def says(self, quantity: str, words: Iterable[str]) -> bool:
        """Whether the name of the quantity's columns holds one of these words."""
        return bool(tokens(self.groups[quantity].name) & set(words))


def layout_of(table: Table, columns: Mapping[str, Choice] | None, joint_names: Sequence[str] | None) -> Layout:
    """Finds the columns of each quantity, explicitly named ones first."""
    unknown = set(columns or {}) - set(WORDS)
    if unknown:
        raise InputError(f"columns: no quantity {min(unknown)!r}: {near_matches(min(unknown), WORDS)}")
    groups = grouped(table)
    found: dict[str, Group] = {name: chosen(table, groups, choice) for name, choice in (columns or {}).items()}
    findings: list[Finding] = []
    for quantity in ("q", "t", "qd", "qdd", "tau", "current"):
        if quantity not in found and not (quantity == "current" and "tau" in found):
            candidate = guessed(table, groups, quantity, parent(found["q"].name) if "q" in found else "", findings)
            if candidate:
                found[quantity] = candidate
    if "tau" in found:
        found.pop("current", None)
    for quantity, group in found.items():
        findings.append(Finding("found", "columns", f"{quantity}: {group}"))
    if "q" not in found or not {"tau", "current"} & set(found):
        missing = "q" if "q" not in found else "tau"
        raise InputError(
            f"{table.file}: no columns found for {missing} among {shown(table.columns)} "
            f"(say which: columns={{{missing!r}: [...]}}, by names or by numbers from 0)"
        )
    return Layout(ordered(table, found, joint_names, findings), tuple(findings))


def tokens(name: str) -> set[str]:
    """The words of a name: `act_pos_mot_deg`, `TorqueCur`, `actual_q` -> their parts, in lower case."""
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return {word.lower() for word in re.split(r"[^A-Za-z]+", split) if word}


def says_quantity(name: str) -> bool:
    """Whether a column is called like one that a log needs."""
    return any(tokens(name) & words for words in WORDS.values())


def grouped(table: Table) -> dict[str, Group]:
    """Columns by what remains of their names without a joint's number or name."""
    gathered: dict[str, list[tuple[str, Member]]] = {}
    for name, column in table.columns.items():
        if column.ndim == 2:
            gathered.setdefault(name, []).extend((str(k + 1), (name, k)) for k in range(column.shape[1]))
            continue
        prefix, label = split_name(name)
        gathered.setdefault(prefix, []).append((label, (name, None)))
    made = {}
    for prefix, items in gathered.items():
        if all(label.isdigit() for label, _ in items):
            items.sort(key=lambda item: int(item[0]))
        made[prefix] = Group(prefix, tuple(label for label, _ in items), tuple(member for _, member in items))
    return made


def split_name(name: str) -> tuple[str, str]:
    """(`Position`, `3`) of `Position3`; (`position`, `elbow`) of `position/elbow`, `elbow/position` and `elbow_pos`."""
    bare = re.sub(r"\s*[\[(][^\])]*[A-Za-z/][^\])]*[\])]\s*$", "", name.strip())
    everything = set().union(*WORDS.values()) - WORDS["t"]
    for separator in ("/", ".", "_", " "):
        parts = [part for part in bare.split(separator) if part]
        if len(parts) > 1:
            if parts[0].lower() in everything and not parts[-1].isdigit():
                return parts[0], separator.join(parts[1:])
            if parts[-1].lower() in everything and not REFERENCE & tokens(bare):
                return parts[-1], separator.join(parts[:-1])
    match = re.fullmatch(r"(.*?)[\s_\[(.\-]*(\d+)[\])]?(_(?:deg|rad|nm|a))?", bare)
    if match and match[1]:
        return match[1] + (match[3] or ""), match[2]
    return name, ""


def parent(name: str) -> str:
    """The struct a name stands in: `rec` of `rec.time`."""
    return name.rpartition(".")[0]


def guessed(table: Table, groups: dict[str, Group], quantity: str, home: str, findings: list[Finding]) -> Group | None:
    """The group whose name says the quantity and least else, best in the struct `home`. Targets, references and errors are no
    measurements.
    """
    rated = []
    for name, group in groups.items():
        words = tokens(name.rpartition(".")[2])
        if words & WORDS[quantity] and not tokens(name) & REFERENCE and (quantity != "t" or len(group.members) == 1):
            rated.append(
                ((len(words - WORDS[quantity] - NEUTRAL), parent(name) != home, len(words - WORDS[quantity])), name, group)
            )
    rated.sort(key=lambda rating: rating[0])
    if not rated:
        return None
    best = [rating for rating in rated if rating[0] == rated[0][0]]
    if len(best) > 1:
        raise InputError(
            f"{table.file}: {quantity} could be {' or '.join(str(group) for _, _, group in best)} "
            f"(say which: columns={{{quantity!r}: {best[0][1]!r}}})"
        )
    if len(rated) > 1:
        others = ", ".join(str(group) for _, _, group in rated[1:])
        findings.append(Finding("assumed", "columns", f"{quantity}: {rated[0][2]}, not {others}"))
    return rated[0][2]


def chosen(table: Table, groups: dict[str, Group], choice: Choice) -> Group:
    """The columns the caller named: a group, a column, numbers from 0, or a sequence of them."""
    names = list(table.columns)
    if isinstance(choice, str):
        ending = [group for name, group in groups.items() if name == choice or name.endswith(f".{choice}")]
        if len(ending) == 1:
            return ending[0]
    members: list[Member] = []
    for item in [choice] if isinstance(choice, str | int) else choice:
        if isinstance(item, int) and -len(names) <= item < len(names):
            members.append((names[item], None))
        elif item in table.columns:
            members.append((str(item), None))
        else:
            known = [*groups, *names]
            raise InputError(f"{table.file}: no column {item!r}: {near_matches(str(item), dict.fromkeys(known))}")
    labels = [split_name(name)[1] for name, _ in members]
    if not all(labels) or len(set(labels)) < len(labels):
        labels = [str(i + 1) for i in range(len(members))]
    return Group(" ".join(sorted({split_name(name)[0] for name, _ in members})), tuple(labels), tuple(members))


def ordered(table: Table, found: dict[str, Group], joint_names: Sequence[str] | None, findings: list[Finding]) -> dict[str, Group]:
    """The columns in the order of the robot's joints, as far as the file names joints; as many for every quantity."""
    per_joint = {name: group for name, group in found.items() if name != "t"}
    if joint_names:
        for name, group in per_joint.items():
            if set(joint_names) <= set(group.labels):
                at = [group.labels.index(joint) for joint in joint_names]
                left = [label for label in group.labels if label not in joint_names]
                if name == "q" and left:
                    findings.append(Finding("found", "joints", f"left out, not joints of the robot: {', '.join(left)}"))
                if name == "q" and at != sorted(at):
                    findings.append(
                        Finding("found", "joints", f"columns come as {', '.join(group.labels)}; put in the robot's order")
                    )
                per_joint[name] = Group(group.name, tuple(joint_names), tuple(group.members[i] for i in at))
            elif name == "q":
                what = "numbers" if all(label.isdigit() for label in group.labels) else f"calls joints {', '.join(group.labels)}"
                findings.append(Finding("assumed", "joints", f"the file {what}: columns are taken in the robot's order"))
    counts = {name: len(group.members) for name, group in per_joint.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{n} of {name} ({per_joint[name]})" for name, n in counts.items())
        raise InputError(f"{table.file}: every quantity needs one column a joint; here {told} (say which: columns={{...}})")
    if joint_names and counts["q"] != len(joint_names):
        raise InputError(f"{table.file}: {counts['q']} columns of q ({per_joint['q']}), the robot has {len(joint_names)} joints")
    return found | per_joint


def shown(names: Iterable[str]) -> str:
    """The first names, for a message."""
    listed = list(names)
    return ", ".join(listed[:12]) + (", ..." if len(listed) > 12 else "")
