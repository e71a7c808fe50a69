"""Recordings predicted by each other, and what a log is worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qddot.identify import Log, ParameterSet
from qddot.identify.cross_validation import CrossValidation, by_recording
from qddot.logs.log_summary import lasting
from tests.identify.arms import random_arm
from tests.identify.simulated import simulated, truth

ARM = random_arm(0, 2)
PARAMETERS = ParameterSet.of(ARM)
THETA = truth(PARAMETERS)


def logs(count: int) -> list[Log]:
    return [simulated(PARAMETERS, THETA, 8.0, 100.0, (1e-5, 0.05), k, motion=k) for k in range(count)]


def test_each_log_is_predicted_by_the_others() -> None:
    """The oracle fits without the log, and predicts it."""
    three = logs(3)
    fit = ARM.identify(three, parameter_set=PARAMETERS, cutoff=8.0, method="ols")
    found = fit.cross_validation
    assert found is not None
    assert [row[0] for row in found.rows] == ["log 1", "log 2", "log 3"]
    for k, (_, _, _, error) in enumerate(found.rows):
        others = [log for i, log in enumerate(three) if i != k]
        alone = ARM.identify(others, parameter_set=PARAMETERS, cutoff=8.0, method="ols", validation=three[k])
        assert alone.validation is not None
        assert error == pytest.approx(alone.validation.relative, rel=0.02)  # there rests are left out of both alike


def test_a_payload_in_one_log_shows() -> None:
    one, two, three = logs(3)
    heavier = np.array([x + 2.0 * (name == "l2.m") for name, x in zip(PARAMETERS.names, THETA)])
    three = simulated(PARAMETERS, heavier, 8.0, 100.0, (1e-5, 0.05), 2, motion=2)
    found = ARM.identify([one, two, three], parameter_set=PARAMETERS).cross_validation
    assert found is not None
    errors = [row[3] for row in found.rows]
    assert errors[2] == max(errors)


def test_a_single_log_is_cut_into_fifths() -> None:
    found = ARM.identify(logs(1)[0], parameter_set=PARAMETERS).cross_validation
    assert found is not None
    assert len(found.rows) == 5
    assert found.error < 0.02


def test_pauses_do_not_make_recordings() -> None:
    assert by_recording(np.array([5, 5, 5]), np.array([5, 10, 15]), ["a", "a", "b"]) == {"a": [0, 1], "b": [2]}
    assert list(by_recording(np.array([5, 5]), np.array([5, 10]), ["a"])) == ["segment 1", "segment 2"]


def test_names_survive_cutting() -> None:
    both = logs(1)[0] + logs(1)[0]
    assert both.recordings == ("log 1", "log 2")
    assert both[:900].recordings == ("log 1", "log 2")
    assert both[:100].recordings == ("log 1",)


def test_a_joint_that_hardly_moved_is_proposed() -> None:
    log = logs(1)[0]
    t = log.t
    q, qd, qdd = (
        np.stack([f, np.full_like(t, 0.3) * (k == 0)], axis=1)
        for k, f in enumerate((np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)))
    )
    tau = PARAMETERS.matrix(q, qd, qdd) @ THETA + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    still = Log(t, q, tau, joint_names=log.joint_names)
    worth = ARM.identify(still, parameter_set=PARAMETERS).worth
    assert {"j1.armature", "j1.viscous", "j1.coulomb"} <= set(worth.unknown)
    helped = {name for proposal in worth.proposals if proposal.joint == "j1" for name in proposal.helps}
    assert {"j1.armature", "j1.viscous", "j1.coulomb"} <= helped
    assert not worth.beyond
    rich = ARM.identify(log, parameter_set=PARAMETERS).worth
    assert len(rich.unknown) < len(worth.unknown)


def test_an_idle_stretch_is_named() -> None:
    log = logs(1)[0]
    t = np.arange(800) / 100.0
    q, qd, qdd = (np.outer(f, [1.0, 0.0]) for f in (0.1 * np.sin(t), 0.1 * np.cos(t), -0.1 * np.sin(t)))
    slow = Log(t + 8.01, q, PARAMETERS.matrix(q, qd, qdd) @ THETA, joint_names=log.joint_names)
    worth = ARM.identify(log + slow, parameter_set=PARAMETERS).worth
    assert worth.idle
    assert min(stretch.start for stretch in worth.idle) > 5.0


def test_durations_are_told_without_powers_of_ten() -> None:
    assert [lasting(x) for x in (0.628318, 19.99, 999.0, 14400.4)] == ["0.6283 s", "19.99 s", "999 s", "14,400 s"]
    assert "(14,400 s)" in str(CrossValidation("recording", (("a", 14400.4, 0.01, 0.02),), 0.02))


def test_files_read_piece_by_piece_keep_their_names(tmp_path: Path) -> None:
    """A pause within a file begins no recording."""
    files = []
    for k, log in enumerate(logs(3)):
        t = log.t + 3.0 * (log.t > 4.0) if k == 1 else log.t
        files.append(tmp_path / f"run{k}.npz")
        np.savez(files[-1], t=t, q=log.q, tau=log.tau)
    found = []
    for rows in (250, 100_000):
        fit = ARM.identify(Log.chunks(files, ARM, rows=rows), parameter_set=PARAMETERS, cutoff=8.0)
        assert fit.cross_validation is not None
        found.append([row[0] for row in fit.cross_validation.rows])
    assert found[0] == found[1] == ["run0.npz", "run1.npz", "run2.npz"]
