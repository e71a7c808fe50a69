"""The examples do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import qddot

FOLDER = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sampled_plans_bring_a_panda_to_a_point():
    found = example("mppi_reach").reach(samples=256, seconds=0.6)
    assert found["distance"][0] > 0.4
    assert found["distance"][-1] < 0.12


def test_a_pole_swings_up_by_ilqr():
    swing = example("ilqr_swing_up")
    found = swing.solve(rounds=25)
    assert np.all(np.diff(found["cost"]) < 0)
    assert np.abs(found["states"][-1] - swing.UPRIGHT).max() < 0.1
    again = qddot.load("cart_pole").rollout(step=swing.STEP, stops=False, saturate=False)
    states = again(np.zeros(2), None, np.stack([found["force"], 0 * found["force"]], -1))
    assert np.allclose(states.q[-1], found["states"][-1, :2], atol=1e-8)


def test_the_fastest_reach_is_within_limits_and_a_motion_of_the_robot():
    pytest.importorskip("casadi", reason="casadi is not installed")
    reach = example("time_optimal_reach")
    found = reach.solve()
    assert np.abs(found["tau"]).max() <= reach.LIMIT.max() + 1e-6
    robot, h = qddot.load("two_link"), found["t"][1]
    qdd = robot.forward_dynamics(found["q"], found["qd"], found["tau"])
    assert np.allclose(np.diff(found["qd"], axis=0), h / 2 * (qdd[1:] + qdd[:-1]), atol=1e-6)
    assert np.mean(np.any(np.abs(found["tau"]) > 0.99 * reach.LIMIT, axis=1)) > 0.9  # bang-bang
