"""Variables: numbers of a robot that are inputs of each computation, so that one compiled program serves many different robots.

| name | numbers |
|---|---|
| `gravity` | acceleration (3), m/s^2 |
| `payload` | a point mass at the tip, kg |
| `<link>.mass`, `.com`, `.inertia` | kg; (3) m; about the centre of mass `Ixx, Ixy, Ixz, Iyy, Iyz, Izz`, kg m^2 |
| `<joint>.xyz` | where the joint stands on its parent link (3), m: the lengths of links |
| `<joint>.viscous`, `.coulomb`, `.stiffness`, ... | a number of the joint's drive (see `Drive`); two if the directions differ |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from qddot.errors import InputError, as_written, unknown_name
from qddot.model.description import Joint, Link
from qddot.model.directed import pair
from qddot.model.drive import NUMBERS, Drive
from qddot.model.friction import DRY
from qddot.model.inertia import Inertia
from qddot.model.scalar import Scalar, is_symbolic, is_zero
from qddot.model.spatial import Transform, Vec, symmetric, upper

if TYPE_CHECKING:
    from qddot.model.model import Model

INERTIAL = {"mass": 1, "com": 3, "inertia": 6}
FIXED = ("gear_ratio", "resistance", "inductance", "torque_constant")
"""Constants of a drive that cannot vary: the structure depends on them, or only simulations under voltage use them."""

LITTLE = 1e-9
"""A stand-in for constants of dry friction whose default is zero: small, but present."""


class Variable(NamedTuple):
    """Numbers that are given at run time, and their defaults."""

    name: str
    default: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.default)


def variable(model: Model, name: str) -> Variable:
    """Return the variable of a robot with this name. Raises UnknownNameError: no such link, joint or number; InputError: it is a
    symbol, or cannot vary."""
    if not isinstance(name, str):
        raise InputError(f"with_variable takes names such as 'payload' or 'link3.mass', not {as_written(name)}")
    values = numbers_of(model, name)
    if any(map(is_symbolic, values)):
        raise InputError(f"{name} is the symbol {values[0]}: give it a value with robot.subs first")
    return Variable(name, tuple(map(float, values)))


def numbers_of(model: Model, name: str) -> Sequence[Scalar]:
    """Return the numbers of the description that a variable's name stands for."""
    if name == "gravity":
        return model.gravity
    if name == "payload":
        _ = model.tip
        return (0.0,)
    part, _, what = name.rpartition(".")
    links, joints = {x.name: x for x in model.links}, {x.name: x for x in model.joints}
    if part in links and what in INERTIAL:
        inertia = links[part].inertia or Inertia()
        return {"mass": (inertia.mass,), "com": inertia.com, "inertia": upper(inertia.tensor)}[what]
    if part in joints and what == "xyz":
        return joints[part].origin.p
    if part in joints and what in FIXED:
        raise InputError(f"{name} cannot vary: it decides what is computed; make one robot for each")
    if part in joints and what in NUMBERS:
        drive = joints[part].drive or Drive()
        as_coulomb = what == "static" and all(map(is_zero, pair(drive.static)))  # static friction of 0 means that of motion
        forward, backward = pair(drive.coulomb if as_coulomb else getattr(drive, what))
        return (forward,) if forward == backward else (forward, backward)
    known = ["gravity", "payload", *(f"{x}.{y}" for x in links for y in INERTIAL)]
    raise unknown_name("variable", name, [*known, *(f"{x}.{y}" for x in joints for y in ("xyz", *NUMBERS) if y not in FIXED)])


def is_inertial(name: str) -> bool:
    """True if a variable of this name changes the inertia of a link."""
    return name == "payload" or name.rpartition(".")[2] in INERTIAL


def sticking(model: Model) -> tuple[bool, ...]:
    """Return for each body whether friction can hold it at rest, for some values of the variables."""
    if model.variables:
        some = [x or LITTLE if y.name.rpartition(".")[2] in DRY else x for y in model.variables for x in y.default]
        model = model.opened(some)
    return tuple(body.drive.friction.sticks for body in model.bodies)


def opened(model: Model, values: Sequence[Scalar]) -> Model:
    """Return the model with numbers, or scalars of any kind, in place of its variables."""
    chosen, at = model.variables, 0
    model = model.copy(variables=())
    for x in chosen:
        model = with_numbers(model, x.name, values[at : at + x.size])
        at += x.size
    return model


def with_numbers(model: Model, name: str, values: Sequence[Scalar]) -> Model:
    """Return the model with the numbers that a variable's name stands for replaced."""
    if name == "gravity":
        return model.copy(gravity=Vec(*values))
    if name == "payload":
        from qddot.model.parts import with_load

        return with_load(model, Inertia(values[0]), model.tip)
    part, _, what = name.rpartition(".")
    if what in INERTIAL:
        links = [replace(x, inertia=changed_inertia(x, what, values)) if x.name == part else x for x in model.links]
        return model.copy(links=links)
    return model.copy(joints=[changed_joint(x, what, values) if x.name == part else x for x in model.joints])


def changed_inertia(link: Link, what: str, values: Sequence[Scalar]) -> Inertia:
    """Return the inertia of a link with its mass, centre of mass or tensor replaced."""
    own = link.inertia or Inertia()
    if what == "mass":
        return Inertia(values[0], own.com, own.tensor)
    return Inertia(own.mass, Vec(*values), own.tensor) if what == "com" else Inertia(own.mass, own.com, symmetric(*values))


def changed_joint(joint: Joint, what: str, values: Sequence[Scalar]) -> Joint:
    if what == "xyz":
        return replace(joint, origin=Transform(joint.origin.R, Vec(*values)))
    return replace(joint, drive=replace(joint.drive or Drive(), **{what: values[0] if len(values) == 1 else tuple(values)}))
