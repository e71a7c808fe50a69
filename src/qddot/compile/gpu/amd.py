"""Kernels as code for AMD's GPUs. The tests generate and assemble it; it has not run on such a GPU yet."""

from __future__ import annotations

import llvmlite.binding as llvm

TRIPLE = "amdgcn-amd-amdhsa"


def code_object(text: str, processor: str) -> bytes:
    """Return an ELF file with the kernel of a module in AMD's dialect, for a processor such as `gfx90a` or `gfx1100`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=processor, opt=3, reloc="pic")
    module = llvm.parse_assembly(text)
    module.data_layout = str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)
