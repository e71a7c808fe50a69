"""Identification of a payload: the inertial parameters of a tool or load on a known arm.

    tau_with - tau_without = Y_load(q, qd, qdd) pi_load + Y_arm(q, qd, qdd) x

Y_load are the ten columns of the link that carries the load, transformed to the frame of the load, and Y_arm those of all that may
differ in the arm (see `load_equations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from scipy import stats

from qddot.algorithms.regressor import INERTIAL
from qddot.errors import ConvergenceError, InputError
from qddot.identify.checks.verdict import Concern, Verdict, between
from qddot.identify.fit import Fit
from qddot.identify.load_equations import equations, load_regressor
from qddot.identify.load_faults import best_reason, bodies, gains, reasons
from qddot.identify.physical.consistent import Consistent, consistent
from qddot.identify.physical.pseudo_inertia import pseudo_inertia
from qddot.identify.regression.motions import Recorded
from qddot.identify.scaling import column_lengths
from qddot.logs.table import Finding
from qddot.model.inertia import Inertia
from qddot.robot import Robot
from qddot.thresholds import CHANCE_COLOUR, LOAD_MISSED, LOAD_RADIUS, LOAD_SIZE, MATTERS, TIME_BLOCKS

LENGTHS = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
"""Power of a length in the unit of each of the ten inertial parameters."""


@dataclass(frozen=True)
class Payload:
    """An identified load, in the axes of its frame.

    Attributes:
        frame: the frame that it is fixed to.
        parameters: (m, m c, I about the frame's origin) (10,), physically consistent; those not identified are near the prior.
        least_squares: the least-squares estimate (10,), which need not be consistent.
        deviations: standard deviations of the least-squares estimate (10,), robust to coloured noise; inf for parameters that the
        motion does not show. intervals: intervals (10, 2) with the given confidence.
        identified: True for parameters (10,) whose standard deviation is below the largest value that such a body could have.
        reason: sentence on the parameters that are not identified; empty if all are.
        fit: result of the semidefinite program.
        verdict: tells if the load can be trusted, that is if the arm's own torques are known well enough.
        findings: what was done to the logs: `delay` for each one whose torques came later or earlier than positions.

    >>> robot = qddot.load("two_link")
    >>> q, rest = np.random.default_rng(0).uniform(-2, 2, (50, 2)), np.zeros((50, 2))  # poses at rest
    >>> samples = qddot.identify.Samples(q, rest, rest, robot.with_payload(0.5).gravity_torque(q))
    >>> found = qddot.identify.payload(robot, samples, prior=qddot.Inertia.sphere(1.0, 0.05))
    >>> found.identified[:4]  # rest shows mass and centre, but nothing out of the plane
    array([ True,  True,  True, False])
    """

    frame: str
    parameters: np.ndarray
    least_squares: np.ndarray
    deviations: np.ndarray
    intervals: np.ndarray
    identified: np.ndarray
    reason: str
    fit: Consistent
    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    @property
    def inertia(self) -> Inertia:
        """Mass, centre of mass and inertia tensor of the load."""
        return Inertia.from_ten_vector([float(x) for x in self.parameters])

    def __repr__(self) -> str:
        lines = [f"load on {self.frame!r} (kg, kg m, kg m^2)"]
        for name, value, std, (low, high), seen in zip(
            INERTIAL, self.parameters, self.deviations, self.intervals, self.identified & self.verdict.identified
        ):
            if not seen:
                known = "not identified"
            elif low <= value <= high:
                known = f"+- {std:.2g}  {between(low, high)}"
            else:
                known = f"{between(low, high)} by torques alone, which no body has"
            lines.append(f"{name:>4} {value: .6f}  {known}")
        doubts = [] if self.verdict and not self.verdict.concerns else [str(self.verdict)]
        return "\n".join([*lines, *([self.reason] if self.reason else []), *doubts])


def payload(
    robot: Robot | Fit,
    recorded: Recorded,
    *,
    unloaded: Recorded | None = None,
    frame: str | None = None,
    prior: Inertia | None = None,
    confidence: float = 0.95,
    cutoff: float | None = None,
) -> Payload:
    """Find the load on a frame from torques recorded with it.

    Args:
        robot: the robot as identified without the load; or the fit (`robot.identify(log)`), whose uncertainty is then included.
            With a robot, deviations and intervals take the arm as known exactly.
        recorded: a log with the load, the name of its file, or `Samples`; for poses at rest qd and qdd are zero.
        unloaded: another log, of any motion without the load, from which the arm's own torques are then found, so that only the
            geometry of the robot is used. None: the robot predicts them.
        frame: the frame that carries the load and in whose axes it is returned; None: the tip of the only chain.
        prior: a similar body, for parameters that the motion does not show; None: a ball of 5 cm about the measured centre of mass.
        confidence: confidence of the intervals.
        cutoff: cut-off frequency of the low-pass, Hz; None: chosen from the log.

    Raises:
        InputError: wrong shapes, a frame that does not move, or, without a prior, a motion that does not show the mass.
        ConvergenceError: no consistent body was found.

    >>> robot = qddot.load("two_link")
    >>> q, rest = np.random.default_rng(0).uniform(-2, 2, (50, 2)), np.zeros((50, 2))  # poses at rest
    >>> samples = qddot.identify.Samples(q, rest, rest, robot.with_payload(0.5).gravity_torque(q))
    >>> found = qddot.identify.payload(robot, samples, prior=qddot.Inertia.sphere(1.0, 0.05))
    >>> round(found.inertia.mass, 3)
    0.5
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence!r} is not between 0 and 1")
    identified_arm = robot if isinstance(robot, Fit) else None
    given: Robot = robot.parameter_set.robot if isinstance(robot, Fit) else robot
    if identified_arm and unloaded is not None:
        raise InputError("unloaded: a fit knows the arm already (give its robot, or no other log)")
    frame = given.tip if frame is None else frame
    run, load, loose, frictions, told, tau, findings = equations(robot, recorded, unloaded, frame, cutoff)
    arm, Y = loose.shape[-1], np.concatenate([loose, load], axis=-1)
    weight = weights(Y, tau)
    X, y = (Y * weight[:, None]).reshape(-1, Y.shape[-1]), (tau * weight).ravel()
    count, own, whole = len(y), np.vstack([X[:, :arm], told]), (X, y)

    def apart(x: np.ndarray) -> np.ndarray:
        """Append the rows of the fit's information, and project off the columns of the arm's own parameters."""
        return beyond(own, np.concatenate([x, np.zeros((len(told), *x.shape[1:]))]))

    X, y = apart(X[:, arm:]), apart(y)
    scale = LOAD_SIZE**LENGTHS  # makes masses and moments comparable
    R = np.asarray(np.linalg.qr(np.column_stack([X, y]), mode="r"))
    _, s, Vt = np.linalg.svd(R[:, :-1] / scale, full_matrices=True)
    rank = int(np.count_nonzero(s > 1e-8 * s[0]))
    half = Vt[:rank].T / s[:rank]  # half half^T inverts X^T X
    ls = half @ (half.T @ (X.T @ y / scale)) / scale
    ls += half @ (half.T @ (X.T @ (y - X @ ls) / scale)) / scale  # a step of iterative refinement
    unseen = np.linalg.norm(Vt[rank:], axis=0) > 1e-6
    joints, left = tau.shape[1], (y - X @ ls)[:count]
    covariance, freedom = block_covariance(X[:count] / scale, left, half, joints, arm)
    if identified_arm:
        by_arm = half @ half.T @ (X[count:] / scale).T @ told[:, : identified_arm.base.rank]
        covariance += by_arm @ identified_arm.estimate.sandwich @ by_arm.T
    deviations = np.where(unseen, np.inf, np.sqrt(np.diagonal(covariance)) / scale)
    missed = lasting(left, joints) / float(np.linalg.norm(X @ ls))

    chance = CHANCE_COLOUR * float(left @ left) / np.sqrt(count)  # part of white noise that may seem to last, by chance

    def unexplained(left: np.ndarray) -> float:
        """Return the norm of a residual beyond noise, with the deviation of the arm's parameters from those of its fit."""
        return float(np.sqrt(lasting(left[:count], joints) ** 2 + np.sum(left[count:] ** 2) + chance))

    def tried(columns: np.ndarray) -> tuple[np.ndarray, float]:
        new = run.filtered(columns)
        rows = np.zeros((len(tau), *new.shape[1:]))
        rows[len(tau) - len(new) :] = new
        Z = apart((rows * weight[:, None]).reshape(count, -1))
        size = column_lengths(Z)
        numbers = np.linalg.lstsq(Z / size, y, rcond=1e-9)[0] / size
        return numbers, unexplained(y - Z @ numbers)

    Y_load = partial(load_regressor, given, *run.motion)
    others = gains(given.joint_names, run.samples.tau, Y_load(frame))
    if missed >= LOAD_MISSED and run.signals is not None:
        others = chain(others, reasons(given, run.signals, frame, Y_load))
    others = chain(others, bodies(given, frame, Y_load))
    reason = best_reason(others, tried, unexplained(y - X @ ls))
    verdict = judged(missed, unloaded is None, reason, ls)
    late = [Concern(finding.code, finding.message) for finding in findings if finding.serious]
    verdict = verdict if verdict.has("delay") else Verdict((*late, *verdict.concerns))
    if verdict and frictions:
        x = np.linalg.lstsq(own, np.append(whole[1] - whole[0][:, arm:] @ ls, np.zeros(len(told))), rcond=1e-12)[0]
        changed = (loose[..., -frictions:] @ x[-frictions:]) * weight
        if np.linalg.norm(changed) > LOAD_MISSED * np.linalg.norm(load @ ls * weight):
            verdict = Verdict((*verdict.concerns, friction_changed(given.joint_names, changed / weight)))
    names = [f"{frame}.{name}" for name in INERTIAL]
    try:
        prior = ball(ls, deviations, unseen, frame) if prior is None else prior
        fit = consistent(R[:, :-1], R[:, -1], names, np.array(prior.ten_vector(), float), margin=1e-6)
    except (InputError, ConvergenceError) as error:
        if reason is None and not late:
            raise
        raise type(error)(f"no body fits these torques on {frame!r}. {verdict.concerns[0]}") from error
    identified = deviations < sizes(fit.parameters)
    reach = stats.t.ppf((1 + confidence) / 2, freedom) * deviations
    return Payload(
        frame=frame,
        parameters=fit.parameters,
        least_squares=ls,
        deviations=deviations,
        intervals=np.stack([ls - reach, ls + reach], axis=-1),
        identified=identified,
        reason=why_not(identified, bool(np.any(X[:, 4:]))),
        fit=fit,
        verdict=verdict,
        findings=findings,
    )


def lasting(left: np.ndarray, joints: int) -> float:
    """Return the norm of residuals without their white noise (rows of all joints in turn, in units of their noise).

    White noise is independent from sample to sample; residuals of a wrong model of the arm last for a while, and could be mistaken
    for a part of the load.
    """
    left = left.reshape(-1, joints)
    noise = np.sum(np.diff(left, axis=0) ** 2) / 2  # about the sum of squares of white noise
    return float(np.sqrt(max(float(np.sum(left**2)) - noise, 0.0)))


def judged(missed: float, predicted: bool, reason: tuple[str, str, np.ndarray] | None, ls: np.ndarray) -> Verdict:
    """Return the verdict on a load (10,).

    A wrong gain, or another weight of the arm, is reported however little it leaves unexplained, since the load absorbs most of
    it; it is serious if the mass or the centre of mass differ without it.

    Args:
        missed: fraction of the load's torques that remains unexplained.
        reason: code, text and parameters of the reason for it, if one is known (see `best_reason`).
    """
    code, why, numbers = reason or ("torques of a load", "", np.zeros(11))
    if missed < LOAD_MISSED:
        serious = bool(np.any(np.abs(numbers[-10:-6] - ls[:4]) > MATTERS * abs(ls[0]) * LOAD_SIZE ** LENGTHS[:4]))
        return Verdict((Concern(code, why, serious),)) if why else Verdict()
    fix = "identify the arm first, or give a log without the load (unloaded=)" if predicted else "are both logs of the same arm?"
    why = why or f"the arm's own torques are not those that were taken off; {fix}"
    text = f"{missed:.0%} of the torques that the load makes remain and are no noise (at most {LOAD_MISSED:.0%}): {why}"
    return Verdict((Concern(code, text),))


def friction_changed(names: Sequence[str], torque: np.ndarray) -> Concern:
    """Report friction that differs from the arm's own, whose torques (N, nv) are not small beside the load's."""
    size = np.abs(torque).max(axis=0)
    worst = int(np.argmax(size))
    return Concern(
        "friction",
        f"friction is not the arm's own, by up to {size[worst]:.2g} N m (N) at {names[worst]}: it was found together with the load",
        serious=False,
    )


def beyond(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return X without its components along the columns of A.

    With the columns of the arm's own parameters, this does not change the estimate of the load.
    """
    if not A.shape[1]:
        return X
    A = A / column_lengths(A)
    return X - A @ np.linalg.lstsq(A, X, rcond=1e-12)[0]


def weights(Y: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return one over the rms error of each joint (nv,) in an unweighted fit."""
    flat = Y.reshape(-1, Y.shape[-1])
    error = (tau.ravel() - flat @ np.linalg.lstsq(flat, tau.ravel(), rcond=1e-10)[0]).reshape(tau.shape)
    deviation = np.sqrt((error**2).mean(axis=0))
    floor = 1e-9 * (np.sqrt((tau**2).mean()) or 1.0)  # without noise all joints get the same weight
    return 1 / np.maximum(deviation, max(floor, 1e-3 * deviation.max()))


def block_covariance(X: np.ndarray, error: np.ndarray, half: np.ndarray, joints: int, arm: int) -> tuple[np.ndarray, int]:
    """Return the sandwich covariance of the estimate and its degrees of freedom.

    `half half^T` is the (pseudo-)inverse of `X^T X`, and `arm` the number of the arm's parameters that were estimated together with
    the load.
    """
    samples = len(error) // joints
    blocks = min(TIME_BLOCKS, samples)
    bread = half @ half.T
    if blocks <= half.shape[1] + 1:  # too few blocks for a covariance from them: errors are assumed to be independent
        freedom = len(error) - half.shape[1] - arm
        if freedom < 1:  # as many unknowns as equations leave no residual
            return np.full_like(bread, np.inf), 1
        return error @ error / freedom * bread, freedom
    starts = np.linspace(0, samples, blocks + 1).astype(int)[:-1] * joints
    gradient = np.add.reduceat(X * error[:, None], starts, axis=0)
    correction = blocks / (blocks - 1) * len(error) / (len(error) - half.shape[1] - arm)
    return correction * bread @ gradient.T @ gradient @ bread, blocks - 1


def ball(ten: np.ndarray, deviations: np.ndarray, unseen: np.ndarray, frame: str) -> Inertia:
    """Return a ball with the measured mass and centre of mass; coordinates of the centre that the motion does not show are 0.
    Raises InputError: the motion does not show the mass."""
    if unseen[0] or ten[0] <= 2 * deviations[0]:
        raise InputError(
            f"the torques show no mass on {frame!r}: "
            + ("this motion never lifts it" if unseen[0] else f"{ten[0]:.3g} +- {deviations[0]:.2g} kg")
            + " (give a `prior` for its shape, or a motion against gravity)"
        )
    return Inertia.sphere(float(ten[0]), LOAD_RADIUS).shifted([float(x) for x in np.where(unseen[1:4], 0.0, ten[1:4] / ten[0])])


def sizes(ten: np.ndarray) -> np.ndarray:
    """Return the largest values of a body's ten parameters (10,): m, m l, m l^2; l is its rms distance from the origin."""
    J = pseudo_inertia(ten)
    return J[3, 3] * np.sqrt(np.trace(J[:3, :3]) / J[3, 3]) ** LENGTHS


def why_not(identified: np.ndarray, turning: bool) -> str:
    """Return a sentence on the parameters of a load that are not identified; empty if all are."""
    if identified.all():
        return ""
    names = ", ".join(name for name, seen in zip(INERTIAL, identified) if not seen)
    if not turning:
        return f"{names}: poses at rest show m and m c only; moments of inertia need accelerations. They are those of the prior"
    return f"{names}: the motion is too slow, too short or turns the load about too few axes. They are near the prior"
