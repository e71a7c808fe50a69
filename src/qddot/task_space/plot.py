"""Pictures of an arm and its ellipsoids."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import InputError
from qddot.pictures.arm import Arm
from qddot.pictures.look import color, one
from qddot.task_space.task import POSITION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from qddot.task_space.ellipsoids import Ellipsoid, Ellipsoids

SIZE = 0.35
"""Length of the longest half axis drawn, as a fraction of the arm's reach."""

BEYOND = 2.0
"""Length of an infinite half axis, as a multiple of that."""

TURN = np.linspace(0, 2 * np.pi, 181)


def draw_arm(found: Ellipsoids, given: Axes | None) -> Axes:
    """Draw the arm and its ellipsoids at the frame; return the axes."""
    if not {*found.rows} <= {*POSITION} or len(found.rows) not in (2, 3):
        raise InputError(f"rows={found.rows!r} cannot be drawn: two or three of 'x', 'y', 'z' can")
    refuse_batch(found)
    ax: Axes = one(given, space=len(found.rows) == 3, size=(6.4, 5.6))
    directions = np.eye(3)[[POSITION.index(row) for row in found.rows]]
    arm = Arm(found.evaluate.model, directions if len(directions) == 2 else None)
    poses = arm.poses(found.q)
    at = arm.page(arm.frame(poses, found.frame)[:3, 3])
    size = SIZE * arm.reach
    scale = common_scale(size, found.mass, found.velocity, found.force)
    around = arm.frame(poses, found.frame)[:3, 3] + size * np.concatenate([np.eye(3), -np.eye(3)])
    arm.show(ax, poses, np.concatenate([arm.points(poses), around]))
    draw(ax, found.mass, at, scale, size, color("inertial"), "effective mass", "kg")
    draw(ax, found.mass, at, scale, size, color("inertial"), "mass felt in each direction", "", belted=True)
    draw(ax, found.velocity, at, scale, size, color("coriolis"), "velocity", "m/s for |qd| = 1")
    draw(ax, found.force, at, scale, size, color("external"), "force", "N for |tau| = 1")
    ax.plot([], [], " ", label=f"to one scale: 1 kg, 1 m/s and 1 N are {scale:.3g} m long")
    if given is None:
        ax.set_title(f"{found.evaluate.model.name}, q = ({numbers(found.q)})")
    below(ax)
    return ax


def draw_joint_space(found: Ellipsoids, given: Axes | None) -> Axes:
    """Draw the ellipsoid of the mass matrix about the origin; return the axes."""
    names = [
        f"{c.name} [{'N m' if part.angle or part.quaternion else 'N'}]"
        for c in found.evaluate.model.mechanism.coordinates
        for part in c.parts
        for _ in range(part.nv)
    ]
    if len(names) not in (2, 3):
        raise InputError(f"the joint space of a robot with {len(names)} degrees of freedom cannot be drawn: two or three can")
    refuse_batch(found)
    ax: Axes = one(given, space=len(names) == 3)
    draw(ax, found.joint, np.zeros(len(names)), 1.0, found.joint.lengths[0], color("inertial"), "M qdd for |qdd| = 1", "")
    for axis, name in zip("xyz", names):
        getattr(ax, f"set_{axis}label")(name)
    ax.set_aspect("equal")
    below(ax)
    return ax


def common_scale(size: float, *shapes: Ellipsoid) -> float:
    """Return the metres per unit for which the longest finite half axis of all shapes has this size."""
    lengths = np.concatenate([shape.lengths for shape in shapes])
    longest = lengths[np.isfinite(lengths)].max(initial=0.0)
    return size / longest if longest > 0 else 1.0


def draw(
    ax: Axes, shape: Ellipsoid, at: np.ndarray, scale: float, size: float, ink: str, what: str, unit: str, *, belted: bool = False
) -> None:
    """Draw the principal sections of an ellipsoid, or, `belted`, `1 / (u^T A^-1 u)` along each u. Infinite half axes end at
    `BEYOND` times `size`."""
    lengths = shape.lengths * scale
    label = what if belted else f"{what}: {numbers(shape.lengths)} {unit}".strip()
    for i, j in combinations(range(len(lengths)), 2):
        section = (belt if belted else ellipse)(lengths[i], lengths[j], BEYOND * size)
        points = at[:, None] + shape.directions[:, [i, j]] @ section
        ax.plot(*points, color=ink, linestyle="--" if belted else "-", linewidth=1.4, zorder=5, label=label)
        label = "_nolegend_"
    for direction, length in zip(shape.directions.T, np.minimum(lengths, BEYOND * size)):
        ax.plot(*np.stack([at, at + direction * length], axis=1), color=ink, linewidth=0.8, zorder=5)


def ellipse(a: float, b: float, far: float) -> np.ndarray:
    """Return points (2, k) of an ellipse with half axes a >= b; of a strip up to `far` if a is infinite; none if b is, too."""
    if np.isinf(a):
        along, edge = np.linspace(-far, far, len(TURN)), np.full(len(TURN), b if np.isfinite(b) else np.nan)
        return np.stack([np.r_[along, np.nan, along], np.r_[edge, np.nan, -edge]])
    return np.stack([a * np.cos(TURN), b * np.sin(TURN)])


def belt(a: float, b: float, far: float) -> np.ndarray:
    """Return points (2, k) at the distance `1 / (cos^2 / a + sin^2 / b)` in each direction, NaN beyond `far`."""
    circle = np.stack([np.cos(TURN), np.sin(TURN)])
    with np.errstate(divide="ignore", invalid="ignore"):
        points = circle / (circle**2 / np.array([[a], [b]])).sum(axis=0)
    return np.where(np.linalg.norm(points, axis=0) <= far, points, np.nan)


def below(ax: Axes) -> None:
    """Add a legend under the picture, where it hides nothing; in one column, since two are wider than the figure."""
    ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)


def refuse_batch(found: Ellipsoids) -> None:
    if found.q.ndim > 1:
        raise InputError(f"one state can be drawn, q has shape {found.q.shape}: choose one")


def numbers(values: np.ndarray) -> str:
    return ", ".join(f"{x:.3g}" for x in values)
