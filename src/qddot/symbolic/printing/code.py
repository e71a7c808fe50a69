"""Forms as programs: a self-contained Python function over NumPy arrays, or a C99 function that needs only math.h.

Both are written from the same trees as the other targets: sines and cosines first, then constants made of parameters, then the
entries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError, UnboundSymbolError, unknown_name
from qddot.symbolic.evaluate import Letters, check_quaternions
from qddot.symbolic.exact.letters import ARRAYS
from qddot.symbolic.printing.abbreviations import Abbreviations
from qddot.symbolic.printing.code_printers import CPrinter, Identifiers, PythonPrinter
from qddot.symbolic.printing.presentation import Presentation, Style
from qddot.symbolic.printing.tree import Inverse, Node, Number, Power, Product, Sum, Symbol, Wave, leaves

if TYPE_CHECKING:
    from qddot.symbolic.form import Form

CHUNK = 50
"""The most terms of a sum in one statement: compilers recurse into long sums."""


class Program:
    """The statements of a function that computes a form, in order, in the language of the `printer`.

    Attributes:
        parameters: name -> identifier, for those that occur.
        arrays: the arrays that are read, of q, qd, qdd and further ones.
        moving: (identifier, value) of joint variables, rates, sines and cosines.
        statements: (identifier, expressions to be added up) of constants, loads and parts of long sums.
        entries: an expression for each entry.
    """

    def __init__(self, form: Form, printer: type[PythonPrinter]) -> None:
        self.form = form
        equations = form.equations
        style = Style(abbreviate=Abbreviations())
        presentation = Presentation(equations, style)
        trees = [presentation.entry(x) for x in form.entries.flat]
        assert style.abbreviate is not None
        loads = sorted({x for tree in trees for x in leaves(tree) if isinstance(x, Symbol) and x.kind == "load"})
        carried = [presentation.load(x) for x in loads]
        definitions = style.abbreviate.definitions
        self.identifiers = Identifiers()
        self.printer = printer(equations, self.identifiers)
        used = dict.fromkeys(x for tree in (*definitions.values(), *carried, *trees) for x in leaves(tree))
        waves = [x for x in used if isinstance(x, Wave)]
        symbols = {x for x in used if isinstance(x, Symbol)} | {
            x for wave in waves for x in leaves(self.printer.angle(wave)) if isinstance(x, Symbol)
        }
        order = {name: i for i, name in enumerate(equations.parameters)}
        names = sorted((x.name for x in symbols if x.kind == "parameter"), key=lambda name: (order.get(name, len(order)), name))
        self.parameters = {name: self.printer.symbol(Symbol(name)) for name in names}
        rates = sorted((x for x in symbols if x.kind in ARRAYS), key=lambda x: (ARRAYS[x.kind], x.index))
        self.moving = [(self.printer.expression(x), self.printer.value(x)) for x in (*rates, *waves)]
        read = {ARRAYS[symbol.kind] for symbol in rates}
        self.arrays = [x for x in equations.alphabet.sizes if x == "q" or x in read]
        self.statements: list[tuple[str, list[str]]] = []
        self._parts = count(1)
        for name, node in definitions.items():
            self._define(self.printer.symbol(Symbol(name, "constant")), node)
        for symbol, node in zip(loads, carried):
            self._define(self.printer.symbol(symbol), node)
        done: dict[int, int] = {}
        self.entries: list[str] = []
        for tree in trees:
            first = done.setdefault(id(tree), len(self.entries))
            again = first < len(self.entries) and not isinstance(tree, (Number, Symbol, Wave))
            self.entries.append(self.place(first) if again else self.printer.expression(self._cut(tree)))

    def _define(self, name: str, node: Node) -> None:
        if isinstance(node, Sum) and len(node.terms) > CHUNK:
            terms = [self._cut(x) for x in node.terms]
            chunks = [Sum(tuple(terms[i : i + CHUNK])) for i in range(0, len(terms), CHUNK)]
            self.statements.append((name, [self.printer.expression(x) for x in chunks]))
        else:
            self.statements.append((name, [self.printer.expression(self._cut(node))]))

    def _cut(self, node: Node) -> Node:
        """Return the node with names for its long sums, which are computed before."""
        if isinstance(node, Sum) and len(node.terms) > CHUNK:
            number = next(self._parts)
            part = Symbol(f"t{number}", "part", number)
            self._define(self.printer.symbol(part), node)
            return part
        if isinstance(node, (Sum, Product)):
            return type(node)(tuple(self._cut(x) for x in node[0]))
        if isinstance(node, Power):
            return Power(self._cut(node.base), node.exponent)
        return Inverse(self._cut(node.of)) if isinstance(node, Inverse) else node

    def place(self, i: int) -> str:
        """Return the expression for entry i of the result."""
        if isinstance(self.printer, CPrinter):
            return f"out[{i}]"
        return f"out[{', '.join(['...', *map(str, np.unravel_index(i, self.form.shape))])}]"

    @property
    def name(self) -> str:
        return Identifiers().of("function", self.form.name or "form")


def python_source(program: Program) -> str:
    """See `Form.python`."""
    form = program.form
    values = known_values(form, program)
    arguments = [*program.arrays, *(["*"] if program.parameters else [])]
    arguments += [f"{x}={values[x]!r}" if x in values else x for x in program.parameters.values()]
    sizes = form.equations.alphabet.sizes
    shapes = [f"{x}.shape[:-1]" for x in program.arrays]
    if program.parameters:
        shapes.append(f"*map(np.shape, [{', '.join(program.parameters.values())}])")
    inputs = ", ".join(f"{x} (..., {sizes[x]})" for x in program.arrays)
    lines = [
        "import numpy as np",
        "",
        "",
        f"def {program.name}({', '.join(arguments)}):",
        f'    """From {inputs} to (..., {", ".join(map(str, form.shape))})."""'
        if form.shape
        else f'    """From {inputs} to (...)."""',
        *(f"    {x} = np.asarray({x}, dtype=float)" for x in program.arrays),
        *(f"    {name} = {value}" for name, value in program.moving),
        *(f"    {name} = {x}" for name, x in assignments(program)),
        f"    out = np.empty(np.broadcast_shapes({', '.join(shapes)}) + {form.shape!r})",
        *(f"    {program.place(i)} = {x}" for i, x in enumerate(program.entries)),
        "    return out" if form.shape else "    return out[()]",
    ]
    return "\n".join(lines) + "\n"


def assignments(program: Program) -> Iterator[tuple[str, str]]:
    """Yield (identifier, value) of each assignment; the parts of a long sum are added one by one."""
    for name, parts in program.statements:
        yield name, parts[0]
        for x in parts[1:]:
            yield name, f"{name} + {x}"


def c_source(program: Program) -> str:
    """See `Form.c`."""
    form = program.form
    sizes = form.equations.alphabet.sizes
    arguments = [f"const double {x}[{max(1, sizes[x])}]" for x in program.arrays]
    values = "parameters" if "p" in program.arrays else "p"  # p may be momenta
    arguments += [f"const double {values}[{len(program.parameters)}]"] if program.parameters else []
    arguments.append(f"double out[{max(1, form.entries.size)}]")
    names = list(program.parameters.values())
    seen: set[str] = set()
    lines = ["#include <math.h>", ""]
    if names:
        lines.append(f"/* {values}: {', '.join(names)} */")
    lines += [f"void {program.name}({', '.join(arguments)})", "{"]
    lines += [f"    const double {name} = {values}[{i}];" for i, name in enumerate(names)]
    lines += [f"    const double {name} = {value};" for name, value in program.moving]
    many = {name for name, parts in program.statements if len(parts) > 1}
    for name, x in assignments(program):
        declared = "" if name in seen else "double " if name in many else "const double "
        lines.append(f"    {declared}{name} = {x};")
        seen.add(name)
    lines += [f"    {program.place(i)} = {x};" for i, x in enumerate(program.entries)]
    body = "\n".join(lines)
    idle = [f"    (void){x};" for x in (*program.arrays, "out") if not re.search(rf"\b{x}\[", body.partition("{\n")[2])]
    return "\n".join([body, *idle, "}"]) + "\n"


def known_values(form: Form, program: Program) -> dict[str, float]:
    """Return the values of the parameters that stand for numbers, by identifier."""
    equations = form.equations
    letters = Letters(equations, {}, {}, math, float)
    return {x: letters(equations.letter(name)) for name, x in program.parameters.items() if name in equations.values}


def callable_of(form: Form) -> Callable[..., Any]:
    """See `Form.lambdify`."""
    program, scope = Program(form, PythonPrinter), {}
    exec(compile(python_source(program), f"<{program.name}>", "exec"), scope)
    inner, arrays, identifiers = scope[program.name], program.arrays, program.parameters
    equations = form.equations
    known = known_values(form, program)
    allowed = {*identifiers, *(g.name for g in equations.alphabet.ring.generators if g.kind == "parameter")}
    sizes = equations.alphabet.sizes
    further = [name for name in sizes if name not in ("q", "qd", "qdd")]

    def function(q: Any, /, qd: Any = None, qdd: Any = None, **parameters: Any) -> Any:
        moving = {"q": q, "qd": qd, "qdd": qdd} | {name: parameters.pop(name, None) for name in further}
        for name in parameters:
            if name not in allowed:
                raise unknown_name("parameter", name, allowed)
        for name, x in identifiers.items():
            if name not in parameters and x not in known:
                raise UnboundSymbolError(f"{name} has no value: give one with {name}=...")
        given = {x: np.asarray(parameters[name], dtype=float) for name, x in identifiers.items() if name in parameters}
        motion = {}
        for name, size in sizes.items():
            value = np.zeros(size) if moving[name] is None else np.asarray(moving[name], dtype=float)
            if value.shape[-1:] != (size,):
                raise InputError(f"{name} has shape {value.shape}, (..., {size}) is needed")
            motion[name] = value
        check_quaternions(equations, motion["q"])
        return inner(*(motion[name] for name in arrays), **given)

    function.__name__ = function.__qualname__ = program.name
    return function
