"""IR of an operation as a handler of XLA's foreign function interface (`xla/ffi/api/c_api.h`).

`XLA_FFI_Error *handler(XLA_FFI_CallFrame *)` answers the version it was written for, and runs the kernel on the buffers of a call.
Type and size of every buffer are checked before its memory is used. XLA's threads flush subnormal numbers to zero; while a kernel
runs they do not, so that it computes the bits that it computes for NumPy.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from qddot.arrays.operation import PRODUCT, Operation, core_steps, needs, text_constant
from qddot.compile.phrases import at, constant, field, put
from qddot.errors import InputError

NEWEST = (0, 3)
OLDEST = (0, 1)
"""Newest and oldest version of the interface that has the structures below: jaxlib 0.6 to 0.10."""

FRAME = {"extension": 8, "api": 16, "stage": 32, "n_args": 56, "args": 72, "n_rets": 96, "rets": 112}
BUFFER = {"dtype": 16, "data": 24, "rank": 32, "dims": 40}
EXTENSION = {"type": 8, "metadata": 24}
METADATA = {"major": 24, "minor": 28, "traits": 32}
ERROR_CREATE = 48  # in the table of functions
EXECUTE = 3  # the last of the stages
INVALID_ARGUMENT = 3
TYPES = {"float32": 11, "float64": 12}


@cache
def interface_version() -> tuple[int, int]:
    """Return the version of this jaxlib's C interface, or the newest known one if that is older. Raises InputError: an unknown
    version; with one that XLA does not expect, its whole CPU backend would not start."""
    import jax

    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        raise InputError(f"jax {jax.__version__} has no {header}: the version of its C interface is not known") from None
    found = [re.search(rf"#define XLA_FFI_API_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR")]
    if not all(found):
        raise InputError(f"{header} does not say the version of XLA's C interface")
    return known_version(*(int(x[1]) for x in found if x))


def known_version(major: int, minor: int) -> tuple[int, int]:
    """Return the version to tell XLA: its own, or the newest known one. Raises InputError: an unknown version."""
    if (major, minor) < OLDEST or major != NEWEST[0]:
        raise InputError(
            f"XLA's C interface is version {major}.{minor}; qddot knows {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.x: install jax 0.6 "
            "to 0.10, or hand over NumPy arrays (np.asarray(q))"
        )
    return min((major, minor), NEWEST)


def handler(operation: Operation, run: Iterable[str], traits: int = 0) -> Iterable[str]:
    """Yield the module with `@handler`. `run`: IR after the checks of the buffers, such as `call_loop`."""
    program, item = operation.program, operation.dtype.itemsize
    sizes = [x.size for x in (*program.inputs, *program.outputs)]
    n_in, n = len(program.inputs), len(sizes)
    major, minor = interface_version()
    yield PRODUCT
    yield from floating_point()
    yield text_constant("message", needs(operation, "arrays of"))
    yield "define ptr @handler(ptr %frame) nounwind {"
    yield f"""{field("%extension", "%frame", FRAME["extension"])}
%none = icmp eq ptr %extension, null"""
    yield """br i1 %none, label %stage, label %query
query:"""
    yield f"""{field("%type", "%extension", EXTENSION["type"], "i32")}
%asks = icmp eq i32 %type, 1
br i1 %asks, label %answer, label %stage"""
    yield f"""answer:
{field("%metadata", "%extension", EXTENSION["metadata"])}"""
    for name, value in (("major", major), ("minor", minor), ("traits", traits)):
        yield f"""%{name} = getelementptr i8, ptr %metadata, i64 {METADATA[name]}
store i32 {value}, ptr %{name}"""
    yield f"""ret ptr null
stage:
{field("%when", "%frame", FRAME["stage"], "i32")}
%now = icmp eq i32 %when, {EXECUTE}"""
    yield """br i1 %now, label %run, label %nothing
nothing:
ret ptr null
run:"""
    for name in ("args", "rets"):
        yield f"""{field(f"%{name}", "%frame", FRAME[name])}
{field(f"%n_{name}", "%frame", FRAME[f"n_{name}"], "i64")}"""
    yield f"""%right_args = icmp eq i64 %n_args, {n_in}
%right_rets = icmp eq i64 %n_rets, {n - n_in}"""
    yield """%right = and i1 %right_args, %right_rets
br i1 %right, label %buffers, label %wrong
buffers:"""
    for i in range(n):
        place = ("%args", i) if i < n_in else ("%rets", i - n_in)
        yield f"""{at(f"%b{i}", *place, "ptr")}
{field(f"%kind{i}", f"%b{i}", BUFFER["dtype"], "i32")}
%real{i} = icmp eq i32 %kind{i}, {TYPES[operation.dtype.name]}"""
        yield f"""{field(f"%at{i}", f"%b{i}", BUFFER["data"])}
{field(f"%rank{i}", f"%b{i}", BUFFER["rank"], "i64")}
{field(f"%dims{i}", f"%b{i}", BUFFER["dims"])}
%n{i} = call i64 @product(ptr %dims{i}, i64 %rank{i})"""
    yield f"%count = udiv i64 %n{n - 1}, {sizes[-1]}"
    fits = "true"
    for i, size in enumerate(sizes):  # an input of one state has step 0
        yield f"""%whole{i} = mul i64 %count, {size}
%full{i} = icmp eq i64 %whole{i}, %n{i}
%one{i} = icmp eq i64 %n{i}, {size}"""
        yield f"""%may{i} = and i1 %one{i}, {"true" if i < n_in else "false"}
%fits{i} = or i1 %full{i}, %may{i}"""
        yield f"""%step{i} = select i1 %one{i}, i64 0, i64 {size * item}
%x{i} = and i1 {fits}, %fits{i}
%ok{i} = and i1 %x{i}, %real{i}"""
        fits = f"%ok{i}"
    yield f"""br i1 {fits}, label %go, label %wrong
go:"""
    yield from run
    yield f"""ret ptr null
wrong:
{field("%api", "%frame", FRAME["api"])}
{field("%create", "%api", ERROR_CREATE)}"""
    yield """%e = alloca [4 x i64], align 8
store i64 28, ptr %e"""
    for k, value in ((1, "ptr null"), (2, "ptr @message"), (3, f"i32 {INVALID_ARGUMENT}")):
        yield put(value, "%e", k, f"%e{k}")
    yield """%error = call ptr %create(ptr %e)
ret ptr %error
}"""


def call_loop(operation: Operation) -> Iterable[str]:
    """Yield IR that runs the kernel on %count states at %at<i>, in steps of %step<i> bytes."""
    program, core = operation.program, core_steps(operation.program, operation.dtype.itemsize)
    n = len(program.inputs) + len(program.outputs)
    loop, task = map(constant, operation.kernel.loop())
    yield f"""%a = alloca [{n} x ptr]
%d = alloca i64
%s = alloca [{n + len(core)} x i64]
store i64 %count, ptr %d"""
    yield from (put(f"ptr %at{i}", "%a", i, f"%a{i}") for i in range(n))
    yield from (put(f"i64 {step}", "%s", k, f"%s{k}") for k, step in enumerate([*(f"%step{i}" for i in range(n)), *core]))
    yield f"""%modes = alloca i64
call void @exact(ptr %modes)
call void {loop}(ptr %a, ptr %d, ptr %s, ptr {task})
call void @as_before(ptr %modes)"""


def floating_point() -> Iterable[str]:
    """Define `exact`, which keeps the processor's floating-point mode and sets the default one, with subnormal numbers, and
    `as_before`, which restores the mode."""
    machine = llvm.get_process_triple().partition("-")[0]
    before, after = "define internal void @exact(ptr %kept) {", "define internal void @as_before(ptr %kept) {"
    if machine in ("x86_64", "amd64", "i686"):
        yield """declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)"""
        yield f"""{before}
%usual = alloca i32
store i32 {0x1F80}, ptr %usual
call void @llvm.x86.sse.stmxcsr(ptr %kept)"""
        yield f"""call void @llvm.x86.sse.ldmxcsr(ptr %usual)
ret void
}}
{after}
call void @llvm.x86.sse.ldmxcsr(ptr %kept)
ret void
}}"""
    elif machine in ("aarch64", "arm64", "arm64e"):
        yield """declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)"""
        yield f"""{before}
%now = call i64 @llvm.aarch64.get.fpcr()
store i64 %now, ptr %kept
call void @llvm.aarch64.set.fpcr(i64 0)"""
        yield f"""ret void
}}
{after}
%then = load i64, ptr %kept
call void @llvm.aarch64.set.fpcr(i64 %then)
ret void
}}"""
    else:
        yield f"""{before}
ret void
}}
{after}
ret void
}}"""
