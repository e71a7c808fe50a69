"""A pendulum on a cart swings up and stands, by iterative LQR with exact derivatives.

    python examples/ilqr_swing_up.py

Each round linearises the motion step by step (`Rollout.linear`), solves the linear-quadratic problem backwards, and takes the best
of some step lengths along its feedback law, all in one batch (Li and Todorov 2004).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import qddot

STEPS, STEP = 150, 0.02
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])
RUNNING, EFFORT = STEP * np.diag([0.1, 0.1, 0.01, 0.01]), STEP * 0.005
FINAL = np.diag([100.0, 500.0, 20.0, 20.0])
LARGEST = 20.0  # N
LENGTHS = 0.6 ** np.arange(12)  # of a step along the new law, tried all at once


def solve(rounds: int = 200, tolerance: float = 1e-7) -> dict[str, np.ndarray]:
    """The states (steps + 1, 4), the forces (steps,) and the cost after each round that lowered it."""
    run = qddot.load("cart_pole").rollout(step=STEP, stops=False, saturate=False)
    states, force = motion(run, lambda k, x: np.zeros(len(x)), 1)
    costs, caution = [cost(states, force)[0]], 1.0
    states, force = states[:, 0], force[:, 0]
    while len(costs) <= rounds and caution < 1e8:
        feed, gain = backward(run, states, force, caution)
        x, u = states, force
        tried, forces = motion(run, lambda k, y: u[k] + LENGTHS * feed[k] + (y - x[k]) @ gain[k], len(LENGTHS))  # noqa: B023
        values = cost(tried, forces)
        best = int(np.argmin(values))
        if not values[best] < costs[-1]:
            caution *= 10
            continue
        states, force, caution = tried[:, best], forces[:, best], max(caution / 5, 1e-9)
        costs.append(values[best])
        if costs[-2] - costs[-1] < tolerance * costs[-1]:
            break
    return {"states": states, "force": force, "cost": np.array(costs)}


def motion(run, law: Callable[[int, np.ndarray], np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """States (steps + 1, count, 4) from rest under laws of step and state, and the forces (steps, count) they gave."""
    states, forces = [np.zeros((count, 4))], []
    for k in range(STEPS):
        forces.append(np.clip(law(k, states[-1]), -LARGEST, LARGEST))
        tau = np.stack([forces[-1], np.zeros(count)], -1)
        after = run(states[-1][:, :2], states[-1][:, 2:], tau, steps=1)
        states.append(np.concatenate([after.q[-1], after.qd[-1]], -1))
    return np.array(states), np.array(forces)


def cost(states: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Of each motion of a batch."""
    error = states - UPRIGHT
    running = np.einsum("tbi,ij,tbj->b", error[:-1], RUNNING, error[:-1]) + EFFORT * np.square(forces).sum(0)
    return running + np.einsum("bi,ij,bj->b", error[-1], FINAL, error[-1])


def backward(run, x: np.ndarray, u: np.ndarray, caution: float) -> tuple[np.ndarray, np.ndarray]:
    """The feed-forward (steps,) and feedback (steps, 4) of the linear-quadratic problem along a motion."""
    A, B = run.linear(x[:-1, :2], x[:-1, 2:], np.stack([u, np.zeros(STEPS)], -1))
    slope, bend = 2 * FINAL @ (x[-1] - UPRIGHT), 2 * FINAL
    feed, gain = np.empty(STEPS), np.empty((STEPS, 4))
    for k in reversed(range(STEPS)):
        a, b = A[k], B[k][:, 0]
        Qx, Qu = 2 * RUNNING @ (x[k] - UPRIGHT) + a.T @ slope, 2 * EFFORT * u[k] + b @ slope
        Qxx, Qux, Quu = 2 * RUNNING + a.T @ bend @ a, b @ bend @ a, 2 * EFFORT + b @ bend @ b
        feed[k], gain[k] = -Qu / (Quu + caution), -Qux / (Quu + caution)
        slope = Qx + gain[k] * (Quu * feed[k] + Qu) + Qux * feed[k]
        bend = Qxx + np.outer(gain[k], gain[k]) * Quu + np.outer(gain[k], Qux) + np.outer(Qux, gain[k])
    return feed, gain


def main() -> None:
    found = solve()
    for k in range(0, len(found["cost"]), 10):
        print(f"round {k:3d}   cost {found['cost'][k]:10.3f}")
    place, angle, *_ = found["states"][-1]
    print(
        f"after {STEPS * STEP:g} s the cart is at {place:.3f} m and the pole {np.degrees(angle - np.pi):.2f} degrees from upright;"
    )
    print(f"{len(found['cost']) - 1} rounds, cost {found['cost'][-1]:.3f}, force up to {np.abs(found['force']).max():.1f} N")


if __name__ == "__main__":
    main()
