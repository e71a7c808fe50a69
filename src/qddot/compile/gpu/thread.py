"""The parts that all kernels for GPUs share: one thread for each state, with all values in registers.

Products and sums are fused where the CPU's kernels fuse them, sine and cosine are the same polynomials, divisions and roots are
rounded correctly: so each result has the bits of the CPU (for angles below `sincos.LIMIT`; beyond, the result is NaN).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from qddot.compile import sincos
from qddot.compile.gpu.anew import halves
from qddot.compile.gpu.atan2_ir import define_atan2
from qddot.compile.gpu.dialects import NVIDIA, Dialect
from qddot.compile.gpu.order import fewest_waiting, most_waiting
from qddot.compile.kernel_ir import Emitter
from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr, schedule
from qddot.graph.program import Program
from qddot.model.scalar import Scalar

KERNEL = "qddot"
ANEW = ".again"
NAME, DEFINED = re.compile(r"%[\w.]+"), re.compile(r"^(%[\w.]+) = ", re.MULTILINE)
UMIN = "declare i64 @llvm.umin.i64(i64, i64)"
LIKELY = '!0 = !{!"branch_weights", i32 100000, i32 1}'
WARP = 32

HANDED_ON = frozenset(("+", "-", "*", "neg"))
"""Operations whose result is NaN if an operand is, and infinite or NaN if an operand is infinite."""

WAITING = {"float": 255, "double": 127}
"""Number of values for which a thread has registers."""

WORTH = 0.98
"""Another order than that of the nodes' making is used if at most this share of the values is alive in it. In forward dynamics of a
humanoid of 29 joints it is 376 values instead of 378, and more is spilled."""

MANY = {"float": 180, "double": 80}
"""If more values than this are alive, some are computed again (see `anew`)."""

CUTS = {"float": 24, "double": 10}
"""Number of cuts that are tried for that. Measured (H200, derivatives of forward dynamics of a 7-joint arm, floats, states last,
share of the bandwidth of a copy): 65.4 % with 24 cuts (24 bytes spilled), 64.2 to 64.9 % with 10 (44 bytes). Doubles spill more
with 24."""


class Repeating(NamedTuple):
    """Conditions under which values are computed again (see `anew`)."""

    worth: int  # operations that a register is worth
    fewer: float  # largest share of the live values that may remain


FREELY, SPARINGLY = Repeating(10, 0.75), Repeating(3, 1.0)


class Shape(NamedTuple):
    """The layout of a kernel's outputs, and its limits."""

    element_major: bool = False  # True if outputs have the states last: element k of all states side by side
    shared: int = 75 << 10  # largest shared memory of a block, in bytes; a multiprocessor has room for three such blocks
    registers: int | None = None  # largest number of registers of a thread, so that more threads run; None: no limit
    threads: int | None = None  # threads of a block; None: chosen by the size of the results


class Source(NamedTuple):
    """A module with the kernel `qddot`, the threads of its blocks, and the shared memory that each needs, in bytes."""

    text: str
    threads: int
    shared: int


class Thread(Emitter):
    """Emitter of a kernel. Sines and cosines are computed where they are needed, and nothing is cut into parts: calls would cost
    more.

    Attributes:
        outputs: the outputs without margins.
        watch: IR name of a sum of zero times the results so far; `good`: that of "all margins so far are positive".
        threads: number of threads of a block.
    """

    threads: int
    shared_bytes = 0
    repeating = FREELY

    def __init__(self, program: Program, lanes: Lanes, shape: Shape, dialect: Dialect = NVIDIA) -> None:
        super().__init__(program, lanes, in_one=True)
        self.shape, self.dialect = shape, dialect
        self.outputs = program.shown
        self.margins = [x for output in program.margins for x in output.values]
        self.unseen = {x for x in self.margins if x.__class__ is Expr}
        self.watch, self.good = lanes.literal(0.0), "true"
        self.checks = 0
        self.has_atan2 = any(node.op == "atan2" for node in program.nodes)

    def source(self) -> Source:
        """Return the whole module."""
        head = [self.dialect.head, UMIN, LIKELY, *self.lanes.declarations()]
        functions = [*define_sincos(self.lanes), *(define_atan2(self.lanes) if self.has_atan2 else ())]
        text = "\n".join([*head, *self.globals(), *functions, *self.define()]) + "\n"
        return Source(text, self.threads, self.shared_bytes)

    def globals(self) -> Iterable[str]:
        """Yield the module's global variables."""
        return ()

    def define(self) -> Iterable[str]:
        """Yield the kernel."""
        raise NotImplementedError

    def begin(self, arguments: Iterable[str]) -> Iterable[str]:
        """Yield the kernel's head, and IR for %mine, the number of the thread's state."""
        limit = self.dialect.limit.format(self.shape.registers) if self.shape.registers else ""
        attributes = self.dialect.attributes.format(self.threads) + limit
        yield f"{self.dialect.kernel} void @{KERNEL}({', '.join(arguments)}) {attributes} {{\nentry:"
        yield "%tid = call i32 @thread()\n%block = call i32 @block()"
        yield f"%block_at = zext i32 %block to i64\n%first = mul i64 %block_at, {self.threads}\n%tid_wide = zext i32 %tid to i64"
        # `or` instead of `add` if their bits do not overlap: LLVM would do so itself if it knew the largest thread index. The
        # driver then needs 72 registers instead of 80 for forward dynamics of a 7-joint arm.
        yield f"%mine = {'add' if self.threads & (self.threads - 1) else 'or'} i64 %first, %tid_wide"

    def in_order(self, results: Iterable[object]) -> list[Expr]:
        """Return the nodes that results still need, in the order of their making unless too many values would be alive."""
        made, operands, _ = self.needed(results)
        most = most_waiting(made, operands)
        if most <= WAITING[self.lanes.real]:
            return made
        other = fewest_waiting(made, operands)
        return other if most_waiting(other, operands) <= WORTH * most else made

    def needed(self, results: Iterable[object]) -> tuple[list[Expr], dict[Expr, list[Expr]], set[Expr]]:
        """Return the nodes that results still need, in the order of their making, the operands of each among them, and the results
        that are nodes. Leaves are included only if they are results."""
        wanted: set[Any] = {x for x in results if x.__class__ is Expr}
        nodes = (n for n in schedule(wanted) if n not in self.fused and n not in self.here)
        made = sorted((n for n in nodes if not self.is_leaf(n) or n in wanted), key=lambda node: node.number)
        inside = set(made)
        return made, {n: [a for a in dict.fromkeys(self.operands(n)) if a in inside] for n in made}, wanted

    def computed(self, results: Iterable[object], then: Callable[[Expr], Iterable[str]]) -> Iterable[str]:
        """Yield IR of the nodes that results still need, each followed by `then(node)`; in two halves if so many values would be
        alive that it is better to compute some again."""
        made, operands, wanted = self.needed(results)
        most = most_waiting(made, operands)
        real, (worth, fewer) = self.lanes.real, self.repeating
        found = halves(made, operands, wanted, CUTS[real], worth) if most > MANY[real] else None
        if found is None or found.waiting > fewer * most:
            yield from self.one_by_one(self.in_order(wanted), then)
            return
        first = "\n".join(self.one_by_one(found.first, then))
        yield first
        self.here &= found.kept
        self.passed.clear()
        rows = [f"%in{k}" for k in range(len(self.program.inputs))]
        yield from self.hidden(found.kept, rows)
        second = "\n".join(self.one_by_one(found.second, then))
        yield renamed(second, first, {*rows, *(self.value(node) for node in found.kept)})

    def hidden(self, kept: Iterable[Expr], rows: Iterable[str]) -> Iterable[str]:
        """Yield new names for the kept values and the addresses of inputs, combined with a zero that the compiler cannot foresee:
        else it would see that values are computed twice, and keep them instead. (Volatile loads of the inputs would bypass the
        cache.)"""
        V, I = self.lanes.number, self.lanes.integer
        yield "%zero = lshr i64 %states, 63"
        yield f"%nought = {'add i64 %zero, 0' if I == 'i64' else f'trunc i64 %zero to {I}'}"
        for row in rows:
            yield f"{row}{ANEW} = getelementptr {V}, ptr {row}, i64 %zero"
        for node in sorted(kept, key=lambda node: node.number):
            x, n = self.value(node), node.number
            yield f"%bits{n} = bitcast {V} {x} to {I}\n%same{n} = or {I} %bits{n}, %nought\n{x}{ANEW} = bitcast {I} %same{n} to {V}"

    def one_by_one(self, order: Iterable[Expr], then: Callable[[Expr], Iterable[str]]) -> Iterable[str]:
        """Yield IR of the nodes in this order, each followed by `then(node)`."""
        for node in order:
            yield from self.instruction(node)
            yield from then(node)

    def watched(self, node: object) -> Iterable[str]:
        """Yield IR that adds zero times a result to a sum, which is NaN as soon as a result is not finite."""
        self.checks += 1
        after = f"%watch{self.checks}"
        yield f"{after} = {self.lanes.call('fma', self.value(node), self.lanes.literal(0.0), self.watch)}"
        self.watch = after

    def instruction(self, node: Expr) -> Iterable[str]:
        """Yield the IR of a node; a margin is checked at once, so that it need not stay in a register."""
        yield from super().instruction(node)
        if node in self.unseen:
            self.unseen.discard(node)
            yield from self.looked_at(node)

    def looked_at(self, margin: Scalar) -> Iterable[str]:
        """Yield the check of a margin."""
        self.checks += 1
        n, good = self.checks, self.good
        self.good = f"%good{n}"
        yield f"%positive{n} = fcmp ogt {self.lanes.number} {self.value(margin)}, {self.lanes.literal(0.0)}"
        yield f"{self.good} = and i1 {good}, %positive{n}"

    def sound(self) -> Iterable[str]:
        """Yield IR for %sound: true if every margin is positive."""
        for margin in [x for x in self.margins if x.__class__ is not Expr]:
            yield from self.looked_at(margin)
        yield f"%sound = and i1 {self.good}, true"

    def report(self, sound: str) -> Iterable[str]:
        """Yield IR that stores the state's number to `worst` if a margin or a result fails its check, and the kernel's end."""
        yield f"%numbers = fcmp oeq {self.lanes.number} {self.watch}, {self.lanes.literal(0.0)}\n%fine = and i1 {sound}, %numbers"
        yield "br i1 %fine, label %done, label %wrong, !prof !0\nwrong:"
        yield "store volatile i64 %state, ptr %worst\nbr label %done\ndone:\nret void\n}"

    def operation(self, node: Expr) -> Iterable[str]:
        if node.op == "/" and node.args[0].__class__ is not Expr and node.args[0] == 1:
            yield from self.reciprocal(node)
        else:
            yield from super().operation(node)

    def reciprocal(self, node: Expr) -> Iterable[str]:
        """Yield IR for 1/x by the processor's estimate and Newton's method, which rounds correctly. The driver's code for a
        division has an additional branch for subnormal numbers (1/x above 2^126 or so): here those give NaN, or zero."""
        lanes, V, n, x = self.lanes, self.lanes.number, node.number, self.value(node.args[1])
        one, guess = lanes.literal(1.0), f"%r{n}"
        yield f"{guess} = call {V} @estimate.{V}({V} {x})\n%n{n} = fneg {V} {x}"
        if lanes.real == "double":  # the estimate has a third of the digits, so one more iteration comes first
            yield f"%e{n} = {lanes.call('fma', f'%n{n}', guess, one)}\n%f{n} = {lanes.call('fma', f'%e{n}', f'%e{n}', f'%e{n}')}"
            yield f"%s{n} = {lanes.call('fma', guess, f'%f{n}', guess)}"
            guess = f"%s{n}"
        yield f"%d{n} = {lanes.call('fma', f'%n{n}', guess, one)}"
        yield f"{self.value(node)} = {lanes.call('fma', guess, f'%d{n}', guess)}"

    def late_sincos(self, node: Expr) -> Iterable[str]:
        """Yield IR for a sine or cosine; one call computes both."""
        V, (angle,) = self.lanes.number, node.args
        if angle not in self.passed:
            self.passed.add(angle)
            yield f"%both{self.late[angle]} = call {{{V}, {V}}} @sincos({V} {self.value(angle)})"
        yield f"{self.value(node)} = extractvalue {{{V}, {V}}} %both{self.late[angle]}, {int(node.op == 'cos')}"


def told_by_others(program: Program) -> set[Expr]:
    """Return the results from which others are made by sums and products alone: if they are NaN so are the others, so they need no
    check of their own."""
    results = {x for output in program.shown for x in output.values if x.__class__ is Expr}
    told: set[Expr] = set()
    for node in sorted(program.nodes, key=lambda node: node.number, reverse=True):
        if node.op in HANDED_ON and (node in results or node in told):
            told.update(x for x in node.args if x.__class__ is Expr)
    return told


def renamed(text: str, before: str, others: set[str]) -> str:
    """Return a text in which names that are also defined in the text `before`, and those in `others`, are replaced by new ones."""
    taken = set(DEFINED.findall(before)) & set(DEFINED.findall(text)) | others
    return NAME.sub(lambda found: found[0] + ANEW if found[0] in taken else found[0], text)


def define_sincos(lanes: Lanes) -> Iterable[str]:
    """Define sine and cosine of one angle, with the CPU's bits; NaN beyond the reach of the reduction, so that the check fails."""
    V, I = lanes.number, lanes.integer
    yield f"define internal {{{V}, {V}}} @sincos({V} %x) alwaysinline nounwind {{"
    yield from sincos.turns(lanes)
    yield from sincos.near_zero(lanes)
    yield f"%lost = icmp ugt {I} %beyond, {2 * sincos.REACH[lanes.real] - 1}"
    nan = lanes.literal(float("nan"))
    yield f"%s_seen = select i1 %lost, {V} {nan}, {V} %sine\n%c_seen = select i1 %lost, {V} {nan}, {V} %cosine"
    yield f"%pair = insertvalue {{{V}, {V}}} poison, {V} %s_seen, 0\n%both = insertvalue {{{V}, {V}}} %pair, {V} %c_seen, 1"
    yield f"ret {{{V}, {V}}} %both\n}}"
