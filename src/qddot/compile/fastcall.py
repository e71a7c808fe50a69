"""One state at the least cost: functions that CPython calls directly, in front of the checked path.

A call with contiguous float64 vectors of the right length and finite numbers runs the kernel at once and returns a new array.
Anything else (a batch, a list, a keyword, a NaN, a singular state) goes to the ordinary method, which does it or says why not. The
code is LLVM IR against the layout of CPython's and NumPy's public structures (`layout`), which is verified at start-up; where it
differs there is no fast path, a warning says so, and nothing else changes.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from qddot.compile import layout
from qddot.compile.layout import BYTES, DATA, DESCR, DIMENSIONS, DOUBLE, ITEMS, NDIM, STRIDES, TYPE
from qddot.compile.llvm import Code, Computer, load_module
from qddot.compile.peaks import FAR
from qddot.graph.program import Program

FAR_BITS = struct.unpack("<q", struct.pack("<d", FAR))[0]
INFINITE_BITS = struct.unpack("<q", struct.pack("<d", np.inf))[0]
MAGNITUDE = (1 << 63) - 1
VECTORCALL, INCREF, DECREF, ARRAY_TYPE, ARRAY_NEW, FLOAT64, KERNEL = range(7)  # places in the table
GUEST = KERNEL + 1  # behind them: the type of another library's array, the function that takes such, and None
FASTCALL_KEYWORDS, NOARGS = 0x82, 0x04
LARGEST = 1000  # elements of an argument: the tests on numbers are unrolled


class MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def fast_entry(program: Program, single: Code, computer: Computer, fallback: Callable, doc: str) -> Callable | None:
    """A builtin that takes the program's inputs as positional vectors; None where there can be no fast path."""
    outputs = [x for x in program.outputs if x.name != "margins"]
    sizes = [x.size for x in (*program.inputs, *program.outputs)]
    if not layout.has_direct_entry() or len(outputs) != 1 or any(len(x.shape) != 1 for x in program.inputs) or max(sizes) > LARGEST:
        return None
    module = "\n".join([*helpers(program), *entry(program)])
    code = load_module(module, "entry", computer)
    signature = f"{program.name}({', '.join(x.name for x in program.inputs)}, **options)\n--\n\n"
    return builtin(program.name, code, fallback, single, FASTCALL_KEYWORDS, signature + doc, (0, 0, id(None)))


def admit(entry: Callable, kind: type, function: Callable) -> None:
    """Let a direct entry hand calls whose first argument is of this type to a function, which returns None where it cannot answer.

    Whoever made the entry keeps type and function alive as long as its ordinary method.
    """
    table = id(entry.__self__[1]) + BYTES  # type: ignore[attr-defined]
    for place, address in ((GUEST + 1, id(function)), (GUEST, id(kind))):
        ctypes.c_void_p.from_address(table + 8 * place).value = address


def bound_entry(
    program: Program, single: Code, computer: Computer, fallback: Callable, arrays: Sequence[np.ndarray], result: object
) -> Callable | None:
    """A builtin without arguments that runs the kernel on fixed arrays, outputs after inputs, and returns `result`."""
    if not layout.has_direct_entry() or max(x.size for x in (*program.inputs, *program.outputs)) > LARGEST:
        return None
    module = "\n".join([*helpers(program), *bound(program)])
    code = load_module(module, "entry", computer)
    fixed = [id(result), *(a.ctypes.data for a in arrays)]
    return builtin(program.name, code, fallback, (single, arrays, result), NOARGS, "", fixed)


def builtin(name: str, code: Code, fallback: Callable, owner: Any, flags: int, doc: str, more: Sequence[int] = ()) -> Callable:
    """A Python function object around machine code. Its `self` is a tuple the garbage collector can look through."""
    single = owner if isinstance(owner, Code) else owner[0]
    addresses = [*functions_and_types(), single.kernel, *more]
    table = struct.pack(f"<{len(addresses)}Q", *addresses)
    definition = MethodDef(name.encode(), code.loop, flags, doc.encode())
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(definition), holder(name)((fallback, table, definition, code, owner)), None)


@cache
def holder(name: str) -> type:
    """A tuple with the ordinary method under the function's own name: what tracers see that cannot look into machine code, such as
    `torch.compile`."""

    def ordinary(self: tuple, *arguments: Any, **options: Any) -> Any:
        return self[0](*arguments, **options)

    ordinary.__name__ = name
    return type("Held", (tuple,), {"__slots__": (), name: ordinary})


def functions_and_types() -> list[int]:
    """Addresses of what the code calls and compares with, in the order of the places above."""
    python = [layout.function_address(name) for name in ("PyObject_Vectorcall", "Py_IncRef", "Py_DecRef")]
    api = layout.array_api()
    return [*python, api[layout.ARRAY_TYPE], api[layout.ARRAY_NEW], id(np.dtype(np.float64))]


# IR -------------------------------------------------------------------------------------------------------------------------


def helpers(program: Program) -> Iterable[str]:
    """Intrinsics for vectors of the lengths that occur, and the two tests on numbers."""
    sizes = sorted({x.size for x in (*program.inputs, *program.outputs)})
    for n in sizes:
        yield f"declare i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1>)"
        yield f"define internal i1 @beyond{n}(ptr %x, i64 %limit) nounwind {{"
        yield f"%bits = load <{n} x i64>, ptr %x, align 8"
        yield f"%size = and <{n} x i64> %bits, splat (i64 {MAGNITUDE})"
        yield f"%one = insertelement <{n} x i64> poison, i64 %limit, i64 0"
        yield f"%limits = shufflevector <{n} x i64> %one, <{n} x i64> poison, <{n} x i32> zeroinitializer"
        yield f"%far = icmp uge <{n} x i64> %size, %limits"
        yield f"%any = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %far)\nret i1 %any\n}}"
        yield f"define internal i1 @not_positive{n}(ptr %x) nounwind {{"
        yield f"%values = load <{n} x double>, ptr %x, align 8"
        yield f"%bad = fcmp ule <{n} x double> %values, zeroinitializer"
        yield f"%any = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %bad)\nret i1 %any\n}}"


def entry(program: Program) -> Iterable[str]:
    """`PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)`."""
    n = len(program.inputs)
    yield "define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {"
    yield f"%right = icmp eq i64 %nargs, {n}\n%plain = icmp eq ptr %kwnames, null\n%go = and i1 %right, %plain"
    yield "br i1 %go, label %start, label %slow\nstart:"
    yield from table()
    for i, x in enumerate(program.inputs):
        yield from vector_argument(i, x.size, FAR_BITS if x.name == "q" else INFINITE_BITS)
    yield from new_output(program)
    yield from run(program, [f"%data{i}" for i in range(n)], "%room")
    yield "ret ptr %out"
    yield "bad:"
    yield from word("%decref", DECREF)
    yield "call void %decref(ptr %out)\nbr label %slow\nfailed:\nret ptr null"
    yield from guest()
    yield from fallback("%args", "%nargs", "%kwnames", "ordinary")


def bound(program: Program) -> Iterable[str]:
    """`PyObject *entry(PyObject *self, PyObject *unused)`: the arrays stand in the table."""
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
    """%table from the second item of self, and the kernel."""
    yield f"%second = getelementptr i8, ptr %self, i64 {ITEMS + 8}\n%bytes = load ptr, ptr %second"
    yield f"%table = getelementptr i8, ptr %bytes, i64 {BYTES}"
    yield from word("%kernel", KERNEL)


def word(name: str, place: int) -> Iterable[str]:
    yield f"{name}_p = getelementptr ptr, ptr %table, i64 {place}\n{name} = load ptr, ptr {name}_p"


def field(name: str, thing: str, offset: int, kind: str) -> str:
    return f"{name}_p = getelementptr i8, ptr {thing}, i64 {offset}\n{name} = load {kind}, ptr {name}_p"


def vector_argument(i: int, size: int, limit: int) -> Iterable[str]:
    """Argument i is an aligned, contiguous float64 vector of this length with reasonable numbers, or the slow way is taken."""
    yield f"%ap{i} = getelementptr ptr, ptr %args, i64 {i}\n%a{i} = load ptr, ptr %ap{i}"
    if i == 0:
        yield from word("%array_type", ARRAY_TYPE)
        yield from word("%float64", FLOAT64)
    yield field(f"%type{i}", f"%a{i}", TYPE, "ptr")
    yield f"%is{i} = icmp eq ptr %type{i}, %array_type\nbr i1 %is{i}, label %array{i}, label %slow\narray{i}:"
    yield field(f"%nd{i}", f"%a{i}", NDIM, "i32") + f"\n%flat{i} = icmp eq i32 %nd{i}, 1"
    yield field(f"%descr{i}", f"%a{i}", DESCR, "ptr") + f"\n%real{i} = icmp eq ptr %descr{i}, %float64"
    yield f"%both{i} = and i1 %flat{i}, %real{i}\nbr i1 %both{i}, label %vector{i}, label %slow\nvector{i}:"
    yield (
        field(f"%dims{i}", f"%a{i}", DIMENSIONS, "ptr")
        + f"\n%len{i} = load i64, ptr %dims{i}\n%fits{i} = icmp eq i64 %len{i}, {size}"
    )
    yield (
        field(f"%steps{i}", f"%a{i}", STRIDES, "ptr") + f"\n%step{i} = load i64, ptr %steps{i}\n%dense{i} = icmp eq i64 %step{i}, 8"
    )
    yield field(f"%data{i}", f"%a{i}", DATA, "ptr") + f"\n%place{i} = ptrtoint ptr %data{i} to i64\n%odd{i} = and i64 %place{i}, 7"
    yield f"%even{i} = icmp eq i64 %odd{i}, 0\n%f{i} = and i1 %fits{i}, %dense{i}\n%g{i} = and i1 %f{i}, %even{i}"
    yield f"br i1 %g{i}, label %numbers{i}, label %slow\nnumbers{i}:"
    yield f"%far{i} = call i1 @beyond{size}(ptr %data{i}, i64 {limit})\nbr i1 %far{i}, label %slow, label %near{i}\nnear{i}:"


def new_output(program: Program) -> Iterable[str]:
    """%out, a new array, and %room, its memory."""
    shape = program.outputs[0].shape
    yield f"%shape = alloca i64, i64 {max(len(shape), 1)}"
    for d, size in enumerate(shape):
        yield f"%shape{d} = getelementptr i64, ptr %shape, i64 {d}\nstore i64 {size}, ptr %shape{d}"
    yield from word("%new", ARRAY_NEW)
    nothing = "ptr null, ptr null, i32 0, i32 0, ptr null"
    yield f"%out = call ptr %new(ptr %array_type, i32 {len(shape)}, ptr %shape, i32 {DOUBLE}, {nothing})"
    yield "%none = icmp eq ptr %out, null\nbr i1 %none, label %failed, label %made\nmade:"
    yield field("%room", "%out", DATA, "ptr")


def run(program: Program, inputs: Sequence[str], room: str) -> Iterable[str]:
    """Call the kernel; a result that is not finite, or a margin that is not positive, goes to `bad`."""
    rooms = [room]
    for k, x in enumerate(program.outputs[1:]):
        yield f"%extra{k} = alloca double, i64 {x.size}"
        rooms.append(f"%extra{k}")
    yield f"call void %kernel({', '.join(f'ptr {x}' for x in (*inputs, *rooms))})"
    size = program.outputs[0].size
    yield f"%wrong = call i1 @beyond{size}(ptr {room}, i64 {INFINITE_BITS})\nbr i1 %wrong, label %bad, label %finite\nfinite:"
    for k, x in enumerate(program.outputs[1:]):
        yield f"%low{k} = call i1 @not_positive{x.size}(ptr %extra{k})\nbr i1 %low{k}, label %bad, label %sound{k}\nsound{k}:"


def guest() -> Iterable[str]:
    """Another library's array goes to its own function, if there is one (`admit`)."""
    yield "slow:\n%some = icmp ne i64 %nargs, 0\n%bare = icmp eq ptr %kwnames, null\n%look = and i1 %some, %bare"
    yield "br i1 %look, label %looked, label %ordinary\nlooked:\n%guest = load ptr, ptr %args"
    yield field("%kind", "%guest", TYPE, "ptr")
    yield field("%gb", "%self", ITEMS + 8, "ptr") + f"\n%gt = getelementptr i8, ptr %gb, i64 {BYTES}"
    places = {"kind": GUEST, "function": GUEST + 1, "none": GUEST + 2, "vectorcall": VECTORCALL, "decref": DECREF}
    for name, place in places.items():
        yield f"%g_{name}_p = getelementptr ptr, ptr %gt, i64 {place}\n%g_{name} = load ptr, ptr %g_{name}_p"
    yield "%known = icmp eq ptr %kind, %g_kind\nbr i1 %known, label %ask, label %ordinary\nask:"
    yield "%reply = call ptr %g_vectorcall(ptr %g_function, ptr %args, i64 %nargs, ptr null)"
    yield "%no = icmp eq ptr %reply, %g_none\nbr i1 %no, label %unanswered, label %answered\nanswered:\nret ptr %reply"
    yield "unanswered:\ncall void %g_decref(ptr %reply)\nbr label %ordinary"


def fallback(args: str, nargs: str, kwnames: str, label: str) -> Iterable[str]:
    """The ordinary method, with the same arguments."""
    yield f"{label}:\n%first = getelementptr i8, ptr %self, i64 {ITEMS}\n%method = load ptr, ptr %first"
    yield f"%slow_second = getelementptr i8, ptr %self, i64 {ITEMS + 8}\n%slow_bytes = load ptr, ptr %slow_second"
    yield f"%slow_table = getelementptr i8, ptr %slow_bytes, i64 {BYTES}\n%vectorcall = load ptr, ptr %slow_table"
    yield f"%answer = call ptr %vectorcall(ptr %method, ptr {args}, i64 {nargs}, ptr {kwnames})\nret ptr %answer\n}}"
