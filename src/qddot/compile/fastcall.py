"""Direct entries for one state: functions in machine code that CPython calls directly, in front of the checked methods.

A call with contiguous float64 vectors of the right length and finite numbers runs the kernel at once and returns a new array.
Anything else (a batch, a frame's name) goes to `direct`, and from there unusual calls (a list, a NaN, a singular state) go to the
ordinary method, which computes them or raises the error. The code is LLVM IR for the layout of CPython's and NumPy's public
structures (`layout`), which is verified first; if it differs, there are no direct entries, a warning is given, and nothing else
changes.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile import layout
from qddot.compile.builtin import FASTCALL_KEYWORDS, NOARGS, MethodDef, builtin, holder
from qddot.compile.direct_table import field
from qddot.compile.layout import BYTES, DATA, DESCR, DIMENSIONS, DOUBLE, ITEMS, NDIM, STRIDES, TYPE
from qddot.compile.llvm import Code, Computer, load_module, this_computer
from qddot.compile.peaks import FAR_BITS, INFINITE_BITS, LARGEST, MAGNITUDE
from qddot.graph.program import Program

if TYPE_CHECKING:
    from qddot.compile.direct import Direct, Shape

VECTORCALL, INCREF, DECREF, ARRAY_TYPE, ARRAY_NEW, FLOAT64, KERNEL, GUEST, GUEST_FUNCTION, NONE, DIRECT = range(11)
"""Indices of the first words of the table (see `direct`). A bound quantity's table has those up to the kernel, then its arrays."""


def fast_entry(name: str, table: Direct, fallback: Callable, doc: str) -> Callable:
    """Return a builtin function for a method's inputs and options, which calls the method itself where it cannot answer."""
    code = entry_code(table.shape) if table.is_plain else table.code
    return made(name, code, fallback, table.table, FASTCALL_KEYWORDS, doc, (table, code))


@cache
def entry_code(shape: Shape) -> Code:
    """Return the code for methods with arrays of these sizes, shared by all robots."""
    return load_module("\n".join(entry_module(shape)), "entry", this_computer())


def admit(entry: Callable, kind: type, function: Callable) -> None:
    """Let a direct entry pass calls whose first argument is of this type to a function, which returns None if it cannot answer.

    The caller keeps type and function alive as long as the entry's ordinary method.
    """
    table = id(entry.__self__[1]) + BYTES  # type: ignore[attr-defined]
    for place, address in ((GUEST_FUNCTION, id(function)), (GUEST, id(kind))):
        ctypes.c_void_p.from_address(table + 8 * place).value = address


def bound_entry(
    program: Program, single: Code, computer: Computer, fallback: Callable, arrays: Sequence[np.ndarray], result: object
) -> Callable | None:
    """Return a builtin without arguments that runs the kernel on fixed arrays, outputs after inputs, and returns `result`; None if
    there are no direct entries here, or arrays are too large for one."""
    if not layout.has_direct_entry() or max(x.size for x in (*program.inputs, *program.outputs)) > LARGEST:
        return None
    margins = [x.size for x in program.margins]
    module = "\n".join([*helpers([x.size for x in (*program.inputs, *program.outputs)], margins), *bound(program)])
    code = load_module(module, "entry", computer)
    numbers = [*functions_and_types(), single.kernel, id(result), *(a.ctypes.data for a in arrays)]
    table = struct.pack(f"<{len(numbers)}Q", *numbers)
    return made(program.name, code, fallback, table, NOARGS, "", (single, arrays, result))


def made(name: str, code: Code, fallback: Callable, table: bytes, flags: int, doc: str, owned: Any) -> Callable:
    """Return a Python function around machine code that reads the table."""
    definition = MethodDef(name.encode(), code.loop, flags, doc.encode())
    return builtin(definition, holder(name)((fallback, table, definition, code, [owned])))


def functions_and_types() -> list[int]:
    """Return the addresses of the functions and types that the code uses, in the order of the indices above."""
    python = [layout.function_address(name) for name in ("PyObject_Vectorcall", "Py_IncRef", "Py_DecRef")]
    api = layout.array_api()
    return [*python, api[layout.ARRAY_TYPE], api[layout.ARRAY_NEW], id(np.dtype(np.float64))]


# IR -------------------------------------------------------------------------------------------------------------------------


def helpers(sizes: Sequence[int], margins: Sequence[int]) -> Iterable[str]:
    """Define the tests on vectors of these lengths: `beyond<n>` (a magnitude is too large) and `not_positive<n>`."""
    for n in sorted({*sizes, *margins} - {0}):
        yield f"declare i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1>)"
    for n in sorted(set(sizes)):
        yield f"define internal i1 @beyond{n}(ptr %x, i64 %limit) nounwind {{"
        yield f"%bits = load <{n} x i64>, ptr %x, align 8"
        yield f"%size = and <{n} x i64> %bits, splat (i64 {MAGNITUDE})"
        yield f"%one = insertelement <{n} x i64> poison, i64 %limit, i64 0"
        yield f"%limits = shufflevector <{n} x i64> %one, <{n} x i64> poison, <{n} x i32> zeroinitializer"
        yield f"%far = icmp uge <{n} x i64> %size, %limits"
        yield f"%any = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %far)\nret i1 %any\n}}"
    for n in set(margins) - {0}:
        yield f"define internal i1 @not_positive{n}(ptr %x) nounwind {{"
        yield f"%values = load <{n} x double>, ptr %x, align 8"
        yield f"%bad = fcmp ule <{n} x double> %values, zeroinitializer"
        yield f"%any = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %bad)\nret i1 %any\n}}"


def entry_module(shape: Shape) -> Iterable[str]:
    """Define the direct entry and its tests."""
    yield from helpers([*(size for size, _ in shape.inputs), math.prod(shape.outputs[0])], [shape.margins])
    yield from entry(shape)


def entry(shape: Shape) -> Iterable[str]:
    """Define `PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)`."""
    n = len(shape.inputs)
    yield "define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {"
    yield f"%right = icmp eq i64 %nargs, {n}\n%plain = icmp eq ptr %kwnames, null\n%go = and i1 %right, %plain"
    yield "br i1 %go, label %start, label %slow\nstart:"
    yield from table()
    for i, (size, limit) in enumerate(shape.inputs):
        yield from vector_argument(i, size, limit)
    yield from new_output(shape.outputs[0])
    yield from run(shape, [f"%data{i}" for i in range(n)], "%room")
    yield "ret ptr %out"
    yield "bad:"
    yield from word("%decref", DECREF)
    yield "call void %decref(ptr %out)\nbr label %slow\nfailed:\nret ptr null"
    yield f"slow:\n%slow_second = getelementptr i8, ptr %self, i64 {ITEMS + 8}\n%slow_bytes = load ptr, ptr %slow_second"
    yield f"%slow_table = getelementptr i8, ptr %slow_bytes, i64 {BYTES + 8 * DIRECT}\n%direct = load ptr, ptr %slow_table"
    yield "%answer = tail call ptr %direct(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)\nret ptr %answer\n}"


def bound(program: Program) -> Iterable[str]:
    """Define `PyObject *entry(PyObject *self, PyObject *unused)` for a bound quantity, whose arrays are in the table."""
    yield "define ptr @entry(ptr %self, ptr %unused) nounwind {\nbr label %start\nstart:"
    yield from table()
    for i in range(len(program.inputs) + len(program.outputs)):
        yield from word(f"%at{i}", KERNEL + 2 + i)
    for i, x in enumerate(program.inputs):
        limit = FAR_BITS if x.name == "q" else INFINITE_BITS
        yield f"%far{i} = call i1 @beyond{x.size}(ptr %at{i}, i64 {limit})\nbr i1 %far{i}, label %slow, label %near{i}\nnear{i}:"
    n = len(program.inputs)
    yield f"call void %kernel({', '.join(f'ptr %at{i}' for i in range(n + len(program.outputs)))})"
    for i, x in enumerate(program.outputs, n):
        test = f"@not_positive{x.size}(ptr %at{i})" if x.name == "margins" else f"@beyond{x.size}(ptr %at{i}, i64 {INFINITE_BITS})"
        yield f"%wrong{i} = call i1 {test}\nbr i1 %wrong{i}, label %slow, label %fine{i}\nfine{i}:"
    yield from word("%result", KERNEL + 1)
    yield from word("%incref", INCREF)
    yield "call void %incref(ptr %result)\nret ptr %result"
    yield from fallback("null", "0", "null", "slow")


def table() -> Iterable[str]:
    """Yield IR that loads %table, the second item of self, and %kernel."""
    yield f"%second = getelementptr i8, ptr %self, i64 {ITEMS + 8}\n%bytes = load ptr, ptr %second"
    yield f"%table = getelementptr i8, ptr %bytes, i64 {BYTES}"
    yield from word("%kernel", KERNEL)


def word(name: str, place: int) -> Iterable[str]:
    """Yield IR that loads a word of %table."""
    yield f"{name}_p = getelementptr ptr, ptr %table, i64 {place}\n{name} = load ptr, ptr {name}_p"


def vector_argument(i: int, size: int, limit: int) -> Iterable[str]:
    """Yield IR that jumps to `slow` unless argument i is an aligned, contiguous float64 vector of this length with magnitudes below
    the limit."""
    yield f"%ap{i} = getelementptr ptr, ptr %args, i64 {i}\n%a{i} = load ptr, ptr %ap{i}"
    if i == 0:
        yield from word("%array_type", ARRAY_TYPE)
        yield from word("%float64", FLOAT64)
    yield field(f"%type{i}", f"%a{i}", TYPE, "ptr")
    yield f"%is{i} = icmp eq ptr %type{i}, %array_type\nbr i1 %is{i}, label %array{i}, label %slow\narray{i}:"
    yield field(f"%nd{i}", f"%a{i}", NDIM, "i32") + f"\n%flat{i} = icmp eq i32 %nd{i}, 1"
    yield field(f"%descr{i}", f"%a{i}", DESCR, "ptr") + f"\n%real{i} = icmp eq ptr %descr{i}, %float64"
    yield f"%both{i} = and i1 %flat{i}, %real{i}\nbr i1 %both{i}, label %vector{i}, label %slow\nvector{i}:"
    yield field(f"%dims{i}", f"%a{i}", DIMENSIONS, "ptr")
    yield f"%len{i} = load i64, ptr %dims{i}\n%fits{i} = icmp eq i64 %len{i}, {size}"
    yield field(f"%steps{i}", f"%a{i}", STRIDES, "ptr")
    yield f"%step{i} = load i64, ptr %steps{i}\n%dense{i} = icmp eq i64 %step{i}, 8"
    yield field(f"%data{i}", f"%a{i}", DATA, "ptr") + f"\n%place{i} = ptrtoint ptr %data{i} to i64\n%odd{i} = and i64 %place{i}, 7"
    yield f"%even{i} = icmp eq i64 %odd{i}, 0\n%f{i} = and i1 %fits{i}, %dense{i}\n%g{i} = and i1 %f{i}, %even{i}"
    yield f"br i1 %g{i}, label %numbers{i}, label %slow\nnumbers{i}:"
    yield f"%far{i} = call i1 @beyond{size}(ptr %data{i}, i64 {limit})\nbr i1 %far{i}, label %slow, label %near{i}\nnear{i}:"


def new_output(shape: Sequence[int]) -> Iterable[str]:
    """Yield IR for %out, a new array, and %room, its memory."""
    yield f"%shape = alloca i64, i64 {max(len(shape), 1)}"
    for d, size in enumerate(shape):
        yield f"%shape{d} = getelementptr i64, ptr %shape, i64 {d}\nstore i64 {size}, ptr %shape{d}"
    yield from word("%new", ARRAY_NEW)
    nothing = "ptr null, ptr null, i32 0, i32 0, ptr null"
    yield f"%out = call ptr %new(ptr %array_type, i32 {len(shape)}, ptr %shape, i32 {DOUBLE}, {nothing})"
    yield "%none = icmp eq ptr %out, null\nbr i1 %none, label %failed, label %made\nmade:"
    yield field("%room", "%out", DATA, "ptr")


def run(shape: Shape, inputs: Sequence[str], room: str) -> Iterable[str]:
    """Yield a call of the kernel, and a jump to `bad` if a result is not finite or a margin not positive."""
    rooms, size, margins = [room], math.prod(shape.outputs[0]), shape.margins
    if margins:
        yield f"%margins = alloca double, i64 {margins}"
        rooms.append("%margins")
    yield f"call void %kernel({', '.join(f'ptr {x}' for x in (*inputs, *rooms))})"
    yield f"%wrong = call i1 @beyond{size}(ptr {room}, i64 {INFINITE_BITS})\nbr i1 %wrong, label %bad, label %finite\nfinite:"
    if margins:
        yield f"%low = call i1 @not_positive{margins}(ptr %margins)\nbr i1 %low, label %bad, label %sound\nsound:"


def fallback(args: str, nargs: str, kwnames: str, label: str) -> Iterable[str]:
    """Yield a call of the ordinary method with the same arguments."""
    yield f"{label}:\n%first = getelementptr i8, ptr %self, i64 {ITEMS}\n%method = load ptr, ptr %first"
    yield f"%slow_second = getelementptr i8, ptr %self, i64 {ITEMS + 8}\n%slow_bytes = load ptr, ptr %slow_second"
    yield f"%slow_table = getelementptr i8, ptr %slow_bytes, i64 {BYTES}\n%vectorcall = load ptr, ptr %slow_table"
    yield f"%answer = call ptr %vectorcall(ptr %method, ptr {args}, i64 {nargs}, ptr {kwnames})\nret ptr %answer\n}}"
