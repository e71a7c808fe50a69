"""Torques of another moment than positions, beyond `identify`: every estimate takes positions of their time, and tells so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import qddot
from qddot.errors import ConvergenceError, InputError
from qddot.identify import (
    Fit,
    Log,
    OnlineIdentification,
    OnlinePayload,
    ParameterSet,
    Samples,
    closed_loop,
    drive_gains,
    floating_base,
    output_error,
    payload,
    thermal_friction,
)
from qddot.identify.elastic import elastic_joints
from qddot.identify.load_equations import load_regressor
from qddot.identify.physical.identified import identified_robot
from qddot.identify.regression.bodies import with_parameters
from qddot.logs.table import Finding
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from tests.identify import test_closed_loop, test_elastic_joints, test_online
from tests.identify.arms import random_arm
from tests.identify.simulated import series, truth

RATE = 250.0
T = np.arange(0, 20, 1 / RATE)
ARM = random_arm(3, 3)
SET = ParameterSet.of(ARM)
THETA = truth(SET)
BOX = Inertia.box(1.5, (0.1, 0.1, 0.2)).shifted([0.1, 0.05, 0.02])
TEN = np.array(BOX.ten_vector(), float)


def told(findings: Sequence[Finding]) -> list[str]:
    return [finding.level for finding in findings if finding.code == "delay"]


def late_log(late: float, motion: int = 3, load: float = 0.0, gains: Sequence[float] = (1.0, 1.0, 1.0)) -> Log:
    """Torques of `late` seconds before, with so much of the box on the tip, by gains of the drives."""
    draw, then = np.random.default_rng(motion), series(ARM, T - late, motion)
    tau = SET.matrix(*then) @ THETA + load * load_regressor(ARM, *then, ARM.tip) @ TEN
    q = series(ARM, T, motion)[0]
    noise = draw.normal(size=(2, *q.shape))
    return Log(T, q + 1e-5 * noise[0], (tau + 0.05 * noise[1]) / gains, joint_names=ARM.joint_names)


def warming(late: float) -> Log:
    """Friction that gets less as all joints warm, in a log that has the temperatures."""
    log, (_, qd, _) = late_log(late), series(ARM, T - late, 3)
    celsius = [20 + 25 * (1 - np.exp(-t / 10)) for t in (T, T - late)]
    step = qd / (0.03**4 + qd**4) ** 0.25
    tau = log.tau - (celsius[1] - 20)[:, None] * (0.02 * qd + 0.01 * step)
    return replace(log, tau=tau, temperature=np.tile(celsius[0][:, None], 3))


@pytest.mark.parametrize("late", [5e-4, -4e-3])
def test_friction_that_warms(late: float) -> None:
    """Unaligned, a cycle moved friction at 20 degrees by up to 18 %."""
    log = warming(late)
    found = thermal_friction(ARM, log, parameter_set=SET)
    assert found.delay == pytest.approx(late, abs=5e-5)
    assert told(found.findings) == ["repaired"]
    cold = found.at(20.0)
    assert all(value == pytest.approx(THETA[SET.names.index(name)], rel=0.02) for name, value in cold.items())
    fit = ARM.identify(log, parameter_set=SET)
    assert fit.thermal is not None
    assert fit.signals.delay == pytest.approx(late, abs=5e-5)
    assert fit.verdict.identified


def test_without_a_delay_nothing_is_told() -> None:
    found = thermal_friction(ARM, warming(0.0), parameter_set=SET)
    assert found.delay == 0
    assert not found.findings


def late_gears(log: Log, samples: int) -> Log:
    return replace(log[samples:], tau=log.tau[:-samples])


def test_gears_with_encoders_of_links() -> None:
    """Unaligned, a cycle made the damping negative. The rigid arm, which leaves out what gears give, would find delays where there
    are none."""
    log, q = test_elastic_joints.recorded(2.0, 0.05)
    found, late = (elastic_joints(test_elastic_joints.RIGID, *pair) for pair in ((log, q), (late_gears(log, 1), q[1:])))
    assert not found.findings
    assert told(late.findings) == ["repaired"]
    assert (np.abs(late.stiffness / test_elastic_joints.K - 1) < 0.01).all()
    np.testing.assert_allclose(late.damping, found.damping, atol=0.1)
    for name, value in found.motors.items():
        assert late.motors[name] == pytest.approx(value, rel=0.02, abs=5e-3)


def test_gears_without() -> None:
    log, _ = test_elastic_joints.recorded(0.0, 0.01)
    found, late = (elastic_joints(test_elastic_joints.arm(), one) for one in (log, late_gears(log, 1)))
    assert not found.findings
    assert told(late.findings) == ["repaired"]
    np.testing.assert_allclose(late.stiffness, found.stiffness, rtol=0.02)
    assert late.motors["j0.viscous"] == pytest.approx(found.motors["j0.viscous"], rel=0.05)


@pytest.mark.parametrize("late", [(5e-4, 5e-4), (4e-3, 0.0)])
def test_gains_of_drives(late: tuple[float, float]) -> None:
    """Unaligned, a cycle moved gains by up to 2.6 %. Each log has its own delay."""
    gains = np.array([20.0, 5.0, 2.0])
    logs = [late_log(one, k, float(k), gains.tolist()) for k, one in enumerate(late)]
    found = drive_gains(ARM, *logs, BOX, parameter_set=SET)
    assert (np.abs(found.gains / gains - 1) < 2e-3).all()
    assert len(told(found.findings)) == np.count_nonzero(late)


def test_a_load_tells_it_too() -> None:
    found = payload(ARM.identify(late_log(4e-3, 1)), late_log(-4e-3, 2, 1.0))
    assert found.inertia.mass == pytest.approx(1.5, rel=2e-3)
    assert told(found.findings) == ["repaired"]
    assert "4 ms earlier" in found.findings[0].message
    both = payload(ARM, late_log(-4e-3, 2, 1.0), unloaded=late_log(4e-3, 1))
    assert told(both.findings) == ["repaired", "repaired"]


def test_closed_loops() -> None:
    """Of the simulated arm, since recorded positions may be noisy: 10 mrad at 50 Hz."""
    pytest.importorskip("cvxpy")
    arm, true, start = test_closed_loop.ARM, test_closed_loop.TRUE, test_closed_loop.HEAVY
    log, late = test_closed_loop.recorded(0.01), 0.02
    run = true.simulate([0.0, 0.0], test_closed_loop.A @ test_closed_loop.W, log.t, torque=test_closed_loop.law, step=2e-3)
    tau = np.array([test_closed_loop.law(*state) for state in zip(log.t, run.q, run.qd)])
    tau = tau[:-1] + 0.02 * np.random.default_rng(1).normal(size=tau[1:].shape)
    found = closed_loop(
        arm, replace(log[1:], tau=tau), test_closed_loop.law, parameter_set=test_closed_loop.SET, start=start, step=2e-3
    )
    assert found.signals.delay == pytest.approx(late, abs=2e-3)
    assert told(found.findings) == ["repaired"]
    assert found.parameters["joint1.viscous"] == pytest.approx(0.4, abs=0.05)
    assert found.parameters["joint2.coulomb"] == pytest.approx(0.3, abs=0.05)


TWO = qddot.load("two_link")
PAIR = ParameterSet.of(TWO, armature=False)


def simulated_pair(late: float, rate: float, noise: float) -> Log:
    """A brisk motion of two links, two whole periods long."""
    t, draw = np.arange(0, 5, 1 / rate), np.random.default_rng(0)
    q, then = (series(TWO, at, period=2.5, harmonics=3) for at in (t, t - late))
    tau = PAIR.matrix(*then) @ truth(PAIR)
    return Log(t, q[0] + noise * draw.normal(size=tau.shape), tau + 0.05 * draw.normal(size=tau.shape), joint_names=TWO.joint_names)


@pytest.mark.parametrize(("late", "noise"), [(0.0, 0.05), (0.02, 0.01)])
def test_output_error(late: float, noise: float) -> None:
    """By its own errors: derivatives of such noisy positions would tell delays where there are none. Unaligned, a cycle moved base
    parameters by 6 to 9 %."""
    start = identified_robot(PAIR, PAIR.full(1.1 * truth(PAIR)))[0]
    found = output_error(start, simulated_pair(late, 50.0, noise), parameter_set=PAIR)
    assert told(found.findings) == ["repaired"] * bool(late)
    true = found.base.K @ PAIR.full(truth(PAIR))
    off = (np.array(list(found.parameters.values())) - true) / found.deviations
    assert np.sqrt(np.mean(off**2)) < 2
    if late:
        milliseconds = float(found.findings[0].message.split()[2])
        assert milliseconds == pytest.approx(1e3 * late, rel=0.15)


@pytest.fixture(scope="module")
def late_fit() -> Fit:
    return ARM.identify(late_log(4e-3), parameter_set=SET)


def test_online_from_a_fit(late_fit: Fit) -> None:
    """Unaligned, base parameters are off by 5 of their standard deviations (rms)."""
    log, scores = late_log(4e-3, 50), []
    for delay in (None, 0.0):
        online = OnlineIdentification(late_fit, rate=RATE, spread=1e3, delay=delay)
        test_online.run(online, log)
        true = dict(zip(late_fit.base.names, late_fit.base.K @ THETA))
        off = [(value - true[name]) / std for (name, value), std in zip(online.parameters.items(), online.std)]
        scores.append(np.sqrt(np.mean(np.square(off))))
    assert scores[0] < 1.6
    assert scores[1] > 3
    with pytest.raises(InputError, match=r"delay=0\.01 s: at most 1\.5 samples"):
        OnlineIdentification(late_fit, rate=RATE, delay=0.01)
    assert OnlineIdentification(late_fit, rate=1000.0).delay == 0  # four samples there: another logger's


def test_online_loads() -> None:
    errors = []
    for delay in (4e-3, 0.0):
        online = OnlinePayload(late_arm(), noise=0.05, rate=RATE, delay=delay)
        test_online.run(online, late_log(4e-3, 7, 1.0))
        errors.append(abs(online.mass / 1.5 - 1))
    assert errors[0] < 2e-3
    assert errors[1] > 5 * errors[0]


def late_arm() -> qddot.Robot:
    """The arm with its true friction."""
    value = dict(zip(SET.names, THETA))
    drives = {
        joint: Drive(
            rotor_inertia=value[f"{joint}.armature"],
            viscous=value[f"{joint}.viscous"],
            coulomb=value[f"{joint}.coulomb"],
            smoothing_velocity=0.03,
            offset=value[f"{joint}.offset"],
        )
        for joint in ARM.joint_names
    }
    return with_parameters(ARM, {}, drives)


@pytest.mark.parametrize("late", [8e-3, -12e-3])
def test_two_samples_or_more_are_told_everywhere(late: float) -> None:
    """They are not mended, as in `identify`: such a log has a fault, which says more than its delay."""
    assert told(thermal_friction(ARM, warming(late), parameter_set=SET).findings) == ["warning"]
    gains = drive_gains(ARM, late_log(late), late_log(0.0, 2, 1.0), BOX, parameter_set=SET)
    assert told(gains.findings) == ["warning"]
    motors = late_gears(*test_elastic_joints.recorded(2.0, 0.05)[:1], samples=2)
    links = test_elastic_joints.recorded(2.0, 0.05)[1][2:]
    gears = elastic_joints(test_elastic_joints.RIGID, motors, links)
    assert told(gears.findings) == ["warning"]


def test_loads_of_torques_too_late() -> None:
    """The error of a load that no body has says why."""
    arm = ARM.identify(late_log(0.0, 1))
    with pytest.raises((InputError, ConvergenceError), match=r"no body fits .* 8 ms later"):
        payload(arm, late_log(8e-3, 2, 1.0))
    light = payload(ARM, late_log(8e-3, 2, 1.0), unloaded=late_log(8e-3, 1))
    assert told(light.findings) == ["warning", "warning"]
    assert light.verdict.has("delay")
    assert not light.verdict


def flying(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, qdd of a quadrotor with an arm that turns, moves and waves smoothly; derivatives by differences on the manifold."""
    robot, draw, h = qddot.load("quadrotor_arm"), np.random.default_rng(0), 1e-4
    w = 2 * np.pi / 4 * np.arange(1, 4)[:, None]
    a, b = draw.normal(size=(2, 3, robot.nv)) / (4 * np.arange(1, 4)[:, None])

    def at(t: np.ndarray) -> np.ndarray:
        x = np.sum(a * np.sin(t[:, None, None] * w) + b * np.cos(t[:, None, None] * w), axis=1)
        return robot.integrate(np.tile(robot.neutral(), (len(t), 1)), x)

    ahead, behind = (robot.difference(at(t), at(t + s)) for s in (h, -h))
    return at(t), (ahead - behind) / (2 * h), (ahead + behind) / h**2


@pytest.mark.parametrize("late", [0.0, 5e-4, -4e-3])
def test_forces_on_a_floating_base(late: float) -> None:
    """Unaligned, base parameters are off by 4 to 5 of their standard deviations (rms)."""
    robot, t, draw = qddot.load("quadrotor_arm"), T[:2500], np.random.default_rng(0)
    base, then = robot.body_names[0], flying(t - late)
    J = robot.jacobian(then[0], base, reference="world_aligned")
    ground = np.linalg.solve(J[..., :6].transpose(0, 2, 1), robot.inverse_dynamics(*then)[:, :6, None])[..., 0]
    ground += 0.05 * draw.normal(size=ground.shape) * [0.1, 0.1, 0.1, 1, 1, 1]
    q, qd, qdd = flying(t)
    found = floating_base(robot, Samples(q, qd, qdd, 0 * qd), {base: ground}, rate=RATE, cutoff=10.0)
    off = (found.theta - found.K @ robot.parameters()) / found.std
    assert np.sqrt(np.mean(off**2)) < 1.6
    assert told(found.findings) == ["repaired"] * bool(late)


def test_torques_that_do_not_change_tell_no_delay() -> None:
    """A pendulum that swings freely, by its own output errors."""
    builder = qddot.Builder("pendulum", gravity=(0, -9.81, 0))
    pendulum = builder.body("rod", mass=1, com=(0.3, 0, 0), tensor=(0.01, 0.03, 0.03)).robot()
    run = pendulum.simulate([1.0], t=np.arange(0, 3, 0.01), step=0.01, torque=lambda t, q, qd: [0.0])
    noisy = run.q + 1e-4 * np.random.default_rng(0).normal(size=run.q.shape)
    plain = ParameterSet.of(pendulum, armature=False, viscous=False, coulomb=None, offset=False)
    found = output_error(pendulum, Log(run.t, noisy, tau=run.tau, joint_names=pendulum.joint_names), parameter_set=plain)
    assert not found.findings
    assert (found.after < 2e-4).all()
