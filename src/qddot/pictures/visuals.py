"""Shapes with which a robot is drawn: those of its description, with simplified meshes (extra `mesh`), or drums and capsules."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qddot.model.description import Visual
from qddot.model.joints import Rotor
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.pose import to_matrix
from qddot.pictures.shapes import Shape, base_shapes, link_shapes
from qddot.pictures.view import extent, thickness

LARGEST = 64_000_000
"""Bytes of a mesh file: a larger one is not opened."""

GREY = (0.75, 0.77, 0.8)


class Looks(NamedTuple):
    """Shapes fixed to the world, those of each body in its frame, notes on shapes that could not be drawn; `is_drawn`: True if the
    description has shapes."""

    base: list[Shape]
    bodies: dict[int, list[Shape]]
    notes: list[str]
    is_drawn: bool


def looks(model: Model, faces: int | None) -> Looks:
    """Return the shapes of each body: those of the description, or drums and capsules for a body with mass that has none. `faces`:
    most triangles of one mesh file; None: draw all bodies as drums and capsules."""
    drawn, notes = visual_shapes(model, faces) if faces else ({}, [])
    reach, r = extent(model), thickness(model)
    bodies = {}
    for body in model.bodies:
        is_plain = not drawn or (float(body.inertia.m) > 0 and body.is_link)
        generic = link_shapes(model, body, reach, r) if is_plain and not isinstance(body.joint, Rotor) else []
        bodies[body.index] = drawn.get(body.index) or generic
    return Looks(drawn.get(WORLD, []) if drawn else base_shapes(model, reach, r), bodies, notes, bool(drawn))


def visual_shapes(model: Model, faces: int) -> tuple[dict[int, list[Shape]], list[str]]:
    """Return shapes by body (-1: fixed to the world), in the body's frame, and notes on those that could not be drawn."""
    found: dict[int, list[Shape]] = {}
    notes: dict[str, None] = {}
    for link in model.links:
        body, pose = model.mechanism.frames[link.name]
        for visual in link.visuals:
            placed = to_matrix(pose) @ to_matrix(visual.pose)
            try:
                shapes = mesh_shapes(visual, placed, faces) if visual.kind == "mesh" else [plain_shape(visual, placed)]
            except ImportError:
                notes["The meshes of the description are not drawn: pip install 'qddot[mesh]'"] = None
                continue
            except Exception as problem:  # a faulty mesh, for any reason: the robot is drawn without it, and a note says so
                notes[f"{visual.file.name if visual.file else visual.kind} is not drawn: {problem}"] = None
                continue
            found.setdefault(body, []).extend(shapes)
    return found, list(notes)


def plain_shape(visual: Visual, pose: np.ndarray) -> Shape:
    """Return the shape of a box, cylinder, capsule or sphere."""
    common = {"color": list(visual.color or GREY), "pose": pose[:3].ravel().tolist()}
    if visual.kind == "box":
        return {"kind": "box", "size": list(visual.size), **common}
    if visual.kind == "sphere":
        return {"kind": "sphere", "radius": visual.size[0], **common}
    radius, length = visual.size
    if visual.kind == "capsule":
        half = [0.0, 0.0, length / 2]
        return {"kind": "capsule", "from": [0.0, 0.0, -length / 2], "to": half, "radius": radius, **common}
    return {"kind": "cylinder", "radius": radius, "length": length, **common}


def mesh_shapes(visual: Visual, pose: np.ndarray, most: int) -> list[Shape]:
    """Return the parts of a mesh file, one per colour: `points` (n, 3) and `faces` (k, 3), counter-clockwise from outside."""
    assert visual.file is not None
    scaled = pose @ np.diag([*visual.size, 1.0])
    found = []
    for points, faces, color in parts_of(visual.file, most):
        placed = points @ scaled[:3, :3].T + scaled[:3, 3]
        if not np.isfinite(placed).all() or not len(faces):
            raise ValueError("it has no triangles of finite size")
        turned = faces[:, ::-1] if np.linalg.det(scaled[:3, :3]) < 0 else faces  # a reflection turns triangles inside out
        found.append({"kind": "mesh", "color": list(visual.color or color), "points": placed, "faces": turned})
    return found


@lru_cache(maxsize=128)
def parts_of(file: Path, most: int) -> list[tuple[np.ndarray, np.ndarray, tuple[float, ...]]]:
    """Return points, triangles and colour of each part of a mesh file, with at most `most` triangles in all.

    The file is read whole and parsed from memory, so that it cannot refer to other files.
    """
    import trimesh  # type: ignore[import-not-found]

    if file.stat().st_size > LARGEST:
        raise ValueError(f"it has {file.stat().st_size / 1e6:.0f} MB")
    scene: Any = trimesh.load_scene(io.BytesIO(file.read_bytes()), file_type=file.suffix.lower().lstrip("."))
    by_color: dict[tuple[float, ...], list] = {}
    for node in scene.graph.nodes_geometry:
        at, name = scene.graph[node]
        piece = scene.geometry[name]
        if not hasattr(piece, "faces"):
            continue
        color = color_of(piece)
        points = np.asarray(piece.vertices) @ at[:3, :3].T + at[:3, 3]
        by_color.setdefault(color, []).append(trimesh.Trimesh(points, piece.faces, process=False))
    if not by_color:
        raise ValueError("it holds no triangles")
    total = sum(len(x.faces) for pieces in by_color.values() for x in pieces)
    found = []
    for color, pieces in by_color.items():
        whole: Any = trimesh.util.concatenate(pieces)
        whole.merge_vertices(digits_vertex=6)
        goal = max(64, round(most * len(whole.faces) / total))
        if len(whole.faces) > goal:
            whole = whole.simplify_quadric_decimation(face_count=goal)
        found.append((np.asarray(whole.vertices), np.asarray(whole.faces), color))
    return found


def color_of(piece: Any) -> tuple[float, ...]:
    material = getattr(piece.visual, "material", None)
    color = material.main_color if material is not None else piece.visual.main_color
    return tuple((np.asarray(color[:3], float) / 255).round(3).tolist())
