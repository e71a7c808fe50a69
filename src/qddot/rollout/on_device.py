"""Rollouts on a GPU: all steps in one kernel, with the state in registers, on arrays there; gradients by one kernel a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arrays.guests import guest_module
from qddot.arrays.late import refuse_other_checks
from qddot.arrays.on_device import Handling, OnDevices, Reading, handling, reading, rows
from qddot.arrays.operation import Operation, operation
from qddot.compile.given import known_names
from qddot.compile.gpu.device_kernel import DeviceLoop, Rows
from qddot.compile.gpu.driver import device, wait
from qddot.compile.kinds import is_on_gpu
from qddot.compile.trace import complete, trace
from qddot.errors import InputError, IntegrationError
from qddot.model.lower import Mechanism
from qddot.rollout.adjoint import STATE, Arrays, Both, Way, backward_program, slope_names, stride, without_margins
from qddot.rollout.start import Start, States, common_batch, step_count
from qddot.rollout.step import STATES

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout

KEPT = ("q", "qd")


def on_device(rollout: Rollout, given: dict[str, Any], variables: Any, steps: Any, every: Any, check: Any) -> States:
    """Return the states of a rollout whose inputs are on a GPU. Raises InputError: arrays of several libraries, types or devices,
    or shapes that do not fit; IntegrationError: a motion diverges or cannot go on."""
    refuse_other_checks(check)
    handle = handling("q0", given["q0"])
    start = looked_at(rollout, given, variables, steps, every, handle)
    if check and check != "later" and (rollout.contacts or rollout.under):
        q = handle.on_host(start.q)
        qd = np.zeros((rollout.robot.nv,), q.dtype) if start.qd is None else handle.on_host(start.qd)
        rollout.refuse_start(q, qd, handle.on_host(start.rest["variables"]) if "variables" in start.rest else None)
    return launched(rollout, start, handle, check)


def launched(rollout: Rollout, start: Start, handle: Handling, check: Any) -> States:
    """Return the states, computed by one kernel."""
    like, lead, samples = handle.view(start.q), start.batch, start.count // start.every
    kernel = loop(rollout, start, like.device, np.dtype(like.dtype))
    zero = handle.zeros((max(rollout.robot.nq, rollout.robot.nv),), like.dtype, like.device)
    still = Reading(Rows(handle.view(zero).pointer, 0), zero)
    fixed = {"q": start.q, "qd": start.qd, "control": None if start.changes else start.control, **start.rest}
    read = {name: of_all(handle, x, lead) for name, x in fixed.items() if x is not None}
    read.setdefault("qd", still)
    if rollout.method == "variational":
        read["p"] = of_all(handle, momenta(rollout, start, handle), lead)
    if start.changes:
        read["control"] = changing(handle, start.control, lead)
    read |= {"q_point": read["q"], "qd_point": read["qd"], "q_sum": still, "qd_sum": still}
    found = [handle.empty((samples + 1, *lead, size), like.dtype, like.device) for size in (rollout.robot.nq, rollout.robot.nv)]
    inputs = [read[x.name].rows for x in kernel.program.inputs if x.name in read]
    places, stream = [handle.view(x).pointer for x in found], handle.stream(like.device)
    if check == "later" and (motion := kernel.later.take()) is not None:
        raise IntegrationError(f"motion {motion} of an earlier call diverged or could not go on", time=0.0, step=0)
    kernel.launch(math.prod(lead), samples, start.every, rollout.dt, inputs, places, stream, check)
    if check and check != "later":
        wait(kernel.device, stream)
        if (motion := kernel.now.take()) is not None:
            raise stopped(rollout, start, handle, motion)
    return States(found[0], found[1])


def differentiable(rollout: Rollout, given: dict[str, Any], variables: Any, steps: Any, every: Any) -> Way:
    """Return a rollout on a GPU that can be differentiated there: its states and checkpoints. Raises InputError, IntegrationError:
    as of `on_device`."""
    handle = handling("q0", given["q0"])
    start = looked_at(rollout, given, variables, steps, every, handle)
    states = launched(rollout, start, handle, check=True)
    apart = stride(start.count)
    marks = (start.count - 1) // apart
    along = launched(rollout, start._replace(count=apart * max(marks, 1), every=apart), handle, check=False)
    kept = {k * apart: {"q": along.q[k], "qd": along.qd[k]} for k in range(marks + 1)}
    qd_shape = (rollout.robot.nv,) if start.qd is None else tuple(start.qd.shape)
    shapes = {"q": tuple(start.q.shape), "qd": qd_shape, **{name: tuple(x.shape) for name, x in start.rest.items()}}
    control = start.control
    if control is not None:
        shapes["control"] = tuple(control.shape)
        control = wide(handle, control, start.batch, start.count if start.changes else None)
    rest = {name: wide(handle, x, start.batch) for name, x in start.rest.items()}
    return Way(both(rollout, start, handle), states, control, rest, shapes, kept, start.count, start.every, start.changes)


def both(rollout: Rollout, start: Start, handle: Handling) -> Both:
    """Return a step forward and backward, by one kernel each."""
    like = handle.view(start.q)
    dtype = np.dtype(like.dtype)

    def make() -> list[Operation]:
        program = rollout.step(*start.traced_by).program(dtype)
        back = backward_program(program, rollout.robot.model.mechanism, dtype)
        return [operation(x, dtype) for x in (without_margins(program), back)]

    def called(step: Operation, names: tuple[str, ...]) -> Callable[[Arrays], Arrays]:
        devices, inputs = step.once(OnDevices), [x.name for x in step.program.inputs]
        return lambda given: dict(zip(names, devices.run(handle, [given[name] for name in inputs], start.batch)))

    forward, backward = rollout.once(("both", *start.traced_by, dtype.char), make)
    put = lambda x: handle.put(x.astype(dtype), like.device)  # noqa: E731
    times = np.arange(start.count, dtype=dtype)[:, None] * np.array([rollout.dt], dtype)
    zeros_like = lambda x: handle.zeros(tuple(x.shape), like.dtype, like.device)  # noqa: E731
    steps = called(forward, STATE), called(backward, slope_names(backward.program))
    return Both(*steps, put(times), put(np.array([rollout.dt])), zeros_like)


def wide(handle: Handling, x: Any, lead: tuple[int, ...], count: int | None = None) -> Any:
    """Return an array with a row for each motion, or for each step and motion, without a copy."""
    if count is None:
        return handle.broadcast(x, (*lead, x.shape[-1]))
    missing = (1,) * (len(lead) + 2 - x.ndim)
    return handle.broadcast(x.reshape(count, *missing, *x.shape[1:]), (count, *lead, x.shape[-1]))


def looked_at(rollout: Rollout, given: dict[str, Any], variables: Any, steps: Any, every: Any, handle: Handling) -> Start:
    """Return the checked arguments. Raises InputError: arrays that are not on q0's device, or types or shapes that do not fit."""
    robot, like = rollout.robot, handle.view(given["q0"])
    known_names(robot.model.variables, variables)
    packed = robot._guests.packed({"q0": given["q0"]}, variables) if robot.model.variables else None
    given = {**given, "variables": packed}
    sizes = {"q0": robot.nq, "qd0": robot.nv, "parameters": 10 * len(robot.body_names)}
    for name, x in given.items():
        if x is None:
            continue
        if not is_on_gpu(x) or (handle.view(x).dtype, handle.view(x).device) != (like.dtype, like.device):
            raise InputError(f"{name} is not {like.dtype} on device {like.device}, as q0 is: bring it there")
        if x.ndim == 0 or x.shape[-1] != sizes.get(name, x.shape[-1]):
            raise InputError(f"{name} has shape {tuple(x.shape)}, expected (..., {sizes.get(name, 'm')})")
    if like.dtype not in ("float64", "float32"):
        raise InputError(f"q0 holds {like.dtype}, float64 or float32 is needed")
    count, changes = step_count(steps, every, given["control"])
    rest = {name: given[name] for name in ("parameters", "variables") if given[name] is not None}
    one = given["control"][0] if changes else given["control"]
    batch = common_batch(given["q0"], given["qd0"], one, *rest.values())
    q = with_unit_quaternions(given["q0"], robot.model.mechanism)
    return Start(q, given["qd0"], given["control"], rest, batch, count, changes, int(every))


def with_unit_quaternions(q: Any, mechanism: Mechanism) -> Any:
    """Return q (..., nq) with its quaternions normalised, by operations that every library rounds as NumPy does."""
    parts, at, library = [], 0, guest_module(q)
    for c in mechanism.coordinates:
        if c.parts[0].quaternion:
            start = c.q.start
            length = library.sqrt(sum(q[..., k : k + 1] * q[..., k : k + 1] for k in range(start, start + 4)))
            parts += [q[..., at:start], q[..., start : start + 4] / length]
            at = start + 4
    return library.concatenate([*parts, q[..., at:]], -1) if parts else q


def loop(rollout: Rollout, start: Start, number: int, dtype: np.dtype) -> DeviceLoop:
    """Return the kernel, made once for each device, type and size of control."""

    def make() -> DeviceLoop:
        program = rollout.step(*start.traced_by).program(dtype, in_stages=True)
        kept = tuple(STATES[rollout.method].index(name) for name in KEPT)
        return DeviceLoop(program, kept, dtype, device(number))

    return rollout.once(("loop", number, dtype.char, *start.traced_by), make)


def of_all(handle: Handling, x: Any, lead: tuple[int, ...]) -> Reading:
    """Return an array (lead, n), or (n,) for all motions, as the kernel reads it."""
    if tuple(x.shape[:-1]) not in ((), lead):
        x = handle.broadcast(x, (*lead, x.shape[-1]))
    return reading(handle, x, tuple(x.shape[-1:]))


def changing(handle: Handling, x: Any, lead: tuple[int, ...]) -> Reading:
    """Return an array (steps, lead, n), or (steps, n) for all motions, as the kernel reads it."""
    if tuple(x.shape[1:-1]) not in ((), lead):
        x = handle.broadcast(x, (x.shape[0], *lead, x.shape[-1]))
    if rows(handle.view(x[0]), tuple(x.shape[-1:])) is None:
        x = handle.contiguous(x)
    first = reading(handle, x[0], tuple(x.shape[-1:])).rows
    return Reading(first._replace(hop=handle.view(x).strides[0]), x)


def momenta(rollout: Rollout, start: Start, handle: Handling) -> Any:
    """Return p = M qd of the initial states."""
    if start.qd is None:
        return 0 * start.q
    robot, dtype, runtime = rollout.robot, np.dtype(handle.view(start.q).dtype), "parameters" in start.rest
    asked = [complete("generalized_momentum", {}, lambda: robot.tip)]
    make = lambda: operation(trace(robot.model, asked, dtype, runtime=runtime), dtype)  # noqa: E731
    momentum, given = rollout.once(("momenta", runtime, dtype.char), make), {"q": start.q, "qd": start.qd, **start.rest}
    arrays = [wide(handle, given[x.name], start.batch) for x in momentum.program.inputs]
    return momentum.once(OnDevices).run(handle, arrays, start.batch)[0]


def stopped(rollout: Rollout, start: Start, handle: Handling, motion: int) -> IntegrationError:
    """Return the error for a motion that ended too early, by computing it again on the CPU."""
    at = tuple(int(i) for i in np.unravel_index(motion, start.batch))
    given = {"q": start.q, "qd": start.qd, "control": start.control, **start.rest}
    rest = {name: handle.on_host(x) for name, x in given.items() if x is not None}
    alone = {name: one_motion(x, at, 2 if name == "control" and start.changes else 1) for name, x in rest.items()}
    options: dict[str, Any] = {name: alone.get(name) for name in ("parameters", "variables")}
    options |= {"steps": None if start.changes else start.count, "every": start.every, "dtype": alone["q"].dtype}
    try:
        rollout(alone["q"], alone.get("qd"), alone.get("control"), **options)
    except IntegrationError as error:
        return IntegrationError(f"motion {list(at)}: {error}", time=error.time, step=error.step, joint=error.joint)
    return IntegrationError(f"motion {list(at)} diverges or cannot go on", time=0.0, step=0)


def one_motion(x: np.ndarray, at: tuple, core: int) -> np.ndarray:
    """Return the part of an array (..., n), or (steps, ..., n) with `core` 2, that belongs to one motion."""
    if x.ndim == core:
        return x
    places = tuple(np.minimum(at, np.array(x.shape[core - 1 : -1]) - 1)) if len(at) == x.ndim - core else ()
    return x[(slice(None), *places)] if core == 2 else x[places]
