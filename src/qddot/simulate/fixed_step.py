"""Fixed steps of order four, one state or a batch.

Where nothing has to be asked within a step it runs in one compiled kernel. A step begins by deciding what is stuck and what rests
against a stop (`qddot.simulate.modes`); it ends by bringing to rest what turned round, and by impacts on stops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.evaluate import Options
from qddot.errors import IntegrationError, SingularityError
from qddot.simulate.dynamics import has_run_away
from qddot.simulate.modes import Modes, Switching
from qddot.simulate.torque import Torque

if TYPE_CHECKING:
    from qddot.robot import Robot

State = tuple[np.ndarray, np.ndarray]
Step = Callable[[float, np.ndarray, np.ndarray, float], State]
"""(t, q, qd, h) -> q and qd at t + h."""


class RungeKutta:
    """Steps of order four in each mode; events are found to the step.

    Args:
        robot: with its dry friction.
        switching: its modes, over the robot without dry friction.
    """

    def __init__(self, robot: Robot, switching: Switching, torque: Torque) -> None:
        self.robot, self.switching, self.torque = robot, switching, torque
        self.dynamics = switching.dynamics
        single = bool((switching.columns >= 0).all())
        self.is_compiled = torque.is_held and self.dynamics.is_bare and single
        options = self.dynamics.options
        self.plain, self.held = Kernel(robot, "rk4_step", options, method="auto"), Kernel(robot, "held_step", options)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        """The state after a step."""
        self.torque.begin(t, q, qd)
        if not self.switching:
            return self.dynamics.settle(*self.advance(t, q, qd, h, None))
        modes = self.switching.decide(t, q, qd, self.torque(t, q, qd))
        q, qd = self.advance(t, q, qd, h, modes)
        turned = modes.sliding * (qd @ self.switching.dry.shafts.T) < 0
        if turned.any():
            stops = np.zeros(modes.stopped.shape, bool)
            qd = self.switching.rest(q, qd, modes.held | np.concatenate([turned, stops], axis=-1))
        elif not self.is_compiled:
            qd = self.switching.hold(q, qd, modes.held)
        return self.dynamics.settle(*self.switching.impact(q, qd))

    def advance(self, t: float, q: np.ndarray, qd: np.ndarray, h: float, modes: Modes | None) -> State:
        """Kutta's four stages in one mode."""
        if not self.is_compiled:
            return self.stages(t, q, qd, h, modes)
        inputs = {"q": q, "qd": qd, "tau": self.torque(t, q, qd)}
        if self.dynamics.parameters is not None:
            inputs["parameters"] = self.dynamics.parameters
        if modes is None or not (self.switching.dry or modes.held.any()):
            return self.plain(inputs, h)
        sliding, moving = np.zeros(qd.shape), np.ones(qd.shape)
        columns, shafts = self.switching.columns, self.switching.shafts
        for k, column in enumerate(columns):
            moving[..., column] *= ~modes.held[..., k]
            if k < shafts:
                sliding[..., column] = modes.sliding[..., k] * np.sign(self.switching.rows[k, column])
        return self.held(inputs | {"sliding": sliding, "moving": moving}, h)

    def stages(self, t: float, q: np.ndarray, qd: np.ndarray, h: float, modes: Modes | None) -> State:
        """The same one by one, with a law that is asked in between."""
        rate, unit = self.robot.configuration_rate, self.robot.normalized

        def slope(t: float, q: np.ndarray, qd: np.ndarray) -> State:
            tau = np.broadcast_to(self.torque(t, q, qd), qd.shape)
            if modes is None:
                return rate(q, qd), self.dynamics.accelerate(t, q, qd, tau)
            return rate(q, qd), self.switching.accelerate(t, q, qd, tau, modes)[0]

        a1, b1 = slope(t, q, qd)
        a2, b2 = slope(t + h / 2, unit(q + a1 * (h / 2)), qd + b1 * (h / 2))
        a3, b3 = slope(t + h / 2, unit(q + a2 * (h / 2)), qd + b2 * (h / 2))
        a4, b4 = slope(t + h, unit(q + a3 * h), qd + b3 * h)
        return unit(q + (a1 + 2 * (a2 + a3) + a4) * (h / 6)), qd + (b1 + 2 * (b2 + b3) + b4) * (h / 6)


class Kernel:
    """A compiled step: by arrays of its own for one state, which costs a tenth of an ordinary call, and by batches."""

    def __init__(self, robot: Robot, quantity: str, options: Options, **fixed: str) -> None:
        self.robot, self.quantity, self.options, self.fixed = robot, quantity, options, fixed
        self.bound: Any = None

    def __call__(self, inputs: dict[str, np.ndarray], h: float) -> Any:
        batch = inputs["q"].shape[:-1]
        if batch or "parameters" in inputs or self.robot.nq != self.robot.nv:
            full = {name: np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1]))) for name, x in inputs.items()}
            return self.robot._evaluate(self.quantity, full | {"dt": np.full((*batch, 1), h)}, self.options, **self.fixed)
        if self.bound is None:
            self.bound = self.robot.bind(self.quantity, **self.fixed)
        for name, x in inputs.items():
            self.bound.inputs[name][...] = x
        self.bound.inputs["dt"][0] = h
        return tuple(x.copy() for x in self.bound())


def guarded(robot: Robot, step: Step) -> Step:
    """A step that never returns what is not a number.

    Raises:
        IntegrationError: the motion diverges.
    """
    count = 0

    def advance(t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        nonlocal count
        count += 1
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                end = step(t, q, qd, h)
        except (FloatingPointError, SingularityError) as error:
            raise diverged(robot, count, t, qd, f" ({error})" if str(error) else "") from error
        if has_run_away(*end):
            raise diverged(robot, count, t, end[1])
        return end

    return advance


def diverged(robot: Robot, step: int, t: float, qd: np.ndarray, why: str = "") -> IntegrationError:
    """Which joint ran away."""
    speed = np.where(np.isfinite(qd), abs(qd), np.inf)
    *state, column = (int(i) for i in np.unravel_index(speed.argmax(), speed.shape))
    joint = next(c.name for c in robot.model.mechanism.coordinates if column in c.v)
    where = f" of motion {state}" if state else ""
    return IntegrationError(
        f"the motion diverges in step {step} after t = {t:g} s, at joint {joint!r}{where} (its speed is {speed.max():.3g}): "
        f"take a smaller step or an implicit method, or look at the forces{why}",
        time=float(t),
        step=step,
        joint=joint,
    )
