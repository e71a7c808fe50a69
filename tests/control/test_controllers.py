"""Each controller does what its theory says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Builder, Drive, Inertia, InputError, UnknownNameError
from qddot.control import (
    PD,
    ComputedTorque,
    ElasticFeedbackLinearisation,
    Hold,
    Impedance,
    OperationalSpace,
    Quintic,
    Reference,
    SlotineLi,
    Task,
    Trapezoidal,
)

BODIES = [Inertia.box(2.0, (0.3, 0.1, 0.1)).shifted((-0.2, 0, 0)) for _ in range(3)]
ROWS = [(0, np.pi / 2, 0.3, 0), (0.4, 0, 0, 0), (0.4, 0, 0, 0)]


@pytest.fixture(scope="module")
def arm():
    return qddot.from_dh(ROWS, inertias=BODIES)


def sine(t):
    """A reference with all its derivatives."""
    phase = np.array([0.0, 1.0, 2.0])
    return Reference(0.5 * np.sin(2 * t + phase), np.cos(2 * t + phase), -2 * np.sin(2 * t + phase))


def test_pd_comes_to_rest_at_its_goal(arm):
    """Lyapunov: T + e Kp e / 2 never grows, and there is no steady error."""
    goal = np.array([0.5, 0.4, -0.3])
    motion = arm.simulate(np.zeros(3), None, 4.0, torque=PD(arm, Hold(goal), kp=30, kd=5), step=2e-3)
    stored = motion.kinetic_energy + 15 * ((goal - motion.q) ** 2).sum(-1)
    assert (np.diff(stored) < 1e-9).all()
    assert_allclose(motion.q[-1], goal, atol=1e-3)


def test_pd_moves_a_floating_base_on_the_manifold():
    robot = qddot.Builder().body("a", joint="spherical", mass=1.0, com=(0, 0, -0.3), tensor=(0.1, 0.1, 0.1)).robot()
    goal = robot.integrate(robot.neutral(), [0.3, -0.5, 0.2])
    motion = robot.simulate(robot.neutral(), None, 4.0, torque=PD(robot, Hold(goal, 3), kp=8, kd=3), step=1e-2)
    assert_allclose(robot.difference(motion.q[-1], goal), 0, atol=1e-4)


def test_computed_torque_makes_the_error_linear(arm):
    """e'' + 2 w e' + w^2 e = 0: critically damped, for every joint the same closed form."""
    w, start = 8.0, np.array([0.3, -0.2, 0.1])
    law = ComputedTorque(arm, sine, kp=w**2, kd=2 * w)
    motion = arm.simulate(sine(0).q + start, sine(0).qd, 1.0, torque=law)
    error = motion.q - np.array([sine(t).q for t in motion.t])
    t = motion.t[:, None]
    assert_allclose(error, start * (1 + w * t) * np.exp(-w * t), atol=1e-7)


def test_operational_space_makes_the_error_of_the_task_linear(arm):
    w, q0 = 6.0, np.array([0.1, 0.6, -1.2])
    task = Task(arm)
    begin = task.position(q0)
    goal = begin + np.array([0.05, 0.1, -0.05])
    law = OperationalSpace(task, Hold(goal), kp=w**2, kd=2 * w)
    motion = arm.simulate(q0, None, 1.0, torque=law, step=2e-3)
    t = motion.t[:, None]
    assert_allclose(task.position(motion.q) - goal, (begin - goal) * (1 + w * t) * np.exp(-w * t), atol=1e-7)


def test_what_the_task_leaves_free_is_damped(arm):
    """A task of one row: the posture comes to rest while the task is not disturbed."""
    task, q0 = Task(arm, rows=("z",)), np.array([0.1, 0.6, -1.2])
    law = OperationalSpace(task, Hold(task.position(q0)), kp=100, kd=20, posture_damping=4.0)
    motion = arm.simulate(q0, [1.0, 0, 0], 2.0, torque=law, step=4e-3)
    assert_allclose(task.position(motion.q), np.broadcast_to(task.position(q0), (len(motion), 1)), atol=1e-7)
    assert_allclose(motion.qd[-1], 0, atol=2e-3)


def test_impedance_gives_like_a_spring(arm):
    """Pushed with a constant force, the frame comes to rest where K x = F."""
    q0, push = np.array([0.1, 0.6, -1.2]), np.array([3.0, -2.0, 4.0])
    task = Task(arm)
    law = Impedance(task, Hold(task.position(q0)), stiffness=200.0, damping=60.0)
    motion = arm.simulate(q0, None, 4.0, torque=law, f_ext={arm.tip: np.r_[0, 0, 0, push]}, step=4e-3)
    assert_allclose(task.position(motion.q[-1]) - task.position(q0), push / 200, atol=1e-5)


def test_slotine_li_follows_without_knowing_the_masses(arm):
    """The error goes to zero though the parameters begin half wrong; without adaptation it does not."""
    wrong = arm.parameters() * 0.5
    ends = []
    for gain in (2.0, 0.0):
        law = SlotineLi(arm, sine, bandwidth=8.0, kd=15.0, gain=gain, period=2e-3, estimate=wrong)
        motion = arm.simulate(sine(0).q, sine(0).qd, 5.0, torque=law, step=2e-3)
        late = motion.t > 4.0
        ends.append(abs(motion.q[late] - np.array([sine(t).q for t in motion.t[late]])).max())
    assert ends[0] < 0.02
    assert ends[0] < ends[1] / 5


def test_the_regressor_of_slotine_and_li(arm):
    from qddot.control.adaptive import slotine_li_regressor

    robot = qddot.from_dh(ROWS, inertias=BODIES, drives=[Drive(viscous=0.3, coulomb=0.2)] * 3)
    q, qd, v, vd = np.random.default_rng(0).normal(size=(4, 3))
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    expected = M @ vd + C @ v + robot.gravity_torque(q) + robot.friction_torque(qd)
    assert_allclose(slotine_li_regressor(robot, q, qd, v, vd) @ robot.parameters(), expected, rtol=1e-10)


def test_elastic_joints_behave_as_if_the_gears_were_stiff():
    """The error of the links obeys (d/dt + w)^4 e = 0: e(t) = e0 (1 + x + x^2/2 + x^3/6) exp(-x), x = w t."""
    drive = Drive(gear_ratio=100, rotor_inertia=2e-5, series_stiffness=400.0, viscous=0.1)
    robot = qddot.from_dh([(0.4, 0.7, 0.1, 0), (0.3, 0, 0, 0)], inertias=BODIES[:2], drives=[drive] * 2)
    goal, w = np.array([0.4, -0.3]), 12.0
    law = ElasticFeedbackLinearisation(robot, lambda t: [goal, *np.zeros((4, 2))], w)
    q0 = np.array([0.1, 0.1])
    theta0 = q0 + law.links.bias_torque(q0, np.zeros(2)) / 400.0  # wound up so that the links rest
    motion = robot.simulate(np.r_[q0, theta0], None, 1.0, torque=law)
    x = w * motion.t[:, None]
    assert_allclose(motion.q[:, :2] - goal, (q0 - goal) * (1 + x + x**2 / 2 + x**3 / 6) * np.exp(-x), atol=1e-6)


def test_elastic_drives_belong_to_coordinates_not_to_the_order_of_a_description():
    soft, stiff = (Drive(rotor_inertia=0.1, series_stiffness=k) for k in (300.0, 1500.0))
    builder = Builder().body("b", "a", xyz=(0.4, 0, 0), mass=1, com=(0.2, 0, 0), drive=soft)
    robot = builder.body("a", mass=1, com=(0.2, 0, 0), drive=stiff).robot()
    assert robot.joint_names[:2] == ("a_joint", "b_joint")
    assert_allclose(ElasticFeedbackLinearisation(robot, Hold([0, 0]), 10.0).stiffness, [1500.0, 300.0])


def test_a_controller_may_be_sampled(arm):
    """The same law, asked every 10 ms only: it still comes to rest."""

    class Digital(PD):
        period = 0.01

    motion = arm.simulate(np.zeros(3), None, 4.0, torque=Digital(arm, Hold([0.5, 0.4, -0.3]), kp=10, kd=2), step=5e-3)
    assert_allclose(motion.q[-1], [0.5, 0.4, -0.3], atol=1e-2)
    assert_allclose(motion.tau[0:-1:2], motion.tau[1::2])


def test_what_is_refused(arm):
    with pytest.raises(InputError, match="a task has some of the coordinates x, y, z"):
        Task(arm, rows=("x", "roll"))
    with pytest.raises(InputError, match=r"kp=\[1, 2\]: one number, or one for each of 3"):
        PD(arm, Hold([0, 0, 0]), [1, 2], 1)
    with pytest.raises(InputError, match="none of them negative"):
        Impedance(Task(arm), Hold([0, 0, 0]), -1, 1)
    with pytest.raises(InputError, match="is no reference"):
        ComputedTorque(arm, [0, 0, 0], 1, 1)
    with pytest.raises(UnknownNameError, match="no frame 'hand'"):
        Task(arm, "hand")
    with pytest.raises(InputError, match=r"estimate has shape \(3,\)"):
        SlotineLi(arm, Hold([0, 0, 0]), 1, 1, 1, estimate=[1, 2, 3])
    with pytest.raises(InputError, match="every joint must be elastic"):
        ElasticFeedbackLinearisation(arm, Quintic([0, 0, 0], [1, 1, 1], 1.0), 10.0)
    for extra in ({"series_damping": 0.1}, {"load_friction": 0.1}, {"rotor_axis": (1, 0, 0)}):
        drive = Drive(rotor_inertia=0.1, series_stiffness=300.0, **extra)
        with pytest.raises(InputError, match="which this law does not make up for"):
            ElasticFeedbackLinearisation(Builder().body("a", mass=1, com=(1, 0, 0), drive=drive).robot(), Hold([0]), 10.0)


@pytest.fixture(scope="module")
def soft():
    return qddot.from_dh(ROWS[:2], inertias=BODIES[:2], drives=[Drive(rotor_inertia=0.1, series_stiffness=400.0)] * 2)


def test_references_that_do_not_fit(arm, soft):
    """None is stretched to the rows there are: whoever holds one number means one joint."""
    task = Task(arm, rows=("x", "z"))
    laws = {
        3: (lambda r: PD(arm, r, 1, 1), lambda r: ComputedTorque(arm, r, 1, 1), lambda r: SlotineLi(arm, r, 1, 1, 1)),
        2: (
            lambda r: OperationalSpace(task, r, 1, 1),
            lambda r: Impedance(task, r, 1, 1),
            lambda r: ElasticFeedbackLinearisation(soft, r, 10.0),
        ),
    }
    for n, makes in laws.items():
        for make in makes:
            for wrong in (1, 4):
                with pytest.raises(InputError, match=rf"gives q of shape \({wrong},\) at t = 0, expected \(..., {n}\)"):
                    make(Hold(np.full(wrong, 0.5)))
            with pytest.raises(InputError, match=r"gives qd of shape \(\) at t = 0"):
                make(lambda t, n=n: (np.zeros(n), 0.0, 0.0, 0.0, 0.0))
            for wrong in (lambda t, n=n: np.zeros(n), lambda t: (np.zeros(2), np.zeros(2)), lambda t, q, qd: q):
                with pytest.raises(InputError, match="the reference"):
                    make(wrong)
    with pytest.raises(InputError, match=r"gives no jerk, which this law needs: Hold and Quintic"):
        ElasticFeedbackLinearisation(soft, Trapezoidal([0, 0], [1, 1], 1, 1), 10.0)


def test_a_reference_may_return_a_tuple(arm, soft):
    q, qd = np.random.default_rng(4).normal(size=(2, 3))
    plain = ComputedTorque(arm, lambda t: ([0.1, 0.2, 0.3], [1, 2, 3], np.zeros(3)), 10, 2)
    same = ComputedTorque(arm, lambda t: Reference(np.array([0.1, 0.2, 0.3]), np.array([1.0, 2, 3]), np.zeros(3)), 10, 2)
    assert_allclose(plain(0.0, q, qd), same(0.0, q, qd))
    q, qd = np.random.default_rng(5).normal(size=(2, 4))
    elastic = [ElasticFeedbackLinearisation(soft, r, 10.0) for r in (lambda t: ((0.4, -0.3), *np.zeros((4, 2))), Hold([0.4, -0.3]))]
    assert_allclose(elastic[0](0.0, q, qd), elastic[1](0.0, q, qd))


def test_numbers_that_are_no_gains(arm, soft):
    hold, task = Hold([0, 0, 0]), Task(arm)
    for rate in (-20, 0, np.nan, np.inf):
        with pytest.raises(InputError, match=f"rate={rate} is not a positive number"):
            ElasticFeedbackLinearisation(soft, Hold([0, 0]), rate)
    for bandwidth in (-5, np.nan, [1, 2]):
        with pytest.raises(InputError, match=r"bandwidth=.*: one number, or one for each of 3"):
            SlotineLi(arm, hold, bandwidth, 1, 1)
    with pytest.raises(InputError, match=r"kd=inf: .* finite"):
        SlotineLi(arm, hold, 1, np.inf, 1)
    with pytest.raises(InputError, match="period=0 is not a positive number"):
        SlotineLi(arm, hold, 1, 1, 1, period=0)
    with pytest.raises(InputError, match="kp='stiff'"):
        PD(arm, hold, "stiff", 1)
    for damping in (-5, np.nan, [1, 2, 3]):
        with pytest.raises(InputError, match=r"posture_damping=.*: one number, finite"):
            OperationalSpace(task, hold, 1, 1, posture_damping=damping)
    with pytest.raises(InputError, match="x, y, z, each once"):
        Task(arm, rows=("x", "x"))


def test_laws_take_batches(arm, soft):
    """Each row of a batch is what the law gives for it alone."""
    q, qd = np.random.default_rng(1).normal(size=(2, 4, 3))
    task = Task(arm)
    for make in (
        lambda: PD(arm, Hold([0.5, 0.4, -0.3]), 10, 2),
        lambda: ComputedTorque(arm, Hold([0.5, 0.4, -0.3]), 10, 2),
        lambda: OperationalSpace(task, Hold([0.5, 0.1, 0.3]), 10, 2, posture_damping=1.0),
        lambda: Impedance(task, Hold([0.5, 0.1, 0.3]), 10, 2),
        lambda: SlotineLi(arm, Hold([0.5, 0.4, -0.3]), 5.0, 10.0, 1.0),
    ):
        assert_allclose(make()(0.0, q, qd), [make()(0.0, q[k], qd[k]) for k in range(4)], rtol=1e-10)
    law, (q, qd) = ElasticFeedbackLinearisation(soft, Hold([0.4, -0.3]), 10.0), np.random.default_rng(1).normal(size=(2, 5, 4))
    assert_allclose(law(0.0, q, qd), [law(0.0, q[k], qd[k]) for k in range(5)], rtol=1e-9)


def test_laws_for_stiff_joints_refuse_elastic_ones():
    robot = Builder().body("a", mass=1, com=(1, 0, 0), drive=Drive(rotor_inertia=0.1, series_stiffness=300.0)).robot()
    hold, task = Hold([0, 0]), Task(robot, rows=("x",))
    for make in (
        lambda: PD(robot, hold, 1, 1),
        lambda: ComputedTorque(robot, hold, 1, 1),
        lambda: SlotineLi(robot, hold, 1, 1, 1),
        lambda: OperationalSpace(task, hold, 1, 1),
        lambda: Impedance(task, hold, 1, 1),
    ):
        with pytest.raises(InputError, match="sits behind an elastic gear"):
            make()
