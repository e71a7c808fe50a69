"""The optimal exciting motion as a nonlinear program for IPOPT, with exact derivatives by CasADi.

    maximise   log det A,  A = mean over one period of Y_B^T W Y_B
    subject to position, velocity, acceleration, torque and distance limits at sampled times of the whole motion

Y_B (nv, b) is the regressor of the base parameters with smooth friction columns, W = diag(1 / noise^2). Every state is linear in
the unknowns x, `z = B x`, so that the derivatives of the constraints are blocks times constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from qddot.errors import missing_extra
from qddot.identify.excitation.clearance import Clearance
from qddot.identify.excitation.fourier import Fourier
from qddot.model.friction import NAMES, smooth_step
from qddot.robot import Robot, RobotLimits

FRICTION = ("viscous", "coulomb", "offset")
OPTIONS = {
    "print_time": False,
    "ipopt": {"print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory", "tol": 1e-4, "acceptable_tol": 1e-3},
}


@dataclass(frozen=True)
class Bounds:
    """The robot's limits, each (nv,), inf where there is none."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray

    @staticmethod
    def of(limits: RobotLimits, acceleration: np.ndarray) -> Bounds:
        return Bounds(limits.lower, limits.upper, limits.velocity, acceleration, limits.effort)

    def tightened(self, by: float) -> Bounds:
        """Narrow all ranges by this fraction, ranges of positions by half of it at each end."""
        room = self.upper - self.lower
        less = np.where(np.isfinite(room), by * room / 2, 0.0)
        lower, upper = self.lower + less, self.upper - less
        return Bounds(lower, upper, *(x * (1 - by) for x in (self.velocity, self.acceleration, self.effort)))


@dataclass(frozen=True)
class Experiment:
    """A robot, the shape of its motion, and the parameters to be determined."""

    robot: Robot
    shape: Fourier
    noise: np.ndarray  # standard deviation of each joint's torque (nv,)
    friction: tuple[str, ...]  # those of `FRICTION` that are to be identified
    smooth: np.ndarray  # smoothing velocities (nv,) of Coulomb friction
    samples: int  # number of times in one period at which information and limits are evaluated
    apart: Clearance | None  # distances to be kept; None: collisions are not considered
    # information (b, b) from motions before, scaled to one period of this motion
    known: np.ndarray | None = None

    @cached_property
    def ca(self) -> Any:
        try:
            import casadi
        except ImportError:
            raise missing_extra("casadi", "casadi", "an exciting motion") from None
        return casadi

    # information ------------------------------------------------------------------------------------------------------

    @cached_property
    def regressor(self) -> Any:
        """CasADi function z = (q, qd, qdd) -> Y^T (p, nv), divided by the noise: the robot's inertial columns, then friction."""
        ca, robot, n = self.ca, self.robot, self.robot.nv
        kept = [k for k, name in enumerate(robot.parameter_names) if name.rpartition(".")[2] not in NAMES]
        z = ca.SX.sym("z", 3 * n)
        q, qd, qdd = ca.vertsplit(z, n)
        terms = {"viscous": qd, "coulomb": smooth_step(qd, ca.DM(self.smooth)), "offset": ca.SX.ones(n)}
        Y = ca.horzcat(robot.casadi("regressor")(q, qd, qdd)[:, kept], *(ca.diag(terms[name]) for name in self.friction))
        return ca.Function("Yt", [z], [ca.densify((ca.diag(1 / self.noise) @ Y).T)])

    @cached_property
    def base(self) -> tuple[int, ...]:
        """Indices of independent columns of the regressor, one for each base parameter."""
        rng, n = np.random.default_rng(0), self.robot.nv
        q = np.array([self.robot.random_configuration(rng) for _ in range(20 * n)])
        Yt = self.over(self.regressor, np.hstack([q, *rng.normal(size=(2, *q.shape))]))
        size = np.linalg.norm(Yt, axis=1, keepdims=True)
        seen = size > 1e-10 * size.max()  # smaller columns are rounding errors
        _, R, order = qr(np.where(seen, Yt / np.where(seen, size, 1.0), 0.0).T, mode="economic", pivoting=True)  # type: ignore[misc]
        pivots = abs(np.diagonal(R))
        return tuple(sorted(order[: int((pivots > 1e-8 * pivots[0]).sum())].tolist()))

    @cached_property
    def base_regressor(self) -> Any:
        """CasADi function z -> Y_B^T (b, nv)."""
        z = self.ca.SX.sym("z", 3 * self.robot.nv)
        return self.ca.Function("YBt", [z], [self.regressor(z)[list(self.base), :]])

    def over(self, function: Any, z: np.ndarray) -> np.ndarray:
        """Evaluate a CasADi function of one state at states (m, 3 nv): results side by side."""
        return np.array(function.map(len(z))(z.T))

    def information(self, X: np.ndarray, samples: int) -> np.ndarray:
        """Information A (b, b) of a motion X (nv, unknowns), the mean over this many times of a period, plus `known`."""
        return self.information_of(self.states(X, self.times(samples))) + (0.0 if self.known is None else self.known)

    def information_of(self, z: np.ndarray) -> np.ndarray:
        """Mean information (b, b) of states z (m, 3 nv)."""
        Yt = self.over(self.base_regressor, z)
        return Yt @ Yt.T / len(z)

    def times(self, samples: int) -> np.ndarray:
        """Evenly spaced times in the first period, s."""
        return self.shape.ramp + self.shape.period * np.arange(samples) / samples

    def states(self, X: np.ndarray, t: np.ndarray) -> np.ndarray:
        """States (q, qd, qdd) (len(t), 3 nv) of a motion X at times t."""
        return np.hstack([self.shape.basis(t, d) @ X.T for d in range(3)])

    # the program ------------------------------------------------------------------------------------------------------

    def stacked_basis(self, t: np.ndarray) -> sparse.csr_matrix:
        """B (len(t) 3 nv, nv unknowns) with z = B x, states after one another, and x joint by joint."""
        n = self.robot.nv
        found = np.zeros((len(t), 3, n, n, self.shape.unknowns))
        for d in range(3):
            found[:, d, range(n), range(n)] = self.shape.basis(t, d)[:, None]
        return sparse.csr_matrix(found.reshape(len(t) * 3 * n, -1))

    @cached_property
    def grid(self) -> np.ndarray:
        """Times of the whole motion, with one period of the series, at which limits are imposed."""
        ramp = self.shape.ramp
        blend = np.linspace(0, ramp, max(4, round(self.samples * ramp / self.shape.period)) + 1)[:-1]
        return np.concatenate([blend, self.times(self.samples), self.shape.duration - blend])

    @cached_property
    def efforts_and_distances(self) -> Any:
        """CasADi function z -> (tau, distances as `Clearance` measures them)."""
        ca, n = self.ca, self.robot.nv
        z = ca.SX.sym("z", 3 * n)
        q, qd, qdd = ca.vertsplit(z, n)
        near = self.apart.expressions(self.robot, q, ca) if self.apart else []
        return ca.Function("h", [z], [ca.densify(ca.vertcat(self.robot.casadi("inverse_dynamics")(q, qd, qdd), *near))])

    @cached_property
    def goal(self) -> Any:
        """MX function x -> -log det A / 2, by Cholesky."""
        ca, b = self.ca, len(self.base)
        B = _casadi(ca, self.stacked_basis(self.times(self.samples)))
        x, A = ca.MX.sym("x", B.shape[1]), ca.SX.sym("A", b, b)
        half_log_det = ca.Function("half_log_det", [A], [ca.sum1(ca.log(ca.diag(ca.chol(A))))])
        Yt = self.base_regressor.map(self.samples)(ca.reshape(B @ x, 3 * self.robot.nv, -1))
        information = Yt @ Yt.T / self.samples + (0.0 if self.known is None else ca.DM(self.known))
        return ca.Function("goal", [x], [-half_log_det(information)])

    def solver(self, iterations: int) -> Any:
        """IPOPT solver of the program, whose constraints have the bounds of `room`."""
        ca, n = self.ca, self.robot.nv
        h = self.efforts_and_distances
        B = _casadi(ca, self.stacked_basis(self.grid))
        x = ca.MX.sym("x", B.shape[1])
        z = ca.reshape(B @ x, 3 * n, -1)
        g = ca.vertcat(ca.densify(B @ x), ca.vec(h.map(len(self.grid))(z)))
        s = ca.SX.sym("z", 3 * n)
        dh = ca.Function("dh", [s], [ca.jacobian(h(s), s)]).map(len(self.grid))(z)
        dg = ca.vertcat(B, ca.diagcat(*ca.horzsplit(dh, 3 * n)) @ B)
        jac_g = ca.Function("jac_g", [x, ca.MX.sym("p", 0, 1)], [g, dg], ["x", "p"], ["g", "jac_g_x"])
        options = {**OPTIONS, "jac_g": jac_g, "ipopt": {**OPTIONS["ipopt"], "max_iter": iterations}}
        return ca.nlpsol("excitation", "ipopt", {"x": x, "f": self.goal(x), "g": g}, options)

    def room(self, bounds: Bounds, tighter: float) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (lower, upper) of the program's constraints, tighter than the limits by this fraction."""
        bounds = bounds.tightened(tighter)
        lower = np.concatenate([bounds.lower, -bounds.velocity, -bounds.acceleration])
        upper = np.concatenate([bounds.upper, bounds.velocity, bounds.acceleration])
        near = self.apart.least(tighter) if self.apart else np.zeros(0)
        return (
            np.concatenate([np.tile(lower, len(self.grid)), np.tile(np.append(-bounds.effort, near), len(self.grid))]),
            np.concatenate([np.tile(upper, len(self.grid)), np.tile(np.append(bounds.effort, near + np.inf), len(self.grid))]),
        )


def _casadi(ca: Any, matrix: sparse.spmatrix) -> Any:
    return ca.DM(sparse.csc_matrix(matrix))
