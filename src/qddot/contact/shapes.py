"""Shapes that touch: spheres on frames of a robot (points are spheres of radius zero) and planes of the world; gaps and Jacobians.

A contact has a normal n, from the second body to the first, and a gap. The rows of its Jacobian give the relative velocity of the
two bodies at the point of contact, along n and along two tangents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.algorithms.kinematics import path_to_root
from qddot.arguments import finite_array, finite_number
from qddot.errors import InputError, as_written
from qddot.model.lower import WORLD
from qddot.model.pose import to_matrix

if TYPE_CHECKING:
    from qddot.robot import Robot


def three_numbers(name: str, value: Any) -> None:
    """Raise an InputError unless these are three finite numbers."""
    if finite_array(name, value).shape != (3,):
        raise InputError(f"{name}={as_written(value)}: three numbers (x, y, z), m, are needed")


@dataclass(frozen=True)
class Sphere:
    """A ball on a frame of the robot: `radius` in m, 0 for a point; its `center` in that frame, m.

    >>> qddot.contact.Sphere("foot", radius=0.02, center=(0, 0, -0.1))
    Sphere(frame='foot', radius=0.02, center=(0, 0, -0.1))
    """

    frame: str
    radius: float = 0.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if finite_number("radius", self.radius) < 0:
            raise InputError(f"radius={self.radius!r} of the sphere on {self.frame!r} is negative")
        three_numbers("center", self.center)


@dataclass(frozen=True)
class Plane:
    """A wall of the world through `point`; its `normal` points to the side where the robot may be.

    >>> qddot.contact.Plane(point=(1, 0, 0), normal=(-1, 0, 0))  # a wall ahead
    Plane(point=(1, 0, 0), normal=(-1, 0, 0))
    """

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        three_numbers("point", self.point)
        three_numbers("normal", self.normal)


class Touching(NamedTuple):
    """Pairs that are close at one configuration: gaps (k,), normals and points (k, 3), the two bodies (k,), numbers of pairs
    (k,)."""

    gap: np.ndarray
    normal: np.ndarray
    point: np.ndarray
    first: np.ndarray
    second: np.ndarray
    pair: np.ndarray


class Contacts:
    """All pairs of a robot's spheres with planes and with each other, and their friction and restitution.

    Args:
        spheres, planes: the shapes that may touch.
        friction: Coulomb's coefficient, one number for all.
        restitution: ratio of the normal speeds after and before an impact, 0 to 1.
        among: True if spheres on different bodies may touch each other.

    Raises:
        InputError: a frame that is fixed to the world or carries no mass, a coefficient out of range, nothing to touch.

    >>> from qddot.contact import Contacts, Plane, Sphere
    >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()  # it moves along z
    >>> contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()], restitution=0.5)
    >>> at = contacts.touching([0.5])
    >>> at.gap.round(3)
    array([0.4])
    >>> contacts.jacobian([0.5], at)[0, 0]  # how the gap opens
    array([1.])
    >>> contacts.pair_name(0)
    'ball on plane 1'
    """

    def __init__(
        self,
        robot: Robot,
        spheres: Sequence[Sphere],
        planes: Sequence[Plane] = (),
        *,
        friction: float = 0.5,
        restitution: float = 0.0,
        among: bool = True,
    ) -> None:
        friction, restitution = finite_number("friction", friction), finite_number("restitution", restitution)
        if friction < 0:
            raise InputError(f"friction={friction!r} is not a coefficient: a number from 0 on")
        if not 0 <= restitution <= 1:
            raise InputError(f"restitution={restitution!r}: a share of the speed is from 0 to 1")
        if isinstance(spheres, Sphere) or isinstance(planes, Plane):
            raise InputError("spheres and planes are lists: [Sphere(...)], [Plane(...)]")
        for name, given, kind in (("spheres", spheres, Sphere), ("planes", planes, Plane)):
            several = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
            if wrong := [x for x in given if not isinstance(x, kind)] if several else [given]:
                raise InputError(f"{name} has {as_written(wrong[0])}: a list of qddot.contact.{kind.__name__}(...) is needed")
        if robot.model.quantities:
            raise InputError(f"{robot.name} is given by its energies, without links that could touch: its limits= are stops")
        self.robot, self.friction, self.restitution = robot, float(friction), float(restitution)
        self.spheres, self.planes = tuple(spheres), tuple(planes)
        model = robot.model
        self.bodies = np.array([model.frame(s.frame)[0] for s in self.spheres], int)
        for sphere, body in zip(self.spheres, self.bodies):
            if body == WORLD:
                raise InputError(f"frame {sphere.frame!r} is fixed to the world: a contact belongs to something that moves")
            if not all(model.bodies[b].is_link for b in path_to_root(model, body)):
                raise InputError(
                    f"frame {sphere.frame!r} hangs on a planar joint, whose sliders have no links: use two sliders and a hinge"
                )
            carried = [b.inertia for b in model.bodies if body in path_to_root(model, b.index)]
            if not any(float(x.m) > 0 or float(x.I.trace) > 0 for x in carried):
                raise InputError(
                    f"frame {sphere.frame!r} is on a body without mass, and nothing beyond it has any: an impact would be endless"
                )
        self.radii = np.array([s.radius for s in self.spheres])
        normals = np.array([p.normal for p in self.planes], float).reshape(-1, 3)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        if not (lengths > 0).all():
            raise InputError("a plane has the normal 0, which has no direction")
        self.normals, self.points = normals / lengths, np.array([p.point for p in self.planes], float).reshape(-1, 3)
        pairs = combinations(range(len(self.spheres)), 2) if among else ()
        self.pairs = np.array([(i, j) for i, j in pairs if self.bodies[i] != self.bodies[j]], int).reshape(-1, 2)
        if not self.spheres or (not self.planes and not len(self.pairs)):
            raise InputError("nothing can touch: give spheres, and planes or other spheres")
        self._frames = [robot.frame_names.index(s.frame) for s in self.spheres]
        self._centers = np.array([s.center for s in self.spheres], float)
        self._columns = Columns(robot)

    def __repr__(self) -> str:
        spheres, planes = (
            f"{n} {what}{'' if n == 1 else 's'}" for n, what in ((len(self.spheres), "sphere"), (len(self.planes), "plane"))
        )
        law = f"friction {self.friction:g}, restitution {self.restitution:g}"
        return f"Contacts of {self.robot.name!r}: {spheres}, {planes}, {law}"

    def pair_name(self, k: int) -> str:
        """Return the name of pair k, such as `"foot on plane 1"` or `"left and right"`."""
        n, m = len(self.spheres), len(self.planes)
        if k < n * m:
            return f"{self.spheres[k // m].frame} on plane {k % m + 1}"
        i, j = self.pairs[k - n * m]
        return f"{self.spheres[i].frame} and {self.spheres[j].frame}"

    def touching(self, q: np.ndarray, within: float = np.inf) -> Touching:
        """Return all pairs whose gap is at most `within`, m, at one configuration."""
        if not (isinstance(within, float) and within == np.inf):
            within = finite_number("within", within)
        T = self.robot.transforms(q)
        if T.ndim != 3:
            raise InputError(
                f"touching is for one configuration ({self.robot.nq},), this is a batch {T.shape[:-3]} (depth takes them)"
            )
        c, gap, apart = self._gaps(T)
        n, m, (i, j) = len(self.spheres), len(self.planes), self.pairs.T
        length = np.linalg.norm(apart, axis=1, keepdims=True)
        between = np.where(length > 0, apart / np.maximum(length, 1e-300), [0.0, 0.0, 1.0])
        normal = np.concatenate([np.broadcast_to(self.normals, (n, m, 3)).reshape(-1, 3), between])
        ball = np.concatenate([np.repeat(np.arange(n), m), i])
        other = np.concatenate([np.full(n * m, WORLD), self.bodies[j]])
        near = np.flatnonzero(gap <= within)
        points = c[ball[near]] - normal[near] * self.radii[ball[near]][:, None]
        return Touching(gap[near], normal[near], points, self.bodies[ball[near]], other[near], near)

    def depth(self, q: np.ndarray) -> np.ndarray:
        """Return the deepest penetration (...) at configurations (..., nq), m; 0 where no bodies are inside each other.

        >>> arm = qddot.load("two_link")
        >>> contacts = qddot.contact.Contacts(arm, [qddot.contact.Sphere(arm.tip)], [qddot.contact.Plane(normal=(0, 1, 0))])
        >>> contacts.depth(np.array([[0.5, 0.0], [-np.pi / 2, 0.0]]))
        array([0. , 1.2])
        """
        _, gap, _ = self._gaps(self.robot.transforms(q))
        return 0.0 - gap.min(-1, initial=0.0)

    def _gaps(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the centres (..., spheres, 3), the gaps of all pairs (..., pairs), and the vectors from the second sphere of a
        pair to the first, for the poses of all frames."""
        T = T[..., self._frames, :, :]
        c = np.einsum("...kij,kj->...ki", T[..., :3, :3], self._centers) + T[..., :3, 3]
        to_planes = ((c[..., None, :] - self.points) * self.normals).sum(-1) - self.radii[:, None]
        i, j = self.pairs.T
        apart = c[..., i, :] - c[..., j, :]
        between = np.linalg.norm(apart, axis=-1) - self.radii[i] - self.radii[j]
        return c, np.concatenate([to_planes.reshape(*c.shape[:-2], -1), between], axis=-1), apart

    def jacobian(self, q: np.ndarray, at: Touching) -> np.ndarray:
        """Return the Jacobian (k, 3, nv) of the relative velocities along the normal and two tangents."""
        columns = self._columns.at(q)
        J = columns.of_points(at.first, at.point)
        moving = at.second != WORLD
        if moving.any():
            J[moving] -= columns.of_points(at.second[moving], at.point[moving])
        return np.einsum("kri,kic->krc", axes(at.normal), J)


def axes(normal: np.ndarray) -> np.ndarray:
    """Return an orthonormal triad (k, 3, 3) for each normal (k, 3): rows n, t1, t2."""
    least = np.eye(3)[np.abs(normal).argmin(-1)]
    t1 = np.cross(normal, least)
    t1 /= np.linalg.norm(t1, axis=-1, keepdims=True)
    return np.stack([normal, t1, np.cross(normal, t1)], axis=-2)


class Columns:
    """The motion that each column of qd causes, for all bodies at once: efficient for many points on many bodies."""

    def __init__(self, robot: Robot) -> None:
        self.robot, bodies = robot, robot.model.bodies
        moved = [(b, c, s) for b in bodies if b.is_link for c, s in zip(b.columns, b.joint.subspace)]
        self.body = np.array([b.index for b, _, _ in moved], int)
        self.column = np.array([c for _, c, _ in moved], int)
        self.w = np.array([[float(x) * float(b.rate) for x in s.w] for b, _, s in moved], float)
        self.v = np.array([[float(x) * float(b.rate) for x in s.v] for b, _, s in moved], float)
        links = [b for b in bodies if b.is_link]
        self.frames = [robot.frame_names.index(b.name) for b in links]
        self.place = np.full(len(bodies), -1)
        self.place[[b.index for b in links]] = range(len(links))
        self.back = np.stack([np.linalg.inv(to_matrix(b.link)) for b in links])
        self.carries = np.zeros((len(bodies), len(moved)), bool)  # True if an entry moves a body
        for b in bodies:
            self.carries[b.index] = np.isin(self.body, [*path_to_root(robot.model, b.index)])

    def at(self, q: np.ndarray) -> Placed:
        T = self.robot.transforms(q)[self.frames] @ self.back
        T = T[self.place[self.body]]
        R = T[:, :3, :3]
        return Placed(self, np.einsum("eij,ej->ei", R, self.w), np.einsum("eij,ej->ei", R, self.v), T[:, :3, 3])


class Placed(NamedTuple):
    """Angular and linear velocity that each entry causes, at its joint's origin, in world axes."""

    columns: Columns
    w: np.ndarray
    v: np.ndarray
    p: np.ndarray

    def of_points(self, body: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return the Jacobians (k, 3, nv) of points (k, 3) on bodies (k,)."""
        velocity = self.v + np.cross(self.w, point[:, None] - self.p)
        velocity *= self.columns.carries[body][:, :, None]
        J = np.zeros((self.columns.robot.nv, len(point), 3))
        np.add.at(J, self.columns.column, velocity.swapaxes(0, 1))  # joints that follow another add to its column
        return np.moveaxis(J, 0, -1)
