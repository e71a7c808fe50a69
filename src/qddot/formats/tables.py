"""Serial arms from a table: Denavit-Hartenberg parameters, or screw axes (product of exponentials)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from qddot.arguments import finite_array
from qddot.errors import InputError, ModelStructureError, ModelValueError, Place, near_matches
from qddot.formats.subject import UNIT_TOLERANCE, Subject
from qddot.model.check import warn
from qddot.model.description import Frame, Joint, Limits, Link, Mimic, symbols_in
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import about_x, about_z, snapped
from qddot.model.scalar import Scalar, is_symbolic, is_zero, sqrt
from qddot.model.spatial import Motion, Transform, Vec

Matrix = Sequence[Sequence[Scalar]] | np.ndarray | Transform

CONVENTIONS = ("standard", "modified")
CONVENTION_FIX = 'say convention = "standard", or "modified" for Craig\'s'
TYPES = {"revolute": "revolute", "R": "revolute", "prismatic": "prismatic", "P": "prismatic"}
NO_TURN = 1e-9  # |w| below this part of |v| is rounding noise of a slider
NO_PITCH = 1e-12  # the same for the pitch of a hinge


@dataclass(frozen=True)
class DHRow:
    """One row of a Denavit-Hartenberg table, lengths in m, angles in rad.

    A revolute joint turns by `theta + q`, a prismatic joint slides by `d + q`.
    """

    a: Scalar = 0.0
    alpha: Scalar = 0.0
    d: Scalar = 0.0
    theta: Scalar = 0.0
    type: str = "revolute"
    place: Place | None = None


@dataclass(frozen=True)
class Screw:
    """A joint's screw axis `[w; v]`, angular part first, as six numbers."""

    axis: Sequence[Scalar]
    place: Place | None = None


@dataclass(frozen=True)
class Parts:
    """Parts of a serial arm besides its geometry: one entry a joint in each list that is given."""

    inertias: Sequence[Inertia | None] | None = None
    drives: Sequence[Drive | None] | None = None
    limits: Sequence[Limits | Sequence[float] | np.ndarray | None] | np.ndarray | None = None
    mimics: Sequence[Mimic | str | tuple[str, Scalar, Scalar] | None] | None = None
    link_names: Sequence[str] | None = None
    joint_names: Sequence[str] | None = None
    places: Sequence[Place | None] | None = None

    def check(self, count: int) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
                raise Subject(field.name).error(
                    "a list with one entry a joint is needed", value=given, fix="give a list, None where there is nothing"
                )
            if len(given) != count:
                raise ModelStructureError(
                    f"{len(given)} {field.name} for {count} joints", element=field.name, fix="give one a joint, or none at all"
                )

    def part(self, name: str, index: int, kind: type, default: Any = None) -> Any:
        """An entry of that type, or the default."""
        value = self.get(name, index)
        return default if value is None else Subject(name).instance(f"[{index}]", value, kind)

    def get(self, name: str, index: int, default: Any = None) -> Any:
        given = getattr(self, name)
        return default if given is None or given[index] is None else given[index]


def dh_model(
    rows: Sequence[Sequence[Scalar] | Mapping[str, Any] | DHRow],
    *,
    convention: str | None = None,
    name: str = "robot",
    inertias: Sequence[Inertia | None] | None = None,
    drives: Sequence[Drive | None] | None = None,
    limits: Sequence[Limits | Sequence[float] | np.ndarray | None] | np.ndarray | None = None,
    mimics: Sequence[Mimic | str | tuple[str, Scalar, Scalar] | None] | None = None,
    link_names: Sequence[str] | None = None,
    joint_names: Sequence[str] | None = None,
    frames: Sequence[Frame] = (),
    tool: Matrix | None = None,
    base: str | Matrix = "base",
    base_inertia: Inertia | None = None,
    gravity: Sequence[Scalar] = GRAVITY,
    strict: bool = False,
    places: Sequence[Place | None] | None = None,
) -> Model:
    """A serial arm from its Denavit-Hartenberg table.

    Args:
        rows: `(a, alpha, d, theta)`, or a mapping with these keys and `type` (`"revolute"` or `"prismatic"`, short `"R"`, `"P"`);
            what a mapping leaves out is zero.
        convention: `"standard"`: link frame i is `Rz(theta) Tz(d) Tx(a) Rx(alpha)` from frame i-1, at the far end of its link;
            `"modified"` (Craig): `Rx(alpha) Tx(a) Rz(theta) Tz(d)`, at the near end. None: standard, with a warning.
        inertias: of each link in its DH frame.
        limits: of each joint: `Limits`, or (lower, upper) in rad or m.
        mimics: of each joint: `Mimic`, or the name of the joint to follow, or (joint, multiplier, offset).
        tool: 4 x 4 pose of a frame named `tool` in the last link's frame.
        base: name of the link that stands still; or the 4 x 4 pose, in that link's frame, of the frame in which the table begins.
        base_inertia: of the link that stands still, in its frame; matters only if the base is made to float.
        places: where the inertias stand in a file, for messages.

    Raises:
        ModelValueError: a number that is not finite, an unknown convention or joint type, a row of the wrong length, a wrong type.
        ModelStructureError: no rows, or a list whose length is not that of the table.

    >>> arm = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], convention="standard", inertias=[qddot.Inertia.point(1.0)] * 2)
    >>> arm.transform([0, np.pi / 2])[:3, 3].round(3)
    array([0.5, 0.4, 0. ])
    """
    if convention is None:
        warn("no convention is given: the table is read as standard DH", element="dh", fix=CONVENTION_FIX)
        convention = "standard"
    if convention not in CONVENTIONS:
        raise ModelValueError(
            "unknown convention",
            element="dh",
            attribute="convention",
            text=str(convention),
            fix=near_matches(str(convention), CONVENTIONS),
        )
    _check_lists(rows=rows, frames=frames)
    steps = [_dh_step(_dh_row(row, Subject(f"dh row {i}")), Subject(f"dh row {i}"), convention) for i, row in enumerate(rows, 1)]
    parts = Parts(inertias, drives, limits, mimics, link_names, joint_names, places)
    parts.check(len(steps))
    if not isinstance(base, str):
        start, base = Subject("base").pose("", base), "base"
        steps[:1] = [replace(step, origin=snapped(start @ step.origin)) for step in steps[:1]]
    if tool is not None and steps:
        frames = [*frames, Frame("tool", parts.get("link_names", -1, f"link{len(steps)}"), Subject("tool").pose("", tool))]
    return _serial(name, steps, parts, frames, Link(base, base_inertia), gravity, strict)


def screws_model(
    screws: Sequence[Sequence[Scalar] | Screw],
    home_poses: Sequence[Matrix] | None = None,
    *,
    tool: Matrix | None = None,
    relative: bool = False,
    body_screws: bool = False,
    name: str = "robot",
    inertias: Sequence[Inertia | None] | None = None,
    drives: Sequence[Drive | None] | None = None,
    limits: Sequence[Limits | Sequence[float] | np.ndarray | None] | np.ndarray | None = None,
    mimics: Sequence[Mimic | str | tuple[str, Scalar, Scalar] | None] | None = None,
    link_names: Sequence[str] | None = None,
    joint_names: Sequence[str] | None = None,
    frames: Sequence[Frame] = (),
    base: str = "base",
    base_inertia: Inertia | None = None,
    gravity: Sequence[Scalar] = GRAVITY,
    strict: bool = False,
    places: Sequence[Place | None] | None = None,
) -> Model:
    """A serial arm from its screw axes: link i stands at `exp(S_1 q_1) ... exp(S_i q_i) M_i`.

    Args:
        screws: `[w; v]` of each joint at q = 0, angular part first, in base axes about the base's origin. A length other than 1
            is kept (the joint moves that much more per unit of its coordinate) and reported; a pitch makes a helical joint.
        home_poses: 4 x 4 poses `M_i` of the link frames in the base at q = 0; without them each link frame stands on its axis.
        tool: 4 x 4 pose of a frame named `tool` on the last link, in the base at q = 0.
        relative: each pose is given in the frame before it, the tool's in that of the last link; the tool may then be the last
            of `home_poses` (Modern Robotics' `Mlist`).
        body_screws: the screws are given in the tool's frame (`Blist`).
        inertias: of each link in its frame.
        limits, mimics, base_inertia, places: as in `dh_model`.

    Raises:
        ModelValueError: a number that is not finite, a screw without direction, a pose not in SE(3), a wrong type.
        ModelStructureError: no screws, or a list whose length is not that of the table.

    >>> tool = np.eye(4)
    >>> tool[0, 3] = 1.0
    >>> arm = qddot.from_screws([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -0.5, 0]], tool=tool)  # two hinges about z, 0.5 m apart
    >>> arm.transform([0, np.pi / 2])[:3, 3].round(3)
    array([0.5, 0.5, 0. ])
    """
    _check_lists(screws=screws, home_poses=() if home_poses is None else home_poses, frames=frames)
    homes, tool_pose = _homes(home_poses, tool, len(screws), relative)
    axes = [_twist(screw, Subject(f"screw {i}")) for i, screw in enumerate(screws, 1)]
    if body_screws:
        if tool_pose is None:
            raise ModelValueError(
                "body screws are given in the tool's frame", element="tool", fix="give the pose of the tool at q = 0"
            )
        axes = [(tool_pose.out(twist), subject) for twist, subject in axes]
    parts = Parts(inertias, drives, limits, mimics, link_names, joint_names, places)
    parts.check(len(screws))
    steps, before = [], Transform()
    for i, (twist, subject) in enumerate(axes):
        step, before = _screw_step(twist, subject, before, homes[i] if homes else None)
        steps.append(step)
    if tool_pose is not None and steps:
        last = parts.get("link_names", -1, f"link{len(steps)}")
        frames = [*frames, Frame("tool", last, snapped(before.inverse @ tool_pose))]
    kinematic = not any(inertias or ()) and base_inertia is None  # bare screws make no claim about mass, so none can be wrong
    return _serial(name, steps, parts, frames, Link(base, base_inertia), gravity, strict and not kinematic)


def inertia_from_spatial_matrix(G: Sequence[Sequence[float]] | Sequence[float] | np.ndarray) -> Inertia:
    """The inertia in a 6 x 6 spatial matrix `[[I, m[c]], [m[c]^T, m 1]]` about the frame's origin, or in its diagonal (6,).

    Raises:
        ModelValueError: not the matrix of a rigid body.

    >>> qddot.inertia_from_spatial_matrix([0.1, 0.2, 0.3, 2.0, 2.0, 2.0]).mass
    2.0
    """
    subject = Subject("spatial inertia")
    try:
        G = finite_array("G", G)
    except InputError as error:
        raise subject.error(str(error), fix="give 6 x 6 numbers, or the 6 of a diagonal") from None
    G = np.diag(G) if G.shape == (6,) else G
    if G.shape != (6, 6):
        raise subject.error(f"6 x 6 numbers are needed, the shape is {G.shape}", fix="give the whole matrix, or its diagonal (6,)")
    I, H, mass = G[:3, :3], G[:3, 3:], G[5, 5]
    tolerance = 1e-9 * max(abs(G).max(), 1e-300)
    rigid = np.block([[I, H], [-H, mass * np.eye(3)]])
    if abs(G - G.T).max() > tolerance or abs(G - rigid).max() > tolerance:
        raise subject.error("no rigid body has this matrix", fix="angular part first: [[I, m[c]], [m[c]^T, m 1]]")
    h = (H[2, 1], H[0, 2], H[1, 0])
    return Inertia.from_ten_vector([mass, *h, *I[np.triu_indices(3)]])


def _check_lists(**lists: Any) -> None:
    for name, value in lists.items():
        if isinstance(value, (str, Mapping)) or not isinstance(value, (Sequence, np.ndarray)):
            raise Subject(name).error("a list is needed", value=value, fix="put it in brackets: [...]")


# rows -----------------------------------------------------------------------------------------------------------------------


def _dh_row(row: Any, subject: Subject) -> DHRow:
    if isinstance(row, DHRow):
        return row
    if isinstance(row, Mapping):
        known = [field.name for field in fields(DHRow)]
        for key in row:
            if key not in known:
                raise subject.error("unknown key", str(key), fix=near_matches(str(key), known))
        return DHRow(**row)
    if isinstance(row, str) or not isinstance(row, (Sequence, np.ndarray)) or len(row) != 4:
        raise subject.error("a row is (a, alpha, d, theta)", value=row, fix="give four numbers")
    return DHRow(*row)


def _dh_step(row: DHRow, subject: Subject, convention: str) -> Joint:
    """Rotation and translation about one axis commute, so both joint types share one pair of constant poses."""
    subject = subject.at(row.place)
    a, alpha, d, theta = (subject.number(key, getattr(row, key)) for key in ("a", "alpha", "d", "theta"))
    for key, angle in (("alpha", alpha), ("theta", theta)):
        subject.angles(key, (angle,))
    if row.type not in TYPES:
        raise subject.error("unknown joint type in a DH table", "type", row.type, "use revolute or prismatic")
    turn, along = Transform(about_z(theta), Vec(0.0, 0.0, 0.0)), Vec(0.0, 0.0, d)
    if convention == "standard":
        return _joint(TYPES[row.type], turn, Transform(about_x(alpha), Vec(a, 0.0, d)), place=subject.place)
    before = Transform(about_x(alpha), Vec(a, 0.0, 0.0))
    return _joint(TYPES[row.type], snapped(before @ Transform(turn.R, along)), place=subject.place)


def _homes(
    poses: Sequence[Matrix] | None, tool: Matrix | None, count: int, relative: bool
) -> tuple[list[Transform], Transform | None]:
    """Poses of the link frames and of the tool in the base at q = 0."""
    homes = [Subject(f"home pose {i}").pose("", pose) for i, pose in enumerate(() if poses is None else poses, 1)]
    end = None if tool is None else Subject("tool").pose("", tool)
    if relative and end is None and len(homes) == count + 1:
        end = homes.pop()
    if homes and len(homes) != count:
        raise ModelStructureError(
            f"{len(homes)} home poses for {count} screws", element="home poses", fix="give one for each screw"
        )
    if relative:
        at, absolute = Transform(), []
        for home in homes:
            at = at @ home
            absolute.append(snapped(at))
        homes, end = absolute, end and at @ end
    return homes, end


def _twist(screw: Any, subject: Subject) -> tuple[Motion, Subject]:
    if isinstance(screw, Screw):
        subject, screw = subject.at(screw.place), screw.axis
    numbers = subject.vector("screw", screw, 6)
    return Motion(Vec(*numbers[:3]), Vec(*numbers[3:])), subject


def _screw_step(twist: Motion, subject: Subject, before: Transform, home: Transform | None) -> tuple[Joint, Transform]:
    """The joint of one screw, between the link frame before it and its own, both at q = 0; and the latter."""
    w, v = twist
    turning, sliding = _length(w), _length(v)
    if turning is None or (sliding is None and turning == 0):
        raise subject.error("the direction of a screw needs plain numbers", value=twist.components(), fix="give its symbols values")
    if turning == 0 and sliding == 0:
        raise subject.error(
            "the screw is zero: it has no direction", value=twist.components(), fix="give (w, v) with w or v of length 1"
        )
    hinge = turning > NO_TURN * (sliding or 0.0)
    rate = turning if hinge or sliding is None else sliding
    if abs(rate - 1) > UNIT_TOLERANCE:
        rule = f"the screw has length {rate:.6g}, not 1: its joint moves {rate:.6g} per unit of its coordinate"
        warn(rule, place=subject.place, element=subject.element, text=str(twist.components()))
    else:
        rate = 1.0
    if hinge:
        point, pitch = w.cross(v) * (1 / turning**2), _pitch(w, v, turning, sliding)
        kind, axis = ("revolute" if is_zero(pitch) else "helical"), w * (1 / turning)
    else:  # any line will do: the one through the link's own origin
        point, pitch, kind, axis = (home or before).p, 0.0, "prismatic", v * (1 / rate)
    joint = Transform(Transform().R, snapped(point))
    home = joint if home is None else home
    origin, tip = snapped(before.inverse @ joint), snapped(joint.inverse @ home)
    return _joint(kind, origin, tip, axis=snapped(axis), pitch=pitch, rate=rate, place=subject.place), home


def _length(v: Vec) -> float | None:
    return None if any(map(is_symbolic, v)) else sqrt(v.dot(v))


def _pitch(w: Vec, v: Vec, turning: float, sliding: float | None) -> Scalar:
    """Metres a radian along the axis; what is rounding noise beside the lever arm is none."""
    along = w.dot(v)
    if is_symbolic(along):
        return 0.0 if _vanishes([x * y for x, y in zip(w, v)]) else along / turning**2
    return 0.0 if abs(along) <= NO_PITCH * turning * (sliding or 1.0) else along / turning**2


def _vanishes(terms: list[Scalar]) -> bool:
    """Whether the terms cancel whatever their symbols are, judged at a few points: expanding them might take forever."""
    rng, symbols = random.Random(0), sorted(symbols_in(Vec(*terms)), key=str)
    for _ in range(3):
        point = {symbol: rng.uniform(0.5, 1.5) for symbol in symbols}
        values = [complex(x.evalf(30, subs=point)) if is_symbolic(x) else x for x in terms]
        if not abs(sum(values)) <= NO_PITCH * max(map(abs, values)):
            return False
    return True


def _joint(kind: str, origin: Transform, tip: Transform = Transform(), **rest: Any) -> Joint:  # noqa: B008
    """A joint whose place in the arm `_serial` gives."""
    return Joint("", kind, "", "", origin, tip=tip, **rest)


def _serial(
    name: str, steps: list[Joint], parts: Parts, frames: Sequence[Frame], base: Link, gravity: Sequence[Scalar], strict: bool
) -> Model:
    robot = Subject(f"robot {name!r}")
    robot.instance("name", name, str)
    robot.instance("base", base.name, str)
    if base.inertia is not None:
        robot.instance("base_inertia", base.inertia, Inertia)
    for frame in frames:
        robot.instance("frames", frame, Frame)
    if not steps:
        raise ModelStructureError("the table has no rows", element=f"robot {name!r}", fix="give one row for each joint")
    links, joints = [base], []
    for i, step in enumerate(steps):
        link = Link(
            parts.part("link_names", i, str, f"link{i + 1}"),
            parts.part("inertias", i, Inertia),
            parts.get("places", i, step.place),
        )
        subject = Subject(f"joint {i + 1}", step.place)
        joints.append(
            replace(
                step,
                name=parts.part("joint_names", i, str, f"joint{i + 1}"),
                parent=links[-1].name,
                child=link.name,
                limits=subject.limits(parts.get("limits", i)),
                mimic=subject.mimic(parts.get("mimics", i)),
                drive=parts.part("drives", i, Drive),
            )
        )
        links.append(link)
    return Model(name, links, joints, frames, gravity, strict=strict)
