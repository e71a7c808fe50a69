"""Inverse kinematics beside its peers: how many reachable poses are reached, in what time, and how many solutions there are.

    .venv-bench/bin/python benchmarks/inverse_kinematics.py [--poses 10000] [--few 200]

Poses are those of random configurations within the joint limits of Panda, UR5, Puma 560 and two arms that nobody has tuned
anything for (random DH tables). Every library reads the same URDF of the bare chain, and a pose counts as reached where qddot's
own forward kinematics is within 1e-5 rad and m of it and the limits are kept. Peers that solve one pose a call are given a few
poses, and where they have no restarts of their own, up to `STARTS` random ones, the same for all. Times are of the processor.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np

import qddot
from robots import case

TOLERANCE = 1e-5
STARTS = 20
SHAPES = {"panda": ("panda_link0", "panda_hand_tcp"), "ur5": ("base_link", "tool0"), "puma560": None}

Solver = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""From a pose and a start to a configuration, or None."""


def robots() -> dict[str, qddot.Robot]:
    found = {}
    for name, ends in SHAPES.items():
        found[name] = case(name).robot if ends is None else case(name).robot.chain(*ends)
    for n in (6, 7):
        rng = np.random.default_rng(n)
        rows = [(rng.uniform(-0.3, 0.3), rng.uniform(-np.pi, np.pi), rng.uniform(-0.4, 0.4), 0.0) for _ in range(n)]
        limits = [sorted((rng.uniform(-3, -1.5), rng.uniform(1.5, 3))) for _ in range(n)]
        some = [qddot.Inertia(1.0, (0, 0, 0), (0.01, 0.01, 0.01))] * n
        found[f"random {n}R"] = qddot.from_dh(rows, convention="standard", limits=limits, inertias=some, name=f"random{n}r")
    return found


def poses(robot: qddot.Robot, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Wanted poses (n, 4, 4), and random starts (n, STARTS, nq)."""
    rng = np.random.default_rng(1)
    draw = lambda k: np.stack([robot.random_configuration(rng) for _ in range(k)])  # noqa: E731
    return robot.transform(draw(n)), draw(n * STARTS).reshape(n, STARTS, -1)


def is_reached(robot: qddot.Robot, q: np.ndarray, T: np.ndarray) -> bool:
    left = np.abs(robot.transform(q) - T).max()
    low, high = robot.limits[:2]
    return bool(left < TOLERANCE and (q > low - 1e-9).all() and (q < high + 1e-9).all())


def pink_solver(path: str, robot: qddot.Robot) -> Solver:
    """Steps of its quadratic program, as its examples do them, until the task's error is small."""
    import pink
    import pinocchio

    model = pinocchio.buildModelFromUrdf(path)
    task = pink.FrameTask(robot.tip, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)

    def solve(T: np.ndarray, start: np.ndarray) -> np.ndarray | None:
        at = pink.Configuration(model, model.createData(), start)
        task.set_target(pinocchio.SE3(T))
        for _ in range(60):
            if np.linalg.norm(task.compute_error(at)) < TOLERANCE / 10:
                return np.array(at.q)
            try:
                velocity = pink.solve_ik(at, [task], 1.0, solver="daqp", safety_break=False)
            except Exception:  # its solver found none
                return None
            at.integrate_inplace(velocity, 1.0)
        return np.array(at.q)

    return solve


def mink_solver(path: str, robot: qddot.Robot) -> Solver:
    """The same steps over MuJoCo's kinematics."""
    import mink
    import mujoco

    root = ET.parse(path).getroot()
    for link in root.findall("link"):  # masses do not matter here, and point masses would be refused
        for inertial in link.findall("inertial"):
            link.remove(inertial)
    options = {"fusestatic": "false", "boundmass": "1", "boundinertia": "0.01"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", options)
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, "unicode"))
    task = mink.FrameTask(robot.tip, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
    at, limits = mink.Configuration(model), [mink.ConfigurationLimit(model)]

    def solve(T: np.ndarray, start: np.ndarray) -> np.ndarray | None:
        at.update(start)
        task.set_target(mink.SE3.from_matrix(T))
        for _ in range(60):
            if np.linalg.norm(task.compute_error(at)) < TOLERANCE / 10:
                break
            try:
                velocity = mink.solve_ik(at, [task], 1.0, solver="daqp", limits=limits)
            except Exception:  # its solver found none
                return None
            at.integrate_inplace(velocity, 1.0)
        return np.array(at.q)

    return solve


def toolbox_solver(path: str, robot: qddot.Robot) -> Solver:
    """Its compiled Levenberg-Marquardt method, which draws its own restarts."""
    import roboticstoolbox as rtb

    ets = rtb.Robot.URDF(path).ets(end=robot.tip)
    return lambda T, start: np.asarray(ets.ik_LM(T, q0=start, tol=1e-12, joint_limits=True, slimit=100)[0])


def ikpy_solver(path: str, robot: qddot.Robot) -> Solver:
    """SciPy's least squares over its chain."""
    import ikpy.chain

    joints = ET.parse(path).getroot().findall("joint")
    above = {x.find("child").get("link"): (x.find("parent").get("link"), x.get("name")) for x in joints}
    way = [robot.tip]
    while way[0] in above:
        way[:0] = above[way[0]]
    chain = ikpy.chain.Chain.from_urdf_file(path, base_elements=way)
    movable = [link.joint_type == "revolute" for link in chain.links]
    chain.active_links_mask = np.array(movable)

    def solve(T: np.ndarray, start: np.ndarray) -> np.ndarray | None:
        full = np.zeros(len(movable))
        full[movable] = start
        try:
            return chain.inverse_kinematics_frame(T, initial_position=full, orientation_mode="all")[movable]
        except ValueError:
            return None

    return solve


PEERS = {"pink": pink_solver, "mink": mink_solver, "Robotics Toolbox": toolbox_solver, "ikpy": ikpy_solver}
RESTARTS = {"pink": STARTS, "mink": STARTS, "Robotics Toolbox": 1, "ikpy": 5}


def measure(robot: qddot.Robot, solver: Solver, T: np.ndarray, starts: np.ndarray, restarts: int) -> tuple[float, float]:
    """Share of the poses that were reached, and s a pose; the check of a result is not timed."""
    reached, spent = 0, 0.0
    for pose, some in zip(T, starts):
        for start in some[:restarts]:
            begin = time.process_time()
            q = solver(pose, start)
            spent += time.process_time() - begin
            if q is not None and is_reached(robot, q, pose):
                reached += 1
                break
    return reached / len(T), spent / len(T)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--poses", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=200, help="for peers that solve one pose a call")
    arguments = parser.parse_args()
    print(f"{'robot':12} {'library':18} {'poses':>6} {'reached':>9} {'us a pose':>10} {'times':>7}")
    folder = tempfile.TemporaryDirectory(prefix="qddot-ik-")
    for name, robot in robots().items():
        T, _ = poses(robot, arguments.poses)
        robot.inverse_kinematics(T[:100], nearest=True)
        times = []
        for _ in range(5):
            begin = time.process_time()
            found = robot.inverse_kinematics(T, nearest=True, starts=512)
            times.append((time.process_time() - begin) / len(T))
        reached = np.mean([is_reached(robot, q, pose) for q, pose in zip(found.q, T)])
        ours = float(np.median(times))
        print(f"{name:12} {'qddot':18} {len(T):6} {reached:9.4%} {ours * 1e6:10.2f}")
        path = str(Path(folder.name) / f"{name.replace(' ', '_')}.urdf")
        robot.to_urdf(path)
        some, starts = poses(robot, arguments.few)
        for peer, make in PEERS.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    share, spent = measure(robot, make(path, robot), some, starts, RESTARTS[peer])
            except ImportError as missing:
                print(f"{name:12} {peer:18} is not installed: {missing}")
                continue
            print(f"{'':12} {peer:18} {len(some):6} {share:9.4%} {spent * 1e6:10.1f} {spent / ours:7.0f}")
        if robot.nv == 6:
            begin = time.process_time()
            all_of_them = robot.inverse_kinematics_solutions(T[:1000], limits=False)
            each = (time.process_time() - begin) / min(len(T), 1000)
            counts = dict(enumerate(np.bincount(all_of_them.count)))
            shown = ", ".join(f"{k}: {n}" for k, n in counts.items() if n)
            print(f"{'':12} all solutions ({all_of_them.method}), {each * 1e6:.0f} us a pose; poses by number: {shown}")


if __name__ == "__main__":
    main()
