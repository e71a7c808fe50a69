"""The how-to pages: their commands run as they are printed, and their C does what they say."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.newcomers.commands import ROOT, inside, said

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
PAGES = ROOT / "docs" / "how_to"


@pytest.mark.skipif(CC is None, reason="no C compiler on the path")
def test_c_on_a_controller(tmp_path):
    """The program of the page, with the code of its command, prints the torques that the page has from Python."""
    page = (PAGES / "c_on_a_controller.md").read_text(encoding="utf-8")
    program = page.partition("```c\n")[2].partition("```")[0]
    (compile_, run) = re.findall(r"^    (cc .*) && (\./loop)$", page, re.MULTILINE)[0]
    expected = re.findall(r"^(-?\d+\.\d{3})$", page, re.MULTILINE)
    with inside(tmp_path):
        for command in re.findall(r"^    (qddot .+)$", page, re.MULTILINE):
            said(command)
        (tmp_path / "loop.c").write_text(program)
        subprocess.run([str(CC), "-Wall", "-Wextra", "-Werror", *compile_.split()[1:]], check=True)
        printed = subprocess.run([run], check=True, capture_output=True, text=True).stdout.split()
    assert len(expected) == 5
    assert printed == expected


def test_identify_my_arm(tmp_path):
    """The commands of the page, with a recording as the page makes it."""
    import numpy as np

    import qddot

    page = (PAGES / "identify_my_arm.md").read_text(encoding="utf-8")
    plan, fit, validated = re.findall(r"^    (qddot [^#\n]+)", page, re.MULTILINE)
    with inside(tmp_path):
        said("qddot new arm.toml")
        said(plan)
        arm = qddot.load("arm.toml")
        for seed, name in enumerate(("run1.csv", "run2.csv")):
            t, *motion = arm.excitation(period=8.0, harmonics=3, acceleration=8.0, seed=seed).sample(rate=200)
            noise = 0.05 * np.random.default_rng(seed).normal(size=motion[0].shape)
            rows = np.column_stack([t, motion[0], arm.inverse_dynamics(*motion) + noise])
            np.savetxt(name, rows, delimiter=",", header="t,q_shoulder,q_elbow,tau_shoulder,tau_elbow", comments="")
        assert "verdict: identified" in said(fit)
        assert "verdict: identified" in said(validated)
        assert (tmp_path / "report.html").stat().st_size > 10_000
        assert qddot.load("identified.urdf").nv == 2
