"""The frozen tree: a validated description, and the mechanism of moving bodies it lowers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from qddot.errors import InputError, UnboundSymbolError, unknown_name
from qddot.model.check import check_frames, check_joint, check_names, check_physics, check_tree, leaders
from qddot.model.description import Frame, Joint, Link, symbols_in
from qddot.model.field import Field
from qddot.model.lower import Body, LiftedBody, Mechanism, lower
from qddot.model.scalar import Scalar, as_scalar, is_symbolic
from qddot.model.spatial import Transform, Vec, map_scalars

GRAVITY = Vec(0.0, 0.0, -9.81)


class Model:
    """A robot as described: links, joints, frames, gravity. Immutable and validated.

    Args:
        name: of the robot.
        links, joints, frames: the description, in any order; q follows the order of the joints wherever a parent comes first.
        gravity: acceleration (3,) in the root link's axes, m/s^2.
        strict: refuse inertias no real body has, instead of warning.
    """

    def __init__(
        self,
        name: str,
        links: Sequence[Link],
        joints: Sequence[Joint] = (),
        frames: Sequence[Frame] = (),
        gravity: Sequence[Scalar] = GRAVITY,
        *,
        strict: bool = False,
        checked: bool = False,
    ) -> None:
        self.name = name
        self.links, self.joints, self.frames = tuple(links), tuple(joints), tuple(frames)
        self.gravity = Vec(*map(as_scalar, gravity))
        if not checked:  # a copy of a checked model does not warn again
            check_names("link", self.links)
            check_names("joint", self.joints)
            check_names("frame", (*self.links, *self.frames))
            for joint in self.joints:
                check_joint(joint)
        self.root = check_tree(self.links, self.joints)
        self.doubtful = [] if checked else check_physics(self.links, self.joints, strict)  # links no real body has the inertia of
        self.leaders = leaders(self.joints)
        check_frames(self.frames, self.links)

    @cached_property
    def mechanism(self) -> Mechanism:
        """Moving bodies with fixed joints lumped: what the algorithms see."""
        return lower(self)

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.mechanism.bodies

    @cached_property
    def symbols(self) -> frozenset:
        """The SymPy symbols left open anywhere in the model."""
        inertias = [link.inertia for link in self.links if link.inertia]
        return frozenset(symbols_in(*inertias, *self.joints, *(f.pose for f in self.frames), self.gravity))

    def map(self, f: Callable[[Scalar], Scalar]) -> Model:
        """The model with `f` applied to every number except limits."""
        links = [Link(x.name, x.inertia and x.inertia.map(f), x.place) for x in self.links]
        frames = [Frame(x.name, x.link, map_scalars(f, x.pose), x.place) for x in self.frames]
        joints = [joint.map(f) for joint in self.joints]
        return Model(self.name, links, joints, frames, map_scalars(f, self.gravity), checked=True)

    def with_gravity(self, gravity: Sequence[Scalar]) -> Model:
        return Model(self.name, self.links, self.joints, self.frames, gravity, checked=True)

    def subs(self, values: dict) -> Model:
        """Symbols replaced by numbers or expressions; numbers that are new are checked."""
        model = self.map(lambda x: as_scalar(x.subs(values)) if is_symbolic(x) else x)
        model.doubtful = check_physics(model.links, model.joints, strict=False)
        return model

    def frame(self, name: str) -> tuple[int, Transform]:
        """The body (index, -1 for the world) that carries a frame, and the frame's pose on it."""
        try:
            return self.mechanism.frames[name]
        except KeyError:
            raise unknown_name("frame", name, self.mechanism.frames) from None

    @property
    def tip(self) -> str:
        """The frame meant where none is named: the only frame at the end of the only chain.

        Raises:
            InputError: there are several ends.
        """
        inner = {joint.parent for joint in self.joints} | {frame.link for frame in self.frames}
        ends = [name for name in self.mechanism.frames if name not in inner]
        if len(ends) != 1:
            shown = ", ".join(map(repr, ends[:12])) + (", ..." if len(ends) > 12 else "")
            raise InputError(f"{self.name} has {len(ends)} ends ({shown}): say which with frame=")
        return ends[0]

    def over(self, field: Field) -> LiftedModel:
        """The mechanism with every constant lifted into `field`."""
        return LiftedModel(self, field)


class LiftedModel:
    """The mechanism over one kind of scalar: what every algorithm takes as `model`."""

    def __init__(self, model: Model, field: Field) -> None:
        if model.symbols and not getattr(field, "symbolic", False):
            names = ", ".join(sorted(map(str, model.symbols)))
            raise UnboundSymbolError(f"{model.name} still holds the symbols {names}: give them values with robot.subs({{...}})")
        self.source, self.field = model, field
        self.nq, self.nv = model.mechanism.nq, model.mechanism.nv
        self.gravity = map_scalars(field.constant, model.gravity)
        self.bodies: list[LiftedBody] = [body.over(field) for body in model.bodies]

    def frame(self, name: str) -> tuple[int, Transform]:
        body, pose = self.source.frame(name)
        return body, map_scalars(self.field.constant, pose)
