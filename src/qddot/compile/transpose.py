"""IR that transposes rows of memory to columns in registers, and back, for W states at a time.

Columns are read half a vector at a time. Halves of two rows share a vector, which loading does at no cost, so that 8 by 8 elements
take 16 shuffles instead of 24. The last columns of results, which fill no whole vector, are written in the same way; if there are
fewer than W/2, the half overlaps the columns before.
"""

from __future__ import annotations

from collections.abc import Sequence

from qddot.compile.lanes import Lanes


def read_columns(rows: Sequence[str], count: int, lanes: Lanes, tag: str) -> tuple[list[str], list[str]]:
    """Return vectors of columns, made of the first `count` <= W/2 elements at W addresses, and the lines that make them."""
    W, H, Q, V, align, lines = lanes.width, lanes.half, lanes.width // 4, half_vector(lanes), lanes.bits // 8, []
    for r, row in enumerate(rows):
        if count == H:
            lines.append(f"{tag}_h{r} = load {V}, ptr {row}, align {align}")
        else:
            where = f"ptr align {align} {row}, {mask(count, H)}, {V} zeroinitializer"
            lines.append(f"{tag}_h{r} = call {V} @llvm.masked.load.{suffix(lanes)}.p0({where})")

    def pair(r: int, other: int) -> str:
        lines.append(f"{tag}_p{r} = shufflevector {V} {tag}_h{r}, {V} {tag}_h{other}, {indices(range(W))}")
        return f"{tag}_p{r}"

    if W < 8:
        return exchange([pair(r, r + H) for r in range(H)], lanes, tag, lines)[:count], lines
    # with rows r and r + W/4 in one vector, quarters of vectors are sorted by an instruction that needs no table of indices
    low, high, columns = [pair(r, r + Q) for r in range(Q)], [pair(r, r + Q) for r in range(H, H + Q)], []
    for odd in (0, 1):
        quarters = indices([j for j in range(2 * W) if j // Q % 2 == odd])
        sorted_ = [f"{tag}_q{odd}{r}" for r in range(Q)]
        for name, a, b in zip(sorted_, low, high):
            lines.append(f"{name} = shufflevector {lanes.number} {a}, {lanes.number} {b}, {quarters}")
        columns += exchange(sorted_, lanes, f"{tag}_x{odd}", lines)
    return columns[:count], lines


def write_columns(columns: Sequence[str], rows: Sequence[str], lanes: Lanes, tag: str) -> list[str]:
    """Return the lines that store W vectors of columns, or up to W/2, at W addresses. Shuffles are cheaper than stores."""
    H, V, align, count, lines = lanes.half, half_vector(lanes), lanes.bits // 8, len(columns), []
    if count == lanes.width:
        whole = exchange(columns, lanes, tag, lines)
        return [*lines, *(f"store {lanes.number} {x}, ptr {row}, align {align}" for x, row in zip(whole, rows))]
    pairs = exchange([*columns, *["poison"] * (H - count)], lanes, tag, lines)
    for r, row in enumerate(rows):
        part, value = indices(range(H) if r < H else range(H, lanes.width)), f"{tag}_h{r}"
        lines.append(f"{value} = shufflevector {lanes.number} {pairs[r % H]}, {lanes.number} poison, {part}")
        if count == H:
            lines.append(f"store {V} {value}, ptr {row}, align {align}")
        else:
            where = f"{V} {value}, ptr align {align} {row}, {mask(count, H)}"
            lines.append(f"call void @llvm.masked.store.{suffix(lanes)}.p0({where})")
    return lines


def exchange(values: Sequence[str], lanes: Lanes, tag: str, lines: list[str]) -> list[str]:
    """Transpose W vectors, or W/2 in each of their halves, by rounds of exchanges between pairs; append the lines, and return the
    names of the transposed vectors."""
    W, V, values, step = lanes.width, lanes.number, list(values), 1
    while step < len(values):
        new = list(values)
        for i in range(len(values)):
            if i & step:
                continue
            low = [j if not j & step else j - step + W for j in range(W)]
            high = [j + step if not j & step else j + W for j in range(W)]
            for place, order in ((i, low), (i + step, high)):
                new[place] = f"{tag}_{step}_{place}"
                lines.append(f"{new[place]} = shufflevector {V} {values[i]}, {V} {values[i + step]}, {indices(order)}")
        values, step = new, 2 * step
    return values


def declarations(lanes: Lanes) -> list[str]:
    V, truth, end = half_vector(lanes), f"<{lanes.half} x i1>", suffix(lanes)
    return [
        f"declare {V} @llvm.masked.load.{end}.p0(ptr, {truth}, {V})",
        f"declare void @llvm.masked.store.{end}.p0({V}, ptr, {truth})",
    ]


def half_vector(lanes: Lanes) -> str:
    return f"<{lanes.half} x {lanes.real}>"


def suffix(lanes: Lanes) -> str:
    return f"v{lanes.half}f{lanes.bits}"


def indices(order: Sequence[int]) -> str:
    return f"<{len(order)} x i32> <{', '.join(f'i32 {x}' for x in order)}>"


def mask(count: int, width: int) -> str:
    bits = ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(width))
    return f"<{width} x i1> <{bits}>"
