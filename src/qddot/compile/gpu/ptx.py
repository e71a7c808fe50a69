"""From IR to PTX, by the LLVM that compiles for the CPU; no CUDA toolkit takes part."""

from __future__ import annotations

import llvmlite.binding as llvm

from qddot.compile import cache
from qddot.compile.gpu.thread import TRIPLE

PTX_VERSION = "+ptx80"
"""Understood by drivers from 525 (December 2022) on."""


def ptx(text: str, capability: tuple[int, int]) -> str:
    """PTX for a compute capability such as (9, 0)."""

    def make() -> bytes:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        module = llvm.parse_assembly(text)
        module.verify()
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=PTX_VERSION, opt=3)
        # Functions are inlined and nothing else: the graph is optimised already, and LLVM's passes move instructions to where
        # values wait in registers (a regressor: 72 registers as written, 255 and spills after them). The driver schedules.
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
        builder.getModulePassManager().run(module, builder)
        return machine.emit_assembly(module).encode()

    cpu = f"sm_{capability[0]}{capability[1]}"
    version = ".".join(map(str, llvm.llvm_version_info))
    return cache.recall((text, cpu, PTX_VERSION, version), make).decode()
