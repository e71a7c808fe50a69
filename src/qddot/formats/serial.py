"""Serial arms from a list of joints and lists of their other parts: the common end of DH tables and screws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from qddot.errors import ModelStructureError
from qddot.formats.subject import Subject
from qddot.model.description import Frame, Joint, Limits, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.model.scalar import Scalar
from qddot.model.spatial import Transform
from qddot.place import Place

Matrix = Sequence[Sequence[Scalar]] | np.ndarray | Transform


@dataclass(frozen=True)
class Parts:
    """Parts of a serial arm besides its geometry: lists with one entry per joint, or None."""

    inertias: Sequence[Inertia | None] | None = None
    drives: Sequence[Drive | None] | None = None
    limits: Sequence[Limits | Sequence[float] | np.ndarray | None] | np.ndarray | None = None
    mimics: Sequence[Mimic | str | tuple[str, Scalar, Scalar] | None] | None = None
    link_names: Sequence[str] | None = None
    joint_names: Sequence[str] | None = None
    places: Sequence[Place | None] | None = None

    def check(self, count: int) -> None:
        """Raise ModelValueError: not a list; ModelStructureError: a list without `count` entries."""
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
        """Return an entry of that type, or the default."""
        value = self.get(name, index)
        return default if value is None else Subject(name).instance(f"[{index}]", value, kind)

    def get(self, name: str, index: int, default: Any = None) -> Any:
        """Return an entry of any type, or the default."""
        given = getattr(self, name)
        return default if given is None or given[index] is None else given[index]


def check_lists(**lists: Any) -> None:
    for name, value in lists.items():
        if isinstance(value, (str, Mapping)) or not isinstance(value, (Sequence, np.ndarray)):
            raise Subject(name).error("a list is needed", value=value, fix="put it in brackets: [...]")


def serial_joint(kind: str, origin: Transform, tip: Transform = Transform(), **rest: Any) -> Joint:  # noqa: B008
    """Return a joint without names, which `serial_model` adds."""
    return Joint("", kind, "", "", origin, tip=tip, **rest)


def serial_model(
    name: str, steps: list[Joint], parts: Parts, frames: Sequence[Frame], base: Link, gravity: Sequence[Scalar], strict: bool
) -> Model:
    """Return the chain of the joints `steps`, each with its link and its other parts."""
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
            parts.part("link_names", i, str, f"link{i + 1}"), parts.part("inertias", i, Inertia), parts.get("places", i, step.place)
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
