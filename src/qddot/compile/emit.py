"""LLVM itself: object files from IR, and their code in memory where `image` cannot load them. Imported only when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import llvmlite.binding as llvm

from qddot.compile.processor import Computer


@cache
def start() -> None:
    """Make LLVM ready for the processor of this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def this_computer() -> tuple[str, str, str, dict[str, bool]]:
    """Return LLVM's description of the computer that this process runs on: the version of LLVM, the system for which it makes code,
    the processor's name, and what it can do."""
    start()
    version = ".".join(map(str, llvm.llvm_version_info))
    return version, llvm.get_process_triple(), llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())


def object_file(text: str, computer: Computer, effort: int, model: str) -> bytes:
    """Return the object file of a module.

    The graph is already optimised, so LLVM only selects and schedules instructions and allocates registers.
    """
    start()
    module = llvm.parse_assembly(text)
    module.verify()
    return target_machine(computer, effort, model).emit_object(module)


def link(file: bytes, known: Mapping[str, int], computer: Computer) -> llvm.ExecutionEngine:
    """Load an object file into this process and return the engine that owns the code. `known`: addresses of functions it may
    call, by name."""
    start()
    for name, address in known.items():
        llvm.add_symbol(name, address)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(computer, 0, "jitdefault"))
    engine.add_object_file(llvm.ObjectFileRef.from_data(file))
    engine.finalize_object()
    return engine


def target_machine(computer: Computer, effort: int, model: str) -> llvm.TargetMachine:
    """Return LLVM's compiler for a computer. `effort`: level of optimisation, 0 to 3; `model`: the code model."""
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=computer.cpu, features=computer.features, opt=effort, reloc="pic", codemodel=model
    )
