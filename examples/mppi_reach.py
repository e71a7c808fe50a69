"""A Panda reaches for a point by model-predictive path integral control: thousands of rollouts a step, no gradient.

    python examples/mppi_reach.py [--samples 4096] [--seconds 1.5]

Each sample is a sequence of joint accelerations around the present plan, which inverse dynamics turns into torques the motors can
give. All are rolled out in one compiled batch, and the plan moves to their average, weighted by `exp(-cost / temperature)`
(Williams, Aldrich and Theodorou 2017).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import qddot

HORIZON, STEP = 50, 0.01  # steps of a plan, s
SIGMA = 12.0  # rad/s^2
TEMPERATURE = 0.02
GOAL = np.array([0.45, -0.35, 0.35])  # m
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])


def law(x):
    """The torques of wanted accelerations, less some damping."""
    return x.inverse_dynamics([u - 3.0 * v for u, v in zip(x.control, x.qd)])


def reach(samples: int = 4096, seconds: float = 1.5, seed: int = 0) -> dict[str, np.ndarray]:
    """The distance of the tip from the goal after each step, and how long each plan took."""
    robot = qddot.load("panda")
    run, rng = robot.rollout(law, step=STEP, stops=False), np.random.default_rng(seed)
    tip = lambda q: robot.transform(q)[..., :3, 3]  # noqa: E731
    q, qd, plan = START.copy(), np.zeros(7), np.zeros((HORIZON, 7))
    distance, spent = [], []
    for _ in range(round(seconds / STEP)):
        began = time.perf_counter()
        noise = SIGMA * rng.normal(size=(HORIZON, samples, 7))
        states = run(np.broadcast_to(q, (samples, 7)), qd, plan[:, None] + noise)
        away = np.linalg.norm(tip(states.q[1:]) - GOAL, axis=-1)
        cost = away.mean(0) + 2 * away[-1] + 0.01 * np.square(states.qd[-1]).sum(-1) + 1e-4 * np.square(states.qd[1:]).sum((0, 2))
        weight = np.exp(-(cost - cost.min()) / TEMPERATURE)
        plan = plan + np.einsum("s,tsj->tj", weight / weight.sum(), noise)
        spent.append(time.perf_counter() - began)
        after = run(q, qd, plan[:1])
        q, qd, plan = after.q[-1], after.qd[-1], np.concatenate([plan[1:], np.zeros((1, 7))])
        distance.append(np.linalg.norm(tip(q) - GOAL))
    return {"distance": np.array(distance), "spent": np.array(spent)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--samples", type=int, default=4096)
    options.add_argument("--seconds", type=float, default=1.5)
    asked = options.parse_args()
    found = reach(asked.samples, asked.seconds)
    for k in range(9, len(found["distance"]), 10):
        print(f"{(k + 1) * STEP:5.2f} s   {1000 * found['distance'][k]:7.1f} mm from the goal")
    print(f"{1000 * np.median(found['spent']):.0f} ms a plan: {asked.samples} samples of {HORIZON} steps")


if __name__ == "__main__":
    main()
