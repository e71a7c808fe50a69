"""Joints at rest, held by friction with a torque that no model knows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.identify import Log, ParameterSet, base_parameters, pieces, prepare, reduce
from qddot.identify.regression.bodies import with_parameters
from qddot.identify.regression.pieces import streamed
from qddot.identify.regression.rows import Rows
from qddot.identify.regression.stream import stream
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

ROBOT = random_arm(0, 3)
PARAMETERS = ParameterSet.of(ROBOT)
TRUTH = truth(PARAMETERS)
RATE = 200.0


def held(seconds: float, rest: float, seed: int = 0, resting: tuple[int, ...] = (0, 1, 2)) -> Log:
    """A motion that starts from rest and ends in it; some joints rest before and after, and friction holds them there."""
    t = np.arange(int((seconds + 2 * rest) * RATE)) / RATE
    x = np.clip((t[:, None] - np.where(np.isin(range(3), resting), rest, 0.0)) / seconds, 0, 1 + rest / seconds)
    x = np.where(np.isin(range(3), resting), np.minimum(x, 1), x / (1 + rest / seconds))
    ramp = 0.05  # of the motion, for a start and a stop without jerks
    profile = lambda u: np.clip(u, 0, 1) ** 3 * (10 - 15 * np.clip(u, 0, 1) + 6 * np.clip(u, 0, 1) ** 2)  # noqa: E731
    envelope = profile(x / ramp) * profile((1 - x) / ramp)
    s = np.cumsum(envelope, axis=0) / RATE
    q, qd, _ = (np.stack([series(ROBOT, s[:, j], seed)[k][:, j] for j in range(3)], axis=1) for k in range(3))
    qd = qd * envelope
    qdd = np.gradient(qd, 1 / RATE, axis=0)
    draw = np.random.default_rng(seed)
    tau = PARAMETERS.matrix(q, qd, qdd) @ TRUTH
    coulomb = np.array([TRUTH[PARAMETERS.place(f"{joint}.coulomb")] for joint in ROBOT.joint_names])
    tau += (envelope == 0) * coulomb * np.where(t[:, None] < seconds / 2, *draw.uniform(0.5, 1, (2, 3)) * [[1.0], [-0.5]])
    noisy = q + 1e-5 * draw.normal(size=q.shape), tau + 0.02 * draw.normal(size=q.shape)
    return Log(t, *noisy, joint_names=ROBOT.joint_names)


@pytest.fixture(scope="module")
def log() -> Log:
    return held(20.0, 3.0)


def test_rests_at_the_ends_of_a_log_do_no_harm(log: Log) -> None:
    fit = ROBOT.identify(log)
    assert fit.verdict, fit.verdict
    q, qd, qdd = series(ROBOT, np.linspace(0, 10, 200), 5)
    tau = PARAMETERS.matrix(q, qd, qdd) @ TRUTH
    assert np.linalg.norm(fit.predict(q, qd, qdd) - tau) < 2e-3 * np.linalg.norm(tau)
    low, high = fit.estimate.intervals.T
    true = fit.base.K @ TRUTH
    assert np.mean((low < true) & (true < high)) > 0.85
    # rests for 4.6 of the 24.6 s that the filter of the positions leaves of the log, and slow starts
    assert np.all((fit.factors.left_out > 4.5 / 24.6) & (fit.factors.left_out < 6 / 24.6))
    assert any(f.code == "rest" and f"{ROBOT.joint_names[2]} " in f.message for f in fit.findings)
    assert np.all(fit.training.rms < 2e-3 * np.linalg.norm(fit.training.size))  # the last stop is faster than the cut-off
    assert fit.estimate.blocks > 30  # as many as without the rests


def test_a_joint_at_rest_is_left_out_by_itself() -> None:
    factors = reduce(base_parameters(PARAMETERS), pieces(prepare(held(20.0, 3.0, resting=(1,)))))
    assert 4.5 / 24.6 < factors.left_out[1] < 6 / 24.6
    assert np.all(factors.left_out[[0, 2]] < 3 / 24.6)  # those start slowly


def test_a_turn_is_no_rest() -> None:
    factors = reduce(base_parameters(PARAMETERS), pieces(prepare(simulated(PARAMETERS, TRUTH, 20.0, RATE, (1e-5, 0.02), 1))))
    assert np.all(factors.left_out == 0)


def test_without_coulomb_friction_all_rows_count(log: Log) -> None:
    signals = prepare(log)
    for parameters in (
        ParameterSet.of(ROBOT, coulomb=None),
        PARAMETERS.fix({"*.coulomb": 0.0}),
        PARAMETERS.counting_rests(ROBOT.joint_names),
    ):
        assert np.all(reduce(base_parameters(parameters), pieces(signals)).left_out == 0)


def test_poses_are_all_there_is() -> None:
    """At rest from end to end, in many segments: torques at rest count, and it is said what that means."""
    draw = np.random.default_rng(0)
    logs = []
    for pose in draw.uniform(-1.5, 1.5, (12, 3)):
        q = np.tile(pose, (400, 1))
        tau = PARAMETERS.matrix(q, 0 * q, 0 * q) @ TRUTH + 0.02 * draw.normal(size=q.shape)
        logs.append(Log(np.arange(400) / RATE, q + 1e-5 * draw.normal(size=q.shape), tau, joint_names=ROBOT.joint_names))
    fit = ROBOT.identify(sum(logs[1:], logs[0]))
    assert fit.parameter_set.at_rest == ROBOT.joint_names
    assert fit.estimate.samples == fit.factors.counts.sum()
    assert fit.verdict.has("rest")
    assert not fit.verdict


def test_chunks_and_threads_leave_out_the_same(log: Log, tmp_path: Path) -> None:
    base = base_parameters(PARAMETERS)
    np.savez(tmp_path / "run.npz", t=log.t, q=log.q, tau=log.tau)
    whole = prepare(log, 5.0)
    serial, threads = (reduce(base, pieces(whole), engine=engine) for engine in ("serial", "threads"))
    np.testing.assert_array_equal(serial.rows, threads.rows)
    for one, other in zip(serial.R, threads.R):
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)
    for rows in (700, 1100):
        chunks = list(stream(Log.chunks(tmp_path / "run.npz", ROBOT, rows=rows), 5.0))
        np.testing.assert_allclose(np.concatenate([chunk.paces[chunk.owned] for chunk in chunks]), whole.paces, atol=1e-12)
        np.testing.assert_allclose(np.concatenate([chunk.centre_paces for chunk in chunks]), whole.centre_paces, atol=1e-12)
        cut = reduce(base, streamed(chunks))
        np.testing.assert_array_equal(cut.rows.sum(axis=0), serial.rows.sum(axis=0))
        for a, b in zip(cut.merged(range(len(cut.R))), serial.merged(range(len(serial.R)))):
            np.testing.assert_allclose(a, b, atol=1e-7 * np.abs(b).max())
    fit = ROBOT.identify(Log.chunks(tmp_path / "run.npz", ROBOT, rows=1100), parameter_set=PARAMETERS, cutoff=5.0)
    read = ROBOT.identify(log, parameter_set=PARAMETERS, cutoff=5.0)
    for name in ("relative", "relative_raw", "rms", "rms_raw", "size"):
        np.testing.assert_allclose(getattr(fit.training, name), getattr(read.training, name), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("rate", [100.0, 125.0, 250.0])
def test_friction_that_turns_back_is_no_outlier(rate: float) -> None:
    fit = ROBOT.identify(simulated(PARAMETERS, TRUTH, 30.0, rate, (1e-5, 0.02), 0))
    assert fit.training.outliers.max() == 0
    assert fit.estimate.method == "wls"


def test_noise_that_grows_with_speed_is_no_outlier() -> None:
    clean = simulated(PARAMETERS, TRUTH, 30.0, 500.0, (1e-5, 0.02), 0)
    speed = np.abs(np.gradient(clean.q, 1 / 500, axis=0))
    noise = np.random.default_rng(1).normal(size=clean.tau.shape) * 3 * (speed / speed.max(axis=0)) ** 6
    fit = ROBOT.identify(Log(clean.t, clean.q, clean.tau + noise, joint_names=clean.joint_names), parameter_set=PARAMETERS)
    assert not fit.training.has_outliers


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_fault_is_named_though_all_joints_rest_for_long() -> None:
    """Before a cut, or after it, nothing moves at all: there is no other arm to be found in such a part."""
    log = held(20.0, 16.0)
    tau = log.tau.copy()
    tau[:, 1] *= 1.4
    fit = ROBOT.identify(Log(log.t, log.q, tau, joint_names=ROBOT.joint_names))
    assert not fit.verdict
    assert any(c.kind == "gain" for c in fit.verdict.concerns), fit.verdict


def strokes() -> Log:
    """From posture to posture at constant speeds, with a stop of 0.4 s at each, where friction holds what it likes: joints speed up
    and slow down for a quarter of a second, less than a kernel is long."""
    draw, ramp, rest, last = np.random.default_rng(3), 0.25, 0.4, np.zeros(3)
    motions, u = [], np.arange(int(1.2 * RATE)) / RATE
    shape = np.sin(np.pi / 2 * np.clip(np.minimum(u, 0.8 - u) / ramp, 0.0, 1.0)) ** 2 * (u < 1.2 - rest)
    for _ in range(25):
        aim = draw.uniform(-1.2, 1.2, 3)
        motions.append((aim - last) * shape[:, None] / (shape.sum() / RATE))
        last = aim
    qd = np.concatenate(motions)
    q, qdd = (np.cumsum(qd, axis=0) - qd / 2) / RATE, np.gradient(qd, 1 / RATE, axis=0)
    coulomb = np.array([TRUTH[PARAMETERS.place(f"{joint}.coulomb")] for joint in ROBOT.joint_names])
    holds = np.repeat(draw.uniform(-1, 1, (25, 3)), len(u), axis=0) * coulomb * (qd == 0)
    tau = PARAMETERS.matrix(q, qd, qdd) @ TRUTH + holds
    noisy = q + 1e-5 * draw.normal(size=q.shape), tau + 0.02 * draw.normal(size=q.shape)
    return Log(np.arange(len(q)) / RATE, *noisy, joint_names=ROBOT.joint_names)


def test_what_precedes_and_follows_a_stop_counts() -> None:
    fit = ROBOT.identify(strokes())
    assert fit.verdict, fit.verdict
    assert np.all(fit.factors.left_out < 0.5)  # a third are rests
    q, qd, qdd = series(ROBOT, np.linspace(0, 10, 200), 5)
    tau = PARAMETERS.matrix(q, qd, qdd) @ TRUTH
    assert np.linalg.norm(fit.predict(q, qd, qdd) - tau) < 1e-3 * np.linalg.norm(tau)


def test_rows_near_rests_are_those_of_every_sample() -> None:
    """Elsewhere smooth columns of every third sample suffice, and where nothing rests in a piece, they always did."""
    base = base_parameters(PARAMETERS)
    rows, some_rest = Rows(base), 0
    for _, piece in pieces(prepare(held(12.0, 3.0, resting=(1,)), 2.0)):
        found, moving = rows(piece).copy(), rows.moving(piece)
        every = rows(piece._replace(step=1))
        size = np.abs(every).max(axis=0)
        for j, (here, there) in enumerate(zip(rows.each(found), rows.each(every))):
            np.testing.assert_allclose(here[moving[:, j]], there[moving[:, j]], atol=1e-4 * rows.each(size[None])[j].max())
        some_rest += piece.step > 1 and not moving.all()
    assert some_rest


def test_a_joint_rests_in_the_midst_of_a_stop() -> None:
    """Of a stop that is a little shorter than a kernel, hardly any motion is within half a kernel of the middle."""
    draw, u = np.random.default_rng(0), np.arange(int(1.5 * RATE)) / RATE
    aims = np.concatenate([np.zeros((1, 3)), draw.uniform(-1.2, 1.2, (20, 3))])
    x = np.clip(u / 0.85, 0.0, 1.0)
    q = np.concatenate([a + (x**3 * (10 - 15 * x + 6 * x**2))[:, None] * (b - a) for a, b in pairwise(aims)])
    noisy = q + 2e-4 * draw.normal(size=q.shape)
    signals = prepare(Log(np.arange(len(q)) / RATE, noisy, 0 * q, joint_names=ROBOT.joint_names), 5.0)
    in_stop = (signals.t % 1.5 > 0.95) & (signals.t % 1.5 < 1.4)
    assert not signals.moves(np.full(3, 0.03))[in_stop].any()


Reference = Callable[[float], tuple[np.ndarray, np.ndarray]]


def driven(seed: int, reference: Reference, step: float = 0.0) -> tuple[qddot.Robot, Log]:
    """An arm with hard dry friction that follows positions and speeds: its joints creep and stick before they turn or stop.
    `step`: of the recorded positions, rad; 0: they are noisy instead."""
    draw = np.random.default_rng(seed)
    drive = qddot.Drive(coulomb=1.0, viscous=0.3, rotor_inertia=0.02)
    links = qddot.load("two_link")
    robot = with_parameters(links, {}, dict.fromkeys(links.joint_names, drive))
    inertia = np.array([1.5, 0.3])

    def control(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        at, speed = reference(t)
        return inertia * (30 * (speed - qd) + 300 * (at - q)) + links.gravity_torque(q)

    control.period = 1e-3  # type: ignore[attr-defined]
    motion = robot.simulate(reference(0.0)[0], t=np.arange(30_000) / 1000, step=1e-3, torque=control)
    tau = (motion.tau[3:-1:4] + motion.tau[4::4]) / 2  # which is held for a millisecond
    q = np.round(motion.q[4::4] / step) * step if step else motion.q[4::4] + 1e-5 * draw.normal(size=tau.shape)
    return robot, Log(motion.t[4::4], q, tau=tau + 0.02 * draw.normal(size=tau.shape), joint_names=robot.joint_names)


def steps(seed: int) -> Reference:
    """From one posture to the next, with a rest in each."""
    postures = np.random.default_rng(seed).uniform(-1.6, 1.6, (22, 2))

    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        k, x = int(t // 1.5), min(t % 1.5 / 0.75, 1.0)
        way = postures[k + 1] - postures[k]
        return postures[k] + x**3 * (10 - 15 * x + 6 * x**2) * way, 30 * x**2 * (1 - x) ** 2 / 0.75 * way

    return at


def waves(seed: int) -> Reference:
    """A Fourier series: joints turn back, and never rest for long."""
    w = 2 * np.pi / 10 * np.arange(1, 6)[:, None]
    a, b = np.random.default_rng(seed).normal(size=(2, 5, 2)) / np.arange(1, 6)[:, None]

    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        sin, cos = np.sin(w * t), np.cos(w * t)
        return 0.6 * np.sum(a * sin + b * cos, axis=0), 0.6 * np.sum(w * (a * cos - b * sin), axis=0)

    return at


@pytest.mark.parametrize("reference", [*(steps(seed) for seed in (1, 2, 4, 7)), *(waves(seed) for seed in (0, 3))])
def test_joints_that_stick_for_a_moment_are_no_fault(reference: Reference) -> None:
    check_found(*driven(1, reference))


def test_an_encoder_of_15_bits_is_fine_enough() -> None:
    robot, log = driven(1, waves(1), 2 * np.pi / 2**15)
    assert not robot.identify(log).verdict.has("rounded positions")  # which add 1 % to accelerations, and do no harm


def check_found(robot: qddot.Robot, log: Log) -> None:
    """The fit is trusted, and predicts other torques."""
    fit = robot.identify(log)
    assert fit.verdict, fit.verdict
    q, qd, qdd = (np.random.default_rng(9).uniform(-x, x, (200, 2)) for x in (1.5, 2.0, 8.0))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.linalg.norm(fit.predict(q, qd, qdd) - tau) < 1e-2 * np.linalg.norm(tau)
