"""Closed loops and coupled joints in our own schema."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot import ModelReferenceError, ModelValueError
from qddot.formats import load_model
from qddot.model.constraints import Connect, Coupling, Weld
from qddot.model.spatial import Transform, Vec

ARM = """
values = {l = 0.5, ratio = -2}

[[bodies]]
name = "upper"
joint_name = "joint1"
inertia = {mass = 1, com = [0.5, 0, 0]}

[[bodies]]
name = "lower"
joint_name = "joint2"
parent = "upper"
xyz = [1, 0, 0]
inertia = {mass = 1, com = [0.5, 0, 0]}

[[frames]]
name = "tip"
link = "lower"
xyz = ["l", 0, 0]
"""


@pytest.fixture
def read(tmp_path):
    def load(text, **options):
        file = tmp_path / "arm.toml"
        file.write_text(ARM + text)
        return load_model(file, **options)

    return load


def test_a_connection_of_frames_is_one_of_points_on_links(read):
    (found,) = read('[[constraints]]\nconnect = ["base", "tip"]\naxes = "xy"\nname = "loop"').constraints
    assert found == Connect("loop", "base", "lower", point2=Vec(0.5, 0.0, 0.0), axes="xy")
    assert found.place.line == 20


def test_a_weld_with_a_pose(read):
    (found,) = read('[[constraints]]\nweld = ["tip", "base"]\npose = {xyz = [0, 0, 0.1]}\nactive = false').constraints
    assert isinstance(found, Weld)
    assert (found.name, found.link1, found.link2, found.active) == ("constraint_1", "lower", "base", False)
    assert found.pose1.p == (0.5, 0, 0.1)
    assert found.pose2 == Transform()


def test_coupled_joints(read):
    couple = '[[constraints]]\ncouple = ["joint2", "joint1"]\n'
    first, second = read(f'{couple}coefficients = [0.5, "ratio"]\n{couple}').constraints
    assert first == Coupling("constraint_1", "joint2", "joint1", (0.5, -2.0))
    assert second.coefficients == (0.0, 1.0)


def test_symbols_in_constraints_stay_open_and_get_values(read):
    model = read('[[constraints]]\nconnect = ["base", "tip"]', symbolic=True)
    assert {str(s) for s in model.symbols} == {"l"}
    (symbol,) = model.symbols
    assert model.subs({symbol: 0.7}).constraints[0].point2.x == 0.7


def test_constraints_survive_other_gravity_and_a_floating_base(read):
    model = read('[[constraints]]\nconnect = ["base", "tip"]')
    assert model.copy(gravity=(0, 0, 0)).constraints == model.constraints
    assert model.with_floating_base().constraints == model.constraints


def test_the_robot_moves_under_its_own_active_constraints(tmp_path):
    file = tmp_path / "arm.toml"
    coupled = '[[constraints]]\ncouple = ["joint2", "joint1"]\ncoefficients = [0.1, "ratio"]\n'
    file.write_text(ARM + coupled + '[[constraints]]\nconnect = ["base", "tip"]\nactive = false')
    robot = qddot.load(file)
    np.testing.assert_allclose(robot.constraint_residual([0.2, 0.3]), [0.3 - 0.1 + 0.4])
    found = robot.constrained_forward_dynamics([0.2, -0.3], [1, -2], [0, 0])
    assert found.qdd[1] == pytest.approx(-2 * found.qdd[0])
    np.testing.assert_allclose(
        found.qdd, robot.constrained_forward_dynamics([0.2, -0.3], [1, -2], [0, 0], robot.model.constraints[0]).qdd
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('connect = ["base", "tipp"]', ModelReferenceError, "arm.toml:21.*constraint 1 connect: there is no frame 'tipp'.*'tip'"),
        ('couple = ["joint1", "joint3"]', ModelReferenceError, "there is no joint 'joint3'"),
        ('connect = ["base"]', ModelValueError, "two names are needed.*connect = "),
        ('connect = ["base", 3]', ModelValueError, "two names are needed"),
        ('connect = ["base", "tip"]\naxes = "xx"', ModelValueError, "axes='xx'.*some of x, y and z"),
        ('connect = ["base", "tip"]\npose = {}', ModelValueError, "pose.*unknown key"),
        ('conect = ["base", "tip"]', ModelValueError, "unknown key.*did you mean 'connect'"),
        ('name = "loop"', ModelValueError, "one of connect, weld, couple is needed, there are 0"),
        ('connect = ["base", "tip"]\nweld = ["base", "tip"]', ModelValueError, "there are 2"),
    ],
)
def test_what_is_wrong_is_named(read, text, error, message):
    with pytest.raises(error, match=message):
        read(f"[[constraints]]\n{text}")
