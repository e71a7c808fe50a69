"""A row of a batch is the single call, bit for bit: for any size, chunk, stride and number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot import InputError
from qddot.compile import threads
from qddot.compile.kernel import BATCH
from qddot.robot import Robot
from tests.robots import ONE_DOF, random_model
from tests.slow import slow_but

QUANTITIES = ["inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "regressor"]


@pytest.fixture(scope="module", params=[3, 9], ids=["small", "large"])
def robot(request) -> Robot:
    return Robot(random_model(np.random.default_rng(request.param), request.param, kinds=ONE_DOF))


def motion(robot: Robot, n: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.array([robot.random_configuration(rng) for _ in range(n)]), *rng.normal(size=(2, n, robot.nv))]


def values(result) -> list[np.ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_batch_size(robot, quantity, dtype):
    x = motion(robot, 67)
    method = getattr(robot, quantity)
    alone = [values(method(*(a[i] for a in x), dtype=dtype)) for i in range(67)]
    for size in (1, 2, 7, 8, 9, BATCH - 1, BATCH, BATCH + 1, 31, 64, 67):
        together = values(method(*(a[:size] for a in x), dtype=dtype))
        for k, batch in enumerate(together):
            np.testing.assert_array_equal(batch, [alone[i][k] for i in range(size)])


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_strides_and_broadcasting(robot, quantity):
    x = motion(robot, 40)
    method = getattr(robot, quantity)
    plain = values(method(*x))
    views = {
        "every other": [np.repeat(a, 2, axis=0)[::2] for a in x],
        "reversed": [a[::-1].copy()[::-1] for a in x],
        "columns apart": [np.repeat(a, 3, axis=1)[:, ::3] for a in x],
        "columns first": [np.asfortranarray(a) for a in x],
        "one more axis": [a[:, None] for a in x],
    }
    for name, arrays in views.items():
        for a, b in zip(values(method(*arrays)), plain):
            np.testing.assert_array_equal(a.reshape(b.shape), b, err_msg=name)
    fixed = values(method(x[0], x[1], x[2][3]))
    for a, b in zip(fixed, values(method(x[0], x[1], np.broadcast_to(x[2][3], x[2].shape)))):
        np.testing.assert_array_equal(a, b)


def test_no_byte_beyond_the_arrays_is_touched(robot):
    """Guards around the memory stay as they are, whatever the tail of the batch."""
    n = robot.nv
    for size in range(BATCH, BATCH + 9):
        x = motion(robot, size)
        guard = np.full(size * n + 16, -7.0)
        out = guard[8 : 8 + size * n].reshape(size, n)
        robot.inverse_dynamics(*x, out=out)
        assert (guard[:8] == -7).all()
        assert (guard[-8:] == -7).all()
        np.testing.assert_array_equal(out, robot.inverse_dynamics(*x))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_threads_change_no_bit(robot, count, monkeypatch):
    import qddot.compile.kernel as kernel

    monkeypatch.setattr(kernel, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "cores", lambda: 8)
    x = motion(robot, 101)
    for quantity in QUANTITIES:
        for a, b in zip(values(getattr(robot, quantity)(*x, threads=count)), values(getattr(robot, quantity)(*x, threads=1))):
            np.testing.assert_array_equal(a, b)
    grid = [x[0][:10, None], x[1][None, :11], x[2][0]]
    np.testing.assert_array_equal(robot.inverse_dynamics(*grid, threads=count), robot.inverse_dynamics(*grid, threads=1))
    out = np.empty((101, robot.nv))
    assert robot.inverse_dynamics(*x, out=out, threads=count) is out
    overlapping = [a.copy() for a in x]
    expected = robot.inverse_dynamics(*x, threads=1)
    np.testing.assert_array_equal(robot.inverse_dynamics(*overlapping, out=overlapping[2], threads=count), expected)


def test_threads_share_tiles_of_any_layout(robot, monkeypatch):
    """Equal steps through the batch: fixed inputs, columns apart, reversed, several leading dimensions; a result for each."""
    import qddot.compile.kernel as kernel

    monkeypatch.setattr(kernel, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "cores", lambda: 8)
    q, qd, qdd = motion(robot, 1000)
    expected = robot.inverse_dynamics(q, qd, qdd, threads=1)
    for arrays in (
        [np.repeat(a, 2, axis=0)[::2] for a in (q, qd, qdd)],
        [a[::-1].copy()[::-1] for a in (q, qd, qdd)],
        [np.asfortranarray(a) for a in (q, qd, qdd)],
        [a.reshape(10, 100, -1) for a in (q, qd, qdd)],
    ):
        found = robot.inverse_dynamics(*arrays, threads=5)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    fixed = robot.inverse_dynamics(q, qd[7], qdd[7], threads=5)
    np.testing.assert_array_equal(fixed, robot.inverse_dynamics(q, qd[7], qdd[7], threads=1))


def test_threads_report_bad_input_too(robot, monkeypatch):
    import qddot.compile.kernel as kernel

    monkeypatch.setattr(kernel, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "cores", lambda: 8)
    x = motion(robot, 100)
    x[1][93, 1] = np.nan
    with pytest.raises(InputError, match=r"qd\[93, 1\] is nan"):
        robot.inverse_dynamics(*x, threads=3)


@pytest.mark.parametrize("position", [0, 7, 16, 39])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("view", [lambda a: a, lambda a: np.asfortranarray(a)], ids=["dense", "strided"])
def test_bad_numbers_anywhere_in_a_batch_are_found(robot, position, value, view):
    x = motion(robot, 40)
    x[2][position, -1] = value
    with pytest.raises(InputError, match=rf"qdd\[{position}, {robot.nv - 1}\] is"):
        robot.inverse_dynamics(*(view(a) for a in x))
    out = robot.inverse_dynamics(*x, check=False)
    assert not np.isfinite(out[position]).all()
    assert np.isfinite(np.delete(out, position, axis=0)).all()


@pytest.mark.parametrize("name", ["arm7", "cart_pole", "puma560"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bad_numbers_in_any_place_are_found(name, dtype):
    """Whether an element is an angle, only moves along, or has no influence at all."""
    robot = qddot.load(name)
    for k, what in enumerate(("q", "qd", "qdd")):
        for j in range(robot.nv):
            for value in (np.nan, np.inf, -np.inf):
                x = motion(robot, 24)
                x[k][13, j], x[k][5, j] = value, -value  # one lane; their sum is nothing to rely on
                with pytest.raises(InputError, match=rf"{what}\[5, {j}\] is"):
                    robot.inverse_dynamics(*x, dtype=dtype)
    x = motion(robot, 24)
    x[0][13] = [3e6 if c.parts[-1].angle else 0.0 for c in robot.model.mechanism.coordinates]
    names = ", ".join(repr(c.name) for c in robot.model.mechanism.coordinates if c.parts[-1].angle)
    with pytest.warns(qddot.InputWarning, match=f"q of joint {names} exceeds"):
        robot.inverse_dynamics(*x, dtype=dtype)


@pytest.mark.parametrize("joint", range(7))
def test_one_far_angle_is_enough(joint):
    robot = qddot.load("arm7")
    x = motion(robot, 24)
    x[0][13, joint] = -1.000001e6
    with pytest.warns(qddot.InputWarning, match=f"q of joint {robot.joint_names[joint]!r} exceeds"):
        robot.inverse_dynamics(*x)


def test_overflow_in_a_batch_is_found(robot):
    x = motion(robot, 40)
    x[1][21] = 1e200
    with pytest.raises(qddot.SingularityError, match=r"tau\[21, \d\] is not finite"):
        robot.inverse_dynamics(*x)


def test_far_angles_in_a_batch_are_reported(robot):
    x = motion(robot, 40)
    turning = next(c for c in robot.model.mechanism.coordinates if c.parts[0].angle)
    x[0][33, turning.q.start] = 3e6
    with pytest.warns(qddot.InputWarning, match="exceeds"):
        robot.inverse_dynamics(*x)


@pytest.mark.parametrize("state", [3, 20, 39])
def test_one_singular_state_of_a_batch_is_found(state):
    """Margins of a batch are watched and not written down: in whole vectors, in what remains, and with strides."""
    radar = qddot.Builder("radar").body("turn").body("mass", "turn", joint="prismatic", axis=(1, 0, 0), mass=1.0).robot()
    q, zero = np.ones((40, 2)), np.zeros((40, 2))
    assert np.isfinite(radar.forward_dynamics(q, zero, zero)).all()
    q[state, 1] = 0
    for states in (q, np.asfortranarray(q)):
        with pytest.raises(qddot.SingularityError, match=rf"in state \[{state}\]: nothing resists joint 'turn"):
            radar.forward_dynamics(states, zero, zero)
    assert not np.isfinite(radar.forward_dynamics(q, zero, zero, check=False)[state]).all()


@pytest.mark.parametrize(("asked", "variable", "expected"), [(3, "5", 3), (None, "5", 5), (None, None, None)])
def test_how_many_threads(asked, variable, expected, monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 8)
    if variable is None:
        monkeypatch.delenv(threads.VARIABLE, raising=False)
    else:
        monkeypatch.setenv(threads.VARIABLE, variable)
    assert threads.thread_count(asked) == (expected or threads.thread_count(None)) > 0


@pytest.mark.parametrize("asked", [0, -1, 1.5, "two", True])
def test_wrong_numbers_of_threads(asked, robot):
    with pytest.raises(InputError, match="not a positive whole number"):
        robot.mass_matrix(robot.neutral(), threads=asked)


def test_long_kernels_in_parts_equal_short_ones(monkeypatch):
    """Cutting a kernel into functions moves values through memory, and changes none."""
    from qddot.compile import kernel_ir

    robot = qddot.load("puma560")
    x = motion(robot, 40)
    whole = robot.inverse_dynamics_derivatives(*x)
    monkeypatch.setattr(kernel_ir, "WHOLE", 10)
    monkeypatch.setattr(kernel_ir, "PART", 37)
    for a, b in zip(Robot(robot.model).inverse_dynamics_derivatives(*x), whole):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * abs(b).max())
    parts = Robot(robot.model)
    for a, b in zip(parts.inverse_dynamics_derivatives(*x), parts.inverse_dynamics_derivatives(*(a[:3] for a in x))):
        np.testing.assert_array_equal(a[:3], b)


@pytest.mark.parametrize("dtype", slow_but([np.float64, np.float32], np.float64))
@pytest.mark.parametrize(
    ("quantity", "joints"), [("inverse_dynamics_derivatives", 5), ("mass_matrix", 6), ("mass_matrix", 8), ("regressor", 9)]
)
def test_results_beyond_the_caches(quantity, joints, dtype, monkeypatch):
    """Large results leave in whole lines, wherever in a line their array begins; others by rows. (Of 25, 36 and 64 columns one,
    half a vector and none are left.)"""
    from qddot.compile import kernel_ir, results

    monkeypatch.setattr(kernel_ir, "SHORT", 0)
    robot = Robot(random_model(np.random.default_rng(9), joints, kinds=ONE_DOF))
    x = motion(robot, 45)[: 1 if quantity == "mass_matrix" else 3]
    usual = values(getattr(robot, quantity)(*x, dtype=dtype))
    monkeypatch.setattr(results, "LARGE", 0)
    method = getattr(Robot(robot.model), quantity)
    for start in range(19):
        rooms = [np.full(start + a.size + 20, 7, dtype) for a in usual]
        out = [room[start : start + a.size].reshape(a.shape) for room, a in zip(rooms, usual)]
        method(*x, dtype=dtype, out=tuple(out) if len(out) > 1 else out[0])
        for room, a, b in zip(rooms, out, usual):
            np.testing.assert_array_equal(a, b)
            assert (room[:start] == 7).all()
            assert (room[start + b.size :] == 7).all()
    apart = [np.full((45, 2, *a.shape[1:]), 7, dtype) for a in usual]
    method(*x, dtype=dtype, out=tuple(a[:, 0] for a in apart) if len(apart) > 1 else apart[0][:, 0])
    for a, b in zip(apart, usual):
        np.testing.assert_array_equal(a[:, 0], b)
        assert (a[:, 1] == 7).all()


def test_angles_that_are_sums_come_first_in_long_kernels(monkeypatch):
    """A following joint turns by a multiple of its leader's angle and an offset: products that are part of a sum."""
    from qddot.compile import kernel_ir

    monkeypatch.setattr(kernel_ir, "WHOLE", 10)
    monkeypatch.setattr(kernel_ir, "PART", 23)
    robot = Robot(random_model(np.random.default_rng(2), 8, kinds=("revolute",), mimic=0.8))
    assert robot.mimics
    x = motion(robot, 20)
    from qddot.algorithms.inverse_dynamics import inverse_dynamics
    from qddot.model.field import Floats

    model = robot.model.over(Floats())
    expected = [inverse_dynamics(model, *(a[i].tolist() for a in x)) for i in range(20)]
    np.testing.assert_allclose(robot.inverse_dynamics(*x), expected, rtol=1e-11, atol=1e-11)


FORKED = """
import os, numpy as np, qddot
robot = qddot.load("arm7")
x = np.zeros((3, 40000, 7))
robot.inverse_dynamics(*x, threads=2)
child = os.fork()
if child == 0:
    robot.inverse_dynamics(*x, threads=2)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork on this system")
def test_a_forked_process_computes_on():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "0"


def test_nobody_writes_after_an_error(monkeypatch):
    """When one slice fails, the call only returns when the others are done."""
    import qddot.compile.threads as module

    running = []
    real = np.errstate

    class Slow(real):
        def __enter__(self):
            running.append(1)
            return super().__enter__()

        def __exit__(self, *details):
            running.pop()
            return super().__exit__(*details)

    robot = qddot.load("arm7")
    x = np.zeros((3, 60000, 7))
    x[1, 0, 0] = np.nan
    monkeypatch.setattr(module.np, "errstate", Slow)
    with pytest.raises(InputError):
        robot.inverse_dynamics(*x, threads=4)
    assert not running


def test_large_kernels_leave_the_stack_alone():
    """What parts of a kernel hand on goes on the heap when there is much of it: a thread may have a small stack."""
    import threading

    robot = Robot(random_model(np.random.default_rng(0), 24, kinds=("revolute",), chain=True))
    x = motion(robot, 32)
    found = []
    old = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(robot.inverse_dynamics_derivatives(*x)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert np.isfinite(found[0].dtau_dq).all()
