"""The table that direct entries read (see `direct`), and how their machine code (`direct_ir`) reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

WORDS = (
    "vectorcall", "incref", "decref", "array_type", "array_new", "float64", "kernel", "guest", "guest_function", "none", "direct",
    "save", "restore", "clear_flags", "get_flags", "result_type", "inputs", "outputs", "margins", "options", "ways", "quaternions",
    "q", "worth_loop", "most", "release", "out", "tuple_type",
)  # fmt: skip
WORD = {name: k for k, name in enumerate(WORDS)}
ROWS = {"input": (6, 2), "output": (4, 5), "option": (4, 1), "quaternion": (8, 1), "way": (16, 7)}
"""How many there can be, and words of each: size, limit; size, rank, shape; a name; where it begins; options, kernel, loop and its
task."""

PLACE = {name: len(WORDS) + sum(n * m for n, m in list(ROWS.values())[:k]) for k, name in enumerate(ROWS)}
TABLE = len(WORDS) + sum(n * m for n, m in ROWS.values())
WAY_KERNEL, WAY_LOOP, WAY_TASK = 4, 5, 6

ARGUMENTS = 12
"""Pointers that every kernel gets; those beyond its own it never sees."""


def word(name: str, which: str) -> str:
    """Load a word of %table."""
    return at(name, "%table", WORD[which], "i64")


def function(name: str, which: str) -> str:
    return at(name, "%table", WORD[which], "ptr")


def at(name: str, base: str, index: int | str, kind: str) -> str:
    return f"{name}_p = getelementptr i64, ptr {base}, i64 {index}\n{name} = load {kind}, ptr {name}_p"


def row(name: str, which: str, index: str, word: int, kind: str = "i64") -> str:
    """Load a word of a row of %table."""
    place, width = PLACE[which], ROWS[which][1]
    return f"{name}_o = mul i64 {index}, {width}\n{name}_r = add i64 {name}_o, {place + word}\n" + at(
        name, "%table", f"{name}_r", kind
    )


def field(name: str, thing: str, offset: int, kind: str) -> str:
    return f"{name}_p = getelementptr i8, ptr {thing}, i64 {offset}\n{name} = load {kind}, ptr {name}_p"


def put(value: str, base: str, index: str, tag: str) -> str:
    """Store a word."""
    return f"{tag}_to = getelementptr i64, ptr {base}, i64 {index}\nstore {value}, ptr {tag}_to"


def counter(*names: str) -> str:
    """Room for counters, which belongs to the head of a function."""
    return "\n".join(f"%{name}_room = alloca i64" for name in names)


def counted(name: str, count: str, body: Iterable[str]) -> Iterator[str]:
    """The body for %<name> = 0, 1, ... below a count. Its blocks may leave."""
    yield f"store i64 0, ptr %{name}_room\nbr label %{name}_head\n{name}_head:\n%{name} = load i64, ptr %{name}_room"
    yield f"%{name}_left = icmp slt i64 %{name}, {count}\nbr i1 %{name}_left, label %{name}_body, label %{name}_done\n{name}_body:"
    yield from body
    yield f"br label %{name}_next\n{name}_next:\n%{name}_1 = add i64 %{name}, 1\nstore i64 %{name}_1, ptr %{name}_room"
    yield f"br label %{name}_head\n{name}_done:"
