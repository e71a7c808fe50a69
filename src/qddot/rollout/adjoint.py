"""The gradient of a rollout: backward through its steps by the exact derivative of one step.

Some states are kept as checkpoints on the way forward, and the steps between two of them are run again on the way back: of T
steps, some `2 sqrt(T)` states are in memory at a time, for the time of one more rollout.

The derivative is that of the steps as they were taken. Where joints stick, slip or rest on a stop it is that of the mode of each
step: a change of the time of impact or of sticking within a step is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arrays.operation import with_unit_quaternions
from qddot.compile.flags import IGNORING
from qddot.compile.kinds import library_of
from qddot.errors import InputError, SingularityError
from qddot.graph.program import Program
from qddot.graph.tangent import cotangent

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel
    from qddot.model.lower import Mechanism
    from qddot.rollout.start import States

STATE = ("q", "qd")


class RolloutGradient(NamedTuple):
    """Gradient of a weighted sum of states with respect to each argument, in its shape; None for arguments not given.

    `q0` is with respect to all its numbers: quaternions are normalised in every step.

    >>> way = qddot.load("two_link").rollout().differentiable([0, 0], None, [7.0, 2.0], steps=100)
    >>> slope = np.zeros(way.states.q.shape)
    >>> slope[-1, 0] = 1.0
    >>> way(slope).control.shape  # how each torque moves the first joint's last position
    (2,)
    """

    q0: Any
    qd0: Any
    control: Any
    parameters: Any
    variables: Any


Arrays = Mapping[str, Any]


class Both(NamedTuple):
    """One step forward and backward, for arrays of one library.

    Attributes:
        forward: inputs of the step -> the state after it.
        backward: these inputs, and the slopes `cq_next`, `cqd_next` of the state after it -> slopes of the inputs.
        times: times of all steps (steps, 1), s; `dt` (1,).
        zeros_like: the library's function of that name.
    """

    forward: Callable[[Arrays], Arrays]
    backward: Callable[[Arrays], Arrays]
    times: Any
    dt: Any
    zeros_like: Callable[[Any], Any]


class Way(NamedTuple):
    """A rollout that can be differentiated: its arguments and its checkpoints. All arrays are NumPy's, or all on a GPU.

    Attributes:
        rest: inputs besides state and control, one row for each motion.
        kept: the checkpoints, step -> state at its beginning.
    """

    both: Both
    states: States
    control: Any
    rest: Arrays
    shapes: Mapping[str, tuple[int, ...]]
    kept: Mapping[int, Arrays]
    count: int
    every: int
    changes: bool

    def __call__(self, q: Any = None, qd: Any = None) -> RolloutGradient:
        """Return the gradient of `sum(q * states.q) + sum(qd * states.qd)`, or of a loss with these slopes at the states.

        Args:
            q, qd: slopes (samples, ..., nq) and (samples, ..., nv), or None if the loss does not depend on them.

        Raises:
            InputError: another shape.
            SingularityError: the motion is not differentiable; on a GPU the gradient is then NaN, since results are not checked.
        """
        weights = {}
        for name, given, like in (("q", q, self.states.q), ("qd", qd, self.states.qd)):
            read = given if library_of(given) else np.asarray(given, like.dtype) if given is not None else None
            weights[name] = self.both.zeros_like(like) if read is None else read
            if weights[name].shape != like.shape:
                raise InputError(f"the slopes of {name} have shape {weights[name].shape}, the states have {like.shape}")
        slopes = self.back(weights)
        found = {name: summed(x, self.shapes[name], int(self.changes and name == "control")) for name, x in slopes.items()}
        for name, x in found.items():
            if isinstance(x, np.ndarray) and not np.isfinite(x).all():
                raise SingularityError(f"the gradient of the rollout with respect to {name} is not finite")
        return RolloutGradient(found["q"], found["qd"], *(found.get(name) for name in ("control", "parameters", "variables")))

    def back(self, weights: Arrays) -> dict[str, Any]:
        """Return the slopes of all inputs, separately for each motion."""
        forward, backward, *_, zeros_like = self.both
        slope = {name: weights[name][-1] for name in STATE}
        total = {name: zeros_like(x) for name, x in self.rest.items()}
        if self.control is not None:
            total["control"] = zeros_like(self.control)
        ends = [*sorted(self.kept), self.count]
        for begin, end in reversed(list(pairwise(ends))):
            along = [self.kept[begin]]
            for k in range(begin, end - 1):
                along.append(forward(self.inputs(k, along[-1])))
            for k in range(end - 1, begin - 1, -1):
                found = backward({**self.inputs(k, along.pop()), "cq_next": slope["q"], "cqd_next": slope["qd"]})
                slope = {name: found[name] for name in STATE}
                if k % self.every == 0:
                    slope = {name: slope[name] + weights[name][k // self.every] for name in STATE}
                if "control" in total and self.changes:
                    total["control"][k] = found["control"]
                for name in total:
                    if name != "control" or not self.changes:
                        total[name] += found[name]
        return {**slope, **total}

    def inputs(self, k: int, state: Arrays) -> dict[str, Any]:
        """Return the inputs of step k."""
        given = {} if self.control is None else {"control": self.control[k] if self.changes else self.control}
        return {**state, **given, **self.rest, "t": self.both.times[k], "dt": self.both.dt}


def on_cpu(forward: Kernel, backward: Kernel, count: int, h: float, threads: int) -> Both:
    """Return a step forward and backward for NumPy arrays."""

    def call(kernel: Kernel, names: tuple[str, ...], inputs: Arrays) -> Arrays:
        """Return the outputs by name, without checks: the inputs were checked by the rollout."""
        found = IGNORING.run(kernel.run, [inputs[x.name] for x in kernel.program.inputs], None, threads)
        return dict(zip(names, found if isinstance(found, tuple) else (found,)))

    dt = np.array([h], forward.dtype)
    times = np.arange(count, dtype=forward.dtype)[:, None] * dt
    back = partial(call, backward, slope_names(backward.program))
    return Both(partial(call, forward, STATE), back, times, dt, np.zeros_like)


def slope_names(program: Program) -> tuple[str, ...]:
    """Return the names of the inputs whose slopes are the outputs of a `backward_program`."""
    return tuple(x.name[1:] for x in program.outputs)


def summed(x: Any, shape: tuple[int, ...], first: int) -> Any:
    """Return the slopes summed over the batch dimensions that an argument of this shape was broadcast along; these come after the
    `first` dimensions."""
    extra = tuple(range(first, first + x.ndim - len(shape)))
    x = x.sum(extra) if extra else x
    once = tuple(d for d, (n, m) in enumerate(zip(x.shape, shape)) if m == 1 and n != 1)
    return x.sum(once, keepdims=True) if once else x


def stride(count: int) -> int:
    """Return the number of steps between checkpoints."""
    return max(1, math.isqrt(count))


def without_margins(program: Program) -> Program:
    return replace(program, outputs=program.shown)


def backward_program(program: Program, mechanism: Mechanism, dtype: np.dtype) -> Program:
    """Return the program for one step backward: slopes of its inputs, from the inputs and the slopes of the state after it.

    It normalises quaternions, so that slopes have no part along them.
    """
    unit = with_unit_quaternions(without_margins(program), mechanism, float(np.finfo(dtype).eps))
    return cotangent(unit, [k for k, x in enumerate(program.inputs) if x.name not in ("t", "dt")])
