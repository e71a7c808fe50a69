"""Closed loops: what a step of order four costs, for one motion and for a batch, beside MuJoCo's `rollout` of the same mechanism.

    .venv/bin/python benchmarks/loops.py        prints a table, writes benchmarks/loops.json

Only times are compared. MuJoCo's equality constraints are soft and let a loop open a little; here it is closed after every step.
MuJoCo takes all steps of a motion in one call; here each is a call from Python, and that is most of what a single motion costs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import mujoco.rollout
import numpy as np
import table

import qddot

STEP, STEPS, BATCH, ROUNDS = 1e-3, 500, 1000, 3
NEAR = {"four_bar": [0.4, 1.8, 1.7]}
LEAST = 1e-6  # kg and kg m^2, of links without mass, which MuJoCo refuses
TYPES = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}


def text(values) -> str:
    return " ".join(repr(float(x)) for x in values)


def mujoco_model(robot: qddot.Robot) -> mujoco.MjModel:
    """The tree of a robot with hinges and sliders, and its connections."""
    root = ElementTree.Element("mujoco")
    ElementTree.SubElement(root, "compiler", angle="radian")
    ElementTree.SubElement(root, "option", timestep=str(STEP), integrator="RK4", gravity=text(robot.gravity))
    children = {joint.child for joint in robot.model.joints}
    bodies = {link.name: ElementTree.SubElement(root, "worldbody") for link in robot.model.links if link.name not in children}
    inertias = {link.name: link.inertia for link in robot.model.links}
    for joint in robot.model.joints:
        R = joint.origin.R
        axes = " ".join([text((R.a.x, R.b.x, R.c.x)), text((R.a.y, R.b.y, R.c.y))])
        body = ElementTree.SubElement(bodies[joint.parent], "body", name=joint.child, pos=text(joint.origin.p), xyaxes=axes)
        bodies[joint.child] = body
        if joint.kind != "fixed":
            ElementTree.SubElement(body, "joint", type=TYPES[joint.kind], axis=text(joint.axis))
            own = inertias[joint.child] or qddot.Inertia()
            moments = [max(float(own.tensor[i][i]), LEAST) for i in range(3)]
            numbers = {"pos": text(own.com), "mass": repr(max(float(own.mass), LEAST)), "diaginertia": text(moments)}
            ElementTree.SubElement(body, "inertial", numbers)
    equality = ElementTree.SubElement(root, "equality")
    for i, loop in enumerate(robot.model.constraints):
        for k, (link, point) in enumerate(((loop.link1, loop.point1), (loop.link2, loop.point2))):
            ElementTree.SubElement(bodies[link], "site", name=f"{i}.{k}", pos=text(point))
        ElementTree.SubElement(equality, "connect", site1=f"{i}.0", site2=f"{i}.1")
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def best(run: Callable[[], object], motions: int) -> float:
    """Seconds of the processor for a step of one motion."""
    run()
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found) / STEPS / motions


def measure(name: str) -> dict[str, float]:
    robot = qddot.load(name)
    q = robot.project(NEAR.get(name, robot.neutral() + 0.1))
    qd = robot.project_velocity(q, np.linspace(1, 2, robot.nv))
    qs = np.broadcast_to(q, (BATCH, robot.nq))
    qds = np.linspace(0.3, 0.6, BATCH)[:, None] * qd  # faster than 0.9, the five-bar passes a singular configuration
    model = mujoco_model(robot)
    data = [mujoco.MjData(model)]
    states = np.concatenate([np.zeros((BATCH, 1)), qs, qds], axis=-1)
    options = {"step": STEP, "stops": False, "threads": 1}
    found = {
        "one": best(lambda: robot.simulate(q, qd, STEPS * STEP, **options), 1),
        "batch": best(lambda: robot.simulate(qs, qds, STEPS * STEP, every=STEPS, **options), BATCH),
        "MuJoCo, one": best(lambda: mujoco.rollout.rollout(model, data, states[-1:], nstep=STEPS), 1),
        "MuJoCo, batch": best(lambda: mujoco.rollout.rollout(model, data, states[-16:], nstep=STEPS), 16),
    }
    motion = robot.simulate(q, qd, STEPS * STEP, **options)
    return {**found, "open": float(abs(robot.constraint_residual(motion.q)).max())}


def main() -> None:
    results = {name: measure(name) for name in ("four_bar", "five_bar", "delta")}
    columns = ("one", "MuJoCo, one", "batch", "MuJoCo, batch")
    rows = [(name, *(f"{found[c] * 1e6:.2f}" for c in columns), f"{found['open']:.1e}") for name, found in results.items()]
    print(table.plain(("robot", *(f"{c} [us]" for c in columns), "open [m]"), rows))
    Path(__file__).with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
