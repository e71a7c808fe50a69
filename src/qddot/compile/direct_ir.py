"""LLVM IR of the general direct entry, for the layout of CPython's and NumPy's structures (see `direct`).

Words and rows of the table are read wherever they are needed: this code is short beside the kernels that it calls, so that simple
code was preferred to fast code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from qddot.compile import entry_ir
from qddot.compile.direct_table import ARGUMENTS, ROWS, WAY_KERNEL, WAY_LOOP, WAY_TASK, function, row, word
from qddot.compile.layout import DATA, DESCR, DIMENSIONS, DOUBLE, FLAGS, ITEMS, NDIM, SIZE, STRIDES, TYPE, WELL_BEHAVED
from qddot.compile.peaks import INFINITE_BITS, LARGEST
from qddot.compile.phrases import at, counted, field, put
from qddot.model.configuration import QUATERNION_TOLERANCE

BAD_FLAGS = 1 | 2 | 8
"""NumPy's flags for division by zero, overflow and invalid operations."""

TOLERANCE = f"0x{struct.pack('>d', QUATERNION_TOLERANCE).hex().upper()}"
"""Tolerance of a quaternion's length, as a literal of LLVM IR."""

FEW = 8
"""Batches with fewer states than this are computed state by state."""


def module() -> Iterator[str]:
    """Define all functions of the general direct entry."""
    yield "declare ptr @malloc(i64)\ndeclare void @free(ptr)\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    yield "declare double @llvm.sqrt.f64(double)\ndeclare double @llvm.fabs.f64(double)"
    yield from entry_ir.looks()
    yield from unit()
    yield from one_state()
    yield from given_output()
    yield from given_outputs()
    yield from new_outputs()
    yield from drop()
    yield from answer()
    yield from many_states()
    yield from direct()


def unit() -> Iterator[str]:
    """Define `unit(from, to, table)`, which copies q with its quaternions normalised as by `arrays.with_unit_quaternion`. It
    returns true if the length of a quaternion is not 1."""
    yield "define internal i1 @unit(ptr %from, ptr %to, ptr %table) nounwind {"
    yield word("%q", "q") + "\n" + row("%nq", "input", "%q", 0) + "\n%bytes = mul i64 %nq, 8"
    yield "call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)\n" + word("%count", "quaternions")
    body = [row("%start", "quaternion", "%k", 0)]
    for i in range(4):
        body.append(f"%at{i} = add i64 %start, {i}\n%p{i} = getelementptr double, ptr %to, i64 %at{i}")
        body.append(f"%x{i} = load double, ptr %p{i}\n%s{i} = fmul double %x{i}, %x{i}")
    body.append("%a = fadd double %s0, %s1\n%b = fadd double %a, %s2\n%c = fadd double %b, %s3")
    body.append("%length = call double @llvm.sqrt.f64(double %c)\n%off = fsub double %length, 1.0")
    body.append(f"%away = call double @llvm.fabs.f64(double %off)\n%wrong = fcmp ugt double %away, {TOLERANCE}")
    body.append("br i1 %wrong, label %bad, label %fine\nfine:")
    body += [f"%y{i} = fdiv double %x{i}, %length\nstore double %y{i}, ptr %p{i}" for i in range(4)]
    yield from counted("k", "%count", body)
    yield "ret i1 false\nbad:\nret i1 true\n}"


def one_state() -> Iterator[str]:
    """Define `one_state(table, kernel, arrays)`, which computes one state. It returns true if an input, an output or a margin fails
    its test. `arrays`: pointers to inputs, outputs and margins."""
    yield "define internal i1 @one_state(ptr %table, ptr %kernel, ptr %arrays) nounwind {"
    yield word("%inputs", "inputs") + "\n" + word("%outputs", "outputs")
    test = [row("%size", "input", "%i", 0), row("%limit", "input", "%i", 1), at("%x", "%arrays", "%i", "ptr")]
    test += ["%far = call i1 @beyond(ptr %x, i64 %size, i64 %limit)\nbr i1 %far, label %bad, label %near\nnear:"]
    yield from counted("i", "%inputs", test)
    for k in range(ARGUMENTS):
        yield at(f"%a{k}", "%arrays", k, "ptr")
    yield f"call void %kernel({', '.join(f'ptr %a{k}' for k in range(ARGUMENTS))})"
    test = [row("%room", "output", "%o", 0), "%place = add i64 %inputs, %o", at("%y", "%arrays", "%place", "ptr")]
    test += [f"%lost = call i1 @beyond(ptr %y, i64 %room, i64 {INFINITE_BITS})\nbr i1 %lost, label %bad, label %there\nthere:"]
    yield from counted("o", "%outputs", test)
    yield word("%margins", "margins") + "\n%last = add i64 %inputs, %outputs\n" + at("%m", "%arrays", "%last", "ptr")
    yield "%low = call i1 @not_positive(ptr %m, i64 %margins)\nret i1 %low\nbad:\nret i1 true\n}"


GIVEN = "ptr %arrays, ptr %steps, i64 %batch, i64 %count"
"""Parameters that describe a batch, which are also passed on as arguments under the same names."""


def given_output() -> Iterator[str]:
    """Define `given_output(table, out, o, arrays, steps, batch, count)`, which returns the address of the numbers of the array that
    the caller gave for result o, or null if it does not fit.

    It fits if it is contiguous, has the right shape, and shares no memory with inputs and earlier results.
    """
    yield f"define internal ptr @given_output(ptr %table, ptr %out, i64 %o, {GIVEN}) nounwind {{"
    yield field("%type", "%out", TYPE, "ptr") + "\n" + function("%array_type", "array_type")
    yield "%is = icmp eq ptr %type, %array_type\nbr i1 %is, label %array, label %no\narray:"
    yield field("%flags", "%out", FLAGS, "i32")
    yield f"%set = and i32 %flags, {WELL_BEHAVED}\n%well = icmp eq i32 %set, {WELL_BEHAVED}"
    yield field("%descr", "%out", DESCR, "ptr") + "\n" + function("%float64", "float64") + "\n%real = icmp eq ptr %descr, %float64"
    yield field("%nd", "%out", NDIM, "i32") + "\n" + row("%rank", "output", "%o", 1) + "\n%whole = add i64 %rank, %batch"
    yield "%nd_64 = zext i32 %nd to i64\n%deep = icmp eq i64 %nd_64, %whole\n%g = and i1 %well, %real\n%h = and i1 %g, %deep"
    yield "br i1 %h, label %shaped, label %no\nshaped:"
    yield field("%dims", "%out", DIMENSIONS, "ptr") + "\n%state = icmp eq i64 %batch, 0"
    yield "br i1 %state, label %extents, label %rowed\nrowed:\n%rows = load i64, ptr %dims"
    yield "%as_many = icmp eq i64 %rows, %count\nbr i1 %as_many, label %extents, label %no\nextents:"
    body = ["%there = add i64 %d, %batch", at("%extent", "%dims", "%there", "i64"), row("%first", "output", "%o", 2)]
    body += ["%wanted_at = add i64 %first_r, %d", at("%wanted", "%table", "%wanted_at", "i64")]
    body += ["%same = icmp eq i64 %extent, %wanted\nbr i1 %same, label %agreed, label %no\nagreed:"]
    yield from counted("d", "%rank", body)
    yield field("%data", "%out", DATA, "ptr") + "\n" + row("%size", "output", "%o", 0) + "\n" + word("%inputs", "inputs")
    yield "%begin = ptrtoint ptr %data to i64\n%numbers = mul i64 %size, %count\n%bytes = mul i64 %numbers, 8"
    yield "%end = add i64 %begin, %bytes"
    body = [at("%x", "%arrays", "%i", "ptr"), at("%by", "%steps", "%i", "i64"), row("%wide", "input", "%i", 0)]
    body += ["%row = mul i64 %wide, 8\n%x_begin = ptrtoint ptr %x to i64\n%before_last = sub i64 %count, 1"]
    body += ["%to_last = mul i64 %before_last, %by\n%last = add i64 %x_begin, %to_last\n%x_end = add i64 %last, %row"]
    body += ["%forward = icmp sge i64 %by, 0\n%under = icmp sle i64 %x_end, %begin\n%over = icmp sge i64 %x_begin, %end"]
    body += ["%apart = or i1 %under, %over"]
    yield from counted("i", "%inputs", [*body, "%fine = and i1 %forward, %apart\nbr i1 %fine, label %clear, label %no\nclear:"])
    body = ["%other = add i64 %inputs, %j", at("%y", "%arrays", "%other", "ptr"), row("%y_size", "output", "%j", 0)]
    body += ["%y_numbers = mul i64 %y_size, %count\n%y_bytes = mul i64 %y_numbers, 8\n%y_begin = ptrtoint ptr %y to i64"]
    body += ["%y_end = add i64 %y_begin, %y_bytes\n%y_under = icmp sle i64 %y_end, %begin\n%y_over = icmp sge i64 %y_begin, %end"]
    body += ["%y_apart = or i1 %y_under, %y_over\nbr i1 %y_apart, label %y_clear, label %no\ny_clear:"]
    yield from counted("j", "%o", body)
    yield "ret ptr %data\nno:\nret ptr null\n}"


def given_outputs() -> Iterator[str]:
    """Define `given_outputs(table, out, outs, arrays, steps, batch, count)`, which returns true if `out`, an array or a tuple of
    arrays, fits all results. It then stores the arrays in `outs`, and the addresses of their numbers in `arrays` after those of the
    inputs."""
    yield f"define internal i1 @given_outputs(ptr %table, ptr %out, ptr %outs, {GIVEN}) nounwind {{"
    yield word("%inputs", "inputs") + "\n" + word("%outputs", "outputs") + "\n" + function("%tuple_type", "tuple_type")
    yield field("%type", "%out", TYPE, "ptr") + "\n%one = icmp eq i64 %outputs, 1\n%alone = alloca ptr\nstore ptr %out, ptr %alone"
    yield "%is_tuple = icmp eq ptr %type, %tuple_type\nbr i1 %is_tuple, label %tuple, label %array\narray:"
    yield "br i1 %one, label %some, label %no\ntuple:\n" + field("%size", "%out", SIZE, "i64")
    yield f"%all = icmp eq i64 %size, %outputs\n%items = getelementptr i8, ptr %out, i64 {ITEMS}"
    yield "br i1 %all, label %some, label %no\nsome:\n%from = phi ptr [ %alone, %array ], [ %items, %tuple ]"
    body = [at("%x", "%from", "%o", "ptr"), f"%room = call ptr @given_output(ptr %table, ptr %x, i64 %o, {GIVEN})"]
    body += ["%fits = icmp ne ptr %room, null\nbr i1 %fits, label %fine, label %no\nfine:\n%place = add i64 %inputs, %o"]
    body += [put("ptr %room", "%arrays", "%place", "%there"), put("ptr %x", "%outs", "%o", "%kept")]
    yield from counted("o", "%outputs", body)
    yield function("%incref", "incref")
    yield from counted("k", "%outputs", [at("%mine", "%outs", "%k", "ptr"), "call void %incref(ptr %mine)"])
    yield "ret i1 true\nno:\nret i1 false\n}"


def new_outputs() -> Iterator[str]:
    """Define `new_outputs(table, outs, arrays, batch, count)`, which makes the result arrays.

    It also stores the addresses of their numbers in `arrays`. The result arrays have `batch` (0 or 1) leading dimensions of length
    `count`. It returns true if there is not enough memory.
    """
    yield "define internal i1 @new_outputs(ptr %table, ptr %outs, ptr %arrays, i64 %batch, i64 %count) nounwind {"
    yield "%shape = alloca i64, i64 4\nstore i64 %count, ptr %shape\n" + word("%inputs", "inputs")
    yield word("%outputs", "outputs") + "\n" + function("%new", "array_new") + "\n" + function("%type", "array_type")
    body = [row("%rank", "output", "%o", 1), "%whole = add i64 %rank, %batch\n%nd = trunc i64 %whole to i32"]
    for d in range(3):
        body += [row(f"%d{d}", "output", "%o", 2 + d), f"%place{d} = add i64 %batch, {d}"]
        body += [put(f"i64 %d{d}", "%shape", f"%place{d}", f"%s{d}")]
    nothing = "ptr null, ptr null, i32 0, i32 0, ptr null"
    body += [f"%made = call ptr %new(ptr %type, i32 %nd, ptr %shape, i32 {DOUBLE}, {nothing})\n%none = icmp eq ptr %made, null"]
    body += ["br i1 %none, label %failed, label %some\nsome:", put("ptr %made", "%outs", "%o", "%out")]
    body += [field("%data", "%made", DATA, "ptr"), "%at = add i64 %inputs, %o", put("ptr %data", "%arrays", "%at", "%array")]
    yield from counted("o", "%outputs", body)
    yield "ret i1 false\nfailed:\ncall void @drop(ptr %table, ptr %outs, i64 %o)\nret i1 true\n}"


def drop() -> Iterator[str]:
    """Define `drop(table, outs, count)`, which releases result arrays that are not returned."""
    yield "define internal void @drop(ptr %table, ptr %outs, i64 %count) nounwind {"
    yield function("%decref", "decref")
    yield from counted("k", "%count", [at("%x", "%outs", "%k", "ptr"), "call void %decref(ptr %x)"])
    yield "ret void\n}"


def answer() -> Iterator[str]:
    """Define `answer(table, outs, new)`, which returns the result if there is one, or the tuple of several. A `new` array of one
    number (not an array of the caller) becomes a NumPy scalar."""
    yield "define internal ptr @answer(ptr %table, ptr %outs, i1 %new) nounwind {\n" + function("%type", "result_type")
    yield "%one = icmp eq ptr %type, null\nbr i1 %one, label %single, label %several\nsingle:\n%x = load ptr, ptr %outs"
    yield row("%rank", "output", "0", 1) + "\n%number = icmp eq i64 %rank, 0\n%bare = and i1 %number, %new"
    yield "br i1 %bare, label %scalar, label %array\nscalar:\n" + function("%scalar_of", "scalar_of")
    yield "%s = call ptr %scalar_of(ptr %x)\nret ptr %s\narray:\nret ptr %x"
    yield "several:\n" + function("%call", "vectorcall") + "\n" + word("%outputs", "outputs")
    yield "%found = call ptr %call(ptr %type, ptr %outs, i64 %outputs, ptr null)"
    yield "call void @drop(ptr %table, ptr %outs, i64 %outputs)\nret ptr %found\n}"


def many_states() -> Iterator[str]:
    """Define `many_states(table, kernel, loop, task, arrays, steps, count)`, which computes the outputs for a batch.

    It uses the loop over many states, or computes state by state if `loop` is null. It returns true if a state fails its test, or
    if the loop has raised a floating-point flag. `steps` holds the bytes from state to state of the inputs; those of the outputs
    are appended.
    """
    yield "define internal i1 @many_states(ptr %table, ptr %kernel, ptr %loop, ptr %task, ptr %arrays, ptr %steps, i64 %count)"
    yield "nounwind {"
    yield word("%inputs", "inputs") + "\n" + word("%outputs", "outputs")
    yield "%n = add i64 %inputs, %outputs\n%core = alloca i64\nstore i64 %n, ptr %core"
    body = ["%ci = load i64, ptr %core", put("i64 8", "%steps", "%ci", "%i_step"), *advance("%ci", "1")]
    yield from counted("i", "%inputs", body)
    body = [row("%size", "output", "%o", 0), "%bytes = mul i64 %size, 8\n%place = add i64 %inputs, %o"]
    body += [put("i64 %bytes", "%steps", "%place", "%o_step"), row("%rank", "output", "%o", 1), "%co = load i64, ptr %core"]
    body += ["%left = alloca i64\nstore i64 %bytes, ptr %left", row("%first", "output", "%o", 2), "%base = add i64 %first_r, 0"]
    inner = ["%extent_at = add i64 %base, %d", at("%extent", "%table", "%extent_at", "i64"), "%before = load i64, ptr %left"]
    inner += ["%step = udiv i64 %before, %extent\nstore i64 %step, ptr %left\n%core_at = add i64 %co, %d"]
    inner += [put("i64 %step", "%steps", "%core_at", "%d_step")]
    body += [*counted("d", "%rank", inner), *advance("%co", "%rank")]
    yield from counted("o", "%outputs", body)
    yield "%none = icmp eq ptr %loop, null\nbr i1 %none, label %singly, label %together"
    # with the loop over many states
    yield "together:\n%dimensions = alloca i64\nstore i64 %count, ptr %dimensions\n" + word("%release", "release")
    yield function("%clear", "clear_flags") + "\n" + function("%flags_of", "get_flags")
    yield "%long = icmp sge i64 %count, %release\nbr i1 %long, label %apart, label %at_once"
    run = "call void %clear()\ncall void %loop(ptr %arrays, ptr %dimensions, ptr %steps, ptr %task)\n{} = call i32 %flags_of()"
    yield "at_once:\n" + run.format("%flags0") + "\nbr label %judged\napart:\n" + function("%save", "save")
    yield function("%restore", "restore") + "\n%thread = call ptr %save()\n" + run.format("%flags1")
    yield "call void %restore(ptr %thread)\nbr label %judged"
    yield f"judged:\n%flags = phi i32 [ %flags0, %at_once ], [ %flags1, %apart ]\n%bad_flags = and i32 %flags, {BAD_FLAGS}"
    yield "%wrong_flags = icmp ne i32 %bad_flags, 0\nret i1 %wrong_flags"
    # state by state
    yield f"singly:\n%here = alloca ptr, i64 {ARGUMENTS}\n" + at("%margins_at", "%arrays", "%n", "ptr")
    yield put("ptr %margins_at", "%here", "%n", "%m")
    each = [at("%from", "%arrays", "%j", "ptr"), at("%by", "%steps", "%j", "i64"), "%offset = mul i64 %k, %by"]
    each += ["%now = getelementptr i8, ptr %from, i64 %offset", put("ptr %now", "%here", "%j", "%j_here")]
    body = [*counted("j", "%n", each), "%wrong = call i1 @one_state(ptr %table, ptr %kernel, ptr %here)"]
    yield from counted("k", "%count", [*body, "br i1 %wrong, label %bad, label %fine\nfine:"])
    yield "ret i1 false\nbad:\nret i1 true\n}"


def advance(value: str, by: str) -> list[str]:
    """Return IR that advances the position in `steps` at which strides within a state are stored."""
    return [f"{value}_next = add i64 {value}, {by}\nstore i64 {value}_next, ptr %core"]


def direct() -> Iterator[str]:
    """Define `PyObject *direct(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)`."""
    yield "define ptr @direct(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {"
    yield f"%chosen = alloca i64, i64 4\n%arrays = alloca ptr, i64 {ARGUMENTS}"
    yield f"%outs = alloca ptr, i64 {ROWS['output'][0]}\n%steps = alloca i64, i64 64"
    yield "%out_room = alloca ptr\nstore ptr null, ptr %out_room"
    yield f"%margins_room = alloca double, i64 {LARGEST}\n%unit_room = alloca double, i64 {LARGEST}"
    yield entry_ir.table_of_self()
    yield word("%inputs", "inputs") + "\n" + word("%outputs", "outputs") + "\n" + word("%options", "options")
    # collect the options, and find the way for them
    yield "%extra = sub i64 %nargs, %inputs\n%enough = icmp sge i64 %extra, 0\n%few = icmp sle i64 %extra, %options"
    yield "%right = and i1 %enough, %few\nbr i1 %right, label %chosing, label %slow\nchosing:"
    yield from counted("c", "4", [put("i64 0", "%chosen", "%c", "%c_none")])
    body = ["%from = add i64 %inputs, %p", at("%given", "%args", "%from", "i64"), put("i64 %given", "%chosen", "%p", "%p_chosen")]
    yield from counted("p", "%extra", body)
    yield "%positional = icmp eq ptr %kwnames, null\nbr i1 %positional, label %known, label %named\nnamed:"
    yield field("%names", "%kwnames", SIZE, "i64")
    each = [row("%name", "option", "%m", 0), "%is = icmp eq i64 %name, %keyword"]
    each += ["br i1 %is, label %found_name, label %other\nother:"]
    is_out = [word("%out_name", "out"), "%is_out = icmp eq i64 %out_name, %keyword\nbr i1 %is_out, label %given_out, label %slow"]
    body = [f"%v_at = add i64 %v, {ITEMS // 8}", at("%keyword", "%kwnames", "%v_at", "i64"), "%value_at = add i64 %nargs, %v"]
    body += [at("%value", "%args", "%value_at", "i64"), *counted("m", "%options", each), *is_out]
    body += ["given_out:\nstore i64 %value, ptr %out_room\nbr label %noted\nfound_name:"]
    body += ["%twice = icmp slt i64 %m, %extra\nbr i1 %twice, label %slow, label %once\nonce:"]
    body += [put("i64 %value", "%chosen", "%m", "%v_chosen"), "br label %noted\nnoted:"]
    yield from counted("v", "%names", body)
    yield "br label %known\nknown:"
    yield word("%ways", "ways").replace("load i64, ptr %ways_p", "load atomic i64, ptr %ways_p acquire, align 8")
    tests = []
    for k in range(4):
        tests += [row(f"%w{k}", "way", "%w", k), at(f"%x{k}", "%chosen", k, "i64"), f"%same{k} = icmp eq i64 %w{k}, %x{k}"]
    tests += ["%s01 = and i1 %same0, %same1\n%s23 = and i1 %same2, %same3\n%same = and i1 %s01, %s23"]
    yield from counted("w", "%ways", [*tests, "br i1 %same, label %way, label %another\nanother:"])
    yield (
        "br label %slow\nway:\n"
        + row("%kernel", "way", "%w", WAY_KERNEL, "ptr")
        + "\n"
        + row("%loop", "way", "%w", WAY_LOOP, "ptr")
        + "\n"
        + row("%task", "way", "%w", WAY_TASK, "ptr")
    )
    # check the arrays: all of one state, or all of one batch
    yield "%first = load ptr, ptr %args\n" + field("%kind", "%first", TYPE, "ptr") + "\n" + function("%array_type", "array_type")
    yield "%is_array = icmp eq ptr %kind, %array_type\nbr i1 %is_array, label %array, label %slow\narray:"
    yield field("%rank", "%first", NDIM, "i32") + "\n" + field("%dims", "%first", DIMENSIONS, "ptr")
    yield "switch i32 %rank, label %slow [ i32 1, label %taken i32 2, label %batch ]\nbatch:\n%rows = load i64, ptr %dims"
    yield word("%most", "most") + "\n%some = icmp sgt i64 %rows, 0\n%not_too_many = icmp slt i64 %rows, %most"
    yield "%fit = and i1 %some, %not_too_many\nbr i1 %fit, label %taken, label %slow"
    yield "taken:\n%count = phi i64 [ 1, %array ], [ %rows, %batch ]"
    body = [at("%a", "%args", "%i", "ptr"), row("%size", "input", "%i", 0)]
    body += ["%data = call ptr @data_of(ptr %a, ptr %table, i32 %rank, i64 %count, i64 %size)\n%odd = icmp eq ptr %data, null"]
    body += ["br i1 %odd, label %slow, label %good\ngood:", put("ptr %data", "%arrays", "%i", "%i_array")]
    body += [field("%a_steps", "%a", STRIDES, "ptr") + "\n%a_step = load i64, ptr %a_steps"]
    body += [put("i64 %a_step", "%steps", "%i", "%i_step")]
    yield from counted("i", "%inputs", body)
    # small batches do not use the loop, others do if it is compiled; large ones without it go to the ordinary method
    yield f"%small = icmp slt i64 %count, {FEW}\n%use = select i1 %small, ptr null, ptr %loop\n%no_loop = icmp eq ptr %use, null"
    yield word("%worth", "worth_loop") + "\n%large = icmp sge i64 %count, %worth"
    yield "%wait = and i1 %large, %no_loop\nbr i1 %wait, label %slow, label %results"
    # the caller's arrays for the results, if they fit: they are compared with q itself, not with a copy of it
    yield "results:\n%batch_rank_32 = sub i32 %rank, 1\n%batch_rank = zext i32 %batch_rank_32 to i64"
    yield "%out = load ptr, ptr %out_room\n%no_out = icmp eq ptr %out, null\nbr i1 %no_out, label %quaternions, label %fitting"
    where = "ptr %table, ptr %out, ptr %outs, ptr %arrays, ptr %steps, i64 %batch_rank, i64 %count"
    yield f"fitting:\n%all_fit = call i1 @given_outputs({where})\nbr i1 %all_fit, label %quaternions, label %slow"
    # normalise quaternions, in a copy of q
    yield "quaternions:\n" + word("%turning", "quaternions") + "\n%plain = icmp eq i64 %turning, 0\n" + word("%q", "q")
    yield "br i1 %plain, label %make, label %copy\ncopy:\n" + row("%nq", "input", "%q", 0) + "\n%q_bytes = mul i64 %nq, 8"
    yield at("%q_data", "%arrays", "%q", "ptr") + "\n" + at("%q_step", "%steps", "%q", "i64") + "\n%alone = icmp eq i64 %count, 1"
    yield "br i1 %alone, label %roomy, label %ask\nask:\n%all_bytes = mul i64 %q_bytes, %count"
    yield "%asked = call ptr @malloc(i64 %all_bytes)"
    yield "%short = icmp eq ptr %asked, null\nbr i1 %short, label %leave, label %roomy"
    yield "roomy:\n%room = phi ptr [ %unit_room, %copy ], [ %asked, %ask ]\n%owned = phi ptr [ null, %copy ], [ %asked, %ask ]"
    body = ["%o_from = mul i64 %r, %q_step\n%o_to = mul i64 %r, %q_bytes\n%from_q = getelementptr i8, ptr %q_data, i64 %o_from"]
    body += ["%to_q = getelementptr i8, ptr %room, i64 %o_to\n%not_unit = call i1 @unit(ptr %from_q, ptr %to_q, ptr %table)"]
    yield from counted("r", "%count", [*body, "br i1 %not_unit, label %give_up, label %unit_too\nunit_too:"])
    yield put("ptr %room", "%arrays", "%q", "%q_new") + "\n" + put("i64 %q_bytes", "%steps", "%q", "%q_new_step")
    yield "br label %make\ngive_up:\ncall void @free(ptr %owned)\nbr label %leave"
    yield "leave:\nbr i1 %no_out, label %slow, label %give_back"
    yield "give_back:\ncall void @drop(ptr %table, ptr %outs, i64 %outputs)\nbr label %slow"
    # new arrays for the results
    yield "make:\n%mine = phi ptr [ null, %quaternions ], [ %owned, %r_done ]\n%n = add i64 %inputs, %outputs"
    yield put("ptr %margins_room", "%arrays", "%n", "%margins") + "\nbr i1 %no_out, label %new, label %compute"
    yield "new:\n%failed = call i1 @new_outputs(ptr %table, ptr %outs, ptr %arrays, i64 %batch_rank, i64 %count)"
    yield "br i1 %failed, label %out_of_memory, label %compute\nout_of_memory:\ncall void @free(ptr %mine)"
    yield function("%forget", "forget_error") + "\ncall void %forget()\nbr label %slow"
    yield "compute:\n%one = icmp eq i64 %batch_rank, 0\nbr i1 %one, label %single, label %many"
    yield "single:\n%wrong1 = call i1 @one_state(ptr %table, ptr %kernel, ptr %arrays)\nbr label %computed"
    arguments = "ptr %table, ptr %kernel, ptr %use, ptr %task, ptr %arrays, ptr %steps, i64 %count"
    yield f"many:\n%wrong2 = call i1 @many_states({arguments})\nbr label %computed"
    yield "computed:\n%wrong = phi i1 [ %wrong1, %single ], [ %wrong2, %many ]\ncall void @free(ptr %mine)"
    yield "br i1 %wrong, label %lost, label %done\ndone:"
    yield "%result = call ptr @answer(ptr %table, ptr %outs, i1 %no_out)\nret ptr %result"
    yield "lost:\ncall void @drop(ptr %table, ptr %outs, i64 %outputs)\nbr label %slow"
    # an array of another library goes to the function of that library, if there is one; all other calls to the ordinary method
    yield "slow:\n%any = icmp ne i64 %nargs, 0\n%bare = icmp eq ptr %kwnames, null\n%look = and i1 %any, %bare"
    yield "br i1 %look, label %looked, label %ordinary\nlooked:\n%stranger = load ptr, ptr %args"
    yield field("%its", "%stranger", TYPE, "ptr")
    yield function("%vectorcall", "vectorcall") + "\n" + function("%guest", "guest") + "\n%is_guest = icmp eq ptr %its, %guest"
    yield "br i1 %is_guest, label %ask_guest, label %ordinary\nask_guest:\n" + function("%host", "guest_function")
    yield function("%none", "none") + "\n%reply = call ptr %vectorcall(ptr %host, ptr %args, i64 %nargs, ptr null)"
    yield "%no = icmp eq ptr %reply, %none\nbr i1 %no, label %unanswered, label %answered\nanswered:\nret ptr %reply"
    yield "unanswered:\n" + function("%decref", "decref") + "\ncall void %decref(ptr %reply)\nbr label %ordinary"
    yield "ordinary:"
    yield from entry_ir.ordinary("ptr %args, i64 %nargs, ptr %kwnames")
