"""Links welded together: their exact inertias add without rounding."""

from __future__ import annotations

import numpy as np
import pytest

import qddot


def test_equations_of_an_arm_with_a_flange_without_mass_and_a_turned_hand():
    turned = {"xyz": (0.3, 0.1, 0), "rpy": (0, 0, np.pi / 4)}
    arm = qddot.Builder("arm").body("a", "base", axis=(0, 1, 0), mass=2, com=(0.1, 0, 0), tensor=(0.01, 0.02, 0.02))
    arm = arm.body("flange", "a", "fixed", inertia=qddot.Inertia(0.0, tensor=0))
    robot = arm.body("hand", "flange", "fixed", mass=0.5, com=(0, 0, 0.1), tensor=(0.003, 0.002, 0.001), **turned).robot()
    q = np.array([0.4])
    assert robot.equations().M.evaluate(q) == pytest.approx(robot.mass_matrix(q), abs=1e-14)
    assert robot.equations().g.evaluate(q) == pytest.approx(robot.gravity_torque(q), abs=1e-13)
