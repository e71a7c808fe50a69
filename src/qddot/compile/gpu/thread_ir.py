"""A program as LLVM IR for a GPU: one thread a state, all values in registers, in the order in which the algorithm made them.

    kernel(states, (row, stride) of each input..., out of each output..., worst)

Inputs are rows whose elements are adjacent; the distance of two rows is an argument, 0 where all states share one. Outputs are
rows side by side. A thread that finds a margin that is not positive, or a result that is no number, lowers `worst` to its state:
whoever launched the kernel looks there later.

Products and sums are fused where the CPU's kernels fuse them, sine and cosine are the same polynomials, divisions and roots are
rounded correctly: each result has the bits that the CPU gives it (angles below `sincos.LIMIT`; beyond, the result is no number).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from qddot.compile import sincos
from qddot.compile.gpu.windows import WARP, Window, flush, room_of, windows
from qddot.compile.kernel_ir import Emitter
from qddot.compile.lanes import Lanes
from qddot.errors import DeviceError
from qddot.graph.expr import Expr, schedule
from qddot.graph.program import Program

KERNEL = "qddot"
LAYOUT = 'target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"'
TRIPLE = "nvptx64-nvidia-cuda"

INTRINSICS = """declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i64 @llvm.umin.i64(i64, i64)"""

LIKELY = '!0 = !{!"branch_weights", i32 100000, i32 1}'

NARROW = 16
"""Up to this many numbers a state are stored where they belong at once; more go through shared memory, to leave in whole lines."""

TILE = 12 << 10
"""Bytes: a warp whose tile is larger is a block of its own, so that as many of them as can be are at work."""


class Shape(NamedTuple):
    """How a kernel is laid out.

    Attributes:
        element_major: outputs have the states last: element k of all states side by side.
        shared: bytes of shared memory that a block may have: so many that a multiprocessor holds three of the largest.
        registers: at most so many a thread, so that more threads are at work; None: as many as it likes.
        threads: of a block; None: chosen by the size of the results.
    """

    element_major: bool = False
    shared: int = 75 << 10
    registers: int | None = None
    threads: int | None = None


class Source(NamedTuple):
    """A module with the kernel `qddot`, the threads of its blocks, and the shared memory that each needs, in bytes."""

    text: str
    threads: int
    shared: int


def source(program: Program, real: str, shape: Shape) -> Source:
    """The IR of a program over `double` or `float`."""
    kernel = ThreadKernel(program, Lanes(1, real), shape)
    head = [LAYOUT, f'target triple = "{TRIPLE}"', INTRINSICS, LIKELY, *kernel.lanes.declarations()]
    text = "\n".join([*head, *kernel.globals(), *define_sincos(kernel.lanes), *kernel.define()]) + "\n"
    return Source(text, kernel.threads, kernel.shared_bytes)


def define_sincos(lanes: Lanes) -> Iterable[str]:
    """Sine and cosine of one angle, as the CPU's; not a number beyond its reach, so that somebody looks."""
    V, I = lanes.number, lanes.integer
    yield f"define internal {{{V}, {V}}} @sincos({V} %x) alwaysinline nounwind {{"
    yield from sincos.turns(lanes)
    yield from sincos.near_zero(lanes)
    yield f"%lost = icmp ugt {I} %beyond, {2 * sincos.REACH[lanes.real] - 1}"
    nan = lanes.literal(float("nan"))
    yield f"%s_seen = select i1 %lost, {V} {nan}, {V} %sine\n%c_seen = select i1 %lost, {V} {nan}, {V} %cosine"
    yield f"%pair = insertvalue {{{V}, {V}}} poison, {V} %s_seen, 0\n%both = insertvalue {{{V}, {V}}} %pair, {V} %c_seen, 1"
    yield f"ret {{{V}, {V}}} %both\n}}"


class ThreadKernel(Emitter):
    """The kernel's text. Angles are turned where they are needed, and nothing is cut into parts: calls would cost more."""

    def __init__(self, program: Program, lanes: Lanes, shape: Shape) -> None:
        super().__init__(program, lanes, in_one=True)
        self.shape = shape
        self.outputs = [x for x in program.outputs if x.name != "margins"]
        self.margins = [x for output in program.outputs if output.name == "margins" for x in output.values]
        self.staged = not shape.element_major and sum(x.size for x in self.outputs) > NARROW
        column = WARP * lanes.bits // 8
        self.windows: list[Window] = windows(self.outputs, shape.shared // column - 1) if self.staged else []
        self.room = room_of(self.windows) if self.staged else 0
        self.threads = shape.threads or (WARP if self.room * column > TILE else 4 * WARP)
        self.watch = lanes.literal(0.0)
        self.checks = 0

    @property
    def shared_bytes(self) -> int:
        """Of a block's shared memory."""
        return self.threads * self.room * self.lanes.bits // 8

    def globals(self) -> Iterable[str]:
        if self.staged:
            yield f"@tiles = external addrspace(3) global [0 x {self.lanes.real}], align 16"

    def define(self) -> Iterable[str]:
        real = self.lanes.real
        inputs = [f"ptr noalias readonly %base{k}, i64 %stride{k}" for k in range(len(self.program.inputs))]
        outputs = [f"ptr noalias writeonly %out{k}" for k in range(len(self.outputs))]
        arguments = ", ".join(["i64 %states", *inputs, *outputs, "ptr %worst"])
        limit = f' "nvvm.maxnreg"="{self.shape.registers}"' if self.shape.registers else ""
        yield f'define ptx_kernel void @{KERNEL}({arguments}) "nvvm.maxntid"="{self.threads}"{limit} {{\nentry:'
        yield "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"
        yield f"%block_at = zext i32 %block to i64\n%first = mul i64 %block_at, {self.threads}\n%tid_wide = zext i32 %tid to i64"
        yield "%mine = add i64 %first, %tid_wide"
        if self.staged:  # every lane of a warp with a state helps to write
            yield f"%lane = and i32 %tid, {WARP - 1}\n%lane_wide = zext i32 %lane to i64\n%warp_first = sub i64 %mine, %lane_wide"
            yield "%any = icmp ult i64 %warp_first, %states\nbr i1 %any, label %work, label %done\nwork:"
            yield "%last = sub i64 %states, 1\n%state = call i64 @llvm.umin.i64(i64 %mine, i64 %last)"
            yield f"%after = sub i64 %states, %warp_first\n%rows_wide = call i64 @llvm.umin.i64(i64 %after, i64 {WARP})"
            yield "%rows = trunc i64 %rows_wide to i32"
            yield f"%warp_tid = sub i32 %tid, %lane\n%tile_at = mul i32 %warp_tid, {self.room}"
            yield f"%tile = getelementptr {real}, ptr addrspace(3) @tiles, i32 %tile_at"
            yield f"%row_at = mul i32 %lane, {self.room}\n%row = getelementptr {real}, ptr addrspace(3) %tile, i32 %row_at"
        else:
            yield "%any = icmp ult i64 %mine, %states\nbr i1 %any, label %work, label %done\nwork:"
            yield "%state = add i64 %mine, 0"
            for k, output in enumerate(self.outputs):
                yield f"%place{k} = mul i64 %state, {1 if self.shape.element_major else output.size}"
                yield f"%to{k} = getelementptr {real}, ptr %out{k}, i64 %place{k}"
        for k in range(len(self.program.inputs)):
            yield f"%at{k} = mul i64 %state, %stride{k}\n%in{k} = getelementptr {real}, ptr %base{k}, i64 %at{k}"
        yield from self.staged_body() if self.staged else self.plain_body()
        yield from self.report()
        yield "br label %done\ndone:\nret void\n}"

    def plain_body(self) -> Iterable[str]:
        """Each result goes to its place at once."""
        places: dict[Expr, list[tuple[int, int]]] = {}
        for k, output in enumerate(self.outputs):
            for element, x in enumerate(output.values):
                if x.__class__ is Expr:
                    places.setdefault(x, []).append((k, element))
                else:
                    yield from self.put(k, element, self.lanes.literal(x))
        for node in self.in_order([*places, *self.margins]):
            yield from self.instruction(node)
            for n, (k, element) in enumerate(places.get(node, ())):
                yield from self.put(k, element, self.value(node))
                yield from self.watched(node) if n == 0 else ()

    def put(self, k: int, element: int, value: str) -> Iterable[str]:
        """A number into output k."""
        V, place = self.lanes.number, f"%p{k}_{element}"
        if self.shape.element_major:
            yield f"{place}_at = mul i64 %states, {element}\n{place} = getelementptr {V}, ptr %to{k}, i64 {place}_at"
        else:
            yield f"{place} = getelementptr {V}, ptr %to{k}, i64 {element}"
        yield f"store {V} {value}, ptr {place}"

    def staged_body(self) -> Iterable[str]:
        """Results gather in the warp's tile; a full tile is written by all lanes together."""
        for window in self.windows:
            slots: dict[object, list[int]] = {}
            for slot, x in enumerate(window.values):
                slots.setdefault(x, []).append(slot)
            for x in [x for x in slots if x.__class__ is not Expr or x in self.here]:
                yield from self.into_tile(window, slots.pop(x), x)
            for node in self.in_order(window.values):
                yield from self.instruction(node)
                if node in slots:
                    yield from self.into_tile(window, slots[node], node)
                    yield from self.watched(node)
            yield from flush(window, self.room, self.lanes.real, self.outputs)
        for node in self.in_order(self.margins):
            yield from self.instruction(node)

    def into_tile(self, window: Window, slots: Sequence[int], x: object) -> Iterable[str]:
        for slot in slots:
            place = f"%t{window.number}_{slot}"
            yield f"{place} = getelementptr {self.lanes.real}, ptr addrspace(3) %row, i32 {slot}"
            yield f"store {self.lanes.real} {self.value(x)}, ptr addrspace(3) {place}"

    def in_order(self, results: Iterable[object]) -> list[Expr]:
        """The nodes that results still need, in the order of their making; leaves only where they are results themselves."""
        wanted = {x for x in results if x.__class__ is Expr}
        nodes = (n for n in schedule(wanted) if n not in self.fused and n not in self.here)
        return sorted((n for n in nodes if not self.is_leaf(n) or n in wanted), key=lambda node: node.number)

    def watched(self, node: Expr) -> Iterable[str]:
        """Zero times every result: a sum that is no number as soon as one of them is none."""
        self.checks += 1
        after = f"%watch{self.checks}"
        yield f"{after} = {self.lanes.call('fma', self.value(node), self.lanes.literal(0.0), self.watch)}"
        self.watch = after

    def report(self) -> Iterable[str]:
        """Lower `worst` to this state where something is wrong with it."""
        V, zero = self.lanes.number, self.lanes.literal(0.0)
        yield f"%sound0 = fcmp oeq {V} {self.watch}, {zero}"
        sound = "%sound0"
        for k, margin in enumerate(self.margins, 1):
            yield f"%positive{k} = fcmp ogt {V} {self.value(margin)}, {zero}\n%sound{k} = and i1 {sound}, %positive{k}"
            sound = f"%sound{k}"
        yield f"br i1 {sound}, label %fine, label %wrong, !prof !0\nwrong:"
        yield "%least = atomicrmw umin ptr %worst, i64 %state monotonic\nbr label %fine\nfine:"

    def lane_by_lane(self, node: Expr, function: str) -> Iterable[str]:
        raise DeviceError(f"{self.program.name} needs {function}, for which there is no code on a GPU: compute it on the CPU")

    def late_sincos(self, node: Expr) -> Iterable[str]:
        """Both come from one call."""
        V, (angle,) = self.lanes.number, node.args
        if angle not in self.passed:
            self.passed.add(angle)
            yield f"%both{self.late[angle]} = call {{{V}, {V}}} @sincos({V} {self.value(angle)})"
        yield f"{self.value(node)} = extractvalue {{{V}, {V}}} %both{self.late[angle]}, {int(node.op == 'cos')}"
