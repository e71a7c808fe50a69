"""`simulate`: from an initial state and a law for the joint forces to a trajectory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import flag, positive_number, shape_of, whole_number
from qddot.compile.arrays import DOUBLE, as_array
from qddot.compile.given import packed
from qddot.constraints.constrained import ConstrainedRobot
from qddot.errors import InputError, as_written, near_matches
from qddot.model.check import warn
from qddot.model.friction import DRY
from qddot.progress import shown
from qddot.simulate.adaptive import Adaptive
from qddot.simulate.dead_centre import PastDeadCentres
from qddot.simulate.dynamics import FAST, Dynamics, Forces, has_run_away
from qddot.simulate.events import Event, Moment, as_watches, march
from qddot.simulate.fixed_step import RULES, FixedStep, Guarded
from qddot.simulate.friction import DryFriction, without_dry_friction
from qddot.simulate.modes import Switching
from qddot.simulate.torque import Torque
from qddot.simulate.trajectory import Trajectory
from qddot.simulate.variational import Variational

if TYPE_CHECKING:
    from qddot.robot import Robot

FIXED = (*RULES, "variational")
ADAPTIVE = ("RK45", "DOP853", "Radau")
CLOSE = 1e-6  # a first state that violates its constraints by no more than this is projected onto them
MOST_STEPS = 1e8
PARTED = 1e-9  # times closer than this fraction of a step or period count as equal


def simulate(
    robot: Robot,
    q0: Any,
    qd0: Any,
    t: Any,
    *,
    torque: Any,
    f_ext: Any,
    f_tip: Any,
    constraints: Any,
    parameters: Any,
    variables: Any,
    events: Any,
    method: str,
    step: float,
    every: int,
    rtol: float,
    atol: float,
    saturate: bool,
    stops: bool,
    threads: int | None,
    progress: bool | None,
) -> Trajectory:
    """See `Robot.simulate`."""
    method = chosen_method(method)
    every = whole_number("every", every)
    rtol, atol = positive_number("rtol", rtol), positive_number("atol", atol)
    saturate, stops = flag("saturate", saturate), flag("stops", stops)
    progress = None if progress is None else flag("progress", progress)
    feeding = [body.drive_name for body in robot.model.bodies if body.drive.friction.least_damping < 0]
    if feeding:
        rule = f"negative damping of {', '.join(map(repr, feeding))} feeds energy: the motion may grow without bound"
        warn(rule, element=f"robot {robot.name!r}", fix="give a positive damping")
    if robot.nv == 0:
        raise InputError(f"{robot.name} has no degrees of freedom: nothing moves")
    dry, times = DryFriction(robot), sample_times(t, step)
    smooth = without_dry_friction(robot) if dry else robot
    under, numbers = constrained(smooth, constraints), {}
    if parameters is not None:
        numbers["parameters"] = inertial_parameters(robot, parameters)
    if variables is not None:
        refuse_variables(robot, under)
        numbers["variables"] = packed(robot.model.variables, variables, DOUBLE)
    q, qd = start(robot, q0, qd0, *(x.shape[:-1] for x in numbers.values()))
    numbers = {name: x if x.ndim == 1 else np.broadcast_to(x, (*q.shape[:-1], x.shape[-1])) for name, x in numbers.items()}
    law = Torque(robot, torque, times, q.shape[:-1], saturate)
    dynamics = Dynamics(smooth, Forces(robot, f_ext, f_tip), numbers, under, threads)
    switching = Switching(robot, dynamics, dry, stops)
    watches, found = as_watches(events, q.shape[:-1]), []
    refuse_beyond_stops(switching, q)
    law.begin(times[0], q, qd)
    check_first_state(dynamics, float(times[0]), q, qd, np.broadcast_to(law(times[0], q, qd), qd.shape))
    q, qd = switching.impact(*dynamics.settle(q, qd))
    samples = kept(times, every)
    refuse_too_large(robot, len(samples), q.shape[:-1])
    if method in ADAPTIVE:
        if q.ndim > 1:
            raise InputError(f"method={method!r} follows one motion, q0 has shape {q.shape}: use method='rk4' for a batch")
        states = Adaptive(switching, law, watches, found).solve(q, qd, samples, method, rtol, atol)
    else:
        explicit = None if method == "variational" else FixedStep(robot, switching, law, method)
        advance = explicit or Variational(robot, switching, law)
        if dynamics.constraints is not None:
            advance = PastDeadCentres(advance, switching, law, q, has_whole_step=explicit is not None and explicit.is_compiled)
        grid, guarded = time_grid(times, step, law.period), Guarded(robot, advance)
        ahead = None if isinstance(advance, Variational) else guarded.ahead(advance.ahead)
        states = march(guarded, q, qd, grid, np.isin(grid, samples), watches, found, ahead)
    times = samples
    seen = shown(states, "simulating", float(times[-1] - times[0]), lambda moment: moment[0] - float(times[0]), progress)
    return record(seen, len(times), robot, law, switching, found)


def chosen_method(method: Any) -> str:
    """Return the name of a method in its usual spelling; upper and lower case do not matter."""
    known = {name.lower(): name for name in (*FIXED, *ADAPTIVE)}
    if not isinstance(method, str) or method.lower() not in known:
        raise InputError(f"method={as_written(method)}: {near_matches(str(method)[:80], known.values())}")
    return known[method.lower()]


def record(states: Iterator[Moment], most: int, robot: Robot, law: Torque, switching: Switching, found: list[Event]) -> Trajectory:
    """Collect the states, and the joint forces applied there, in a trajectory."""
    n, t, q, qd, tau = 0, np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    for n, (when, position, speed) in enumerate(states, 1):
        if n == 1 or not law.is_constant:
            law.begin(when, position, speed)
            force = law(when, position, speed)
        if n == 1:
            t, q, qd = (np.empty((most + 1, *np.shape(x))) for x in (when, position, speed))
            tau = np.broadcast_to(force, (most + 1, *speed.shape)) if law.is_constant else np.empty(qd.shape)
        t[n - 1], q[n - 1], qd[n - 1] = when, position, speed
        if not law.is_constant:
            tau[n - 1] = force
    jumps, impacts = law.jumps(t[0], t[n - 1]), tuple(switching.impacts.values())
    return Trajectory(robot, t[:n], q[:n], qd[:n], tau[:n], tuple(found), switching, jumps, impacts)


def start(robot: Robot, q0: Any, qd0: Any, *numbers: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial states, checked, with one leading shape, which includes the shapes `numbers` of parameters of robots."""
    q = robot._evaluate.configuration("q0", q0)
    qd = as_array("qd0", np.zeros(robot.nv) if qd0 is None else qd0, (robot.nv,))
    try:
        batch = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1], *numbers)
    except ValueError:
        besides = ", ".join(map(str, numbers))
        raise InputError(
            f"leading dimensions of q0 {q.shape[:-1]}, qd0 {qd.shape[:-1]} and parameters or variables {besides} do not fit"
        ) from None
    return np.broadcast_to(q, (*batch, robot.nq)).copy(), np.broadcast_to(qd, (*batch, robot.nv)).copy()


def check_first_state(dynamics: Dynamics, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> None:
    """Refuse an initial state that has no accelerations or violates its constraints."""
    if has_run_away(q, qd):
        raise InputError(f"qd0 is up to {np.abs(qd).max():.3g}: speeds stay below {FAST:g} rad/s or m/s")
    if dynamics.constraints is None:
        dynamics.accelerate(t, q, qd, tau)
    else:
        dynamics.constraints.forward_dynamics(q, qd, tau, dynamics.wrench(t, q, qd).get("wrench"), None, CLOSE)


def refuse_beyond_stops(switching: Switching, q: np.ndarray) -> None:
    """Refuse an initial state with a joint beyond its stop."""
    x = q[..., switching.stop_q]
    beyond = (x < switching.lower) | (x > switching.upper)
    if beyond.any():
        k = int(np.argwhere(beyond)[0][-1])
        values, name = x[..., k].ravel(), switching.names[switching.shafts + k]
        value, lower, upper = float(values[beyond[..., k].ravel()][0]), switching.lower[k], switching.upper[k]
        hint = " (angles are radians)" if abs(value) > 2 * np.pi else ""
        raise InputError(
            f"q0 of joint {name!r} is {value:g}{hint}, beyond its limits [{lower:g}, {upper:g}]: start within, or use stops=False"
        )


def refuse_variables(robot: Robot, constraints: ConstrainedRobot | None) -> None:
    """Refuse variables for which a simulation would use the robot's own numbers. Raises InputError: constraints, or dry friction
    that could vary."""
    if constraints is not None:
        raise InputError(
            "simulate takes no variables under constraints: robot.rollout(stops=False) does; robot.with_values({...}) is one robot"
        )
    joints = {body.joint_name for body, sticks in zip(robot.model.bodies, robot.model.sticking) if sticks}
    for x in robot.model.variables:
        joint, _, what = x.name.rpartition(".")
        if what in DRY and joint in joints:
            raise InputError(
                f"{x.name} cannot vary in simulate, where dry friction sticks with the robot's own numbers: robot.rollout takes "
                f"it, or give the drive of {joint!r} a smoothing_velocity"
            )


def inertial_parameters(robot: Robot, given: Any) -> np.ndarray:
    """Return inertial parameters (..., 10 bodies), checked."""
    inertial, all_of_them = 10 * len(robot.body_names), len(robot.parameter_names)
    if shape_of("parameters", given)[-1:] == (all_of_them,) and all_of_them > inertial:
        raise InputError(
            f"parameters has {all_of_them} columns: only the first {inertial}, ten a link, may vary in a simulation; those of the "
            "drives belong to the robot"
        )
    return as_array("parameters", given, (inertial,))


def constrained(robot: Robot, constraints: Any) -> ConstrainedRobot | None:
    """Return the constraints of a simulation, None if there are none."""
    if constraints is False or (constraints is None and not any(c.active for c in robot.model.constraints)):
        return None
    found = ConstrainedRobot(robot._evaluate, constraints)
    return found if found.constraints else None


def sample_times(t: Any, step: float) -> np.ndarray:
    """Return the times of the samples: equal steps up to a final time or over a span, or the times given."""
    if t is None:
        raise InputError("how long? Give t, the final time in s: simulate(q0, t=5.0)")
    try:
        times, step = np.asarray(t, dtype=float), float(step)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"t={as_written(t)}, step={as_written(step)}: a final time or times, and a step, in seconds") from None
    if not np.isfinite(times).all() or not np.isfinite(step) or step <= 0:
        raise InputError(f"t={t!r}, step={step!r}: times and step are finite, and the step is positive")
    if times.ndim == 0:
        if times <= 0:
            raise InputError(f"t={float(times):g}: the final time is positive, s")
        times = np.array([0.0, float(times)])
    if times.ndim != 1 or len(times) < 2 or (np.diff(times) <= 0).any():
        raise InputError(f"t has shape {times.shape}: a final time, or one row of at least two times that increase")
    if len(times) > 2:
        return times
    first, last = times.tolist()  # a span, as SciPy's
    return np.linspace(first, last, refuse_too_many(np.ceil((last - first) / step * (1 - 1e-12))) + 1)


def refuse_too_many(steps: float) -> int:
    """Return the number of steps, at least one. Raises InputError: more than `MOST_STEPS`."""
    if steps > MOST_STEPS:
        raise InputError(f"{steps:.3g} steps are over the limit of {MOST_STEPS:.0e}: take longer ones, or simulate piece by piece")
    return max(int(steps), 1)


def refuse_too_large(robot: Robot, samples: int, batch: tuple[int, ...]) -> None:
    """Refuse more samples than fit into memory."""
    size = samples * math.prod(batch) * (robot.nq + 2 * robot.nv) * 8
    if size > memory():
        raise InputError(f"{samples} samples of {math.prod(batch)} motions take {size / 2**30:.0f} GiB: keep fewer with every=")


def memory() -> int:
    """Return the size of this computer's memory in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not POSIX
        return 2**36


def time_grid(times: np.ndarray, step: float, period: float | None) -> np.ndarray:
    """Return the times between which steps are taken: those of samples, subdivided so that no step is longer than `step`, and those
    at which a controller is sampled."""
    wanted = np.ceil(np.diff(times) / step * (1 - PARTED))
    refuse_too_many(wanted.sum() + (0 if period is None else (times[-1] - times[0]) / period))
    parts = np.maximum(wanted.astype(int), 1)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    grid = np.append(np.repeat(times[:-1], parts) + within * np.repeat(np.diff(times) / parts, parts), times[-1])
    if period is None:
        return grid
    sampled = np.arange(np.floor(times[0] / period) + 1, np.ceil(times[-1] / period)) * period
    nearest = np.abs(grid[np.clip(np.searchsorted(grid, sampled), 1, len(grid) - 1)[:, None] + [-1, 0]] - sampled[:, None]).min(-1)
    return np.sort(np.concatenate([grid, sampled[nearest > PARTED * period]]))


def kept(times: np.ndarray, every: int) -> np.ndarray:
    """Return each `every`-th time, and the last."""
    chosen = times[::every]
    return chosen if chosen[-1] == times[-1] else np.append(chosen, times[-1])
