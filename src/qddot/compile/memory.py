"""Local memory of a kernel's functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ON_STACK = 1 << 16
"""Most bytes on the stack, which is small in some threads; more are allocated."""


def rooms(sizes: Mapping[str, int]) -> Iterable[str]:
    """Yield IR for named buffers of these sizes in bytes, aligned to 64 bytes: on the stack unless they are too large for it."""
    total = sum(sizes.values())
    if total > ON_STACK:
        yield f"%rooms = call ptr @malloc(i64 {total + 64})"
        yield "%rooms_at = ptrtoint ptr %rooms to i64\n%rooms_up = add i64 %rooms_at, 63\n%rooms_even = and i64 %rooms_up, -64"
        yield "%even = inttoptr i64 %rooms_even to ptr"
    else:
        yield f"%even = alloca i8, i64 {max(total, 1)}, align 64"
    at = 0
    for name, size in sizes.items():
        yield f"%{name} = getelementptr i8, ptr %even, i64 {at}"
        at += size


def leave_rooms(sizes: Mapping[str, int]) -> Iterable[str]:
    """Yield IR that frees those buffers."""
    if sum(sizes.values()) > ON_STACK:
        yield "call void @free(ptr %rooms)"
