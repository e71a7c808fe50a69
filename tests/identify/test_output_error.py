"""A simulated arm against a log."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import ConvergenceError, InputError
from qddot.identify import Log, OutputError, ParameterSet, output_error
from qddot.identify.physical.identified import identified_robot
from qddot.identify.physical.pseudo_inertia import pseudo_inertia
from qddot.identify.prediction import Predictor, first_state
from qddot.robot import Robot
from tests.identify.arms import random_arm
from tests.identify.simulated import ROBOTS, panda, series, truth

TWO_LINK = qddot.load("two_link")
EXACT = (0.0, 0.0)


def short(
    parameters: ParameterSet, theta: np.ndarray, rate: float, noise: tuple[float, float] = EXACT, seconds: float = 2.5
) -> Log:
    """A log of a brisk motion, with white noise on positions and torques."""
    draw, t = np.random.default_rng(0), np.arange(0, seconds, 1 / rate)
    q, qd, qdd = series(parameters.robot, t, period=2.5, harmonics=3)
    tau = parameters.matrix(q, qd, qdd) @ theta
    q, tau = (x + s * draw.normal(size=x.shape) for x, s in zip((q, tau), noise))
    return Log(t, q, tau, joint_names=parameters.robot.joint_names)


def mistaken(parameters: ParameterSet, theta: np.ndarray, part: float, seed: int = 0) -> Robot:
    """The robot with every link and every drive constant wrong by up to this part."""
    draw, links = np.random.default_rng(seed), 10 * len(parameters.robot.body_names)
    factors = [*np.repeat(draw.uniform(1 - part, 1 + part, links // 10), 10), *draw.uniform(1 - part, 1 + part, len(theta) - links)]
    return identified_robot(parameters, parameters.full(theta * factors))[0]


def torque_error(found: OutputError, parameters: ParameterSet, theta: np.ndarray) -> float:
    """Of another motion, relative."""
    Y = parameters.matrix(*series(parameters.robot, np.arange(0, 10, 0.1), 5)).reshape(-1, len(theta))
    tau = Y @ theta
    return float(np.linalg.norm(Y @ found.pi - tau) / np.linalg.norm(tau))


def scores(found: OutputError, theta: np.ndarray) -> np.ndarray:
    """Errors of the base parameters in standard deviations."""
    return found.base.K @ (found.pi - theta) / found.deviations


# predictions ----------------------------------------------------------------------------------------------------------------


def test_the_true_arm_predicts_to_the_order_of_the_rule() -> None:
    parameters = ParameterSet.of(TWO_LINK, coulomb=None)
    theta = truth(parameters)
    log = short(parameters, theta, 100)
    w = np.full(2, 30.0)
    size = []
    for substeps in (1, 2, 4):
        predictor = Predictor(parameters, log, substeps=substeps)
        size.append(np.abs(predictor(parameters.full(theta), w)[0, 100:]).max())
    assert size[0] < 1e-4
    assert size[1] < size[0] / 3.5
    assert size[2] < size[1] / 3


def test_friction_of_any_steepness_is_simulated() -> None:
    """Where an explicit rule would need steps of 20 microseconds."""
    parameters = ParameterSet.of(TWO_LINK, armature=False, standstill=1e-4)
    log = short(parameters, truth(parameters), 100)
    predictor = Predictor(parameters, log)
    errors = predictor(parameters.full(truth(parameters)), np.full(2, 30.0))
    assert np.abs(errors).max() < 0.02


def test_many_arms_at_once_are_the_same_as_one_by_one() -> None:
    parameters = ParameterSet.of(TWO_LINK)
    pi = parameters.full(truth(parameters)) * np.array([[1.0], [1.2]])
    predictor = Predictor(parameters, short(parameters, truth(parameters), 100, EXACT, 1.0))
    w = np.array([[20.0, 30.0], [40.0, 20.0]])
    both = predictor(pi, w)
    assert np.allclose(both, [predictor(pi[k], w[k])[0] for k in range(2)], atol=1e-12)


def test_gains_are_those_of_the_steady_kalman_filter() -> None:
    log = Log(np.arange(100) * 0.01, np.zeros((100, 2)), np.zeros((100, 2)))
    h, w = 0.01, 20.0
    F, G = np.array([[1, h], [0, 1]]), np.array([[h * h / 2], [h]])
    P = np.eye(2)
    for _ in range(2000):  # Riccati's recursion, acceleration noise w^2 to a position noise of 1
        S = P[0, 0] + 1.0
        K = P[:, 0] / S
        P = F @ (P - np.outer(K, P[0])) @ F.T + w**4 * G @ G.T
    alpha, beta = Predictor(ParameterSet.of(TWO_LINK), log).gains(np.array([w, 1e9]))
    assert [alpha[0], beta[0] / h] == pytest.approx(K, rel=1e-6)
    assert alpha[1] < 1  # however stiff, stable


def test_the_first_state_is_that_of_a_parabola() -> None:
    t = 3 + np.arange(40) * 0.01
    q = np.stack([1 + 2 * (t - 3) + 5 * (t - 3) ** 2, -(t - 3)], axis=1)
    position, speed = first_state(t, q, 0.2)
    assert np.allclose(position, [1, 0])
    assert np.allclose(speed, [2, -1])


# fits -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("free", [None, ["body_2", "joint1.viscous"]])
def test_the_truth_is_kept(free: list[str] | None) -> None:
    parameters = ParameterSet.of(TWO_LINK)
    theta = truth(parameters)
    log = short(parameters, theta, 200, EXACT, 1.5)
    found = output_error(mistaken(parameters, theta, 0.0), log, free=free)
    assert torque_error(found, parameters, theta) < 2e-3
    assert (found.after < 2e-4).all()


def test_an_arm_wrong_by_half_returns_to_the_truth() -> None:
    parameters = ParameterSet.of(TWO_LINK)
    theta = truth(parameters)
    log = short(parameters, theta, 100)
    lines: list[str] = []
    start = mistaken(parameters, theta, 0.5)
    found = output_error(start, log, on_progress=lines.append)
    assert torque_error(found, parameters, theta) < 3e-3
    assert (found.after < 0.05 * found.before).all()
    assert len(lines) == found.rounds + 1
    assert all(np.linalg.eigvalsh(J)[0] > 0 for J in pseudo_inertia(found.pi[:20].reshape(2, 10)))
    assert "13 base parameters" in repr(found)


@pytest.mark.slow
def test_noise_is_in_the_standard_deviations() -> None:
    parameters = ParameterSet.of(TWO_LINK)
    theta = truth(parameters)
    log = short(parameters, theta, 50, (1e-4, 0.1), 4.0)
    found = output_error(mistaken(parameters, theta, 0.3), log)
    assert np.sqrt(np.mean(scores(found, theta) ** 2)) < 1.5
    inside = [low < x < high for (low, high), x in zip(found.intervals.values(), found.base.K @ theta)]
    assert sum(inside) >= len(inside) - 2
    assert ((found.bandwidth > 1) & (found.bandwidth < 16)).all()


@pytest.mark.slow
def test_noisy_positions_spoil_least_squares_but_not_the_simulation() -> None:
    parameters = ParameterSet.of(TWO_LINK)
    theta = truth(parameters)
    log = short(parameters, theta, 25, (1e-2, 0.02), 7.5)
    fit = TWO_LINK.identify(log, parameter_set=parameters)
    found = output_error(mistaken(parameters, theta, 0.3), log, parameter_set=fit.parameter_set)
    Y = parameters.matrix(*series(TWO_LINK, np.arange(0, 10, 0.1), 5))[..., list(fit.base.independent)]
    wrong = np.linalg.norm(Y @ (fit.estimate.theta - fit.base.K @ theta)) / np.linalg.norm(Y @ (fit.base.K @ theta))
    print(f"torque error by least squares {wrong:.2%}, by simulation {torque_error(found, parameters, theta):.2%}")
    assert torque_error(found, parameters, theta) < wrong / 5
    assert np.sqrt(np.mean(scores(found, theta) ** 2)) < 1.5


@pytest.mark.slow
@pytest.mark.skipif(ROBOTS is None, reason="needs example-robot-data")
def test_seven_joints() -> None:
    robot = panda()
    parameters = ParameterSet.of(robot)
    theta = truth(parameters)
    found = output_error(mistaken(parameters, theta, 0.3), short(parameters, theta, 100, (1e-4, 0.1), 5.0))
    assert torque_error(found, parameters, theta) < 0.01
    assert np.sqrt(np.mean(scores(found, theta) ** 2)) < 1.5


def test_only_what_is_free_moves_and_what_is_fixed_keeps_its_value() -> None:
    parameters = ParameterSet.of(TWO_LINK)
    theta = truth(parameters)
    log = short(parameters, theta, 100, EXACT, 1.0)
    start = mistaken(parameters, theta, 0.2)
    found = output_error(start, log, parameter_set=parameters.fix({"joint1.offset": 0.123}), free=["joint1.viscous"], bandwidth=5.0)
    value = dict(zip(parameters.full_names, found.pi))
    assert value["joint1.offset"] == pytest.approx(0.123)
    assert value["body_1.m"] == pytest.approx(start.parameters()[0])
    assert list(found.parameters) == ["joint1.viscous"]
    assert np.allclose(found.bandwidth, 5.0)


def test_refusals() -> None:
    parameters = ParameterSet.of(TWO_LINK)
    log = short(parameters, truth(parameters), 100, EXACT, 1.0)
    with pytest.raises(InputError, match="the log has 2 joints"):
        output_error(random_arm(0, 3), log)
    with pytest.raises(InputError, match="of link 'body_1' all ten numbers are free, or none"):
        output_error(TWO_LINK, log, parameter_set=parameters.fix({"body_1.m": None}))
    with pytest.raises(InputError, match=r"body_1.mcx is tied to other parameters"):
        output_error(TWO_LINK, log, parameter_set=parameters.tie({"body_1.mcx": {"body_1.m": 0.5}}))
    with pytest.raises(InputError, match=r"joint1.load: friction by load and coupled motors are not simulated"):
        output_error(TWO_LINK, log, parameter_set=ParameterSet.of(TWO_LINK, load=True))
    with pytest.raises(InputError, match="shorter than 8 samples"):
        output_error(TWO_LINK, log[:5])
    with pytest.raises(ConvergenceError, match="not converged after 1 simulations"):
        output_error(mistaken(parameters, truth(parameters), 0.2), log, evaluations=1)
    wild = Log(log.t, log.q, 1e6 * log.tau, joint_names=log.joint_names)
    with pytest.raises(ConvergenceError, match="runs away from the log"):
        output_error(TWO_LINK, wild, bandwidth=0.5)
