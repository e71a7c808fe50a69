"""Loops that pass a dead centre stay on their branch, whatever the method; and where nothing decides, an error says so."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Inertia, IntegrationError, RankWarning, SingularityError

G = (0, -9.81, 0)
METHODS = [("rk4", 5e-3), ("euler", 2e-3), ("variational", 5e-3), ("RK45", 0.05), ("DOP853", 0.3), ("Radau", 0.3)]


def rod(length):
    return Inertia.rod(1.0, length, "x").shifted((length / 2, 0, 0))


def four_bar(a, b, c, d, gravity=G):
    """Crank, coupler, rocker, ground; where a + b = c + d (or the like) two branches meet when all lie in one line."""
    builder = Builder(gravity=gravity).body("crank", inertia=rod(a)).body("coupler", "crank", xyz=(a, 0, 0), inertia=rod(b))
    builder.body("rocker", xyz=(d, 0, 0), inertia=rod(c)).frame("end", "coupler", xyz=(b, 0, 0)).frame(
        "pin", "rocker", xyz=(c, 0, 0)
    )
    return builder.robot(), qddot.connect("end", "pin", "xy")


def slider_crank(gravity=G):
    """With a rod as long as the crank: upright, the piston may stay in the middle while both turn."""
    builder = Builder(gravity=gravity).body("crank", inertia=rod(0.2)).body("rod", "crank", xyz=(0.2, 0, 0), inertia=rod(0.2))
    builder.body("piston", joint="prismatic", axis="x", mass=1.0).frame("end", "rod", xyz=(0.2, 0, 0))
    return builder.robot(), qddot.connect("piston", "end", "xy")


CASES = {
    "parallelogram": (four_bar(0.2, 0.4, 0.2, 0.4), [1.0, -1.0, 1.0], 12.0, lambda q: np.sin((q[..., 2] - q[..., 0]) / 2)),
    "crossed": (four_bar(0.2, 0.4, 0.2, 0.4), [1.0, -2.0, -2.2], 12.0, None),
    "change point": (four_bar(0.2, 0.5, 0.3, 0.4), [1.0, 0.2, 1.5], 15.0, None),
    "slider-crank": (slider_crank(), [1.0, -2.0, 0.216], 12.0, lambda q: q[..., 1] + 2 * q[..., 0]),
}


def start(case):
    (robot, loop), q, speed, branch = CASES[case]
    q = robot.project(q, loop)
    qd = robot.project_velocity(q, [1.0, 0, 0], loop)
    return robot, loop, q, qd * speed / qd[0], branch


@pytest.mark.parametrize("case", [c if c == "parallelogram" else pytest.param(c, marks=pytest.mark.slow) for c in CASES])
@pytest.mark.parametrize(("method", "step"), METHODS, ids=[m for m, _ in METHODS])
def test_every_method_stays_on_the_branch(case, method, step):
    """Past two dead centres at least; energy says whether a branch, or a motion, was made up."""
    robot, loop, q, qd, branch = start(case)
    motion = robot.simulate(q, qd, 0.6, constraints=loop, method=method, step=step)
    assert abs(motion.q[-1, 0] - q[0]) > np.pi / 2
    assert abs(robot.constraint_residual(motion.q, loop)).max() < 1e-9
    error = abs(motion.energy - motion.energy[0]).max() / motion.kinetic_energy.max()
    assert error < {"euler": 0.5, "variational": 5e-2, "rk4": 2e-3}.get(method, 1e-5)
    if branch is not None:
        assert_allclose(branch(motion.q), branch(q), atol=1e-6)


def test_motions_converge_across():
    """Steps of order four agree with a method of order eight, beyond two dead centres, as well as before."""
    robot, loop, q, qd, _ = start("parallelogram")
    exact = robot.simulate(q, qd, [0, 0.6], constraints=loop, method="DOP853", rtol=1e-11, atol=1e-12).q[-1]
    errors = [abs(robot.simulate(q, qd, 0.6, constraints=loop, step=h).q[-1] - exact).max() for h in (2e-2, 1e-2)]
    assert errors[0] < 1e-4
    assert errors[1] < 1e-5


def test_samples_in_the_very_dead_centre():
    """Without gravity a parallelogram turns evenly: samples every half turn from the flat position are known exactly."""
    robot, loop = four_bar(0.2, 0.4, 0.2, 0.4, (0, 0, 0))
    q = robot.project([1.0, -1.0, 1.0], loop)
    times = np.r_[0, (np.pi - q[0] + np.pi * np.arange(4)) / 5.0]
    for method in ("rk4", "variational", "DOP853"):
        motion = robot.simulate(q, [5.0, -5.0, 5.0], times, constraints=loop, method=method, step=0.013)
        assert_allclose(motion.q, q + np.outer(5 * times, [1, -1, 1]), atol=1e-8)
        assert_allclose(motion.energy, motion.energy[0], rtol=1e-8)


def test_branches_that_just_miss_each_other_do_not_cross():
    """A ground that is 0.1 mm too long: the crank cannot go round any more, it turns back while the rocker goes on."""
    robot, loop = four_bar(0.2, 0.4, 0.2, 0.4001)
    q = robot.project([1.0, -1.0, 1.0], loop)
    qd = robot.project_velocity(q, [1.0, 0, 0], loop)
    runs = [
        robot.simulate(q, qd * 12 / qd[0], 0.4, constraints=loop, method=m, step=h) for m, h in (("rk4", 2e-3), ("DOP853", 0.4))
    ]
    assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=2e-3)
    assert runs[0].q[:, 0].max() < np.pi < runs[0].q[-1, 2]


def test_batches_are_their_motions_bit_by_bit():
    robot, loop, q, qd, _ = start("parallelogram")
    speeds = np.array([[1.0], [0.7], [1.3]]) * qd
    for torque in (None, lambda t, q, qd: -0.1 * qd):
        batch = robot.simulate(q, speeds, 0.3, constraints=loop, step=1e-2, torque=torque)
        for i in range(3):
            assert_array_equal(batch.q[:, i], robot.simulate(q, speeds[i], 0.3, constraints=loop, step=1e-2, torque=torque).q)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_loop_that_comes_to_rest_there_is_not_guessed(method):
    """A drive that creeps into the dead centre: from there a parallelogram may go on along either branch."""
    robot, loop = four_bar(0.2, 0.4, 0.2, 0.4, (0, 0, 0))
    q = robot.project([0.3, -0.3, 0.3], loop)
    creep = lambda t, q, qd: np.array([-10.0 * q[0] - 2.0 * qd[0], 0, 0])  # noqa: E731
    with pytest.raises(
        IntegrationError, match=r"cannot go on .* comes to a dead centre, q = .* only 1 of 2 rows .* does not decide"
    ) as caught:
        robot.simulate(q, None, 10.0, constraints=loop, torque=creep, method=method, step=2e-2)
    assert 0.5 < caught.value.time < 10


def test_a_first_state_in_a_dead_centre():
    robot, loop = four_bar(0.2, 0.4, 0.2, 0.4)
    for method in ("rk4", "DOP853"):
        with (
            pytest.warns(RankWarning),
            pytest.raises(SingularityError, match=r"lose rank in the first state, q = .* a dead centre\. Start beside it"),
        ):
            robot.simulate([0, 0, 0], [5.0, -5.0, 5.0], 1.0, constraints=loop, method=method)


def test_events_within_a_passage():
    robot, loop, q, qd, _ = start("parallelogram")
    flat = lambda t, q, qd: q[0] - np.pi  # noqa: E731
    times = []
    for method in ("rk4", "DOP853"):
        motion = robot.simulate(q, qd, 0.4, constraints=loop, method=method, step=1e-2, events=flat)
        assert len(motion.events) == 1
        times.append(motion.events[0].time)
    assert_allclose(times[0], times[1], atol=1e-5)


ALL, CLOSE = ("rk4", "variational", "RK45", "DOP853", "Radau"), (2.5e-3, 1e-3, 1e-5, 1e-6, 1e-8)


@pytest.mark.parametrize(
    ("method", "before"),
    [(m, 1e-7) for m in ALL] + [("rk4", -1e-7)] + [pytest.param(m, d, marks=pytest.mark.slow) for d in CLOSE for m in ALL],
)
def test_a_motion_may_begin_close_to_a_dead_centre(method, before):
    """There some columns are short; what counts is how long they are elsewhere. Without gravity the crank turns evenly."""
    robot, loop = four_bar(0.2, 0.4, 0.2, 0.4, (0, 0, 0))
    q, speed = np.pi - before, 5.0
    motion = robot.simulate([q, -q, q], [speed, -speed, speed], 0.1, constraints=loop, method=method)
    assert_allclose(motion.q[-1], (q + 0.5) * np.array([1, -1, 1]), atol=1e-6)
    assert_allclose(motion.energy, motion.energy[0], rtol=1e-6)


def test_a_motion_that_begins_in_a_dead_centre_goes_where_its_velocity_leads():
    """The slider-crank in gravity, beside the dead centre and a hundred times as close: nearly the same motion; a velocity that
    leads along no branch is refused."""
    robot, loop = slider_crank()
    ends = []
    for before in (1e-5, 1e-7):
        q = np.pi / 2 - before
        q0, qd0 = [q, -2 * q, 0.4 * np.cos(q)], [12.0, -24.0, -4.8 * np.sin(q)]
        motion = robot.simulate(q0, qd0, 0.2, constraints=loop, step=2e-3)
        assert_allclose(motion.energy, motion.energy[0], atol=1e-4 * motion.kinetic_energy.max())
        ends.append(motion.q[-1])
    assert_allclose(ends[0], ends[1], atol=1e-4)
    robot, loop = four_bar(0.2, 0.5, 0.3, 0.4)
    q = robot.project([1e-7, 0, 0], loop)  # on the constraints as far as they tell, but on neither branch
    with pytest.raises(IntegrationError, match="does not decide on which branch"):
        robot.simulate(q, robot.project_velocity(q, [1.0, 0, 0], loop), 0.2, constraints=loop, step=2e-3)
