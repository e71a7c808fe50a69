"""Pinocchio: its parallel batch calls with one thread where it has them, else a loop over states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pinocchio as pin
from timing import Job

from peers import Unsupported
from robots import STATES, Case

NAME = "Pinocchio"
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
COLUMNS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # inertia there: xx, xy, yy, xz, yz, zz


def jobs(case: Case) -> dict[str, Job]:
    if case.urdf is None:
        raise Unsupported("no URDF")
    model = pin.buildModelFromUrdf(str(case.urdf))
    data, n, frame = model.createData(), model.nv, model.getFrameId(case.frame)
    if tuple(model.names)[1:] != case.robot.joint_names:
        raise Unsupported("its joints are in another order")
    q, qd, qdd, tau = case.q, case.qd, case.qdd, case.tau
    q0, qd0, qdd0, tau0 = (x[0].copy() for x in (q, qd, qdd, tau))
    bodies = case.robot.nv
    columns = np.concatenate([10 * k + np.array(COLUMNS) for k in range(bodies)])
    jacobian = partial(pin.computeFrameJacobian, model, data)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return {
        "inverse_dynamics": parallel(model, pin.rneaInParallel, q, qd, qdd),
        "forward_dynamics": parallel(model, pin.abaInParallel, q, qd, tau),
        "mass_matrix": loop(partial(pin.crba, model, data), [q], [(n, n)], symmetric=[0]),
        "coriolis_matrix": loop(partial(pin.computeCoriolisMatrix, model, data), [q, qd], [(n, n)]),
        "regressor": loop(
            partial(pin.computeJointTorqueRegressor, model, data), [q, qd, qdd], [(n, 10 * bodies)], order=np.s_[..., columns]
        ),
        "inverse_dynamics_derivatives": loop(
            partial(pin.computeRNEADerivatives, model, data), [q, qd, qdd], [(n, n)] * 3, symmetric=[2]
        ),
        "forward_dynamics_derivatives": loop(
            partial(pin.computeABADerivatives, model, data), [q, qd, tau], [(n, n)] * 3, symmetric=[2]
        ),
        "jacobian": loop(lambda x: jacobian(x, frame, aligned), [q], [(6, n)], order=np.s_[:, ANGULAR_FIRST]),
        "single: inverse_dynamics": single(partial(pin.rnea, model, data, q0, qd0, qdd0)),
        "single: forward_dynamics": single(partial(pin.aba, model, data, q0, qd0, tau0)),
        "single: mass_matrix": single(partial(pin.crba, model, data, q0)),
    }


def parallel(model: pin.Model, function: Callable, *inputs: np.ndarray) -> Job:
    """A call for all states, with one thread; states are columns there, so C order here is the order it likes."""
    pool, out = pin.ModelPool(model, 1), np.empty((STATES, model.nv))
    return Job(partial(function, 1, pool, *(x.T for x in inputs), out.T), STATES, lambda: [out])


def loop(function: Callable, inputs: list[np.ndarray], shapes: list, symmetric: list[int] = [], order=...) -> Job:  # noqa: B006
    """A loop that fills arrays; `order` and `symmetric` (by the upper triangle) bring them into the conventions of qddot."""
    rows = list(zip(*(list(x) for x in inputs)))
    outs = [np.empty((STATES, *shape)) for shape in shapes]

    def one() -> None:
        (out,) = outs
        for i, row in enumerate(rows):
            out[i] = function(*row)

    def several() -> None:
        for i, row in enumerate(rows):
            for out, part in zip(outs, function(*row)):
                out[i] = part

    def result() -> list[np.ndarray]:
        return [(mirrored(out) if k in symmetric else out)[order] for k, out in enumerate(outs)]

    return Job(one if len(outs) == 1 else several, STATES, result)


def mirrored(M: np.ndarray) -> np.ndarray:
    """The symmetric matrices of which the upper triangles are given."""
    upper = np.triu(M)
    return upper + np.swapaxes(np.triu(M, 1), -1, -2)


def single(call: Callable[[], np.ndarray]) -> Job:
    return Job(call, 1, lambda: [np.array(call())[None]])
