"""A robot's links as capsules: around the shapes that its description draws, or between its frames with a given radius."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.model.description import Visual
from qddot.model.mesh import arrays, read
from qddot.model.pose import to_matrix
from qddot.robot import Robot

AROUND = np.stack([np.cos(np.arange(16) * np.pi / 8), np.sin(np.arange(16) * np.pi / 8)], axis=1) / np.cos(np.pi / 16)
"""Corners of a regular polygon circumscribed about the unit circle."""


class End(NamedTuple):
    """A point that is fixed to a frame: its offset from the origin, along the frame's axes, m."""

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


class Capsule(NamedTuple):
    """The points within `radius` of the segment between two ends; `body` is the moving link that it belongs to."""

    body: str
    start: End
    end: End
    radius: float
    length: float


def described_capsules(robot: Robot) -> list[Capsule]:
    """One capsule for each moving link with drawn shapes, and one for the base, around all of these shapes. Raises InputError: the
    description draws nothing."""
    model, at = robot.model, robot.neutral()
    owner = {body.index: body.name for body in model.bodies if body.is_link}
    points: dict[str, list[np.ndarray]] = {}
    for link in model.links:
        if link.visuals:
            body = owner.get(model.mechanism.frames[link.name][0], model.root)
            pose = np.linalg.solve(robot.transform(at, body), robot.transform(at, link.name))
            points.setdefault(body, []).extend(seen @ pose[:3, :3].T + pose[:3, 3] for seen in map(outline, link.visuals))
    if not points:
        raise InputError(
            f"the description of {robot.name} draws no shapes to keep apart: give radius= in m, of capsules about its links"
        )
    return [about(body, np.concatenate(some)) for body, some in points.items()]


def outline(visual: Visual) -> np.ndarray:
    """Points (k, 3) in the link's frame whose convex hull contains a shape."""
    if visual.kind == "mesh":
        vertices, _ = arrays(read(visual.file))  # type: ignore[arg-type]
        found = vertices * np.array(visual.size)
    elif visual.kind == "box":
        found = np.array(list(product((-0.5, 0.5), repeat=3))) * visual.size
    else:  # a cylinder, a capsule or a sphere
        radius, length = (*visual.size, 0.0)[:2]
        half = length / 2 + (radius if visual.kind != "cylinder" else 0.0)
        found = np.vstack([np.column_stack([radius * AROUND, np.full(len(AROUND), z)]) for z in (-half, half)])
    pose = to_matrix(visual.pose)
    return found @ pose[:3, :3].T + pose[:3, 3]


def about(body: str, points: np.ndarray) -> Capsule:
    """A capsule that contains points (k, 3), along the direction in which they are spread most."""
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    axis = np.linalg.svd(points - centre, full_matrices=False)[2][0]
    along = (points - centre) @ axis
    across = points - centre - np.outer(along, axis)
    radius = max(float(np.linalg.norm(across, axis=1).max()), 1e-6)
    room = np.sqrt(np.maximum(radius**2 - np.sum(across**2, axis=1), 0.0))  # by which a spherical end reaches beyond its centre
    low, high = float((along + room).min()), float((along - room).max())
    low, high = (low, high) if low < high - 1e-9 else ((low + high) / 2 - 5e-10, (low + high) / 2 + 5e-10)
    start, end = (tuple(float(x) for x in centre + s * axis) for s in (low, high))
    return Capsule(body, End(body, start), End(body, end), radius, high - low)  # type: ignore[arg-type]


def frame_capsules(robot: Robot, radius: float) -> tuple[list[Capsule], list[tuple[int, int]]]:
    """Capsules from each moving link to the next one and to the frames at the ends, and the pairs of them that can be apart.

    Neighbours always touch, and so may links with less than two radii of arm between them.
    """
    mechanism = robot.model.mechanism
    frames = [robot.model.root, *robot.body_names]
    place = {name: k for k, name in enumerate(frames)}
    of_body = {body.index: place[body.name] for body in robot.model.bodies if body.is_link}
    parent = {place[link]: place[carrier] for link, carrier in parents(robot)}
    last = [k for k, end in of_body.items() if end not in parent.values()]
    for index in last:  # a capsule on to the farthest frame that is fixed to it
        fixed = {name: pose.p for name, (of, pose) in mechanism.frames.items() if of == index and name not in place}
        if fixed:
            here = robot.model.bodies[index].link.p
            far = max(fixed, key=lambda name: float(np.linalg.norm(np.array(fixed[name] - here, float))))
            parent[len(frames)] = of_body[index]
            frames.append(far)
    q = robot.neutral()
    origin = np.array([robot.transform(q, frame)[:3, 3] for frame in frames])
    length = {end: float(np.linalg.norm(origin[end] - origin[start])) for end, start in parent.items()}
    segments = [(start, end) for end, start in parent.items() if length[end] > 1e-9]
    capsules = [Capsule(frames[start], End(frames[start]), End(frames[end]), radius, length[end]) for start, end in segments]
    apart = [
        (i, j) for i, j in combinations(range(len(segments)), 2) if between(segments[i], segments[j], parent, length) > 2 * radius
    ]
    return capsules, apart


def between(one: tuple[int, int], other: tuple[int, int], parent: dict[int, int], length: dict[int, float]) -> float:
    """Length of arm between the nearer ends of two segments of the tree, m; 0 for those that share an end."""

    def to_root(frame: int) -> dict[int, float]:
        found, total = {frame: 0.0}, 0.0
        while frame in parent:
            total += length[frame]
            frame = parent[frame]
            found[frame] = total
        return found

    ways = [(to_root(a), to_root(b)) for a in one for b in other]
    return min(min(x[k] + y[k] for k in x if k in y) for x, y in ways)


def parents(robot: Robot) -> Iterator[tuple[str, str]]:
    """Yield each moving link and the moving link that carries it, or the root."""
    owner = {body.index: body.name for body in robot.model.bodies if body.is_link}
    for body in robot.model.bodies:
        above = body.parent
        while above >= 0 and above not in owner:
            above = robot.model.bodies[above].parent
        if body.is_link:
            yield body.name, owner.get(above, robot.model.root)
