"""Write a program as straight-line LLVM IR over W states at once: `void kernel(ptr in..., ptr out...)`.

Inputs and outputs are contiguous; element k of all W states is one vector. For W > 1 there is one output, `results`, with each
distinct value once (see `results`). The emitter itself decides where a product and a sum become one fused multiply-add, and no flag
lets LLVM reassociate or contract, so every W computes the same bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from operator import attrgetter

from qddot.compile import prefetch, sincos
from qddot.compile.fused import fused_products
from qddot.compile.lanes import Lanes
from qddot.compile.memory import leave_rooms, rooms
from qddot.compile.operation_ir import choice, lane_by_lane, sign_of
from qddot.compile.sequence import by_component, departures, shared_places, when_needed
from qddot.compile.sincos import TRIG, late_angles, side_by_side
from qddot.graph.expr import Expr, schedule
from qddot.graph.program import Output, Program
from qddot.model.scalar import Scalar

WHOLE = 1_000
PART = 300
"""A kernel longer than WHOLE instructions is cut into functions of PART: the time of LLVM is then linear in the length, and it does
not keep many more values alive than there are registers."""

SHORT = 1_300
"""Most nodes of a kernel that is part of the loop over states itself, instead of a function."""

REGISTERS, FEW_REGISTERS = 26, 13
"""Values that a kernel for many states keeps in registers, of 32 or, with AVX2, 16: the rest is for constants and results."""

LEAVES = TRIG | {"var"}
BINARY = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}


def define_kernel(program: Program, lanes: Lanes) -> Iterable[str]:
    """Define the kernel, an external function, so that its address can be found. A long one calls its parts in turn.

    For many states, sines and cosines are computed by the loop, which overlaps them with other work. %rows has the addresses of the
    next states, and of the results, for prefetching.
    """
    inputs, emit, single = [f"%in{i}" for i in range(len(program.inputs))], Emitter(program, lanes), lanes.width == 1
    names = [*inputs, *([f"%out{i}" for i in range(len(program.outputs))] if single else ["%results", "%trig", "%rows"])]
    if not single:
        emit.ask_for_rows()
    parameters = [f"ptr noalias {'readonly ' if name in inputs else ''}{name}" for name in names]
    sizes, long = {**(emit.trig_sizes() if single else {}), "carry": emit.carry_size}, len(emit.parts) > 1
    to_parts = ["%trig", "%carry"] if single else ["%carry"]
    for k in range(len(emit.parts)) if long else ():
        given = ", ".join([*parameters, *(f"ptr noalias {name}" for name in to_parts)])
        yield f"define internal void {lanes.kernel}.{k}({given}) noinline nounwind {{"
        emit.enter()
        yield from emit.late_rooms()
        yield from emit.part(k)
        yield "ret void\n}"
    yield f"define void {lanes.kernel}({', '.join(parameters)}) noinline nounwind {{"
    emit.enter()
    yield from rooms(sizes)
    yield from () if long else emit.late_rooms()
    if single:
        yield from emit.angles_first()
    if long:
        for k in range(len(emit.parts)):
            yield f"call void {lanes.kernel}.{k}({', '.join(f'ptr {name}' for name in (*names, *to_parts))})"
    else:
        yield from emit.part(0)
    yield from leave_rooms(sizes)
    yield "ret void\n}"


class Emitter:
    """Writes the instructions for nodes. Inputs, sines and cosines are leaves: they are in memory, and are loaded where they are
    needed. But if an angle itself depends on sines, as in a step of an integrator, its sine and cosine are computed on the way.

    Attributes:
        places: for each node that is a result, the pointers and elements to which it is written.
        fused: products that are used in one sum only, and become part of it.
        given: names of input elements that are in registers, by (input, element); the others are loaded from memory.
        angles: the angles whose sine or cosine is computed beforehand, numbered; `turned`: those that are inputs (input, element).
        late: the other angles, numbered.
        parts: what is kept as instructions, cut into functions; `carried` is read from memory by another, or by the same once more.
        fma: a call of the fused multiply-add.
        here: the nodes whose values the present function already has; `passed` the late angles it has taken sine and cosine of.
        names: new names of values that are loaded again.
        afterwards: other lines that follow a node.
    """

    def __init__(self, program: Program, lanes: Lanes, *, in_one: bool = False) -> None:
        self.program, self.lanes, self.in_one = program, lanes, in_one
        self.given: dict[tuple[int, int], str] = {}
        turned = sorted({node.args[0] for node in program.nodes if node.op in TRIG}, key=lambda angle: angle.number)
        late = set(turned) if in_one else late_angles(program)
        self.angles = {angle: k for k, angle in enumerate(angle for angle in turned if angle not in late)}
        self.late = {angle: k for k, angle in enumerate(angle for angle in turned if angle in late)}
        self.turned = {angle.args for angle in self.angles if angle.op == "var"}
        self.trig = sincos.Rooms(len(self.angles), lanes)
        self.fma = f"call {lanes.number} @llvm.fma.{lanes.suffix}"
        self.here: set[Expr] = set()
        self.passed: set[Expr] = set()
        self.names: dict[Expr, str] = {}
        self.afterwards: dict[Expr, list[str]] = {}

    @cached_property
    def places(self) -> dict[Expr, list[tuple[str, int]]]:
        return places(self.program) if self.lanes.width == 1 else {x: [("%results", k)] for x, k in slots(self.program).items()}

    @cached_property
    def fused(self) -> set[Expr]:
        return fused_products(self.program.nodes, self.places) if self.lanes.fma else set()

    @cached_property
    def kept(self) -> list[Expr]:
        """The nodes that are instructions, in the order of their making; if there are many, in that of `sequence`."""
        fused, is_leaf = self.fused, self.is_leaf
        kept = [x for x in self.program.nodes if x not in fused and (x.op not in LEAVES or not is_leaf(x))]
        kept.sort(key=attrgetter("number"))
        return kept if len(kept) <= WHOLE else when_needed(by_component(kept, self.operands), self.operands)

    @cached_property
    def parts(self) -> list[list[Expr]]:
        length = len(self.kept) or 1 if self.in_one else PART if len(self.kept) > WHOLE else WHOLE
        return [self.kept[k : k + length] for k in range(0, len(self.kept), length)] or [[]]

    def enter(self) -> None:
        """Begin another function, which has no values yet."""
        self.here.clear()
        self.names.clear()
        self.passed.clear()

    def is_leaf(self, node: Expr) -> bool:
        return node.op == "var" or (node.op in TRIG and node.args[0] not in self.late)

    def late_rooms(self) -> Iterable[str]:
        """Yield memory for one late angle, and for the sine and cosine of each."""
        if self.late:
            size = self.lanes.shared.width * self.lanes.bits // 8
            yield f"%late = alloca i8, i64 {size}, align 64\n%late_trig = alloca i8, i64 {2 * size * len(self.late)}, align 64"
            yield f"call void @llvm.memset.p0.i64(ptr %late, i8 0, i64 {size}, i1 false)"

    def trig_sizes(self) -> dict[str, int]:
        """Return the bytes for the angles, and for their sines and cosines."""
        return {"angles": self.trig.bytes, "trig": 2 * self.trig.bytes}

    @property
    def trig_numbers(self) -> int:
        """The size of sines and cosines, in numbers of these lanes."""
        return 2 * self.trig.bytes * 8 // (self.lanes.width * self.lanes.bits)

    @property
    def carry_size(self) -> int:
        """The bytes of all carried values."""
        return (1 + max(self.carried.values(), default=-1)) * self.lanes.width * self.lanes.bits // 8

    def operands(self, node: Expr) -> list[Expr]:
        """Return the nodes that an instruction reads; for a fused product, its factors."""
        found, fused = [], self.fused
        for a in node.args:
            if a.__class__ is Expr:
                found += [x for x in a.args if x.__class__ is Expr] if a in fused else (a,)
        return found

    @cached_property
    def carried(self) -> dict[Expr, int]:
        """Values that are kept in memory, each with its place there. After the last part that reads a value its place is used
        again, so that they take little of the nearest cache."""
        departed = [[x for values in part.values() for x in values] for part in self.departed]
        return shared_places(self.parts, self.operands, departed, self.places) if len(departed) > 1 or departed[0] else {}

    @cached_property
    def departed(self) -> list[dict[Expr, list[Expr]]]:
        """For each part, and nodes in it, the values that leave the registers after the node and are loaded again later."""
        if self.lanes.width == 1:
            return [{} for _ in self.parts]
        registers = FEW_REGISTERS if self.lanes.width * self.lanes.bits == 256 else REGISTERS
        return [departures(part, self.operands, registers) for part in self.parts]

    def angles_first(self) -> Iterable[str]:
        """Yield the call that computes sines and cosines of all angles, in %trig. It comes first, since a call preserves no vector
        register."""
        if not self.angles:
            return
        place = "%angles"
        if self.lanes.width > 1 and not self.given and side_by_side(list(self.angles)):
            source, first = next(iter(self.angles)).args
            place = "%angles_there"
            yield f"{place} = getelementptr {self.lanes.number}, ptr %in{source}, i64 {first}"
        else:
            yield from self.store_angles()
        yield f"call void {self.lanes.shared.function('sincos')}(ptr {place}, ptr %trig, i64 {self.trig.vectors})"

    def store_angles(self) -> Iterable[str]:
        """Yield IR that stores all angles side by side in %angles; the rest of the last vector is zero."""
        V, align = self.lanes.number, self.lanes.bits // 8
        if self.lanes.width == 1:
            yield f"call void @llvm.memset.p0.i64(ptr %angles, i8 0, i64 {self.trig.bytes}, i1 false)"
        for node in schedule(self.angles):
            if node.op == "*" and node in self.fused:
                continue
            yield from self.instruction(node)
        for angle, k in self.angles.items():
            yield f"%angle{k} = getelementptr {V}, ptr %angles, i64 {k}"
            yield f"store {V} {self.value(angle)}, ptr %angle{k}, align {align}"

    def part(self, k: int) -> Iterable[str]:
        """Yield the body of a function: the whole kernel, or one of its parts."""
        if k == 0:
            if self.lanes.width == 1:  # for many states the loop writes the constants
                for i, output in enumerate(self.program.outputs):
                    yield from constants(output, f"%out{i}", self.lanes)
            for node in self.places:
                if node.__class__ is Expr and self.is_leaf(node):
                    yield from self.fetch(node)
                    yield from self.store(node)
        places, carried, afterwards, departed = self.places, self.carried, self.afterwards, self.departed[k]
        yield from self.where_rows_begin(self.parts[k])
        for node in self.parts[k]:
            yield from self.instruction(node)
            if node in places:
                yield from self.store(node)
            if node in carried:
                yield from self.carry(node, "store")
            if node in afterwards:
                yield from afterwards[node]
            for x in departed.get(node, ()):
                self.here.discard(x)
                self.names[x] = f"{self.value(x)}_"

    def ask_for_rows(self) -> None:
        """Prefetch, between the instructions, the cache lines of the next states, and those of the results."""
        pointers, n_in = [f"%next{i}" for i in range(self.asked)], len(self.program.inputs)
        rows = prefetch.inputs(pointers, self.program, self.lanes) + prefetch.results(pointers[n_in:], self.program, self.lanes)
        self.afterwards = prefetch.between(self.kept, rows)

    @property
    def asked(self) -> int:
        """The number of arrays whose rows may be prefetched."""
        return len(self.program.inputs) + len(self.program.shown)

    def where_rows_begin(self, nodes: Iterable[Expr]) -> Iterable[str]:
        """Yield IR that loads the addresses of these rows, if they are prefetched between these nodes."""
        if any(node in self.afterwards for node in nodes):
            for i in range(self.asked):
                yield f"%next{i}p = getelementptr ptr, ptr %rows, i64 {i}\n%next{i} = load ptr, ptr %next{i}p"

    def store(self, node: Expr) -> Iterable[str]:
        """Yield IR that writes a result to its places, at once, so that it needs no register until the end."""
        V = self.lanes.number
        for pointer, element in self.places.get(node, ()):
            yield f"{pointer}_{element} = getelementptr inbounds {V}, ptr {pointer}, i64 {element}"
            yield f"store {V} {self.value(node)}, ptr {pointer}_{element}, align {self.lanes.bits // 8}"

    def fetch(self, node: Expr) -> Iterable[str]:
        """Yield IR that loads the value of a leaf, or of another part, unless the function has it."""
        if node in self.here or (node.op == "var" and node.args in self.given):
            return
        self.here.add(node)
        if node in self.carried:
            yield from self.carry(node, "load")
            return
        if not self.is_leaf(node):  # a result
            pointer, element = self.places[node][0]
        elif node.op == "var":
            pointer, element = f"%in{node.args[0]}", node.args[1]
        else:
            pointer, element = "%trig", self.trig.place(self.angles[node.args[0]], node.op)
        V, name = self.lanes.number, self.value(node)
        yield f"{name}_at = getelementptr inbounds {V}, ptr {pointer}, i64 {element}"
        yield f"{name} = load {V}, ptr {name}_at, align {self.lanes.bits // 8}"

    def carry(self, node: Expr, direction: str) -> Iterable[str]:
        """Yield IR that loads a carried value from its place in memory, or stores it there."""
        V, place, align = self.lanes.number, f"{self.value(node)}_{direction}", self.lanes.bits // 8
        yield f"{place} = getelementptr inbounds {V}, ptr %carry, i64 {self.carried[node]}"
        if direction == "store":
            yield f"store {V} {self.value(node)}, ptr {place}, align {align}"
        else:
            yield f"{self.value(node)} = load {V}, ptr {place}, align {align}"

    def value(self, x: Scalar) -> str:
        if x.__class__ is not Expr:
            return self.lanes.literal(x)
        if self.given and x.op == "var" and x.args in self.given:
            return self.given[x.args]
        return self.names.get(x) or f"%v{x.number}"

    def instruction(self, node: Expr) -> Iterable[str]:
        """Return the IR of a node, after that of its operands, unless the function has its value."""
        if self.is_leaf(node):
            return self.fetch(node)
        lines: list[str] = []
        if node not in self.here:
            for a in self.operands(node):
                if a not in self.here:
                    lines += self.fetch(a)
            lines += self.operation(node)
            self.here.add(node)
        return lines

    def operation(self, node: Expr) -> Iterable[str]:
        lanes, V, op = self.lanes, self.lanes.number, node.op
        out, args = self.value(node), node.args
        if op in BINARY:
            left, right = args
            if op in "+-" and (left in self.fused or right in self.fused):
                return self.multiply_add(node, out)
            return (f"{out} = {BINARY[op]} {V} {self.value(left)}, {self.value(right)}",)
        if op in TRIG:
            return self.late_sincos(node)
        if op == "neg":
            return (f"{out} = fneg {V} {self.value(args[0])}",)
        if op == "sqrt":
            return (f"{out} = {lanes.call('sqrt', self.value(args[0]))}",)
        if op == "atan2":
            return lane_by_lane("atan2", out, [self.value(x) for x in args], lanes)
        if op == "sign":
            return sign_of(out, self.value(args[0]), lanes)
        if op == "select":
            return choice(out, [self.value(x) for x in args], lanes)
        raise ValueError(f"no LLVM instruction for {op!r}")

    def late_sincos(self, node: Expr) -> Iterable[str]:
        """Yield IR for the sine or cosine of a late angle; one call computes both."""
        V, align, loop = self.lanes.number, self.lanes.bits // 8, self.lanes.shared
        (angle,), n, room = node.args, node.number, loop.width * self.lanes.bits // 8
        yield f"%l{n} = getelementptr i8, ptr %late_trig, i64 {2 * room * self.late[angle]}"
        if angle not in self.passed:
            self.passed.add(angle)
            yield f"store {V} {self.value(angle)}, ptr %late, align {align}"
            yield f"call void {loop.function('sincos')}(ptr %late, ptr %l{n}, i64 1)"
        yield f"%t{n} = getelementptr i8, ptr %l{n}, i64 {room if node.op == 'cos' else 0}"
        yield f"{self.value(node)} = load {V}, ptr %t{n}, align {align}"

    def multiply_add(self, node: Expr, out: str) -> list[str]:
        """a b + c, a b - c or c - a b, in one rounding."""
        left, right = node.args
        first = left in self.fused
        product, other = (left, right) if first else (right, left)
        (x, y), V = product.args, self.lanes.number
        a, b, c = self.value(x), self.value(y), self.value(other)
        if node.op == "+":
            return [f"{out} = {self.fma}({V} {a}, {V} {b}, {V} {c})"]
        minus = f"%m{node.number}"
        negated = f"{minus} = fneg {V} {c if first else a}"
        a, c = (a, minus) if first else (minus, c)
        return [negated, f"{out} = {self.fma}({V} {a}, {V} {b}, {V} {c})"]


def places(program: Program) -> dict[Expr, list[tuple[str, int]]]:
    """Return, for each node that is an element of an output, the pointers and elements to which it is written."""
    found: dict[Expr, list[tuple[str, int]]] = defaultdict(list)
    for i, output in enumerate(program.outputs):
        for k, x in enumerate(output.values):
            if x.__class__ is Expr:
                found[x].append((f"%out{i}", k))
    return found


def slots(program: Program) -> dict[Scalar, int]:
    """Return, for each distinct result, node or float, its place among the vectors that a kernel for many states writes."""
    values = (x if x.__class__ is Expr else float(x) for output in program.outputs for x in output.values)
    return {x: k for k, x in enumerate(dict.fromkeys(values))}


def is_short(program: Program, lanes: Lanes) -> bool:
    """Return True for a program with so few nodes and columns that it becomes part of the loop, with inputs and results in
    registers."""
    columns = max(x.size for x in (*program.inputs, *program.outputs))
    return len(program.nodes) <= SHORT and columns <= 8 * lanes.width and not late_angles(program)


def constants(output: Output, room: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR that stores the elements that are numbers; zeros, of which there may be thousands, all at once."""
    numbers = {k: float(x) for k, x in enumerate(output.values) if x.__class__ is not Expr}
    if not numbers:
        return
    yield f"call void @llvm.memset.p0.i64(ptr {room}, i8 0, i64 {output.size * lanes.width * lanes.bits // 8}, i1 false)"
    tag = room[1:]
    for k, x in numbers.items():
        if x != 0:
            yield f"%{tag}_at{k} = getelementptr inbounds {lanes.number}, ptr {room}, i64 {k}"
            yield f"store {lanes.number} {lanes.literal(x)}, ptr %{tag}_at{k}, align {lanes.bits // 8}"
