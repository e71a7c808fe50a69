"""Mistakes that new users make in their first description and on the command line: each gets its place and a fix."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from qddot.cli import main
from qddot.cli.new import STARTER

ARM = STARTER.format(name="arm", file="arm.toml")


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
        ("velocity = 2.5", "velocity = -2.5", "a limit is not negative"),
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
    latex = call("equations", path, "--format", "latex", "--notation", "craig").stdout
    assert latex.startswith(r"\tau = M(\theta) \ddot{\theta} + V(\theta, \dot{\theta}) + G(\theta) + \tau_{f}")
