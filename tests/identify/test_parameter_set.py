"""The parameters, their columns, and what of them shows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, UnknownNameError
from qddot.identify import ParameterSet, base_parameters
from qddot.identify.checks.explain import explanations
from tests.identify.arms import random_arm, random_states
from tests.identify.simulated import ROBOTS, panda
from tests.reference import RECORDINGS, needs_recordings

BARE = {"armature": False, "viscous": False, "coulomb": None, "offset": False}
needs_robots = pytest.mark.skipif(ROBOTS is None, reason="example-robot-data is not installed")


@pytest.mark.parametrize(
    "name", ["two_link", "puma560", pytest.param("arm7", marks=pytest.mark.slow), "cart_pole", "rp_arm", "acrobot"]
)
def test_columns_reproduce_inverse_dynamics(name: str) -> None:
    robot = qddot.load(name)
    parameters = ParameterSet.of(robot, coulomb="sign")
    q, qd, qdd = random_states(0, robot, 100)
    tau = parameters.matrix(q, qd, qdd) @ parameters.described + parameters.known_torque(q, qd, qdd)
    assert np.abs(tau - robot.inverse_dynamics(q, qd, qdd)).max() < 1e-10


@pytest.mark.parametrize("name", ["two_link", "puma560", pytest.param("arm7", marks=pytest.mark.slow)])
def test_base_is_the_symbolic_one_and_loses_nothing(name: str) -> None:
    robot = qddot.load(name)
    parameters = ParameterSet.of(robot, **BARE)
    base = base_parameters(parameters)
    assert base.names == tuple(n for n in robot.equations().base_parameters().names if n in parameters.names)
    assert base.gap > 1e6
    Y = parameters.matrix(*random_states(1, robot, 50))
    theta = np.random.default_rng(2).normal(size=len(parameters.names))
    assert np.abs(Y[..., list(base.independent)] @ (base.K @ theta) - Y @ theta).max() < 1e-9


@needs_robots
@pytest.mark.parametrize(("robot", "count"), [("ur5_joint_limited_robot", 36), ("ur10_joint_limited_robot", 36), ("panda", 43)])
def test_counts(robot: str, count: int) -> None:
    assert ROBOTS is not None
    arm = panda() if robot == "panda" else qddot.load(ROBOTS / f"ur_description/urdf/{robot}.urdf")
    assert base_parameters(ParameterSet.of(arm, **BARE)).rank == count


@needs_recordings
def test_count_lwr() -> None:
    arm = qddot.load(RECORDINGS / "kuka_lwr4_flobaroid/kuka_lwr4_gaz.urdf")
    assert base_parameters(ParameterSet.of(arm, **BARE)).rank == 43


def test_fixed_tied_and_expected() -> None:
    robot = random_arm(0, 3)
    whole = ParameterSet.of(robot)
    body = robot.body_names[2]
    q, qd, qdd = random_states(3, robot, 20)
    fixed = whole.fix({f"{body}.*": None, "*.viscous": 2.0})
    assert len(fixed.names) == len(whole.names) - 10 - 3
    theta = whole.described.copy()
    theta[whole.matching("*.viscous")] = 2.0
    tau = fixed.matrix(q, qd, qdd) @ fixed.described + fixed.known_torque(q, qd, qdd)
    np.testing.assert_allclose(tau, whole.matrix(q, qd, qdd) @ theta, atol=1e-10)
    tied = whole.tie({f"{body}.mcx": {f"{body}.m": 0.25}})
    assert tied.full(tied.described)[whole.place(f"{body}.mcx")] == pytest.approx(0.25 * whole.described[whole.place(f"{body}.m")])
    assert whole.expect({f"{body}.m": (None, 0.1)}).priors[f"{body}.m"][1] == 0.1
    with pytest.raises(UnknownNameError, match=r"no free parameter 'nothing.m'"):
        whole.fix({"nothing.m": 1.0})
    with pytest.raises(InputError, match="`fix` what is known"):
        whole.expect({f"{body}.m": (1.0, 0.0)})


def test_prior_separates_what_no_motion_shows() -> None:
    robot = random_arm(1, 2)
    parameters = ParameterSet.of(robot, **BARE)
    hidden = next(iter(base_parameters(parameters).grouped))
    assert base_parameters(parameters.expect({hidden: (None, 0.1)})).rank == base_parameters(parameters).rank + 1


def test_optional_columns() -> None:
    robot = random_arm(2, 3)
    one, two, three = robot.joint_names
    parameters = ParameterSet.of(robot, stribeck=0.1, load=True, coupled=[(two, three)], harmonics={one: 2})
    names = parameters.names[30:]
    assert {f"{one}.stribeck", f"{one}.load", f"{one}.sin2", f"{two}+{three}.coulomb"} <= set(names)
    assert f"{two}.sin1" not in names
    assert f"{one}.viscous_negative" in ParameterSet.of(robot, asymmetric=True).names
    q, qd, qdd = random_states(4, robot, 10)
    Y = parameters.matrix(q, qd, qdd)
    j = parameters.place(f"{two}+{three}.armature")
    np.testing.assert_array_equal(Y[:, 1, j], qdd[:, 2])
    np.testing.assert_array_equal(Y[:, 2, j], qdd[:, 1])
    again = pickle.loads(pickle.dumps(parameters))
    np.testing.assert_array_equal(again.matrix(q, qd, qdd), Y)
    with pytest.raises(InputError, match="coulomb='none' is not one of 'smooth', 'sign', None"):
        ParameterSet.of(robot, coulomb="none")


def test_the_failure_of_the_textbook_is_explained() -> None:
    """Two links, known centres of mass, gravity forgotten: a mass and a moment of the first link cannot be told apart."""
    arm = qddot.load("two_link").with_gravity((0, 0, 0))
    parameters = ParameterSet.of(arm, **BARE).known_centres(("m", "Izz"))
    base = base_parameters(parameters)
    assert (base.rank, len(parameters.names)) == (3, 4)
    (reason,) = explanations(base).values()
    assert "there is no gravity; with gravity along" in reason
    assert "proportional" in reason


def test_friction_by_the_load_of_a_heavy_arm() -> None:
    """Its columns are as large as the load, and those of other friction are no rounding beside them."""
    upper = qddot.Builder("press", gravity=(0, 0, -9.81)).body("upper", axis="y", mass=8000, com=(1.0, 0, 0), tensor=(80, 900, 900))
    robot = upper.body("fore", "upper", axis="y", xyz=(2.0, 0, 0), mass=3000, com=(0.8, 0, 0), tensor=(30, 300, 300)).robot()
    base = base_parameters(ParameterSet.of(robot, load=True))
    assert {f"{joint}.{kind}" for joint in robot.joint_names for kind in ("viscous", "coulomb", "load")} <= {*base.names}
    assert not base.rounded
