"""Ellipsoids at a frame: its effective mass, velocity and force in each direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.batched import T
from qddot.compile.arrays import as_array, first_index
from qddot.compile.evaluate import Evaluator
from qddot.compile.together import compute_together
from qddot.errors import InputError
from qddot.task_space.task import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

ROUNDING = 1e-12
"""A singular value below this fraction of the largest is zero."""


class Ellipsoid(NamedTuple):
    """`directions` (..., m, m), one unit vector per column; `lengths` (..., m) of the half axes along them, longest first."""

    directions: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoids:
    """Ellipsoids of the task rows V = J qd, in one state or a batch of states (...).

    Attributes:
        mass: `{M_C a: |a| = 1}`, the forces that accelerate the frame by 1: lengths are the principal effective masses, kg;
            infinite in directions in which it cannot move.
        velocity: `{J qd: |qd| = 1}`, manipulability: lengths are the singular values of J.
        force: `{F: |J^T F| = 1}`: lengths are their reciprocals; infinite in directions in which the structure carries the force.
        joint: `{M qdd: |qdd| = 1}`, of the mass matrix in joint space.
        mobility: `J M^-1 J^T` (..., m, m), the inverse of M_C if that exists.

    >>> found = qddot.load("two_link").ellipsoids([0, np.pi / 2])
    >>> found.velocity.lengths.round(3)  # the tip is faster across the arm than along it
    array([1.059, 0.331])
    """

    rows: tuple[str, ...]
    frame: str
    mass: Ellipsoid
    velocity: Ellipsoid
    force: Ellipsoid
    joint: Ellipsoid
    mobility: np.ndarray
    q: np.ndarray
    evaluate: Evaluator

    def effective_mass(self, direction: ArrayLike) -> np.ndarray:
        """Return the mass (...), kg, felt by a push along a direction (..., m) if the frame is free to move in all others.

        With the direction's unit vector u it is `1 / (u^T J M^-1 J^T u)`: the belted ellipsoid, which touches `mass` on its axes.

        Raises:
            InputError: a direction without length.

        >>> found = qddot.load("two_link").ellipsoids([0, np.pi / 2])
        >>> found.effective_mass([[1, 0], [0, 1]]).round(3)  # kg, along x and along y
        array([0.234, 0.867])
        """
        u = as_array("direction", direction, (len(self.rows),))
        length = np.linalg.norm(u, axis=-1, keepdims=True)
        if not length.all():
            raise InputError(f"direction{list(first_index(length[..., 0] == 0))} has no length: a direction has")
        u = u / length
        with np.errstate(divide="ignore"):
            return 1 / np.einsum("...i,...ij,...j->...", u, self.mobility, u)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the arm and, at the frame, the three ellipsoids and the belted one, all to one scale that the legend gives.

        Two rows of x, y, z are drawn in their plane, three in space.

        Args:
            ax: Matplotlib axes to draw in; a new figure if None.

        Raises:
            InputError: a batch of states, rows that are not positions, or a flat `ax` for three rows.
            MissingExtraError: matplotlib is not installed.

        >>> ax = qddot.load("two_link").ellipsoids([0.3, 0.8]).plot()
        """
        from qddot.task_space.plot import draw_arm

        return draw_arm(self, ax)

    def plot_joint_space(self, ax: Axes | None = None) -> Axes:
        """Draw the ellipsoid of the mass matrix, for robots with two or three degrees of freedom; see `plot`.

        >>> ax = qddot.load("two_link").ellipsoids([0.3, 0.8]).plot_joint_space()
        """
        from qddot.task_space.plot import draw_joint_space

        return draw_joint_space(self, ax)

    def __repr__(self) -> str:
        return f"Ellipsoids of {self.frame!r}: {', '.join(self.rows)}"


def ellipsoids(evaluate: Evaluator, q: ArrayLike, task: Task) -> Ellipsoids:
    """Return the ellipsoids of a task in a state or a batch, also where J is singular."""
    at_rest, dynamics = np.zeros(evaluate.model.mechanism.nv), "forward_dynamics"  # it refuses a singular mass matrix
    found = compute_together(evaluate, ["mass_matrix", dynamics, (task.quantity, task.options)], (q, at_rest, at_rest), {})
    M, J = found["mass_matrix"], found[task.quantity][..., task.picked, :]
    B = np.linalg.solve(np.linalg.cholesky(M), T(J))  # M_C = (B^T B)^-1
    lightest_first, roots = axes(T(B))
    fastest_first, speeds = axes(J)
    eigenvalues, eigenvectors = np.linalg.eigh(M)
    with np.errstate(divide="ignore"):
        mass, forces = 1 / roots**2, 1 / speeds
    return Ellipsoids(
        rows=task.rows,
        frame=task.frame,
        mass=Ellipsoid(lightest_first[..., ::-1], mass[..., ::-1]),
        velocity=Ellipsoid(fastest_first, speeds),
        force=Ellipsoid(fastest_first[..., ::-1], forces[..., ::-1]),
        joint=Ellipsoid(eigenvectors[..., ::-1], eigenvalues[..., ::-1]),
        mobility=T(B) @ B,
        q=evaluate.configuration("q", q),
        evaluate=evaluate,
    )


def axes(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes of `{A x: |x| = 1}`, A (..., m, n): directions (..., m, m), lengths (..., m), longest first."""
    U, s, _ = np.linalg.svd(A)
    lengths = np.zeros(U.shape[:-1])
    lengths[..., : s.shape[-1]] = np.where(s > ROUNDING * s[..., :1], s, 0)
    return U, lengths


def refuse_many_rows(task: Task, freedoms: int) -> None:
    """Refuse more rows than degrees of freedom, whose manipulability is zero everywhere. Raises InputError."""
    m, n = len(task.rows), freedoms
    if m > n:
        raise InputError(
            f"manipulability of {m} rows ({', '.join(task.rows)}) is zero everywhere for a robot with {n} degrees of freedom: "
            f"choose at most {n} with rows="
        )
