"""Exported JavaScript, run by Node: it computes what our kernels compute, and names get into its comments only."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.cli import main
from qddot.compile import c_source
from qddot.compile.javascript import JavaScript, javascript_function
from qddot.errors import InputError, UnboundSymbolError, UnknownNameError
from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program
from qddot.robot import Robot
from tests.robots import random_model
from tests.slow import slow_but

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node on the path")
INERTIA = qddot.Inertia(1, (0.1, 0, 0), np.eye(3) * 0.01)
IN_COORDINATES = ("christoffel", "centrifugal_matrix", "coriolis_products_matrix", "torque_rates")

CALL = """
import * as f from {module};
const calls = {calls};
console.log(JSON.stringify(calls.map(({{name, inputs, sizes}}) => {{
  const outputs = sizes.map((n) => new Float64Array(n).fill(NaN));
  const code = f[name](...inputs, ...outputs) ?? 0;
  return {{code, outputs: outputs.map((x) => [...x])}};
}})));
"""


def called(module: Path, calls: list[dict]) -> list[dict]:
    """What the functions of a module return and fill."""
    script = CALL.format(module=json.dumps(module.as_uri()), calls=json.dumps(calls))
    done = subprocess.run([str(NODE), "--input-type=module", "-e", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def call_of(name: str, program: Program, arrays: list) -> dict:
    sizes = [x.size for x in program.outputs if x.name != "margins"]
    return {"name": name, "inputs": [np.ravel(a).tolist() for a in arrays], "sizes": sizes}


def everything(robot: Robot) -> list[tuple[str, dict]]:
    """Every quantity that exists, for the last frame, and a second Jacobian."""
    plain = [q for q in QUANTITIES if q not in IN_COORDINATES or robot.nq == robot.nv]
    options = {q: {"frame": robot.frame_names[-1]} for q in QUANTITIES if "frame" in QUANTITIES[q].options}
    second = ("jacobian", {"frame": robot.frame_names[-1], "reference": "body"})
    return [*((q, options.get(q, {})) for q in plain), second, ("bias_torque", {"wrench": True})]


def agrees(robot: Robot, module: Path, states: int = 3) -> None:
    """Every quantity in some random states: the kernels' numbers to 1e-12 of the largest."""
    wanted, rng = everything(robot), np.random.default_rng(0)
    robot.export_js(module, wanted)
    seen: dict[str, int] = {}
    calls, results = [], []
    for quantity, options in wanted:
        seen[quantity] = seen.get(quantity, 0) + 1
        name = quantity if seen[quantity] == 1 else f"{quantity}_{seen[quantity]}"
        kernel = robot.kernel(quantity, **options)
        for _ in range(states):
            draw = lambda x: robot.random_configuration(rng) if x.name == "q" else rng.normal(size=x.shape)  # noqa: E731
            arrays = [draw(x) for x in kernel.program.inputs]
            calls.append(call_of(name, kernel.program, arrays))
            found = kernel(*arrays)
            found = list(found) if isinstance(found, tuple) else [found]
            margins = found.pop() if kernel.has_margins else np.ones(1)
            results.append((found, bool((margins > 0).all())))
    for call, got, (want, exists) in zip(calls, called(module, calls), results, strict=True):
        assert (got["code"] == 0) == exists, call["name"]
        for a, b in zip(got["outputs"] if exists else [], want):
            assert np.abs(np.array(a) - b.ravel()).max(initial=0) <= 1e-12 * max(np.abs(b).max(initial=0), 1), call["name"]


@needs_node
@pytest.mark.parametrize("name", slow_but(("rp_arm", "four_bar", "arm7"), "rp_arm"))
def test_every_quantity_equals_the_kernel_s(name, tmp_path):
    agrees(qddot.load(name), tmp_path / "robot.mjs")


@needs_node
@pytest.mark.parametrize("seed", slow_but((0, 2, 3), 2))
def test_joints_of_every_type_that_follow_each_other(seed, tmp_path):
    agrees(Robot(random_model(np.random.default_rng(seed), 5, mimic=0.3)), tmp_path / "odd.mjs", states=2)


@needs_node
def test_every_kind_of_friction(tmp_path):
    drive = qddot.Drive(viscous=0.2, coulomb=(0.1, 0.3), static=0.5, stribeck_velocity=0.4, load_friction=0.2, stiffness=2.0)
    robot = qddot.Builder("dry").body("arm", "base", axis=(0, 1, 0), inertia=INERTIA, drive=drive).robot()
    agrees(robot, tmp_path / "dry.mjs")


@needs_node
def test_long_functions_are_cut_and_compute_the_same(tmp_path, monkeypatch):
    robot = qddot.load("two_link")
    monkeypatch.setattr(c_source, "PART", 7)
    agrees(robot, tmp_path / "short.mjs")
    assert "forward_dynamics_part2" in (tmp_path / "short.mjs").read_text()


@needs_node
def test_signs_and_numbers_of_every_kind(tmp_path):
    trace = Trace()
    x, y = trace.variable(0, 0), trace.variable(0, 1)
    values = (
        -(x * y),
        x - -2.5,
        -0.5 - x,
        x * -0.5 - y * -3.0,
        trace.where_positive(x - y, -x, 1e-300),
        trace.atan2(y, -x),
        x / 1e310,
        trace.sign(x),
    )
    program = Program("odd", (Input("x", (2,)),), (Output("out", (len(values),), values),))
    module = tmp_path / "odd.mjs"
    module.write_text("\n".join(javascript_function(program, "odd", "export ")))
    a, b = 0.75, -1.5
    (got,) = called(module, [call_of("odd", program, [np.array([a, b])])])
    want = [-(a * b), a + 2.5, -0.5 - a, a * -0.5 + 3 * b, -a, np.arctan2(b, -a), 0.0, 1.0]
    assert got["outputs"][0] == want
    assert [JavaScript().literal(v) for v in (np.inf, -np.inf, np.nan, 2.0, -0.1)] == ["Infinity", "-Infinity", "NaN", "2", "-0.1"]


def test_names_of_the_robot_stand_in_comments_only(tmp_path):
    link, joint = "</script>ev`il${1}", "*/throw 1/*"
    robot = qddot.Builder("*/ alert(1) /*").body(link, "base", joint_name=joint, axis=(0, 0, 1), inertia=INERTIA).robot()
    text = robot.export_js(tmp_path / "m.mjs", ["mass_matrix", "jacobian"]).read_text()
    assert not re.search(r"alert|evil|ev`|script", text)
    assert not re.search(r"\*/\s*throw|`|\$", text)


def test_what_is_refused(tmp_path):
    robot = qddot.load("two_link")
    with pytest.raises(InputError, match=r"ends in '\.c'"):
        robot.export_js(tmp_path / "m.c", ["mass_matrix"])
    with pytest.raises(UnknownNameError, match="mass_matrix"):
        robot.export_js(tmp_path / "m.mjs", ["mass_matrx"])
    with pytest.raises(UnboundSymbolError):
        qddot.load("two_link", symbolic=True).export_js(tmp_path / "m.mjs", ["mass_matrix"])
    assert list(tmp_path.iterdir()) == []


@needs_node
def test_the_command_writes_a_module(tmp_path):
    done = CliRunner().invoke(main, ["export-js", "two_link", str(tmp_path / "arm.mjs"), "mass_matrix", "gravity_torque"])
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "arm.mjs") in done.output
    robot = qddot.load("two_link")
    (got,) = called(tmp_path / "arm.mjs", [call_of("mass_matrix", robot.program("mass_matrix"), [[0.3, -1.1]])])
    assert got["outputs"][0] == pytest.approx(robot.mass_matrix([0.3, -1.1]).ravel(), abs=1e-15)
