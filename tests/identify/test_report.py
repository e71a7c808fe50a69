"""What people read of a fit."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.card import Table
from qddot.errors import MissingProgramError, ModelWarning
from qddot.identify import Fit, ParameterSet
from qddot.identify.checks.verdict import Concern, Verdict
from qddot.identify.report.document import Document, Items, Section, html
from qddot.identify.report.pdf import BROWSERS
from qddot.identify.report.shortcomings import shortcomings
from qddot.identify.report.tables import joint_table, state, unit
from tests.identify.arms import random_arm
from tests.identify.simulated import simulated, truth

ARM = random_arm(0, 2)


@pytest.fixture(scope="module")
def fit() -> Fit:
    parameters = ParameterSet.of(ARM, harmonics={"j1": 1})
    theta = truth(parameters) + [5.0 if name.endswith("1.cos1") else 0.0 for name in parameters.names]
    return ARM.identify(simulated(parameters, theta, 20.0, 100.0, (1e-5, 0.05), 1), parameter_set=parameters)


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
    assert text.count("![") == 3  # two joints, and the parameters
    assert all((tmp_path / f"arm_{k}.png").stat().st_size > 1000 for k in (1, 2, 3))


def test_a_page_has_all_that_a_team_signs(fit: Fit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    fit.report(tmp_path / "arm.html")
    text = (tmp_path / "arm.html").read_text()
    titles = ("Verdict", "Torques", "What was done to the data", "Each joint", "Parameters", "As described and as identified")
    for title in (*titles, "Where the model fails", "What to record next", "How to repeat this fit"):
        assert f"<h2>{title}</h2>" in text
    assert text.count("data:image/svg+xml") == 3
    assert "robot.identify(log, parameter_set=parameter_set)" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # nothing is fetched


def test_pdf_is_printed_or_says_by_what(fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingProgramError, match="apt install chromium"):
        fit.report(tmp_path / "arm.pdf")


@pytest.mark.slow
def test_pdf(fit: Fit, tmp_path: Path) -> None:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("no browser on the path")
    fit.report(tmp_path / "arm.pdf")
    assert (tmp_path / "arm.pdf").read_bytes().startswith(b"%PDF")


def test_where_a_model_fails_is_named(fit: Fit) -> None:
    assert not shortcomings(fit)
    parameters = ParameterSet.of(ARM)
    log = simulated(parameters, truth(parameters), 20.0, 100.0, (1e-5, 0.05), 1)
    tau = log.tau + 3.0 * ((log.t > 10) & (log.t < 12))[:, None] * [0.0, 1.0]
    touched = ARM.identify(dataclasses.replace(log, tau=tau), parameter_set=parameters)
    found = {each.joint: each for each in shortcomings(touched)}
    assert any("from t = " in place for place in found["j1"].places)


def test_html_keeps_tables_and_lists_apart() -> None:
    blocks = [Table(["a", "b"], [["1", "2"]]), Table(["c"], [["3"]]), Items(["one", "<two>", "`x<y`"])]
    found = html(Document("T", True, [Section("S", blocks)]))
    assert found.count("<table>") == found.count("</table>") == 2
    assert "<ul><li>one</li><li>&lt;two&gt;</li><li><code>x&lt;y</code></li></ul>" in found
    assert "<p>-" not in found


def test_friction_of_a_clean_log_lies_on_its_curve(fit: Fit) -> None:
    """Also where joints turn back, whose steps the low-pass blurs."""
    pytest.importorskip("matplotlib")
    for ax, rms in zip(fit.plot("friction"), fit.training.rms):
        measured, found = ax.get_lines()
        v, tau = measured.get_data()
        assert abs(v).min() < 0.1 < abs(v).max()
        assert np.abs(tau - np.interp(v, *found.get_data())).max() < 6 * rms
        residual = tau - np.interp(v, *found.get_data())
        assert residual.std() == pytest.approx(rms, rel=0.3)  # and what remains is drawn


def test_how_far_off_the_robot_is_is_told(fit: Fit) -> None:
    pytest.importorskip("cvxpy")
    filtered, raw = fit.robot_error
    assert fit.left_out == ()
    assert filtered == pytest.approx(fit.training.relative, rel=0.02)
    assert raw == pytest.approx(fit.training.relative_raw, rel=0.02)
    assert f"torques of `fit.robot` are off by {filtered:.3%} filtered and {raw:.3%} raw (training)" in fit.report()


def test_what_a_robot_cannot_hold_is_told(tmp_path: Path) -> None:
    """A slider has no turns in which a torque could come again."""
    pytest.importorskip("cvxpy")
    slider = qddot.Builder("slider", gravity=(0, 0, -9.81)).body("cart", joint="prismatic", mass=2).robot()
    parameters = ParameterSet.of(slider, harmonics={"cart_joint": 1}, offset=False)
    theta = parameters.described + [5.0 if name.endswith("cos1") else 0.0 for name in parameters.names]
    fit = slider.identify(simulated(parameters, theta, 20.0, 100.0, (1e-5, 0.05), 1), parameter_set=parameters)
    assert fit.left_out == ("cart_joint.cos1", "cart_joint.sin1")
    assert "cannot hold cart_joint.cos1, cart_joint.sin1" in fit.report()
    with pytest.warns(ModelWarning, match=r"cannot hold cart_joint\.cos1, cart_joint\.sin1: its torques lack them and are off by"):
        fit.to_urdf(tmp_path / "arm.urdf")


def test_a_refused_fit_becomes_no_urdf_unnoticed(fit: Fit, tmp_path: Path) -> None:
    pytest.importorskip("cvxpy")
    refused = dataclasses.replace(fit, verdict=Verdict((Concern("units", "milli"),)))
    with pytest.warns(ModelWarning, match="not identified"):
        refused.to_urdf(tmp_path / "arm.urdf")


def test_short_names_of_long_things(fit: Fit) -> None:
    for thing in (fit, fit.base, fit.estimate, fit.factors, fit.training, fit.parameter_set, fit.signals):
        assert len(repr(thing)) < 200


def test_values_have_units() -> None:
    hinge, slider = qddot.load("rp_arm").joint_names
    every = {"viscous": 3, "asymmetric": True, "stribeck": 0.1, "load": True, "spring": True}
    found = ParameterSet.of(
        qddot.load("rp_arm"), **every, harmonics={hinge: 1}, pulls={slider: (0.1, 1)}, coupled=[(hinge, slider)]
    )
    units = {name: unit(found, name) for name in found.names}
    link = next(iter(units)).partition(".")[0]
    assert [units[f"{link}.{kind}"] for kind in ("m", "mcx", "Ixx")] == ["kg", "kg m", "kg m^2"]
    assert [units[f"{hinge}.{kind}"] for kind in ("armature", "viscous", "viscous_negative", "cos1")] == [
        "kg m^2",
        "N m s/rad",
        "N m s/rad",
        "N m",
    ]
    assert [units[f"{slider}.{kind}"] for kind in ("armature", "viscous_cubic", "stribeck", "pull_rise")] == [
        "kg",
        "N s^3/m^3",
        "N",
        "N/m^2",
    ]
    assert not units[f"{slider}.load"]


def test_recordings_with_clocks_of_their_own_follow_one_another() -> None:
    pytest.importorskip("matplotlib")
    parameters = ParameterSet.of(ARM)
    first, second = (simulated(parameters, truth(parameters), 10.0, 100.0, (1e-5, 0.05), seed) for seed in (1, 2))
    touched = dataclasses.replace(second, tau=second.tau + 3.0 * ((second.t > 5) & (second.t < 6))[:, None] * [0.0, 1.0])
    fit = ARM.identify([first, touched], parameter_set=parameters)
    elapsed, later = fit.judged.elapsed, fit.judged.segments[1]
    (shift,) = set((elapsed - fit.judged.t)[later].round(6).tolist())
    assert np.all(np.diff(elapsed) > 0)
    assert shift == pytest.approx(8.92)  # what the filter leaves of ten seconds
    for what in ("torques", "residuals"):
        panels = fit.plot(what)
        assert panels[-1].get_xlabel() == "t [s], one recording after the other"
        for line in panels[0].get_lines():
            t = np.asarray(line.get_xdata(), float)
            assert np.all(np.diff(t[np.isfinite(t)]) > 0)
            assert np.isnan(t[:-1]).sum() == 1  # a break between the recordings
    (places,) = (each.places for each in shortcomings(fit) if each.joint == "j1")
    (then,) = re.findall(r"from t = (\S+) to (\S+) s", " ".join(places))
    assert float(then[0]) < 5.5 + shift < float(then[1])
    alone = ARM.identify(first, parameter_set=parameters)
    assert np.array_equal(alone.judged.elapsed, alone.judged.t)
    assert alone.plot("torques")[-1].get_xlabel() == "t [s]"


def test_the_data_are_named_with_their_size(fit: Fit) -> None:
    log, *_ = fit.findings
    assert (log.code, log.message) == ("log", "2,000 samples at 100 Hz, 19.99 s")
    first, second = (simulated(fit.parameter_set, truth(fit.parameter_set), 10.0, 100.0, (1e-5, 0.05), seed) for seed in (1, 2))
    log, kept, *_ = ARM.identify(first, validation=second[:900], parameter_set=fit.parameter_set).findings
    assert kept.message == "kept for it: 900 samples at 100 Hz, 8.99 s"


def test_only_errors_that_there_are_have_columns(fit: Fit) -> None:
    assert joint_table(fit).head == ["joint", "noise", "unseen blocks", "training", "training, raw"]
    log = simulated(fit.parameter_set, truth(fit.parameter_set), 10.0, 100.0, (1e-5, 0.05), 1)
    found = joint_table(ARM.identify(log, validation=0.3, parameter_set=fit.parameter_set))
    assert found.head[-2:] == ["validation", "validation, raw"]
    assert all(len(row) == len(found.head) for row in found.rows)
