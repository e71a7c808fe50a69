"""Somebody who knows MATLAB's Robotics System Toolbox: the old names lead to the new ones, and the figures of the page come out."""

import numpy as np
import pytest

import qddot
from qddot.names_elsewhere import ROBOT


def test_ten_minutes():
    robot = qddot.load("two_link")
    with pytest.raises(AttributeError, match="MATLAB's massMatrix is `mass_matrix\\(q\\)` here"):
        _ = robot.massMatrix  # type: ignore[attr-defined]
    for name in ROBOT["MATLAB"]:
        with pytest.raises(AttributeError, match="MATLAB's"):
            getattr(robot, name)

    q, rest = [np.pi / 3, np.pi / 2], [0, 0]
    np.testing.assert_allclose(robot.mass_matrix(q), [[0.3315, 0.1146], [0.1146, 0.1146]], atol=5e-5)
    np.testing.assert_allclose(robot.coriolis_torque(q, [np.pi / 4, np.pi / 10]), [-0.0725, 0.0756], atol=5e-5)
    np.testing.assert_allclose(robot.gravity_torque(q), [0.2484, -2.0814], atol=5e-5)
    fext = robot.external_wrench(q, {"body_1": [0, 0, 0, 0, 1, 0], "body_2": [0, 0, 0, 5, 0, 0]})
    np.testing.assert_allclose(robot.forward_dynamics(q, rest, rest, f_ext=fext), [3.09, 15.0706], atol=5e-5)

    assert "mass 0.5 kg" in str(robot.details())  # showdetails
    span = robot.simulate(q, None, (0, 0.5))  # ode45's [0 0.5]
    assert (span.t[0], span.t[-1]) == (0.0, 0.5)
    assert len(span.t) > 2
