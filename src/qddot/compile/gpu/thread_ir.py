"""IR of a kernel for a GPU that runs a program once for each state.

    kernel(states, (row, stride) of each input..., out of each output..., worst)

Inputs are rows with contiguous elements; the stride of rows is an argument, 0 if all states share one row. Outputs are contiguous
rows. A thread with a margin that is not positive, or a result that is not finite, writes the number of its state to `worst`, which
the host reads later.
"""

from __future__ import annotations

from collections.abc import Iterable

from qddot.compile.gpu.dialects import NVIDIA, Dialect
from qddot.compile.gpu.order import most_waiting
from qddot.compile.gpu.thread import FREELY, SPARINGLY, WARP, Shape, Source, Thread, told_by_others
from qddot.compile.gpu.windows import Piece, Window, flush, room_of, windows
from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Program

NARROW = 16
"""Most numbers of a state's results that are stored directly, by blocks of two warps; more go through shared memory, to be written
in whole lines. Measured (H200, 7-joint arm, share of the bandwidth of a copy, two warps and four): inverse dynamics 80.0 and 79.2
%, in doubles 89.8 and 88.4 %; forward dynamics 58.1 and 57.8 %, in doubles 55.6 and 53.4 %."""

WIDE, FEW = 256, 80
"""With the states last, results of more than `WIDE` numbers and programs with at most `FEW` live values have blocks of 16 warps,
whose stores are side by side. Measured (H200, regressor of a 7-joint arm): 81 % of a copy's bandwidth, 76 % with four; narrower
results lose."""

TILE = 12 << 10
"""Bytes of a warp's tile above which each warp is a block of its own, so that as many warps as possible run."""


def source(program: Program, real: str, shape: Shape, dialect: Dialect = NVIDIA) -> Source:
    """Return the kernel of a program over `double` or `float`."""
    return ThreadKernel(program, Lanes(1, real), shape, dialect).source()


class ThreadKernel(Thread):
    """Emitter of a kernel that runs a program once for each state.

    Values are computed again (see `anew`), but sparingly if rows of floats go through shared memory: more warps would take shared
    memory that the cache needs. Measured (H200, derivatives of forward dynamics of a 7-joint arm, share of the bandwidth of a
    copy): rows of floats 54.8 % without (272 bytes spilled), 56.2 freely, 58 to 59 sparingly; floats with the states last 60.3 and
    freely 65.4; doubles 21 and 39 %, with the states last 21 and 53 %.
    """

    def __init__(self, program: Program, lanes: Lanes, shape: Shape, dialect: Dialect = NVIDIA) -> None:
        super().__init__(program, lanes, shape, dialect)
        self.told = told_by_others(program)
        self.staged = not shape.element_major and sum(x.size for x in self.outputs) > NARROW
        column = WARP * lanes.bits // 8
        self.repeating = SPARINGLY if self.staged and lanes.real == "float" else FREELY
        self.windows: list[Window] = windows(self.outputs, shape.shared // column) if self.staged else []
        self.room = room_of(self.windows) if self.staged else 0
        usual = 4 * WARP if self.staged or shape.element_major else 2 * WARP
        self.threads = shape.threads or (WARP if self.room * column > TILE else usual)
        if (
            shape.element_major
            and shape.threads is None
            and sum(x.size for x in self.outputs) > WIDE
            and self.most_waiting() <= FEW
        ):
            self.threads = 16 * WARP
        self.shared_bytes = self.threads * self.room * lanes.bits // 8

    def most_waiting(self) -> int:
        """Return the largest number of values that are alive at the same time, in the order of their making."""
        made, operands, _ = self.needed([x for output in self.outputs for x in output.values])
        return most_waiting(made, operands)

    def globals(self) -> Iterable[str]:
        if self.staged:
            yield f"@tiles = external addrspace(3) global [0 x {self.lanes.real}], align 16"

    def define(self) -> Iterable[str]:
        real = self.lanes.real
        inputs = [f"ptr noalias readonly %base{k}, i64 %stride{k}" for k in range(len(self.program.inputs))]
        outputs = [f"ptr noalias writeonly %out{k}" for k in range(len(self.outputs))]
        yield from self.begin(["i64 %states", *inputs, *outputs, "ptr %worst"])
        if self.staged:  # all lanes of a warp write together; those beyond the last state compute that state again
            yield f"%lane = and i32 %tid, {WARP - 1}\n%lane_wide = zext i32 %lane to i64\n%warp_first = sub i64 %mine, %lane_wide"
            yield "%any = icmp ult i64 %warp_first, %states\nbr i1 %any, label %work, label %done\nwork:"
            yield "%last = sub i64 %states, 1\n%state = call i64 @llvm.umin.i64(i64 %mine, i64 %last)"
            yield f"%after = sub i64 %states, %warp_first\n%rows_wide = call i64 @llvm.umin.i64(i64 %after, i64 {WARP})"
            yield "%rows = trunc i64 %rows_wide to i32"
            yield f"%warp_tid = sub i32 %tid, %lane\n%tile_at = mul i32 %warp_tid, {self.room}"
            yield f"%tile = getelementptr {real}, ptr addrspace(3) @tiles, i32 %tile_at"
            for apart in sorted({piece.pitch for window in self.windows for piece in window.pieces}):
                yield f"%skip{apart} = mul i32 %lane, {apart}"
                yield f"%row{apart} = getelementptr {real}, ptr addrspace(3) %tile, i32 %skip{apart}"
        else:
            yield "%any = icmp ult i64 %mine, %states\nbr i1 %any, label %work, label %done\nwork:"
            yield "%state = add i64 %mine, 0"
            yield f"%column_bytes = mul i64 %states, {self.lanes.bits // 8}\n%column_short = trunc i64 %column_bytes to i32"
            yield "%column = zext i32 %column_short to i64"  # so that an address takes one instruction
            for k, output in enumerate(self.outputs):
                yield f"%place{k} = mul i64 %state, {1 if self.shape.element_major else output.size}"
                yield f"%to{k} = getelementptr {real}, ptr %out{k}, i64 %place{k}"
        for k in range(len(self.program.inputs)):
            yield f"%at{k} = mul i64 %state, %stride{k}\n%in{k} = getelementptr {real}, ptr %base{k}, i64 %at{k}"
        yield from self.staged_body() if self.staged else self.plain_body()
        yield from self.sound()
        yield from self.report("%sound")

    def plain_body(self) -> Iterable[str]:
        """Yield the body of a kernel that stores each result directly."""
        places: dict[Expr, list[tuple[int, int]]] = {}
        for k, output in enumerate(self.outputs):
            for element, x in enumerate(output.values):
                if x.__class__ is Expr:
                    places.setdefault(x, []).append((k, element))
                else:
                    yield from self.put(k, element, self.lanes.literal(x))

        def leave(node: Expr) -> Iterable[str]:
            for n, (k, element) in enumerate(places.pop(node, ())):
                yield from self.put(k, element, self.value(node))
                yield from self.watched(node) if n == 0 and node not in self.told else ()

        yield from self.computed([*places, *self.margins], leave)

    def put(self, k: int, element: int, value: str) -> Iterable[str]:
        """Yield IR that stores an element of output k."""
        V, place = self.lanes.number, f"%p{k}_{element}"
        if self.shape.element_major:
            yield f"{place}_at = mul nuw i64 %column, {element}\n{place} = getelementptr i8, ptr %to{k}, i64 {place}_at"
            yield f"call void @leave.{V}(ptr {place}, {V} {value})"
        else:
            yield f"{place} = getelementptr {V}, ptr %to{k}, i64 {element}\nstore {V} {value}, ptr {place}"

    def staged_body(self) -> Iterable[str]:
        """Yield the body of a kernel that collects results in the warp's tile, which all lanes write together when it is full."""
        for window in self.windows:
            slots: dict[object, list[tuple[Piece, int]]] = {}
            for piece, values in zip(window.pieces, window.values):
                for column, x in enumerate(values):
                    slots.setdefault(x, []).append((piece, column))
            for x in [x for x in slots if x.__class__ is not Expr or x in self.here]:
                yield from self.into_tile(window, slots.pop(x), x)

            def leave(node: Expr, window: Window = window, slots: dict = slots) -> Iterable[str]:
                if node in slots:
                    yield from self.into_tile(window, slots.pop(node), node)
                    yield from self.watched(node) if node not in self.told else ()

            if len(self.windows) == 1:
                yield from self.computed([*slots, *self.margins], leave)
            else:
                yield from self.one_by_one(self.in_order(slots), leave)
            yield from flush(window, self.lanes.real, self.outputs)
        if len(self.windows) > 1:
            yield from self.one_by_one(self.in_order(self.margins), lambda node: ())

    def into_tile(self, window: Window, slots: Iterable[tuple[Piece, int]], x: object) -> Iterable[str]:
        """Yield IR that stores a value to its places in the tile."""
        for piece, column in slots:
            place = f"%t{window.number}_{piece.at + column}"
            yield f"{place} = getelementptr {self.lanes.real}, ptr addrspace(3) %row{piece.pitch}, i32 {WARP * piece.at + column}"
            yield f"store {self.lanes.real} {self.value(x)}, ptr addrspace(3) {place}"
