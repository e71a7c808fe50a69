"""Balls in a box: time a step, energy and penetration of time stepping, beside MuJoCo's step of the same heap.

    .venv/bin/python benchmarks/contact.py [--balls 50]

The two do not solve the same problem: here Coulomb's law holds exactly and bodies are rigid, there contacts are soft. What is
compared is what a user waits for, and what happens to the heap.
"""

from __future__ import annotations

import argparse
import time

import mujoco
import numpy as np

from qddot import Inertia
from qddot.contact import Contacts, Plane, Sphere, simulate
from qddot.model.description import Joint, Link
from qddot.model.model import Model
from qddot.robot import Robot

RADIUS, MASS, STEP, DURATION, SIDE = 0.1, 0.5, 4e-3, 1.2, 4


def centers(n: int) -> np.ndarray:
    rng, k = np.random.default_rng(0), np.arange(n)
    layer, place = np.divmod(k, SIDE * SIDE)
    grid = np.stack([0.11 + 0.22 * (place % SIDE), 0.11 + 0.22 * (place // SIDE), 0.12 + 0.23 * layer], axis=1)
    return grid + rng.uniform(-0.005, 0.005, (n, 3))


def ours(n: int) -> tuple[float, float, float]:
    """s a step, the largest gain of energy in a step as a share, and the deepest penetration, m."""
    links = [Link("base"), *(Link(f"ball{k}", Inertia.sphere(MASS, RADIUS)) for k in range(n))]
    robot = Robot(Model("balls", links, [Joint(f"free{k}", "free", "base", f"ball{k}") for k in range(n)]))
    w = SIDE * 0.22
    walls = [Plane(), Plane((0, 0, 0), (1, 0, 0)), Plane((w, 0, 0), (-1, 0, 0))]
    walls += [Plane((0, 0, 0), (0, 1, 0)), Plane((0, w, 0), (0, -1, 0))]
    contacts = Contacts(robot, [Sphere(f"ball{k}", RADIUS) for k in range(n)], walls, friction=0.3)
    q = robot.neutral().reshape(n, 7)
    q[:, 4:] = centers(n)
    simulate(contacts, q.ravel(), None, STEP, step=STEP)
    begin = time.process_time()
    motion = simulate(contacts, q.ravel(), None, DURATION, step=STEP)
    spent = (time.process_time() - begin) / (len(motion.t) - 1)
    return spent, float(np.diff(motion.energy).max() / motion.energy[0]), float(motion.depth.max())


def theirs(n: int) -> tuple[float, float, float]:
    w = SIDE * 0.22
    planes = [("0 0 0", "0 0 1"), ("0 0 0", "1 0 0"), (f"{w} 0 0", "-1 0 0"), ("0 0 0", "0 1 0"), (f"0 {w} 0", "0 -1 0")]
    floor = "".join(f'<geom type="plane" size="2 2 .1" pos="{p}" zaxis="{z}" friction="0.3 0 0"/>' for p, z in planes)
    ball = f'<freejoint/><geom type="sphere" size="{RADIUS}" mass="{MASS}" friction="0.3 0 0"/>'
    bodies = "".join(f'<body pos="{" ".join(map(str, c))}">{ball}</body>' for c in centers(n))
    text = f'<mujoco><option timestep="{STEP}" cone="elliptic"/><worldbody>{floor}{bodies}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    energies, deepest, steps = [], 0.0, round(DURATION / STEP)
    begin = time.process_time()
    for _ in range(steps):
        mujoco.mj_step(model, data)
        energies.append(data.energy.sum())
        deepest = max(deepest, -min((c.dist for c in data.contact), default=0.0))
    spent = (time.process_time() - begin) / steps
    return spent, float(np.diff(energies[1:]).max() / abs(energies[1])), deepest


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--balls", type=int, default=50)
    n = parser.parse_args().balls
    for name, (spent, gain, depth) in (("qddot", ours(n)), ("MuJoCo", theirs(n))):
        print(f"{name:8} {n} balls: {spent * 1e3:8.2f} ms a step, largest gain of energy {gain:9.1e}, deepest {depth * 1e3:.3f} mm")


if __name__ == "__main__":
    main()
