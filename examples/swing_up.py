"""Swing up and balance: a pole on a cart and an acrobot, from hanging to upright, and from where the balance holds.

    python examples/swing_up.py [folder]        prints what happens, draws the region of attraction into the folder

Energy is pumped in until it is that of standing upright; near the top an LQR takes over (Astrom and Furuta 2000, Xin and Kaneda
2007).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import qddot

UPRIGHT = np.pi
FORCE = 20.0  # N: the most that drives the cart


class SwingUp:
    """`pump` until the cost `x^T S x` of the balance is below `level`, then the balance for good; asked every 4 ms."""

    period = 4e-3

    def __init__(self, robot, balance, pump, level):
        self.robot, self.balance, self.pump, self.level = robot, balance, pump, level
        self.caught = None

    def __call__(self, t, q, qd):
        wound = q.copy()
        turning = [c.q.start for c in self.robot.model.mechanism.coordinates if c.kind == "continuous"]
        goal = self.balance.linearization.q
        wound[turning] = goal[turning] + np.remainder(q[turning] - goal[turning] + np.pi, 2 * np.pi) - np.pi
        if self.caught is None and self.balance.cost(wound, qd) < self.level:
            self.caught = t
        return self.pump(t, wound, qd) if self.caught is None else self.balance(t, wound, qd)


def follow_acceleration(robot, q, qd, driven, wanted):
    """The joint force that gives one joint a wanted acceleration, the other being free (partial feedback linearisation)."""
    other = 1 - driven
    M, h = robot.mass_matrix(q), robot.bias_torque(q, qd)
    swing = -(M[other, driven] * wanted + h[other]) / M[other, other]
    tau = np.zeros(2)
    tau[driven] = M[driven, driven] * wanted + M[driven, other] * swing + h[driven]
    return tau


def cart_pole():
    """The robot, and the law that swings it up: the cart's acceleration pumps the pole's energy towards that of standing."""
    robot = qddot.load("cart_pole")
    top = robot.potential_energy([0, UPRIGHT])

    def pump(t, q, qd):
        energy = robot.mass_matrix(q)[1, 1] * qd[1] ** 2 / 2 + robot.potential_energy(q)
        wanted = 12.0 * (energy - top) * np.cos(q[1]) * qd[1] - 2.0 * q[0] - 1.5 * qd[0]
        return follow_acceleration(robot, q, qd, 0, np.clip(wanted, -8, 8))

    balance = robot.linearize([0, UPRIGHT], actuated=["slider"]).lqr(Q=[10, 50, 1, 5], R=0.1)
    return robot, SwingUp(robot, balance, pump, level=6.0)


def acrobot():
    """The robot, and the law of Xin and Kaneda (2007): the elbow pumps energy in, `dE/dt = k (E_top - E) qd2^2`, and a
    spring keeps the arm straight."""
    robot = qddot.load("acrobot")
    top = robot.potential_energy([UPRIGHT, 0])

    def pump(t, q, qd):
        short = top - robot.hamiltonian(q, qd)
        return np.array([0.0, np.clip(2.3769 * short * qd[1] - 24.0 * q[1] - 0.2 * qd[1], -20, 20)])

    balance = robot.linearize([UPRIGHT, 0], actuated=["elbow"]).lqr(Q=[10, 10, 1, 1], R=1.0)
    return robot, SwingUp(robot, balance, pump, level=1.0)


def region(motions=1_000_000, seconds=4.0):
    """Angles and speeds (n,) of the pole, and from which of them the balance holds, by rollouts of all at once."""
    robot, law = cart_pole()
    K = law.balance.K[0]

    def feedback(x):  # at most FORCE, as a motor has it
        force = -(K[0] * x.q[0] + K[1] * (x.q[1] - UPRIGHT) + K[2] * x.qd[0] + K[3] * x.qd[1])
        return [x.where_positive(force - FORCE, FORCE, x.where_positive(-FORCE - force, -FORCE, force)), 0.0]

    n = int(np.sqrt(motions))
    angle, speed = (a.ravel() for a in np.meshgrid(np.linspace(-1.6, 1.6, n), np.linspace(-12, 12, n)))
    q0 = np.stack([np.zeros_like(angle), UPRIGHT + angle], axis=1)
    qd0 = np.stack([np.zeros_like(angle), speed], axis=1)
    steps = round(seconds / 4e-3)
    run = robot.rollout(feedback, step=4e-3, method="rk4", stops=False, saturate=False)
    with np.errstate(all="ignore"):
        q, qd = run(q0, qd0, None, steps=steps, every=steps)
    return angle, speed, (np.abs(q[-1, :, 1] - UPRIGHT) < 0.05) & (np.abs(qd[-1, :, 1]) < 0.5)


def draw(path, angle, speed, holds):
    import matplotlib.pyplot as plt

    n = int(np.sqrt(len(angle)))
    figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
    grid = [x.reshape(n, n) for x in (angle, speed, holds.astype(float))]
    axes.contourf(*grid, levels=[0.5, 1.5], colors=["#009E73"])
    axes.set(xlabel="angle from upright, rad", ylabel="its rate, rad/s")
    axes.set_title(f"The balance holds from here ({len(angle):,} rollouts)")
    figure.savefig(path, dpi=120)


def swing(name, seconds):
    """The motion from hanging, when the balance took over, s, and how far from upright it ends."""
    robot, law = {"cart-pole": cart_pole, "acrobot": acrobot}[name]()
    start = {"cart-pole": [0.0, 0.01], "acrobot": [0.05, 0.0]}[name]
    motion = robot.simulate(start, None, seconds, torque=law, step=4e-3, stops=False, saturate=False)
    goal = law.balance.linearization.q
    left = law.balance.deviation(goal + np.sin(motion.q[-1] - goal), motion.qd[-1])
    return motion, law.caught, float(np.abs(left).max())


def main() -> None:
    for name in ("cart-pole", "acrobot"):
        _, caught, left = swing(name, 15.0)
        print(f"{name}: caught after {caught:.2f} s, deviation at the end {left:.1e}")
    angle, speed, holds = region()
    print(f"region of attraction: {holds.mean():.1%} of {len(angle):,} states")
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]) / "cart_pole_region.png", angle, speed, holds)


if __name__ == "__main__":
    main()
