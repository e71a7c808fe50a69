"""Compilation of LLVM IR to machine code in memory, for this computer."""

from __future__ import annotations

import functools
import os
import threading
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np

from qddot.compile import cache, prefetch, shared, transpose
from qddot.compile.kernel_ir import define_kernel, is_short
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
"""The number `LONG` for a step of a rollout, which runs thousands of times: a robot on some ten feet is still compiled to code."""

_lock = threading.Lock()


def renew_lock() -> None:
    """Replace the lock by a new one, in a child process."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_lock)  # the thread that held it may not exist in the child


class Code(NamedTuple):
    """Loaded machine code: addresses of its loop and kernel; `engine` owns it."""

    loop: int
    kernel: int
    engine: llvm.ExecutionEngine


_shared: dict[Lanes, Code] = {}  # never released, since kernels call it


class Computer(NamedTuple):
    """A processor for which code is compiled."""

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
    """Return a computer by the names that LLVM gives it, with its widest vectors: AVX-512, AVX, else 16 bytes (SSE2, NEON).

    Every 64-bit ARM has a fused multiply-add. Apple calls it arm64, and there LLVM lists no features.
    """
    arm = triple.partition("-")[0] in ("aarch64", "arm64", "arm64e")
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    return Computer(cpu, features.flatten(), width, bool(arm or features.get("fma")))


def wide_lanes(dtype: np.dtype, computer: Computer) -> Lanes:
    """Return lanes that fill the widest vector of a computer."""
    width = computer.vector_bytes // dtype.itemsize
    return Lanes(width, {8: "double", 4: "float"}[dtype.itemsize], computer.fma, width)


def single_lanes(dtype: np.dtype, computer: Computer) -> Lanes:
    """Return the lanes of code for one state."""
    return wide_lanes(dtype, computer).scalar


def module_text(program: Program, lanes: Lanes, *, watched: bool = False) -> str:
    """Return the LLVM module of a kernel over these lanes and, if there are several, of the loop that calls it.

    `watched`: the loop checks margins instead of writing them.
    """
    lines = [*library(lanes.real), "!1 = !{i32 1}", *shared.declarations(lanes.shared)]
    for each in dict.fromkeys((lanes, lanes.scalar, lanes.whole_vector)):
        lines += each.declarations()
    if lanes.width == 1 or not is_short(program, lanes):
        define = define_table_kernel if is_table(program) else define_kernel
        lines += define(program, lanes)
    if lanes.width > 1:
        lines += [*transpose.declarations(lanes), prefetch.DECLARATION, *define_loop(program, lanes, watched=watched)]
    return "\n".join([*lines, ""])


def is_table(program: Program) -> bool:
    """Return True if a program is so long that it becomes a table instead of code."""
    return len(program.nodes) > (LONG_STEP if program.name == "rollout" else LONG)


def compile_program(program: Program, lanes: Lanes, computer: Computer, *, watched: bool = False) -> Code:
    """Return machine code for a program."""
    with without_collection():
        text = module_text(program, lanes, watched=watched)
    quick = lanes.width == 1 and len(program.nodes) > QUICK and not is_table(program)
    with _lock:  # LLVM's parsing and code generation share state
        common = share(lanes.shared, computer)
        engine = link(machine_code(text, computer, 0 if quick else 2), computer)
        loop = engine.get_function_address(LOOP) if lanes.width > 1 else common
        return Code(loop, engine.get_function_address(lanes.kernel[1:]), engine)


def share(lanes: Lanes, computer: Computer) -> int:
    """Load the functions that kernels share, unless they are loaded, so that kernels find them by name (see `shared`).

    Returns:
        Address of the loop over single states.
    """
    if lanes not in _shared:
        engine = link(machine_code(shared.module(lanes), computer, 2), computer)
        places = {name: engine.get_function_address(lanes.function(name)[1:]) for name in shared.FUNCTIONS}
        for name, place in places.items():
            llvm.add_symbol(lanes.function(name)[1:], place)
        _shared[lanes] = Code(places["singly"], 0, engine)
    return _shared[lanes].loop


def load_module(text: str, symbol: str, computer: Computer, *, kept: bool = True) -> Code:
    """Return the code of the function `symbol` of a module, whose address is `loop` of the result. `kept`: store it in the cache,
    which must be False if it contains addresses of this process."""
    with _lock:
        engine = link(machine_code(text, computer, 2, kept=kept), computer)
        return Code(engine.get_function_address(symbol), 0, engine)


def machine_code(text: str, computer: Computer, effort: int, *, kept: bool = True) -> bytes:
    """Return the object file of a module, from the cache if it is there.

    The graph is already optimised, so LLVM only selects and schedules instructions and allocates registers.
    """

    def make() -> bytes:
        module = llvm.parse_assembly(text)
        module.verify()
        return target_machine(computer, effort).emit_object(module)

    if not kept:
        return make()
    version = ".".join(map(str, llvm.llvm_version_info))
    return cache.recall((text, computer.cpu, computer.features, version, str(effort), llvm.get_process_triple()), make)


def link(code: bytes, computer: Computer) -> llvm.ExecutionEngine:
    """Load an object file into this process and return the engine that owns the code."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(computer, 0))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def target_machine(computer: Computer, effort: int) -> llvm.TargetMachine:
    """Return LLVM's compiler for a computer. `effort`: level of optimisation, 0 to 3."""
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=computer.cpu, features=computer.features, opt=effort, reloc="pic", codemodel="jitdefault"
    )
