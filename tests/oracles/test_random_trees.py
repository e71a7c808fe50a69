"""A thousand random trees against Pinocchio, over plain floats; a sample compiled; intermediates of a few."""

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

from qddot.algorithms.kinematics import joint_poses, world_columns, world_poses, world_velocities  # noqa: E402
from qddot.algorithms.mass_matrix import composite_inertias  # noqa: E402
from qddot.model.description import Joint, Link  # noqa: E402
from qddot.model.model import Model  # noqa: E402
from qddot.model.spatial import Vec  # noqa: E402
from qddot.robot import Robot  # noqa: E402
from tests.oracles.comparison import Plain, State, assert_close, check_dynamics, check_forward_dynamics, check_jacobians  # noqa: E402
from tests.oracles.pinocchio_oracle import ANGULAR_FIRST, described  # noqa: E402
from tests.oracles.random_trees import FRAME, random_tree  # noqa: E402
from tests.robots import random_inertia, random_pose  # noqa: E402
from tests.slow import slow_but  # noqa: E402

TREES, CHUNK, LARGEST = 1000, 50, 40


def case(seed: int, dof: int | None = None, **options):
    """A tree, its oracle and a state; the seed is the tree."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 1 + seed % LARGEST if dof is None else dof, **options)
    return model, described(model), State.random(model, rng)


@pytest.mark.parametrize("first", slow_but(range(0, TREES, CHUNK), *range(0, TREES, 5 * CHUNK)))
def test_algorithms(first):
    for seed in range(first, first + CHUNK):
        model, oracle, state = case(seed)
        assert model.mechanism.nv == 1 + seed % LARGEST
        plain = Plain(model)
        check_dynamics(plain, oracle, state)
        check_forward_dynamics(plain, oracle, state)
        reference = ("space", "body", "world_aligned")[seed % 3]
        J = oracle.jacobian(state.q, FRAME, reference)
        assert_close(plain.jacobian(state.q, frame=FRAME, reference=reference), J, what=f"{reference} Jacobian of tree {seed}")


def test_the_trees_have_everything():
    """Every joint type, mimics of mimics, joints listed before their parents, drives, and trees that branch."""
    models = [case(seed)[0] for seed in range(100)]
    joints = [joint for model in models for joint in model.joints]
    by_name = [{joint.name: joint for joint in model.joints} for model in models]
    kinds = {joint.kind for joint in joints}
    assert kinds == {"revolute", "continuous", "prismatic", "helical", "planar", "spherical", "free", "fixed"}
    assert any(j.mimic and names[j.mimic.joint].mimic for names in by_name for j in names.values())
    assert any(model.joints[0].parent != model.root for model in models)
    assert any(j.drive for j in joints)
    assert any(j.rate != 1 for j in joints)
    assert any(len({j.parent for j in model.joints}) < len(model.joints) for model in models)


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "helical"])
def test_axes_close_to_minus_z(kind):
    """Where the least rotation that takes z to the axis is nearly undetermined, nothing is lost."""
    rng = np.random.default_rng(0)
    for tilt in 10.0 ** -np.arange(1, 17):
        turn = rng.uniform(-np.pi, np.pi)
        axis = Vec(np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), -np.cos(tilt))
        links = [Link("base"), Link("first", random_inertia(rng)), Link("second", random_inertia(rng))]
        joints = [
            Joint(f"to {b}", kind, a, b, random_pose(rng), axis, pitch=0.1 if kind == "helical" else 0.0)
            for a, b in (("base", "first"), ("first", "second"))
        ]
        model = Model("tilted", links, joints)
        check_dynamics(Plain(model), described(model), State.random(model, rng))


@pytest.mark.parametrize("seed", slow_but(range(30), *range(0, 30, 2)))
def test_compiled(seed):
    model, oracle, state = case(seed, dof=1 + seed % 20)
    robot = Robot(model)
    check_dynamics(robot, oracle, state)
    check_forward_dynamics(robot, oracle, state)
    check_jacobians(robot, oracle, state, FRAME)


@pytest.mark.parametrize("seed", slow_but(range(30, 40), *range(30, 40, 3)))
def test_compiled_in_single_precision(seed):
    model, oracle, state = case(seed, dof=1 + seed % 10)
    robot = Robot(model)
    check_dynamics(robot, oracle, state, 1e-4, dtype=np.float32)
    check_jacobians(robot, oracle, state, FRAME, 1e-4, dtype=np.float32)
    assert robot.mass_matrix(state.q, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("seed", range(1010, 1020))
def test_compiled_batch(seed):
    """Many states in one call, each as Pinocchio has it alone."""
    model, oracle, _ = case(seed, dof=1 + seed % 12)
    robot, rng = Robot(model), np.random.default_rng(seed)
    states = [State.random(model, rng) for _ in range(7)]
    q, qd, qdd = (np.array(part) for part in zip(*states))
    tau, M = robot.inverse_dynamics(q, qd, qdd), robot.mass_matrix(q)
    for i, state in enumerate(states):
        assert_close(tau[i], oracle.inverse_dynamics(*state) + oracle.drive_torque(state.q, state.qd), what="inverse dynamics")
        assert_close(M[i], oracle.mass_matrix(state.q), what="mass matrix")


@pytest.mark.parametrize("seed", range(20, 40))
def test_intermediates(seed):
    """Each link's pose, velocity and acceleration; each body's composite inertia, in the world."""
    model, oracle, (q, qd, qdd) = case(seed)
    plain, there, data = Plain(model), oracle.model, oracle.data
    pin.forwardKinematics(there, data, oracle.q(q), oracle.v(qd), oracle.v(qdd))
    poses = world_poses(plain.lifted, q)
    velocities = world_velocities(plain.lifted, world_columns(plain.lifted, poses), qd)
    for body in model.bodies:
        if not body.is_link:
            continue
        id, pose = oracle.frames[body.name]
        placed = data.oMi[id] * pose
        T = poses[body.index] @ body.link
        assert_close(np.array(T.R, float), placed.rotation, what="rotation")
        assert_close(T.p, placed.translation, what="position")
        twist = data.oMi[id].act(data.v[id]).vector[ANGULAR_FIRST]
        assert_close(velocities[body.index].components(), twist, what="velocity")
        J, Jdot = (
            f(q, *rate, frame=body.name, reference="body") for f, rate in ((plain.jacobian, ()), (plain.jacobian_dot, (qd,)))
        )
        acceleration = pose.actInv(data.a[id]).vector[ANGULAR_FIRST]
        assert_close(J @ qdd + Jdot @ qd, acceleration, what="acceleration")


@pytest.mark.parametrize("seed", range(20, 40))
def test_composite_inertias(seed):
    model, oracle, (q, *_) = case(seed)
    plain, there, data = Plain(model), oracle.model, oracle.data
    pin.forwardKinematics(there, data, oracle.q(q))
    pin.crba(there, data, oracle.q(q), pin.Convention.LOCAL)
    poses = world_poses(plain.lifted, q)
    ours = composite_inertias(plain.lifted, joint_poses(plain.lifted, q))
    for i, (driven, inertia) in enumerate(zip(oracle.driven, ours, strict=True)):
        m, h, I = poses[i].out_inertia(inertia)
        theirs = data.oMi[driven.id].act(data.Ycrb[driven.id])
        matrix = theirs.matrix()
        assert_close(m, theirs.mass, what="mass")
        assert_close(h, theirs.mass * theirs.lever, what="first moment")
        assert_close(np.array(I, float), matrix[3:, 3:], what="tensor")
