"""Trajectories of ten real robots over a second: Pinocchio's forward dynamics in a Runge-Kutta loop of our own, and MuJoCo's own.

Joint forces hold the arm against gravity at first and then let it swing; no limits, friction or contacts.
"""

import re
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tests.oracles.comparison import assert_close
from tests.simulate.real_robots import ROBOTS

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")
if ROBOTS is None:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

import qddot  # noqa: E402

FILES = [
    "ur_description/urdf/ur3_robot.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_robot.urdf",
    "panda_description/urdf/panda.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "baxter_description/urdf/baxter.urdf",
    "talos_data/robots/talos_left_arm.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
    "solo_description/robots/solo12.urdf",
    "z1_description/urdf/z1.urdf",
    "a1_description/urdf/a1.urdf",
]
STEP, STEPS = 1e-3, 1000
FOUND = [name for name in FILES if (ROBOTS / name).exists()][:10]


def stripped(name, folder):
    """What matters to the motion: no meshes, friction or limits, and no joint that follows another."""
    tree = ET.parse(ROBOTS / name)
    root = tree.getroot()
    for parent in (*root.findall("joint"), *root.findall("link")):
        for child in [c for c in parent if c.tag in ("dynamics", "safety_controller", "visual", "collision", "mimic")]:
            parent.remove(child)
    for child in [c for c in root if c.tag in ("transmission", "gazebo", "mujoco", "material")]:
        root.remove(child)
    text = re.sub(r"<robot [^>]*>", '<robot name="robot">', ET.tostring(root, "unicode"), count=1)
    path = folder / "robot.urdf"
    path.write_text(text)
    return path


def with_pinocchio(path, q, v, tau):
    """Kutta's four stages over articulated bodies."""
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    f = lambda q, v: pin.aba(model, data, q, v, tau)  # noqa: E731
    for _ in range(STEPS):
        a1 = f(q, v)
        v2 = v + STEP / 2 * a1
        a2 = f(q + STEP / 2 * v, v2)
        v3 = v + STEP / 2 * a2
        a3 = f(q + STEP / 2 * v2, v3)
        v4 = v + STEP * a3
        a4 = f(q + STEP * v3, v4)
        q, v = q + STEP / 6 * (v + 2 * v2 + 2 * v3 + v4), v + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q


def with_mujoco(path, names, q, v, tau):
    """Its order of joints may be another."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.balanceinertia = False
    spec.compiler.fusestatic = True
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    order = [names.index(model.joint(i).name) for i in range(model.njnt)]
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[order], v[order], tau[order]
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    end = np.empty(len(q))
    end[order] = data.qpos
    return end


@pytest.mark.parametrize("name", FOUND, ids=[name.rpartition("/")[2] for name in FOUND])
def test_a_second_of_motion(name, tmp_path):
    path = stripped(name, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qddot.ModelWarning)
        robot = qddot.load(path)
    model = pin.buildModelFromUrdf(str(path))
    if model.nq != robot.nq:
        pytest.skip("continuous joints have two coordinates in Pinocchio")
    order = [robot.joint_names.index(x) for x in model.names[1:]]
    rng = np.random.default_rng(4)
    q = np.clip(rng.uniform(-0.5, 0.5, robot.nv), *(np.nan_to_num(x, posinf=1, neginf=-1) for x in robot.limits[:2]))
    v = rng.uniform(-0.3, 0.3, robot.nv)
    tau = 0.9 * robot.gravity_torque(q)
    motion = robot.simulate(q, v, STEP * STEPS, step=STEP, torque=tau, stops=False, saturate=False)
    ours = motion.q[-1]
    assert_close(ours[order], with_pinocchio(path, q[order], v[order], tau[order]), 1e-6, what="motion (Pinocchio)")
    assert_close(ours, with_mujoco(path, robot.joint_names, q, v, tau), 1e-6, what="motion (MuJoCo)")
