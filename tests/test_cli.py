"""The command line: what it prints, how it fails, what the shell completes."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.cli import COMMANDS, MEANT, main

DOUBTFUL = """
convention = "standard"
[[dh]]
a = 1
inertia = {mass = 1, com = [1, 0, 0], tensor = [1, 1, 3]}
"""


def call(*arguments: str):
    return CliRunner().invoke(main, arguments)


def printed(*arguments: str) -> np.ndarray:
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    return np.array([[float(x) for x in line.replace("[", " ").replace("]", " ").split()] for line in result.stdout.splitlines()])


@pytest.fixture
def doubtful(tmp_path):
    path = tmp_path / "doubtful.toml"
    path.write_text(DOUBTFUL)
    return str(path)


# commands -------------------------------------------------------------------------------------------------------------


def test_help_names_every_command():
    result = call("--help")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in ("catalog", "info", "compute", "convert", "parameters"))
    for name in COMMANDS:
        assert call(name, "-h").exit_code == 0
    assert "forward_dynamics_derivatives" in call("compute", "-h").stdout.replace("\n  ", " ")


def test_version():
    assert qddot.__version__ in call("--version").stdout


def test_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "qddot", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"qddot, version {qddot.__version__}\n"


def test_catalog_lists_every_robot_with_what_it_is():
    lines = [line for line in call("catalog", "--ours").stdout.splitlines()[3:] if line.strip()]
    assert [line.split()[0] for line in lines] == qddot.catalog_names()
    puma = next(line for line in lines if line.split()[0] == "puma560")
    assert re.search(r"puma560 +6 +23.45 +Unimation Puma 560, with drives +Armstrong", puma)


def test_catalog_finds_by_substring_and_suggests():
    names = [row["name"] for row in json.loads(call("catalog", "puma", "--json").stdout)]
    assert names == ["puma560"]
    result = call("catalog", "puma561")
    assert result.exit_code == 1
    assert "did you mean 'puma560'" in result.stderr


def test_info():
    result = call("info", "puma560")
    assert result.exit_code == 0
    assert "6 dof" in result.stdout
    assert "moving mass" in result.stdout
    assert "drive of joint1: viscous 0.00148 N m s/rad, Coulomb 0.395/0.435 N m, gear -62.6111" in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 140
    assert "centre of mass (-0.3638, 0.006, 0.2275) m" in call("info", "puma560", "--details").stdout
    assert "frames: " in result.stdout
    assert "gravity (0, 0, -1.62)" in call("info", "two_link", "--gravity", "0,0,-1.62").stdout
    assert "8 dof" in call("info", "two_link", "--floating").stdout


def test_parameters_have_names_and_values():
    robot = qddot.load("puma560")
    rows = [line.split() for line in call("parameters", "puma560").stdout.splitlines()]
    assert [name for name, _ in rows] == list(robot.parameter_names)
    np.testing.assert_allclose([float(value) for _, value in rows], robot.parameters(), rtol=1e-11)


def test_compute_takes_arithmetic_and_negative_numbers():
    robot = qddot.load("two_link")
    expected = robot.mass_matrix([math.pi / 3, -math.pi / 2])
    np.testing.assert_allclose(printed("compute", "two_link", "mass_matrix", "--q", "pi/3,-pi/2"), expected, atol=1e-9)
    np.testing.assert_allclose(printed("compute", "two_link", "mass_matrix", "--q", "pi/3 -pi/2"), expected, atol=1e-9)
    np.testing.assert_allclose(printed("compute", "two_link", "gravity_torque", "--q", "-1, 2")[0], robot.gravity_torque([-1, 2]))


def test_compute_has_defaults_and_gravity():
    robot = qddot.load("two_link")
    np.testing.assert_allclose(
        printed("compute", "two_link", "forward_dynamics", "--tau", "1,2")[0],
        robot.forward_dynamics([0, 0], [0, 0], [1, 2]),
        rtol=1e-7,
    )
    assert not printed("compute", "two_link", "gravity_torque", "--gravity", "0,0,0").any()


def test_compute_options():
    robot, q = qddot.load("puma560"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    at = ("--q", ",".join(map(str, q)))
    J = printed("compute", "puma560", "jacobian", *at, "--frame", "link3", "-o", "reference=body")
    np.testing.assert_allclose(J, robot.jacobian(q, "link3", "body"), atol=1e-9)
    J = printed("compute", "puma560", "analytic_jacobian", *at, "--option", "coordinates=quaternion")
    np.testing.assert_allclose(J, robot.analytic_jacobian(q, coordinates="quaternion"), atol=1e-9)


def test_whole_arrays_are_printed_one_row_a_line():
    Y = printed("compute", "puma560", "regressor", "--qdd", "1,1,1,1,1,1")
    assert Y.shape == (6, len(qddot.load("puma560").parameter_names))


def test_several_results_have_names():
    lines = call("compute", "two_link", "inverse_dynamics_derivatives").stdout.splitlines()
    assert [line for line in lines if line.endswith(":")] == ["dtau_dq:", "dtau_dqd:", "dtau_dqdd:"]
    lines = call("compute", "two_link", "forward_dynamics_derivatives").stdout.splitlines()
    assert [line for line in lines if line.endswith(":")] == ["dqdd_dq:", "dqdd_dqd:", "dqdd_dtau:"]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity(quantity):
    result = call("compute", "two_link", quantity, *(("--q", "0.1,0.2") if "q" in QUANTITIES[quantity].inputs else ()))
    assert result.exit_code == 0, result.stderr
    assert result.stdout


def test_convert(tmp_path):
    path = tmp_path / "arm.urdf"
    result = call("convert", "two_link", str(path), "--gravity", "0,0,-1.62")
    assert (result.exit_code, result.stdout) == (0, f"{path}: two_link, 3 links, 2 dof\n")
    assert list(qddot.load(path).gravity) == [0, 0, -1.62]


# failures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("info", "puma56"), 1, "Error: no file or catalog robot 'puma56': did you mean 'puma560'"),
        (("info", "nowhere.toml"), 1, "nowhere.toml"),
        (("info", "."), 1, "it is a directory"),
        (("info", ""), 1, "no file or catalog robot ''"),
        (("info", "two_link", "--gravity", "0,0"), 2, "3 numbers"),
        (("info", "two_link", "--gravity", "0,0,g"), 2, "'g' in '0,0,g' is not a number"),
        (("compute", "two_link", "mas_matrix"), 2, "did you mean 'mass_matrix'"),
        (("compute", "two_link", "mass_matrix", "--q", "1"), 2, "two_link takes 2: joint1, joint2"),
        (("compute", "two_link", "mass_matrix", "--q", "1,x"), 2, "'x' in '1,x' is not a number: write them as 0.1,pi/2,-3"),
        (("compute", "two_link", "mass_matrix", "--tau", "1,2"), 2, "mass_matrix does not depend on --tau, only on --q"),
        (("compute", "two_link", "inverse_dynamics", "--tau", "1,2"), 2, "only on --q, --qd, --qdd"),
        (("compute", "two_link", "mass_matrix", "--frame", "tip"), 2, "mass_matrix does not depend on --frame"),
        (("compute", "two_link", "jacobian", "--frame", "tipp"), 1, "no frame 'tipp'"),
        (("compute", "two_link", "jacobian", "-o", "reference=boddy"), 1, "reference='boddy' is not one of 'space', 'body'"),
        (("compute", "two_link", "jacobian", "-o", "refrence=body"), 2, "did you mean 'reference'"),
        (("compute", "two_link", "jacobian", "-o", "body"), 2, "not of the form name=value"),
        (("convert", "two_link", "no/such/folder/arm.urdf"), 1, "no/such/folder/arm.urdf"),
    ],
)
def test_failures_say_what_is_wrong(arguments, code, message):
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.split())


def test_arguments_of_a_xacro_file(tmp_path):
    path = tmp_path / "robot.xacro"
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="prefix" default="a_"/>'
    path.write_text(f'{head}<link name="$(arg prefix)base"/></robot>')
    assert "frames: a_base" in call("info", str(path)).stdout
    assert "frames: left=base" in call("info", str(path), "--arg", "prefix=left=").stdout
    assert "frames: base" in call("info", str(path), "--arg", "prefix=").stdout
    assert "no xacro argument 'prefx': did you mean 'prefix'?" in call("info", str(path), "--arg", "prefx=b").stderr
    assert "not of the form name=value" in call("info", str(path), "--arg", "prefix").stderr
    assert "are for xacro files" in call("info", "two_link", "--arg", "prefix=b").stderr


def test_packages_of_a_xacro_file(tmp_path):
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "robot.xacro").write_text(f'{head}<xacro:include filename="$(find parts)/base.xacro"/></robot>')
    (tmp_path / "two" / "base.xacro").write_text(f'{head}<link name="base"/></robot>')
    path = str(tmp_path / "one" / "robot.xacro")
    assert "give its folder: --package parts=FOLDER" in call("info", path).stderr
    (tmp_path / "far.xml").write_text("<mujoco/>")
    (tmp_path / "one" / "arm.xml").write_text('<mujoco><include file="../far.xml"/></mujoco>')
    error = " ".join(call("info", str(tmp_path / "one" / "arm.xml")).stderr.split())
    assert "give its package: --package NAME=FOLDER)" in error
    assert "frames: base" in call("info", path, "--package", f"parts={tmp_path / 'two'}").stdout


def test_description_warnings_are_plain_lines(doubtful):
    result = call("info", doubtful)
    assert result.exit_code == 0
    assert f"warning: {doubtful}:5:" in result.stderr
    assert "triangle inequality" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    result = call("info", doubtful, "--strict")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {doubtful}:5:")


def test_input_warnings_are_plain_lines():
    result = call("compute", "two_link", "mass_matrix", "--q", "1e7,0")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("warning: q of joint")
    assert len(result.stderr.splitlines()) == 1


# completion -----------------------------------------------------------------------------------------------------------


def completions(*arguments: str) -> list[str]:
    *before, incomplete = arguments
    return [item.value for item in ShellComplete(main, {}, "qddot", "_QDDOT_COMPLETE").get_completions(before, incomplete)]


def test_shell_completion():
    assert completions("info", "pum") == ["pum", "puma560"]  # the first stands for files
    assert completions("compute", "two_link", "mass_") == ["mass_matrix", "mass_matrix_inverse", "mass_matrix_rate"]
    assert completions("compute", "two_link", "coriolis_matrix", "-o", "form=r") == ["form=rate"]
    assert completions("compute", "two_link", "jacobian", "--frame", "body") == ["body_1", "body_2"]
    assert completions("compute", "no_such_robot", "jacobian", "--frame", "") == []
    assert completions("equations", "two_link", "--format", "la") == ["latex"]
    assert completions("derive", "two_link", "-o", "notes.")[:3] == ["notes.", "notes.html", "notes.pdf"]
    assert completions("derive", "two_link", "-o", "folder/")[0] == "folder/"  # files are the shell's business
    assert completions("check", "two_link", "--ignore", "QD3")[:2] == ["QD301", "QD302"]
    assert completions("simulate", "two_link", "--method", "R") == ["RK45", "Radau"]
    assert completions("verify", "two_link", "--against", "") == ["pinocchio", "mujoco"]
    assert completions("catalog", "ur1")[0] == "ur10e"
    assert completions("compl") == ["completion"]
    assert completions("info", "two_link", "--gr") == ["--gravity"]


BASH = """eval "$(qddot completion bash)"
COMP_WORDS=(%s) COMP_CWORD=%d
_qddot_completion qddot 2> /dev/null
printf '%%s ' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        (["qddot", "inf"], "info"),
        (["qddot", "check", "arm"], "arm.toml arm7"),
        (["qddot", "info", "two_l"], "two_link"),
        (["qddot", "derive", "two_link", "-o", "notes.p"], "notes.pdf"),
        (["qddot", "compute", "two_link", "jacobian", "--frame", "body_"], "body_1 body_2"),
    ],
)
def test_bash_completes(tmp_path, line, found):
    """With its own script: what `click` returns is not yet what bash shows."""
    (tmp_path / "arm.toml").touch()
    (tmp_path / "qddot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m qddot "$@"\n')
    (tmp_path / "qddot").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = BASH % (" ".join(line), len(line) - 1)
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == found.split()


# everything speaks JSON -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("info", "puma560"),
        ("check", "two_link"),
        ("check", "--rules"),
        ("parameters", "puma560"),
        ("compute", "two_link", "inverse_dynamics_derivatives"),
        ("equations", "two_link"),
        ("derive", "rp_arm"),
        ("properties", "point_mass_2r"),
        ("simulate", "two_link", "-t", "0.05"),
        ("verify", "two_link"),
        ("doctor",),
        ("completion", "fish"),
        ("bench", "two_link", "mass_matrix", "--batch", "16"),
        ("convert", "two_link", "OUT.urdf"),
        ("new", "OUT.toml"),
        ("export-c", "two_link", "OUT", "mass_matrix"),
        ("export-js", "two_link", "OUT.mjs", "mass_matrix"),
        ("export-ptx", "two_link", "OUT.ptx", "mass_matrix"),
    ],
    ids=" ".join,
)
def test_every_command_speaks_json(arguments, tmp_path):
    result = call(*(str(tmp_path / x) if x.startswith("OUT") else x for x in arguments), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)


def test_every_command_takes_json():
    for name in COMMANDS:
        assert "--json" in call(name, "-h").stdout, name


# numbers ----------------------------------------------------------------------------------------------------------------


def test_numbers_are_printed_as_given_or_to_as_many_digits_as_wanted():
    assert "0.33148" in call("equations", "two_link", "mass_matrix").stdout
    assert "..." not in call("equations", "two_link").stdout
    assert "0.245*c2 + 0.33," in call("equations", "two_link", "mass_matrix", "--digits", "2").stdout
    assert call("compute", "two_link", "gravity_torque", "--digits", "3").stdout == "[7.06  2.4]\n"
    assert call("parameters", "two_link", "--digits", "2").stdout.splitlines()[1].endswith("-0.12")


def test_states_come_from_a_file_and_results_go_into_one(tmp_path):
    robot = qddot.load("two_link")
    motion = robot.simulate([0.3, 0.4], t=0.02)
    motion.to_csv(tmp_path / "motion.csv")
    motion.to_parquet(tmp_path / "motion.parquet")
    for suffix in ("csv", "parquet"):
        out = tmp_path / f"tau.{suffix}"
        result = call("compute", "two_link", "inverse_dynamics", "--states", str(tmp_path / f"motion.{suffix}"), "-w", str(out))
        assert result.exit_code == 0, result.stderr
    tau = np.loadtxt(tmp_path / "tau.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(motion.q, motion.qd, motion.qdd), rtol=1e-15, atol=1e-15)
    assert (tmp_path / "tau.csv").read_text().startswith("tau1,tau2\n")
    M = tmp_path / "M.csv"
    assert call("compute", "two_link", "mass_matrix", "--states", str(tmp_path / "motion.csv"), "-w", str(M)).exit_code == 0
    assert M.read_text().startswith("M11,M12,M21,M22\n")
    (tmp_path / "other.csv").write_text("q1,x\n1,2\n3,4\n")
    result = call("compute", "two_link", "mass_matrix", "--states", str(tmp_path / "other.csv"))
    assert "has no column 'q2'" in result.stderr


def test_states_are_read_by_the_names_of_recordings_and_nothing_is_silent(tmp_path):
    """Velocities called dq, degrees in brackets, columns nobody reads, quantities that are not there."""
    robot, file = qddot.load("two_link"), tmp_path / "s.csv"

    def torques(head: str, *rows: str, options: tuple[str, ...] = ()):
        file.write_text("\n".join([head, *rows]) + "\n")
        result = call("compute", "two_link", "inverse_dynamics", "--states", str(file), "--json", *options)
        return result, np.array(json.loads(result.stdout)["tau"] if result.exit_code == 0 else [])

    result, tau = torques("q1,q2,dq1,dq2,foo", "0.1,0.2,3,4,5")
    np.testing.assert_allclose(tau, [robot.inverse_dynamics([0.1, 0.2], [3, 4], [0, 0])], rtol=1e-15)
    assert "qd is read from dq1 ... dq2" in result.stderr
    assert "foo" in result.stderr.partition("not used of")[2]
    assert f"qdd is not in {file}: zero" in result.stderr
    result, tau = torques("t,q1 [deg],q2 [deg],qd1,qd2", "0,90,45,1,1", options=("--qdd", "1,2"))
    np.testing.assert_allclose(tau, [robot.inverse_dynamics([np.pi / 2, np.pi / 4], [1, 1], [1, 2])], rtol=1e-14)
    assert "in degrees" in result.stderr
    assert "zero" not in result.stderr
    assert "not used" not in result.stderr
    result, tau = torques("joint2/velocity,joint1/velocity,joint1/position,joint2/position", "4,3,0.1,0.2")
    np.testing.assert_allclose(tau, [robot.inverse_dynamics([0.1, 0.2], [3, 4], [0, 0])], rtol=1e-15)
    assert "joint2 at 90 rad is beyond a full turn" in torques("q1,q2", "0,90", "0,1")[0].stderr
    assert "some do not" in torques("q1 [deg],q2", "0,90")[0].stderr
    assert "could be dq1 or Dq2" in torques("q1,q2,dq1,Dq2", "0,1,1,2")[0].stderr
    assert "qd of two_link takes 2 columns" in torques("q1,q2,dq1,dq2,dq3", "0,1,1,2,3")[0].stderr
    assert "in A, and tau is in N m" in call_states(file, "q1,q2,tau1 [A],tau2 [A]\n0,1,2,3\n", "forward_dynamics").stderr


def call_states(file, text: str, quantity: str):
    file.write_text(text)
    return call("compute", "two_link", quantity, "--states", str(file))


def test_properties_are_data():
    found = json.loads(call("properties", "two_link", "--json").stdout)
    robot = qddot.load("two_link").properties()
    assert {x["name"]: x["holds"] for x in found["claims"]} == {name: claim.holds for name, claim in robot.claims.items()}
    assert found["bounds"][1]["rigorous"] == robot.bounds[1].rigorous
    assert [x["norm"] for x in found["bounds"][:3]] == [1, 2, "inf"]
    symbolic = json.loads(call("properties", "point_mass_2r", "--symbolic", "--json").stdout)
    assert any("m1" in str(x["rigorous"]) for x in symbolic["bounds"])


def test_a_simulation_is_kept_as_table_and_picture(tmp_path):
    files = [str(tmp_path / name) for name in ("m.csv", "m.png")]
    result = call("simulate", "two_link", "--q0", "0.3,0.4", "-t", "0.1", "-o", files[0], "-o", files[1])
    assert result.exit_code == 0, result.stderr
    assert "two_link after 0.1 s, 101 samples" in result.stdout
    assert Path(files[1]).read_bytes().startswith(b"\x89PNG")
    assert "may end in .csv" in call("simulate", "two_link", "-o", "m.doc").stderr


# a description to begin with --------------------------------------------------------------------------------------------


def test_a_new_description_can_be_read_and_has_nothing_to_complain_about(tmp_path):
    path = str(tmp_path / "arm.toml")
    assert call("new", path).exit_code == 0
    assert "0 errors, 0 warnings, 0 notes" in call("check", path).stdout
    assert "is there already" in call("new", path).stderr
    assert qddot.load(path).equations().M.shape == (2, 2)


def test_a_new_description_from_a_table_that_is_typed_in(tmp_path):
    path = tmp_path / "arm.toml"
    typed = "0.4 0 0 0\n0.3 pi/2\n0.3 pi/2 0 0\n0, 0, 0.1, 0 p\n\n"
    result = CliRunner().invoke(main, ["new", str(path), "--dh", "--convention", "standard"], input=typed)
    assert result.exit_code == 0, result.output
    assert "not a row: four numbers are needed" in result.stderr
    assert [joint.kind for joint in qddot.load(path).model.joints] == ["revolute", "revolute", "prismatic"]
    limits = [line for line in path.read_text().splitlines() if "# limits" in line]
    assert ["pi" in line for line in limits] == [True, True, False]  # metres of a slider


# the installation -------------------------------------------------------------------------------------------------------


def test_extras_of_the_doctor_are_those_of_the_package():
    from qddot.cli.doctor import EXTRAS

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) <= set(project["optional-dependencies"])


def test_doctor_says_what_is_there():
    result = call("doctor")
    assert result.exit_code == 0, result.output
    assert "numpy" in result.stdout
    assert "inverse of forward dynamics off by" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    assert "_QDDOT_COMPLETE" in call("completion", shell).stdout


def test_a_misspelt_command_suggests():
    result = call("chek")
    assert result.exit_code == 2
    assert "no command 'chek': did you mean 'check'" in result.stderr


def test_what_nobody_thought_of_is_no_traceback(monkeypatch):
    monkeypatch.setattr(qddot, "load", lambda *_, **__: 1 / 0)
    result = call("info", "two_link")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_loads_no_command():
    code = "import sys, qddot.cli, click.testing; click.testing.CliRunner().invoke(qddot.cli.main, ['--help']); " + (
        "print(sorted(m for m in sys.modules if m.startswith('qddot.cli.') or m in ('sympy', 'scipy', 'llvmlite', 'rich')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_import_loads_no_compiler():
    code = "import sys, qddot; qddot.load('two_link'); print([m for m in ('sympy', 'scipy', 'llvmlite') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# closed forms -------------------------------------------------------------------------------------------------------------


def test_equations_as_text():
    result = call("equations", "point_mass_2r", "--symbolic")
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split(" = ")[0] for line in lines] == ["tau", "M(q)", "c(q, qd)", "g(q)"]
    assert lines[0] == "tau = M(q)*qdd + c(q, qd) + g(q)"
    assert lines[2] == "c(q, qd) = [-m2*L1*L2*s2*qd2*(2*qd1 + qd2), m2*L1*L2*s2*qd1**2]"


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (("mass_matrix", "--format", "latex", "--notation", "siciliano"), r"B(q) = \begin{bmatrix}"),
        (("gravity_torque", "--notation", "craig"), "G(theta) = ["),
        (("coriolis_matrix", "--format", "mathml"), "<math "),
        (("mass_matrix", "--format", "python"), "import numpy as np"),
        (("mass_matrix", "--format", "c", "--symbols", "inertial"), "#include <math.h>\n\n/* p: m1, mx1, Izz1"),
        (("jacobian_dot",), "Jdot(q, qd) = [["),
    ],
)
def test_equations_in_every_format(arguments, start):
    result = call("equations", "two_link", *arguments)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(start)


def test_equations_report_what_was_left_out():
    result = call("equations", "four_bar", "gravity_torque")
    assert result.stderr.startswith("note: constraints 'loop': not imposed")
    assert result.stdout == "g(q) = [0, 0, 0]\n"
    assert call("equations", "four_bar", "constraints.A", "--symbolic").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("equations", "two_link", "mas_matrix"), "did you mean 'mass_matrix'"),
        (("equations", "two_link", "--format", "c", "--notation", "craig"), "--notation does not apply to --format c"),
        (("equations", "nosuch"), "no file or catalog robot 'nosuch'"),
        (("derive", "two_link", "--method", "newton"), "'newton' is not one of"),
        (("derive", "two_link", "-o", "out.doc"), "ends in '.doc'"),
        (("derive", "two_link", "--floating"), "use --method newton-euler"),
        (("properties", "two_link", "--limits", "1"), "2 numbers are needed"),
    ],
)
def test_closed_forms_fail_with_one_line(arguments, message):
    result = call(*arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_derive_prints_or_writes(tmp_path):
    result = call("derive", "rp_arm", "--symbolic", "--method", "jacobian")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("# The equations of motion of rp\\_arm after Jacobians\n")
    path = tmp_path / "arm.html"
    result = call("derive", "rp_arm", "-o", str(path))
    assert (result.exit_code, result.stdout) == (0, f"{path}\n")
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_properties_within_given_limits():
    result = call("properties", "point_mass_2r", "--symbolic", "--limits", "-pi/2,pi/2")
    assert result.exit_code == 0, result.stderr
    assert "Bounds for (-1.571, -1.571) <= q <= (1.571, 1.571)" in result.stdout
    assert "1.64449*L1*L2*m2" in result.stdout
    assert "4*L1*L2*m2" in result.stdout


# identification -------------------------------------------------------------------------------------------------------


def recorded(path: Path, seed: int, reach: float = 1.0, noise: float = 0.02) -> str:
    """A CSV file of the two-link arm in motion."""
    robot = qddot.load("two_link")
    t = np.arange(0, 10, 0.01)
    w = 2 * np.pi * np.array([0.2, 0.5, 0.9])
    draw = np.random.default_rng(seed)
    a = reach * (np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]]) + 0.1 * draw.normal(size=(2, 3)))
    sin, cos = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = sin @ a.T, (cos * w) @ a.T, (-sin * w**2) @ a.T
    tau = robot.inverse_dynamics(q, qd, qdd) + noise * draw.normal(size=q.shape)
    np.savetxt(path, np.column_stack([t, q, tau]), delimiter=",", header="time,pos1,pos2,eff1,eff2", comments="")
    return str(path)


NAMED = ("--columns", "t=time", "--columns", "q=pos", "--columns", "tau=eff")


def test_identify_prints_a_table_and_a_verdict_and_writes_files(tmp_path):
    one, two = (recorded(tmp_path / f"run{k}.csv", k) for k in (1, 2))
    report, urdf = tmp_path / "report.md", tmp_path / "arm.urdf"
    result = call("identify", "two_link", one, "--validation", two, "--report", str(report), "--urdf", str(urdf), *NAMED)
    assert result.exit_code == 0, result.output
    assert "verdict: identified" in result.stdout
    assert "body_2.mcx" in result.stdout
    assert "stands for" in result.stdout  # a base parameter is a sum, and only its first part names it
    assert "cut-off" in result.stderr
    assert "time: in s" in result.stderr
    assert "(--time-unit if not)" in result.stderr
    line = next(line for line in result.stdout.splitlines() if line.startswith("validation: "))
    data = json.loads(call("identify", "two_link", one, "--validation", two, "--json", *NAMED).stdout)
    assert f"{data['validation']['relative']:.2%} of the torque" in line
    assert f"joint2 {data['validation']['rms'][1]:.3g}" in line
    assert 0 < data["validation"]["relative"] < 0.02
    assert report.read_text().startswith("# Identification of two_link")
    q = np.array([0.3, 0.5])
    assert np.allclose(qddot.load(urdf).gravity_torque(q), qddot.load("two_link").gravity_torque(q), atol=0.05)


def test_a_part_of_the_log_is_kept_for_validation_and_velocities_are_chosen(tmp_path):
    log = recorded(tmp_path / "run.csv", 1)
    result = call("identify", "two_link", log, "--validation", "0.3", "--velocity", "derivative", *NAMED)
    assert result.exit_code == 0, result.output
    assert "validation: " in result.stdout
    data = [json.loads(call("identify", "two_link", log, "--validation", x, "--json", *NAMED).stdout) for x in ("0.3", "0.5")]
    arm = qddot.load("two_link")
    recording = qddot.identify.Log.load(log, arm, columns={"t": "time", "q": "pos", "tau": "eff"})
    assert data[0]["validation"]["relative"] == arm.identify(recording, validation=0.3).validation.relative
    assert data[0]["validation"]["relative"] != data[1]["validation"]["relative"]
    for given, said in (
        (("1.5",), "1.5 is no part of a recording"),
        (("0.3", log), "not both"),
        (("no.csv",), "does not exist"),
    ):
        wrong = call("identify", "two_link", log, *(x for each in given for x in ("--validation", each)))
        assert (wrong.exit_code, said in wrong.stderr) == (2, True), wrong.stderr
    wrong = call("identify", "two_link", log, "--velocity", "measured", *NAMED)
    assert "the log has no velocities" in wrong.stderr
    assert call("identify", "two_link", log, "--velocity", "guess").exit_code == 2


def test_columns_are_named_joint_by_joint(tmp_path):
    log = recorded(tmp_path / "run.csv", 1)
    text = Path(log).read_text(encoding="utf-8")
    swapped = tmp_path / "named.csv"
    swapped.write_text(text.replace("time,pos1,pos2,eff1,eff2", "time,east,west,up,down"))
    each = ("--columns", "t=time", "--columns", "q=east, west", "--columns", "tau=up,down")
    found = [json.loads(call("identify", "two_link", x, "--json", *how).stdout) for x, how in ((log, NAMED), (str(swapped), each))]
    assert found[0]["parameters"] == found[1]["parameters"]
    assert found[0]["validation"] is None
    twice = call("identify", "two_link", log, "--columns", "q=pos1", "--columns", "q=pos2")
    assert twice.exit_code == 2
    assert "q is given twice" in twice.stderr
    assert "lacks a name" in call("identify", "two_link", log, "--columns", "q=pos1,").stderr


def test_a_guess_of_degrees_names_the_option_against_it(tmp_path):
    log = recorded(tmp_path / "run.csv", 1)
    head, rows = Path(log).read_text(encoding="utf-8").split("\n", 1)
    numbers = np.loadtxt(rows.splitlines(), delimiter=",")
    numbers[:, 1:3] = np.degrees(numbers[:, 1:3])
    np.savetxt(log, numbers, delimiter=",", header=head, comments="")
    assert "(--radians if radians)" in call("identify", "two_link", log, *NAMED).stderr


def test_long_files_are_read_piece_by_piece(tmp_path, monkeypatch):
    log = recorded(tmp_path / "run.csv", 1)
    whole = json.loads(call("identify", "two_link", log, "--json", *NAMED).stdout)["parameters"]
    asked = []
    chunks = qddot.identify.Log.chunks
    monkeypatch.setattr(qddot.identify.Log, "chunks", lambda *given, **how: asked.append(given) or chunks(*given, **how))
    call("identify", "two_link", log, "--json", *NAMED)
    assert not asked
    monkeypatch.setattr("qddot.cli.identify.LONG", 1000)
    found = json.loads(call("identify", "two_link", log, "--validation", log, "--json", *NAMED).stdout)
    assert len(asked) == 2
    assert found["parameters"] == whole


def test_a_narrow_terminal_cuts_no_number(tmp_path, monkeypatch):
    log = recorded(tmp_path / "run.csv", 1)
    whole = json.loads(call("identify", "two_link", log, "--json", *NAMED).stdout)["parameters"]
    monkeypatch.setattr("qddot.cli.identify.terminal_width", lambda: 60)
    monkeypatch.setattr("qddot.cli.printing.terminal_width", lambda stream=None: 60)
    result = call("identify", "two_link", log, *NAMED)
    assert max(map(len, result.output.splitlines())) <= 60
    for row in whole:
        name, value, low = (re.escape(text) for text in (row["name"], f"{row['value']:.5g}", f"({row['interval'][0]:.4g} to"))
        assert re.search(f"{name} {value} (kg|N) [^()]*{low}", " ".join(result.stdout.split()))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal(name):
    result = CliRunner().invoke(main, [name, "--help"], terminal_width=80)
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_file_that_is_in_the_catalog_by_its_name():
    assert "panda.urdf: no such robot description: the catalog has 'panda'" in call("info", "panda.urdf").stderr


def test_strict_says_that_warnings_count(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(
        '[[bodies]]\nname = "a"\nlimits = [0, 0]\ninertia = {mass = 1, com = [0.1, 0, 0], tensor = [0.01, 0.02, 0.02]}\n'
    )
    result = call("check", "--strict", str(path))
    assert result.exit_code == 1
    assert "0 errors, 1 warning, 0 notes; --strict counts warnings as errors" in result.stdout


def test_advice_about_columns_is_an_option(tmp_path):
    (tmp_path / "plan.csv").write_text("t,q1,q2\n" + "".join(f"{k / 100},0,{k}\n" for k in range(50)))
    result = call("identify", "two_link", str(tmp_path / "plan.csv"))
    assert "(say which: --columns tau=NAME)" in result.stderr


def test_convert_counts_the_shapes_it_leaves_out(tmp_path):
    shape = '<geometry><mesh filename="package://nowhere/a.stl"/></geometry>'
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="a"><visual>{shape}</visual><collision>{shape}</collision></link></robot>')
    result = call("convert", str(path), str(tmp_path / "out.urdf"))
    assert "2 shapes and meshes, to be drawn or for collisions, are not written" in result.stderr


def test_identify_says_by_its_exit_status_that_a_log_shows_nothing(tmp_path):
    urdf = tmp_path / "arm.urdf"
    result = call("identify", "two_link", recorded(tmp_path / "still.csv", 1, reach=0.01), "--urdf", str(urdf), *NAMED)
    assert result.exit_code == 3, result.output
    assert "verdict: NOT identified" in result.stdout
    assert "was not written" in result.stderr
    assert not urdf.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("identify", "two_link"), 2, "Missing argument"),
        (("identify", "two_link", "nosuch.csv"), 2, "does not exist"),
        (("identify", "two_link", "LOG", "--report", "out.doc"), 2, "may end in .html, .htm, .pdf, .md"),
        (("identify", "two_link", "LOG", "--cutoff", "1000", *NAMED), 1, "at most a quarter of the rate"),
        (("identify", "puma560", "LOG", *NAMED), 1, "the robot has 6 joints"),
        (("excitation", "two_link"), 1, "has no limit of position, speed or acceleration"),
        (("excitation", "two_link", "--velocity", "1,2,3"), 2, "3 numbers were given, and two_link takes 2: joint1, joint2"),
    ],
)
def test_identification_fails_with_one_line(tmp_path, arguments, code, message):
    log = recorded(tmp_path / "run.csv", 1)
    result = call(*(log if x == "LOG" else x for x in arguments))
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


def test_excitation_writes_a_motion(tmp_path):
    pytest.importorskip("casadi")
    path = tmp_path / "plan.csv"
    how = ("--period", "4", "--harmonics", "2", "--velocity", "2", "--acceleration", "8", "--rate", "100")
    result = call("excitation", "two_link", "--csv", str(path), *how)
    assert result.exit_code == 0, result.output
    assert "base parameters" in result.stdout
    assert path.read_text().startswith("t,q_joint1,q_joint2,qd_joint1")


def test_logs_are_completed_as_files():
    items = ShellComplete(main, {}, "qddot", "_QDDOT_COMPLETE").get_completions(["identify", "two_link"], "ru")
    assert [item.type for item in items] == ["file"]
    assert completions("identify", "two_link", "--m") == ["--method"]


def test_degrees_are_noticed():
    assert "pi/2" in call("compute", "two_link", "mass_matrix", "--q", "0,90deg").stderr
    result = call("compute", "two_link", "mass_matrix", "--q", "0,90")
    assert result.exit_code == 0
    assert "joint2 at 90 rad" in result.stderr
    assert "radians" in call("simulate", "panda", "--q0", "0,-30,0,-90,0,90,0", "-t", "0.01").stderr
    assert not call("compute", "cart_pole", "mass_matrix", "--q", "90,0").stderr  # metres


def test_stops_that_take_energy_are_named():
    assert "joint2 ran into stops" in call("simulate", "panda", "--q0", "0,1.76,0,-1.5,0,1.5,0", "-t", "0.05").stdout
    assert "stops" not in call("simulate", "two_link", "-t", "0.05").stdout


def test_no_number_is_not_one_for_each_joint():
    done = CliRunner().invoke(main, ["excitation", "two_link", "--acceleration", ""])
    assert done.exit_code == 2
    assert "0 numbers were given" in done.output


def test_errors_end_between_words(monkeypatch):
    monkeypatch.setattr("qddot.cli.printing.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "40")
    for arguments in (["compute", "panda", "mass_matrx"], ["info", "no_such_robot_of_a_long_name"]):
        said = CliRunner().invoke(main, arguments).stderr.partition("Error: ")[2]
        assert "\n    " in said
        assert max(map(len, said.splitlines()[1:])) <= 40


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "quadruped", "--details"],
        ["check", "--rules"],
        ["catalog", "talos"],
        ["equations", "panda", "gravity_torque", "--symbols", "inertial"],
        ["convert", "two_link", "OUT.urdf"],
        ["simulate", "two_link", "-t", "0.05"],
        ["doctor"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_printed_fits_the_terminal(monkeypatch, tmp_path, arguments, width):
    monkeypatch.setattr("qddot.cli.printing.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", str(width))
    result = CliRunner().invoke(main, [x.replace("OUT", str(tmp_path / "arm")) for x in arguments])
    assert result.exit_code == 0, result.stderr
    whole = [line for line in (result.stdout + result.stderr).splitlines() if str(tmp_path) not in line]
    long = [line for line in whole if len(line) > width and " " in line.strip()]  # one word is not cut
    assert not long


def test_a_matrix_is_rounded_to_fit_the_terminal(monkeypatch):
    monkeypatch.setattr("qddot.cli.printing.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(main, ["compute", "panda", "mass_matrix"])
    assert "--digits shows more" in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "digits" not in CliRunner().invoke(main, ["compute", "two_link", "mass_matrix"]).stderr  # which fits as it is


def test_what_takes_long_says_so_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr("qddot.cli.printing.is_terminal", lambda stream: True)
    monkeypatch.setattr("qddot.cli.printing.PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    log = recorded(tmp_path / "run.csv", 1)
    said = {
        ("identify", "two_link", log, *NAMED): ("reading", "identifying"),
        ("simulate", "two_link", "-t", "0.05", "-o", str(tmp_path / "m.png")): ("writing",),
        ("equations", "two_link"): ("computing closed forms",),
        ("derive", "rp_arm"): ("deriving",),
        ("check", "two_link"): ("reading",),
        ("doctor",): ("looking",),
    }
    for arguments, words in said.items():
        stderr = call(*arguments).stderr
        assert all(x in stderr for x in words), arguments


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("help", "--help"),
        ("list", "catalog"),
        ("lint", "check ROBOT"),
        ("mass_matrix", "compute ROBOT mass_matrix"),
        ("infos", "'info'"),
    ],
)
def test_other_words_lead_to_commands(word, command):
    stderr = call(word, "two_link").stderr
    assert "did you mean" in stderr
    assert command in stderr
    assert "qddot --help lists" in call("xyzzy").stderr


def test_every_other_word_is_of_a_command():
    assert not set(MEANT) & set(COMMANDS)
    assert {command.split()[0] for command in MEANT.values()} - {"--help", "--version"} <= set(COMMANDS)
