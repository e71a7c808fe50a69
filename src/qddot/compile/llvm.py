"""Machine code in memory for programs, from the cache or made by LLVM, for this computer."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple, Protocol

import llvmlite
import numpy as np

from qddot.compile import cache, image, shared
from qddot.compile.kernel_ir import define_kernel, is_short
from qddot.compile.lanes import Lanes, library
from qddot.compile.processor import Computer, computer, identity
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


class Loaded(Protocol):
    """The owner of machine code in memory."""

    def get_function_address(self, name: str) -> int: ...


class Code(NamedTuple):
    """Loaded machine code: addresses of its loop, and of its kernel for one state; `engine` owns it."""

    loop: int
    kernel: int
    engine: Loaded


_shared: dict[Lanes, tuple[dict[str, int], Loaded]] = {}  # never released, since kernels call it


@functools.cache
def this_computer() -> Computer:
    """Return the computer that this process runs on."""

    def ask() -> bytes:
        return json.dumps(compiler().this_computer()).encode()

    with _lock:
        answer = cache.recall(("what LLVM says of", identity(), llvmlite.__version__), ask) if image.POSSIBLE else ask()
    return computer(*json.loads(answer))


def compiler() -> ModuleType:
    """Return the module `emit`, which loads LLVM's library. That takes 20 ms, so it is imported only when code must be made."""
    from qddot.compile import emit

    return emit


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
    if lanes.width > 1 or is_table(program):
        from qddot.compile import loop_ir, prefetch, table_ir, transpose  # one state of most robots needs none of them
    if lanes.width == 1 or not is_short(program, lanes):
        lines += table_ir.define_table_kernel(program, lanes) if is_table(program) else define_kernel(program, lanes)
    if lanes.width > 1:
        lines += [*transpose.declarations(lanes), prefetch.DECLARATION, *loop_ir.define_loop(program, lanes, watched=watched)]
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
        code = loaded(text, computer, 0 if quick else 2, common)
        if lanes.width > 1:
            return Code(code.get_function_address("loop"), 0, code)
        return Code(common[lanes.shared.function("singly")[1:]], code.get_function_address(lanes.kernel[1:]), code)


def share(lanes: Lanes, computer: Computer) -> dict[str, int]:
    """Return the addresses of the functions that kernels share (see `shared`), by name. They are loaded when first needed."""
    if lanes not in _shared:
        code = loaded(shared.module(lanes), computer, 2, {})
        names = [lanes.function(name)[1:] for name in shared.FUNCTIONS]
        _shared[lanes] = {name: code.get_function_address(name) for name in names}, code
    return _shared[lanes][0]


def load_module(text: str, symbol: str, computer: Computer, *, kept: bool = True) -> Code:
    """Return the code of the function `symbol` of a module, whose address is `loop` of the result. `kept`: store it in the cache,
    which must be False if it contains addresses of this process."""
    with _lock:
        code = loaded(text, computer, 2, {}, kept=kept)
        return Code(code.get_function_address(symbol), 0, code)


def loaded(text: str, computer: Computer, effort: int, known: Mapping[str, int], *, kept: bool = True) -> Loaded:
    """Return the machine code of a module, from the cache if it is there.

    Args:
        effort: level of optimisation, 0 to 3.
        known: addresses of functions that it may call, by name.
    """
    if kept and image.POSSIBLE:
        with contextlib.suppress(image.Unloadable):
            return image.Image(object_file(text, computer, effort, "small"), known)
    make = object_file if kept else compiler().object_file
    return compiler().link(make(text, computer, effort, "jitdefault"), known, computer)


def object_file(text: str, computer: Computer, effort: int, model: str) -> bytes:
    """Return the object file of a module, from the cache if it is there. `model`: LLVM's code model."""
    key = (text, computer.cpu, computer.features, computer.maker, str(effort), model)
    return cache.recall(key, lambda: compiler().object_file(text, computer, effort, model))
