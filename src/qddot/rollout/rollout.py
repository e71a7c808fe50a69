"""Many motions at once, step after step, by a law that is part of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qddot.compile.evaluate import Evaluator, Options, as_dtype
from qddot.errors import ConvergenceError, InputError, SingularityError, near_matches
from qddot.rollout.laws import Law, applied, nothing
from qddot.rollout.step import STATES, Step
from qddot.simulate.dynamics import has_run_away
from qddot.simulate.fixed_step import stopped

if TYPE_CHECKING:
    from qddot.robot import Robot


class States(NamedTuple):
    """q (samples, ..., nq) and qd (samples, ..., nv), the first of them where the rollout began."""

    q: Any
    qd: Any


class Rollout:
    """A compiled motion: called with states and controls, it gives the states after so many steps. See `Robot.rollout`."""

    def __init__(
        self, robot: Robot, law: Law | None, *, step: float, method: str, saturate: bool, stops: bool, threads: int | None
    ) -> None:
        if method not in STATES:
            raise InputError(f"method={method!r}: {near_matches(str(method), STATES)}")
        if not isinstance(step, (int, float, np.number)) or not 0 < step < np.inf:
            raise InputError(f"step={step!r} is not a positive number of seconds")
        if law is not None and not callable(law):
            raise InputError(f"law={law!r:.80}: a function of a qddot.rollout.Moment, such as qddot.rollout.PD(kp, kd), or None")
        if robot.nv == 0:
            raise InputError(f"{robot.name} has no degrees of freedom: nothing moves")
        self.robot, self.law, self.method, self.h, self.threads = robot, law, method, float(step), threads
        self.saturate, self.stops = saturate, stops
        self.evaluate = Evaluator(robot.model)

    def step(self, controls: int, runtime: bool) -> Step:
        """What is repeated, for so many numbers in each control."""
        law = self.law or (applied if controls else nothing)
        return Step(self.robot, self.method, law, controls, self.saturate, self.stops, runtime)

    def __call__(
        self,
        q0: ArrayLike,
        qd0: ArrayLike | None,
        control: ArrayLike | None = None,
        *,
        steps: int | None = None,
        every: int = 1,
        parameters: ArrayLike | None = None,
        variables: Any = None,
        dtype: Any = None,
    ) -> States:
        """The states at first, and after each `every`-th step.

        Args:
            q0, qd0: states (..., nq) and (..., nv) at first; at rest if `qd0` is None. Leading dimensions are a batch.
            control: what the law is given: (..., m) the same in every step, or (steps, ..., m), told apart by `steps`: with
                `steps` it is the first, without it the second. Without a law it is the joint forces.
            steps: how many.
            every: keep each k-th state; `steps` must be a multiple of it.
            parameters: inertial parameters (..., 10 bodies) instead of the robot's own.
            variables: of a robot that has some (`Robot.with_variable`): name -> (...) or (..., size).

        Raises:
            InputError: a wrong shape or number.
            IntegrationError: a motion diverges or cannot go on; it names time, step and joint.
        """
        kind = as_dtype(dtype)
        read = lambda name, x, n: self.evaluate.prepared(name, x, (n,), kind)  # noqa: E731
        q = self.evaluate.prepared("q", q0, (self.robot.nq,), kind)
        qd = read("qd0", np.zeros(self.robot.nv) if qd0 is None else qd0, self.robot.nv)
        given = None if control is None else read("control", control, np.shape(control)[-1] if np.ndim(control) else 1)
        moved = None if parameters is None else read("parameters", parameters, 10 * len(self.robot.body_names))
        rest = {} if moved is None else {"parameters": moved}
        rest = dict(self.evaluate.with_variables(rest, variables, kind))
        count, changes = step_count(steps, every, given)
        batch = common_batch(q, qd, given[0] if changes and given is not None else given, *rest.values())
        return self.run(q, qd, given, rest, batch, count, changes, every)

    def run(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        control: np.ndarray | None,
        rest: dict[str, np.ndarray],
        batch: tuple[int, ...],
        count: int,
        changes: bool,
        every: int,
    ) -> States:
        controls, runtime, dtype = 0 if control is None else control.shape[-1], "parameters" in rest, q.dtype
        make = lambda: self.step(controls, runtime).program(dtype)  # noqa: E731
        kernel = self.evaluate.compiled((controls, runtime, dtype.char), make, dtype)
        wide = lambda x, n: np.ascontiguousarray(np.broadcast_to(x, (*batch, n)))  # noqa: E731
        state = {"q": wide(q, q.shape[-1]), "qd": wide(qd, qd.shape[-1])}
        if self.method == "variational":
            state["p"] = self.momentum(state["q"], state["qd"], rest)
        rest = {name: wide(x, x.shape[-1]) for name, x in rest.items()}
        found = States(*(np.empty((count // every + 1, *batch, state[name].shape[-1]), dtype) for name in ("q", "qd")))
        found.q[0], found.qd[0] = state["q"], state["qd"]
        h = np.array([self.h], dtype)
        for k in range(count):
            if control is not None:
                rest["control"] = wide(control[k] if changes else control, controls)
            state = self.advance(k, kernel, state, {**rest, "t": np.array([k], dtype) * h, "dt": h})
            if (k + 1) % every == 0:
                found.q[(k + 1) // every], found.qd[(k + 1) // every] = state["q"], state["qd"]
        return found

    def advance(self, k: int, kernel: Any, state: dict[str, np.ndarray], rest: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The state after step k, or an error that names time and joint."""
        options: Options = {} if self.threads is None else {"threads": self.threads}
        try:
            after, margins = self.evaluate.evaluate("rollout", kernel, {**state, **rest}, options)
            if margins is not None:
                raise self.doubt(margins, {**state, **rest})
        except (SingularityError, ConvergenceError) as error:
            raise stopped(self.robot, k + 1, k * self.h, state["qd"], "cannot go on", str(error)) from error
        found = dict(zip(STATES[self.method], after))
        if has_run_away(found["q"], found["qd"]):
            raise stopped(self.robot, k + 1, k * self.h, found["qd"])
        return found

    def doubt(self, margins: np.ndarray, inputs: dict[str, np.ndarray]) -> Exception:
        """Why a step has no result: first come the pivots of each stage's mass matrix, then what was decided by iteration."""
        pivots = {"semi_implicit": 1, "rk4": 4, "variational": 0}[self.method] * self.robot.nv
        if not (margins[..., :pivots] > 0).all():
            return self.evaluate.singular("rollout", margins[..., :pivots], inputs)
        what = "the implicit step" if self.method == "variational" else "what sticks and what rests on its stop"
        return ConvergenceError(f"{what} was not found in as many rounds as are compiled: take a smaller step, or use simulate")

    def momentum(self, q: np.ndarray, qd: np.ndarray, rest: dict[str, np.ndarray]) -> np.ndarray:
        return self.robot._evaluate("generalized_momentum", {"q": q, "qd": qd, **rest}, {"dtype": q.dtype})


def step_count(steps: Any, every: Any, control: Any) -> tuple[int, bool]:
    """How many steps, and whether each has a control of its own."""
    if steps is None and (control is None or control.ndim < 2):
        raise InputError("how many steps? Give steps=, or a control (steps, ..., m) that changes from step to step")
    count = control.shape[0] if steps is None else steps
    for name, x in (("steps", count), ("every", every)):
        if not isinstance(x, (int, np.integer)) or x < 1:
            raise InputError(f"{name}={x!r} is not a whole number from 1")
    if count % every:
        raise InputError(f"{count} steps are no multiple of every={every}: keep each k-th of them with a k that divides it")
    return int(count), steps is None


def common_batch(*arrays: Any) -> tuple[int, ...]:
    """The leading shape of all."""
    shapes = [x.shape[:-1] for x in arrays if x is not None]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(
            f"leading dimensions of q0, qd0, control and parameters do not fit: {', '.join(map(str, shapes))}"
        ) from None
