"""Each rule finds what it is about, and nothing in robots that are as they should be."""

import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import qddot
from qddot.cli import main
from qddot.cli.new import starter
from qddot.errors import UnboundSymbolError
from qddot.lint import RULES, Severity, findings_of, lint

BAD = Path(__file__).parents[1] / "data" / "bad"

GOOD = """
[[bodies]]
name = "upper"
xyz = [0, 0, 0.5]
axis = "y"
limits = {lower = -1, upper = 1, velocity = 2, effort = 50}
inertia = {mass = 2.0, com = [0.2, 0, 0], tensor = [0.002, 0.03, 0.03]}
[[bodies]]
name = "fore"
parent = "upper"
xyz = [0.4, 0, 0]
axis = "y"
limits = {lower = -1, upper = 1, velocity = 2, effort = 50}
inertia = {mass = 1.0, com = [0.15, 0, 0], tensor = [0.001, 0.01, 0.01]}
"""

LIMITS, LAST = "limits = {lower = -1, upper = 1, velocity = 2, effort = 50}", "inertia = {mass = 1.0"

CASES = {
    "QD101": ("tensor = [0.001, 0.01, 0.01]", "tensor = [0.001, 0.01, 0.1]"),
    "QD201": ("xyz = [0.4, 0, 0]", "xyz = [400, 0, 0]"),
    "QD202": ("mass = 2.0", "mass = 20000"),
    "QD203": ("tensor = [0.002, 0.03, 0.03]", "tensor = [2000, 3000, 3000]"),
    "QD204": ("tensor = [0.002, 0.03, 0.03]", "tensor = [1e-7, 1.5e-7, 1.5e-7]"),
    "QD205": ("mass = 1.0, com = [0.15, 0, 0], tensor = [0.001, 0.01, 0.01]", "mass = 1.0, tensor = [1, 1, 1]"),
    "QD207": ("com = [0.2, 0, 0]", "com = [-0.3, 0, 0]"),
    "QD208": ("com = [0.2, 0, 0]", "com = [0.2, 2.5, 0]"),
    "QD209": ("inertia = {mass = 1.0, com = [0.15, 0, 0], tensor = [0.001, 0.01, 0.01]}", ""),
    "QD212": ("com = [0.2, 0, 0]", "com = [0, 0, 0]"),
    "QD213": ("tensor = [0.002, 0.03, 0.03]", "tensor = [0.03, 0.03, 0]"),
    "QD214": ("mass = 2.0", "mass = 200"),
    "QD215": ("xyz = [0.4, 0, 0]", "drive = {gear_ratio = 100, rotor_inertia = 0.02}\nxyz = [0.4, 0, 0]"),
    "QD301": (f"{LIMITS}\n{LAST}", f"limits = [0, 0]\n{LAST}"),
    "QD302": (f"{LIMITS}\n{LAST}", f"limits = {{lower = -1, upper = 1, velocity = 0}}\n{LAST}"),
    "QD303": (f"{LIMITS}\n{LAST}", f"limits = {{lower = -1, upper = 1, effort = 0}}\n{LAST}"),
    "QD304": (f"{LIMITS}\n{LAST}", f"limits = [0.5, 1]\n{LAST}"),
    "QD305": (f"{LIMITS}\n{LAST}", LAST),
    "QD306": ('name = "fore"\n', 'name = "fore"\nmimic = {joint = "upper_joint", multiplier = -2}\n'),
    "QD307": ("mass = 2.0", "mass = 2000"),
    "QD401": ('xyz = [0.4, 0, 0]\naxis = "y"', "xyz = [0.4, 0, 0]\naxis = [0, 1, 0.01]"),
    "QD402": ('xyz = [0.4, 0, 0]\naxis = "y"', 'xyz = [0.4, 0, 0]\nrpy = [0, 1.57, 0]\naxis = "y"'),
    "QD403": ("xyz = [0.4, 0, 0]", "xyz = [0, 0, 0]"),
    "QD501": ("", "gravity = [0, 0, 9.81]"),
    "QD502": ("", "gravity = [0, 0, -981]"),
}


def codes(tmp_path, text: str) -> list[str]:
    path = tmp_path / "robot.toml"
    path.write_text(text)
    return [finding.code for finding in lint(path)]


def test_nothing_is_found_in_a_good_robot(tmp_path):
    assert codes(tmp_path, GOOD) == []


def test_what_was_noticed_before_an_error_is_told_too(tmp_path):
    text = GOOD.replace(*CASES["QD101"]).replace('name = "fore"\n', 'name = "fore"\nmimic = {joint = "uper_joint"}\n')
    assert codes(tmp_path, text) == ["QD001", "QD101"]


@pytest.mark.parametrize("code", CASES)
def test_each_rule_finds_what_it_is_about(tmp_path, code):
    old, new = CASES[code]
    assert not old or GOOD.count(old) == 1
    found = codes(tmp_path, GOOD.replace(old, new) if old else new + GOOD)
    assert code in found
    assert [RULES[x][0] for x in found] == sorted(RULES[x][0] for x in found)


def test_rules_without_a_case_here(tmp_path):
    assert codes(tmp_path, "[[bodies]]\n") == ["QD001"]
    same = '[[bodies]]\nname = "{0}"\nlimits = [-1, 1]\n{1}inertia = {{mass = 1, com = [0.1, 0, 0], tensor = [0.01, 0.02, 0.02]}}\n'
    rows = [
        same.format("a", ""),
        same.format("b", 'parent = "a"\nxyz = [0.2, 0, 0]\n'),
        same.format("c", 'parent = "b"\nxyz = [0.2, 0, 0]\n'),
    ]
    assert codes(tmp_path, "".join(rows)) == ["QD206"]
    assert set(RULES) == {*CASES, "QD001", "QD002", "QD206", "QD210", "QD211"}  # the symbols: tests/newcomers
    assert "QD210" in codes(tmp_path, '[[bodies]]\nname = "a"\nlimits = [-1, 1]\n')


def test_grams_are_found_by_the_weight_that_joints_hold_and_by_density(tmp_path):
    """The arm of `qddot new` in grams, which is heavy for its efforts and dense; without limits it is dense alone."""
    path = tmp_path / "robot.toml"
    text = starter("arm", path.name).replace("m1 = 2.0, m2 = 1.2", "m1 = 2000, m2 = 1200")
    path.write_text(text)
    dense, weak = lint(path)
    assert (dense.code, weak.code) == ("QD202", "QD307")
    assert "the moving links weigh 3200 kg, within 0.7 m" in dense.message
    assert "gravity asks joint 'shoulder' for 1.04e+04 N m, and its limit of effort is 60 N m" in weak.message  # 9.81 (400 + 660)
    assert weak.where.startswith(f"{path}:16:")
    path.write_text(text.replace(", effort = 60", "").replace(", effort = 30", ""))
    assert [finding.code for finding in lint(path)] == ["QD202"]


def test_millimetres_of_a_link_alone(tmp_path):
    found = codes(tmp_path, 'convention = "standard"\n[[dh]]\na = 400\nlimits = [-1, 1]\n')
    assert found == ["QD101", "QD201", "QD210"]


def test_findings_say_where_and_what_to_do(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text(GOOD.replace("com = [0.2, 0, 0]", "com = [-0.3, 0, 0]"))
    (finding,) = lint(path)
    assert finding.severity is Severity.WARNING
    assert finding.where.startswith(f"{path}:7:")
    assert "lies 0.3 m behind joint 'upper_joint', away from 'fore_joint'" in finding.message
    assert "sign" in finding.fix


def test_symbols_cannot_be_judged():
    with pytest.raises(UnboundSymbolError):
        findings_of(qddot.load("point_mass_2r", symbolic=True).model)


@pytest.mark.parametrize("name", qddot.catalog_names())
def test_no_robot_of_ours_has_an_error(name):
    assert not [finding for finding in lint(name) if finding.severity is Severity.ERROR]


@pytest.mark.parametrize("path", sorted(BAD.iterdir()), ids=lambda path: path.name)
def test_malformed_files_are_findings_and_no_exceptions(path):
    refused = [f"{x.where}: {x.message}" if x.where else x.message for x in lint(path) if x.code == "QD001"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            qddot.load(path)
            said = []
        except qddot.ModelError as error:
            said = [str(error)]
    assert refused == said


# on the command line ----------------------------------------------------------------------------------------------------


def run(*arguments: str):
    return CliRunner().invoke(main, ["check", *arguments])


def test_the_exit_status_is_for_programs(tmp_path):
    warned, wrong = tmp_path / "warned.toml", tmp_path / "wrong.toml"
    warned.write_text(GOOD.replace("com = [0.2, 0, 0]", "com = [-0.3, 0, 0]"))
    wrong.write_text("[[bodies]]\n")
    assert run(str(warned)).exit_code == 0
    assert run(str(warned), "--strict").exit_code == 1
    assert run(str(warned), "--strict", "--ignore", "QD207").exit_code == 0
    assert run(str(wrong)).exit_code == 1
    assert run().exit_code == 2
    assert run(str(wrong), "--ignore", "QD999").exit_code == 2
    result = run(str(warned), str(wrong))
    assert result.exit_code == 1
    assert "QD207 warning: the centre of mass of link 'upper' lies 0.3 m behind" in result.stdout
    assert result.stdout.endswith("2 checked: 1 error, 1 warning, 0 notes\n")


def test_alike_findings_are_counted_also_after_an_error(tmp_path):
    """Errors of reading are all shown, which says nothing of the warnings that follow."""
    boxes = "".join(f'[[bodies]]\nname = "b{k}"\nxyz = [0, 0, 400]\nrpy = [90, 0, 0]\n' for k in range(9))
    path = tmp_path / "arm.toml"
    path.write_text(boxes + '[[bodies]]\nname = "c"\ninertia = {mass = -1}\n')
    shown = run(str(path)).stdout
    assert shown.count("QD001 error") == 1
    assert shown.count("QD101 warning") == 5
    assert "QD101: 4 more like these" in shown
