"""Compile IR to PTX with the LLVM that compiles for the CPU; no CUDA toolkit is needed."""

from __future__ import annotations

import llvmlite.binding as llvm

from qddot.compile import cache
from qddot.errors import DeviceError

TRIPLE = "nvptx64-nvidia-cuda"
PTX_VERSION = "+ptx80"
"""Understood by drivers from 525 (December 2022) on."""


ARCHITECTURES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)
"""Architectures that PTX of that version can be written for. Newer devices run it too: the driver compiles it for them."""


def architecture(capability: tuple[int, int]) -> str:
    """Return the newest architecture for a device of a compute capability such as (9, 0). Raises DeviceError: it is too old."""
    found = [x for x in ARCHITECTURES if x <= 10 * capability[0] + capability[1]]
    if not found:
        raise DeviceError(
            f"compute capability {capability[0]}.{capability[1]} is older than 5.0 (Maxwell, 2014): use another device"
        )
    return f"sm_{found[-1]}"


def ptx(text: str, capability: tuple[int, int]) -> str:
    """Return PTX for a compute capability such as (9, 0)."""

    def make() -> bytes:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        module = llvm.parse_assembly(text)
        module.verify()
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=PTX_VERSION, opt=3)
        # The only pass is inlining: the graph is optimised already, and LLVM's passes move instructions so that values are kept
        # longer in registers (a regressor: 72 registers as written, 255 and spills after them). The driver schedules.
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
        builder.getModulePassManager().run(module, builder)
        return machine.emit_assembly(module).encode()

    cpu = architecture(capability)
    version = ".".join(map(str, llvm.llvm_version_info))
    return cache.recall((text, cpu, PTX_VERSION, version), make).decode()
