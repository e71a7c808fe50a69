"""A robot as Pinocchio sees it, answering in qddot's conventions.

Two ways in: `described(model)` builds the pin.Model joint by joint from the links and joints of the description (never from the
lowered bodies, so lowering is tested too); `parsed(path, model)` lets Pinocchio read the URDF itself. Joints that follow others
are independent there: with `q_full = G q + o` the oracle projects, `tau = G^T tau_full`, `M = G^T M_full G`.

There: quaternions xyzw, six-vectors linear first, a free joint has q = (position, quaternion) and v = (linear, angular), a
continuous joint q = (cos, sin).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pinocchio as pin

from qddot.model.description import Joint
from qddot.model.drive import Drive, JointSide
from qddot.model.model import Model
from qddot.model.spatial import Transform

REFERENCES = {
    "space": pin.ReferenceFrame.WORLD,
    "body": pin.ReferenceFrame.LOCAL,
    "world_aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
REGRESSOR_COLUMNS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # there: Ixx, Ixy, Iyy, Ixz, Iyz, Izz


@dataclass(frozen=True)
class Driven:
    """One joint there, and the coordinates here that drive it: its position is `rate * q + offset`."""

    id: int
    coordinates: tuple[int, ...]
    columns: tuple[int, ...]
    rate: float = 1.0
    offset: float = 0.0
    drive: JointSide = field(default_factory=JointSide)


class Oracle:
    """Pinocchio's answers about one robot.

    Args:
        model: the pin.Model.
        driven: its joints.
        nv: degrees of freedom here.
        frames: link name -> (joint there, pose of the link on it).
    """

    def __init__(self, model: pin.Model, driven: list[Driven], nv: int, frames: dict[str, tuple[int, pin.SE3]]) -> None:
        self.model, self.driven, self.frames = model, driven, frames
        self.data = model.createData()
        self.G = np.zeros((model.nv, nv))
        for d in driven:
            for row, column in zip(self.rows(d), d.columns, strict=True):
                self.G[row, column] = d.rate
                self.model.armature[row] = d.drive.armature

    # coordinates ------------------------------------------------------------------------------------------------------

    def rows(self, d: Driven) -> list[int]:
        """Where the columns of a joint here stand in v there."""
        start, n = self.model.joints[d.id].idx_v, self.model.joints[d.id].nv
        return [start + i for i in (ANGULAR_FIRST if n == 6 else range(n))]

    def q(self, q: np.ndarray) -> np.ndarray:
        """The configuration there."""
        full = np.zeros(self.model.nq)
        for d in self.driven:
            joint, own = self.model.joints[d.id], q[list(d.coordinates)]
            if len(own) == 1:
                angle = d.rate * own[0] + d.offset
                value = [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]
            else:
                w, x, y, z, *position = own
                value = [*position, x, y, z, w]
            full[joint.idx_q : joint.idx_q + joint.nq] = value
        return full

    def v(self, qd: np.ndarray) -> np.ndarray:
        return self.G @ qd

    # dynamics ---------------------------------------------------------------------------------------------------------

    def inverse_dynamics(self, q, qd, qdd) -> np.ndarray:
        """Of links and rotors, without friction and springs."""
        return self.G.T @ pin.rnea(self.model, self.data, self.q(q), self.v(qd), self.v(qdd))

    def mass_matrix(self, q) -> np.ndarray:
        upper = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G

    def gravity_torque(self, q) -> np.ndarray:
        return self.G.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def coriolis_torque(self, q, qd) -> np.ndarray:
        """By a weightless copy: to subtract gravity would lose digits."""
        model, data = self._weightless
        return self.G.T @ pin.rnea(model, data, self.q(q), self.v(qd), np.zeros(model.nv))

    def drive_torque(self, q, qd) -> np.ndarray:
        """Friction and springs, each at its own joint."""
        full, v = np.zeros(self.model.nv), self.v(qd)
        for d in self.driven:
            positive, negative = d.drive.friction.coulomb
            for row in self.rows(d):
                full[row] = d.drive.friction.viscous[0] * v[row] + (positive if v[row] > 0 else -negative if v[row] < 0 else 0)
            if len(d.columns) == 1:
                full[row] += d.drive.stiffness * (d.rate * q[d.coordinates[0]] + d.offset - d.drive.rest)
        return self.G.T @ full

    def forward_dynamics(self, q, qd, tau) -> np.ndarray:
        """Without friction and springs: articulated bodies, or by the projected mass matrix where joints follow others."""
        if self.is_square:
            full = pin.aba(self.model, self.data, self.q(q), self.v(qd), np.linalg.solve(self.G.T, tau))
            return np.linalg.solve(self.G, full)
        return np.linalg.solve(self.mass_matrix(q), tau - self.inverse_dynamics(q, qd, np.zeros_like(qd)))

    @property
    def is_square(self) -> bool:
        """True if no joint follows another."""
        return self.G.shape[0] == self.G.shape[1]

    # kinematics and energy --------------------------------------------------------------------------------------------

    def jacobian(self, q, link: str, reference: str) -> np.ndarray:
        id = self._frame_ids[link]
        J = pin.computeFrameJacobian(self.model, self.data, self.q(q), id, REFERENCES[reference])
        return np.reshape(J, (6, -1))[ANGULAR_FIRST] @ self.G

    def jacobian_dot(self, q, qd, link: str, reference: str) -> np.ndarray:
        id = self._frame_ids[link]
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q(q), self.v(qd))
        pin.updateFramePlacements(self.model, self.data)
        J = pin.getFrameJacobianTimeVariation(self.model, self.data, id, REFERENCES[reference])
        return np.reshape(J, (6, -1))[ANGULAR_FIRST] @ self.G

    def transform(self, q, link: str) -> np.ndarray:
        id = self._frame_ids[link]
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[id].homogeneous.copy()

    def kinetic_energy(self, q, qd) -> float:
        """With the rotors added here: Pinocchio counts those of some joint types only."""
        model, data = self._without_rotors
        return pin.computeKineticEnergy(model, data, self.q(q), self.v(qd)) + self.model.armature @ self.v(qd) ** 2 / 2

    def gravity_energy(self, q) -> float:
        return pin.computePotentialEnergy(self.model, self.data, self.q(q))

    def spring_energy(self, q) -> float:
        """Each spring stretched at its own joint."""
        stretches = [
            (d.drive.stiffness, d.rate * q[d.coordinates[0]] + d.offset - d.drive.rest) for d in self.driven if len(d.columns) == 1
        ]
        return sum(stiffness * stretch**2 / 2 for stiffness, stretch in stretches)

    def center_of_mass(self, q) -> np.ndarray:
        return pin.centerOfMass(self.model, self.data, self.q(q)).copy()

    def momentum(self, q, qd) -> np.ndarray:
        return pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.v(qd)).vector[ANGULAR_FIRST]

    # derivatives and parameters ---------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(self, q, qd, qdd) -> list[np.ndarray]:
        """With respect to q along the tangent, qd and qdd."""
        parts = pin.computeRNEADerivatives(self.model, self.data, self.q(q), self.v(qd), self.v(qdd))
        dq, dqd, M = (np.array(part) for part in parts)
        M = np.triu(M) + np.triu(M, 1).T
        return [self.G.T @ part @ self.G for part in (dq + self._on_diagonal("stiffness"), dqd + self._on_diagonal("viscous"), M)]

    def forward_dynamics_derivatives(self, q, qd, tau) -> list[np.ndarray]:
        """With respect to q along the tangent, qd and tau; `tau` without what friction and springs take. Not for mimics."""
        parts = pin.computeABADerivatives(self.model, self.data, self.q(q), self.v(qd), np.linalg.solve(self.G.T, tau))
        dq, dqd, inverse = (np.array(part) for part in parts)
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        dq, dqd = dq - inverse @ self._on_diagonal("stiffness"), dqd - inverse @ self._on_diagonal("viscous")
        back = np.linalg.inv(self.G)
        return [back @ dq @ self.G, back @ dqd @ self.G, back @ inverse @ back.T]

    def _on_diagonal(self, name: str) -> np.ndarray:
        """A constant of each drive, at its joint."""
        values = np.zeros(self.model.nv)
        for d in self.driven:
            values[self.rows(d)] = d.drive.stiffness if name == "stiffness" else d.drive.friction.viscous[0]
        return np.diag(values)

    def coriolis_matrix(self, q, qd) -> np.ndarray:
        return self.G.T @ pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.v(qd)) @ self.G

    def regressor(self, q, qd, qdd) -> np.ndarray:
        """Ten columns a joint, in the order of `driven` and of the parameters here."""
        Y = self.G.T @ pin.computeJointTorqueRegressor(self.model, self.data, self.q(q), self.v(qd), self.v(qdd))
        return np.hstack([Y[:, 10 * (d.id - 1) : 10 * d.id][:, REGRESSOR_COLUMNS] for d in self.driven])

    def parameters(self, d: Driven) -> np.ndarray:
        """The ten inertial parameters of a joint's body, in the order here."""
        return self.model.inertias[d.id].toDynamicParameters()[REGRESSOR_COLUMNS]

    @cached_property
    def _weightless(self) -> tuple[pin.Model, pin.Data]:
        model = self.model.copy()
        model.gravity = pin.Motion.Zero()
        return model, model.createData()

    @cached_property
    def _without_rotors(self) -> tuple[pin.Model, pin.Data]:
        model = self.model.copy()
        model.armature[:] = 0
        return model, model.createData()

    @cached_property
    def _frame_ids(self) -> dict[str, int]:
        """A frame there for every link here; made when first asked for, which renews the data."""
        ids = {}
        for name, (joint, pose) in self.frames.items():
            frame = pin.Frame(f"oracle {name}", joint, pose, pin.FrameType.OP_FRAME)
            ids[name] = self.model.addFrame(frame, False)
        self.data = self.model.createData()
        return ids


# making one -----------------------------------------------------------------------------------------------------------------


def parsed(path: Path | str, model: Model, *, floating: bool = False) -> Oracle:
    """The URDF as Pinocchio reads it, its joints matched to ours by name."""
    there = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    there.gravity.linear = np.array(model.gravity, float)
    driven = []
    for body in model.bodies:
        id = there.getJointId("root_joint" if body.joint_name == "floating_base" else body.joint_name)
        row = there.joints[id].idx_v  # one-dof joints only: no other has friction in a URDF
        friction = Drive(viscous=there.damping[row], coulomb=there.friction[row]).at_joint
        driven.append(Driven(id, body.coordinates, body.columns, body.rate, body.offset, friction))
    frames = {}
    for frame in there.frames:
        if frame.type == pin.FrameType.BODY:
            frames[frame.name] = frame.parentJoint, frame.placement
    return Oracle(there, driven, model.mechanism.nv, frames)


def described(model: Model) -> Oracle:
    """The description rebuilt there, depth first (Pinocchio's composite bodies need that order)."""
    there = pin.Model()
    there.gravity.linear = np.array(model.gravity, float)
    below: dict[str, list[Joint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
    frames = {model.root: (0, pin.SE3.Identity())}
    ids: dict[str, list[int]] = {}
    todo = list(below.get(model.root, ()))
    while todo:
        joint = todo.pop()
        ids[joint.name] = add_joint(there, joint, frames)
        todo += below.get(joint.child, ())
    for link in model.links:
        id, pose = frames[link.name]
        if link.inertia is not None:
            i = link.inertia
            inertia = pin.Inertia(float(i.mass), np.array(i.com, float), np.array(i.tensor, float))
            there.appendBodyToJoint(id, inertia, pose)
    for frame in model.frames:
        id, pose = frames[frame.link]
        frames[frame.name] = id, pose * se3(frame.pose)
    return Oracle(there, match(model, ids), model.mechanism.nv, frames)


def add_joint(there: pin.Model, joint: Joint, frames: dict[str, tuple[int, pin.SE3]]) -> list[int]:
    """The joints there (none for a fixed joint, three for a planar one), and the place of the child link."""
    parent, pose = frames[joint.parent]
    # an unbounded hinge there is given no axis: its frame is turned instead
    turn = pin.SE3(z_onto(np.array(joint.axis, float)), np.zeros(3)) if joint.kind == "continuous" else pin.SE3.Identity()
    at, ids = pose * se3(joint.origin) * turn, []
    for k, kind in enumerate(joint_models(joint)):
        parent = there.addJoint(parent, kind, at, f"{joint.name} {k}")
        ids.append(parent)
        at = pin.SE3.Identity()
    frames[joint.child] = parent, at * turn.inverse() * se3(joint.tip)
    return ids


def joint_models(joint: Joint) -> list:
    axis = np.array(joint.axis, float)
    if joint.kind == "planar":
        x, y, _ = z_onto(axis).T
        return [pin.JointModelPrismaticUnaligned(x), pin.JointModelPrismaticUnaligned(y), pin.JointModelRevoluteUnaligned(axis)]
    makers = {
        "fixed": list,
        "revolute": lambda: [pin.JointModelRevoluteUnaligned(axis)],
        "continuous": lambda: [pin.JointModelRUBZ()],
        "prismatic": lambda: [pin.JointModelPrismaticUnaligned(axis)],
        "helical": lambda: [pin.JointModelHelicalUnaligned(axis, float(joint.pitch))],
        "spherical": lambda: [pin.JointModelSpherical()],
        "free": lambda: [pin.JointModelFreeFlyer()],
    }
    return makers[joint.kind]()


def z_onto(axis: np.ndarray) -> np.ndarray:
    """The least rotation that takes z to the axis (about x to -z); a planar joint moves along its first two columns."""
    x, y, z = axis
    angle = np.arctan2(np.hypot(x, y), z)
    return pin.exp3(angle * np.array([-y, x, 0.0]) / np.hypot(x, y)) if np.hypot(x, y) else np.diag([1.0, np.sign(z), np.sign(z)])


def match(model: Model, ids: dict[str, list[int]]) -> list[Driven]:
    """Which coordinates here drive which joint there, in the order of our bodies; mimics resolved along their chain."""
    by_name = {joint.name: joint for joint in model.joints}
    owners = {c.name: c for c in model.mechanism.coordinates}
    driven = []
    for name in dict.fromkeys(body.joint_name for body in model.bodies):
        at, multiplier, offset = by_name[name], 1.0, 0.0
        while at.mimic:
            multiplier, offset = multiplier * at.mimic.multiplier, offset + multiplier * at.mimic.offset
            at = by_name[at.mimic.joint]
        own, rate = owners[at.name], by_name[name].rate
        drive = by_name[name].drive.at_joint if by_name[name].drive else JointSide()
        if len(ids[name]) == 1:
            driven.append(Driven(ids[name][0], tuple(own.q), tuple(own.v), rate * multiplier, rate * offset, drive))
        else:
            driven += [Driven(id, (i,), (k,), drive=drive) for id, i, k in zip(ids[name], own.q, own.v, strict=True)]
    return driven


def se3(pose: Transform) -> pin.SE3:
    return pin.SE3(np.array(pose.R, float), np.array(pose.p, float))
