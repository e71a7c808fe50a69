"""Layout of the table that direct entries read (see `direct`), and IR for reading it (see `direct_ir`)."""

from __future__ import annotations

from qddot.compile.phrases import at

WORDS = (
    "vectorcall", "incref", "decref", "array_type", "array_new", "float64", "kernel", "guest", "guest_function", "none", "next",
    "save", "restore", "clear_flags", "get_flags", "result_type", "inputs", "outputs", "margins", "options", "ways", "quaternions",
    "q", "worth_loop", "most", "release", "out", "tuple_type", "scalar_of", "forget_error",
)  # fmt: skip
WORD = {name: k for k, name in enumerate(WORDS)}
ROWS = {"input": (6, 2), "output": (8, 5), "option": (4, 1), "quaternion": (8, 1), "way": (16, 7)}
"""Largest number of rows of each kind, and words in a row: an input's size and limit; an output's size, rank and shape; an option's
name; a quaternion's start in q; a way to compute: options, kernel, loop and its task."""

PLACE = {name: len(WORDS) + sum(n * m for n, m in list(ROWS.values())[:k]) for k, name in enumerate(ROWS)}
TABLE = len(WORDS) + sum(n * m for n, m in ROWS.values())
WAY_KERNEL, WAY_LOOP, WAY_TASK = 4, 5, 6

ARGUMENTS = 12
"""Number of pointers that are passed to every kernel, which ignores those beyond its own parameters."""


def word(name: str, which: str) -> str:
    """Return IR that loads a word of %table."""
    return at(name, "%table", WORD[which], "i64")


def function(name: str, which: str) -> str:
    """Return IR that loads a pointer from %table."""
    return at(name, "%table", WORD[which], "ptr")


def row(name: str, which: str, index: str, word: int, kind: str = "i64") -> str:
    """Return IR that loads a word of a row of %table."""
    place = f"{name}_o = mul i64 {index}, {ROWS[which][1]}\n{name}_r = add i64 {name}_o, {PLACE[which] + word}\n"
    return place + at(name, "%table", f"{name}_r", kind)
