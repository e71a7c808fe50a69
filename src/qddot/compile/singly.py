"""The loop that computes states one after the other, in LLVM IR: one for all programs. A table (the task) describes the program.

NumPy calls it for few states: `void singly(char **args, intp *dimensions, intp *steps, int64 *task)`. The loop over vectors
(`loop_ir`) calls it for the states left over at its end, and for arrays that are not contiguous, which are copied to contiguous
memory state by state. It also checks the magnitude of the inputs (`peaks`), and the margins if the task says that they are watched
(checked instead of written to an output).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from qddot.compile import peaks
from qddot.compile.direct_table import ARGUMENTS
from qddot.compile.lanes import Lanes
from qddot.compile.phrases import at
from qddot.graph.program import Program

MOST = 64
"""Largest number of arrays of a kernel, the limit of NumPy's functions. A kernel of `ARGUMENTS` arrays or more is passed this
many pointers and ignores those that it does not need."""

WORDS = ("kernel", "inputs", "arrays", "margins")
"""Words at the beginning of a task: the kernel's address, the numbers of inputs, of all arrays and of margins that are watched."""

ROW = ("size", "rank", "limit")
"""Words of a task for each array: its number of elements and of dimensions for one state, and the bits of the magnitude that is too
large (see `peaks.limit`)."""


def task(program: Program, kernel: int, lanes: Lanes, *, watched: bool = False) -> ctypes.Array:
    """Return the task for a program: `WORDS`, `ROW` for each array, and the extents of all arrays.

    Args:
        kernel: address of the program's code for one state.
        watched: margins are checked instead of written to an output.
    """
    arrays = [*program.inputs, *(program.outputs[:-1] if watched else program.outputs)]
    words = [kernel, len(program.inputs), len(arrays), program.outputs[-1].size if watched else 0]
    for i, x in enumerate(arrays):
        words += [x.size, len(x.shape), peaks.limit(x.name, lanes) if i < len(program.inputs) else 0]
    words += [n for x in arrays for n in x.shape]
    return (ctypes.c_int64 * len(words))(*words)


def define(lanes: Lanes) -> Iterable[str]:
    """Define the loop and its helper functions in LLVM IR."""
    real, bits, item = lanes.real, f"i{lanes.bits}", lanes.bits // 8
    yield from define_dense(item)
    yield from define_strided(real, item)
    yield f"define void {lanes.function('singly')}(ptr %args, ptr %dimensions, ptr %steps, ptr %task) nounwind {{\nentry:"
    for k, word in enumerate(WORDS):
        yield at(f"%{word}", "%task", k, "ptr" if word == "kernel" else "i64")
    yield f"%here = alloca ptr, i64 {MOST + 1}\n%copied = alloca i64, i64 {MOST}\n%extents = alloca ptr, i64 {MOST}"
    yield f"%strides = alloca ptr, i64 {MOST}\n%peaks = alloca {bits}, i64 {MOST}\n%room = alloca {real}, i64 %margins"
    yield f"%rows = getelementptr i64, ptr %task, i64 {len(WORDS)}\n%rows_size = mul i64 %arrays, {len(ROW)}"
    yield "%all_extents = getelementptr i64, ptr %rows, i64 %rows_size\n%all_strides = getelementptr i64, ptr %steps, i64 %arrays"
    yield "%margins_at = getelementptr ptr, ptr %here, i64 %arrays\nstore ptr %room, ptr %margins_at"
    yield "%count = load i64, ptr %dimensions\n%some = icmp sgt i64 %count, 0\nbr i1 %some, label %ask, label %done"
    # decide which arrays are copied to contiguous memory, and where each copy begins
    yield "ask:\n%i = phi i64 [ 0, %entry ], [ %i1, %ask ]\n%ext = phi ptr [ %all_extents, %entry ], [ %ext1, %ask ]"
    yield "%str = phi ptr [ %all_strides, %entry ], [ %str1, %ask ]\n%bytes = phi i64 [ 0, %entry ], [ %bytes1, %ask ]"
    yield from row("", "%i")
    yield "%dense = call i1 @is_dense(i64 %rank, ptr %ext, ptr %str)\n%where = select i1 %dense, i64 -1, i64 %bytes"
    yield "%copied_p = getelementptr i64, ptr %copied, i64 %i\nstore i64 %where, ptr %copied_p"
    yield "%ext_p = getelementptr ptr, ptr %extents, i64 %i\nstore ptr %ext, ptr %ext_p"
    yield "%str_p = getelementptr ptr, ptr %strides, i64 %i\nstore ptr %str, ptr %str_p"
    yield f"%peak_p = getelementptr {bits}, ptr %peaks, i64 %i\nstore {bits} 0, ptr %peak_p"
    yield f"%own = mul i64 %size, {item}\n%more_bytes = select i1 %dense, i64 0, i64 %own\n%bytes1 = add i64 %bytes, %more_bytes"
    yield "%ext1 = getelementptr i64, ptr %ext, i64 %rank\n%str1 = getelementptr i64, ptr %str, i64 %rank"
    yield "%i1 = add i64 %i, 1\n%asking = icmp slt i64 %i1, %arrays\nbr i1 %asking, label %ask, label %asked"
    yield "asked:\n%odd = icmp ne i64 %bytes1, 0\nbr i1 %odd, label %copying, label %begin"
    yield "copying:\n%asked_for = call ptr @malloc(i64 %bytes1)\nbr label %begin"
    yield "begin:\n%copies = phi ptr [ null, %asked ], [ %asked_for, %copying ]\nbr label %state"
    # compute a state
    yield "state:\n%k = phi i64 [ 0, %begin ], [ %k1, %next ]\n%low = phi i1 [ false, %begin ], [ %lower, %next ]\nbr label %place"
    yield "place:\n%j = phi i64 [ 0, %state ], [ %j1, %placed ]\n%step_p = getelementptr i64, ptr %steps, i64 %j"
    yield "%step = load i64, ptr %step_p\n%base_p = getelementptr ptr, ptr %args, i64 %j\n%base = load ptr, ptr %base_p"
    yield "%offset = mul i64 %k, %step\n%there = getelementptr i8, ptr %base, i64 %offset"
    yield "%c_p = getelementptr i64, ptr %copied, i64 %j\n%c = load i64, ptr %c_p\n%as_it_is = icmp slt i64 %c, 0"
    yield "%copy = getelementptr i8, ptr %copies, i64 %c\n%at = select i1 %as_it_is, ptr %there, ptr %copy"
    yield "%here_p = getelementptr ptr, ptr %here, i64 %j\nstore ptr %at, ptr %here_p\n%is_input = icmp slt i64 %j, %inputs"
    yield "br i1 %is_input, label %input, label %placed\ninput:\nbr i1 %as_it_is, label %look, label %fetch\nfetch:"
    yield from strided("f", "%j", "%there", "%copy", "true")
    yield "br label %look\nlook:"
    yield from row("_j", "%j")
    yield f"%look_p = getelementptr {bits}, ptr %peaks, i64 %j\ncall void @peak(ptr %at, i64 %size_j, ptr %look_p)"
    yield "br label %placed"
    yield "placed:\n%j1 = add i64 %j, 1\n%placing = icmp slt i64 %j1, %arrays\nbr i1 %placing, label %place, label %run"
    yield f"run:\n%few = icmp slt i64 %arrays, {ARGUMENTS}\nbr i1 %few, label %run_few, label %run_many"
    for way, count in (("few", ARGUMENTS), ("many", MOST)):
        yield f"run_{way}:"
        yield from (at(f"%{way}{m}", "%here", m, "ptr") for m in range(count))
        yield f"call void %kernel({', '.join(f'ptr %{way}{m}' for m in range(count))})\nbr label %ran"
    yield "ran:\nbr i1 %odd, label %leave, label %judge"
    yield "leave:\n%o = phi i64 [ %inputs, %ran ], [ %o1, %left ]\n%any_o = icmp slt i64 %o, %arrays"
    yield "br i1 %any_o, label %result, label %judge\nresult:\n%r_p = getelementptr i64, ptr %copied, i64 %o"
    yield "%r = load i64, ptr %r_p\n%in_place = icmp slt i64 %r, 0\nbr i1 %in_place, label %left, label %scatter\nscatter:"
    yield "%r_step_p = getelementptr i64, ptr %steps, i64 %o\n%r_step = load i64, ptr %r_step_p\n%r_offset = mul i64 %k, %r_step"
    yield "%r_base_p = getelementptr ptr, ptr %args, i64 %o\n%r_base = load ptr, ptr %r_base_p"
    yield "%r_there = getelementptr i8, ptr %r_base, i64 %r_offset\n%r_copy = getelementptr i8, ptr %copies, i64 %r"
    yield from strided("r", "%o", "%r_there", "%r_copy", "false")
    yield "br label %left\nleft:\n%o1 = add i64 %o, 1\nbr label %leave"
    yield "judge:\n%lows = phi i1 [ %low, %ran ], [ %low, %leave ], [ %still, %margin ]"
    yield "%m = phi i64 [ 0, %ran ], [ 0, %leave ], [ %m1, %margin ]\n%watching = icmp slt i64 %m, %margins"
    yield f"br i1 %watching, label %margin, label %next\nmargin:\n%m_p = getelementptr {real}, ptr %room, i64 %m"
    yield f"%x = load {real}, ptr %m_p\n%not_positive = fcmp ule {real} %x, {lanes.scalar.literal(0.0)}"
    yield "%still = or i1 %lows, %not_positive\n%m1 = add i64 %m, 1\nbr label %judge"
    yield "next:\n%lower = or i1 %lows, false\n%k1 = add i64 %k, 1\n%on = icmp slt i64 %k1, %count"
    yield "br i1 %on, label %state, label %finish"
    # raise the flag if an input is too large or a margin is not positive
    yield "finish:\ncall void @free(ptr %copies)\nbr label %reason\nreason:\n%n = phi i64 [ 0, %finish ], [ %n1, %near ]"
    yield "%bad = phi i1 [ %lower, %finish ], [ %worse, %near ]\n%left_over = icmp slt i64 %n, %inputs"
    yield "br i1 %left_over, label %near, label %judged\nnear:"
    yield from row("_n", "%n")
    yield f"%top_p = getelementptr {bits}, ptr %peaks, i64 %n\n%top = load {bits}, ptr %top_p"
    yield f"%bound = {'add i64 0,' if lanes.bits == 64 else 'trunc i64'} %limit_n{'' if lanes.bits == 64 else ' to ' + bits}"
    yield f"%far = icmp uge {bits} %top, %bound\n%worse = or i1 %bad, %far\n%n1 = add i64 %n, 1\nbr label %reason"
    yield "judged:\nbr i1 %bad, label %raise, label %done\nraise:"
    yield f"call void {lanes.function('invalid')}()\nbr label %done\ndone:\nret void\n}}"


def row(tag: str, index: str) -> Iterable[str]:
    """Yield IR that loads a row of the task into %size, %rank and %limit, with `tag` appended to their names."""
    yield f"%row{tag} = mul i64 {index}, {len(ROW)}\n%row_p{tag} = getelementptr i64, ptr %rows, i64 %row{tag}"
    yield from (at(f"%{word}{tag}", f"%row_p{tag}", k, "i64") for k, word in enumerate(ROW))


def strided(tag: str, index: str, there: str, copy: str, gather: str) -> Iterable[str]:
    """Yield IR that copies a state of array `index` from `there` to `copy` if `gather` is true, else from `copy` to `there`."""
    yield from row(f"_{tag}", index)
    yield at(f"%ext_{tag}", "%extents", index, "ptr") + "\n" + at(f"%str_{tag}", "%strides", index, "ptr")
    yield f"%end_{tag} = call ptr @strided(ptr {there}, ptr {copy}, i64 %rank_{tag}, ptr %ext_{tag}, ptr %str_{tag}, i1 {gather})"


def define_dense(item: int) -> Iterable[str]:
    """Define `is_dense(rank, extents, strides)`: true if the array of a state is contiguous."""
    yield "define internal i1 @is_dense(i64 %rank, ptr %extents, ptr %strides) nounwind {\nentry:\nbr label %next\nnext:"
    yield f"%d = phi i64 [ %rank, %entry ], [ %d1, %fine ]\n%expected = phi i64 [ {item}, %entry ], [ %whole, %fine ]"
    yield "%d1 = sub i64 %d, 1\n%more = icmp sge i64 %d1, 0\nbr i1 %more, label %look, label %yes\nlook:"
    yield at("%extent", "%extents", "%d1", "i64") + "\n" + at("%stride", "%strides", "%d1", "i64")
    yield "%one = icmp sle i64 %extent, 1\n%same = icmp eq i64 %stride, %expected\n%good = or i1 %one, %same"
    yield "%whole = mul i64 %expected, %extent\nbr i1 %good, label %fine, label %no\nfine:\nbr label %next"
    yield "yes:\nret i1 true\nno:\nret i1 false\n}"


def define_strided(real: str, item: int) -> Iterable[str]:
    """Define `strided(there, here, rank, extents, strides, gather)`, which copies a state's array between strided memory (`there`)
    and contiguous memory (`here`), to the latter if `gather` is true. It returns the end of the contiguous memory. `rank` is at
    least 1."""
    yield "define internal ptr @strided(ptr %there, ptr %here, i64 %rank, ptr %extents, ptr %strides, i1 %gather) nounwind {"
    yield "entry:\n%extent = load i64, ptr %extents\n%stride = load i64, ptr %strides\n%last = icmp eq i64 %rank, 1"
    yield "%inner_rank = sub i64 %rank, 1\n%inner_extents = getelementptr i64, ptr %extents, i64 1"
    yield "%inner_strides = getelementptr i64, ptr %strides, i64 1\nbr label %head"
    yield "head:\n%x = phi i64 [ 0, %entry ], [ %x1, %end ]\n%to = phi ptr [ %here, %entry ], [ %to1, %end ]"
    yield "%more = icmp slt i64 %x, %extent\nbr i1 %more, label %body, label %done"
    yield "body:\n%o = mul i64 %x, %stride\n%at = getelementptr i8, ptr %there, i64 %o\nbr i1 %last, label %element, label %inner"
    yield f"element:\n%next = getelementptr i8, ptr %to, i64 {item}\nbr i1 %gather, label %in, label %out"
    yield f"in:\n%v = load {real}, ptr %at, align 1\nstore {real} %v, ptr %to, align 1\nbr label %end"
    yield f"out:\n%w = load {real}, ptr %to, align 1\nstore {real} %w, ptr %at, align 1\nbr label %end"
    arguments = "ptr %at, ptr %to, i64 %inner_rank, ptr %inner_extents, ptr %inner_strides, i1 %gather"
    yield f"inner:\n%deeper = call ptr @strided({arguments})\nbr label %end"
    yield "end:\n%to1 = phi ptr [ %next, %in ], [ %next, %out ], [ %deeper, %inner ]\n%x1 = add i64 %x, 1\nbr label %head"
    yield "done:\nret ptr %to\n}"
