"""Dry friction, separated from all other forces: the shafts that have it, and its largest force."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qddot.model.drive import Drive
from qddot.model.friction import DRY, stribeck_part
from qddot.model.joints import Rotor

if TYPE_CHECKING:
    from qddot.robot import Robot


class DryFriction:
    """The shafts of a robot on which dry friction acts.

    Attributes:
        shafts: (shafts, nv): the speeds of the shafts are `shafts @ qd`.
        coulomb: (shafts, 2): for positive and negative direction, N m.
        rise: (shafts, 2): by how much static friction exceeds `coulomb`, N m.
        steepness, load: (shafts,), as in `ShaftFriction`.
        bodies: (shafts), the index of each one's body. If such numbers are variables of the robot, these are their defaults.
    """

    def __init__(self, robot: Robot) -> None:
        rows, sides, self.bodies = [], [], []
        for body, sticks in zip(robot.model.bodies, robot.model.sticking):
            if not sticks:
                continue
            ratios = [float(s.w.z) for s in body.joint.subspace] if isinstance(body.joint, Rotor) else None
            for shaft in [list(zip(body.columns, ratios))] if ratios else [[(c, 1.0)] for c in body.columns]:
                row = np.zeros(robot.nv)
                for c, ratio in shaft:
                    row[c] = ratio
                rows.append(row)
                sides.append(body.drive.friction)
                self.bodies.append(body.index)
        self.shafts = np.array(rows).reshape(-1, robot.nv)
        self.coulomb = np.array([s.coulomb for s in sides], float).reshape(-1, 2)
        self.rise = np.array([s.stribeck for s in sides], float).reshape(-1, 2)
        self.steepness = np.array([s.steepness for s in sides], float)
        self.load = np.array([s.load for s in sides], float)

    def __bool__(self) -> bool:
        return bool(len(self.shafts))

    def level(self, speed: np.ndarray, load: np.ndarray, resting: np.ndarray) -> np.ndarray:
        """Return the largest friction (2, ..., shafts) against positive and against negative motion, N m.

        Args:
            speed: of the shafts.
            load: joint forces (..., nv) without friction.
            resting: True for shafts that stand still, held by static friction.
        """
        share = abs(load @ self.shafts.T) * self.load
        falling = np.where(resting, 1.0, np.where(self.steepness > 0, stribeck_part(speed * self.steepness), 0.0))
        return np.stack([self.coulomb[:, k] + self.rise[:, k] * falling + share for k in range(2)])


def without_dry_friction(robot: Robot) -> Robot:
    """Return the robot without friction that sticks."""
    model = robot.model
    joints = [replace(joint, drive=joint.drive and unstuck(joint.drive)) for joint in model.joints]
    motors = [replace(x, drives=tuple(drive and unstuck(drive) for drive in x.drives)) for x in model.transmissions]
    return type(robot)(model.copy(joints=joints, transmissions=motors))


def unstuck(drive: Drive) -> Drive:
    return replace(drive, **dict.fromkeys(DRY, 0.0)) if drive.friction.sticks else drive
