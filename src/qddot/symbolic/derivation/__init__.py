"""The equations of motion derived step by step, as on paper: exact, and every step checked against the compiled kernels."""

from __future__ import annotations

from typing import Any

from qddot.errors import InputError
from qddot.model.model import Model
from qddot.model.transmission import electric_motors
from qddot.symbolic.derivation.constrained import constrained_steps, imposed
from qddot.symbolic.derivation.jacobian import jacobian
from qddot.symbolic.derivation.lagrange import lagrange
from qddot.symbolic.derivation.motors import motors_step
from qddot.symbolic.derivation.newton_euler import newton_euler
from qddot.symbolic.derivation.steps import Derivation
from qddot.symbolic.derivation.subject import Subject

METHODS = {"lagrange": lagrange, "jacobian": jacobian, "newton-euler": newton_euler}


def derive(model: Model, method: str, parameters: str, constraints: Any = None) -> Derivation:
    """See `Robot.derive`."""
    if method not in METHODS:
        raise InputError(f"method={method!r} is not one of {', '.join(map(repr, METHODS))}")
    subject = Subject(model, parameters)
    steps = METHODS[method](subject)
    if chosen := imposed(model, constraints):
        steps = [*steps, *constrained_steps(subject, chosen)]
    if electric_motors(model):
        steps = [*steps, motors_step(subject)]
    return Derivation(model.name, method, subject.equations, steps, subject.notes(), subject.is_abbreviated)
