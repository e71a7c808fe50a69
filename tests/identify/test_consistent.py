"""The physically consistent estimate."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.errors import ConvergenceError, InputError
from qddot.identify.physical.consistent import Problem, consistent
from qddot.identify.physical.pseudo_inertia import BASIS, congruence, link_columns, pseudo_inertia, ten_vector
from qddot.model.inertia import Inertia
from tests.identify.arms import random_arm, random_states
from tests.robots import random_inertia, random_pose

BALL = np.array(Inertia.sphere(2.0, 0.2).ten_vector(), float)


def problem(seed: int, joints: int, noise: float, samples: int = 300):
    """(robot, factor R, r, regressor)."""
    robot = random_arm(seed, joints)
    Y = robot.regressor(*random_states(seed, robot, samples)).reshape(-1, 10 * joints)
    tau = Y @ robot.parameters() + noise * np.random.default_rng(seed).normal(size=len(Y))
    C = np.linalg.qr(np.column_stack([Y, tau]), mode="r")
    return robot, C[:, :-1], C[:, -1], Y


def test_pseudo_inertia_is_that_of_the_model():
    inertia = random_inertia(np.random.default_rng(0))
    ten = np.array(inertia.ten_vector())
    assert np.allclose(pseudo_inertia(ten), inertia.pseudo_inertia(), atol=1e-15)
    assert np.allclose(ten_vector(pseudo_inertia(ten)), ten, atol=1e-15)
    assert np.allclose(ten_vector(BASIS), np.eye(10))


def test_congruence_moves_a_body():
    rng = np.random.default_rng(1)
    inertia, pose = random_inertia(rng), random_pose(rng)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(pose.R), np.array(pose.p)
    assert np.allclose(congruence(T) @ inertia.ten_vector(), inertia.moved(pose).ten_vector(), atol=1e-12)


def test_some_of_a_link_is_not_enough():
    with pytest.raises(InputError, match=r"link 'a' has no parameter mcx, mcy"):
        link_columns(["a.m", "a.Izz"])


@pytest.mark.parametrize("seed", range(3))
def test_noise_free_torques_are_recovered(seed: int):
    robot, R, r, Y = problem(seed, 7, 0.0)
    fit = consistent(R, r, robot.parameter_names, np.tile(BALL, 7))
    assert fit.kept
    tau = Y @ robot.parameters()
    assert np.linalg.norm(Y @ fit.parameters - tau) < 1e-10 * np.linalg.norm(tau)
    assert all(np.linalg.eigvalsh(pseudo_inertia(x))[0] > 0 for x in fit.parameters.reshape(7, 10))


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_much_noise_still_gives_bodies(gamma: float, record_property):
    robot, R, r, _ = problem(0, 7, 10.0)
    fit = consistent(R, r, robot.parameter_names, np.tile(BALL, 7), gamma=100 * gamma)
    record_property("seconds", fit.seconds)
    print(fit, f"{fit.seconds:.2f} s")
    assert not fit.kept
    assert min(fit.margins.values()) > 5e-4
    for ten in fit.parameters.reshape(7, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(ten))[0] > 0
        assert Inertia.from_ten_vector(ten.tolist()).is_consistent
    assert fit.least_residual <= fit.residual < 1.02 * fit.least_residual
    assert fit.torque_change < 0.05


def test_a_strong_prior_wins():
    robot, R, r, _ = problem(1, 2, 0.1)
    fit = consistent(R, r, robot.parameter_names, np.tile(BALL, 2), gamma=1e12)
    assert np.allclose(fit.parameters, np.tile(BALL, 2), atol=1e-3)


def test_the_compromise_is_stationary():
    """Inside all limits the gradients of residual and divergence cancel."""
    robot, R, r, _ = problem(2, 3, 1.0)
    prior = np.tile(BALL, 3)
    pi = consistent(R, r, robot.parameter_names, prior, gamma=10.0).parameters
    pull = [
        np.linalg.inv(pseudo_inertia(a)) - np.linalg.inv(pseudo_inertia(b)) for a, b in zip(prior.reshape(3, 10), pi.reshape(3, 10))
    ]
    towards_prior = 10.0 * np.concatenate([np.einsum("kij,ij->k", BASIS, one) for one in pull])
    towards_data = 2 * R.T @ (R @ pi - r)
    assert np.allclose(towards_data, -towards_prior, atol=1e-3 * abs(towards_prior).max())


def test_the_divergence_is_the_same_in_other_units():
    """Lengths in decimetres: the same bodies."""
    robot, R, r, _ = problem(2, 3, 1.0)
    units = np.tile(10.0 ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2]), 3)
    prior = np.tile(BALL, 3)
    one = consistent(R, r, robot.parameter_names, prior, gamma=1.0)
    other = consistent(R / units, r, robot.parameter_names, prior * units, gamma=1.0)
    assert np.allclose(one.parameters, other.parameters / units, rtol=1e-3, atol=1e-3)


def test_fixed_and_tied_parameters():
    """link 1 is known; link 2 has Iyy = Ixx and its true mass."""
    robot, _, _, Y = problem(3, 2, 0.0)
    pi = robot.parameters()
    pi[17] = pi[14]
    names = robot.parameter_names
    T = np.delete(np.eye(20), [*range(11), 17], axis=1)
    T[17, 3] = 1.0  # Iyy beside Ixx, the fourth that is left
    constant = np.where(np.arange(20) <= 10, pi, 0.0)
    tau = Y @ pi
    fit = consistent(Y @ T, tau - Y @ constant, names, np.concatenate([pi[:10], BALL]), T=T, constant=constant)
    assert np.array_equal(fit.parameters[:11].round(12), pi[:11].round(12))
    assert set(fit.margins) == {"l1"}
    assert fit.parameters[17] == pytest.approx(fit.parameters[14], abs=1e-12)
    assert np.allclose(Y @ fit.parameters, tau, atol=1e-7 * abs(tau).max())


def test_friction_is_not_negative():
    robot, _, _, Y = problem(4, 2, 0.0)
    qd = random_states(4, robot, 300)[1]
    columns = np.einsum("sj,jk->sjk", qd, np.eye(2)).reshape(-1, 2)
    X = np.column_stack([Y, columns])
    tau = Y @ robot.parameters() + columns @ [0.5, -0.2]
    names = (*robot.parameter_names, "a.viscous", "b.viscous")
    fit = consistent(X, tau, names, np.append(np.tile(BALL, 2), [0.0, 0.0]))
    assert fit.parameters[-2] == pytest.approx(0.5, rel=0.2)
    assert fit.parameters[-1] == 0 or 0 < fit.parameters[-1] < 1e-6
    assert fit.residual > fit.least_residual


@pytest.mark.parametrize("seed", [0, 2, 6])
def test_no_link_is_many_times_as_heavy_for_less_than_the_noise(seed: int):
    """Few, noisy samples ask for links that are no bodies: a heavy one would come nearest, by a few squared deviations."""
    robot, R, r, _ = problem(seed, 4, 10.0, samples=40)
    prior = robot.parameters()
    greedy, calm = (consistent(R / 10, r / 10, robot.parameter_names, prior, tie=tie) for tie in (0.0, 1.0))
    assert not greedy.kept
    heaviest = [max(fit.parameters[::10] / prior[::10]) for fit in (greedy, calm)]
    assert heaviest[0] > 30
    assert heaviest[1] < 2
    assert greedy.residual**2 <= calm.residual**2 < greedy.residual**2 + 10  # of 160 samples


def test_unseen_directions_follow_the_prior():
    """A column of zeros: its parameter stays where the prior has it."""
    robot, _, _, Y = problem(5, 2, 0.0)
    X = np.column_stack([Y, np.zeros(len(Y))])
    names = (*robot.parameter_names, "a.viscous")
    fit = consistent(X, Y @ robot.parameters(), names, np.append(np.tile(BALL, 2), 0.7))
    assert fit.parameters[-1] == pytest.approx(0.7, rel=1e-5)


def test_impossible_values_are_refused():
    robot, R, r, _ = problem(6, 1, 0.0)
    with pytest.raises(InputError, match="link 'l0' of the prior: smallest eigenvalue 0"):
        consistent(R, r, robot.parameter_names, np.zeros(10))
    with pytest.raises(InputError, match=r"prior has shape \(3,\), not \(10,\)"):
        consistent(R, r, robot.parameter_names, np.zeros(3))
    with pytest.raises(InputError, match="r holds a number that is not finite"):
        consistent(R, r * np.nan, robot.parameter_names, BALL)
    with pytest.raises(InputError, match="0 < margin < 1"):
        consistent(R, r, robot.parameter_names, BALL, margin=2.0)
    T = np.eye(10)[:, 1:]
    with pytest.raises(ConvergenceError, match="no consistent links were found with these torques and these fixed and tied values"):
        consistent(R[:, 1:], r, robot.parameter_names, BALL, T=T, constant=-np.eye(10)[0])


@pytest.mark.parametrize("drives", [False, True])
def test_a_solution_of_few_digits_is_polished_and_certified(drives: bool):
    robot, R, r, _ = problem(0, 4, 3.0)
    names, prior = list(robot.parameter_names), np.tile(BALL, 4)
    if drives:  # one that the data say nothing of, and one that they would have negative
        names, prior = [*names, "a.viscous", "b.viscous"], np.append(prior, [1.0, 1.0])
        more = np.zeros((len(R), 2))
        more[:, 1] = -r / 50
        R = np.hstack([R, more])
    program = Problem(R, r, tuple(names), prior, np.eye(len(names)), np.zeros(len(names)), {}, 1e-3)
    _, seen, s, unseen = program.least_squares
    directions = np.hstack([seen / s, unseen])
    y, status = program.nearest(directions, len(s))
    assert status == "optimal"
    rough = y + 1e-3 * np.random.default_rng(0).normal(size=len(y)) * (not drives)
    polished, status = program.polished(rough, directions, len(s))
    assert status == "optimal"
    assert np.allclose(polished, y, rtol=1e-3, atol=2e-3)
