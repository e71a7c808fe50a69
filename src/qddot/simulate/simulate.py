"""From a state and a law for the joint forces to a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError, near_matches
from qddot.simulate.fixed_step import RungeKutta, State, steps
from qddot.simulate.torque import Torque
from qddot.simulate.trajectory import Event, Trajectory
from qddot.simulate.variational import Variational

if TYPE_CHECKING:
    from qddot.robot import Robot

FIXED = ("rk4", "variational")
ADAPTIVE = ("RK45", "DOP853", "Radau")


def simulate(
    robot: Robot,
    q0: Any,
    qd0: Any,
    t: Any,
    *,
    torque: Any = None,
    f_ext: Any = None,
    f_tip: Any = None,
    method: str = "rk4",
    step: float = 1e-3,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    saturate: bool = True,
    stops: bool = True,
) -> Trajectory:
    """See `Robot.simulate`."""
    if method not in (*FIXED, *ADAPTIVE):
        raise InputError(f"method={method!r}: {near_matches(method, (*FIXED, *ADAPTIVE))}")
    q, qd = start(robot, q0, qd0)
    times = time_grid(t, step)
    law = Torque(robot, torque, times, saturate)
    forces = {name: x for name, x in (("f_ext", f_ext), ("f_tip", f_tip)) if x is not None}
    events: list[Event] = []
    if method == "variational":
        states: Iterable[State] = steps(Variational(robot, law, forces), robot, q, qd, times)
    elif method == "rk4":
        states = steps(RungeKutta(robot, law, forces, stops=stops), robot, q, qd, times)
    else:
        if q.ndim > 1:
            raise InputError(
                f"method={method!r} follows one motion at a time, q0 has shape {q.shape}: use method='rk4' for a batch"
            )
        from qddot.simulate.adaptive import Hybrid, solve

        states = solve(Hybrid(robot, law, forces, stops=stops), q, qd, times, method, rtol, atol, events)
    found = [(*state, tau) for state, tau in driven(states, law, times)]
    qs, qds, tau = (np.stack(x) for x in zip(*found))
    return Trajectory(robot, times, qs, qds, tau, accelerations(robot, qs, qds, tau, forces), events=tuple(events))


def driven(states: Iterable[State], law: Torque, times: np.ndarray) -> Iterator[tuple[State, np.ndarray]]:
    """Each state with the joint forces applied there."""
    for t, (q, qd) in zip(times, states):
        law.begin(t, q, qd)
        yield (q, qd), np.broadcast_to(law(t, q, qd), qd.shape)


def accelerations(robot: Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, forces: dict[str, Any]) -> np.ndarray:
    return robot.forward_dynamics(q, qd, tau, **forces)


def start(robot: Robot, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    """Checked and with one leading shape."""
    read = robot._evaluate.prepared
    q, qd = read("q", q0, (robot.nq,)), read("qd", np.zeros(robot.nv) if qd0 is None else qd0, (robot.nv,))
    batch = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
    return np.broadcast_to(q, (*batch, robot.nq)).copy(), np.broadcast_to(qd, (*batch, robot.nv)).copy()


def time_grid(t: Any, step: float) -> np.ndarray:
    """Equal steps up to a final time, or the times given."""
    times = np.asarray(t, dtype=float)
    if not np.isfinite(times).all() or not np.isfinite(step) or step <= 0:
        raise InputError("times and step are finite, and the step is positive")
    if times.ndim == 0:
        if times < 0:
            raise InputError(f"the final time {times:g} s is negative")
        count = max(int(np.ceil(float(times) / step * (1 - 1e-12))), 1)
        return np.linspace(0.0, float(times), count + 1)
    if times.ndim != 1 or len(times) < 2 or (np.diff(times) <= 0).any():
        raise InputError("times are one row of numbers that increase")
    return times
