"""What a description draws, as shapes of the page: boxes, cylinders, spheres as they are, meshes simplified (extra `mesh`)."""

from __future__ import annotations

import base64
import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from qddot.model.description import Visual
from qddot.model.model import Model
from qddot.pictures.view import matrix

FACES = 4000
"""Triangles of one mesh file: fewer are seen, more cost without being seen."""

LARGEST = 64_000_000
"""Bytes of a mesh file: a larger one is not opened."""

GREY = (0.75, 0.77, 0.8)


def visual_shapes(model: Model) -> tuple[dict[int, list[dict[str, Any]]], list[str]]:
    """Shapes by body (-1: fixed to the world), in the body's frame, and what could not be drawn."""
    found: dict[int, list[dict[str, Any]]] = {}
    notes: dict[str, None] = {}
    for link in model.links:
        body, pose = model.mechanism.frames[link.name]
        for visual in link.visuals:
            placed = matrix(pose) @ matrix(visual.pose)
            try:
                shapes = mesh_shapes(visual, placed) if visual.kind == "mesh" else [plain_shape(visual, placed)]
            except ImportError:
                notes["The meshes of the description are not drawn: pip install 'qddot[mesh]'"] = None
                continue
            except Exception as problem:  # whatever is wrong with somebody's mesh, the robot is drawn without it
                notes[f"{visual.file.name if visual.file else visual.kind} is not drawn: {problem}"] = None
                continue
            found.setdefault(body, []).extend(shapes)
    return found, list(notes)


def plain_shape(visual: Visual, pose: np.ndarray) -> dict[str, Any]:
    """A box, cylinder, capsule or sphere."""
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


def mesh_shapes(visual: Visual, pose: np.ndarray) -> list[dict[str, Any]]:
    """The parts of a mesh file, one a colour, each on a grid of 16 bits."""
    assert visual.file is not None
    scaled = pose @ np.diag([*visual.size, 1.0])
    return [part_data(points, faces, visual.color or color, scaled) for points, faces, color in parts_of(visual.file)]


@lru_cache(maxsize=64)
def parts_of(file: Path) -> list[tuple[np.ndarray, np.ndarray, tuple[float, ...]]]:
    """Points, triangles and colour of each part, with at most `FACES` triangles altogether.

    The file is read whole and parsed from memory, so that it cannot lead to others.
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
        goal = max(64, round(FACES * len(whole.faces) / total))
        if len(whole.faces) > goal:
            whole = whole.simplify_quadric_decimation(face_count=goal)
        found.append((np.asarray(whole.vertices), np.asarray(whole.faces), color))
    return found


def color_of(piece: Any) -> tuple[float, ...]:
    material = getattr(piece.visual, "material", None)
    color = material.main_color if material is not None else piece.visual.main_color
    return tuple((np.asarray(color[:3], float) / 255).round(3).tolist())


def part_data(points: np.ndarray, faces: np.ndarray, color: Any, pose: np.ndarray) -> dict[str, Any]:
    placed = points @ pose[:3, :3].T + pose[:3, 3]
    if not np.isfinite(placed).all() or not len(faces):
        raise ValueError("it has no triangles of finite size")
    low, high = placed.min(axis=0), placed.max(axis=0)
    step = np.where(high > low, (high - low) / 65535, 1.0)
    grid = np.rint((placed - low) / step).astype("<u2")
    turned = faces[:, ::-1] if np.linalg.det(pose[:3, :3]) < 0 else faces  # a mirror turns triangles inside out
    return {
        "kind": "mesh",
        "color": list(color),
        "origin": low.tolist(),
        "scale": step.tolist(),
        "positions": base64.b64encode(np.ascontiguousarray(grid).tobytes()).decode(),
        "indices": base64.b64encode(np.ascontiguousarray(turned, dtype="<u2").tobytes()).decode(),
    }
