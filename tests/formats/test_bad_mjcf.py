"""MJCF that is wrong, or says what a model here cannot hold: the class, the place and the words of what is raised or warned."""

import json
import re
import sys
import warnings
from pathlib import Path

import pytest

mujoco = pytest.importorskip("mujoco")

import qddot  # noqa: E402
from qddot import errors  # noqa: E402
from qddot.errors import ModelError, ModelWarning  # noqa: E402
from tests.reference import BAD  # noqa: E402

CASES = [case for case in json.loads((BAD / "expected.json").read_text())["files"] if case["category"] == "mjcf" and case["file"]]
I = '<inertial pos="0.1 0.02 -0.2" mass="1.3" diaginertia="0.05 0.04 0.03"/>'


def load(tmp_path: Path, body: str, rest: str = "", head: str = "", **how):
    path = tmp_path / "robot.xml"
    path.write_text(f'<mujoco>{head}\n<worldbody>\n<body name="b">\n{body}\n</body>\n</worldbody>\n{rest}</mujoco>')
    return qddot.load(path, **how)


@pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reference_case(case, strict):
    expected = case["expected_strict" if strict else "expected_default"]
    if case["id"] == "m23_deep_bodies":
        expected = "ModelLimitError"
    if strict and case["id"] in ("m05_triangle", "m07_zero_mass"):
        expected = "ModelValueError"  # the same numbers are refused in a URDF (i03_zero_mass_inertia): strict is one rule for all
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if expected.startswith("accept"):
            qddot.load(BAD / case["file"], strict=strict)
            messages = [str(w.message) for w in caught]
        else:
            with pytest.raises(getattr(errors, re.match(r"\w+", expected)[0])) as info:
                qddot.load(BAD / case["file"], strict=strict)
            messages = [str(info.value)]
            assert info.value.fix
            assert messages[0].endswith(f"({info.value.fix})")
            assert info.value.line == 1
    assert any(case["file"] + ":1" in m for m in messages)


@pytest.mark.parametrize(
    ("body", "rest", "head", "line", "message"),
    [
        (f'<joint ref="nan"/>{I}', "", "", 4, "joint ref='nan': 'nan' is not finite"),
        (f'<joint ref="1e400"/>{I}', "", "", 4, "'1e400' is not finite in double precision"),
        ("<joint/>", "", "", 3, "body 'b': mass and inertia of moving bodies must be larger"),
        (f'<joint type="wheel"/>{I}', "", "", 4, "joint: invalid keyword: 'wheel'"),
        (f'<joint axis="0 0 0"/>{I}', "", "", 4, "axis too small"),
        ('<joint/><inertial pos="0 0 0" mass="-2" diaginertia="1 1 1"/>', "", "", 3, "mass='-2': a mass is not negative"),
        (f"<joint/>{I}", '<actuator><motor joint="elbow"/></actuator>', "", 7, "elbow"),
        (f"<joint/>{I}", '<include file="no.xml"/>', "", 7, "<include> file='no.xml': the file does not exist"),
        (f"<joint/>{I}", '<include file="robot.xml"/>', "", 7, "the file is included twice"),
        (f"<joint/>{I}", '<include file="../../../x.xml"/>', "", 7, "climbs out"),
        (f'<joint/>{I}<composite prefix="c" type="cable" count="9 1 1"/>', "", "", 4, "<composite> is not read"),
        (f'<joint/>{I}<flexcomp name="f" type="grid" count="3 3 3"/>', "", "", 4, "<flexcomp> is not read"),
        (f'<joint/>{I}<plugin plugin="mujoco.elasticity.cable"/>', "", "", 4, "<plugin> is not read"),
        (f'<joint/>{I}<replicate count="1e9"><body/></replicate>', "", "", 4, "number of bodies 1000000000 is over the limit"),
        (f"<joint/>{I}", '<keyframe><key qpos="1 2"/></keyframe>', "", 1, "invalid qpos size"),
    ],
)
def test_the_place_of_an_error(tmp_path, body, rest, head, line, message):
    with pytest.raises(ModelError, match=re.escape(message)) as info:
        load(tmp_path, body, rest, head)
    assert info.value.file == str(tmp_path / "robot.xml")
    assert info.value.line == line


SIZE, PART = "<size {}/>".format, '<body><joint type="free"/>' + I + "</body>"
ROOM = [  # (head, rest, attribute, rule): a few characters that would take gigabytes, or minutes
    ('<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>', "", "ncol", "10000000000 heights"),
    ('<asset><hfield name="h" nrow="16777217" ncol="1" size="1 1 1 1"/></asset>', "", "nrow", "16777217 heights"),
    (SIZE('nkey="100000000"'), "", "nkey", "nkey 100000000 is over the limit of 10000"),
    (SIZE('nuserdata="1000000000"'), "", "nuserdata", "over the limit of 1000000"),
    (SIZE('nuser_body="100000000"'), "", "nuser_body", "100000000 numbers for each of 6 elements"),
    (SIZE('nuser_sensor="1e9"'), "", "nuser_sensor", "1000000000 numbers for each"),
    (SIZE('nstack=" +9000000000x"'), "", "nstack", "nstack 9000000000 is over the limit"),
    (SIZE('njmax="1000000000"'), "", "njmax", "over the limit of 1000000"),
    (SIZE('nconmax="inf"'), "", "nconmax", "over the limit of 1000000"),
    (SIZE('memory="9T"'), "", "memory", "memory 9T is over the limit of 16G"),
    ('<asset><mesh name="m" builtin="cone" params="1000000000 1"/></asset>', "", "params", "over the limit of 200"),
    ("", '<custom><numeric name="n" size="1000000000"/></custom>', "size", "1000000000 numbers for each"),
    ("<default><general nsample='1000000000'/></default>", "", "nsample", "1000000000 numbers for each"),
    ("", '<actuator><general joint="j" actdim="1000000000"/></actuator>', "actdim", "1000000000 numbers for each"),
    (
        "",
        f'<worldbody><geom size="1" user="{"1 " * 9000}"/>{"<geom/>" * 2000}</worldbody>',
        "user",
        "9000 numbers for each of 2007",
    ),
    ("", "<keyframe>" + "<key/>" * 10_001 + "</keyframe>", "", "10001 keyframes of 1 joints are over the limit of 10000"),
    (
        SIZE('nkey="9999"'),
        f'<worldbody><replicate count="300">{PART}</replicate></worldbody>',
        "nkey",
        "9999 keyframes of 301 joints",
    ),
]


@pytest.mark.parametrize(("head", "rest", "attribute", "rule"), ROOM, ids=range(len(ROOM)))
def test_what_would_take_memory_without_measure_is_refused_before_mujoco_sees_it(
    tmp_path, monkeypatch, head, rest, attribute, rule
):
    monkeypatch.setattr(mujoco.MjSpec, "from_string", lambda *_: pytest.fail("MuJoCo has seen it"))
    with pytest.raises(qddot.ModelLimitError, match=re.escape(rule)) as info:
        load(tmp_path, f'<joint name="j"/>{I}', rest, head)
    assert info.value.attribute == attribute
    assert info.value.line == (7 if rest and "nkey" not in head else 1)
    assert info.value.fix


def test_what_would_take_memory_is_refused_in_an_included_and_in_an_attached_file(tmp_path):
    (tmp_path / "part.xml").write_text('<mujoco>\n<size nuserdata="1000000000"/></mujoco>')
    for rest in ('<include file="part.xml"/>', '<asset><model name="m" file="part.xml"/></asset>'):
        with pytest.raises(qddot.ModelLimitError, match="nuserdata") as info:
            load(tmp_path, f"<joint/>{I}", rest)
        assert (info.value.file, info.value.line) == (str(tmp_path / "part.xml"), 2)


def test_the_sizes_robots_have_are_read(tmp_path):
    """Those of old files of MuJoCo among them."""
    sizes = SIZE('nstack="30000000" njmax="8000" nconmax="5000" nkey="4" nuser_body="14" nuserdata="100" nuser_sensor="2"')
    field = '<asset><hfield name="h" nrow="300" ncol="300" size="1 1 1 1"/></asset>'
    assert load(tmp_path, f'<joint name="j"/>{I}', "<keyframe><key qpos='1'/></keyframe>", sizes + field).nv == 1


def test_keyframes_that_are_not_kept_are_named(tmp_path):
    keys = '<keyframe><key name="home" qpos="1"/><key qpos="2"/></keyframe>'
    with pytest.warns(
        ModelWarning, match=r"robot.xml:7:11: key: 'home', 'key 1': keyframes are not kept, and home\(\) is none of them"
    ):
        load(tmp_path, f"<joint/>{I}", keys)


def test_files_are_included_from_the_folders_of_the_description_only(tmp_path):
    here, away = tmp_path / "robots" / "arm", tmp_path / "robots" / "common"
    here.mkdir(parents=True)
    away.mkdir()
    (away / "part.xml").write_text('<mujoco><worldbody><body name="p"><joint/>' + I + "</body></worldbody></mujoco>")
    (here / "link.xml").symlink_to(away / "part.xml")
    both = '<include file="{0}"/>', '<asset><model name="m" file="{0}"/></asset>'
    for name in ("../common/part.xml", "link.xml"):
        for rest in both:
            with pytest.raises(qddot.ModelSecurityError, match=r"robot.xml:7:.*lies outside the folders") as info:
                load(here, f"<joint/>{I}", rest.format(name))
            assert "packages=" in info.value.fix
        assert load(here, f"<joint/>{I}", both[0].format(name), packages={"common": away}).nv == 2
    (tmp_path / "robots" / "package.xml").write_text("<package/>")
    assert load(here, f"<joint/>{I}", both[0].format("../common/part.xml")).nv == 2


MESH = '<asset><mesh name="m" file="{}"/></asset>'
OUTSIDE = ["/etc/passwd", "file:///tmp/a.stl", "http://host/a.stl", r"\\\\host\\share\\a.stl", "~/a.stl"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_mesh_elsewhere_is_reported_where_nothing_opens_it(tmp_path, name):
    geom = '<geom type="mesh" mesh="m"/>'
    with pytest.warns(ModelWarning, match=r"robot.xml:7:.*mesh 'm' .*the dynamics do not need the file, and it is not opened"):
        assert load(tmp_path, f"<joint/>{I}{geom}", MESH.format(name)).nv == 1
    with pytest.raises(qddot.ModelSecurityError):
        load(tmp_path, f"<joint/>{I}{geom}", MESH.format(name), strict=True)


def test_a_mesh_that_weighs_lies_in_the_folders_of_the_description(tmp_path):
    """MuJoCo opens it for its volume, so it may not lie just anywhere, not even through a link."""
    trimesh = pytest.importorskip("trimesh")
    here, away = tmp_path / "robot", tmp_path / "away"
    (here / "meshes").mkdir(parents=True)
    away.mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(away / "box.stl")
    (here / "meshes" / "link.stl").symlink_to(away / "box.stl")
    body = '<joint/><geom type="mesh" mesh="m"/>'
    for name in ("../away/box.stl", str(away / "box.stl"), "meshes/link.stl"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(qddot.ModelSecurityError, match=r"robot.xml:7:.*lies outside the folders .*an <inertial>"):
                load(here, body, MESH.format(name))
            assert load(here, body, MESH.format(name), packages={"shapes": away}).nv == 1
    (here / "meshes" / "own.stl").write_bytes((away / "box.stl").read_bytes())
    mass = load(here, body, MESH.format("own.stl"), '<compiler meshdir="meshes"/>').model.links[1].inertia.mass
    assert mass == pytest.approx(1000 * 0.1 * 0.2 * 0.3)


def test_an_error_in_an_included_file_has_its_place_there(tmp_path):
    part = tmp_path / "part.xml"
    part.write_text('<mujocoinclude>\n\n<joint name="elbow" frobnicate="1"/></mujocoinclude>')
    with pytest.raises(ModelError, match=r"part.xml:3:1: .*joint 'elbow' frobnicate='1'"):
        load(tmp_path, f'<include file="part.xml"/>{I}')


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<mujoco", "not well-formed"),
        (b"", "the file is empty"),
        (b"<mjcf/>", "the root is <mjcf>, expected <robot> .*MJCF, whose root is <mujoco>"),
        (b'<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document type"),
        (b"<mujoco><bodies/></mujoco>", "bodies"),
    ],
)
def test_not_mjcf(tmp_path, data, message):
    (tmp_path / "a.xml").write_bytes(data)
    with pytest.raises(ModelError, match=message):
        qddot.load(tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f'<joint damping="-1"/>{I}', "a negative damping of -1"),
        ('<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 0.1 0.1"/>', "triangle inequality"),
        ('<joint/><inertial pos="0 0 0" mass="1" diaginertia="0.1 -0.1 0.1"/>', "not positive semi-definite"),
        ('<joint/><inertial pos="0 0 0" mass="1" fullinertia="0.1 0.1 0.1 0.2 0 0"/>', "not positive semi-definite"),
        ('<joint/><inertial pos="0 0 0" mass="0" diaginertia="0.1 0.1 0.1"/>', "without mass"),
    ],
)
def test_strict_refuses_what_it_refuses_in_a_urdf(tmp_path, body, words):
    with pytest.warns(ModelWarning, match=rf"robot.xml:\d+:.*{words}"):
        load(tmp_path, body)
    with pytest.raises(qddot.ModelValueError, match=rf"robot.xml:\d+:.*{words}") as info:
        load(tmp_path, body, strict=True)
    assert info.value.fix


def test_an_inertia_that_makes_the_mass_matrix_indefinite_is_refused(tmp_path):
    with pytest.raises(qddot.ModelValueError, match="the mass matrix is not positive definite"):
        load(tmp_path, '<joint axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 -0.1"/>')


@pytest.mark.parametrize(
    ("rest", "attribute"),
    [
        ('<actuator><motor joint="elbow"/></actuator>', "joint"),
        ('<equality><connect body1="elbow" body2="b" anchor="0 0 0"/></equality>', "body1"),
        ('<equality><joint joint1="elbow"/></equality>', "joint1"),
        ('<tendon><fixed><joint joint="elbow" coef="1"/></fixed></tendon>', "joint"),
    ],
)
def test_a_name_that_is_not_there_is_a_reference_with_near_matches(tmp_path, rest, attribute):
    body = f'<joint name="elbow1"/>{I}<body name="elbow2">{I}</body>'
    with pytest.raises(qddot.ModelReferenceError, match=r"robot.xml:7:.*\(did you mean 'elbow[12]'\?\)$") as info:
        load(tmp_path, body, rest)
    assert (info.value.attribute, info.value.text) == (attribute, "elbow")


def test_plugins_are_refused_as_code_from_elsewhere(tmp_path):
    with pytest.raises(qddot.ModelSecurityError, match="plugin"):
        load(tmp_path, f"<joint/>{I}", '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>')


# what a model here cannot hold ----------------------------------------------------------------------------------------

TENDON = '<tendon><fixed name="t"{}><joint joint="j" coef="1"/></fixed></tendon>'


@pytest.mark.parametrize(
    ("body", "rest", "head", "message"),
    [
        (f'<joint type="ball" stiffness="2"/>{I}', "", "", r"joint: the spring of 'b_joint' is not a term"),
        (f'<joint type="free" armature="2"/>{I}', "", "", r"joint: the armature of 'b_joint' is not a term"),
        (f'<joint type="free" frictionloss="2"/>{I}', "", "", r"joint: the frictionloss of 'b_joint' is not a term"),
        (f"<joint/>{I}", "", '<option density="1.2"/>', r"xml:1:9: option: a fluid of density 1.2"),
        (f'<joint/>{I}<body name="c" gravcomp="1">{I}</body>', "", "", r"xml:4:\d+: body: the gravity compensation of 'c'"),
        (f'<joint name="j"/>{I}', TENDON.format(' stiffness="3"'), "", r"xml:7:9: tendon: the stiffness.* of 't'"),
    ],
)
def test_forces_that_are_not_kept(tmp_path, body, rest, head, message):
    with pytest.warns(ModelWarning, match=message + ".*it is ignored"):
        load(tmp_path, body, rest, head)
    with pytest.raises(qddot.ModelValueError, match=message):
        load(tmp_path, body, rest, head, strict=True)


def test_nonlinear_damping_is_not_kept(tmp_path):
    if not hasattr(mujoco.MjModel, "dof_dampingpoly"):
        pytest.skip("this MuJoCo has linear damping only")
    with pytest.warns(ModelWarning, match="the nonlinear damping of 'b_joint'"):
        robot = load(tmp_path, f'<joint damping="1 2"/>{I}')
    assert robot.drives["b_joint"].viscous == 1


@pytest.mark.parametrize(
    ("body", "rest", "message"),
    [
        (f'<joint name="j"/>{I}', TENDON.format(""), "'t': tendons are not kept"),
        (f'<joint type="ball" limited="true" range="0 90"/>{I}', "", "the limit of a ball joint is not kept"),
        (f'<joint name="j"/>{I}', '<actuator><muscle name="m" joint="j"/></actuator>', "'m': it follows a law"),
    ],
)
def test_data_that_is_not_kept(tmp_path, body, rest, message):
    with pytest.warns(ModelWarning, match=message):
        load(tmp_path, body, rest, strict=True)


def test_without_mujoco(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(qddot.MissingExtraError, match=r"reading MJCF needs the package 'mujoco': pip install 'qddot\[mjcf\]'"):
        load(tmp_path, f"<joint/>{I}")
