"""Logs at the edge of what can be identified: an answer, or an error of ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import ConvergenceError, InputError, ModelWarning
from qddot.formats.urdf_writer import write_urdf
from qddot.identify import Log, ParameterSet
from qddot.identify.torque_delays import moved
from tests.identify.simulated import simulated, truth

ARM = qddot.load("two_link")
PARAMETERS = ParameterSet.of(ARM)


def recorded() -> Log:
    return simulated(PARAMETERS, truth(PARAMETERS), 10.0, 200.0, (1e-5, 0.02), 0)


def changed(q: float = 1.0, tau: float = 1.0, offset: float = 0.0) -> Log:
    log = recorded()
    return Log(log.t, q * log.q, tau * log.tau + offset, joint_names=log.joint_names)


def test_an_arm_that_never_moves_is_not_identified() -> None:
    verdict = ARM.identify(changed(q=0.0, tau=0.0, offset=1.0)).verdict
    assert not verdict
    assert {"dead channel", "insufficient excitation"} <= {concern.kind for concern in verdict.concerns}


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e200])
def test_numbers_that_are_no_torques_are_refused(scale: float, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"largest torque of joint1 .* right column"):
        ARM.identify(changed(tau=scale))
    assert "DLASCL" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_torques_in_no_unit_are_named(scale: float) -> None:
    verdict = ARM.identify(changed(tau=scale)).verdict
    assert not verdict
    assert verdict.concerns[0].kind == "units"


def test_a_robot_that_cannot_be_is_refused_in_words_of_ours() -> None:
    pytest.importorskip("cvxpy")
    fit = ARM.identify(changed(tau=-1.0))
    with pytest.raises(ConvergenceError, match="not identified: ") as refused:
        fit.robot  # noqa: B018
    assert "solver" not in str(refused.value)


def test_delays_that_leave_nothing_are_an_error() -> None:
    with pytest.raises(ConvergenceError, match="leave nothing of a log of 9"):
        moved(recorded(), np.array([20.0, 0.0]))


def test_a_urdf_says_whether_it_is_identified(tmp_path: Path) -> None:
    """In the file itself, which outlives the warning; also where words hold what would end a comment."""
    pytest.importorskip("cvxpy")
    good, bad = tmp_path / "good.urdf", tmp_path / "bad.urdf"
    ARM.identify(recorded()).to_urdf(good)
    log = recorded()
    refused = ARM.identify(Log(log.t[10:], log.q[10:], log.tau[:-10], joint_names=log.joint_names))
    with pytest.warns(ModelWarning, match="not identified"):
        refused.to_urdf(bad)
    assert ": identified" in good.read_text().partition("-->")[0]
    assert "NOT identified\n- delay: torques are " in bad.read_text().partition("-->")[0]
    for path in (good, bad):
        assert qddot.load(path).joint_names == ARM.joint_names
    write_urdf(ARM.model, good, "a --> b")
    assert qddot.load(good).joint_names == ARM.joint_names


def test_rounded_torques_are_no_frozen_channel() -> None:
    log = recorded()
    unit = np.array([1.0, 0.3])
    verdict = ARM.identify(Log(log.t, log.q, np.round(log.tau / unit) * unit, joint_names=log.joint_names)).verdict
    assert not verdict.has("frozen channel")
    assert [concern.text for concern in verdict.concerns if "rounded torques" in concern.text]
    stuck = np.round(log.tau / 0.05) * 0.05
    stuck[800:1000, 1] = stuck[800, 1]
    assert ARM.identify(Log(log.t, log.q, stuck, joint_names=log.joint_names)).verdict.has("frozen channel")


@pytest.mark.parametrize(("what", "rate"), [("positions", "25"), ("torques", "20")])
def test_a_slower_channel_is_told_once_with_its_rate(what: str, rate: str) -> None:
    log = recorded()
    every = round(200 / float(rate))
    at = np.arange(len(log)) // every * every
    q, tau = (log.q[at], log.tau) if what == "positions" else (log.q, log.tau[at])
    told = [found.message for found in Log(log.t, q, tau).audit().warnings]
    assert [text for text in told if f"{what} come at {rate} Hz in a log of 200 Hz: each is written {every} times" in text]
    assert not [text for text in told if "steps by" in text or "twice" in text or "repeats" in text or "rests at" in text]


def test_combinations_have_no_terms_of_rounding() -> None:
    fit = ARM.identify(recorded())
    K = fit.base.K.copy()
    K[0, np.flatnonzero(np.abs(K).sum(axis=0) > 0)[-1]] = 2.5e-8
    assert "e-08" not in replace(fit.base, K=K).combination(fit.base.names[0])
