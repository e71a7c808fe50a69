"""The figure of the robot with its frames: lines, discs and labels in a plane, which any format can draw.

A planar robot is seen along the normal of its plane, any other from a corner, with gravity down the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from qddot.algorithms.kinematics import world_poses
from qddot.errors import ModelError
from qddot.model.configuration import neutral
from qddot.model.field import Floats
from qddot.model.joints import Helical, Prismatic, Revolute, Rotor
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import Model
from qddot.model.spatial import Transform
from qddot.pictures.view import common_normal, flat_view, from_a_corner, unit
from qddot.symbolic.derivation.steps import Math
from qddot.symbolic.derivation.subject import Subject, with_values
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.exact.rounded_angles import rounded_angles
from qddot.symbolic.form import Form

WIDTH, HEIGHT, MARGIN = 460.0, 300.0, 46.0
ANGLE = 0.6  # angle of every hinge in the figure, rad
TRIAD, ARC, JOINT = 30.0, 26.0, 7.0  # lengths and radii on the page
MANY = 8  # the most moving links for which more than frames is labelled

ASIDE = (  # shifts that are tried for a label
    (0, 0),
    *((r * x, r * y) for r in (14, 24, 34) for x, y in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))),
)
LABEL = (12.0, 8.0)  # half the width and height of a label
HALFWAY, ALONE = 0.5, 0.7  # place of a centre of mass whose distance is a symbol: fraction of its link; m, for a link without end

Point = tuple[float, float]


class Path(NamedTuple):
    """A line through points. Its look depends on `kind`: `link`, `ground`, `x`, `y`, `z`, `measure`, `gravity`, `joint`."""

    kind: str
    points: tuple[Point, ...]
    arrow: bool = False


class Disc(NamedTuple):
    """A circle, filled with the paper (`joint`) or with ink (`mass`)."""

    kind: str
    at: Point
    radius: float


class Label(NamedTuple):
    """LaTeX of the derivation, or a closed form, centred at a point."""

    at: Point
    text: Math | Form


class Figure(NamedTuple):
    """Shapes on a page of `WIDTH` x `height`, y upwards."""

    shapes: tuple[Path | Disc | Label, ...]
    height: float
    caption: str


def figure_of(s: Subject, on_joints: bool) -> Figure | None:
    """Return the figure of a robot with the frames of its links, or with those on its joints; None if nothing moves."""
    return Drawing(s, on_joints).figure() if s.links else None


class Drawing:
    """A view of the robot in one configuration."""

    def __init__(self, s: Subject, on_joints: bool) -> None:
        self.s, self.on_joints = s, on_joints
        self.model = model = drawable(s).over(Floats())
        self.bodies = [body for body in model.bodies if not isinstance(body.joint, Rotor)]
        self.q = self.configuration()
        self.poses = world_poses(model, self.q)
        down = np.array(model.gravity, dtype=float)
        self.view, self.is_flat = view_of([self.axis(x) for x in self.bodies], [x.joint for x in self.bodies], down)
        self.few = len(self.bodies) <= MANY
        self.measured = self.few and self.is_flat
        ends = [p for body in self.bodies for p in (self.origin(body.index), *self.ends(body))]
        flat = np.array([self.view @ p for p in [np.zeros(3), *ends]])
        low, high = flat.min(axis=0), flat.max(axis=0)
        size = np.maximum(high - low, 1e-9)
        room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
        self.scale = float(min(room / size)) if max(high - low) > 1e-9 else 1.0
        self.height = float(min(HEIGHT, max(size[1] * self.scale, 2 * TRIAD) + 2 * MARGIN))
        self.shift = np.array([WIDTH, self.height]) / 2 - self.scale * (low + high) / 2

    def configuration(self) -> list[float]:
        """Return a configuration with hinges bent and sliders pulled out."""
        q = neutral(self.s.model.mechanism)
        long = max([1e-9, *(float(np.linalg.norm(np.array(x.placement.p, dtype=float))) for x in self.bodies)])
        for c in self.s.model.mechanism.coordinates:
            for i, part in zip(c.q, c.parts):
                if len(c.q) == len(c.parts) and not part.quaternion:
                    low, high = (c.limits.lower, c.limits.upper) if c.single else (-math.inf, math.inf)
                    wish = ANGLE if part.angle else (long if long > 1e-6 else 1.0)
                    q[i] = wish if low <= wish <= high else (low + high) / 2
        return q.tolist()

    # places ------------------------------------------------------------------------------------------------------------------

    def axis(self, body: LiftedBody) -> np.ndarray:
        return np.array([row[2] for row in self.poses[body.index].R], dtype=float)

    def origin(self, i: int) -> np.ndarray:
        return np.array(self.poses[i].p, dtype=float)

    def frame(self, body: LiftedBody) -> Transform:
        """Return the frame of a link that the derivation uses."""
        own = Transform() if self.on_joints or self.s.equations.exact_model.symbolic == "all" else body.link
        return self.poses[body.index] @ own

    def mass_point(self, body: LiftedBody) -> np.ndarray | None:
        m, h, _ = body.inertia
        return np.array(self.poses[body.index].point(h * (1 / m)), dtype=float) if m > 0 else None

    def ends(self, body: LiftedBody) -> list[np.ndarray]:
        """Return the points that a link leads to: the joints it carries; for the last link its own frame or its centre of mass."""
        above = [self.origin_at_rest(x) for x in self.bodies if x.parent == body.index]
        if any(np.linalg.norm(p - self.origin(body.index)) > 1e-9 for p in above):
            return above
        frames = (self.model.frame(frame.name) for frame in self.s.model.frames)
        tips = [body.link, *(pose for i, pose in frames if i == body.index)]
        far = [np.array((self.poses[body.index] @ tip).p, dtype=float) for tip in tips]
        point = self.mass_point(body)
        far = far if any(np.linalg.norm(p - self.origin(body.index)) > 1e-9 for p in far) or point is None else [point]
        return [max(far, key=lambda p: float(np.linalg.norm(p - self.origin(body.index))))]

    def origin_at_rest(self, body: LiftedBody) -> np.ndarray:
        """Return the origin of a joint before it moves."""
        return np.array((self.poses[body.parent] @ body.placement).p, dtype=float)

    def page(self, p: np.ndarray) -> np.ndarray:
        """Return the place of a point on the page."""
        return self.scale * (self.view @ p) + self.shift

    def turned(self, v: np.ndarray, length: float) -> np.ndarray:
        """Return a unit vector in space as one on the page, of this length if it lies in the page."""
        return self.view @ v * length

    # shapes ------------------------------------------------------------------------------------------------------------------

    def figure(self) -> Figure:
        shapes = [*self.ground(), *self.links(), *self.joints(), *self.masses(), *self.frames(), *self.gravity()]
        which = "on their joints" if self.on_joints else "of the links"
        caption = f"{self.s.model.name}, with the frames {which}" + ("" if self.is_flat else ", seen from a corner")
        return Figure(tuple(apart(shapes, self.height)), self.height, caption)

    def ground(self) -> Iterator[Path | Disc | Label]:
        for body in self.bodies:
            if body.parent == WORLD:
                yield path("ground", self.page(np.zeros(3)), self.page(self.origin_at_rest(body)))
        x, y = self.page(np.zeros(3)) - np.array([0, JOINT])
        yield Path("ground", ((x - 16, y), (x + 16, y)))
        for side in (-14, -6, 2, 10):
            yield Path("ground", ((x + side, y - 7), (x + side + 5, y)))

    def links(self) -> Iterator[Path | Disc | Label]:
        for body in self.bodies:
            start = self.origin(body.index)
            for end in self.ends(body):
                yield path("link", self.page(start), self.page(end))
        if self.measured:
            yield from self.lengths()

    def lengths(self) -> Iterator[Label]:
        """Yield labels beside links for distances with a single component."""
        for body in self.s.lifted.bodies:
            if body.parent == WORLD or isinstance(body.joint, (Rotor, Prismatic)):
                continue
            long = [x for x in body.placement.p if x != 0]
            start, end = self.page(self.origin(body.parent)), self.page(self.origin_at_rest(self.model.bodies[body.index]))
            if len(long) == 1 and np.linalg.norm(end - start) > 40:
                yield Label(beside(start, end, 15), self.s.form(size(long[0])))
        for link in self.s.links:
            body = self.model.bodies[link.body.index]
            point, carries = self.mass_point(body), any(x.parent == body.index for x in self.bodies)
            long = [x for x in link.point if x != 0] if link.point is not None else []
            if point is not None and len(long) == 1 and not carries and np.allclose(point, self.ends(body)[0]):
                start, end = self.page(self.origin(body.index)), self.page(point)
                if np.linalg.norm(end - start) > 40 and np.allclose(np.array(body.link.p, dtype=float), 0):
                    yield Label(beside(start, end, 15), self.s.form(size(long[0])))

    def joints(self) -> Iterator[Path | Disc | Label]:
        for body in self.bodies:
            at, axis = self.page(self.origin(body.index)), self.turned(self.axis(body), 1.0)
            if isinstance(body.joint, Prismatic):
                start = self.page(self.origin_at_rest(body))
                yield path("link", start, at)
                along = unit(axis) if np.linalg.norm(axis) > 0.2 else np.array([1.0, 0.0])
                across = np.array([-along[1], along[0]]) * JOINT
                corners = [at + s * along * 1.6 * JOINT + t * across for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
                yield path("joint", *corners)
                if self.few and np.linalg.norm(at - start) > 12:
                    yield path("measure", start + 2.4 * across, at + 2.4 * across, arrow=True)
                    yield Label(tuple((start + at) / 2 + 4.4 * across), self.letter(body))
                continue
            if np.linalg.norm(axis) > 0.5:
                yield path("joint", at - axis * 1.9 * JOINT, at + axis * 1.9 * JOINT)
            yield Disc("joint", tuple(at), JOINT)
            if self.few and isinstance(body.joint, (Revolute, Helical)):
                yield from self.angle(body, at)

    def angle(self, body: LiftedBody, at: np.ndarray) -> Iterator[Path | Label]:
        """Yield an arc from the x axis at q = 0 to the x axis now, with its letter; the letter alone if it cannot be seen."""
        before = self.poses[body.parent] @ body.placement
        starts, ends = (
            self.turned(np.array([row[0] for row in pose.R], dtype=float), 1.0) for pose in (before, self.poses[body.index])
        )
        if not self.is_flat or body.rate != 1 or body.offset != 0:
            yield Label((at[0] + 16, at[1] + 14), self.letter(body))
            return
        first, last = (math.atan2(v[1], v[0]) for v in (starts, ends))
        turn = (last - first + math.pi) % (2 * math.pi) - math.pi
        steps = [first + turn * k / 8 for k in range(9)]
        yield path("measure", at, at + 2.2 * ARC * unit(starts))
        yield path("measure", *(at + ARC * np.array([math.cos(a), math.sin(a)]) for a in steps), arrow=True)
        middle = first + turn / 2
        yield Label(tuple(at + 1.65 * ARC * np.array([math.cos(middle), math.sin(middle)])), self.letter(body))

    def letter(self, body: LiftedBody) -> Math:
        return Math(rf"q_{{{body.coordinates[0] + 1}}}")

    def masses(self) -> Iterator[Path | Disc | Label]:
        for body in self.bodies:
            point = self.mass_point(body)
            if point is None:
                continue
            at = self.page(point)
            yield Disc("mass", tuple(at), 3.2)
            if self.measured:
                along = at - self.page(self.origin(body.index))
                left = unit(np.array([-along[1], along[0]])) if np.linalg.norm(along) > 1 else np.array([1.0, 0.0])
                yield Label(tuple(at + 17 * left), Math(rf"m_{{{body.index + 1}}}"))

    def frames(self) -> Iterator[Path | Disc | Label]:
        yield from self.triad(Transform(), "0", self.page(np.zeros(3)))
        for body in self.bodies:
            if body.is_link:
                pose = self.frame(body)
                yield from self.triad(pose, str(body.index + 1), self.page(np.array(pose.p, dtype=float)))

    def triad(self, pose: Transform, name: str, at: np.ndarray) -> Iterator[Path | Label]:
        seen = {axis: self.turned(np.array([row[k] for row in pose.R], dtype=float), TRIAD) for k, axis in enumerate("xyz")}
        for axis, v in seen.items():
            if np.linalg.norm(v) > 0.2 * TRIAD:
                yield path(axis, at, at + v, arrow=True)
        away = -unit(sum(seen.values(), np.zeros(2))) * 0.75 * TRIAD
        yield Label(tuple(at + (away if name != "0" else (-1.2 * TRIAD, -0.2 * TRIAD))), Math(rf"\{{{name}\}}"))

    def gravity(self) -> Iterator[Path | Disc | Label]:
        down = np.array(self.model.gravity, dtype=float)
        seen = self.turned(unit(down), 38.0) if down.any() else np.zeros(2)
        if np.linalg.norm(seen) > 12:
            start = np.array([WIDTH - 24, self.height - 16])
            yield path("gravity", start, start + seen, arrow=True)
            yield Label(tuple(start + seen / 2 - (15, 0)), Math(r"\vec g"))


def drawable(s: Subject) -> Model:
    """Return the robot of the kernels; symbols that only place a centre of mass get values that put it on its link."""
    numeric, generators = s.kernels.model.over(Floats()), s.alphabet.ring.generators

    def symbols(*entries: Any) -> set[str]:
        letters = {i for x in entries if isinstance(x, Poly) for i in x.letters()}
        return {generators[i].name for i in letters} & s.drawn.keys()

    lengths = symbols(*(x for body in s.lifted.bodies for x in (*body.placement.p, *body.link.p)))
    values = dict(s.drawn)
    for link in s.links:
        own = symbols(*link.point) - lengths if link.point is not None else set()
        ends = [x.placement.p for x in numeric.bodies if x.parent == link.body.index]
        ends.append(numeric.bodies[link.body.index].link.p)
        length = max(float(np.linalg.norm(np.array(p, dtype=float))) for p in ends)
        values.update(dict.fromkeys(own, HALFWAY * length if length > 1e-9 else ALONE) if len(own) == 1 else {})
    if values == s.drawn:
        return s.kernels.model
    try:
        return rounded_angles(with_values(s.model, values))
    except ModelError:  # no valid robot: the one that was checked is drawn
        return s.kernels.model


def view_of(axes: list[np.ndarray], joints: list[object], down: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the two directions of the page (2, 3), and True if all motion lies in it."""
    turning = [axis for axis, joint in zip(axes, joints) if isinstance(joint, (Revolute, Helical))]
    sliding = [axis for axis, joint in zip(axes, joints) if isinstance(joint, Prismatic)]
    normal = common_normal(turning, sliding) if len(turning) + len(sliding) == len(axes) else None
    if normal is not None:
        return flat_view(normal, down), True
    return from_a_corner(down), False


def apart(shapes: list[Path | Disc | Label], height: float) -> Iterator[Path | Disc | Label]:
    """Yield the shapes, with labels that would cover others, a link, a joint, a mass or a measure moved a little, or left out."""
    taken = [(*shape.at, shape.radius, shape.radius) for shape in shapes if isinstance(shape, Disc)]
    lines = [shape.points for shape in shapes if isinstance(shape, Path) and shape.kind in ("link", "joint", "measure")]
    ends = [(np.array(a), np.array(b)) for points in lines for a, b in pairwise(points)]
    taken += [
        (*map(float, a + t * (b - a)), 0.0, 0.0) for a, b in ends for t in np.linspace(0, 1, 2 + int(np.linalg.norm(b - a) / 6))
    ]
    w, h = LABEL
    for shape in shapes:
        if isinstance(shape, Label):
            tried = [(shape.at[0] + x, shape.at[1] + y) for x, y in ASIDE]
            inside = [at for at in tried if w <= at[0] <= WIDTH - w and h <= at[1] <= height - h]
            free = next(
                (at for at in inside if all(abs(at[0] - x) >= w + a or abs(at[1] - y) >= h + b for x, y, a, b in taken)), None
            )
            if free is None:
                continue
            taken.append((*free, w, h))
            shape = shape._replace(at=free)
        yield shape


def size(x: Any) -> Any:
    """Return a length without its sign."""
    number = x.value if isinstance(x, Poly) and x.is_constant else x
    return -x if not isinstance(number, Poly) and number < 0 else x


def path(kind: str, *points: np.ndarray, arrow: bool = False) -> Path:
    return Path(kind, tuple((float(x), float(y)) for x, y in points), arrow)


def beside(start: np.ndarray, end: np.ndarray, distance: float) -> Point:
    """Return a point on the right of a line, away from the joint at its start."""
    along = unit(end - start)
    x, y = start + 0.72 * (end - start) + np.array([along[1], -along[0]]) * distance
    return float(x), float(y)
