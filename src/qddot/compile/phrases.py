"""Phrases of LLVM IR that recur: elements of arrays of words, fields of structures, constant addresses, loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def at(name: str, base: str, index: int | str, kind: str) -> str:
    """Return IR that loads element `index` of an array of words."""
    return f"{name}_p = getelementptr i64, ptr {base}, i64 {index}\n{name} = load {kind}, ptr {name}_p"


def put(value: str, base: str, index: int | str, tag: str) -> str:
    """Return IR that stores element `index` of an array of words."""
    return f"{tag}_to = getelementptr i64, ptr {base}, i64 {index}\nstore {value}, ptr {tag}_to"


def field(name: str, thing: str, offset: int, kind: str = "ptr") -> str:
    """Return IR that loads a field of a structure, at an offset in bytes."""
    return f"{name}_p = getelementptr i8, ptr {thing}, i64 {offset}\n{name} = load {kind}, ptr {name}_p"


def constant(address: int | None) -> str:
    """Return an address of this process as a constant."""
    return f"inttoptr (i64 {address or 0} to ptr)"


def counted(name: str, count: str, body: Iterable[str]) -> Iterator[str]:
    """Yield a loop around the body, for %<name> = 0, 1, ... below a count. The body may branch out of it."""
    yield f"br label %{name}_begin\n{name}_begin:\nbr label %{name}_head\n{name}_head:"
    yield f"%{name} = phi i64 [ 0, %{name}_begin ], [ %{name}_1, %{name}_next ]\n%{name}_left = icmp slt i64 %{name}, {count}"
    yield f"br i1 %{name}_left, label %{name}_body, label %{name}_done\n{name}_body:"
    yield from body
    yield f"br label %{name}_next\n{name}_next:\n%{name}_1 = add i64 %{name}, 1\nbr label %{name}_head\n{name}_done:"
