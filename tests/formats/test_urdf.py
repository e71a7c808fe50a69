"""Reading well-formed URDF: what each element means, and what is reported on the way."""

import math
import re
import warnings

import numpy as np
import pytest

from qddot.errors import ModelFormatError, ModelSecurityError, ModelStructureError, ModelValueError, ModelWarning
from qddot.formats import load_model
from qddot.formats.mesh_paths import forbidden
from qddot.model.description import Limits, Mimic
from qddot.model.drive import Drive
from qddot.model.pose import from_rpy
from qddot.model.spatial import Transform, Vec
from tests.formats.texts import parse_urdf

INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="2"/>'
    '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" effort="10" velocity="5"/>'
JOINT = '<origin xyz="0 0 0.2"/><axis xyz="0 0 1"/>' + LIMIT


def robot(*, link: str = INERTIAL, joint: str = JOINT, kind: str = "revolute", top: str = "", after: str = "") -> bytes:
    """Two links and a joint, one element a line: `l1` is on line 3, `j1` on line 4."""
    return (
        f'<robot name="r">{top}\n<link name="base"/>\n<link name="l1">{link}</link>\n'
        f'<joint name="j1" type="{kind}"><parent link="base"/><child link="l1"/>{joint}</joint>\n{after}</robot>'
    ).encode()


def parse(**parts: str):
    return parse_urdf(robot(**parts), "arm.urdf")


def silently(data: bytes, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return parse_urdf(data, "arm.urdf", **options)


# links ----------------------------------------------------------------------------------------------------------------


def test_inertia_is_in_link_axes_about_the_centre_of_mass():
    inertia = parse().links[1].inertia
    assert inertia.mass == 2
    assert inertia.com == (0, 0, 0.1)
    np.testing.assert_array_equal(inertia.tensor, np.diag([0.03, 0.02, 0.01]))


def test_inertial_rpy_turns_the_tensor():
    link = INERTIAL.replace('xyz="0 0 0.1"', 'xyz="1 2 3" rpy="0.1 0.2 0.3"')
    inertia = parse(link=link).links[1].inertia
    R = np.array(from_rpy(0.1, 0.2, 0.3))
    np.testing.assert_allclose(inertia.tensor, R @ np.diag([0.03, 0.02, 0.01]) @ R.T, rtol=1e-14)
    assert inertia.com == (1, 2, 3)


def test_quarter_turn_swaps_moments_exactly():
    link = INERTIAL.replace('xyz="0 0 0.1"', f'rpy="0 0 {math.pi / 2!r}"')
    np.testing.assert_array_equal(parse(link=link).links[1].inertia.tensor, np.diag([0.02, 0.03, 0.01]))


def test_no_inertial_is_none_not_zero():
    assert parse().links[0].inertia is None


def test_places_point_at_lines():
    model = parse()
    assert str(model.links[0].place) == "arm.urdf:2:1"
    assert str(model.links[1].place) == "arm.urdf:3:17"  # of its inertia
    assert model.joints[0].place.line == 4


# joints ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "kind", "nq"),
    [
        ("revolute", "revolute", 1),
        ("continuous", "continuous", 1),
        ("prismatic", "prismatic", 1),
        ("fixed", "fixed", 0),
        ("floating", "free", 7),
        ("planar", "planar", 3),
        ("spherical", "spherical", 4),
    ],
)
def test_types(type_, kind, nq):
    model = silently(robot(kind=type_))
    assert model.joints[0].kind == kind
    assert model.mechanism.nq == nq


def test_joint_defaults_of_the_specification():
    joint = parse(joint=LIMIT).joints[0]
    assert joint.axis == (1, 0, 0)
    assert joint.origin == Transform()
    assert joint.drive is None
    assert joint.mimic is None


def test_origin():
    joint = parse(joint='<origin xyz="1 -.5 +2e-1" rpy="0.1 0.2 0.3"/>' + LIMIT).joints[0]
    assert joint.origin == Transform(from_rpy(0.1, 0.2, 0.3), Vec(1.0, -0.5, 0.2))


def test_quaternion_origin():
    joint = parse(joint=f'<origin quat_xyzw="0 0 {math.sqrt(0.5)!r} {math.sqrt(0.5)!r}"/>' + LIMIT).joints[0]
    np.testing.assert_allclose(joint.origin.R, from_rpy(0, 0, math.pi / 2), atol=1e-15)
    with pytest.raises(ModelValueError, match="both"):
        parse(joint='<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>' + LIMIT)
    with pytest.raises(ModelValueError, match="unit quaternion"):
        parse(joint='<origin quat_xyzw="0 0 0 2"/>' + LIMIT)


def test_axis_is_normalised_and_reported():
    with pytest.warns(ModelWarning, match=r"arm\.urdf:4:\d+: joint 'j1' > axis '0 3 4': the axis has length 5; it is normalised"):
        model = parse(joint='<axis xyz="0 3 4"/>' + LIMIT)
    assert model.joints[0].axis == (0, 0.6, 0.8)


def test_axis_with_rounding_is_normalised_silently():
    axis = silently(robot(joint='<axis xyz="0.7071068 0 0.7071068"/>' + LIMIT)).joints[0].axis
    assert abs(axis.x**2 + axis.z**2 - 1) < 1e-15


def test_unit_axis_is_kept_bit_for_bit():
    axis = Vec(0.36, 0.48, 0.8)
    assert silently(robot(joint=f'<axis xyz="{axis.x!r} {axis.y!r} {axis.z!r}"/>' + LIMIT)).joints[0].axis == axis


def test_leftovers_on_fixed_joints_do_not_matter():
    joint = silently(robot(kind="fixed", joint='<axis xyz="0 0 0"/><limit lower="1" upper="0"/><dynamics damping="-1"/>')).joints[0]
    assert joint.kind == "fixed"


def test_limits():
    assert parse().joints[0].limits == Limits(-1, 2, 5, 10)


def test_largest_double_is_no_limit():
    limit = '<limit lower="-1.7976931348623157e+308" upper="1" effort="1.7976931348623157e308" velocity="3"/>'
    assert silently(robot(joint=limit)).joints[0].limits == Limits(-math.inf, 1, 3, math.inf)


@pytest.mark.parametrize("limit", ["", '<limit effort="1" velocity="2"/>'])
def test_missing_position_limits_are_infinite_and_reported(limit):
    with pytest.warns(ModelWarning, match=r"arm\.urdf:4:1: joint 'j1': it has no limits of position; .* infinite"):
        limits = parse(joint=limit).joints[0].limits
    assert (limits.lower, limits.upper) == (-math.inf, math.inf)


def test_one_missing_bound_is_zero():
    assert parse(joint='<limit upper="2" effort="1" velocity="1"/>').joints[0].limits.lower == 0


def test_continuous_joints_have_no_position_limits():
    assert silently(robot(kind="continuous")).joints[0].limits == Limits(velocity=5, effort=10)


def test_dynamics():
    joint = parse(joint=LIMIT + '<dynamics damping="0.5" friction="0.25" D="ignored"/>').joints[0]
    assert joint.drive == Drive(viscous=0.5, coulomb=0.25)
    assert parse(joint=LIMIT + '<dynamics damping="0" friction="0"/>').joints[0].drive is None


def test_mimic():
    after = '<link name="l2"/><joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/>' + LIMIT
    model = parse(after=after + '<mimic joint="j1" multiplier="-2" offset="0.5"/></joint>')
    assert model.joints[1].mimic == Mimic("j1", -2, 0.5)
    assert model.mechanism.nq == 1


def test_own_elements():
    screw = LIMIT + '<qddot_screw pitch="0.01" rate="2"/>'
    drive = '<dynamics damping="9"/><qddot_drive viscous="1" coulomb="0.1 0.2" gear_ratio="50" rotor_inertia="1e-4" side="motor"/>'
    model = silently(robot(kind="helical", joint=screw + drive, top='<qddot_gravity xyz="0 0 -1.62"/>'))
    joint = model.joints[0]
    assert (joint.kind, joint.pitch, joint.rate) == ("helical", 0.01, 2)
    assert joint.drive == Drive(viscous=1, coulomb=(0.1, 0.2), gear_ratio=50, rotor_inertia=1e-4, side="motor")
    assert model.gravity == (0, 0, -1.62)


def test_gravity_argument_wins():
    assert parse().gravity == (0, 0, -9.81)
    assert parse_urdf(robot(top='<qddot_gravity xyz="0 0 -1"/>'), "a.urdf", gravity=(1, 2, 3)).gravity == (1, 2, 3)


def test_bad_own_drive_points_at_it():
    with pytest.raises(ModelValueError, match=r"arm\.urdf:4:\d+: joint 'j1' > qddot_drive gear_ratio='0.0'"):
        parse(joint=LIMIT + '<qddot_drive gear_ratio="0"/>')


# the file -------------------------------------------------------------------------------------------------------------


def test_elements_of_others_are_skipped_silently():
    top = '<gazebo><plugin filename="/lib/x.so"/></gazebo><transmission name="t"><joint name="j1"/></transmission>'
    assert silently(robot(top=top)).name == "r"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(encoding):
    text = robot().decode().replace('"j1"', '"é1"')
    data = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>{text}'.encode(encoding)
    assert silently(data).joints[0].name == "é1"


def test_robot_without_name_takes_the_file_s(tmp_path):
    path = tmp_path / "panda.urdf"
    path.write_bytes(robot().replace(b' name="r"', b"", 1))
    with pytest.warns(ModelWarning, match="no name; it is called 'panda'"):
        assert load_model(path).name == "panda"


def test_errors_show_the_path_as_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.urdf").write_bytes(robot(kind="hinge"))
    with pytest.raises(ModelValueError) as info:
        load_model("x.urdf")
    assert info.value.file == "x.urdf"


def test_missing_file():
    with pytest.raises(FileNotFoundError):
        load_model("no/such/file.urdf")


@pytest.mark.parametrize(
    "declaration",
    ['xmlns:xacro="http://www.ros.org/wiki/xacro"', 'xmlns:x="http://ros.org/wiki/xacro"'],
)
def test_xacro_is_refused_only_where_it_is_used(declaration):
    data = robot().replace(b"<robot", f"<robot {declaration}".encode())
    assert silently(data).name == "r"
    prefix = declaration[6:].partition("=")[0]
    for use in (f"<{prefix}:include/>", '<link name="${1+1}"/>', '<link name="$(arg x)"/>'):
        with pytest.raises(ModelSecurityError, match=r"arm\.urdf:5:1.*give the file the suffix \.xacro"):
            parse_urdf(data.replace(b"</robot>", use.encode() + b"</robot>"), "arm.urdf")


@pytest.mark.parametrize("tag", ["sdf", "Robot"])
def test_wrong_root(tag):
    with pytest.raises(ModelFormatError, match=rf"a\.xml:1:1: the root is <{tag}>, expected <robot> \(this reads URDF; "):
        parse_urdf(f"<{tag}/>".encode(), "a.xml")


def test_mjcf_is_another_format():
    with pytest.raises(ModelFormatError, match=r"a\.urdf:1:1: the root is <mujoco>, .*qddot.load also reads MJCF"):
        parse_urdf(b"<mujoco/>", "a.urdf")


def test_no_link():
    with pytest.raises(ModelStructureError, match=r"a\.urdf:1:1: robot 'r': there is no <link>"):
        parse_urdf(b'<robot name="r"/>', "a.urdf")


# what would be lost without a word -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("joint", '<origin xzy="1 2 3"/>' + LIMIT, r"joint 'j1' > origin: unknown attribute 'xzy' is ignored \(did you mean 'xyz'"),
        ("joint", '<axis xyz="1 0 0" rpy="0 0 0"/>' + LIMIT, "joint 'j1' > axis: unknown attribute 'rpy'"),
        ("joint", '<Axis xyz="0 0 1"/>' + LIMIT, r"unknown element <Axis> is ignored \(did you mean <axis>\?\)"),
        ("link", INERTIAL.replace("inertial>", "inertail>"), "unknown element <inertail> .*<inertial>"),
        ("joint", '<axes xyz="0 0 1"/>' + LIMIT, r"joint 'j1' > axes: unknown element <axes> .*did you mean <axis>"),
        ("joint", LIMIT.replace("lower", "lowr"), r"joint 'j1' > limit: unknown attribute 'lowr' .*did you mean 'lower'"),
        ("joint", LIMIT.replace("effort", "Effort"), "unknown attribute 'Effort' .*did you mean 'effort'"),
        ("joint", LIMIT + '<dynamics fiction="1"/>', "dynamics: unknown attribute 'fiction' .*did you mean 'friction'"),
        ("joint", LIMIT + '<dynamics dampening="1"/>', "dynamics: unknown attribute 'dampening' .*did you mean 'damping'"),
        ("link", '<mass value="1"/>' + INERTIAL, "<mass> has no meaning in <link>"),
    ],
)
def test_misspelt_parts_are_reported(part, text, message):
    with pytest.warns(ModelWarning, match=message):
        parse(**{part: text})


def test_a_misspelt_multiplier_is_reported():
    after = '<link name="l2"/><joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/>' + LIMIT
    with pytest.warns(ModelWarning, match="mimic: unknown attribute 'multiplyer' .*did you mean 'multiplier'"):
        parse(after=after + '<mimic joint="j1" multiplyer="-2"/></joint>')


def test_attributes_of_others_are_silent():
    extra = '<dynamics D="1" K="2" mu_viscous="3" mu_coulomb="4" damping="0" friction="0"/>'
    silently(robot(joint=LIMIT.replace("/>", ' acceleration="3" jerk="1"/>') + extra))


@pytest.mark.parametrize(("angle", "said"), [("90", True), ("-180", True), ("6.2832", False), ("-3.15", False)])
def test_angles_that_look_like_degrees_are_reported(angle, said):
    data = robot(joint=f'<origin rpy="0 0 {angle}"/>' + LIMIT)
    if not said:
        silently(data)
        return
    with pytest.warns(ModelWarning, match=r"arm\.urdf:4:\d+: joint 'j1' > origin .*are these degrees\?"):
        parse_urdf(data, "arm.urdf")


@pytest.mark.parametrize("inner", ["joint", "link", "robot"])
def test_structure_in_the_wrong_place_is_refused(inner):
    with pytest.raises(ModelStructureError, match=rf"arm\.urdf:3:\d+: .*a <{inner}> stands inside <link>"):
        parse(link=f'<{inner} name="x"/>')


# mesh names -----------------------------------------------------------------------------------------------------------


def mesh(name: str, tag: str = "mesh") -> str:
    return f'{INERTIAL}<visual><geometry><{tag} filename="{name}"/></geometry></visual>'


def test_meshes_that_exist_are_silent(tmp_path):
    (tmp_path / "m.stl").touch()
    for name in ("m.stl", "package://pkg/m.stl", "model://pkg/m.stl"):
        path = tmp_path / "r.urdf"
        path.write_bytes(robot(link=mesh(name)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load_model(path, packages={"pkg": tmp_path})


@pytest.mark.parametrize("strict", [False, True])
def test_missing_meshes_of_packages_are_one_warning(tmp_path, strict):
    two = mesh("package://pkg/a.stl") + mesh("package://pkg/b.stl").removeprefix(INERTIAL)
    (tmp_path / "r.urdf").write_bytes(robot(link=two + two.removeprefix(INERTIAL)))
    with pytest.warns(
        ModelWarning, match=r"a\.stl': the package 'pkg' is not found .*, and 1 more is missing; .*packages="
    ) as record:
        load_model(tmp_path / "r.urdf", strict=strict)
    assert len(record) == 1
    with pytest.warns(ModelWarning, match=r"a\.stl': the file does not exist, and 1 more is missing"):
        load_model(tmp_path / "r.urdf", packages={"pkg": tmp_path})


def test_missing_meshes_are_reported_once():
    with pytest.warns(
        ModelWarning, match=r"arm\.urdf:3:\d+: link 'l1' > visual > geometry > mesh 'a\.stl': .* and 1 more"
    ) as record:
        parse(link=mesh("a.stl") + mesh("b.stl").removeprefix(INERTIAL))
    assert len(record) == 1


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "//host/share/a.stl",
        r"\\host\share\a.stl",
        "C:/a.stl",
        r"c:\a.stl",
        "~/a.stl",
        "file:///etc/passwd",
        "FILE:a.stl",
        "file%3A///etc/passwd",
        "http://host/a.stl",
        "../../../etc/passwd",
        r"..\..\..\a.stl",
        "a/../../../../x",
        "package://../../etc/passwd",
        "package://pkg/../../x",
        "package://pkg/%2e%2e/%2e%2e/x",
    ],
)
@pytest.mark.parametrize("tag", ["mesh", "texture"])
def test_names_that_lead_away_are_reported_and_refused_when_strict(name, tag):
    data = robot(link=mesh(name, tag))
    with pytest.warns(ModelWarning, match=rf"arm\.urdf:3:.*{tag} .*not need the file, and it is not opened") as record:
        parse_urdf(data, "arm.urdf")
    assert len(record) == 1
    with pytest.raises(ModelSecurityError) as info:
        parse_urdf(data, "arm.urdf", strict=True)
    assert info.value.line == 3
    assert info.value.text == name


def test_the_link_printed_in_lecture_notes_loads():
    """Its mesh is three folders up."""
    snippet = INERTIAL + '<visual><geometry><mesh filename="../../../link1.stl" /></geometry></visual>'
    with pytest.warns(ModelWarning, match=r"'\.\./\.\./\.\./link1\.stl': a path that climbs out .*not opened"):
        assert len(parse_urdf(robot(link=snippet), "arm.urdf").links) == 2


def test_meshes_in_the_folders_of_the_description_may_be_named_in_full(tmp_path):
    for name in (f"{tmp_path}/a.stl", f"file://{tmp_path}/meshes/a.stl"):
        (tmp_path / "arm.urdf").write_bytes(robot(link=mesh(name)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load_model(tmp_path / "arm.urdf", strict=True)
    (tmp_path / "arm.urdf").write_bytes(robot(link=mesh(f"{tmp_path}/../a.stl")))
    with pytest.raises(ModelSecurityError, match="an absolute path"):
        load_model(tmp_path / "arm.urdf", strict=True)


@pytest.mark.parametrize(
    "name", ["a.stl", "../meshes/a.stl", "../../meshes/a.stl", "./a/../b.stl", "package://p/a/../b", "package:///p/a"]
)
def test_names_that_stay(name):
    assert forbidden(name) == ""


FOREIGN = [  # what stands in the file, what is said of it
    ('<gazebo reference="j"><springStiffness>10</springStiffness></gazebo>', "gazebo: springStiffness of 'j' is not read"),
    ('<gazebo reference="a"><gravity> False </gravity></gazebo>', "gazebo: gravity of 'a' is not read"),
    ('<gazebo reference="a"><turnGravityOff>true</turnGravityOff></gazebo>' * 8, r"of ('a', ){5}'a' and 2 more is not read"),
    ('<gazebo reference="a"><dampingFactor>0.1</dampingFactor></gazebo>', "gazebo: dampingFactor of 'a' is not read"),
    (
        '<transmission name="t"><joint name="j"/><actuator name="m"><motorInertia>1e-4</motorInertia></actuator></transmission>',
        "transmission: motorInertia of 'j' is not read .*rotor_inertia",
    ),
]


@pytest.mark.parametrize(("text", "message"), FOREIGN)
def test_physics_of_other_tools_is_named(text, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse(after=text)
    assert len(caught) == 1
    assert re.search(message, str(caught[0].message))


@pytest.mark.parametrize(
    "text",
    [
        '<gazebo reference="a"><material>Gazebo/Red</material><mu1>0.2</mu1><kp>1e6</kp><gravity>true</gravity></gazebo>',
        '<gazebo reference="j"><springStiffness>0</springStiffness><turnGravityOff>false</turnGravityOff></gazebo>',
        '<gazebo><plugin name="p" filename="lib.so"><gravity>false</gravity></plugin></gazebo>',
        '<transmission name="t"><actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>',
    ],
)
def test_blocks_of_other_tools_that_move_nothing_are_quiet(text):
    silently(robot(after=text))


def test_physics_of_other_tools_is_named_in_xacro(tmp_path):
    text = '<gazebo reference="a"><gravity>{}</gravity></gazebo>'
    for value, said in (("${1 == 2}", True), ("${1 == 1}", False), ("false", True)):
        path = tmp_path / "r.xacro"
        path.write_bytes(
            robot(after=text.format(value)).replace(b"<robot ", b'<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load_model(path)
        assert ["gravity of 'a' is not read" in str(x.message) for x in caught] == [True] * said


@pytest.mark.parametrize(("version", "message"), [("2.0", "version '2.0' is not known"), ("x", "read as version 1.2")])
def test_an_unknown_version_is_named(version, message):
    with pytest.warns(ModelWarning, match=message):
        parse_urdf(robot().replace(b"<robot ", b'<robot version="%s" ' % version.encode(), 1), "arm.urdf")


def test_quaternions_before_their_version_are_named():
    data = robot(joint='<origin quat_xyzw="0 0 0 1"/>' + LIMIT)
    for version in (b"", b'version="1.0" '):
        with pytest.warns(ModelWarning, match="ignore it below version 1.1"):
            parse_urdf(data.replace(b"<robot ", b"<robot " + version, 1), "arm.urdf")
    silently(data.replace(b"<robot ", b'<robot version="1.1" ', 1))
