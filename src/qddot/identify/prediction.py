"""Prediction of a log by a simulated arm, each sample from those before.

    M(q) qdd = tau - b(q, qd) - friction(q, qd)         from sample to sample, under the torques of the log
    q  <- q + alpha e,   qd <- qd + beta / h e          at each sample, by the error e = q_log - q of the prediction

Without the correction the simulated arm would drift away from the log; with a full correction a prediction would depend on two
samples of a noisy position only, like an acceleration. The steady Kalman filter for noise in positions and torques is between the
two and has one parameter: the bandwidth w, with `lambda = (w h)^2` (Kalata 1984).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from qddot.errors import InputError
from qddot.identify.regression.bodies import body_inertias, without_drives
from qddot.identify.regression.drive_terms import Motion
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.logs.log import Log
from qddot.logs.resample import onto
from qddot.thresholds import FEWEST_PREDICTED, SETTLED, STEEPEST_SPEED, STIFFEST

GAMMA = 1 - np.sqrt(0.5)  # for which Rosenbrock's method of order two damps friction of any steepness


class Predictor:
    """Predicts a log, for many parameter vectors at a time."""

    def __init__(self, parameter_set: ParameterSet, log: Log, *, substeps: int = 1) -> None:
        robot = parameter_set.robot
        names = [term.name for term in parameter_set.terms]
        if unknown := [name for name in names if name.endswith(".load") or (name.endswith("armature") and "+" in name)]:
            raise InputError(f"{unknown[0]}: friction by load and coupled motors are not simulated (leave them out)")
        if robot.model.transmissions:
            raise InputError(
                f"{robot.name} has motors that drive several joints at once, which are not simulated here (use identify)"
            )
        if min(s.stop - s.start for s in log.segments) < FEWEST_PREDICTED:
            raise InputError(f"a segment of the log is shorter than {FEWEST_PREDICTED} samples: there is nothing to predict")
        self.parameter_set, self.log = parameter_set, log
        self.step = 1 / log.rate
        self.delay = 0.0  # by how much later than positions torques came, s
        self.fastest = np.sqrt(STIFFEST) / self.step
        self.substeps = substeps
        bare = without_drives(robot)
        self._mass, self._bias = (bare.kernel(name, inertias="runtime").ufunc for name in ("mass_matrix", "bias_torque"))
        self._spring = robot.spring_torque if any(drive.stiffness or drive.harmonics for drive in robot.drives.values()) else None
        self._links = links = 10 * len(body_inertias(robot))
        terms = [(k, t.name, *row) for k, t in enumerate(parameter_set.terms, start=links) for row in t.rows.items()]
        self._rotors = {j: k for k, name, j, _ in terms if name.endswith(".armature")}
        friction = [(k, j, law) for k, name, j, law in terms if not name.endswith(".armature")]
        self._places, rows, self._laws = ([*x] for x in zip(*friction)) if friction else ([], [], [])
        self._sum = np.eye(robot.nv)[:, rows]

    def __call__(self, pi: np.ndarray, bandwidth: np.ndarray) -> np.ndarray:
        """Errors of the predictions (B, N, nv), rad or m; not finite where the simulation diverges. `pi`: all parameters of each
        arm (B, P); `bandwidth` of the correction, (nv,) or (B, nv), rad/s."""
        with np.errstate(all="ignore"):
            parts = [self._followed(np.atleast_2d(pi), bandwidth, segment) for segment in self.log.segments]
        return np.concatenate(parts, axis=1)

    def counted(self, bandwidth: np.ndarray) -> np.ndarray:
        """Mask of the predictions (N, nv) that count: those that no longer depend on the guessed initial state, and in any case the
        second half of a segment."""
        alpha, _ = self.gains(bandwidth)
        wait = np.ceil(2 * np.log(SETTLED) / np.log1p(-alpha))
        lengths = [s.stop - s.start for s in self.log.segments]
        return np.concatenate([np.arange(n)[:, None] >= np.minimum(wait, n // 2) for n in lengths])

    def gains(self, bandwidth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gains (alpha, beta) of the steady Kalman filter for a mass under white noise."""
        index = np.minimum((bandwidth * self.step) ** 2, STIFFEST)
        r = (4 + index - np.sqrt(8 * index + index**2)) / 4
        return 1 - r**2, 2 * (1 - r) ** 2

    def slowest(self, pi: np.ndarray) -> float:
        """Lowest bandwidth, rad/s, that stabilises the arm of parameters pi (P,) against falling: twice the rate at which it
        falls."""
        q = self.log.q[:: max(1, len(self.log) // 50)]
        still, links = np.zeros_like(q), pi[: self._links]
        M = self._inertia(q, np.broadcast_to(pi, (len(q), len(pi))))
        fall = np.zeros(len(q))
        for j in range(q.shape[1]):
            ahead, behind = (self._bias(q + d * np.eye(q.shape[1])[j], still, links) for d in (1e-4, -1e-4))
            fall = np.maximum(fall, np.abs(np.linalg.solve(M, (ahead - behind)[..., None] / 2e-4)).max(axis=(1, 2)))
        return 2 * float(np.sqrt(fall.max()))

    def _followed(self, pi: np.ndarray, bandwidth: np.ndarray, segment: slice) -> np.ndarray:
        """Errors (B, N, nv) along one segment."""
        t, measured = self.log.t[segment], self.log.q[segment]
        shape = (len(pi), measured.shape[1])
        alpha, beta = (np.broadcast_to(x, shape) for x in self.gains(bandwidth))
        q, v = (np.broadcast_to(x, shape) for x in first_state(t, measured, 1 / np.min(bandwidth)))
        errors = np.empty((len(pi), *measured.shape))
        for k, (h, torques) in enumerate(self._torques(segment)):
            errors[:, k] = e = measured[k] - q
            q, v = q + alpha * e, v + beta / self.step * e
            for tau, then in pairwise(torques):
                q, v = self._moved(pi, q, v, tau, then, h)
            if not np.isfinite(q).any():
                errors[:, k + 1 :] = np.inf
                return errors
        errors[:, -1] = measured[-1] - q
        return errors

    def _torques(self, segment: slice) -> Iterator[tuple[float, np.ndarray]]:
        """Yield for each interval between samples the length of a substep, s, and the torques (substeps + 1, nv) at their ends."""
        t, n = self.log.t[segment], self.substeps
        steps = np.diff(t)
        times = t[:-1, None] + steps[:, None] * np.arange(n + 1) / n
        yield from zip(steps / n, onto(times + self.delay, t, self.log.tau[segment]))

    def _moved(
        self, pi: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, then: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state (B, nv) a time h later, by Rosenbrock's method with the slope D of friction as Jacobian."""
        F, D = self._resistance(pi, q, v)
        W = np.maximum(GAMMA * h * D, 0.0)
        k1 = np.linalg.solve(self._inertia(q, pi, W), (tau - F)[..., None])[..., 0]
        q1, v1 = q + h * v + h**2 / 2 * k1, v + h * k1
        F1, _ = self._resistance(pi, q1, v1)
        k2 = np.linalg.solve(self._inertia(q1, pi, W), (then - F1 + 2 * W * k1)[..., None])[..., 0]
        return q + h * v + h**2 / 6 * (2 * k1 + k2), v + h / 2 * (k1 + k2)

    def _inertia(self, q: np.ndarray, pi: np.ndarray, more: np.ndarray | float = 0.0) -> np.ndarray:
        """Mass matrix with the rotors (B, nv, nv), and `more` added to its diagonal."""
        M = self._mass(q, pi[:, : self._links])
        diagonal = np.einsum("...ii->...i", M)
        diagonal += more
        for j, k in self._rotors.items():
            diagonal[:, j] += pi[:, k]
        return M

    def _resistance(self, pi: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torques at zero acceleration (B, nv), and the slope of friction over speed (B, nv): that of the line through the friction
        at v and at -v, which is finite for a step too."""
        F, B = self._bias(q, v, pi[:, : self._links]), len(q)
        if self._spring is not None:
            F = F + self._spring(q, threads=1)
        speed = np.maximum(np.abs(v), STEEPEST_SPEED)
        three = Motion(np.tile(q, (3, 1)), np.concatenate([v, speed, -speed]), np.zeros((3 * B, 0)), np.zeros((0, q.shape[1])))
        friction = np.array([law(three) for law in self._laws]).reshape(-1, 3, B) * pi.T[self._places][:, None]
        now, ahead, back = (self._sum @ friction.reshape(-1, 3 * B)).T.reshape(3, B, -1)
        return F + now, (ahead - back) / (2 * speed)


def first_state(t: np.ndarray, q: np.ndarray, span: float) -> tuple[np.ndarray, np.ndarray]:
    """Initial position and speed (nv,) of a log: those of a parabola fitted to its first `span` seconds."""
    count = int(np.clip(np.searchsorted(t, t[0] + span), FEWEST_PREDICTED, len(t)))
    parabola = np.polynomial.polynomial.polyfit(t[:count] - t[0], q[:count], 2)
    return parabola[0], parabola[1]
