"""Visuals of MJCF: shapes and meshes of geoms that are shown by default. Meshes are only named here, and opened when drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qddot.formats.reach import Reach, Refused
from qddot.model.description import Visual
from qddot.model.pose import from_quaternion
from qddot.model.spatial import Mat, Transform, Vec

SHAPES = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}  # of MuJoCo's mjtGeom
MESH = 7
HIDDEN = 3  # groups from this one on are for collisions
POINT = 1e-6  # m
GREY = (0.5, 0.5, 0.5, 1.0)  # default colour of a geom


def named_meshes(mujoco: Any, spec: Any, reach: Reach, weighs: Callable[[Any], bool]) -> dict[str, Visual]:
    """Return the visuals of geoms that are meshes, by the name of the geom.

    A geom without weight becomes a point, which keeps its pose, so that the mesh need not exist.
    """
    files = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes if mesh.file}
    found: dict[str, Visual] = {}
    for i, geom in enumerate(spec.geoms):
        mesh = files.get(geom.meshname)
        if mesh is None or geom.type != mujoco.mjtGeom.mjGEOM_MESH or geom.group >= HIDDEN:
            continue
        if not np.allclose(mesh.refquat, (1, 0, 0, 0)):
            continue
        try:
            file = mesh_file(spec, mesh.file, reach)
        except Refused:
            continue
        geom.name = geom.name or f"drawn mesh {i}"
        scale = tuple(float(x) for x in mesh.scale)
        shift = Transform(p=Vec(*(-s * float(x) for s, x in zip(scale, mesh.refpos))))
        found[geom.name] = Visual("mesh", scale, shift, color_of(spec, geom), file)
        if not weighs(geom):
            geom.meshname, geom.type, geom.size, geom.mass = "", mujoco.mjtGeom.mjGEOM_SPHERE, [POINT, 0, 0], 0.0
    return found


def mesh_file(spec: Any, name: str, reach: Reach) -> Path:
    """Return the file of a mesh. Raises Refused: it is out of reach or does not exist."""
    inner = Path(name).name if getattr(spec, "strippath", False) else name
    return reach.within(str(Path(spec.meshdir) / inner), reach.folder)


def color_of(spec: Any, geom: Any) -> tuple[float, float, float] | None:
    """Return the colour of a geom, or of its material; None if neither is given: then the mesh file decides."""
    material = spec.material(geom.material) if geom.material else None
    rgba = tuple(float(x) for x in geom.rgba)
    if material is not None and np.allclose(rgba, GREY):
        rgba = tuple(float(x) for x in material.rgba)
    red, green, blue, _ = rgba
    return None if material is None and np.allclose(rgba, GREY) else (red, green, blue)


def visuals_of(model: Any, body: int, meshes: dict[str, Visual]) -> tuple[Visual, ...]:
    """Return the shapes of one body of the compiled model; MuJoCo's sizes are halves."""
    found = []
    for i in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
        kind, size = SHAPES.get(int(model.geom_type[i])), [float(x) for x in model.geom_size[i]]
        pose, mesh = placed(model.geom_pos[i], model.geom_quat[i]), meshes.get(model.geom(i).name)
        if mesh is not None:
            if model.geom_type[i] == MESH:  # MuJoCo has moved it into its principal axes
                pose = pose @ placed(model.mesh_pos[model.geom_dataid[i]], model.mesh_quat[model.geom_dataid[i]]).inverse
            found.append(replace(mesh, pose=pose @ mesh.pose))
        elif kind is not None and model.geom_group[i] < HIDDEN:
            whole = {"sphere": (size[0],), "box": tuple(2 * x for x in size)}.get(kind, (size[0], 2 * size[1]))
            red, green, blue, _ = (float(x) for x in model.geom_rgba[i])
            found.append(Visual(kind, whole, pose, (red, green, blue)))
    return tuple(found)


def placed(position: np.ndarray, quaternion: np.ndarray) -> Transform:
    w, x, y, z = (float(v) for v in quaternion / np.linalg.norm(quaternion))
    return Transform(Mat(*from_quaternion(w, x, y, z)), Vec(*(float(v) for v in position)))
