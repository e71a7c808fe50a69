"""Columns that belong together, as `Position1 ... Position7`: one quantity of all joints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from qddot.errors import InputError
from qddot.logs.column_names import number_of, parsed_name, without_path, without_unit, words_of
from qddot.logs.table import Table

Member = tuple[str, int | None]  # name of a column of the table; if that is a matrix, index of the column within it


@dataclass(frozen=True)
class Group:
    """Columns that belong together: `Position1 ... Position7`, or one matrix."""

    name: str
    labels: tuple[str, ...]
    members: tuple[Member, ...]
    units: tuple[str, ...]
    """the text in brackets of each column's name"""

    def __str__(self) -> str:
        first, last = self.members[0], self.members[-1]
        if first[1] is not None and last[1] is not None:
            whole = first[0] == last[0] and first[1] == 0
            return f"{first[0]} ({len(self.members)} columns)" if whole else f"{first[0]}[{first[1]}] ... {last[0]}[{last[1]}]"
        return first[0] if first == last else f"{first[0]} ... {last[0]}"

    def at(self, places: Sequence[int], labels: Sequence[str] | None = None) -> Group:
        """Return the columns at these places, in this order, with other labels where they are given."""
        named = tuple(labels) if labels else tuple(self.labels[i] for i in places)
        return Group(self.name, named, tuple(self.members[i] for i in places), tuple(self.units[i] for i in places))

    @property
    def numbered(self) -> bool:
        """True if the labels number the joints and do not name them."""
        return all(not label or number_of(label) is not None for label in self.labels)


def grouped(table: Table, joint_names: Sequence[str]) -> dict[str, Group]:
    """Return the columns grouped by what remains of their names without the joint's number or name."""
    gathered: dict[str, list[tuple[str, Member, str]]] = {}
    templates = Counter(re.sub(r"\d+", "#", name) for name in table.columns if len(re.findall(r"\d+", name)) == 1)
    for name, column in table.columns.items():
        if column.ndim == 2:
            unit, width = parsed_name(name).unit, column.shape[1]
            if width:
                gathered.setdefault(name, []).extend((table.joints.get(k + 1, str(k + 1)), (name, k), unit) for k in range(width))
            continue
        kind, label, unit = parsed_name(name, joint_names)
        if not label and templates[template := re.sub(r"\d+", "#", name)] > 1:  # `axis1.position_value`, `axis2.position_value`
            kind, label = without_unit(template)[0], re.findall(r"\d+", name)[0]
        if label.isdigit():
            label = table.joints.get(int(label), label)
        gathered.setdefault(kind, []).append((label, (name, None), unit))
    made: dict[str, Group] = {}
    for kind, items in gathered.items():
        numbers = [number_of(label) for label, _, _ in items]
        if None in numbers and any(number is not None for number in numbers):  # `Torque1 ... Torque6` and `Torque sensor`
            for label, member, unit in [item for item, number in zip(items, numbers) if number is None]:
                made[member[0]] = Group(member[0], (label,), (member,), (unit,))
            items = [item for item, number in zip(items, numbers) if number is not None]
        if all(label.isdigit() for label, _, _ in items):
            items.sort(key=lambda item: int(item[0]))
        labels, members, units = zip(*items)
        made[kind] = Group(kind, without_path(labels), members, units)
    return made


def left_over(groups: Mapping[str, Group], found: Mapping[str, Group]) -> Iterator[Group]:
    """Yield the columns that belong to no quantity."""
    used = {member for group in found.values() for member in group.members}
    for group in groups.values():
        if at := [i for i, member in enumerate(group.members) if member not in used]:
            yield group.at(at)


def refuse_joints_twice(table: Table, quantity: str, group: Group) -> None:
    """Refuse two columns for one joint, as `q1` and `q 1`, or `q01` and `q1`: they would be taken for two joints.

    Raises:
        InputError: two columns of a quantity are of the same joint.
    """
    first: dict[tuple[str | int, ...], Member] = {}
    for label, member in zip(group.labels, group.members):
        joint = tuple(int(word.text) if word.text.isdigit() else word.text for word in words_of(label))
        if (other := first.setdefault(joint, member)) is not member:
            both = " and ".join(name if at is None else f"{name}[{at}]" for name, at in (other, member))
            raise InputError(
                f"{table.file}: {quantity}: {both} are both of joint {label or 1} (rename one, or say which: "
                f"columns={{{quantity!r}: [...]}})"
            )
