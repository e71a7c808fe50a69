"""Everything that takes a log takes the name of its file, and says what it takes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify import (
    Log,
    ParameterSet,
    closed_loop,
    drive_gains,
    elastic_joints,
    output_error,
    payload,
    thermal_friction,
    torque_delays,
)

ARM = qddot.load("two_link")
BALL = qddot.Inertia.sphere(0.5, 0.05)
PLAIN = {"parameter_set": ParameterSet.of(ARM, armature=False, coulomb=None)}
CALLS = {
    "payload": partial(payload, ARM, frame="body_2"),
    "drive_gains": lambda log: drive_gains(ARM, log, log, BALL, frame="body_2", **PLAIN),
    "torque_delays": partial(torque_delays, ARM, **PLAIN),
    "thermal_friction": lambda log: thermal_friction(ARM, log, np.arange(1000.0), **PLAIN),
    "elastic_joints": lambda log: elastic_joints(ARM, log, links=np.zeros((1000, 2))),
    "output_error": lambda log: output_error(ARM, log, free=["joint1.viscous"], bandwidth=1.0, **PLAIN),
    "closed_loop": lambda log: closed_loop(ARM, log, lambda t, q, qd: -q - qd, **PLAIN),
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Log]:
    """Ten seconds with a load on the second link, and their file."""
    t = np.arange(1000) / 100
    w, a = np.array([1.3, 3.1, 5.2]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    q, qd, qdd = (f(np.outer(t, w)) * w**k @ a.T for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x))))
    tau = ARM.with_payload(0.5, frame="body_2").inverse_dynamics(q, qd, qdd)
    path = tmp_path_factory.mktemp("logs") / "run.csv"
    np.savetxt(path, np.column_stack([t, q, tau]), delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    return path, Log.load(path, ARM)


def outcome(call, log: Path | Log) -> str:
    try:
        return str(call(log))
    except qddot.QddotError as error:
        return str(error)


@pytest.mark.parametrize("name", CALLS)
def test_a_name_gives_what_the_log_gives(name, log):
    path, loaded = log
    told = outcome(CALLS[name], str(path))
    assert told == outcome(CALLS[name], loaded) == outcome(CALLS[name], path)
    if name in ("payload", "torque_delays", "thermal_friction"):
        assert len(told.splitlines()) > 2, told  # a result, no error


def test_several_files_are_one_recording(log):
    path, loaded = log
    assert str(payload(ARM, [path, path], frame="body_2")) == str(payload(ARM, [loaded, loaded], frame="body_2"))


@pytest.mark.parametrize("name", CALLS)
def test_anything_else_is_refused(name):
    with pytest.raises(InputError, match="a log is read from a path, a mapping of paths, or several of them, not from int"):
        CALLS[name](5)
    with pytest.raises(InputError, match=r"no_such\.csv: no such file"):
        CALLS[name]("no_such.csv")
