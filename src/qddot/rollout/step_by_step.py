"""Inputs of the steps of a rollout that another library runs step by step, by one operation with derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arrays.guests import constant, guest_module
from qddot.arrays.operation import for_guests, operation
from qddot.errors import InputError
from qddot.rollout.start import common_batch, step_count

if TYPE_CHECKING:
    from qddot.arrays.operation import Operation
    from qddot.rollout.rollout import Rollout


class Stepping(NamedTuple):
    """The inputs of all steps of one rollout, in arrays of one library.

    Attributes:
        operation: one step, from the inputs to q and qd, which are NaN if the step has no result.
        state: the initial q and qd, one row for each motion.
        control: (steps, ..., m) if it `changes`, else (..., m), or None.
        rest: inputs that are the same in every step.
    """

    operation: Operation
    state: dict[str, Any]
    control: Any
    changes: bool
    rest: dict[str, Any]
    count: int

    def inputs(self, state: Mapping[str, Any], k: Any, control: Any) -> dict[str, Any]:
        """Return the inputs of step k; `control` is that of the step if it changes."""
        given = {**state, **self.rest, "t": k * self.rest["dt"]}
        if self.control is not None:
            given["control"] = control if self.changes else self.control
        return given


def stepping(run: Rollout, arrays: Mapping[str, Any], steps: int | None, every: int, dtype: np.dtype) -> Stepping:
    """Return the inputs of the steps, from the arguments of a rollout without those that are None. Raises InputError: shapes that
    do not fit, or a method whose steps cannot be differentiated."""
    if run.method == "variational":
        raise InputError(
            'method="variational" is for NumPy arrays, and for PyTorch tensors without a transform: its steps are found by '
            'iteration, and have no derivative; "semi_implicit" and "rk4" have'
        )
    q, control = arrays["q0"], arrays.get("control")
    count, changes = step_count(steps, every, control)
    rest = {name: arrays[name] for name in ("parameters", "variables") if name in arrays}
    lead = common_batch(q, arrays["qd0"], *rest.values(), control[0] if changes and control is not None else control)
    spread = guest_module(q).broadcast_to
    state = {name: spread(arrays[f"{name}0"], (*lead, arrays[f"{name}0"].shape[-1])) for name in ("q", "qd")}
    step = step_operation(run, 0 if control is None else control.shape[-1], "parameters" in arrays, dtype)
    return Stepping(step, state, control, changes, {**rest, "dt": constant(q, [run.dt])}, count)


def step_operation(run: Rollout, controls: int, runtime: bool, dtype: np.dtype) -> Operation:
    """Return the operation for one step, made once for each type and set of inputs."""

    def make() -> Operation:
        program = for_guests(run.step(controls, runtime).program(dtype), run.robot.model.mechanism, float(np.finfo(dtype).eps))
        return operation(program, dtype)

    return run.once((controls, runtime, dtype.char), make)
