"""What sensors and temperatures add to the torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qddot.errors import InputError
from qddot.identify import Log, ParameterSet, prepare
from qddot.identify.more_columns import extended
from qddot.identify.regression.base import base_parameters
from qddot.identify.temperature import thermal_friction
from qddot.identify.torque_delays import torque_delays
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

ARM = random_arm(0, 2)
SET = ParameterSet.of(ARM)
THETA = truth(SET)
BASE = base_parameters(SET)


def test_a_column_of_the_robot_s_own_is_found_again() -> None:
    """The oracle: with the offset given as a further column, the fit is that with the offset among the parameters."""
    log = simulated(SET, THETA, 10.0, 100.0, (1e-5, 0.05), 0)
    signals = prepare(log, 8.0)
    less = base_parameters(ParameterSet.of(ARM, offset=False))
    found = extended(less, signals, {j: np.ones_like(signals.q) * one for j, one in zip(ARM.joint_names, np.eye(2))})
    fit = ARM.identify(log, parameter_set=SET, cutoff=8.0)
    for joint, (value, std) in found.further.items():
        assert value == pytest.approx(fit.parameters[f"{joint}.offset"], abs=1e-6)
        assert std == pytest.approx(fit.std[f"{joint}.offset"], rel=0.7)


def test_columns_that_say_nothing_are_refused() -> None:
    signals = prepare(simulated(SET, THETA, 10.0, 100.0, (1e-5, 0.05), 0), 8.0)
    with pytest.raises(InputError, match="z does nothing in this log, so"):
        extended(BASE, signals, {"z": np.zeros_like(signals.q)})
    with pytest.raises(InputError, match="that the model or another column does not do too"):
        extended(BASE, signals, {"z": signals.qd * [1, 0]})
    with pytest.raises(InputError, match="shape"):
        extended(BASE, signals, {"z": np.ones(3)})


@pytest.mark.parametrize("common", [True, False])
def test_delays_and_offsets_of_sensors(common: bool) -> None:
    t = np.arange(2000) / 100.0
    q, _, _ = series(ARM, t)
    late = np.array([0.013, 0.013 if common else -0.006])
    torque = lambda j, when: (SET.matrix(*series(ARM, when)) @ THETA)[:, j]  # noqa: E731
    tau = np.stack([torque(j, t - late[j]) for j in (0, 1)], axis=1) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    found = torque_delays(
        ARM, Log(t, q, tau + np.array([0.7, -0.4]), joint_names=ARM.joint_names), parameter_set=SET, common=common
    )
    np.testing.assert_allclose(found.delays, late, atol=2e-4)
    assert (np.abs(found.delays - late) < 5 * found.std + 1e-5).all()
    offsets = THETA[[SET.names.index(f"{j}.offset") for j in ARM.joint_names]]
    np.testing.assert_allclose(found.offsets, offsets + np.array([0.7, -0.4]), atol=0.05)
    assert found.after < 0.3 * found.before
    assert not ARM.identify(found.log, parameter_set=SET).verdict.has("delay")


def test_friction_that_warms() -> None:
    t = np.arange(4000) / 100.0
    q, qd, qdd = series(ARM, t)
    T = 20 + 25 * (1 - np.exp(-t / 15))
    slopes = {"j0": (-0.02, -0.01), "j1": (-0.015, 0.005)}
    tau = SET.matrix(q, qd, qdd) @ THETA
    warm = (T - T.mean())[:, None]
    step = qd / (0.03**4 + qd**4) ** 0.25
    tau = tau + warm * (qd * [a for a, _ in slopes.values()] + step * [b for _, b in slopes.values()])
    log = Log(t, q, tau + 0.02 * np.random.default_rng(0).normal(size=q.shape), joint_names=ARM.joint_names)
    found = thermal_friction(ARM, log, T, parameter_set=SET)
    for joint, (viscous, coulomb) in slopes.items():
        for kind, true in (("viscous", viscous), ("coulomb", coulomb)):
            value, std = found.slopes[f"{joint}.{kind}"]
            assert abs(value - true) < 5 * std + 1e-4
            assert std < 0.004
    cold = found.at(20.0)["j0.viscous"]
    assert cold == pytest.approx(THETA[SET.names.index("j0.viscous")] - 0.02 * (20 - T.mean()), abs=0.02)
    assert found.after < found.before
    with pytest.raises(InputError, match="does not change in this log"):
        thermal_friction(ARM, log, np.full(len(t), 30.0), parameter_set=SET)
    with pytest.raises(InputError, match="temperature has shape"):
        thermal_friction(ARM, log, T[:-1], parameter_set=SET)
    with pytest.raises(InputError, match="the log has no temperatures"):
        thermal_friction(ARM, log, parameter_set=SET)


def test_a_verdict_on_friction_that_warms_says_what_to_do() -> None:
    """Temperatures that the log has are used by themselves; without them the verdict asks for them, with the call."""
    t = np.arange(4000) / 100.0
    q, qd, qdd = series(ARM, t)
    T = 20 + 25 * (1 - np.exp(-t[:, None] / [8, 8]))
    tau = SET.matrix(q, qd, qdd) @ THETA - 0.06 * (T - T.mean(axis=0)) * qd
    log = Log(t, q, tau + 0.02 * np.random.default_rng(0).normal(size=q.shape), joint_names=ARM.joint_names)
    said, measured = (
        {one.kind: one.text for one in ARM.identify(each).verdict.concerns if one.serious}
        for each in (log, replace(log, temperature=T))
    )
    assert "temperature=T" in said["warming"]
    assert "robot.identify(log[2000:])" in said["warming"]
    assert not measured


def test_temperatures_in_a_file_are_used(tmp_path) -> None:
    t = np.arange(4000) / 100.0
    q, qd, qdd = series(ARM, t)
    kelvin = 293.15 + 25 * (1 - np.exp(-t[:, None] / [10, 15]))
    tau = SET.matrix(q, qd, qdd) @ THETA - 0.02 * (kelvin - kelvin.mean(axis=0)) * qd
    tau += 0.02 * np.random.default_rng(0).normal(size=q.shape)
    names = "t,q_j0,q_j1,tau_j0,tau_j1,motor_temp_j1 [K],motor_temp_j0 [K]"
    rows = np.column_stack([t, q, tau, kelvin[:, ::-1]])
    np.savetxt(tmp_path / "warm.csv", rows, delimiter=",", header=names, comments="")
    fit = ARM.identify(tmp_path / "warm.csv")
    assert fit.thermal is not None
    assert any(finding.code == "warmth" and "fit.thermal" in finding.message for finding in fit.findings)
    np.testing.assert_allclose(fit.thermal.reference, kelvin.mean(axis=0) - 273.15, atol=0.5)  # the filter cuts the ends off
    for joint in ARM.joint_names:
        value, std = fit.thermal.slopes[f"{joint}.viscous"]
        assert abs(value + 0.02) < 5 * std + 1e-4
        assert std < 0.004
    assert fit.verdict.identified
    assert fit.training.relative < 0.01
    for k, joint in enumerate(ARM.joint_names):  # at the mean temperature
        low, high = fit.intervals[f"{joint}.viscous"]
        assert (
            low
            < THETA[SET.names.index(f"{joint}.viscous")] + 0.02 * (kelvin.mean(axis=0) - 273.15 - fit.thermal.reference)[k]
            < high
        )
    kept = ARM.identify(tmp_path / "warm.csv", validation=0.3)  # of which the last part is the warmest
    assert kept.verdict.identified
    assert kept.validation is not None
    assert kept.validation.relative < 0.01
    rows[:, 3:5] += 0.02 * (kelvin - kelvin.mean(axis=0)) * qd
    np.savetxt(tmp_path / "cold.csv", rows, delimiter=",", header=names, comments="")
    cold = ARM.identify(tmp_path / "cold.csv")  # friction does not care
    assert cold.thermal is None
    assert any("left out, too little to tell, with 2" in finding.message for finding in cold.findings)
    rows[:, 3:5] -= 0.02 * (kelvin - kelvin.mean(axis=0)) * qd
    rows[:, -2] = 300.0  # one that stays the same says nothing, the other all the same
    np.savetxt(tmp_path / "one.csv", rows, delimiter=",", header=names, comments="")
    one = thermal_friction(ARM, Log.load(tmp_path / "one.csv", ARM))
    assert {name.partition(".")[0] for name in one.slopes} == {"j0"}
