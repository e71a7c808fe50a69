"""The dynamics that a simulation integrates: a robot without dry friction, with external forces, other parameters or
constraints."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.batched import times
from qddot.compile.evaluate import Options
from qddot.compile.peaks import FAR
from qddot.compile.wrenches import net_stack
from qddot.constraints.compiled import CompiledConstraints
from qddot.constraints.constrained import ConstrainedDynamics, ConstrainedRobot
from qddot.errors import InputError
from qddot.model.configuration import integrate
from qddot.simulate.torque import read_only

if TYPE_CHECKING:
    from qddot.robot import Robot


FAST = 1e9
"""rad/s or m/s: a motion with a higher speed has run away."""

CLOSING = 4
"""Newton steps that close a loop again after its joint was moved onto a stop."""


class Forces:
    """External forces, `f_ext` on the robot and `f_tip` of the robot: each as in `Robot.inverse_dynamics`, or a function of
    (t, q, qd) that returns it."""

    def __init__(self, robot: Robot, f_ext: Any = None, f_tip: Any = None) -> None:
        self.robot, self.f_ext, self.f_tip = robot, f_ext, f_tip
        self.is_time_dependent = callable(f_ext) or callable(f_tip)

    def __bool__(self) -> bool:
        return self.f_ext is not None or self.f_tip is not None

    def stack(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the forces (..., bodies, 6) in the form of `Robot.external_wrench`."""
        on, by = (f(t, read_only(q), read_only(qd)) if callable(f) else f for f in (self.f_ext, self.f_tip))
        return net_stack(self.robot._evaluate, q, on, by, True)


class Dynamics:
    """Accelerations and other quantities of a robot under all forces except those of dry friction and stops.

    Args:
        robot: without dry friction.
        numbers: that replace the robot's own, by the names of inputs: inertial `parameters` (..., 10 bodies), `variables`.
        constraints: under which it moves, or None.
        threads: how many share a large batch; None: as many as there are.
    """

    def __init__(
        self,
        robot: Robot,
        forces: Forces,
        numbers: Mapping[str, np.ndarray] = MappingProxyType({}),
        constraints: ConstrainedRobot | None = None,
        threads: int | None = None,
    ) -> None:
        self.robot, self.forces, self.numbers = robot, forces, dict(numbers)
        self.options: Options = {} if threads is None else {"threads": threads}
        self.constraints = None
        if constraints is not None:
            self.constraints = CompiledConstraints(constraints, self.numbers.get("parameters"), bool(forces), self.options)

    def at(self, motions: tuple) -> Dynamics:
        """Return the dynamics of some motions of a batch."""
        if not motions:
            return self
        if self.forces:
            raise InputError("external forces belong to the whole batch: take motions of a trajectory without such")
        chosen = {name: x if x.ndim == 1 else x[motions] for name, x in self.numbers.items()}
        return Dynamics(self.robot, self.forces, chosen, self.constraints, self.options.get("threads"))

    def evaluate(self, quantity: str, **inputs: Any) -> Any:
        """Evaluate a quantity of the robot with these numbers."""
        return self.robot._evaluate(quantity, inputs | self.numbers, self.options)

    def accelerate(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return qdd (..., nv). Raises FloatingPointError: the state has run away."""
        refuse_run_away(q, qd)
        if self.constraints is not None:
            return self.constrained(t, q, qd, tau)[0]
        return self.evaluate("forward_dynamics", q=q, qd=qd, tau=tau, **self.wrench(t, q, qd))

    def constrained(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> ConstrainedDynamics:
        """Return qdd (..., nv) and the multipliers lam (..., k) of the constraints."""
        assert self.constraints is not None
        return self.constraints.accelerations(q, qd, tau, **self.wrench(t, q, qd))

    def bias(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the joint forces (..., nv) for which the accelerations are zero."""
        return self.evaluate("bias_torque", q=q, qd=qd, **self.wrench(t, q, qd))

    def mobility(self, q: np.ndarray) -> np.ndarray:
        """Return the map (..., nv, nv) from joint forces (impulses) to changes of acceleration (velocity): the inverse of M, or
        less under constraints."""
        inverse = np.linalg.inv(self.evaluate("mass_matrix", q=q))
        return inverse if self.constraints is None else inverse @ self.constraints.projections(q).P

    def external(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return J^T f of the external forces (..., nv)."""
        return self.evaluate("bias_torque", q=q, qd=qd) - self.bias(t, q, qd)

    def wrench(self, t: float, q: np.ndarray, qd: np.ndarray) -> dict[str, np.ndarray]:
        return {"wrench": self.forces.stack(t, q, qd)} if self.forces else {}

    def close(self, q: np.ndarray, still: np.ndarray) -> np.ndarray:
        """Return q with its loops closed, as well as possible, by moving only the columns that are not `still` (..., nv)."""
        if self.constraints is None:
            return q
        held, mechanism = self.constraints.holonomic(), self.robot.model.mechanism
        for _ in range(CLOSING):
            phi, A = held.values(("phi", "A"), q)
            A = np.where(still[..., None, :], 0.0, A)
            q = integrate(mechanism, q, -times(np.linalg.pinv(A, rcond=1e-9), phi))
        return q

    def settle(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Project the state onto the constraints, which rounding and truncation violate. Raises FloatingPointError: the state has
        run away; ConvergenceError: the projection does not converge."""
        if self.constraints is None:
            return q, qd
        refuse_run_away(q, qd)
        return self.constraints.settled(q, qd)


def has_run_away(q: np.ndarray, qd: np.ndarray) -> bool:
    return not (np.isfinite(q).all() and np.abs(qd).max(initial=0) < FAST)


def within_speed(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Return (...) True for states that have not run away, and whose angles are small enough to be accurate."""
    return (np.abs(q).max(-1, initial=0) < FAR) & (np.abs(qd).max(-1, initial=0) < FAST)


def refuse_run_away(q: np.ndarray, qd: np.ndarray) -> None:
    if has_run_away(q, qd):
        raise FloatingPointError
