"""Fixed steps, one state or a batch: Runge-Kutta of order four, and the variational midpoint rule.

A step whose forces do not depend on the state runs in one compiled kernel. Where a shaft with dry friction starts at rest or
comes to rest, and where a joint runs into a stop, the step is repeated without that friction, and an impulse at its end
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import IntegrationError
from qddot.simulate.friction import DryFriction, without_dry_friction
from qddot.simulate.impulses import solve_impulses
from qddot.simulate.torque import Torque

if TYPE_CHECKING:
    from qddot.robot import Robot

State = tuple[np.ndarray, np.ndarray]


class RungeKutta:
    """Steps of order four.

    Args:
        forces: keywords `f_ext`, `f_tip` of forward dynamics.
        accelerate: (q, qd, tau) -> qdd for a constrained robot, instead of forward dynamics; then `settle` (q, qd) -> (q, qd)
            brings the state back onto the constraints after each step.
        stops: keep joints within their limits.
    """

    def __init__(
        self,
        robot: Robot,
        torque: Torque,
        forces: dict[str, Any],
        accelerate: Callable | None = None,
        settle: Callable | None = None,
        stops: bool = True,
    ) -> None:
        self.robot, self.torque, self.forces, self.settle = robot, torque, forces, settle
        self.dry = DryFriction(robot)
        self.smooth = without_dry_friction(robot) if self.dry else robot
        self.accelerate = accelerate
        self.is_fused = torque.is_held and not forces and accelerate is None
        limits = robot.limits
        finite = [(c.q.start, c.v.start) for c in robot.model.mechanism.coordinates if c.single]
        self.stops = [(i, k) for i, k in finite if stops and (np.isfinite(limits.lower[i]) or np.isfinite(limits.upper[i]))]
        self.lower, self.upper = limits.lower, limits.upper

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        """The state after a step."""
        end = self.advance(self.robot, t, q, qd, h)
        if self.dry:
            end = self.rub(t, (q, qd), end, h)
        if self.stops:
            end = self.halt(*end)
        return self.settle(*end) if self.settle else end

    def advance(self, robot: Robot, t: float, q: np.ndarray, qd: np.ndarray, h: float, extra: np.ndarray | float = 0.0) -> State:
        """Kutta's four stages, in one kernel where nothing has to be asked in between; `extra` joint forces are held."""
        if self.is_fused:
            tau = np.broadcast_to(self.torque(t, q, qd) + extra, qd.shape)
            return robot._evaluate("rk4_step", {"q": q, "qd": qd, "tau": tau, "dt": [h]}, {}, method="auto")

        def slope(t: float, q: np.ndarray, qd: np.ndarray) -> State:
            tau = self.torque(t, q, qd) + extra
            if self.accelerate is not None:
                return rate(q, qd), self.accelerate(robot, q, qd, tau)
            return rate(q, qd), robot.forward_dynamics(q, qd, tau, **self.forces)

        rate, unit = robot.configuration_rate, robot.normalized
        a1, b1 = slope(t, q, qd)
        a2, b2 = slope(t + h / 2, unit(q + a1 * (h / 2)), qd + b1 * (h / 2))
        a3, b3 = slope(t + h / 2, unit(q + a2 * (h / 2)), qd + b2 * (h / 2))
        a4, b4 = slope(t + h, unit(q + a3 * h), qd + b3 * h)
        return unit(q + (a1 + 2 * (a2 + a3) + a4) * (h / 6)), qd + (b1 + 2 * (b2 + b3) + b4) * (h / 6)

    def rub(self, t: float, start: State, end: State, h: float) -> State:
        """The step again, for the states in which a dry shaft rests or turns round."""
        N = self.dry.shafts
        before, after = start[1] @ N.T, end[1] @ N.T
        turning = (before == 0) | (before * after <= 0)
        redo = turning.any(-1)
        if not redo.any():
            return end
        pick = (lambda x: x[redo]) if redo.ndim else (lambda x: x)
        q, qd, turning, before = (pick(x) for x in (*start, turning, before))
        load = self.smooth.bias_torque(q, qd)
        level = self.dry.level(before, load, before == 0)
        held = np.where(before > 0, level[0], -level[1]) * ~turning  # of shafts that just go on
        q1, v1 = self.advance(self.smooth, t, q, qd, h, extra=-(held @ N))
        inverse = np.linalg.inv(self.smooth.mass_matrix(q1))
        W = N @ inverse @ N.T
        speed = v1 @ N.T
        bound = h * level * turning
        p = solve_impulses(W, speed, -bound[0], bound[1])
        slipping = (before == 0) & turning & ((p <= -bound[0]) | (p >= bound[1])) & (bound.sum(0) > 0)
        if slipping.any():  # what began to slip is held by Coulomb friction only
            moving = h * self.dry.level(before, load, (before == 0) & ~slipping) * turning
            p = solve_impulses(W, speed, -moving[0], moving[1])
            bound = moving
        inside = turning & (p > -bound[0]) & (p < bound[1])
        v1 = v1 + np.einsum("...ij,...j->...i", inverse, p @ N)
        v1 = rest_exactly(v1, N, inside)
        if not redo.ndim:
            return q1, v1
        ended = end[0].copy(), end[1].copy()
        ended[0][redo], ended[1][redo] = q1, v1
        return ended

    def halt(self, q: np.ndarray, qd: np.ndarray) -> State:
        """Joints beyond a limit are set onto it, and what drives them further is taken by an inelastic impact."""
        i, k = (np.array(x) for x in zip(*self.stops))
        below, above = q[..., i] < self.lower[i], q[..., i] > self.upper[i]
        if not (below | above).any():
            return q, qd
        q = q.copy()
        q[..., i] = np.clip(q[..., i], self.lower[i], self.upper[i])
        inverse = np.linalg.inv(self.robot.mass_matrix(q))
        W = inverse[..., k[:, None], k[None, :]]
        huge = np.inf
        p = solve_impulses(W, qd[..., k], np.where(above, -huge, 0.0), np.where(below, huge, 0.0))
        qd = qd + np.einsum("...ij,...j->...i", inverse[..., :, k], p)
        held = p != 0
        qd[..., k] = np.where(held, 0.0, qd[..., k])
        return q, qd


def rest_exactly(v: np.ndarray, N: np.ndarray, resting: np.ndarray) -> np.ndarray:
    """With shafts that rest at exactly zero speed, where a shaft is one joint: rounding must not set it in motion."""
    v = v.copy()
    for row, still in zip(N, np.moveaxis(resting, -1, 0)):
        columns = np.flatnonzero(row)
        if len(columns) == 1:
            v[..., columns[0]] = np.where(still, 0.0, v[..., columns[0]])
    return v


def steps(
    advance: Callable[[float, np.ndarray, np.ndarray, float], State], robot: Robot, q, qd, times: np.ndarray
) -> Iterator[State]:
    """The states at each of `times`, one step between two."""
    yield q, qd
    for n, (t, end) in enumerate(pairwise(times), 1):
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                q, qd = advance(t, q, qd, end - t)
        except FloatingPointError:
            raise diverged(robot, n, t, q, qd) from None
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise diverged(robot, n, t, q, qd)
        yield q, qd


def diverged(robot: Robot, step: int, t: float, q: np.ndarray, qd: np.ndarray) -> IntegrationError:
    """Which joint ran away."""
    speed = np.where(np.isfinite(qd), abs(qd), np.inf)
    column = int(np.unravel_index(speed.argmax(), speed.shape)[-1])
    joint = next(c.name for c in robot.model.mechanism.coordinates if column in c.v)
    return IntegrationError(
        f"the motion diverges in step {step} after t = {t:g} s, at joint {joint!r} (its speed was {speed.max():.3g}): "
        "take a smaller step, an implicit method, or look at the forces",
        time=float(t),
        step=step,
        joint=joint,
    )
