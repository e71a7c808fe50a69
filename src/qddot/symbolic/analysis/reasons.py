"""Reasons in words why a parameter does not show in the joint forces, or only together with others."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.algorithms import regressor as standard
from qddot.algorithms.inverse_dynamics import gravity_torque
from qddot.algorithms.jacobian import jacobian
from qddot.model.joints import Prismatic, Revolute, Rotor, Spherical
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.scalar import few_digits
from qddot.model.spatial import Vec
from qddot.symbolic.exact.ring import Poly

if TYPE_CHECKING:
    from qddot.model.lower import LiftedBody
    from qddot.symbolic.equations import Equations

Combination = Mapping[int, Any]


class Reasons:
    """Reasons for the dependences among the columns of a regressor.

    Args:
        names: the parameters' names.
        letters: their letters' indices in the equations; None for the standard parameters.
        inward: columns whose parameters may as well belong to the link before.
    """

    def __init__(
        self, equations: Equations, names: Sequence[str], letters: Sequence[int] | None = None, inward: Container[int] = ()
    ) -> None:
        self.equations, self.names, self.letters, self.inward = equations, names, letters, inward
        self.bodies = equations.lifted.bodies
        parts = standard_parts(equations.lifted)
        if letters is not None:
            values = [value for _, value in standard.named_parameters(equations.lifted)]
            holds = lambda x, i: isinstance(x, Poly) and i in x.letters()  # noqa: E731
            self.parts = [[part for part, x in zip(parts, values) if holds(x, i)] for i in letters]
        else:
            self.parts = [[part] for part in parts]

    def why(self, j: int, combination: Combination) -> str:
        """Return the reason why column j is this combination of others (0, if there are none)."""
        axes = [] if combination and j in self.inward else self._separating(j, combination)
        if axes:
            gravity = self.equations.model.gravity
            now = "there is no gravity" if not any(gravity) else f"gravity is ({', '.join(map(few_digits, gravity))})"
            return f"{now}; with gravity along {' or '.join(axes)} {'they would separate' if combination else 'it would show'}"
        return self._together(j, combination) if combination else self._never(j)

    def sentence(self, j: int, combination: Combination) -> str:
        """Return the dependence and its reason as a sentence."""
        if not combination:
            return f"the joint forces do not depend on {self.names[j]}: {self.why(j, combination)}"
        (b, k), *more = combination.items()
        if more:
            others = ", ".join(self.names[i] for i in combination)
            return f"the column of {self.names[j]} is a combination of those of {others}: {self.why(j, combination)}"
        plus = f"{self.names[b]} + {'' if k == 1 else f'({k})*' if len(k) > 1 else f'{k}*'}{self.names[j]}".replace("+ -", "- ")
        proportion = f"the columns of {self.names[j]} and {self.names[b]} are proportional, only {plus} shows"
        return f"{proportion}: {self.why(j, combination)}"

    # gravity --------------------------------------------------------------------------------------------------------------

    def _separating(self, j: int, combination: Combination) -> list[str]:
        """Return the world axes along which gravity would end the dependence. (Only its part of tau has no rates: it must vanish by
        itself.)"""

        def left(columns: list[np.ndarray]) -> np.ndarray:
            return columns[j] - sum((columns[b] * k for b, k in combination.items()), columns[j] * 0)

        return [axis for axis, columns in zip("xyz", self._columns_of_gravity) if any(left(columns))]

    @cached_property
    def _columns_of_gravity(self) -> list[list[np.ndarray]]:
        """The part of gravity in each column, with gravity along x, y and z."""
        return [self._static(Vec(*(int(k == axis) for k in range(3)))) for axis in range(3)]

    def _static(self, gravity: Vec) -> list[np.ndarray]:
        q, n, zero = self.equations.alphabet.q, self.equations.nv, self.equations.alphabet.ring.constant(0)
        model = copy(self.equations.lifted)
        model.gravity, model.field = gravity, AtRest(model.field)  # type: ignore[assignment]
        if self.letters is not None:
            tau = [zero + x for x in gravity_torque(model, q)]
            return [np.array([x.partial(i) for x in tau], dtype=object) for i in self.letters]
        Y = standard.regressor(model, q, [0] * n, [0] * n)
        drives = [parts[0][1] in standard.DRIVE for parts in self.parts]
        return [np.array([zero if drive else zero + x for x in column], dtype=object) for drive, column in zip(drives, zip(*Y))]

    # the mechanism --------------------------------------------------------------------------------------------------------

    def _never(self, j: int) -> str:
        if len(self.parts[j]) == 1:
            (i, part) = self.parts[j][0]
            body = self.bodies[i]
            if isinstance(body.joint, Rotor):
                return f"no joint turns {body.name}"
            motions = jacobian(self.equations.lifted, self.equations.alphabet.q, body.name, "body")
            turns = [m.w for m in motions if any(x != 0 for x in m.w)]
            if part != "m" and not turns:
                return f"{body.name} never turns"
            if part != "m" and not any(x != 0 for w in turns for x in w.cross(turns[-1])):
                about = "is not the moment about it" if part[0] == "I" else "lies along it"
                return f"{body.name} turns about one axis only, and this {about}"
            if part == "m" and all(x == 0 for m in motions for x in m.v):
                return f"the origin of {body.name} never moves"
        return "no motion makes it act"

    def _together(self, j: int, combination: Combination) -> str:
        parts = [part for i in (j, *combination) for part in self.parts[i]]
        drives = [(i, part) for i, part in parts if part in standard.DRIVE]
        if drives == parts and len({i for i, _ in drives}) > 1:
            return "their joints move together"
        if drives:
            if drives[0][1] == "armature":
                joint = self.bodies[drives[0][0]].joint_name
                return f"the rotor of {joint} turns with the link, and both inertias are about the same axis"
            return "they act in the same proportion in every motion"
        shafts = [self.bodies[i].name for i, part in parts if part == "inertia"]
        if shafts:
            return f"{shafts[0]} spins with what the same joints move, in the same proportion in every motion"
        body = self.bodies[max(i for i, _ in parts)] if parts else None
        if body is None or (body.parent != WORLD and all(i == body.index for i, _ in parts)):
            return "they act in the same proportion in every motion"
        return through(body, "the world" if body.parent == WORLD else self.bodies[body.parent].name)


def through(body: LiftedBody, parent: str) -> str:
    """Return the reason why a joint does not show whether mass belongs to its body or to the one before it."""
    if isinstance(body.joint, Revolute):
        return f"what lies on the axis of {body.joint_name}, or is symmetric about it, may as well belong to {parent}"
    if isinstance(body.joint, Prismatic):
        return f"{body.name} slides on {parent} and never turns against it, so their moments of inertia add up"
    if isinstance(body.joint, Spherical):
        return f"a mass in the centre of {body.joint_name} may as well belong to {parent}"
    return f"{body.name} and {parent} act in the same proportion in every motion"


def standard_parts(model: LiftedModel) -> list[tuple[int, str]]:
    """Return (body, kind) of each standard parameter, such as (2, `Ixx`), in the order of the regressor's columns."""
    inertial = [(body.index, kind) for body in model.bodies if body.is_link for kind in standard.INERTIAL]
    driven = {body.drive_name: body.index for body in model.bodies}
    names = [name.rpartition(".") for name, _ in standard.named_parameters(model)]
    return inertial + [(driven[joint], kind) for joint, _, kind in names[len(inertial) :]]


class AtRest:
    """A field in which nothing moves, so that there is no friction."""

    def __init__(self, field: Any) -> None:
        self._field = field

    def __getattr__(self, name: str) -> Any:
        return getattr(self._field, name)

    def sign(self, x: Any) -> int:
        return 0

    def inverse_fourth_root(self, x: Any) -> int:
        return 0
