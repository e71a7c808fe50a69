"""Drawings of the kinematic tree with its drives, as plain text and as SVG. Names are text and never markup."""

from __future__ import annotations

from html import escape
from pathlib import Path

from qddot.arguments import file_path
from qddot.model.constraints import Coupling
from qddot.model.description import Joint
from qddot.model.drive import Drive
from qddot.model.lower import in_order
from qddot.model.model import Model
from qddot.model.scalar import few_digits, is_zero

ROW, INDENT, MARGIN = 30, 26, 14  # px
WIDTH_OF_A_CHARACTER = 7.3  # px at 13 px
COLORS = {"link": "#0072B2", "joint": "currentColor", "drive": "#D55E00", "frame": "#777", "loop": "#CC79A7"}


class Diagram:
    """A robot's tree: `print` shows it as text, a notebook as a drawing, `svg()` and `save(path)` give the drawing.

    Each line is a link and the joint that moves it, with gear, motor and friction. Coupled motors and constraints that close loops
    follow below the tree.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        below: dict[str, list[Joint]] = {}
        for joint in in_order(model.joints, model.root):
            below.setdefault(joint.parent, []).append(joint)
        self.lines = [Line(0, -1, model.root, None, self.frames(model.root))]
        stack = [(joint, 0) for joint in reversed(below.get(model.root, []))]
        while stack:
            joint, parent = stack.pop()
            self.lines.append(Line(self.lines[parent].depth + 1, parent, joint.child, joint, self.frames(joint.child)))
            stack += [(x, len(self.lines) - 1) for x in reversed(below.get(joint.child, []))]

    @property
    def is_plain(self) -> bool:
        """True for a mere chain of links and joints: no branch, drive, coupled motor or loop."""
        parents = [line.parent for line in self.lines]
        return len(set(parents)) == len(parents) and not self.notes and not any(line.has_drive for line in self.lines)

    def frames(self, link: str) -> list[str]:
        return [frame.name for frame in self.model.frames if frame.link == link]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """(kind, words) of each part outside the tree: coupled motors, loops."""
        found = []
        for x in self.model.transmissions:
            for motor, row, drive in zip(x.motors, x.matrix, x.drives):
                terms = " + ".join(f"{few_digits(n)} {joint}" for n, joint in zip(row, x.joints) if not is_zero(n))
                rest = drive_words(drive)
                found.append(("drive", f"motor {motor} turns by {terms}" + (f"; {rest}" if rest else "")))
        for x in self.model.constraints:
            if isinstance(x, Coupling):
                words = f"{x.joint} is given by {x.leader}" if x.leader else f"{x.joint} is held"
            else:
                words = f"{x.link1} - {x.link2}"
            state = "" if x.active else " (not active)"
            name = "" if x.name == "loop" else f"{x.name}: "  # each line begins with "loop" already
            found.append(("loop", f"{type(x).__name__.lower()} {name}{words}{state}"))
        return found

    def __str__(self) -> str:
        rows = [self.prefix(k) + line.words for k, line in enumerate(self.lines)]
        return "\n".join([*rows, *(f"{kind}: {words}" for kind, words in self.notes)])

    __repr__ = __str__

    def prefix(self, k: int) -> str:
        """Return the branches on the left of a line."""
        if k == 0:
            return ""
        at, text = self.lines[k].parent, "|-- " if self.has_later_sibling(k) else "`-- "
        while at > 0:
            text = ("|   " if self.has_later_sibling(at) else "    ") + text
            at = self.lines[at].parent
        return text

    def has_later_sibling(self, k: int) -> bool:
        return any(line.parent == self.lines[k].parent for line in self.lines[k + 1 :])

    # the drawing ------------------------------------------------------------------------------------------------------

    def svg(self) -> str:
        """Return the drawing, a complete `<svg>` element."""
        rows = [(MARGIN + INDENT * line.depth, line) for line in self.lines]
        width = max(x + 20 + WIDTH_OF_A_CHARACTER * len(line.words) for x, line in rows)
        width = max([width, *(MARGIN + WIDTH_OF_A_CHARACTER * (len(words) + 8) for _, words in self.notes)]) + MARGIN
        height = 2 * MARGIN + ROW * (len(rows) + len(self.notes))
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
            f'role="img" font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{text_of(f'Kinematic tree of {self.model.name}')}</title>",
        ]
        y = [MARGIN + ROW * k + ROW / 2 for k in range(len(rows) + len(self.notes))]
        for k, (x, line) in enumerate(rows):
            if line.parent >= 0:
                stem = MARGIN + INDENT * self.lines[line.parent].depth + 7
                path = f"M{stem} {y[line.parent] + 7:g}V{y[k]:g}H{x}"
                dash = ' stroke-dasharray="3 3"' if line.joint and line.joint.kind == "fixed" else ""
                parts.append(f'<path d="{path}" fill="none" stroke="#999"{dash}/>')
        for k, (x, line) in enumerate(rows):
            parts.append(f'<rect x="{x}" y="{y[k] - 7:g}" width="14" height="14" rx="4" fill="{COLORS["link"]}"/>')
            spans = "".join(f'<tspan fill="{COLORS[kind]}">{text_of(words)}</tspan>' for kind, words in line.parts)
            parts.append(f'<text x="{x + 20}" y="{y[k] + 4.5:g}" xml:space="preserve">{spans}</text>')
        for k, (kind, words) in enumerate(self.notes, start=len(rows)):
            parts.append(f'<text x="{MARGIN}" y="{y[k] + 4.5:g}" fill="{COLORS[kind]}">{text_of(f"{kind}: {words}")}</text>')
        return "\n".join([*parts, "</svg>"])

    _repr_svg_ = svg

    def save(self, path: str | Path) -> None:
        """Write the drawing if the name ends with .svg, else the text."""
        file_path("path", path).write_text(self.svg() if str(path).endswith(".svg") else f"{self}\n", encoding="utf-8")


class Line:
    """A line of the diagram: a link, and the joint that moves it."""

    def __init__(self, depth: int, parent: int, link: str, joint: Joint | None, frames: list[str]) -> None:
        self.depth, self.parent, self.joint = depth, parent, joint
        self.parts = [("link", link)]
        if joint:
            self.parts.append(("joint", f"  {joint_words(joint)}"))
            drive = drive_words(joint.drive)
            self.parts += [("drive", f"  [{drive}]")] if drive else []
        self.parts += [("frame", f"  frames: {', '.join(frames)}")] if frames else []

    @property
    def has_drive(self) -> bool:
        return any(kind == "drive" for kind, _ in self.parts)

    @property
    def words(self) -> str:
        return "".join(words for _, words in self.parts)


def joint_words(joint: Joint) -> str:
    """Return words such as `elbow: revolute about z`."""
    words = f"{joint.name}: {joint.kind}"
    if joint.kind not in ("fixed", "free", "spherical"):
        axis = tuple(joint.axis)
        units = {(1, 0, 0): "x", (0, 1, 0): "y", (0, 0, 1): "z", (-1, 0, 0): "-x", (0, -1, 0): "-y", (0, 0, -1): "-z"}
        along = {"prismatic": "along", "planar": "normal to"}.get(joint.kind, "about")
        words += f" {along} {units.get(axis) or '(' + ', '.join(map(few_digits, axis)) + ')'}"
    if joint.mimic:
        offset = "" if is_zero(joint.mimic.offset) else f" + {few_digits(joint.mimic.offset)}"
        words += f", follows {few_digits(joint.mimic.multiplier)} {joint.mimic.joint}{offset}"
    return words


def drive_words(drive: Drive | None) -> str:
    """Return words such as `gear 100, rotor 2e-05 kg m^2, friction`."""
    if drive is None:
        return ""
    side = drive.at_joint
    words = [] if drive.gear_ratio == 1 else [f"gear {few_digits(drive.gear_ratio)}"]
    words += [] if is_zero(drive.rotor_inertia) else [f"rotor {few_digits(drive.rotor_inertia)} kg m^2"]
    words += ["gyroscope"] if drive.rotor_axis is not None else []
    words += [f"elastic {few_digits(drive.series_stiffness)} N m/rad"] if drive.series_stiffness is not None else []
    words += ["spring"] if not is_zero(side.stiffness) else []
    words += ["harmonics"] if side.harmonics else []
    words += ["friction"] if side.friction.laws or side.friction.is_dry else []
    return ", ".join(words)


def text_of(words: str) -> str:
    """Return words as the text of an element; characters that XML does not allow are replaced."""
    return escape(
        "".join(c if c >= " " and not 0xD800 <= ord(c) <= 0xDFFF and c not in "\ufffe\uffff" else "\ufffd" for c in words)
    )
