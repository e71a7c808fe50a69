"""Exciting motions."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import ConvergenceError, InputError
from qddot.identify.excitation.clearance import NUMPY, Clearance, squared_distance
from qddot.identify.excitation.first_motions import random_motion
from qddot.identify.excitation.fourier import Fourier
from qddot.identify.excitation.plan import excitation, log_det, margins
from qddot.identify.excitation.problem import Bounds, Experiment
from qddot.robot import Robot, RobotLimits
from tests.identify.arms import random_arm

LIMITS = RobotLimits(np.full(3, -2.0), np.full(3, 2.0), np.full(3, 2.5), np.full(3, 60.0))
SMALL = {"period": 5.0, "harmonics": 3, "ramp": 1.0, "limits": LIMITS, "acceleration": 12.0, "starts": 1, "iterations": 40}


def experiment(robot: Robot, **changes) -> Experiment:
    n = robot.nv
    given = {"shape": Fourier(5.0, 3, 1.0), "noise": np.ones(n), "friction": ("viscous", "coulomb"), "smooth": np.full(n, 0.1)}
    return Experiment(robot, **{**given, "samples": 48, "apart": None, **changes})


@pytest.fixture(scope="module")
def arm() -> Robot:
    return random_arm(0, 3)


@pytest.fixture(scope="module")
def found(arm: Robot):
    lines: list[str] = []
    return excitation(arm, **SMALL, on_progress=lines.append), lines


# the shape ------------------------------------------------------------------------------------------------------------


def test_the_motion_is_smooth_and_rests_at_its_ends():
    shape = Fourier(10.0, 3, 2.0, periods=2)
    x = np.random.default_rng(0).normal(size=shape.unknowns)
    t = np.linspace(0, shape.duration, 100001)
    q, qd, qdd = (shape.basis(t, d) @ x for d in range(3))
    assert np.allclose(np.gradient(q, t)[1:-1], qd[1:-1], atol=1e-6)
    assert np.allclose(np.gradient(qd, t)[1:-1], qdd[1:-1], atol=1e-3)  # the third derivative jumps where a blend ends
    assert q[[0, -1]].tolist() == x[-2:].tolist()
    assert np.allclose(np.concatenate([qd[[0, -1]], qdd[[0, -1]]]), 0)
    assert np.allclose(shape.basis(np.array([3.0]), 1), shape.basis(np.array([13.0]), 1))  # a period later
    assert (shape.basis(np.array([-1.0, 99.0])) @ x).tolist() == x[-2:].tolist()
    assert np.allclose(shape.basis(np.array([-1.0, 99.0]), 1) @ x, 0)


# self-distance --------------------------------------------------------------------------------------------------------


def test_distance_of_segments_against_many_points():
    rng, s = np.random.default_rng(1), np.linspace(0, 1, 201)
    for _ in range(50):
        p, p_end, r, r_end = rng.normal(size=(4, 3))
        apart = (p + np.outer(s, p_end - p))[:, None] - (r + np.outer(s, r_end - r))[None]
        nearest = (apart**2).sum(-1).min()
        assert nearest - 0.05 < squared_distance(p, p_end, r, r_end, NUMPY) < nearest + 1e-12


def test_parallel_and_crossing_segments():
    x, y = np.eye(3)[:2]
    assert squared_distance(0 * x, x, y, x + y, NUMPY) == pytest.approx(1.0)
    assert squared_distance(-x, x, -y, y, NUMPY) == pytest.approx(0.0, abs=1e-12)
    assert squared_distance(0 * x, x, 2 * x, 3 * x, NUMPY) == pytest.approx(1.0)


def test_capsules_see_a_folded_arm():
    arm = qddot.from_dh([[0.4, 0.0, 0.0, 0.0]] * 3)
    capsules = Clearance.of(arm, 0.05)
    straight, folded = capsules.clearance(arm, np.zeros(3)), capsules.clearance(arm, np.array([0.0, 2.6, 2.6]))
    assert (straight > 0).all()
    assert (folded < 0).any()


# information ----------------------------------------------------------------------------------------------------------


def test_information_is_that_of_the_regressor(arm: Robot):
    own = experiment(arm, friction=("viscous",))
    X = random_motion(own.shape, Bounds.of(LIMITS, np.full(3, 12.0)), np.random.default_rng(0))
    q, qd, qdd = np.split(own.states(X, own.times(100)), 3, axis=1)
    Y = np.concatenate([arm.regressor(q, qd, qdd), np.einsum("sj,jk->sjk", qd, np.eye(3))], axis=-1)[..., list(own.base)]
    assert np.allclose(own.information(X, 100), np.einsum("sji,sjk->ik", Y, Y) / 100, rtol=1e-9, atol=1e-9)


def test_gradients_are_exact(arm: Robot):
    own = experiment(arm, apart=Clearance.of(arm, 0.02, floor=-0.6, boxes=[((0.5, 0.5, 0.5), (0.2, 0.3, 0.1))]))
    ca = own.ca
    X = random_motion(own.shape, Bounds.of(LIMITS, np.full(3, 12.0)), np.random.default_rng(1)).ravel()
    direction, h = np.random.default_rng(2).normal(size=X.size), 1e-6
    x = ca.MX.sym("x", X.size)
    gradient = np.array(ca.Function("g", [x], [ca.gradient(own.goal(x), x)])(X)).ravel()
    slope = float(own.goal(X + h * direction) - own.goal(X - h * direction)) / (2 * h)
    assert gradient @ direction == pytest.approx(slope, rel=1e-6)
    assert -2 * float(own.goal(X)) == pytest.approx(log_det(own.information(X.reshape(3, -1), own.samples)))
    solver = own.solver(1)
    nlp = solver.get_function("nlp_jac_g")
    g, J = nlp(X, [])
    slopes = (np.array(nlp(X + h * direction, [])[0]) - np.array(nlp(X - h * direction, [])[0])) / (2 * h)
    assert np.allclose(np.array(J @ direction), slopes, atol=1e-5 * abs(slopes).max())
    assert len(own.room(Bounds.of(LIMITS, np.full(3, 12.0)), 0.0)[0]) == g.shape[0]


# the search -----------------------------------------------------------------------------------------------------------


def test_every_limit_is_kept_on_a_fine_grid(arm: Robot, found):
    motion, _ = found
    t = np.arange(0, motion.duration, 5e-4)
    q, qd, qdd = motion.q(t), motion.qd(t), motion.qdd(t)
    assert ((q >= LIMITS.lower) & (q <= LIMITS.upper)).all()
    assert (abs(qd) <= LIMITS.velocity).all()
    assert (abs(qdd) <= 12.0).all()
    assert (abs(arm.inverse_dynamics(q, qd, qdd)) <= LIMITS.effort).all()
    assert np.allclose([motion.qd(0.0), motion.qd(motion.duration)], 0)
    assert min(motion.margins) >= 0


def test_it_beats_every_random_series_within_the_limits(arm: Robot, found):
    motion, _ = found
    own, bounds, rng = experiment(arm, smooth=0.05 * LIMITS.velocity), Bounds.of(LIMITS, np.full(3, 12.0)), np.random.default_rng(7)
    drawn = [random_motion(own.shape, bounds, rng) for _ in range(60)]
    legal = [X for X in drawn if min(margins(own, bounds, X)) >= 0]
    best = max((log_det(own.information(X, 1000)) for X in legal), default=-np.inf)
    print(f"log det {motion.log_det:.2f}, best of {len(legal)} legal random series {best:.2f}, {motion.rank} parameters")
    assert motion.log_det > best + 5
    assert motion.condition_number < 50
    assert motion.rank == len(own.base)


def test_it_says_what_it_does(found):
    motion, lines = found
    assert "base parameters; best of 40 random series" in lines[0]
    assert "search 1 of 1: log det" in lines[1]
    assert "limits kept on a grid of 1 ms" in repr(motion)
    assert "not limited: distance" in repr(motion)


def test_a_search_that_ends_early_is_told(found):
    motion, _ = found
    assert "more starts" not in str(motion)
    assert "more starts or iterations may find a better one" in str(replace(motion, random_log_det=motion.log_det + 1))


def test_csv_reads_back(found, arm: Robot, tmp_path: Path):
    motion, _ = found
    motion.to_csv(tmp_path / "motion.csv", rate=100.0)
    rows = np.loadtxt(tmp_path / "motion.csv", delimiter=",", skiprows=1)
    assert np.array_equal(rows, np.column_stack(motion.sample(100.0)))
    assert (tmp_path / "motion.csv").read_text().startswith("t,q_j0,q_j1,q_j2,qd_j0,")
    with pytest.raises(InputError, match="rate=0 is not a positive"):
        motion.sample(0)


def test_shapes_of_times(found):
    motion, _ = found
    assert motion.q(1.0).shape == (3,)
    assert motion.q(np.zeros((2, 4))).shape == (2, 4, 3)


def test_plot(found):
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = found[0].plot()
    assert [len(ax.lines) for ax in axes] == [3] * 4
    assert axes[0].figure is plt.gcf()
    plt.close("all")


def test_home_and_distance_and_offset():
    arm = qddot.load("puma560")
    home = np.array([0.0, -0.5, 0.5, 0.2, 0.5, 0.0])
    limits = RobotLimits(np.full(6, -2.5), np.full(6, 2.5), np.full(6, 2.0), np.full(6, 200.0))
    options = {"period": 6.0, "harmonics": 2, "limits": limits, "acceleration": 8.0, "starts": 1, "iterations": 25}
    motion = excitation(arm, **options, radius=0.05, home=home, friction=("viscous", "coulomb", "offset"), periods=2)
    assert np.allclose([motion.q(0.0), motion.q(motion.duration)], home)
    assert motion.duration == 16.0
    assert motion.margins.distance >= 0
    assert Clearance.of(arm, 0.05).clearance(arm, motion.sample(500.0)[1]).min() >= 0


def test_refusals(arm: Robot):
    with pytest.raises(InputError, match="joint 'j0' has no limit of position, speed or acceleration"):
        excitation(arm)
    with pytest.raises(InputError, match="joint 'j0' cannot move: position 1 to 1"):
        excitation(arm, limits=LIMITS._replace(lower=np.ones(3), upper=np.ones(3)))
    with pytest.raises(InputError, match="friction='dry' is not one of 'viscous', 'coulomb', 'offset'"):
        excitation(arm, limits=LIMITS, friction=["dry"])
    with pytest.raises(InputError, match="harmonics=0 is not a whole number from 1 on"):
        excitation(arm, limits=LIMITS, harmonics=0)
    with pytest.raises(InputError, match=r"noise has shape \(2,\)"):
        excitation(arm, limits=LIMITS, noise=[1.0, 2.0])
    with pytest.raises(InputError, match=r"noise=0\.0 is not a positive number"):
        excitation(arm, limits=LIMITS, noise=0.0)
    with pytest.raises(InputError, match=r"home=\[5.0, 0.0, 0.0\] is not between the position limits"):
        excitation(arm, limits=LIMITS, home=[5.0, 0.0, 0.0])
    with pytest.raises(InputError, match="a series needs joints of one coordinate"):
        excitation(arm.with_floating_base())


def test_torques_too_small_to_hold_the_arm_are_said(arm: Robot):
    weak = LIMITS._replace(effort=np.full(3, 0.5))
    with pytest.raises(ConvergenceError, match=r"no motion within the limits after 1 searches of 5 steps.*torque=-"):
        excitation(arm, **{**SMALL, "limits": weak, "iterations": 5})


@pytest.mark.slow
def test_panda(tmp_path: Path):
    """The 7-dof arm, its fingers fixed: all limits, and a condition number far below 100."""
    path = next(Path(sys.prefix).rglob("panda_description/urdf/panda.urdf"), None)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    (tmp_path / "panda.urdf").write_text(path.read_text().replace('type="prismatic"', 'type="fixed"'))
    robot = qddot.load(tmp_path / "panda.urdf")
    motion = excitation(robot, acceleration=10.0, radius=0.07, starts=1, on_progress=print)
    print(motion)
    assert motion.rank == 43 + 14
    assert motion.condition_number < 50
    assert motion.log_det > motion.random_log_det + 50
    assert min(motion.margins) >= 0
