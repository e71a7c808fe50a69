"""IR for operations of more than one instruction: signs, choices, functions of the C library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qddot.compile.lanes import Lanes


def sign_of(out: str, x: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR for the sign of x: -1, 0 or 1."""
    V, zero = lanes.number, lanes.literal(0.0)
    yield f"{out}_up = fcmp ogt {V} {x}, {zero}\n{out}_down = fcmp olt {V} {x}, {zero}"
    yield f"{out}_low = select {lanes.truth} {out}_down, {V} {lanes.literal(-1.0)}, {V} {zero}"
    yield f"{out} = select {lanes.truth} {out}_up, {V} {lanes.literal(1.0)}, {V} {out}_low"


def choice(out: str, args: Sequence[str], lanes: Lanes) -> Iterable[str]:
    """Yield IR for `then` in lanes where x is positive, else `otherwise`; `args`: x, then, otherwise."""
    x, then, otherwise = args
    yield f"{out}_up = fcmp ogt {lanes.number} {x}, {lanes.literal(0.0)}"
    yield f"{out} = select {lanes.truth} {out}_up, {lanes.number} {then}, {lanes.number} {otherwise}"


def lane_by_lane(function: str, out: str, args: Sequence[str], lanes: Lanes) -> Iterable[str]:
    """Yield IR that calls a function of the C library for each lane."""
    function += "f" if lanes.real == "float" else ""
    if lanes.width == 1:
        yield f"{out} = call {lanes.real} @{function}({', '.join(f'{lanes.real} {x}' for x in args)})"
        return
    built = "poison"
    for k in range(lanes.width):
        for j, x in enumerate(args):
            yield f"{out}_e{k}_{j} = extractelement {lanes.number} {x}, i64 {k}"
        given = ", ".join(f"{lanes.real} {out}_e{k}_{j}" for j in range(len(args)))
        yield f"{out}_y{k} = call {lanes.real} @{function}({given})"
        new = out if k == lanes.width - 1 else f"{out}_w{k}"
        yield f"{new} = insertelement {lanes.number} {built}, {lanes.real} {out}_y{k}, i64 {k}"
        built = new
