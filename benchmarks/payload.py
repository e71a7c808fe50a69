"""How well a load of 3 kg is found on an arm that was identified before: off by how much, in mass and in centre of mass.

    python benchmarks/payload.py [--arms ur5 panda arm3] [--seeds 4]

The arm has friction and noise as in `corruptions.py`, is identified from one log, and carries the load in another one.
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from corruptions import NOISE, RATE, SECONDS, World, world
from tests.identify.simulated import series

from qddot.identify import Log, payload

MASS, CENTRE = 3.0, np.array([0.02, 0.03, 0.08])


def carrying(w: World, tip: str, seed: int) -> Log:
    """A log of another motion with the load."""
    heavy = w.robot.with_payload(MASS, com=tuple(CENTRE), frame=tip)
    t, draw = np.arange(0, SECONDS, 1 / RATE), np.random.default_rng(seed)
    motion = series(w.robot, t, seed + 50)
    tau = w.torque(*motion) + heavy.inverse_dynamics(*motion) - w.robot.inverse_dynamics(*motion)
    q, tau = (x + size * draw.normal(size=x.shape) for x, size in zip((motion[0], tau), NOISE))
    return Log(t, q, tau, joint_names=w.robot.joint_names)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", nargs="*", default=["ur5", "panda", "arm3"])
    parser.add_argument("--seeds", type=int, default=4)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    inside: list[bool] = []
    for arm in asked.arms:
        for seed in range(asked.seeds):
            w = world(arm, seed)
            tip = max(w.robot.body_names, key=lambda name: w.robot.model.mechanism.frames[name][0])
            found = payload(w.given.identify(w.log), carrying(w, tip, seed), frame=tip)
            off = 1e3 * float(np.linalg.norm(np.array(found.inertia.com, float) - CENTRE))
            inside += [bool(low <= x <= high) for x, (low, high) in zip((MASS, *(MASS * CENTRE)), found.intervals)]
            print(
                f"{arm:<6} {seed}: mass off by {found.inertia.mass / MASS - 1:+.3%}, centre by {off:.2f} mm, {found.verdict}",
                flush=True,
            )
    print(f"{np.mean(inside):.1%} of {len(inside)} intervals of mass and moments hold the truth")


if __name__ == "__main__":
    main()
