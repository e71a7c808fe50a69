"""Rollouts a second: motions of the Panda over 1,000 steps of order four, in batches, beside MuJoCo's `rollout` of the same model.

    .venv/bin/python benchmarks/rollouts.py        prints a table, writes benchmarks/rollouts.json

Both integrate the same 7 joints from the same states with the same constant joint forces by the classic Runge-Kutta method, without
contacts, limits or friction, and return every state. Shares of one batch are timed in turn, with one thread and with two.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np
import table

from robots import Case, case

STEPS, STEP, BATCH = 1000, 1e-3, 4096
TARGET = 10.0


def mujoco_model(robot: Case) -> mujoco.MjModel:
    """The same URDF, without what the other does not compute."""
    model = mujoco.MjModel.from_xml_path(str(robot.urdf))
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


class Ours:
    def __init__(self, robot: Case) -> None:
        self.robot = robot.robot

    def run(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, threads: int) -> np.ndarray:
        """The last states."""
        options = {"stops": False, "saturate": False, "threads": threads}
        motion = self.robot.simulate(q, qd, STEPS * STEP, torque=tau, step=STEP, **options)
        return np.concatenate([motion.q[-1], motion.qd[-1]], axis=-1)


class MuJoCo:
    def __init__(self, robot: Case) -> None:
        self.model = mujoco_model(robot)

    def run(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, threads: int) -> np.ndarray:
        start = np.concatenate([np.zeros((len(q), 1)), q, qd], axis=-1)
        data = [mujoco.MjData(self.model) for _ in range(threads)]
        force = np.broadcast_to(tau[:, None], (len(q), STEPS, tau.shape[-1])).copy()
        spec = mujoco.mjtState.mjSTATE_QFRC_APPLIED
        states, _ = mujoco.rollout.rollout(self.model, data, start, force, control_spec=spec.value)
        return states[:, -1, 1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=int, default=16, help="MuJoCo runs this part of the batch in each round")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    panda = case("panda")
    q, qd, tau = panda.q[:BATCH], panda.qd[:BATCH] * 0.1, panda.robot.gravity_torque(panda.q[:BATCH])
    few = BATCH // arguments.share
    libraries = {"qddot": (Ours(panda), BATCH), "MuJoCo": (MuJoCo(panda), few)}
    ends = [library.run(q[:16], qd[:16], tau[:16], 1) for library, _ in libraries.values()]
    deviation = abs(ends[0] - ends[1]).max()
    rates: dict[tuple[str, int], list[float]] = {(name, k): [] for name in libraries for k in (1, 2)}
    for _ in range(arguments.rounds):
        for (name, threads), found in rates.items():
            library, count = libraries[name]
            start = time.perf_counter()
            library.run(q[:count], qd[:count], tau[:count], threads)
            found.append(count / (time.perf_counter() - start))
    rows, results = [], {"deviation": float(deviation), "batch": BATCH, "MuJoCo's share of it": few}
    for threads in (1, 2):
        ours, other = (float(np.median(rates[name, threads])) for name in ("qddot", "MuJoCo"))
        ratio = float(np.median([a / b for a, b in zip(rates["qddot", threads], rates["MuJoCo", threads])]))
        verdict = f"target {TARGET:g} " + ("met" if ratio >= TARGET else "MISSED")
        rows.append((str(threads), f"{ours:.0f}", f"{other:.0f}", f"{ratio:.1f}", verdict))
        results[f"{threads} threads"] = {"qddot": ours, "MuJoCo": other, "ratio": ratio}
    print(table.plain(("threads", "qddot [1/s]", "MuJoCo [1/s]", "ratio", ""), rows))
    print(f"largest difference of a final state: {deviation:.1e}")
    Path(__file__).with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
