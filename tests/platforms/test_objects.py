"""Object files for other systems, looked at without running them: what they call, how they refer to it, and how they are called.

The loader is LLVM's own, in the user's process; it knows the relocations listed here, and finds a symbol only if a library of that
process exports it. Windows has `__chkstk`, which functions with large frames call, in ntdll.
"""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import qddot
from qddot.compile import direct_ir, entry_ir, shared
from qddot.compile.llvm import Computer, module_text, single_lanes, wide_lanes
from qddot.graph.program import Program

lief = pytest.importorskip("lief")

SYSTEMS = {
    "x86_64-pc-windows-msvc": Computer("x86-64-v3", "", 32, True),
    "aarch64-pc-windows-msvc": Computer("generic", "", 16, True),
    "x86_64-apple-darwin23.4.0": Computer("x86-64-v3", "", 32, True),
    "arm64-apple-darwin23.4.0": Computer("apple-m1", "", 16, True),
}
LIBRARY = {"sin", "cos", "atan2", "sinf", "cosf", "atan2f", "malloc", "free", "memset", "memcpy"}
OWN = {"windows": {"__chkstk", "_fltused"}, "darwin": {"bzero", "__bzero"}}
RELOCATIONS = {
    "x86_64-pc-windows-msvc": {"AMD64_ADDR64", "AMD64_REL32"},
    "aarch64-pc-windows-msvc": {
        "ARM64_BRANCH26",
        "ARM64_PAGEBASE_REL21",
        "ARM64_PAGEOFFSET_12A",
        "ARM64_PAGEOFFSET_12L",
        "ARM64_ADDR64",
    },
    "x86_64-apple-darwin23.4.0": {"UNSIGNED", "SIGNED", "BRANCH", "GOT", "GOT_LOAD"},
    "arm64-apple-darwin23.4.0": {"UNSIGNED", "BRANCH26", "PAGE21", "PAGEOFF12", "GOT_LOAD_PAGE21", "GOT_LOAD_PAGEOFF12"},
}


@pytest.fixture(scope="module", autouse=True)
def targets() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@pytest.fixture(scope="module")
def program() -> Program:
    """Long enough to be cut into functions, with results that leave by tables."""
    return qddot.load("arm7").kernel("regressor").program


def machine(triple: str, effort: int = 2) -> llvm.TargetMachine:
    """As `llvm.target_machine` makes it, for another system."""
    cpu = SYSTEMS[triple].cpu
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=effort, reloc="pic", codemodel="jitdefault")


def module(text: str) -> llvm.ModuleRef:
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    return parsed


@pytest.mark.parametrize("triple", SYSTEMS)
@pytest.mark.parametrize("kind", ["single", "in a hurry", "wide", "float32", "shared", "shared float32"])
def test_kernels_refer_to_what_a_process_has(program, triple, kind):
    """The library, and the code that kernels share, which is loaded before them and refers to the library only."""
    computer, dtype = SYSTEMS[triple], np.dtype(np.float32 if "float32" in kind else np.float64)
    lanes = (wide_lanes if kind in ("wide", "float32") else single_lanes)(dtype, computer)
    common = lanes.shared
    is_shared = kind.startswith("shared")
    text = shared.module(common) if is_shared else module_text(program, lanes)
    code = machine(triple, 0 if kind == "in a hurry" else 2).emit_object(module(text))
    system = "windows" if "windows" in triple else "darwin"
    if system == "windows":
        found = lief.COFF.parse(list(code))
        wanted = {s.name for s in found.symbols if s.is_undefined}
        assert found.header.machine.name == ("AMD64" if triple.startswith("x86") else "ARM64")
    else:
        found = lief.MachO.parse(list(code)).at(0)
        undefined = lief.MachO.Symbol.CATEGORY.UNDEFINED
        wanted = {s.name.removeprefix("_") for s in found.symbols if s.category == undefined}
        assert found.header.cpu_type.name == ("X86_64" if triple.startswith("x86") else "ARM64")
    ours = {common.function(name).removeprefix("@") for name in shared.FUNCTIONS}
    assert wanted <= LIBRARY | OWN[system] | (set() if is_shared else ours)
    assert {r.type.name for r in found.relocations} <= RELOCATIONS[triple]
    sections = {s.name for s in found.sections}
    assert not sections & {".pdata", ".xdata", "__eh_frame", "__compact_unwind"}  # nothing to unwind: registered with no one


@pytest.mark.parametrize("triple", SYSTEMS)
def test_a_fused_multiply_add_is_one_instruction(program, triple):
    text = machine(triple).emit_assembly(module(module_text(program, wide_lanes(np.dtype(float), SYSTEMS[triple]))))
    assert len(re.findall(r"\bvfn?m(?:add|sub)\d+pd|\bfml[as](?:\.2d)?\s", text)) > 500


@pytest.mark.parametrize(
    ("triple", "nargs", "kwnames"),
    [
        ("x86_64-pc-windows-msvc", "%r8", "%r9"),  # after self and args in rcx and rdx
        ("x86_64-apple-darwin23.4.0", "%rdx", "%rcx"),  # after rdi and rsi
        ("aarch64-pc-windows-msvc", "x2", "x3"),
        ("arm64-apple-darwin23.4.0", "x2", "x3"),
    ],
)
def test_the_direct_entry_is_called_as_the_system_calls(triple, nargs, kwnames):
    """The first test, that there are three arguments and no keywords, reads them where the system passes them."""
    text, general = (machine(triple).emit_assembly(module("\n".join(x.module()))) for x in (entry_ir, direct_ir))
    start = re.search(r"^_?entry3:\n(?:.*\n){30}", text, re.M)
    assert start
    if triple.startswith("x86"):
        assert re.search(rf"movq\s+{nargs}, (%\w+)\s+xorq\s+\$3, \1\s+orq\s+{kwnames}, \1", start[0])
    else:
        assert re.search(rf"{nargs}, #3", start[0])
        assert re.search(rf"\b{kwnames}\b", start[0])
    room = re.search(r"subq\s+\$32, %rsp\s+movq\s.*\s+callq", general)  # of the callee, which only Windows gives it
    assert bool(room) == (triple == "x86_64-pc-windows-msvc")
