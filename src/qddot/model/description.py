"""Parts of a description: links, joints between them, frames on them. Plain values, not yet a mechanism."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from qddot.errors import ModelValueError
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.scalar import Scalar, as_scalar, is_symbolic
from qddot.model.spatial import Transform, Vec, map_scalars
from qddot.place import Place


@dataclass(frozen=True)
class Visual:
    """A shape that is drawn on a link; it has no effect on any equation.

    Attributes:
        kind: `box`, `cylinder`, `capsule`, `sphere` or `mesh`.
        size: in m: edges (3) of a box; radius and length of a cylinder or capsule (without its round ends); radius of a sphere;
            scale (3) of a mesh.
        pose: in the link's frame; a cylinder lies along z.
        color: red, green, blue from 0 to 1; None: the description gives none.
        file: path of a mesh, inside the folders of the description.
    """

    kind: str
    size: tuple[float, ...]
    pose: Transform = Transform()
    color: tuple[float, float, float] | None = None
    file: Path | None = None


@dataclass(frozen=True)
class Link:
    """A rigid body of the description. `inertia` is None if the description gives none. `shapes` counts the shapes that the file
    gives for drawing or collision; `visuals` holds those that could be read."""

    name: str
    inertia: Inertia | None = None
    place: Place | None = field(default=None, compare=False)
    visuals: tuple[Visual, ...] = field(default=(), compare=False)
    shapes: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Limits:
    """Limits of one joint: position (rad or m), speed (rad/s or m/s), effort (N m or N).

    >>> limits = qddot.Limits(lower=-1.5, upper=1.5, velocity=2.0, effort=50.0)
    >>> arm = qddot.Builder("arm").body("rod", mass=1, limits=limits).robot()
    >>> arm.limits.effort
    array([50.])
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            try:
                number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
            except OverflowError:  # a whole number of hundreds of digits
                number = math.nan
            if math.isnan(number):
                raise ModelValueError("a limit is a plain number", element="limits", attribute=name, text=str(value)[:80])
            object.__setattr__(self, name, number)
        if self.lower == math.inf or self.upper == -math.inf:
            text = f"{self.lower:g} {self.upper:g}"
            raise ModelValueError("no position is within", element="limits", text=text, fix="-inf and inf: no limits")


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: `q = multiplier * q_leader + offset`.

    >>> hand = qddot.Builder("hand").body("left", joint="prismatic", mass=0.1)
    >>> hand = hand.body("right", joint="prismatic", mass=0.1, mimic=qddot.Mimic("left_joint", multiplier=-1.0))
    >>> hand.robot().nv
    1
    """

    joint: str
    multiplier: Scalar = 1.0
    offset: Scalar = 0.0

    def __post_init__(self) -> None:
        for name in ("multiplier", "offset"):
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, as_scalar(value))
            except (TypeError, ValueError) as error:
                raise ModelValueError(str(error), element="mimic", attribute=name, text=str(value)) from None


@dataclass(frozen=True)
class Joint:
    """A joint: the motion of the link `child` on the link `parent`.

    The child's frame, seen from the parent's, is `origin @ motion(q) @ tip`.

    Attributes:
        kind: one of `qddot.model.joints.KINDS`.
        origin: pose of the joint in the parent link's frame.
        axis: unit vector in the joint frame: of rotation, of translation, or normal of the plane.
        tip: pose of the child link's frame in the moved joint frame (a standard DH link; the identity in URDF).
        pitch: of a helical joint, m/rad.
        rate: joint motion per unit of its coordinate; it differs from 1 only for a screw axis that is not a unit vector. Drive and
            limits refer to the coordinate.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Transform = Transform()
    axis: Vec = Vec(0.0, 0.0, 1.0)
    tip: Transform = Transform()
    pitch: Scalar = 0.0
    rate: Scalar = 1.0
    limits: Limits = Limits()
    mimic: Mimic | None = None
    drive: Drive | None = None
    place: Place | None = field(default=None, compare=False)

    def map(self, f: Callable[[Scalar], Scalar]) -> Joint:
        mimic = self.mimic and replace(self.mimic, multiplier=f(self.mimic.multiplier), offset=f(self.mimic.offset))
        return replace(
            self,
            origin=map_scalars(f, self.origin),
            axis=map_scalars(f, self.axis),
            tip=map_scalars(f, self.tip),
            pitch=f(self.pitch),
            rate=f(self.rate),
            mimic=mimic,
            drive=self.drive and self.drive.map(f),
        )


@dataclass(frozen=True)
class Frame:
    """A named pose on a link: a tool, a sensor, a contact point.

    >>> arm = qddot.Builder("arm").body("rod", mass=1).add(qddot.Frame("tip", "rod"))
    >>> arm.robot().frame_names
    ('base', 'rod', 'tip')
    """

    name: str
    link: str
    pose: Transform = Transform()
    place: Place | None = field(default=None, compare=False)


def scalars_in(*things: Any) -> list[Scalar]:
    """Return every scalar in scalars, nested tuples and parts of a description."""
    found: list[Scalar] = []

    def visit(x: Scalar) -> Scalar:
        found.append(x)
        return x

    for thing in things:
        if hasattr(thing, "map"):
            thing.map(visit)
        else:
            map_scalars(visit, thing)
    return found


def symbols_in(*things: Any) -> set:
    """Return the free SymPy symbols anywhere in these."""
    return {symbol for x in scalars_in(*things) if is_symbolic(x) for symbol in x.free_symbols}
