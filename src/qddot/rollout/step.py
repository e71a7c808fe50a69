"""One step of a rollout as a program: the law, the limits of the drives and the integrator in one graph, for every target.

The first inputs are the state, the first outputs the state after the step, so a target only needs to repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.algorithms import forward_dynamics, steps
from qddot.algorithms.kinematics import Scalars
from qddot.algorithms.quantities import algorithm
from qddot.arguments import gradients_shown
from qddot.compile.trace import FEW, recorded
from qddot.constraints.constrained import CLOSED
from qddot.constraints.constraint import Constraint
from qddot.constraints.motion_program import ConstrainedTree
from qddot.errors import InputError
from qddot.graph.expr import Expr, Trace, plain
from qddot.graph.program import Input, Output, Program
from qddot.model.field import Field
from qddot.model.overflow import overflow
from qddot.model.scalar import Scalar
from qddot.model.variables import Variable
from qddot.rollout.contact_step import ContactStep
from qddot.rollout.laws import Law, Moment
from qddot.simulate.dynamics import Dynamics, Forces
from qddot.simulate.friction import DryFriction
from qddot.simulate.modes import Switching
from qddot.simulate.torque import TorqueLimits
from qddot.simulate.traced_modes import Modes, clipped

if TYPE_CHECKING:
    from qddot.contact.shapes import Contacts
    from qddot.robot import Robot

STATES = {"semi_implicit": ("q", "qd"), "rk4": ("q", "qd"), "variational": ("q", "p", "qd")}
"""The variables that each method carries from step to step."""

CORRECTIONS = {"semi_implicit": 4, "rk4": 2}
"""Newton steps, with one matrix, that bring a state back onto the constraints. A step leaves them by some `(speed times step)^2`
with the method of order one, by far less with that of order four."""


class Step(NamedTuple):
    """The step that a rollout repeats.

    Attributes:
        controls: number of elements of the control in each step.
        saturate, stops: as in `Robot.simulate`.
        runtime: True if the inertial parameters are an input.
        contacts: contacts that may close.
        constraints: constraints of the motion.
    """

    robot: Robot
    method: str
    law: Law
    controls: int
    saturate: bool
    stops: bool
    runtime: bool
    contacts: Contacts | None = None
    constraints: tuple[Constraint, ...] = ()

    def program(self, dtype: np.dtype, *, in_stages: bool = False) -> Program:
        """Return the step as a program, with the method for accelerations that takes fewer operations in one stage, so that every
        target uses the same method. `in_stages`: if the step has four stages, return a program for one of them, with the number of
        the stage as input `stage`, to be repeated four times a step. A GPU keeps the state in registers, and the short loop in its
        instruction cache."""
        in_stages = in_stages and self.has_stages
        model = self.robot.model
        by_matrix = self.switching or self.contacts or self.constraints or model.quantities
        if self.method == "variational" or by_matrix or forward_dynamics.shares_coordinates(model):
            return self.traced("crba", dtype, in_stages)
        if self.robot.nv > FEW:
            return self.traced("aba", dtype, in_stages)
        programs = {way: self.traced(way, dtype, self.has_stages) for way in ("aba", "crba")}
        way = min(programs, key=lambda way: programs[way].operations().total())
        return programs[way] if in_stages == self.has_stages else self.traced(way, dtype, in_stages)

    @property
    def has_stages(self) -> bool:
        return self.method == "rk4" and not self.switching and not self.contacts and not self.constraints

    @property
    def switching(self) -> Switching | None:
        """Dry friction and stops, or None if there are none. Raises InputError: the method is variational, or the step has
        constraints: these steps take neither."""
        found = Switching(self.robot, Dynamics(self.robot, Forces(self.robot)), DryFriction(self.robot), self.stops)
        if found and self.method == "variational":
            raise InputError('method="variational" knows neither dry friction nor stops: use "rk4", or stops=False')
        if found and self.constraints:
            raise InputError(
                f"{self.robot.name} moves under constraints, and such a rollout knows neither dry friction nor stops: stops=False "
                "leaves out the stops, a smoothing_velocity of its drives what sticks; simulate knows both"
            )
        return found or None

    def inputs(self, in_stages: bool) -> list[Input]:
        """Return the inputs of the program, the state first."""
        variables = self.robot.model.variables
        refuse_smoothing(variables)
        state = (*STATES[self.method], "q_point", "qd_point", "q_sum", "qd_sum") if in_stages else STATES[self.method]
        given = {"control": self.controls > 0, "t": True, "dt": True, "stage": in_stages}
        given |= {"parameters": self.runtime, "variables": bool(variables)}
        sizes = dict.fromkeys(("t", "dt", "stage"), 1) | dict.fromkeys(("q", "q_point", "q_sum"), self.robot.nq)
        sizes |= {"control": self.controls, "parameters": 10 * len(self.robot.body_names)}
        sizes |= {"variables": sum(x.size for x in variables)}
        return [Input(name, (sizes.get(name, self.robot.nv),)) for name in (*state, *(x for x, wanted in given.items() if wanted))]

    def traced(self, way: str, dtype: np.dtype, in_stages: bool) -> Program:
        """Return the step as a program; `way`: the method of forward dynamics. Raises ModelValueError: a constant overflows."""
        recorder, inputs = Trace(float(np.finfo(dtype).eps)), self.inputs(in_stages)
        given = {x.name: [recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(inputs)}
        nominal, plant = self.robot.model.over(recorder), recorded(self.robot.model, recorder, given, regrouped=True)
        q, qd, control, (start,), (h,) = given["q"], given["qd"], given.get("control", []), given["t"], given["dt"]
        limits, switching = TorqueLimits(self.robot) if self.saturate else None, self.switching
        tree = None
        if self.constraints:
            tree = ConstrainedTree(plant, self.constraints, self.robot.model, given.get("variables", ()))

        def drive(later: Scalar, q: Scalars, qd: Scalars) -> list[Scalar]:
            tau = joint_forces(self.law, Moment(nominal, start + later, q, qd, control))
            return tau if limits is None else saturated(recorder, limits, tau, qd)

        def accelerate(later: Scalar, q: Scalars, qd: Scalars) -> forward_dynamics.Accelerations:
            tau = drive(later, q, qd)
            if tree is None:
                qdd, margins = algorithm(plant, "forward_dynamics")(plant, q, qd, tau, way)
                return [rounded(recorder, h, x) for x in qdd] if self.has_stages and not in_stages else qdd, margins
            qdd, _, margins = tree.accelerations(q, qd, tau)
            return qdd, margins

        rule = steps.kutta if self.method == "rk4" else steps.semi_implicit
        if self.method == "variational":
            *after, margins = algorithm(plant, "variational_step")(plant, q, given["p"], drive(0, q, qd), [h])
        elif in_stages:
            point, total = (given["q_point"], given["qd_point"]), (given["q_sum"], given["qd_sum"])
            after, margins = steps.kutta_stage(plant, (q, qd), point, total, given["stage"][0], h, accelerate)
        elif self.contacts:
            modes = Modes(plant, switching) if switching else None
            *after, margins = ContactStep(plant, self.contacts, modes).step(q, qd, h, drive)
        elif switching:
            *after, margins = Modes(plant, switching).step(rule, q, qd, h, drive)
        else:
            *after, margins = rule(plant, q, qd, h, accelerate)
            if tree is not None:
                roundings = recorder.rounding / float(np.finfo(float).eps)
                *after, more = tree.settled(after[0], after[1], CORRECTIONS[self.method], CLOSED * roundings)
                margins = [*margins, *more]
        outputs = [Output(f"{x.name}_next", x.shape, tuple(values)) for x, values in zip(inputs, after)]
        program = Program("rollout", tuple(inputs), (*outputs, Output("margins", (len(margins),), tuple(margins))))
        if not program.is_finite(float(np.finfo(dtype).max)):
            raise overflow(self.robot.model, program.name, str(dtype))
        return program


def rounded(recorder: Trace, h: Scalar, x: Scalar) -> Scalar:
    """Return an acceleration rounded on its own, as in a loop over stages: a product would else become part of a sum, with one
    rounding less. h is positive."""
    return x if x.__class__ is Expr and x.op != "*" else recorder.where_positive(h, x, 0.0)


def refuse_smoothing(variables: Sequence[Variable]) -> None:
    """Refuse a smoothing velocity that is a variable and zero by default: it decides if friction sticks, which is compiled in."""
    for x in variables:
        joint, _, what = x.name.rpartition(".")
        if what == "smoothing_velocity" and not all(x.default):
            raise InputError(
                f"{x.name} cannot vary in a rollout from 0, where dry friction sticks: describe {joint!r} with a smoothing_velocity"
            )


def joint_forces(law: Law, moment: Moment) -> list[Scalar]:
    """Return the joint forces of a law, checked. Raises InputError: not one number for each joint."""
    try:
        with gradients_shown():
            tau = [plain(x) for x in law(moment)]
    except TypeError as error:
        raise InputError(
            f"the law of a rollout cannot be traced: {error}. It returns {len(moment.qd)} joint forces, made of the "
            "numbers it is given by + - * / ** and the functions of its one argument, a Moment; laws of (t, q, qd) are for simulate"
        ) from error
    if len(tau) != len(moment.qd):
        raise InputError(
            f"the law of a rollout gave {len(tau)} joint forces, {len(moment.qd)} are needed; its control has "
            f"{len(moment.control)} numbers"
        )
    return tau


def saturated(field: Field, limits: TorqueLimits, tau: Scalars, qd: Scalars) -> list[Scalar]:
    """Return the joint forces clipped to what the drives can give (see `TorqueLimits`)."""
    left, N = list(tau), limits.turns
    if limits.columns:
        back = np.linalg.inv(N.T)
        motors = [sum((float(a) * tau[c] for a, c in zip(row, limits.columns) if a), 0.0) for row in back]
        speeds = [sum((float(a) * qd[c] for a, c in zip(row, limits.columns) if a), 0.0) for row in N]
        lines = zip(motors, speeds, limits.stall, limits.speed)
        motors = [m if np.isinf(stall) else on_line(field, m, v, float(stall), float(free)) for m, v, stall, free in lines]
        for k, c in enumerate(limits.columns):
            left[c] = sum((float(a) * m for a, m in zip(N[:, k], motors) if a), 0.0)
    return [x if np.isinf(most) else clipped(field, x, -float(most), float(most)) for x, most in zip(left, limits.effort)]


def on_line(field: Field, torque: Scalar, speed: Scalar, stall: float, free: float) -> Scalar:
    """Return a motor's torque clipped to its speed-torque line, which falls from `stall` to zero at the speed `free`."""
    upper, lower = stall - speed * (stall / free), -stall - speed * (stall / free)
    return clipped(field, torque, field.where_positive(lower, 0.0, lower), field.where_positive(upper, upper, 0.0))
