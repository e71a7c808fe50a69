"""Quadrupeds in a batch, and balls in a box: time a step, energy and penetration of time stepping, beside MuJoCo's steps.

    .venv/bin/python benchmarks/contact.py [--balls 50]

The two do not solve the same problem: here Coulomb's law holds exactly and bodies are rigid, there contacts are soft. What is
compared is what a user waits for, and what happens to the heap.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

import qddot
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


def quadruped(batch: int = 256, steps: int = 40) -> tuple[float, float]:
    """s a step of each of many quadrupeds that stand under a law of their joints, on one thread: here, and in MuJoCo."""
    robot = qddot.load("quadruped")
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    contacts = Contacts(robot, [Sphere(name, 0.02) for name in feet], [Plane()], friction=0.6, among=False)
    goal = [0.0, 0.7, -1.4] * 4
    law = lambda x: [0.0] * 6 + [80 * (a - b) - 2 * v for a, b, v in zip(goal, x.q[7:], x.qd[6:])]  # noqa: E731
    run = robot.rollout(law, step=1e-3, contacts=contacts, threads=1)
    q = np.tile(robot.neutral(), (batch, 1))
    q[:, 7:] = goal
    q[:, 6] = 0.02 - min(robot.transform(q[0], frame=name)[2, 3] for name in feet)
    model = standing_model(robot, feet)
    data = mujoco.MjData(model)
    run(q, None, steps=1)
    ours = theirs = np.inf
    for _ in range(10):
        begin = time.process_time()
        run(q, None, steps=steps, every=steps)
        ours = min(ours, (time.process_time() - begin) / steps / batch)
        data.qpos[:], data.qvel[:] = [*q[0, 4:7], *q[0, :4], *goal], 0
        begin = time.process_time()
        for _ in range(steps):
            data.qfrc_applied[6:] = 80 * (goal - data.qpos[7:]) - 2 * data.qvel[6:]
            mujoco.mj_step(model, data)
        theirs = min(theirs, (time.process_time() - begin) / steps)
    assert data.ncon == 4
    return ours, theirs


def standing_model(robot: Robot, feet: list[str]) -> mujoco.MjModel:
    """The same legs in MuJoCo: from URDF, with a floor under its feet."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        robot.to_urdf(path)
        spec = mujoco.MjSpec.from_file(str(path))
    spec.option.timestep, spec.option.cone = 1e-3, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.compiler.boundinertia = 1e-6  # kg m^2: it takes no thin rods
    for name in feet:
        link, rest = robot.model.bodies[robot.model.frame(name)[0]].name, robot.neutral()
        place = np.linalg.inv(robot.transform(rest, frame=link)) @ robot.transform(rest, frame=name)
        spec.body(link).add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], pos=place[:3, 3], mass=0)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    return spec.compile()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--balls", type=int, default=50)
    n = parser.parse_args().balls
    found, peer = quadruped()
    beside = f"MuJoCo's mj_step {peer * 1e6:.1f} us, {peer / found:.1f} times"
    print(f"quadruped, in a batch of 256: {found * 1e6:.1f} us a step ({beside})")
    for name, (spent, gain, depth) in (("qddot", ours(n)), ("MuJoCo", theirs(n))):
        print(f"{name:8} {n} balls: {spent * 1e3:8.2f} ms a step, largest gain of energy {gain:9.1e}, deepest {depth * 1e3:.3f} mm")


if __name__ == "__main__":
    main()
