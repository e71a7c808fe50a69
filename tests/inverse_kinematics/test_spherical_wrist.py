"""All solutions of arms with a spherical wrist: the configuration one began with is among them, and a search finds no other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot.inverse_kinematics.search import polished
from qddot.inverse_kinematics.solutions import by_search, distinct
from qddot.inverse_kinematics.target import as_target

rng = np.random.default_rng(7)


def wristed(kind: str):
    """Six hinges: three anywhere (or with axes 1 and 2 parallel, or meeting), then three through one point."""
    w, p = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    p[3:] = p[3]
    if kind == "parallel":
        w[1] = w[0]
    if kind == "antiparallel":
        w[1] = -w[0]
    if kind == "meeting":
        p[1] = p[0]
    home = np.eye(4)
    home[:3, 3] = rng.normal(size=3)
    return qddot.from_screws(np.concatenate([w, np.cross(p, w)], axis=1), tool=home)


def turns(a, b):
    return np.abs((a - b + np.pi) % (2 * np.pi) - np.pi).max(-1)


@pytest.mark.parametrize("kind", ["anywhere", "parallel", "antiparallel", "meeting"])
def test_the_configuration_one_began_with_is_found_and_a_search_finds_no_other(kind):
    robot = wristed(kind)
    q = rng.uniform(-np.pi, np.pi, (200, 6))
    T = robot.transform(q)
    found = robot.inverse_kinematics_solutions(T)
    assert found.method == "spherical wrist"
    assert_allclose(robot.transform(found.q), T[found.pose], atol=1e-9)
    assert max(turns(found[k], q[k]).min() for k in range(200)) < 1e-5
    assert found.isolated.all()
    assert found.count.max() <= 8
    assert (found.count % 2 == 0).all()

    target = as_target(robot._evaluate, T[:5], None, None, robot.limits[:2], True, (), 1e-9)
    searched, pose = by_search(target, np.zeros(6), 500, 0)
    searched = polished(target, searched, T[pose], 4).q
    searched, pose = distinct(target, (searched + np.pi) % (2 * np.pi) - np.pi, pose)
    for k in range(5):
        assert all(turns(found[k], x).min() < 1e-5 for x in searched[pose == k])


def test_all_eight_of_the_puma():
    robot = qddot.load("puma560")
    q = rng.uniform(-1.5, 1.5, (100, 6))
    T = robot.transform(q)
    found = robot.inverse_kinematics_solutions(T, limits=False)
    assert_array_equal(found.count, 8)
    assert_allclose(robot.transform(found.q), T[found.pose], atol=1e-12)
    assert max(turns(found[k], q[k]).min() for k in range(100)) < 1e-9
    kept = robot.inverse_kinematics_solutions(T)
    low, high = robot.limits[:2]
    assert ((kept.q >= low) & (kept.q <= high)).all()
    assert len(kept) >= ((found.q >= low) & (found.q <= high)).all(-1).sum()  # a hinge may have another turn within its limits
    assert repr(found) == "Solutions: 800 configurations of 100 poses (spherical wrist)"
    assert [len(each) for each in found] == [8] * 100
    with pytest.raises(IndexError):
        found[100]


def test_a_singular_wrist_is_said_to_be_one():
    robot = qddot.load("puma560")
    T = robot.transform([0.3, -0.4, 0.2, 0.5, 0.0, 0.1])
    found = robot.inverse_kinematics_solutions(T, limits=False)
    straight = found.q[~found.isolated]
    assert len(straight)
    assert_allclose(np.sin(straight[:, 4]), 0, atol=1e-4)
    assert_allclose(robot.transform(found.q), np.broadcast_to(T, (len(found), 4, 4)), atol=1e-9)


def test_arms_without_such_a_wrist_are_searched():
    robot = qddot.load("arm7")
    q = np.array([0.2, -0.3, 0.4, -1.0, 0.3, 0.8, 0.1])
    found = robot.inverse_kinematics_solutions(robot.transform(q), start=q, hold=[robot.joint_names[0]], limits=False)
    assert found.method == "search"
    assert turns(found.q, q).min() < 1e-6
    assert_array_equal(found.q[:, 0], 0.2)
