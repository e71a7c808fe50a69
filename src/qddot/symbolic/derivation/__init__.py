"""The equations of motion derived step by step, as on paper: exact, and every step checked against the compiled kernels."""

from __future__ import annotations

from typing import Any

import sympy

from qddot.arguments import flag, word
from qddot.errors import InputError, as_written
from qddot.model.diagram import Diagram
from qddot.model.model import Model
from qddot.model.scalar import is_symbolic
from qddot.model.transmission import electric_motors
from qddot.symbolic.derivation.constrained import constrained_steps, imposed
from qddot.symbolic.derivation.figure import figure_of
from qddot.symbolic.derivation.jacobian import jacobian
from qddot.symbolic.derivation.lagrange import lagrange
from qddot.symbolic.derivation.motors import motors_step
from qddot.symbolic.derivation.newton_euler import newton_euler
from qddot.symbolic.derivation.steps import Derivation, Writing
from qddot.symbolic.derivation.subject import Subject
from qddot.symbolic.derivation.vocabulary import check_notation

METHODS = {"lagrange": lagrange, "jacobian": jacobian, "newton-euler": newton_euler}


def derive(
    model: Model,
    method: str,
    symbols: str,
    constraints: Any = None,
    notation: str = "qddot",
    digits: int | None = None,
    gravity: str | None = None,
    full: bool = False,
    abbreviate: bool | None = None,
) -> Derivation:
    """See `Robot.derive`."""
    small = method.lower() if isinstance(method, str) else method
    method = small if isinstance(small, str) and small in METHODS else word("method", method, METHODS)  # complains as it was given
    full, abbreviate = flag("full", full), None if abbreviate is None else flag("abbreviate", abbreviate)
    check_notation(notation, map(str, model.symbols), model.mechanism.nq)
    if digits is not None and (not isinstance(digits, int) or digits < 1):
        raise InputError(f"digits={digits!r} is not a positive integer")
    model, values = (model, {}) if gravity is None else with_gravity_symbol(model, gravity)
    subject = Subject(model, symbols, full=full, values=values)
    steps = METHODS[method](subject)
    if chosen := imposed(model, constraints):
        steps = [*steps, *constrained_steps(subject, chosen)]
    if electric_motors(model):
        steps = [*steps, motors_step(subject)]
    short = subject.is_abbreviated if abbreviate is None else abbreviate
    writing = Writing(notation, digits, full)
    return Derivation(
        model.name,
        method,
        subject.equations,
        steps,
        subject.notes(short, chosen),
        short,
        writing,
        figure_of(subject, on_joints=method == "newton-euler"),
        None if (tree := Diagram(model)).is_plain else tree,
        {name: x for name, x in subject.drawn.items() if name not in subject.given},
    )


def with_gravity_symbol(model: Model, name: str) -> tuple[Model, dict[str, float]]:
    """Return the robot with a symbol for the strength of gravity, or one for each component, and their values. Raises InputError:
    it is no name; the robot has such a symbol for something else, or another symbol for gravity."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise InputError(f"gravity={as_written(name)} is not a letter for gravity, such as 'g'")
    parts = {axis: x for axis, x in zip("xyz", model.gravity) if is_symbolic(x) or x != 0}
    if given := sorted({str(s) for x in parts.values() if is_symbolic(x) for s in x.free_symbols}):
        if set(given) <= {name, *(f"{name}{axis}" for axis in "xyz")}:
            return model, {}
        raise InputError(
            f"gravity={name!r}: gravity of this robot has the symbol {given[0]!r} already; leave gravity= out, or rename it with "
            f"robot.subs({{{given[0]!r}: sympy.Symbol({name!r}, positive=True)}})"
        )
    names = {axis: name if len(parts) == 1 else f"{name}{axis}" for axis in parts}
    if taken := sorted({str(s) for s in model.symbols} & set(names.values())):
        raise InputError(f"gravity={name!r}: the robot has a symbol {taken[0]!r} already; choose another name")
    symbols = {axis: sympy.Symbol(x, positive=True) for axis, x in names.items()}
    signs = {axis: -1 if x < 0 else 1 for axis, x in parts.items()}
    vector = [signs[axis] * symbols[axis] if axis in parts else 0.0 for axis in "xyz"]
    return model.copy(gravity=vector), {names[axis]: abs(float(x)) for axis, x in parts.items()}
