"""The shortest way from Python to a kernel, as LLVM IR: one state, whose arrays are vectors, and one new array as the result.

There is an entry for each number of arrays. It reads their sizes in the table of the method (`direct_table`), so that nothing has
to be compiled for a robot; whatever is not as it expects goes to `direct`.
"""

from __future__ import annotations

from collections.abc import Iterator

from qddot.compile.direct_table import PLACE, ROWS, at, field, function, word
from qddot.compile.layout import BYTES, DATA, DESCR, DIMENSIONS, DOUBLE, ITEMS, NDIM, STRIDES, TYPE
from qddot.compile.peaks import INFINITE_BITS, LARGEST

MOST = 3
"""Inputs of a method that has such an entry."""


def name(inputs: int) -> str:
    return f"entry{inputs}"


def entry(n: int) -> Iterator[str]:
    """`PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)` of n arrays."""
    yield f"define ptr @{name(n)}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{"
    yield f"%margins_room = alloca double, i64 {LARGEST}\n" + field("%bytes", "%self", ITEMS + 8, "ptr")
    yield f"%table = getelementptr i8, ptr %bytes, i64 {BYTES}"
    yield f"%right = icmp eq i64 %nargs, {n}\n%plain = icmp eq ptr %kwnames, null\n%go = and i1 %right, %plain"
    yield "br i1 %go, label %start, label %slow\nstart:"
    yield function("%array_type", "array_type") + "\n" + function("%float64", "float64") + "\n" + function("%kernel", "kernel")
    for i in range(n):
        yield from vector_argument(i)
    output = PLACE["output"]
    yield at("%room_size", "%table", output, "i64") + "\n" + at("%rank", "%table", output + 1, "i64")
    yield f"%nd = trunc i64 %rank to i32\n%shape = getelementptr i64, ptr %table, i64 {output + 2}"
    yield function("%new", "array_new")
    nothing = "ptr null, ptr null, i32 0, i32 0, ptr null"
    yield f"%out = call ptr %new(ptr %array_type, i32 %nd, ptr %shape, i32 {DOUBLE}, {nothing})"
    yield "%none = icmp eq ptr %out, null\nbr i1 %none, label %failed, label %made\nmade:\n" + field("%room", "%out", DATA, "ptr")
    yield f"call void %kernel({', '.join(f'ptr %data{i}' for i in range(n))}, ptr %room, ptr %margins_room)"
    yield f"%wrong = call i1 @beyond(ptr %room, i64 %room_size, i64 {INFINITE_BITS})\nbr i1 %wrong, label %bad, label %finite"
    yield "finite:\n" + word("%margins", "margins") + "\n%some = icmp sgt i64 %margins, 0\nbr i1 %some, label %watch, label %sound"
    yield "watch:\n%low = call i1 @not_positive(ptr %margins_room, i64 %margins)\nbr i1 %low, label %bad, label %sound"
    yield "sound:\nret ptr %out\nfailed:\nret ptr null"
    yield "bad:\n" + function("%decref", "decref") + "\ncall void %decref(ptr %out)\nbr label %slow"
    yield "slow:\n%answer = tail call ptr @direct(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)\nret ptr %answer\n}"


def vector_argument(i: int) -> Iterator[str]:
    """Argument i is an aligned, contiguous float64 vector of its length with reasonable numbers, or the longer way is taken."""
    row = PLACE["input"] + i * ROWS["input"][1]
    yield f"%ap{i} = getelementptr ptr, ptr %args, i64 {i}\n%a{i} = load ptr, ptr %ap{i}"
    yield field(f"%type{i}", f"%a{i}", TYPE, "ptr")
    yield f"%is{i} = icmp eq ptr %type{i}, %array_type\nbr i1 %is{i}, label %array{i}, label %slow\narray{i}:"
    yield field(f"%nd{i}", f"%a{i}", NDIM, "i32") + f"\n%flat{i} = icmp eq i32 %nd{i}, 1"
    yield field(f"%descr{i}", f"%a{i}", DESCR, "ptr") + f"\n%real{i} = icmp eq ptr %descr{i}, %float64"
    yield f"%both{i} = and i1 %flat{i}, %real{i}\nbr i1 %both{i}, label %vector{i}, label %slow\nvector{i}:"
    yield field(f"%dims{i}", f"%a{i}", DIMENSIONS, "ptr") + f"\n%length{i} = load i64, ptr %dims{i}"
    yield at(f"%size{i}", "%table", row, "i64") + f"\n%fits{i} = icmp eq i64 %length{i}, %size{i}"
    yield field(f"%steps{i}", f"%a{i}", STRIDES, "ptr") + f"\n%step{i} = load i64, ptr %steps{i}"
    yield f"%dense{i} = icmp eq i64 %step{i}, 8"
    yield field(f"%data{i}", f"%a{i}", DATA, "ptr") + f"\n%place{i} = ptrtoint ptr %data{i} to i64"
    yield f"%odd{i} = and i64 %place{i}, 7"
    yield f"%even{i} = icmp eq i64 %odd{i}, 0\n%f{i} = and i1 %fits{i}, %dense{i}\n%g{i} = and i1 %f{i}, %even{i}"
    yield f"br i1 %g{i}, label %numbers{i}, label %slow\nnumbers{i}:\n" + at(f"%limit{i}", "%table", row + 1, "i64")
    yield f"%far{i} = call i1 @beyond(ptr %data{i}, i64 %size{i}, i64 %limit{i})"
    yield f"br i1 %far{i}, label %slow, label %near{i}\nnear{i}:"
