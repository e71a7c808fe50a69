"""Motion under constraints for arrays of other libraries, by programs that have derivatives of any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import positive_number
from qddot.arrays.guests import Guests
from qddot.compile.evaluate import Evaluator
from qddot.constraints.constrained import ConstrainedDynamics, ConstrainedRobot, Projections

if TYPE_CHECKING:
    from qddot.graph.program import Program

Traced = Callable[[np.dtype], "Program"]


class ConstrainedTensors:
    """A robot under constraints: the counterpart of `ConstrainedRobot` for arrays of other libraries.

    Rows are eliminated without branches. In states where rows are dependent that are independent elsewhere, results are NaN.
    """

    def __init__(self, guests: Guests, constraints: Any, variables: Any) -> None:
        self.guests, self.constraints = guests, tuple(constraints) if isinstance(constraints, list) else constraints
        self.options = {} if variables is None else {"variables": variables}

    def values(self, wanted: tuple[str, ...], q: Any, qd: Any = None) -> tuple:
        """Return some of `phi`, `A` and `Adot`."""
        inputs = {"q": q} if qd is None else {"q": q, "qd": qd}
        found = self.guests.compute(self.guests.named(rows_program, self.constraints, wanted), inputs, self.options, {})
        return found if isinstance(found, tuple) else (found,)

    def motion(self, what: str, inputs: dict[str, Any], f_ext: Any = None, f_tip: Any = None, tolerance: Any = None) -> Any:
        """Return the results of one of `motion_program.MOTIONS`."""
        has_forces = f_ext is not None or f_tip is not None
        if has_forces:
            inputs["wrench"] = self.guests.net_stack(inputs, f_ext, f_tip)
        if tolerance is not None:
            tolerance = positive_number("tolerance", tolerance)
        name = self.guests.named(constrained_motion, self.constraints, what, has_forces, tolerance)
        return self.guests.compute(name, inputs, self.options, {})

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, f_ext: Any, f_tip: Any, tolerance: Any) -> ConstrainedDynamics:
        return ConstrainedDynamics(*self.motion("accelerations", {"q": q, "qd": qd, "tau": tau}, f_ext, f_tip, tolerance))

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, lam: Any, f_ext: Any, f_tip: Any, tolerance: Any) -> Any:
        return self.motion("forces", {"q": q, "qd": qd, "qdd": qdd, "lam": lam}, f_ext, f_tip, tolerance)

    def projections(self, q: Any) -> Projections:
        return Projections(*self.motion("projections", {"q": q}))

    def project_velocity(self, q: Any, qd: Any) -> Any:
        return self.motion("projected", {"q": q, "qd": qd})


def rows_program(evaluate: Evaluator, constraints: Any, wanted: tuple[str, ...]) -> Traced:
    """Return the function that traces rows of constraints."""
    robot = ConstrainedRobot(evaluate, constraints)

    def trace(dtype: np.dtype) -> Program:
        from qddot.constraints.trace import constraint_program  # imports the graph, so only when needed

        return constraint_program(evaluate.model, robot.constraints, wanted)

    return trace


def constrained_motion(evaluate: Evaluator, constraints: Any, what: str, has_forces: bool, tolerance: float | None) -> Traced:
    """Return the function that traces a motion under constraints."""
    robot = ConstrainedRobot(evaluate, constraints)

    def trace(dtype: np.dtype) -> Program:
        from qddot.constraints.following import following
        from qddot.constraints.motion_program import motion_program

        options = {"wrench": has_forces, "dtype": dtype, "tolerance": tolerance}
        return motion_program(evaluate.model, robot.constraints, what, following(robot), **options)

    return trace
