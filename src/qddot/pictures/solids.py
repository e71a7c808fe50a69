"""Shapes as convex solids with corners and four-cornered faces, and their outlines in a view."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qddot.pictures.shapes import Shape
from qddot.pictures.view import at_right_angles, norm

SIDES, RINGS = 18, 4
"""Corners of a circle, and circles of half a sphere."""

LONG = 3.0
"""Faces longer than this many radii are divided, so that the middles of faces show which one is nearer."""


class Solid(NamedTuple):
    """`corners` (k, 3) in the frame of the body, and `faces` (n, 4): four indices each, counter-clockwise from outside."""

    kind: str
    corners: np.ndarray
    faces: np.ndarray

    def placed(self, pose: np.ndarray) -> np.ndarray:
        """Return the corners (k, 3), moved by a pose (4 x 4)."""
        return self.corners @ pose[:3, :3].T + pose[:3, 3]


def solid(shape: Shape) -> Solid:
    """Return the solid of a shape."""
    kind = shape["kind"]
    if kind == "mesh":
        return Solid(kind, shape["points"], shape["faces"][:, [0, 1, 2, 2]])
    if kind in ("capsule", "sphere") and "pose" in shape:  # a shape of the description
        pose = np.reshape(shape["pose"], (3, 4))
        made = solid({"at": (0.0, 0.0, 0.0), **{k: v for k, v in shape.items() if k != "pose"}})
        return made._replace(corners=made.corners @ pose[:, :3].T + pose[:, 3])
    if kind == "capsule":
        start, end, r = np.array(shape["from"]), np.array(shape["to"]), shape["radius"]
        length = norm(end - start)
        between = np.linspace(0, length, max(2, round(length / (LONG * r)) + 1))[1:-1]
        below, above = np.array(half_sphere(r)), np.array(half_sphere(r))[::-1] * (1, -1) + (0, length)
        return along(start, end - start, kind, np.concatenate([below, [(r, z) for z in between] or np.zeros((0, 2)), above]))
    if kind in ("ball", "sphere"):
        below = np.array(half_sphere(shape["radius"]))
        return along(np.array(shape["at"]), np.array([0.0, 0.0, 1.0]), kind, np.concatenate([below, below[-2::-1] * (1, -1)]))
    pose = np.reshape(shape["pose"], (3, 4))
    if kind in ("block", "box"):
        x, y, z = shape["size"]
        made = revolved(kind, [(0, -z / 2), (1, -z / 2), (1, z / 2), (0, z / 2)], sides=4)
        local = made.corners * (x / np.sqrt(2), y / np.sqrt(2), 1)
    else:  # a drum, a rail, a cylinder
        r, half = shape["radius"], shape["length"] / 2
        made = revolved(kind, [(0, -half), (r, -half), (r, half), (0, half)])
        local = made.corners
    return Solid(kind, local @ pose[:, :3].T + pose[:, 3], made.faces)


def arrow(tail: np.ndarray, tip: np.ndarray, r: float) -> list[Solid]:
    """Return an arrow: a shaft of this radius, and a head."""
    neck = tip - (tip - tail) * (7 * r / norm(tip - tail))
    shaft = along(tail, tip - tail, "arrow", [(0, 0), (r, 0), (r, norm(neck - tail)), (0, norm(neck - tail))])
    return [shaft, along(neck, tip - tail, "arrow", [(0, 0), (2.8 * r, 0), (0, 7 * r)])]


def along(start: np.ndarray, direction: np.ndarray, kind: str, profile: np.ndarray | list) -> Solid:
    """Return the solid of revolution of a profile about the line from a point in a direction."""
    z = direction / norm(direction)
    x = at_right_angles(z)
    made = revolved(kind, profile)
    return made._replace(corners=made.corners @ np.array([x, np.cross(z, x), z]) + start)


def revolved(kind: str, profile: np.ndarray | list, sides: int = SIDES) -> Solid:
    """Return the solid of revolution about z of points (radius, height), the lowest first."""
    turn = 2 * np.pi * (np.arange(sides) + 0.5) / sides
    r, z = np.array(profile, dtype=float).T[:, :, None]
    corners = np.stack(np.broadcast_arrays(r * np.cos(turn), r * np.sin(turn), z), axis=-1).reshape(-1, 3)
    k, s = np.meshgrid(np.arange(len(r) - 1), np.arange(sides), indexing="ij")
    after = (s + 1) % sides
    faces = np.stack([k * sides + s, k * sides + after, (k + 1) * sides + after, (k + 1) * sides + s], axis=-1)
    return Solid(kind, corners, faces.reshape(-1, 4))


def half_sphere(r: float) -> list[tuple[float, float]]:
    """Return the profile of a sphere from its lowest point to its equator."""
    return [(r * np.cos(a), r * np.sin(a)) for a in np.linspace(-np.pi / 2, 0, RINGS + 1)]


def outline(points: np.ndarray) -> np.ndarray:
    """Return the corners, in order, of the convex polygon around points (k, 2)."""
    from scipy.spatial import ConvexHull

    return points[ConvexHull(points - points.mean(axis=0)).vertices]  # centred, to be accurate far from the origin
