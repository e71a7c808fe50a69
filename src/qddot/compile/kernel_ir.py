"""A program as straight-line LLVM IR over W states at once: `void kernel(ptr in..., ptr out...)`.

Inputs and outputs are contiguous; element k of all W states stands in one vector. For W > 1 there is one output, `results`, with
each distinct value once (see `results`). The emitter itself decides where a product and
a sum become one fused multiply-add, and no flag lets LLVM reassociate or contract, so every W computes the same bits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from qddot.compile import sincos
from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Output, Program
from qddot.model.scalar import Scalar

WHOLE = 1_000
PART = 200
"""A kernel longer than WHOLE instructions is cut into functions of PART, in the order in which the algorithm made them: LLVM then
neither works longer for each than for a short one, nor keeps many more values alive than registers hold."""

SHORT = 500
"""A kernel of at most so many nodes stands in the loop over states itself."""

ON_STACK = 1 << 16
"""More bytes than this do not go on the stack, which is small in some threads."""

BINARY = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}


def kernel_name(lanes: Lanes) -> str:
    return f"@kernel.{lanes.suffix}"


def define_kernel(program: Program, lanes: Lanes) -> Iterable[str]:
    """The function, external so that its address can be asked for. A long one calls its parts in turn."""
    inputs, emit = [f"%in{i}" for i in range(len(program.inputs))], Emitter(program, lanes)
    names = [*inputs, *([f"%out{i}" for i in range(len(program.outputs))] if lanes.width == 1 else ["%results"])]
    parameters = [f"ptr noalias {'readonly ' if name in inputs else ''}{name}" for name in names]
    if len(emit.parts) == 1:
        yield f"define void {kernel_name(lanes)}({', '.join(parameters)}) noinline nounwind {{"
        yield from emit.part(0)
        return
    for k in range(len(emit.parts)):
        given = ", ".join([*parameters, "ptr noalias %carry"])
        yield f"define internal void {kernel_name(lanes)}.{k}({given}) noinline nounwind {{"
        yield from emit.part(k)
    yield f"define void {kernel_name(lanes)}({', '.join(parameters)}) noinline nounwind {{"
    size = max(len(emit.carried), 1) * lanes.width * lanes.bits // 8
    heap = size > ON_STACK
    yield f"%carry = call ptr @malloc(i64 {size})" if heap else f"%carry = alloca i8, i64 {size}, align 64"
    for k in range(len(emit.parts)):
        yield f"call void {kernel_name(lanes)}.{k}({', '.join(f'ptr {name}' for name in (*names, '%carry'))})"
    yield "call void @free(ptr %carry)\nret void\n}" if heap else "ret void\n}"


class Emitter:
    """Instructions for nodes.

    Attributes:
        places: for each node that is a result, the pointers and elements to which it goes.
        fused: products that are only used in one sum, and become part of it.
        inputs: where the inputs already are, by (input, element); loaded from memory if None.
        parts: the other nodes in order, cut into functions; `carried` crosses from one to another through memory.
    """

    def __init__(self, program: Program, lanes: Lanes, inputs: Mapping[tuple[int, int], str] | None = None) -> None:
        self.program, self.lanes, self.inputs = program, lanes, inputs
        self.places = places(program) if lanes.width == 1 else {x: [("%results", k)] for x, k in slots(program).items()}
        self.fused = fused_products(program.nodes, self.places) if lanes.fma else set()
        nodes = program.nodes
        if len(nodes) - len(self.fused) > WHOLE:
            nodes = sorted(nodes, key=lambda node: node.number)
        kept = [node for node in angles_first(nodes) if node not in self.fused]
        length = PART if len(kept) > WHOLE else WHOLE
        self.parts = [kept[k : k + length] for k in range(0, len(kept), length)] or [[]]
        self.carried = self.across_parts()
        self.here: set[Expr] = set()
        self.angles: set[Expr] = set()

    def operands(self, node: Expr) -> Iterable[Expr]:
        """The nodes an instruction reads: through a fused product, its factors."""
        for a in node.args:
            if a.__class__ is Expr:
                yield from self.operands(a) if a in self.fused else (a,)

    def across_parts(self) -> dict[Expr, int]:
        """Values that a later part needs, each with its place in memory."""
        home = {node: k for k, part in enumerate(self.parts) for node in part}
        later = (a for k, part in enumerate(self.parts) for node in part for a in self.operands(node) if home[a] != k)
        return {node: place for place, node in enumerate(dict.fromkeys(later))}

    def part(self, k: int) -> Iterable[str]:
        """The body of a function: the whole kernel, or one of its parts."""
        self.here, self.angles = set(), set()
        if k == 0 and self.lanes.width == 1:  # for many states the loop knows them
            for i, output in enumerate(self.program.outputs):
                yield from constants(output, f"%out{i}", self.lanes)
        for node in self.parts[k]:
            for a in self.operands(node):
                if a not in self.here:
                    yield from self.carry(a, "load")
            yield from self.instruction(node)
            self.here.add(node)
            for pointer, element in self.places.get(node, ()):  # at once, so that no register waits for the end
                yield from self.store(self.value(node), pointer, element)
            if node in self.carried:
                yield from self.carry(node, "store")
        yield "ret void\n}"

    def carry(self, node: Expr, direction: str) -> Iterable[str]:
        """Between a value and its place in memory."""
        V, place, align = self.lanes.number, f"%c{node.number}_{direction}", self.lanes.bits // 8
        yield f"{place} = getelementptr inbounds {V}, ptr %carry, i64 {self.carried[node]}"
        if direction == "store":
            yield f"store {V} {self.value(node)}, ptr {place}, align {align}"
        else:
            self.here.add(node)
            yield f"{self.value(node)} = load {V}, ptr {place}, align {align}"

    def value(self, x) -> str:
        if self.inputs is not None and x.__class__ is Expr and x.op == "var":
            return self.inputs[x.args]
        return f"%v{x.number}" if x.__class__ is Expr else self.lanes.literal(x)

    def store(self, value: str, pointer: str, element: int) -> Iterable[str]:
        V, place = self.lanes.number, f"{pointer}_{element}"
        yield f"{place} = getelementptr inbounds {V}, ptr {pointer}, i64 {element}"
        yield f"store {V} {value}, ptr {place}, align {self.lanes.bits // 8}"

    def instruction(self, node: Expr) -> Iterable[str]:
        """One node."""
        lanes, V, op = self.lanes, self.lanes.number, node.op
        out, args = self.value(node), node.args
        if op == "var":
            if self.inputs is not None:
                return
            source, element = args
            yield f"%a{node.number} = getelementptr inbounds {V}, ptr %in{source}, i64 {element}"
            yield f"{out} = load {V}, ptr %a{node.number}, align {lanes.bits // 8}"
        elif op in "+-" and any(x in self.fused for x in args if x.__class__ is Expr):
            yield from self.multiply_add(node)
        elif op in BINARY:
            yield f"{out} = {BINARY[op]} {V} {self.value(args[0])}, {self.value(args[1])}"
        elif op == "neg":
            yield f"{out} = fneg {V} {self.value(args[0])}"
        elif op in ("sin", "cos"):
            yield from self.sine_or_cosine(node)
        elif op == "sqrt":
            yield f"{out} = {lanes.call('sqrt', self.value(args[0]))}"
        elif op == "atan2":
            yield from self.lane_by_lane(node, "atan2" + ("f" if lanes.real == "float" else ""))
        elif op == "sign":
            x, zero = self.value(args[0]), lanes.literal(0.0)
            yield f"%up{node.number} = fcmp ogt {V} {x}, {zero}"
            yield f"%down{node.number} = fcmp olt {V} {x}, {zero}"
            yield f"%low{node.number} = select {lanes.truth} %down{node.number}, {V} {lanes.literal(-1.0)}, {V} {zero}"
            yield f"{out} = select {lanes.truth} %up{node.number}, {V} {lanes.literal(1.0)}, {V} %low{node.number}"
        elif op == "select":
            yield f"%up{node.number} = fcmp ogt {V} {self.value(args[0])}, {lanes.literal(0.0)}"
            yield f"{out} = select {lanes.truth} %up{node.number}, {V} {self.value(args[1])}, {V} {self.value(args[2])}"
        else:
            raise ValueError(f"no LLVM instruction for {op!r}")

    def multiply_add(self, node: Expr) -> Iterable[str]:
        """a b + c, a b - c or c - a b, in one rounding."""
        V, out, (left, right) = self.lanes.number, self.value(node), node.args
        first = left.__class__ is Expr and left in self.fused
        product, other = (left, right) if first else (right, left)
        a, b, c = self.value(product.args[0]), self.value(product.args[1]), self.value(other)
        if node.op == "-":
            minus = f"%m{node.number}"
            yield f"{minus} = fneg {V} {c if first else a}"
            a, c = (a, minus) if first else (minus, c)
        yield f"{out} = {self.lanes.call('fma', a, b, c)}"

    def sine_or_cosine(self, node: Expr) -> Iterable[str]:
        """Both are computed where the first of them is needed."""
        lanes, angle = self.lanes, node.args[0]
        both = f"%both{angle.number}"
        if angle not in self.angles:
            self.angles.add(angle)
            yield f"{both} = call {sincos.pair(lanes)} {sincos.name(lanes)}({lanes.number} {self.value(angle)})"
        yield f"{self.value(node)} = extractvalue {sincos.pair(lanes)} {both}, {0 if node.op == 'sin' else 1}"

    def lane_by_lane(self, node: Expr, function: str) -> Iterable[str]:
        """A function of the C library."""
        lanes, args = self.lanes, [self.value(x) for x in node.args]
        if lanes.width == 1:
            yield f"{self.value(node)} = call {lanes.real} @{function}({', '.join(f'{lanes.real} {x}' for x in args)})"
            return
        built, n = "poison", node.number
        for k in range(lanes.width):
            for j, x in enumerate(args):
                yield f"%e{n}_{k}_{j} = extractelement {lanes.number} {x}, i64 {k}"
            given = ", ".join(f"{lanes.real} %e{n}_{k}_{j}" for j in range(len(args)))
            yield f"%y{n}_{k} = call {lanes.real} @{function}({given})"
            out = self.value(node) if k == lanes.width - 1 else f"%w{n}_{k}"
            yield f"{out} = insertelement {lanes.number} {built}, {lanes.real} %y{n}_{k}, i64 {k}"
            built = out


def places(program: Program) -> dict[Expr, list[tuple[str, int]]]:
    """Where each node goes that is an element of an output."""
    found: dict[Expr, list[tuple[str, int]]] = defaultdict(list)
    for i, output in enumerate(program.outputs):
        for k, x in enumerate(output.values):
            if x.__class__ is Expr:
                found[x].append((f"%out{i}", k))
    return found


def slots(program: Program) -> dict[Scalar, int]:
    """Each distinct result, node or float, and its place among the vectors a kernel for many states leaves."""
    values = (x if x.__class__ is Expr else float(x) for output in program.outputs for x in output.values)
    return {x: k for k, x in enumerate(dict.fromkeys(values))}


def is_short(program: Program, lanes: Lanes) -> bool:
    """Few enough instructions and columns to stand in the loop itself, without a detour through memory."""
    columns = max(x.size for x in (*program.inputs, *program.outputs))
    return len(program.nodes) <= SHORT and columns <= 8 * lanes.width


def constants(output: Output, room: str, lanes: Lanes) -> Iterable[str]:
    """Store the elements that are numbers: zeros, of which there may be thousands, all at once."""
    numbers = {k: float(x) for k, x in enumerate(output.values) if x.__class__ is not Expr}
    if not numbers:
        return
    yield f"call void @llvm.memset.p0.i64(ptr {room}, i8 0, i64 {output.size * lanes.width * lanes.bits // 8}, i1 false)"
    tag = room[1:]
    for k, x in numbers.items():
        if x != 0:
            yield f"%{tag}_at{k} = getelementptr inbounds {lanes.number}, ptr {room}, i64 {k}"
            yield f"store {lanes.number} {lanes.literal(x)}, ptr %{tag}_at{k}, align {lanes.bits // 8}"


def angles_first(nodes: Sequence[Expr]) -> list[Expr]:
    """Sines, cosines and what they need before the rest: a call keeps no vector register, so nothing should be in one."""
    early: set[Expr] = set()
    for node in reversed(nodes):
        if node.op in ("sin", "cos") or node in early:
            early.add(node)
            early.update(a for a in node.args if a.__class__ is Expr)
    return [n for n in nodes if n in early] + [n for n in nodes if n not in early]


def fused_products(nodes: Sequence[Expr], outputs: Mapping[Expr, list]) -> set[Expr]:
    """Products used once, in a sum or difference: at most one of each sum."""
    uses = Counter(a for node in nodes for a in node.args if a.__class__ is Expr)
    found: set[Expr] = set()
    for node in nodes:
        if node.op in "+-":
            for a in node.args:
                if a.__class__ is Expr and a.op == "*" and uses[a] == 1 and a not in outputs:
                    found.add(a)
                    break
    return found
