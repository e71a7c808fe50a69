"""Parameters while the robot moves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import qddot
from qddot.control.observer import MomentumObserver
from qddot.errors import InputError
from qddot.identify import Fit, Log, OnlineIdentification, OnlinePayload, ParameterSet, prepare
from qddot.identify.online.rotations import Triangle
from qddot.identify.payload import load_regressor
from qddot.logs.lowpass import convolved
from qddot.model.inertia import Inertia
from tests.identify.simulated import series, simulated, truth

ARM = qddot.load("two_link")
PARAMETERS = ParameterSet.of(ARM, armature=False)
THETA = truth(PARAMETERS)
RATE, CUTOFF = 200.0, 10.0


@pytest.fixture(scope="module")
def fit() -> Fit:
    return ARM.identify(recorded(0), parameter_set=PARAMETERS, cutoff=CUTOFF)


def recorded(seed: int, theta: np.ndarray = THETA, seconds: float = 20.0) -> Log:
    return simulated(PARAMETERS, theta, seconds, RATE, (1e-6, 0.02), seed, motion=seed)


def run(online, log: Log) -> None:
    for q, tau in zip(log.q, log.tau):
        online.update(q, tau)


def test_folded_rows_make_the_triangle_of_a_qr() -> None:
    draw = np.random.default_rng(0)
    A = draw.normal(size=(40, 14))
    A[::3, :5] = 0.0
    triangle = Triangle(13, 4)
    for rows in A.reshape(10, 4, 14):
        triangle.new[:] = rows
        triangle.fold()
    R = np.linalg.qr(A, mode="r")
    R = R * np.sign(np.diagonal(R))[:, None]
    np.testing.assert_allclose(np.column_stack([triangle.R, triangle.z]), R[:13], atol=1e-12)


def test_with_no_forgetting_it_is_least_squares(fit: Fit) -> None:
    """The oracle filters the whole log, takes the same samples and calls lstsq."""
    log = recorded(1, seconds=10.0)
    online = OnlineIdentification(fit, rate=RATE, spread=1e6)
    run(online, log)
    signals = prepare(log, CUTOFF, velocity="derivative")
    taps, factor = signals.low_pass.smooth, signals.factor
    Y = PARAMETERS.matrix(signals.q, signals.qd, signals.qdd)[..., list(fit.base.independent)]
    rows = convolved(np.concatenate([Y, signals.tau_raw[..., None]], axis=-1).reshape(len(Y), -1), taps).reshape(
        -1, 2, Y.shape[-1] + 1
    )
    taken = [k for k in range(len(rows)) if (k + len(taps)) % factor == 0]
    rows = (rows[taken] / fit.estimate.sigma[:, None]).reshape(-1, rows.shape[-1])
    best = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
    for name, value in zip(fit.base.names, best):
        assert online.parameters[name] == pytest.approx(value, abs=1e-6 * np.abs(best).max())


def test_friction_that_changes_is_followed(fit: Fit) -> None:
    warm = np.array([0.6 * x if name.endswith("viscous") else x for name, x in zip(PARAMETERS.names, THETA)])
    online = OnlineIdentification(fit, rate=RATE, memory=3.0)
    run(online, recorded(1))
    cold = online.parameters
    online.interrupt()
    run(online, recorded(2, warm))
    for name in ("joint1.viscous", "joint2.viscous"):
        true = THETA[PARAMETERS.names.index(name)]
        assert cold[name] == pytest.approx(true, rel=0.03)
        assert online.parameters[name] == pytest.approx(0.6 * true, rel=0.05)


def test_nothing_winds_up_while_nothing_shows(fit: Fit) -> None:
    """Only the first joint moves, for a hundred memories: what it does not show goes back to the prior, and no further."""
    online = OnlineIdentification(fit, rate=RATE, memory=0.2)
    before = online.std
    t = np.arange(int(20 * RATE)) / RATE
    motion = [np.outer(f, [1.0, 0.0]) for f in (np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t))]
    run(online, Log(t, motion[0], PARAMETERS.matrix(*motion) @ THETA, joint_names=ARM.joint_names))
    assert (online.std <= 1.05 * before).all()
    viscous = online.names.index("joint2.viscous")
    assert online.std[viscous] == pytest.approx(before[viscous], rel=0.05)
    assert online.parameters["joint2.viscous"] == pytest.approx(fit.parameters["joint2.viscous"], rel=1e-6)
    assert online.std[online.names.index("joint1.viscous")] < 0.2 * before[online.names.index("joint1.viscous")]


def test_a_contact_is_not_learnt_from(fit: Fit) -> None:
    log = recorded(1, seconds=8.0)
    online, undisturbed = (OnlineIdentification(fit, rate=RATE) for _ in range(2))
    for k, (q, tau) in enumerate(zip(log.q, log.tau)):
        touched = 600 < k < 700
        online.update(q, tau + 5.0 * touched, learn=not touched)
        undisturbed.update(q, tau)
    np.testing.assert_allclose(online.theta, undisturbed.theta, atol=6 * undisturbed.std.max())
    assert (online.std >= undisturbed.std).all()


def test_a_sample_that_is_no_number_is_refused_and_forgotten(fit: Fit) -> None:
    log = recorded(1, seconds=4.0)
    one, other = (OnlineIdentification(fit, rate=RATE) for _ in range(2))
    for k, (q, tau) in enumerate(zip(log.q, log.tau)):
        if k == 300:
            with pytest.raises(InputError, match="tau"):
                one.update(q, tau * np.nan)
        one.update(q, tau)
        other.update(q, tau)
    np.testing.assert_array_equal(one.theta, other.theta)


def test_what_cannot_be_followed_is_refused(fit: Fit) -> None:
    with pytest.raises(InputError, match="memory"):
        OnlineIdentification(fit, rate=RATE, memory=0)
    with pytest.raises(InputError, match="one number for each of 2 joints"):
        OnlineIdentification(fit, rate=RATE).update(np.zeros(1), np.zeros(2))


MORE = [{"harmonics": {"joint1": 1}}, {"load": True}, {"coupled": [("joint1", "joint2")]}, {"asymmetric": True}, {"spring": True}]


@pytest.mark.parametrize("more", MORE)
def test_whatever_a_fit_has_is_followed(more: dict) -> None:
    """Compiled or not, the columns are those of the parameter set."""
    parameters = ParameterSet.of(ARM, armature=False, **more)
    kinds = {"viscous": 0.4, "coulomb": 0.6, "offset": 0.1}
    theta = np.array([kinds.get(name.rpartition(".")[2], x or 0.2) for name, x in zip(parameters.names, parameters.described)])
    log = simulated(parameters, theta, 10.0, RATE, (1e-6, 0.02), 0)
    fit = ARM.identify(log, parameter_set=parameters, cutoff=CUTOFF)
    online = OnlineIdentification(fit, rate=RATE)
    assert online.compiled == (more.keys() <= {"asymmetric", "spring", "harmonics"})
    run(online, log)
    for name, value in fit.parameters.items():
        assert online.parameters[name] == pytest.approx(value, abs=5 * fit.std[name] + 1e-6)


def test_tied_and_fixed_parameters(fit: Fit) -> None:
    parameters = PARAMETERS.fix({"joint1.viscous": float(THETA[PARAMETERS.names.index("joint1.viscous")])})
    parameters = parameters.tie({"joint2.offset": {"joint2.coulomb": 0.1}})
    tied = ARM.identify(recorded(0), parameter_set=parameters, cutoff=CUTOFF)
    online = OnlineIdentification(tied, rate=RATE, memory=20.0)
    run(online, recorded(1))
    assert online.parameters["joint2.viscous"] == pytest.approx(THETA[PARAMETERS.names.index("joint2.viscous")], rel=0.05)


def test_a_load_is_weighed_while_it_is_carried(fit: Fit) -> None:
    pytest.importorskip("cvxpy")
    box = Inertia.box(0.8, (0.1, 0.1, 0.1)).shifted([0.2, 0.05, 0.0])
    t = np.arange(int(12 * RATE)) / RATE
    q, qd, qdd = series(ARM, t, 3)
    extra = load_regressor(ARM, q, qd, qdd, "body_2") @ np.array(box.ten_vector(), float)
    tau = PARAMETERS.matrix(q, qd, qdd) @ THETA
    load = OnlinePayload(fit.robot, noise=0.02, rate=RATE, memory=1.0, frame="body_2")
    seen = []
    for k in range(len(t)):
        load.update(q[k], tau[k] + extra[k] * (t[k] > 4))
        seen.append(load.mass if k % 50 == 0 else 0.0)
    assert abs(seen[int(3.9 * RATE) // 50 * 50]) < 0.02
    assert load.mass == pytest.approx(0.8, rel=0.03)
    np.testing.assert_allclose(load.centre[:2], [0.2, 0.05], atol=0.02)


@pytest.mark.parametrize("memory", [1.0, np.inf])
def test_a_load_picked_up_is_never_told_wrongly(fit: Fit, memory: float) -> None:
    """As soon as the filters are past the change, the mass is right within its uncertainty, as it was before."""
    pytest.importorskip("cvxpy")
    t = np.arange(int(12 * RATE)) / RATE
    for seed, mass in ((4, 2.0), (5, 0.8), (6, 0.2)):
        q, qd, qdd = series(ARM, t, seed)
        box = np.array(Inertia.box(mass, (0.1, 0.1, 0.1)).shifted([0.2, 0.05, 0.0]).ten_vector(), float)
        noise = 0.05 * np.random.default_rng(seed).normal(size=q.shape)
        tau = (
            PARAMETERS.matrix(q, qd, qdd) @ THETA
            + noise
            + np.outer(t > 6, [1, 1]) * (load_regressor(ARM, q, qd, qdd, "body_2") @ box)
        )
        load = OnlinePayload(fit.robot, noise=0.005, rate=RATE, memory=memory, frame="body_2")  # of noise a third of what it is
        for k in range(len(t)):
            load.update(q[k], tau[k])
            if k % 20 == 0 and (4 < t[k] < 6 or t[k] > 6.1 + load.latency):
                assert abs(load.mass - mass * (t[k] > 6)) < 5 * load.std[0], (seed, t[k])
        assert abs(load.mass - mass) < 0.05
        assert load.std[0] < 0.02


def test_a_contact_is_noticed_with_the_identified_model(fit: Fit) -> None:
    pytest.importorskip("cvxpy")
    observer = MomentumObserver(fit.robot, gain=40.0, period=1 / RATE)
    t = np.arange(int(20 * RATE)) / RATE
    first, second, log = (dataclasses.replace(recorded(k), qd=series(ARM, t, k)[1]) for k in (1, 3, 2))
    observer.calibrate(first + second)
    alarms = []
    for k, (q, qd, tau) in enumerate(zip(log.q, log.qd, log.tau)):
        observer.update(q, qd, tau - 4.0 * (k > 2000) * np.array([0.0, 1.0]))
        alarms.append(observer.alarm)
    assert not any(alarms[:2000])
    assert any(alarms[2001:2020])
