"""Draw what falls along a motion under each law that comes with a proof: storage or Lyapunov functions of an arm, over time.

python tools/draw_storage.py docs/images/storage.svg
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import matplotlib as mpl

mpl.use("svg")

import numpy as np
from matplotlib import pyplot as plt

import qddot
from qddot.control import Hold, HybridForcePosition, Impedance, MomentumObserver, SetPointPD, SlidingMode, Task
from qddot.pictures.look import LOOK

START, SPEED, GOAL = np.array([0.3, 1.0]), np.array([2.0, -3.0]), np.array([1.0, 0.5])
SECONDS, STEP = 1.5, 1e-3


def functions() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """A law, its function, times, and values."""
    arm = qddot.load("two_link")
    task = Task(arm, rows=("x", "y"))
    there = task.position(START)
    wall = qddot.point_on_plane(arm.tip, point=(there[0], 0, 0), normal=(1, 0, 0))
    along = arm.jacobian(START, reference="world_aligned")[3:5]
    laws = {
        "SetPointPD": (SetPointPD(arm, GOAL, kp=20, kd=4), SPEED, None),
        "Impedance": (Impedance(task, Hold(there), stiffness=200, damping=20), SPEED, None),
        "SlidingMode": (SlidingMode(arm, Hold(GOAL), bandwidth=5, kd=2, reach=3, width=0.05), SPEED, None),
        "HybridForcePosition": (
            HybridForcePosition(task, Hold([there[1] - 0.2]), force={"x": 10.0}, kp=60, kd=12),
            np.linalg.solve(along, [0.0, 0.3]),
            wall,
        ),
    }
    names = dict(zip(laws, ("V in J", "S in J", "S in J", "V in m$^2$/s$^2$")))
    for name, (law, qd, constraints) in laws.items():
        motion = arm.simulate(START, qd, SECONDS, torque=law, step=STEP, constraints=constraints)
        yield name, names[name], motion.t, np.array([law.storage(*x) for x in zip(motion.t, motion.q, motion.qd)])
    push = lambda t, q, qd: {arm.tip: [0, 0, 0, 0, -5.0 * (t < 0.5), 0]}  # noqa: E731
    motion = arm.simulate(START, None, SECONDS, torque=laws["SetPointPD"][0], step=STEP, f_ext=push)
    r = MomentumObserver(arm, gain=20, period=STEP).observe(motion.q, motion.qd, motion.tau)
    yield "MomentumObserver\n(a push until 0.5 s)", "r$^2$/2 in (N m)$^2$", motion.t, (r * r).sum(-1) / 2


def draw(path: str) -> None:
    plt.rcParams.update({**LOOK, "svg.fonttype": "none", "svg.hashsalt": "qddot"})
    figure, axes = plt.subplots(1, 5, figsize=(13, 2.8), layout="constrained")
    for ax, (name, what, t, value) in zip(axes, functions()):
        ax.semilogy(t, np.maximum(value, 1e-12), color="#0072B2")
        ax.set(title=name, xlabel="t in s", ylabel=what, ylim=(value.max() * 1e-5, value.max() * 2))
        ax.title.set_size(9)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(sys.argv[1])
