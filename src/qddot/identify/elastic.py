"""Elastic gears: stiffness and damping with all other parameters, from encoders of motors and links, or of motors alone.

    tau = B theta_dd + friction(theta_d) + Y(q, qd, qdd) pi                      motor and link together
    tau = B theta_dd + friction(theta_d) + K (theta - q) + D (theta_d - qd)      the motor alone

theta and q are positions of motors and links on the joint's side. With both measured the equations are linear in all parameters.
With motors alone the links follow from the load, `q = theta - load / K`, which is the motor's torque minus that of its own rotor
and friction. The compliances 1 / K are those with the smallest residual of the first equation; they and friction are found by
turns. The inertia of rotors and links cannot be told apart then, so rotors must be described.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from qddot.arguments import finite_array
from qddot.errors import InputError
from qddot.identify.alignment import common_delay, told_delays, told_fault
from qddot.identify.deviations import deviations
from qddot.identify.more_columns import covariance_by_blocks, errors, weighted
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.drive_terms import dry_step
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.record import Record, Recorded, whole
from qddot.identify.regression.residuals import relative
from qddot.identify.regression.signals import Signals, prepare, slopes
from qddot.logs.log import Log
from qddot.logs.table import Finding
from qddot.model.drive import Drive
from qddot.robot import Robot
from qddot.thresholds import ALIGNED_ROUNDS, ELASTIC_ROUNDS, ELASTIC_SURE, STANDSTILL

Motion = Sequence[np.ndarray]
"""A signal along a log and its first and second derivative; each (N, nv)."""

MOTOR = ("rotor", "viscous", "coulomb", "offset")


@dataclass(frozen=True, eq=False)
class ElasticJoints:
    """Elastic gears, with all values on the joint's side.

    Attributes:
        joint_names: names of the joints.
        stiffness: K (nv,), N m/rad; inf where no elasticity shows.
        stiffness_std: standard deviations of K (nv,); inf where no elasticity shows.
        damping: D (nv,), N m s/rad; 0 from motors alone.
        motors: `joint.rotor`, `joint.viscous`, `joint.coulomb`, `joint.offset` -> value.
        base, links: the links' base parameters, and their values (r,).
        error: |error| / |tau| of the filtered torques; `rigid_error`: that of the model without elasticity.
        findings: what was done to the log: `delay`, by how much later than positions torques came, if they did.

    >>> arm, t = qddot.from_dh([(1, 0, 0, 0)], inertias=[qddot.Inertia.point(0.5)], gravity=(0, 0, 0)), np.arange(0, 20, 0.01)
    >>> w, (a, K, B) = np.array([2.0, 5.0, 11.0]), ([0.5, 0.3, 0.1], 200.0, 0.1)
    >>> q, qdd, qdddd = ((np.sin(np.outer(t, w)) * (1j * w) ** k @ a).real[:, None] for k in (0, 2, 4))
    >>> theta, thetadd = q + 0.5 * qdd / K, qdd + 0.5 * qdddd / K  # the link asks for 0.5 qdd, and the gear gives
    >>> log = qddot.identify.Log(t, theta, B * thetadd + 0.5 * qdd, joint_names=arm.joint_names)
    >>> found = qddot.identify.elastic_joints(arm, log, links=q)
    >>> round(found.drives["joint1"].series_stiffness)
    200
    """

    robot: Robot
    stiffness: np.ndarray
    stiffness_std: np.ndarray
    damping: np.ndarray
    motors: dict[str, float]
    base: Base
    links: np.ndarray
    error: float
    rigid_error: float
    findings: tuple[Finding, ...] = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.robot.joint_names

    @property
    def drives(self) -> dict[str, Drive]:
        """Joint -> drive with rotor, friction and elastic gear, to be put into a description."""
        found = {}
        for joint, K, D in zip(self.joint_names, self.stiffness, self.damping):
            rotor, viscous, coulomb, offset = (self.motors[f"{joint}.{name}"] for name in MOTOR)
            found[joint] = Drive(
                rotor_inertia=max(rotor, 0.0),
                viscous=max(viscous, 0.0),
                coulomb=max(coulomb, 0.0),
                smoothing_velocity=STANDSTILL if coulomb > 0 else 0.0,
                offset=offset,
                series_stiffness=float(K) if np.isfinite(K) else None,
                series_damping=max(float(D), 0.0) if np.isfinite(K) else 0.0,
            )
        return found

    def __repr__(self) -> str:
        rows = zip(self.joint_names, self.stiffness, self.stiffness_std, self.damping)
        lines = [f"{n}: {K:.4g} +- {s:.2g} N m/rad, {D:.3g} N m s/rad" if np.isfinite(K) else f"{n}: stiff" for n, K, s, D in rows]
        return "\n".join([*lines, f"torques not explained: {self.rigid_error:.2%} if rigid, {self.error:.2%} as found"])


def elastic_joints(robot: Robot, motors: Recorded, links: ArrayLike | None = None, *, cutoff: float | None = None) -> ElasticJoints:
    """Find the stiffness of each gear, with friction and rotors of the motors and the base parameters of the links.

    Args:
        robot: the rigid robot as described; if links are not measured, its drives have the rotors' inertia.
        motors: positions of the motors and their torques, a `Log` or the name of its file, both on the joint's side (divided and
            multiplied by the gear's ratio).
        links: positions of the links (N, nv) at the same samples, from encoders behind the gears; None: they are not measured.
        cutoff: cut-off frequency of the low-pass, Hz, which must pass the motion that winds the gears; None: chosen from the log.

    Raises:
        InputError: wrong shapes, or motors alone without rotors in the description.

    >>> arm, t = qddot.from_dh([(1, 0, 0, 0)], inertias=[qddot.Inertia.point(0.5)], gravity=(0, 0, 0)), np.arange(0, 20, 0.01)
    >>> w, (a, K, B) = np.array([2.0, 5.0, 11.0]), ([0.5, 0.3, 0.1], 200.0, 0.1)
    >>> q, qdd, qdddd = ((np.sin(np.outer(t, w)) * (1j * w) ** k @ a).real[:, None] for k in (0, 2, 4))
    >>> theta, thetadd = q + 0.5 * qdd / K, qdd + 0.5 * qdddd / K  # the link asks for 0.5 qdd, and the gear gives
    >>> log = qddot.identify.Log(t, theta, B * thetadd + 0.5 * qdd, joint_names=arm.joint_names)
    >>> found = qddot.identify.elastic_joints(arm, log, links=q)
    >>> found.stiffness.round().tolist(), round(found.motors["joint1.rotor"], 2)
    ([200.0], 0.1)
    """
    record = Record.of(robot, whole(robot, motors), cutoff, "derivative")
    q = None if links is None else positions_of_links(links, record.log)
    usual = base_parameters(ParameterSet.of(robot))
    found = fitted(record, q)
    for _ in range(ALIGNED_ROUNDS):
        delay = common_delay(usual, as_if_rigid(found, record, q))
        if fault := told_fault(delay, record.signals.rate):
            return replace(found, findings=fault)
        if delay == record.signals.delay:
            break
        record = record.aligned(delay)
        found = fitted(record, q)
    return found


def positions_of_links(links: ArrayLike, log: Log) -> np.ndarray:
    """Return positions of links as an array. Raises InputError: not one for each of a log's."""
    q = finite_array("links", links)
    if q.shape != log.q.shape:
        raise InputError(f"links has shape {q.shape}, the motors' positions {log.q.shape}: one number a joint and sample")
    return q


def fitted(record: Record, links: np.ndarray | None) -> ElasticJoints:
    """Return the gears of a recording of motors, by positions of the links (N, nv) if they are measured."""
    robot, motor = record.robot, record.signals
    links_only = ParameterSet.of(robot, armature=False, viscous=False, coulomb=None, offset=False)
    base = base_parameters(links_only)
    found = from_motors(robot, motor, base) if links is None else from_both(robot, motor, of_links(record, links), base)
    return replace(found, findings=told_delays(motor))


def of_links(record: Record, links: np.ndarray) -> Signals:
    """Return signals of links, whose positions (N, nv) are measured at the samples of the motors'."""
    motor = record.signals
    log = replace(record.log, q=links, qd=None, qdd=None)
    return prepare(log, motor.cutoff, velocity="derivative", delay=motor.delay)


def as_if_rigid(found: ElasticJoints, record: Record, links: np.ndarray | None) -> Signals:
    """Return motion of the links, measured or as the gears found let them lag, with torques as if the motors moved with them: those
    of a rigid robot, which tell a delay."""
    motor, own = record.signals, motor_torques(found, record.signals)
    if links is None:
        lag = (part / found.stiffness for part in rates(motor, motor.tau - own))
        q, qd, qdd = (x - part for x, part in zip((motor.q, motor.qd, motor.qdd), lag))
        link = replace(motor, q=q, qd=qd, qdd=qdd)
    else:
        link = of_links(record, links)
    return replace(link, tau_raw=motor.tau_raw - own + motor_torques(found, link))


def motor_torques(found: ElasticJoints, signals: Signals) -> np.ndarray:
    """Return torques (N, nv) that rotors and friction of the motors take along a motion."""
    constants = np.reshape(list(found.motors.values()), (-1, len(MOTOR)))
    return np.stack([motor_columns(signals, j) @ own for j, own in enumerate(constants)], axis=1)


def from_both(robot: Robot, motor: Signals, link: Signals, base: Base) -> ElasticJoints:
    """Fit both equations at once, which are linear in all parameters."""
    n, r = robot.nv, base.rank
    width = r + len(MOTOR) * n + 3 * n  # links, motors, then stiffness, damping and a zero of each gear
    Y = base.matrix(link.q, link.qd, link.qdd)
    rows = []
    for j in range(n):
        own, tau = motor_columns(motor, j), motor.tau_raw[:, j]
        wound, rate = motor.q[:, j] - link.q[:, j], motor.qd[:, j] - link.qd[:, j]
        A = np.zeros((2, len(tau), width + 1))
        A[0, :, :r] = Y[:, j]
        A[:, :, r + len(MOTOR) * j : r + len(MOTOR) * (j + 1)] = own
        A[1, :, r + len(MOTOR) * n + 3 * j : r + len(MOTOR) * n + 3 * j + 3] = np.stack([wound, rate, np.ones_like(wound)], axis=1)
        A[:, :, -1] = tau
        moving = motor.moves(np.full(n, STANDSTILL))[:, j : j + 1]
        rows += [found[counts[:, 0]] for found, counts in (motor.decimated_where(part, moving) for part in A)]
    theta, sigma = weighted(rows)
    std = np.sqrt(np.diagonal(covariance_by_blocks(rows, sigma)))
    gears, spread = (x[r + len(MOTOR) * n :].reshape(n, 3) for x in (theta, std))
    constants, missed = theta[r : r + len(MOTOR) * n], (relative(*errors(rows[::2], theta)), rigid(motor, base)[1])
    return found_joints(robot, base, theta[:r], constants, (gears[:, 0], spread[:, 0], gears[:, 1]), missed)


def from_motors(robot: Robot, motor: Signals, base: Base) -> ElasticJoints:
    """Find the compliances with the smallest residual, from the positions of the motors alone."""
    n, r = robot.nv, base.rank
    rotors = np.array([float(robot.drives.get(joint, Drive()).at_joint.armature) for joint in robot.joint_names])
    for joint, rotor in zip(robot.joint_names, rotors):
        if not rotor > 0:
            raise InputError(
                f"{joint!r} has no rotor inertia: without encoders of the links it must be known (Drive(rotor_inertia=...) in "
                "the description, or links=)"
            )
    known = motor.tau_raw - rotors * motor.qdd
    theta, rigid_error, sigma = rigid(motor, base, known)
    rows, c, size = [], np.zeros(n), np.sqrt(np.mean(known**2, axis=0))  # c size is an angle
    for _ in range(ELASTIC_ROUNDS):
        own = np.stack([motor_columns(motor, j)[:, 1:] for j in range(n)], axis=1)
        load = motor.tau - rotors * motor.qdd - np.einsum("njk,jk->nj", own, theta[r:].reshape(n, -1))
        wound = rates(motor, load)

        def left(x: np.ndarray, wound: Motion = wound, sigma: np.ndarray = sigma) -> np.ndarray:
            A = np.vstack([A / s for A, s in zip(wound_rows(motor, base, known, x / size, wound), sigma)])
            scale = np.maximum(np.linalg.norm(A[:, :-1], axis=0), 1e-300)
            return A[:, -1] - A[:, :-1] / scale @ np.linalg.lstsq(A[:, :-1] / scale, A[:, -1], rcond=1e-12)[0]

        solution = least_squares(left, c * size, x_scale=1e-3)
        c = solution.x / size
        rows = wound_rows(motor, base, known, c, wound)
        theta, sigma = weighted(rows)
    spread = deviations(solution.jac, solution.fun, len(solution.fun)) / size
    sure = c > ELASTIC_SURE * spread
    K = 1 / np.where(sure, c, np.inf)
    constants = np.column_stack([rotors, theta[r:].reshape(n, -1)]).ravel()
    missed = relative(*errors(rows, theta)), rigid_error
    return found_joints(robot, base, theta[:r], constants, (K, np.where(sure, spread * K**2, np.inf), np.zeros(n)), missed)


def motor_columns(motor: Signals, j: int) -> np.ndarray:
    """Columns (N, 4) of motor j: rotor, viscous and Coulomb friction, offset."""
    v = motor.qd[:, j]
    return np.stack([motor.qdd[:, j], v, dry_step(v, STANDSTILL), np.ones_like(v)], axis=1)


def rigid(motor: Signals, base: Base, known: np.ndarray | None = None) -> tuple[np.ndarray, float, np.ndarray]:
    """Parameters, error and noise of the model without elasticity; `known`: torques without the part of known rotors."""
    still = (np.zeros_like(motor.q),) * 3
    tau = motor.tau_raw if known is None else known
    rows = wound_rows(motor, base, tau, np.zeros(motor.q.shape[1]), still, rotors=known is None)
    theta, sigma = weighted(rows)
    return theta, relative(*errors(rows, theta)), sigma


def wound_rows(
    motor: Signals, base: Base, tau: np.ndarray, c: np.ndarray, wound: Motion, *, rotors: bool = False
) -> list[np.ndarray]:
    """Filtered rows `[Y_B(q) | friction of the motors | tau]` of each joint, with links that lag the motors by `c` times the load
    `wound`."""
    q, qd, qdd = (x - c * part for x, part in zip((motor.q, motor.qd, motor.qdd), wound))
    Y = base.matrix(q, qd, qdd)
    first, found = 0 if rotors else 1, []
    for j in range(len(c)):
        own = motor_columns(motor, j)[:, first:]
        motors = np.zeros((len(q), len(c), own.shape[1]))
        motors[:, j] = own
        moving = motor.moves(np.full(len(c), STANDSTILL))[:, j : j + 1]
        A, counts = motor.decimated_where(np.column_stack([Y[:, j], motors.reshape(len(q), -1), tau[:, j]]), moving)
        found.append(A[counts[:, 0]])
    return found


def rates(motor: Signals, load: np.ndarray) -> Motion:
    """The load and its first and second derivative along the log."""
    first = slopes(load, motor, edge_order=2)
    return load, first, slopes(first, motor, edge_order=2)


def found_joints(
    robot: Robot, base: Base, links: np.ndarray, motors: np.ndarray, gears: Sequence[np.ndarray], missed: tuple[float, float]
) -> ElasticJoints:
    """Make the result from parameters of links and motors, stiffness, its deviation and damping of the gears (nv,), and the errors
    with and without elasticity. Gears without a significant compliance count as stiff."""
    K, std, damping = gears
    names = [f"{joint}.{name}" for joint in robot.joint_names for name in MOTOR]
    sure = ELASTIC_SURE * std < K
    stiffness, spread = np.where(sure, K, np.inf), np.where(sure, std, np.inf)
    constants = dict(zip(names, motors.tolist()))
    return ElasticJoints(robot, stiffness, spread, np.where(sure, damping, 0.0), constants, base, links, *missed)
