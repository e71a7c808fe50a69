"""Arguments nobody means: an error of ours that says so, and no memory or time spent."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot import InputError, IntegrationError, ModelFormatError, ModelValueError, UnknownNameError, contact, control, rigid_motion
from qddot.compile import cache, threads
from qddot.logs import Log


@pytest.fixture(scope="module")
def robot():
    return qddot.load("two_link")


@pytest.mark.parametrize("method", ["rk4", "variational", "RK45", "DOP853", "Radau"])
@pytest.mark.parametrize("force", [1e160, 1e300])
def test_forces_beyond_measure_make_the_motion_diverge(robot, method, force):
    with pytest.raises(IntegrationError, match="in step 1"):
        robot.simulate([0, 0], None, 0.01, torque=[force, 0], method=method)


class Controller:
    def __init__(self, period):
        self.period = period

    def __call__(self, t, q, qd):
        return np.zeros(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"torque": lambda t, q, qd: "abc"}, "torque at t = 0 s is 'abc': real numbers"),
        ({"torque": lambda t, q, qd: np.array([1j, 0])}, "complex128"),
        ({"torque": lambda t, q, qd: [[1], [1, 2]]}, "is not an array"),
        ({"torque": lambda t, q, qd: None}, "is None"),
        ({"torque": np.array([1j, 0])}, "complex128"),
        ({"torque": Controller("fast")}, "positive number of seconds, got 'fast'"),
        ({"torque": Controller(1e-13)}, "steps are over the limit"),
        ({"events": lambda t, q, qd: "abc"}, "event '<lambda>' at t = 0 s is 'abc'"),
        ({"events": lambda t, q, qd: 1j}, "complex128"),
        ({"step": 1e-12}, r"1e\+10 steps are over the limit of 1e\+08"),
        ({"step": 1e-320}, "inf steps are over the limit"),
        ({"rtol": "a"}, "rtol='a' is not a positive number"),
    ],
)
def test_what_drives_a_simulation_is_looked_at(robot, arguments, message):
    with pytest.raises(InputError, match=message):
        robot.simulate([0, 0], None, 0.01, **arguments)


def test_a_batch_too_large_for_memory_is_refused_before_it_starts(robot):
    q = np.broadcast_to(np.zeros(2), (100_000, 2))
    with pytest.raises(InputError, match=r"samples of 100000 motions take .* GiB: keep fewer with every="):
        robot.simulate(q, None, 9e4)


def test_an_error_of_the_callers_own_function_is_the_callers(robot):
    with pytest.raises(ZeroDivisionError):
        robot.simulate([0, 0], None, 0.01, torque=lambda t, q, qd: 1 / 0)


def test_nothing_moves_without_joints(tmp_path):
    path = tmp_path / "rock.urdf"
    path.write_text('<robot name="rock"><link name="rock"/></robot>')
    rock = qddot.load(path)
    for method in ("rk4", "RK45", "Radau"):
        with pytest.raises(InputError, match="rock has no degrees of freedom"):
            rock.simulate([], None, 0.01, method=method)


@pytest.mark.parametrize("given", [None, 3, "N", [[1, 0]]])
def test_a_transmission_is_one(robot, given):
    with pytest.raises(InputError, match=r"needs a qddot\.Transmission"):
        robot.with_transmission(given)


@pytest.mark.parametrize("source", [None, b"two_link", 3, 1.5, ["two_link"]])
def test_what_is_no_path_is_refused(source):
    with pytest.raises(InputError, match="load needs the path of a description"):
        qddot.load(source)


@pytest.mark.parametrize("source", ["a" * 5000, "a/" * 5000 + "r.urdf", "a" * 300 + ".urdf"])
def test_long_paths_are_refused(source):
    with pytest.raises(ModelFormatError) as caught:
        qddot.load(source)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("count", [10**6, 10**9, 10**30])
def test_more_threads_than_cores_or_rows_are_not_started(robot, count, monkeypatch):
    import qddot.compile.kernel as kernel

    monkeypatch.setattr(kernel, "WORTH_THREADS", 1)
    asked = []
    monkeypatch.setattr(threads.pool(), "submit", lambda work, k: asked.append(k) or threads.pool.__wrapped__().submit(work, k))
    x = np.ones((3, 20, 2))
    np.testing.assert_array_equal(robot.inverse_dynamics(*x, threads=count), robot.inverse_dynamics(*x, threads=1))
    assert len(asked) < min(threads.cores(), 20)
    monkeypatch.setenv(threads.VARIABLE, str(count))
    assert threads.thread_count(None) == threads.cores()


def test_a_home_nobody_has_means_no_cache(monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, "~nosuchuser/x")
    assert cache.directory() is None
    assert qddot.load("two_link", gravity=(0, 0, -3)).gravity_torque([0, 0]).shape == (2,)


@pytest.mark.parametrize(
    "row", [lambda s: s.joint("joint1") * 1e308 * 10, lambda s: s.joint("joint1") * np.nan, lambda s: s.joint("joint1") + np.inf]
)
def test_a_constraint_with_a_constant_that_is_none_is_refused(robot, row):
    """As any program is: where it is made."""
    constraint = qddot.holonomic(row)
    for use in (
        lambda: robot.constraint_residual([0.1, 0.2], [constraint]),
        lambda: robot.constraint_jacobian([0.1, 0.2], [constraint]),
        lambda: robot.constrained_forward_dynamics([0.1, 0.2], [0, 0], [0, 0], [constraint]),
        lambda: robot.simulate([0.1, 0.2], None, 0.01, constraints=[constraint]),
    ):
        with pytest.raises(InputError, match="overflows: a constant in it"):
            use()


def test_a_quantity_that_is_constant_is_computed(robot):
    """Nothing rubs in this robot, so there is no operation to do."""
    np.testing.assert_array_equal(robot.friction_torque([0.1, 0.2]), [0.0, 0.0])
    np.testing.assert_array_equal(robot.spring_torque(np.zeros((20, 2))), np.zeros((20, 2)))
    np.testing.assert_array_equal(robot.spring_torque([0.1, 0.2]), [0.0, 0.0])


RAGGED = [[1], [1, 2]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.simulate([0, 0], None, 0.01, parameters=RAGGED), "parameters is not an array of numbers"),
        (lambda r: r.rollout()([0, 0], None, RAGGED, steps=2), "control is not an array of numbers"),
        (lambda r: r.inverse_kinematics(RAGGED), "pose is not an array of numbers"),
        (lambda r: r.equations().mass_matrix.evaluate(q=RAGGED), "q is not an array of numbers"),
        (lambda r: r.ellipsoids([0, 0], rows=np.array([[1.0, 2.0]])), "no row array"),
        (
            lambda r: r.project_velocity(np.zeros((3, 2)), np.zeros((2, 2)), WALL),
            r"dimensions of qd \(2,\) and of the state \(3,\)",
        ),
    ],
)
def test_rows_of_different_lengths_and_batches_that_do_not_fit(robot, call, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        call(robot)


WALL = [qddot.joint_equality("joint2", "joint1")]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: control.Quintic([0, 0], [1, 1], 1.0)(np.nan), "t=nan: a finite number"),
        (lambda: control.PD(arm(), control.Hold([0, 0]), 1, 1)(0.0, [0, 0], [1, 2, 3]), "qd has shape"),
        (lambda: control.SetPointPD(arm(), [0, 0], 1e90, 1)(0.0, np.full(2, 1e300), np.zeros(2)), "no finite numbers"),
        (lambda: control.MomentumObserver(arm(), 9.0).update([0, 0], [0, 0], [1]), r"tau \(1,\): \(2,\) is needed"),
        (lambda: control.MomentumObserver(arm(), 9.0).observe([[0, 0]], [[0, 0]], "a"), "tau='a': real numbers"),
        (lambda: control.Task(arm(), rows=3), "rows=3 is not a list of names"),
        (lambda: rigid_motion.exp([0] * 6, "a"), "angle='a': real numbers"),
        (lambda: rigid_motion.exp(np.zeros((3, 6)), [1, 2]), "leading dimensions of angle"),
        (lambda: rigid_motion.screw(np.zeros((2, 3)), np.ones((3, 3))), "leading dimensions of point"),
        (lambda: arm().linearize([0, 0]).discrete(1e300), "too long"),
        (lambda: arm().linearize([0, 0]).discrete([1, 2]), "not a positive number"),
        (lambda: arm().equations().mass_matrix.evaluate([0, np.inf]), "inf is not a finite number"),
        (lambda: arm().equations().mass_matrix.evaluate([0, 0], digits=10**6), "take too long"),
        (lambda: arm().equations().mass_matrix.evaluate([0, 0], parameters="all"), "is not a dictionary"),
        (lambda: arm().equations().kinetic_energy.evaluate([0, 0], [1e200, 0]), "is not finite here"),
        (lambda: arm().equations().mass_matrix.subs(1j), "is not a dictionary"),
        (lambda: arm().equations().linearize([0, 1e308]), "tell no turns apart"),
        (lambda: Log(np.arange(9.0), np.zeros((9, 2)), np.zeros((9, 2))).resampled(1e30), "over the limit"),
        (lambda: Log(np.arange(9.0), np.zeros((9, 2)), np.zeros((9, 2))).split("half"), "fraction='half'"),
        (lambda: contact.Contacts(arm(), 7), "spheres has 7"),
        (lambda: arm().mass_matrix(np.broadcast_to(0.0, (10**12, 2))), "fewer states at a time"),
        (lambda: touched().touching([0, 0], within="near"), "within='near'"),
        (lambda: touched().touching([0, 0], within=10**400), "a finite number"),
        (lambda: touched().touching(np.zeros((2, 2))), "one configuration"),
        (lambda: contact.bounce(touched(), [0, 0], None, 1e300), "at most"),
        (lambda: arm().simulate([0, 0], t=10**400), "t=1000"),
        (lambda: qddot.Drive(rotor_inertia=10**400), "rotor_inertia"),
        (lambda: qddot.Inertia(10**400), "mass"),
        (lambda: arm().forward_dynamics([0, 0], [0, 0], [0, 0], f_tip=[0] * 6, check=np.array([None, None])), "neither True nor"),
        (lambda: qddot.Builder("b").body("a", com=np.array(0.1), mass=1), "3 numbers are needed"),
    ],
)
def test_other_things_look_at_what_they_are_given(call, message):
    with pytest.raises((InputError, ModelValueError), match=message):
        call()


def arm():
    return qddot.load("two_link")


def touched():
    return contact.Contacts(arm(), [contact.Sphere("body_2")], [contact.Plane((0, -5, 0), (0, 1, 0))])


def test_forces_of_contact_beyond_the_largest_number_end_the_motion():
    """The speed of what falls is finite, its impulse too, and their quotient by the step is not."""
    ball = qddot.Builder("ball").body("b", joint="free", mass=1.0, tensor=(0.004, 0.004, 0.004)).robot()
    floor = contact.Contacts(ball, [contact.Sphere("b", 0.1)], [contact.Plane()])
    with pytest.raises(IntegrationError, match="no longer finite"):
        contact.simulate(floor, [1.0, 0, 0, 0, 0, 0, 0.3], [0, 0, 0, 0, 0, -1e308], duration=0.003)


HUGE = 10**400
TIMES = np.arange(600) / 100
SWINGS = np.column_stack([np.sin(TIMES), np.cos(2 * TIMES)])
LOG = Log(TIMES, SWINGS, SWINGS)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda arm: qddot.Limits(velocity=HUGE), "a limit is a plain number"),
        (lambda arm: arm.task_space([0.1, 0.2], [0.1, 0.2], rows=["x", "y"], damping=HUGE), "damping=1000.*positive number"),
        (lambda arm: arm.equations().linearize(q=HUGE), "beyond 1e308 rad"),
        (lambda arm: arm.equations().mass_matrix.subs({"q1": "sqrt(-1)"}), "its value is not a finite real number"),
        (lambda arm: arm.excitation(ramp=1 << 70), "ramp=.* give some seconds"),
        (lambda arm: arm.excitation(near=1j), "near=1j is not a Log"),
        (lambda arm: arm.identify(LOG, velocity=np.array(["a", "b"])), "velocity=.* is not one of 'measured', 'derivative'"),
        (lambda arm: arm.identify(LOG, velocity="mesured"), "did you mean 'measured'"),
        (lambda arm: Log([0.0, 1e-312, 2e-312], np.zeros((3, 2)), np.zeros((3, 2))), "steps of 1e-312 s"),
    ],
)
def test_what_nobody_means_is_refused_by_name(call, told):
    with pytest.raises(qddot.QddotError, match=told):
        call(qddot.load("two_link"))


def test_robots_in_which_nothing_moves_are_told_so():
    fixed = qddot.Builder("block").body("a", joint="fixed", mass=1, tensor=(0.1, 0.1, 0.1)).robot()
    with pytest.raises(ModelValueError, match=r"robot 'block': center_of_mass divides by zero.*give a moving link a mass"):
        fixed.center_of_mass([])
    with pytest.raises(InputError, match="block has no joints"):
        fixed.linearize([])
