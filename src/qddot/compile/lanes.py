"""LLVM IR for a vector of W states: types, literals, names of intrinsics. With W = 1 they are those of a plain number."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Lanes:
    """A vector of W numbers of one type, one number for each state."""

    width: int  # W
    real: str  # `double` or `float`
    fma: bool = True  # True if the computer has a fused multiply-add; else it is not used for any W, so bits do not depend on W
    native: int = 1  # numbers in the computer's own vectors

    @property
    def scalar(self) -> Lanes:
        return replace(self, width=1)

    @property
    def whole_vector(self) -> Lanes:
        return replace(self, width=self.native)

    @property
    def shared(self) -> Lanes:
        """The lanes of the functions that a kernel over these lanes calls (see `shared`): whole vectors for single states."""
        return self if self.width > 1 else self.whole_vector

    def function(self, name: str) -> str:
        """Return the name, in LLVM IR, of one of the functions that all kernels share."""
        return f"@{name}.{self.tag}"

    @property
    def kernel(self) -> str:
        """The name of a kernel over these lanes in LLVM IR."""
        return f"@kernel.{self.suffix}"

    @property
    def half(self) -> int:
        return self.width // 2

    @cached_property
    def bits(self) -> int:
        return 64 if self.real == "double" else 32

    @cached_property
    def suffix(self) -> str:
        """Suffix of an intrinsic's name, such as `v8f64`."""
        return f"v{self.width}f{self.bits}" if self.width > 1 else f"f{self.bits}"

    @cached_property
    def tag(self) -> str:
        """Ending of the names of shared code, which is another without fused multiply-add."""
        return self.suffix if self.fma else f"{self.suffix}.plain"

    @cached_property
    def number(self) -> str:
        return self._of(self.real)

    @cached_property
    def integer(self) -> str:
        return self._of(f"i{self.bits}")

    @cached_property
    def truth(self) -> str:
        return self._of("i1")

    def _of(self, scalar: str) -> str:
        return f"<{self.width} x {scalar}>" if self.width > 1 else scalar

    def literal(self, x: float) -> str:
        """Return a number with all its bits, in every lane; a float is written as the double that equals it."""
        if self.real == "float":
            with np.errstate(over="ignore"):  # a number too large for a float becomes infinite, as in the computation
                x = float(np.float32(x))
        x = float(x)
        text = f"0x{struct.pack('>d', x).hex().upper()}"
        return f"splat ({self.real} {text})" if self.width > 1 else text

    def whole(self, n: int) -> str:
        """Return an integer, in every lane."""
        return f"splat (i{self.bits} {n})" if self.width > 1 else str(n)

    def call(self, intrinsic: str, *values: str) -> str:
        """Return a call of `llvm.<intrinsic>` on numbers."""
        number = self.number
        return f"call {number} @llvm.{intrinsic}.{self.suffix}({', '.join([f'{number} {v}' for v in values])})"

    def declarations(self) -> list[str]:
        one = {"rint": 1, "sqrt": 1, "fabs": 1, "fma": 3}
        found = [f"declare {self.number} @llvm.{name}.{self.suffix}({', '.join([self.number] * n)})" for name, n in one.items()]
        if self.width > 1:
            mask = self.truth
            found += [
                f"declare void @llvm.masked.store.{self.suffix}.p0({self.number}, ptr, {mask})",
                f"declare i1 @llvm.vector.reduce.or.v{self.width}i1({mask})",
            ]
        return found


MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def library(real: str) -> list[str]:
    """Return declarations of the functions of the C library that kernels may call."""
    end = "f" if real == "float" else ""
    found = [f"declare {real} @{name}{end}({', '.join([real] * n)})" for name, n in {"sin": 1, "cos": 1, "atan2": 2}.items()]
    return [*found, "declare ptr @malloc(i64)", "declare void @free(ptr)", MEMSET, MEMCPY]
