"""Construction of a robot in Python, body by body.

from qddot.formats.builder import Builder

pendulum = (
    Builder("pendulum")
    .body("rod", axis="y", mass=1.2, com=(0, 0, -0.5), tensor=(0.1, 0.1, 0))
    .frame("tip", "rod", xyz=(0, 0, -1))
    .build()
)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.formats.subject import Subject
from qddot.model.description import Frame, Joint, Limits, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import from_rpy
from qddot.model.scalar import Scalar, is_symbolic
from qddot.model.spatial import Transform, Vec
from qddot.place import Place

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
AXES |= {f"-{name}": (-x, -y, -z) for name, (x, y, z) in AXES.items()}


class Builder:
    """Collector of bodies and frames, in any order; `build` checks that they form one tree.

    Args:
        name: name of the robot.
        base: name of the fixed link.
        base_inertia: inertia of that link; matters only if the base is made to float.
        gravity: acceleration (3,) in base axes, m/s^2.

    >>> builder = qddot.Builder("pendulum").body("rod", joint="revolute", axis="y", mass=1.0, com=(0.5, 0, 0))
    >>> builder.frame("tip", "rod", xyz=(1, 0, 0)).robot().gravity_torque([0.0])
    array([-4.905])
    """

    def __init__(
        self, name: str = "robot", *, base: str = "base", base_inertia: Inertia | None = None, gravity: Sequence[Scalar] = GRAVITY
    ) -> None:
        robot = Subject(f"robot {name!r}")
        self.name, self.base = robot.instance("name", name, str), robot.instance("base", base, str)
        self.gravity = robot.vector("gravity", gravity)
        if base_inertia is not None:
            robot.instance("base_inertia", base_inertia, Inertia)
        self._links, self.joints, self._frames = [Link(base, base_inertia)], [], []

    def body(
        self,
        name: str,
        parent: str | None = None,
        joint: str = "revolute",
        *,
        joint_name: str | None = None,
        axis: str | Sequence[Scalar] = "z",
        xyz: Sequence[Scalar] = (0.0, 0.0, 0.0),
        rpy: Sequence[Scalar] = (0.0, 0.0, 0.0),
        pitch: Scalar = 0.0,
        inertia: Inertia | None = None,
        mass: Scalar | None = None,
        com: Sequence[Scalar] | None = None,
        tensor: object = None,
        limits: Limits | Sequence[float] | np.ndarray | None = None,
        drive: Drive | None = None,
        mimic: Mimic | tuple[str, Scalar, Scalar] | str | None = None,
        place: Place | None = None,
        inertia_place: Place | None = None,
    ) -> Builder:
        """Add a body and the joint that moves it; returns the builder.

        Args:
            name: name of the link.
            parent: the link it moves on, added before or after; the base by default.
            joint: kind of joint, one of `qddot.model.joints.KINDS`.
            joint_name: `<name>_joint` by default.
            axis: axis of the joint, a vector (3,) or `"x"`, `"-x"`, ...; in the axes that `rpy` gives.
            xyz, rpy: pose of the joint in the parent's frame, m and rad (roll, pitch, yaw about fixed axes).
            pitch: pitch of a helical joint, m/rad.
            inertia: inertia of the link; or give `mass` (kg), `com` (3,) in m and `tensor` about it in kg m^2.
            limits: `Limits`, or (lower, upper) in rad or m.
            mimic: `Mimic`, or the name of the joint to follow, or (joint, multiplier, offset).
            place, inertia_place: places of the body and of its inertia in a file, for messages.

        Raises:
            ModelValueError: a number that is not finite, an axis without direction, both `inertia` and `mass`, a wrong type.

        >>> arm = qddot.Builder("arm").body("upper", axis="y", mass=2, com=(0.2, 0, 0))
        >>> arm = arm.body("lower", "upper", axis="y", xyz=(0.4, 0, 0), mass=1, com=(0.2, 0, 0), limits=(-2.5, 0))
        >>> arm.robot().joint_names
        ('upper_joint', 'lower_joint')
        """
        subject = Subject(f"body {name!r}", place)
        for key, text in (("name", name), ("joint", joint), ("parent", parent), ("joint_name", joint_name)):
            if text is not None:
                subject.instance(key, text, str)
        if isinstance(axis, str) and axis not in AXES:
            raise subject.error("unknown axis", "axis", axis, f"use a vector or one of {', '.join(AXES)}")
        self.joints.append(
            Joint(
                f"{name}_joint" if joint_name is None else joint_name,
                joint,
                self.base if parent is None else parent,
                name,
                origin=pose(subject, xyz, rpy),
                axis=subject.direction("axis", AXES[axis] if isinstance(axis, str) else axis),
                pitch=subject.number("pitch", pitch),
                limits=subject.limits(limits),
                mimic=subject.mimic(mimic),
                drive=drive if drive is None else subject.instance("drive", drive, Drive),
                place=place,
            )
        )
        self._links.append(Link(name, _inertia(subject, inertia, mass, com, tensor), inertia_place or place))
        return self

    def beam(
        self,
        name: str,
        parent: str | None = None,
        *,
        length: Scalar,
        EI: Scalar,
        mass_per_length: Scalar,
        segments: int,
        axis: str = "z",
        xyz: Sequence[Scalar] = (0.0, 0.0, 0.0),
        rpy: Sequence[Scalar] = (0.0, 0.0, 0.0),
        place: Place | None = None,
    ) -> Builder:
        """Add a flexible beam along x that bends about one axis, as rigid segments on springs; returns the builder.

        Each segment of length l = length / segments bends in its middle, in a hinge `<name><k>_joint` with a spring EI / l. So half
        a segment, `<name>`, is fixed to the parent, and half a segment is at the free end, where the frame `<name>_tip` is.
        Low modes are those of Euler and Bernoulli, with an error that falls with the square of the number of segments.

        Args:
            parent: the link it is clamped to; the base by default.
            length: m.
            EI: flexural rigidity, N m^2.
            mass_per_length: kg/m.
            segments: number of segments and of joints, at least 1.
            axis: axis about which it bends, `"y"` or `"z"`.
            xyz, rpy: pose of its beginning in the parent's frame, as for a body.

        Raises:
            ModelValueError: a number that is not positive, or an axis along the beam.

        >>> ruler = qddot.Builder("ruler").beam("beam", length=0.3, EI=0.05, mass_per_length=0.05, segments=4).robot()
        >>> poles = ruler.linearize(ruler.neutral()).poles
        >>> round(float(abs(poles.imag).min()) / (2 * np.pi), 1)  # Hz
        6.3
        """
        subject = Subject(f"beam {name!r}", place)
        if axis not in ("y", "z"):
            raise subject.error("a beam along x bends about y or z", "axis", str(axis), "write axis='y' or axis='z'")
        if isinstance(segments, bool) or not isinstance(segments, int) or segments < 1:
            raise subject.error("a whole number from 1 is needed", "segments", str(segments), "give 1, 2, 3, ...")
        numbers = {"length": length, "EI": EI, "mass_per_length": mass_per_length}
        length, EI, mass_per_length = (subject.number(key, x) for key, x in numbers.items())
        for key, x in (("length", length), ("EI", EI), ("mass_per_length", mass_per_length)):
            if not is_symbolic(x) and x <= 0:
                raise subject.error("a positive number is needed", key, str(x), "give a number above zero")
        segment = length / segments
        spring = Drive(stiffness=EI / segment)
        self.body(name, parent, "fixed", xyz=xyz, rpy=rpy, inertia=rod(segment / 2, mass_per_length), place=place)
        reach, below = segment / 2, name
        for k in range(1, segments + 1):
            own = segment if k < segments else segment / 2
            body = {"axis": axis, "drive": spring, "inertia": rod(own, mass_per_length), "place": place}
            self.body(f"{name}{k}", below, xyz=(reach, 0.0, 0.0), **body)
            reach, below = own, f"{name}{k}"
        return self.frame(f"{name}_tip", below, xyz=(reach, 0.0, 0.0), place=place)

    def frame(
        self,
        name: str,
        link: str,
        xyz: Sequence[Scalar] = (0.0, 0.0, 0.0),
        rpy: Sequence[Scalar] = (0.0, 0.0, 0.0),
        place: Place | None = None,
    ) -> Builder:
        """Give a pose on a link a name, as for a tool or a sensor; returns the builder.

        >>> hand = qddot.Builder("arm").body("rod", mass=1).frame("tip", "rod", xyz=(0.5, 0, 0))
        >>> hand.robot().tip
        'tip'
        """
        self._frames.append(Frame(name, link, pose(Subject(f"frame {name!r}", place), xyz, rpy), place))
        return self

    def add(self, frame: Frame) -> Builder:
        """Add an existing `Frame`; returns the builder.

        >>> pose = qddot.load("panda").model.frames[0]  # a frame of another robot, on a link of the same name
        >>> qddot.Builder("arm").body(pose.link, mass=1).add(pose).robot().frame_names
        ('base', 'link7', 'flange')
        """
        self._frames.append(frame)
        return self

    def build(self, *, strict: bool = False) -> Model:
        """Return the model.

        Raises:
            ModelStructureError: bodies that do not form one tree, a name given twice.
            ModelReferenceError: a parent, a frame's link or a leading joint that does not exist.
            ModelValueError: doubtful physics, when `strict`.

        >>> qddot.Builder("arm").body("rod", mass=1).build().name  # the description alone; `robot()` makes it compute
        'arm'
        """
        return Model(self.name, self._links, self.joints, self._frames, self.gravity, strict=strict)


def pose(subject: Subject, xyz: object, rpy: object) -> Transform:
    """Return a pose from a position (m) and roll, pitch, yaw (rad)."""
    angles = subject.angles("rpy", subject.vector("rpy", rpy))
    return Transform(from_rpy(*angles), Vec(*subject.vector("xyz", xyz)))


def rod(length: Scalar, mass_per_length: Scalar) -> Inertia:
    """Return the inertia of a thin rod along x that begins at the origin."""
    return Inertia.rod(mass_per_length * length, length, "x").shifted((length / 2, 0.0, 0.0))


def _inertia(subject: Subject, inertia: Inertia | None, mass: object, com: object, tensor: object) -> Inertia | None:
    if inertia is not None:
        subject.instance("inertia", inertia, Inertia)
    if mass is None and com is None and tensor is None:
        return inertia
    if inertia is not None:
        raise subject.error("both an inertia and mass, com or tensor", "inertia", fix="give one of them")
    if mass is None:
        raise subject.error("a centre of mass or tensor without a mass", "mass", fix="give the mass")
    centre = (0.0, 0.0, 0.0) if com is None else subject.vector("com", com)
    return subject.made(Inertia, subject.number("mass", mass), centre, 0 if tensor is None else tensor)
