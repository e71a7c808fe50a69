"""Draw the energy of a swinging arm over time, by explicit Euler and by methods that keep it.

python tools/draw_euler.py docs/images/euler_energy.svg
"""

from __future__ import annotations

import sys

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

import qddot
from qddot.pictures.look import LOOK

RUNS = (
    ("euler", 0.004, "#D55E00", "-"),
    ("euler", 0.002, "#E69F00", "-"),
    ("variational", 0.004, "#0072B2", "-"),
    ("rk4", 0.004, "#000000", "--"),
)


def draw(path: str) -> None:
    plt.rcParams.update({**LOOK, "svg.fonttype": "none", "svg.hashsalt": "qddot"})
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    arm = qddot.load("two_link")
    for method, step, color, line in RUNS:
        motion = arm.simulate([0.3, 0.4], None, 4.0, method=method, step=step)
        axes.plot(motion.t, motion.energy, line, color=color, label=f"{method}, h = {1000 * step:g} ms")
    axes.set(xlabel="t in s", ylabel="K + P in J")
    axes.legend(loc="upper left")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(sys.argv[1])
