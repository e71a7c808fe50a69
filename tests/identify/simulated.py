"""Logs of simulated arms."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import qddot
from qddot.identify import Excitation, Fit, Log, ParameterSet
from qddot.robot import Robot

ROBOTS = next((p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists()), None)


def panda() -> Robot:
    """The seven joints of the Panda, its gripper fixed."""
    from dataclasses import replace

    from qddot.model.model import Model

    assert ROBOTS is not None
    model = qddot.load(ROBOTS / "panda_description/urdf/panda.urdf").model
    joints = [replace(j, kind="fixed", mimic=None, limits=type(j.limits)()) if "finger" in j.name else j for j in model.joints]
    return Robot(Model(model.name, model.links, joints, model.frames, model.gravity, doubtful=model.doubtful))


def series(robot: Robot, t: np.ndarray, seed: int = 0, period: float = 10.0, harmonics: int = 5) -> tuple[np.ndarray, ...]:
    """q, qd, qdd of a random Fourier series through most of the joint range."""
    draw = np.random.default_rng(seed)
    limits = robot.limits
    low, high = (np.where(np.isfinite(x), x, s * np.pi) for x, s in ((limits.lower, -1), (limits.upper, 1)))
    w = 2 * np.pi / period * np.arange(1, harmonics + 1)[:, None]
    a, b = draw.normal(size=(2, harmonics, robot.nv)) / np.arange(1, harmonics + 1)[:, None]
    sin, cos = np.sin(t[:, None, None] * w), np.cos(t[:, None, None] * w)
    q = np.sum(a * sin + b * cos, axis=1)
    reach = 0.45 * (high - low) / np.abs(q - q.mean(axis=0)).max(axis=0)
    qd, qdd = np.sum(w * (a * cos - b * sin), axis=1), np.sum(-(w**2) * (a * sin + b * cos), axis=1)
    return (low + high) / 2 + reach * (q - q.mean(axis=0)), reach * qd, reach * qdd


def truth(parameters: ParameterSet, seed: int = 0) -> np.ndarray:
    """Free parameters (p,): the links as described, and some friction."""
    draw = np.random.default_rng(seed)
    size = {"viscous": 2.0, "coulomb": 3.0, "offset": 0.3, "armature": 0.3}
    kinds = [name.rpartition(".")[2] for name in parameters.names]
    return np.array([size[k] * draw.uniform(0.5, 1.5) if k in size else x for k, x in zip(kinds, parameters.described)])


def excited(parameters: ParameterSet, theta: np.ndarray, motion: Excitation, noise: tuple[float, float], seed: int) -> Log:
    """A log at 1 kHz of a motion made for identification, with white noise on positions (rad) and torques (N m)."""
    t, q, qd, qdd = motion.sample(1000.0)
    draw = np.random.default_rng(seed)
    tau = parameters.matrix(q, qd, qdd) @ theta + noise[1] * draw.normal(size=q.shape)
    return Log(t, q + noise[0] * draw.normal(size=q.shape), tau, joint_names=parameters.robot.joint_names)


def check_found(
    parameters: ParameterSet, theta: np.ndarray, fit: Fit, motion: Excitation, inertial: float, friction: float, torque: float
) -> None:
    """Rotors and links as a whole, friction one by one, and torques along another motion, each relative to the truth."""
    true = fit.base.K @ theta
    error = fit.estimate.theta - true
    kinds = [name.rpartition(".")[2] for name in fit.base.names]
    slides = np.array([kind in ("viscous", "coulomb") for kind in kinds])
    moves = ~slides & (np.array(kinds) != "offset")
    assert np.linalg.norm(error[moves]) < inertial * np.linalg.norm(true[moves])
    assert np.abs(error[slides] / true[slides]).max() < friction
    _, q, qd, qdd = motion.sample(1000.0)
    tau = parameters.matrix(q, qd, qdd) @ theta
    assert np.linalg.norm(fit.predict(q, qd, qdd) - tau) < torque * np.linalg.norm(tau)


def simulated(
    parameters: ParameterSet,
    theta: np.ndarray,
    seconds: float,
    rate: float,
    noise: tuple[float, float],
    seed: int,
    motion: int = 0,
) -> Log:
    """A log with white noise on positions (rad) and torques (N m)."""
    t = np.arange(int(seconds * rate)) / rate
    q, qd, qdd = series(parameters.robot, t, motion)
    tau = parameters.matrix(q, qd, qdd) @ theta + parameters.known_torque(q, qd, qdd)
    draw = np.random.default_rng(seed)
    return Log(
        t,
        q + noise[0] * draw.normal(size=q.shape),
        tau + noise[1] * draw.normal(size=q.shape),
        joint_names=parameters.robot.joint_names,
    )
