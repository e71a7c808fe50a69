"""Motion under constraints as programs: accelerations, a step of order four, and the projection onto the constraints.

The constraints are traced and differentiated once; their program is replayed in every stage of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from qddot.algorithms.factor import Factor, dot, factor
from qddot.algorithms.forward_dynamics import Accelerations, factored_mass_matrix
from qddot.algorithms.inverse_dynamics import Wrenches
from qddot.algorithms.kinematics import Scalars, coordinate_rates, zeros
from qddot.algorithms.quantities import algorithm
from qddot.algorithms.steps import Accelerate, along, kutta, unit_quaternions
from qddot.compile.trace import forces, recorded
from qddot.constraints.constrained import CLOSED
from qddot.constraints.constraint import Constraint
from qddot.constraints.elimination import Eliminated, Matrix, all_positive, eliminated
from qddot.constraints.trace import constraint_program
from qddot.graph.expr import Expr, Trace
from qddot.graph.program import Input, Output, Program, output
from qddot.graph.replay import replay
from qddot.model.model import LiftedModel, Model
from qddot.model.overflow import overflow
from qddot.model.scalar import Scalar

CORRECTIONS = 2
"""Newton steps with the same matrix. The error that a step of order four leaves, a millionth or less, becomes its square, then its
cube."""

NEAR, TURN = 0.1, 3.0
"""A step is doubtful if sigma, the smallest singular value of the constraints, is below the first, or below the second times the
largest turn of a joint in the step."""

MOTIONS = {
    "accelerations": (("q", "qd", "tau"), ("qdd", "lam")),
    "step": (("q", "qd", "tau", "dt"), ("q_next", "qd_next")),
    "settled": (("q", "qd"), ("q_next", "qd_next")),
    "whole_step": (("q", "qd", "squares", "tau", "dt"), ("q_next", "qd_next", "squares_next")),
    "regularity": (("q",), ("pivots", "squares")),
    "forces": (("q", "qd", "qdd", "lam"), ("tau",)),
    "projections": (("q",), ("P", "P_qdd")),
    "projected": (("q", "qd"), ("qd_next",)),
}
"""Inputs and outputs of each program. Wrench, parameters and variables may be further inputs; one margin is a further output."""


class Following(NamedTuple):
    """Rows that depend on others before them, or are zero: of all constraints, and of the holonomic ones alone."""

    moving: tuple[int, ...]
    closing: tuple[int, ...]


NONE_FOLLOW = Following((), ())


def motion_program(
    model: Model,
    constraints: Sequence[Constraint],
    what: str,
    following: Following,
    *,
    wrench: bool,
    runtime: bool = False,
    dtype: DTypeLike = float,
    tolerance: float | None = None,
) -> Program:
    """Return the program of one of `MOTIONS`.

    Args:
        wrench: add an input (bodies, 6), external forces as in `qddot.compile.trace`.
        runtime: add an input, the inertial parameters.
        dtype: float64 or float32, of the arithmetic.
        tolerance: for "accelerations" and "forces": by how much a state, or an acceleration, may violate the constraints, as in
            `Robot.constrained_forward_dynamics` and `constrained_inverse_dynamics`.
    """
    names, results = MOTIONS[what]
    links, nv = sum(body.is_link for body in model.bodies), model.mechanism.nv
    shapes = {"q": (model.mechanism.nq,), "dt": (1,), "wrench": (links, 6), "parameters": (10 * links,)}
    shapes["variables"] = (sum(x.size for x in model.variables),)
    if "squares" in names or "lam" in names:
        shapes["squares"] = shapes["lam"] = constraint_program(model, constraints, ("A",)).outputs[0].shape[:1]
    names = (*names, *["wrench"] * wrench, *["parameters"] * runtime, *["variables"] * bool(model.variables))
    inputs = tuple(Input(name, shapes.get(name, (nv,))) for name in names)
    recorder = Trace(float(np.finfo(dtype).eps))
    given = {x.name: [recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(inputs)}
    lifted = recorded(model, recorder, given, regrouped=True)
    tree = ConstrainedTree(lifted, constraints, model, given.get("variables", ()), following)
    f_ext = forces(model, given["wrench"]) if wrench else None
    q, qd = given["q"], given.get("qd", zeros(nv))

    def accelerate(_: Scalar, q: Scalars, qd: Scalars) -> Accelerations:
        qdd, _, margins = tree.accelerations(q, qd, given["tau"], f_ext)
        return qdd, margins

    if what == "accelerations":
        *values, margins = tree.accelerations(q, qd, given["tau"], f_ext)
        margins += [] if tolerance is None else tree.on_constraints(q, qd, tolerance)
    elif what == "forces":
        *values, margins = tree.forces(q, qd, given["qdd"], given["lam"], f_ext, tolerance)
    elif what == "projections":
        *values, margins = tree.projections(q)
    elif what == "projected":
        solver, margins = tree.eliminated(q, tree.rows(tree.moving, q, qd))
        values = [solver.within(qd, zeros(len(solver.A)))[0]]
    elif what == "step":
        *values, margins = kutta(lifted, q, qd, given["dt"][0], accelerate)
    elif what == "settled":
        *values, margins = tree.settled(q, qd)
    elif what == "whole_step":
        *values, margins = tree.whole_step(q, qd, given["squares"], given["dt"][0], accelerate)
    else:
        *values, margins = tree.regularity(q)
    verdict = Output("margins", (1,), (all_positive(recorder, margins),))
    shown = [output(name, x, 2 if what == "projections" else 1) for name, x in zip(results, values, strict=True)]
    program = Program(what, inputs, (*shown, verdict))
    if not program.is_finite(float(np.finfo(dtype).max)):
        raise overflow(model, "motion under the constraints")
    return program


class Rows(NamedTuple):
    """`A v = -c` without rows of zeros, which have no effect. `kept` are the other rows, the dependent ones last."""

    kept: list[int]
    A: Matrix
    c: list[Scalar]
    follow: Matrix
    c_follow: list[Scalar]


class ConstrainedTree:
    """A robot and its constraints over the nodes of one trace. Each method also returns margins, positive where its result is
    valid.

    Args:
        described: the robot whose frames the constraints refer to, with `variables` in the trace.

    Attributes:
        moving: the program of A and `Adot qd`.
        closing: the program of A and phi, of holonomic constraints only.
        following: the dependent rows of each.
    """

    def __init__(
        self,
        model: LiftedModel,
        constraints: Sequence[Constraint],
        described: Model,
        variables: Scalars = (),
        following: Following = NONE_FOLLOW,
    ) -> None:
        self.model, self.variables, self.following = model, variables, following
        self.moving = constraint_program(described, constraints, ("A", "Adot_qd"))
        self.closing = constraint_program(described, [c for c in constraints if c.holonomic], ("A", "phi"))

    def replayed(self, program: Program, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
        given = {"q": q, "qd": qd, "variables": self.variables}
        return replay(program, self.model.field, *(given[x.name] for x in program.inputs))

    def rows(self, program: Program, q: Scalars, qd: Scalars) -> Rows:
        flat, c = self.replayed(program, q, qd)
        A = [flat[i : i + self.model.nv] for i in range(0, len(flat), self.model.nv)]
        known = set(self.following.moving if program is self.moving else self.following.closing)
        some = [i for i, row in enumerate(A) if any(x.__class__ is Expr or x != 0 for x in row)]
        kept, follow = [i for i in some if i not in known], [i for i in some if i in known]
        return Rows([*kept, *follow], [A[i] for i in kept], [c[i] for i in kept], [A[i] for i in follow], [c[i] for i in follow])

    def factored(self, q: Scalars) -> tuple[Factor, list[Scalar]]:
        """Return M factored, and margins of its pivots."""
        if self.model.source.quantities is None:
            return factored_mass_matrix(self.model, q)
        solved = factor(algorithm(self.model, "mass_matrix")(self.model, q))
        return solved, list(solved.pivots)

    def eliminated(self, q: Scalars, rows: Rows) -> tuple[Eliminated, list[Scalar]]:
        """Return the rows eliminated over M, and margins."""
        M, margins = self.factored(q)
        solver = eliminated(M, rows.A, rows.follow, self.model.field.rounding)
        return solver, [*margins, *solver.margins]

    def accelerations(
        self, q: Scalars, qd: Scalars, tau: Scalars, f_ext: Wrenches | None = None
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return qdd and lam: `A qdd = -Adot qd`, with qdd nearest to the acceleration without constraints."""
        model, rows = self.model, self.rows(self.moving, q, qd)
        M, margins = self.factored(q)
        bias = algorithm(model, "load_torque")(model, q, qd, zeros(model.nv), f_ext)
        free = M.solve([t - b for t, b in zip(algorithm(model, "delivered_torque")(model, qd, tau), bias)])
        solver = eliminated(M, rows.A, rows.follow, model.field.rounding)
        qdd, found = solver.within(free, rows.c)
        margins = [*margins, *solver.margins, *solver.agree(free, rows.c, rows.c_follow)]
        first, rest = solver.smallest(found)
        return qdd, self.spread(rows, [*first, *rest]), margins

    def spread(self, rows: Rows, values: Scalars) -> list[Scalar]:
        """Return one number for each row, zero for rows that were not kept."""
        found = zeros(self.moving.outputs[1].size)
        for i, x in zip(rows.kept, values):
            found[i] = x
        return found

    def on_constraints(self, q: Scalars, qd: Scalars, tolerance: float) -> list[Scalar]:
        """Return margins, positive where no `|phi|` and no `|A qd|` is larger than a tolerance."""
        flat, _ = self.replayed(self.moving, q, qd)
        rates = [dot(flat[i : i + self.model.nv], qd) for i in range(0, len(flat), self.model.nv)]
        return [tolerance**2 - x * x for x in (*self.replayed(self.closing, q, qd)[1], *rates)]

    def forces(
        self, q: Scalars, qd: Scalars, qdd: Scalars, lam: Scalars, f_ext: Wrenches | None, tolerance: float | None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return tau of a motion that pushes with lam, and margins, positive where `A qdd + Adot qd` is zero to a tolerance."""
        model, where = self.model, self.model.field.where_positive
        flat, c = self.replayed(self.moving, q, qd)
        A = [flat[i : i + model.nv] for i in range(0, len(flat), model.nv)]
        load = algorithm(model, "load_torque")(model, q, qd, qdd, f_ext)
        pushed = [x + sum((row[i] * l for row, l in zip(A, lam)), 0.0) for i, x in enumerate(load)]
        margins: list[Scalar] = [1.0]
        for row, rest in zip(A, c) if tolerance is not None else ():
            left, scale = dot(row, qdd) + rest, sum((abs(a * x) for a, x in zip(row, qdd)), abs(rest))
            margins.append(tolerance * where(scale - 1.0, scale, 1.0) - abs(left))
        return algorithm(model, "demanded_torque")(model, qd, pushed), margins

    def projections(self, q: Scalars) -> tuple[Matrix, Matrix, list[Scalar]]:
        """Return `P = 1 - A^T (A M^-1 A^T)^-1 A M^-1` and its transpose."""
        n = range(self.model.nv)
        solver, margins = self.eliminated(q, self.rows(self.moving, q, zeros(self.model.nv)))
        columns = [solver.G.solve([y[j] for y in solver.Y]) for j in n]  # of (A M^-1 A^T)^-1 A M^-1
        P_qdd = [[float(i == j) - sum((a[i] * x for a, x in zip(solver.A, columns[j])), 0.0) for i in n] for j in n]
        return [list(row) for row in zip(*P_qdd)], P_qdd, margins

    def regularity(self, q: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return the pivot of each row of `A M^-1 A^T`, and the diagonal; zeros for dependent rows."""
        rows = self.rows(self.moving, q, zeros(self.model.nv))
        solver, _ = self.eliminated(q, rows)
        squares = [dot(a, y) for a, y in zip(solver.A, solver.Y)]
        return self.spread(rows, solver.G.pivots), self.spread(rows, squares), [1.0]

    def settled(
        self, q: Scalars, qd: Scalars, corrections: int = CORRECTIONS, closed: float = CLOSED
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return q and qd projected onto the constraints, which rounding and truncation violate: `phi = 0` and `A qd = 0`."""
        model, rows = self.model, self.rows(self.closing, q, qd)
        solver, margins = self.eliminated(q, rows)
        for _ in range(corrections):
            displacement, _ = solver.within(zeros(model.nv), rows.c)
            q = unit_quaternions(model, along(q, coordinate_rates(model, q, displacement), 1))
            rows = self.rows(self.closing, q, qd)
        margins += [closed**2 - x * x for x in (*rows.c, *rows.c_follow)]
        solver, more = self.eliminated(q, self.rows(self.moving, q, qd))
        return list(q), solver.within(qd, zeros(len(solver.A)))[0], [*margins, *more]

    def whole_step(
        self, q: Scalars, qd: Scalars, squares: Scalars, h: Scalar, accelerate: Accelerate
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
        """Take a step and project onto the constraints, far enough from where they lose rank (`qddot.simulate.dead_centre`).
        `squares`: the largest values that the diagonal of `A M^-1 A^T` has had."""
        where = self.model.field.where_positive
        q1, qd1, margins = kutta(self.model, q, qd, h, accelerate)
        q1, qd1, more = self.settled(q1, qd1)
        fastest: Scalar = 0.0
        for v in qd:
            fastest = where(v * v - fastest, v * v, fastest)
        turn = (TURN * h) * (TURN * h) * fastest
        near = where(turn - NEAR**2, turn, NEAR**2)
        far = []
        for x in (q, q1):  # computed already in the first stage and at the end
            pivots, found, _ = self.regularity(x)
            squares = [where(new - old, new, old) for new, old in zip(found, squares)]
            far += [p - near * s for p, s in zip(pivots, squares) if p.__class__ is Expr or p != 0]
        return q1, qd1, squares, [*margins, *more, *far]
