"""Updates of a triangular factor by new rows with Givens rotations, as machine code.

    [c  s] [R_i]        rotates row i of the triangle and the new row so that the latter loses its element i;
    [-s c] [ x ]        R_ii grows to sqrt(R_ii^2 + x_i^2), so the diagonal never becomes negative

Zeros at the beginning of a new row take no rotation, so outer joints, whose rows have many, cost little.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from qddot.compile.llvm import Code, load_module, this_computer


class Triangle:
    """Triangular factor R (n, n) and right-hand side (n,) of a least-squares problem.

    Rows are padded with zeros, so that they can be read and written in whole vectors.

    Args:
        n: number of parameters.
        rows: number of rows of an update.
    """

    def __init__(self, n: int, rows: int) -> None:
        self.n, (self._fold, self._code) = n, compiled()
        width = this_computer().vector_bytes // 8
        self._kept, self._new = np.zeros((n, n + 1 + width)), np.zeros((rows, n + 1 + width))
        self._at = self._kept.ctypes.data, self._new.ctypes.data, n, self._kept.shape[1], rows

    @property
    def R(self) -> np.ndarray:
        """The triangular factor (n, n)."""
        return self._kept[:, : self.n]

    @property
    def z(self) -> np.ndarray:
        """The right-hand side (n,): `R theta = z`."""
        return self._kept[:, self.n]

    @property
    def new(self) -> np.ndarray:
        """Buffer of the rows (rows, n + 1) that `fold` takes, each with its right-hand side last; a row of zeros changes
        nothing."""
        return self._new[:, : self.n + 1]

    def fold(self) -> None:
        """Update the triangle by the rows in `new`, and leave the residuals in the last column of that."""
        self._fold(*self._at)

    def scale(self, factor: float) -> None:
        """Multiply R and z, and with them the weight of all rows so far."""
        self._kept *= factor


@cache
def compiled() -> tuple[Any, Code]:
    """The compiled function of (R, rows, n, stride, count), and the code object that must be kept alive for it."""
    computer = this_computer()
    code = load_module(module_text(computer.vector_bytes // 8), "fold", computer)
    arguments = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
    return ctypes.CFUNCTYPE(None, *arguments)(code.loop), code


def module_text(width: int) -> str:
    """LLVM IR of the rotations with vectors of `width` numbers; the padding of a row holds zeros, which stay zeros."""
    V, wide = f"<{width} x double>", f"{width} x i32"
    splat = f"shufflevector {V} %{{0}}0, {V} poison, <{wide}> zeroinitializer"
    return f"""
declare double @llvm.sqrt.f64(double)
define void @fold(ptr %R, ptr %new, i64 %n, i64 %stride, i64 %count) nounwind {{
entry:
  br label %each
each:
  %m = phi i64 [0, %entry], [%m2, %folded]
  %some = icmp slt i64 %m, %count
  br i1 %some, label %begin, label %leave
begin:
  %before = mul i64 %m, %stride
  %row = getelementptr double, ptr %new, i64 %before
  %m2 = add i64 %m, 1
  br label %rows
rows:
  %i = phi i64 [0, %begin], [%next, %done]
  %end = icmp sge i64 %i, %n
  br i1 %end, label %folded, label %look
look:
  %px = getelementptr double, ptr %row, i64 %i
  %x = load double, ptr %px, align 8
  %zero = fcmp oeq double %x, 0.0
  br i1 %zero, label %done, label %turn
turn:
  %above = mul i64 %i, %stride
  %at = add i64 %above, %i
  %pr = getelementptr double, ptr %R, i64 %at
  %r = load double, ptr %pr, align 8
  %rr = fmul double %r, %r
  %xx = fmul double %x, %x
  %sum = fadd double %rr, %xx
  %h = call double @llvm.sqrt.f64(double %sum)
  %inverse = fdiv double 1.0, %h
  %c = fmul double %r, %inverse
  %s = fmul double %x, %inverse
  %c0 = insertelement {V} poison, double %c, i32 0
  %cv = {splat.format("c")}
  %s0 = insertelement {V} poison, double %s, i32 0
  %sv = {splat.format("s")}
  br label %columns
columns:
  %k = phi i64 [%i, %turn], [%k2, %columns]
  %kr = add i64 %above, %k
  %pa = getelementptr double, ptr %R, i64 %kr
  %pb = getelementptr double, ptr %row, i64 %k
  %a = load {V}, ptr %pa, align 8
  %b = load {V}, ptr %pb, align 8
  %ca = fmul {V} %cv, %a
  %sb = fmul {V} %sv, %b
  %cb = fmul {V} %cv, %b
  %sa = fmul {V} %sv, %a
  %a2 = fadd {V} %ca, %sb
  %b2 = fsub {V} %cb, %sa
  store {V} %a2, ptr %pa, align 8
  store {V} %b2, ptr %pb, align 8
  %k2 = add i64 %k, {width}
  %more = icmp sle i64 %k2, %n
  br i1 %more, label %columns, label %done
done:
  %next = add i64 %i, 1
  br label %rows
folded:
  br label %each
leave:
  ret void
}}
"""
