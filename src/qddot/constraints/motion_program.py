"""Motion under constraints as programs: accelerations, a step of order four, and the way back onto the constraints.

The constraints are traced and differentiated once; their program is replayed in every stage of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qddot.algorithms.factor import Factor, factor
from qddot.algorithms.forward_dynamics import Accelerations, factored_mass_matrix
from qddot.algorithms.inverse_dynamics import Wrenches
from qddot.algorithms.kinematics import Scalars, coordinate_rates, zeros
from qddot.algorithms.quantities import algorithm
from qddot.algorithms.steps import along, kutta, unit_quaternions
from qddot.compile.trace import forces, recorded
from qddot.constraints.constrained import CLOSED
from qddot.constraints.constraint import Constraint
from qddot.constraints.elimination import Matrix, all_positive, dot, eliminated
from qddot.constraints.trace import constraint_program
from qddot.graph.expr import Expr, Trace
from qddot.graph.program import Input, Output, Program
from qddot.graph.replay import replay
from qddot.model.model import LiftedModel, Model
from qddot.model.overflow import overflow
from qddot.model.scalar import Scalar

CORRECTIONS = 2
"""Newton steps with one matrix: they close what a step of order four opens, a millionth or less, to the square and to the cube."""

MOTIONS = {
    "accelerations": (("q", "qd", "tau"), ("qdd", "lam")),
    "step": (("q", "qd", "tau", "dt"), ("q_next", "qd_next")),
    "settled": (("q", "qd"), ("q_next", "qd_next")),
    "regularity": (("q",), ("pivots", "squares")),
}
"""Inputs and outputs; wrench and parameters may come on top, and there is one margin."""


def motion_program(model: Model, constraints: Sequence[Constraint], what: str, *, wrench: bool, runtime: bool) -> Program:
    """One of `MOTIONS`.

    Args:
        wrench: add an input (bodies, 6), external forces as in `qddot.compile.trace`.
        runtime: add a last input, the inertial parameters.
    """
    names, results = MOTIONS[what]
    links, nv = sum(body.is_link for body in model.bodies), model.mechanism.nv
    shapes = {"q": (model.mechanism.nq,), "dt": (1,), "wrench": (links, 6), "parameters": (10 * links,)}
    names = (*names, *["wrench"] * wrench, *["parameters"] * runtime)
    inputs = tuple(Input(name, shapes.get(name, (nv,))) for name in names)
    recorder = Trace()
    given = {x.name: [recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(inputs)}
    lifted = recorded(model, recorder, given, regrouped=True)
    tree = ConstrainedTree(lifted, constraints)
    f_ext = forces(model, given["wrench"]) if wrench else None
    q, qd = given["q"], given.get("qd", zeros(nv))

    def accelerate(_: Scalar, q: Scalars, qd: Scalars) -> Accelerations:
        qdd, _, margins = tree.accelerations(q, qd, given["tau"], f_ext)
        return qdd, margins

    if what == "accelerations":
        *values, margins = tree.accelerations(q, qd, given["tau"], f_ext)
    elif what == "step":
        *values, margins = kutta(lifted, q, qd, given["dt"][0], accelerate)
    elif what == "settled":
        *values, margins = tree.settled(q, qd)
    else:
        *values, margins = tree.regularity(q)
    verdict = Output("margins", (1,), (all_positive(recorder, margins),))
    program = Program(what, inputs, (*(Output(n, (len(x),), tuple(x)) for n, x in zip(results, values, strict=True)), verdict))
    if not program.is_finite():
        raise overflow(model, "motion under the constraints")
    return program


class Rows(NamedTuple):
    """`A v = -c`, without rows of zeros, which ask for nothing: `kept` are the others."""

    kept: list[int]
    A: Matrix
    c: list[Scalar]


class ConstrainedTree:
    """A robot and its constraints over the nodes of one trace. Each method also returns margins, positive where the rest holds.

    Args:
        described: the robot whose frames the constraints speak of, where `model` has variables of the trace in it.

    Attributes:
        moving: the program of A and `Adot qd`.
        closing: that of A and phi, of holonomic constraints only.
    """

    def __init__(self, model: LiftedModel, constraints: Sequence[Constraint], described: Model | None = None) -> None:
        self.model, described = model, described or model.source
        self.moving = constraint_program(described, constraints, ("A", "Adot_qd"))
        self.closing = constraint_program(described, [c for c in constraints if c.holonomic], ("A", "phi"))

    def rows(self, program: Program, q: Scalars, qd: Scalars) -> Rows:
        flat, c = replay(program, self.model.field, q, qd)
        A = [flat[i : i + self.model.nv] for i in range(0, len(flat), self.model.nv)]
        kept = [i for i, row in enumerate(A) if any(x.__class__ is Expr or x != 0 for x in row)]
        return Rows(kept, [A[i] for i in kept], [c[i] for i in kept])

    def factored(self, q: Scalars) -> tuple[Factor, list[Scalar]]:
        """M, and margins of its pivots."""
        if self.model.source.quantities is None:
            return factored_mass_matrix(self.model, q)
        solved = factor(algorithm(self.model, "mass_matrix")(self.model, q))
        return solved, list(solved.pivots)

    def accelerations(
        self, q: Scalars, qd: Scalars, tau: Scalars, f_ext: Wrenches | None = None
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """qdd and lam: `A qdd = -Adot qd`, nearest to what the robot would do without constraints."""
        model, rows = self.model, self.rows(self.moving, q, qd)
        M, margins = self.factored(q)
        bias = algorithm(model, "load_torque")(model, q, qd, zeros(model.nv), f_ext)
        free = M.solve([t - b for t, b in zip(algorithm(model, "delivered_torque")(model, qd, tau), bias)])
        solver = eliminated(M, rows.A)
        qdd, found = solver.within(free, rows.c)
        lam = zeros(self.moving.outputs[1].size)
        for i, x in zip(rows.kept, found):
            lam[i] = x
        return qdd, lam, [*margins, *solver.margins]

    def regularity(self, q: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return what the rows before leave of each row of `A M^-1 A^T`, and its diagonal; zeros for rows of zeros."""
        rows = self.rows(self.moving, q, zeros(self.model.nv))
        solver = eliminated(self.factored(q)[0], rows.A)
        k = self.moving.outputs[1].size
        pivots, squares = zeros(k), zeros(k)
        for i, pivot, a, y in zip(rows.kept, solver.G.pivots, solver.A, solver.Y):
            pivots[i], squares[i] = pivot, dot(a, y)
        return pivots, squares, [1.0]

    def settled(
        self, q: Scalars, qd: Scalars, corrections: int = CORRECTIONS, closed: float = CLOSED
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """q and qd back on the constraints, from which rounding and truncation lead away: `phi = 0` and `A qd = 0`."""
        model, rows = self.model, self.rows(self.closing, q, qd)
        M, margins = self.factored(q)
        solver = eliminated(M, rows.A)
        margins += solver.margins
        for _ in range(corrections):
            displacement, _ = solver.within(zeros(model.nv), rows.c)
            q = unit_quaternions(model, along(q, coordinate_rates(model, q, displacement), 1))
            rows = self.rows(self.closing, q, qd)
        margins += [closed**2 - x * x for x in rows.c]
        rows = self.rows(self.moving, q, qd)
        solver = eliminated(self.factored(q)[0], rows.A)
        return list(q), solver.within(qd, zeros(len(rows.A)))[0], [*margins, *solver.margins]
