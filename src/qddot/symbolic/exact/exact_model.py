"""A robot over exact scalars, which the algorithms take in place of the model of floats.

Everything is made exact before fixed joints are lumped and inertias moved, so nothing is ever rounded. On request the numbers of
the robot become symbols, whose values are kept (`ExactModel.values`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from qddot.arguments import word
from qddot.errors import InputError
from qddot.model.description import Frame, Joint, Link, scalars_in
from qddot.model.directed import Pair, pair
from qddot.model.drive import Drive, JointSide
from qddot.model.friction import LAWS, Law, ShaftFriction
from qddot.model.inertia import Inertia, steiner
from qddot.model.joints import Rotor, Z
from qddot.model.lower import Body, Mechanism, lower
from qddot.model.model import Model
from qddot.model.pose import z_onto
from qddot.model.scalar import Scalar, is_symbolic, is_zero
from qddot.model.spatial import Mat, PseudoInertia, RigidInertia, Transform, Vec, map_scalars, rotation_z, symmetric, upper
from qddot.model.transmission import Transmission, electric_motors
from qddot.symbolic.exact.alphabet import Alphabet
from qddot.symbolic.exact.exact_drive import exact_side
from qddot.symbolic.exact.letters import Load, Signed, Soft, Turns, common_divisor, known_sign
from qddot.symbolic.exact.numbers import STEP, is_numeric, rational, rotation
from qddot.symbolic.exact.reading import with_surds

PARAMETERS = ("given", "inertial", "all")
OFFSETS = ("a", "b", "d")
TEN = "m, mx, my, mz, Ixx, ..., Izz of a link: mass, first moments and moments of inertia"
MEANINGS = {
    "inertial": f"{TEN}, about the origin and along the axes of its own frame",
    "all": f"{TEN}, about its joint, in a frame with z along the joint's axis; a, b, d: where such a frame is in the one before, "
    "along x, y and z",
}
"""The meaning of the letters that stand for numbers."""
CURRENT = ("i", "id")  # letters of a motor's current and its rate
TURNED = ("revolute", "continuous", "prismatic", "helical", "planar")
IDENTITY = Mat()
MOMENTS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


class ExactModel:
    """A model whose numbers are fractions and polynomials; to `LiftedModel` it is a `Model`. Parts whose own class would make
    floats of them (inertias, drives, transmissions) are plain namespaces with the attributes that `lower` needs.

    Args:
        source: the robot.
        symbols: `"given"`: its numbers stay numbers, its symbols stay symbols. `"inertial"`: the ten inertial numbers of each
            moving link, about its link frame, and the constants of its drive become symbols where they are not zero. `"all"`: so do
            the offsets between joints (`a, b, d` along x, y, z) and gravity; the ten numbers are then about the joint's frame.
        further: number of letters of each further kind: see `Alphabet`.
        constants: expressions besides the robot's own, whose symbols need letters.

    Attributes:
        alphabet: letters and field.
        values: the value of each symbol that stands for a number.
        notes: sentences about numbers read as others, such as an angle 1.5708 as pi/2, and about what was left out.
    """

    symbols: frozenset = frozenset()

    def __init__(
        self, source: Model, symbols: str = "given", further: Mapping[str, int] | None = None, constants: Sequence[Scalar] = ()
    ) -> None:
        word("symbols", symbols, PARAMETERS)
        self.source, self.name, self.root = source, source.name, source.root
        self.kinematics_only = source.kinematics_only
        self.symbolic = symbols
        self.notes: list[str] = []
        self.open_tree = ""  # the note that is only true of the open tree, not of the robot under its constraints
        self.values: dict[str, Scalar] = {}
        self._own = {symbol.name for symbol in source.symbols}
        sides = {joint.name: exact_side(joint.drive, source.leaders.get(joint.name)) for joint in source.joints if joint.drive}
        motors = {name: exact_side(drive, None) for x in source.transmissions for name, drive in zip(x.motors, x.drives) if drive}
        bare = [replace(joint, origin=Transform(), tip=Transform(), axis=Z) for joint in source.joints]
        parts = {"joints": bare, "root": source.root, "leaders": source.leaders, "transmissions": source.transmissions}
        skeleton = lower(SimpleNamespace(**parts, links=(), frames=()))  # type: ignore[arg-type]  # coordinates and drives, no poses
        currents = [f"{letter}{k + 1}" for k in range(len(electric_motors(source))) for letter in CURRENT]
        names = dict.fromkeys([*symbol_names(source, symbols), *currents])
        numbers = [*numbers_of(source, {**sides, **motors}), *constants]
        self.alphabet = Alphabet(skeleton, numbers, names, signed(skeleton), further)
        exact = self.alphabet.exact
        self.gravity: Vec = map_scalars(exact, source.gravity)
        self.links = [Link(x.name, x.inertia and self._mass(x.inertia)) for x in source.links]  # type: ignore[arg-type]
        self.joints = [self._joint(joint, sides.get(joint.name)) for joint in source.joints]
        self.frames = [Frame(x.name, x.link, self._pose(x.pose, f"frame {x.name!r}")) for x in source.frames]
        self.transmissions = [self._coupled(x, motors) for x in source.transmissions]
        self.leaders = {name: (leader, exact(m), exact(o)) for name, (leader, m, o) in source.leaders.items()}
        if symbols == "all":
            self.gravity = Vec(*(self._symbol(f"g{axis}", x) for axis, x in zip("xyz", self.gravity)))
        self.notes += [MEANINGS[symbols]] if symbols in MEANINGS else []
        if source.constraints:
            names = ", ".join(repr(x.name) for x in source.constraints)
            self.open_tree = (
                f"constraints {names}: not imposed, these are the equations of the open tree; see Equations.constraints"
            )
            self.notes.append(self.open_tree)
        for column in self.alphabet.loads.values():
            joint = next(x.name for x in skeleton.coordinates if column in x.v)
            self.notes.append(f"load{column + 1}: the force on {joint!r} without friction, load_torque[{column}]")
        if self.alphabet.opaque:
            letters = ", ".join(self.alphabet.opaque)
            self.notes.append(
                f"{letters}: kept as they are; equal forms that differ only in what these mean are not seen to be equal"
            )

    @cached_property
    def mechanism(self) -> Mechanism:
        mechanism = lower(self)  # type: ignore[arg-type]
        bodies = [replace(body, rate=1) if body.rate == 1 else body for body in mechanism.bodies]  # a plain 1 costs nothing
        if self.symbolic != "given":
            bodies = map(self._with_symbols, bodies)
        return mechanism._replace(bodies=tuple(bodies))

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.mechanism.bodies

    def frame(self, name: str) -> tuple[int, Transform]:
        self.source.frame(name)  # complains of an unknown name
        return self.mechanism.frames[name]

    # making exact ---------------------------------------------------------------------------------------------------------

    def _mass(self, inertia: Inertia) -> SimpleNamespace:
        exact = self.alphabet.exact
        m, c = exact(inertia.mass), map_scalars(exact, inertia.com)
        rigid = RigidInertia(m, c * m, map_scalars(exact, inertia.tensor) + steiner(m, c))
        return SimpleNamespace(rigid=rigid, moments=PseudoInertia.of(rigid))

    def _joint(self, joint: Joint, side: JointSide | None) -> Joint:
        """Return the joint with its axis turned onto z, and its drive seen from its coordinate, or from that of its leader."""
        exact, where = self.alphabet.exact, f"joint {joint.name!r}"
        origin, tip = self._pose(joint.origin, where), self._pose(joint.tip, where)
        if joint.kind in TURNED and joint.axis != Z:
            turned = Transform(self._rotation(z_onto(joint.axis), where), Vec(0, 0, 0))
            origin, tip = origin @ turned, turned.inverse @ tip
        drive = self._drive(joint.drive, side, where) if joint.drive and side else None
        pitch, rate = exact(joint.pitch), exact(joint.rate)
        return replace(joint, origin=origin, axis=Z, tip=tip, pitch=pitch, rate=rate, drive=drive, mimic=None)  # type: ignore[arg-type]

    def _drive(self, drive: Drive, side: JointSide, where: str) -> SimpleNamespace:
        exact = self.alphabet.exact
        return SimpleNamespace(
            at_joint=side.map(exact),
            gear_ratio=exact(drive.gear_ratio),
            rotor_inertia=exact(drive.rotor_inertia),
            rotor_axis=drive.rotor_axis,
            rotor_turn=IDENTITY if drive.rotor_axis is None else self._rotation(drive.rotor_turn, f"{where}, rotor"),
            series_stiffness=None if drive.series_stiffness is None else exact(drive.series_stiffness),
            series_damping=exact(drive.series_damping),
        )

    def _coupled(self, x: Transmission, sides: Mapping[str, JointSide]) -> SimpleNamespace:
        matrix = [[self.alphabet.exact(ratio) for ratio in row] for row in x.matrix]
        drives = [drive and self._drive(drive, sides[name], name) for name, drive in zip(x.motors, x.drives)]
        return SimpleNamespace(joints=x.joints, matrix=matrix, drives=drives, motors=x.motors)

    def _pose(self, pose: Transform, where: str) -> Transform:
        return Transform(self._rotation(pose.R, where), map_scalars(self.alphabet.exact, pose.p))

    def _rotation(self, R: Mat, where: str) -> Mat:
        exact = self.alphabet.exact
        if R == IDENTITY:
            return IDENTITY
        if not is_numeric(R):
            turned = map_scalars(lambda x: exact(with_surds(x)), R)
            if turned @ turned.T != IDENTITY:
                self.notes.append(f"{where}: a rotation of letters and of numbers that were rounded: a rotation only within 1e-15")
            return turned
        yaw, pitch, roll, off, error = rotation(R)
        for angle, k in off:
            self.notes.append(f"{where}: the angle {angle:.10g} rad was read as {shown(k)}, {abs(angle - k * STEP):.1e} rad away")
        if error:
            self.notes.append(f"{where}: a matrix {error:.1e} off a rotation was read as the rotation next to it")
        (cz, sz), (cy, sy), (cx, sx) = (map(exact, pair) for pair in (yaw, pitch, roll))
        Ry, Rx = Mat(Vec(cy, 0, sy), Vec(0, 1, 0), Vec(-sy, 0, cy)), Mat(Vec(1, 0, 0), Vec(0, cx, -sx), Vec(0, sx, cx))
        return rotation_z(cz, sz) @ Ry @ Rx

    # symbols for numbers --------------------------------------------------------------------------------------------------

    def _symbol(self, name: str, value: Scalar) -> Scalar:
        """Return the symbol of that name for a number that is not 0; other scalars as they are."""
        if value == 0 or not self.alphabet.is_number(value):
            return value
        if name in self._own:
            raise InputError(
                f"{name} is a symbol of this robot and cannot also stand for its number {value}: call it something else"
            )
        if ("parameter", name) not in self.alphabet:  # too small for a float to show
            return value
        self.values[name] = value
        return self.alphabet["parameter", name]

    def _with_symbols(self, body: Body) -> Body:
        number = body.index + 1
        new = {letter: self._symbol(f"{letter}{number}", x) for letter, x in named_numbers(body, self.symbolic).items()}
        placement, seen_from = body.placement, body.link
        if self.symbolic == "all":
            placement, seen_from = Transform(placement.R, Vec(*(new[letter] for letter in OFFSETS))), Transform()
        m, mx, my, mz, *tensor = (new[letter] for letter in MOMENTS)
        inertia = seen_from.out_inertia(RigidInertia(m, Vec(mx, my, mz), symmetric(*tensor)))
        constants = {law.name: constant for law in LAWS if (constant := renamed(law, body.drive.friction, new)) is not None}
        friction = replace(body.drive.friction, **constants)
        named = {"armature": new["J"], "stiffness": new["k"], "rest": new["rest"], "friction": friction}
        moments = PseudoInertia.of(inertia)
        return replace(body, placement=placement, inertia=inertia, moments=moments, drive=replace(body.drive, **named))


def signed(mechanism: Mechanism) -> list[Signed]:
    """Return the arguments of signs and smoothed rates: the rate of every column, and those that friction needs besides."""
    found: list[Signed] = list(range(mechanism.nv))
    for body in mechanism.bodies:
        friction = body.drive.friction
        if not body.is_driven or not body.columns or not (friction.needs_sign or friction.is_smoothed):
            continue
        if isinstance(body.joint, Rotor):
            turning: list[int | Turns] = [direction(list(zip(body.columns, body.joint.rates)))]
        else:
            turning = list(body.columns)
        if friction.needs_sign:
            found += turning
        if friction.is_smoothed:
            found += (Soft(of, 1 + sum(isinstance(x, Soft) and x.of == of for x in found)) for of in turning)
        if not is_zero(friction.load):
            found += map(Load, body.columns)
    return list(dict.fromkeys(found))


def direction(turns: Sequence[tuple[int, Scalar]]) -> int | Turns:
    """Return a shaft's rate up to a factor, since only its sign matters: in whole numbers, the first positive; a single rate as its
    column."""
    if any(is_symbolic(ratio) for _, ratio in turns):
        return turns[0][0] if len(turns) == 1 and turns[0][1].is_Symbol and known_sign(turns[0][1]) else tuple(turns)
    ratios = [rational(ratio) for _, ratio in turns]
    unit = common_divisor(ratios) * (1 if ratios[0] > 0 else -1)
    return turns[0][0] if len(turns) == 1 else tuple((c, ratio / unit) for (c, _), ratio in zip(turns, ratios))


def symbol_names(model: Model, symbols: str) -> Iterator[str]:
    """Yield the names of the symbols that may stand for numbers: not for zeros, and no symbols that the robot has already."""
    if symbols == "given":
        return
    own = {symbol.name for symbol in model.symbols}
    for body in model.bodies:
        for letter, x in named_numbers(body, symbols).items():
            if (is_symbolic(x) or x != 0) and f"{letter}{body.index + 1}" not in own:
                yield f"{letter}{body.index + 1}"
    if symbols == "all":
        yield from (name for name, x in zip(("gx", "gy", "gz"), model.gravity) if x != 0 and name not in own)


def named_numbers(body: Body, symbols: str) -> dict[str, Scalar]:
    """Return a body's numbers by the letter of their symbol."""
    offsets = zip(OFFSETS, body.placement.p if symbols == "all" else ())
    m, h, I = (Transform() if symbols == "all" else body.link).inverse.out_inertia(body.inertia)
    side = body.drive
    drive = {"J": side.armature, "k": side.stiffness, "rest": side.rest}
    laws = [(law, pair(getattr(side.friction, law.name))) for law in LAWS if law.symbol]
    friction = {name: x for law, values in laws for name, x in zip(symbols_of(law, values), values)}
    return {**dict(offsets), **dict(zip(MOMENTS, (m, *h, *upper(I)))), **friction, **drive}


def symbols_of(law: Law, values: Pair) -> tuple[str, ...]:
    """Return the letter of a law's constant; one for each direction, where it has two."""
    if values[0] == values[1]:
        return (law.symbol,)
    return ("Fp", "Fn") if law.symbol == "Fs" else (f"{law.symbol}p", f"{law.symbol}n")


def renamed(law: Law, friction: ShaftFriction, new: Mapping[str, Scalar]) -> Scalar | Pair | None:
    """Return a law's constant in symbols; None if it stays a number."""
    given = getattr(friction, law.name)
    if not law.symbol:
        return None
    found = tuple(new[name] for name in symbols_of(law, pair(given)))
    return (found[0], found[-1]) if isinstance(given, tuple) else found[0]


def numbers_of(model: Model, sides: Mapping[str, JointSide]) -> list[Scalar]:
    """Return every number of a description that may be an expression, as it will be read."""
    things: list[Any] = [model.gravity, *model.joints, *model.transmissions, *model.leaders.values(), *sides.values()]
    things += [*(x.pose for x in model.frames), *(x.inertia for x in model.links if x.inertia)]
    things += [z_onto(joint.axis) for joint in model.joints if joint.kind in TURNED and joint.axis != Z]
    drives = [*(joint.drive for joint in model.joints), *(drive for x in model.transmissions for drive in x.drives)]
    return scalars_in(*things, *(drive.rotor_turn for drive in drives if drive))


def shown(k: int) -> str:
    """Return k times 15 degrees as a multiple of pi."""
    multiple = Fraction(k, 12)
    top = {1: "pi", -1: "-pi", 0: "0"}.get(multiple.numerator, f"{multiple.numerator} pi")
    return top if multiple.denominator == 1 else f"{top}/{multiple.denominator}"
