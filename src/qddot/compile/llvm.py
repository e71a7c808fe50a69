"""Compile LLVM IR to machine code in memory, for this computer."""

from __future__ import annotations

import functools
import os
import threading
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np

from qddot.compile import cache, prefetch, sincos, transpose
from qddot.compile.kernel_ir import define_kernel, is_short, kernel_name
from qddot.compile.lanes import Lanes, library
from qddot.compile.loop_ir import LOOP, define_loop
from qddot.compile.table_ir import define_table_kernel
from qddot.graph.expr import without_collection
from qddot.graph.program import Program

QUICK = 9_000
"""Number of operations above which a kernel for one state is compiled without optimisation: a tenth of the time, 1.8 times the run
time."""

LONG = 50_000
"""Number of operations above which a program becomes a table instead of code: a fifth of the time, four times the run time."""

LONG_STEP = 100_000
"""That number for a step of a rollout, which runs thousands of times; a robot on some ten feet is still compiled to code."""

_lock = threading.Lock()


def renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_lock)  # the thread that held it may not exist in the child


class Code(NamedTuple):
    """Loaded machine code: addresses of its loop and kernel; `engine` owns it."""

    loop: int
    kernel: int
    engine: object


class Computer(NamedTuple):
    """The processor that code is made for."""

    cpu: str
    features: str
    vector_bytes: int
    fma: bool


@functools.cache
def this_computer() -> Computer:
    """Return the computer that this process runs on."""
    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    return computer(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features())


def computer(triple: str, cpu: str, features: llvm.FeatureMap) -> Computer:
    """Return a computer with its widest vectors: AVX-512, AVX, else 16 bytes (SSE2, NEON).

    Every 64-bit ARM has a fused multiply-add. Apple calls it arm64, and there LLVM lists no features.
    """
    arm = triple.partition("-")[0] in ("aarch64", "arm64", "arm64e")
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    return Computer(cpu, features.flatten(), width, bool(arm or features.get("fma")))


def wide_lanes(dtype: np.dtype, computer: Computer) -> Lanes:
    width = computer.vector_bytes // dtype.itemsize
    return Lanes(width, {8: "double", 4: "float"}[dtype.itemsize], computer.fma, width)


def single_lanes(dtype: np.dtype, computer: Computer) -> Lanes:
    return wide_lanes(dtype, computer).scalar


def module_text(program: Program, lanes: Lanes, *, watched: bool = False) -> str:
    """Return the IR of the kernel over these lanes and of the loop around it. `watched`: the loop checks margins instead of writing
    them."""
    lines = [*library(lanes.real), '!0 = !{!"branch_weights", i32 1, i32 100000}', "!1 = !{i32 1}"]
    for each in dict.fromkeys((lanes, lanes.scalar, lanes.whole_vector)):
        lines += each.declarations()
    if lanes.width > 1:
        lines += transpose.declarations(lanes)
    angles = sincos.Rooms(1, lanes).loop_lanes
    lines += sincos.define(angles)
    if lanes.width == 1 or not is_short(program, lanes):
        define = define_table_kernel if is_table(program) else define_kernel
        lines += define(program, lanes)
    lines.append(prefetch.DECLARATION)
    lines += [*define_loop(program, lanes, watched=watched), ""]
    return "\n".join(lines)


def is_table(program: Program) -> bool:
    return len(program.nodes) > (LONG_STEP if program.name == "rollout" else LONG)


def compile_program(program: Program, lanes: Lanes, computer: Computer, *, watched: bool = False) -> Code:
    """Return machine code for a program."""
    with without_collection():
        text = module_text(program, lanes, watched=watched)
    quick = lanes.width == 1 and len(program.nodes) > QUICK and not is_table(program)
    with _lock:  # LLVM's parsing and code generation share state
        engine = link(machine_code(text, computer, 0 if quick else 2), computer)
        return Code(engine.get_function_address(LOOP), engine.get_function_address(kernel_name(lanes)[1:]), engine)


def load_module(text: str, symbol: str, computer: Computer, *, kept: bool = True) -> Code:
    """Return the code of one function, as `loop`. `kept`: keep it in the cache; False if it contains addresses of this process."""
    with _lock:
        engine = link(machine_code(text, computer, 2, kept=kept), computer)
        return Code(engine.get_function_address(symbol), 0, engine)


def machine_code(text: str, computer: Computer, effort: int, *, kept: bool = True) -> bytes:
    """Return an object file. The graph is already optimised, so LLVM only selects and schedules instructions and allocates
    registers."""

    def make() -> bytes:
        module = llvm.parse_assembly(text)
        module.verify()
        return target_machine(computer, effort).emit_object(module)

    if not kept:
        return make()
    version = ".".join(map(str, llvm.llvm_version_info))
    return cache.recall((text, computer.cpu, computer.features, version, str(effort), llvm.get_process_triple()), make)


def link(code: bytes, computer: Computer) -> llvm.ExecutionEngine:
    """Load an object file into this process, and return its owner."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(computer, 0))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def target_machine(computer: Computer, effort: int) -> llvm.TargetMachine:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=computer.cpu, features=computer.features, opt=effort, reloc="pic", codemodel="jitdefault"
    )
