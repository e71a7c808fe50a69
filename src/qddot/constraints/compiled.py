"""Compiled dynamics of a robot under constraints, for simulation; the few doubtful states are computed by NumPy instead."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from qddot.compile.evaluate import Options
from qddot.compile.kernel import Kernel
from qddot.compile.repeated import Careful, Inputs, Repeated
from qddot.constraints.constrained import ConstrainedDynamics, ConstrainedRobot
from qddot.constraints.following import following
from qddot.constraints.motion_program import Following, motion_program
from qddot.graph.expr import Expr
from qddot.graph.program import Program

COLUMNS, STEP_COLUMNS = 20, 12
"""Most columns for which accelerations, and steps with four of them, are compiled: an elimination takes some nv^3 instructions, and
more would take seconds to compile."""


class CompiledConstraints(ConstrainedRobot):
    """A robot under constraints, with compiled kernels for repeated computation.

    Args:
        parameters: inertial parameters (..., 10 bodies) instead of the robot's own, or None.
        has_wrench: True if external forces are given with every state.

    Attributes:
        is_compiled, has_compiled_step: True if the robot is small enough.
    """

    def __init__(self, constrained: ConstrainedRobot, parameters: np.ndarray | None, has_wrench: bool, options: Options) -> None:
        super().__init__(constrained.evaluate, constrained.constraints, parameters)
        self.has_wrench, self.options = has_wrench, options
        columns = self.evaluate.model.mechanism.nv
        self.is_compiled, self.has_compiled_step = columns <= COLUMNS, columns <= STEP_COLUMNS
        self._accelerate = self.repeated("accelerations", lambda inputs: self.careful(inputs).accelerations(**inputs))
        self._settle = self.repeated("settled", lambda inputs: self.careful(inputs).settled(**inputs))
        self._regularity = self.repeated("regularity")

    def careful(self, inputs: Inputs) -> ConstrainedRobot:
        """Return the same robot computed by NumPy, which handles every rank; removes the parameters from the inputs."""
        return ConstrainedRobot(self.evaluate, self.constraints, inputs.pop("parameters", None))

    def repeated(self, what: str, careful: Careful | None = None) -> Repeated:
        """Return one of `motion_program.MOTIONS`, compiled; `careful` computes the states in which rows may be dependent."""
        wrench, runtime = self.has_wrench and what not in ("settled", "regularity"), self.parameters is not None

        def trace() -> Program:
            model = self.evaluate.as_described.model
            return motion_program(model, self.constraints, what, self.following, wrench=wrench, runtime=runtime)

        def kernel() -> Kernel:
            return self.evaluate.kernels.compiled((what, self.constraints, wrench, runtime), trace, np.dtype(float))

        return Repeated(self.evaluate, what, kernel, self.options, careful)

    @cached_property
    def following(self) -> Following:
        """The rows that depend on others."""
        return following(self)

    @property
    def independent(self) -> list[int]:
        """The rows that do not depend on others and are not zero."""
        pivots = self._regularity.kernel.program.outputs[0]
        return [i for i, x in enumerate(pivots.values) if x.__class__ is Expr or x != 0]

    def given(self, **inputs: Any) -> Inputs:
        return inputs if self.parameters is None else inputs | {"parameters": self.parameters}

    def accelerations(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, **wrench: np.ndarray) -> ConstrainedDynamics:
        if not self.is_compiled:
            return super().accelerations(q, qd, tau, **wrench)
        return ConstrainedDynamics(*self._accelerate(**self.given(q=q, qd=qd, tau=tau, **wrench)))

    def settled(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.is_compiled:
            return super().settled(q, qd)
        q, qd = self._settle(**self.given(q=q, qd=qd))
        return q, qd

    def regularity(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pivots and diagonal (..., k) of `A M^-1 A^T`; a pivot is the diagonal element after the rows before are
        eliminated. Both are zero for rows that are not `independent`."""
        pivots, squares = self._regularity(**self.given(q=q))
        return pivots, squares
