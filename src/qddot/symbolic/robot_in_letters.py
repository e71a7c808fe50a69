"""A robot over exact scalars, and its letters, in which expressions are read, differentiated and substituted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from qddot.algorithms import jacobian, kinematics
from qddot.algorithms.drives import nominal_friction, shaft_speed, shafts
from qddot.algorithms.quantities import homogeneous
from qddot.arguments import word
from qddot.constraints.constraint import Constraint
from qddot.errors import InputError, unknown_name
from qddot.model.description import scalars_in
from qddot.model.model import LiftedModel, Model
from qddot.symbolic.exact.exact_model import ExactModel
from qddot.symbolic.exact.expressions import read_expression, substitution
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.form import Form


class RobotInLetters:
    """A robot whose numbers are exact and whose joint variables are letters; `Equations` are written in them.

    Attributes:
        notes: sentences about numbers read as others, such as an angle 1.5708 as pi/2, and about what was left out.
        values: the value of each symbol that stands for a number (see `Robot.equations`).
        coordinates: names of the joint variables; empty if they are `q1, q2, ...`.
    """

    def __init__(
        self,
        model: Model,
        symbols: str = "given",
        imposed: Sequence[Constraint] = (),
        *,
        further: Mapping[str, int] | None = None,
        constants: Sequence[Any] = (),
    ) -> None:
        self.model, self.imposed, self.constants = model, tuple(imposed), tuple(constants)
        self.exact_model = ExactModel(model, symbols, further, constants)
        self.alphabet = self.exact_model.alphabet
        self.lifted = LiftedModel(self.exact_model, self.alphabet)  # type: ignore[arg-type]
        self.notes = tuple(self.exact_model.notes)
        self.values = dict(self.exact_model.values)
        self.nq, self.nv = self.lifted.nq, self.lifted.nv
        self.coordinates: tuple[str, ...] = ()
        self.alphabet.know_softened(softened_rates(self.lifted))

    # letters --------------------------------------------------------------------------------------------------------------

    @property
    def q(self) -> Form:
        return Form(self, self.alphabet.q)

    @property
    def qd(self) -> Form:
        return Form(self, self.alphabet.qd)

    @property
    def qdd(self) -> Form:
        return Form(self, self.alphabet.qdd)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The symbols that occur in the robot's constants, also inside a sine, a root or a reciprocal."""
        scalars = scalars_in(*constants_of(self.lifted), *map(self.alphabet.exact, self.constants))
        used = set[int]().union(*(x.letters() for x in scalars if isinstance(x, Poly)))
        return tuple(
            g.name
            for i, g in enumerate(self.alphabet.ring.generators)
            if g.kind == "parameter" and not used.isdisjoint((i, *self.alphabet.dependents(i)))
        )

    def lift(self, x: Any) -> Any:
        """Return a number, SymPy expression, form or polynomial as an entry of a form.

        >>> equations = qddot.load("two_link", symbolic=True).equations()
        >>> equations.lift(equations.read("m1")) == equations.read("m1"), equations.lift(3) == equations.read("3")
        (True, True)
        """
        if isinstance(x, Form):
            x = x._single()
        if isinstance(x, (Poly, Ratio)):
            return x.adopted(self.alphabet.ring)
        if isinstance(x, (bool, str)):
            raise InputError(f"{x!r} is not a number or an expression")
        if isinstance(x, sympy.Basic):
            return self.read(x)
        if isinstance(x, float):
            x = self.alphabet.exact(x)
        return self.alphabet.ring.constant(x) if isinstance(x, (int, Fraction, np.integer)) else x

    def read(self, expression: Any) -> Poly:
        """Read a SymPy expression, or its text, in the letters of these equations: `m2*L1*L2*cos(q1 + q2)*qd1**2`, `sign(qd1)`.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> equations.g[1] == equations.read("981/100 * m2*L2*cos(q1 + q2)")
        True
        """
        return read_expression(self, expression)

    def letter(self, name: Any) -> int:
        """Return the index of a letter, given by its name, or by the SymPy symbol or form that is this letter.

        >>> equations = qddot.load("two_link", symbolic=True).equations()
        >>> equations.letter("m1") == equations.letter(equations.read("m1"))
        True
        """
        name, known = str(name), [g.name for g in self.alphabet.ring.generators]
        if name not in known:
            raise unknown_name("letter", name, known)
        return known.index(name)

    def derivative(self, name: Any) -> Callable[[Any], Any]:
        """Return the derivative, as a function, with respect to a letter, through all letters made of it, such as its sine.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> by_q2 = equations.derivative("q2")
        >>> by_q2(equations.read("sin(q1 + q2)")) == equations.read("cos(q1 + q2)")
        True
        """
        i = self.letter(name)
        generator = self.alphabet.ring.generators[i]
        if generator.kind == "quaternion":
            raise InputError(f"{name} is part of a quaternion, whose four numbers are not independent: there is no such derivative")
        if generator.kind == "parameter":
            return lambda p: self.alphabet.parameter_derivative(p, i)
        if generator.kind != "position":
            return lambda p: self.alphabet.rate_derivative(p, i)
        columns = [c for c, letters in enumerate(self.alphabet.gradients) if letters.get(i) == 1]
        if len(columns) != 1:
            raise InputError(f"{name} is not the integral of one rate: there is no such derivative")
        return lambda p: self.alphabet.derivative(p, columns[0])

    def substitution(self, values: Mapping[Any, Any]) -> Callable[[Any], Any]:
        """Return a function that replaces letters, all at once; the sine and cosine of a joint variable are replaced with it.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> stretched = equations.substitution({"q2": 0})
        >>> stretched(equations.read("cos(q2)*m2")) == equations.read("m2")
        True
        """
        return substitution(self, values)

    # kinematics -----------------------------------------------------------------------------------------------------------

    def transform(self, frame: str | None = None) -> Form:
        """Return the pose of a frame in the world, 4 x 4; of the tip by default.

        >>> print(qddot.load("point_mass_2r", symbolic=True).equations().transform()[0, 3])
        L1*c1 + L2*c12
        """
        pose = kinematics.frame_pose(self.lifted, self.alphabet.q, self._frame(frame))
        return Form(self, homogeneous(pose), "transform")

    def jacobian(self, frame: str | None = None, reference: str = "space") -> Form:
        """Return the geometric Jacobian 6 x nv, angular first; references as in `Robot.jacobian`.

        >>> print(qddot.load("point_mass_2r", symbolic=True).equations().jacobian(reference="body")[3:5])
        [[L1*s2, 0],
         [L1*c2 + L2, L2]]
        """
        word("reference", reference, jacobian.REFERENCES)
        columns = jacobian.jacobian(self.lifted, self.alphabet.q, self._frame(frame), reference)
        return Form(self, jacobian.rows(columns), "jacobian")

    def jacobian_dot(self, frame: str | None = None, reference: str = "space") -> Form:
        """Return dJ/dt, 6 x nv.

        >>> print(qddot.load("point_mass_2r", symbolic=True).equations().jacobian_dot(reference="body")[3:5])
        [[L1*c2*qd2, 0],
         [-L1*s2*qd2, 0]]
        """
        word("reference", reference, jacobian.REFERENCES)
        a = self.alphabet
        columns = jacobian.jacobian_rate(self.lifted, a.q, a.qd, self._frame(frame), reference)
        return Form(self, jacobian.rows(columns), "jacobian_dot")

    def _frame(self, frame: str | None) -> str:
        return self.model.tip if frame is None else frame

    def _needs_coordinates(self, what: str) -> None:
        if self.nq != self.nv:
            raise InputError(f"{what} needs joints whose qd is the rate of q; spherical and free joints have none such")


def softened_rates(model: LiftedModel) -> Iterator[Poly]:
    """`w^4 + v^4` of each shaft whose friction is smoothed over a speed w."""
    for body in model.bodies:
        if body.is_driven and nominal_friction(model, body).is_smoothed:
            for shaft in shafts(body) if body.columns else ():
                v, w = shaft_speed(shaft, model.field.qd), body.drive.friction.width  # type: ignore[attr-defined]
                yield v * v * v * v + w * w * w * w


def constants_of(model: LiftedModel) -> Iterator[Any]:
    """Yield the constants of a lifted model: scalars, nested tuples of them, and drives."""
    yield model.gravity
    for body in model.bodies:
        yield from (body.inertia, body.placement, body.rate, body.offset, *(axis for _, axis in body.subspace))
        if body.is_driven:
            yield body.drive
    yield from (model.frame(name)[1] for name in model.source.mechanism.frames)
