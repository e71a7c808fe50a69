"""The arm and its ellipsoids as a picture."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from qddot.algorithms.kinematics import path_to_root, world_poses
from qddot.errors import InputError, missing_extra
from qddot.model.field import Floats
from qddot.task_space.task import POSITION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from qddot.task_space.ellipsoids import Ellipsoid, Ellipsoids

SIZE = 0.35
"""The longest half axis drawn, as a part of the arm's reach."""

BEYOND = 2.0
"""How much farther than that an infinite one is followed."""

TURN = np.linspace(0, 2 * np.pi, 181)


def draw_arm(found: Ellipsoids, ax: Axes | None) -> Axes:
    """The arm, and its ellipsoids at the frame."""
    if not {*found.rows} <= {*POSITION} or len(found.rows) not in (2, 3):
        raise InputError(f"rows={found.rows!r} cannot be drawn: two or three of 'x', 'y', 'z' can")
    refuse_batch(found)
    ax = ax if ax is not None else new_axes(len(found.rows))
    refuse_flat(ax, len(found.rows))
    arm = joint_positions(found)[:, [POSITION.index(row) for row in found.rows]]
    size = SIZE * (np.linalg.norm(arm - arm[0], axis=1).max() or 1.0)
    scale = common_scale(size, found.mass, found.velocity, found.force)
    ax.plot(*arm.T, "o-", color="0.4", linewidth=3, label=f"{found.evaluate.model.name}, q = ({numbers(found.q)})")
    draw(ax, found.mass, arm[-1], scale, size, "tab:red", "effective mass", "kg")
    draw(ax, found.mass, arm[-1], scale, size, "tab:red", "mass felt in each direction", "", belted=True)
    draw(ax, found.velocity, arm[-1], scale, size, "tab:blue", "velocity", "m/s for |qd| = 1")
    draw(ax, found.force, arm[-1], scale, size, "tab:green", "force", "N for |tau| = 1")
    ax.plot([], [], " ", label=f"drawn to one scale: 1 kg, 1 m/s and 1 N are {scale:.3g} m long")
    return finished(ax, [f"{row} [m]" for row in found.rows])


def draw_joint_space(found: Ellipsoids, ax: Axes | None) -> Axes:
    """The ellipsoid of the mass matrix, about the origin."""
    names = [
        f"{c.name} [{'N m' if part.angle or part.quaternion else 'N'}]"
        for c in found.evaluate.model.mechanism.coordinates
        for part in c.parts
        for _ in range(part.nv)
    ]
    if len(names) not in (2, 3):
        raise InputError(f"the joint space of a robot with {len(names)} degrees of freedom cannot be drawn: two or three can")
    refuse_batch(found)
    ax = ax if ax is not None else new_axes(len(names))
    refuse_flat(ax, len(names))
    draw(ax, found.joint, np.zeros(len(names)), 1.0, found.joint.lengths[0], "tab:red", "M qdd for |qdd| = 1", "")
    return finished(ax, names)


def common_scale(size: float, *shapes: Ellipsoid) -> float:
    """Metres for a unit of any of them, such that the longest finite half axis of all is of this size."""
    lengths = np.concatenate([shape.lengths for shape in shapes])
    longest = lengths[np.isfinite(lengths)].max(initial=0.0)
    return size / longest if longest > 0 else 1.0


def draw(
    ax: Axes, shape: Ellipsoid, at: np.ndarray, scale: float, size: float, color: str, what: str, unit: str, *, belted: bool = False
) -> None:
    """The principal sections of an ellipsoid; or `1 / (u^T A^-1 u)` along each u. What is infinite ends at a multiple of `size`."""
    lengths = shape.lengths * scale
    label = what if belted else f"{what}: {numbers(shape.lengths)} {unit}".strip()
    for i, j in combinations(range(len(lengths)), 2):
        section = (belt if belted else ellipse)(lengths[i], lengths[j], BEYOND * size)
        points = at[:, None] + shape.directions[:, [i, j]] @ section
        ax.plot(*points, color=color, linestyle="--" if belted else "-", label=label)
        label = "_nolegend_"
    for direction, length in zip(shape.directions.T, np.minimum(lengths, BEYOND * size)):
        ax.plot(*np.stack([at, at + direction * length], axis=1), color=color, linewidth=1)


def ellipse(a: float, b: float, far: float) -> np.ndarray:
    """Points (2, k) of an ellipse with half axes a >= b; of a strip, as far as this, where a is infinite; none where b is, too."""
    if np.isinf(a):
        along, edge = np.linspace(-far, far, len(TURN)), np.full(len(TURN), b if np.isfinite(b) else np.nan)
        return np.stack([np.r_[along, np.nan, along], np.r_[edge, np.nan, -edge]])
    return np.stack([a * np.cos(TURN), b * np.sin(TURN)])


def belt(a: float, b: float, far: float) -> np.ndarray:
    """Points (2, k), no farther than this, at the distance `1 / (cos^2 / a + sin^2 / b)` in each direction."""
    circle = np.stack([np.cos(TURN), np.sin(TURN)])
    with np.errstate(divide="ignore", invalid="ignore"):
        points = circle / (circle**2 / np.array([[a], [b]])).sum(axis=0)
    return np.where(np.linalg.norm(points, axis=0) <= far, points, np.nan)


def joint_positions(found: Ellipsoids) -> np.ndarray:
    """Points of the arm (k, 3), m: the world's origin, each joint on the way, the frame."""
    model = found.evaluate.model.over(Floats())
    poses = world_poses(model, [float(x) for x in found.q])
    body, pose = model.frame(found.frame)
    on_the_way = [poses[i].p for i in path_to_root(model, body)]
    return np.array([(0, 0, 0), *on_the_way[::-1], (poses[body] @ pose).p], dtype=float)


def new_axes(dimensions: int) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_extra("matplotlib", "plot", "a picture") from None
    return plt.figure(layout="constrained").add_subplot(projection="3d" if dimensions == 3 else None)


def finished(ax: Axes, labels: list[str]) -> Axes:
    """Named axes of one scale, and a legend."""
    for axis, label in zip("xyz", labels):
        getattr(ax, f"set_{axis}label")(label)
    ax.set_aspect("equal", adjustable="datalim" if len(labels) == 2 else None)  # so the legend finds room above
    ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1))
    return ax


def refuse_batch(found: Ellipsoids) -> None:
    if found.q.ndim > 1:
        raise InputError(f"one state can be drawn, q has shape {found.q.shape}: choose one")


def refuse_flat(ax: Axes, dimensions: int) -> None:
    """A flat picture for two rows, one in space for three."""
    if hasattr(ax, "zaxis") != (dimensions == 3):
        made = 'projection="3d"' if dimensions == 3 else "no projection"
        raise InputError(f"ax does not fit {dimensions} dimensions: make it with {made}, or leave it out")


def numbers(values: np.ndarray) -> str:
    return ", ".join(f"{x:.3g}" for x in values)
