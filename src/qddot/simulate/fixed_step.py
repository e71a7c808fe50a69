"""Fixed steps, of order four or of order one, for one state or a batch.

If no Python function is called within a step, it runs in one compiled kernel, and a single motion takes many steps in one call. A
step begins by deciding which shafts are stuck and which joints rest against a stop (`qddot.simulate.modes`, compiled in
`traced_modes`). It ends by bringing to rest the shafts whose speed changed sign, and by impacts on stops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.repeated import Careful, Inputs, Repeated
from qddot.errors import ConvergenceError, IntegrationError, SingularityError
from qddot.model import configuration
from qddot.simulate.dynamics import Dynamics, has_run_away, refuse_run_away, within_speed
from qddot.simulate.modes import Modes, Switching
from qddot.simulate.torque import Torque
from qddot.simulate.traced_modes import has_own_shafts, switched_step

if TYPE_CHECKING:
    from qddot.robot import Robot

State = tuple[np.ndarray, np.ndarray]
Step = Callable[[float, np.ndarray, np.ndarray, float], State]
"""(t, q, qd, h) -> q and qd at t + h."""

Ahead = Callable[[np.ndarray, np.ndarray, np.ndarray], State]
"""(times, q, qd) -> states (n, ...) of one motion after the first n of the steps between the times. n counts the steps that are
certain; if it is 0, the next step must be taken by `Step`. The next call overwrites the arrays."""

SWITCHED_COLUMNS = 12
"""Most columns for which the rounds that decide what sticks are compiled: they take some nv^3 instructions. Beyond, NumPy does
it."""


class FixedStep:
    """Explicit steps of one of the `RULES` in each mode; events are found to the step.

    Args:
        robot: with its dry friction.
        switching: its modes, over the robot without dry friction.
    """

    def __init__(self, robot: Robot, switching: Switching, torque: Torque, method: str = "rk4") -> None:
        self.robot, self.switching, self.torque, self.rule = robot, switching, torque, RULES[method]
        self.dynamics, constraints = switching.dynamics, switching.dynamics.constraints
        self.is_compiled = method == "rk4" and torque.is_held and not self.dynamics.forces
        if constraints is None:
            self.is_compiled &= bool((switching.columns >= 0).all())
            self.plain = compiled_step(robot, self.dynamics, "rk4_step", method="auto")
        else:
            self.is_compiled &= constraints.has_compiled_step and not switching
            self.plain = constraints.repeated("step", self.careful)
        self.held = compiled_step(robot, self.dynamics, "held_step")
        model = robot.model
        small = model.quantities is None and model.mechanism.nv <= SWITCHED_COLUMNS and has_own_shafts(switching)
        self.switched = self.compiled_modes() if self.is_compiled and switching.dry and small else None

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        """Return the state after a step."""
        self.torque.begin(t, q, qd)
        if not self.switching:
            return self.dynamics.settle(*self.advance(t, q, qd, h, None))
        tau = self.torque(t, q, qd)
        if self.switched is None:
            q, qd, resting = self.in_modes(t, q, qd, h, tau)
        else:
            (q1, qd1), doubtful = self.switched.tried(**self.given(q=q, qd=qd, tau=tau, dt=h))
            if doubtful.any():
                here = doubtful[..., None]
                q1, qd1 = (np.where(here, a, b) for a, b in zip(self.in_modes(t, q, qd, h, tau), (q1, qd1)))
            return self.switching.metered_impact(t, t + h, q1, qd1, tau)
        q, qd = self.switching.metered_impact(t, t + h, q, qd, tau)
        if self.dynamics.constraints is None:
            return q, qd
        resting &= self.switching.speeds(qd) == 0  # an impact may have set a resting row in motion
        q, qd = self.dynamics.settle(q, qd)
        return q, self.switching.hold(q, qd, resting)

    def ahead(self, times: np.ndarray, q: np.ndarray, qd: np.ndarray) -> State:
        """Return the states of one motion after some of the next steps (see `Ahead`)."""
        if not self.is_compiled or self.dynamics.constraints is not None:
            return q[None][:0], qd[None][:0]
        self.torque.begin(float(times[0]), q, qd)
        tau = self.torque.ahead(times, q, qd)
        kernel, inputs = self.switched or self.plain, self.given(tau=tau, dt=np.diff(times[: len(tau) + 1])[:, None])
        (qs, qds), n = kernel.ahead(len(tau), (q, qd), **inputs)
        sure = within_speed(qs[:n], qds[:n])
        if self.switching:
            sure &= ~self.switching.struck(qs[:n], qds[:n])
            if self.switched is None:
                starts = (np.concatenate([x[None], xs[: n - 1]])[:n] for x, xs in ((q, qs), (qd, qds)))
                sure &= ~self.switching.is_stopped(*starts)
        n = n if sure.all() else int(sure.argmin())
        return qs[:n], qds[:n]

    def given(self, **inputs: Any) -> dict[str, Any]:
        return inputs | self.dynamics.numbers

    def compiled_modes(self) -> Repeated:
        """Return the compiled step that itself decides what sticks and what slides."""
        evaluate, runtime = self.robot._evaluate, "parameters" in self.dynamics.numbers
        trace = lambda: switched_step(self.robot.model, self.switching, runtime=runtime)  # noqa: E731
        stops = tuple(self.switching.stop_q.tolist())
        make = lambda: evaluate.kernels.compiled(("switched_step", stops, runtime), trace, np.dtype(float))  # noqa: E731
        return Repeated(evaluate, "switched_step", make, self.dynamics.options)

    def in_modes(self, t: float, q: np.ndarray, qd: np.ndarray, h: float, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the state after a step in one mode, and (..., rows) which rows are at rest there."""
        modes = self.switching.decide(t, q, qd, tau)
        q, qd = self.advance(t, q, qd, h, modes)
        turned = modes.sliding * (qd @ self.switching.dry.shafts.T) < 0
        resting = modes.held | np.concatenate([turned, np.zeros(modes.stopped.shape, bool)], axis=-1)
        qd = self.switching.rest(q, qd, resting) if turned.any() else self.switching.hold(q, qd, resting)
        return q, qd, resting

    def advance(self, t: float, q: np.ndarray, qd: np.ndarray, h: float, modes: Modes | None) -> State:
        """Take one step in one mode."""
        if not self.is_compiled:
            return self.stages(t, q, qd, h, modes)
        inputs = self.given(q=q, qd=qd, tau=self.torque(t, q, qd), dt=h)
        if modes is not None and self.switching.dry:
            return self.held_step(inputs, modes)
        q_end, qd_end = self.plain(**inputs)
        if modes is not None and modes.held.any():  # only these motions: each one of a batch is as it would be alone
            some = np.nonzero(modes.held.any(-1)) if q.ndim > 1 else ()
            part = {name: np.broadcast_to(x, (*q.shape[:-1], x.shape[-1]))[some] for name, x in inputs.items() if name != "dt"}
            held = Modes(modes.sliding[some], modes.stopped[some])
            q_end[some], qd_end[some] = self.held_step(part | {"dt": h}, held)
        return q_end, qd_end

    def held_step(self, inputs: dict[str, Any], modes: Modes) -> State:
        """Take a step in which held columns stay at rest, and dry friction acts against the sliding ones."""
        sliding, moving = np.zeros(inputs["qd"].shape), np.ones(inputs["qd"].shape)
        for k, column in enumerate(self.switching.columns):
            moving[..., column] *= ~modes.held[..., k]
            if k < self.switching.shafts:
                sliding[..., column] = modes.sliding[..., k] * np.sign(self.switching.rows[k, column])
        q, qd = self.held(**inputs, sliding=sliding, moving=moving)
        return q, qd

    def stages(self, t: float, q: np.ndarray, qd: np.ndarray, h: float, modes: Modes | None) -> State:
        """Take a step stage by stage, with the control law called in each."""

        def accelerate(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            tau = np.broadcast_to(self.torque(t, q, qd), qd.shape)
            if modes is None:
                return self.dynamics.accelerate(t, q, qd, tau)
            return self.switching.accelerate(t, q, qd, tau, modes)[0]

        return self.rule(self.robot, accelerate, t, q, qd, h)

    def careful(self, inputs: Inputs) -> State:
        """Take a step under constraints whose rank must be examined in every stage."""
        assert self.dynamics.constraints is not None
        constraints, tau = self.dynamics.constraints.careful(inputs), inputs["tau"]

        def accelerate(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            refuse_run_away(q, qd)
            return constraints.accelerations(q, qd, tau).qdd

        return kutta(self.robot, accelerate, 0.0, inputs["q"], inputs["qd"], inputs["dt"])


def kutta(robot: Robot, accelerate: Callable[..., np.ndarray], t: float, q: np.ndarray, qd: np.ndarray, h: Any) -> State:
    """Take a Runge-Kutta step of order four with `accelerate(t, q, qd)`; h is one step, or (..., 1) of them."""
    rate, unit = partial(configuration.rate, robot.model.mechanism), partial(configuration.normalized, robot.model.mechanism)
    return four_stages(lambda t, q, qd: (rate(q, qd), accelerate(t, q, qd)), unit, t, q, qd, h)


def four_stages(slope: Callable[..., State], unit: Callable, t: float, q: np.ndarray, qd: np.ndarray, h: Any) -> State:
    """Take a Runge-Kutta step of order four along `slope(t, q, qd)`, the rates of q and qd; `unit` scales quaternions to length
    1."""
    a1, b1 = slope(t, q, qd)
    a2, b2 = slope(t + h / 2, unit(q + a1 * (h / 2)), qd + b1 * (h / 2))
    a3, b3 = slope(t + h / 2, unit(q + a2 * (h / 2)), qd + b2 * (h / 2))
    a4, b4 = slope(t + h, unit(q + a3 * h), qd + b3 * h)
    return unit(q + (a1 + 2 * (a2 + a3) + a4) * (h / 6)), qd + (b1 + 2 * (b2 + b3) + b4) * (h / 6)


def euler(robot: Robot, accelerate: Callable[..., np.ndarray], t: float, q: np.ndarray, qd: np.ndarray, h: Any) -> State:
    """Take a step along the slopes at its beginning, `q + h qd` and `qd + h qdd`: of order one; energy of oscillations grows."""
    mechanism = robot.model.mechanism
    q_end = configuration.normalized(mechanism, q + h * configuration.rate(mechanism, q, qd))
    return q_end, qd + h * accelerate(t, q, qd)


RULES = {"rk4": kutta, "euler": euler}


def compiled_step(robot: Robot, dynamics: Dynamics, quantity: str, careful: Careful | None = None, **fixed: str) -> Repeated:
    """Return a compiled step of the robot without constraints; `careful` takes the steps that the kernel reports as doubtful."""
    runtime = "parameters" in dynamics.numbers
    make = lambda: robot._evaluate.kernels.kernel(quantity, np.dtype(float), fixed, runtime=runtime)  # noqa: E731
    return Repeated(robot._evaluate, quantity, make, dynamics.options, careful)


class Guarded:
    """Steps that never return NaN or infinity.

    Attributes:
        count: number of steps so far.

    Raises:
        IntegrationError: the motion diverges, or cannot go on.
    """

    def __init__(self, robot: Robot, step: Step) -> None:
        self.robot, self.step, self.count = robot, step, 0

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        self.count += 1
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                end = self.step(t, q, qd, h)
        except FloatingPointError as error:
            raise stopped(self.robot, self.count, t, qd) from error
        except (SingularityError, ConvergenceError) as error:
            raise stopped(self.robot, self.count, t, qd, "cannot go on", str(error)) from error
        if has_run_away(*end):
            raise stopped(self.robot, self.count, t, end[1])
        return end

    def ahead(self, several: Ahead) -> Ahead:
        """Return `several`, with its steps counted."""

        def advance(times: np.ndarray, q: np.ndarray, qd: np.ndarray) -> State:
            with np.errstate(all="ignore"):  # states after the first doubtful step are not used
                found = several(times, q, qd)
            self.count += len(found[0])
            return found

        return advance


FIX = "take a smaller step or an implicit method, or look at the forces"


def stopped(robot: Robot, step: int, t: float, qd: np.ndarray, what: str = "diverges", why: str = FIX) -> IntegrationError:
    """Return the error for a motion that ended too early; it names the fastest joint."""
    speed = np.where(np.isfinite(qd), abs(qd), np.inf)
    *state, column = (int(i) for i in np.unravel_index(speed.argmax(), speed.shape))
    joint = next(c.name for c in robot.model.mechanism.coordinates if column in c.v)
    where = f" of motion {state}" if state else ""
    return IntegrationError(
        f"the motion {what} in step {step} after t = {t:g} s, at joint {joint!r}{where} (its speed is {speed.max():.3g}): {why}",
        time=float(t),
        step=step,
        joint=joint,
    )
