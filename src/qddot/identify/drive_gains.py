"""Torque per unit of each drive's signal (a current, a raw effort), from motions without and with a known load.

    s_j = (Y_B x + tau_load)_j / g_j + noise

Without a load the gains g and the base parameters x of the arm can be scaled together; the known load sets the scale (Gautier and
Briot 2014). They solve it by total least squares; here noise is assumed in the signals only, and the maximum-likelihood estimate
follows by Gauss-Newton from a linear fit of each joint alone.

Iron saturates: near its peak a motor takes more current for the same torque. With `saturation=True` the signal is

    s_j = (tau_j + k_j tau_j^3) / g_j,     tau = Y_B x + tau_load,     k_j >= 0

The low-pass of a cube is not the cube of a low-pass: cubes are taken of the torques as they are, steps of friction included, and
filtered as the signals are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from qddot.errors import ConvergenceError, InputError
from qddot.identify.alignment import alignable, common_delay, told_delays, told_fault
from qddot.identify.deviations import deviations
from qddot.identify.load_equations import load_regressor
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.motions import Moved, Recorded, moved
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.record import whole
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import Signals
from qddot.identify.scaling import column_lengths
from qddot.logs.table import Finding
from qddot.model.inertia import Inertia
from qddot.robot import Robot


@dataclass(frozen=True)
class DriveGains:
    """Torques of the drives per unit of their signals.

    Attributes:
        joint_names: names of the drives' joints.
        gains: torque per unit of signal (nv,).
        deviations: standard deviations of the gains (nv,); inf where the motion does not show one.
        saturation: k (nv,), 1/(N m)^2, by which the signal grows with the cube of the torque; 0 if it was not asked for.
        saturation_deviations: standard deviations of k (nv,).
        findings: what was done to the logs: `delay` for each one whose signals came later or earlier than positions.

    >>> robot, load = qddot.load("two_link"), qddot.Inertia.point(1.0)
    >>> q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 200, 2))
    >>> gains = np.array([2.0, 3.0])  # N m per unit of what the drives report
    >>> alone = qddot.identify.Samples(q, qd, qdd, robot.inverse_dynamics(q, qd, qdd) / gains)
    >>> loaded = qddot.identify.Samples(q, qd, qdd, robot.with_payload(1.0).inverse_dynamics(q, qd, qdd) / gains)
    >>> found = qddot.identify.drive_gains(robot, alone, loaded, load)
    >>> found.joint_names, bool((found.deviations < 0.01).all())
    (('joint1', 'joint2'), True)
    """

    joint_names: tuple[str, ...]
    gains: np.ndarray
    deviations: np.ndarray
    saturation: np.ndarray
    saturation_deviations: np.ndarray
    findings: tuple[Finding, ...] = ()

    def torques(self, signals: np.ndarray) -> np.ndarray:
        """Torques (..., nv) from signals (..., nv): the only real root of `tau + k tau^3 = gain signal`.

        >>> both = np.ones(2)
        >>> found = qddot.identify.DriveGains(("joint1", "joint2"), 10 * both, both, np.array([0.0, 0.01]), both)
        >>> found.torques(np.array([1.1, 1.1])).round(3)  # the second motor saturates
        array([11.   ,  7.226])
        """
        x = self.gains * np.asarray(signals, float)
        k = np.maximum(self.saturation, 1e-300)
        return np.where(self.saturation > 0, 2 / np.sqrt(3 * k) * np.sinh(np.arcsinh(1.5 * np.sqrt(3 * k) * x) / 3), x)

    def __repr__(self) -> str:
        rows = zip(self.joint_names, self.gains, self.deviations, self.saturation, self.saturation_deviations)
        return "\n".join(
            (f"{name}: {gain:.6g} +- {std:.2g}" if np.isfinite(std) else f"{name}: not shown")
            + (f", saturation {k:.3g} +- {k_std:.2g} 1/(N m)^2" if self.saturation.any() else "")
            for name, gain, std, k, k_std in rows
        )


def drive_gains(
    robot: Robot,
    unloaded: Recorded,
    loaded: Recorded,
    load: Inertia,
    *,
    frame: str | None = None,
    parameter_set: ParameterSet | None = None,
    cutoff: float | None = None,
    saturation: bool = False,
) -> DriveGains:
    """Find the gains of all drives from two motions, the second with a known load; the arm's own parameters need not be known.

    Args:
        unloaded, loaded: logs, names of their files, or `Samples`, of the arm alone and with the load; with the drives' signals
            instead of torques.
        load: the known load, in the axes of `frame`.
        frame: the frame that carries it; None: the tip of the only chain.
        parameter_set: the parameters of the arm; None: links, rotors, viscous and Coulomb friction, offsets.
        cutoff: cut-off frequency of the low-pass, Hz; None: chosen from each log.
        saturation: True to find the saturation of the motors too, which take more current for the same torque near their peak.

    Raises:
        InputError: wrong shapes, or motions in which a joint does not feel the load.
        ConvergenceError: the search did not converge.

    >>> robot, load = qddot.load("two_link"), qddot.Inertia.point(1.0)
    >>> q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 200, 2))
    >>> gains = np.array([2.0, 3.0])  # N m per unit of what the drives report
    >>> alone = qddot.identify.Samples(q, qd, qdd, robot.inverse_dynamics(q, qd, qdd) / gains)
    >>> loaded = qddot.identify.Samples(q, qd, qdd, robot.with_payload(1.0).inverse_dynamics(q, qd, qdd) / gains)
    >>> qddot.identify.drive_gains(robot, alone, loaded, load).gains.round(3)
    array([2., 3.])
    """
    parameter_set, frame = parameter_set or ParameterSet.of(robot), robot.tip if frame is None else frame
    base = base_parameters(parameter_set)
    recorded = [one if isinstance(one, Samples) else whole(robot, one) for one in (unloaded, loaded)]
    runs = [moved(robot, one, cutoff) for one in recorded]
    found = from_runs(base, runs, load, frame, saturation)
    free = base_parameters(ParameterSet.of(robot, **parameter_set.asked))  # which can carry the load
    delays, faults = [0.0, 0.0], ()
    for k, signals in enumerate(run.signals for run in runs):
        if signals is not None:
            delay = common_delay(free, as_torques(found, signals))
            delays[k], faults = alignable(delay, signals.rate), (*faults, *told_fault(delay, signals.rate))
    if any(delays):
        runs = [moved(robot, one, cutoff, delay) for one, delay in zip(recorded, delays)]
        found = from_runs(base, runs, load, frame, saturation)
    return replace(found, findings=(*told_delays(*(run.signals for run in runs if run.signals is not None)), *faults))


def as_torques(found: DriveGains, signals: Signals) -> Signals:
    """Return a prepared log of the drives' signals with their torques instead."""
    return replace(signals, tau_raw=found.torques(signals.tau_raw))


def from_runs(base: Base, runs: list[Moved], load: Inertia, frame: str, saturation: bool) -> DriveGains:
    """Find the gains from prepared motions without and with the load."""
    robot = base.parameter_set.robot
    columns = [base.matrix(*run.motion) for run in runs]
    Y = np.vstack([run.filtered(each) for run, each in zip(runs, columns)])
    alone, signal = (run.filtered(run.samples.tau) for run in runs)
    ten = np.array(load.ten_vector(), float)
    carried = load_regressor(robot, *runs[1].motion, frame) @ ten
    tau = np.vstack([np.zeros_like(alone), runs[1].filtered(carried)])
    signal = np.vstack([alone, signal])
    rows = Y, signal
    n, b = robot.nv, Y.shape[-1]
    starts = [by_itself(robot.joint_names[j], Y[:, j], tau[:, j], signal[:, j]) for j in range(n)]
    factors = [triangle(Y[:, j], tau[:, j], signal[:, j], noise) for j, (_, noise) in enumerate(starts)]
    # the same problem in b + 2 rows
    Y, tau, signal = (np.stack([C[:, part] for C in factors], axis=1) for part in (slice(0, b), b, b + 1))
    size = np.linalg.norm(Y.reshape(-1, b), axis=0)
    shown = size > 1e-9 * size.max()
    Y = Y[..., shown] / size[shown]
    inverse = np.array([h for h, _ in starts])
    x0 = np.linalg.lstsq((Y * inverse[:, None]).reshape(-1, Y.shape[-1]), (signal - inverse * tau).ravel())[0]

    def errors(unknowns: np.ndarray) -> np.ndarray:
        h, x = unknowns[:n], unknowns[n:]
        return (signal - h * (Y @ x + tau)).ravel()

    def jacobian(unknowns: np.ndarray) -> np.ndarray:
        h, x = unknowns[:n], unknowns[n:]
        by_h = np.einsum("sj,jk->sjk", -(Y @ x + tau), np.eye(n))
        return np.concatenate([by_h, -Y * h[:, None]], axis=-1).reshape(-1, len(unknowns))

    found = least_squares(errors, np.concatenate([inverse, x0]), jac=jacobian, x_scale="jac")  # type: ignore[arg-type]
    if found.status < 1:
        raise ConvergenceError(f"the gains did not converge: {found.message} (longer motions, or a heavier load)")
    h = found.x[:n]
    spread = deviations(found.jac, found.fun, signal.size)[:n]
    linear = DriveGains(robot.joint_names, 1 / h, spread / h**2, np.zeros(n), np.zeros(n))
    if not saturation:
        return linear
    noise = np.array([noise for _, noise in starts])
    motions = [
        Unfiltered(run.filtered, each[..., shown] / size[shown], load) for run, each, load in zip(runs, columns, (0.0, carried))
    ]
    return saturated(linear, found.x[n:], motions, rows[0][..., shown] / size[shown], rows[1], noise)


class Unfiltered(NamedTuple):
    """The filter of a motion, its columns (N, nv, b) and the load's torques (N, nv), both as they are, before the filter."""

    filtered: Callable[[np.ndarray], np.ndarray]
    columns: np.ndarray
    load: np.ndarray | float

    def torque(self, x: np.ndarray) -> np.ndarray:
        """Return the torques (N, nv) for scaled parameters x (b,)."""
        return self.columns @ x + self.load


def saturated(
    start: DriveGains, x: np.ndarray, motions: list[Unfiltered], Y: np.ndarray, signal: np.ndarray, noise: np.ndarray
) -> DriveGains:
    """Find gains with saturation, starting from those without and the scaled parameters x (b,) found with them. Y and signal are
    filtered."""
    n = len(start.gains)
    size = np.sqrt(np.mean(np.vstack([one.torque(x) for one in motions]) ** 2, axis=0))  # makes k size^2 of order one

    def parts(unknowns: np.ndarray) -> tuple[np.ndarray, ...]:
        h, k, torques = unknowns[:n], unknowns[n : 2 * n] / size**2, [one.torque(unknowns[2 * n :]) for one in motions]
        plain, cubes = (np.vstack([one.filtered(t**p) for one, t in zip(motions, torques)]) for p in (1, 3))
        return h, k, plain, cubes

    def errors(unknowns: np.ndarray) -> np.ndarray:
        h, k, plain, cubes = parts(unknowns)
        return ((signal - h * (plain + k * cubes)) / noise).ravel()

    def jacobian(unknowns: np.ndarray) -> np.ndarray:
        h, k, plain, cubes = parts(unknowns)
        by_h, by_k = (-x[..., None] * np.eye(n) for x in ((plain + k * cubes) / noise, h * cubes / size**2 / noise))
        squares = [one.filtered(one.torque(unknowns[2 * n :])[..., None] ** 2 * one.columns) for one in motions]
        by_x = -(Y + 3 * k[:, None] * np.vstack(squares)) * (h / noise)[:, None]
        return np.concatenate([by_h, by_k, by_x], axis=-1).reshape(-1, len(unknowns))

    lowest = np.concatenate([np.full(n, -np.inf), np.zeros(n), np.full(len(x), -np.inf)])
    guess = np.concatenate([1 / start.gains, np.full(n, 1e-3), x])
    found = least_squares(errors, guess, jac=jacobian, x_scale="jac", bounds=(lowest, np.inf))  # type: ignore[arg-type]
    if found.status < 1:
        raise ConvergenceError(f"the saturation did not converge: {found.message} (larger torques, or saturation=False)")
    spread = deviations(found.jac, found.fun, signal.size)
    h = found.x[:n]
    return DriveGains(start.joint_names, 1 / h, spread[:n] / h**2, found.x[n : 2 * n] / size**2, spread[n : 2 * n] / size**2)


def triangle(Y: np.ndarray, tau: np.ndarray, signal: np.ndarray, noise: float) -> np.ndarray:
    """Triangular factor (b + 2, b + 2) of one joint's `[Y | tau | signal] / noise`."""
    found = np.zeros((Y.shape[1] + 2,) * 2)
    C = np.asarray(np.linalg.qr(np.column_stack([Y, tau, signal]) / noise, mode="r"))
    found[: len(C)] = C
    return found


def by_itself(name: str, Y: np.ndarray, tau: np.ndarray, signal: np.ndarray) -> tuple[float, float]:
    """Fit one joint alone, linearly: `signal = Y (x / g) + tau (1 / g)`. Returns 1 / gain and the standard deviation of the
    noise."""
    if not np.any(abs(tau) > 1e-9 * abs(Y).max()):
        raise InputError(
            f"joint {name!r} does not feel the load in this motion: its gain cannot be found (move it against gravity)"
        )
    X = np.column_stack([Y, tau])
    size = column_lengths(X)
    solution, _, rank, _ = np.linalg.lstsq(X / size, signal, rcond=1e-9)
    error = signal - X / size @ solution
    floor = 1e-9 * np.sqrt(np.mean(signal**2))
    inverse = solution[-1] / size[-1]
    if not inverse > 0:
        raise InputError(
            f"joint {name!r}: its signal falls by {-inverse:.3g} for each N m of the load (is the sign of the signal right?)"
        )
    return float(inverse), float(max(np.sqrt(error @ error / max(len(error) - rank, 1)), floor, 1e-300))
