"""What a rollout tells a GPU: addresses, distances and counts, read by a kernel on the CPU as one there would."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, InputError, IntegrationError
from qddot.arrays.on_device import View
from qddot.compile.gpu import driver
from qddot.compile.kernel import Kernel
from qddot.rollout import PDLaw, on_device
from qddot.rollout.step import STATES


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


def array_at(pointer, shape, distances, dtype):
    """Numbers of a memory that is only known by its address."""
    first = np.frombuffer((ctypes.c_char * np.dtype(dtype).itemsize).from_address(pointer), dtype)
    return np.lib.stride_tricks.as_strided(first, shape, [d * first.itemsize for d in distances])


class LikeAKernel:
    """The loop of `loop_kernel_ir` on the CPU."""

    def __init__(self, program, kept, dtype, where):
        self.program, self.kept, self.dtype, self.kernel = program, kept, dtype, Kernel(program, dtype)
        self.device, self.worst = where, None
        self.now = self.later = SimpleNamespace(take=lambda: self.worst)

    def launch(self, states, samples, every, dt, inputs, outputs, stream, check):
        program, carried = self.program, len(self.program.outputs) - 1
        own = ("t", "dt", "stage")
        rounds = 4 if any(x.name == "stage" for x in program.inputs) else 1
        given = dict(zip([k for k, x in enumerate(program.inputs) if x.name not in own], inputs, strict=True))
        row = lambda k, step: array_at(  # noqa: E731
            given[k].pointer + step * given[k].hop * self.dtype.itemsize,
            (states, program.inputs[k].size),
            (given[k].stride, 1),
            self.dtype,
        )
        state = [row(k, 0).copy() for k in range(carried)]
        rooms = [
            array_at(p, (samples + 1, states, state[k].shape[1]), (states * state[k].shape[1], state[k].shape[1], 1), self.dtype)
            for p, k in zip(outputs, self.kept, strict=True)
        ]
        for j in range(samples + 1):
            for room, k in zip(rooms, self.kept):
                room[j] = state[k]
            for n in range(j * every * rounds, (j + 1) * every * rounds if j < samples else 0):
                step, stage = divmod(n, rounds)
                rest = {"t": step * dt, "dt": dt, "stage": float(stage)}
                numbers = [
                    np.array([rest[x.name]], self.dtype) if x.name in own else row(k, step)
                    for k, x in enumerate(program.inputs)
                    if k >= carried
                ]
                with np.errstate(all="ignore"):
                    *state, _ = self.kernel(*state, *numbers)
        wrong = ~np.isfinite(state[0]).all(-1)
        self.worst = int(np.argmax(wrong)) if wrong.any() else None


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
    monkeypatch.setattr(on_device, "DeviceLoop", LikeAKernel)
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
    for method in ("semi_implicit", "variational"):
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


def test_quaternions_are_made_unit(on_gpu):
    builder = Builder("swing").body("box", joint="free", mass=1.0, tensor=(0.2, 0.3, 0.4))
    robot = builder.body("rod", "box", axis="y", mass=0.4, com=(0.1, 0, -0.5), tensor=(0.1, 0.1, 0.1)).robot()
    q = np.stack([robot.random_configuration(seed) for seed in range(3)])
    run = robot.rollout(method="rk4", stops=False)
    want = run(q, None, steps=5)
    scaled = q.copy()
    scaled[:, :4] *= 3
    found = on_gpu(run, scaled, None, steps=5)
    assert_allclose(found[0], want.q, atol=1e-14)
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
