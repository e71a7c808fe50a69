"""The equation of motion at the tip instead of at the joints: `F = M_C Vdot + C_C V + g_C` for a velocity `V = J qd`.

    M_C = (J M^-1 J^T)^-1                        = J^-T M J^-1 where J is square
    c_C = J_bar^T c - M_C Jdot qd
    g_C = J_bar^T g           with J_bar = M^-1 J^T M_C, = J^-1 where J is square
    C_C = J^-T (C - M J^-1 Jdot) J^-1            where J is square

Nothing is inverted: everything is made of minors of J and M, over one denominator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arguments import names
from qddot.errors import InputError, SingularityError, unknown_name
from qddot.symbolic.exact.minors import adjugate, bordered_inverse, independent_columns
from qddot.symbolic.form import Form

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

ROWS = ("wx", "wy", "wz", "x", "y", "z")
MAX_JOINTS = 4

Inverse = tuple[np.ndarray, np.ndarray, tuple[Any, Any]]
"""(B, N, (d, e)): the inverse of J is B / d, and the mass felt at the frame is N / (d e)."""


class TaskSpace(NamedTuple):
    """Closed forms at a frame, named as the numbers of `Robot.task_space`; entries polynomials or ratios of them, in q and qd.

    Attributes:
        frame, rows: the frame whose velocity V is, and the parts (r,) of that velocity.
        J: (r, nv), `V = J qd`.
        J_bar: (nv, r), J^-1 or, for a redundant arm, the inverse that moves the joints with the least kinetic energy.
        M_C: the mass felt there (r, r).
        C_C: (r, r), with `c_C = C_C V` and `dM_C/dt - 2 C_C` skew; None for a redundant arm, where V does not determine qd.
        c_C: Coriolis and centripetal forces (r,).
        g_C: gravity (r,).
    """

    frame: str
    rows: tuple[str, ...]
    J: Form
    J_bar: Form
    M_C: Form
    C_C: Form | None
    c_C: Form
    g_C: Form


def task_space(equations: Equations, frame: str | None, rows: Sequence[str] | None, reference: str) -> TaskSpace:
    """See `Equations.task_space`."""
    frame = equations._frame(frame)
    indices = chosen(rows)
    rows = tuple(ROWS[i] for i in indices)
    n = equations.nv
    J = equations.jacobian(frame, reference)[indices]
    if len(rows) > n:
        raise InputError(f"{len(rows)} rows ({', '.join(rows)}) of a robot with {n} joints: choose at most {n} with rows=")
    if n > MAX_JOINTS:
        raise InputError(f"closed forms in task space are for at most {MAX_JOINTS} joints, this robot has {n}: they grow too long")
    rank = len(independent_columns(J.entries))  # that of almost every q
    if rank < len(rows):
        raise SingularityError(
            f"the rows {', '.join(rows)} of the Jacobian of {frame!r} have rank {rank} at every q, not {len(rows)}"
        )
    Jdot = equations.jacobian_dot(frame, reference)[indices].entries
    M, C, c, g = (form.entries for form in (equations.M, equations.C, equations.c, equations.g))
    square = len(rows) == n
    B, N, (d, e) = (square_inverse if square else weighted_inverse)(J.entries, M)
    return TaskSpace(
        frame,
        rows,
        J=J,
        J_bar=Form(equations, B / d),
        M_C=Form(equations, N / (d * e)),
        C_C=Form(equations, B.T @ (C * d - M @ B @ Jdot) @ B / (d * d * e)) if square else None,
        c_C=Form(equations, (B.T @ c * e - N @ (Jdot @ equations.qd.entries)) / (d * e)),
        g_C=Form(equations, B.T @ g / d),
    )


def chosen(rows: Sequence[str] | None) -> list[int]:
    """Return the indices in `ROWS` of the rows asked for; all if None."""
    if rows is None:
        return list(range(len(ROWS)))
    rows = names("rows", rows)
    for i, row in enumerate(rows):
        if row not in ROWS:
            raise unknown_name("row", row, ROWS)
        if row in rows[:i]:
            raise InputError(f"the row {row} stands twice in rows=")
    if not rows:
        raise InputError(f"rows= is empty: choose some of {', '.join(ROWS)}")
    return [ROWS.index(row) for row in rows]


def square_inverse(J: np.ndarray, M: np.ndarray) -> Inverse:
    """Return the inverse of a square Jacobian."""
    B, d = adjugate(J)
    return B, B.T @ M @ B, (d, d)


def weighted_inverse(J: np.ndarray, M: np.ndarray) -> Inverse:
    """Return the weighted inverse of a redundant arm's Jacobian, `M^-1 J^T (J M^-1 J^T)^-1`."""
    _, B, Z, d = bordered_inverse(M, J)
    return B, -Z, (d, 1)
