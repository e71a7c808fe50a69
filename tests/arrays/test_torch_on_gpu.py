"""The operator for tensors on a GPU, without one: the tensors are the CPU's, and a driver of ours does what the kernel would."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qddot  # noqa: E402
from qddot.arrays import torch_cuda, torch_guest, torch_ir  # noqa: E402
from qddot.arrays.guests import Guests  # noqa: E402
from qddot.arrays.torch_ir import address, libtorch  # noqa: E402
from qddot.compile.gpu.start_ir import load_starter  # noqa: E402
from qddot.compile.phrases import constant  # noqa: E402
from qddot.errors import DeviceError  # noqa: E402

P, N = ctypes.c_void_p, ctypes.c_uint32
STREAM, CONTEXT, FUNCTION, THREADS, SHARED, FLAG, DEVICE = 77, 5, 9, 4, 16, 1234, 3


class Here(torch_cuda.OnCuda):
    key = "CPU"

    def __init__(self, operation):
        super().__init__(operation)
        self.device = libtorch().aoti_torch_device_type_cpu()


class Driver:
    """Notes its launches, and computes `quantity` of the rows that a kernel is told of."""

    def __init__(self, robot, quantity, operation):
        self.quantity, self.program, self.launches, self.code = getattr(robot, quantity), operation.program, [], 0
        kinds = {"get": [ctypes.POINTER(P)], "push": [P], "pop": [P], "launch": [P, *7 * [N], P, P, P]}
        self.calls = {name: ctypes.CFUNCTYPE(ctypes.c_int, *kind)(getattr(self, name)) for name, kind in kinds.items()}
        self.start = load_starter(*(ctypes.cast(x, P).value for x in self.calls.values()))

    def get(self, place):
        place[0] = CONTEXT
        return 0

    def push(self, context):
        return 1

    def pop(self, place):
        return 1

    def launch(self, function, *given):
        arguments = ctypes.cast(given[8], ctypes.POINTER(P))
        n_in, n_out = len(self.program.inputs), len(self.program.outputs)
        count, *values = [ctypes.c_uint64.from_address(arguments[k]).value for k in range(2 + 2 * n_in + n_out)]
        self.launches.append((function, given[0], given[3], given[6], given[7], values[-1]))
        if self.code:
            return self.code
        rows = [(values[2 * i], values[2 * i + 1], x.size) for i, x in enumerate(self.program.inputs)]
        inputs = [as_strided(numbers(at, (count - 1) * step + size), (count, size), (8 * step, 8)) for at, step, size in rows]
        found = self.quantity(*inputs)
        for at, x in zip(values[2 * n_in :], found if isinstance(found, tuple) else (found,)):
            numbers(at, x.size)[:] = x.ravel()
        return 0


def numbers(at, count):
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(at))


@pytest.fixture(params=["inverse_dynamics", "inverse_dynamics_derivatives"])
def ours(request, monkeypatch):
    """A quantity, an operator of it as if on a GPU, its target and its driver."""
    robot = qddot.load("two_link")
    x = torch.zeros(2, dtype=torch.float64)
    getattr(robot, request.param)(x, x, x)
    guests = next(g for g in vars(robot).values() if isinstance(g, Guests))
    operation = guests.operation(request.param, "float64", False, ())
    driver = Driver(robot, request.param, operation)
    index = ctypes.CFUNCTYPE(ctypes.c_int, P, ctypes.POINTER(ctypes.c_int))(lambda t, place: place.__setitem__(0, DEVICE) or 0)
    stream = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(P))(
        lambda n, place: place.__setitem__(0, STREAM) or n - DEVICE
    )
    place = lambda x: constant(ctypes.cast(x, P).value)  # noqa: E731
    monkeypatch.setattr(torch_ir, "address", lambda name: place(index) if name == "aoti_torch_get_device_index" else address(name))
    monkeypatch.setattr(torch_cuda, "stream_getter", lambda: place(stream))
    monkeypatch.setattr(torch_cuda, "start_address", lambda: ctypes.cast(driver.start, P).value)
    target = Here(operation)
    kernel = SimpleNamespace(
        function=SimpleNamespace(handle_there=P(FUNCTION), shared_bytes=SHARED),
        device=SimpleNamespace(context=P(CONTEXT)),
        threads=THREADS,
        unwatched=SimpleNamespace(pointer=FLAG),
    )
    target.devices = SimpleNamespace(kernel={DEVICE: kernel}.__getitem__)
    Here.count = getattr(Here, "count", 0) + 1
    name = f"{operation.name}_here{Here.count}"
    library = torch.library.Library(torch_guest.NAMESPACE, "FRAGMENT")
    library.define(f"{name}{torch_guest.schema(operation)}")
    torch_guest.implement(name, operation, target)
    torch_guest._kept.append((library, index, stream, driver))
    return getattr(robot, request.param), getattr(torch.ops.qddot, name).default, target, driver


def parts(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("lead", [(), (1,), (9,), (3, 4), (0,), (2, 0)])
def test_what_a_kernel_is_told(ours, lead):
    quantity, op, target, driver = ours
    given = [torch.randn(*lead, 2, dtype=torch.float64) for _ in range(3)]
    for _ in range(2):
        found = op(*given)
        for got, want in zip(parts(found), parts(quantity(*(x.numpy() for x in given))), strict=True):
            assert got.shape == want.shape
            np.testing.assert_array_equal(got.numpy(), want)
    count = int(np.prod(lead))
    assert driver.launches == 2 * [(FUNCTION, -(-count // THREADS), THREADS, SHARED, STREAM, FLAG)] * bool(count)
    assert target.taken() is None


def test_rows_are_read_where_they_are(ours):
    quantity, op, _, _ = ours
    wide = torch.randn(6, 4, 5, dtype=torch.float64)
    given = [
        wide[..., :2],
        torch.randn(2, dtype=torch.float64).expand(6, 4, 2),
        torch.randn(2, 4, 6, dtype=torch.float64).permute(2, 1, 0),
    ]
    for got, want in zip(parts(op(*given)), parts(quantity(*(x.numpy() for x in given))), strict=True):
        np.testing.assert_array_equal(got.numpy(), want)
    every = [x[::2] for x in given]
    for got, want in zip(parts(op(*every)), parts(quantity(*(x.numpy() for x in every))), strict=True):
        np.testing.assert_array_equal(got.numpy(), want)


def test_what_does_not_fit(ours):
    _, op, _, driver = ours
    x = torch.zeros(3, 2, dtype=torch.float64)
    for given in ([x, x, x[:2]], [x, x, x.float()], [x, x, torch.zeros(3, 3, dtype=torch.float64)], [x[..., :1]] * 3):
        with pytest.raises(RuntimeError, match="needs float64 tensors on one NVIDIA GPU, of one leading shape"):
            op(*given)
    assert not driver.launches


def test_errors_are_the_drivers(ours, monkeypatch):
    _, op, target, driver = ours
    x = torch.zeros(3, 2, dtype=torch.float64)
    op(x, x, x)
    monkeypatch.setattr(torch_cuda, "failure", lambda name, code: DeviceError(f"{name} {code}"))
    driver.code = 700
    with pytest.raises(RuntimeError):
        op(x, x, x)
    error = target.taken()
    assert isinstance(error, DeviceError)
    assert str(error) == "cuLaunchKernel 700"
    driver.code = 0
    op(x, x, x)
    assert target.taken() is None
    target.devices.kernel = lambda number: (_ for _ in ()).throw(DeviceError("there is no code"))
    target.table[:] = [0] * len(target.table)
    with pytest.raises(RuntimeError):
        op(x, x, x)
    assert str(target.taken()) == "there is no code"
