"""Simulation against a log."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify import Columns, output_error
from qddot.identify.identified import identified_robot
from tests.identify.simulated import series, truth


def test_friction_is_found_again() -> None:
    columns = Columns.of(qddot.load("two_link"), offset=False)
    theta = truth(columns)
    t = np.arange(0, 2.0, 0.002)
    q, qd, qdd = series(columns.robot, t)
    tau = columns.matrix(q, qd, qdd) @ theta
    wrong, name = theta.copy(), f"{columns.robot.joint_names[0]}.viscous"
    wrong[columns.place(name)] *= 1.5
    start = identified_robot(columns, columns.full(wrong))[0]
    found = output_error(start, t, q, qd, tau, free=[name], evaluations=8)
    assert found.after < 0.2 * found.before
    assert found.parameters[found.names.index(name)] == pytest.approx(theta[columns.place(name)], rel=0.02)
    with pytest.raises(InputError, match=r"three times \(N, 2\)"):
        output_error(start, t, q[1:], qd, tau)
