"""Mistakes that new users make in their first description and on the command line: each gets its place and a fix."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import qddot
from qddot.cli import main
from qddot.cli.new import starter
from qddot.formats.text_inertia import ALIAS, SHAPES

ARM = starter("arm", "arm.toml")
DESCRIBED = (Path(__file__).parents[2] / "docs" / "describe.md").read_text(encoding="utf-8")


def call(*arguments: str):
    return CliRunner().invoke(main, arguments)


def written(folder: Path, old: str = "", new: str = "", name: str = "arm") -> tuple[str, int]:
    """The starter file with one thing changed, and the line of it."""
    assert old in ARM
    path = folder / f"{name}.toml"
    path.write_text(ARM.replace(old, new, 1) if old else ARM)
    return str(path), ARM[: ARM.index(old)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('mass = "m1"', "mass = m1", 'put words and arithmetic in quotes: "m1"'),
        ('length = "l1"', "length = l1/2", 'in quotes: "l1/2"'),
        ('lower = "-pi/2"', "lower = -pi/2", 'in quotes: "-pi/2"'),
        ("effort = 60", "effort = 2*30", 'in quotes: "2*30"'),
        ('mass = "m1"', 'mass = "m3"', "the symbol 'm3' has no value (did you mean 'm2' or 'm1'?"),
        ('name = "forearm"', 'name = "upper_arm"', "two links have the name 'upper_arm': first at {file}:11:8"),
        ('joint_name = "elbow"', 'joint_name = "shoulder"', "two joints have the name 'shoulder': first at {file}:12:14"),
        ('type = "revolute"', 'type = "revolut"', "did you mean 'revolute'?"),
        ('axis = "y"  ', 'axis = "Y"  ', "unknown axis"),
        ('axis = "y"  ', "axis = [0, 0, 0]  ", "it has no direction"),
        ('parent = "upper_arm"', 'parent = "uper_arm"', "did you mean 'upper_arm'"),
        ("lower = -2.5, upper = 2.5", "lower = 2.5, upper = -2.5", "swap them"),
        ("velocity = 10.0", "velocity = -2.5", "a limit is not negative"),
        ('link = "forearm"', 'link = "forarm"', "did you mean 'forearm'"),
    ],
)
def test_an_error_in_a_description_names_the_line_and_the_fix(tmp_path, old, new, said):
    path, line = written(tmp_path, old, new)
    result = call("check", path, "--json")
    (finding,) = json.loads(result.stdout)["robots"][path]
    assert result.exit_code == 1
    assert finding["severity"] == "error"
    assert finding["where"].startswith(f"{path}:{line}:")
    assert said.format(file=path) in f"{finding['message']} ({finding['fix']})"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("rpy = [0, 0, 0]", "rpy = [90, 0, 0]", "are these degrees?"),
        ('lower = "-pi/2", upper = "pi/2"', "lower = -90, upper = 90", "are these degrees?"),
    ],
)
def test_a_doubt_about_a_description_names_the_line(tmp_path, old, new, said):
    old, new = (old, new) if old in ARM else ("xyz = [0, 0, 0.5]", f"{new}  # ")
    path, line = written(tmp_path, old, new)
    (finding,) = json.loads(call("check", path, "--json").stdout)["robots"][path]
    assert said in finding["message"]
    assert finding["where"].startswith(f"{path}:{line}:")


def test_one_bad_file_does_not_hide_the_others(tmp_path):
    good, _ = written(tmp_path, name="good")
    bad, _ = written(tmp_path, 'mass = "m1"', 'mass = "m3"', name="bad")
    missing = str(tmp_path / "missing.toml")
    result = call("check", bad, missing, "pandda", good)
    assert result.exit_code == 1
    assert "4 checked: 3 errors, 0 warnings, 0 notes" in result.stdout
    assert "did you mean 'panda'" in result.stdout


def test_a_robot_of_symbols_only_is_no_error(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text("\n".join(line for line in ARM.splitlines() if not line.startswith("values")))
    result = call("check", str(path))
    assert result.exit_code == 0
    assert "symbols without values, l1, l2, m1, m2: equations, but no numbers to judge" in result.stdout


def test_the_way_out_of_symbols_is_one_that_helps(tmp_path):
    path, _ = written(tmp_path, 'mass = "m1"', 'mass = "m3"')
    assert "--symbolic" not in call("simulate", path).stderr
    assert "values = {...}; qddot check says where" in call("simulate", path).stderr


def test_equations_are_whole(tmp_path):
    path, _ = written(tmp_path)
    lines = call("equations", path, "--symbolic").stdout.splitlines()
    assert lines[0] == "tau = M(q)*qdd + c(q, qd) + g(q) + tau_f"
    assert lines[-1] == "tau_f = [0.4*qd1 + 0.8*sign(qd1), 0]"
    assert "g(q) = [-9.81*(m1 + 2*m2)*l1*c1/2 - 9.81*m2*l2*c12/2, -9.81*m2*l2*c12/2]" in lines
    assert "-m2*g*l2*c12/2" in call("equations", path, "gravity_torque", "--symbolic", "--g", "g").stdout
    assert "--g m1: the robot has a symbol 'm1' already" in call("equations", path, "--symbolic", "--g", "m1").stderr
    latex = call("equations", path, "--format", "latex", "--notation", "craig").stdout
    assert latex.startswith(r"\tau = M(\theta) \ddot{\theta} + V(\theta, \dot{\theta}) + G(\theta) + \tau_{f}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "ARM", "--q0", "1,2,3"), "--q0: 3 numbers were given, and arm takes 2: shoulder, elbow"),
        (("simulate", "ARM", "--qd0", "1"), "--qd0: 1 number was given, and arm takes 2: shoulder, elbow"),
        (("simulate", "ARM", "--torque", "1"), "--torque: 1 number was given"),
        (("compute", "ARM", "mass_matrix", "--q", "1"), "--q: 1 number was given"),
        (("compute", "quadruped", "mass_matrix", "--q", "1"), "takes 19: floating_base (7), front_left_abduction"),
        (("info", "ARM", "--gravity", "0,-9.81"), "3 numbers are needed, such as 0,0,-9.81"),
        (("excitation", "ARM", "--velocity", "1,2,3"), "--velocity: 3 numbers were given"),
        (("properties", "ARM", "--limits", "1"), "2 numbers are needed, such as -pi/2,pi/2"),
        (("simulate", "ARM", "--q0", "90deg,0"), "'90deg' in '90deg,0' is not a number"),
        (("derive", "ARM", "-o", "arm.doc"), "ends in '.doc', and may end in .html, .pdf, .tex, .md"),
        (("compute", "ARM", "mass_matrix", "--q", "0", "0"), "numbers of an option stand together, with commas: --q 0,-1.5,0"),
        (("compute", "ARM", "mass_matrix", "--q", "0", "-1"), "with commas"),
        (("equations", "ARM", "-o", "eq.pdf"), "qddot derive ROBOT -o FILE writes .pdf"),
        (("info", "ARM", "--detail"), "--details"),
        (("infoo", "ARM"), "did you mean 'info'?"),
    ],
)
def test_a_wrong_call_says_what_is_wanted_and_ends_with_2(tmp_path, arguments, said):
    path, _ = written(tmp_path)
    result = call(*(path if x == "ARM" else x for x in arguments))
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_misspelt_file_suggests_those_that_are_there(tmp_path):
    written(tmp_path)
    result = call("info", str(tmp_path / "amr.toml"))
    assert result.exit_code == 1
    assert "did you mean 'arm.toml'?" in result.stderr


def test_the_catalog_is_searched_by_names_and_titles():
    found = [row["name"] for row in json.loads(call("catalog", "ur", "--json").stdout)]
    assert found[:3] == ["ur10e", "ur3e", "ur5e"]
    assert "romeo" not in found  # romeo.urdf
    assert call("catalog", "urdf").exit_code == 1


def test_a_new_file_needs_no_suffix_and_shows_the_shapes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("new", "arm").stdout == "arm.toml\n"
    assert "rod (length, axis)" in Path("arm.toml").read_text(encoding="utf-8")
    for name, keys in SHAPES.items():
        assert f"`{name!r}`".replace("'", '"') in DESCRIBED
        assert all(f"`{key}" in DESCRIBED for key in keys)
        assert name in ALIAS.values() or name in call("new", "--help").stdout


@pytest.mark.parametrize("shape", ["cylinder", "solid_cylinder"])
def test_a_cylinder_has_two_names(shape):
    text = f'[[bodies]]\nname = "a"\ninertia = {{shape = "{shape}", mass = 2, radius = 0.1, length = 0.3}}'
    assert qddot.load_string(text, format="toml").mass_matrix([0])[0, 0] == pytest.approx(2 * 0.1**2 / 2)


def test_conversion_says_what_was_written_and_what_is_lost(tmp_path):
    path, _ = written(tmp_path)
    result = call("convert", path, str(tmp_path / "arm.urdf"))
    assert result.stdout == f"{tmp_path / 'arm.urdf'}: arm, 3 links, 2 dof\n"
    assert "the symbols l1, l2, m1, m2 are written as the numbers" in result.stderr
    assert "<qddot_drive>, which only qddot reads: shoulder" in result.stderr
    result = call("convert", "lwr4", str(tmp_path / "lwr4.toml"))
    assert qddot.load(tmp_path / "lwr4.toml").model.kinematics_only == qddot.load("lwr4").model.kinematics_only


def test_a_simulation_says_which_limits_nothing_enforces(tmp_path):
    path, _ = written(tmp_path)
    result = call("simulate", path, "--q0", "0.3,0.4", "-t", "1", "--torque", "0,40", "--step", "0.01")
    assert "limits of speed are not enforced here, and were passed: " in result.stderr
    assert "limits of effort are not enforced here, and were passed: elbow 40 N m (limit 30)" in result.stderr


def test_degrees_at_the_prompt_are_noticed_at_once(tmp_path):
    typed = "0.4 90 0 0\n0.4 pi/2 0 0\n\n"
    result = CliRunner().invoke(main, ["new", str(tmp_path / "arm.toml"), "--dh", "--convention", "standard"], input=typed)
    assert "alpha = 90 is beyond a full turn: angles are radians" in result.stderr
    assert qddot.load(tmp_path / "arm.toml").nv == 1


def test_every_file_that_is_written_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    assert call("simulate", "arm.toml", "-t", "0.1", "-o", "m.csv").stdout.endswith("m.csv\n")
    assert call("compute", "arm.toml", "mass_matrix", "--states", "m.csv", "-w", "M.csv").stdout == "M.csv\n"


def test_a_room_that_is_called_and_columns_that_are_read(tmp_path):
    with pytest.raises(TypeError, match=r"call qddot.catalog_names\(\)"):
        qddot.catalog()  # type: ignore[operator]
    text = '[[bodies]]\nname = "dust"\naxis = "x"\ninertia = {mass = 1e-9, com = [0, 0.001, 0], tensor = [1e-12, 1e-12, 1e-12]}\n'
    (tmp_path / "dust.toml").write_text(text)
    assert call("compute", str(tmp_path / "dust.toml"), "mass_matrix").stdout == "[[1.001e-12]]\n"  # small, and not zero
    assert call("compute", "two_link", "mass_matrix", "--digits", "3").stdout == "[[0.576 0.237]\n [0.237 0.115]]\n"


SEVERAL = """
gravty = [0, 0, -9.81]
gravity = [0, -9.81]

[[bodies]]
name = "a"
masss = 3

[[bodies]]
name = "b"
parent = "a"
inertia = {mass = -2}
limits = {lower = "1*"}

[[frames]]
name = "t"
lnk = "b"
"""
SEVERAL_URDF = """<robot name="r"><link name="base"/>
<link name="a"><inertial><mass value="-1"/></inertial></link>
<link name="b"><inertial><mass value="x"/></inertial></link>
<joint name="j1" type="revolut"><parent link="base"/><child link="a"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><limit lower="2" upper="1"/><mimic/></joint></robot>
"""
STAGES = """
[[bodies]]
name = "a"
axs = "y"
type = "hinge"
inertia = {mass = -1}

[[bodies]]
name = "b"
parent = "aa"
"""
STAGES_URDF = """<robot name="r"><link name="base"/>
<link name="a"><inertial><mass value="2,0"/></inertial></link><link name="b"/>
<joint name="j1" type="fixed"><parent link="base"/><child link="a"/></joint>
<joint name="j2" type="fixed"><parent link="a"/><child link="bb"/></joint></robot>
"""
SEVERAL_NAMES = """
[[bodies]]
name = "a"
parent = "bse"

[[bodies]]
name = "b"
parent = "c"
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("arm.toml", SEVERAL, [2, 3, 7, 12, 13, 17]),
        ("arm.urdf", SEVERAL_URDF, [2, 3, 4, 5, 5]),
        ("arm.toml", SEVERAL_NAMES, [4, 8]),
        ("arm.toml", STAGES.replace("inertia = {mass = -1}", ""), [4, 5, 10]),  # keys, kinds, names: each looked at
        ("arm.toml", STAGES, [4, 6, 10]),  # of a body whose parts are wrong there is no joint to look at
        ("arm.urdf", STAGES_URDF, [2, 4]),
    ],
)
def test_everything_that_is_wrong_is_told_at_once(tmp_path, name, text, lines):
    (tmp_path / name).write_text(text)
    result = call("check", str(tmp_path / name), "--json")
    (found,) = json.loads(result.stdout)["robots"].values()
    assert [int(x["where"].split(":")[1]) for x in found if x["code"] == "QD001"] == lines
    assert call("check", str(tmp_path / name)).stdout.count("QD001 error:") == len(lines)  # each is shown
    with pytest.raises(qddot.ModelError, match=f"; {len(lines) - 1} more in `others` of this error") as caught:
        qddot.load(tmp_path / name)
    assert [error.line for error in (caught.value, *caught.value.others)] == lines
    assert f"; {len(lines) - 1} more, which qddot check lists" in call("info", str(tmp_path / name)).stderr


def test_of_very_many_mistakes_the_first_are_told():
    bodies = "".join(f'[[bodies]]\nname = "link{i}"\nmass = 1\n' for i in range(300))
    with pytest.raises(qddot.ModelError, match="; 19 more in `others`") as caught:
        qddot.load_string(bodies, format="toml")
    assert [error.line for error in (caught.value, *caught.value.others)] == list(range(3, 63, 3))
