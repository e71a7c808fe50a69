"""Newton's method for the implicit equations of a variational step: under constraints, or if fixed-point iteration does not
converge.

The unknowns are the mean velocity v, with the midpoint `m = q + h/2 v`, and the impulses lam of the constraints,

    M(m) v - h/2 (dL/dq(m, v) + tau) - p + A(q)^T lam = 0,        phi(q + h v) / h = 0.

Wanted is the solution that becomes `v = M^-1 p` for short steps: the corrections must shrink from the first one on, else the step
is divided. Then `p1 = M(m) v + h/2 (dL/dq + tau)`, projected onto the constraints (Leyendecker, Marsden and Ortiz 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.algorithms.steps import CONTRACTION
from qddot.batched import T, solve, times
from qddot.compile.evaluate import Evaluator
from qddot.compile.repeated import Inputs
from qddot.constraints.constrained import ConstrainedRobot

ROUNDS = 30

PARTS = 12
"""A step is halved, and its halves again, at most this many times."""

ENOUGH, ROUNDING = 1e-14, 1e-9
"""Relative to v: a correction below the first has converged; one below the second that no longer shrinks is rounding."""

RANK = 1e-12
"""A singular value below this fraction of the largest belongs to dependent rows."""

NUMBERS = ("parameters", "variables")
"""Inputs with the numbers of the robot."""

Solution = tuple[np.ndarray, np.ndarray, np.ndarray]
"""q1, p1 and qd1 after a step."""


class ImplicitStep:
    """A step of one state or of a batch.

    Args:
        constraints: holonomic ones, or None.
    """

    def __init__(self, evaluate: Evaluator, constraints: ConstrainedRobot | None) -> None:
        self.evaluate, self.constraints = evaluate, constraints

    def __call__(self, inputs: Inputs, parts: int = PARTS) -> Solution:
        """Return q1, p1 and qd1 from q, p, tau, dt and perhaps parameters and variables, all with the same leading dimensions.
        Raises FloatingPointError: no solution is found, however short the parts of the step."""
        batch = inputs["q"].shape[:-1]
        flat = {name: x.reshape(-1, x.shape[-1]) for name, x in inputs.items()}
        with np.errstate(all="ignore"):
            (*found, solved) = self.newton(flat)
        if not solved.all():
            if parts == 0:
                raise FloatingPointError
            rest = {name: x[~solved] for name, x in flat.items()}
            half = rest | {"dt": rest["dt"] / 2}
            middle, momentum, _ = self(half, parts - 1)
            for whole, part in zip(found, self(half | {"q": middle, "p": momentum}, parts - 1)):
                whole[~solved] = part
        q1, p1, qd1 = (x.reshape(*batch, x.shape[-1]) for x in found)
        return q1, p1, qd1

    def newton(self, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return q1, p1 and qd1 (states, n), and which of them are the solutions that short steps have."""
        q, p, h = (inputs[name] for name in ("q", "p", "dt"))
        n, M, A = q.shape[-1], self.mass_matrix(inputs, q), self.rows(q)[1]
        x, p1 = np.concatenate([solve(M, p), np.zeros(A.shape[:-1])], axis=-1), p
        running, done = np.ones(len(q), bool), np.zeros(len(q), bool)
        inverse, last = None, np.inf
        for _ in range(ROUNDS):
            left, slope, end = self.equations(inputs, x, A)
            repeated = np.zeros(x.shape) if inverse is None else times(inverse, left)  # the correction by the previous slope
            inverse = pseudo_inverse(slope)
            step = -times(inverse, left)
            part = (np.abs(step[:, :n]) / (1 + np.abs(x[:, :n]))).max(-1)
            shrinks = twice_the_energy(M, repeated[:, :n]) <= CONTRACTION**2 * last
            done |= running & ((part <= ENOUGH) | (~shrinks & (part <= ROUNDING)))
            p1 = np.where(running[:, None], end, p1)
            running &= shrinks & ~done
            if not running.any():
                break
            x, last = np.where(running[:, None], x + step, x), twice_the_energy(M, step[:, :n])
        return *self.end(inputs, q + h * x[:, :n], p1), done

    def equations(self, inputs: Inputs, x: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the residuals of the equations (states, n + k), their slopes (states, n + k, n + k), and p1 (states, n)."""
        q, h, n = inputs["q"], inputs["dt"], inputs["q"].shape[-1]
        v, lam = x[:, :n], x[:, n:]
        each = {name: inputs[name][:, None] for name in ("q", "dt", *NUMBERS) if name in inputs}
        P, F, dP, dF = self.compute("variational_terms", **each, v=v[:, None], direction=np.eye(n))
        force = h / 2 * (F[:, 0] + inputs["tau"])
        gap, A1 = self.rows(q + h * v)
        left = np.concatenate([P[:, 0] - force - inputs["p"] + times(T(A), lam), gap / h], axis=-1)
        slope = np.zeros((*left.shape, left.shape[-1]))
        slope[:, :n, :n] = T(dP - h[:, None] / 2 * dF)
        slope[:, :n, n:], slope[:, n:, :n] = T(A), A1
        return left, slope, P[:, 0] + force

    def end(self, inputs: Inputs, q: np.ndarray, p: np.ndarray) -> Solution:
        """Return the state after the step, with momenta that satisfy the constraints."""
        M = self.mass_matrix(inputs, q)
        if self.constraints is not None:
            held = ConstrainedRobot(self.evaluate, self.constraints.constraints, inputs.get("parameters"))
            p = times(held.projections(q).P, p)
        return q, p, solve(M, p)

    def rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals of the constraints (states, k) and their Jacobian A (states, k, n)."""
        if self.constraints is None:
            return np.zeros((len(q), 0)), np.zeros((len(q), 0, q.shape[-1]))
        gap, A = self.constraints.values(("phi", "A"), q)
        return gap, A

    def mass_matrix(self, inputs: Inputs, q: np.ndarray) -> np.ndarray:
        return self.compute("mass_matrix", q=q, **{name: inputs[name] for name in NUMBERS if name in inputs})

    def compute(self, quantity: str, **inputs: Any) -> Any:
        return self.evaluate(quantity, inputs, {"check": False})


def pseudo_inverse(slope: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse of slopes whose rows may have any units."""
    finite = np.isfinite(slope).all((-2, -1), keepdims=True)
    slope = np.where(finite, slope, np.eye(slope.shape[-1]))
    size = np.abs(slope).max(-1, keepdims=True)
    scale = 1 / np.where(size > 0, size, 1.0)
    return np.linalg.pinv(slope * scale, rcond=RANK) * T(scale)


def twice_the_energy(M: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return v^T M v (states,)."""
    return (v * times(M, v)).sum(-1)
