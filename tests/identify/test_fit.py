"""From logs to parameters, simulated and real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot import Inertia
from qddot.errors import InputError
from qddot.identify import (
    Log,
    ParameterSet,
    base_parameters,
    consistent,
    instrumental,
    least_squares,
    pieces,
    prepare,
    reduce,
    residuals,
    standstill_speeds,
)
from qddot.identify.physical.identified import identified_robot, sound_prior
from qddot.identify.physical.plausible import filled_in
from qddot.identify.physical.pseudo_inertia import BASIS, link_columns, nonnegative_columns
from qddot.identify.regression.estimators import stacked
from tests.identify.arms import random_arm
from tests.identify.simulated import ROBOTS, check_found, excited, panda, series, simulated, truth
from tests.reference import DATA, RECORDINGS, needs_recordings


@pytest.fixture(scope="module")
def fitted():
    parameters = ParameterSet.of(random_arm(0, 3), armature=False)
    theta = truth(parameters)
    log = simulated(parameters, theta, 30.0, 200.0, (1e-5, 0.05), 1)
    return (
        parameters,
        theta,
        log,
        parameters.robot.identify(
            log, parameter_set=parameters, validation=simulated(parameters, theta, 10.0, 200.0, (0, 0), 2, 3)
        ),
    )


def test_parameters_and_verdict(fitted) -> None:
    parameters, theta, _, fit = fitted
    assert fit.verdict, fit.verdict
    assert fit.validation.relative < 2e-3
    expected = dict(zip(fit.base.names, fit.base.K @ theta))
    for name, (low, high) in fit.intervals.items():
        assert low - 2 * fit.std[name] < expected[name] < high + 2 * fit.std[name], name
    q, qd, qdd = series(parameters.robot, np.linspace(0, 1, 50), 7)
    np.testing.assert_allclose(fit.predict(q, qd, qdd), parameters.matrix(q, qd, qdd) @ theta, atol=0.5)
    assert set(fit.essential) <= set(fit.base.names)


def test_report(fitted, tmp_path: Path) -> None:
    *_, fit = fitted
    text = fit.report(tmp_path / "report.html")
    assert "| validation |" in text
    assert "relative, raw" in text
    assert "<img" in (tmp_path / "report.html").read_text()
    assert fit.table().row_count == fit.base.rank
    with pytest.raises(InputError, match=r"report.docx: a report is \."):
        fit.report(tmp_path / "report.docx")


def test_robot_and_urdf(fitted, tmp_path: Path) -> None:
    pytest.importorskip("cvxpy")
    parameters, _, _, fit = fitted
    fit.to_urdf(tmp_path / "arm.urdf")
    again = qddot.load(tmp_path / "arm.urdf")
    q, qd, qdd = series(parameters.robot, np.linspace(0, 1, 50), 7)
    tau = [robot.inverse_dynamics(q, qd, qdd) for robot in (fit.robot, again)]
    assert np.abs(tau[0] - tau[1]).max() < 1e-8
    for link in fit.robot.model.links:
        if link.inertia is not None and link.inertia.mass > 0:
            assert np.linalg.eigvalsh(link.inertia.pseudo_inertia())[0] > 0


def test_gross_errors_of_single_samples_are_replaced(fitted) -> None:
    parameters, theta, log, clean = fitted
    tau = log.tau.copy()
    tau[np.random.default_rng(0).random(tau.shape) < 0.004] += 200.0
    bad = Log(log.t, log.q, tau, joint_names=log.joint_names)
    found = parameters.robot.identify(bad, parameter_set=parameters)
    assert found.verdict, found.verdict
    errors = [np.linalg.norm((f.estimate.theta - f.base.K @ theta) / clean.estimate.std_classical) for f in (found, clean)]
    assert errors[0] < 1.1 * errors[1]


def test_heavy_tails_are_noticed_and_weighed_down(fitted) -> None:
    parameters, theta, log, clean = fitted
    tau = log.tau + 0.1 * np.random.default_rng(0).standard_cauchy(log.tau.shape)
    bad = Log(log.t, log.q, tau, joint_names=log.joint_names)
    auto, plain = (parameters.robot.identify(bad, parameter_set=parameters, method=method) for method in ("auto", "wls"))
    assert auto.estimate.method == "irls"
    errors = [np.linalg.norm((f.estimate.theta - f.base.K @ theta) / clean.estimate.std_classical) for f in (auto, plain)]
    assert errors[0] < errors[1]


def test_instruments_take_the_bias_of_noisy_positions() -> None:
    parameters = ParameterSet.of(random_arm(0, 3), armature=False)
    base, theta = base_parameters(parameters), truth(parameters)
    log = simulated(parameters, theta, 20.0, 200.0, (3e-3, 0.01), 1)
    clean = prepare(simulated(parameters, theta, 20.0, 200.0, (0, 0), 1), 10.0)
    fit = parameters.robot.identify(log, parameter_set=parameters, method="wls", cutoff=10.0)
    found = instrumental(base, fit.signals, (clean.q, clean.qd, clean.qdd), fit.estimate)
    errors = [np.linalg.norm((e.theta - base.K @ theta) / fit.estimate.std) for e in (found, fit.estimate)]
    assert errors[0] < errors[1]
    with pytest.raises(InputError, match="the reference's q has shape"):
        instrumental(base, fit.signals, (clean.q[1:], clean.qd, clean.qdd), fit.estimate)


def test_where_friction_takes_its_step_is_found() -> None:
    robot = random_arm(0, 3)
    true = dict(zip(robot.joint_names, (0.01, 0.05, 0.2)))
    parameters = ParameterSet.of(robot, standstill=true)
    log = simulated(parameters, truth(parameters), 20.0, 500.0, (1e-5, 0.05), 1)
    fit = robot.identify(log)
    found = fit.parameter_set.asked["standstill"]
    for joint, speed in true.items():
        assert found[joint] == pytest.approx(speed, rel=0.25), joint
    assert "standstill" in [f.code for f in fit.findings]
    usual = robot.identify(log, parameter_set=ParameterSet.of(robot))
    assert fit.training.relative < 0.5 * usual.training.relative
    still = Log(log.t, log.q * [1, 0, 1], log.tau, joint_names=log.joint_names)
    assert standstill_speeds(robot, prepare(still))[robot.joint_names[1]] == 0.03


def test_friction_by_load_does_not_shift_where_friction_takes_its_step() -> None:
    robot = random_arm(0, 3)
    true = dict(zip(robot.joint_names, (0.02, 0.05, 0.1)))
    parameters = ParameterSet.of(robot, load=True, standstill=true)
    theta = truth(parameters) + [0.15 * name.endswith(".load") for name in parameters.names]
    log = simulated(parameters.carrying(parameters.full(theta)), theta, 20.0, 250.0, (1e-5, 0.05), 1)
    found = standstill_speeds(robot, prepare(log), {"load": True})
    for joint, speed in true.items():
        assert found[joint] == pytest.approx(speed, rel=0.03), joint


def test_a_log_without_noise_raises_no_concern() -> None:
    """What is left of it is rounding, coloured as that may be; and values that are zero but for it are not negative."""
    parameters = ParameterSet.of(random_arm(0, 3))
    fit = parameters.robot.identify(simulated(parameters, truth(parameters), 20.0, 500.0, (0, 0), 1), parameter_set=parameters)
    assert fit.training.relative < 1e-9
    assert not fit.verdict.concerns
    arm = qddot.load("two_link")
    t = np.arange(0, 10, 0.005)
    rates = 2 * np.pi * np.array([[0.11, 0.23, 0.37], [0.17, 0.31, 0.43]])
    phases, size = t[:, None, None] * rates, np.array([0.8, 0.4, 0.2])
    q, qd, qdd = np.sin(phases) @ size, (np.cos(phases) * rates) @ size, (-np.sin(phases) * rates**2) @ size
    assert not arm.identify(Log(t, q, arm.inverse_dynamics(q, qd, qdd))).verdict.concerns


def test_poor_motion_is_refused() -> None:
    parameters = ParameterSet.of(random_arm(0, 3), armature=False)
    log = simulated(parameters, truth(parameters), 5.0, 200.0, (1e-5, 0.05), 1)
    still = Log(log.t, log.q * [1, 0.01, 1], log.tau, joint_names=log.joint_names)
    fit = parameters.robot.identify(still, parameter_set=parameters)
    assert not fit.verdict
    assert fit.verdict.has("insufficient excitation")
    assert "not identified parameters" in fit.report()


def test_a_log_of_other_joints_is_refused() -> None:
    parameters = ParameterSet.of(random_arm(0, 3))
    log = simulated(parameters, truth(parameters), 5.0, 200.0, (0, 0), 1)
    with pytest.raises(InputError, match="the log has 3 joints"):
        random_arm(1, 2).identify(log)
    with pytest.raises(InputError, match="all torques are zero"):
        parameters.robot.identify(Log(log.t, log.q, 0 * log.tau, joint_names=log.joint_names))


NOISES = [((1e-5, 0.1), 1e-3, 0.02, 1e-3), ((1e-4, 0.5), 3e-3, 0.05, 3e-3)]


@pytest.fixture(scope="module")
def panda_motions():
    """Forty seconds for the fit, and another motion."""
    pytest.importorskip("casadi")
    if ROBOTS is None:
        pytest.skip("example-robot-data is not installed")
    robot = panda()
    how = {"acceleration": 10.0, "starts": 1, "friction": ("viscous", "coulomb", "offset")}
    return (
        robot,
        robot.excitation(period=9.0, periods=4, iterations=60, **how),
        robot.excitation(period=11.0, seed=7, iterations=10, **how),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "inertial", "friction", "torque"), NOISES)
def test_simulated_panda(panda_motions, noise, inertial: float, friction: float, torque: float) -> None:
    """With rotors and friction, whose law is not told."""
    robot, motion, other = panda_motions
    assert motion.duration == 40.0
    parameters = ParameterSet.of(robot)
    theta = truth(parameters)
    fit = robot.identify(excited(parameters, theta, motion, noise, 1))
    assert fit.verdict, fit.verdict
    check_found(parameters, theta, fit, other, inertial, friction, torque)


def test_a_small_arm_is_found_again() -> None:
    """The same with two joints, in a second."""
    pytest.importorskip("casadi")
    robot = qddot.load("two_link")
    limits = robot.limits._replace(velocity=np.full(2, 3.0))
    how = {"limits": limits, "acceleration": 15.0, "harmonics": 4, "starts": 1, "friction": ("viscous", "coulomb", "offset")}
    motion, other = (robot.excitation(period=p, periods=n, iterations=15, seed=k, **how) for p, n, k in ((6.0, 3, 0), (7.0, 1, 7)))
    parameters = ParameterSet.of(robot)
    theta = truth(parameters)
    fit = robot.identify(excited(parameters, theta, motion, (1e-5, 0.02), 1))
    check_found(parameters, theta, fit, other, *NOISES[0][1:])


@pytest.mark.slow
def test_intervals_cover_the_truth() -> None:
    parameters = ParameterSet.of(random_arm(0, 3), armature=False)
    base, theta = base_parameters(parameters), truth(parameters)
    hits = []
    for seed in range(200):
        fit = parameters.robot.identify(
            simulated(parameters, theta, 40.0, 100.0, (1e-5, 0.1), seed), parameter_set=parameters, method="wls", cutoff=5.0
        )
        low, high = fit.estimate.intervals.T
        hits.append(np.mean((low < base.K @ theta) & (base.K @ theta < high)))
    assert 0.90 <= np.mean(hits) <= 0.98


@pytest.mark.slow
@pytest.mark.skipif(ROBOTS is None, reason="example-robot-data is not installed")
@pytest.mark.parametrize("noise", [(1e-5, 0.1), (1e-4, 0.5)])
def test_intervals_cover_with_the_cut_off_of_the_log(noise: tuple[float, float]) -> None:
    assert ROBOTS is not None
    parameters = ParameterSet.of(qddot.load(ROBOTS / "ur_description/urdf/ur5_robot.urdf"))
    base, theta = base_parameters(parameters), truth(parameters)
    hits = []
    for seed in range(8):
        signals = prepare(simulated(parameters, theta, 40.0, 1000.0, noise, seed, motion=seed))
        low, high = least_squares(reduce(base, pieces(signals))).intervals.T
        hits.append(np.mean((low < base.K @ theta) & (base.K @ theta < high)))
    assert 0.90 <= np.mean(hits) <= 0.98


# real arms --------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_recordings
def test_lwr4() -> None:
    robot = qddot.load(RECORDINGS / "kuka_lwr4_flobaroid/kuka_lwr4_gaz.urdf")
    train, unseen = (Log.load(RECORDINGS / f"kuka_lwr4_flobaroid/measurements_{k}.npz", robot) for k in (1, 2))
    fit = robot.identify(train, validation=unseen)
    assert fit.verdict, fit.verdict
    assert fit.validation is not None
    assert max(fit.validation.relative, fit.validation.relative_raw) < 0.02
    assert fit.left_out == ()
    assert fit.robot_error[0] < 1.2 * fit.validation.relative  # least squares have links and friction that cannot exist
    assert "cannot exist" in fit.robot_worse
    assert max(fit.validation.nrms, fit.validation.nrms_raw) < 0.0014


@pytest.mark.slow
@needs_recordings
def test_no_links_that_exist_are_nearer_to_lwr4() -> None:
    """With next to no prior and a tenth of the margin the semidefinite program hardly leaves less of the log, and more of
    another: it is not the prior that keeps `fit.robot` from predicting as the fit does."""
    robot = qddot.load(RECORDINGS / "kuka_lwr4_flobaroid/kuka_lwr4_gaz.urdf")
    train, unseen = (Log.load(RECORDINGS / f"kuka_lwr4_flobaroid/measurements_{k}.npz", robot) for k in (1, 2))
    fit = robot.identify(train, validation=unseen)
    parameters, base = fit.parameter_set, fit.base
    X, y = stacked(base, fit.factors.columns, fit.factors.merged(range(len(fit.factors.R))), fit.estimate.sigma)
    R = X @ base.K
    prior = sound_prior(parameters, filled_in(parameters, R, y))
    how = {"T": parameters.T, "constant": parameters.constant, "gamma": 1e-3, "margin": 1e-4}
    nearest = consistent(R, y, parameters.full_names, prior, **how)
    assert 0.95 < nearest.residual / fit.consistent.residual < 1
    arm, log = identified_robot(parameters, nearest.parameters)[0], fit.judged
    moving, both = log.moves(parameters.rest_speeds), (log.tau_raw - arm.inverse_dynamics(log.q, log.qd, log.qdd), log.tau_raw)
    error, tau = (filtered[counts] for filtered, counts in (log.decimated_where(x, moving) for x in both))
    found = np.linalg.norm(error) / np.linalg.norm(tau)
    told = fit.validation.relative, fit.robot_error[0], found
    print("of an unseen log the fit leaves {:.2%}, fit.robot {:.2%}, the nearest {:.2%}".format(*told))
    assert found > fit.robot_error[0]


@pytest.mark.slow
@needs_recordings
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_a_bound_for_every_robot_that_exists_of_lwr4() -> None:
    """By weak duality: let `R^T v` be nonnegative on every consistent robot. Then `|R pi - y|^2 / 2 >= v (R pi - y) - |v|^2 / 2 >=
    -v y - |v|^2 / 2` for each of them, whoever found v. Only its signs and eigenvalues count, not the solver."""
    cp = pytest.importorskip("cvxpy")
    robot = qddot.load(RECORDINGS / "kuka_lwr4_flobaroid/kuka_lwr4_gaz.urdf")
    fit = robot.identify(Log.load(RECORDINGS / "kuka_lwr4_flobaroid/measurements_1.npz", robot))
    parameters, base = fit.parameter_set, fit.base
    X, y = stacked(base, fit.factors.columns, fit.factors.merged(range(len(fit.factors.R))), fit.estimate.sigma)
    R, names = X @ base.K, parameters.full_names
    assert np.array_equal(parameters.T, np.eye(len(names)))
    assert not parameters.constant.any()
    links, positive = link_columns(names), nonnegative_columns(names)
    either = np.setdiff1d(np.arange(len(names)), [*positive, *(k for columns in links.values() for k in columns)])
    entries = BASIS.reshape(10, 16)
    dual = np.linalg.solve(entries @ entries.T, entries).T  # of g (10,): the M (4, 4) with `g pi = tr(M J(pi))` for each body
    v = cp.Variable(len(y))
    g = R.T @ v
    bodies = [cp.reshape(dual @ g[columns], (4, 4), order="C") for columns in links.values()]
    limits = [(M + M.T) / 2 >> 0 for M in bodies] + [g[positive] >= 0, g[either] == 0]
    cp.Problem(cp.Maximize(-v @ y - cp.sum_squares(v) / 2), limits).solve(solver=cp.CLARABEL)
    v, g = v.value, R.T @ v.value
    below = [min(np.linalg.eigvalsh((dual @ g[columns]).reshape(4, 4))[0], 0.0) for columns in links.values()]
    lost = 200 * np.sum(below) + 1000 * (np.minimum(g[positive], 0).sum() - np.abs(g[either]).sum())  # no body beyond 200 kg
    bound = np.sqrt(2 * (-v @ y - v @ v / 2 + lost))
    least = np.linalg.norm(R @ np.linalg.lstsq(R, y, rcond=None)[0] - y)
    print(f"least squares leave {least:.4g}, every consistent robot {bound:.4g} or more, fit.robot {fit.consistent.residual:.4g}")
    assert 1.3 * least < bound < fit.consistent.residual < 1.04 * bound


@needs_recordings
def test_tx40() -> None:
    robot = qddot.load(RECORDINGS / "tx40_figaroh/tx40_mdh_modified.urdf")
    N = np.diag([32.0, 32, 45, -48, 45, 32])
    N[5, 4] = 32
    files = {"q": RECORDINGS / "tx40_figaroh/pos_read_data.csv", "tau": RECORDINGS / "tx40_figaroh/curr_data.csv"}
    log = Log.load(files, robot, rate=5000.0, motor_matrix=N, offsets=[0, -np.pi / 2, np.pi / 2, 0, 0, 0])
    *_, five, six = robot.joint_names
    fit = robot.identify(log, parameter_set=ParameterSet.of(robot, coupled=[(five, six)]), cutoff=60.0)
    found = fit.parameters
    published = {f"joint_{k}.viscous": x for k, x in enumerate((8.05, 5.53, 1.97, 1.11, 1.86), start=1)}
    published |= {f"joint_{k}.coulomb": x for k, x in enumerate((7.14, 8.26, 6.34, 2.48, 3.03), start=1)}
    published |= {f"{five}+{six}.viscous": 0.616, f"{five}+{six}.coulomb": 1.95}
    for name, value in published.items():
        assert found[name] == pytest.approx(value, rel=0.015), name
    assert fit.left_out == ()
    assert fit.robot_error[0] < 1.02 * fit.training.relative


def dh_arm(rows: list[tuple[float, ...]], mass: float, gravity: tuple[float, float, float]) -> qddot.Robot:
    """From (d, a, alpha, theta) in m and degrees, with links of about the right size."""
    table = [{"d": d, "a": a, "alpha": float(np.radians(alpha)), "theta": float(np.radians(theta))} for d, a, alpha, theta in rows]
    return qddot.from_dh(table, inertias=[Inertia.sphere(mass, 0.2)] * len(rows), gravity=gravity)


def test_ur10() -> None:
    """Every second sample of the recording (tests/data/logs): what the whole one shows, it shows."""
    d, a, alpha = (0.1273, 0, 0, 0.163941, 0.1157, 0.0922), (0, -0.612, -0.5723, 0, 0, 0), (90, 0, 0, 90, -90, 0)
    robot = dh_arm([(*row, 0) for row in zip(d, a, alpha)], 3.0, (0, 0, -9.81))
    train, unseen = Log.load(DATA / "logs" / "ur10.npz", robot).split(0.7)
    fit = robot.identify(train, validation=unseen)
    assert fit.verdict, fit.verdict
    assert fit.validation is not None
    assert max(fit.validation.relative, fit.validation.relative_raw) < 0.04
    assert any("in proportion to the load" in finding.message for finding in fit.findings)
    assert fit.robot_error[0] < 1.02 * fit.validation.relative


def test_intervals_are_wider_where_few_blocks_say_most() -> None:
    """One joint moves in a fifth of the log only: its standard deviations come from few blocks, and are uncertain themselves."""
    parameters = ParameterSet.of(qddot.load("two_link"))
    t, draw = np.arange(0, 20, 0.005), np.random.default_rng(0)
    q, qd, qdd = series(parameters.robot, t, 1)
    part = np.where(np.abs(t - 10) < 2, np.cos(np.pi * (t - 10) / 4), 0.0) ** 4  # the second joint stops and starts smoothly
    rate = np.gradient(part, t)
    q[:, 1], qd[:, 1] = part * q[:, 1], part * qd[:, 1] + rate * q[:, 1]
    qdd[:, 1] = np.gradient(qd[:, 1], t)
    tau = parameters.matrix(q, qd, qdd) @ truth(parameters) + 0.05 * draw.normal(size=q.shape)
    estimate = parameters.robot.identify(Log(t, q, tau, joint_names=parameters.robot.joint_names)).estimate
    freedom = dict(zip(estimate.names, estimate.freedom))
    assert freedom["joint2.viscous"] < 8 < 15 < freedom["joint1.offset"] < estimate.blocks
    reach = dict(zip(estimate.names, estimate.reach))
    assert reach["joint2.viscous"] > 2.3 > 2.15 > reach["joint1.offset"] > 2.0


@pytest.mark.slow
@needs_recordings
def test_kr300_is_refused() -> None:
    rows = [
        (-0.675, 0.35, 90, 0),
        (-0.189, 1.15, 0, 0),
        (0.189, 0.041, -90, 90),
        (-1, 0, 90, 0),
        (0, 0, -90, 0),
        (-0.24, 0, 180, 0),
    ]
    robot = dh_arm(rows, 50.0, (0, 0, 9.81))
    log = Log.load([RECORDINGS / f"kuka_kr300/rec_{k}.mat" for k in "ABC"], robot)
    for parameters in (None, ParameterSet.of(robot, harmonics={robot.joint_names[1]: 2})):
        fit = robot.identify(log, parameter_set=parameters)
        assert fit.verdict.has("insufficient excitation")


@pytest.mark.slow
@needs_recordings
def test_gen3_is_refused() -> None:
    robot = qddot.load(RECORDINGS / "kinova_gen3/gen3.urdf")
    logs = [Log.load(path, robot, columns={"tau": "TorqueCur"}) for path in sorted((RECORDINGS / "kinova_gen3").glob("*.csv"))]
    whole = sum(logs[1:], logs[0])
    for parameters in (None, ParameterSet.of(robot, armature=False)):
        assert robot.identify(whole, parameter_set=parameters).verdict.has("insufficient excitation")


def test_residuals_of_the_truth_are_the_noise() -> None:
    parameters = ParameterSet.of(random_arm(0, 3))
    base, theta = base_parameters(parameters), truth(parameters)
    left = residuals(base, base.K @ theta, prepare(simulated(parameters, theta, 10.0, 500.0, (0, 0.1), 1), 10.0))
    np.testing.assert_allclose(left.rms_raw, 0.1, rtol=0.1)
    assert np.abs(left.colour).max() < 0.2
    assert not left.has_outliers


# files ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A robot, and a log of it in a file."""
    parameters = ParameterSet.of(random_arm(0, 3))
    log = simulated(parameters, truth(parameters), 40.0, 200.0, (1e-5, 0.05), 1)
    path = tmp_path_factory.mktemp("log") / "run.npz"
    np.savez(path, t=log.t, q=log.q, tau=log.tau)
    return parameters.robot, path


def test_a_small_file_is_read_whole(recorded) -> None:
    robot, path = recorded
    named, read = robot.identify(path, validation=str(path)), robot.identify(Log.load(path, robot))
    np.testing.assert_array_equal(named.estimate.theta, read.estimate.theta)
    assert named.validation is not None
    assert named.validation.relative == read.training.relative


def test_a_large_file_is_streamed(recorded, tmp_path: Path) -> None:
    """A chunk at a time, and hardly another result; twice, since two files are two segments."""
    robot, path = recorded
    parameters, log = ParameterSet.of(robot), Log.load(path, robot)
    for source, whole in ((path, log), ([path, path], log + log)):
        read = robot.identify(whole, parameter_set=parameters, validation=whole, cutoff=5.0)
        fit = robot.identify(
            Log.chunks(source, robot, rows=1500),
            parameter_set=parameters,
            validation=Log.chunks(source, robot, rows=1000),
            cutoff=5.0,
        )
        assert any(f.code == "streamed" for f in fit.findings)
        assert fit.estimate.samples == read.estimate.samples
        np.testing.assert_allclose(fit.estimate.theta, read.estimate.theta, rtol=1e-6, atol=1e-7)
        for one, other in ((fit.training, read.training), (fit.validation, read.validation)):
            for name in ("relative", "relative_raw", "rms", "rms_raw", "size", "ends", "samples"):
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, err_msg=name)
            np.testing.assert_allclose(one.spread, other.spread, rtol=0.2)
            np.testing.assert_allclose(one.colour, other.colour, atol=0.1)
        assert fit.verdict
    assert "| validation |" in fit.report(tmp_path / "report.html")


@pytest.mark.slow
def test_a_streamed_file_with_gross_errors(recorded, tmp_path: Path) -> None:
    robot, path = recorded
    log = Log.load(path, robot)
    tau = log.tau.copy()
    tau[np.random.default_rng(0).random(tau.shape) < 0.004] += 200.0
    np.savez(tmp_path / "bad.npz", t=log.t, q=log.q, tau=tau)
    parameters = ParameterSet.of(robot)
    clean = robot.identify(log, parameter_set=parameters)
    found = robot.identify(Log.chunks(tmp_path / "bad.npz", robot, rows=1500), parameter_set=parameters)
    assert np.linalg.norm((found.estimate.theta - clean.estimate.theta) / clean.estimate.std) < 0.5 * np.sqrt(clean.base.rank)
