"""Parts of robots, tools and loads on them, and the drawing of their trees."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot import (
    Builder,
    Drive,
    Inertia,
    InputError,
    ModelReferenceError,
    ModelValueError,
    ModelWarning,
    Transmission,
    UnknownNameError,
)
from tests.robots import CLASSIC

BODY = Inertia.box(2.0, (0.3, 0.1, 0.2)).shifted((0.1, 0.05, -0.1))
ROWS = [(0.3, 0.7, 0.1, 0.2), (0.4, -1.1, 0, 0), (0.2, 0, 0.2, 0.3)]
Q, QD, QDD = np.random.default_rng(0).normal(size=(3, 3))
POSE = np.array([[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1.0]])
GEARED = Drive(gear_ratio=50, viscous=0.1)


def arm(**options) -> qddot.Robot:
    return qddot.from_dh(ROWS, convention="standard", inertias=[BODY] * 3, **options)


def two_arms() -> qddot.Robot:
    """Two arms of two links on a turning body, one of them with a sensor fixed to it."""
    builder = Builder("pair", gravity=(0, 0, -9.81)).body("torso", inertia=BODY)
    for side, y in (("left", 0.2), ("right", -0.2)):
        builder.body(f"{side}_upper", "torso", axis="y", xyz=(0, y, 0.4), rpy=(0.3, 0.2, 0.1), inertia=BODY)
        builder.body(f"{side}_fore", f"{side}_upper", axis="x", xyz=(0.3, 0, 0), inertia=BODY, drive=GEARED)
        builder.frame(f"{side}_hand", f"{side}_fore", xyz=(0.2, 0, 0))
    return builder.body("sensor", "left_upper", "fixed", inertia=Inertia.sphere(0.5, 0.1)).robot()


def test_a_tool_and_a_base_of_a_dh_table():
    plain, placed = arm(), arm(tool=POSE, base=POSE)
    assert placed.tip == "tool"
    assert_allclose(placed.transform(Q), POSE @ plain.transform(Q) @ POSE, atol=1e-14)
    with pytest.raises(ModelValueError, match="tool"):
        arm(tool=2 * POSE)


def test_body_screws_are_space_screws_seen_from_the_tool():
    """`B = Ad(M^-1) S` (Modern Robotics, 4.16)."""
    space = np.array([[0, 0, 1, 0, 0, 0], [0, 1, 0, -0.4, 0, 0], [0, 0, 0, 0, 1, 0]], float)
    R, p = POSE[:3, :3], POSE[:3, 3]
    cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    into = np.block([[R.T, np.zeros((3, 3))], [-R.T @ cross, R.T]])
    one = qddot.from_screws(space, tool=POSE, inertias=[BODY] * 3)
    other = qddot.from_screws(space @ into.T, tool=POSE, inertias=[BODY] * 3, body_screws=True)
    assert_allclose(one.transform(Q), other.transform(Q), atol=1e-14)
    assert_allclose(one.inverse_dynamics(Q, QD, QDD), other.inverse_dynamics(Q, QD, QDD), atol=1e-12)


def test_a_payload_is_one_more_body():
    load = Inertia(0.7, (0.05, 0, 0.1), (0.01, 0.02, 0.015))
    loaded = arm(tool=POSE).with_payload(load.mass, load.com, load.tensor)
    builder = Builder(gravity=(0, 0, -9.81))
    for joint, link in zip(arm().model.joints, arm().model.links[1:]):
        builder.joints.append(joint)
        builder._links.append(link)
    builder.body("load", "link3", "fixed", xyz=POSE[:3, 3], rpy=(0, 0, np.pi / 2), inertia=load)
    assert_allclose(loaded.inverse_dynamics(Q, QD, QDD), builder.robot().inverse_dynamics(Q, QD, QDD), rtol=1e-12)
    assert loaded.tip == "tool"
    with pytest.raises(ModelValueError, match="a mass is not negative"):
        arm().with_payload(-9.0)
    with pytest.raises(UnknownNameError, match="no frame 'link33'"):
        arm().with_payload(1.0, frame="link33")


def test_a_load_in_letters_is_lumped_exactly():
    """As a fixed body is: M stays a polynomial, with no division by the sum of the masses."""
    m1, m2, mp, l1, l2, lp, Ip = sympy.symbols("m1 m2 mp l1 l2 lp Ip", positive=True)
    bare = Builder("letters", gravity=(0, -9.81, 0)).body("link1", mass=m1, com=(l1, 0, 0))
    bare = bare.body("link2", "link1", xyz=(l1, 0, 0), mass=m2, com=(l2, 0, 0)).robot()
    for loaded in (
        bare.with_payload(mp, (lp, 0, 0), (0, 0, Ip)),
        bare.with_tool(np.eye(4), Inertia(mp, (lp, 0, 0), (0, 0, Ip))),
        bare.with_payload(mp / 2, (lp, 0, 0), (0, 0, Ip)).with_payload(mp / 2, (lp, 0, 0)),
    ):
        eq = loaded.equations()
        assert eq.M[1, 1] == eq.read("m2*l2**2 + mp*lp**2 + Ip")
        assert eq.M[0, 0] == eq.read("m1*l1**2 + m2*(l1**2 + 2*l1*l2*cos(q2) + l2**2) + mp*(l1**2 + 2*l1*lp*cos(q2) + lp**2) + Ip")


def test_a_load_leaves_the_tip():
    """Wherever it hangs; also of a robot with several ends."""
    assert arm().with_payload(0.3, frame="link1").with_payload(0.2).tip == "link3"
    assert [x.name for x in arm().with_payload(0.3).with_payload(0.2).model.links[-2:]] == ["payload", "payload_2"]
    with pytest.raises(InputError, match="3 ends"):
        _ = two_arms().tip
    assert two_arms().with_payload(0.5, frame=two_arms().body_names[-1]).nv == two_arms().nv


def test_a_file_keeps_the_tip(tmp_path):
    """Where there are several ends: a load beside a flange."""
    robot = arm(tool=POSE).with_payload(0.3)
    robot.to_toml(tmp_path / "arm.toml")
    again = qddot.load(tmp_path / "arm.toml")
    assert again.tip == robot.tip == "tool"
    assert_allclose(again.jacobian(Q), robot.jacobian(Q), atol=1e-12)
    (tmp_path / "arm.toml").write_text((tmp_path / "arm.toml").read_text().replace('tip = "tool"', 'tip = "tol"'))
    with pytest.raises(ModelReferenceError, match=r"arm.toml:\d+.*there is no link or frame 'tol'.*'tool'"):
        qddot.load(tmp_path / "arm.toml")


def test_a_tool_is_the_tip():
    robot = arm(tool=POSE).with_tool(POSE, Inertia.point(0.3), name="gripper")
    assert robot.tip == "gripper"
    assert_allclose(robot.transform(Q), arm().transform(Q) @ POSE @ POSE, atol=1e-14)
    assert_allclose(robot.gravity_torque(Q), arm(tool=POSE @ POSE).with_payload(0.3).gravity_torque(Q), rtol=1e-12)
    with pytest.raises(ModelValueError, match="there is a link or frame of that name"):
        robot.with_tool(POSE, name="gripper")


def test_a_chain_moves_as_it_does_in_the_robot():
    """With the other arm and the torso at rest, and gravity as it is there."""
    pair = two_arms()
    part = pair.chain("torso", "left_hand")
    assert part.joint_names == ("left_upper_joint", "left_fore_joint")
    assert part.link_names == ("torso", "left_upper", "left_fore", "sensor")
    assert part.tip == "left_hand"
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 2))
    index = [pair.joint_names.index(name) for name in part.joint_names]
    whole = np.zeros((3, pair.nv))
    whole[:, index] = q, qd, qdd
    assert_allclose(part.inverse_dynamics(q, qd, qdd), pair.inverse_dynamics(*whole)[index], rtol=1e-12)
    assert_allclose(part.transform(q), pair.transform(whole[0], "left_hand"), atol=1e-14)


def test_a_subtree_has_everything_beyond():
    pair = two_arms()
    part = pair.subtree("left_upper")
    assert part.link_names == ("left_upper", "left_fore", "sensor")
    assert set(part.frame_names) == {"left_upper", "left_fore", "sensor", "left_hand"}
    assert_allclose(part.gravity, pair.transform(np.zeros(5), "left_upper")[:3, :3].T @ pair.gravity, atol=1e-14)
    assert_allclose(pair.subtree("left_upper", gravity=(1, 2, 3)).gravity, [1, 2, 3])
    assert pair.subtree("base").nv == pair.nv


def test_what_is_no_part():
    pair = two_arms()
    with pytest.raises(InputError, match="'right_hand' does not hang on 'left_upper'"):
        pair.chain("left_upper", "right_hand")
    with pytest.raises(UnknownNameError, match="did you mean 'left_upper'"):
        pair.subtree("left_uper")
    coupled = pair.with_transmission(Transmission(("left_fore_joint", "right_fore_joint"), [[1, 1]]))
    with pytest.raises(ModelValueError, match="of which some are not in this part"):
        coupled.subtree("left_upper")
    follower = Builder().body("a", inertia=BODY).body("b", "a", inertia=BODY, mimic="a_joint").robot()
    with pytest.raises(ModelValueError, match="it follows 'a_joint', which is not in this part"):
        follower.subtree("a")
    four_bar = qddot.load("four_bar")
    with pytest.warns(ModelWarning, match="leads out of this part"):
        four_bar.subtree(four_bar.link_names[1])


# the drawing ------------------------------------------------------------------------------------------------------------------


def test_the_tree_as_text():
    assert str(two_arms().tree()).splitlines() == [
        "base",
        "`-- torso  torso_joint: revolute about z",
        "    |-- left_upper  left_upper_joint: revolute about y",
        "    |   |-- sensor  sensor_joint: fixed",
        "    |   `-- left_fore  left_fore_joint: revolute about x  [gear 50, friction]  frames: left_hand",
        "    `-- right_upper  right_upper_joint: revolute about y",
        "        `-- right_fore  right_fore_joint: revolute about x  [gear 50, friction]  frames: right_hand",
    ]


def test_motors_and_loops_stand_below_the_tree():
    pair = two_arms().with_transmission(Transmission(("left_fore_joint", "right_fore_joint"), [[10, -10]], motors=("both",)))
    assert str(pair.tree()).splitlines()[-1] == "drive: motor both turns by 10 left_fore_joint + -10 right_fore_joint"
    tree = qddot.load("four_bar").tree()
    assert "loop: connect base - rocker" in str(tree)
    assert '<tspan fill="currentColor">' in tree.svg()  # on a dark page, too


def test_names_are_text_and_never_markup(tmp_path):
    nasty = '<script>alert("&")</script>'
    tree = Builder(nasty).body(nasty, inertia=BODY).frame("<b>", nasty).robot().tree()
    root = ET.fromstring(tree.svg())
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "path", "rect", "text", "tspan"}
    assert nasty in "".join(root.itertext())
    tree.save(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == tree.svg()


@pytest.mark.parametrize("name", CLASSIC)
def test_every_tree_is_drawn(name):
    robot = qddot.load(name)
    drawn = "".join(ET.fromstring(robot.tree().svg()).itertext())
    assert all(link in drawn and link in str(robot.tree()) for link in robot.link_names)


@pytest.mark.parametrize("mass", [-0.1, -5.0])
def test_a_load_of_negative_mass_is_refused_by_its_own_name(mass):
    with pytest.raises(ModelValueError, match="load mass="):
        qddot.load("arm7").with_payload(mass)


def test_names_that_are_no_texts_are_refused():
    for call in (lambda r: r.chain(None, "body_2"), lambda r: r.chain("base", np.zeros(2)), lambda r: r.subtree(3)):
        with pytest.raises(qddot.QddotError, match="not the name of"):
            call(qddot.load("two_link"))
