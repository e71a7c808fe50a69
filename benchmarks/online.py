"""Processor time of identification while a robot moves: microseconds a sample, seven joints at 1 kHz.

python benchmarks/online.py
"""

from __future__ import annotations

import time

import numpy as np

import qddot
from qddot.control import MomentumObserver
from qddot.identify import Log, OnlineIdentification, OnlinePayload, ParameterSet

SECONDS, RATE, CUTOFF = 20, 1000.0, 10.0


def main() -> None:
    robot = qddot.load("panda")
    parameters, draw = ParameterSet.of(robot), np.random.default_rng(0)
    t = np.arange(int(SECONDS * RATE)) / RATE
    w = 2 * np.pi * np.array([0.1, 0.23, 0.37, 0.6])
    a, b = draw.normal(size=(2, 4, robot.nv)) / 4
    middle = (robot.limits.lower + robot.limits.upper) / 2
    angle = np.outer(t, w)
    q = middle + np.sin(angle) @ a + np.cos(angle) @ b
    qd, qdd = (np.cos(angle) * w) @ a - (np.sin(angle) * w) @ b, -(np.sin(angle) * w**2) @ a - (np.cos(angle) * w**2) @ b
    theta = np.array([x or 0.5 for x in parameters.described])
    tau = parameters.matrix(q, qd, qdd) @ theta + 0.05 * draw.normal(size=q.shape)
    fit = robot.identify(Log(t, q, tau, joint_names=robot.joint_names), parameter_set=parameters, cutoff=CUTOFF)
    load = OnlinePayload(robot, noise=0.05, rate=RATE, memory=1.0, cutoff=CUTOFF)
    for name, online in (("parameters", OnlineIdentification(fit, rate=RATE, memory=30.0)), ("payload", load)):
        each = np.empty(len(t))
        for k in range(len(t)):
            start = time.process_time_ns()
            online.update(q[k], tau[k])
            each[k] = (time.process_time_ns() - start) / 1e3
        late = each[len(t) // 2 :]
        most = f"99 % below {np.quantile(late, 0.99):.0f} us"
        print(f"{name}: {len(online.names)} numbers, {robot.nv} joints, {late.mean():.1f} us a sample, {most}")
    observer = MomentumObserver(fit.robot, gain=50.0, period=1 / RATE)
    start = time.process_time_ns()
    for k in range(len(t)):
        observer.update(q[k], qd[k], tau[k])
    print(f"momentum observer: {(time.process_time_ns() - start) / 1e3 / len(t):.1f} us a sample")


if __name__ == "__main__":
    main()
