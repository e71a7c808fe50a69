"""Derivations fit the paper they are printed on."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import sympy

import qddot

ALLOWED = 5.0  # pt beyond the margin


def planar(n):
    """Hinges in a plane, everything a symbol."""
    arm = qddot.Builder(f"R{n}", gravity=(0, -sympy.Symbol("g", positive=True), 0))
    for i in range(1, n + 1):
        before, r, m, inertia = sympy.symbols(f"L{i - 1} r{i} m{i} I{i}", positive=True)
        place = {"xyz": (before, 0, 0), "parent": f"link{i - 1}"} if i > 1 else {}
        arm.body(f"link{i}", mass=m, com=(r, 0, 0), tensor=(0, 0, inertia), **place)
    return arm.robot()


CASES = [("3R", "lagrange"), ("2R", "newton-euler"), ("RP", "jacobian"), ("channel", "lagrange")]
MORE = [
    ("2R", "lagrange"),
    ("2R", "jacobian"),
    ("RP", "lagrange"),
    ("RP", "newton-euler"),
    ("3R", "jacobian"),
    ("3R", "newton-euler"),
]
MORE += [("four_bar", "lagrange")]


@pytest.mark.parametrize(("name", "method"), [*CASES, *(pytest.param(*x, marks=pytest.mark.slow) for x in MORE)])
def test_no_line_runs_off_the_paper(tmp_path, name, method):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    catalog = {"RP": "rp_arm", "channel": "point_mass_2r", "four_bar": "four_bar"}
    robot = qddot.load(catalog[name], symbolic=name != "four_bar") if name in catalog else planar(int(name[0]))
    channel = qddot.holonomic(lambda state: state.position("tip").x - 1)
    constraints = {"channel": channel, "four_bar": True}.get(name)
    robot.derive(method, constraints=constraints, notation="craig").save(tmp_path / "x.tex")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"], cwd=tmp_path, capture_output=True, timeout=120
    )
    assert done.returncode == 0
    beyond = re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", done.stdout.decode(errors="replace"))
    assert max(map(float, beyond), default=0.0) < ALLOWED
