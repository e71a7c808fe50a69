"""All configurations that bring a frame to a pose: in closed form if there is one, else from many starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from qddot.algorithms.reaching import ROWS
from qddot.arguments import random_numbers
from qddot.errors import InputError
from qddot.inverse_kinematics.search import STEPS, follow, parts, polished, random_starts, wound
from qddot.inverse_kinematics.spherical_wrist import spherical_wrist
from qddot.inverse_kinematics.target import Target
from qddot.model import configuration

SAME = 1e-6  # rad or m: solutions closer than this count as one
SINGULAR = 1e-7  # a singular value below this fraction of the largest is zero


@dataclass(frozen=True, eq=False)
class Solutions:
    """All configurations found for some poses, in the order of the poses; for each pose those close to zero first.

        for q in solutions[0]: ...      of the first pose (of the only one, if one was given)

    Attributes:
        q: (k, nq).
        pose: (k,), index of the pose to which each belongs, counted along the leading dimensions.
        poses: number of poses.
        isolated: (k,), False where the arm is singular: it may move without leaving the pose, so there are infinitely many
            neighbours.
        method: `"spherical wrist"` if a closed form was used, or `"search"`.

    >>> robot = qddot.load("two_link")
    >>> found = robot.inverse_kinematics_solutions([0.8, 0.4, 0], rows=["x", "y"])
    >>> found.q.round(3)  # elbow down and elbow up
    array([[-0.431,  1.485],
           [ 1.358, -1.485]])
    """

    q: np.ndarray
    pose: np.ndarray
    poses: int
    isolated: np.ndarray
    method: str

    @property
    def count(self) -> np.ndarray:
        """Number of solutions of each pose (poses,)."""
        return np.bincount(self.pose, minlength=self.poses)

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[k] for k in range(self.poses))

    def __getitem__(self, k: int) -> np.ndarray:
        """Return the solutions (s, nq) of pose k."""
        if not -self.poses <= k < self.poses:
            raise IndexError(f"there are {self.poses} poses")
        return self.q[self.pose == k % self.poses]

    def __repr__(self) -> str:
        each = f" of {self.poses} poses" if self.poses > 1 else ""
        return f"Solutions: {len(self.q)} configurations{each} ({self.method})"


def solutions(target: Target, start: np.ndarray, starts: int, seed: int) -> Solutions:
    """Find all configurations for each pose; held joints stay where `start` (nq,) has them. Raises InputError: more joints may
    move than there are rows, so there are infinitely many solutions."""
    refuse_endless(target)
    wrist = spherical_wrist(target.evaluate, target.frame) if len(target.rows) == 6 and target.moving.all() else None
    if wrist is not None:
        candidates, exists = wrist.solve(target.poses)
        q, pose = candidates[exists], np.nonzero(exists)[0]
    else:
        q, pose = by_search(target, start, starts, seed)
    free = replace(target, limits=False)
    q, far = polished(free if wrist else target, q, target.poses[pose], 6)  # near double roots few digits are correct
    there = target.reached(far)
    q, pose = q[there], pose[there]
    q = wound(target, q, np.broadcast_to(start, q.shape), target.poses[pose])
    if target.limits:
        allowed = ((q >= target.lower) & (q <= target.upper)).all(-1)
        q, pose = q[allowed], pose[allowed]
    q, pose = distinct(target, q, pose)
    return Solutions(q, pose, len(target.poses), isolated(target, q), "search" if wrist is None else "spherical wrist")


def by_search(target: Target, start: np.ndarray, starts: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return configurations (k, nq) that reach their poses, found from random starts, and the indices (k,) of these poses."""
    rng, n, nq = random_numbers(seed), len(target.poses), target.evaluate.model.mechanism.nq
    found, numbers = [np.zeros((0, nq))], [np.zeros(0, int)]
    for part in parts(n, starts):
        each = np.repeat(np.arange(n)[part], starts)
        trials = follow(target, random_starts(target, rng, np.broadcast_to(start, (len(each), nq))), each, 2 * STEPS)
        there = target.reached(trials.far)
        found.append(trials.q[there])
        numbers.append(each[there])
    return np.concatenate(found), np.concatenate(numbers)


def distinct(target: Target, q: np.ndarray, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the solutions without repetitions, ordered by pose and then by distance from zero."""
    mechanism, kept = target.evaluate.model.mechanism, []
    away = configuration.difference(mechanism, configuration.neutral(mechanism), q) if len(q) else np.zeros((0, mechanism.nv))
    size = np.linalg.norm(away, axis=-1)
    order = np.lexsort((size.round(6), pose))
    edges = np.searchsorted(pose[order], np.arange(len(target.poses) + 1))
    for first, last in pairwise(edges):
        rest = order[first:last]
        while len(rest):
            kept.append(rest[0])
            apart = np.abs(configuration.difference(mechanism, q[rest[0]], q[rest])).max(-1) > SAME
            rest = rest[apart]
    return q[kept], pose[kept]


def isolated(target: Target, q: np.ndarray) -> np.ndarray:
    """Return (k,) True where the columns that may move are independent at q."""
    if not len(q):
        return np.zeros(0, bool)
    J = target.evaluate("jacobian", {"q": q}, {}, frame=target.frame, reference="world_aligned")
    s = np.linalg.svd(J[:, [ROWS.index(row) for row in target.rows]][:, :, target.moving > 0], compute_uv=False)
    return s[:, -1] > SINGULAR * s[:, 0]


def refuse_endless(target: Target) -> None:
    """Refuse a target with more movable joints than rows. Raises InputError."""
    free, rows = int(target.moving.sum()), len(target.rows)
    if free > rows:
        raise InputError(
            f"{free} joints may move and {rows} rows are asked for ({', '.join(target.rows)}), so there are infinitely many "
            f"configurations: hold {free - rows} of the joints by name, hold=[...]"
        )
