"""The direct entry for one state: the same results and errors as the ordinary way, and nothing kept alive."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import qddot
from qddot import InputError, InputWarning, SingularityError
from qddot.compile import builtin, direct
from qddot.compile.kernel import Kernel
from qddot.compile.layout import why_no_direct_entry
from qddot.robot import Robot
from tests.robots import random_model

pytestmark = pytest.mark.skipif(sys.implementation.name != "cpython" and bool(why_no_direct_entry()), reason="not CPython")

Z = np.zeros(2)


@pytest.fixture
def robot() -> Robot:
    robot = qddot.load("two_link")
    for method in (robot.inverse_dynamics, robot.forward_dynamics):
        method(Z, Z, Z)
    robot.mass_matrix(Z)
    return robot


def test_a_method_becomes_a_builtin(robot):
    assert type(robot.inverse_dynamics).__name__ == "builtin_function_or_method"
    assert robot.inverse_dynamics.__name__ == "inverse_dynamics"
    assert "joint forces" in robot.inverse_dynamics.__doc__.lower()


def test_same_results(robot):
    rng = np.random.default_rng(0)
    fresh = Robot(robot.model)
    for _ in range(20):
        q, qd, qdd = rng.normal(size=(3, 2))
        np.testing.assert_array_equal(robot.inverse_dynamics(q, qd, qdd), fresh.inverse_dynamics(q[None], qd, qdd)[0])
        np.testing.assert_array_equal(robot.forward_dynamics(q, qd, qdd), fresh.forward_dynamics(q[None], qd, qdd)[0])
        np.testing.assert_array_equal(robot.mass_matrix(q), fresh.mass_matrix(q[None])[0])
        assert robot.mass_matrix(q).shape == (2, 2)


@pytest.mark.parametrize(
    "q",
    [
        [0.1, 0.2],
        np.array([0.1, 0.2], np.float32),
        np.array([0.2, 0.1])[::-1],
        np.array([[0.1, 0.2]]),
        np.array([0.1, 0.0, 0.2])[::2],
    ],
    ids=["list", "float32", "reversed", "batch", "strided"],
)
def test_everything_else_goes_the_ordinary_way(robot, q):
    result = robot.inverse_dynamics(q, Z, Z)
    np.testing.assert_allclose(result.reshape(2), robot.inverse_dynamics(np.array([0.1, 0.2]), Z, Z), rtol=1e-6)
    assert robot.inverse_dynamics(q, Z, qdd=Z).shape == result.shape
    assert robot.inverse_dynamics(Z, Z, Z, out=np.empty(2)).shape == (2,)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_numbers_raise(robot, k, value):
    arguments = [Z.copy(), Z.copy(), Z.copy()]
    arguments[k][1] = value
    with pytest.raises(InputError, match=rf"^{('q', 'qd', 'qdd')[k]}\[1\] is"):
        robot.inverse_dynamics(*arguments)


def test_wrong_calls_raise(robot):
    with pytest.raises(InputError, match="shape"):
        robot.inverse_dynamics(np.zeros(3), Z, Z)
    with pytest.raises(TypeError, match="missing"):
        robot.inverse_dynamics(Z, Z)
    with pytest.raises(InputError, match="no option"):
        robot.inverse_dynamics(Z, Z, Z, nonsense=1)
    with pytest.warns(InputWarning, match="exceeds"):
        robot.inverse_dynamics(np.array([2e6, 0]), Z, Z)
    with pytest.raises(SingularityError, match="not finite"):
        robot.inverse_dynamics(Z, np.full(2, 1e200), Z)


def test_singular_states_raise():
    radar = qddot.Builder("radar").body("turn").body("mass", "turn", joint="prismatic", axis=(1, 0, 0), mass=1.0).robot()
    assert np.isfinite(radar.forward_dynamics(np.array([0.0, 1.0]), Z, Z)).all()
    with pytest.raises(SingularityError, match="nothing resists joint 'turn"):
        radar.forward_dynamics(Z, Z, Z)


def test_nothing_leaks(robot):
    x = np.zeros(2)
    counts = sys.getrefcount(x), sys.getrefcount(np.dtype(float))
    before = len(gc.get_objects())
    for _ in range(2000):
        robot.inverse_dynamics(x, x, x)
        robot.mass_matrix(x)
    assert (sys.getrefcount(x), sys.getrefcount(np.dtype(float))) == pytest.approx(counts, abs=5)
    assert len(gc.get_objects()) - before < 1000


def test_eight_threads_on_a_robot_nobody_has_called():
    """Where Python has no lock they compile, replace the method and call it all at once."""
    robot, gate = qddot.load("two_link", gravity=(0, 0, -9.0)), threading.Barrier(8)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 50, 2))

    def work() -> list[np.ndarray]:
        gate.wait()
        return [f(a, b, c) for a, b, c in zip(q, qd, qdd) for f in (robot.inverse_dynamics, robot.forward_dynamics)]

    with ThreadPoolExecutor(8) as pool:
        first, *others = [future.result() for future in [pool.submit(work) for _ in range(8)]]
    for found in others:
        np.testing.assert_array_equal(found, first)


def test_eight_threads_ask_for_frames():
    """Each learns ways that the others take."""
    robot, gate = qddot.load("arm7", gravity=(0, 0, -9.0)), threading.Barrier(8)
    q, frames = np.random.default_rng(0).normal(size=(20, 7)), qddot.load("arm7").frame_names
    expected = {frame: qddot.load("arm7").jacobian(q.tolist(), frame) for frame in frames}

    def work(k: int) -> None:
        gate.wait()
        for j in range(200):
            frame = frames[(k + j) % len(frames)]
            np.testing.assert_array_equal(robot.jacobian(q, frame), expected[frame])
            np.testing.assert_array_equal(robot.jacobian(q[j % 20], frame), expected[frame][j % 20])

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, k) for k in range(8)]:
            future.result()


def test_robots_are_collected():
    robot = qddot.load("two_link")
    robot.mass_matrix(Z)
    robot.mass_matrix(Z)
    gone = weakref.ref(robot.model)
    del robot
    gc.collect()
    assert gone() is None


# batches, names, quaternions, several results -------------------------------------------------------------------------------


def ordinary(method, *arguments, **options) -> list[np.ndarray]:
    """By a keyword that no direct entry takes."""
    result = method(*arguments, **options, dtype=np.float64)
    return list(result) if isinstance(result, tuple) else [result]


def compared(method, *arguments, **options) -> None:
    """The direct way, which is known after a few calls, gives the bits of the ordinary one."""
    expected = ordinary(method, *arguments, **options)
    for _ in range(4):
        found = method(*arguments, **options)
        for a, b in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.flags.owndata
            assert a.flags.c_contiguous


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"])
def test_batches_of_every_size(quantity):
    robot = Robot(random_model(np.random.default_rng(4), 4, kinds=("revolute", "prismatic")))
    x = np.random.default_rng(0).normal(size=(3, 40, 4))
    for n in (16, *range(1, 25), 40):
        compared(getattr(robot, quantity), *x[:, :n])
    compared(getattr(robot, quantity), *x[:, ::3])
    assert type(getattr(robot, quantity)).__name__ == "builtin_function_or_method"


def test_names_of_frames():
    robot = qddot.load("arm7")
    q = np.random.default_rng(1).normal(size=(20, 7))
    for x in (q, q[0]):
        compared(robot.jacobian, x)
        for frame in ("link3", "flange", "".join(["lin", "k3"])):
            compared(robot.jacobian, x, frame)
            compared(robot.jacobian, x, frame, "body")
            compared(robot.jacobian, x, reference="world_aligned", frame=frame)
            compared(robot.transform, x, frame)
    for k in range(40):  # more ways than there is room for
        assert robot.jacobian(q[0], "".join(["link", str(k % 7 + 1)])).shape == (6, 7)
    with pytest.raises(qddot.UnknownNameError, match="no frame 'link33'"):
        robot.jacobian(q[0], "link33")
    with pytest.raises(InputError, match="no option"):
        robot.jacobian(q[0], "link3", nonsense=1)
    with pytest.raises(TypeError):
        robot.jacobian(q[0], "link3", "body", "link3")


def test_what_is_always_zero(robot):
    """A program without an operation: there are no springs."""
    for shape in ((2,), (3, 2), (20, 2)):
        compared(robot.spring_torque, np.ones(shape))


def test_a_given_output_is_filled(robot):
    x = np.random.default_rng(0).normal(size=(3, 20, 2))
    expected = ordinary(robot.inverse_dynamics, *x)[0]
    for n in (3, 20):
        for out in (np.empty((n, 2)), np.empty((n, 4))[:, ::2], np.empty((2, n)).T, np.empty((n, 2), np.float32)):
            for _ in range(3):
                assert robot.inverse_dynamics(*x[:, :n], out=out) is out
                np.testing.assert_allclose(out, expected[:n], rtol=1e-6)
    one = np.empty(2)
    for _ in range(3):
        assert robot.inverse_dynamics(*x[:, 5], out=one) is one
        np.testing.assert_array_equal(one, expected[5])
    for k in range(3):  # the same memory, and memory that begins a row later
        for shift in (0, 1):
            room = np.concatenate([x[k], x[k][-1:]])
            inputs = [room[:20] if j == k else x[j].copy() for j in range(3)]
            assert robot.inverse_dynamics(*inputs, out=room[shift : shift + 20]) is not None
            np.testing.assert_array_equal(room[shift : shift + 20], expected)
    for wrong in (np.empty((20, 3)), np.empty((19, 2)), np.empty(40), np.empty((20, 2), int)):
        with pytest.raises(InputError):
            robot.inverse_dynamics(*x, out=wrong)
    fixed = np.empty((20, 2))
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        robot.inverse_dynamics(*x, out=fixed)


def test_given_outputs_are_filled(robot):
    """Several results go to a tuple of arrays: the same that are given, no reference more, and none into another or an input."""
    x = np.random.default_rng(0).normal(size=(3, 20, 2))
    expected = ordinary(robot.inverse_dynamics_derivatives, *x)
    for n in (1, 3, 20):
        outs = tuple(np.empty((n, 2, 2)) for _ in range(3))
        before = [sys.getrefcount(a) for a in outs]
        for _ in range(3):
            found = robot.inverse_dynamics_derivatives(*x[:, :n], out=outs)
            assert found._fields == ("dtau_dq", "dtau_dqd", "dtau_dqdd")
            assert all(a is b for a, b in zip(found, outs))
            for a, b in zip(outs, expected):
                np.testing.assert_array_equal(a, b[:n])
                a[:] = 0
            del found, a, b
        assert [sys.getrefcount(a) for a in outs] == before
    room = np.empty((61, 2, 2))
    for starts in ((0, 20, 40), (40, 20, 0), (41, 0, 20)):
        outs = tuple(room[k : k + 20] for k in starts)
        robot.inverse_dynamics_derivatives(*x, out=outs)
        for a, b in zip(outs, expected):
            np.testing.assert_array_equal(a, b)
    for starts in ((0, 19, 40), (40, 20, 1), (0, 0, 20)):
        with pytest.raises(InputError, match="share memory"):
            robot.inverse_dynamics_derivatives(*x, out=tuple(room[k : k + 20] for k in starts))
    apart = [np.empty((20, 2, 2)) for _ in range(3)]
    for wrong in (apart[:2], [*apart, apart[0]], [apart[0], None, np.empty((19, 2, 2))], apart[0]):
        with pytest.raises(InputError):
            robot.inverse_dynamics_derivatives(*x, out=wrong if isinstance(wrong, np.ndarray) else tuple(wrong))
    alone = np.empty((20, 2))
    for _ in range(3):
        assert robot.inverse_dynamics(*x, out=(alone,)) is alone


def test_a_batch_worth_threads_goes_the_direct_way_where_there_is_one_thread(monkeypatch):
    monkeypatch.setenv("QDDOT_THREADS", "1")
    monkeypatch.setattr(direct, "WORTH_THREADS", 0)
    robot = qddot.load("two_link")
    x = np.random.default_rng(0).normal(size=(3, 50, 2))
    expected = [robot.inverse_dynamics(*x) for _ in range(2)]  # the second one has learnt the loop
    monkeypatch.setattr(Kernel, "run", None)
    np.testing.assert_array_equal(robot.inverse_dynamics(*x), expected[0])


def test_several_results_have_their_names(robot):
    x = np.random.default_rng(0).normal(size=(3, 5, 2))
    for _ in range(3):
        found = robot.inverse_dynamics_derivatives(*x)
    assert found._fields == ("dtau_dq", "dtau_dqd", "dtau_dqdd")
    assert found.dtau_dq.shape == (5, 2, 2)


@pytest.mark.parametrize("kinds", [("spherical",), ("floating", "revolute", "spherical")])
def test_quaternions_are_normalised(kinds):
    robot = Robot(random_model(np.random.default_rng(0), 3, kinds=kinds, chain=True))
    rng = np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(20)])
    starts = [c.q.start for c in robot.model.mechanism.coordinates if c.parts[0].quaternion]
    for start in starts:
        q[:, start : start + 4] *= 1 + 1e-8 * rng.normal(size=(20, 1))
    v = rng.normal(size=(20, robot.nv))
    for n in (1, 7, 9, 16, 20):
        compared(robot.inverse_dynamics, q[:n], v[:n], v[:n])
    compared(robot.inverse_dynamics, q[0], v[0], v[0])
    q[5, starts[0]] += 1e-3
    with pytest.raises(InputError, match=r"q\[5, \d+:\d+\] of joint .* is a quaternion wxyz"):
        robot.inverse_dynamics(q, v, v)
    with pytest.raises(InputError, match="quaternion"):
        robot.inverse_dynamics(q[5], v[5], v[5])


@pytest.mark.parametrize("n", [3, 12, 40])
def test_what_is_wrong_in_a_batch_is_named(robot, n):
    good = np.random.default_rng(0).normal(size=(3, n, 2))
    for _ in range(3):
        robot.inverse_dynamics(*good)
    for k, value, match in ((0, np.nan, "q"), (1, np.inf, "qd"), (2, -np.inf, "qdd")):
        bad = good.copy()
        bad[k, n - 1, 1] = value
        with pytest.raises(InputError, match=rf"^{match}\[{n - 1}, 1\] is"):
            robot.inverse_dynamics(*bad)
    with pytest.raises(SingularityError, match="not finite"):
        robot.inverse_dynamics(good[0], np.full((n, 2), 1e200), good[2])
    with pytest.warns(InputWarning, match="exceeds"):
        robot.inverse_dynamics(good[0] + 2e6, good[1], good[2])
    with pytest.raises(InputError, match="shape"):
        robot.inverse_dynamics(good[0], good[1], good[2, :, :1])
    with pytest.raises(InputError):
        robot.inverse_dynamics(good[0], good[1], good[2, 1:])


def test_batches_leak_nothing(robot):
    x = np.random.default_rng(0).normal(size=(3, 20, 2))
    bad = x.copy()
    bad[0, 3] = np.nan
    gc.collect()
    counts = [sys.getrefcount(a) for a in (x, robot.model, np.dtype(float))]
    for _ in range(500):
        robot.inverse_dynamics(*x)
        robot.inverse_dynamics_derivatives(*x)
        with pytest.raises(InputError):
            robot.inverse_dynamics(*bad)
    gc.collect()
    assert [sys.getrefcount(a) for a in (x, robot.model, np.dtype(float))] == pytest.approx(counts, abs=8)


def test_batches_in_threads_of_python():
    robot = qddot.load("arm7")
    x = np.random.default_rng(0).normal(size=(3, 2000, 7))
    expected = robot.inverse_dynamics(*x)
    robot.inverse_dynamics(*x)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: robot.inverse_dynamics(*x), range(40)):
            np.testing.assert_array_equal(found, expected)


# bound quantities -----------------------------------------------------------------------------------------------------------


def test_a_bound_quantity_computes_in_place(robot):
    step = robot.bind("inverse_dynamics")
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 2))
    step.q[:], step.qd[:], step.qdd[:] = q, qd, qdd
    tau = step()
    assert tau is step.tau
    np.testing.assert_array_equal(tau, robot.inverse_dynamics(q, qd, qdd))
    step.q[:] = 0
    assert step() is tau
    np.testing.assert_array_equal(tau, robot.inverse_dynamics(Z, qd, qdd))


def test_a_bound_quantity_checks_too(robot):
    step = robot.bind("forward_dynamics")
    step.tau[0] = np.nan
    with pytest.raises(InputError, match=r"tau\[0\] is nan"):
        step()
    with pytest.raises(AttributeError, match="no array 'torque': there are q, qd, tau"):
        _ = step.torque


def test_bound_quantities_with_options_and_several_results(robot):
    J = robot.bind("jacobian", frame="body_1", reference="body")
    J.q[:] = [0.3, 0.4]
    np.testing.assert_array_equal(J(), robot.jacobian([0.3, 0.4], "body_1", "body"))
    d = robot.bind("inverse_dynamics_derivatives")
    d.qd[:] = 1
    for a, b in zip(d(), robot.inverse_dynamics_derivatives(Z, np.ones(2), Z)):
        np.testing.assert_array_equal(a, b)


def test_bound_quantities_outlive_their_robot():
    step = qddot.load("two_link").bind("mass_matrix")
    gc.collect()
    np.testing.assert_array_equal(step(), qddot.load("two_link").mass_matrix([0, 0]))


def test_bound_quantities_normalise_quaternions():
    robot = Robot(random_model(np.random.default_rng(0), 2, kinds=("spherical",), chain=True))
    step = robot.bind("gravity_torque")
    step.q[1:5] *= 1 + 1e-8
    np.testing.assert_allclose(step(), robot.gravity_torque(robot.neutral()), atol=1e-7)


def test_assigning_to_a_bound_input_copies(robot):
    step = robot.bind("gravity_torque")
    kept = step.q
    step.q = [0.3, 0.4]
    assert step.q is kept
    np.testing.assert_array_equal(step(), robot.gravity_torque([0.3, 0.4]))
    with pytest.raises(AttributeError, match="no input 'qq'"):
        step.qq = 1
    with pytest.raises(AttributeError, match="no input 'g'"):
        step.g = 1


def test_a_subclass_keeps_its_own_methods():
    class Heavier(Robot):
        def gravity_torque(self, q, **options):
            return super().gravity_torque(q, **options) + 100

    robot = Heavier(qddot.load("two_link").model)
    assert [robot.gravity_torque(Z)[0] > 90 for _ in range(3)] == [True] * 3
    kind, arguments = robot.__reduce__()
    assert kind is Heavier
    assert arguments == (robot.model,)


def test_signatures_stay_readable(robot):
    import inspect

    assert list(inspect.signature(robot.inverse_dynamics).parameters) == ["q", "qd", "qdd", "options"]


def test_large_results_have_a_direct_entry_too():
    robot = Robot(random_model(np.random.default_rng(0), 12, kinds=("revolute",)))
    v = np.random.default_rng(1).normal(size=(3, 20, robot.nv))
    for n in (1, 5, 20):
        compared(robot.regressor, *v[:, :n])
    compared(robot.regressor, *v[:, 0])
    assert robot.regressor(*v[:, 0]).size > 1000
    assert type(robot.regressor).__name__ == "builtin_function_or_method"


ENERGIES = ("kinetic_energy", "potential_energy", "lagrangian", "hamiltonian", "hamiltonian_of_momentum")


@pytest.mark.parametrize("quantity", ENERGIES)
@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_a_single_number_is_a_scalar(quantity, name):
    robot = qddot.load(name)
    q, v = robot.neutral() + np.zeros((20, 1)), np.random.default_rng(1).normal(size=(20, robot.nv))
    method = getattr(robot, quantity)
    arguments = (q,) if quantity == "potential_energy" else (q, v)
    for n in (20, 1, 5, 20):
        compared(method, *(x[:n] for x in arguments))
    one = [x[3] for x in arguments]
    expected = ordinary(method, *one)[0]
    for _ in range(3):
        found = method(*one)
        assert type(found) is type(expected) is np.float64
        assert found == expected == method(*arguments)[3]
        room = np.zeros(())
        assert method(*one, out=room) is room
        assert room == expected
    assert type(method).__name__ == "builtin_function_or_method"
    counts = [sys.getrefcount(x) for x in (room, *one)]
    for _ in range(100):
        method(*one)
        method(*one, out=room)
    assert [sys.getrefcount(x) for x in (room, *one)] == counts


def test_results_go_into_given_arrays_of_robots_with_quaternions():
    robot = Robot(random_model(np.random.default_rng(0), 3, kinds=("floating", "revolute", "spherical"), chain=True))
    rng = np.random.default_rng(1)
    q, v = np.array([robot.random_configuration(rng) for _ in range(20)]), rng.normal(size=(20, robot.nv))
    for _ in range(3):
        for n in (1, 3, 20):
            out = np.empty((n, robot.nv))
            before = sys.getrefcount(out)
            assert robot.inverse_dynamics(q[:n], v[:n], v[:n], out=out) is out
            np.testing.assert_array_equal(out, ordinary(robot.inverse_dynamics, q[:n], v[:n], v[:n])[0])
            with pytest.raises(InputError, match="quaternion"):
                robot.inverse_dynamics(2 * q[:n], v[:n], v[:n], out=out)
            assert sys.getrefcount(out) == before
    room = np.concatenate([q.ravel(), np.zeros(robot.nv)])
    shared = room[: q.size].reshape(q.shape)
    out = room[room.size - v.size :].reshape(v.shape)  # the results overwrite the configurations
    np.testing.assert_array_equal(robot.inverse_dynamics(shared, v, v, out=out), ordinary(robot.inverse_dynamics, q, v, v)[0])


UNUSUAL = {
    "lists": lambda x: x.tolist(),
    "whole numbers": lambda x: x.astype(int),
    "lists of whole numbers": lambda x: x.astype(int).tolist(),
    "scalars of NumPy": list,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "float32": lambda x: x.astype(np.float32),
    "the other byte order": lambda x: x.astype(">f8"),
    "of ctypes": lambda x: np.ctypeslib.as_array((ctypes.c_double * x.size)(*x)).reshape(x.shape),  # another object as dtype
    "of another process": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_arguments_give_the_bits_of_the_ordinary_way(robot, kind, monkeypatch):
    x = [UNUSUAL[kind](a) for a in 3 * np.random.default_rng(0).normal(size=(3, 2))]
    out = np.empty(2)
    assert robot.inverse_dynamics(Z, Z, Z, out=out) is not None  # the general entry is there
    expected = ordinary(robot.inverse_dynamics, *x)[0]
    frames = ordinary(robot.jacobian, x[0], "body_1")[0]
    robot.jacobian(Z, "body_1")
    monkeypatch.setattr(Kernel, "run", None)  # which only the ordinary way calls
    np.testing.assert_array_equal(robot.inverse_dynamics(*x), expected)
    assert robot.inverse_dynamics(*x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(robot.jacobian(x[0], "body_1"), frames)


@pytest.mark.parametrize(
    "wrong",
    [[0.1, "0.2"], [0.1, None], [0.1], [[0.1, 0.2, 0.3]], [0.1, np.nan], [0.1, 10**400], [0.1, 1j], "ab", {}, 0.5, []],
    ids=str,
)
def test_unusual_arguments_are_refused_in_the_words_of_the_ordinary_way(robot, wrong):
    def error(**options) -> str:
        with pytest.raises(InputError) as caught:
            robot.inverse_dynamics(Z, wrong, Z, **options)
        return str(caught.value)

    assert error() == error(dtype=np.float64)


def test_a_method_that_was_saved_becomes_the_direct_entry():
    """Whoever holds a method from before its first call, or by its second name, calls what the attribute is."""
    robot = qddot.load("two_link")
    saved, other = robot.inverse_dynamics, robot.rnea
    before = saved.__self__
    tau = saved([0.1, 0.2], [0, 0], [0, 0])
    assert saved is robot.inverse_dynamics is other
    assert saved.__self__ is not before
    q, zero = np.array([0.1, 0.2]), np.zeros(2)
    assert (saved(q, zero, zero) == tau).all()
    with pytest.raises(InputError, match="must be finite"):
        saved(q, zero, np.array([0, np.nan]))
    with pytest.raises(TypeError, match="qdd"):
        qddot.load("two_link").inverse_dynamics([0, 0], [0, 0])


def test_a_method_of_a_subclass_is_its_own():
    class Louder(qddot.Robot):
        def inverse_dynamics(self, q, qd, qdd, **options):
            return 2 * super().inverse_dynamics(q, qd, qdd, **options)

    robot, state = qddot.load("two_link"), ([0.1, 0.2], [0, 0], [0, 0])
    louder = Louder(robot.model)
    for _ in range(3):
        assert (louder.inverse_dynamics(*state) == 2 * robot.inverse_dynamics(*state)).all()
    assert louder.mass_matrix([0, 0]).shape == (2, 2)


@pytest.mark.parametrize(
    "order", [("quaternion", "rpy", None), (None, "quaternion", "zyx"), ("rotation_vector", "quaternion", "rpy")]
)
@pytest.mark.parametrize("quantity", ["analytic_jacobian", "analytic_jacobian_dot"])
def test_options_may_change_the_shape_of_a_result(quantity, order):
    """A quaternion has four numbers, other coordinates three: in any order of calls each has its own shape and numbers."""
    robot, rng = qddot.load("arm7", gravity=(0, 0, -9.0)), np.random.default_rng(0)
    one, many = rng.normal(size=(2, 7)), rng.normal(size=(2, 20, 7))
    inputs = 1 if quantity == "analytic_jacobian" else 2
    for _ in range(3):
        for coordinates in order:
            chosen = {} if coordinates is None else {"coordinates": coordinates}
            for x in (one[:inputs], many[:inputs]):
                found = getattr(robot, quantity)(*x, **chosen)
                np.testing.assert_array_equal(found, getattr(Robot(robot.model), quantity)(*x, **chosen))
                assert found.shape[-2:] == (7 if coordinates == "quaternion" else 6, 7)


def test_a_call_while_its_method_is_replaced(monkeypatch):
    """Another thread may call a method between any two steps of its replacement."""
    robot = qddot.load("two_link", gravity=(0, 0, -9.0))
    calls, word = [], builtin.word

    class Watched:
        def __init__(self, place):
            self.__dict__["place"] = place

        @property
        def value(self):
            return self.place.value

        def __setattr__(self, _, value):
            self.place.value = value
            calls.append(robot.mass_matrix(Z))

    monkeypatch.setattr(builtin, "word", lambda *where: Watched(word(*where)))
    expected = robot.mass_matrix(Z)
    assert len(calls) == 2
    for found in (*calls, robot.mass_matrix(Z)):
        np.testing.assert_array_equal(found, expected)


def test_an_option_given_twice_is_refused(robot):
    robot.jacobian(Z, "body_1"), robot.jacobian(Z, "body_2")
    for frame in ("body_1", "body_2"):
        with pytest.raises(TypeError, match="multiple values for argument 'frame'"):
            robot.jacobian(Z, "body_2", frame=frame)
