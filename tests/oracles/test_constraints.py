"""Constrained motion against Pinocchio: its own constrained dynamics, and the equations with its own terms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import qddot  # noqa: E402
from qddot.model.description import Frame  # noqa: E402
from qddot.model.model import Model  # noqa: E402
from qddot.model.pose import from_matrix  # noqa: E402
from qddot.robot import Robot  # noqa: E402
from tests.oracles.comparison import worst  # noqa: E402
from tests.oracles.pinocchio_oracle import Oracle, described  # noqa: E402
from tests.robots import random_model  # noqa: E402
from tests.slow import slow_but  # noqa: E402

CASES = range(8)
KINDS = ("revolute", "prismatic", "spherical", "free", "planar")
CATALOG = {
    "four_bar": ([0.4, 1.8, 1.7], [("closure", "tip")], 2),
    "five_bar": ([2.1, -1.23, 1.04, 1.23], [("tool", "right_tip")], 2),
    "delta": (np.zeros(12), [(f"corner{k}", f"end{k}") for k in "123"], 3),
}


def close(what, found, expected):
    error = float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))
    worst[f"constrained, {what}"] = max(error, worst.get(f"constrained, {what}", 0.0))
    assert error < 1e-9


def closed_tree(case: int, rows: Callable[[Robot, np.ndarray], np.ndarray]) -> tuple[Robot, np.ndarray, np.ndarray, np.ndarray]:
    """A random tree with a frame on its last link that is, at q, where the link l1 is; q, qd, tau. The rows are independent."""
    rng = np.random.default_rng([case, 3])
    while True:
        tree = random_model(rng, 7, KINDS)
        robot = Robot(tree)
        q = robot.random_configuration(rng)
        spot = Frame("spot", "l6", from_matrix(np.linalg.inv(robot.transform(q, "l6")) @ robot.transform(q, "l1")))
        robot = Robot(Model(tree.name, tree.links, tree.joints, [spot]))
        if np.linalg.svd(rows(robot, q))[1].min() > 1e-3:
            return robot, q, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def there(oracle: Oracle, q, qd, tau, contact: pin.ContactType) -> np.ndarray:
    """The accelerations of Pinocchio's own algorithm, with the frame `spot` held to the link l1."""
    (joint1, on1), (joint2, on2) = oracle.frames["spot"], oracle.frames["l1"]
    contacts = [pin.RigidConstraintModel(contact, oracle.model, joint1, on1, joint2, on2, pin.ReferenceFrame.LOCAL)]
    datas = [x.createData() for x in contacts]
    pin.initConstraintDynamics(oracle.model, oracle.data, contacts, datas)
    state = oracle.q(q), oracle.v(qd), np.linalg.solve(oracle.G.T, tau)
    qdd = pin.constraintDynamics(oracle.model, oracle.data, *state, contacts, datas, pin.ProximalSettings(1e-14, 0.0, 1))
    return np.linalg.solve(oracle.G, qdd)


def by_equations(oracle: Oracle, q, qd, tau, J, Jdot) -> tuple[np.ndarray, np.ndarray]:
    """qdd and lam from one linear system with Pinocchio's terms."""
    n, k = len(qd), len(J)
    matrix = np.block([[oracle.mass_matrix(q), J.T], [J, np.zeros((k, k))]])
    bias = oracle.inverse_dynamics(q, qd, np.zeros(n))
    return np.split(np.linalg.solve(matrix, np.concatenate([tau - bias, -Jdot @ qd])), [n])


@pytest.mark.parametrize("case", slow_but(CASES, *list(CASES)[:3]))
@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_a_closed_loop_moves_as_in_pinocchio(case, kind):
    constraint = getattr(qddot, kind)("spot", "l1")
    robot, q, qd, tau = closed_tree(case, lambda robot, q: robot.constraint_jacobian(q, constraint))
    qd = robot.project_velocity(q, qd, constraint)
    qdd, _ = robot.constrained_forward_dynamics(q, qd, tau, constraint, tolerance=1e-9)
    contact = {"connect": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}[kind]
    close(f"{kind}: qdd", qdd, there(described(robot.model), q, qd, tau, contact))


@pytest.mark.parametrize("case", slow_but(CASES, *list(CASES)[3:6]))
def test_contacts_by_pinocchios_terms(case):
    contacts = qddot.contact_point("l6"), qddot.point_on_plane("l4", (0, 0, 0), (0, 1, 0))
    robot, q, qd, tau = closed_tree(case, lambda robot, q: robot.constraint_jacobian(q, contacts))
    oracle = described(robot.model)
    J, Jdot = (
        np.vstack([rows("l6")[3:], rows("l4")[4:5]])
        for rows in (
            lambda link: oracle.jacobian(q, link, "world_aligned"),
            lambda link: oracle.jacobian_dot(q, qd, link, "world_aligned"),
        )
    )
    qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, contacts)
    expected = by_equations(oracle, q, qd, tau, J, Jdot)
    close("contact: qdd", qdd, expected[0])
    close("contact: lam", lam, expected[1])


@pytest.mark.parametrize("name", CATALOG)
def test_closed_chains_of_the_catalog(name):
    start, pairs, rows = CATALOG[name]
    robot, rng = qddot.load(name), np.random.default_rng(1)
    q = robot.project(start)
    qd, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    qdd, _ = robot.constrained_forward_dynamics(q, qd, tau)
    oracle = described(robot.model)
    J = [oracle.jacobian(q, b, "world_aligned") - oracle.jacobian(q, a, "world_aligned") for a, b in pairs]
    Jdot = [oracle.jacobian_dot(q, qd, b, "world_aligned") - oracle.jacobian_dot(q, qd, a, "world_aligned") for a, b in pairs]
    J, Jdot = (np.vstack([x[3 : 3 + rows] for x in blocks]) for blocks in (J, Jdot))
    close(f"{name}: qdd", qdd, by_equations(oracle, q, qd, tau, J, Jdot)[0])


FOUR_BAR = """<mujoco><compiler angle="radian"/><worldbody>
  <body pos="0.065 0 0"><joint type="hinge" axis="0 0 1"/><geom size="0.01"/>
    <body pos="0.24 0 0"><joint type="hinge" axis="0 0 1"/><geom size="0.01"/>
      <body name="rocker" pos="0.21 0 0"><joint type="hinge" axis="0 0 1"/><geom size="0.01"/>
        <site name="tip" pos="0.34 0 0"/>
      </body></body></body>
  <site name="closure" pos="-0.065 0 0"/>
</worldbody><equality><connect site1="tip" site2="closure"/></equality></mujoco>"""


def test_a_connection_has_the_rows_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    robot = qddot.load("four_bar")
    model = mujoco.MjModel.from_xml_string(FOUR_BAR)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    for start in ([0.4, 1.8, 1.7], [0.1, 2.1, 1.5]):
        data.qpos = robot.project(start) + np.array([0.02, -0.01, 0.03])  # a little open
        mujoco.mj_forward(model, data)
        close("connect: h, MuJoCo", robot.constraint_residual(data.qpos), data.efc_pos[:2])
        close("connect: A, MuJoCo", robot.constraint_jacobian(data.qpos), data.efc_J.reshape(-1, 3)[:2])
