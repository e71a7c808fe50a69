"""The parts of a kernel's IR that differ between NVIDIA and AMD."""

from __future__ import annotations

from typing import NamedTuple


class Dialect(NamedTuple):
    """The head of a module, and the parts of a kernel's definition."""

    # triple, layout, and the functions that kernels call: `thread` and `block` return this one's index, `together` waits for the
    # threads of a warp, `estimate.float` and `estimate.double` approximate 1/x, `leave.float` and `leave.double` store values that
    # are not read again soon
    head: str
    kernel: str  # the beginning of a kernel's definition
    attributes: str  # the attribute for the number of threads in a block
    limit: str  # the attribute for the largest number of registers


def inlined(signature: str, value: str) -> str:
    """Return the definition of an inlined function that computes %y."""
    kind = signature.split()[0]
    return f"define internal {signature} alwaysinline nounwind {{\n{value}\nret {kind}{'' if kind == 'void' else ' %y'}\n}}"


def streamed(real: str, bits: str, register: str) -> str:
    """Return a store whose cache line is evicted first; LLVM's IR has none for NVIDIA."""
    return (
        "%g = addrspacecast ptr %p to ptr addrspace(1)\n"
        f'call void asm sideeffect "st.global.cs.{bits} [$0], $1;", "l,{register}"(ptr addrspace(1) %g, {real} %x)'
    )


NVIDIA = Dialect(
    "\n".join(
        (
            'target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"',
            'target triple = "nvptx64-nvidia-cuda"',
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
            "declare void @llvm.nvvm.bar.warp.sync(i32)",
            "declare float @llvm.nvvm.rcp.approx.ftz.f(float)",
            "declare double @llvm.nvvm.rcp.approx.ftz.d(double)",
            inlined("i32 @thread()", "%y = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"),
            inlined("i32 @block()", "%y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"),
            inlined("void @together()", "call void @llvm.nvvm.bar.warp.sync(i32 -1)"),
            inlined("float @estimate.float(float %x)", "%y = call float @llvm.nvvm.rcp.approx.ftz.f(float %x)"),
            inlined("double @estimate.double(double %x)", "%y = call double @llvm.nvvm.rcp.approx.ftz.d(double %x)"),
            inlined("void @leave.float(ptr %p, float %x)", streamed("float", "b32", "f")),
            inlined("void @leave.double(ptr %p, double %x)", streamed("double", "b64", "d")),
        )
    ),
    "define ptx_kernel",
    '"nvvm.maxntid"="{}"',
    ' "nvvm.maxnreg"="{}"',
)

AMD = Dialect(
    "\n".join(
        (
            'target triple = "amdgcn-amd-amdhsa"',
            "declare i32 @llvm.amdgcn.workitem.id.x()",
            "declare i32 @llvm.amdgcn.workgroup.id.x()",
            "declare void @llvm.amdgcn.wave.barrier()",
            "declare float @llvm.amdgcn.rcp.f32(float)",
            "declare double @llvm.amdgcn.rcp.f64(double)",
            inlined("i32 @thread()", "%y = call i32 @llvm.amdgcn.workitem.id.x()"),
            inlined("i32 @block()", "%y = call i32 @llvm.amdgcn.workgroup.id.x()"),
            inlined(
                "void @together()",
                'fence syncscope("wavefront") release\ncall void @llvm.amdgcn.wave.barrier()\nfence syncscope("wavefront") acquire',
            ),
            inlined("float @estimate.float(float %x)", "%y = call float @llvm.amdgcn.rcp.f32(float %x)"),
            inlined("double @estimate.double(double %x)", "%y = call double @llvm.amdgcn.rcp.f64(double %x)"),
            "!1 = !{i32 1}",
            inlined("void @leave.float(ptr %p, float %x)", "store float %x, ptr %p, !nontemporal !1"),
            inlined("void @leave.double(ptr %p, double %x)", "store double %x, ptr %p, !nontemporal !1"),
        )
    ),
    "define amdgpu_kernel",
    '"amdgpu-flat-work-group-size"="1,{}"',
    ' "amdgpu-num-vgpr"="{}"',
)
