"""Targets of inverse kinematics: poses or positions of one frame, the rows that matter, the joints that may move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.algorithms.reaching import ROWS, size
from qddot.arguments import flag, names, positive_number, shape_of
from qddot.compile.arrays import DOUBLE, as_array, first_index
from qddot.compile.evaluate import Evaluator
from qddot.errors import InputError
from qddot.task_space.task import choose

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel

DAMPING = np.array([0.05])
"""Damping relative to the squared error: a smaller one converges in fewer steps, a larger one from farther away."""

RIGID = 1e-6
"""Tolerance within which a matrix counts as a pose (SE(3)); its rotation is then made exact."""


@dataclass(frozen=True, eq=False)
class Target:
    """Wanted poses (n, 4, 4) with their leading shape, the joints that may move (nv,), and their limits (nq,), kept if `limits`."""

    evaluate: Evaluator
    poses: np.ndarray
    batch: tuple[int, ...]
    frame: str
    rows: tuple[str, ...]
    moving: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    limits: bool
    tolerance: float

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled step of `qddot.algorithms.reaching`."""
        names = {"frame": self.frame, "rows": ",".join(self.rows), "limits": "kept" if self.limits else "ignored"}
        return self.evaluate.kernels.kernel("reaching_step", DOUBLE, names)

    @cached_property
    def length(self) -> float:
        """Length of the stretched arm, m: it reaches no farther from its first joint."""
        return size(self.evaluate.model, self.frame)

    def step(self, q: np.ndarray, poses: np.ndarray, damping: np.ndarray = DAMPING) -> tuple[np.ndarray, np.ndarray]:
        """Return the configurations (n, nq) after one step, and the errors of the given ones: squares (n, 2) of angle and
        distance."""
        ahead, far = self.kernel(q, self.moving, damping, poses, threads=None)
        return ahead, far

    def reached(self, far: np.ndarray) -> np.ndarray:
        return (far[:, 0] <= self.tolerance**2) & (far[:, 1] <= self.tolerance**2)


def as_target(
    evaluate: Evaluator,
    pose: Any,
    frame: str | None,
    rows: Sequence[str] | str | None,
    bounds: tuple[np.ndarray, np.ndarray],
    limits: bool,
    hold: Sequence[str] | str,
    tolerance: float,
) -> Target:
    """Return the target that a user means; variables of the robot have their defaults. Raises InputError: neither poses (..., 4, 4)
    nor positions (..., 3); a robot whose description closes loops; no joint left to move; UnknownNameError: no such frame, row or
    joint."""
    evaluate = evaluate.as_described
    model = evaluate.model
    if model.constraints:
        raise InputError(
            f"{model.name} has constraints ({', '.join(c.name for c in model.constraints)}), which inverse kinematics of a "
            "tree does not keep: take robot.assemblies with a constraint on the frame, or the arm alone, robot.chain(base, tip)"
        )
    tolerance, limits = positive_number("tolerance", tolerance), flag("limits", limits)
    poses, of_position = as_poses(pose)
    task = choose(evaluate, frame, "world_aligned", ROWS[3:] if of_position and rows is None else rows)
    if of_position and any(i < 3 for i in task.picked):
        raise InputError(f"rows {', '.join(task.rows[:3])} need a pose (..., 4, 4), not a position (..., 3)")
    if not model.mechanism.nv:
        raise InputError(f"{model.name} has no joints: nothing can reach a pose")
    batch = poses.shape[:-2]
    flat = np.ascontiguousarray(poses.reshape(-1, 4, 4))
    if not limits:  # random starts of hinges may be anywhere
        hinges = np.concatenate([np.full(len(c.q), c.kind in ("revolute", "continuous")) for c in model.mechanism.coordinates])
        bounds = np.where(hinges, -np.inf, bounds[0]), np.where(hinges, np.inf, bounds[1])
    return Target(evaluate, flat, batch, task.frame, task.rows, movable(evaluate, hold), *bounds, limits, tolerance)


def as_poses(pose: Any) -> tuple[np.ndarray, bool]:
    """Return poses (..., 4, 4) with exact rotations, and True if positions alone were given."""
    shape = shape_of("pose", pose)
    if shape and shape[-1] == 3:
        position = as_array("pose", pose, (3,))
        if position.shape[-2:] == (3, 3) and (off_rotation(position) <= RIGID).all():
            raise InputError(
                "pose is a rotation (3, 3), which would be read as three positions: give a pose (4, 4) whose upper left block it "
                'is, and with rows=["wx", "wy", "wz"] the rotation alone counts'
            )
        poses = np.broadcast_to(np.eye(4), (*position.shape[:-1], 4, 4)).copy()
        poses[..., :3, 3] = position
        return poses, True
    poses = as_array("pose", pose, (4, 4)).copy()
    R = poses[..., :3, :3]
    off = np.maximum(off_rotation(R), np.abs(poses[..., 3, :] - [0, 0, 0, 1]).max(-1))
    wrong = off > RIGID
    if wrong.any():
        where = list(first_index(wrong)) if wrong.ndim else ""
        raise InputError(f"pose{where} is not in SE(3): a rotation, a position, and the last row 0 0 0 1")
    poses[..., :3, :3] = R @ (1.5 * np.eye(3) - 0.5 * R.swapaxes(-1, -2) @ R)  # the nearest rotation, up to the square of RIGID
    return poses, False


def off_rotation(R: np.ndarray) -> np.ndarray:
    """Return the distance (...) of `R^T R` from 1; inf for a reflection."""
    handedness = (np.cross(R[..., 0, :], R[..., 1, :]) * R[..., 2, :]).sum(-1)  # LAPACK's det would take longer than the search
    return np.where(handedness < 0, np.inf, np.abs(R.swapaxes(-1, -2) @ R - np.eye(3)).max((-1, -2)))


def movable(evaluate: Evaluator, hold: Sequence[str] | str) -> np.ndarray:
    """Return (nv,) 0 for the columns of held joints, 1 for all others."""
    mechanism = evaluate.model.mechanism
    moving = np.ones(mechanism.nv)
    for joint in mechanism.named(names("hold", hold)):
        moving[list(joint.v)] = 0.0
    if not moving.any():
        raise InputError("every joint is held: nothing can move to the pose")
    return moving


def as_count(starts: Any) -> int:
    """Return the number of starts. Raises InputError: not a positive whole number."""
    if isinstance(starts, bool) or not isinstance(starts, (int, np.integer)) or starts < 1:
        raise InputError(f"starts={starts!r} is not a positive whole number")
    return int(starts)


def as_start(target: Target, start: Any, hold: Sequence[str] | str, *, one: bool = False) -> np.ndarray | None:
    """Return the start (..., nq) that a user gave, clipped to the limits if these are kept. Raises InputError: another shape, or
    none although joints are held."""
    if start is None:
        if len(hold):
            raise InputError("hold needs start=q, the configuration in which these joints stay")
        return None
    q = target.evaluate.configuration("start", start)
    if one and q.ndim != 1:
        raise InputError(f"start has shape {q.shape}: one configuration ({q.shape[-1]},) is needed")
    try:
        np.broadcast_to(q, (*target.batch, q.shape[-1]))
    except ValueError:
        raise InputError(f"start has leading dimensions {q.shape[:-1]}, poses have {target.batch}") from None
    return np.clip(q, target.lower, target.upper) if target.limits else q
