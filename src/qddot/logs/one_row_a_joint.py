"""Tables with a row per joint, `time,joint,position,effort`: rows of one time become one row with a column per joint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, takewhile
from typing import NamedTuple

from qddot.errors import InputError
from qddot.logs.column_names import NAMES_A_JOINT, WORDS, says_quantity, shown, words_of

Cells = Callable[[str], list[str]]


class Tall(NamedTuple):
    """Columns of a table that hold the time and the joint of a row."""

    names: list[str]
    time: int
    joint: int


def tall(names: list[str], rows: list[list[str]]) -> Tall | None:
    """Return the columns of time and joint of a table with a row per joint; None for any other table."""
    words = [{word.text for word in words_of(name)} for name in names]
    joint = [i for i, found in enumerate(words) if found and found <= NAMES_A_JOINT]
    time = [i for i, found in enumerate(words) if found & WORDS["t"]]
    if len(joint) != 1 or not time or not any(says_quantity(name) for i, name in enumerate(names) if i not in time):
        return None
    if len({row[joint[0]] for row in rows if len(row) == len(names)}) < 2:
        return None
    return Tall(names, time[0], joint[0])


def side_by_side(
    file: str, table: Tall, first: list[list[str]], cells: Cells, lines: Iterable[str], delimiter: str
) -> Iterator[str]:
    """Yield the lines of a table with one row per time: the names, then the samples; `first` are the first rows.

    Raises:
        InputError: times that do not come with all joints at once, or a joint that the first time does not have.
    """
    begin = first[0][table.time] if first else ""
    joints = [row[table.joint] for row in takewhile(lambda row: len(row) == len(table.names) and row[table.time] == begin, first)]
    if len(joints) < 2 or len(set(joints)) < len(joints):
        raise InputError(
            f"{file}: a row for each joint, as {table.names[table.joint]!r} says, but not those of one time below each other "
            f"(sort the rows by {table.names[table.time]})"
        )
    others = [i for i in range(len(table.names)) if i not in (table.time, table.joint)]
    yield delimiter.join([table.names[table.time], *(f"{joint}/{table.names[i]}" for i in others for joint in joints)]) + "\n"
    for time, rows in groupby((cells(line) for line in lines if line.strip()), key=lambda row: row[table.time : table.time + 1]):
        of = {row[table.joint]: row for row in rows if len(row) == len(table.names)}
        if unknown := of.keys() - set(joints):
            raise InputError(f"{file}: at {''.join(time)} a row of {min(unknown)!r}; the first time has {shown(joints)}")
        numbers = [of[joint][i] if joint in of else "" for i in others for joint in joints]
        yield delimiter.join(f'"{x}"' if delimiter in x else x for x in (*time, *numbers)) + "\n"
