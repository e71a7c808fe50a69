"""A device that is the CPU: kernels for GPUs, compiled from their own text for a processor whose threads take turns."""

import ctypes
from functools import partial

import llvmlite.binding as llvm

from qddot.compile.gpu import device_kernel
from qddot.compile.gpu.dialects import NVIDIA, inlined
from qddot.compile.gpu.driver import Flag
from qddot.compile.gpu.loop_kernel_ir import loop_source
from qddot.compile.gpu.thread import KERNEL

CPU = NVIDIA._replace(
    head="\n".join(
        (
            "@tid = global i32 0\n@ctaid = global i32 0",
            inlined("i32 @thread()", "%y = load i32, ptr @tid"),
            inlined("i32 @block()", "%y = load i32, ptr @ctaid"),
            inlined("void @together()", ""),
            inlined("float @estimate.float(float %x)", "%y = fdiv float 1.0, %x"),
            inlined("double @estimate.double(double %x)", "%y = fdiv double 1.0, %x"),
            inlined("void @leave.float(ptr %p, float %x)", "store float %x, ptr %p"),
            inlined("void @leave.double(ptr %p, double %x)", "store double %x, ptr %p"),
        )
    ),
    kernel="define",
)

KINDS = {"i64": ctypes.c_uint64, "ptr": ctypes.c_uint64, "i32": ctypes.c_uint32, "double": ctypes.c_double, "float": ctypes.c_float}

ROOMS: list[ctypes.Array] = []
"""Memory of flags, which lives as long as the process."""


class Turns:
    """A kernel, launched as `driver.Function` is."""

    def __init__(self, text: str) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), opt=0)
        module = llvm.parse_assembly(text)
        self.kinds = [KINDS[str(x.type)] for x in module.get_function(KERNEL).arguments]
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        at = self.engine.get_global_value_address
        self.tid, self.ctaid = (ctypes.c_uint32.from_address(at(name)) for name in ("tid", "ctaid"))

    def launch(self, blocks: int, threads: int, stream: int, arguments: ctypes.Array) -> None:
        self.run(blocks, threads, [kind.from_address(place).value for kind, place in zip(self.kinds, arguments, strict=True)])

    def run(self, blocks: int, threads: int, numbers: list) -> None:
        call = ctypes.CFUNCTYPE(None, *self.kinds)(self.engine.get_function_address(KERNEL))
        for self.ctaid.value in range(blocks):
            for self.tid.value in range(threads):
                call(*numbers)


def install(monkeypatch) -> None:
    """Let loops be compiled for the CPU and launched there."""

    def turns(where, source_of, shape):
        code = source_of(shape)
        return code, Turns(code.text)

    def flags(where, count):
        room = (ctypes.c_uint64 * count)()
        ROOMS.append(room)
        return [Flag(ctypes.addressof(room) + 8 * k) for k in range(count)]

    monkeypatch.setattr(device_kernel, "loop_source", partial(loop_source, dialect=CPU))
    monkeypatch.setattr(device_kernel, "fitted", turns)
    monkeypatch.setattr(device_kernel, "flags", flags)
