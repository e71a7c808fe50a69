"""Frames on common normals: the same robot, in fewer numbers."""

import numpy as np
import pytest

import qddot
from qddot.algorithms.coriolis import coriolis_matrix
from qddot.algorithms.derivatives import inverse_dynamics_derivatives
from qddot.algorithms.inverse_dynamics import inverse_dynamics
from qddot.algorithms.kinematics import frame_poses
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.model.common_normals import on_common_normals
from qddot.model.description import Joint, Link
from qddot.model.field import Floats
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.pose import ALONG, unit
from qddot.model.spatial import Mat, Vec, mat, rotate, rotation_z, turned
from tests.oracles.random_trees import random_tree
from tests.robots import random_inertia, random_pose


@pytest.mark.parametrize("seed", range(12))
def test_a_robot_in_other_frames_is_the_same_robot(seed):
    """Joint forces, matrices, derivatives and the places of all frames, of trees with every kind of joint."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 7)
    plain, moved = (model.over(Floats(), regrouped=regrouped) for regrouped in (False, True))
    q = list(qddot.Robot(model).random_configuration(rng))
    qd, qdd = rng.normal(size=(2, model.mechanism.nv)).tolist()
    found = [
        (
            inverse_dynamics(x, q, qd, qdd),
            mass_matrix(x, q),
            coriolis_matrix(x, q, qd),
            *inverse_dynamics_derivatives(x, q, qd, qdd),
        )
        for x in (plain, moved)
    ]
    for here, there in zip(*(map(np.array, x) for x in found)):
        assert abs(here - there).max() <= 1e-11 * max(1.0, abs(here).max())
    for one, other in zip(frame_poses(plain, q), frame_poses(moved, q)):
        assert np.array((*one.R, one.p), float) == pytest.approx(np.array((*other.R, other.p), float), abs=1e-12)


def test_two_lengths_and_an_angle_remain_between_hinges():
    """Of an arm whose frames stand anywhere: from one hinge to the next a turn about x, and no length across both."""
    rng = np.random.default_rng(1)
    links = [Link("base"), *(Link(f"link{k}", random_inertia(rng)) for k in range(5))]
    axes = [Vec(*unit(Vec(*rng.normal(size=3)))[0]) for _ in links]
    pairs = zip(links, links[1:], axes)
    joints = [Joint(f"joint{k}", "revolute", a.name, b.name, random_pose(rng), axis) for k, (a, b, axis) in enumerate(pairs)]
    bodies, _ = on_common_normals(Model("arm", links, joints).bodies)
    for body in bodies[1:]:
        assert body.parent != WORLD
        assert body.placement.R.a == (1, 0, 0)
        assert body.placement.p.y == 0
    assert bodies[1].placement.p.z == 0  # the first hinge's frame is where the second one's normal meets it


@pytest.mark.parametrize("before", ALONG.values())
def test_a_rotation_about_an_axis_turns_a_matrix(before: Mat):
    """By fewer products, in any order of axes, mirrored or not; exact where the scalars are."""
    a = np.exp(0.7j)
    c, s = complex(a.real), complex(a.imag)
    N = mat(np.random.default_rng(2).normal(size=(3, 3)).tolist())
    for R in (before @ rotation_z(c, s), rotation_z(c, s) @ before, Mat(Vec(-1, 0, 0), Vec(0, c, s), Vec(0, s, -c))):
        assert np.array(turned(R, N)) == pytest.approx(np.array(R @ N @ R.T), abs=1e-15)
        S = N + N.T
        assert np.array(rotate(R, S)) == pytest.approx(np.array(R @ S @ R.T), abs=1e-15)


@pytest.mark.parametrize(
    "tilt", [Mat(Vec(1, 0, 4.9e-12), Vec(0, 1, 0), Vec(-4.9e-12, 0, 1)), Mat(Vec(1, 0, 0), Vec(0, 1, -3e-13), Vec(0, 3e-13, 1))]
)
def test_an_axis_that_is_off_by_less_than_its_cosine_shows(tilt: Mat):
    """Angles such as 1.57079632679, as files have them, leave a cosine of 1 and a sine that is not 0: no digit of it is lost."""
    R = rotation_z(complex(0.8), complex(0.6)) @ tilt
    N = mat(np.diag([1.0, 2.0, 1e3]).tolist())
    assert np.array(turned(R, N)) == pytest.approx(np.array(R @ N @ R.T), abs=1e-15)
