"""Serial arms from a table of Denavit-Hartenberg parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from qddot.errors import near_matches
from qddot.formats.serial import Matrix, Parts, check_lists, serial_joint, serial_model
from qddot.formats.subject import Subject
from qddot.model.check import warn
from qddot.model.description import Frame, Joint, Limits, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import about_x, about_z, snapped
from qddot.model.scalar import Scalar
from qddot.model.spatial import Transform, Vec
from qddot.place import Place

CONVENTIONS = ("standard", "modified")
CONVENTION_FIX = 'say convention = "standard", or "modified" for Craig\'s'
TYPES = {"revolute": "revolute", "R": "revolute", "prismatic": "prismatic", "P": "prismatic"}


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
    """Return a serial arm from its Denavit-Hartenberg table.

    Args:
        rows: `(a, alpha, d, theta)`, or a mapping with these keys and `type` (`"revolute"` or `"prismatic"`, short `"R"`, `"P"`);
            a missing key is zero. A text is read as in a file: `"pi/2"` is a number, `"l1/2"` has a symbol.
        convention: `"standard"`: link frame i is `Rz(theta) Tz(d) Tx(a) Rx(alpha)` from frame i-1, at the far end of its link;
            `"modified"` (Craig): `Rx(alpha) Tx(a) Rz(theta) Tz(d)`, at the near end. None: standard, with a warning.
        inertias: inertia of each link in its DH frame.
        limits: for each joint `Limits`, or (lower, upper) in rad or m.
        mimics: for each joint `Mimic`, or the name of the joint to follow, or (joint, multiplier, offset).
        tool: 4 x 4 pose of a frame named `tool` in the last link's frame.
        base: name of the fixed link; or the 4 x 4 pose, in that link's frame, of the frame in which the table begins.
        base_inertia: inertia of the fixed link, in its frame; matters only if the base is made to float.
        places: places of the inertias in a file, for messages.

    Raises:
        ModelValueError: a number that is not finite, an unknown convention or joint type, a row of the wrong length, a wrong type.
        ModelStructureError: no rows, or a list whose length is not that of the table.

    >>> arm = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], convention="standard", inertias=[qddot.Inertia.point(1.0)] * 2)
    >>> arm.transform([0, np.pi / 2])[:3, 3].round(3)
    array([0.5, 0.4, 0. ])
    >>> letters = qddot.from_dh([("a1", 0, 0, 0), ("a2", 0, 0, 0)], convention="standard", inertias=[qddot.Inertia.point(1.0)] * 2)
    >>> print(letters.equations().M[0, 1])
    a1*a2*c2 + a2**2
    """
    if convention is None:
        warn("no convention is given: the table is read as standard DH", element="dh", fix=CONVENTION_FIX)
        convention = "standard"
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        raise Subject("dh").error("unknown convention", "convention", convention, near_matches(str(convention), CONVENTIONS))
    check_lists(rows=rows, frames=frames)
    steps = [_dh_step(_dh_row(row, Subject(f"dh row {i}")), Subject(f"dh row {i}"), convention) for i, row in enumerate(rows, 1)]
    parts = Parts(inertias, drives, limits, mimics, link_names, joint_names, places)
    parts.check(len(steps))
    if not isinstance(base, str):
        start, base = Subject("base").pose("", base), "base"
        steps[:1] = [replace(step, origin=snapped(start @ step.origin)) for step in steps[:1]]
    if tool is not None and steps:
        frames = [*frames, Frame("tool", parts.get("link_names", -1, f"link{len(steps)}"), Subject("tool").pose("", tool))]
    return serial_model(name, steps, parts, frames, Link(base, base_inertia), gravity, strict)


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
    """Return the joint of one row. Rotation and translation about one axis commute, so both joint types have the same poses."""
    subject = subject.at(row.place)
    a, alpha, d, theta = (subject.number(key, getattr(row, key)) for key in ("a", "alpha", "d", "theta"))
    for key, angle in (("alpha", alpha), ("theta", theta)):
        subject.angles(key, (angle,))
    if row.type not in TYPES:
        raise subject.error("unknown joint type in a DH table", "type", row.type, "use revolute or prismatic")
    turn, along = Transform(about_z(theta), Vec(0.0, 0.0, 0.0)), Vec(0.0, 0.0, d)
    if convention == "standard":
        return serial_joint(TYPES[row.type], turn, Transform(about_x(alpha), Vec(a, 0.0, d)), place=subject.place)
    before = Transform(about_x(alpha), Vec(a, 0.0, 0.0))
    return serial_joint(TYPES[row.type], snapped(before @ Transform(turn.R, along)), place=subject.place)
