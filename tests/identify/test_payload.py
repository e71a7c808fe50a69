"""Loads and drive gains."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from qddot.errors import InputError
from qddot.identify import Log, ParameterSet, Samples
from qddot.identify.drive_gains import drive_gains
from qddot.identify.payload import load_regressor, payload
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.robot import Robot
from tests.identify.arms import random_arm, random_states
from tests.identify.simulated import series, truth

BOX = Inertia.box(1.5, (0.1, 0.2, 0.15)).shifted((0.03, -0.02, 0.12))
TEN = np.array(BOX.ten_vector(), float)


def loaded(robot: Robot, load: Inertia) -> Robot:
    """With a load welded to the last link."""
    model = robot.model
    last = robot.body_names[-1]
    links = [replace(link, inertia=link.inertia + load) if link.name == last else link for link in model.links]
    return Robot(Model(model.name, links, model.joints, model.frames, model.gravity))


def test_the_load_is_what_a_heavier_link_adds():
    robot = random_arm(0, 5)
    states = random_states(0, robot, 20)
    frame = robot.body_names[-1]
    extra = loaded(robot, BOX).inverse_dynamics(*states) - robot.inverse_dynamics(*states)
    assert np.allclose(load_regressor(robot, *states, frame) @ TEN, extra, atol=1e-10)


def test_a_box_is_recovered_exactly_without_noise():
    robot = random_arm(1, 6)
    states = random_states(1, robot, 100)
    found = payload(robot, Samples(*states, loaded(robot, BOX).inverse_dynamics(*states)))
    assert np.allclose(found.parameters, TEN, atol=1e-8)
    assert found.identified.all()
    assert found.reason == ""
    assert found.inertia.mass == pytest.approx(1.5)
    assert np.allclose(found.inertia.com, (0.03, -0.02, 0.12), atol=1e-8)


@pytest.mark.slow
def test_a_box_is_within_its_intervals():
    """About 95 % of all intervals hold the truth, also with noise that is alike from sample to sample."""
    robot = random_arm(2, 6)
    heavy = loaded(robot, BOX)
    states = random_states(2, robot, 400)
    clean = heavy.inverse_dynamics(*states)
    rng, inside = np.random.default_rng(0), []
    for _ in range(20):
        noise = rng.normal(size=clean.shape)
        for k in range(1, len(noise)):
            noise[k] = 0.5 * noise[k - 1] + noise[k]
        found = payload(robot, Samples(*states, clean + 0.5 * noise))
        inside.append((found.intervals[:, 0] < TEN) & (found.intervals[:, 1] > TEN))
        assert found.fit.margins[f"{found.frame}"] > 0
    print(f"coverage {np.mean(inside):.3f}")
    assert 0.9 < np.mean(inside) < 0.99


def test_intervals_are_as_wide_as_the_confidence_asked_for():
    """Of many blocks, half an interval is 0.674 standard deviations at one half and 1.96 at 95 %."""
    robot = random_arm(2, 4)
    states = random_states(2, robot, 400)
    noisy = Samples(
        *states, loaded(robot, BOX).inverse_dynamics(*states) + 0.1 * np.random.default_rng(0).normal(size=states[0].shape)
    )
    half, usual = (np.ptp(payload(robot, noisy, confidence=c).intervals, axis=1) for c in (0.5, 0.95))
    assert np.allclose(usual / half, 1.96 / 0.674, rtol=0.15)
    with pytest.raises(InputError, match="confidence=1 is not between 0 and 1"):
        payload(robot, noisy, confidence=1)


def test_torques_without_the_load_may_be_measured():
    robot = random_arm(3, 4)
    states = random_states(3, robot, 50)
    other = robot.inverse_dynamics(*states) + 7.0  # an arm of which nothing is known
    extra = load_regressor(robot, *states, robot.tip) @ TEN
    assert np.allclose(payload(robot, Samples(*states, other + extra), unloaded=Samples(*states, other)).parameters, TEN, atol=1e-7)


def test_poses_at_rest_show_mass_and_first_moment_only():
    robot = random_arm(4, 5)
    q = random_states(4, robot, 30)[0]
    zero = np.zeros_like(q)
    found = payload(robot, Samples(q, zero, zero, loaded(robot, BOX).gravity_torque(q)))
    assert found.identified.tolist() == [True] * 4 + [False] * 6
    assert np.allclose(found.parameters[:4], TEN[:4], atol=1e-7)
    assert np.isinf(found.deviations[4:]).all()
    assert "poses at rest show m and m c only" in found.reason
    assert found.inertia.is_consistent
    assert "Ixx" in str(found)
    assert "not identified" in str(found)


def test_one_pose_is_too_few_and_a_prior_helps():
    robot = random_arm(5, 3)
    q = random_states(5, robot, 1)[0]
    zero = np.zeros_like(q)
    tau = loaded(robot, BOX).gravity_torque(q)
    with pytest.raises(InputError, match=r"the torques show no mass on 'l2': 1.5 \+- inf kg"):
        payload(robot, Samples(q, zero, zero, tau))
    found = payload(robot, Samples(q, zero, zero, tau), prior=Inertia.box(1.4, (0.1, 0.1, 0.1)))
    assert not found.identified.any()
    assert np.isinf(found.deviations).all()


def test_no_load_is_said():
    robot = random_arm(6, 4)
    states = random_states(6, robot, 50)
    tau = robot.inverse_dynamics(*states) + np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(InputError, match="the torques show no mass"):
        payload(robot, Samples(*states, tau))


def test_refusals():
    robot = random_arm(7, 2)
    states = random_states(7, robot, 5)
    with pytest.raises(InputError, match="frame 'base' does not move"):
        payload(robot, Samples(*states, states[0]), frame="base")
    with pytest.raises(InputError, match=r"tau has shape \(5, 1\): 5 samples of 2 joints"):
        payload(robot, Samples(*states, states[0][:, :1]))
    with pytest.raises(InputError, match="qd holds a number that is not finite"):
        payload(robot, Samples(states[0], states[1] * np.nan, states[2], states[0]))


def recorded(robot: Robot, load: Inertia | None, seed: int, noise: float) -> Log:
    """A log of an arm with friction and offsets, with or without the load."""
    parameters, t = ParameterSet.of(robot), np.arange(0, 10, 0.01)
    q, qd, qdd = series(robot, t, seed, period=5.0)
    tau = parameters.matrix(q, qd, qdd) @ truth(parameters)
    if load is not None:
        tau = tau + load_regressor(robot, q, qd, qdd, robot.tip) @ np.array(load.ten_vector(), float)
    draw = np.random.default_rng(seed)
    return Log(t, q + 1e-5 * draw.normal(size=q.shape), tau + noise * draw.normal(size=q.shape), joint_names=robot.joint_names)


def test_two_logs_tell_the_load_whatever_the_arm():
    """Of other motions, of an arm whose friction and rotors nobody described."""
    robot = random_arm(3, 4)
    found = payload(robot, recorded(robot, BOX, 1, 0.1), unloaded=recorded(robot, None, 2, 0.1))
    print(found)
    assert (abs(found.least_squares - TEN) < 4 * found.deviations).all()
    assert found.identified.all()
    assert found.inertia.mass == pytest.approx(1.5, abs=0.05)


def test_the_reason_why_a_load_does_not_fit_is_named():
    robot = random_arm(3, 4)
    loaded, empty = (recorded(robot, load, 1, 0.1) for load in (BOX, None))
    late = Log(loaded.t[6:], loaded.q[6:], loaded.tau[:-6], joint_names=robot.joint_names)
    picked = replace(loaded, tau=np.where(loaded.t[:, None] > 6, loaded.tau, empty.tau))
    told = {
        "delay": "torques are (5[5-9]|6[0-5]) ms late",
        "load": r"changes at t = (5\.[5-9]|6\.[0-5])\d* s, from -?0\.\d+ to 1\.[45]\d kg",
    }
    unloaded = recorded(robot, None, 2, 0.1)
    for code, log in (("delay", late), ("load", picked)):
        found = payload(robot, log, unloaded=unloaded)
        (concern,) = found.verdict.concerns
        assert (found.verdict.identified, concern.code) == (False, code)
        assert re.search(told[code], concern.text), concern
        assert "[" not in str(found).partition("NOT identified")[0]  # no interval stands beside a number that is not known
    with pytest.raises(InputError, match=f"the load sits on '{robot.body_names[-1]}', not on '{robot.body_names[1]}'"):
        payload(robot, loaded, unloaded=unloaded, frame=robot.body_names[1])


@pytest.mark.parametrize("gain", [1.1, 0.97])
@pytest.mark.parametrize("joints", [slice(None), 1])
def test_torques_of_another_gain_are_named(gain, joints):
    """The load takes in most of it, and so little remains; what shows is the arm's own weight, inertia and friction."""
    robot = random_arm(3, 4)
    loaded, empty = recorded(robot, BOX, 1, 0.02), recorded(robot, None, 2, 0.02)
    fit = robot.identify(empty)
    factor = np.ones(4)
    factor[joints] = gain
    scaled = replace(loaded, tau=factor * loaded.tau)
    for arm, more in ((fit, {}), (fit.robot, {}), (robot, {"unloaded": empty})):
        assert not payload(arm, loaded, **more).verdict.concerns
        found = payload(arm, scaled, **more)
        (concern,) = found.verdict.concerns
        assert concern.code == "gain", concern
        off = np.abs(found.least_squares - TEN)[:4] / (1.5 * np.array([1, 0.1, 0.1, 0.1]))
        assert found.verdict.identified == (off.max() < 0.01), concern  # or else it is only told
        whose = "torques are" if joints == slice(None) else f"torques of {robot.joint_names[1]} are"
        said = re.search(rf"{whose} (\S+) times .* the load weighs (\S+) kg", concern.text)
        assert said, concern
        assert [float(x) for x in said.groups()] == pytest.approx([gain, 1.5], rel=0.02)


@pytest.mark.parametrize("known", ["fit", "robot", "unloaded"])
def test_friction_that_changed_since_is_no_part_of_the_load(known):
    """Gears warm between two logs. Friction is found together with the load, and it is said."""
    robot = random_arm(3, 4)
    loaded, empty = recorded(robot, BOX, 1, 0.02), recorded(robot, None, 2, 0.02)
    parameters = ParameterSet.of(robot)
    motion = series(robot, loaded.t, 1, period=5.0)
    is_friction = [name.endswith((".viscous", ".coulomb")) for name in parameters.names]
    warm = replace(loaded, tau=loaded.tau - 0.4 * parameters.matrix(*motion) @ np.where(is_friction, truth(parameters), 0))
    arm = robot if known == "unloaded" else robot.identify(empty)
    arm, more = (arm.robot, {}) if known == "robot" else (arm, {"unloaded": empty} if known == "unloaded" else {})
    found = payload(arm, warm, **more)
    assert found.verdict.identified
    assert found.inertia.mass == pytest.approx(1.5, rel=2e-3)
    (concern,) = found.verdict.concerns
    assert (concern.code, concern.serious) == ("friction", False)
    assert "friction" in str(found)


def test_friction_need_not_be_described():
    robot = random_arm(1, 6)
    states = random_states(1, robot, 100)
    tau = loaded(robot, BOX).inverse_dynamics(*states) + 8 * states[1]
    found = payload(robot, Samples(*states, tau))
    assert np.allclose(found.parameters, TEN, atol=1e-7)
    assert [concern.code for concern in found.verdict.concerns] == ["friction"]


@pytest.mark.parametrize("known", ["fit", "robot", "unloaded"])
def test_something_else_on_the_arm_is_told_from_the_load(known):
    """The load absorbs most of what hangs on another link: 0.4 kg there make it 20 % too heavy."""
    robot = random_arm(3, 4)
    loaded, empty = recorded(robot, BOX, 1, 0.02), recorded(robot, None, 2, 0.02)
    motion = series(robot, loaded.t, 1, period=5.0)
    hose = np.array(Inertia.sphere(0.4, 0.05).shifted((0.1, 0.05, 0.0)).ten_vector(), float)
    hung = replace(loaded, tau=loaded.tau + load_regressor(robot, *motion, robot.body_names[1]) @ hose)
    arm = robot if known == "unloaded" else robot.identify(empty)
    arm, more = (arm.robot, {}) if known == "robot" else (arm, {"unloaded": empty} if known == "unloaded" else {})
    found = payload(arm, hung, **more)
    print(found)
    (concern,) = found.verdict.concerns
    assert (found.verdict.identified, concern.code) == (False, "arm")
    said = re.search(rf"'{robot.body_names[1]}' carries more or less .* the load weighs (\S+) kg", concern.text)
    assert said, concern
    assert float(said[1]) == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize("known", ["fit", "robot", "unloaded"])
def test_torques_of_the_next_cycle(known):
    """Each log is aligned by what is in it. A cycle of 10 ms left a fifth of the load's torques, and put its centre 5 cm off."""
    robot = random_arm(3, 4)
    logs = [recorded(robot, load, k, 0.02) for k, load in ((1, BOX), (2, None))]
    loaded, empty = (Log(log.t[1:], log.q[:-1], log.tau[1:], joint_names=log.joint_names) for log in logs)
    arm = robot if known == "unloaded" else robot.identify(empty)
    arm, more = (arm.robot, {}) if known == "robot" else (arm, {"unloaded": empty} if known == "unloaded" else {})
    found = payload(arm, loaded, **more)
    assert found.verdict.identified
    assert found.inertia.mass == pytest.approx(1.5, rel=1e-3)
    np.testing.assert_allclose(np.array(found.inertia.com, float), np.array(BOX.com, float), atol=5e-4)


def test_a_gain_in_both_logs_cannot_be_seen():
    """All of the arm scales with it, as does the load: only a known load would show it (drive_gains)."""
    robot = random_arm(3, 4)
    logs = [recorded(robot, load, k, 0.02) for k, load in ((1, BOX), (2, None))]
    scaled, empty = (replace(log, tau=1.1 * log.tau) for log in logs)
    found = payload(robot, scaled, unloaded=empty)
    assert not found.verdict.concerns
    assert found.inertia.mass == pytest.approx(1.65, rel=0.02)


@pytest.mark.slow
def test_a_log_with_an_identified_arm():
    robot = random_arm(3, 4)
    arm = robot.identify(recorded(robot, None, 2, 0.1)).robot
    assert payload(arm, recorded(robot, BOX, 1, 0.1)).inertia.mass == pytest.approx(1.5, abs=0.1)


@pytest.mark.slow
def test_drive_gains_from_two_logs():
    robot = random_arm(8, 4)
    gains = np.array([2.0, 0.5, 30.0, 4.0])
    logs = [recorded(robot, load, k, 0.05) for k, load in enumerate((None, BOX))]
    found = drive_gains(robot, *(replace(log, tau=log.tau / gains) for log in logs), BOX)
    assert (abs(found.gains - gains) < 4 * found.deviations).all()
    assert (found.deviations < 0.05 * gains).all()


def test_drive_gains_from_a_known_load():
    robot = random_arm(8, 4)
    rng = np.random.default_rng(0)
    gains = np.array([2.0, 0.5, 30.0, 4.0])
    free, with_load = random_states(8, robot, 200), random_states(9, robot, 200)
    signals = [robot.inverse_dynamics(*free) / gains, loaded(robot, BOX).inverse_dynamics(*with_load) / gains]
    exact = drive_gains(robot, Samples(*free, signals[0]), Samples(*with_load, signals[1]), BOX)
    assert np.allclose(exact.gains, gains, rtol=1e-6)
    noisy = [s + 0.02 * signals[0].std(axis=0) * rng.normal(size=s.shape) for s in signals]
    found = drive_gains(robot, Samples(*free, noisy[0]), Samples(*with_load, noisy[1]), BOX)
    print(found)
    assert (abs(found.gains - gains) < 4 * found.deviations).all()
    assert (found.deviations < 0.05 * gains).all()


def test_motors_that_saturate():
    robot = random_arm(8, 3)
    gains, rng = np.array([2.0, 0.5, 4.0]), np.random.default_rng(0)
    free, with_load = random_states(8, robot, 300), random_states(9, robot, 300)
    tau = [robot.inverse_dynamics(*free), loaded(robot, BOX).inverse_dynamics(*with_load)]
    k = np.array([0.05, 0.0, 0.1]) / np.mean(tau[0] ** 2, axis=0)
    signals = [(x + k * x**3) / gains for x in tau]
    noisy = [s + 0.01 * signals[0].std(axis=0) * rng.normal(size=s.shape) for s in signals]
    found = drive_gains(robot, Samples(*free, noisy[0]), Samples(*with_load, noisy[1]), BOX, saturation=True)
    assert (abs(found.gains - gains) < 4 * found.deviations).all()
    assert (abs(found.saturation - k) < 4 * found.saturation_deviations).all()
    assert found.saturation[0] > 4 * found.saturation_deviations[0]
    exact = replace(found, gains=gains, saturation=k)
    assert np.allclose(exact.torques(signals[1]), tau[1], rtol=1e-10)


def test_steps_of_friction_are_filtered_after_they_saturate():
    robot, gains = random_arm(8, 3), np.array([2.0, 0.5, 4.0])
    logs = [recorded(robot, load, seed, 0.0) for seed, load in enumerate((None, BOX))]
    k = 0.05 / np.mean(logs[0].tau ** 2, axis=0)
    draw, clean = np.random.default_rng(0), [replace(log, tau=(log.tau + k * log.tau**3) / gains) for log in logs]
    noisy = [replace(log, tau=log.tau + 0.02 * log.tau.std(axis=0) * draw.normal(size=log.q.shape)) for log in clean]
    found = drive_gains(robot, *noisy, BOX, saturation=True)
    print(found, k)
    assert (abs(found.gains - gains) < 4 * found.deviations).all()
    assert (abs(found.saturation - k) < 4 * found.saturation_deviations).all()
    assert (found.saturation_deviations < 0.2 * k).all()
    assert str(found).count("saturation") == 3


def test_a_signal_of_the_wrong_sign_is_said():
    robot = random_arm(8, 2)
    free, with_load = random_states(8, robot, 100), random_states(9, robot, 100)
    signals = [-robot.inverse_dynamics(*free), -loaded(robot, BOX).inverse_dynamics(*with_load)]
    with pytest.raises(InputError, match="is the sign of the signal right"):
        drive_gains(robot, Samples(*free, signals[0]), Samples(*with_load, signals[1]), BOX)


def test_the_uncertainty_of_the_arm_is_part_of_the_loads():
    """Intervals of a load on an arm from a short noisy log: with the robot too narrow, with its fit as wide as they must be."""
    robot, misses = random_arm(3, 4), {"fit": 0, "robot": 0}
    for seed in range(4):
        log, fit = recorded(robot, BOX, 10 + seed, 0.1), robot.identify(recorded(robot, None, seed, 0.1))
        for name, arm in (("fit", fit), ("robot", fit.robot)):
            low, high = payload(arm, log).intervals.T
            misses[name] += int(np.sum((low > TEN) | (high < TEN)))
    assert misses["fit"] <= 5 < misses["robot"], misses  # of 40
    with pytest.raises(InputError, match="a fit knows the arm already"):
        payload(fit, log, unloaded=log)


def test_friction_of_two_logs_takes_its_step_as_they_show() -> None:
    """At 0.25 rad/s; the load would be 0.5 % too heavy with that of arms of which nothing is known, 0.03 rad/s."""
    arm = random_arm(3, 3)
    rough, t = ParameterSet.of(arm, standstill=0.25), np.arange(0, 20, 0.004)
    theta = truth(rough)

    def log(motion: int, load: float) -> Log:
        q, qd, qdd = series(arm, t, motion)
        noise = 0.05 * np.random.default_rng(motion).normal(size=q.shape)
        tau = rough.matrix(q, qd, qdd) @ theta + load * load_regressor(arm, q, qd, qdd, arm.tip) @ TEN
        return Log(t, q, tau + noise, joint_names=arm.joint_names)

    found = payload(arm, log(2, 1.0), unloaded=log(1, 0.0))
    assert found.verdict, found.verdict
    assert found.inertia.mass == pytest.approx(1.5, rel=1e-3)
