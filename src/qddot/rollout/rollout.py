"""Many motions at once, step by step, with a control law that is part of the compiled step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import flag, positive_number, shape_of, word
from qddot.arrays.guests import constant
from qddot.arrays.late import refuse_other_checks
from qddot.arrays.on_host import on_host_without_programs
from qddot.batched import times
from qddot.compile.arrays import as_array
from qddot.compile.evaluate import Evaluator, Options, as_dtype
from qddot.compile.flags import IGNORING
from qddot.compile.given import known_names, with_given
from qddot.compile.kinds import guest, is_on_gpu, refuse_mixed
from qddot.compile.singular import singular
from qddot.compile.threads import thread_count
from qddot.constraints.constrained import ConstrainedRobot
from qddot.contact.time_stepping import refuse_deep
from qddot.errors import ConvergenceError, InputError, SingularityError, as_written
from qddot.rollout.adjoint import Way, backward_program, on_cpu, stride
from qddot.rollout.laws import Law, applied, nothing
from qddot.rollout.linear_step import Linear, joined, linear_of_tensors, linear_program
from qddot.rollout.spread import spread, there_and_back
from qddot.rollout.start import Start, States, check_contacts, common_batch, copied, step_count
from qddot.rollout.step import STATES, Step
from qddot.simulate.dynamics import FAST, has_run_away
from qddot.simulate.fixed_step import stopped
from qddot.simulate.simulate import CLOSE, constrained

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel
    from qddot.contact.shapes import Contacts
    from qddot.robot import Robot


ENGINES = ("serial", "dask")
DEVICES = ("cpu", "cuda")
CLOSE_SINGLE = 1e-4
"""Largest violation of constraints by an initial state in float32."""


class Rollout:
    """A compiled motion: called with initial states and controls, it returns the states along it. See `Robot.rollout`.

    >>> robot = qddot.load("two_link")
    >>> run = robot.rollout(step=1e-3)  # without a law the control is the joint forces
    >>> states = run(np.zeros((100, 2)), None, [0.0, 0.0], steps=1000, every=100)
    >>> states.q.shape  # eleven samples of a hundred motions
    (11, 100, 2)
    """

    def __init__(
        self,
        robot: Robot,
        law: Law | None,
        *,
        step: float,
        method: str,
        saturate: bool,
        stops: bool,
        threads: int | None,
        engine: str = "serial",
        address: Any = None,
        contacts: Contacts | None = None,
        constraints: Any = None,
        device: str = "cpu",
    ) -> None:
        word("method", method, STATES)
        check_contacts(robot, contacts, method)
        under = constrained(robot, constraints)
        if under and contacts:
            raise InputError(f"{robot.name} moves under constraints, and such a rollout knows no contacts: use constraints=False")
        if under and method == "variational":
            raise InputError(f'{robot.name} moves under constraints: method="variational" knows none, use "rk4"')
        step, saturate, stops = positive_number("step", step), flag("saturate", saturate), flag("stops", stops)
        if law is not None and not callable(law):
            raise InputError(f"law={as_written(law)}: a function of a rollout.Moment, such as qddot.rollout.PDLaw(kp, kd), or None")
        if robot.nv == 0:
            raise InputError(f"{robot.name} has no degrees of freedom: nothing moves")
        self.robot, self.law, self.method, self.dt, self.threads = robot, law, method, float(step), threads
        self.options: Options = {} if threads is None else {"threads": threads}
        self.saturate, self.stops, self.engine, self.address = saturate, stops, engine, address
        self.contacts, self.constraints, self.under = contacts, constraints, under
        word("engine", engine, ENGINES)
        if isinstance(device, str) and device == "gpu":
            raise InputError("device='gpu' is not one of 'cpu', 'cuda': GPUs of NVIDIA are 'cuda', others are not known")
        word("device", device, DEVICES)
        self.device = device
        self.evaluate = Evaluator(robot.model)
        self.made: dict[tuple, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without compiled code, which belongs to this process."""
        return self.__dict__ | {"made": {}}

    def __repr__(self) -> str:
        law = "joint forces" if self.law is None else getattr(self.law, "__name__", type(self.law).__name__)
        return f"Rollout of {self.robot.name!r} under {law}: {self.method}, steps of {self.dt:g} s; call it with states and steps="

    def once(self, key: tuple, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, made once and kept under a key."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def step(self, controls: int, runtime: bool) -> Step:
        """Return the step that is repeated. `controls`: size of the control; `runtime`: True if inertial parameters are given."""
        law = self.law or (applied if controls else nothing)
        under = self.under.constraints if self.under else ()
        return Step(self.robot, self.method, law, controls, self.saturate, self.stops, runtime, self.contacts, under)

    @on_host_without_programs
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
        check: bool | str = True,
    ) -> States:
        """Return the initial states, and those after each `every`-th step.

        With PyTorch tensors or CuPy arrays on a GPU, one kernel runs there on the current stream, and the states are such arrays.

        Args:
            q0, qd0: initial states (..., nq) and (..., nv); at rest if `qd0` is None. Leading dimensions are a batch.
            control: the control of the law, without a law the joint forces: (..., m) the same in every step if `steps` is given,
                else (steps, ..., m).
            steps: number of steps.
            every: keep each k-th state; `steps` must be a multiple of it.
            parameters: inertial parameters (..., 10 bodies) instead of the robot's own.
            variables: name -> (...) or (..., size), for a robot with variables (`Robot.with_variable`).
            dtype: float64 or float32, for NumPy arrays.
            check: True or `"now"` raises errors, on a GPU after waiting for the device; there `"later"` does not wait, and the next
                call raises the error. False: a motion that cannot go on is NaN from there on, the others go on.

        Raises:
            InputError: a wrong shape or number.
            IntegrationError: a motion diverges or cannot go on; it names time, step and joint.

        >>> run = qddot.load("two_link").rollout()
        >>> run([0, 0], None, [7.0, 2.0], steps=100, every=50).q.round(4)
        array([[ 0.    ,  0.    ],
               [ 0.0114, -0.0282],
               [ 0.0451, -0.1111]])
        """
        given = {"q0": q0, "qd0": qd0, "control": control, "parameters": parameters}
        arrays = (*given.values(), *self.numbers(variables))
        library = guest(arrays)
        if library == "torch":
            from qddot.rollout.torch_rollout import rollout

            return rollout(self, given, variables, steps, every, check)
        if is_on_gpu(q0) and library != "jax":
            from qddot.rollout.on_device import on_device

            return on_device(self, given, variables, steps, every, check)
        if library == "jax":
            from qddot.rollout.jax_rollout import rollout

            return rollout(self, given, variables, steps, every)
        if library:
            raise InputError("a rollout takes NumPy arrays, PyTorch tensors and JAX arrays")
        refuse_other_checks(check)
        start = self.read(given, variables, steps, every, dtype)._replace(check=bool(check))
        if self.engine == "dask" and start.batch:
            return spread(self, start, self.address)
        return self.run(start) if self.device == "cpu" else there_and_back(self, start, 0)

    def differentiable(
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
    ) -> Way:
        """Return a motion that can be differentiated: it has `states`, and called with the slopes of a loss at them, it returns the
        loss's gradient (`RolloutGradient`).

            way = run.differentiable(q0, None, torques)
            slope = way(q=2 * (way.states.q - wanted)).control

        It keeps the states of some `2 sqrt(steps)` steps. `qddot.rollout.adjoint` explains the gradient where joints stick or run
        into stops. Arrays on a GPU stay there.

        Raises:
            InputError: as of a call, and for `method="variational"`.

        >>> run = qddot.load("two_link").rollout()
        >>> way = run.differentiable([0, 0], None, [7.0, 2.0], steps=100)
        >>> slope = np.zeros(way.states.q.shape)
        >>> slope[-1, 0] = 1.0  # of the last position of the first joint
        >>> way(slope).q0.round(3)
        array([1.004, 0.008])
        """
        given = {"q0": q0, "qd0": qd0, "control": control, "parameters": parameters}
        return self.way(copied(given), copied(variables), steps, every, dtype)  # the caller may write to these arrays later

    def way(self, given: Mapping[str, Any], variables: Any, steps: int | None, every: int, dtype: Any) -> Way:
        """Return a motion that can be differentiated as long as the given arrays are not written to."""
        if self.method == "variational":
            raise InputError('the gradient of a rollout is there for method="semi_implicit" and "rk4"')
        library = guest((*given.values(), *self.numbers(variables)))
        if library != "jax" and is_on_gpu(given["q0"]):
            from qddot.rollout.on_device import differentiable

            return differentiable(self, dict(given), variables, steps, every)
        if library:
            raise InputError("differentiable takes NumPy arrays: of tensors, differentiate the rollout itself")
        start = self.read(given, variables, steps, every, dtype)
        kept: dict[int, dict[str, np.ndarray]] = {}
        states = self.run(start, kept, stride(start.count))
        shapes = {"q": start.q.shape, "qd": start.qd.shape, **{name: x.shape for name, x in start.rest.items()}}
        if start.control is not None:
            shapes["control"] = start.control.shape
        rest = {name: start.wide(x) for name, x in start.rest.items()}
        forward, mechanism = self.kernel(start), self.robot.model.mechanism
        make = lambda: backward_program(forward.program, mechanism, forward.dtype)  # noqa: E731
        backward = self.evaluate.kernels.compiled(("back", *start.traced_by, forward.dtype.char), make, forward.dtype)
        both = on_cpu(forward, backward, start.count, self.dt, thread_count(self.threads))
        return Way(both, states, start.controls(), rest, shapes, kept, start.count, every, start.changes)

    @on_host_without_programs
    def linear(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        control: ArrayLike,
        *,
        t: ArrayLike = 0.0,
        parameters: ArrayLike | None = None,
        variables: Any = None,
    ) -> Linear:
        """Return the exact derivatives of one step, `dx' = A dx + B du` with the state x = (q, qd): for LQR, iLQR and filters.

        Args:
            q, qd, control: states (..., nq) and (..., nv), and controls (..., m), such as those along a motion.
            t: time (...), s, if the law depends on it.

        Raises:
            InputError: a wrong shape, `method="variational"`, or joints with quaternions, whose step has no such matrix.

        >>> run = qddot.load("two_link").rollout(step=0.01)
        >>> run.linear([0, 0], [0, 0], [7.0, 2.0]).A.shape
        (4, 4)
        """
        if self.method == "variational" or self.robot.nq != self.robot.nv:
            raise InputError('linear needs method="semi_implicit" or "rk4", and joints whose qd is the rate of q')
        given = {"q0": q, "qd0": qd, "control": control, "parameters": parameters}
        if guest((*given.values(), *self.numbers(variables))):
            return linear_of_tensors(self, q, qd, control, t, parameters, variables)
        start = self.read(given, variables, 1, 1, None)
        controls, runtime = start.q.shape[-1] if start.control is None else start.control.shape[-1], "parameters" in start.rest
        make = lambda: linear_program(self.step(controls, runtime).program(start.q.dtype))  # noqa: E731
        kernel = self.evaluate.kernels.compiled(("linear", controls, runtime), make, start.q.dtype)
        time = as_array("t", t, (), start.q.dtype)[..., None]
        rest = {**start.rest, "control": start.controls(), "t": time, "dt": np.array([self.dt])}
        inputs = {"q": start.q, "qd": start.qd, **rest}
        found, margins = self.evaluate.evaluate("linear", kernel, inputs, self.options)
        if margins is not None:
            raise self.doubt(margins, inputs)
        return joined(found)

    def numbers(self, variables: Any) -> Iterable[Any]:
        """Return the numbers of the variables, given by name or as one array."""
        return variables.values() if isinstance(variables, Mapping) else (variables,)

    def named_numbers(self, variables: Any) -> dict[str, Any]:
        """Return the arrays among the variables, by their names in errors."""
        if not isinstance(variables, Mapping):
            return {"variables": variables}
        return {f"variables[{name!r}]": x for name, x in variables.items() if not isinstance(x, (int, float))}

    def in_kind(self, given: Mapping[str, Any], variables: Any) -> dict[str, Any]:
        """Return the arguments as another library's arrays, with zeros for `qd0` if it is None, and all variables as one array."""
        known_names(self.robot.model.variables, variables)
        refuse_mixed({**given, **self.named_numbers(variables)})
        qd0 = constant(given["q0"], [0.0] * self.robot.nv) if given["qd0"] is None else given["qd0"]
        packed = self.robot._guests.packed({"q0": given["q0"]}, variables) if self.robot.model.variables else None
        return {**given, "qd0": qd0, "variables": packed}

    def read(self, given: Mapping[str, Any], variables: Any, steps: int | None, every: int, dtype: Any) -> Start:
        """Return the arguments of a rollout, checked, as arrays."""
        kind, robot = as_dtype(dtype), self.robot
        read = lambda name, x, n: as_array(name, x, (n,), kind)  # noqa: E731
        q = self.evaluate.configuration("q", given["q0"], kind)
        qd = read("qd0", np.zeros(robot.nv) if given["qd0"] is None else given["qd0"], robot.nv)
        control, moved = given["control"], given["parameters"]
        control = None if control is None else read("control", control, (shape_of("control", control) or (1,))[-1])
        rest = {} if moved is None else {"parameters": read("parameters", moved, 10 * len(robot.body_names))}
        rest = dict(with_given(self.evaluate.model.variables, rest, variables, kind))
        self.refuse_start(q, qd, rest.get("variables"))
        count, changes = step_count(steps, every, control)
        batch = common_batch(q, qd, control[0] if changes and control is not None else control, *rest.values())
        return Start(q, qd, control, rest, batch, count, changes, every)

    def refuse_start(self, q: np.ndarray, qd: np.ndarray, variables: np.ndarray | None) -> None:
        """Refuse initial states deep inside a contact, or off the constraints."""
        if self.contacts is not None:
            refuse_deep(self.contacts, np.asarray(q, float))
        if self.under:
            close = CLOSE if q.dtype == np.float64 else CLOSE_SINGLE
            q, qd = np.asarray(q, float), np.asarray(qd, float)
            under = ConstrainedRobot(self.evaluate, self.under.constraints, variables=variables)
            under.refuse_violation(q, times(under.values(("A",), q)[0], qd), close)

    def kernel(self, start: Start) -> Kernel:
        """Return the kernel of one step."""
        dtype = start.q.dtype
        make = lambda: self.step(*start.traced_by).program(dtype)  # noqa: E731
        return self.evaluate.kernels.compiled((*start.traced_by, dtype.char), make, dtype)

    def run(self, start: Start, kept: dict[int, dict[str, np.ndarray]] | None = None, apart: int = 1) -> States:
        """Return the states after all steps; put each `apart`-th state into `kept`, if given."""
        control, dtype, wide, kernel = start.controls(), start.q.dtype, start.wide, self.kernel(start)
        state = {"q": wide(start.q), "qd": wide(start.qd)}
        if self.method == "variational":
            state["p"] = self.robot._evaluate("generalized_momentum", {**state, **start.rest}, {"dtype": dtype})
        rest = {name: wide(x) for name, x in start.rest.items()}
        shape = (start.count // start.every + 1, *start.batch)
        found = States(*(np.empty((*shape, state[name].shape[-1]), dtype) for name in ("q", "qd")))
        found.q[0], found.qd[0] = state["q"], state["qd"]
        h = np.array([self.dt], dtype)
        for k in range(start.count):
            if kept is not None and k % apart == 0:
                kept[k] = state
            if control is not None:
                rest["control"] = control[k] if start.changes else control
            inputs = {**rest, "t": np.array([k], dtype) * h, "dt": h}
            state = self.advance(k, kernel, state, inputs) if start.check else self.go_on(kernel, state, inputs)
            if (k + 1) % start.every == 0:
                found.q[(k + 1) // start.every], found.qd[(k + 1) // start.every] = state["q"], state["qd"]
        return found

    def advance(self, k: int, kernel: Any, state: dict[str, np.ndarray], rest: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the state after step k. Raises IntegrationError: it names time and joint."""
        lost = np.True_
        try:
            after, margins = self.evaluate.evaluate("rollout", kernel, {**state, **rest}, self.options, unit=True)
            if margins is not None:
                lost = ~(margins > 0).all(-1, keepdims=True)
                raise self.doubt(margins, {**state, **rest})
        except (SingularityError, ConvergenceError) as error:
            speeds = np.where(lost, state["qd"], 0)  # so that the error is about a motion that cannot go on
            raise stopped(self.robot, k + 1, k * self.dt, speeds, "cannot go on", str(error)) from error
        found = dict(zip(STATES[self.method], after))
        if has_run_away(found["q"], found["qd"]):
            raise stopped(self.robot, k + 1, k * self.dt, found["qd"])
        return found

    def go_on(self, kernel: Kernel, state: dict[str, np.ndarray], rest: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the state after a step, NaN for motions that cannot go on."""
        given = {**state, **rest}
        arrays = [given[x.name] for x in kernel.program.inputs]
        *after, margins = IGNORING.run(kernel.run, arrays, None, thread_count(self.threads))
        found = dict(zip(STATES[self.method], after))
        valid = (margins > 0).all(-1) & np.isfinite(found["q"]).all(-1) & (np.abs(found["qd"]).max(-1) < FAST)
        return {name: np.where(valid[..., None], x, x.dtype.type(np.nan)) for name, x in found.items()}

    def doubt(self, margins: np.ndarray, inputs: dict[str, np.ndarray]) -> Exception:
        """Return the error for a step without a result. `margins`: first the pivots of each stage's mass matrix, then those of
        iterations."""
        pivots = {"semi_implicit": 1, "rk4": 4, "variational": 0}[self.method] * self.robot.nv
        if self.under:
            return ConvergenceError(
                "a step does not come back onto the constraints, or some of them follow from others there: take a smaller step, or "
                "use simulate"
            )
        if not (margins[..., :pivots] > 0).all():
            return singular(self.evaluate, "rollout", margins[..., :pivots], inputs)
        what = "what sticks and what rests on its stop"
        if self.method == "variational":
            what = "the implicit step"
        elif self.contacts:
            what = "the impulse of every contact"
        return ConvergenceError(f"{what} was not found in as many rounds as are compiled: take a smaller step, or use simulate")
