"""One robot under one set of constraints: its kernels and its dynamics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arguments import positive_number
from qddot.batched import T, times
from qddot.compile.arrays import as_array, first_index
from qddot.compile.evaluate import DOUBLE, Evaluator, refuse_non_finite
from qddot.compile.given import with_given
from qddot.compile.wrenches import net_stack
from qddot.constraints.constraint import Constraint
from qddot.constraints.factored import Factored, factored, named
from qddot.constraints.standard import from_description
from qddot.constraints.tip_wrench import tip_wrench
from qddot.errors import ConvergenceError, InputError
from qddot.model import configuration
from qddot.model import constraints as described
from qddot.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DESCRIBED = (described.Connect, described.Weld, described.Coupling)
STEPS, HALVINGS = 100, 12

LONGEST = 0.5
"""rad or m: longest step towards the constraints. Near a singular configuration Newton's method would turn joints many times."""

CLOSED = 1e-12
"""m or rad: tolerance of closed loops in a motion."""


class ConstrainedDynamics(NamedTuple):
    """`qdd` (..., nv), and the multipliers `lam` (..., k): the robot pushes with `A^T lam` against its constraints."""

    qdd: np.ndarray
    lam: np.ndarray


class Projections(NamedTuple):
    """`P` (..., nv, nv) projects joint forces onto the part that moves the robot, `P_qdd` projects accelerations and velocities."""

    P: np.ndarray
    P_qdd: np.ndarray


class ConstrainedRobot:
    """A robot under constraints.

    Args:
        evaluate: the robot's kernels; those of the constraints are kept with them.
        constraints: one or several; None: those of its description.
        parameters: inertial parameters (..., 10 bodies) instead of the robot's own, or None.
        variables: values for the robot's variables, in the form in which a user gives them.
    """

    def __init__(self, evaluate: Evaluator, constraints: Any, parameters: np.ndarray | None = None, variables: Any = None) -> None:
        self.evaluate, self.constraints = evaluate, as_constraints(evaluate.model, constraints)
        self.parameters, self.open = parameters, with_given(evaluate.model.variables, {}, variables, DOUBLE)

    def values(self, wanted: Sequence[str], q: ArrayLike, qd: ArrayLike | None = None) -> Sequence[np.ndarray]:
        """Return some of `phi`, `A`, `Adot_qd` and `Adot`."""
        from qddot.constraints.trace import constraint_program  # imports the graph, so only when needed

        trace = lambda: constraint_program(self.evaluate.model, self.constraints, wanted)  # noqa: E731
        kernel = self.evaluate.kernels.compiled(("constraints", self.constraints, *wanted), trace, np.dtype(float))
        results, _ = self.evaluate.evaluate("constraint", kernel, {"q": q, "qd": qd, **self.open}, {})
        return results

    def of_tree(self, quantity: str, **inputs: Any) -> np.ndarray:
        """Return a quantity of the robot without constraints."""
        if self.parameters is not None:
            inputs["parameters"] = self.parameters
        return self.evaluate(quantity, {**inputs, **self.open}, {})

    def factored(self, q: ArrayLike, A: np.ndarray) -> Factored:
        return factored(self.of_tree("mass_matrix", q=q), A, self.evaluate.model.name)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: Any, f_tip: Any, tolerance: float | None
    ) -> ConstrainedDynamics:
        """Return qdd = M^-1 (tau - h - A^T lam) and lam = (A M^-1 A^T)^-1 (A M^-1 (tau - h) + Adot qd)."""
        A, b = self.values(("A", "Adot_qd"), q, qd)
        if tolerance is not None:
            tolerance = positive_number("tolerance", tolerance)
            self.refuse_violation(q, times(A, as_array("qd", qd, A.shape[-1:])), tolerance)
        tau, speeds = (as_array(name, x, A.shape[-1:]) for name, x in (("tau", tau), ("qd", qd)))
        try:
            np.broadcast_shapes(tau.shape, speeds.shape)
        except ValueError:
            raise InputError(f"leading dimensions of tau {tau.shape[:-1]} and qd {speeds.shape[:-1]} do not fit") from None
        delivered = self.evaluate("delivered_torque", {"qd": qd, "tau": tau, **self.open}, {})
        f = plus(delivered, -self.forced("load_torque", {"q": q, "qd": qd, "qdd": np.zeros(A.shape[-1])}, f_ext, f_tip))
        solver = self.factored(q, A)
        solver.warn_of_redundant_rows()
        with np.errstate(all="ignore"):
            found = ConstrainedDynamics(*solver.accelerations(f, b))
        refuse_non_finite("constrained_forward_dynamics", found._fields, found)
        return found

    def accelerations(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, **wrench: np.ndarray) -> ConstrainedDynamics:
        """Return accelerations for a simulation, without refinement: its steps are less accurate anyway."""
        A, b = self.values(("A", "Adot_qd"), q, qd)
        f = tau - self.of_tree("bias_torque", q=q, qd=qd, **wrench)
        return ConstrainedDynamics(*self.factored(q, A).accelerations(f, b, refined=False))

    def settled(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Project a state onto the constraints, which rounding and truncation violate: the nearest one by kinetic energy."""
        q = self.project(q, CLOSED, by_energy=True)
        return q, self.project_velocity(q, qd)

    def project_velocity(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Return `P_qdd qd`, the nearest velocity by kinetic energy that satisfies the constraints."""
        P = self.projections(q).P_qdd
        return applied(P, "qd", as_array("qd", qd, P.shape[-1:]))

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, lam: ArrayLike, f_ext: Any, f_tip: Any, tolerance: float | None
    ) -> np.ndarray:
        """Return tau = M qdd + h + A^T lam; friction that grows with the load depends on lam, too."""
        A, b = self.values(("A", "Adot_qd"), q, qd)
        load = self.forced("load_torque", {"q": q, "qd": qd, "qdd": qdd}, f_ext, f_tip)
        if tolerance is not None:
            refuse_impossible(A, b, as_array("qdd", qdd, A.shape[-1:]), tolerance)
        return self.evaluate("demanded_torque", {"qd": qd, "load": plus(load, self.force(A, lam)), **self.open}, {})

    def force(self, A: np.ndarray, lam: ArrayLike) -> np.ndarray:
        """Return A^T lam (..., nv)."""
        return applied(T(A), "lam", as_array("lam", lam, (A.shape[-2],)))

    def forced(self, quantity: str, inputs: dict[str, Any], f_ext: Any, f_tip: Any) -> np.ndarray:
        """Return a quantity of the open tree, with external forces, if any."""
        if f_ext is not None or f_tip is not None:
            inputs["wrench"] = net_stack(self.evaluate, inputs["q"], f_ext, f_tip, True)
        return self.of_tree(quantity, **inputs)

    def refuse_violation(self, q: ArrayLike, rate: np.ndarray, tolerance: float) -> None:
        """Refuse a state that violates the constraints, or whose velocity does."""
        for name, values, fix in (("phi", self.values(("phi",), q)[0], "project"), ("A qd", rate, "project_velocity")):
            if (np.abs(values) > tolerance).any():
                *state, row = first_index(np.abs(values) > tolerance)
                raise InputError(
                    f"row {row} of {name} is {values[(*state, row)]:.3g}{named(tuple(state))}, beyond the tolerance {tolerance:g}: "
                    f"the state violates the constraints, {self.owner(row, q, name == 'phi')}; see robot.{fix}"
                )

    def owner(self, row: int, q: ArrayLike, holonomic: bool) -> Constraint:
        """Return the constraint to which a row of phi, or of A, belongs."""
        for c in self.constraints:
            if c.holonomic or not holonomic:
                row -= ConstrainedRobot(self.evaluate, c, variables=self.open.get("variables")).values(("A",), q)[0].shape[-2]
                if row < 0:
                    return c
        raise AssertionError("no such row")

    def projections(self, q: ArrayLike) -> Projections:
        """Return P = I - A^T (A M^-1 A^T)^-1 A M^-1 and P_qdd = M^-1 P M = P^T."""
        P = self.factored(q, self.values(("A",), q)[0]).projection()
        return Projections(P, T(P))

    def wrench(self, q: ArrayLike, lam: ArrayLike, frame: str | None, moment: bool, scale: float | None) -> np.ndarray:
        """Return f (..., 6) with J^T f = A^T lam, see `tip_wrench`."""
        frame = self.evaluate.model.tip if frame is None else frame
        J = self.evaluate("jacobian", {"q": q, **self.open}, {}, reference="world_aligned", frame=frame)
        return tip_wrench(J, self.force(self.values(("A",), q)[0], lam), frame, moment, scale)

    def project(self, q: ArrayLike, tolerance: float, *, by_energy: bool = False) -> np.ndarray:
        """Solve phi = 0 by Newton's method with steps along the tangent, each halved until it reduces phi. `by_energy`: take the
        steps that are shortest by kinetic energy, not by the numbers in q. Raises ConvergenceError: a state does not converge."""
        mechanism, held, tolerance = self.evaluate.model.mechanism, self.holonomic(), positive_number("tolerance", tolerance)
        q = self.evaluate.configuration("q", q)
        q = np.broadcast_to(q, (*common_lead(q, *self.open.values()), q.shape[-1])).copy()
        for _ in range(STEPS):
            phi, A = held.values(("phi", "A"), q)
            size = np.linalg.norm(phi, axis=-1)
            open_ = np.abs(phi).max(-1, initial=0) > tolerance
            if not open_.any():
                return q
            if by_energy:
                step = held.factored(q, A).solution(np.zeros((*q.shape[:-1], mechanism.nv)), phi)[0]
            else:
                step = -times(np.linalg.pinv(A, rcond=1e-9), phi)
            longest = np.abs(step).max(-1, keepdims=True, initial=0)
            step = step * open_[..., None] * np.minimum(1, LONGEST / np.maximum(longest, LONGEST))
            for _ in range(HALVINGS):
                trial = configuration.integrate(mechanism, q, step)
                worse = open_ & ~(np.linalg.norm(held.values(("phi",), trial)[0], axis=-1) < size)
                if not worse.any():
                    break
                step = np.where(worse[..., None], step / 2, step)
            if (worse == open_).all():  # no state improves any more
                break
            q = np.where(worse[..., None], q, trial)
        where = first_index(open_)
        raise ConvergenceError(
            f"no configuration found that satisfies the constraints{named(where)}: |phi| = {size[where]:.3g} is left (tolerance "
            f"{tolerance:g}); start closer, or check that the loop can close"
        )

    def holonomic(self) -> ConstrainedRobot:
        """Return the robot under its holonomic constraints alone."""
        held = tuple(c for c in self.constraints if c.holonomic)
        return ConstrainedRobot(self.evaluate, held, self.parameters, self.open.get("variables"))


def as_constraints(model: Model, constraints: Any) -> tuple[Constraint, ...]:
    """Return constraints that a user gave (one, several, or None for the description's own) as a tuple. Raises InputError: an
    object that is not a constraint, or None for a robot without constraints of its own."""
    if constraints is None:
        constraints = [c for c in model.constraints if c.active]
        if not constraints:
            raise InputError(f"{model.name} has no constraints of its own: give some, such as qddot.connect(...)")
    several = isinstance(constraints, Iterable) and not isinstance(constraints, (str, np.ndarray))
    given: tuple[Any, ...] = tuple(constraints) if several else (constraints,)
    found = tuple(from_description(c) if isinstance(c, DESCRIBED) else c for c in given)
    for c in found:
        if not hasattr(c, "rows") or not hasattr(c, "holonomic"):
            raise InputError(f"{c!r} is no constraint: make one with qddot.holonomic, qddot.pfaffian, qddot.connect, ...")
    return found


def refuse_impossible(A: np.ndarray, b: np.ndarray, qdd: np.ndarray, tolerance: float) -> None:
    """Refuse an acceleration that violates the constraints: no joint forces cause it."""
    tolerance = positive_number("tolerance", tolerance)
    left = np.abs(times(A, qdd) + b)
    scale = times(np.abs(A), np.abs(qdd)) + np.abs(b)
    wrong = left > tolerance * np.maximum(scale, 1.0)
    if wrong.any():
        *state, row = first_index(wrong)
        raise InputError(
            f"qdd does not satisfy the constraints{named(tuple(state))}: row {row} of A qdd + Adot qd is {left[(*state, row)]:.3g} "
            "and not 0; take qdd from constrained_forward_dynamics, or give tolerance=None"
        )


def common_lead(*arrays: np.ndarray) -> tuple[int, ...]:
    """Return the common leading shape. Raises InputError: the shapes do not fit each other."""
    leads = [x.shape[:-1] for x in arrays]
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        raise InputError(f"leading dimensions of q and variables do not fit: {', '.join(map(str, leads))}") from None


def applied(matrix: np.ndarray, name: str, x: np.ndarray) -> np.ndarray:
    """Multiply a matrix of the state by an array that a user gave."""
    try:
        return times(matrix, x)
    except ValueError:
        raise InputError(f"leading dimensions of {name} {x.shape[:-1]} and of the state {matrix.shape[:-2]} do not fit") from None


def plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a + b. Raises InputError: their leading dimensions do not fit."""
    try:
        return a + b
    except ValueError:
        raise InputError(f"leading dimensions {a.shape[:-1]} and {b.shape[:-1]} do not fit") from None
