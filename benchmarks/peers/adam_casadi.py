"""adam with CasADi: one function of the fixed-base robot, mapped over states. adam has no inverse dynamics: it is M qdd + h."""

from __future__ import annotations

from functools import partial

import casadi as cs
import numpy as np
from adam.casadi import KinDynComputations
from timing import Job

from peers import Unsupported
from robots import Case

NAME = "adam (CasADi)"
STATES = 512


def jobs(case: Case) -> dict[str, Job]:
    if case.urdf is None:
        raise Unsupported("no URDF")
    n = case.robot.nv
    robot = KinDynComputations(str(case.urdf), list(case.robot.joint_names), gravity=np.array([0, 0, -9.81, 0, 0, 0]))
    q, qd, x = (cs.SX.sym(name, n) for name in ("q", "qd", "x"))
    base, still = cs.SX.eye(4), cs.SX.zeros(6)
    M = robot.mass_matrix(base, q)[6:, 6:]
    h = robot.bias_force(base, q, still, qd)[6:]
    J = robot.jacobian(case.frame, base, q)[:, 6:]
    inverse = cs.Function("inverse", [q, qd, x], [M @ x + h])
    motion = [case.q, case.qd, case.qdd]
    return {
        "inverse_dynamics": mapped(inverse, motion, (n,)),
        "mass_matrix": mapped(cs.Function("mass", [q], [M]), [case.q], (n, n)),
        "jacobian": mapped(cs.Function("jacobian", [q], [cs.vertcat(J[3:, :], J[:3, :])]), [case.q], (6, n)),
        "single: inverse_dynamics": single(inverse, motion),
    }


def mapped(function: cs.Function, inputs: list[np.ndarray], shape: tuple[int, ...]) -> Job:
    """One call for all states, which are columns there."""
    call, arrays = function.map(STATES), [np.asfortranarray(x[:STATES].T) for x in inputs]
    found: list[np.ndarray] = []

    def run() -> None:
        found[:] = [np.asarray(call(*arrays))]

    def result() -> list[np.ndarray]:
        columns = 1 if len(shape) == 1 else shape[1]
        blocks = found[0].reshape(shape[0], STATES, columns)
        return [np.moveaxis(blocks, 1, 0).reshape(STATES, *shape)]

    return Job(run, STATES, result)


def single(function: cs.Function, inputs: list[np.ndarray]) -> Job:
    call = partial(function, *(x[0].copy() for x in inputs))
    return Job(call, 1, lambda: [np.asarray(call()).reshape(1, -1)])
