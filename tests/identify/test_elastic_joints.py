"""Gears that give, identified."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from qddot.errors import InputError
from qddot.identify import Log
from qddot.identify.elastic import elastic_joints
from qddot.identify.regression.bodies import with_parameters
from qddot.model.drive import Drive
from qddot.robot import Robot
from tests.identify.arms import random_arm
from tests.identify.simulated import series

RIGID = random_arm(0, 2)
K, B, VISCOUS, COULOMB = np.array([900.0, 400.0]), np.array([0.4, 0.2]), np.array([1.0, 0.7]), np.array([0.8, 0.5])
FINE = 20


def arm() -> Robot:
    """The rigid arm with the rotors of its motors described."""
    return with_parameters(RIGID, {}, {joint: Drive(rotor_inertia=float(b)) for joint, b in zip(RIGID.joint_names, B)})


def recorded(damping: float, noise: float, seconds: float = 30.0) -> tuple[Log, np.ndarray]:
    """Motors with torques, and links; the oracle is a motion of the links from which everything else follows."""
    t = np.arange(int(seconds * 100 * FINE)) / (100 * FINE)
    q, qd, qdd = series(RIGID, t, 1, period=4.0)
    load = RIGID.inverse_dynamics(q, qd, qdd)
    h = t[1] - t[0]
    if damping:  # K w + D w' = load, exactly for a load that is held
        a = np.exp(-K / damping * h)
        w = np.stack(
            [lfilter([1 - a[j]], [1, -a[j]], load[:, j] / K[j], zi=[load[0, j] / K[j] * a[j]])[0] for j in range(2)], axis=1
        )
    else:
        w = load / K
    theta = q + w
    rate = np.gradient(theta, h, axis=0)
    second = np.gradient(rate, h, axis=0)
    tau = B * second + VISCOUS * rate + COULOMB * rate / (0.03**4 + rate**4) ** 0.25 + load
    draw = np.random.default_rng(0)
    t, q, theta, tau = (x[5 * FINE : -5 * FINE : FINE] for x in (t, q, theta, tau))
    return Log(t, theta, tau + noise * draw.normal(size=tau.shape), joint_names=RIGID.joint_names), q


def test_from_encoders_of_motors_and_links() -> None:
    log, q = recorded(2.0, 0.05)
    draw = np.random.default_rng(1)
    found = elastic_joints(RIGID, log, q + 0.01 + 1e-6 * draw.normal(size=q.shape))  # a zero that is off does not matter
    assert (np.abs(found.stiffness - K) < np.maximum(5 * found.stiffness_std, 0.01 * K)).all()
    assert (found.stiffness_std < 0.05 * K).all()
    assert np.allclose(found.damping, 2.0, atol=0.7)
    for j, joint in enumerate(RIGID.joint_names):
        assert found.motors[f"{joint}.rotor"] == pytest.approx(B[j], rel=0.03)
        assert found.motors[f"{joint}.viscous"] == pytest.approx(VISCOUS[j], rel=0.1)
    drive = found.drives[RIGID.joint_names[0]]
    assert drive.series_stiffness == pytest.approx(K[0], rel=0.02)
    assert "N m/rad" in str(found)


def test_from_motors_alone() -> None:
    log, _ = recorded(0.0, 0.01)
    found = elastic_joints(arm(), log)
    assert (np.abs(found.stiffness / K - 1) < 0.1).all()
    assert found.error < 0.5 * found.rigid_error


def test_a_stiff_gear_is_called_stiff() -> None:
    t = np.arange(3000) / 100.0
    q, qd, qdd = series(RIGID, t, 1)
    tau = arm().inverse_dynamics(q, qd, qdd) + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    found = elastic_joints(arm(), Log(t, q, tau, joint_names=RIGID.joint_names))
    assert not np.isfinite(found.stiffness).any()
    assert found.drives["j0"].series_stiffness is None


def test_what_is_missing_is_said() -> None:
    log, q = recorded(0.0, 0.01, 10.0)
    with pytest.raises(InputError, match="'j0' has no rotor inertia"):
        elastic_joints(RIGID, log)
    with pytest.raises(InputError, match="links has shape"):
        elastic_joints(RIGID, log, q[1:])
