"""What a fit says of logs in which something is wrong: is it noticed, and rightly named?

    python benchmarks/corruptions.py [--seeds 8] [--arms two_link arm3 ur5 panda] [--only NAME]

Each corruption is done to a simulated log with noise; the verdict's first serious concern is compared with the names that fit. A
corruption that is not refused is harmful where torques of another motion are off by more than 5 %.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

import qddot
from qddot.identify import Log, ParameterSet
from robots import case

HARM = 0.05
SECONDS, RATE = 20.0, 250.0


class World(NamedTuple):
    """An arm, its true parameters, and a log of it."""

    robot: qddot.Robot
    parameters: ParameterSet
    theta: np.ndarray
    log: Log
    draw: np.random.Generator


Change = Callable[[World], Log]


def with_(w: World, **arrays: np.ndarray) -> Log:
    return replace(w.log, **arrays)


def on(w: World, joint: int, f: Callable[[np.ndarray], np.ndarray]) -> Log:
    tau = w.log.tau.copy()
    tau[:, joint] = f(tau[:, joint])
    return with_(w, tau=tau)


def last(w: World) -> int:
    return w.robot.nv - 1


def some(w: World, share: float) -> np.ndarray:
    return w.draw.random(w.log.tau.shape) < share


def spiked(w: World) -> Log:
    hit = some(w, 5e-4)
    return with_(w, tau=np.where(hit, w.log.tau + 8 * w.log.tau.std(axis=0) * w.draw.choice([-1, 1], hit.shape), w.log.tau))


def dropped(w: World, share: float) -> Log:
    keep = w.draw.random(len(w.log)) > share
    return Log(w.log.t[: keep.sum()], w.log.q[keep], w.log.tau[keep], joint_names=w.log.joint_names)


def delayed(w: World, joint: int | None, seconds: float) -> Log:
    by = round(seconds * RATE)
    moved = np.concatenate([np.repeat(w.log.tau[:1], by, axis=0), w.log.tau[:-by]])
    tau = w.log.tau.copy()
    tau[:, slice(None) if joint is None else joint] = moved[:, slice(None) if joint is None else joint]
    return with_(w, tau=tau)


def exchanged(w: World, what: str) -> Log:
    order = np.arange(w.robot.nv)
    order[[0, 1]] = 1, 0
    return with_(w, **{name: getattr(w.log, name)[:, order] for name in what.split()})


def loaded(w: World) -> Log:
    tip = max(w.robot.body_names, key=lambda name: w.robot.model.mechanism.frames[name][0])
    mass = 0.3 * sum(float(link.inertia.mass) for link in w.robot.model.links if link.inertia)
    heavy = w.robot.with_payload(mass, frame=tip)
    zero = np.zeros_like(w.log.q)
    more = heavy.gravity_torque(w.log.q) - w.robot.gravity_torque(w.log.q) + 0 * zero
    return with_(w, tau=w.log.tau + more * (w.log.t > SECONDS / 2)[:, None])


def touched(w: World) -> Log:
    push = 3 * w.log.tau.std(axis=0) * np.exp(-(((w.log.t - 12) / 0.7) ** 2))[:, None]
    return with_(w, tau=w.log.tau + push)


def frozen(w: World) -> Log:
    q = w.log.q.copy()
    q[1000:1250, last(w)] = q[1000, last(w)]
    return with_(w, q=q)


def jumped(w: World) -> Log:
    q = w.log.q.copy()
    q[2000:, 0] += 0.5
    return with_(w, q=q)


def clipped(w: World, jitter: float) -> Log:
    top = np.quantile(np.abs(w.log.tau[:, 0]), 0.8)
    log = on(w, 0, lambda x: np.clip(x, -top, top))
    return replace(log, t=log.t + jitter / RATE * w.draw.uniform(-1, 1, len(log)))


CORRUPTIONS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "clean": (lambda w: w.log, ()),
    "jitter 1 %": (lambda w: replace(w.log, t=w.log.t + 0.01 / RATE * w.draw.uniform(-1, 1, len(w.log))), ()),
    "torque spikes 0.05 %": (spiked, ()),
    "torques rounded": (lambda w: with_(w, tau=np.round(w.log.tau, 1)), ()),
    "sign of a torque": (lambda w: on(w, last(w), np.negative), ("sign",)),
    "axis reversed": (
        lambda w: with_(w, q=w.log.q * np.r_[np.ones(last(w)), -1], tau=w.log.tau * np.r_[np.ones(last(w)), -1]),
        ("axis",),
    ),
    "joints exchanged": (lambda w: exchanged(w, "q tau"), ("order",)),
    "torques exchanged": (lambda w: exchanged(w, "tau"), ("order",)),
    "all torques 20 ms late": (lambda w: delayed(w, None, 0.02), ("delay",)),
    "one torque 100 ms late": (lambda w: delayed(w, last(w), 0.1), ("delay",)),
    "zero off 0.2 rad": (lambda w: with_(w, q=w.log.q + 0.2 * (np.arange(w.robot.nv) == 1)), ("zero",)),
    "gain of a joint 1.3": (lambda w: on(w, last(w), lambda x: 1.3 * x), ("gain",)),
    "no gravity": (lambda w: with_(w, tau=w.log.tau - w.robot.gravity_torque(w.log.q)), ("gravity",)),
    "dead channel": (lambda w: on(w, 0, lambda x: 0 * x), ("dead channel",)),
    "clipped": (lambda w: clipped(w, 0.0), ("clipped torques",)),
    "clipped, jitter 1 %": (lambda w: clipped(w, 0.01), ("clipped torques",)),
    "samples lost 2 %": (lambda w: dropped(w, 0.02), ("lost samples",)),
    "samples lost 10 %": (lambda w: dropped(w, 0.1), ("lost samples",)),
    "frozen position": (frozen, ("frozen channel",)),
    "position step 0.5 rad": (jumped, ("position step",)),
    "load from halfway": (loaded, ("load",)),
    "contact of 2 s": (touched, ("contact",)),
    "torques in N mm": (lambda w: with_(w, tau=1000 * w.log.tau), ("units",)),
    "degrees": (lambda w: with_(w, q=np.degrees(w.log.q)), ("units", "limits")),
    "milliseconds": (lambda w: replace(w.log, t=1000 * w.log.t), ("units", "time")),
}


def world(arm: str, seed: int) -> World:
    if arm == "arm3":
        robot = random_arm(seed, 3)
    elif arm == "two_link":
        robot = qddot.load("two_link")
    else:
        robot = case(arm).robot
    parameters = ParameterSet.of(robot)
    theta = truth(parameters, seed)
    log = simulated(parameters, theta, SECONDS, RATE, (1e-5, 0.05), seed)
    return World(robot, parameters, theta, log, np.random.default_rng(seed))


def harm(w: World, fit) -> float:
    q, qd, qdd = series(w.robot, np.arange(2000) / 100, seed=99)
    tau = w.parameter_set.matrix(q, qd, qdd) @ w.theta
    return float(np.linalg.norm(fit.predict(q, qd, qdd) - tau) / np.linalg.norm(tau))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--arms", nargs="*", default=["two_link", "arm3", "ur5", "panda"])
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    right = wrong = missed = alarms = total = clean = 0
    for name, (change, names) in CORRUPTIONS.items():
        if asked.only not in name:
            continue
        said: list[str] = []
        for arm in asked.arms:
            for seed in range(asked.seeds):
                w = world(arm, seed)
                try:
                    fit = w.robot.identify(change(w))
                    first = next((c.kind for c in fit.verdict.concerns if c.serious), None)
                    off = harm(w, fit)
                except qddot.QddotError as error:
                    first, off = f"refused: {str(error)[:60]}", 0.0
                if not names:
                    clean += 1
                    alarms += first is not None
                    said.append(f"ALARM {first}" if first else "ok" if off < HARM else f"HARM {off:.0%}")
                    continue
                total += 1
                right += first in names
                wrong += first is not None and first not in names
                missed += first is None and off > HARM
                said.append("ok" if first in names else f"{first}" if first else f"missed, off by {off:.1%}")
        print(f"{name:<24} " + "; ".join(f"{word} x{said.count(word)}" for word in dict.fromkeys(said)), flush=True)
    if total:
        print(f"named rightly {right / total:.1%}, wrongly {wrong / total:.1%}, missed and harmful {missed} of {total}")
    if clean:
        print(f"false alarms {alarms} of {clean}")


if __name__ == "__main__":
    main()
