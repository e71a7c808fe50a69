"""Every method with programs, and rollouts under every transform, of tensors on a GPU: the CPU's numbers and gradients. Skipped
without a GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("jax", reason="JAX is not installed")

from qddot.compile.gpu import driver  # noqa: E402
from qddot.errors import DeviceError  # noqa: E402
from tests.arrays.test_every_method import PROGRAMS, arrays_of, numbers, robot  # noqa: E402
from tests.arrays.test_torch_rollouts import at_the_end, given, samples  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(scope="module", autouse=True)
def gpu():
    try:
        return driver.device(0)
    except DeviceError as error:
        pytest.skip(f"no GPU here: {error}")


@pytest.mark.parametrize(("method", "call", "which", "inputs"), PROGRAMS, ids=lambda x: x if isinstance(x, str) else "")
def test_values_and_gradients(method, call, which, inputs):
    rng, slopes = np.random.default_rng(0), []
    expected = [np.asarray(x) for x in arrays_of(call(robot(which), numbers(which, inputs)))]
    weights = [torch.from_numpy(rng.normal(size=x.shape)) for x in expected]
    for place in ("cpu", "cuda"):
        leaves = {name: torch.tensor(x, device=place, requires_grad=True) for name, x in numbers(which, inputs).items()}
        found = arrays_of(call(robot(which), leaves))
        for got, want in zip(found, expected, strict=True):
            assert got.device.type == place
            np.testing.assert_allclose(got.detach().cpu().numpy(), want, rtol=1e-12, atol=1e-12)
        loss = sum((w.to(place) * x).sum() for w, x in zip(weights, found) if x.requires_grad)
        if isinstance(loss, torch.Tensor):
            loss.backward()
        slopes.append([None if x.grad is None else x.grad.cpu() for x in leaves.values()])
    for here, there in zip(*slopes, strict=True):
        assert (here is None) == (there is None)
        assert here is None or torch.allclose(here, there, **CLOSE)


def test_rollouts_under_transforms():
    here, there = given(), [x.cuda() for x in given()]
    end = lambda x: lambda control: samples(x[0], x[1], control, x[3])[-1]  # noqa: E731
    ways = {
        "vmap": lambda x: torch.func.vmap(samples, in_dims=(0, 0, 1, 0), out_dims=1)(*x),
        "grad": lambda x: torch.func.grad(at_the_end, argnums=2)(*x),
        "jacrev": lambda x: torch.func.jacrev(end(x))(x[2]),
        "jacfwd": lambda x: torch.func.jacfwd(end(x))(x[2]),
        "hessian": lambda x: torch.func.hessian(lambda q: at_the_end(q, *x[1:]))(x[0]),
        "jvp": lambda x: torch.func.jvp(end(x), (x[2],), (x[2],))[1],
    }
    for name, way in ways.items():
        found = way(there)
        assert found.is_cuda
        assert torch.allclose(found.cpu(), way(here), **CLOSE), name


def test_second_derivatives_of_rollouts():
    slopes = []
    for place in ("cpu", "cuda"):
        leaves = [x.to(place).requires_grad_() for x in given()]
        (first,) = torch.autograd.grad(at_the_end(*leaves), leaves[2], create_graph=True)
        slopes.append([x.cpu() for x in torch.autograd.grad(first.square().sum(), leaves)])
    assert all(torch.allclose(a, b, **CLOSE) for a, b in zip(*slopes))
