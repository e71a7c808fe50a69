"""Exciting motions among things, after others, and from a recording."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify import Log
from qddot.identify.excitation.capsules import about, described_capsules
from qddot.identify.excitation.clearance import Clearance
from qddot.robot import Robot, RobotLimits

pytest.importorskip("casadi")

LIMITS = RobotLimits(np.full(2, -2.5), np.full(2, 2.5), np.full(2, 2.5), np.full(2, 60.0))
SMALL = {"period": 5.0, "harmonics": 2, "ramp": 1.0, "limits": LIMITS, "acceleration": 12.0, "starts": 2, "iterations": 40}
LINK = """<link name="{0}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
<visual><origin xyz="0.2 0 0" rpy="0 1.5707963 0"/><geometry><cylinder radius="0.03" length="0.4"/></geometry></visual></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3}"/><axis xyz="0 1 0"/>
<limit lower="-2.5" upper="2.5" effort="60" velocity="2.5"/></joint>"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """Two rods that swing in a vertical plane, a metre above the ground."""
    text = f"""<robot name="rods"><link name="base"/>{LINK.format("upper")}{LINK.format("fore")}
    {JOINT.format("shoulder", "base", "upper", "0 0 1")}{JOINT.format("elbow", "upper", "fore", "0.4 0 0")}</robot>"""
    path = tmp_path_factory.mktemp("rods") / "rods.urdf"
    path.write_text(text)
    return qddot.load(path)


def test_capsules_hold_what_they_are_about() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        points = draw.normal(size=(40, 3)) * draw.uniform(0.05, 1.0, 3) + draw.normal(size=3)
        found = about("link", points)
        a, b = np.array(found.start.offset), np.array(found.end.offset)
        s = np.clip((points - a) @ (b - a) / max((b - a) @ (b - a), 1e-12), 0, 1)
        assert np.linalg.norm(points - a - s[:, None] * (b - a), axis=1).max() < found.radius + 1e-9


def test_capsules_of_the_description(arm: Robot) -> None:
    found = {capsule.body: capsule for capsule in described_capsules(arm)}
    assert set(found) == {"upper", "fore"}
    assert found["fore"].radius == pytest.approx(0.03, rel=0.03)
    ends = sorted((found["fore"].start.offset[0], found["fore"].end.offset[0]))
    assert ends == pytest.approx([0.0, 0.4], abs=0.035)
    with pytest.raises(InputError, match="draws no shapes"):
        described_capsules(qddot.load("two_link"))


def test_distances_are_never_overrated(arm: Robot) -> None:
    """Beside those of points all over the rods."""
    box, draw = ((0.55, 0.0, 1.3), (0.2, 0.4, 0.2)), np.random.default_rng(1)
    q = np.stack([arm.random_configuration(draw) for _ in range(200)])
    found = Clearance.of(arm, "described", 0.4, [box])
    points = np.concatenate([surface(arm, q, body) for body in ("upper", "fore")], axis=1)
    height = points[..., 2].min(axis=1) - 0.4
    beside = np.linalg.norm(np.maximum(np.abs(points - box[0]) - np.array(box[1]) / 2, 0), axis=-1).min(axis=1)
    least = found.clearance(arm, q).min(axis=1)
    assert (least <= np.minimum(height, beside) + 1e-9).all()
    clear = least > 0
    assert 10 < clear.sum() < 190
    assert (np.minimum(height, beside)[clear] > 0).all()


def surface(arm: Robot, q: np.ndarray, body: str) -> np.ndarray:
    """Points (N, k, 3) on a rod."""
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.stack([0 * angle, 0.03 * np.cos(angle), 0.03 * np.sin(angle)], axis=1)
    rod = np.vstack([ring + np.array([x, 0, 0]) for x in np.linspace(0, 0.4, 20)])
    T = arm.transform(q, body)
    return np.einsum("nij,kj->nki", T[:, :3, :3], rod) + T[:, None, :3, 3]


@pytest.mark.slow
def test_floor_and_boxes_are_kept_clear_of(arm: Robot) -> None:
    """Looked at with points all over the rods, which know nothing of capsules."""
    box = ((0.55, 0.0, 1.3), (0.2, 0.4, 0.2))
    motion = arm.excitation(**{**SMALL, "iterations": 100}, radius="described", floor=0.4, boxes=[box])
    assert min(motion.margins) >= 0
    assert np.isfinite(motion.margins.distance)
    q = motion.sample(200.0)[1]
    for body in ("upper", "fore"):
        points = surface(arm, q, body)
        assert points[..., 2].min() > 0.4
        inside = (np.abs(points - box[0]) < np.array(box[1]) / 2).all(axis=-1)
        assert not inside.any()
    free = arm.excitation(**SMALL)
    assert Clearance.of(arm, "described", 0.4, [box]).clearance(arm, free.sample(200.0)[1]).min() < 0


def test_a_second_motion_shows_what_the_first_does_not(arm: Robot) -> None:
    options = {**SMALL, "starts": 1, "iterations": 25}
    first = arm.excitation(**options)
    second = arm.excitation(**options, after=[first])
    assert second.rank == first.rank
    assert second.log_det > first.log_det + 0.9 * first.rank * np.log(2)  # at least as much as driving the first one twice
    t, q, qd, qdd = first.sample(100.0)
    tau = arm.inverse_dynamics(q, qd, qdd) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    fit = arm.identify(Log(t, q, tau, joint_names=arm.joint_names))
    assert arm.excitation(**options, after=fit).log_det > first.log_det


def test_the_search_begins_at_a_recording(arm: Robot) -> None:
    first = arm.excitation(**SMALL)
    t, q, _, _ = first.sample(100.0)
    log = Log(t, q, 0 * q + 1.0, joint_names=arm.joint_names)
    lines: list[str] = []
    again = arm.excitation(**{**SMALL, "starts": 1, "iterations": 3}, near=log, on_progress=lines.append)
    assert again.log_det > first.log_det - 1.0
    with pytest.raises(InputError, match="as long as a period"):
        arm.excitation(**SMALL, near=log[:100])


def test_what_is_missing_is_said(arm: Robot) -> None:
    with pytest.raises(InputError, match="how thick"):
        arm.excitation(**SMALL, floor=0.0)
    with pytest.raises(InputError, match="edges above 0"):
        arm.excitation(**SMALL, radius=0.03, boxes=[((0, 0, 0), (1, 0, 1))])
    with pytest.raises(InputError, match="radius"):
        arm.excitation(**SMALL, radius="thick")
    with pytest.raises(InputError, match="below the floor in each of 60 postures"):
        arm.excitation(**SMALL, radius="described", floor=3.0)
