"""What each law promises: its Lyapunov function falls along every motion, and the observer tells a push from noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import qddot
from qddot import Drive, Inertia
from qddot.control import PD, Hold, HybridForcePosition, MomentumObserver, Quintic, SetPointPD, SlidingMode, Task, gravity_stiffness
from qddot.errors import InputError, InputWarning
from qddot.logs import Log

BODIES = [Inertia.box(2.0, (0.3, 0.1, 0.1)).shifted((-0.2, 0, 0)) for _ in range(3)]
ROWS = [(0, np.pi / 2, 0.3, 0), (0.4, 0, 0, 0), (0.4, 0, 0, 0)]
MOTIONS = 10


def arm(**drive):
    return qddot.from_dh(ROWS, convention="standard", inertias=BODIES, drives=[Drive(**drive)] * 3 if drive else None)


def random_motions(robot, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, (n, robot.nv)), rng.uniform(-2, 2, (n, robot.nv))


def falls(values, slack=1e-6):
    """Along axis 0, but for the error of integration."""
    return bool((np.diff(values, axis=0) <= slack * np.abs(values[0]).max()).all())


def stored(law, motion):
    return np.stack([law.storage(t, q, qd) for t, q, qd in zip(motion.t, motion.q, motion.qd)])


def check_pd(n):
    robot = arm(viscous=0.3)
    law = PD(robot, Hold([0.5, -0.4, 0.8]), kp=40, kd=6)
    motion = robot.simulate(*random_motions(robot, n), 1.0, torque=law, step=4e-3)
    V = stored(law, motion)
    assert falls(V)
    assert (V[-1] < 0.7 * V[0]).all()


def check_set_point(n):
    robot = arm()
    law = SetPointPD(robot, [0.5, -0.4, 0.8], kp=1.1 * gravity_stiffness(robot), kd=6)
    assert law.is_global
    assert law.is_stable
    motion = robot.simulate(*random_motions(robot, n), 6.0, torque=law, step=4e-3, every=5)
    V = stored(law, motion)
    assert (V >= -1e-9).all()
    assert falls(V)
    assert np.abs(motion.q[-1] - law.goal).max() < 0.02


def check_sliding(n):
    """A model that is wrong by a load of 1.5 kg, and a torque that nobody knows of."""
    model = arm()
    robot = model.with_payload(1.5, com=(0, 0, 0.05))
    path = Quintic([0.3, 0.2, -0.5], [1.0, -0.6, 0.6], 1.0)
    law = SlidingMode(model, path, bandwidth=8, kd=10, reach=[10, 30, 15], width=0.3)
    push = np.array([2.0, -4.0, 2.0])
    q0, qd0 = random_motions(robot, n)
    disturbed = lambda t, q, qd: law(t, q, qd) + push  # noqa: E731
    motion = robot.simulate(0.3 * q0 + path(0).q, 0.3 * qd0, 1.0, torque=disturbed, step=1e-3, every=20)
    s = np.stack([law.surface(t, q, qd) for t, q, qd in zip(motion.t, motion.q, motion.qd)])
    e = np.stack([law.reference(t).q - q for t, q in zip(motion.t, motion.q)])
    assert np.abs(s[-1]).max() < 0.3
    assert np.abs(e[-1]).max() < 0.3 / 8


def check_sliding_storage(n):
    robot = arm()
    law = SlidingMode(robot, Hold([0.5, -0.4, 0.8]), bandwidth=5, kd=8, reach=2, width=0.05)
    motion = robot.simulate(*random_motions(robot, n), 0.6, torque=law, step=2e-3, every=3)
    V = stored(law, motion)
    assert falls(V)
    assert (V[-1] < 0.05 * V[0] + 1e-3).all()


def check_hybrid(n):
    """The tip slides over a rigid wall and presses with 20 N, whatever its motion along it."""
    robot = arm()
    task = Task(robot)
    q0 = np.array([0.2, 0.5, -1.1])
    wall = qddot.point_on_plane(robot.tip, point=task.position(q0), normal=(1, 0, 0))
    goal = task.position(q0)[1:] + np.array([0.1, -0.08])
    law = HybridForcePosition(task, Hold(goal), {"x": 20.0}, kp=60, kd=12)
    rng = np.random.default_rng(1)
    starts = robot.project(q0 + rng.uniform(-0.15, 0.15, (n, 3)), wall)
    speeds = robot.project_velocity(starts, rng.uniform(-0.5, 0.5, (n, 3)), wall)
    motion = robot.simulate(starts, speeds, 1.5, torque=law, constraints=wall, step=5e-3, every=5)
    V = stored(law, motion)
    assert falls(V)
    assert (V[-1] < 1e-3 * V[0] + 1e-9).all()
    for k in (0, len(motion.t) // 2, -1):
        q, qd = motion.q[k], motion.qd[k]
        found = robot.constrained_forward_dynamics(q, qd, law(motion.t[k], q, qd), wall)
        np.testing.assert_allclose(np.abs(found.lam[..., 0]), 20.0, atol=1e-6)


CHECKS = {
    "PD": check_pd,
    "set point": check_set_point,
    "sliding mode, disturbed": check_sliding,
    "sliding mode": check_sliding_storage,
    "hybrid": check_hybrid,
}


@pytest.mark.parametrize("name", CHECKS)
def test_storage_falls(name):
    CHECKS[name](MOTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_storage_falls_along_a_thousand_motions(name):
    CHECKS[name](1000)


def test_gravity_stiffness_is_a_bound_and_not_a_wild_one():
    robot = arm()
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (20_000, 3))
    slopes = robot.inverse_dynamics_derivatives(q, np.zeros(3), np.zeros(3)).dtau_dq
    most = np.abs(np.linalg.eigvalsh(slopes)).max()
    assert most <= gravity_stiffness(robot) <= 3 * most
    weak = SetPointPD(robot, [0.0, np.pi / 2, 0.0], kp=0.2, kd=1.0)  # upright, and too weak to stay there
    assert not weak.is_global
    assert not weak.is_stable
    with pytest.raises(InputError, match="one configuration"):
        SetPointPD(robot, np.zeros((2, 3)), 1, 1)


def test_gravity_stiffness_of_a_slider():
    """Of m g (r + q2) cos q1 the slope grows with q2: it has a bound where the slider has limits."""
    make = lambda **limits: (  # noqa: E731
        qddot.Builder("rp", gravity=(0, -9.81, 0)).body("a").body("b", "a", joint="prismatic", axis="x", mass=2.0, **limits).robot()
    )
    robot = make(limits=(0.1, 0.7))
    q = np.random.default_rng(0).uniform([-np.pi, 0.1], [np.pi, 0.7], (5000, 2))
    slopes = robot.inverse_dynamics_derivatives(q, np.zeros(2), np.zeros(2)).dtau_dq
    most = np.abs(np.linalg.eigvalsh(slopes)).max()
    assert most <= gravity_stiffness(robot) <= 3 * most
    with pytest.raises(InputError, match=r"q\[1\] has no limits, and gravity grows with it"):
        gravity_stiffness(make())


# the observer ----------------------------------------------------------------------------------------------------------------

NOISE = {"q": 2e-5, "qd": 2e-3, "tau": 0.05}


def recording(duration, push_at=None, seed=0):
    """An arm of seven joints in motion at 1 kHz, measured with noise; from `push_at` on 10 N act on its tip."""
    robot = qddot.load("arm7")
    rng = np.random.default_rng(seed)
    swing, rate = 0.4 * np.ones(7), np.linspace(0.5, 1.2, 7)
    middle = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.6, 0.0])
    t = np.arange(0, duration, 1e-3)
    q, qd, qdd = (
        middle + swing * np.sin(np.outer(t, rate)),
        swing * rate * np.cos(np.outer(t, rate)),
        -swing * rate**2 * np.sin(np.outer(t, rate)),
    )
    J = robot.jacobian(q, reference="world_aligned")
    force = np.zeros((len(t), 6))
    if push_at is not None:
        force[t >= push_at, 3:] = [6.0, 0.0, 8.0]
    external = np.einsum("tij,ti->tj", J, force)
    tau = robot.inverse_dynamics(q, qd, qdd) - external
    held = (tau + np.roll(tau, -1, axis=0)) / 2  # the mean of the period that follows
    noisy = [x + NOISE[name] * rng.normal(size=x.shape) for name, x in (("q", q), ("qd", qd), ("tau", held))]
    return robot, t, noisy, external


def test_observer_finds_ten_newtons_within_twenty_milliseconds():
    robot, _, quiet, _ = recording(20.0, seed=1)
    observer = MomentumObserver(robot, gain=80, period=1e-3)
    observer.calibrate(*quiet)
    _, t, pushed, external = recording(3.0, push_at=2.0, seed=2)
    alarms = []
    for k in range(1500, 2500):
        observer.update(*(x[k] for x in pushed))
        if observer.alarm:
            alarms.append(t[k])
    assert 2.0 <= alarms[0] <= 2.020
    late = observer.residual
    np.testing.assert_allclose(late, external[2499], atol=0.15 * np.abs(external[2499]).max())


def test_a_recording_is_observed_as_its_samples():
    robot, _, (q, qd, tau), _ = recording(0.5)
    observer = MomentumObserver(robot, gain=50)
    found = observer.observe(q, qd, tau)
    np.testing.assert_allclose([observer.update(*x) for x in zip(q, qd, tau)], found, atol=1e-9)
    observer.reset()
    assert not observer.residual.any()
    with pytest.raises(InputError, match="settle"):
        MomentumObserver(robot, gain=3000, period=1e-3)


def logged(seconds, seed):
    robot, t, (q, qd, tau), _ = recording(seconds, seed=seed)
    return robot, Log(t, q, tau, qd=qd, joint_names=robot.joint_names)


def test_several_recordings_calibrate_as_each_does():
    robot, first = logged(6.0, 1)
    _, second = logged(6.0, 2)
    observer = MomentumObserver(robot, gain=80, period=1e-3)
    apart = np.stack([observer.calibrate(x) for x in (first, second[3000:])])
    joined = first + second[3000:]  # between which the arm jumps
    together = observer.calibrate(joined)
    assert (together >= apart.max(axis=0)).all()
    assert (together < 1.2 * apart.max(axis=0)).all()
    with pytest.raises(InputError, match=r"sample 6001: q goes .*calibrate\(log\)"):
        observer.calibrate(joined.q, joined.qd, joined.tau)


def test_what_cannot_calibrate_is_refused():
    robot, log = logged(2.0, 1)
    with pytest.raises(InputError, match="no velocities"):
        MomentumObserver(robot, gain=80).calibrate(dataclasses.replace(log, qd=None))
    with pytest.raises(InputError, match=r"period=0\.001"):
        MomentumObserver(robot, gain=80, period=2e-3).calibrate(log)
    with pytest.raises(InputError, match=r"calibrate\(log\), or calibrate\(q, qd, tau\)"):
        MomentumObserver(robot, gain=80).calibrate(log.q)


def test_an_alarm_that_nothing_raises_is_told():
    robot, log = logged(2.0, 1)
    with pytest.warns(InputWarning, match="does not predict this recording"):
        MomentumObserver(robot.with_gravity((0, 0, 0)), gain=80).calibrate(log)


def no_false_alarm(minutes):
    robot, _, quiet, _ = recording(20.0, seed=1)
    observer = MomentumObserver(robot, gain=80, period=1e-3)
    observer.calibrate(*quiet)
    for part in range(int(minutes * 2)):
        _, _, noisy, _ = recording(30.0, seed=10 + part)
        r = observer.observe(*noisy)
        assert (np.abs(r) <= observer.threshold).all()


def test_no_false_alarm_in_half_a_minute():
    no_false_alarm(0.5)


@pytest.mark.slow
def test_no_false_alarm_in_ten_minutes():
    no_false_alarm(10)


def test_residual_vanishes_without_a_push():
    """`r' = -K r`: from a wrong start W falls."""
    robot, _, _, _ = recording(0.1)
    observer = MomentumObserver(robot, gain=50)
    still = [np.zeros(7), np.zeros(7), robot.gravity_torque(np.zeros(7))]
    observer.update(*still)
    observer.residual = np.ones(7)
    sizes = [np.linalg.norm(observer.update(*still)) for _ in range(100)]
    assert (np.diff(sizes) < 0).all()
    assert sizes[-1] < np.sqrt(7) * (1 - 0.05) ** 100 * 1.01


def test_bad_input():
    task = Task(arm())
    with pytest.raises(InputError, match="direction 'w'"):
        HybridForcePosition(task, Hold([0, 0]), {"w": 1.0}, 1, 1)
    with pytest.raises(InputError, match="not hybrid"):
        HybridForcePosition(task, Hold([0, 0, 0]), {}, 1, 1)
