"""Numbers of a description at the edge of float64: an error that names number and quantity, or a right result; never NaN."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot import InputError, ModelValueError, SingularityError
from qddot.model.pose import unit
from qddot.model.spatial import Vec

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="{com} 0 0"/><mass value="{mass}"/>
<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="{product}" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.1 0 0"/><mass value="{mass2}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="{axis}"/></joint>
<joint name="elbow" type="continuous"><origin xyz="{origin} 0 0"/><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
{mimic}</joint></robot>"""
USUAL = {"com": 0.1, "mass": 1, "moment": 1, "product": 0, "mass2": 1, "axis": "0 0 1", "origin": 1, "mimic": ""}


@pytest.fixture
def arm(tmp_path):
    def load(**numbers):
        path = tmp_path / "arm.urdf"
        path.write_text(ARM.format(**{**USUAL, **numbers}))
        return qddot.load(path)

    return load


@pytest.mark.parametrize(
    ("numbers", "quantity", "named"),
    [
        ({"com": "1e155"}, "mass_matrix", "link 'upper' > inertial com='1e+155': mass_matrix overflows float64"),
        ({"com": "1e200"}, "inverse_dynamics", "com='1e+200': inverse_dynamics overflows"),
        ({"origin": "1e160"}, "forward_dynamics", "joint 'elbow' origin='1e+160': forward_dynamics overflows"),
        ({"mass": "1e308", "mass2": "1e308"}, "forward_dynamics", "mass='1e+308'"),
        ({"mass": "1e308", "mass2": "1e308"}, "center_of_mass", "mass='1e+308': center_of_mass overflows"),
    ],
)
def test_an_overflow_names_the_number_and_the_quantity(arm, numbers, quantity, named):
    robot = arm(**numbers)
    with pytest.raises(ModelValueError) as caught:
        robot.compute([quantity], *[np.full(robot.nv, 0.3)] * {"mass_matrix": 1, "center_of_mass": 1}.get(quantity, 3))
    assert named in str(caught.value)


@pytest.mark.parametrize("multiplier", ["1e200", "-1e308"])
def test_a_mechanism_that_overflows_is_no_robot(arm, multiplier):
    with pytest.raises(ModelValueError, match=r"mimic multiplier='.*': the mechanism overflows float64"):
        arm(mimic=f'<mimic joint="shoulder" multiplier="{multiplier}"/>')


def test_parameters_code_and_graphs_go_through_the_same_gate(arm, tmp_path):
    robot = arm(com="1e200")
    for use in (
        lambda: robot.program("mass_matrix"),
        lambda: robot.export_c(tmp_path / "c", ["mass_matrix"]),
        lambda: robot.bind("inverse_dynamics"),
        lambda: robot.simulate(np.zeros(robot.nv), None, 0.01),
    ):
        with pytest.raises(ModelValueError, match="overflows float64"):
            use()


def test_parameters_overflow(arm):
    with pytest.raises(ModelValueError, match=r"com='1e\+200': parameters overflows"):
        arm(com="1e200").parameters()


def test_single_precision_overflows_sooner(arm, tmp_path):
    robot = arm(mass="1e39", com=1)
    assert np.isfinite(robot.mass_matrix([0.1, 0.2])).all()
    for use in (
        lambda: robot.mass_matrix([0.1, 0.2], dtype=np.float32),
        lambda: robot.export_c(tmp_path, ["mass_matrix"], precision="float"),
    ):
        with pytest.raises(ModelValueError, match=r"mass='1e\+39': mass_matrix overflows float32.*compute in float64"):
            use()


def test_equations_are_exact_however_large(arm):
    assert "e400" in str(arm(com="1e200").equations().mass_matrix)


@pytest.mark.parametrize("axis", ["1e308 1e308 1e308", "0 -1e200 1e200", "1e-3 1e-3 0"])
def test_a_long_axis_has_a_direction(arm, axis):
    usual = " ".join(f"{np.sign(float(x)):g}" for x in axis.split())
    expected = arm(axis=usual).mass_matrix([0.3, 0.4])
    np.testing.assert_allclose(arm(axis=axis).mass_matrix([0.3, 0.4]), expected, rtol=1e-14)


@pytest.mark.parametrize("axis", ["5e-324 0 0", "1e-310 1e-310 0", "-1e-200 0 0"])
def test_an_axis_of_no_length_is_refused_in_a_file(arm, axis):
    with pytest.raises(ModelValueError, match="so no direction"):
        arm(axis=axis)


@pytest.mark.parametrize("length", [5e-324, 1e-310, 1e-200, 1e200, 1e308])
def test_an_axis_of_any_length_has_a_direction_in_python(length):
    axis, found = unit(Vec(length, -length, 0.0))
    np.testing.assert_allclose(axis, [np.sqrt(0.5), -np.sqrt(0.5), 0], rtol=1e-15)
    assert found == pytest.approx(length * np.sqrt(2), rel=0.6)  # a subnormal number has few digits


@pytest.mark.parametrize(
    "numbers",
    [
        {"product": "1e308"},
        {"moment": 0, "product": "1e308"},
        {"product": "1e200", "mimic": '<mimic joint="shoulder" multiplier="-1e308"/>'},
        {"product": 5, "axis": "5e-324 0 0"},
    ],
)
def test_loading_never_ends_in_linear_algebra(arm, numbers):
    """Doubtful inertias make loading look at the mass matrix."""
    try:
        robot = arm(**numbers)
        assert np.isfinite(robot.mass_matrix(np.full(robot.nv, 0.3))).all()
    except ModelValueError:
        pass


@pytest.mark.parametrize("far", [0.0, 1e4, 1e8])
def test_a_centre_of_mass_far_along_the_axis_costs_no_digits(tmp_path, far):
    path = tmp_path / "far.urdf"
    path.write_text(f"""<robot name="far"><link name="base"/><link name="tip"><inertial><origin xyz="0.1 0.2 {far}"/>
    <mass value="2"/><inertia ixx="1" iyy="1.1" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>""")
    robot = qddot.load(path)
    assert robot.mass_matrix([0.3])[0, 0] == pytest.approx(0.3 + 2 * (0.1**2 + 0.2**2), rel=1e-15)
    assert robot.inverse_dynamics([0.3], [0.2], [2.0])[0] == pytest.approx(0.8, rel=1e-14)
    assert robot.forward_dynamics([0.3], [0.2], [0.8])[0] == pytest.approx(2.0, rel=1e-14)


def test_a_thin_rod_keeps_the_moment_about_its_axis():
    """Among the base parameters, too: the small moment is a difference of large ones."""
    rod = qddot.Inertia(1.0, (0, 0, 0.5), (0.3333333, 0.3333334, 1e-10))
    robot = qddot.from_dh([(0, 0, 0, 0)], convention="modified", inertias=[rod])
    assert robot.mass_matrix([0.7])[0, 0] == pytest.approx(1e-10, rel=1e-6)


@pytest.mark.parametrize("shape", [("sphere", 1e200), ("box", (1e200, 1, 1)), ("solid_cylinder", 1e200, 1), ("rod", 1e200)])
def test_a_shape_beyond_measure_is_refused(shape):
    with pytest.raises(ModelValueError, match="not a finite number"):
        getattr(qddot.Inertia, shape[0])(1.0, *shape[1:])


def test_powers_of_a_number_may_overflow_while_bodies_are_made(arm):
    """Friction of a following joint grows with the cube of the multiplier."""
    with pytest.raises(ModelValueError, match=r"mimic multiplier='1e\+110': the mechanism overflows"):
        arm(mimic='<mimic joint="shoulder" multiplier="1e110"/><dynamics damping="0.1" friction="0.1"/>').mass_matrix([0.1])


@pytest.mark.parametrize("limits", [(np.inf, np.inf), (-np.inf, -np.inf)])
def test_limits_without_a_position_between_are_refused(limits):
    with pytest.raises(ModelValueError, match="no position is within"):
        qddot.Limits(*limits)


def test_ill_conditioned_is_not_massless(tmp_path):
    light = qddot.Inertia(0.0, tensor=(0, 0, 1e-13))
    heavy = qddot.Inertia(1.0, tensor=(1, 1, 1))
    robot = qddot.from_dh([(0, 0, 0, 0)] * 2, convention="modified", inertias=[light, heavy])
    with pytest.raises(SingularityError, match=r"too ill-conditioned \(4e\+13\) for float64"):
        robot.forward_dynamics([0.1, 0.2], [0, 0], [0, 0])
    none = qddot.from_dh([(0, 0, 0, 0)] * 2, convention="modified", inertias=[None, heavy])
    with pytest.raises(SingularityError, match="nothing resists joint 'joint1'"):
        none.forward_dynamics([0.1, 0.2], [0, 0], [0, 0])


def test_states_that_are_none_are_refused():
    robot, ball = qddot.load("two_link"), qddot.load("two_link", floating=True)
    for use in (
        lambda: robot.normalized([np.nan, 0]),
        lambda: robot.normalized([0, 0, 0]),
        lambda: robot.configuration_rate([0, 0], [np.nan, 0]),
        lambda: robot.configuration_rate([0, np.inf], [0, 0]),
        lambda: ball.normalized(np.zeros(ball.nq)),
        lambda: ball.normalized(np.full(ball.nq, np.nan)),
    ):
        with pytest.raises(InputError):
            use()
    huge = np.concatenate([[1e200, 1e200, 0, 0], np.zeros(ball.nq - 4)])
    np.testing.assert_allclose(ball.normalized(huge)[:4], [np.sqrt(0.5), np.sqrt(0.5), 0, 0])


MJCF = """<mujoco><worldbody><body quat="{quat}"><inertial pos="0 0 1" mass="1" diaginertia="1 1 1" {inertial}/>
<joint axis="{axis}"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "numbers",
    [
        {"quat": "1 0 0 1e308"},
        {"quat": "0 0 0 1e-200"},
        {"axis": "0 1e200 0"},
        {"inertial": 'axisangle="0 1e200 0 1"'},
        {"inertial": 'zaxis="0 1e200 0"'},
    ],
)
def test_directions_that_mujoco_cannot_normalise_are_refused(tmp_path, numbers):
    path = tmp_path / "arm.xml"
    path.write_text(MJCF.format(**{"quat": "1 0 0 0", "axis": "0 1 0", "inertial": "", **numbers}))
    with pytest.raises(ModelValueError, match=r"arm.xml:\d+:\d+: .* its length cannot be made 1"):
        qddot.load(path)


STRIDED = np.lib.stride_tricks.as_strided


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda: STRIDED(np.zeros(10), (3, 2), (8, 8)), "share memory"),
        (lambda: STRIDED(np.zeros(10), (3, 2), (0, 8)), "share memory"),
        (lambda: np.zeros((5, 3, 2)), r"has shape \(5, 3, 2\), the result has \(3, 2\)"),
        (lambda: np.zeros((3, 2), complex), "complex128"),
        (lambda: np.zeros((3, 2), object), "object"),
    ],
)
def test_an_output_that_cannot_hold_the_result_is_refused(out, message):
    with pytest.raises(InputError, match=message):
        qddot.load("two_link").gravity_torque(np.zeros((3, 2)), out=out())


def test_outputs_on_top_of_each_other_are_refused():
    robot, M = qddot.load("two_link"), np.zeros((3, 2, 2))
    x = np.ones((3, 3, 2))
    with pytest.raises(InputError, match="one result would overwrite the other"):
        robot.inverse_dynamics_derivatives(*x, out=(M, np.zeros_like(M), M))
    both = np.zeros((3, 2, 6))  # beside each other is fine
    robot.inverse_dynamics_derivatives(*x, out=(both[..., :2], both[..., 2:4], both[..., 4:]))
    np.testing.assert_array_equal(both[..., 4:], robot.mass_matrix(x[0]))


@pytest.mark.parametrize("view", [lambda a: a[:, ::2], lambda a: a[::-1, :2], lambda a: np.asfortranarray(a[:, :2])])
def test_ordinary_views_are_taken(view):
    robot, q = qddot.load("two_link"), np.linspace(0, 1, 6).reshape(3, 2)
    room = view(np.zeros((3, 4)))
    robot.gravity_torque(q, out=room)
    np.testing.assert_array_equal(room, robot.gravity_torque(q))
