"""Assignment of a file's columns to time, positions, velocities, accelerations, torques, temperatures: by name, or as the caller
says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qddot.errors import InputError, near_matches
from qddot.logs.column_names import (
    BOUNDS,
    ELSEWHERE,
    JOINT_WORDS,
    MEASURABLE,
    MOTOR_SIDE,
    NAMES_A_JOINT,
    NANO,
    NEUTRAL,
    REFERENCE,
    WORDS,
    number_of,
    only_numbers,
    parent,
    parsed_name,
    places,
    shown,
    spoken,
    tokens,
)
from qddot.logs.groups import Group, Member, grouped, left_over, refuse_joints_twice
from qddot.logs.table import Finding, Table
from qddot.logs.units import TIME, Unit, quantity_of, unit_of
from qddot.logs.unnamed import by_position, is_unnamed

Choice = str | int | Sequence[str] | Sequence[int]


@dataclass(frozen=True)
class Layout:
    """The columns of each quantity: those of one file, or of all its blocks."""

    groups: dict[str, Group]
    findings: tuple[Finding, ...]

    def take(self, table: Table, quantity: str) -> np.ndarray:
        """Return the samples (N, k) of a quantity in Fortran order, since most code goes through them channel by channel."""
        columns = []
        for name, at in self.groups[quantity].members:
            if name not in table.columns:
                raise InputError(
                    f"{table.file}: no column {name!r}, which the first file has: {near_matches(name, table.columns)} "
                    "(load files of other columns one by one, and add the logs)"
                )
            column = table.columns[name]
            columns.append(column if at is None else column[:, at])
        found = np.empty((len(columns[0]), len(columns)), np.result_type(*columns), order="F")
        return np.stack(columns, axis=1, out=found)

    def units(self, quantity: str) -> list[Unit | None]:
        """Return the unit of each column by its name; None where the name has none."""
        group = self.groups[quantity]
        return [unit_of(quantity, group.name, bracketed) for bracketed in group.units]


def layout_of(table: Table, columns: Mapping[str, Choice] | None, joint_names: Sequence[str] | None) -> Layout:
    """Return the columns of each quantity: those the caller names, then those found by their names."""
    unknown = set(columns or {}) - set(WORDS)
    if unknown:
        raise InputError(f"columns: no quantity {min(unknown)!r}: {near_matches(min(unknown), WORDS)}")
    joints = tuple(joint_names or ())
    groups = grouped(table, joints)
    findings: list[Finding] = []
    if not columns and is_unnamed(table):
        columns, finding = by_position(table, joints)
        findings.append(finding)
    found = {name: chosen(table, groups, choice, joints) for name, choice in (columns or {}).items()}
    told_temperature = found.pop("temperature", None)
    for quantity in ("q", "t", "qd", "qdd", "tau", "current"):
        if quantity not in found and not (quantity == "current" and "tau" in found):
            candidate = guessed(table, groups, quantity, found.get("q"), joints, findings)
            if candidate:
                found[quantity] = candidate
    for quantity in ("t", "qd", "qdd", "tau", "current"):  # what no name tells
        if quantity not in found and not (quantity in ("tau", "current") and {"tau", "current"} & found.keys()):
            candidate = known_by_unit(table, groups, quantity, found.get("q"), joints, findings)
            if candidate:
                found[quantity] = candidate
    if "tau" in found:
        found.pop("current", None)
    for quantity, group in found.items():
        if quantity != "t" and isinstance((columns or {}).get(quantity, ""), str):  # a list of columns is explicit
            refuse_joints_twice(table, quantity, group)
        findings.append(Finding("found", "columns", f"{quantity}: {group}"))
    used = {group.name for group in found.values()}
    wanted = [name for name in groups if name not in used and tokens(name) & REFERENCE and tokens(name) & MEASURABLE]
    if wanted:
        findings.append(Finding("found", "columns", f"wanted or computed, not measured, left out: {shown(wanted)}"))
    if "q" not in found or not {"tau", "current"} & set(found):
        raise no_columns_for(table, "q" if "q" not in found else "tau", groups)
    found = ordered(table, found, joints, set(columns or {}), findings)
    if told_temperature is not None:
        found["temperature"] = chosen_temperature(table, told_temperature, found["q"])
    elif (temperature := guessed_temperature(left_over(groups, found), found["q"], joints, findings)) is not None:
        found["temperature"] = temperature
    if unused := [str(group) for group in left_over(groups, found) if group.name not in wanted]:
        findings.append(Finding("found", "columns", f"not used: {shown(unused)}"))
    return Layout(found, tuple(findings))


def no_columns_for(table: Table, quantity: str, groups: Mapping[str, Group]) -> InputError:
    """Return the error for a quantity that a log needs and that has no columns; it lists what there is instead."""
    instead = [name for name in groups if tokens(name) & WORDS[quantity]]
    among = shown(table.columns) or "no columns of numbers"
    if instead:
        among += f"; {shown(instead)} are wanted, or the tool's, not measured at the joints"
    if table.left_out:
        among += f"; left out {shown(f'{name} ({why})' for name, why in table.left_out.items())}"
    return InputError(
        f"{table.file}: no columns found for {quantity} among {among} "
        f"(say which: columns={{{quantity!r}: [...]}}, by names or by numbers from 0)"
    )


def guessed(
    table: Table, groups: dict[str, Group], quantity: str, q: Group | None, joint_names: Sequence[str], findings: list[Finding]
) -> Group | None:
    """Return the group whose name means the quantity and has the fewest other words, preferably with the robot's joints."""
    if quantity == "t" and (pair := seconds_and_rest(table)):
        return pair
    home, rated = parent(q.name) if q else "", []
    for name, group in groups.items():
        words = spoken(name)
        extra = words - WORDS[quantity]
        if quantity == "t":
            of_time = words & WORDS["t"] or set() < words <= set(TIME)
            right = len(group.members) == 1 and of_time and not words & MEASURABLE - WORDS["t"]
        else:
            right = words & WORDS[quantity] and not tokens(name) & ELSEWHERE
        if right and not tokens(name) & REFERENCE:
            unusual = bool(words & (MEASURABLE if quantity == "t" else MOTOR_SIDE))  # `temps` may be temperatures
            rating = (misfit(group, quantity, q, joint_names), len(extra - NEUTRAL), parent(name) != home, len(extra), unusual)
            rated.append((rating, name, group))
    rated.sort(key=lambda rating: rating[0])
    if not rated:
        if quantity != "q":
            return None
        return known_by_unit(table, groups, "q", q, joint_names, findings) or named_as_joints(groups, joint_names, findings)
    best = [rating for rating in rated if rating[0] == rated[0][0]]
    if len(best) > 1 and quantity != "t":
        raise InputError(
            f"{table.file}: {quantity} could be {' or '.join(str(group) for _, _, group in best)} "
            f"(say which: columns={{{quantity!r}: {best[0][1]!r}}})"
        )
    if len(rated) > 1:
        others = ", ".join(str(group) for _, _, group in rated[1:])
        findings.append(Finding("assumed", "columns", f"{quantity}: {rated[0][2]}, not {others}"))
    return rated[0][2]


def known_by_unit(
    table: Table, groups: dict[str, Group], quantity: str, q: Group | None, joint_names: Sequence[str], findings: list[Finding]
) -> Group | None:
    """Return the only columns, one for each joint (or one of times that increase), whose units in brackets are the quantity's:
    `M1 [Nm]`; else None. Limits and other constants are no measurements."""
    joints = 1 if quantity == "t" else len(joint_names) or (len(q.members) if q else 0)
    found = []
    for name, group in groups.items():
        right = group.numbered and all(quantity_of(unit) == quantity for unit in group.units)
        elsewhere = tokens(name) & (REFERENCE | ELSEWHERE | MEASURABLE | BOUNDS)
        if right and not elsewhere and len(group.members) == (joints or len(group.members)) and varies(table, group, quantity):
            found.append(group)
    if len(found) != 1:
        return None
    findings.append(Finding("assumed", "columns", f"{quantity}: {found[0]}, by their unit"))
    return found[0]


def varies(table: Table, group: Group, quantity: str) -> bool:
    """Return True if columns are not all constant; if those of times increase."""
    columns = [table.columns[name] if at is None else table.columns[name][:, at] for name, at in group.members]
    steps = np.stack([np.diff(column.astype(float)) for column in columns])
    return bool((steps > 0).all() if quantity == "t" else (steps != 0).any())


def guessed_temperature(groups: Iterable[Group], q: Group, joint_names: Sequence[str], findings: list[Finding]) -> Group | None:
    """Return the columns of temperature: one for each joint, or one for all. Others are left out and reported: a log needs none."""
    named = [g for g in groups if tokens(g.name) & WORDS["temperature"] and not tokens(g.name) & (REFERENCE | ELSEWHERE)]
    each, n = [], len(q.members)
    for group in named:
        at = places(group.labels, joint_names or q.labels)
        if None not in at:
            each.append(group.at([i for i in at if i is not None], q.labels))
        elif group.numbered and len(group.members) == n:
            each.append(group.at(sorted(range(n), key=lambda i: number_of(group.labels[i]) or 0), q.labels))
    fitting = each or [group.at([0] * n, q.labels) for group in named if len(group.members) == 1]
    if len(fitting) == 1:
        findings.append(Finding("found", "columns", f"temperature: {fitting[0]}{'' if each else ', of all joints'}"))
        return fitting[0]
    if named:
        message = f"{shown(map(str, named))} are not plainly one for each joint, or one for all: left out"
        findings.append(Finding("found", "columns", f"temperature: {message} (columns={{'temperature': ...}} says which)"))
    return None


def chosen_temperature(table: Table, group: Group, q: Group) -> Group:
    """Return the temperatures that the caller named: one for each joint, in the order of q, or one for all."""
    n = len(q.members)
    if len(group.members) not in (1, n):
        raise InputError(
            f"{table.file}: {len(group.members)} columns of temperature ({group}): one for each of {n} joints, or one for all"
        )
    return group.at(range(n) if len(group.members) == n else [0] * n, q.labels)


def misfit(group: Group, quantity: str, q: Group | None, joint_names: Sequence[str]) -> int:
    """Return 0 if a group has a column for every joint of the robot by name, 1 if as many columns as joints, 2 otherwise."""
    if quantity == "t" or (joint_names and None not in places(group.labels, joint_names)):
        return 0
    joints = len(joint_names) or (len(q.members) if q else len(group.members))
    return 1 if len(group.members) == joints else 2


def seconds_and_rest(table: Table) -> Group | None:
    """Return time in two columns, `stamp.sec` and `stamp.nanosec`; None if there are no such columns."""
    names = {name: tokens(name) for name, column in table.columns.items() if column.ndim == 1}
    for whole in (name for name, words in names.items() if words & {"sec", "secs", "s"} and not words & NANO):
        for rest in (name for name, words in names.items() if words & NANO):
            if names[whole] - set(TIME) == names[rest] - set(TIME) - NANO:
                return Group(f"{whole} + {rest}", ("", ""), ((whole, None), (rest, None)), ("s", "ns"))
    return None


def named_as_joints(groups: dict[str, Group], joint_names: Sequence[str], findings: list[Finding]) -> Group | None:
    """Return columns that are called joints or axes and nothing else: `J1 ... J6`, `AXIS_ACT_1 ...`."""
    for name, group in groups.items():
        words = tokens(name)
        if words & JOINT_WORDS and words <= NEUTRAL | {"a"} and len(group.members) == (len(joint_names) or len(group.members)):
            findings.append(Finding("assumed", "columns", f"q: {group}, which are called joints and nothing else"))
            return group
    return None


def chosen(table: Table, groups: dict[str, Group], choice: Choice, joint_names: Sequence[str]) -> Group:
    """Return the columns the caller named: a group, a column, numbers from 0, or a sequence of them."""
    numbered: list[Member] = []
    for name, column in table.columns.items():
        numbered += [(name, None)] if column.ndim == 1 else [(name, k) for k in range(column.shape[1])]
    if isinstance(choice, str):
        ending = [group for name, group in groups.items() if name == choice or name.endswith(f".{choice}")]
        if len(ending) == 1:
            return ending[0]
    members: list[Member] = []
    for item in [choice] if isinstance(choice, str | int) else choice:
        if isinstance(item, int) and -len(numbered) <= item < len(numbered):
            members.append(numbered[item])
        elif item in table.columns:
            members.append((str(item), None))
        elif isinstance(item, int):
            raise InputError(f"{table.file}: no column {item!r}: there are {len(numbered)}, from 0")
        else:
            known = [*groups, *table.columns]
            raise InputError(f"{table.file}: no column {item!r}: {near_matches(str(item), dict.fromkeys(known))}")
    if members[0] == (choice, None) and choice in groups:  # a matrix by its name
        return groups[members[0][0]]
    parsed = [parsed_name(name, joint_names) for name, _ in members]
    labels = [name.label if at is None else "" for name, (_, at) in zip(parsed, members)]
    if not all(labels) or len(set(labels)) < len(labels):
        labels = [str(i + 1) for i in range(len(members))]
    kinds = " ".join(sorted({name.kind for name in parsed}))
    return Group(kinds, tuple(labels), tuple(members), tuple(name.unit for name in parsed))


def ordered(
    table: Table, found: dict[str, Group], joint_names: Sequence[str], told: set[str], findings: list[Finding]
) -> dict[str, Group]:
    """Return the columns in the order of the robot's joints, as far as the file names joints; as many for every quantity."""
    per_joint = {name: group for name, group in found.items() if name != "t"}
    for name, group in per_joint.items():
        if joint_names:
            per_joint[name] = in_robot_order(table, name, group, joint_names, name in told, findings)
        elif name != "q" and name not in told:
            per_joint[name] = in_order_of_positions(table, name, group, per_joint["q"])
    counts = {name: len(group.members) for name, group in per_joint.items()}
    if len(set(counts.values())) > 1:
        several = ", ".join(f"{n} of {name} ({per_joint[name]})" for name, n in counts.items())
        raise InputError(f"{table.file}: every quantity needs one column a joint; here {several} (say which: columns={{...}})")
    if joint_names and counts["q"] != len(joint_names):
        says_joint = next((name for name in table.left_out if tokens(name) and tokens(name) <= NAMES_A_JOINT), None)
        fix = f"a row for each joint, as {says_joint!r} says? sort them by time" if says_joint else "say which: columns={...}"
        raise InputError(
            f"{table.file}: {counts['q']} columns of q ({per_joint['q']}), the robot has {len(joint_names)} joints: "
            f"{', '.join(joint_names)} ({fix})"
        )
    return found | per_joint


def in_robot_order(
    table: Table, quantity: str, group: Group, joint_names: Sequence[str], told: bool, findings: list[Finding]
) -> Group:
    """Return a group in the order of the robot's joints by name; without names, by number or as it comes."""
    at = places(group.labels, joint_names)
    known = [i for i in at if i is not None]
    if len(known) == len(at):
        left = [label for i, label in enumerate(group.labels) if i not in known]
        if quantity == "q" and left:
            findings.append(Finding("found", "joints", f"left out, not joints of the robot: {', '.join(left)}"))
        if quantity == "q" and known != sorted(known):
            message = f"columns come as {', '.join(group.labels)}; put in the robot's order"
            findings.append(Finding("found", "joints", message))
        return group.at(known, joint_names)
    if known and not told:
        missing = [joint for joint, i in zip(joint_names, at) if i is None]
        raise InputError(
            f"{table.file}: {quantity} has no column that is plainly joint {missing[0]}'s: "
            f"it calls joints {', '.join(group.labels)} "
            f"(give columns={{{quantity!r}: [...]}} in the robot's order: {', '.join(joint_names)})"
        )
    if group.numbered and not told:
        group = group.at(sorted(range(len(group.labels)), key=lambda i: number_of(group.labels[i]) or 0))
    if quantity != "q":
        return group
    if told or group.numbered:
        why = "as told" if told else "the file numbers joints"
        findings.append(Finding("found" if told else "assumed", "joints", f"{why}: columns are taken in the robot's order"))
    else:
        message = (
            f"the file calls joints {', '.join(group.labels)}, which the robot does not know: taken in the file's order as "
            f"{', '.join(joint_names)}; torques of the wrong joints if that is wrong (columns= says which)"
        )
        findings.append(Finding("warning", "joints", message))
    return group


def in_order_of_positions(table: Table, quantity: str, group: Group, q: Group) -> Group:
    """Return columns that name joints in the order of the positions."""
    at = places(group.labels, q.labels)
    if None in at:
        if group.numbered or q.numbered:
            return group
        if (here := only_numbers(group.labels)) and (there := only_numbers(q.labels)) and sorted(here) == sorted(there):
            return group.at([here.index(number) for number in there])
        raise InputError(
            f"{table.file}: q is of joints {', '.join(q.labels)}, {quantity} of {', '.join(group.labels)} "
            "(say which: columns={...})"
        )
    return group.at([i for i in at if i is not None], q.labels)
