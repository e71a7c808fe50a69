"""Distances of a robot to itself, to the floor and to boxes around it: as numbers, and as CasADi expressions for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array
from qddot.errors import InputError
from qddot.identify.excitation.capsules import Capsule, described_capsules, frame_capsules, parents
from qddot.robot import Robot
from qddot.thresholds import PARTING_POSTURES, SAME_DISTANCE

Box = tuple[ArrayLike, ArrayLike]
"""Centre (3,) and edges (3,) of a box along the world's axes, m."""


@dataclass(frozen=True, eq=False)
class Clearance:
    """Pairs of links, floor and boxes that must stay apart."""

    capsules: tuple[Capsule, ...]  # the robot's links
    pairs: tuple[tuple[int, int], ...]  # pairs of indices into `capsules`
    floor: float | None = None  # height of the floor, m; None: there is none
    standing: tuple[int, ...] = ()  # indices of capsules that must stay above the floor
    boxes: np.ndarray | None = None  # centres and half edges (boxes, 2, 3), m
    # (capsule, box, fraction of the capsule's length): a capsule is represented by points on its axis, at most a radius apart
    beside: tuple[tuple[int, int, float], ...] = ()

    @staticmethod
    def of(robot: Robot, radius: float | str, floor: float | None = None, boxes: Sequence[Box] = ()) -> Clearance:
        """Make the capsules of a robot, and select the distances to keep: those that are positive in some random posture. Parts
        that touch in every posture are built so.

        Args:
            radius: radius of capsules between the origins of frames, m; or `"described"`: capsules around the drawn shapes.
            floor: height of the floor, m.
            boxes: (centre, edges) of each box, m, along the world's axes.

        Raises:
            InputError: a description without shapes, malformed boxes, or a link that moves and is below the floor or in a box in
                every posture.
        """
        if isinstance(radius, str):
            found = described_capsules(robot)
            near = {frozenset(pair) for pair in parents(robot)}
            apart = [(i, j) for i, j in combinations(range(len(found)), 2) if frozenset((found[i].body, found[j].body)) not in near]
        else:
            found, apart = frame_capsules(robot, radius)
        halves = [(finite_array("boxes", centre), finite_array("boxes", edges) / 2) for centre, edges in boxes]
        for centre, half in halves:
            if centre.shape != (3,) or half.shape != (3,) or not (half > 0).all():
                raise InputError(
                    f"boxes: centre {centre.tolist()} and edges {(2 * half).tolist()}: three numbers each, edges above 0"
                )
        moves = [k for k, capsule in enumerate(found) if capsule.body != robot.model.root]
        both = [(k, b, s) for k in moves for b in range(len(halves)) for s in along(found[k])]
        above, about = tuple(moves) if floor is not None else (), np.array(halves) if halves else None
        whole = Clearance(tuple(found), tuple(apart), floor, above, about, tuple(both))
        draw = np.random.default_rng(0)
        q = np.stack([robot.random_configuration(draw) for _ in range(PARTING_POSTURES)])
        distances = whole.clearance(robot, q)
        parted = np.asarray((distances > 0).any(axis=0))
        can_part = np.split(parted, np.cumsum([len(whole.pairs), len(whole.standing)]))
        refuse_buried(whole, parted, np.ptp(distances, axis=0) > SAME_DISTANCE)
        pairs, standing, beside = (tuple(compress(*x)) for x in zip((whole.pairs, whole.standing, whole.beside), can_part))
        return replace(whole, pairs=pairs, standing=standing, beside=beside)

    @property
    def count(self) -> int:
        """Number of distances."""
        return len(self.pairs) + len(self.standing) + len(self.beside)

    def clearance(self, robot: Robot, q: np.ndarray) -> np.ndarray:
        """Distances (..., count) between the surfaces at q (..., nq), m; negative where two overlap."""
        poses = {point.frame: robot.transform(q, point.frame) for c in self.capsules for point in (c.start, c.end)}
        place = lambda point: poses[point.frame][..., :3, :3] @ np.array(point.offset) + poses[point.frame][..., :3, 3]  # noqa: E731
        ends = [(place(capsule.start), place(capsule.end)) for capsule in self.capsules]
        values = np.stack(self._measures(ends, NUMPY), axis=-1) if self.count else np.zeros((*np.shape(q)[:-1], 0))
        squared = np.r_[np.ones(len(self.pairs)), np.zeros(len(self.standing)), np.ones(len(self.beside))] > 0
        return np.where(squared, np.sqrt(np.maximum(values, 0.0)), values) - self._reach()

    def expressions(self, robot: Robot, q: Any, ca: Any) -> list[Any]:
        """The measures of clearance as CasADi expressions of q, each of which must be at least that of `least`."""
        poses = {point.frame: robot.casadi("transform", frame=point.frame)(q) for c in self.capsules for point in (c.start, c.end)}
        place = lambda point: poses[point.frame][:3, :3] @ ca.DM(point.offset) + poses[point.frame][:3, 3]  # noqa: E731
        return self._measures([(place(c.start), place(c.end)) for c in self.capsules], Casadi(ca))

    def least(self, tighter: float = 0.0) -> np.ndarray:
        """Lower bounds (count,) of the measures: of squared distances, and of heights of ends above the floor."""
        reach = self._reach() * (1 + tighter)
        heights = slice(len(self.pairs), len(self.pairs) + len(self.standing))
        found = reach**2
        found[heights] = reach[heights]
        return found

    def _reach(self) -> np.ndarray:
        """Distances (count,) of axes at which surfaces touch; for boxes with half the distance between a capsule's points."""
        radii = np.array([capsule.radius for capsule in self.capsules])
        pairs = [radii[i] + radii[j] for i, j in self.pairs]
        return np.array([*pairs, *radii[list(self.standing)], *(1.5 * radii[k] for k, _, _ in self.beside)], float)

    def _measures(self, ends: list[tuple[Any, Any]], over: Any) -> list[Any]:
        """Squared distances of pairs, heights above the floor, squared distances from boxes."""
        found = [squared_distance(*ends[i], *ends[j], over) for i, j in self.pairs]
        found += [over.lower(over.z(ends[k][0]), over.z(ends[k][1])) - self.floor for k in self.standing]
        for k, b, s in self.beside:
            (start, end), (centre, half) = ends[k], self.boxes[b]  # type: ignore[index]
            found.append(over.beside(start + over.times(end - start, s), centre, half))
        return found


def refuse_buried(whole: Clearance, parted: np.ndarray, moves: np.ndarray) -> None:
    """Refuse a floor or box that a moving part of the robot never leaves; a part that does not move is mounted there."""
    around = [(k, "below the floor") for k in whole.standing] + [(k, f"in box {b + 1}") for k, b, _ in whole.beside]
    for (k, where), apart, some in zip(around, parted[len(whole.pairs) :], moves[len(whole.pairs) :]):
        if some and not apart:
            body = whole.capsules[k].body
            raise InputError(
                f"{body} moves, and is {where} in each of {PARTING_POSTURES} postures: are heights and places in m right?"
            )


def along(capsule: Capsule) -> np.ndarray:
    """Points on a capsule's axis, at most a radius apart, as fractions of its length."""
    return np.linspace(0, 1, max(2, 1 + int(np.ceil(capsule.length / capsule.radius))))


class NUMPY:
    """Operations for `squared_distance`, over arrays (..., 3)."""

    dot = staticmethod(lambda a, b: (a * b).sum(-1))
    clip = staticmethod(lambda x: np.clip(x, 0.0, 1.0))
    times = staticmethod(lambda a, s: a * np.asarray(s)[..., None])
    z = staticmethod(lambda a: a[..., 2])
    lower = staticmethod(np.minimum)
    beside = staticmethod(lambda p, centre, half: (np.maximum(np.abs(p - centre) - half, 0.0) ** 2).sum(-1))


class Casadi:
    """Operations for `squared_distance` over columns (3, 1)."""

    def __init__(self, ca: Any) -> None:
        self.dot, self.clip, self.times = ca.dot, lambda x: ca.fmin(ca.fmax(x, 0), 1), lambda a, s: a * s
        self.z, self.lower = lambda a: a[2], ca.fmin
        self.beside = lambda p, centre, half: ca.sumsqr(ca.fmax(ca.fabs(p - ca.DM(centre)) - ca.DM(half), 0))


def squared_distance(p: Any, p_end: Any, r: Any, r_end: Any, over: Any) -> Any:
    """Squared distance of two segments, between the nearest points `p + s u` and `r + t v`, found on the lines and then limited to
    the segments (Ericson 2005, 5.1.9).

    At the minimum the derivatives with respect to s and t vanish, so the result is smooth wherever one pair of points is nearest.
    """
    u, v, w = p_end - p, r_end - r, p - r
    uu, uv, vv, uw, vw = over.dot(u, u), over.dot(u, v), over.dot(v, v), over.dot(u, w), over.dot(v, w)
    s = over.clip((uv * vw - uw * vv) / (uu * vv - uv * uv + 1e-9 * uu * vv))  # on parallel lines any point will do
    t = over.clip((s * uv + vw) / vv)
    s = over.clip((t * uv - uw) / uu)
    d = w + over.times(u, s) - over.times(v, t)
    return over.dot(d, d)
