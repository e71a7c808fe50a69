"""`Model`, a validated and immutable description, and the mechanism of moving bodies that is made of it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from qddot.errors import InputError, ModelValueError, UnboundSymbolError, unknown_name
from qddot.model.check import check_frames, check_joint, check_parts, check_physics, check_rotations, leaders
from qddot.model.check_tree import check_tree
from qddot.model.common_normals import on_common_normals
from qddot.model.constraints import Constraint, check_constraints
from qddot.model.description import Frame, Joint, Link, symbols_in
from qddot.model.faults import Faults
from qddot.model.field import Field
from qddot.model.joints import SINGLE
from qddot.model.lower import WORLD, Body, LiftedBody, Mechanism, lower
from qddot.model.overflow import overflow
from qddot.model.regroup import base_moments
from qddot.model.scalar import Scalar, as_scalar, is_symbolic
from qddot.model.spatial import PseudoInertia, RigidInertia, Transform, Vec, map_scalars, vec
from qddot.model.transmission import Transmission, check_transmissions
from qddot.model.variables import Variable, opened, sticking, variable

GRAVITY = Vec(0.0, 0.0, -9.81)


class Model:
    """A robot as described: links, joints, frames, gravity. Immutable and validated.

    Args:
        name: of the robot.
        links, joints, frames: the description, in any order; q follows the order of the joints as far as parents come first.
        gravity: acceleration (3,) in the root link's axes, m/s^2.
        strict: refuse inertias that no real body has, instead of warning.
        doubtful: the links with such inertias, for a copy of a checked model, which is not checked again.
        transmissions: motors that drive several joints at once.
        variables: numbers that become inputs of each computation (see `qddot.model.variables`).
        end: the link or frame that is meant if none is named; None: the only one at the end of the only chain.
        kinematics_only: the reason why the masses are not known, empty if they are; dynamics is refused with this reason.
        constraints: closed loops and coupled joints that the description has beyond the tree. Only the constrained dynamics of a
            robot enforce them.
    """

    quantities: Mapping[str, Any] | None = None
    """Quantities that are not computed from bodies; a system given by its energies has some."""

    def __init__(
        self,
        name: str,
        links: Sequence[Link],
        joints: Sequence[Joint] = (),
        frames: Sequence[Frame] = (),
        gravity: Sequence[Scalar] = GRAVITY,
        *,
        strict: bool = False,
        doubtful: Sequence[Link] | None = None,
        constraints: Sequence[Constraint] = (),
        transmissions: Sequence[Transmission] = (),
        end: str | None = None,
        kinematics_only: str = "",
        variables: Sequence[str | Variable] = (),
    ) -> None:
        self.name, self.end, self.kinematics_only = name, end, kinematics_only
        self.open = tuple(x.name if isinstance(x, Variable) else x for x in variables)
        self.links, self.joints, self.frames = tuple(links), tuple(joints), tuple(frames)
        self.constraints, self.transmissions = tuple(constraints), tuple(transmissions)
        try:
            self.gravity = vec(gravity)
        except (TypeError, ValueError) as error:
            raise ModelValueError(str(error), element=f"robot {name!r}", attribute="gravity", text=str(gravity)) from None
        if doubtful is None:  # a copy of a checked model does not warn again
            check_parts(self.links, self.joints, self.frames)
        self.root = check_tree(self.links, self.joints)
        faults = Faults()
        with faults:
            self.doubtful = tuple(check_physics(self.links, self.joints, strict) if doubtful is None else doubtful)
        with faults:
            self.leaders = leaders(self.joints)
        with faults:
            check_frames(self.frames, self.links)
        with faults:
            check_constraints(self.constraints, {x.name for x in self.links}, {x.name for x in self.joints})
        faults.tell()
        if self.transmissions:
            single = {x.name for x in self.joints if x.kind in SINGLE and x.name not in self.leaders}
            check_transmissions(self.transmissions, single, [x.name for x in self.joints])

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The numbers that are inputs of each computation, with their values in this description."""
        return tuple(variable(self, name) for name in self.open)

    @cached_property
    def sticking(self) -> tuple[bool, ...]:
        """For each body, whether friction can hold it at rest, for some values of the variables."""
        return sticking(self)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The moving bodies with fixed joints lumped, on which the algorithms work. Raises ModelValueError: a power of a number of
        the description overflows."""
        try:
            return lower(self)
        except OverflowError:
            raise overflow(self, "the mechanism") from None

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.mechanism.bodies

    @cached_property
    def regrouped(self) -> tuple[list[tuple[Body, PseudoInertia]], list[Transform]]:
        """Bodies with base parameters (see `qddot.model.regroup`) in frames on common normals, and these frames' poses on them."""
        bodies, frames = on_common_normals(self.bodies)
        return list(zip(bodies, base_moments(bodies))), frames

    @cached_property
    def symbols(self) -> frozenset:
        """The SymPy symbols left open anywhere in the model."""
        inertias = [link.inertia for link in self.links if link.inertia]
        poses = (f.pose for f in self.frames)
        return frozenset(symbols_in(*inertias, *self.joints, *self.transmissions, *poses, *self.constraints, self.gravity))

    def copy(self, **changes: Any) -> Model:
        """Return the model with some of its parts replaced, without new checks. Every changed model is made here, so that no part
        of a description is lost on the way."""
        return Model(**{name: getattr(self, name) for name in PARTS} | changes)

    def opened(self, values: Sequence[Scalar]) -> Model:
        """Return the model with numbers, or scalars of any kind, in place of its variables."""
        return opened(self, values)

    def map(self, f: Callable[[Scalar], Scalar]) -> Model:
        """Return the model with `f` applied to every number except limits."""
        return self.copy(
            links=[replace(x, inertia=x.inertia and x.inertia.map(f)) for x in self.links],
            joints=[joint.map(f) for joint in self.joints],
            frames=[replace(x, pose=map_scalars(f, x.pose)) for x in self.frames],
            gravity=map_scalars(f, self.gravity),
            constraints=[x.map(f) for x in self.constraints],
            transmissions=[x.map(f) for x in self.transmissions],
            doubtful=(),
        )

    def with_floating_base(self) -> Model:
        """Return the model with its root free, below a link `world` and a free joint `floating_base` (names with a number if
        taken)."""
        world = unused("world", {x.name for x in (*self.links, *self.frames)})
        joint = Joint(unused("floating_base", {x.name for x in self.joints}), "free", world, self.root)
        return self.copy(links=(Link(world), *self.links), joints=(joint, *self.joints))

    def subs(self, values: dict) -> Model:
        """Replace symbols by numbers or expressions, all at once; the result is checked like a new description. Raises
        ModelValueError: a value that is not a number or expression, or that makes the robot impossible."""
        try:
            numbers = {symbol: as_scalar(value) for symbol, value in values.items()}
            model = self.map(lambda x: as_scalar(x.subs(numbers, simultaneous=True)) if is_symbolic(x) else x)
        except (TypeError, ValueError) as error:
            raise error if isinstance(error, ModelValueError) else ModelValueError(str(error), element=self.name) from None
        for joint in model.joints:
            check_joint(joint)
        check_rotations(model.joints, model.frames)
        return model.copy(doubtful=check_physics(model.links, model.joints, strict=False))

    def frame(self, name: str) -> tuple[int, Transform]:
        """Return the body (index, -1 for the world) that carries a frame, and the frame's pose on it."""
        try:
            return self.mechanism.frames[name]
        except (KeyError, TypeError):  # TypeError: not hashable, so not a name
            raise unknown_name("frame", name, self.mechanism.frames) from None

    @property
    def tip(self) -> str:
        """The frame that is meant if none is named: a tool that was added, or the only frame at the end of the only chain. Raises
        InputError: there are several ends."""
        if self.end is not None:
            return self.end
        inner = {joint.parent for joint in self.joints} | {frame.link for frame in self.frames}
        ends = [name for name in self.mechanism.frames if name not in inner]
        if len(ends) != 1:
            shown = ", ".join(map(repr, ends[:12])) + (", ..." if len(ends) > 12 else "")
            some = f", as in frame={ends[0]!r}" if ends else ""
            raise InputError(f"{self.name} has no single tip but {len(ends)} ends ({shown}): name the frame you mean{some}")
        return ends[0]

    def over(self, field: Field, *, regrouped: bool = False) -> LiftedModel:
        """Return the mechanism with every constant as a scalar of `field`; `regrouped`: in the form with the shortest equations."""
        return LiftedModel(self, field, regrouped)


PARTS = tuple(name for name in inspect.signature(Model).parameters if name != "strict")
"""The arguments with which a model can be made again."""


def unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    candidates = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(n for n in candidates if n not in taken)


class Unknown:
    """A placeholder for an inertia that is not known: every use raises `InputError`."""

    def __init__(self, words: str) -> None:
        self._words = words

    def _refuse(self, *_: Any) -> Any:
        raise InputError(self._words)

    __iter__ = __add__ = __radd__ = __mul__ = __rmul__ = __matmul__ = __getattr__ = _refuse  # type: ignore[assignment]


def refuse_open_symbols(model: Model, field: Field) -> None:
    """Refuse a model with symbols unless the field's scalars are symbolic. Raises UnboundSymbolError."""
    if not getattr(field, "symbolic", False):
        refuse_symbols(model)


def refuse_symbols(model: Model) -> None:
    """Refuse a model that holds symbols. Raises UnboundSymbolError: it does."""
    if model.symbols:
        names = ", ".join(sorted(map(str, model.symbols)))
        raise UnboundSymbolError(f"{model.name} still holds the symbols {names}: give them values with robot.subs({{...}})")


class LiftedModel:
    """The mechanism over one kind of scalar; every algorithm takes it as `model`."""

    def __init__(self, model: Model, field: Field, regrouped: bool = False, inertias: Sequence[RigidInertia] | None = None) -> None:
        refuse_open_symbols(model, field)
        self.source, self.field = model, field
        self.nq, self.nv = model.mechanism.nq, model.mechanism.nv
        self.gravity = map_scalars(field.constant, model.gravity)
        bodies, self.moved = model.regrouped if regrouped else ([(body, None) for body in model.bodies], None)
        self.bodies: list[LiftedBody] = [body.over(field, own) for body, own in bodies]
        if inertias is not None:  # these are scalars of the field already
            pairs = zip(self.bodies, inertias)
            self.bodies = [replace(body, inertia=own, moments=PseudoInertia.of(own)) for body, own in pairs]
        if model.kinematics_only:
            unknown: Any = Unknown(f"{model.name} has kinematics only, no dynamics: {model.kinematics_only}")
            self.bodies = [replace(body, inertia=unknown, moments=unknown) for body in self.bodies]

    def frame(self, name: str) -> tuple[int, Transform]:
        body, pose = self.source.frame(name)
        if self.moved and body != WORLD:
            pose = self.moved[body].inverse @ pose
        return body, map_scalars(self.field.constant, pose)
