"""Make a CUDA build of PyTorch importable without NVIDIA's libraries, for tests on the CPU: 1.2 GB installed instead of 6.

PyPI's wheel for Linux is the CUDA build, whose libraries need a dozen others at start, most of which nothing on a CPU ever calls.
Here an empty library stands in for each that is missing, and the symbols that would be looked up in them at once become weak, so
that they may stay without a definition. A call into CUDA would end the process: this is for an environment of tests, nothing else.

    python -m pip install --no-deps torch nvidia-cuda-runtime nvidia-cuda-cupti
    python tools/torch_without_cuda.py
"""

from __future__ import annotations

import importlib.util
import mmap
import shutil
import struct
import sys
from pathlib import Path

SECTIONS_AT, SECTION_SIZE, SECTION_COUNT = 0x28, 0x3A, 0x3C  # of the header of a 64-bit ELF file
DYNSYM = 11
SYMBOL = 24  # bytes: name u32, info u8, other u8, section u16, value u64, size u64
WEAK = 2

STANDS_IN = (
    "libcublas.so.13",
    "libcublasLt.so.13",
    "libcudnn.so.9",
    "libcufft.so.12",
    "libcufile.so.0",
    "libcusparse.so.12",
    "libcusparseLt.so.0",
    "libnccl.so.2",
    "libnvrtc.so.13",
    "libnvshmem_host.so.3",
)


def weaken(library: Path) -> int:
    """Make every undefined symbol of a library weak; returns how many there are."""
    with library.open("r+b") as file, mmap.mmap(file.fileno(), 0) as image:
        first, size, count = (
            struct.unpack_from(kind, image, at)[0]
            for kind, at in (("<Q", SECTIONS_AT), ("<H", SECTION_SIZE), ("<H", SECTION_COUNT))
        )
        found = 0
        for section in range(first, first + size * count, size):
            if struct.unpack_from("<I", image, section + 4)[0] != DYNSYM:
                continue
            start, length = struct.unpack_from("<QQ", image, section + 24)
            for symbol in range(start + SYMBOL, start + length, SYMBOL):
                if struct.unpack_from("<H", image, symbol + 6)[0] == 0:  # defined elsewhere
                    image[symbol + 4] = WEAK << 4 | image[symbol + 4] & 0xF
                    found += 1
        return found


def main() -> None:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("torch is not installed in this environment")
    folder = Path(spec.origin).parent / "lib"
    if not (folder / "libtorch_cuda.so").exists():
        return  # the CPU build
    import _queue  # any small extension module without versions of its own

    for name in STANDS_IN:
        if not (folder / name).exists():
            shutil.copy(_queue.__file__, folder / name)
    for name in ("libtorch_cuda.so", "libtorch_nvshmem.so", "libtorch_python.so"):
        weaken(folder / name)


if __name__ == "__main__":
    main()
