"""The program of constraints: `phi`, `A` with `phidot = A qd`, and the rate of `A`, by exact derivatives of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qddot.algorithms.factor import dot
from qddot.algorithms.kinematics import coordinate_rates, zeros
from qddot.compile.trace import recorded
from qddot.constraints.constraint import Constraint
from qddot.constraints.elimination import Matrix
from qddot.constraints.state import State
from qddot.errors import InputError
from qddot.graph.derivative import along, gradient, variables_of
from qddot.graph.expr import Expr, Trace
from qddot.graph.program import Input, Output, Program
from qddot.model.model import LiftedModel, Model
from qddot.model.overflow import overflow
from qddot.model.scalar import Scalar

ROUNDING = 1e-9
"""A constant row that is this small, such as the distance of a planar loop from its plane, counts as zero."""


class Rows(NamedTuple):
    """Traced rows: `phi` (of holonomic constraints only) and `A` (k x nv)."""

    phi: list[Scalar]
    A: Matrix


def constraint_program(model: Model, constraints: Sequence[Constraint], wanted: Sequence[str]) -> Program:
    """Return the program of some of `phi` (k,), `A` (k, nv), `Adot_qd` (k,) and `Adot` (k, nv). Its inputs are q, the robot's
    variables, if any, and qd, if a rate is among the outputs."""
    recorder, nq, nv = Trace(), model.mechanism.nq, model.mechanism.nv
    open_ = [Input("variables", (sum(x.size for x in model.variables),))] if model.variables else []
    moving_inputs = [Input("q", (nq,)), *open_, Input("qd", (nv,))]
    given = {x.name: [recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(moving_inputs)}
    q, qd, lifted = given["q"], given["qd"], recorded(model, recorder, given, regrouped=False)
    phi, A = constraint_rows(lifted, constraints, q, qd)
    moving = dict(zip(q, coordinate_rates(lifted, q, qd)))
    k = len(A)
    make = {
        "phi": lambda: Output("phi", (len(phi),), tuple(phi)),
        "A": lambda: Output("A", (k, nv), flat(A)),
        "Adot_qd": lambda: Output("Adot_qd", (k,), tuple(along([dot(row, qd) for row in A], moving))),
        "Adot": lambda: Output("Adot", (k, nv), tuple(along(flat(A), moving))),
    }
    inputs = moving_inputs if {"Adot", "Adot_qd"} & set(wanted) else moving_inputs[:-1]
    program = Program("constraint", tuple(inputs), tuple(make[x]() for x in wanted))
    if not program.is_finite():
        raise overflow(model, "the constraints' derivative")
    return program


def constraint_rows(model: LiftedModel, constraints: Sequence[Constraint], q: list[Expr], qd: list[Expr]) -> Rows:
    """Return the rows of all constraints; for holonomic ones `A = dphi/dq dq/dqd`, along the tangent where q has quaternions."""
    motions = [coordinate_rates(model, q, [1.0 if i == k else 0.0 for i in range(model.nv)]) for k in range(model.nv)]
    found = Rows([], [])
    for constraint in constraints:
        if constraint.holonomic:
            phi = scalars(constraint, State(model, q))
            refuse_impossible(constraint, phi)
            found.phi.extend(phi)
            A = [[dot(slopes, motion) for motion in motions] for slopes in (gradient(x, q) for x in phi)]
        else:
            phi, A = [], linear_rows(constraint, model, q, qd)
        refuse_overflow(constraint, [*phi, *flat(A)])
        found.A.extend(A)
    return found


def linear_rows(constraint: Constraint, model: LiftedModel, q: list[Expr], qd: list[Expr]) -> Matrix:
    """Return A of rows `A(q) qd`. Raises InputError: the rows are not linear in qd."""
    rows = [gradient(x, qd) for x in scalars(constraint, State(model, q, qd))]
    still = scalars(constraint, State(model, q, zeros(model.nv)))
    for i, (row, left) in enumerate(zip(rows, still)):
        if variables_of(row) & set(qd):
            raise InputError(f"row {i} of {constraint} is not linear in qd: a Pfaffian constraint is A(q) qd = 0")
        if isinstance(left, Expr) or left != 0:
            raise InputError(
                f"row {i} of {constraint} is not zero at qd = 0: a Pfaffian constraint is A(q) qd = 0, without a drift"
            )
    return rows


def scalars(constraint: Constraint, state: State) -> list[Scalar]:
    """Return the rows of a constraint, each checked to be a scalar."""
    rows = list(constraint.rows(state))
    for i, x in enumerate(rows):
        if isinstance(x, bool):  # the result of a comparison, which is not recorded
            raise InputError(f"row {i} of {constraint} is {x}: a row is what must become zero, a - b, and no comparison a == b")
        if not isinstance(x, (Expr, int, float)):
            raise InputError(f"row {i} of {constraint} is {x!r}: one scalar a row is needed, made from the state")
    return rows


def refuse_overflow(constraint: Constraint, values: Sequence[Scalar]) -> None:
    """Refuse constants that overflow: they are folded while a constraint is traced, where no flag is raised."""
    if not Program("constraint", (), (Output("rows", (len(values),), tuple(values)),)).is_finite():
        raise InputError(f"{constraint} overflows: a constant in it, or in its derivative, is not finite (write it in SI units)")


def refuse_impossible(constraint: Constraint, phi: list[Scalar]) -> None:
    for i, x in enumerate(phi):
        if not isinstance(x, Expr) and not abs(x) <= ROUNDING:
            raise InputError(f"row {i} of {constraint} is {x:g} whatever q: it cannot become zero")


def flat(matrix: Matrix) -> tuple[Scalar, ...]:
    return tuple(x for row in matrix for x in row)
