"""The branches of a position problem: all configurations that satisfy constraints while some joints are held.

A 2R arm reaches a point with its elbow up or down; a four-bar closes in two ways at each crank angle. The sign of the determinant
of A in the free columns tells the branches apart; it changes only at dead centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qddot.arguments import names, random_numbers, whole_number
from qddot.batched import times
from qddot.constraints.constrained import LONGEST, ConstrainedRobot
from qddot.errors import ConvergenceError, InputError
from qddot.model import configuration

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ROUNDS = 60
SAME = 1e-6  # rad or m: solutions closer than this count as one
SINGULAR = 1e-9  # a singular value below this fraction of the largest is zero


def assemblies(
    constrained: ConstrainedRobot, q: ArrayLike, hold: Sequence[str], starts: int, seed: int, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return configurations (solutions, nq), the nearest to q first, found by Newton's method from q and from random starts.

    Raises ConvergenceError: none was found; InputError: the constraints leave motions open, so there are infinitely many.
    """
    constrained, mechanism = constrained.holonomic(), constrained.evaluate.model.mechanism
    q = constrained.evaluate.configuration("q", q)
    if q.ndim != 1:
        raise InputError(f"q has shape {q.shape}: assemblies are those of one configuration ({mechanism.nq},)")
    free, rng = free_columns(constrained, hold), random_numbers(seed)
    count = whole_number("starts", starts, 0)
    trials = np.stack([q, *(configuration.random_configuration(mechanism, rng, lower, upper) for _ in range(count))])
    for c in mechanism.coordinates:
        if not free[c.v.start]:
            trials[:, c.q.start : c.q.stop] = q[c.q.start : c.q.stop]
    for _ in range(ROUNDS):
        phi, A = constrained.values(("phi", "A"), trials)
        step = -times(np.linalg.pinv(np.where(free, A, 0.0), rcond=SINGULAR), phi)
        size = np.abs(step).max(-1, keepdims=True, initial=0)
        trials = configuration.integrate(mechanism, trials, step * np.minimum(1, LONGEST / np.maximum(size, LONGEST)))
    closed = np.abs(constrained.values(("phi",), trials)[0]).max(-1, initial=0) < 1e-10
    found: list[np.ndarray] = []
    for x in (wound_back(constrained, q, x) for x in trials[closed]):
        if all(np.abs(configuration.difference(mechanism, other, x)).max() > SAME for other in found):
            found.append(x)
    if not found:
        raise ConvergenceError(
            f"no configuration found that satisfies the constraints while {', '.join(hold) or 'nothing'} is held"
        )
    solutions = np.stack(found)
    refuse_open_motions(constrained, solutions, free)
    return solutions[np.argsort(np.linalg.norm(configuration.difference(mechanism, q, solutions), axis=-1), kind="stable")]


def assembly_mode(constrained: ConstrainedRobot, q: ArrayLike, hold: Sequence[str]) -> np.ndarray:
    """Return 1 or -1 (...), the sign of det A in the free columns; 0 at a dead centre, where branches meet."""
    A = constrained.holonomic().values(("A",), q)[0][..., free_columns(constrained, hold)]
    A = A[..., np.abs(A).max((-1, *range(A.ndim - 2)), initial=0) > 0, :]  # without rows of zeros, as a planar loop has
    if A.shape[-1] != A.shape[-2]:
        raise InputError(
            f"{A.shape[-2]} rows of constraints and {A.shape[-1]} free columns: a branch has a sign where they are as many. Hold "
            "other joints, or leave rows out that follow from others"
        )
    scaled = A / np.linalg.norm(A, axis=-1, keepdims=True)
    sign, _ = np.linalg.slogdet(scaled)
    return np.where(np.linalg.svd(scaled, compute_uv=False).min(-1) > SAME, sign, 0).astype(int)


def free_columns(constrained: ConstrainedRobot, hold: Sequence[str]) -> np.ndarray:
    """Return (nv,) False for the columns of held joints, True for all others."""
    mechanism = constrained.evaluate.model.mechanism
    free = np.ones(mechanism.nv, bool)
    for joint in mechanism.named(names("hold", hold)):
        free[list(joint.v)] = False
    return free


def wound_back(constrained: ConstrainedRobot, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return x with its hinges in the same turn as those of q, unless the constraints depend on the turn."""
    back = x.copy()
    for c in constrained.evaluate.model.mechanism.coordinates:
        if c.kind in ("revolute", "continuous"):
            i = c.q.start
            middle = 2 * np.pi * np.round(q[i] / (2 * np.pi))
            back[i] = middle + (x[i] - middle + np.pi) % (2 * np.pi) - np.pi
    return back if np.abs(constrained.values(("phi",), back)[0]).max(initial=0) < 1e-9 else x


def refuse_open_motions(constrained: ConstrainedRobot, q: np.ndarray, free: np.ndarray) -> None:
    """Refuse constraints that leave free columns undetermined. Raises InputError."""
    A = constrained.values(("A",), q)[0][..., free]
    s = np.linalg.svd(A, compute_uv=False)
    rank = int((s > 1e-6 * s.max(initial=1)).sum(-1).max(initial=0))
    if rank < free.sum():
        raise InputError(
            f"the constraints fix {rank} of {int(free.sum())} free motions, so there are infinitely many configurations: hold "
            f"{int(free.sum()) - rank} more of the joints by name, hold=[...]"
        )
