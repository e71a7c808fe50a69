"""The processor for which code is compiled, and by which its code is found again in the cache.

LLVM knows a processor's name and what it can do, and finds them by asking the processor. Its answer is kept in the cache under what
the processor itself answers to these questions (`identity`), so that LLVM need not be loaded to be asked again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import NamedTuple

from qddot.compile.image import Memory

ASK = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
"""`void ask(uint32_t leaf, uint32_t part, uint32_t answer[4])` in machine code: the instruction cpuid, and its four results."""

BASIC = ((0, 0), (1, 0), (7, 0), (7, 1), (0xD, 0), (0xD, 1), (0x14, 0), (0x19, 0), (0x1E, 1), (0x24, 0))
EXTENDED = ((0x80000000, 0), (0x80000001, 0), (0x80000008, 0))
"""The questions that LLVM asks, and 0xD, whose answers depend on the registers that the system saves (those to 0xD, 1 on all of
them). The answer to the first of each group is the last question that is answered."""


class Computer(NamedTuple):
    """A processor for which code is compiled."""

    cpu: str
    features: str
    vector_bytes: int
    fma: bool
    maker: str = ""  # LLVM's version, and the system for which it makes code


def computer(version: str, triple: str, cpu: str, features: Mapping[str, bool]) -> Computer:
    """Return a computer by the names that LLVM gives it, with its widest vectors: AVX-512, AVX, else 16 bytes (SSE2, NEON).

    Every 64-bit ARM has a fused multiply-add. Apple calls it arm64, and there LLVM lists no features.
    """
    arm = triple.partition("-")[0] in ("aarch64", "arm64", "arm64e")
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    written = ",".join(f"{'+' if features[name] else '-'}{name}" for name in sorted(features))
    return Computer(cpu, written, width, bool(arm or features.get("fma")), f"LLVM {version} for {triple}")


def identity() -> str:
    """Return all that an x86-64 processor tells of what it is and can do."""
    memory, answer, found = Memory(len(ASK)), (ctypes.c_uint32 * 4)(), []
    memory.write(0, ASK)
    memory.seal(len(ASK))
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(memory.address)
    for group in (BASIC, EXTENDED):
        last = group[0][0]
        for leaf, part in group:
            if leaf <= last:
                ask(leaf, part, answer)
                last = answer[0] if leaf == group[0][0] else last
                found.append((leaf, part, answer[0], 0 if leaf == 1 else answer[1], *answer[2:]))  # there, the core's own number
    return str(found)
