"""Programs in one precision for other array libraries; their code is never freed, and their derivatives are operations too."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from qddot.compile.kernel import Kernel
from qddot.compile.llvm import this_computer
from qddot.compile.phrases import at
from qddot.errors import InputError, SingularityError
from qddot.graph.expr import Trace
from qddot.graph.program import Program
from qddot.graph.replay import replay
from qddot.graph.tangent import cotangent, table_of, tangent
from qddot.model.lower import Mechanism

_known: dict[str, Operation] = {}
_lock = threading.RLock()


class Operation:
    """A program in one precision; made by `operation`, which returns the same one for the same program.

    Attributes:
        name: identifies program, precision and rounding, the same in every process: libraries keep such names in files, with
            compiled code that calls them.
        is_empty: True if an array has no elements, as for a robot without joints; then there is no code.
    """

    def __init__(self, program: Program, dtype: np.dtype, name: str) -> None:
        self.program, self.dtype, self.name = program, dtype, name
        self.is_empty = any(0 in x.shape for x in (*program.inputs, *program.outputs))
        self._made: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"{self.program.name}[{self.dtype}]"

    @cached_property
    def kernel(self) -> Kernel:
        with _lock:
            return Kernel(self.program, self.dtype)

    def once(self, make: Callable[[Operation], Any]) -> Any:
        """Return the result of `make` for this operation, made once and kept."""
        if make not in self._made:
            with _lock:
                if make not in self._made:
                    self._made[make] = make(self)
        return self._made[make]

    def tangent(self, inputs: Sequence[int]) -> Operation:
        """Return the operation for the rates of the outputs, from the inputs and the rates of the chosen ones."""
        return self._derivative(tangent, tuple(inputs))

    def cotangent(self, inputs: Sequence[int]) -> Operation:
        """Return the operation for gradients with respect to the chosen inputs, from the inputs and weights of the outputs."""
        return self._derivative(cotangent, tuple(inputs))

    def _derivative(self, mode: Callable[[Program, Sequence[int]], Program], inputs: tuple[int, ...]) -> Operation:
        key = (mode, inputs)
        if key not in self._made:
            with _lock:  # differentiation adds nodes to the trace
                if key not in self._made:
                    self._made[key] = operation(mode(self.program, inputs), self.dtype)
        return self._made[key]


def operation(program: Program, dtype: np.dtype) -> Operation:
    """Return the operation of a program; it is kept for ever, as libraries keep the addresses of its code."""
    fused = "fma" if this_computer().fma else "plain"
    name = f"{program.name}_{dtype.name}_{fused}_{program.fingerprint[:32]}"
    with _lock:
        if name not in _known:
            _known[name] = Operation(program, dtype, name)
        return _known[name]


def for_guests(program: Program, mechanism: Mechanism, rounding: float) -> Program:
    """Return a program that needs no checks around it: it normalises quaternions, and its results are NaN where a margin is not
    positive. Its derivative with respect to q has therefore no part along a quaternion. Raises SingularityError: a margin is not
    positive for any input."""
    program = with_unit_quaternions(program, mechanism, rounding)
    *shown, last = program.outputs
    if last.name != "margins":
        return program
    recorder, exists = Trace(rounding), 1.0
    recorder.table = table_of(program) or recorder.table
    for margin in last.values:
        exists = recorder.where_positive(margin, exists, -1.0)
    if isinstance(exists, float) and exists < 0:
        raise SingularityError(f"{program.name} does not exist for this robot: its mass matrix is not positive definite anywhere")
    one = recorder.sqrt(exists)  # 1, or NaN, which then is in every result and derivative
    return program_of(program, shown, [[v * one for v in x.values] for x in shown])


def with_unit_quaternions(program: Program, mechanism: Mechanism, rounding: float) -> Program:
    """Return the program preceded by the normalisation of q's quaternions; the program itself if there are none."""
    if mechanism.nq == mechanism.nv or all(x.name != "q" for x in program.inputs):
        return program
    recorder = Trace(rounding)
    inputs = [[recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(program.inputs)]
    q = next(values for x, values in zip(program.inputs, inputs) if x.name == "q")
    for c in mechanism.coordinates:
        if c.parts[0].quaternion:
            four = slice(c.q.start, c.q.start + 4)
            length = recorder.sqrt(sum((v * v for v in q[four]), 0.0))
            q[four] = [v / length for v in q[four]]
    return program_of(program, program.outputs, replay(program, recorder, *inputs))


def program_of(program: Program, outputs, values) -> Program:
    return Program(program.name, program.inputs, tuple(x._replace(values=tuple(v)) for x, v in zip(outputs, values)))


def leads(program: Program, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the leading dimensions of each input. Raises InputError: the other dimensions are not those of the input."""
    for (name, shape), a in zip(program.inputs, arrays):
        if a.ndim < len(shape) or tuple(a.shape[a.ndim - len(shape) :]) != shape:
            raise InputError(f"{name} has shape {tuple(a.shape)}, expected (..., {', '.join(map(str, shape))})")
    return [tuple(a.shape[: a.ndim - len(x.shape)]) for a, x in zip(arrays, program.inputs)]


def misfit(program: Program, arrays: Sequence[Any]) -> InputError:
    """Return the error for inputs whose leading dimensions do not fit each other."""
    shown = ", ".join(f"{x.name} {tuple(a.shape)}" for x, a in zip(program.inputs, arrays))
    return InputError(f"leading dimensions of the inputs do not fit each other: {shown}")


def core_steps(program: Program, itemsize: int) -> list[int]:
    """Return the strides, in bytes, of a dense state, array by array, as NumPy's loops expect them."""
    parts = (*program.inputs, *program.outputs)
    return [itemsize * math.prod(x.shape[d + 1 :]) for x in parts for d in range(len(x.shape))]


PRODUCT = f"""define internal i64 @product(ptr %numbers, i64 %count) {{
entry:
br label %head
head:
%k = phi i64 [ 0, %entry ], [ %k1, %body ]
%n = phi i64 [ 1, %entry ], [ %n1, %body ]
%more = icmp slt i64 %k, %count
br i1 %more, label %body, label %end
body:
{at("%x", "%numbers", "%k", "i64")}
%n1 = mul i64 %n, %x
%k1 = add i64 %k, 1
br label %head
end:
ret i64 %n
}}"""
"""Definition, in LLVM IR, of the product of some whole numbers."""


def needs(operation: Operation, arrays: str) -> str:
    """Return the message for arrays that an operation cannot take; `arrays`: its kind of arrays, as words."""
    inputs = ", ".join(f"{x.name} (..., {', '.join(map(str, x.shape))})" for x in operation.program.inputs)
    return f"{operation.program.name} needs {operation.dtype.name} {arrays} one leading shape: {inputs}"


def text_constant(name: str, text: str) -> str:
    """Return the definition of a constant text in LLVM IR."""
    plain = text.encode("ascii", "replace")
    quoted = "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\{c:02x}" for c in plain)
    return f'@{name} = private constant [{len(plain) + 1} x i8] c"{quoted}\\00"'
