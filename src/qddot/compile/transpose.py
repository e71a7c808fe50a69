"""Rows to columns, W by W elements in registers."""

from __future__ import annotations

from collections.abc import Sequence

from qddot.compile.lanes import Lanes


def transpose(rows: Sequence[str], lanes: Lanes, tag: str) -> tuple[list[str], list[str]]:
    """W vectors of W elements, and the lines that make them: log2 W rounds of exchanges between pairs."""
    W, V, values, lines, half = lanes.width, lanes.number, list(rows), [], 1
    while half < W:
        new = list(values)
        for i in range(W):
            if i & half:
                continue
            a, b = values[i], values[i + half]
            low = [j if not j & half else j - half + W for j in range(W)]
            high = [j + half if not j & half else j + W for j in range(W)]
            for place, indices in ((i, low), (i + half, high)):
                name = f"{tag}_{half}_{place}"
                lines.append(f"{name} = shufflevector {V} {a}, {V} {b}, <{W} x i32> <{', '.join(f'i32 {x}' for x in indices)}>")
                new[place] = name
        values, half = new, 2 * half
    return values, lines
