"""A few mechanisms against MuJoCo: hinges, sliders, ball and free joints, with rotors, dampers and springs.

A free joint there has q = (position, quaternion wxyz), v = (linear in world axes, angular in body axes). Ball joints are as here.
"""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from qddot import Builder, Drive  # noqa: E402
from tests.oracles.comparison import State, assert_close  # noqa: E402

HEAD = '<compiler angle="radian" inertiafromgeom="false"/><option gravity="0 0 -9.81"/>'

ARM = f"""<mujoco>{HEAD}<worldbody>
  <body pos="0 0 0.4">
    <joint type="hinge" axis="0 0 1" armature="0.3" damping="0.7" stiffness="2.5" springref="0.2"/>
    <inertial pos="0.1 0.02 0.2" mass="3" diaginertia="0.05 0.06 0.04"/>
    <body pos="0.3 0 0.1" euler="0.3 0 0">
      <joint type="hinge" axis="0 1 0" armature="0.1" damping="0.2"/>
      <inertial pos="0 0.2 0" mass="2" diaginertia="0.03 0.02 0.04"/>
      <body pos="0 0.4 0">
        <joint type="slide" axis="0.6 0 0.8" armature="0.5" damping="1.5" stiffness="40" springref="-0.1"/>
        <inertial pos="0.05 0 0.1" mass="1" diaginertia="0.01 0.01 0.005"/>
      </body>
    </body>
    <body pos="-0.2 0 0.1">
      <joint type="hinge" axis="1 0 0" stiffness="3"/>
      <inertial pos="0 0 -0.3" mass="0.7" diaginertia="0.02 0.02 0.001"/>
    </body>
  </body>
</worldbody></mujoco>"""

CART_POLE = f"""<mujoco>{HEAD}<worldbody>
  <body>
    <joint type="slide" axis="1 0 0" damping="0.4"/>
    <inertial pos="0 0 0" mass="1.5" diaginertia="0.1 0.1 0.1"/>
    <body>
      <joint type="hinge" axis="0 1 0" damping="0.05" armature="0.02"/>
      <inertial pos="0 0 0.5" mass="0.3" diaginertia="0.02 0.02 0.0001"/>
    </body>
  </body>
</worldbody></mujoco>"""

BALL = f"""<mujoco>{HEAD}<worldbody>
  <body pos="0.1 0.2 0.3">
    <joint type="ball" damping="0.3"/>
    <inertial pos="0 0.1 -0.4" mass="2" diaginertia="0.05 0.04 0.02"/>
    <body pos="0 0 -0.8">
      <joint type="hinge" axis="0 0.8 0.6" armature="0.05"/>
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
      <body pos="0.4 0 0">
        <joint type="ball"/>
        <inertial pos="0.1 0 0.1" mass="0.5" diaginertia="0.004 0.005 0.006"/>
      </body>
    </body>
  </body>
</worldbody></mujoco>"""

FLYING = f"""<mujoco>{HEAD}<worldbody>
  <body>
    <joint type="free"/>
    <inertial pos="0.02 -0.01 0.05" mass="4" diaginertia="0.1 0.2 0.25"/>
    <body pos="0.2 0.1 0">
      <joint type="hinge" axis="0 1 0" armature="0.01" damping="0.1"/>
      <inertial pos="0 0 -0.15" mass="0.6" diaginertia="0.01 0.01 0.001"/>
      <body pos="0 0 -0.3">
        <joint type="slide" axis="0 0 1" stiffness="100" damping="2"/>
        <inertial pos="0 0 -0.1" mass="0.2" diaginertia="0.001 0.001 0.0002"/>
      </body>
    </body>
    <body pos="-0.2 0.1 0">
      <joint type="ball" damping="0.2"/>
      <inertial pos="0 0.1 0" mass="0.3" diaginertia="0.002 0.001 0.002"/>
    </body>
  </body>
</worldbody></mujoco>"""


def arm() -> Builder:
    turned = Drive(rotor_inertia=0.3, damping=0.7, stiffness=2.5, rest=0.2)
    sprung = Drive(stiffness=3)
    slid = Drive(rotor_inertia=0.5, viscous=1.5, stiffness=40, rest=-0.1)
    return (
        Builder("arm")
        .body("a", xyz=(0, 0, 0.4), mass=3, com=(0.1, 0.02, 0.2), tensor=(0.05, 0.06, 0.04), drive=turned)
        .body(
            "b",
            "a",
            axis="y",
            xyz=(0.3, 0, 0.1),
            rpy=(0.3, 0, 0),
            mass=2,
            com=(0, 0.2, 0),
            tensor=(0.03, 0.02, 0.04),
            drive=Drive(rotor_inertia=0.025, gear_ratio=2, viscous=0.2),
        )
        .body(
            "c",
            "b",
            "prismatic",
            axis=(0.6, 0, 0.8),
            xyz=(0, 0.4, 0),
            mass=1,
            com=(0.05, 0, 0.1),
            tensor=(0.01, 0.01, 0.005),
            drive=slid,
        )
        .body("d", "a", axis="x", xyz=(-0.2, 0, 0.1), mass=0.7, com=(0, 0, -0.3), tensor=(0.02, 0.02, 0.001), drive=sprung)
    )


def cart_pole() -> Builder:
    pole = Drive(damping=0.05, rotor_inertia=0.02)
    return (
        Builder("cart pole")
        .body("cart", joint="prismatic", axis="x", mass=1.5, com=(0, 0, 0), tensor=(0.1, 0.1, 0.1), drive=Drive(damping=0.4))
        .body("pole", "cart", axis="y", mass=0.3, com=(0, 0, 0.5), tensor=(0.02, 0.02, 0.0001), drive=pole)
    )


def ball() -> Builder:
    return (
        Builder("ball")
        .body(
            "a",
            joint="spherical",
            xyz=(0.1, 0.2, 0.3),
            mass=2,
            com=(0, 0.1, -0.4),
            tensor=(0.05, 0.04, 0.02),
            drive=Drive(viscous=0.3),
        )
        .body(
            "b",
            "a",
            axis=(0, 0.8, 0.6),
            xyz=(0, 0, -0.8),
            mass=1,
            com=(0.2, 0, 0),
            tensor=(0.01, 0.02, 0.02),
            drive=Drive(rotor_inertia=0.05),
        )
        .body("c", "b", "spherical", xyz=(0.4, 0, 0), mass=0.5, com=(0.1, 0, 0.1), tensor=(0.004, 0.005, 0.006))
    )


def flying() -> Builder:
    leg, foot = Drive(rotor_inertia=0.01, damping=0.1), Drive(stiffness=100, damping=2)
    return (
        Builder("flying")
        .body("trunk", joint="free", mass=4, com=(0.02, -0.01, 0.05), tensor=(0.1, 0.2, 0.25))
        .body("leg", "trunk", axis="y", xyz=(0.2, 0.1, 0), mass=0.6, com=(0, 0, -0.15), tensor=(0.01, 0.01, 0.001), drive=leg)
        .body("foot", "leg", "prismatic", xyz=(0, 0, -0.3), mass=0.2, com=(0, 0, -0.1), tensor=(0.001, 0.001, 0.0002), drive=foot)
        .body(
            "tail",
            "trunk",
            "spherical",
            xyz=(-0.2, 0.1, 0),
            mass=0.3,
            com=(0, 0.1, 0),
            tensor=(0.002, 0.001, 0.002),
            drive=Drive(viscous=0.2),
        )
    )


class There:
    """MuJoCo's answers in the conventions here: `v_there = T v`, T turning a free joint's linear velocity into world axes."""

    def __init__(self, mjcf: str, state: State, floating: bool) -> None:
        self.model = mujoco.MjModel.from_xml_string(mjcf)
        self.data, self.floating = mujoco.MjData(self.model), floating
        q, v, _ = state
        self.T, self.drift = np.eye(len(v)), np.zeros(len(v))
        self.data.qpos[:] = q
        if floating:
            self.data.qpos[:7] = [*q[4:7], *q[:4]]
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, q[:4])
            R = R.reshape(3, 3)
            self.T[:6, :6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
            self.drift[:3] = R @ np.cross(v[:3], v[3:6])  # what T' v adds to the acceleration there
        self.data.qvel[:] = self.T @ v
        mujoco.mj_forward(self.model, self.data)

    @property
    def mass_matrix(self) -> np.ndarray:
        return self.T.T @ self._full @ self.T

    @property
    def _full(self) -> np.ndarray:
        rows = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(rows, np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, self.data, row, unit)
        return rows

    @property
    def bias(self) -> tuple[np.ndarray, np.ndarray]:
        """Gravity and velocities; dampers and springs."""
        return self.T.T @ (self.data.qfrc_bias + self._full @ self.drift), -self.T.T @ self.data.qfrc_passive

    def acceleration(self, tau: np.ndarray) -> np.ndarray:
        self.data.qfrc_applied[:] = np.linalg.solve(self.T.T, tau)
        mujoco.mj_forward(self.model, self.data)
        return np.linalg.solve(self.T, self.data.qacc - self.drift)


CASES = {"arm": (ARM, arm), "cart pole": (CART_POLE, cart_pole), "ball": (BALL, ball), "flying": (FLYING, flying)}


@pytest.fixture(params=CASES)
def case(request):
    mjcf, build = CASES[request.param]
    robot = build().robot()
    state = State.random(robot.model, np.random.default_rng(7))
    return robot, There(mjcf, state, request.param == "flying"), state


def test_mass_matrix(case):
    robot, there, (q, _, _) = case
    assert_close(robot.mass_matrix(q), there.mass_matrix)


def test_bias(case):
    robot, there, (q, qd, _) = case
    links, passive = there.bias
    assert_close(robot.coriolis_torque(q, qd) + robot.gravity_torque(q), links)
    assert_close(robot.friction_torque(qd) + robot.spring_torque(q), passive)
    assert_close(robot.bias_torque(q, qd), links + passive)


def test_inverse_dynamics(case):
    robot, there, state = case
    assert_close(robot.inverse_dynamics(*state), there.mass_matrix @ state.qdd + sum(there.bias))


def test_forward_dynamics(case):
    robot, there, (q, qd, _) = case
    tau = np.random.default_rng(1).normal(size=robot.nv)
    assert_close(robot.forward_dynamics(q, qd, tau), there.acceleration(tau))
