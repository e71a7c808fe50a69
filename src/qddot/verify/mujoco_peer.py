"""MuJoCo: a free joint's position comes first and its linear velocity is in world axes; impossible inertias are refused."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from qddot.errors import missing_extra
from qddot.model.model import Model
from qddot.verify.coordinates import driven_joints
from qddot.verify.peer import Refusal

COMPILER = {"discardvisual": "true", "fusestatic": "true"}
COMPILER |= {"inertiafromgeom": "false", "balanceinertia": "false", "strippath": "false"}


class MuJoCo:
    """MuJoCo's model of a robot (see `Peer`)."""

    def __init__(self, model: Model, urdf: str) -> None:
        try:
            import mujoco  # type: ignore[import-not-found]
        except ImportError:
            raise missing_extra("mujoco", "mjcf", "comparison with MuJoCo") from None
        self.title = f"MuJoCo {mujoco.__version__}"
        self.mujoco: Any = mujoco
        root = ET.fromstring(urdf)
        for element in root.findall("mujoco"):
            root.remove(element)
        ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", COMPILER)
        try:
            self.there = self.mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
        except ValueError as error:
            said = " ".join(str(error).split()).removeprefix("Error: ").partition(" The static bodies")[0]
            raise Refusal(f"MuJoCo refuses the URDF ({said})") from None
        self.there.opt.gravity[:] = np.array(model.gravity, float)
        self.data, self.driven = self.mujoco.MjData(self.there), driven_joints(model)
        self.nv = model.mechanism.nv
        self.at = {}
        for joint in self.driven:
            id = self.mujoco.mj_name2id(self.there, self.mujoco.mjtObj.mjOBJ_JOINT, joint.name)
            if id < 0:
                raise Refusal(f"MuJoCo has no joint {joint.name!r}")
            self.at[joint.name] = int(self.there.jnt_qposadr[id]), int(self.there.jnt_dofadr[id])
        self.conventions = []
        if model.leaders:
            self.conventions.append("a mimic joint has a coordinate of its own there, coupled by a constraint")
        if any(len(joint.by.v) == 6 for joint in self.driven):
            self.conventions.append("a free joint has its position first, and its linear velocity in world axes there")

    def answers(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Translate by `v_there = T v`, where T rotates a free joint's linear velocity into world axes and changes with time."""
        T, drift = np.zeros((self.there.nv, self.nv)), np.zeros(self.there.nv)
        for joint in self.driven:
            position, row = self.at[joint.name]
            own = q[list(joint.by.q)]
            if len(own) == 1:
                self.data.qpos[position] = joint.multiplier * own[0] + joint.offset
                T[row, joint.by.v.start] = joint.multiplier
                continue
            self.data.qpos[position : position + 7] = [*own[4:], *own[:4]]
            R, columns = np.zeros(9), joint.by.v
            self.mujoco.mju_quat2Mat(R, np.ascontiguousarray(own[:4]))
            R = R.reshape(3, 3)
            T[row : row + 3, columns.start + 3 : columns.stop] = R
            T[row + 3 : row + 6, columns.start : columns.start + 3] = np.eye(3)
            omega, v = qd[columns.start : columns.start + 3], qd[columns.start + 3 : columns.stop]
            drift[row : row + 3] = R @ np.cross(omega, v)
        M = np.zeros((self.there.nv, self.there.nv))
        gravity = T.T @ self.bias(np.zeros(self.there.nv))
        moving = self.bias(T @ qd)
        for row, unit in zip(M, np.eye(self.there.nv)):
            self.mujoco.mj_mulM(self.there, self.data, row, unit)
        return T.T @ M @ T, gravity, T.T @ (moving + M @ drift) - gravity

    def bias(self, v: np.ndarray) -> np.ndarray:
        """Return the sum of gravity and Coriolis forces."""
        self.data.qvel[:] = v
        self.mujoco.mj_forward(self.there, self.data)
        return self.data.qfrc_bias.copy()
