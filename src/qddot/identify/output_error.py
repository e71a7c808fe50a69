"""The last rung: simulate the arm under its controller and compare with the log.

    minimise |q(pi) - q_measured|^2 / s_q^2 + |tau(pi) - tau_measured|^2 / s_tau^2

The simulated arm follows the log's own motion by a stiff controller, so noisy accelerations do not enter: what remains is what the
parameters do. It needs good starting values (those of least squares) and takes much longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qddot.errors import ConvergenceError, InputError
from qddot.identify.bodies import body_inertias, without_drives
from qddot.identify.columns import Columns, standstill_of
from qddot.identify.identified import sound_prior
from qddot.identify.log_cholesky import NonlinearFit, nonlinear_least_squares
from qddot.robot import Robot


@dataclass(frozen=True)
class OutputError:
    """What the simulation says.

    Attributes:
        names, parameters: of the arm (P,): ten a link, then armature, viscous and Coulomb friction a joint.
        fit: of the nonlinear least squares.
        before, after: rms of the weighted differences, with the starting values and at the end.
    """

    names: tuple[str, ...]
    parameters: np.ndarray
    fit: NonlinearFit
    before: float
    after: float


class ClosedLoop:
    """An arm that follows a motion: `tau = tau_r + M_0 (Kd (qd_r - qd) + Kp (q_r - q))`, integrated by Runge and Kutta's rule."""

    def __init__(self, robot: Robot, columns: Columns, motion: Sequence[np.ndarray], bandwidth: float) -> None:
        self.columns = columns
        self.t, self.q, self.qd, self.tau = motion
        q = self.q
        self.bare = without_drives(robot)
        self.links = 10 * len(body_inertias(robot))
        self.standstill = standstill_of(robot, columns.asked["standstill"])
        w = 2 * np.pi * bandwidth
        self.Kp, self.Kd, self.M0 = w * w, 2 * w, robot.mass_matrix(q[0])
        mass, bias = (self.bare.kernel(name, parameters="runtime").ufunc for name in ("mass_matrix", "bias_torque"))
        self._mass, self._bias = mass, bias

    def drive(self, pi: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Armature (nv,), and friction at a speed (nv,)."""
        armature, viscous, coulomb = pi[self.links :].reshape(-1, 3).T
        return armature, viscous * qd + coulomb * np.tanh(qd / self.standstill)

    def __call__(self, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Simulated positions and torques (N, nv)."""
        inertial = pi[: self.links]

        def rate(
            t_q: np.ndarray, t_qd: np.ndarray, ref: tuple[np.ndarray, np.ndarray, np.ndarray]
        ) -> tuple[np.ndarray, np.ndarray]:
            tau = ref[2] + self.M0 @ (self.Kd * (ref[1] - t_qd) + self.Kp * (ref[0] - t_q))
            armature, friction = self.drive(pi, t_qd)
            M = self._mass(t_q, inertial) + np.diag(armature)
            return np.linalg.solve(M, tau - self._bias(t_q, t_qd, inertial) - friction), tau

        q, qd = self.q[0].copy(), self.qd[0].copy()
        positions, torques = np.empty_like(self.q), np.empty_like(self.q)
        for k in range(len(self.t)):
            here = self.q[k], self.qd[k], self.tau[k]
            a1, torques[k] = rate(q, qd, here)
            positions[k] = q
            if k + 1 == len(self.t):
                break
            h = self.t[k + 1] - self.t[k]
            then = self.q[k + 1], self.qd[k + 1], self.tau[k + 1]
            middle = tuple((x + y) / 2 for x, y in zip(here, then))
            v2 = qd + h / 2 * a1
            a2, _ = rate(q + h / 2 * qd, v2, middle)
            v3 = qd + h / 2 * a2
            a3, _ = rate(q + h / 2 * v2, v3, middle)
            v4 = qd + h * a3
            a4, _ = rate(q + h * v3, v4, then)
            q = q + h / 6 * (qd + 2 * v2 + 2 * v3 + v4)
            qd = qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            if not np.isfinite(q).all() or np.abs(q - self.q[k + 1]).max() > 1.0:
                where = f"the simulated arm left the log's motion at t = {self.t[k]:.3g} s"
                raise ConvergenceError(f"{where}: better starting values, or a higher bandwidth")
        return positions, torques


def output_error(
    robot: Robot,
    t: np.ndarray,
    q: np.ndarray,
    qd: np.ndarray,
    tau: np.ndarray,
    *,
    free: Sequence[str] | None = None,
    bandwidth: float = 10.0,
    noise: tuple[float, float] = (1e-4, 0.1),
    evaluations: int = 30,
) -> OutputError:
    """Parameters whose simulation is nearest to a log.

    Args:
        robot: with starting values, such as `fit.robot`.
        t, q, qd, tau: (N,) and (N, nv): the motion to follow, and the torques that were measured.
        free: links and parameters that may change; None: all.
        bandwidth: of the controller, Hz. A stiff one turns differences into torques, a soft one into positions.
        noise: standard deviations of positions, rad, and torques, N m.
        evaluations: simulations of a step at most; each step takes as many more as there are free parameters.

    Raises:
        InputError: shapes.
        ConvergenceError: the simulated arm leaves the motion.
    """
    t, q, qd, tau = (np.asarray(x, float) for x in (t, q, qd, tau))
    if not (q.shape == qd.shape == tau.shape == (len(t), robot.nv)):
        raise InputError(f"t {t.shape}, q {q.shape}, qd {qd.shape}, tau {tau.shape}: (N,) and three times (N, {robot.nv})")
    columns = Columns.of(robot, offset=False)
    start = sound_prior(columns)
    loop = ClosedLoop(robot, columns, (t, q, qd, tau), bandwidth)

    def residuals(pi: np.ndarray) -> np.ndarray:
        positions, torques = loop(pi)
        return np.concatenate([((positions - q) / noise[0]).ravel(), ((torques - tau) / noise[1]).ravel()]) / np.sqrt(2 * q.size)

    before = float(np.linalg.norm(residuals(start)))
    fit = nonlinear_least_squares(residuals, columns.full_names, start, free=free, evaluations=evaluations)
    return OutputError(columns.full_names, fit.parameters, fit, before, float(np.linalg.norm(residuals(fit.parameters))))
