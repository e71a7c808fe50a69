"""Rollouts as on a GPU: the kernel's own text, with the addresses, distances and counts it is told, on the CPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, InputError, IntegrationError
from qddot.arrays.guests import Guests
from qddot.arrays.on_device import View
from qddot.compile.given import packed
from qddot.compile.gpu import driver
from qddot.rollout import PDLaw, on_device
from qddot.rollout.step import STATES
from tests import taking_turns


class NumpyMemory:
    """The host's memory, handled as that of a device."""

    def view(self, x):
        return View(x.ctypes.data, x.shape, tuple(s // x.itemsize for s in x.strides), str(x.dtype), 0)

    def empty(self, shape, dtype, number):
        return np.full(shape, np.nan, dtype)

    def zeros(self, shape, dtype, number):
        return np.zeros(shape, dtype)

    def contiguous(self, x):
        return np.ascontiguousarray(x)

    def broadcast(self, x, shape):
        return np.broadcast_to(x, shape)

    def stream(self, number):
        return 0

    def on_host(self, x):
        return x

    def put(self, x, number):
        return x.copy()


class LikeDevices:
    """The kernels of an operation, on the CPU."""

    def __init__(self, operation):
        self.operation = operation

    def run(self, handle, arrays, lead):
        for a, x in zip(arrays, self.operation.program.inputs, strict=True):
            assert a.shape in (x.shape, (*lead, *x.shape))
        found = self.operation.kernel(*arrays)
        return list(found) if isinstance(found, tuple) else [found]


@pytest.fixture
def on_gpu(monkeypatch):
    """A call of a rollout as if its arrays were on a device."""
    monkeypatch.setattr(on_device, "handling", lambda name, x: NumpyMemory())
    monkeypatch.setattr(on_device, "guest_module", lambda x: np)
    monkeypatch.setattr(on_device, "is_on_gpu", lambda x: isinstance(x, np.ndarray))
    taking_turns.install(monkeypatch)
    monkeypatch.setattr(on_device, "OnDevices", LikeDevices)
    monkeypatch.setattr(on_device, "device", lambda number: driver)
    monkeypatch.setattr(on_device, "wait", lambda where, stream: None)

    def call(run, q0, qd0, control=None, *, steps=None, every=1, parameters=None, variables=None, check=True, back=False):
        given = {"q0": q0, "qd0": qd0, "control": control, "parameters": parameters}
        if back:
            return on_device.differentiable(run, given, variables, steps, every)
        return on_device.on_device(run, given, variables, steps, every, check)

    return call


@pytest.mark.parametrize("method", STATES)
def test_every_way_to_hand_over_a_control(on_gpu, method):
    robot = qddot.load("arm7")
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 3, 4, 7))
    control = rng.normal(size=(12, 3, 4, 7))
    run = robot.rollout(PDLaw(20.0, 2.0), method=method, stops=False)
    changing = (control, np.asfortranarray(control), control[:, :1, :1])
    steady = (control[0], control[0, 0], control[0, 0, 0])
    for given, steps in (*((x, None) for x in changing), *((x, 12) for x in steady)):
        want = run(q, qd, given, steps=steps, every=4)
        found = on_gpu(run, q, qd, given, steps=steps, every=4)
        assert_array_equal(found[0], want.q)
        assert_array_equal(found[1], want.qd)


def test_strange_memory_and_parameters(on_gpu):
    robot = qddot.load("arm7")
    rng = np.random.default_rng(1)
    q = rng.normal(size=(10, 14))[::2, ::2]
    parameters = robot.parameters()[: 10 * len(robot.body_names)] * rng.uniform(0.9, 1.1, (5, 1))
    for method in STATES:
        run = robot.rollout(method=method, stops=False)
        for qd in (None, q + 1, q[0]):
            found = on_gpu(run, q, qd, q[0], steps=6, every=3, parameters=parameters)
            want = run(q, qd, q[0], steps=6, every=3, parameters=parameters)
            assert_array_equal(found[0], want.q)
            assert_array_equal(found[1], want.qd)


@pytest.mark.parametrize(
    ("method", "steps", "every"),
    [
        ("semi_implicit", 11, 1),
        pytest.param("rk4", 12, 4, marks=pytest.mark.slow),
        pytest.param("semi_implicit", 2, 2, marks=pytest.mark.slow),
        ("rk4", 1, 1),
    ],
)
def test_the_way_back(on_gpu, method, steps, every):
    """As on the CPU, from the same checkpoints: with a control that changes, that stays, that all share, or none."""
    robot = qddot.load("arm7")
    rng = np.random.default_rng(2)
    q, control = rng.normal(size=(3, 4, 7)), rng.normal(size=(steps, 3, 4, 7))
    parameters = robot.parameters()[: 10 * len(robot.body_names)] * rng.uniform(0.9, 1.1, (4, 1))
    law = lambda x: [20 * (u - a) - v + x.t for u, a, v in zip(x.control or x.qd, x.q, x.qd)]  # noqa: E731
    run = robot.rollout(law, method=method, stops=False, step=0.01)
    weights = rng.normal(size=(2, steps // every + 1, 3, 4, 7))
    for given, count, qd in ((control, None, q), (control[:, 0, 0], None, None), (control[0, 0], steps, q[0]), (None, steps, q)):
        options = {"steps": count, "every": every, "parameters": parameters}
        here, there = run.differentiable(q, qd, given, **options), on_gpu(run, q, qd, given, **options, back=True)
        assert_allclose(there.states.q, here.states.q, rtol=1e-12, atol=1e-14)
        assert there.kept.keys() == here.kept.keys()
        for a, b in zip(here(*weights), there(*weights), strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert_allclose(a.reshape(np.shape(b)), b, rtol=1e-10, atol=1e-12)  # what motions share is summed in some order
        assert_allclose(here(q=weights[0]).q0, there(q=weights[0]).q0, rtol=1e-11)


def swing():
    """A rod on a box that flies."""
    builder = Builder("swing").body("box", joint="free", mass=1.0, tensor=(0.2, 0.3, 0.4))
    return builder.body("rod", "box", axis="y", mass=0.4, com=(0.1, 0, -0.5), tensor=(0.1, 0.1, 0.1)).robot()


def in_time(x):
    """Products of what all stages share, of what two of them share, and of what each has for itself, in sums of each other."""
    u, w, t = x.control[0], x.control[-1], x.t
    return [u * w + 3 * x.sin(w * t) - u * v + w * t * v - (u * u + t) * w for v in x.qd]


def nothing(x):
    return [0.0 for _ in x.qd]


@pytest.mark.parametrize(
    ("name", "law"),
    [("arm7", None), ("arm7", in_time), ("swing", in_time), ("slide", None), ("slide", in_time), ("slide", nothing)],
)
def test_stages_in_a_loop_have_the_bits_of_stages_in_a_row(on_gpu, name, law):
    """Where the CPU's program has four stages and shares what they have in common, the GPU's has one."""
    slide = lambda: Builder("slide").body("block", joint="prismatic", axis=(1, 0, 1), mass=3.7).robot()  # noqa: E731
    robot = {"swing": swing, "slide": slide}.get(name, lambda: qddot.load(name))()
    rng = np.random.default_rng(3)
    q, (qd, control) = robot.random_configuration(rng, 16), 0.1 * rng.normal(size=(2, 16, robot.nv))
    parameters = robot.parameters()[: 10 * len(robot.body_names)] * rng.uniform(0.9, 1.1, (16, 1))
    run = robot.rollout(law, method="rk4", stops=False, saturate=False, step=1e-4)
    for given in ({}, {"parameters": parameters}):
        found, want = on_gpu(run, q, qd, control, steps=20, **given), run(q, qd, control, steps=20, **given)
        assert_array_equal(found.q, want.q)
        assert_array_equal(found.qd, want.qd)


def test_friction_that_sticks_may_vary(on_gpu, monkeypatch):
    robot = qddot.load("two_link").with_variable("joint1.coulomb", "joint2.coulomb", "joint2.static", "payload")
    monkeypatch.setattr(Guests, "packed", lambda _, inputs, given: packed(robot.model.variables, given, np.dtype(float)))
    rng = np.random.default_rng(4)
    q, tau = rng.normal(size=(2, 8, 2))
    names = {"joint1.coulomb": (0, 6), "joint2.coulomb": (0, 3), "joint2.static": (3, 6), "payload": (0, 1)}
    values = {name: rng.uniform(*bounds, 8) for name, bounds in names.items()}
    for method in ("semi_implicit", "rk4"):
        run = robot.rollout(method=method, step=0.005)
        want = run(q, None, 3 * tau, steps=60, variables=values)
        found = on_gpu(run, q, None, 3 * tau, steps=60, variables=values)
        assert_array_equal(found.q, want.q)
        assert_array_equal(found.qd, want.qd)
        assert 0.1 < np.mean(want.qd[-1] == 0) < 0.95


def test_quaternions_are_made_unit(on_gpu):
    robot = swing()
    q = np.stack([robot.random_configuration(seed) for seed in range(3)])
    run = robot.rollout(method="rk4", stops=False)
    want = run(q, None, steps=5)
    scaled = q.copy()
    scaled[:, :4] *= 3
    found = on_gpu(run, scaled, None, steps=5)
    assert_allclose(found[0], want.q, atol=1e-14)  # three times a number may have lost a bit
    assert_allclose(np.linalg.norm(found[0][..., :4], axis=-1), 1, atol=1e-14)


def test_what_is_refused_and_what_runs_away(on_gpu):
    robot = qddot.load("arm7")
    run = robot.rollout(lambda x: [x.control[0] * v * v * v for v in x.qd], saturate=False, stops=False)
    q, gain = np.zeros((5, 7)), np.zeros((5, 1))
    gain[3] = 1e8
    with pytest.raises(IntegrationError, match=r"motion \[3\].*step \d+ after t"):
        on_gpu(run, q, q + 1, gain, steps=50, every=50)
    with pytest.raises(InputError, match="qd0 is not float64 on device 0"):
        on_gpu(run, q, (q + 1).astype(np.float32), gain, steps=5)
    with pytest.raises(InputError, match=r"q0 has shape \(5, 6\)"):
        on_gpu(run, q[:, 1:], None, gain, steps=5)
    with pytest.raises(InputError, match="leading dimensions"):
        on_gpu(run, q, None, gain[:3], steps=5)
    with pytest.raises(InputError, match="check='soon'"):
        on_gpu(run, q, None, gain, steps=5, check="soon")
