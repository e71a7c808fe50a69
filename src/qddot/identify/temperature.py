"""Friction that changes with temperature, from logs with recorded temperatures.

    tau_friction = (viscous + viscous_K (T - T_0)) qd + (coulomb + coulomb_K (T - T_0)) s(qd)

Lubricants get thinner as they warm: the viscous friction of a robot's gear commonly halves after a cold start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array
from qddot.errors import InputError
from qddot.identify.alignment import alignable, common_delay, told_delays, told_fault
from qddot.identify.more_columns import extended
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.drive_terms import dry_step
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.record import Record, Recorded, whole
from qddot.identify.regression.signals import prepare
from qddot.logs.log import Log
from qddot.logs.table import Finding
from qddot.robot import Robot


@dataclass(frozen=True, eq=False)
class ThermalFriction:
    """Friction and its change with temperature.

    Attributes:
        reference: T_0, the mean temperature of each joint (nv,), in the unit given.
        parameters: base parameter -> value at T_0.
        slopes: `joint.viscous`, `joint.coulomb` -> (change per degree, standard deviation).
        before, after: |error| / |tau| of the filtered torques without and with the temperature.
        delay: by how much later than positions torques came, s; positions are taken that much earlier.
        findings: what was done to the log: `delay`, if there is one.

    >>> robot, t = qddot.load("two_link"), np.arange(0, 20, 0.01)
    >>> w, a = np.array([1.3, 3.1, 5.2]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    >>> motion = lambda t: [f(np.outer(t, w)) * w**k @ a.T for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))]
    >>> (q, qd, qdd), celsius = motion(t), 20 + t
    >>> tau = robot.inverse_dynamics(q, qd, qdd) + (1.0 - 0.01 * (celsius - 20))[:, None] * qd  # thinner as it warms
    >>> log = qddot.identify.Log(t, q, tau, joint_names=robot.joint_names)
    >>> parameters = qddot.identify.ParameterSet.of(robot, armature=False, coulomb=None)
    >>> found = qddot.identify.thermal_friction(robot, log, celsius, parameter_set=parameters)
    >>> round(found.at(25.0)["joint1.viscous"], 3)
    0.95
    """

    joint_names: tuple[str, ...]
    reference: np.ndarray
    parameters: dict[str, float]
    slopes: dict[str, tuple[float, float]]
    before: float
    after: float
    delay: float = 0.0
    findings: tuple[Finding, ...] = ()

    def at(self, temperature: ArrayLike) -> dict[str, float]:
        """Viscous and Coulomb friction of each joint at a temperature, one number or one a joint."""
        T = np.broadcast_to(finite_array("temperature", temperature), (len(self.joint_names),)) - self.reference
        of = dict(zip(self.joint_names, T))
        return {
            name: self.parameters[name] + slope * float(of[name.rpartition(".")[0]]) for name, (slope, _) in self.slopes.items()
        }

    def __repr__(self) -> str:
        lines = [f"{name}: {self.parameters[name]:.4g}, {x:.3g} +- {s:.2g} more a degree" for name, (x, s) in self.slopes.items()]
        return "\n".join([*lines, f"torques not explained: {self.before:.2%} without, {self.after:.2%} with the temperature"])


def next_step(log: Log) -> str:
    """Return the remedy for friction that changes as joints warm, in words."""
    warm = f"the warm arm alone is robot.identify(log[{len(log) // 2}:]), if the log is long enough"
    if log.temperature is not None:
        return f"The log's temperatures do not explain it; {warm}"
    return (
        "With the joints' temperatures in the log (Log(..., temperature=T), or columns={'temperature': [...]} of a file) "
        f"fit.thermal has friction at any of them; {warm}"
    )


def thermal_friction(
    robot: Robot,
    log: Recorded,
    temperature: ArrayLike | None = None,
    *,
    parameter_set: ParameterSet | None = None,
    cutoff: float | None = None,
) -> ThermalFriction:
    """Find viscous and Coulomb friction of each joint and their change with temperature, with all other parameters.

    Args:
        log: positions and torques: a `Log`, or the name of a file or of several.
        temperature: temperature at the samples of the log, in any unit: (N,) of all joints, or (N, nv) of each. None: the log's.
            Joints with constant temperature have no slopes.
        parameter_set: the parameters of the model; None: the default ones of `ParameterSet.of`.
        cutoff: cut-off frequency of the low-pass, Hz; None: chosen from the log.

    Raises:
        InputError: no temperature, one of another shape or a constant one, or parameters without friction.

    >>> robot, t = qddot.load("two_link"), np.arange(0, 20, 0.01)
    >>> w, a = np.array([1.3, 3.1, 5.2]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    >>> motion = lambda t: [f(np.outer(t, w)) * w**k @ a.T for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))]
    >>> (q, qd, qdd), celsius = motion(t), 20 + t
    >>> tau = robot.inverse_dynamics(q, qd, qdd) + (1.0 - 0.01 * (celsius - 20))[:, None] * qd  # thinner as it warms
    >>> log = qddot.identify.Log(t, q, tau, joint_names=robot.joint_names)
    >>> parameters = qddot.identify.ParameterSet.of(robot, armature=False, coulomb=None)
    >>> found = qddot.identify.thermal_friction(robot, log, celsius, parameter_set=parameters)
    >>> round(found.slopes["joint2.viscous"][0], 4)  # a degree
    -0.01
    """
    parameter_set = ParameterSet.of(robot) if parameter_set is None else parameter_set
    log = with_temperatures(whole(robot, log), temperature)
    record, base = Record.of(robot, log, cutoff), base_parameters(parameter_set)
    found = at_mean(base, record)
    unaltered = at_reference(found, record, parameter_set.widths)  # beside friction that changes, no delay would be sure
    delay = common_delay(base, unaltered.signals)
    if fault := told_fault(delay, record.signals.rate):
        return replace(found, findings=fault)
    return at_mean(base, record.aligned(delay)) if delay else found


def at_mean(base: Base, record: Record) -> ThermalFriction:
    """Return friction at the mean temperature of a recording, which has temperatures, and its change with them."""
    robot, parameter_set, signals, at = record.robot, base.parameter_set, record.signals, temperatures(record)
    reference = at.mean(axis=0)
    changes = np.ptp(at, axis=0) > 0
    if not changes.any():
        raise InputError("the temperature does not change in this log, so its effect does not show (record a warm-up)")
    wanted, further = set(parameter_set.names), {}
    for name, curve in friction_curves(robot.joint_names, signals.qd, parameter_set.widths).items():
        j = robot.joint_names.index(name.rpartition(".")[0])
        if changes[j] and name in wanted:
            further[name] = ((at[:, j] - reference[j]) * curve)[:, None] * np.eye(robot.nv)[j]
    if not further:
        raise InputError("the parameters have neither viscous nor Coulomb friction, which alone changes with temperature here")
    found = extended(base, signals, further)
    parameters = dict(zip(found.base.names, found.theta.tolist()))
    return ThermalFriction(
        robot.joint_names, reference, parameters, found.further, found.before, found.after, signals.delay, told_delays(signals)
    )


def at_reference(found: ThermalFriction, record: Record, widths: np.ndarray) -> Record:
    """Return a recording with the torques that friction would have at T_0, by the slopes found, and with positions of the time of
    its torques; one without temperatures as it is.

    `widths`: the smoothing velocity of each joint's Coulomb friction (nv,), rad/s or m/s.
    """
    if record.log.temperature is None:
        return record
    record = record.aligned(alignable(found.delay, record.signals.rate))
    signals = record.signals
    more = temperatures(record) - found.reference
    tau = signals.tau_raw.copy()
    for name, curve in friction_curves(found.joint_names, signals.qd, widths).items():
        j = found.joint_names.index(name.rpartition(".")[0])
        tau[:, j] -= found.slopes.get(name, (0.0, 0.0))[0] * more[:, j] * curve
    return replace(record, signals=replace(signals, tau_raw=tau))


def with_temperatures(log: Log, temperature: ArrayLike | None) -> Log:
    """Return a log with temperatures of its samples, (N,) or (N, nv); None: its own. Raises InputError: other shapes, or none."""
    temperature = log.temperature if temperature is None else temperature
    if temperature is None:
        raise InputError(
            "the log has no temperatures: give them, (N,) or (N, nv), or name their columns: columns={'temperature': ...}"
        )
    T = finite_array("temperature", temperature)
    T = np.broadcast_to(T[:, None] if T.ndim == 1 else T, log.q.shape) if len(T) == len(log) and T.ndim in (1, 2) else T
    if T.shape != log.q.shape:
        raise InputError(f"temperature has shape {T.shape}: one number a sample, ({len(log)},), or one a joint, {log.q.shape}")
    return replace(log, temperature=T)


def temperatures(record: Record) -> np.ndarray:
    """Return temperatures (N, nv) at the samples of a recording's signals."""
    log, signals = record.log, record.signals
    assert log.temperature is not None
    return prepare(replace(log, tau=log.temperature), signals.cutoff, velocity=signals.velocity).tau_raw


def friction_curves(joints: Sequence[str], qd: np.ndarray, widths: np.ndarray) -> dict[str, np.ndarray]:
    """Return `joint.viscous` and `joint.coulomb` -> friction (N,) for a constant of one, at rates (N, nv)."""
    found = {}
    for joint, v, width in zip(joints, qd.T, widths):
        found |= {f"{joint}.viscous": v, f"{joint}.coulomb": dry_step(v, float(width))}
    return found
