"""Task-space dynamics: what every arm must obey, singular states, and the errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot.errors import InputError, SingularityError, UnknownNameError
from tests.slow import slow_but
from tests.task_space.arms import SEVEN, SIX, TASKS, TOOL, arm

ROWS = ("wx", "y", "z")
RNG = np.random.default_rng(1)


def near(found, wanted, rtol=1e-9):
    wanted = np.asarray(wanted)
    assert_allclose(found, wanted, rtol=0, atol=rtol * max(1.0, abs(wanted).max()))


def task_id(task):
    return task.get("coordinates") or task["reference"]


# square ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS, ids=task_id)
@pytest.mark.parametrize("name", slow_but(SIX, "mixed"))
def test_square_is_the_formulas_of_the_books(name, task):
    a = arm(name)
    t, inverse = a.task(**task), np.linalg.inv(a.task(**task).J)
    C = a.robot.coriolis_matrix(a.q, a.qd)
    near(t.J_bar, inverse)
    near(t.M_C, inverse.T @ t.M @ inverse)
    near(t.C_C, inverse.T @ (C - t.M @ inverse @ t.Jdot) @ inverse)
    near(t.c_C, t.C_C @ t.V)
    near(t.g_C, inverse.T @ a.robot.gravity_torque(a.q))
    near(t.N, np.zeros((6, 6)))
    near(t.V @ t.M_C @ t.V / 2, a.robot.kinetic_energy(a.q, a.qd))


@pytest.mark.parametrize("task", TASKS, ids=task_id)
@pytest.mark.parametrize("name", slow_but([*SIX, *SEVEN], "ball", "seven"))
def test_rates_of_jacobian_and_inertia(name, task):
    a, h = arm(name), 1e-5
    t, (ahead, behind) = a.task(**task), a.beside(h, **task)
    near(t.Jdot, (ahead.J - behind.J) / (2 * h), 1e-7)
    rate = (ahead.M_C - behind.M_C) / (2 * h)
    skew = rate - 2 * t.C_C
    near(skew, -skew.T, 1e-6)
    assert abs(skew).max() > 1e-3  # and is not simply zero


@pytest.mark.parametrize("name", [*SIX, *SEVEN])
def test_change_of_reference_is_a_change_of_basis(name):
    a = arm(name)
    world, body, space = (a.task(reference=r) for r in ("world_aligned", "body", "space"))
    for other in (body, space):
        X = other.J @ world.J_bar  # takes twists from one to the other
        near(X.T @ other.M_C @ X, world.M_C)
        near(X.T @ other.g_C, world.g_C)
        F = RNG.normal(size=6)
        near(world.torque(X.T @ F), other.torque(F))
        near(world.N, other.N)


def test_a_free_body_in_its_own_axes_is_its_own_task():
    robot = qddot.Builder("stone").body("stone", joint="free", mass=2.0, com=(0.1, 0.2, 0.3), tensor=(0.4, 0.5, 0.6)).robot()
    q, qd = robot.random_configuration(3), RNG.normal(size=6)
    t = robot.task_space(q, qd, reference="body")
    near(t.M_C, robot.mass_matrix(q), 1e-12)
    near(t.c_C, robot.coriolis_torque(q, qd), 1e-12)
    near(t.g_C, robot.gravity_torque(q), 1e-12)
    world = robot.task_space(q, qd)
    near(world.g_C[3:], [0, 0, 2 * 9.81])


def test_batches_may_be_empty():
    t = qddot.load("point_mass_2r").task_space(np.zeros((0, 2)), [0, 0], rows=("x", "y"))
    assert t.M_C.shape == (0, 2, 2)
    assert t.inverse_dynamics([1, 2]).shape == (0, 2)


# redundant ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEVEN)
def test_redundant_arm_is_the_stationary_point_of_gauss(name):
    """qdd of least `|qdd - free|` in the metric of M with `J qdd + Jdot qd = Vdot`; its multipliers are the task force."""
    a, Vdot = arm(name), RNG.normal(size=6)
    t = a.task()
    h = a.robot.bias_torque(a.q, a.qd)
    KKT = np.block([[t.M, t.J.T], [t.J, np.zeros((6, 6))]])
    qdd, multipliers = np.split(np.linalg.solve(KKT, np.concatenate([-h, Vdot - t.Jdot @ a.qd])), [7])
    F = t.inverse_dynamics(Vdot)
    near(F, -multipliers)
    near(a.robot.forward_dynamics(a.q, a.qd, t.torque(F)), qdd)


@pytest.mark.parametrize("rows", [None, ("x", "y", "z"), ROWS, ("yaw",)])
@pytest.mark.parametrize("name", SEVEN)
def test_redundant_identities(name, rows):
    a = arm(name)
    t = a.task(rows=rows, coordinates="rpy" if rows == ("yaw",) else None)
    m, tau_0 = len(t.rows), RNG.normal(size=7)
    near(t.M_C, np.linalg.inv(t.J @ np.linalg.inv(t.M) @ t.J.T))
    near(t.J @ t.J_bar, np.eye(m))
    near(t.N @ t.N, t.N)
    near(t.J @ np.linalg.solve(t.M, t.N @ tau_0), np.zeros(m))  # forces of the null space do not move the task
    near(t.c_C, t.J_bar.T @ a.robot.coriolis_torque(a.q, a.qd) - t.M_C @ t.Jdot @ a.qd)
    in_task = a.robot.task_space(a.q, t.J_bar @ t.V, TOOL, rows=rows, coordinates="rpy" if rows == ("yaw",) else None)
    near(in_task.V, t.V)
    near(in_task.c_C, in_task.C_C @ t.V)  # without motion in the null space
    assert a.robot.kinetic_energy(a.q, a.qd) >= t.V @ t.M_C @ t.V / 2


# motion and force -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SIX, *SEVEN])
def test_forward_and_inverse_dynamics(name):
    """With friction and springs, and a force on the environment, in the robot's own terms."""
    a = arm(name)
    t, n = a.task(), a.robot.nv
    Vdot, F_tip, tau_0 = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=n)
    assert abs(t.d_C).max() > 0.01
    F = t.inverse_dynamics(Vdot, F_tip)
    near(t.forward_dynamics(F, F_tip=F_tip), Vdot)
    tau = t.torque(F, tau_0)
    near(t.force(tau), F)
    near(t.forward_dynamics(tau=tau, F_tip=F_tip), Vdot)
    qdd = a.robot.forward_dynamics(a.q, a.qd, tau, f_tip={TOOL: F_tip})
    near(t.acceleration(qdd), Vdot)


@pytest.mark.parametrize("damping", [None, 0.3])
@pytest.mark.parametrize("name", ["mixed", "seven"])
def test_regressor(name, damping):
    a = arm(name)
    t, qdd = a.task(damping=damping), RNG.normal(size=a.robot.nv)
    Y = t.regressor(qdd)
    near(Y @ a.robot.parameters(), t.inverse_dynamics(t.acceleration(qdd)))
    near(Y @ a.robot.parameters(), t.force(a.robot.inverse_dynamics(a.q, a.qd, qdd)))


def test_a_batch_is_its_states():
    a = arm("seven")
    q = a.q + 0.1 * RNG.normal(size=(2, 3, 7))
    t, Vdot = a.robot.task_space(q, a.qd, TOOL, rows=ROWS), RNG.normal(size=(3, 3))
    F = t.inverse_dynamics(Vdot)
    assert t.M_C.shape == t.C_C.shape == (2, 3, 3, 3)
    assert t.N.shape == (2, 3, 7, 7)
    assert F.shape == (2, 3, 3)
    assert t.regressor(np.zeros(7)).shape == (2, 3, 3, len(a.robot.parameters()))
    near(t.forward_dynamics(tau=t.torque(F, np.ones(7))), np.broadcast_to(Vdot, (2, 3, 3)))
    one = a.robot.task_space(q[1, 2], a.qd, TOOL, rows=ROWS)
    for name in ("M_C", "C_C", "c_C", "g_C", "d_C", "J_bar", "N"):
        near(getattr(t, name)[1, 2], getattr(one, name), 1e-12)
    assert repr(t) == "TaskSpace of 'tool': wx, y, z, (2, 3) states"


def test_rows_may_be_in_any_order():
    a = arm("seven")
    t, turned = a.task(rows=("x", "wy")), a.task(rows=("wy", "x"))
    near(turned.M_C, t.M_C[::-1, ::-1])
    near(a.task(rows=("x",)).M_C, a.task(rows="x").M_C)


# near and in singular states ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6])
def test_near_the_stretched_arm_digits_are_lost_in_proportion(angle):
    """Against J^-T M J^-1 of unit point masses by hand; the error grows as the condition number of J, not as its square."""
    t = qddot.load("point_mass_2r").task_space([0, angle], [0, 0], rows=("x", "y"))
    sine, cotangent = np.sin(angle), 1 / np.tan(angle)
    assert_allclose(t.M_C, [[1 / sine**2, cotangent], [cotangent, 2]], rtol=1e-13 + 1e-15 / angle)


def test_a_wrist_is_refused_before_its_joint_forces_are_noise():
    """Joint forces through the task equal inverse dynamics, or an error says that they would not."""
    robot, (qd, qdd) = qddot.load("puma560"), RNG.normal(size=(2, 6))
    refused = []
    for angle in 10.0 ** -np.arange(1, 15):
        q = np.array([0.3, 0.2, 0.4, 0.1, angle, 0.2])
        try:
            t = robot.task_space(q, qd)
        except SingularityError:
            refused.append(angle)
            continue
        tau = robot.inverse_dynamics(q, qd, qdd)
        assert_allclose(t.torque(t.inverse_dynamics(t.acceleration(qdd))), tau, atol=0.05 * abs(tau).max())
    assert max(refused) < 1e-4


def test_friction_in_proportion_to_the_load_is_refused():
    robot = qddot.Builder().body("a", mass=1.0, com=(1, 0, 0), drive=qddot.Drive(load_friction=0.1)).robot()
    with pytest.raises(InputError, match="'a_joint' has friction in proportion to its load"):
        robot.task_space([0.3], [0.0], rows=("y",))


def test_damping_bounds_the_mass():
    robot = qddot.load("point_mass_2r")
    t = robot.task_space([0, 0], [1, 2], rows=("x", "y"), damping=0.1)
    near(t.M_C, np.linalg.inv(t.J @ np.linalg.solve(t.M, t.J.T) + 0.01 * np.eye(2)))
    near(t.J_bar, np.linalg.solve(t.M, t.J.T) @ t.M_C)
    assert_allclose(np.linalg.eigvalsh(t.M_C).max(), 1 / 0.1**2)
    near(t.acceleration([3, 4]), t.J @ [3, 4] + t.Jdot @ [1, 2])
    tau = np.array([5.0, 6.0])
    near(t.forward_dynamics(tau=tau), t.acceleration(robot.forward_dynamics([0, 0], [1, 2], tau)))
    everything = robot.task_space([0, 1], [1, 2], damping=1e-4)
    assert everything.M_C.shape == (6, 6)


def test_damping_is_least_squares_and_leaves_mdot_skew():
    a, h, options = arm("mixed"), 1e-5, {"damping": 0.5}
    t, (ahead, behind) = a.task(**options), a.beside(h, **options)
    V = RNG.normal(size=6)
    cost = lambda qd: np.sum((t.J @ qd - V) ** 2) + 0.25 * qd @ t.M @ qd  # noqa: E731
    best = t.J_bar @ V
    assert all(cost(best) <= cost(best + 1e-3 * RNG.normal(size=6)) for _ in range(20))
    rate = (ahead.M_C - behind.M_C) / (2 * h)
    near(rate, t.C_C + t.C_C.T, 1e-7)
    near(a.task(damping=1e-9).M_C, a.task().M_C)


def test_singular_states_are_refused():
    robot = qddot.load("point_mass_2r")
    with pytest.raises(SingularityError) as caught:
        robot.task_space([[0.3, 1.0], [0.3, np.pi]], [0, 0], rows=("x", "y"))
    assert str(caught.value).startswith(
        "the rows x, y of frame 'tip' are dependent in state [1]: J has rank 1 instead of 2, its condition number"
    )
    assert str(caught.value).endswith("Move away from this configuration, leave out rows, or give damping=.")
    with pytest.raises(SingularityError, match=r"condition number .* is inf"):
        robot.task_space([0, 0], [0, 0], rows=("x", "y"))
    with pytest.raises(
        SingularityError, match=r"6 rows \(wx, wy, wz, x, y, z\), the robot 2 degrees of freedom: J has rank 2 at most"
    ):
        robot.task_space([0, 1], [0, 0])
    with pytest.raises(SingularityError, match=r"rank 6 instead of 7, .* Keep three of qw, qx, qy, qz, or give damping="):
        arm("seven").task(coordinates="quaternion")
    with pytest.raises(SingularityError, match="J has rank 1 instead of 2"):
        robot.task_space([0, 1], [0, 0], rows=("x", "z"))
    with pytest.raises(SingularityError, match="rank 0 instead of 1"):
        robot.task_space([0, 1], [0, 0], "base", rows="x")


def test_what_has_no_mass_is_refused():
    robot = (
        qddot.Builder("light").body("a", mass=1.0).body("b", "a", xyz=(1, 0, 0), mass=0.0).frame("t", "b", xyz=(1, 0, 0)).robot()
    )
    for call in (lambda: robot.task_space([0, 1], [0, 0], rows=("x", "y")), lambda: robot.ellipsoids([0, 1])):
        with pytest.raises(SingularityError, match="mass matrix of light is not positive definite"):
            call()


def test_gimbal_lock_is_refused():
    robot = qddot.Builder("wrist").body("hand", axis=(0, 1, 0), mass=1.0, com=(1, 0, 0)).robot()
    with pytest.raises(SingularityError, match="pitch is \\+-90 degrees"):
        robot.task_space([np.pi / 2], [0], rows=("pitch",), coordinates="rpy")
    assert_allclose(robot.task_space([1.0], [0], rows=("pitch",), coordinates="rpy").M_C, [[1.0]])


# errors ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rows": ("x", "q")}, UnknownNameError, "no row 'q'"),
        ({"rows": ("x", "roll")}, UnknownNameError, "no row 'roll'"),
        ({"rows": ("x", 3)}, UnknownNameError, "no row 3"),
        ({"rows": 3}, InputError, "rows=3 is not a sequence of names"),
        ({"rows": ()}, InputError, "name each row once"),
        ({"rows": ("x", "x")}, InputError, "name each row once"),
        ({"coordinates": ["rpy"]}, UnknownNameError, "no coordinates"),
        ({"coordinates": "xyz"}, UnknownNameError, "no coordinates 'xyz'"),
        (
            {"coordinates": "rpy", "reference": "body"},
            InputError,
            "coordinates='rpy' go with world axes: leave reference='body' out",
        ),
        ({"reference": "tool"}, InputError, "reference='tool' is not one of"),
        ({"frame": "tipp"}, UnknownNameError, "no frame 'tipp': did you mean 'tip'"),
        ({"damping": 0}, InputError, "damping=0 is not a positive number"),
        ({"damping": "much"}, InputError, "damping='much' is not a positive number"),
        ({"damping": np.nan}, InputError, "damping=nan is not a positive number"),
    ],
)
def test_wrong_options(options, error, message):
    robot = qddot.load("point_mass_2r")
    with pytest.raises(error, match=message):
        robot.task_space([0, 1], [0, 0], **{"rows": ("x", "y")} | options if "coordinates" not in options else options)


def test_wrong_arrays():
    robot = qddot.load("point_mass_2r")
    with pytest.raises(InputError, match=r"q has shape \(3,\)"):
        robot.task_space([0, 1, 2], [0, 0], rows=("x", "y"))
    with pytest.raises(InputError, match=r"leading dimensions \(2,\) of qd do not fit \(3,\) of q"):
        robot.task_space(np.ones((3, 2)), np.ones((2, 2)), rows=("x", "y"))
    t = robot.task_space(np.ones((4, 2)), [0, 0], rows=("x", "y"))
    with pytest.raises(InputError, match=r"Vdot has shape \(3,\), expected \(\.\.\., 2\)"):
        t.inverse_dynamics([1, 2, 3])
    with pytest.raises(InputError, match=r"leading dimensions \(3,\) of F do not fit \(4,\) of this task space"):
        t.torque(np.ones((3, 2)))
    with pytest.raises(InputError, match=r"F_tip\[0\] is nan"):
        t.inverse_dynamics([1, 2], [np.nan, 0])
    for given in ({}, {"F": [1, 2], "tau": [1, 2]}):
        with pytest.raises(InputError, match="one of F and tau"):
            t.forward_dynamics(**given)
