"""xacro: each feature expanded, and compared with what the ROS tool makes of the same files where that is installed."""

import xml.dom.minidom
from pathlib import Path

import pytest

import qddot
from qddot.errors import ModelWarning
from qddot.formats.source import from_file
from qddot.formats.xacro import expand
from qddot.formats.xml_tree import Element

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'

LIMITS = """
joint_limits:
  shoulder: {min: !degrees -180.0, max: !degrees 180, effort: 150, velocity: !radians pi/2, fast: yes}
  elbow: {min: -1.5, max: 1.5, effort: 28.0, velocity: 3, fast: no}
lengths: {upper: !millimeters 425, list: [1, 2.5, three]}
order: [shoulder, elbow]
"""

CASES: dict[str, str | dict[str, str]] = {
    "numbers": """<xacro:property name="a" value="2"/><xacro:property name="b" value="${a*1.5}"/>
        <x i="${a}" f="${b}" d="${a/4}" p="${a**3}" q="${-7//2}" m="${-7%3}" e="${1e-3*a}" z="${0.1+0.2}" t="$a"
        both="${a} ${b}m"/>""",
    "math": """<x a="${radians(90)}" b="${degrees(pi)}" c="${sin(pi/6)}" d="${math.sqrt(2)}" e="${atan2(1, -1)}"
        f="${round(2.675, 2)}"
        g="${min(3, 1, 2)}" h="${python.abs(-2)}" i="${max([1, 5])}" j="${floor(2.7)}" k="${int(2.7)}" l="${float('1e3')}"
            m="${math.pi}"/>""",
    "texts": """<xacro:property name="prefix" value="left_"/><xacro:property name="number" value="'12'"/>
        <x a="${prefix}arm" b="${prefix + 'hand'}" c="${'x'*3}" d="${number + 3}" e="${prefix.upper()}"
        f="${'0 1 2'.split(' ')[1]}"
        g="${'a' in prefix}" h="${len(prefix)}" i="${prefix[:-1]}" j="${str(1.50)}" k="${prefix.replace('left', 'right')}"/>""",
    "logic": """<xacro:property name="t" value="true"/><xacro:property name="n" value="0"/>
        <x a="${t and not n}" b="${n or 'none'}" c="${1 &lt; 2 &lt;= 2}" d="${'a' if t else 'b'}" e="${n == 0 and t != 5}"
        f="${None}" g="${'b' not in ['a', 'c']}" h="${t is True}"/>""",
    "conditions": """<xacro:arg name="gripper" default="true"/><xacro:property name="n" value="3"/>
        <xacro:if value="$(arg gripper)"><a/></xacro:if><xacro:unless value="$(arg gripper)"><b/></xacro:unless>
        <xacro:if value="${n > 2}"><c/><xacro:if value="0"><d/></xacro:if></xacro:if><xacro:if value="${[1]}"><e/></xacro:if>""",
    "lazy": """<xacro:property name="area" value="${side**2}"/><xacro:property name="side" value="3"/><x a="${area}"/>
        <xacro:property name="side" value="4"/><x a="${area}"/><xacro:property name="fixed" value="${side}" lazy_eval="false"/>
        <xacro:property name="side" value="5"/><x a="${fixed}"/><xacro:property name="k" default="1"/>
        <xacro:property name="k" default="2"/>
        <x k="${k}"/>""",
    "macros": """<xacro:macro name="wheel" params="name x:=0 y=1 *origin **extra"><link name="${name}" x="${x}" y="${y}">
        <xacro:insert_block name="origin"/><xacro:insert_block name="extra"/></link></xacro:macro>
        <xacro:property name="r" value="0.1"/>
        <xacro:wheel name="a"><origin xyz="${r} 0 0"/><more><p/><q r="${r}"/></more></xacro:wheel>
        <xacro:wheel x="${2*r}" name="b" y="'7'"><origin/><nothing/></xacro:wheel>""",
    "defaults": """<xacro:property name="mass" value="3"/>
        <xacro:macro name="m" params="mass:=^|1 size:=^|2 text:='a b' expr:=${1+1} none:=''"><x m="${mass}" s="${size}" t="${text}"
        e="${expr}" n="${none}"/></xacro:macro><xacro:m/><xacro:m size="9" mass="8"/>""",
    "scopes": """<xacro:macro name="inner" params="v"><xacro:property name="up" value="${v}1" scope="parent"/>
        <xacro:property name="everywhere" value="${v}2" scope="global"/><xacro:property name="own" value="3"/></xacro:macro>
        <xacro:macro name="outer" params=""><xacro:inner v="a"/><x up="${up}" g="${everywhere}"/></xacro:macro>
        <xacro:outer/><x g="${everywhere}"/>""",
    "blocks": """<xacro:property name="shape"><geometry><box size="${s} ${s} 1"/></geometry><origin/></xacro:property>
        <xacro:property name="s" value="2"/><link><xacro:insert_block name="shape"/></link>
        <xacro:property name="s" value="3"/><link><xacro:insert_block name="shape"/></link>""",
    "recursion": """<xacro:macro name="chain" params="n"><link name="l${n}"/><xacro:if value="${n > 0}">
        <xacro:chain n="${n - 1}"/></xacro:if>
        </xacro:macro><xacro:chain n="12"/>""",
    "calls": """<xacro:macro name="left" params="a"><l a="${a}"/></xacro:macro><xacro:macro name="right" params="a">
        <r a="${a}"/></xacro:macro>
        <xacro:property name="side" value="right"/><xacro:call macro="${side}" a="1"/>
        <xacro:element xacro:name="${side}_hand" b="${side}"><in/></xacro:element>
        <x><xacro:attribute name="${side}" value="${1+1}"/></x>""",
    "escapes": """<x a="$${not} $$(arg) $ 5$" b="${'$'}{x}" c="$$${1}"/>""",
    "nested": """<xacro:property name="f" value="b"/><xacro:arg name="n" default="4"/><x a="${$(arg n)*2}" b="${'$(arg n)' + f}"
        c="$(arg n)${f}"/>""",
    "include": {
        "robot.xacro": """<xacro:include filename="parts/arm.xacro"/><xacro:include filename="$(find pkg)/parts/hand.xacro"
            ns="hand"/>
            <xacro:include filename="nowhere.xacro" optional="true"/>
            <xacro:arm name="a"/><xacro:hand.finger n="2"/><x l="${length}" h="${hand.length}"/>""",
        "parts/arm.xacro": """<xacro:property name="length" value="0.5"/><xacro:include filename="deeper/common.xacro"/>
            <xacro:macro name="arm" params="name"><xacro:tag t="${name}"/></xacro:macro><link name="included"/>""",
        "parts/deeper/common.xacro": """<xacro:macro name="tag" params="t"><tag of="${t}"/></xacro:macro>""",
        "parts/hand.xacro": """<xacro:property name="length" value="0.1"/>
            <xacro:macro name="finger" params="n"><finger n="${n}" l="${length}"/></xacro:macro>""",
    },
    "from macro to macro": {
        "robot.xacro": """<xacro:macro name="read" params="file deep"><xacro:property name="deep" value="${deep}" scope="parent"/>
            <xacro:property name="data" value="${xacro.load_yaml(file)}"/>
            <xacro:property name="meshes" value="${data['mesh_files']}" scope="parent"/></xacro:macro>
            <xacro:macro name="pick" params="name:=^ type:=^">
            <xacro:property name="found" value="${meshes[name][type]}" scope="parent"/>
            </xacro:macro>
            <xacro:macro name="path" params="name:=^ type:=^"><xacro:pick/><xacro:if value="${deep}">
              <xacro:property name="mesh" value="file://$(find ${found['package']})/${found['path']}" scope="parent"/></xacro:if>
              <xacro:unless value="${deep}"><xacro:property name="mesh" value="package://${found['package']}" scope="parent"/>
              </xacro:unless></xacro:macro>
            <xacro:macro name="mesh" params="name type"><xacro:path/><mesh filename="${mesh}"/></xacro:macro>
            <xacro:read file="$(find pkg)/meshes.yaml" deep="true"/><xacro:mesh name="base" type="visual"/>
            <xacro:read file="$(find pkg)/meshes.yaml" deep="false"/><xacro:mesh name="base" type="collision"/>""",
        "meshes.yaml": "mesh_files: {base: {visual: {package: pkg, path: a.dae}, collision: {package: pkg, path: a.stl}}}",
    },
    "yaml": {
        "robot.xacro": """<xacro:property name="file" value="$(find pkg)/limits.yaml"/>
            <xacro:property name="config" value="${xacro.load_yaml(file)}"/><xacro:property name="all"
            value="${config['joint_limits']}"/>
            <xacro:macro name="limit" params="joint limits:=^|${all}"><xacro:property name="own" value="${limits[joint]}"
            lazy_eval="false"/>
            <limit lower="${own.min}" upper="${own['max']}" effort="${own.effort}" v="${own.velocity}" fast="${own.fast}"/>
            <xacro:if value="${own.fast}"><fast/></xacro:if><xacro:unless value="${'mass' in own}">no mass</xacro:unless>
            </xacro:macro>
            <xacro:limit joint="shoulder"/><xacro:limit joint="elbow"/>
            <x u="${config.lengths.upper}" l="${config['lengths']['list'][2]}" n="${len(config['order'])}" o="${config.order[-1]}"
               i="${config.lengths.list[0]}" k="${list(config.keys())}" d="${config.get('none', 4)}"/>""",
        "limits.yaml": LIMITS,
    },
}
WAYS = [*((name, {}) for name in CASES), ("conditions", {"gripper": False}), ("nested", {"n": 7})]


def write(folder: Path, case: str | dict[str, str]) -> Path:
    for name, text in ({"robot.xacro": case} if isinstance(case, str) else case).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text if name.endswith("yaml") else f"{HEAD}{text}</robot>")
    return folder / "robot.xacro"


def ours(element: Element) -> tuple:
    return element.tag, dict(sorted(element.attributes.items())), [ours(child) for child in element.children]


def theirs(node: xml.dom.minidom.Element) -> tuple:
    inside = [theirs(child) for child in node.childNodes if child.nodeType == node.ELEMENT_NODE]
    return node.tagName, {key: str(value) for key, value in sorted(node.attributes.items())}, inside


@pytest.mark.parametrize(("name", "arguments"), WAYS)
def test_like_the_ros_tool(tmp_path, monkeypatch, name, arguments):
    tool = pytest.importorskip("xacro")
    monkeypatch.setattr("xacro.substitution_args._eval_find", lambda package: str(tmp_path / package))
    path = write(tmp_path / "pkg", CASES[name])
    tool.init_stacks(str(path))
    document = tool.process_file(str(path), mappings={key: str(value) for key, value in arguments.items()})
    assert ours(expand(from_file(path), arguments)[0]) == theirs(document.documentElement)


def one(tmp_path: Path, name: str, **how) -> list[dict[str, str]]:
    """The attributes of each element directly under the root."""
    return [child.attributes for child in expand(from_file(write(tmp_path / "pkg", CASES[name])), **how)[0].children]


def test_values_by_hand(tmp_path):
    assert one(tmp_path, "numbers")[0] == {
        "i": "2", "f": "3.0", "d": "0.5", "p": "8", "q": "-4", "m": "2", "e": "0.002", "z": "0.30000000000000004", "t": "$a",
        "both": "2 3.0m",
    }  # fmt: skip
    assert [x.get("a") for x in one(tmp_path, "lazy")] == ["9", "9", "4", None]
    assert one(tmp_path, "defaults") == [
        {"m": "3", "s": "2", "t": "a b", "e": "2", "n": ""},
        {"m": "8", "s": "9", "t": "a b", "e": "2", "n": ""},
    ]
    assert len(one(tmp_path, "recursion")) == 13
    limits = one(tmp_path, "yaml")
    assert limits[0]["lower"] == "-3.141592653589793"
    assert limits[-1] == {"u": "0.425", "l": "three", "n": "2", "o": "elbow", "i": "1", "d": "4"} | {"k": limits[-1]["k"]}


# as a robot -----------------------------------------------------------------------------------------------------------

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <xacro:arg name="joints" default="2"/>
  <xacro:property name="length" value="0.4"/>
  <xacro:macro name="rod" params="name mass">
    <link name="${name}">
      <inertial><origin xyz="${length/2} 0 0"/><mass value="${mass}"/>
        <inertia ixx="0.001" iyy="${mass*length**2/12}" izz="${mass*length**2/12}" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><mesh filename="file://$(dirname)/rod.stl"/></geometry></visual>
    </link>
  </xacro:macro>
  <link name="$(arg prefix)base"/>
  <xacro:macro name="chain" params="i parent">
    <xacro:rod name="$(arg prefix)l${i}" mass="${2/i}"/>
    <joint name="$(arg prefix)j${i}" type="continuous"><parent link="${parent}"/><child link="$(arg prefix)l${i}"/>
      <origin xyz="${length if i > 1 else 0} 0 0"/><axis xyz="0 0 1"/></joint>
    <xacro:if value="${i &lt; $(arg joints)}"><xacro:chain i="${i+1}" parent="$(arg prefix)l${i}"/></xacro:if>
  </xacro:macro>
  <xacro:chain i="1" parent="$(arg prefix)base"/>
</robot>"""


def test_a_robot(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM)
    assert qddot.load(path).joint_names == ("j1", "j2")
    robot = qddot.load(path, arguments={"prefix": "left_", "joints": 5})
    assert robot.joint_names == ("left_j1", "left_j2", "left_j3", "left_j4", "left_j5")
    assert robot.mass_matrix([0] * 5)[4, 4] == pytest.approx(0.4 * 0.4**2 / 3)
    assert robot.model.joints[0].place.line == 15


def test_the_robot_may_be_named_by_an_argument_declared_inside(tmp_path):
    path = tmp_path / "r.xacro"
    path.write_text(HEAD.replace('"r"', '"$(arg name)"') + '<xacro:arg name="name" default="ur"/><link name="base"/></robot>')
    assert qddot.load(path).name == "ur"


def test_packages_are_found_above_beside_and_where_they_are_given(tmp_path):
    common = HEAD + '<xacro:macro name="base" params=""><link name="base"/></xacro:macro></robot>'
    text = HEAD + '<xacro:include filename="$(find {})/urdf/common.xacro"/><xacro:base/></robot>'
    for folder in ("arm_description", "common_description"):
        (tmp_path / folder / "urdf").mkdir(parents=True)
        (tmp_path / folder / "package.xml").write_text("<package/>")
        (tmp_path / folder / "urdf" / "common.xacro").write_text(common)
    path = tmp_path / "arm_description" / "urdf" / "robot.xacro"
    for package in ("arm_description", "common_description"):
        path.write_text(text.format(package))
        assert qddot.load(path).link_names == ("base",)
    path.write_text(text.format("elsewhere"))
    assert qddot.load(path, packages={"elsewhere": tmp_path / "common_description"}).link_names == ("base",)


def test_environment_variables_are_arguments(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBOT", "from outside")
    path = tmp_path / "r.xacro"
    path.write_text(HEAD + '<link name="$(optenv ROBOT some robot)"/></robot>')
    assert qddot.load(path).link_names == ("some robot",)
    assert qddot.load(path, arguments={"ROBOT": "given"}).link_names == ("given",)


def test_messages_of_the_file_are_warnings(tmp_path):
    path = tmp_path / "r.xacro"
    path.write_text(HEAD + "\n<link name='a'/>${xacro.warning('no', 'inertia')}</robot>")
    with pytest.warns(ModelWarning, match=r"r.xacro:2:\d+: .*no inertia"):
        qddot.load(path)
