"""Exact linearisation of one step of a rollout, for LQR, iLQR and filters, with NumPy arrays or tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arguments import shape_of
from qddot.arrays.guests import constant, guest_module
from qddot.compile.kinds import library_of, refuse_mixed
from qddot.graph.program import Program
from qddot.graph.tangent import jacobian
from qddot.rollout.adjoint import STATE, without_margins

if TYPE_CHECKING:
    from qddot.compile.evaluate import Evaluator
    from qddot.rollout.rollout import Rollout


class Linear(NamedTuple):
    """Matrices `A` (..., 2 nv, 2 nv) and `B` (..., 2 nv, m) of one step."""

    A: np.ndarray
    B: np.ndarray


def linear_program(program: Program) -> Program:
    """Return a program for the derivatives of the state after a step with respect to q, qd and the control."""
    shown = without_margins(program)
    columns = [jacobian(shown, k).outputs for k, x in enumerate(program.inputs) if x.name in (*STATE, "control")]
    return replace(shown, name="linear_step", outputs=(*(x for row in zip(*columns) for x in row), *program.margins))


def joined(found: Sequence[Any]) -> Linear:
    """Return A and B from the outputs of such a program."""
    qq, qv, qu, vq, vv, vu = found
    join = guest_module(qq).concatenate if library_of(qq) else np.concatenate
    return Linear(join([join(pair, -1) for pair in ((qq, qv), (vq, vv))], -2), join([qu, vu], -2))


def linearized(_: Evaluator, run: Rollout, controls: int, runtime: bool) -> Callable[[np.dtype], Program]:
    """Return the function that traces such a program for a type."""
    return lambda dtype: linear_program(run.step(controls, runtime).program(dtype))


def linear_of_tensors(run: Rollout, q: Any, qd: Any, control: Any, t: Any, parameters: Any, variables: Any) -> Linear:
    """Return A and B for arrays of another library; NaN where the step has no result."""
    refuse_mixed({"q": q, "qd": qd, "control": control, "parameters": parameters, **run.named_numbers(variables)})
    like, guests = q, run.robot._guests
    controls, runtime = (shape_of("control", control) or (1,))[-1], parameters is not None
    name = guests.named(linearized, run, controls, runtime)
    time = t[..., None] if library_of(t) else constant(like, [float(t)])
    inputs = {"q": q, "qd": qd, "control": control, "t": time, "dt": constant(like, [run.dt])}
    options = {} if variables is None else {"variables": variables}
    return joined(guests.compute(name, inputs | ({"parameters": parameters} if runtime else {}), options, {}))
