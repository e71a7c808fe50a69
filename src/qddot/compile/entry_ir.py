"""LLVM IR of the fastest direct entry from Python to a kernel: one state, with vectors as inputs and one new array as result.

There is one entry for each number of inputs. It reads the sizes of the arrays from the table of the method (`direct_table`), so no
entry has to be compiled for a robot. Other calls are passed on: to the ordinary method (`passed_on`) until one of them could have
been computed by the general direct entry (`direct_ir`), and then to this.
"""

from __future__ import annotations

from collections.abc import Iterator

from qddot.compile.direct_table import PLACE, ROWS, function, word
from qddot.compile.layout import BYTES, DATA, DESCR, DIMENSIONS, DOUBLE, ITEMS, NDIM, STRIDES, TYPE
from qddot.compile.peaks import INFINITE_BITS, LARGEST, MAGNITUDE
from qddot.compile.phrases import at, counted, field

MOST = 3
"""Largest number of inputs of a method that has such an entry."""


def module() -> Iterator[str]:
    """Define all functions of these entries."""
    yield from looks()
    yield "define ptr @passed_on(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {\n" + table_of_self()
    yield from ordinary("ptr %args, i64 %nargs, ptr %kwnames")
    for inputs in range(1, MOST + 1):
        yield from entry(inputs)


def looks() -> Iterator[str]:
    """Define the functions that check arguments and results, which other entries use, too."""
    yield from beyond()
    yield from not_positive()
    yield from data_of()


def beyond() -> Iterator[str]:
    """Define `beyond(x, n, limit)`: true if the magnitude of any of n numbers is as large as the limit or larger.

    Magnitudes are compared as integers, the bits of a number without its sign, 8 numbers at a time.
    """
    yield "declare <8 x i64> @llvm.masked.load.v8i64.p0(ptr, <8 x i1>, <8 x i64>)"
    yield "define internal i1 @beyond(ptr %x, i64 %n, i64 %limit) nounwind {\nentry:"
    yield "%whole = and i64 %n, -8\n%left = and i64 %n, 7"
    for value in ("left", "limit"):
        yield f"%one_{value} = insertelement <8 x i64> poison, i64 %{value}, i64 0"
        yield f"%all_{value} = shufflevector <8 x i64> %one_{value}, <8 x i64> poison, <8 x i32> zeroinitializer"
    yield "%many = icmp ne i64 %whole, 0\nbr i1 %many, label %next, label %rest\nnext:\n%k = phi i64 [ 0, %entry ], [ %k1, %next ]"
    yield "%before = phi <8 x i1> [ zeroinitializer, %entry ], [ %further, %next ]\n%p = getelementptr i64, ptr %x, i64 %k"
    yield "%bits = load <8 x i64>, ptr %p, align 8"
    yield f"%size = and <8 x i64> %bits, splat (i64 {MAGNITUDE})\n%far = icmp sge <8 x i64> %size, %all_limit"
    yield "%further = or <8 x i1> %before, %far\n%k1 = add i64 %k, 8"
    yield "%more = icmp slt i64 %k1, %whole\nbr i1 %more, label %next, label %rest"
    yield "rest:\n%so_far = phi <8 x i1> [ zeroinitializer, %entry ], [ %further, %next ]"
    yield "%end = getelementptr i64, ptr %x, i64 %whole"
    yield f"%there = icmp slt <8 x i64> <{', '.join(f'i64 {k}' for k in range(8))}>, %all_left"
    yield "%last = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %end, <8 x i1> %there, <8 x i64> zeroinitializer)"
    yield f"%last_size = and <8 x i64> %last, splat (i64 {MAGNITUDE})\n%last_far = icmp sge <8 x i64> %last_size, %all_limit"
    yield "%all = or <8 x i1> %so_far, %last_far\n%found = bitcast <8 x i1> %all to i8\n%any = icmp ne i8 %found, 0\nret i1 %any\n}"


def not_positive() -> Iterator[str]:
    """Define `not_positive(x, n)`: true if any of n numbers is zero, negative or NaN."""
    yield "define internal i1 @not_positive(ptr %x, i64 %n) nounwind {"
    body = ["%p = getelementptr double, ptr %x, i64 %k\n%v = load double, ptr %p\n%low = fcmp ule double %v, 0.0"]
    yield from counted("k", "%n", [*body, "br i1 %low, label %bad, label %fine\nfine:"])
    yield "ret i1 false\nbad:\nret i1 true\n}"


def data_of() -> Iterator[str]:
    """Define `data_of(a, table, rank, count, size)`, which returns the address of an array's numbers, or null if it does not fit.

    It fits if it is an aligned float64 array of shape (size,), or (count, size) with contiguous rows.
    """
    yield "define internal ptr @data_of(ptr %a, ptr %table, i32 %rank, i64 %count, i64 %size) nounwind {"
    yield field("%type", "%a", TYPE, "ptr") + "\n" + function("%array_type", "array_type")
    yield "%is = icmp eq ptr %type, %array_type\nbr i1 %is, label %array, label %no\narray:"
    yield field("%nd", "%a", NDIM, "i32") + "\n" + field("%descr", "%a", DESCR, "ptr") + "\n" + function("%float64", "float64")
    yield "%same = icmp eq i32 %nd, %rank\n%real = icmp eq ptr %descr, %float64\n%both = and i1 %same, %real"
    yield "br i1 %both, label %shaped, label %no\nshaped:"
    yield (
        field("%dims", "%a", DIMENSIONS, "ptr")
        + "\n"
        + field("%steps", "%a", STRIDES, "ptr")
        + "\n"
        + field("%data", "%a", DATA, "ptr")
    )
    yield "%last_32 = sub i32 %rank, 1\n%last = zext i32 %last_32 to i64"
    yield at("%columns", "%dims", "%last", "i64") + "\n" + at("%step", "%steps", "%last", "i64") + "\n%rows = load i64, ptr %dims"
    yield "%fits = icmp eq i64 %columns, %size\n%dense = icmp eq i64 %step, 8"
    yield "%place = ptrtoint ptr %data to i64\n%odd = and i64 %place, 7\n%even = icmp eq i64 %odd, 0"
    yield "%one = icmp eq i32 %rank, 1\n%as_many = icmp eq i64 %rows, %count\n%counts = or i1 %one, %as_many"
    yield "%f = and i1 %fits, %dense\n%g = and i1 %even, %counts\n%good = and i1 %f, %g"
    yield "%found = select i1 %good, ptr %data, ptr null\nret ptr %found\nno:\nret ptr null\n}"


def entry(n: int) -> Iterator[str]:
    """Define `PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)` for n inputs."""
    yield f"define ptr @entry{n}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{"
    yield f"%margins_room = alloca double, i64 {LARGEST}\n" + table_of_self()
    yield f"%right = icmp eq i64 %nargs, {n}\n%plain = icmp eq ptr %kwnames, null\n%go = and i1 %right, %plain"
    yield "br i1 %go, label %start, label %slow\nstart:"
    yield function("%array_type", "array_type") + "\n" + function("%kernel", "kernel")
    for i in range(n):
        yield from vector_argument(i)
    output = PLACE["output"]
    yield at("%rank", "%table", output + 1, "i64") + "\n%nd = trunc i64 %rank to i32"
    yield f"%shape = getelementptr i64, ptr %table, i64 {output + 2}"
    yield function("%new", "array_new")
    nothing = "ptr null, ptr null, i32 0, i32 0, ptr null"
    yield f"%out = call ptr %new(ptr %array_type, i32 %nd, ptr %shape, i32 {DOUBLE}, {nothing})"
    yield "%none = icmp eq ptr %out, null\nbr i1 %none, label %failed, label %made\nmade:\n" + field("%room", "%out", DATA, "ptr")
    yield from computed(n)
    yield "sound:\nret ptr %out\nfailed:\nret ptr null"
    yield "bad:\n" + function("%decref", "decref") + "\ncall void %decref(ptr %out)\nbr label %slow"
    yield "slow:\n" + function("%next", "next")
    yield "%answer = tail call ptr %next(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)\nret ptr %answer\n}"


def table_of_self() -> str:
    """Return IR for %table, the content of the second object that an entry holds, a bytes object."""
    return field("%bytes", "%self", ITEMS + 8) + f"\n%table = getelementptr i8, ptr %bytes, i64 {BYTES}"


def ordinary(arguments: str) -> Iterator[str]:
    """Yield the end of an entry, which calls the ordinary method."""
    yield field("%method", "%self", ITEMS, "ptr") + "\n" + function("%call", "vectorcall")
    yield f"%last = call ptr %call(ptr %method, {arguments})\nret ptr %last\n}}"


def computed(n: int) -> Iterator[str]:
    """Yield IR that runs the kernel and goes to `sound`, or to `bad` if a result is not finite or a margin not positive."""
    yield f"call void %kernel({', '.join(f'ptr %data{i}' for i in range(n))}, ptr %room, ptr %margins_room)"
    yield at("%room_size", "%table", PLACE["output"], "i64")
    yield f"%wrong = call i1 @beyond(ptr %room, i64 %room_size, i64 {INFINITE_BITS})\nbr i1 %wrong, label %bad, label %finite"
    yield "finite:\n" + word("%margins", "margins") + "\n%some = icmp sgt i64 %margins, 0\nbr i1 %some, label %watch, label %sound"
    yield "watch:\n%low = call i1 @not_positive(ptr %margins_room, i64 %margins)\nbr i1 %low, label %bad, label %sound"


def within(i: int) -> Iterator[str]:
    """Yield IR that goes to `slow` if a number of argument i is NaN, infinite or very large."""
    yield at(f"%limit{i}", "%table", PLACE["input"] + i * ROWS["input"][1] + 1, "i64")
    yield f"%far{i} = call i1 @beyond(ptr %data{i}, i64 %size{i}, i64 %limit{i})"
    yield f"br i1 %far{i}, label %slow, label %near{i}\nnear{i}:"


def vector_argument(i: int) -> Iterator[str]:
    """Yield IR that goes to `slow` unless argument i is an aligned, contiguous float64 vector of the right length, without NaN,
    infinite or very large numbers."""
    row = PLACE["input"] + i * ROWS["input"][1]
    yield f"%ap{i} = getelementptr ptr, ptr %args, i64 {i}\n%a{i} = load ptr, ptr %ap{i}\n" + at(f"%size{i}", "%table", row, "i64")
    yield f"%data{i} = call ptr @data_of(ptr %a{i}, ptr %table, i32 1, i64 1, i64 %size{i})\n%odd{i} = icmp eq ptr %data{i}, null"
    yield f"br i1 %odd{i}, label %slow, label %numbers{i}\nnumbers{i}:"
    yield from within(i)
