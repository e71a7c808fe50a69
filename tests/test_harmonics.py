"""Torques that come again in every turn of a hinge: one law in numbers, energy, derivatives, closed forms and files."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot import Drive
from qddot.errors import ModelValueError

WAVES = ((2, 0.3, -0.2), (7, 0.05, 0.1))


@pytest.fixture(scope="module")
def arm() -> qddot.Robot:
    arm = qddot.Builder("arm", gravity=(0, -9.81, 0))
    arm.body("upper", mass=1, com=(0.3, 0, 0), tensor=(0.01, 0.02, 0.03), drive=Drive(viscous=0.1, harmonics=WAVES))
    arm.body("fore", parent="upper", xyz=(0.5, 0, 0), mass=1, com=(0.2, 0.1, 0), tensor=(0.01, 0.02, 0.03))
    return arm.robot()


def state(arm: qddot.Robot) -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(0).normal(size=(3, 5, arm.nv)))


def test_torque_and_energy(arm: qddot.Robot) -> None:
    q, qd, qdd = state(arm)
    expected = sum(a * np.cos(k * q[:, 0]) + b * np.sin(k * q[:, 0]) for k, a, b in WAVES)
    np.testing.assert_allclose(arm.spring_torque(q)[:, 0], expected, atol=1e-14)
    np.testing.assert_allclose(arm.regressor(q, qd, qdd) @ arm.parameters(), arm.inverse_dynamics(q, qd, qdd), atol=1e-13)
    step = 1e-6 * np.array([1.0, 0.0])
    slope = (arm.potential_energy(q + step) - arm.potential_energy(q - step)) / 2e-6
    np.testing.assert_allclose(slope, (arm.gravity_torque(q) + arm.spring_torque(q))[:, 0], atol=1e-8)


def test_derivatives_and_closed_forms(arm: qddot.Robot) -> None:
    q, qd, qdd = (x[0] for x in state(arm))
    slope, *_ = arm.inverse_dynamics_derivatives(q, qd, qdd)
    moved = [arm.inverse_dynamics(q + s * np.array([1e-6, 0.0]), qd, qdd) for s in (1, -1)]
    np.testing.assert_allclose(np.asarray(slope)[:, 0], (moved[0] - moved[1]) / 2e-6, atol=1e-8)
    assert "cos(7*q1)" in str(arm.equations().spring_torque)


def test_files(arm: qddot.Robot, tmp_path) -> None:
    tau = arm.inverse_dynamics(*state(arm))
    arm.to_toml(tmp_path / "arm.toml")
    arm.to_urdf(tmp_path / "arm.urdf")
    for name in ("arm.toml", "arm.urdf"):
        again = qddot.load(tmp_path / name)
        np.testing.assert_array_equal(again.inverse_dynamics(*state(arm)), tau)
        assert again.drives["upper_joint"].harmonics == WAVES


@pytest.mark.parametrize("wrong", [3, [(1, 2)], [(1.5, 0, 0)], [(0, 1, 1)], [(2, 1, 1), (2, 0, 1)], [(1, np.nan, 0)]])
def test_what_is_no_harmonic_is_refused(wrong) -> None:
    with pytest.raises(ModelValueError, match="harmonics"):
        Drive(harmonics=wrong)


def test_only_hinges_turn() -> None:
    with pytest.raises(ModelValueError, match="need a hinge that follows no other"):
        qddot.Builder("cart").body("cart", joint="prismatic", mass=1, drive=Drive(harmonics=WAVES)).robot()
