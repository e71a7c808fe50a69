"""Direct entries: functions in machine code that CPython calls directly, before the ordinary methods with their checks in Python.

A call with contiguous float64 vectors of the right length and finite numbers runs the kernel at once and returns a new array
(`entry_ir`). Other calls (a batch, a frame's name) go to the general direct entry (`direct`), and from there unusual ones (a list,
a NaN, a singular state) to the ordinary method, which computes the result or raises the error. The code is LLVM IR for the layout
of CPython's and NumPy's public structures (`layout`), which is verified first. If it differs, there are no direct entries, a
warning is given, and nothing else changes.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile import entry_ir, layout
from qddot.compile.builtin import FASTCALL_KEYWORDS, NOARGS, MethodDef, builtin, holder
from qddot.compile.layout import BYTES, ITEMS
from qddot.compile.llvm import Code, Computer, load_module
from qddot.compile.peaks import FAR_BITS, INFINITE_BITS, LARGEST, MAGNITUDE
from qddot.graph.program import Program

if TYPE_CHECKING:
    from qddot.compile.direct import Direct

VECTORCALL, INCREF, DECREF, ARRAY_TYPE, ARRAY_NEW, FLOAT64, KERNEL, GUEST, GUEST_FUNCTION = range(9)
"""Indices of the first words of the table (see `direct_table`); for a bound quantity its result and arrays follow `KERNEL`."""


def fast_entry(name: str, table: Direct, fallback: Callable, doc: str) -> Callable:
    """Return the builtin that replaces an ordinary method (`fallback`), with the same inputs and options."""
    code = table.code
    if table.is_plain:
        code = code._replace(loop=code.engine.get_function_address(entry_ir.name(len(table.shape.inputs))))  # type: ignore[attr-defined]
    return made(name, code, fallback, table.table, FASTCALL_KEYWORDS, doc, (table, code))


def admit(entry: Callable, kind: type, function: Callable) -> None:
    """Make a direct entry pass calls whose first argument is of this type to a function, which returns None if it has no result.

    The caller must keep type and function alive as long as the entry's ordinary method.
    """
    table = id(entry.__self__[1]) + BYTES  # type: ignore[attr-defined]
    for place, address in ((GUEST_FUNCTION, id(function)), (GUEST, id(kind))):
        ctypes.c_void_p.from_address(table + 8 * place).value = address


def bound_entry(
    program: Program, single: Code, computer: Computer, fallback: Callable, arrays: Sequence[np.ndarray], result: object
) -> Callable | None:
    """Return a builtin without arguments that runs the kernel on fixed arrays (inputs, then outputs) and returns `result`.

    None if there are no direct entries on this system, or if an array is too large for one.
    """
    if not layout.has_direct_entry() or max(x.size for x in (*program.inputs, *program.outputs)) > LARGEST:
        return None
    margins = [x.size for x in program.margins]
    module = "\n".join([*helpers([x.size for x in (*program.inputs, *program.outputs)], margins), *bound(program)])
    code = load_module(module, "entry", computer)
    numbers = [*functions_and_types(), single.kernel, id(result), *(a.ctypes.data for a in arrays)]
    table = struct.pack(f"<{len(numbers)}Q", *numbers)
    return made(program.name, code, fallback, table, NOARGS, "", (single, arrays, result))


def made(name: str, code: Code, fallback: Callable, table: bytes, flags: int, doc: str, owned: Any) -> Callable:
    """Return a Python function that runs machine code, which reads the table."""
    definition = MethodDef(name.encode(), code.loop, flags, doc.encode())
    return builtin(definition, holder(name)((fallback, table, definition, code, [owned])))


def functions_and_types() -> list[int]:
    """Return the addresses of the functions and types that the code uses, in the order of the indices above."""
    python = [layout.function_address(name) for name in ("PyObject_Vectorcall", "Py_IncRef", "Py_DecRef")]
    api = layout.array_api()
    return [*python, api[layout.ARRAY_TYPE], api[layout.ARRAY_NEW], id(np.dtype(np.float64))]


# IR -------------------------------------------------------------------------------------------------------------------------


def helpers(sizes: Sequence[int], margins: Sequence[int]) -> Iterable[str]:
    """Define tests of vectors: `beyond<n>` (a magnitude is too large) for the sizes, `not_positive<n>` for the margins."""
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


def field(name: str, thing: str, offset: int, kind: str) -> str:
    """Return IR that loads a field of a structure."""
    return f"{name}_p = getelementptr i8, ptr {thing}, i64 {offset}\n{name} = load {kind}, ptr {name}_p"


def fallback(args: str, nargs: str, kwnames: str, label: str) -> Iterable[str]:
    """Yield a call of the ordinary method with the same arguments."""
    yield f"{label}:\n%first = getelementptr i8, ptr %self, i64 {ITEMS}\n%method = load ptr, ptr %first"
    yield f"%slow_second = getelementptr i8, ptr %self, i64 {ITEMS + 8}\n%slow_bytes = load ptr, ptr %slow_second"
    yield f"%slow_table = getelementptr i8, ptr %slow_bytes, i64 {BYTES}\n%vectorcall = load ptr, ptr %slow_table"
    yield f"%answer = call ptr %vectorcall(ptr %method, ptr {args}, i64 {nargs}, ptr {kwnames})\nret ptr %answer\n}}"
