"""What people read of a fit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from qddot.errors import ModelWarning
from qddot.identify import Columns, Fit
from qddot.identify.checks.verdict import Concern, Verdict
from qddot.identify.report import page, state
from tests.identify.arms import random_arm
from tests.identify.simulated import simulated, truth

ARM = random_arm(0, 2)


@pytest.fixture(scope="module")
def fit() -> Fit:
    columns = Columns.of(ARM, harmonics={"j1": 1})
    theta = truth(columns) + [5.0 if name.endswith("1.cos1") else 0.0 for name in columns.names]
    return ARM.identify(simulated(columns, theta, 20.0, 100.0, (1e-5, 0.05), 1), columns=columns)


def test_what_a_parameter_may_be_called() -> None:
    assert state(2.0, np.array([1.5, 2.5]), True) == "identified"
    assert state(6.7, np.array([0.3, 13.1]), False) == "poorly known: +- 96%"
    assert state(0.1, np.array([-0.1, 0.3]), True) == "not distinguishable from 0"
    assert state(-2.85, np.array([-3.5, -2.0]), True) == "impossible: cannot be negative"
    assert state(-2.85, np.array([-3.5, -2.0]), False) == "identified"


def test_markdown_has_its_plots_beside_it(fit: Fit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    fit.report(tmp_path / "arm.md")
    text = (tmp_path / "arm.md").read_text()
    assert text.count("![") == 3
    assert all((tmp_path / f"arm_{k}.png").stat().st_size > 1000 for k in (1, 2, 3))


def test_html_keeps_tables_and_lists_apart() -> None:
    found = page("# T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n| 3 |\n\n- one\n- <two>\n", [])
    assert found.count("<table>") == found.count("</table>") == 2
    assert "<ul><li>one</li><li>&lt;two&gt;</li></ul>" in found
    assert "<p>-" not in found


def test_what_a_robot_cannot_hold_is_told(fit: Fit, tmp_path: Path) -> None:
    pytest.importorskip("cvxpy")
    assert fit.left_out == ("j1.cos1", "j1.sin1")
    assert "cannot hold j1.cos1, j1.sin1" in fit.report()
    with pytest.warns(ModelWarning, match=r"cannot hold j1\.cos1, j1\.sin1: its torques lack them and are off by \d"):
        fit.to_urdf(tmp_path / "arm.urdf")
    filtered, raw = fit.robot_error
    assert filtered > fit.training.relative
    assert raw > fit.training.relative_raw
    assert f"torques of `fit.robot` are off by {filtered:.3%} filtered and {raw:.3%} raw (training)" in fit.report()


def test_a_refused_fit_becomes_no_urdf_unnoticed(fit: Fit, tmp_path: Path) -> None:
    pytest.importorskip("cvxpy")
    refused = dataclasses.replace(fit, verdict=Verdict((Concern("units", "milli"),)))
    with pytest.warns(ModelWarning, match="not identified"):
        refused.to_urdf(tmp_path / "arm.urdf")


def test_short_names_of_long_things(fit: Fit) -> None:
    for thing in (fit, fit.base, fit.estimate, fit.factors, fit.training):
        assert len(repr(thing)) < 200
