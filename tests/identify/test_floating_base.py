"""Robots that stand on nothing, identified from the ground's forces."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, UnknownNameError
from qddot.identify import Samples, floating_base

pytest.importorskip("cvxpy")

DOG = qddot.load("quadruped")
FEET = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))


def stepping(count: int, noise: float = 0.0, seed: int = 0) -> tuple[Samples, dict[str, np.ndarray]]:
    """Random states, and contact wrenches with which they can be: three feet push at random, the fourth does the rest."""
    draw = np.random.default_rng(seed)
    q = np.stack([DOG.random_configuration(draw) for _ in range(count)])
    qd, qdd = draw.normal(size=(2, count, DOG.nv))
    wrenches = {foot: 10 * draw.normal(size=(count, 6)) for foot in FEET[:3]}
    lacking = DOG.inverse_dynamics(q, qd, qdd, f_ext=wrenches)
    J = DOG.jacobian(q, FEET[3], reference="world_aligned")
    wrenches[FEET[3]] = np.linalg.solve(np.swapaxes(J[..., :6], -1, -2), lacking[..., :6, None])[..., 0]
    tau = DOG.inverse_dynamics(q, qd, qdd, f_ext=wrenches)
    assert np.abs(tau[:, :6]).max() < 1e-9
    return Samples(q, qd, qdd, tau), {foot: w + noise * draw.normal(size=w.shape) for foot, w in wrenches.items()}


def test_the_ground_tells_the_whole_tree() -> None:
    """From base rows alone: mass, centre, and joint torques that were never looked at."""
    samples, wrenches = stepping(250, noise=0.05)
    found = floating_base(DOG, samples._replace(tau=0 * samples.tau), wrenches)
    true = found.K @ DOG.parameters()
    assert (np.abs(found.theta - true) < 6 * found.std + 1e-9).all()
    mass, std = found.mass
    assert mass == pytest.approx(sum(DOG.parameters()[::10]), abs=5 * std)
    assert std < 0.01 * mass
    other, _ = stepping(20, seed=1)
    assert np.abs(found.centre_of_mass(other.q) - DOG.center_of_mass(other.q)).max() < 2e-3
    tau, predicted = (robot.inverse_dynamics(other.q, other.qd, other.qdd) for robot in (DOG, found.robot))
    assert np.linalg.norm(predicted - tau) < 0.02 * np.linalg.norm(tau)
    assert "kg" in str(found)


def test_exact_forces_give_exact_parameters_and_torques_help() -> None:
    samples, wrenches = stepping(150)
    for torques in (False, True):
        found = floating_base(DOG, samples, wrenches, torques=torques)
        true = found.K @ DOG.parameters()
        np.testing.assert_allclose(found.theta, true, atol=1e-8 * np.abs(true).max())


def test_what_is_missing_is_said() -> None:
    samples, wrenches = stepping(60)
    with pytest.raises(InputError, match="no free joint"):
        floating_base(qddot.load("two_link"), samples, wrenches)
    with pytest.raises(InputError, match="no contact wrenches"):
        floating_base(DOG, samples, {})
    with pytest.raises(UnknownNameError, match="fin"):
        floating_base(DOG, samples, {"fin": np.zeros((60, 6))})
    with pytest.raises(InputError, match="moments before forces"):
        floating_base(DOG, samples, {FEET[0]: np.zeros((60, 3))})
    q = np.tile(samples.q[0], (60, 1))
    with pytest.raises(InputError, match="does not show"):
        floating_base(DOG, samples._replace(q=q, qd=0 * samples.qd, qdd=0 * samples.qdd), wrenches)
    with pytest.raises(InputError, match="takes both"):
        floating_base(DOG, samples, wrenches, rate=100.0)
