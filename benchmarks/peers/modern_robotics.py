"""Modern Robotics: the book's code, with the screws of a serial arm, in a loop over states."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import modern_robotics as mr
import numpy as np
import pinocchio as pin
from timing import Job

from peers import Unsupported
from robots import Case

NAME = "Modern Robotics"
STATES = 4


def jobs(case: Case) -> dict[str, Job]:
    if case.urdf is None or not case.is_chain:
        raise Unsupported("serial arms from a URDF only are measured")
    screws = arm(case)
    gravity, tip = np.array([0, 0, -9.81]), np.zeros(6)
    n = case.robot.nv
    return {
        "inverse_dynamics": loop(
            lambda q, qd, qdd: mr.InverseDynamics(q, qd, qdd, gravity, tip, *screws), [case.q, case.qd, case.qdd], (n,)
        ),
        "forward_dynamics": loop(
            lambda q, qd, tau: mr.ForwardDynamics(q, qd, tau, gravity, tip, *screws), [case.q, case.qd, case.tau], (n,)
        ),
        "mass_matrix": loop(lambda q: mr.MassMatrix(q, *screws), [case.q], (n, n)),
    }


def arm(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mlist, Glist and Slist, at the centres of mass, from the model that Pinocchio reads."""
    model = pin.buildModelFromUrdf(str(case.urdf))
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    joints = range(1, model.njoints)
    centres = [np.eye(4)]
    centres += [data.oMi[i].homogeneous @ pin.SE3(np.eye(3), model.inertias[i].lever).homogeneous for i in joints]
    between = [np.linalg.solve(a, b) for a, b in pairwise(centres)]
    inertias = [np.diag([0, 0, 0, *[model.inertias[i].mass] * 3]) for i in joints]
    for G, i in zip(inertias, joints):
        G[:3, :3] = model.inertias[i].inertia
    columns = pin.computeJointJacobians(model, data, pin.neutral(model))
    return np.array([*between, np.eye(4)]), np.array(inertias), np.vstack([columns[3:], columns[:3]])


def loop(function: Callable, inputs: list[np.ndarray], shape: tuple[int, ...]) -> Job:
    rows, out = list(zip(*(list(x[:STATES]) for x in inputs))), np.empty((STATES, *shape))

    def run() -> None:
        for i, row in enumerate(rows):
            out[i] = function(*row)

    return Job(run, STATES, lambda: [out])
