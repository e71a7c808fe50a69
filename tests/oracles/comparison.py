"""What the oracle tests share: the algorithms over plain floats, states, and errors relative to the size of the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from qddot.algorithms.forward_dynamics import shares_coordinates
from qddot.algorithms.quantities import QUANTITIES
from qddot.errors import SingularityError
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.robot import Robot

EPS = np.finfo(float).eps

worst: dict[str, float] = {}
"""The largest error found so far of each kind of quantity."""


class Plain:
    """The algorithms as they stand, over plain floats: the methods of `Robot` without a compiler."""

    def __init__(self, model: Model) -> None:
        self.lifted = model.over(Floats())

    def __getattr__(self, quantity: str) -> Callable:
        if quantity not in QUANTITIES:
            raise AttributeError(quantity)
        entry = QUANTITIES[quantity]

        def compute(*inputs, **options):
            results = entry.compute(self.lifted, *(x.tolist() for x in inputs), **options)
            if len(entry.outputs) == 1:
                return self.array(results)
            names = dict(zip(entry.outputs, map(self.array, results)))
            if not (names.pop("margins", np.ones(1)) > 0).all():
                raise SingularityError(quantity)
            return names.popitem()[1] if len(names) == 1 else tuple(names.values())

        return compute

    def forward_dynamics(self, q, qd, tau) -> np.ndarray:
        """By articulated bodies wherever that is possible; compiled robots mostly take the other way."""
        method = "crba" if shares_coordinates(self.lifted) else "aba"
        return self.__getattr__("forward_dynamics")(q, qd, tau, method=method)

    def coriolis_matrix(self, q, qd, form: str = "christoffel") -> np.ndarray:
        return self.__getattr__("coriolis_matrix")(q, qd, form=form)

    def array(self, values) -> np.ndarray:
        found = np.array(values, dtype=float)
        return found.reshape(0, 0) if isinstance(values, list) and not values and self.lifted.nv else found


class State(NamedTuple):
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    @staticmethod
    def random(model: Model, rng: np.random.Generator) -> State:
        robot = Robot(model)
        return State(robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv))


def error(ours, reference, floor: float = 1e-9) -> float:
    """The largest deviation over the largest magnitude of the reference (at least `floor`)."""
    ours, reference = np.asarray(ours, float), np.asarray(reference, float)
    assert ours.shape == reference.shape
    if reference.size == 0:
        return 0.0
    return float(np.abs(ours - reference).max() / max(np.abs(reference).max(), floor, 1e-9))


def assert_close(ours, reference, tolerance: float = 1e-12, *, what: str = "", floor: float = 1e-9) -> None:
    found = error(ours, reference, floor)
    kind = what.partition(" of ")[0] + ("" if tolerance < 1e-5 else " (float32)")
    worst[kind] = max(found, worst.get(kind, 0.0))
    assert found <= tolerance, f"{what}: relative error {found:.2e} is above {tolerance:.1e}"


def check_dynamics(ours, oracle, state: State, tolerance: float = 1e-12, **options) -> None:
    """Inverse dynamics and each of its terms. A term much smaller than the whole is held to the size of the whole."""
    q, qd, qdd = state
    nv = len(qd)
    drive = oracle.drive_torque(q, qd)
    tau = oracle.inverse_dynamics(q, qd, qdd) + drive
    floor = max(1e-2 * np.abs(tau).max(initial=0), 1e-9)
    found = ours.inverse_dynamics(q, qd, qdd, **options)
    assert_close(found, tau, tolerance, what="inverse dynamics")
    mass = np.reshape(ours.mass_matrix(q, **options), (nv, nv))
    assert_close(mass, oracle.mass_matrix(q), tolerance, what="mass matrix")
    assert_close(ours.coriolis_torque(q, qd, **options), oracle.coriolis_torque(q, qd), tolerance, what="C qd", floor=floor)
    assert_close(ours.gravity_torque(q, **options), oracle.gravity_torque(q), tolerance, what="g", floor=floor)
    friction, spring = ours.friction_torque(qd, **options), ours.spring_torque(q, **options)
    assert_close(friction + spring, drive, tolerance, what="friction and springs", floor=floor)


def check_forward_dynamics(ours, oracle, state: State, **options) -> None:
    """The acceleration for the forces of a motion, to what the condition of M allows: of its size, or of what gravity, friction
    and velocities alone would cause where the forces nearly cancel that."""
    q, qd, qdd = state
    M, drive = oracle.mass_matrix(q), oracle.drive_torque(q, qd)
    tau = oracle.inverse_dynamics(q, qd, qdd) + 0.1 * np.abs(qdd)
    reference = oracle.forward_dynamics(q, qd, tau)
    alone = np.linalg.solve(M, oracle.inverse_dynamics(q, qd, 0 * qdd) + drive)
    found = ours.forward_dynamics(q, qd, tau + drive, **options)
    assert_close(found, reference, 50 * np.linalg.cond(M) * EPS, what="forward dynamics", floor=np.abs(alone).max())


def check_jacobians(ours, oracle, state: State, frame: str, tolerance: float = 1e-12, **options) -> None:
    """In all three references."""
    for reference in ("space", "body", "world_aligned"):
        J = np.reshape(ours.jacobian(state.q, frame=frame, reference=reference, **options), (6, len(state.qd)))
        assert_close(J, oracle.jacobian(state.q, frame, reference), tolerance, what=f"{reference} Jacobian of {frame}")


def is_singular(oracle, state: State) -> bool:
    """True if some joint moves no inertia."""
    M = oracle.mass_matrix(state.q)
    return len(M) > 0 and np.linalg.cond(M) > 1e12
