"""Write a program as a C99 function: `void name(const double q[7], ..., double tau[7])`.

There is one statement for each operation, with a constant for its value; sums and products that are used once are written where
they are used. Parentheses are written only where C needs them, so without contraction C rounds as the graph says. Results are
written after the last input is read: an output may be the same array as an input. A long function calls its parts in turn, which
pass values on in an array `w` on the stack.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from qddot.errors import InputError
from qddot.graph.expr import Expr
from qddot.graph.program import Program

LINE = 60
"""Most characters of an expression that is written inside another one."""

PART = 500
"""Statements in one function: a compiler's effort grows faster than a function's length, so long functions are cut."""

SELECTION, SUM, PRODUCT, SIGNED, ATOM = range(5)
"""Precedence of an expression's outermost operation, lowest first."""

BINARY = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
OPPOSITE = {"+": "-", "-": "+"}
FUNCTIONS = ("sin", "cos", "sqrt", "atan2")
TEMPORARY = re.compile(r"\bt(\d+)\b")
ARRAY = re.compile(r"\b([A-Za-z_]+)\[")

NOT_INLINED = """\
#if defined(__GNUC__)
#define PART __attribute__((noinline)) static
#else
#define PART static
#endif
"""


class Precision(NamedTuple):
    """The arithmetic of C code: its type, and the suffix of literals and of the functions of math.h."""

    real: str
    suffix: str
    dtype: np.dtype

    def literal(self, x: float) -> str:
        """Return a literal that reads back as the same number. Raises InputError: the number is too large for this precision."""
        if not math.isfinite(x):
            return "NAN" if math.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"
        with np.errstate(over="ignore", under="ignore"):
            value = self.dtype.type(x)
        if not np.isfinite(value):
            raise InputError(f"{float(x):.6g} is too large for a C {self.real}")
        return f"{value!s}{self.suffix}"

    def constant(self, name: str, code: str) -> str:
        """Return a statement that defines a constant."""
        return f"const {self.real} {name} = {code};"

    def call(self, function: str, arguments: str) -> str:
        """Return a call of one of `FUNCTIONS`."""
        return f"{function}{self.suffix}({arguments})"

    def sign(self, code: str) -> str:
        """Return an expression for -1, 0 or 1."""
        zero = self.literal(0.0)
        return f"({self.real})(({code} > {zero}) - ({code} < {zero}))"

    def array(self, name: str, is_input: bool) -> str:
        """Return an array as a parameter of a part."""
        return f"{'const ' * is_input}{self.real} *{name}"

    def part_head(self, name: str, parameters: str) -> str:
        """Return the head of a part's definition."""
        return f"PART void {name}({parameters})"

    def room(self, size: int) -> str:
        """Return a statement that defines the array `w`."""
        return f"{self.real} w[{size}];"


PRECISIONS = {"double": Precision("double", "", np.dtype(np.float64)), "float": Precision("float", "f", np.dtype(np.float32))}


class Language(Protocol):
    """The parts of the syntax that differ between languages of C's family."""

    def literal(self, x: float) -> str: ...
    def constant(self, name: str, code: str) -> str: ...
    def call(self, function: str, arguments: str) -> str: ...
    def sign(self, code: str) -> str: ...
    def array(self, name: str, is_input: bool) -> str: ...
    def part_head(self, name: str, parameters: str) -> str: ...
    def room(self, size: int) -> str: ...


class Text(NamedTuple):
    """An expression, its precedence, and the expression for its negative if that has one sign less."""

    code: str
    binding: int = ATOM
    opposite: Text | None = None

    def within(self, binding: int) -> str:
        """Return the expression as an operand of an operation with this precedence, in parentheses if needed."""
        return self.code if self.binding >= binding else f"({self.code})"


# the function ---------------------------------------------------------------------------------------------------------


def prototype(program: Program, name: str, precision: Precision) -> str:
    """Return the function's head, without a semicolon."""
    inputs = [f"const {precision.real} {x.name}[{x.size}]" for x in program.inputs]
    outputs = [f"{precision.real} {x.name}[{x.size}]" if x.shape else f"{precision.real} *{x.name}" for x in program.shown]
    return f"{'int' if program.margins else 'void'} {name}({', '.join(inputs + outputs)})"


def c_function(program: Program, name: str, precision: Precision) -> Iterator[str]:
    """Yield the lines of the function, after those of its parts if it is long (`NOT_INLINED` must come before)."""
    parts, lines = straight_line(program, name, precision)
    used = arrays([*parts, *lines])
    unused = [f"(void){x.name};" for x in program.inputs if x.name not in used]
    yield from (*parts, *braced(prototype(program, name, precision), [*unused, *lines]))


def straight_line(program: Program, name: str, language: Language) -> tuple[list[str], list[str]]:
    """Return the lines that define the parts of a long function, and the lines of the function's own body."""
    printer = Printer(program, language)
    statements = list(printer.statements())
    checks, results = list(printer.checks()), list(printer.results())
    functions: list[str] = []
    if len(statements) + len(results) > PART:
        parts = Parts(program, name, language, statements, checks, results)
        functions = list(parts.functions())
        statements, checks, results = parts.calls()
    return functions, [*statements, *checks, *results, *(["return 0;"] if program.margins else [])]


def braced(head: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a function with its body in braces."""
    yield from (head, "{", *(f"    {line}" for line in lines), "}", "")


def arrays(lines: Iterable[str]) -> set[str]:
    """Return the names of the arrays that are read or written."""
    return {name for line in lines for name in ARRAY.findall(line)}


def temporaries(lines: Iterable[str]) -> Iterator[int]:
    """Yield the numbers of the temporaries that are read or set."""
    return (int(number) for line in lines for number in TEMPORARY.findall(line))


class Parts:
    """A long function cut into pieces, each of which takes the arrays it uses.

    Attributes:
        places: index in the array `w` of each temporary that is set in one piece and read in another.
        first, last: the pieces that compute, and those that write results.
    """

    def __init__(
        self, program: Program, name: str, language: Language, statements: list[str], checks: list[str], results: list[str]
    ) -> None:
        self.name, self.language = name, language
        pieces = cut(statements)
        crossing = (t for k, piece in enumerate(pieces) for t in temporaries(piece) if t < k * PART)
        needed = (*crossing, *temporaries(checks), *temporaries(results))
        self.places = {t: place for place, t in enumerate(dict.fromkeys(needed))}
        self.first = [list(self.connected(piece, k * PART)) for k, piece in enumerate(pieces)]
        self.checks = [self.from_places(line) for line in checks]
        self.last = [[self.from_places(line) for line in piece] for piece in cut(results)]
        self.types = {x.name: language.array(x.name, True) for x in program.inputs}
        self.types |= {name: language.array(name, False) for name in ("w", *(x.name for x in program.shown))}

    def connected(self, piece: list[str], start: int) -> Iterator[str]:
        """Yield a piece's lines; values of other pieces are read before their first use, those for other pieces stored at once."""
        here: set[int] = set()
        for number, line in enumerate(piece, start):
            for t in dict.fromkeys(temporaries([line])):
                if t < start and t not in here:
                    here.add(t)
                    yield self.language.constant(f"t{t}", f"w[{self.places[t]}]")
            yield line
            if number in self.places:
                yield f"w[{self.places[number]}] = t{number};"

    def from_places(self, line: str) -> str:
        """Return a line with its temporaries read from `w`."""
        return TEMPORARY.sub(lambda t: f"w[{self.places[int(t[1])]}]", line)

    def used(self, piece: list[str]) -> list[str]:
        """Return the names of the arrays that a piece takes."""
        found = arrays(piece)
        return [name for name in self.types if name in found]

    def functions(self) -> Iterator[str]:
        """Yield the lines of a function for each piece."""
        for k, piece in enumerate((*self.first, *self.last), 1):
            parameters = ", ".join(self.types[name] for name in self.used(piece))
            yield from braced(self.language.part_head(f"{self.name}_part{k}", parameters), piece)

    def calls(self) -> tuple[list[str], list[str], list[str]]:
        """Return the body of the function itself: calls of the pieces that compute, checks, calls of the pieces that write."""
        pieces = enumerate((*self.first, *self.last), 1)
        calls = [f"{self.name}_part{k}({', '.join(self.used(piece))});" for k, piece in pieces]
        room = [self.language.room(len(self.places))] if self.places else []
        return [*room, *calls[: len(self.first)]], self.checks, calls[len(self.first) :]


def cut(lines: list[str]) -> list[list[str]]:
    """Return the lines in pieces of `PART`."""
    return [lines[k : k + PART] for k in range(0, len(lines), PART)]


# its statements -------------------------------------------------------------------------------------------------------


class Printer:
    """Statements for the nodes of a program: the one numbered k sets the temporary `t<k>`.

    Attributes:
        text: the expression for each node seen so far.
        uses: how often each node is an operand.
        kept: nodes that need a temporary: outputs, and operands that an expression writes twice.
    """

    def __init__(self, program: Program, language: Language) -> None:
        self.program, self.language = program, language
        self.text: dict[Expr, Text] = {}
        self.uses = Counter(a for node in program.nodes for a in node.args if a.__class__ is Expr)
        self.kept = {x for output in program.outputs for x in output.values if x.__class__ is Expr}
        self.kept.update(node.args[0] for node in program.nodes if node.op == "sign")

    def statements(self) -> Iterator[str]:
        """Yield the statements that set the temporaries, in order."""
        number = 0
        for node in self.program.nodes:
            text = self.expression(node)
            if self.is_named(node, text):
                yield self.language.constant(f"t{number}", text.code)
                text = Text(f"t{number}")
                number += 1
            self.text[node] = text

    def is_named(self, node: Expr, text: Text) -> bool:
        """Return True for a node that gets a temporary instead of being written where it is used."""
        if node in self.kept or node.op == "var":
            return node in self.kept
        return self.uses[node] > 1 or text.binding in (SELECTION, ATOM) or len(text.code) > LINE

    def checks(self) -> Iterator[str]:
        """Yield statements that return the number of the column at fault: the last one, since elimination begins at the tips."""
        margins = [x for output in self.program.margins for x in output.values]
        for column, x in reversed(list(enumerate(margins, 1))):
            if x.__class__ is Expr or not x > 0:
                yield f"if (!({self.operand(x).code} > {self.language.literal(0.0)})) return {column};"

    def results(self) -> Iterator[str]:
        """Yield the statements that write the outputs."""
        for output in self.program.shown:
            for k, x in enumerate(output.values):
                yield f"{output.name}[{k}] = {self.operand(x).code};"

    def operand(self, x) -> Text:
        """Return the expression for an operand, a node or a number."""
        if x.__class__ is Expr:
            return self.text[x]
        code = self.language.literal(x)
        return Text(code, SIGNED, Text(code[1:])) if code.startswith("-") else Text(code)

    def expression(self, node: Expr) -> Text:
        """Return the expression for a node, from those for its operands."""
        if node.op == "var":
            source, element = node.args
            return Text(f"{self.program.inputs[source].name}[{element}]")
        a, *rest = (self.operand(x) for x in node.args)
        if node.op in BINARY:
            return binary(node.op, a, rest[0])
        if node.op == "neg":
            return Text(f"-{a.within(ATOM)}", SIGNED, a)
        if node.op in FUNCTIONS:
            return Text(self.language.call(node.op, ", ".join(x.code for x in (a, *rest))))
        if node.op == "sign":
            return Text(self.language.sign(a.code))
        if node.op == "select":
            return Text(f"{a.within(SUM)} > {self.language.literal(0.0)} ? {rest[0].code} : {rest[1].code}", SELECTION)
        raise ValueError(f"no way to write {node.op!r}")


def binary(op: str, a: Text, b: Text) -> Text:
    """Return `a op b`. C groups from the left, so a right operand of the same precedence is put in parentheses."""
    if op in OPPOSITE and b.opposite:
        op, b = OPPOSITE[op], b.opposite
    binding = BINARY[op]
    code = f"{a.within(binding)} {op} "
    opposite = Text(code + b.opposite.code, binding) if op == "*" and b.opposite and b.opposite.binding == ATOM else None
    return Text(code + b.within(binding + 1), binding, opposite)
