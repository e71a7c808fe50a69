"""Constraints of a description beyond its tree: closed loops and coupled joints.

A constraint names links and joints and is data only: the model's tree stays open, and `qddot.constraints` makes the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from qddot.errors import ModelReferenceError, near_matches
from qddot.model.scalar import Scalar
from qddot.model.spatial import Transform, Vec, map_scalars
from qddot.place import Place


@dataclass(frozen=True)
class Connect:
    """A ball joint that closes a loop: `point1` of `link1` and `point2` of `link2`, each in its link's frame (m), coincide.

    They coincide along these `axes` of `link1`: `"xy"` for a loop in that plane.

    >>> qddot.load("four_bar").model.constraints[0].axes  # the loop closes in its plane
    'xy'
    """

    name: str
    link1: str
    link2: str
    point1: Vec = Vec(0.0, 0.0, 0.0)
    point2: Vec = Vec(0.0, 0.0, 0.0)
    active: bool = True
    place: Place | None = field(default=None, compare=False)
    axes: str = "xyz"

    def map(self, f: Callable[[Scalar], Scalar]) -> Connect:
        return replace(self, point1=map_scalars(f, self.point1), point2=map_scalars(f, self.point2))


@dataclass(frozen=True)
class Weld:
    """Two links fixed to each other: the frame `pose1` on `link1` and the frame `pose2` on `link2` coincide.

    >>> text = '{"bodies": [{"name": "a"}, {"name": "b"}], "constraints": [{"weld": ["a", "b"]}]}'
    >>> weld = qddot.load_string(text, format="json").model.constraints[0]
    >>> weld.link1, weld.link2
    ('a', 'b')
    """

    name: str
    link1: str
    link2: str
    pose1: Transform = Transform()
    pose2: Transform = Transform()
    active: bool = True
    place: Place | None = field(default=None, compare=False)

    def map(self, f: Callable[[Scalar], Scalar]) -> Weld:
        return replace(self, pose1=map_scalars(f, self.pose1), pose2=map_scalars(f, self.pose2))


@dataclass(frozen=True)
class Coupling:
    """A coordinate given by another one: `q_joint = sum_k coefficients[k] * q_leader**k`, constant where `leader` is None.

    >>> couple = '{"couple": ["b_joint", "a_joint"], "coefficients": [0.5, -2]}'
    >>> text = '{"bodies": [{"name": "a"}, {"name": "b"}], "constraints": [' + couple + "]}"
    >>> coupling = qddot.load_string(text, format="json").model.constraints[0]
    >>> coupling.coefficients  # b = 0.5 - 2 a
    (0.5, -2.0)
    """

    name: str
    joint: str
    leader: str | None
    coefficients: tuple[Scalar, ...] = (0.0, 1.0)
    active: bool = True
    place: Place | None = field(default=None, compare=False)

    def map(self, f: Callable[[Scalar], Scalar]) -> Coupling:
        return replace(self, coefficients=tuple(map(f, self.coefficients)))


Constraint = Connect | Weld | Coupling


def check_constraints(constraints: Sequence[Constraint], links: Collection[str], joints: Collection[str]) -> None:
    """Check that every link and joint that a constraint names exists. Raises ModelReferenceError: it does not."""
    for constraint in constraints:
        if isinstance(constraint, Coupling):
            kind, known, named = "joint", joints, (constraint.joint, constraint.leader)
        else:
            kind, known, named = "link", links, (constraint.link1, constraint.link2)
        for name in named:
            if name is not None and name not in known:
                raise ModelReferenceError(
                    f"its {kind} {name!r} does not exist",
                    place=constraint.place,
                    element=f"constraint {constraint.name!r}",
                    fix=near_matches(name, known),
                )
