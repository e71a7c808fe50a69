import json
import math
import warnings

import numpy as np
import pytest
import sympy
import yaml

from qddot.errors import (
    ModelError,
    ModelFormatError,
    ModelLimitError,
    ModelReferenceError,
    ModelStructureError,
    ModelSyntaxError,
    ModelValueError,
    ModelWarning,
)
from qddot.formats import load_model
from qddot.model.description import Limits, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from tests.formats.kinematics import rot, trans, world_pose

ARM = {
    "name": "arm",
    "gravity": [0, 0, -1.62],
    "base": "ground",
    "values": {"l": 0.5, "half": "l/2"},
    "bodies": [
        {
            "name": "upper",
            "joint_name": "shoulder",
            "axis": "y",
            "xyz": [0, 0, "l"],
            "rpy_deg": [0, 0, 90],
            "inertia": {"shape": "rod", "mass": 2, "length": "l", "axis": "x", "com": ["half", 0, 0]},
            "limits": {"lower": "-pi", "upper": "pi", "velocity": 3, "effort": 40},
            "drive": {"viscous": 0.1, "coulomb": [0.2, 0.3], "gear_ratio": 50, "rotor_inertia": 1e-5, "side": "motor"},
        },
        {
            "name": "lower",
            "parent": "upper",
            "type": "helical",
            "pitch": 0.01,
            "xyz": ["l", 0, 0],
            "limits": [-1, 1],
            "inertia": {"mass": 1, "com": [0.1, 0, 0], "tensor": [0.02, 0.02, 0.02], "rpy": [0, 0, 0.3]},
        },
        {
            "name": "finger",
            "parent": "lower",
            "mimic": {"joint": "lower_joint", "multiplier": -1},
            "inertia": {"shape": "point", "mass": 1},
        },
    ],
    "frames": [{"name": "tip", "link": "lower", "xyz": [0.3, 0, 0], "rpy": [0, "pi/2", 0]}],
}


def toml_value(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value)


WRITERS = {
    "json": lambda tree: json.dumps(tree, indent=1),
    "yaml": yaml.safe_dump,
    "yml": lambda tree: "---\n" + json.dumps(tree),
    "toml": lambda tree: "\n".join(f"{key} = {toml_value(value)}" for key, value in tree.items()),
}


@pytest.fixture
def read(tmp_path):
    def read(text, suffix="toml", **options):
        path = tmp_path / f"robot.{suffix}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_model(path, **options)

    return read


@pytest.mark.parametrize("suffix", WRITERS)
def test_one_schema_in_every_syntax(read, suffix):
    model = read(WRITERS[suffix](ARM), suffix)
    assert (model.name, model.root, model.gravity) == ("arm", "ground", (0, 0, -1.62))
    shoulder, lower, finger = model.joints
    assert shoulder.name == "shoulder"
    assert shoulder.limits == Limits(-math.pi, math.pi, 3, 40)
    assert shoulder.drive == Drive(viscous=0.1, coulomb=(0.2, 0.3), gear_ratio=50, rotor_inertia=1e-5, side="motor")
    assert (lower.kind, lower.pitch, lower.limits) == ("helical", 0.01, Limits(-1, 1))
    assert finger.mimic == Mimic("lower_joint", -1.0)
    assert model.links[1].inertia == Inertia.rod(2.0, 0.5, "x").shifted((0.25, 0, 0))
    upper = trans(z=0.5) @ rot("z", math.pi / 2) @ rot("y", 0.2)
    expected = upper @ trans(x=0.5) @ rot("z", 0.4) @ trans(0.3, 0, 0.004) @ rot("y", math.pi / 2)
    np.testing.assert_allclose(world_pose(model, "tip", [0.2, 0.4]), expected, atol=1e-15)


def test_dh_rows_as_lists_and_tables(read):
    model = read('convention = "modified"\ndh = [[0, "pi/2", 0.3, 0], {a = 0.2, type = "prismatic", name = "slide"}]')
    expected = rot("x", math.pi / 2) @ rot("z", 0.4) @ trans(z=0.3) @ trans(0.2, 0, 0.1)
    np.testing.assert_allclose(world_pose(model, "slide", [0.4, 0.1]), expected, atol=1e-15)
    assert model.name == "robot"


def test_screws_with_homes_and_tool(read):
    text = """
    relative: true
    screws:
      - {screw: [0, 0, 1, 0, 0, 0], home: {xyz: [1, 0, 0]}, inertia: {mass: 1}}
      - {screw: [0, 0, 0, 1, 0, 0], home: [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], inertia: {mass: 1}}
    tool: {xyz: [0, 0, 0.5]}
    """
    model = read(text, "yaml")
    np.testing.assert_allclose(world_pose(model, "tool", [0.3, 0.4]), rot("z", 0.3) @ trans(2.4, 0, 0.5), atol=1e-15)
    short = read('{"M": [[1,0,0,2],[0,1,0,0],[0,0,1,0],[0,0,0,1]], "B": [[0,0,1,0,2,0]]}', "json")
    np.testing.assert_allclose(world_pose(short, "tool", [0.3]), rot("z", 0.3) @ trans(2), atol=1e-15)


def test_symbols_stay_open_or_take_their_values(read):
    text = 'values = {m = 2}\n[[dh]]\na = "l"\ninertia = {mass = "m", com = ["-l/2", 0, 0]}'
    l, m = sympy.symbols("l m", real=True)
    assert read(text).symbols == {l}
    assert read(text, symbolic=True).symbols == {l, m}
    assert read(text).links[1].inertia == Inertia(2.0, (-l / 2, 0, 0))


def test_gravity_given_by_the_caller_wins(read):
    assert read(WRITERS["toml"](ARM), gravity=(1, 2, 3)).gravity == (1, 2, 3)


def test_byte_order_mark_and_windows_lines_are_read(read):
    assert read(b'\xef\xbb\xbfname = "x"\r\ndh = [[1, 0, 0, 0]]\r\n').name == "x"


def test_yaml_numbers_need_no_dot(read):
    text = "dh:\n- {a: 1e-3, d: -2E+1, inertia: {mass: 1}}\n"
    assert read(text, "yaml").joints[0].tip.p == (1e-3, 0, -20)


def test_yaml_anchors_are_followed(read):
    text = "dh:\n- {a: 1, inertia: &ball {shape: sphere, mass: 1, radius: 0.1}}\n- {a: 1, inertia: *ball}\n"
    model = read(text, "yaml")
    assert model.links[1].inertia == model.links[2].inertia


# errors -------------------------------------------------------------------------------------------------------------------------

BAD_SYNTAX = [
    ("json", '{"dh": [[0, 0, 0, 0]\n,]}', 2),
    ("json", '{"dh": [],\n "dh": []}', 2),
    ("json", "", 1),
    ("json", " \n", 1),
    ("json", "{}\n{}", 2),
    ("toml", "name = 1\nname = 2\n", 2),
    ("toml", "[dh\n", 1),
    ("toml", "dh = [", 1),
    ("yaml", "a: 1\nb: ]", 2),
    ("yaml", "dh: []\ndh: []", 2),
    ("yaml", "dh: []\n---\ndh: []", 2),
    ("yaml", "a: 1\nb: *nobody", 2),
    ("yaml", "a: 1\nb: 010", 2),
    ("yaml", "? [a]\n: b", 1),
    ("yaml", "a: !!python/name:os.system x", 1),
    ("yaml", "a: !thing x", 1),
    ("yaml", "a: !!binary aGk=", 1),
    ("yaml", "# nothing", 1),
    ("yaml", "a: \x01", 1),
    ("toml", b"a = 1\nb = '\xff'", 2),
    ("json", b'{"a": 1}\0', 1),
]


@pytest.mark.parametrize(("suffix", "text", "line"), BAD_SYNTAX)
def test_ill_formed_files_are_refused_with_their_line(read, suffix, text, line):
    with pytest.raises(ModelSyntaxError) as caught:
        read(text, suffix)
    assert caught.value.file.endswith(f"robot.{suffix}")
    assert caught.value.line == line


TOML = """values = {l = 1}
[[bodies]]
name = "a"
inertia = {mass = 1}
%s
[[bodies]]
name = "b"
parent = "a"
[bodies.inertia]
%s
"""
# what stands in the first body, what in the second one's inertia; the line, the attribute, the message
BAD_VALUES = [
    ("axs = 'x'", "", 5, "axs", "did you mean 'axis'"),
    ("axis = [0, 0]", "", 5, "axis", "there are 2"),
    ("axis = [0, 0, 0]", "", 5, "axis", "no direction"),
    ("axis = 'w'", "", 5, "axis", "unknown axis"),
    ("xyz = [0,\n 0, nan]", "", 6, "xyz[2]", "not a finite number"),
    ("xyz = [0, 0, '1_0']", "", 5, "xyz[2]", "neither a number nor an expression"),
    ("xyz = [0, 0, true]", "", 5, "xyz[2]", "a number is needed"),
    ("rpy_deg = [0, 0, 0]\nrpy = [0, 0, 0]", "", 5, "rpy_deg", "keep one"),
    ("type = 'hinge'", "mass = 1", 5, "type", r"unknown joint type \(known: 'revolute'"),
    ("type = 3", "", 5, "type", "put it in quotes"),
    ("parent = 2000-01-01", "", 5, "parent", "a text is needed"),
    ("pitch = 1e999", "", 5, "pitch", "not a finite number"),
    ("pitch = " + "9" * 400, "", 5, "pitch", "not a finite number"),
    ("limits = [1, -1]", "mass = 1", 5, "", "above the upper"),
    ("limits = {lower = 'q'}", "", 5, "lower", "plain number"),
    ("limits = {efort = 1}", "", 5, "efort", "did you mean 'effort'"),
    ("drive = {viscous = -1}", "", 5, "viscous", "not negative"),
    ("drive = {side = 'left'}", "", 5, "side", "not one of joint, motor"),
    ("drive = {coulomb = [1, 2, 3]}", "", 5, "coulomb", "a pair"),
    ("mimic = {multiplier = 2}", "", 5, "joint", "it is missing"),
    ("", "mass = -1", 10, "mass", "a mass is not negative"),
    ("", "tensor = [1, 1, 1]", 9, "mass", "it is missing"),
    ("", "mass = 1\ntensor = [1, 1]", 11, "tensor", "shape"),
    ("", "mass = 1\ntensor = [[1, 2, 0], [0, 1, 0], [0, 0, 1]]", 11, "tensor", "symmetric"),
    ("", "mass = 1\nshape = 'ball'", 11, "inertia shape", "unknown shape"),
    ("", "mass = 1\nshape = 'sphere'\nradius = -1", 12, "radius", "not negative"),
    ("", "mass = 1\nshape = 'sphere'\nlength = 1", 12, "length", "unknown key"),
    ("", "mass = 1\nshape = 'rod'\nlength = 1\naxis = 'w'", 13, "axis", "not one of x, y, z"),
]


@pytest.mark.parametrize(("body", "inertia", "line", "attribute", "message"), BAD_VALUES)
def test_bad_values_name_their_line_element_and_attribute(read, body, inertia, line, attribute, message):
    with pytest.raises(ModelValueError, match=message) as caught:
        read(TOML % (body, inertia))
    assert (caught.value.attribute, caught.value.line) == (attribute, line)
    assert "body" in caught.value.element or "joint" in caught.value.element


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("[1, 2]", ModelFormatError, "a table of keys"),
        ('"robot"', ModelFormatError, "a table of keys"),
        ("{}", ModelFormatError, "no robot in it"),
        ('{"bodie": []}', ModelFormatError, "did you mean 'bodies' by 'bodie'"),
        ('{"DH": []}', ModelFormatError, "did you mean 'dh' by 'DH'"),
        ('{"dh": [], "bodies": []}', ModelFormatError, "exclude each other"),
        ('{"S": [], "screws": []}', ModelFormatError, "given twice"),
        ('{"dh": []}', ModelStructureError, "no rows"),
        ('{"dh": 3}', ModelValueError, "a list is needed"),
        ('{"dh": [3]}', ModelValueError, "dh row 1"),
        ('{"dh": [[1, 2, 3]]}', ModelValueError, "has 3 numbers"),
        ('{"dh": [[1, 2, 3, null]]}', ModelValueError, "theta='null': a number is needed"),
        ('{"dh": [[1, 2, 3, "NaN"]]}', ModelValueError, "theta='NaN': not a finite number"),
        ('{"dh": [[1, 2, 3, -Infinity]]}', ModelValueError, "theta='-Infinity': not a finite number"),
        ('{"dh": [[1, 2, 3, [4]]]}', ModelValueError, "a number is needed"),
        ('{"dh": [[1, 2, 3, 4]], "convention": "craig"}', ModelValueError, "unknown convention"),
        ('{"dh": [[1, 2, 3, 4]], "tool": 1}', ModelValueError, "a pose is a 4 x 4 matrix"),
        ('{"dh": [[1, 2, 3, 4]], "gravity": [0, 1]}', ModelValueError, "gravity.*3 numbers are needed, there are 2"),
        ('{"dh": [[1, 2, 3, 4]], "symbols": ["2x"]}', ModelValueError, "a symbol is a name"),
        ('{"dh": [["l1", 2, 3, 4]], "symbols": ["l2"]}', ModelValueError, "did you mean 'l2'"),
        ('{"dh": [["l1", 2, 3, 4]], "values": {"l1": "x"}}', ModelValueError, "values l1='x': unknown symbol"),
        ('{"dh": [["l1", 2, 3, 4]], "values": [1]}', ModelValueError, "a table"),
        ('{"dh": [["l1", 2, 3, 4]], "values": {"pi": 3}}', ModelValueError, "values name='pi': this name has a meaning of its own"),
        ('{"dh": [["l1", 2, 3, 4]], "values": {"sin": 3}}', ModelValueError, "a meaning of its own"),
        ('{"dh": [["l1", 2, 3, 4]], "values": {"a b": 3}}', ModelValueError, "a symbol is a name"),
        (
            '{"dh": [["l1", 2, 3, 4]], "values": {"a": "b", "b": "2*a"}}',
            ModelValueError,
            "in a circle: (a needs b needs a|b needs a needs b)",
        ),
        ('{"dh": [["l1", 2, 3, 4]], "values": {"a": "a"}}', ModelValueError, "in a circle: a needs a"),
        ('{"dh": [["((a+b+c+d)**16)**16", 2, 3, 4]]}', ModelLimitError, "dh row 1 a=.*over the limit of 64"),
        ('{"dh": [[1, 2, 3, 4]], "symbols": ["pi"]}', ModelValueError, "a meaning of its own"),
        ('{"S": [[0, 0, 1, 0, 0]]}', ModelValueError, "6 numbers are needed, there are 5"),
        ('{"S": [[0, 0, 0, 0, 0, 0]]}', ModelValueError, "no direction"),
        ('{"S": [[0, 0, 1, 0, 0, 0]], "M": [[1, 0], [0, 1]]}', ModelValueError, "4 x 4"),
        ('{"S": [[0, 0, 1, 0, 0, 0]], "relative": 1}', ModelValueError, "true or false"),
        ('{"B": [[0, 0, 1, 0, 0, 0]]}', ModelValueError, "tool"),
        ('{"S": [{"screw": [0,0,1,0,0,0], "home": {}}, [0,0,1,0,0,0]]}', ModelValueError, "give one to each"),
        ('{"bodies": [{"parent": "a"}]}', ModelValueError, "body 1 name: it is missing"),
        ('{"bodies": [{"name": "a", "parent": "bse", "inertia": {"mass": 1}}]}', ModelReferenceError, "did you mean 'base'"),
        ('{"dh": [[1, 0, 0, 0]], "frames": [{"name": "t", "link": "link2"}]}', ModelReferenceError, "did you mean 'link1'"),
    ],
)
def test_wrong_descriptions_are_refused(read, text, error, message):
    with pytest.raises(error, match=message) as caught:
        read(text, "json")
    assert type(caught.value) is error
    assert caught.value.line == 1
    assert caught.value.file.endswith("robot.json")


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("json", "[" * 100_000),
        ("json", '{"a": ' + "[" * 300 + "]" * 300 + "}"),
        ("toml", "a = " + "[" * 300 + "]" * 300),
        ("toml", "a = " + "[" * 100_000),
        ("yaml", "[" * 100_000),
        ("yaml", "a: " + "[" * 300 + "]" * 300),
        ("yaml", "a: &a [*a]"),
    ],
)
def test_depth_and_endless_aliases_are_limited(read, suffix, text):
    with pytest.raises((ModelLimitError, ModelSyntaxError)) as caught:
        read(text, suffix)
    assert isinstance(caught.value, ModelLimitError) or not text.endswith("]")


def test_size_is_limited(read, monkeypatch):
    monkeypatch.setenv("QDDOT_MAX_DOCUMENT_BYTES", "10")
    with pytest.raises(ModelLimitError, match="file size 20 is over the limit of 10"):
        read("dh = [[1, 0, 0, 0]]\n")


def test_places_in_a_long_toml_file(read):
    text = (
        """
# a comment with "quotes" and [brackets]
name = 'it''s' """.replace("it''s", "x # y")
        + """
"dh" = [   # rows
  [0, 0, 0, 0],  # ] not the end

  [0, "pi", 0, "x]"],
]
"""
    )
    with pytest.raises(ModelValueError) as caught:
        read(text)
    assert (caught.value.line, caught.value.column, caught.value.text) == (7, 16, "x]")


def test_doubtful_physics_is_reported_with_its_place(read):
    text = "dh = [\n[0, 0, 0, 0],\n{inertia = {mass = 1, tensor = [1, 1, 3]}}]"
    with pytest.warns(ModelWarning, match=r"robot.toml:3:12: link 'link2': .*triangle inequality"):
        read(text)
    with pytest.raises(ModelError, match=r"robot.toml:3:12: link 'link2' > inertia: .*triangle inequality"):
        read(text, strict=True)


def test_errors_of_the_whole_point_at_its_list(read):
    with pytest.raises(ModelStructureError, match=r"robot.toml:2:6: dh: the table has no rows"):
        read("name = 'x'\ndh = []")
    with pytest.raises(ModelValueError, match=r"robot.toml:2:5: robot tool: body screws .*add tool"):
        read("name = 'x'\nB = [[0, 0, 1, 0, 0, 0]]")


@pytest.mark.parametrize("order", [1, -1])
def test_long_chains_of_values_are_read_in_time(read, order):
    values = {"v0": 1, **{f"v{i}": f"v{i - 1} + 1" for i in range(1, 2000)}}
    model = read(json.dumps({"values": dict(list(values.items())[::order]), "dh": [["v1999", 0, 0, 0]]}), "json")
    assert model.joints[0].tip.p.x == 2000


@pytest.mark.parametrize(
    "text",
    [
        "dh = [[0, 90, 0, 0]]",
        "dh = [{theta = -180}]",
        "bodies = [{name = 'a', rpy = [0, 0, 90]}]",
        "dh = [[0, 0, 0, 0]]\nframes = [{name = 't', link = 'link1', rpy = [0, 0, 90]}]",
        "dh = [{inertia = {mass = 1, tensor = [1, 1, 1], rpy = [0, 0, 90]}}]",
    ],
)
def test_angles_that_look_like_degrees_are_reported_once(read, text):
    with pytest.warns(ModelWarning) as record:
        read(text)
    assert ["robot.toml:" in str(w.message) for w in record if "are these degrees?" in str(w.message)] == [True]


def test_degrees_beyond_a_turn_are_fine(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = read("bodies = [{name = 'a', rpy_deg = [0, 0, 450], inertia = {mass = 1, tensor = [1, 1, 1]}}]")
    assert model.joints[0].origin.R.a.y == -1
