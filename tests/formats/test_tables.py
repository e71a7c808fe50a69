import json

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

from qddot.errors import ModelStructureError, ModelValueError, ModelWarning
from qddot.formats import load_model
from qddot.formats.dh import DHRow, dh_model
from qddot.formats.screws import inertia_from_spatial_matrix, screws_model
from qddot.model.description import Limits, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from tests.formats.kinematics import bracket, rot, trans, world_pose
from tests.reference import PEER_VECTORS

ROWS = [
    {"a": 0.1, "alpha": 0.7, "d": 0.3, "theta": 0.4},
    {"a": -0.2, "alpha": -1.1, "d": 0.25, "theta": 0.9, "type": "P"},
    {"a": 0.3, "alpha": np.pi / 2, "d": -0.1, "theta": 0.0, "type": "R"},
    {"d": 0.4, "theta": -0.3, "type": "prismatic"},
]
Q = [0.5, -0.6, 1.2, 0.35]


def hand_written(rows, q, convention):
    """The table's 4 x 4 product, as the textbook prints it."""
    T, frames = np.eye(4), []
    for row, qi in zip(rows, q, strict=True):
        a, alpha, d, theta = (row.get(key, 0.0) for key in ("a", "alpha", "d", "theta"))
        if row.get("type", "R") in ("P", "prismatic"):
            d = d + qi
        else:
            theta = theta + qi
        if convention == "standard":
            T = T @ rot("z", theta) @ trans(z=d) @ trans(x=a) @ rot("x", alpha)
        else:
            T = T @ rot("x", alpha) @ trans(x=a) @ rot("z", theta) @ trans(z=d)
        frames.append(T)
    return frames


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_dh_link_frames_are_the_product_of_the_rows(convention):
    model = dh_model(ROWS, convention=convention)
    for i, expected in enumerate(hand_written(ROWS, Q, convention), 1):
        np.testing.assert_allclose(world_pose(model, f"link{i}", Q), expected, atol=1e-14)


def test_dh_rows_as_sequences_mappings_and_objects_agree():
    row = (0.1, 0.2, 0.3, 0.4)
    poses = [
        world_pose(dh_model([r]), "link1", [0.5])
        for r in (row, np.array(row), dict(zip(("a", "alpha", "d", "theta"), row)), DHRow(*row))
    ]
    for pose in poses[1:]:
        np.testing.assert_array_equal(pose, poses[0])


def test_dh_names_drives_limits_and_inertias_go_to_their_joint():
    model = dh_model(
        [(1, 0, 0, 0)] * 2,
        link_names=["upper", "lower"],
        joint_names=["shoulder", "elbow"],
        inertias=[Inertia(1.0), Inertia(2.0)],
        drives=[None, Drive(viscous=0.1)],
        limits=[None, (-1, 2)],
        base="ground",
        gravity=(0, -9.81, 0),
    )
    assert [link.name for link in model.links] == ["ground", "upper", "lower"]
    assert [(j.name, j.parent, j.child) for j in model.joints] == [("shoulder", "ground", "upper"), ("elbow", "upper", "lower")]
    assert model.links[2].inertia.mass == 2.0
    assert model.joints[1].drive.viscous == 0.1
    assert (model.joints[1].limits.lower, model.joints[1].limits.upper) == (-1, 2)
    assert model.gravity == (0, -9.81, 0)


def test_dh_right_angles_stay_exact():
    model = dh_model([(0, np.pi / 2, 0, np.pi)], inertias=[Inertia(1.0, tensor=(1, 1, 1))])
    numbers = [x for row in (*model.joints[0].origin.R, *model.joints[0].tip.R) for x in row]
    assert all(x in (0.0, 1.0, -1.0) for x in numbers)


def test_dh_symbols_stay_open():
    l, m = sympy.symbols("l m", real=True)
    model = dh_model([(l, 0, 0, 0)], inertias=[Inertia.point(m)])
    assert model.symbols == {l, m}
    np.testing.assert_allclose(world_pose(model.subs({l: 0.5, m: 1}), "link1", [0.0]), trans(x=0.5))


def test_texts_are_expressions_as_in_a_file():
    model = dh_model([("l", "pi/2", "l/2", "0.1")], inertias=[Inertia.point(1.0)])
    assert {str(x) for x in model.symbols} == {"l"}
    same = dh_model([(0.5, np.pi / 2, 0.25, 0.1)], inertias=[Inertia.point(1.0)])
    bound = model.subs(dict.fromkeys(model.symbols, 0.5))
    np.testing.assert_allclose(world_pose(bound, "link1", [0.3]), world_pose(same, "link1", [0.3]), atol=1e-15)
    with pytest.raises(ModelValueError, match=r"d='l/': .*it ends too early"):
        dh_model([(0, 0, "l/", 0)])


@pytest.mark.parametrize(
    ("row", "attribute"),
    [((float("nan"), 0, 0, 0), "a"), ((0, float("inf"), 0, 0), "alpha"), ((0, 0, "inf", 0), "d"), ((0, 0, 0, True), "theta")],
)
def test_dh_refuses_what_is_no_number(row, attribute):
    with pytest.raises(ModelValueError, match="not a finite number") as caught:
        dh_model([(0, 0, 0, 0), row])
    assert (caught.value.element, caught.value.attribute) == ("dh row 2", attribute)


def test_dh_refuses_wrong_rows():
    with pytest.raises(ModelValueError, match=r"dh row 1 .*a row is"):
        dh_model([(0, 0, 0)])
    with pytest.raises(ModelValueError, match="did you mean 'theta'"):
        dh_model([{"thta": 0}])
    with pytest.raises(ModelValueError, match="unknown joint type"):
        dh_model([{"type": "ball"}])
    with pytest.raises(ModelValueError, match="did you mean 'modified'"):
        dh_model([(0, 0, 0, 0)], convention="modifed")
    with pytest.raises(ModelStructureError, match="no rows"):
        dh_model([])
    with pytest.raises(ModelStructureError, match="1 inertias for 2 joints"):
        dh_model([(0, 0, 0, 0)] * 2, inertias=[Inertia(1.0)])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"inertias": [1, 2, 3]}, r"inertias \[0\]='1': an Inertia is needed"),
        ({"drives": [None, 2, 3]}, r"drives \[1\]='2': a Drive is needed"),
        ({"joint_names": [1, 2, 3]}, r"joint_names \[0\]='1': a text is needed"),
        ({"link_names": [1, 2, 3]}, r"link_names \[0\]='1': a text is needed"),
        ({"limits": 1}, "limits '1': a list with one entry a joint"),
        ({"limits": [1, 2, 3]}, "joint 1 limits='1': Limits or a pair"),
        ({"limits": [(0, 1, 2)] * 3}, "Limits or a pair"),
        ({"limits": [("a", 1)] * 3}, "joint 1 lower='a'"),
        ({"mimics": [None, 3, None]}, "joint 2 mimic='3': no joint to follow"),
        ({"base_inertia": 3}, "base_inertia='3': an Inertia is needed"),
        ({"base": 3}, "base '3': a pose is a 4 x 4 matrix"),
        ({"name": 3}, "name='3': a text is needed"),
        ({"frames": [3]}, "frames='3': a Frame is needed"),
    ],
)
def test_parts_of_the_wrong_type_are_refused_by_name(parts, message):
    with pytest.raises(ModelValueError, match=message):
        dh_model([(1, 0, 0, 0)] * 3, **parts)


@pytest.mark.parametrize("rows", [3, "abc", {"a": 1}, None])
def test_a_table_is_a_list(rows):
    with pytest.raises(ModelValueError, match=r"rows.*a list is needed"):
        dh_model(rows)
    with pytest.raises(ModelValueError, match=r"screws.*a list is needed"):
        screws_model(rows)


def test_limits_and_mimics_in_every_form():
    limits = [np.array([0, 1.0]), Limits(velocity=2), (-1, 1)]
    model = dh_model([(1, 0, 0, 0)] * 3, limits=limits, mimics=[None, "joint1", ("joint1", 2, 0.5)])
    assert [joint.limits for joint in model.joints] == [Limits(0, 1), Limits(velocity=2), Limits(-1, 1)]
    assert [joint.mimic for joint in model.joints] == [None, Mimic("joint1"), Mimic("joint1", 2, 0.5)]
    model = dh_model([(1, 0, 0, 0)] * 2, limits=np.array([[0, 1.0], [2, 3]]))
    assert [joint.limits for joint in model.joints] == [Limits(0, 1), Limits(2, 3)]


def test_the_base_may_have_inertia():
    assert dh_model([(1, 0, 0, 0)], base_inertia=Inertia(2.0)).links[0].inertia.mass == 2
    assert screws_model([[0, 0, 1, 0, 0, 0]], base_inertia=Inertia(2.0)).links[0].inertia.mass == 2


@pytest.mark.parametrize("row", [{"alpha": 90}, {"theta": -180}])
def test_angles_that_look_like_degrees_are_reported(row):
    with pytest.warns(ModelWarning, match=r"dh row 1 .*are these degrees\?"):
        dh_model([row])


def test_the_pitch_of_a_huge_expression_takes_no_time():
    a = sympy.symbols("a:9", real=True)
    power = sympy.Pow(sum(a), 64)
    screws = [[0, 0, 1, 0, power, 0], [0, 0, 1, 0, 0, power], [0, 0, 1, power, 0, a[0]]]
    assert [joint.kind for joint in screws_model(screws).joints] == ["revolute", "helical", "helical"]


def test_a_pitch_that_cancels_is_none():
    l = sympy.Symbol("l", real=True)
    (joint,) = screws_model([[0.6, 0, 0.8, 4 * l * (l + 1), 0, -3 * l**2 - 3 * l]]).joints
    assert joint.kind == "revolute"


def test_a_table_without_inertias_is_kinematics_but_not_when_strict():
    with pytest.warns(ModelWarning, match="massless"):
        dh_model([(1, 0, 0, 0)])
    with pytest.raises(ModelValueError, match="massless"):
        dh_model([(1, 0, 0, 0)], strict=True)
    with pytest.raises(ModelValueError, match="no link has inertia"):
        dh_model([(1, 0, 0, 0)] * 2, strict=True)
    with pytest.warns(ModelWarning, match="massless"):  # screws alone are kinematics
        screws_model([[0, 0, 1, 0, 0, 0]], strict=True)
    with pytest.raises(ModelValueError, match="massless"):
        dh_model([(1, 0, 0, 0)] * 2, inertias=[Inertia(1.0), None], strict=True)


def test_a_table_without_its_convention_is_read_as_standard_and_says_so(tmp_path):
    rows = [(0.3, 0.4, 0.5, 0.6)]
    with pytest.warns(ModelWarning, match=r"dh: no convention is given: the table is read as standard DH \(say convention"):
        assert dh_model(rows).joints == dh_model(rows, convention="standard").joints
    path = tmp_path / "arm.toml"
    path.write_text("\ndh = [[0.3, 0.4, 0.5, 0.6]]")
    with pytest.warns(ModelWarning, match=r"arm.toml:2:6: dh: no convention is given"):
        assert load_model(path).joints == dh_model(rows).joints


# screws -------------------------------------------------------------------------------------------------------------------------

SCREWS = [
    [0, 0, 1, 4, 0, 0],  # a hinge off the origin
    [0, 0, 0, 0, 1, 0],  # a slider
    [0, 0, -1, -6, 0, -0.1],  # a helical joint
    [0.6, 0, 0.8, 0.2, -0.3, 0.1],
]
HOMES = [trans(1, 2, 3) @ rot("x", 0.3), trans(0, 1, 0) @ rot("y", 1.2), trans(-1, 0, 0.5), trans(0.2, 0, 0) @ rot("z", 2)]
TOOL = trans(0, 6, 2) @ rot("x", np.pi)


def exponentials(screws, q):
    T, found = np.eye(4), []
    for S, qi in zip(screws, q, strict=True):
        T = T @ expm(bracket(S) * qi)
        found.append(T)
    return found


def test_screws_place_links_and_tool_by_the_product_of_exponentials():
    model = screws_model(SCREWS, HOMES, tool=TOOL)
    assert [joint.kind for joint in model.joints] == ["revolute", "prismatic", "helical", "helical"]
    for i, T in enumerate(exponentials(SCREWS, Q)):
        np.testing.assert_allclose(world_pose(model, f"link{i + 1}", Q), T @ HOMES[i], atol=1e-13)
    np.testing.assert_allclose(world_pose(model, "tool", Q), T @ TOOL, atol=1e-13)


def test_screws_of_any_length_move_that_much_more():
    screws = [[2.5 * x for x in S] for S in SCREWS]
    with pytest.warns(ModelWarning, match="screw 2 .*length 2.5, not 1"):
        model = screws_model(screws, HOMES, tool=TOOL)
    np.testing.assert_allclose(world_pose(model, "tool", Q), exponentials(screws, Q)[-1] @ TOOL, atol=1e-12)


def test_screws_without_home_poses_stand_on_their_axes():
    model = screws_model(SCREWS, tool=TOOL)
    np.testing.assert_allclose(world_pose(model, "link1", [0, 0, 0, 0]), trans(0, 4, 0), atol=1e-15)
    np.testing.assert_allclose(world_pose(model, "tool", Q), exponentials(SCREWS, Q)[-1] @ TOOL, atol=1e-13)


def test_body_screws_are_the_same_arm():
    space = screws_model(SCREWS, HOMES, tool=TOOL)
    R, p = TOOL[:3, :3], TOOL[:3, 3]
    body = [[*(R.T @ S[:3]), *(R.T @ (np.array(S[3:]) - np.cross(p, S[:3])))] for S in SCREWS]
    model = screws_model(body, HOMES, tool=TOOL, body_screws=True)
    np.testing.assert_allclose(world_pose(model, "tool", Q), world_pose(space, "tool", Q), atol=1e-13)
    with pytest.raises(ModelValueError, match="give the pose of the tool"):
        screws_model(body, body_screws=True)


def test_relative_poses_are_multiplied_and_end_with_the_tool():
    steps = [HOMES[0], *(np.linalg.inv(a) @ b for a, b in zip(HOMES, [*HOMES[1:], TOOL]))]
    model = screws_model(SCREWS, steps, relative=True)
    reference = screws_model(SCREWS, HOMES, tool=TOOL)
    for frame in ("link1", "link4", "tool"):
        np.testing.assert_allclose(world_pose(model, frame, Q), world_pose(reference, frame, Q), atol=1e-12)


def test_screws_with_symbolic_lever_arm():
    l = sympy.Symbol("l", real=True)
    model = screws_model([[0, 0, 1, 0, -l, 0]], inertias=[Inertia(1.0)])
    assert model.joints[0].kind == "revolute"
    np.testing.assert_allclose(world_pose(model.subs({l: 2.0}), "link1", [0.3]), trans(2) @ rot("z", 0.3))


def test_screws_refuse_what_moves_nothing_and_poses_outside_se3():
    with pytest.raises(ModelValueError, match=r"screw 2 .*it has no direction"):
        screws_model([SCREWS[0], [0] * 6])
    with pytest.raises(ModelValueError, match=r"screw 1 screw=.*6 numbers are needed, there are 5"):
        screws_model([[0, 0, 1, 0, 0]])
    with pytest.raises(ModelValueError, match=r"home pose 1 .*\|R\^T R - I\| = 3"):
        screws_model([SCREWS[0]], [np.diag([2.0, 1, 1, 1])])
    with pytest.raises(ModelValueError, match="reflection"):
        screws_model([SCREWS[0]], tool=np.diag([1.0, 1, -1, 1]))
    bad = np.eye(4)
    bad[1, 3] = np.nan
    with pytest.raises(ModelValueError, match="tool row 2 column 4='nan': not a finite number"):
        screws_model([SCREWS[0]], tool=bad)
    with pytest.raises(ModelValueError, match="4 x 4"):
        screws_model([SCREWS[0]], tool=np.eye(3))
    with pytest.raises(ModelStructureError, match="2 home poses for 1 screws"):
        screws_model([SCREWS[0]], HOMES[:2])


def test_inertia_from_spatial_matrix_inverts_the_matrix():
    inertia = Inertia(2.0, (0.1, -0.2, 0.3), (0.4, 0.01, 0.02, 0.5, 0.03, 0.6))
    m, h, I = inertia.rigid
    H = np.array([[0, -h.z, h.y], [h.z, 0, -h.x], [-h.y, h.x, 0]])
    found = inertia_from_spatial_matrix(np.block([[np.array(I), H], [H.T, m * np.eye(3)]]))
    np.testing.assert_allclose(found.ten_vector(), inertia.ten_vector(), atol=1e-15)
    assert inertia_from_spatial_matrix([1, 2, 3, 4, 4, 4]) == Inertia(4.0, tensor=(1, 2, 3))
    with pytest.raises(ModelValueError, match="no rigid body"):
        inertia_from_spatial_matrix([1, 2, 3, 4, 4, 5])


def test_the_three_link_arm_with_a_raw_screw():
    robot = json.loads(PEER_VECTORS.read_text())["robots"]["mr_3link"]
    screws, steps = robot["Slist_rows"], [np.array(M) for M in robot["Mlist"]]
    inertias = [inertia_from_spatial_matrix(G) for G in robot["Glist_diag"]]
    with pytest.warns(ModelWarning, match="screw 1 .*1.41421"):
        model = screws_model(screws, steps, relative=True, inertias=inertias)
    assert [joint.kind for joint in model.joints] == ["revolute"] * 3
    q, T, M = [0.3, -0.4, 0.5], np.eye(4), np.eye(4)
    for i, S in enumerate(screws):
        T, M = T @ expm(bracket(S) * q[i]), M @ steps[i]
        np.testing.assert_allclose(world_pose(model, f"link{i + 1}", q), T @ M, atol=1e-13)
    np.testing.assert_allclose(world_pose(model, "tool", q), T @ M @ steps[3], atol=1e-13)


@pytest.mark.parametrize("name", ["mr_fk3_space", "mr_fk3_body"])
def test_published_forward_kinematics(name):
    peers = json.loads(PEER_VECTORS.read_text())
    robot = peers["robots"][name]
    (vector,) = [v for v in peers["vectors"] if v["robot"] == name and v["function"] == "fk"]
    body = "Blist_rows" in robot
    model = screws_model(robot["Blist_rows" if body else "Slist_rows"], tool=robot["M"], body_screws=body)
    np.testing.assert_allclose(world_pose(model, "tool", vector["input"]["q"]), vector["expected"], atol=vector["tolerance_abs"])
