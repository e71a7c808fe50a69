"""A robot over exact scalars: what the algorithms take in place of the model of floats.

Everything is made exact before fixed joints are lumped and inertias moved, so nothing is ever rounded. On request the numbers of
the robot become symbols, which keep their values (`ExactModel.values`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from qddot.errors import InputError
from qddot.model.description import Frame, Joint, Link, symbols_in
from qddot.model.drive import Drive, JointSide
from qddot.model.inertia import Inertia, steiner
from qddot.model.joints import Z
from qddot.model.lower import Body, Mechanism, lower
from qddot.model.model import Model
from qddot.model.pose import rotation_z, z_onto
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, RigidInertia, Transform, Vec, map_scalars, symmetric, upper
from qddot.model.transmission import Transmission
from qddot.symbolic.alphabet import Alphabet
from qddot.symbolic.exact import STEP, Turned, is_numeric, rotation
from qddot.symbolic.ring import Poly

PARAMETERS = ("given", "inertial", "all")
OFFSETS = ("a", "b", "d")
MOMENTS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


class Mass(NamedTuple):
    """What lowering wants of an inertia."""

    rigid: RigidInertia


class Side(NamedTuple):
    """What lowering wants of a drive."""

    at_joint: JointSide
    gear_ratio: Scalar
    rotor_inertia: Scalar
    rotor_axis: Vec | None
    rotor_turn: Mat


class Coupled(NamedTuple):
    """What lowering wants of a transmission."""

    joints: Sequence[str]
    matrix: Sequence[Sequence[Scalar]]
    drives: Sequence[Side | None]
    motors: Sequence[str]


class ExactModel:
    """A model whose numbers are fractions and polynomials; to `LiftedModel` it is a `Model`.

    Args:
        source: the robot.
        parameters: `"given"`: its numbers stay numbers, its symbols stay symbols. `"inertial"`: the ten inertial numbers of each
            moving link, about its link frame, and the constants of its drive become symbols where they are not zero. `"all"`: so do
            the offsets between joints (`a, b, d` along x, y, z) and gravity; the ten numbers are then about the joint's frame.

    Attributes:
        alphabet: letters and field.
        values: the value of each symbol that took the place of a number.
        notes: what was read as something else, such as an angle 1.5708 as pi/2.
    """

    symbols: frozenset = frozenset()

    def __init__(self, source: Model, parameters: str = "given") -> None:
        if parameters not in PARAMETERS:
            raise InputError(f"parameters={parameters!r} is not one of {', '.join(map(repr, PARAMETERS))}")
        self.source, self.name, self.root = source, source.name, source.root
        self.parameters = parameters
        self.notes: list[str] = []
        names = list(symbol_names(source, parameters))
        self.alphabet = Alphabet(source, numbers_of(source), dict.fromkeys(names))
        self.values: dict[str, Scalar] = {}
        exact = self.alphabet.exact
        self.gravity: Vec = map_scalars(exact, source.gravity)
        self.links = [Link(x.name, x.inertia and self._mass(x.inertia)) for x in source.links]  # type: ignore[arg-type]
        self.joints = [self._joint(joint) for joint in source.joints]
        self.frames = [Frame(x.name, x.link, self._pose(x.pose, f"frame {x.name!r}")) for x in source.frames]
        self.transmissions = [self._transmission(x) for x in source.transmissions]
        self.leaders = {name: (leader, exact(m), exact(o)) for name, (leader, m, o) in source.leaders.items()}
        if parameters == "all":
            self.gravity = Vec(*(self._symbol(f"g{axis}", x) for axis, x in zip("xyz", self.gravity)))

    @cached_property
    def mechanism(self) -> Mechanism:
        mechanism = lower(self)  # type: ignore[arg-type]
        if self.parameters == "given":
            return mechanism
        return mechanism._replace(bodies=tuple(self._with_symbols(body) for body in mechanism.bodies))

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.mechanism.bodies

    def frame(self, name: str) -> tuple[int, Transform]:
        self.source.frame(name)  # complains of an unknown name
        return self.mechanism.frames[name]

    # making exact ---------------------------------------------------------------------------------------------------------

    def _mass(self, inertia: Inertia) -> Mass:
        exact = self.alphabet.exact
        m, c = exact(inertia.mass), map_scalars(exact, inertia.com)
        return Mass(RigidInertia(m, c * m, map_scalars(exact, inertia.tensor) + steiner(m, c)))

    def _joint(self, joint: Joint) -> Joint:
        """With the axis turned onto z once and for all."""
        exact, where = self.alphabet.exact, f"joint {joint.name!r}"
        origin, tip = self._pose(joint.origin, where), self._pose(joint.tip, where)
        if joint.kind not in ("spherical", "free", "fixed"):
            turned = Transform(self._rotation(z_onto(joint.axis), where), Vec(0, 0, 0))
            origin, tip = origin @ turned, turned.inverse @ tip
        drive = self._drive(joint.drive, where) if joint.drive else None
        return replace(joint, origin=origin, axis=Z, tip=tip, pitch=exact(joint.pitch), rate=exact(joint.rate), drive=drive)  # type: ignore[arg-type]

    def _drive(self, drive: Drive, where: str) -> Side:
        exact = self.alphabet.exact
        turn = self._rotation(drive.rotor_turn, where)
        return Side(self._side(drive), exact(drive.gear_ratio), exact(drive.rotor_inertia), drive.rotor_axis, turn)

    def _side(self, drive: Drive) -> JointSide:
        """From the numbers as given where they are numbers, so that `N^2 Jm` is not rounded."""
        exact = self.alphabet.exact
        if symbols_in(drive):
            return drive.at_joint.map(exact)
        copy = object.__new__(Drive)  # without the checks, which would make floats of fractions
        for name, x in vars(drive).items():
            object.__setattr__(copy, name, tuple(map(exact, x)) if isinstance(x, tuple) else exact(x))
        return copy.at_joint

    def _transmission(self, x: Transmission) -> Coupled:
        matrix = [[self.alphabet.exact(ratio) for ratio in row] for row in x.matrix]
        return Coupled(x.joints, matrix, [drive and self._drive(drive, "transmission") for drive in x.drives], x.motors)

    def _pose(self, pose: Transform, where: str) -> Transform:
        return Transform(self._rotation(pose.R, where), map_scalars(self.alphabet.exact, pose.p))

    def _rotation(self, R: Mat, where: str) -> Mat:
        exact = self.alphabet.exact
        if not is_numeric(R):
            return map_scalars(exact, R)
        turned: Turned = rotation(R)
        for angle, k in turned.off:
            multiple = Fraction(k, 12)
            pi = "pi" if multiple.numerator == 1 else f"{multiple.numerator} pi" if multiple != -1 else "-pi"
            shown = pi if multiple.denominator == 1 else f"{pi}/{multiple.denominator}"
            self.notes.append(f"{where}: the angle {angle:.10g} rad was read as {shown}, {abs(angle - k * STEP):.1e} rad away")
        (cz, sz), (cy, sy), (cx, sx) = (map(exact, pair) for pair in turned[:3])
        Ry, Rx = Mat(Vec(cy, 0, sy), Vec(0, 1, 0), Vec(-sy, 0, cy)), Mat(Vec(1, 0, 0), Vec(0, cx, -sx), Vec(0, sx, cx))
        return rotation_z(cz, sz) @ Ry @ Rx

    # symbols for numbers --------------------------------------------------------------------------------------------------

    def _symbol(self, name: str, value: Scalar) -> Scalar:
        """The symbol of that name instead of a number that is not 0."""
        if value == 0 or (isinstance(value, Poly) and value.is_open):
            return value
        self.values[name] = value
        return self.alphabet.parameters[name]

    def _with_symbols(self, body: Body) -> Body:
        number = body.index + 1
        placement, seen_from = body.placement, body.link
        if self.parameters == "all":
            p = Vec(*(self._symbol(f"{letter}{number}", x) for letter, x in zip(OFFSETS, placement.p)))
            placement, seen_from = Transform(placement.R, p), Transform()
        m, h, I = seen_from.inverse.out_inertia(body.inertia)
        named = [self._symbol(f"{name}{number}", x) for name, x in zip(MOMENTS, (m, *h, *upper(I)))]
        inertia = seen_from.out_inertia(RigidInertia(named[0], Vec(*named[1:4]), symmetric(*named[4:])))
        side = body.drive
        positive, negative = side.coulomb
        if positive == negative:
            dry = (self._symbol(f"Fs{number}", positive),) * 2
        else:
            dry = self._symbol(f"Fp{number}", positive), self._symbol(f"Fn{number}", negative)
        drive = JointSide(
            self._symbol(f"J{number}", side.armature),
            self._symbol(f"Fv{number}", side.viscous),
            dry,
            self._symbol(f"k{number}", side.stiffness),
            self._symbol(f"rest{number}", side.rest),
        )
        return replace(body, placement=placement, inertia=inertia, drive=drive)


def symbol_names(model: Model, parameters: str) -> Iterator[str]:
    """The names the symbols will have."""
    if parameters == "given":
        return
    for body in model.bodies:
        letters = (*MOMENTS, "Fs", "Fp", "Fn", "J", "Fv", "k", "rest", *(OFFSETS if parameters == "all" else ()))
        yield from (f"{letter}{body.index + 1}" for letter in letters)
    if parameters == "all":
        yield from ("gx", "gy", "gz")


def numbers_of(model: Model) -> Iterable[Scalar]:
    """Every number of a description that may be an expression, as it will be read."""
    found: list[Scalar] = []
    note = lambda x: (found.append(x), x)[1]  # noqa: E731
    map_scalars(note, model.gravity)
    for link in model.links:
        if link.inertia:
            map_scalars(note, link.inertia.com)
            map_scalars(note, link.inertia.tensor)
            note(link.inertia.mass)
    for joint in model.joints:
        for part in (joint.origin, joint.tip, z_onto(joint.axis) if joint.kind not in ("spherical", "free", "fixed") else Vec()):
            map_scalars(note, part)
        found += [joint.pitch, joint.rate]
        if joint.drive:
            joint.drive.at_joint.map(note)
            map_scalars(note, joint.drive.rotor_turn)
            found += [joint.drive.gear_ratio, joint.drive.rotor_inertia]
    for x in model.transmissions:
        x.map(note)
    for frame in model.frames:
        map_scalars(note, frame.pose)
    for _, multiplier, offset in model.leaders.values():
        found += [multiplier, offset]
    return found
