"""What the joints transmit: statics by hand, Newton and Euler for the whole robot, axes, forces and batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Drive, Inertia, InputError

RNG = np.random.default_rng(2)


@pytest.fixture(scope="module")
def arm():
    return qddot.load("puma560")


def test_a_cantilever_by_hand():
    """Two rods of 2 and 3 kg stretched along x, gravity along -z, and 10 N down at the tip: what a beam's clamp takes."""
    builder = (
        Builder()
        .body("a", axis="z", mass=2.0, com=(0.25, 0, 0))
        .body("b", "a", axis="y", xyz=(0.5, 0, 0), mass=3.0, com=(0.2, 0, 0))
    )
    robot = builder.frame("tip", "b", xyz=(0.4, 0, 0)).robot()
    found = robot.joint_wrenches([0, 0], [0, 0], [0, 0], f_ext={"tip": [0, 0, 0, 0, 0, -10.0]})
    g = 9.81
    outer = [0, -(3 * g * 0.2 + 10 * 0.4), 0, 0, 0, 3 * g + 10]
    inner = [0, -(2 * g * 0.25 + 3 * g * 0.7 + 10 * 0.9), 0, 0, 0, 5 * g + 10]
    assert_allclose(found, [inner, outer], atol=1e-12)


def test_a_spinning_arm_pulls_at_its_bearing():
    """A mass on a bar of length r at the rate w: the bearing pulls it inward by m w^2 r, and the drive turns it by m r^2 a."""
    robot = Builder(gravity=(0, 0, 0)).body("bar", axis="z", mass=2.0, com=(0.5, 0, 0)).robot()
    turn = [0, 0, 2 * 0.25 * 3.0]
    assert_allclose(robot.joint_wrenches([0.7], [4.0], [3.0])[0], [*turn, -2 * 16 * 0.5, 2 * 3.0 * 0.5, 0], atol=1e-12)
    at = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]]) @ [-16.0, 3.0]
    for axes in ("parent", "world"):
        assert_allclose(robot.joint_wrenches([0.7], [4.0], [3.0], axes=axes)[0], [*turn, *at, 0], atol=1e-12)


def test_the_part_along_the_axis_is_the_load_of_the_drive(arm):
    """Inverse dynamics, but for friction and reflected inertia."""
    q, qd, qdd = RNG.normal(size=(3, 6))
    plain = qddot.Robot(
        arm.model.copy(joints=[j if j.drive is None else type(j)(**{**j.__dict__, "drive": None}) for j in arm.model.joints])
    )
    tau = plain.inverse_dynamics(q, qd, qdd)
    wrenches = arm.joint_wrenches(q, qd, qdd, axes="world")
    assert_allclose(wrenches, plain.joint_wrenches(q, qd, qdd, axes="world"), rtol=1e-12, atol=1e-12)
    J = [plain.jacobian(q, name, "world_aligned")[:3, i] for i, name in enumerate(plain.body_names)]
    assert_allclose([m @ a for m, a in zip(wrenches[:, :3], J)], tau, rtol=1e-10)


@pytest.mark.parametrize("name", ["puma560", "rp_arm", "delta"])
def test_the_first_joint_holds_the_whole_robot(name):
    """Newton: the forces of the joints on the ground are the rate of momentum, less weight and what pushes."""
    robot = qddot.load(name)
    q, qd, qdd = RNG.normal(size=(3, robot.nv)) * 0.5
    push = {robot.body_names[-1]: np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])}
    on_ground = [body.parent < 0 for body in robot.model.bodies if body.is_link]
    force = robot.joint_wrenches(q, qd, qdd, axes="world", f_ext=push)[on_ground, 3:].sum(0)
    h = 1e-5
    rate = (
        robot.momentum(q + h * qd + h * h / 2 * qdd, qd + h * qdd) - robot.momentum(q - h * qd + h * h / 2 * qdd, qd - h * qdd)
    ) / (2 * h)
    mass = sum(robot.parameters()[: 10 * len(robot.body_names) : 10])
    assert_allclose(force, rate[3:] - mass * robot.gravity - push[robot.body_names[-1]][3:], rtol=1e-6, atol=1e-5)


def test_axes_are_those_of_frames(arm):
    q, qd, qdd = RNG.normal(size=(3, 6))
    world = arm.joint_wrenches(q, qd, qdd, axes="world").reshape(6, 2, 3)
    turned = lambda frames: np.array([x @ arm.transform(q, f)[:3, :3] for x, f in zip(world, frames)]).reshape(6, 6)  # noqa: E731
    assert_allclose(arm.joint_wrenches(q, qd, qdd), turned(arm.body_names), atol=1e-10)
    parents = [joint.parent for joint in arm.model.joints if joint.kind != "fixed"]
    assert_allclose(arm.joint_wrenches(q, qd, qdd, axes="parent"), turned(parents), atol=1e-10)


def test_joints_of_every_kind():
    """Planar and free joints are one row each; forces balance body by body in world axes."""
    robot = (
        Builder()
        .body("cart", joint="planar", mass=2.0, com=(0.1, 0, 0.2), tensor=(0.1, 0.2, 0.3))
        .body("ball", "cart", "spherical", xyz=(0, 0, 0.3), mass=1.0, com=(0, 0, 0.1), tensor=(0.1, 0.1, 0.1))
        .body(
            "rod",
            "ball",
            "prismatic",
            axis=(1, 1, 0),
            xyz=(0, 0, 0.2),
            mass=0.5,
            drive=Drive(rotor_inertia=1e-5, gear_ratio=50, rotor_axis=(0, 0, 1)),
        )
        .robot()
    )
    q, qd, qdd = robot.random_configuration(1), *RNG.normal(size=(2, robot.nv))
    found = robot.joint_wrenches(q, qd, qdd, axes="world")
    assert found.shape == (3, 6)
    free = robot.joint_wrenches(q, qd, qdd, axes="world", f_ext={"rod": np.r_[found[2, :3], found[2, 3:]]})
    assert_allclose(free[2], 0, atol=1e-10)  # held from outside, the slider transmits nothing


def test_batches_and_other_tips(arm):
    q, qd, qdd = RNG.normal(size=(3, 40, 6))
    push = {arm.tip: RNG.normal(size=(40, 6))}
    batch = arm.joint_wrenches(q, qd, qdd, f_ext=push, axes="parent")
    assert batch.shape == (40, 6, 6)
    assert_array_equal(batch[7], arm.joint_wrenches(q[7], qd[7], qdd[7], f_ext={arm.tip: push[arm.tip][7]}, axes="parent"))
    assert_allclose(arm.joint_wrenches(q, qd, qdd, f_tip=push), arm.joint_wrenches(q, qd, qdd, f_ext={arm.tip: -push[arm.tip]}))
    with pytest.raises(InputError, match="axes='tool' is not one of 'body', 'parent', 'world'"):
        arm.joint_wrenches(q, qd, qdd, axes="tool")


def test_a_joint_of_a_dh_table_is_at_the_near_end():
    """The link's frame is at its far end, the moment is about the joint."""
    robot = qddot.from_dh([(0.5, 0, 0, 0)], inertias=[Inertia.point(2.0)], gravity=(0, -9.81, 0))
    assert_allclose(robot.joint_wrenches([0], [0], [0]), [[0, 0, 0.5 * 2 * 9.81, 0, 2 * 9.81, 0]], atol=1e-12)
