"""Descriptions that are not files: the text of `/robot_description`, an open file, standard input."""

import io
import warnings

import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import qddot
from qddot.cli import main
from qddot.errors import InputError, ModelFormatError, ModelReferenceError, ModelSecurityError, ModelSyntaxError, ModelWarning
from qddot.formats import load_model

URDF = """<?xml version="1.0" encoding="utf-8"?>
<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
TEXTS = {
    "urdf": URDF,
    "xacro": """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="2"/>
      <link name="base"/><link name="rod"><inertial><origin xyz="0.2 0 0"/><mass value="${m}"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/></joint></robot>""",
    "mjcf": """<mujoco model="arm"><worldbody><body name="rod"><joint name="hinge"/>
      <inertial pos="0.2 0 0" mass="2" diaginertia="0.01 0.02 0.02"/></body></worldbody></mujoco>""",
    "toml": """# an arm
      name = "arm"
      [[bodies]]
      name = "rod"
      inertia = {mass = 2, com = [0.2, 0, 0], tensor = [0.01, 0.02, 0.02]}""",
    "json": """{"name": "arm", "bodies":
      [{"name": "rod", "inertia": {"mass": 2, "com": [0.2, 0, 0], "tensor": [0.01, 0.02, 0.02]}}]}""",
    "yaml": "name: arm\nbodies:\n- name: rod\n  inertia: {mass: 2, com: [0.2, 0, 0], tensor: [0.01, 0.02, 0.02]}\n",
}


@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
@pytest.mark.parametrize("said", [False, True], ids=["sniffed", "said"])
@pytest.mark.parametrize("form", TEXTS)
def test_every_format(form, said, as_bytes):
    if form == "mjcf":
        pytest.importorskip("mujoco")
    text = TEXTS[form].encode() if as_bytes else TEXTS[form]
    robot = qddot.load_string(text, form if said else None)
    assert robot.name == "arm"
    assert_allclose(robot.mass_matrix([0.3]), [[2 * 0.2**2 + 0.02]], rtol=1e-12)


def test_options_are_those_of_load():
    robot = qddot.load_string(URDF, gravity=(0, 0, -1), floating=True)
    assert robot.nv == 7
    assert robot.gravity[2] == -1
    prefixed = (
        TEXTS["xacro"].replace('"hinge"', '"$(arg p)hinge"').replace("<xacro:property", '<xacro:arg name="p"/><xacro:property')
    )
    assert qddot.load_string(prefixed, arguments={"p": "left_"}).joint_names == ("left_hinge",)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", ModelFormatError, "the text is empty"),
        (" \n", ModelFormatError, "the text is empty"),
        ("hello", ModelFormatError, r"<text>:1:1: 'hello': .*give its format: one of urdf"),
        ("<robot", ModelSyntaxError, "<text>:1:.*not well-formed"),
        ("bodies = [", ModelSyntaxError, "<text>:1"),
        (URDF.replace('mass value="2"', 'mass value="x"'), qddot.ModelValueError, r"<text>:2:.*'x' is not a decimal number"),
        (None, InputError, "a description is text, and this is a NoneType"),
    ],
)
def test_texts_that_are_none(text, error, message):
    with pytest.raises(error, match=message):
        qddot.load_string(text)


def test_an_unknown_format():
    with pytest.raises(InputError, match=r"format='urfd' is not one of .*did you mean 'urdf'"):
        qddot.load_string(URDF, "urfd")
    with pytest.raises(InputError, match="the suffix of a file says it"):
        load_model("two_link", format="toml")


def test_a_text_given_to_load_is_told_from_a_path():
    for text in (URDF, TEXTS["json"]):
        with pytest.raises(ModelFormatError, match=r"qddot\.load_string reads a text"):
            qddot.load(text)


def test_a_text_opens_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.xml").write_text("<mujocoinclude/>")
    (tmp_path / "part.xacro").write_text('<robot name="r"/>')
    (tmp_path / "package.xml").write_text("<package/>")
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/>'
    for text, error in (
        ('<mujoco><include file="part.xml"/></mujoco>', ModelReferenceError),
        (head + '<xacro:include filename="part.xacro"/></robot>', ModelReferenceError),
        (head + f'<xacro:include filename="{tmp_path}/part.xacro"/></robot>', ModelSecurityError),
        (head + '<xacro:property name="d" value="$(dirname)"/><link name="${d}"/></robot>', ModelReferenceError),
    ):
        with pytest.raises(error, match=r"file|text"):
            qddot.load_string(text)
    inside = head + '<xacro:include filename="$(find here)/part.xacro"/></robot>'
    assert qddot.load_string(inside, packages={"here": tmp_path}).nv == 0


def test_open_files(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    for mode in ("r", "rb"):
        with path.open(mode) as stream:
            assert qddot.load(stream).name == "arm"
    assert qddot.load(io.StringIO(URDF)).name == "arm"
    assert qddot.load(io.BytesIO(URDF.encode("utf-8"))).name == "arm"
    path.write_text(URDF.replace('value="2"', 'value="two"'))
    with path.open() as stream, pytest.raises(qddot.ModelValueError, match=r"arm\.urdf:2"):
        qddot.load(stream)

    class Odd:
        def read(self, size):
            return 3

    with pytest.raises(InputError, match="gives int when read"):
        qddot.load(Odd())


def test_a_text_in_another_encoding_has_been_decoded():
    latin = URDF.replace("utf-8", "latin-1").replace("hinge", "häng")
    assert qddot.load_string(latin, "urdf").joint_names == qddot.load_string(latin).joint_names == ("häng",)
    assert qddot.load_string(latin.encode("latin-1")).joint_names == ("häng",)


def test_standard_input():
    result = CliRunner().invoke(main, ["info", "-"], input=URDF)
    assert result.exit_code == 0, result.output
    assert "Robot 'arm': 1 dof" in result.output
    result = CliRunner().invoke(main, ["info", "-"], input="nonsense")
    assert result.exit_code == 1
    assert "<stream>:1:1" in result.output


# what real files get wrong and everybody reads alike --------------------------------------------------------------------------


def loads(text: str, *messages: str) -> qddot.Robot:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = qddot.load_string(text)
    found = [str(w.message) for w in caught if issubclass(w.category, ModelWarning)]
    assert len(found) == len(messages), found
    for message, text in zip(messages, found):
        assert message in text
    return robot


def test_white_space_before_the_declaration():
    robot = loads("\n\n" + URDF, "<text>:1:1: white space stands before the XML declaration")
    assert robot.name == "arm"
    with pytest.raises(qddot.ModelValueError, match="<text>:4:"):
        qddot.load_string("\n\n" + URDF.replace('value="2"', 'value="two"'))


@pytest.mark.parametrize(
    ("old", "copy"),
    [
        ('<axis xyz="0 0 1"/>', '<axis xyz=" 0 0  1"/>'),
        ('<mass value="2"/>', '<mass value="2"/>'),
        ('<origin xyz="0.2 0 0"/>', '<origin xyz="0.2 0 0"/>'),
        ('<parent link="base"/>', '<parent link="base"/>'),
    ],
)
def test_a_copy_of_a_part(old, copy):
    tag = old[1:].split()[0]
    robot = loads(URDF.replace(old, old + copy), f"<{tag}> is given again")
    assert_allclose(robot.mass_matrix([0.0]), [[0.1]])


def test_of_two_origins_the_first_counts_as_in_other_readers():
    pin = pytest.importorskip("pinocchio")
    text = URDF.replace('<origin xyz="0.2 0 0"/>', '<origin xyz="0.2 0 0"/><origin xyz="0.7 0 0"/>')
    robot = loads(text, "a second <origin> that differs: the first, on line 2, counts")
    model = pin.buildModelFromXML(text)
    assert_allclose(robot.mass_matrix([0.0]), pin.crba(model, model.createData(), pin.neutral(model)), rtol=1e-12)
    with pytest.raises(qddot.ModelValueError, match="a second <origin> that differs"):
        qddot.load_string(text, strict=True)


@pytest.mark.parametrize("second", ['<axis xyz="0 1 0"/>', '<child link="base"/>', '<limit lower="-2" upper="2"/>'])
def test_what_is_ambiguous_is_refused(second):
    with pytest.raises(qddot.ModelError, match="duplicate"):
        qddot.load_string(URDF.replace("</joint>", second + "</joint>"))
