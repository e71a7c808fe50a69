"""What somebody meets in the first minutes: the traps that were there, each with what happens now."""

import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import qddot
from qddot.cli import main
from qddot.errors import InputError, ModelValueError, UnknownNameError
from qddot.names_elsewhere import PACKAGE, ROBOT
from qddot.robot import Robot

BOTH_HANDS = """
[[bodies]]
name = "trunk"
[[bodies]]
name = "left"
parent = "trunk"
[[bodies]]
name = "right"
parent = "trunk"
"""


@pytest.fixture(scope="module")
def arm():
    return qddot.load("puma560")


# configurations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", qddot.catalog_names())
def test_home_is_inside_the_limits_of_every_robot(name):
    robot = qddot.load(name)
    q, limits = robot.home(), robot.limits
    assert q.shape == (robot.nq,)
    assert ((limits.lower <= q) & (q <= limits.upper)).all()


def test_home_leaves_joints_at_zero_that_may_stand_there():
    robot = qddot.load("arm7")
    assert robot.home().tolist() == [0, 0, 0, (-3.0 - 0.05) / 2, 0, 0, 0]
    half = qddot.load_string("[[bodies]]\nname = 'a'\nlimits = {lower = 0.5}\n[[bodies]]\nname = 'b'\nlimits = {upper = -2}")
    assert half.home().tolist() == [0.5, -2.0]


def test_many_random_configurations_at_once(arm):
    many = arm.random_configuration(seed=1, size=(3, 50))
    assert many.shape == (3, 50, 6)
    assert ((arm.limits.lower <= many) & (many <= arm.limits.upper)).all()
    assert len(np.unique(many)) == many.size
    assert arm.random_configuration(size=0).shape == (0, 6)
    for size in (-1, 2.5, True, "3", (2, -1)):
        with pytest.raises(InputError, match="size="):
            arm.random_configuration(size=size)


# simulation -------------------------------------------------------------------------------------------------------------


def test_a_pair_of_times_is_a_span_as_with_scipy():
    robot = qddot.load("two_link")
    motion = robot.simulate([0.1, 0.2], None, (0, 0.5))
    assert len(motion.t) == 501
    np.testing.assert_array_equal(motion.q, robot.simulate([0.1, 0.2], [0, 0], 0.5).q)
    later = robot.simulate([0.1, 0.2], None, (2.0, 2.5))
    assert (later.t[0], later.t[-1], len(later.t)) == (2.0, 2.5, 501)


def test_a_simulation_starts_at_rest_and_asks_how_long():
    robot = qddot.load("two_link")
    assert not robot.simulate([0.1, 0.2], t=0.01).qd[0].any()
    with pytest.raises(InputError, match=r"Give t, the final time in s: simulate\(q0, t=5\.0\)"):
        robot.simulate([0.1, 0.2])


# names ------------------------------------------------------------------------------------------------------------------


def test_a_robot_with_several_ends_says_what_to_write():
    robot = qddot.load_string(BOTH_HANDS)
    message = "no single tip but 2 ends ('left', 'right'): name the frame you mean, as in frame='left'"
    with pytest.raises(InputError, match=re.escape(message)):
        _ = robot.tip


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fkine", "Robotics Toolbox's fkine is `transform(q)` here"),
        ("getTransform", "MATLAB's getTransform is `transform(q, frame)` here"),
        ("computeMinverse", "Pinocchio's computeMinverse is `mass_matrix_inverse(q)` here"),
        ("mj_fullM", "MuJoCo's mj_fullM is `mass_matrix(q)` here"),
        ("CalcMassMatrix", "Drake's CalcMassMatrix is `mass_matrix(q)` here"),
        ("forward_kinematics", "what some call forward_kinematics is `transform(q)` here"),
        ("show", "MATLAB's show is `plot(q), or explore()` here"),
        ("mass_matirx", "Robot has no attribute 'mass_matirx': did you mean 'mass_matrix'"),
        ("zzz", "Robot has no attribute 'zzz'"),
    ],
)
def test_names_of_other_libraries_lead_to_the_name_here(arm, name, message):
    with pytest.raises(AttributeError, match=re.escape(message)):
        getattr(arm, name)
    assert not hasattr(arm, name)


def test_functions_of_other_libraries_lead_to_the_name_here():
    with pytest.raises(AttributeError, match=r"Pinocchio's buildModelFromUrdf is `qddot.load\(path\)` here"):
        _ = qddot.buildModelFromUrdf  # type: ignore[attr-defined]


def test_rooms_are_there_when_they_are_named():
    code = "import qddot; print(qddot.control.PD.__name__, qddot.lint.lint.__name__, hasattr(qddot, 'kontrol'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "PD lint False\n"


def test_every_name_that_is_recommended_exists_and_none_that_exists_is_explained():
    for names in ROBOT.values():
        for foreign, here in names.items():
            assert not hasattr(Robot, foreign), foreign
            for method in [re.match(r"-?(\w+)", here)[1], *re.findall(r"(?<![.\w])(\w+)\(", here)]:
                assert method == "nothing" or hasattr(Robot, method), here
    for names in PACKAGE.values():
        for foreign, here in names.items():
            assert foreign not in qddot.__all__
            assert here.startswith("nothing") or re.match(r"\w+", here)[0] in qddot.__all__, here


def test_a_robot_is_not_made_of_a_path():
    with pytest.raises(InputError, match=r"a Robot is made of a Model, and this is 'arm.urdf': qddot.load reads files"):
        Robot("arm.urdf")  # type: ignore[arg-type]


# words ------------------------------------------------------------------------------------------------------------------


def test_details_have_inertias_limits_and_drives_in_words(arm):
    text = str(arm.details())
    assert "puma560: moving mass 23.45 kg" in text
    assert "mass 17.4 kg, centre of mass (-0.3638, 0.006, 0.2275) m" in text
    assert "about it Ixx 0.13, Iyy 0.524, Izz 0.539 kg m^2" in text
    assert "joint2: revolute about z, -1.9199 to 1.9199 rad" in text
    friction, gear = "viscous 0.000817 N m s/rad, Coulomb 0.126/0.071 N m", "gear 107.815, rotor 0.0002 kg m^2"
    assert f"drive: {friction}, {gear} (on the motor's side)" in text
    row = arm.details().rows()[1]
    assert (row["joint"], row["mass"], row["inertia"][3]) == ("joint2", 17.4, 0.524)


def test_a_drive_shows_what_it_was_given():
    drive = qddot.Drive(gear_ratio=50, viscous=0.1)
    assert repr(drive) == "Drive(viscous=0.1, gear_ratio=50.0)"
    assert eval(repr(drive), {"Drive": qddot.Drive}) == drive
    assert repr(qddot.Drive()) == "Drive()"


# quantities -------------------------------------------------------------------------------------------------------------


def test_inverse_of_the_mass_matrix(arm):
    q = arm.random_configuration(seed=2, size=20)
    inverse = arm.mass_matrix_inverse(q)
    np.testing.assert_allclose(inverse @ arm.mass_matrix(q), np.broadcast_to(np.eye(6), (20, 6, 6)), atol=1e-12)
    np.testing.assert_array_equal(inverse, np.swapaxes(inverse, -1, -2))


def test_no_inverse_where_a_joint_moves_nothing():
    robot = qddot.load_string(
        "[[bodies]]\nname = 'a'\n[[bodies]]\nname = 'b'\ninertia = {mass = 1, com = [1, 0, 0]}\nparent = 'a'\n"
    )
    with pytest.raises(qddot.SingularityError):
        robot.mass_matrix_inverse([0.0, 0.0])


def test_all_transforms_at_once():
    robot = qddot.load("arm7")
    q = robot.random_configuration(seed=3, size=5)
    poses = robot.transforms(q)
    assert poses.shape == (5, len(robot.frame_names), 4, 4)
    for k, frame in enumerate(robot.frame_names):
        np.testing.assert_allclose(poses[:, k], robot.transform(q, frame), atol=1e-15)


@pytest.mark.parametrize("reference", ["space", "body", "world_aligned"])
@pytest.mark.parametrize("floating", [False, True])
def test_velocity_and_acceleration_of_a_frame(reference, floating):
    robot = qddot.load("arm7", floating=floating)
    rng = np.random.default_rng(4)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    J, Jdot = robot.jacobian(q, reference=reference), robot.jacobian_dot(q, qd, reference=reference)
    np.testing.assert_allclose(robot.frame_velocity(q, qd, reference=reference), J @ qd, atol=1e-12)
    np.testing.assert_allclose(robot.frame_acceleration(q, qd, qdd, reference=reference), J @ qdd + Jdot @ qd, atol=1e-11)


def test_acceleration_of_a_frame_is_pinocchio_s(tmp_path):
    pin = pytest.importorskip("pinocchio")
    qddot.load("arm7").to_urdf(tmp_path / "arm.urdf")
    robot, model = qddot.load(tmp_path / "arm.urdf"), pin.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    data, rng = model.createData(), np.random.default_rng(5)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=7), rng.normal(size=7)
    pin.forwardKinematics(model, data, q, qd, qdd)
    pin.updateFramePlacements(model, data)
    frame = model.getFrameId("flange")
    aligned, local = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, pin.ReferenceFrame.LOCAL
    for ours, theirs in (
        (robot.frame_velocity(q, qd, "flange", "world_aligned"), pin.getFrameVelocity(model, data, frame, aligned)),
        (
            robot.frame_acceleration(q, qd, qdd, "flange", "world_aligned"),
            pin.getFrameClassicalAcceleration(model, data, frame, aligned),
        ),
        (robot.frame_acceleration(q, qd, qdd, "flange", "body"), pin.getFrameAcceleration(model, data, frame, local)),
    ):
        np.testing.assert_allclose(ours, np.roll(theirs.vector, 3), atol=1e-11)


def test_joints_have_their_names_in_the_header_of_exported_c(arm, tmp_path):
    header = arm.export_c(tmp_path, ["gravity_torque"])[0].read_text()
    assert "1  joint2  revolute  q[1]  qd, qdd, tau[1]: rad" in header


def test_a_part_of_a_name_finds_it():
    with pytest.raises(qddot.UnknownNameError, match="did you mean 'panda'"):
        qddot.load("frankaEmikaPanda")
    with pytest.raises(qddot.InputError, match="LOCAL is 'body'"):
        qddot.load("two_link").jacobian([0, 0], reference="LOCAL")


def test_what_fresh_users_stumbled_on(tmp_path, monkeypatch):
    """Each of these was a bare error, a silence or a guess."""
    robot = qddot.load("two_link")
    with pytest.raises(InputError, match="a rotation"):
        robot.inverse_kinematics(np.eye(3))
    with pytest.raises(UnknownNameError, match="iiwa14, iiwa7, lwr4"):
        qddot.load("kuka")
    with pytest.raises(TypeError, match=r"call robot\.identify\(log\)"):
        qddot.identify("run.csv")  # type: ignore[operator]
    with pytest.raises(ModelValueError, match=r"write inertia = \{mass"):
        qddot.load_string('bodies = [{name = "rod", mass = 1.0}]')
    with pytest.raises(ModelValueError, match='write type = "prismatic"'):
        qddot.load_string('bodies = [{name = "rod", joint = "prismatic"}]')
    with pytest.raises(ModelValueError, match='write type = "revolute"'):  # which is no kind of joint, but perhaps its name
        qddot.load_string('bodies = [{name = "rod", joint = "elbow"}]')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    robot.to_urdf("~/arm.urdf")
    assert qddot.load("~/arm.urdf").nv == 2
    pendulum = qddot.System("m*l**2*thetad**2/2", "-m*g*l*cos(theta)", coordinates=["theta"])
    equations = pendulum.equations()
    assert str(equations.tau) == "[m*l*(l*thetadd + g*sin(theta))]"
    assert equations.V.diff("theta") == equations.V.diff("q1")
    assert r"\ddot{\theta}" in equations.tau.latex()
    assert "PD" in repr(robot.rollout(qddot.rollout.PDLaw(kp=1, kd=1)))
    assert "1 sphere, 1 plane" in repr(qddot.contact.Contacts(robot, [qddot.contact.Sphere("body_2")], [qddot.contact.Plane()]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compute", "quadruped", "jacobian"], "as in --frame front_left_foot"),
        (["derive", "quadruped"], "use --method newton-euler"),
        (["excitation", "two_link"], "(give --velocity or --acceleration)"),
        (["info", "nosuch.urdf"], "nosuch.urdf: no such robot description"),
    ],
)
def test_errors_of_the_command_line_speak_of_its_options(arguments, said):
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 1
    assert said in found.output
