"""Physically consistent parameters nearest to what the data say: a semidefinite program.

    minimise   |R pi - r|^2 + gamma (sum_links D(J(pi_i), J(prior_i)) + sum_others ((pi_k - prior_k) / scale_k)^2)
    subject to J(pi_i) >= margin J(prior_i)  for every link,   friction, stiffness and rotor inertia >= 0,

with the log-det divergence `D(J, P) = tr(P^-1 J) - log det(P^-1 J) - 4` (Lee, Wensing and Park 2019), which is convex in pi, zero
at the prior, and the same in every frame and unit. With `P = L L^T` the program is written in `K = L^-1 J L^-T`, which is the
identity at the prior: all links are then alike, whatever their size.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from qddot.arguments import positive_number
from qddot.errors import ConvergenceError, InputError, missing_extra, unknown_name
from qddot.identify.physical.pseudo_inertia import BASIS, congruence, link_columns, nonnegative_columns, pseudo_inertia
from qddot.identify.scaling import column_lengths, nonzero
from qddot.thresholds import AT_ZERO, DATA_RANK, GOAL_DIGITS, POLISHING, TIE, TORQUES_KEPT

DRIVES = "drives"
"""Key in `weights` for all parameters that belong to no link."""


@dataclass(frozen=True)
class Consistent:
    """A physically consistent estimate.

    Attributes:
        names: names of the parameters.
        parameters: pi (p,).
        margins: link, if not wholly fixed -> smallest eigenvalue of `P^-1 J`, by which it is positive definite (1 at the prior).
        residual: |R theta - r|.
        least_residual: residual of the unconstrained estimate.
        torque_change: |R (pi - pi_ls)| / |R pi_ls|: relative change of the predicted torques against the unconstrained estimate.
        gamma: weight that the prior had.
        seconds: computing time of the program.

    >>> robot, rng = qddot.load("two_link"), np.random.default_rng(0)
    >>> q, qd, qdd = rng.uniform(-2, 2, (3, 100, 2))
    >>> Y, tau = robot.regressor(q, qd, qdd).reshape(200, -1), robot.inverse_dynamics(q, qd, qdd).ravel()
    >>> found = qddot.identify.consistent(Y, tau, robot.parameter_names, prior=1.5 * robot.parameters())
    >>> min(found.margins.values()) > 0  # every link can exist
    True
    """

    names: tuple[str, ...]
    parameters: np.ndarray
    margins: Mapping[str, float]
    residual: float
    least_residual: float
    torque_change: float
    gamma: float
    seconds: float

    @property
    def kept(self) -> bool:
        """True if the unconstrained estimate was consistent, so that the predicted torques are unchanged."""
        return self.torque_change < TORQUES_KEPT

    def __repr__(self) -> str:
        change = "torques unchanged" if self.kept else f"torques changed by {self.torque_change:.2%}"
        residual = f"residual {self.residual:.6g} (unconstrained {self.least_residual:.6g})"
        least = min(self.margins.values(), default=1.0)
        return f"{len(self.margins)} consistent links, smallest margin {least:.2g}; {change}; {residual}"


def consistent(
    R: np.ndarray,
    r: np.ndarray,
    names: Sequence[str],
    prior: np.ndarray,
    *,
    T: np.ndarray | None = None,
    constant: np.ndarray | None = None,
    gamma: float = 0.0,
    tie: float = 0.0,
    weights: Mapping[str, float] | None = None,
    margin: float = 1e-3,
) -> Consistent:
    """Find the physically consistent parameters of a least-squares problem |R theta - r|, which may leave directions open.

    Args:
        R, r: (k, f) and (k,): a regressor of the free parameters and its torques, or their triangular factor; weighted by the
            noise, if it is known. The torques of `constant` have been subtracted.
        names: names of all parameters pi (p,), such as `link2.Ixx`; the ten of a link make its pseudo-inertia.
        prior: pi (p,) for directions that the data leave open; its links must be positive definite.
        T, constant: (p, f) and (p,), `pi = T theta + constant`, if some are fixed or tied to others. None: all are free.
        gamma: weight of the prior against the squared residual. 0: the residual comes first, and the prior decides only what the
            data leave open: if the unconstrained estimate is consistent, its torques are unchanged.
        tie: gamma to use if it is 0 and the unconstrained estimate is not consistent; 1 where torques are weighted by their noise,
            so that no link becomes many times as heavy to explain less than the noise. At least a billionth of the squared torques.
        weights: link -> factor on gamma for its prior, and `"drives"` for friction, rotors and springs; 1 if not named.
        margin: smallest eigenvalue allowed of `P^-1 J`, which keeps a link away from the border of consistency.

    Raises:
        InputError: wrong shapes or names, or a prior that is no body.
        ConvergenceError: the solver found no solution, or one that does not keep the margin.

    >>> robot, rng = qddot.load("two_link"), np.random.default_rng(0)
    >>> q, qd, qdd = rng.uniform(-2, 2, (3, 100, 2))
    >>> Y, tau = robot.regressor(q, qd, qdd).reshape(200, -1), robot.inverse_dynamics(q, qd, qdd).ravel()
    >>> found = qddot.identify.consistent(Y, tau, robot.parameter_names, prior=1.5 * robot.parameters())
    >>> np.allclose(Y @ found.parameters, tau, atol=1e-3)  # the torques are explained
    True
    """
    start = time.perf_counter()
    if not (gamma >= 0 and tie >= 0 and 0 < margin < 1):
        raise InputError(f"gamma={gamma:g}, tie={tie:g}, margin={margin:g}: no weight is negative, and 0 < margin < 1")
    p = len(names)
    T = np.eye(p) if T is None else T
    constant = np.zeros(p) if constant is None else constant
    R, r, prior, T, constant = (np.asarray(x, float) for x in (R, r, prior, T, constant))
    problem = Problem(R, r, tuple(names), prior, T, constant, weights or {}, margin)
    theta = None
    if gamma == 0:
        gamma = max(tie, TIE * float(problem.r @ problem.r))
        theta = problem.keeping_torques()
    if theta is None:
        theta = problem.compromise(gamma)
    return problem.checked(theta, gamma, start)


class LeastSquares(NamedTuple):
    """The unconstrained estimate of scaled theta (f,): directions `seen` by the data (f, rank), their singular values (rank,), and
    the directions `unseen` (f, f - rank)."""

    theta: np.ndarray
    seen: np.ndarray
    singular: np.ndarray
    unseen: np.ndarray


class Problem:
    """The program in scaled parameters: `pi = scale k`, of which the ten of a link are the entries of K, and `k = k0 + Z theta`."""

    def __init__(
        self,
        R: np.ndarray,
        r: np.ndarray,
        names: tuple[str, ...],
        prior: np.ndarray,
        T: np.ndarray,
        constant: np.ndarray,
        weights: Mapping[str, float],
        margin: float,
    ) -> None:
        p, f = len(names), T.shape[-1]
        shapes = {"R": (R, (*r.shape, f)), "prior": (prior, (p,)), "T": (T, (p, f)), "constant": (constant, (p,))}
        for name, (array, shape) in shapes.items():
            if array.shape != shape:
                raise InputError(
                    f"{name} has shape {array.shape}, not {shape}: {p} names, {f} free parameters, r of shape {r.shape}"
                )
        for name, array in {**{name: array for name, (array, _) in shapes.items()}, "r": r}.items():
            if not np.isfinite(array).all():
                raise InputError(f"{name} holds a number that is not finite")
        links = link_columns(names)
        for name, weight in weights.items():
            if name not in (*links, DRIVES):
                raise unknown_name("link", name, (*links, DRIVES))
            positive_number(f"weights[{name!r}]", weight)
        length = np.linalg.norm(R @ np.linalg.pinv(T), axis=0)
        explained = np.divide(np.linalg.norm(r), length, out=np.zeros(p), where=length > 0)  # if it made all torques alone
        scale = np.diag(nonzero(np.maximum(abs(prior), explained)))
        for link, columns in links.items():
            scale[np.ix_(columns, columns)] = congruence(_root(link, prior[columns]))
        self.R, self.r, self.names, self.weights, self.margin = R, r, names, weights, margin
        self.scale, self.free, bounded = scale, np.any(T != 0, axis=1), nonnegative_columns(names)
        self.Z, self.k0, self.prior = (np.linalg.solve(scale, x) for x in (T, constant, prior))
        self.bounded = bounded[self.free[bounded]]
        self.moved = {link: columns for link, columns in links.items() if self.free[columns].any()}
        self.others = self.free.copy()
        self.others[[j for columns in links.values() for j in columns]] = False

    @cached_property
    def sizes(self) -> np.ndarray:
        """Sizes by which theta is scaled (f,)."""
        return column_lengths(self.Z)

    @cached_property
    def least_squares(self) -> LeastSquares:
        """The unconstrained estimate of scaled theta, with the directions that the data determine and those they leave open."""
        C = np.asarray(np.linalg.qr(np.column_stack([self.R / self.sizes, self.r]), mode="r"))
        U, s, Vt = np.linalg.svd(C[:, :-1], full_matrices=True)
        rank = int(np.count_nonzero(s > DATA_RANK * s.max(initial=0.0)))
        return LeastSquares(Vt[:rank].T @ (U[:, :rank].T @ C[:, -1] / s[:rank]), Vt[:rank].T, s[:rank], Vt[rank:].T)

    def keeping_torques(self) -> np.ndarray | None:
        """The theta nearest to the prior that predicts the torques of the unconstrained estimate; None if no such is consistent."""
        best, _, _, unseen = self.least_squares
        moved, status = self.nearest(unseen, 0)
        return (best + unseen @ moved) / self.sizes if status == "optimal" else None

    def compromise(self, gamma: float) -> np.ndarray:
        """The theta that minimises squared residual plus gamma times divergence. With y for the seen directions, the squared
        residual grows by `gamma |y|^2`."""
        best, seen, s, unseen = self.least_squares
        directions = np.hstack([seen * (np.sqrt(gamma) / s), unseen])
        moved, status = self.nearest(directions, len(s))
        if status != "optimal":
            raise ConvergenceError(
                f"no consistent links were found with these torques and these fixed and tied values ({status}): are torques and "
                f"units right? Else free some of what is fixed, or raise gamma={gamma:g}"
            )
        return (best + directions @ moved) / self.sizes

    def nearest(self, directions: np.ndarray, penalised: int) -> tuple[np.ndarray, str]:
        """(y, status): consistent parameters `theta = best + directions y` that minimise `|y[:penalised]|^2 + divergence`."""
        cp = _cvxpy()
        y = cp.Variable(directions.shape[1] + 1)  # with one that does nothing, since a program needs a variable
        Z = self.Z / self.sizes
        k = self.k0 + Z @ self.least_squares.theta + np.hstack([Z @ directions, np.zeros((len(Z), 1))]) @ y
        constraints, goal = [], cp.sum_squares(y[-1:]) + cp.sum_squares(y[:penalised])
        for link, columns in self.moved.items():
            K = cp.reshape(BASIS.reshape(10, 16).T @ k[columns], (4, 4), order="C")
            K = (K + K.T) / 2
            goal += self.weights.get(link, 1.0) * (cp.trace(K) - cp.log_det(K) - 4)
            constraints.append(K >> self.margin * np.eye(4))
        if self.others.any():
            goal += self.weights.get(DRIVES, 1.0) * cp.sum_squares(k[self.others] - self.prior[self.others])
        if self.bounded.size:
            constraints.append(k[self.bounded] >= 0)
        program = cp.Problem(cp.Minimize(goal), constraints)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about an inaccurate solution: the status tells that
                program.solve(solver=cp.CLARABEL)
        except cp.SolverError:  # its message advises other solvers
            return np.zeros(directions.shape[1]), "numbers too far apart"
        if y.value is None:
            return np.zeros(directions.shape[1]), str(program.status)
        if program.status == cp.OPTIMAL_INACCURATE:
            return self.polished(y.value[:-1], directions, penalised)
        return y.value[:-1], str(program.status)

    def polished(self, y: np.ndarray, directions: np.ndarray, penalised: int) -> tuple[np.ndarray, str]:
        """(y, status) after Newton steps from an inaccurate solution of the solver.

        The divergence is self-concordant, so the squared length of a step in the metric of the Hessian bounds how far the goal is
        above its minimum. Only if that is small is y called optimal.
        """
        D = self.Z / self.sizes @ directions
        k = self.k0 + self.Z / self.sizes @ self.least_squares.theta + D @ y
        loose, others = self.weights.get(DRIVES, 1.0), self.others
        held = self.bounded[k[self.bounded] < AT_ZERO]  # active bounds
        pull = np.where(np.arange(len(y)) < penalised, 2.0, 0.0)
        for _ in range(POLISHING):
            slope, curvature = np.zeros(len(k)), np.zeros((len(k), len(k)))
            slope[others], curvature[others, others] = 2 * loose * (k - self.prior)[others], 2.0 * loose
            for link, columns in self.moved.items():
                M, weight = np.linalg.inv(pseudo_inertia(k[columns])) @ BASIS, self.weights.get(link, 1.0)
                slope[columns] = weight * np.trace(BASIS - M, axis1=1, axis2=2)
                curvature[np.ix_(columns, columns)] = weight * np.einsum("aij,bji->ab", M, M)
            g, H, A = D.T @ slope + pull * y, D.T @ curvature @ D + np.diag(pull), D[held]
            system = np.block([[H, A.T], [A, np.zeros((len(held),) * 2)]])
            step = np.linalg.lstsq(system, np.concatenate([-g, -k[held]]), rcond=None)[0]
            step, multipliers = step[: len(y)], -step[len(y) :]
            if step @ H @ step < GOAL_DIGITS and (multipliers > -GOAL_DIGITS).all():
                return y, "optimal"
            length = self.allowed(k, D @ step, held)
            y, k = y + length * step, k + length * (D @ step)
        return y, "inaccurate"

    def allowed(self, k: np.ndarray, change: np.ndarray, held: np.ndarray) -> float:
        """The largest power of a half by which a change of k keeps every link consistent and every constant positive."""
        rest = np.setdiff1d(self.bounded, held)
        length = 1.0
        while length > GOAL_DIGITS:
            then = k + length * change
            least = min((np.linalg.eigvalsh(pseudo_inertia(then[columns]))[0] for columns in self.moved.values()), default=1.0)
            if least > self.margin and (then[rest] >= 0).all():
                break
            length /= 2
        return length

    def checked(self, theta: np.ndarray, gamma: float, start: float) -> Consistent:
        """Make the estimate of theta. Raises ConvergenceError: a pseudo-inertia does not keep the margin."""
        k = self.k0 + self.Z @ theta
        k[self.bounded] = np.maximum(k[self.bounded], 0.0)  # negative only by the solver's accuracy
        margins = {link: float(np.linalg.eigvalsh(pseudo_inertia(k[columns]))[0]) for link, columns in self.moved.items()}
        for link, found in margins.items():
            if found < self.margin / 2:
                raise ConvergenceError(
                    f"link {link!r}: the smallest eigenvalue of its pseudo-inertia, relative to the prior's, is {found:.3g}, where "
                    f"margin={self.margin:g} was asked for (its fixed values may allow no body, or the solver lost accuracy)"
                )
        tau, tau_best = self.R @ theta, self.R @ (self.least_squares.theta / self.sizes)
        return Consistent(
            names=self.names,
            parameters=self.scale @ k,
            margins=margins,
            residual=float(np.linalg.norm(tau - self.r)),
            least_residual=float(np.linalg.norm(tau_best - self.r)),
            torque_change=float(np.linalg.norm(tau - tau_best) / (np.linalg.norm(tau_best) or 1.0)),
            gamma=gamma,
            seconds=time.perf_counter() - start,
        )


def _root(link: str, ten: np.ndarray) -> np.ndarray:
    """Cholesky factor L of a link's pseudo-inertia, `J = L L^T`. Raises InputError: J is not positive definite."""
    J = pseudo_inertia(ten)
    try:
        return np.linalg.cholesky(J)
    except np.linalg.LinAlgError:
        raise InputError(
            f"link {link!r} of the prior: smallest eigenvalue {np.linalg.eigvalsh(J)[0]:.3g} of its pseudo-inertia, "
            "but the prior must be a body with volume (give one, as `sound_prior` makes it of any description)"
        ) from None


def _cvxpy() -> Any:
    try:
        import clarabel  # noqa: F401
        import cvxpy
    except ImportError as error:
        raise missing_extra(error.name or "cvxpy", "id", "a physically consistent estimate") from None
    return cvxpy
