"""How near a robot comes to itself, its links taken as capsules: segments between the origins of their frames, with a radius."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from qddot.robot import Robot


@dataclass(frozen=True)
class Capsules:
    """The pairs of capsules of a robot that could touch.

    Attributes:
        frames: whose origins are the ends of the segments.
        segments: pairs of places in `frames`.
        pairs: pairs of places in `segments`.
        radius: of all of them, m.
    """

    frames: tuple[str, ...]
    segments: tuple[tuple[int, int], ...]
    pairs: tuple[tuple[int, int], ...]
    radius: float

    @staticmethod
    def of(robot: Robot, radius: float) -> Capsules:
        """Segments from each moving link to the next one, and to the frames at the ends.

        Pairs that no posture parts are left out: neighbours, and links with less than two radii of arm between them.
        """
        mechanism = robot.model.mechanism
        frames = [robot.model.root, *robot.body_names]
        place = {name: k for k, name in enumerate(frames)}
        of_body = {body.index: place[body.name] for body in robot.model.bodies if body.is_link}
        parent: dict[int, int] = {}
        for body in robot.model.bodies:
            above = body.parent
            while above >= 0 and above not in of_body:
                above = robot.model.bodies[above].parent
            if body.is_link:
                parent[place[body.name]] = of_body.get(above, 0)
        last = [k for k, end in of_body.items() if end not in parent.values()]
        for index in last:  # on to the farthest of what is fixed there
            fixed = {name: pose.p for name, (of, pose) in mechanism.frames.items() if of == index and name not in place}
            if fixed:
                here = robot.model.bodies[index].link.p
                far = max(fixed, key=lambda name: float(np.linalg.norm(np.array(fixed[name] - here, float))))
                parent[len(frames)] = of_body[index]
                frames.append(far)
        q = robot.neutral()
        origin = np.array([robot.transform(q, frame)[:3, 3] for frame in frames])
        length = {end: float(np.linalg.norm(origin[end] - origin[start])) for end, start in parent.items()}
        segments = tuple((start, end) for end, start in parent.items() if length[end] > 1e-9)
        pairs = tuple(
            (i, j)
            for i, j in combinations(range(len(segments)), 2)
            if between(segments[i], segments[j], parent, length) > 2 * radius
        )
        return Capsules(tuple(frames), segments, pairs, radius)

    def clearance(self, robot: Robot, q: np.ndarray) -> np.ndarray:
        """Distances (..., pairs) between the surfaces at q (..., nq), m; negative where two overlap."""
        origin = [robot.transform(q, frame)[..., :3, 3] for frame in self.frames]
        ends = [(origin[start], origin[end]) for start, end in self.segments]
        return np.stack([np.sqrt(squared_distance(*ends[i], *ends[j], NUMPY)) - 2 * self.radius for i, j in self.pairs], axis=-1)

    def squared_distances(self, robot: Robot, q: Any, ca: Any) -> list[Any]:
        """Squared distances of the axes as CasADi expressions, one a pair, m^2."""
        origin = [robot.casadi("transform", frame=frame)(q)[:3, 3] for frame in self.frames]
        ends = [(origin[start], origin[end]) for start, end in self.segments]
        return [squared_distance(*ends[i], *ends[j], Casadi(ca)) for i, j in self.pairs]


def between(one: tuple[int, int], other: tuple[int, int], parent: dict[int, int], length: dict[int, float]) -> float:
    """Length of arm between the nearer ends of two segments of the tree, m; links that begin or end at one point touch."""

    def to_root(frame: int) -> dict[int, float]:
        found, total = {frame: 0.0}, 0.0
        while frame in parent:
            total += length[frame]
            frame = parent[frame]
            found[frame] = total
        return found

    ways = [(to_root(a), to_root(b)) for a in one for b in other]
    return min(min(x[k] + y[k] for k in x if k in y) for x, y in ways)


class NUMPY:
    """Operations for `squared_distance`, over arrays (..., 3)."""

    dot = staticmethod(lambda a, b: (a * b).sum(-1))
    clip = staticmethod(lambda x: np.clip(x, 0.0, 1.0))
    times = staticmethod(lambda a, s: a * s[..., None])


class Casadi:
    """Operations for `squared_distance` over columns (3, 1)."""

    def __init__(self, ca: Any) -> None:
        self.dot, self.clip, self.times = ca.dot, lambda x: ca.fmin(ca.fmax(x, 0), 1), lambda a, s: a * s


def squared_distance(p: Any, p_end: Any, r: Any, r_end: Any, over: Any) -> Any:
    """Squared distance of two segments: the nearest points `p + s u` and `r + t v`, first on the lines, then within the ends
    (Ericson 2005, 5.1.9).

    The derivatives of s and t do not matter at the minimum, so that the result is smooth wherever one pair of points is nearest.
    """
    u, v, w = p_end - p, r_end - r, p - r
    uu, uv, vv, uw, vw = over.dot(u, u), over.dot(u, v), over.dot(v, v), over.dot(u, w), over.dot(v, w)
    s = over.clip((uv * vw - uw * vv) / (uu * vv - uv * uv + 1e-9 * uu * vv))  # parallel lines: any point is as near
    t = over.clip((s * uv + vw) / vv)
    s = over.clip((t * uv - uw) / uu)
    d = w + over.times(u, s) - over.times(v, t)
    return over.dot(d, d)
