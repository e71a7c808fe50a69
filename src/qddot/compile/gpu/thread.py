"""Parts of every kernel of a GPU: one thread a state, all values in registers, in the order of their making.

Products and sums are fused where the CPU's kernels fuse them, sine and cosine are the same polynomials, divisions and roots are
rounded correctly: each result has the bits that the CPU gives it (angles below `sincos.LIMIT`; beyond, the result is no number).
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
"""Operations whose result is no number where an operand is none; of an infinite one it is infinite, or none."""

WAITING = {"float": 255, "double": 127}
"""So many values a thread has registers for."""

WORTH = 0.98
"""Another order than that of their making is taken where no more than this share of the values wait in it. In forward dynamics of a
humanoid of 29 joints 376 would instead of 378, and more is spilled then."""

MANY = {"float": 180, "double": 80}
"""Where more values than this would wait, some are made again."""

CUTS = {"float": 24, "double": 10}
"""Places for that which are tried. Measured (H200, derivatives of forward dynamics of a 7-joint arm, floats, states last, share of
the bandwidth of a copy): 65.4 % with 24 and 24 bytes spilled, 64.2 to 64.9 % with 10 and 44. Doubles spill more with 24."""


class Repeating(NamedTuple):
    """When values are made again (see `anew`)."""

    worth: int  # operations that a register is worth
    fewer: float  # of the values that would wait no more than this share do then


FREELY, SPARINGLY = Repeating(10, 0.75), Repeating(3, 1.0)


class Shape(NamedTuple):
    """How a kernel is laid out."""

    element_major: bool = False  # outputs have the states last: element k of all states side by side
    shared: int = 75 << 10  # bytes of shared memory that a block may have: so many that a multiprocessor holds three of the largest
    registers: int | None = None  # at most so many a thread, so that more threads are at work; None: as many as it likes
    threads: int | None = None  # of a block; None: chosen by the size of the results


class Source(NamedTuple):
    """A module with the kernel `qddot`, the threads of its blocks, and the shared memory that each needs, in bytes."""

    text: str
    threads: int
    shared: int


class Thread(Emitter):
    """A kernel's text. Angles are turned where they are needed, and nothing is cut into parts: calls would cost more.

    Attributes:
        outputs: but for the margins.
        watch: a sum of zero times the results so far; `good`: whether the margins so far are positive.
        threads: of a block.
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
        """The whole module."""
        head = [self.dialect.head, UMIN, LIKELY, *self.lanes.declarations()]
        functions = [*define_sincos(self.lanes), *(define_atan2(self.lanes) if self.has_atan2 else ())]
        text = "\n".join([*head, *self.globals(), *functions, *self.define()]) + "\n"
        return Source(text, self.threads, self.shared_bytes)

    def globals(self) -> Iterable[str]:
        return ()

    def define(self) -> Iterable[str]:
        raise NotImplementedError

    def begin(self, arguments: Iterable[str]) -> Iterable[str]:
        """The kernel's head, and which state is %mine."""
        limit = self.dialect.limit.format(self.shape.registers) if self.shape.registers else ""
        attributes = self.dialect.attributes.format(self.threads) + limit
        yield f"{self.dialect.kernel} void @{KERNEL}({', '.join(arguments)}) {attributes} {{\nentry:"
        yield "%tid = call i32 @thread()\n%block = call i32 @block()"
        yield f"%block_at = zext i32 %block to i64\n%first = mul i64 %block_at, {self.threads}\n%tid_wide = zext i32 %tid to i64"
        # An `or` where it is a sum: so LLVM would write it itself if it knew how far threads count, and then the driver finds 72
        # registers enough for forward dynamics of a 7-joint arm, and not 80.
        yield f"%mine = {'add' if self.threads & (self.threads - 1) else 'or'} i64 %first, %tid_wide"

    def in_order(self, results: Iterable[object]) -> list[Expr]:
        """The nodes that results still need, in the order of their making unless too many values would wait."""
        made, operands, _ = self.needed(results)
        most = most_waiting(made, operands)
        if most <= WAITING[self.lanes.real]:
            return made
        other = fewest_waiting(made, operands)
        return other if most_waiting(other, operands) <= WORTH * most else made

    def needed(self, results: Iterable[object]) -> tuple[list[Expr], dict[Expr, list[Expr]], set[Expr]]:
        """The nodes that results still need, as they were made, the operands of each among them, and the results that are nodes.
        Leaves are among them only where they are results themselves."""
        wanted: set[Any] = {x for x in results if x.__class__ is Expr}
        nodes = (n for n in schedule(wanted) if n not in self.fused and n not in self.here)
        made = sorted((n for n in nodes if not self.is_leaf(n) or n in wanted), key=lambda node: node.number)
        inside = set(made)
        return made, {n: [a for a in dict.fromkeys(self.operands(n)) if a in inside] for n in made}, wanted

    def computed(self, results: Iterable[object], then: Callable[[Expr], Iterable[str]]) -> Iterable[str]:
        """The nodes that results still need, each with what is done with it at once; in two halves where so many values would wait
        that some are better made again."""
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
        """Kept values, and addresses of inputs, under new names, combined with a zero that compilers do not know of: else they
        would see that what is made of them again has been made before, and keep that, too. Inputs read again so are still in the
        cache, which volatile loads would go past."""
        V, I = self.lanes.number, self.lanes.integer
        yield "%zero = lshr i64 %states, 63"
        yield f"%nought = {'add i64 %zero, 0' if I == 'i64' else f'trunc i64 %zero to {I}'}"
        for row in rows:
            yield f"{row}{ANEW} = getelementptr {V}, ptr {row}, i64 %zero"
        for node in sorted(kept, key=lambda node: node.number):
            x, n = self.value(node), node.number
            yield f"%bits{n} = bitcast {V} {x} to {I}\n%same{n} = or {I} %bits{n}, %nought\n{x}{ANEW} = bitcast {I} %same{n} to {V}"

    def one_by_one(self, order: Iterable[Expr], then: Callable[[Expr], Iterable[str]]) -> Iterable[str]:
        for node in order:
            yield from self.instruction(node)
            yield from then(node)

    def watched(self, node: object) -> Iterable[str]:
        """Zero times the results: a sum that is no number as soon as one of them is none."""
        self.checks += 1
        after = f"%watch{self.checks}"
        yield f"{after} = {self.lanes.call('fma', self.value(node), self.lanes.literal(0.0), self.watch)}"
        self.watch = after

    def instruction(self, node: Expr) -> Iterable[str]:
        """A margin is looked at as soon as it is there, so that it need not wait in a register."""
        yield from super().instruction(node)
        if node in self.unseen:
            self.unseen.discard(node)
            yield from self.looked_at(node)

    def looked_at(self, margin: Scalar) -> Iterable[str]:
        self.checks += 1
        n, good = self.checks, self.good
        self.good = f"%good{n}"
        yield f"%positive{n} = fcmp ogt {self.lanes.number} {self.value(margin)}, {self.lanes.literal(0.0)}"
        yield f"{self.good} = and i1 {good}, %positive{n}"

    def sound(self) -> Iterable[str]:
        """%sound: every margin is positive."""
        for margin in [x for x in self.margins if x.__class__ is not Expr]:
            yield from self.looked_at(margin)
        yield f"%sound = and i1 {self.good}, true"

    def report(self, sound: str) -> Iterable[str]:
        """Tell `worst` of this state where something is wrong with it."""
        yield f"%numbers = fcmp oeq {self.lanes.number} {self.watch}, {self.lanes.literal(0.0)}\n%fine = and i1 {sound}, %numbers"
        yield "br i1 %fine, label %done, label %wrong, !prof !0\nwrong:"
        yield "store volatile i64 %state, ptr %worst\nbr label %done\ndone:\nret void\n}"

    def operation(self, node: Expr) -> Iterable[str]:
        if node.op == "/" and node.args[0].__class__ is not Expr and node.args[0] == 1:
            yield from self.reciprocal(node)
        else:
            yield from super().operation(node)

    def reciprocal(self, node: Expr) -> Iterable[str]:
        """1/x by the processor's estimate and Newton's method, which rounds correctly. What the driver makes of a division is this
        and a branch for numbers that hardly are any (1/x above 2^126 or so): here those give no number, or zero."""
        lanes, V, n, x = self.lanes, self.lanes.number, node.number, self.value(node.args[1])
        one, guess = lanes.literal(1.0), f"%r{n}"
        yield f"{guess} = call {V} @estimate.{V}({V} {x})\n%n{n} = fneg {V} {x}"
        if lanes.real == "double":  # the estimate has a third of the digits: twice as many of them first
            yield f"%e{n} = {lanes.call('fma', f'%n{n}', guess, one)}\n%f{n} = {lanes.call('fma', f'%e{n}', f'%e{n}', f'%e{n}')}"
            yield f"%s{n} = {lanes.call('fma', guess, f'%f{n}', guess)}"
            guess = f"%s{n}"
        yield f"%d{n} = {lanes.call('fma', f'%n{n}', guess, one)}"
        yield f"{self.value(node)} = {lanes.call('fma', guess, f'%d{n}', guess)}"

    def late_sincos(self, node: Expr) -> Iterable[str]:
        """Both come from one call."""
        V, (angle,) = self.lanes.number, node.args
        if angle not in self.passed:
            self.passed.add(angle)
            yield f"%both{self.late[angle]} = call {{{V}, {V}}} @sincos({V} {self.value(angle)})"
        yield f"{self.value(node)} = extractvalue {{{V}, {V}}} %both{self.late[angle]}, {int(node.op == 'cos')}"


def told_by_others(program: Program) -> set[Expr]:
    """Results that others are made of by sums and products alone, which are no numbers where these are none: they need no watch."""
    results = {x for output in program.shown for x in output.values if x.__class__ is Expr}
    told: set[Expr] = set()
    for node in sorted(program.nodes, key=lambda node: node.number, reverse=True):
        if node.op in HANDED_ON and (node in results or node in told):
            told.update(x for x in node.args if x.__class__ is Expr)
    return told


def renamed(text: str, before: str, others: set[str]) -> str:
    """A text in which names that were defined before, and others, are new ones."""
    taken = set(DEFINED.findall(before)) & set(DEFINED.findall(text)) | others
    return NAME.sub(lambda found: found[0] + ANEW if found[0] in taken else found[0], text)


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
