"""Exact volume, centre and second moments of the solid inside a closed triangle mesh: each triangle and a common point make a
tetrahedron, whose volume is negative if the point is on the outer side of the triangle.

For a tetrahedron of signed volume V with corners 0, a, b, c and s = a + b + c:

    integral of x = V / 4 s,    integral of x x^T = V / 20 (a a^T + b b^T + c c^T + s s^T)
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qddot.errors import ModelError, ModelReferenceError, ModelValueError, missing_extra

FLAT = 1e-9  # fraction of the volume of its bounding box below which a mesh encloses nothing
SHOWN = 3  # edges that an error names


class Solid(NamedTuple):
    """A homogeneous body: volume (m^3), centre (3,), and second moments of volume about it (3, 3), `integral of x x^T` (m^5)."""

    volume: float
    centre: np.ndarray
    moments: np.ndarray


def solid_of(mesh: Any, scale: float = 1.0) -> Solid:
    """Return volume, centre and moments of the solid inside a mesh.

    Args:
        mesh: path of a file that `trimesh` reads, a pair (vertices (n, 3), triangles (m, 3)), or an object with such `vertices`
            and `faces`.
        scale: metres per unit of the mesh.

    Raises:
        MissingExtraError: a file, and `trimesh` is not installed.
        ModelReferenceError: no such file.
        ModelValueError: not a closed, consistently oriented surface around some volume; it says what is wrong.
    """
    if not isinstance(scale, (int, float, np.number)) or not 0 < scale < np.inf:
        raise refusal("a positive number is needed", "give metres per unit of the mesh: 0.001 for millimetres", f"scale={scale!r}")
    vertices, triangles = joined(*arrays(read(mesh) if isinstance(mesh, (str, PathLike)) else mesh))
    check_closed(vertices, triangles)
    origin = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    corners = (vertices - origin)[triangles] * scale  # relative to the middle, so that no digits are lost
    volumes = np.linalg.det(corners) / 6
    size = float(np.prod(np.ptp(corners.reshape(-1, 3), axis=0)))
    volume = float(volumes.sum())
    check_orientation(vertices, triangles, volumes, FLAT * size)
    if abs(volume) <= FLAT * size:
        raise refusal(f"it encloses no volume ({volume:.3g} m^3)", "give a mesh of a body that is not flat")
    s = corners.sum(axis=1)
    centre = volumes @ s / (4 * volume)
    moments = (np.einsum("t,tki,tkj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, s, s)) / 20
    moments = (moments + moments.T) / 2 - volume * np.outer(centre, centre)
    return Solid(volume, centre + origin * scale, moments)


def read(path: str | PathLike[str]) -> Any:
    """Read a mesh from a file; the parts of a scene become one mesh."""
    if not Path(path).is_file():
        raise ModelReferenceError("the mesh does not exist", element="mesh", text=str(path), fix="give the path of a mesh file")
    try:
        import trimesh
    except ImportError:
        raise missing_extra("trimesh", "mesh", "reading a mesh") from None
    try:
        return trimesh.load(Path(path), force="mesh", process=False)
    except Exception as error:  # a reader for each format, each with errors of its own
        raise refusal(f"it cannot be read: {error}", "save it as STL, OBJ or PLY", str(path)) from None


def arrays(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and triangles (m, 3), checked."""
    given = (mesh.vertices, mesh.faces) if hasattr(mesh, "vertices") and hasattr(mesh, "faces") else mesh
    try:
        vertices, triangles = (np.asarray(x) for x in given)
        vertices = vertices.astype(float)
    except (TypeError, ValueError):
        raise refusal("vertices (n, 3) and triangles (m, 3) are needed", "give a path, or a pair of arrays") from None
    if vertices.size == 0 or triangles.size == 0:
        raise refusal("the mesh is empty", "give one with triangles")
    if any(x.ndim != 2 or x.shape[1] != 3 for x in (vertices, triangles)) or triangles.dtype.kind not in "iu":
        shapes = f"vertices {vertices.shape} and faces {triangles.shape} of {triangles.dtype}"
        raise refusal(f"{shapes}: (n, 3) and (m, 3) whole numbers are needed", "cut polygons into triangles")
    if not np.isfinite(vertices).all():
        raise refusal("a vertex is not finite", "repair the mesh")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise refusal(f"a triangle names vertex {triangles.max()} of {len(vertices)}", "repair the mesh")
    return vertices, triangles


def joined(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge vertices at the same place, as STL files need, and leave out triangles that thereby lose a corner: they have no area,
    and their edges cancel."""
    places, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    return places, triangles[(a != b) & (b != c) & (c != a)]


def check_closed(vertices: np.ndarray, triangles: np.ndarray) -> None:
    """Refuse a mesh unless its triangles pass each edge once in each direction. Raises ModelValueError: a hole, triangles with
    opposite orientation, or more than two at an edge."""
    if not len(triangles):
        raise refusal("all its triangles are degenerate", "give a mesh with an area")
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    ends, index, uses = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    forward = np.bincount(index.reshape(-1), edges[:, 0] < edges[:, 1], len(ends))
    for wrong, rule, fix in (
        (uses == 1, "the mesh is open: {} of its edges belong to one triangle only", "close its holes"),
        (uses > 2, "the surface touches itself: {} of its edges belong to more than two triangles", "take the parts apart"),
        (forward != 1, "triangles are turned against each other at {} edges", "make all normals point outwards"),
    ):
        if wrong.any():
            pairs = np.round(vertices[ends[wrong][:SHOWN]], 6).tolist()
            at = "; ".join(f"{one} - {other}" for one, other in pairs)
            raise refusal(f"{rule.format(int(wrong.sum()))}, such as {at}", fix)


def check_orientation(vertices: np.ndarray, triangles: np.ndarray, volumes: np.ndarray, least: float) -> None:
    """Check that each part of the surface with more than the least volume points outwards, or is a cavity inside one that does."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(vertices)
    ends = triangles[:, :2].ravel(order="F"), triangles[:, 1:].ravel(order="F")
    links = coo_array((np.ones(len(ends[0])), ends), (count, count))
    part = connected_components(links, directed=False)[1][triangles[:, 0]]
    outer, inner = [], []
    for k in np.unique(part):
        own, volume = vertices[triangles[part == k].ravel()], volumes[part == k].sum()
        if abs(volume) > least:
            (outer if volume > 0 else inner).append((own.min(axis=0), own.max(axis=0)))
    if inner and not outer:
        raise refusal("the mesh is inside out: its triangles are turned inwards", "flip them all")
    for low, high in inner:
        if not any((low >= a).all() and (high <= b).all() for a, b in outer):
            box = f"{np.round(low, 6).tolist()} to {np.round(high, 6).tolist()}"
            raise refusal(f"a part of the mesh, from {box}, is inside out and no cavity of another", "flip its triangles")


def refusal(rule: str, fix: str, text: str | None = None) -> ModelError:
    return ModelValueError(rule, element="mesh", text=text, fix=fix)
