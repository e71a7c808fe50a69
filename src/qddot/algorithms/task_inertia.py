"""The inertia of a robot at a frame, and manipulability: by rows of the frame's Jacobian made orthogonal, without a branch.

With `M = L^T D L` the rows of J become vectors `b = L^-T j`, whose products are weighted by `D^-1`: then `b_i . b_j` is an element
of `J M^-1 J^T`, which is never formed. The modified Gram-Schmidt process loses no more digits than a decomposition by reflections:
`B = Q R` with `Q^T D^-1 Q = S`, so

    M_C = (J M^-1 J^T)^-1 = W S^-1 W^T        J_bar = M^-1 J^T M_C = L^-1 D^-1 Q S^-1 W^T        W = R^-1
"""

from __future__ import annotations

import math
from typing import NamedTuple

from qddot.algorithms.analytic import COORDINATES, analytic_jacobian
from qddot.algorithms.factor import Matrix, dot, reciprocal
from qddot.algorithms.forward_dynamics import factored_mass_matrix
from qddot.algorithms.jacobian import REFERENCES, jacobian, rows
from qddot.algorithms.kinematics import Scalars
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar

SINGULAR, ROUNDINGS = 1e-7, 100
"""A row depends on the others where they leave less of it than this fraction of the longest row, at least so many roundings. M_C
has the inverse squares of what is left, so joint forces `J^T M_C Vdot` lose twice the digits of J: here all but one or two."""

NOTHING = 1e-30
"""Squared length below which a vector counts as zero."""

AXES = (*REFERENCES, *COORDINATES)


class Orthogonal(NamedTuple):
    """Vectors `b_j = sum_k R_kj q_k`: the `q` are orthogonal, R has ones on its diagonal."""

    q: Matrix  # each vector less its components along those before
    squares: list[Scalar]  # `q_k . q_k`
    R: Matrix  # row by row; zeros before the diagonal


def orthogonal(model: LiftedModel, vectors: Matrix, weights: Scalars) -> Orthogonal:
    """Return vectors made orthogonal for the product `sum_i w_i a_i b_i`; a zero vector leaves the others as they are."""
    left, count = [list(b) for b in vectors], len(vectors)
    squares: list[Scalar] = []
    R: Matrix = [[float(k == j) for j in range(count)] for k in range(count)]
    for k, q in enumerate(left):
        weighted = [w * x for w, x in zip(weights, q)]
        squares.append(dot(weighted, q))
        inverse = reciprocal(model.field.where_positive(squares[k] - NOTHING, squares[k], 1.0))
        for j in range(k + 1, count):
            R[k][j] = dot(weighted, left[j]) * inverse
            left[j] = [x - R[k][j] * y for x, y in zip(left[j], q)]
    return Orthogonal(left, squares, R)


def task_inertia(
    model: LiftedModel, q: Scalars, frame: str, axes: str, rows: str, damping: str
) -> tuple[Matrix, Matrix, list[Scalar]]:
    """Return `M_C = (J M^-1 J^T + damping^2 1)^-1` (m, m), `J_bar = M^-1 J^T M_C` (n, m), and margins.

    Args:
        axes: reference of the twist, or orientation coordinates of the analytic Jacobian.
        rows: numbers of the Jacobian's rows, with commas between.
        damping: a number as text, or an empty text. It appends m elements to each vector.
    """
    J, margins = chosen_rows(model, q, frame, axes, rows)
    M, more = factored_mass_matrix(model, q)
    n, m = model.nv, len(J)
    damped = [[float(damping) if i == k else 0.0 for i in range(m)] for k in range(m)] if damping else [[]] * m
    B = [M.solve_upper(j) + extra for j, extra in zip(J, damped)]
    weights = [*M.inverse, *[1.0] * len(damped[0])]
    Q, S, R = orthogonal(model, B, weights)
    depends = max(SINGULAR, ROUNDINGS * model.field.rounding) ** 2 * longest(model, B, weights)
    margins = [*margins, *more, *(s - depends if is_open(s) or s > 0 else 0.0 for s in S)]  # a constant 0: M_C exists for no q
    W = inverse_of_unit_triangular(R)
    scale = [reciprocal(s) for s in S]
    half = [[w * s for w, s in zip(row, scale)] for row in W]  # W S^-1
    M_C = [[dot(half[i], W[j]) for j in range(m)] for i in range(m)]
    columns = []
    for j in range(m):
        mixed = [sum((half[j][k] * Q[k][i] for k in range(m)), 0.0) for i in range(n)]
        columns.append(M.solve_lower([d * x for d, x in zip(M.inverse, mixed)]))
    return M_C, [[column[i] for column in columns] for i in range(n)], margins


def is_open(x: Scalar) -> bool:
    """Return True for a scalar whose value is not known while tracing."""
    return not isinstance(x, (int, float))


def longest(model: LiftedModel, vectors: Matrix, weights: Scalars) -> Scalar:
    """Return the squared length of the longest vector."""
    found: Scalar = 0.0
    for b in vectors:
        square = sum((w * x * x for w, x in zip(weights, b)), 0.0)
        found = model.field.where_positive(square - found, square, found)
    return found


def manipulability(model: LiftedModel, q: Scalars, frame: str, axes: str, rows: str) -> Scalar:
    """Return `sqrt(det(J J^T))`, the volume that the rows span."""
    J, _ = chosen_rows(model, q, frame, axes, rows)
    return model.field.sqrt(math.prod(orthogonal(model, J, [1.0] * model.nv).squares, start=1.0))


def chosen_rows(model: LiftedModel, q: Scalars, frame: str, axes: str, chosen: str) -> tuple[Matrix, list[Scalar]]:
    """Return the chosen rows of a frame's Jacobian, and margins."""
    whole, margins = (rows(jacobian(model, q, frame, axes)), []) if axes in REFERENCES else analytic_jacobian(model, q, frame, axes)
    return [whole[int(i)] for i in chosen.split(",")], margins


def inverse_of_unit_triangular(R: Matrix) -> Matrix:
    """Return W with `R W = 1`, for R with ones on its diagonal and zeros below."""
    m = len(R)
    W: Matrix = [[float(i == j) for j in range(m)] for i in range(m)]
    for j in range(m):
        for i in reversed(range(j)):
            W[i][j] = -sum((R[i][k] * W[k][j] for k in range(i + 1, j + 1)), 0.0)
    return W
