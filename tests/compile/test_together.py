"""Several quantities in one kernel; inertial parameters as an input; operation counts."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot import InputError, SingularityError
from qddot.model.inertia import Inertia
from qddot.robot import Robot
from tests.robots import random_model


@pytest.fixture(scope="module")
def robot() -> Robot:
    return qddot.load("puma560")


def test_together_equals_one_by_one(robot):
    x = np.random.default_rng(0).normal(size=(4, 20, 6))
    found = robot.compute(["mass_matrix", "bias_torque", "forward_dynamics", ("jacobian", {"reference": "body"})], x[0], x[1], x[3])
    np.testing.assert_allclose(found["mass_matrix"], robot.mass_matrix(x[0]), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found["bias_torque"], robot.bias_torque(x[0], x[1]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["forward_dynamics"], robot.forward_dynamics(x[0], x[1], x[3]), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found["jacobian"], robot.jacobian(x[0], reference="body"), rtol=1e-13, atol=1e-14)
    derivatives = robot.compute(["inverse_dynamics_derivatives"], *x[:3])["inverse_dynamics_derivatives"]
    assert len(derivatives) == 3


def test_together_takes_fewer_operations(robot):
    names = ["mass_matrix", "bias_torque"]
    requests = tuple(robot._evaluate.kernels.request(name, {}) for name in names)
    together = robot._evaluate.kernels.program(requests).operations().total()
    assert together < sum(robot.program(name).operations().total() for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["mass_matrix"],), "need q: 1 arrays, 0 were given"),
        (([], np.zeros(6)), "there is none"),
        ((["mass_matrix", "mass_matrix"], np.zeros(6)), "each quantity once"),
        ((["mass_matrix"], np.full(6, np.nan)), r"q\[0\] is nan"),
        ((["jacobian"], np.zeros(6)), None),
    ],
)
def test_wrong_requests(robot, arguments, message):
    if message is None:
        with pytest.raises(InputError, match="compute has no option 'f_ext'"):
            robot.compute(*arguments, f_ext={})
        return
    with pytest.raises(InputError, match=message):
        robot.compute(*arguments)


def test_the_quantity_at_fault_says_why():
    radar = qddot.Builder("radar").body("turn").body("mass", "turn", joint="prismatic", axis=(1, 0, 0), mass=1.0).robot()
    with pytest.raises(SingularityError, match="nothing resists joint 'turn"):
        radar.compute(["mass_matrix", "forward_dynamics"], [0, 0], [0, 0], [0, 0])


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "forward_dynamics", "coriolis_matrix", "potential_energy"])
def test_parameters_at_run_time(quantity):
    robot = Robot(random_model(np.random.default_rng(4), 6, mimic=0.2))
    rng = np.random.default_rng(5)
    kernel = robot.kernel(quantity, inertias="runtime")
    q = np.array([robot.random_configuration(rng) for _ in range(20)])
    arrays = [q if x.name == "q" else rng.normal(size=(20, robot.nv)) for x in kernel.program.inputs[:-1]]
    found = kernel(*arrays, robot.parameters()[: 10 * len(robot.body_names)])
    first = found[0] if isinstance(found, tuple) else found
    expected = getattr(robot, quantity)(*arrays)
    np.testing.assert_allclose(first, expected, rtol=1e-9, atol=1e-10 * max(1, abs(expected).max()))


def test_a_sweep_of_payloads(robot):
    """Different parameters in each row: the same as a robot built with them."""
    pi = robot.parameters()[:60]
    payloads = np.linspace(0, 5, 17)
    rows = np.tile(pi, (17, 1))
    for row, m in zip(rows, payloads):
        row[50:60] += Inertia.point(m, (0, 0, 0.1)).ten_vector()
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 6))
    swept = robot.kernel("inverse_dynamics", inertias="runtime").ufunc(q, qd, qdd, rows)
    Y = robot.regressor(q, qd, qdd)
    rest = Y[:, 60:] @ robot.parameters()[60:]
    np.testing.assert_allclose(swept, rows @ Y[:, :60].T + rest, rtol=1e-10, atol=1e-10)


def test_unknown_ways_to_give_parameters(robot):
    with pytest.raises(InputError, match="inertias='later' is not one of"):
        robot.kernel("mass_matrix", inertias="later")


def test_operation_counts(robot):
    counts = qddot.load("two_link").operations("gravity_torque")
    assert counts.angles == 2
    assert counts.total == counts.multiplications + counts.additions + counts.divisions
    assert robot.operations("inverse_dynamics").total < 420  # 350 for the links, the rest for friction and rotors
    fewest = min(robot.operations("forward_dynamics", method=m).total for m in ("aba", "crba"))
    assert robot.operations("forward_dynamics").total == fewest


def test_empty_results_beside_others():
    """One joint has no pairs of joints: that matrix is 1 x 0."""
    one = qddot.Builder("one").body("l", mass=1.0, com=(1, 0, 0), axis="y").robot()
    found = one.compute(["gravity_torque", "coriolis_products_matrix"], [0.3])
    assert found["gravity_torque"].shape == (1,)
    assert found["coriolis_products_matrix"].shape == (1, 0)


def test_singular_in_single_precision_too():
    arm = qddot.load("arm7")
    q = arm.neutral()
    with pytest.raises(SingularityError):
        qddot.Builder("w").body("h", axis="y", mass=1.0).robot().compute(["analytic_jacobian"], [np.pi / 2], dtype=np.float32)
    assert arm.compute(["mass_matrix"], q, dtype=np.float32)["mass_matrix"].dtype == np.float32
