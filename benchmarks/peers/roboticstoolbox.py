"""Robotics Toolbox: its compiled Newton-Euler for the Puma 560 of its own collection, its Python one for URDFs."""

from __future__ import annotations

import warnings

import numpy as np
from timing import Job

from peers import Unsupported
from robots import Case

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import roboticstoolbox as rtb

NAME = "Robotics Toolbox"
STATES = {"puma560": 512}
FEW = 4


def jobs(case: Case) -> dict[str, Job]:
    if case.name == "g1":
        raise Unsupported("only arms are measured")
    robot = rtb.models.DH.Puma560() if case.name == "puma560" else rtb.Robot.URDF(str(case.urdf))
    if robot.n != case.robot.nv:
        raise Unsupported(f"it finds {robot.n} joints")
    states = STATES.get(case.name, FEW)
    inputs = [x[:states] for x in (case.q, case.qd, case.qdd)]
    found: list[np.ndarray] = []

    def inverse() -> None:
        found[:] = [robot.rne(*inputs)]

    return {"inverse_dynamics": Job(inverse, states, lambda: [np.reshape(found[0], (states, -1))])}
