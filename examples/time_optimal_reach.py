"""The fastest motion from one pose to another within torque limits, by CasADi's `Opti` and the robot's exact dynamics.

    python examples/time_optimal_reach.py

Trapezoidal collocation: states and torques at equal times, the final time free. The dynamics come as a CasADi function that IPOPT
differentiates twice. Where time is all that counts, the torques are at their limits almost everywhere.
"""

from __future__ import annotations

import casadi
import numpy as np

import qddot

INTERVALS, LIMIT = 60, np.array([20.0, 8.0])  # N m
START, GOAL = np.array([-np.pi / 2, 0.0]), np.array([0.5, 1.0])


def solve() -> dict[str, np.ndarray]:
    """Times (n + 1,), positions, speeds and torques (n + 1, 2) of the fastest motion."""
    robot = qddot.load("two_link")
    accelerate = robot.casadi("forward_dynamics")
    opti = casadi.Opti()
    duration = opti.variable()
    q, qd, tau = (opti.variable(2, INTERVALS + 1) for _ in range(3))
    h = duration / INTERVALS
    found = accelerate.map(INTERVALS + 1)(q, qd, tau)
    qdd = found[0] if isinstance(found, tuple) else found
    for x, rate in ((q, qd), (qd, qdd)):
        opti.subject_to(x[:, 1:] - x[:, :-1] == h / 2 * (rate[:, 1:] + rate[:, :-1]))
    for row, most in enumerate(LIMIT):
        opti.subject_to(opti.bounded(-most, tau[row, :], most))
    for x, begin, end in ((q, START, GOAL), (qd, np.zeros(2), np.zeros(2))):
        opti.subject_to(x[:, 0] == begin)
        opti.subject_to(x[:, -1] == end)
    opti.subject_to(duration >= 0.1)
    opti.minimize(duration)
    opti.set_initial(duration, 2.0)
    opti.set_initial(q, np.linspace(START, GOAL, INTERVALS + 1).T)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    answer = opti.solve()
    states = {name: answer.value(x).T for name, x in (("q", q), ("qd", qd), ("tau", tau))}
    return {"t": np.linspace(0, answer.value(duration), INTERVALS + 1), **states}


def main() -> None:
    found = solve()
    busy = np.mean(np.any(np.abs(found["tau"]) > 0.99 * LIMIT, axis=1))
    print(
        f"{found['t'][-1]:.3f} s from {START.round(2)} to {GOAL.round(2)}; a torque is at its limit {100 * busy:.0f} % of the time"
    )


if __name__ == "__main__":
    main()
