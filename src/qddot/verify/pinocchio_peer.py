"""Pinocchio: linear before angular, quaternions xyzw after the position, a continuous joint as cosine and sine, no mimics."""

from __future__ import annotations

import numpy as np

from qddot.errors import missing_extra
from qddot.model.model import Model
from qddot.verify.coordinates import driven_joints
from qddot.verify.peer import Refusal

SWAPPED = [3, 4, 5, 0, 1, 2]


class Pinocchio:
    """Pinocchio's model of a robot (see `Peer`)."""

    def __init__(self, model: Model, urdf: str) -> None:
        try:
            import pinocchio  # type: ignore[import-not-found]
        except ImportError:
            raise missing_extra("pin", "test", "comparison with Pinocchio") from None
        self.pin, self.title = pinocchio, f"Pinocchio {pinocchio.__version__}"
        try:
            self.there = pinocchio.buildModelFromXML(urdf)
        except (ValueError, RuntimeError) as error:
            raise Refusal(f"Pinocchio refuses the URDF: {error}") from None
        self.there.gravity.linear = np.array(model.gravity, float)
        self.weightless = self.there.copy()
        self.weightless.gravity = pinocchio.Motion.Zero()
        self.data, self.floating_data = self.there.createData(), self.weightless.createData()
        self.driven = driven_joints(model)
        self.joints = {}
        for joint in self.driven:
            if not self.there.existJointName(joint.name):
                raise Refusal(f"Pinocchio has no joint {joint.name!r}")
            self.joints[joint.name] = self.there.joints[self.there.getJointId(joint.name)]
        self.G = np.zeros((self.there.nv, model.mechanism.nv))
        for joint in self.driven:
            there = self.joints[joint.name]
            rows = [there.idx_v + k for k in (SWAPPED if there.nv == 6 else range(there.nv))]
            for row, column in zip(rows, joint.by.v, strict=True):
                self.G[row, column] = joint.multiplier
        self.conventions = self._conventions(model)

    def _conventions(self, model: Model) -> list[str]:
        order = [name for name in self.there.names if name in self.joints]
        here = [joint.name for joint in self.driven]
        found = ["joints come in another order there: matched by name"] if order != here else []
        found += ["a mimic joint has a coordinate of its own there"] if model.leaders else []
        if any(joint.nq == 2 for joint in self.joints.values()):
            found.append("a continuous joint is (cosine, sine) there, an angle here")
        if any(joint.nv == 6 for joint in self.joints.values()):
            found.append(
                "a free joint is (position, quaternion xyzw), (v, omega) there; (quaternion wxyz, position), (omega, v) here"
            )
        return found

    def configuration(self, q: np.ndarray) -> np.ndarray:
        full = np.zeros(self.there.nq)
        for joint in self.driven:
            there, own = self.joints[joint.name], q[list(joint.by.q)]
            if len(own) == 1:
                x = joint.multiplier * own[0] + joint.offset
                value = [np.cos(x), np.sin(x)] if there.nq == 2 else [x]
            else:
                w, x, y, z, *position = own
                value = [*position, x, y, z, w]
            full[there.idx_q : there.idx_q + there.nq] = value
        return full

    def answers(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        full, v, zero = self.configuration(q), self.G @ qd, np.zeros(self.there.nv)
        upper = np.triu(self.pin.crba(self.there, self.data, full))
        gravity = self.pin.computeGeneralizedGravity(self.there, self.data, full)
        coriolis = self.pin.rnea(self.weightless, self.floating_data, full, v, zero)
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G, self.G.T @ gravity, self.G.T @ coriolis
