"""Rollouts of PyTorch tensors under every transform: by one operator a step, the same numbers as by the adjoint."""

from functools import cache

import numpy as np
import pytest

from qddot.errors import DeviceError, InputError, IntegrationError
from tests.arrays.cases import states, with_quaternions

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see make test-arrays")
forward_ad = pytest.importorskip("torch.autograd.forward_ad")

import qddot  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

STEPS, MOTIONS = 6, 3
EXACT = {"rtol": 1e-12, "atol": 1e-14}


@cache
def run():
    return qddot.load("two_link").with_variable("payload").rollout(step=0.02, stops=False)


def samples(q, qd, control, load):
    return run()(q, qd, control, every=3, variables={"payload": load}).q


def given(dtype=torch.float64):
    rng = np.random.default_rng(1)
    shapes = (MOTIONS, 2), (MOTIONS, 2), (STEPS, MOTIONS, 2), (MOTIONS,)
    return [torch.from_numpy(rng.uniform(size=shape)).to(dtype) for shape in shapes]


def at_the_end(*x):
    return samples(*x)[-1].sin().sum()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_vmap_over_motions(dtype):
    x = given(dtype)
    found = torch.func.vmap(samples, in_dims=(0, 0, 1, 0), out_dims=1)(*x)
    assert found.dtype == dtype
    assert torch.equal(found, samples(*x))
    nested = torch.func.vmap(torch.func.vmap(lambda q: samples(q, *(y[..., 0, :] for y in x[1:3]), x[3][0])))(x[0][None])
    assert torch.allclose(nested[0, :, -1], samples(x[0], x[1][0], x[2][:, :1], x[3][0])[-1])


def test_gradients_by_every_way_are_the_same():
    x = given()
    leaves = [y.clone().requires_grad_() for y in x]
    adjoint = torch.autograd.grad(at_the_end(*leaves), leaves)
    recorded = torch.autograd.grad(at_the_end(*leaves), leaves, create_graph=True)
    functional = torch.func.grad(at_the_end, argnums=(0, 1, 2, 3))(*x)
    for a, b, c in zip(adjoint, recorded, functional):
        assert torch.allclose(a, b, **EXACT)
        assert torch.allclose(a, c, **EXACT)
    one = torch.func.vmap(torch.func.grad(at_the_end), in_dims=(0, 0, 1, 0))(*x)
    assert torch.allclose(one, adjoint[0], **EXACT)


def test_jacobians_by_both_modes_and_batched():
    x = given()
    end = lambda control: samples(x[0], x[1], control, x[3])[-1]  # noqa: E731
    back = torch.func.jacrev(end)(x[2])
    assert back.abs().max() > 1e-4
    assert torch.allclose(torch.func.jacfwd(end)(x[2]), back, **EXACT)
    assert torch.allclose(torch.autograd.functional.jacobian(end, x[2], vectorize=True), back, **EXACT)


def test_first_and_second_derivatives_beside_differences():
    leaves = [y.clone().requires_grad_() for y in given()]
    assert torch.autograd.gradcheck(samples, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(at_the_end, leaves)


def test_hessian_is_symmetric_and_that_of_every_way():
    x = given()
    loss = lambda q: at_the_end(q, *x[1:])  # noqa: E731
    found = torch.func.hessian(loss)(x[0]).reshape(2 * MOTIONS, -1)
    assert torch.allclose(found, found.T, **EXACT)
    assert torch.allclose(torch.autograd.functional.hessian(loss, x[0]).reshape(found.shape), found, **EXACT)


def test_one_tensor_given_twice():
    x, _, control, load = given()
    both = x.clone().requires_grad_()
    found = [torch.autograd.grad(at_the_end(both, both, control, load), both, create_graph=again)[0] for again in (False, True)]
    assert torch.allclose(*found, **EXACT)


def test_forward_mode_along_variables_and_state():
    q, qd, control, load = given()
    with forward_ad.dual_level():
        end = samples(forward_ad.make_dual(q, qd), qd, control, forward_ad.make_dual(load, load))
        rate = forward_ad.unpack_dual(end).tangent
    h = 1e-6
    ends = [samples(q + s * h * qd, qd, control, load + s * h * load) for s in (1, -1)]
    assert torch.allclose(rate, (ends[0] - ends[1]) / (2 * h), rtol=1e-7, atol=1e-9)


def test_gradients_of_many_weights_at_once():
    q, *rest = given()
    leaf = q[0].clone().requires_grad_()
    end, each = samples(leaf, rest[0][0], rest[1][:, 0], rest[2][0])[-1], torch.eye(2, dtype=torch.float64)
    one_by_one = torch.stack([torch.autograd.grad(end, leaf, v, retain_graph=True)[0] for v in each])
    mapped = torch.func.vmap(lambda v: torch.autograd.grad(end, leaf, v, retain_graph=True)[0])(each)
    assert torch.allclose(mapped, one_by_one, **EXACT)


@pytest.mark.parametrize("what", ["rollout", "quantity"])
def test_forward_mode_over_a_gradient_that_is_not_recorded(what):
    """Tangents of weights, and of what is differentiated: without create_graph=True they were dropped."""
    q, *rest = (x[0] for x in given()[:3])
    rest = [x.clone() for x in rest]
    if what == "rollout":
        f = lambda q: run()(q, rest[0], None, steps=4).q[-1]  # noqa: E731
    else:
        f = lambda q: qddot.load("two_link").inverse_dynamics(q, rest[0], rest[1][0])  # noqa: E731
    leaf, weight, rate = q.clone().requires_grad_(), torch.tensor([0.3, -1.2]).double(), torch.tensor([0.7, 0.4]).double()
    end, slope = f(leaf), torch.func.jacrev(f)(q)
    with forward_ad.dual_level():
        (found,) = torch.autograd.grad(end, leaf, forward_ad.make_dual(weight, rate))
        assert torch.allclose(forward_ad.unpack_dual(found).tangent, slope.T @ rate, **EXACT)
        dual = forward_ad.make_dual(leaf, rate)
        (found,) = torch.autograd.grad(f(dual).sin().sum(), dual)
        along = forward_ad.unpack_dual(found).tangent
    assert torch.allclose(along, torch.func.hessian(lambda q: f(q).sin().sum())(q) @ rate, **EXACT)


def test_quaternions_have_no_slope_along_themselves_by_either_way():
    robot = with_quaternions()
    x, motion = states(robot, (2,)), robot.rollout(step=0.01, stops=False)
    weight = torch.from_numpy(np.random.default_rng(2).normal(size=x["q"].shape))
    leaves = [torch.from_numpy(x[name]).requires_grad_() for name in ("q", "qd", "tau")]
    loss = lambda: (weight * motion(*leaves, steps=3).q[-1]).sum()  # noqa: E731
    first, again = torch.autograd.grad(loss(), leaves), torch.autograd.grad(loss(), leaves, create_graph=True)
    for a, b in zip(first, again):
        assert torch.allclose(a, b, **EXACT)


def test_what_goes_wrong_is_raised_where_there_are_values():
    fast = torch.full((2,), 1e9, dtype=torch.float64)
    robot = qddot.load("two_link")
    with forward_ad.dual_level(), pytest.raises(IntegrationError):
        robot.rollout(step=0.1, stops=False)(forward_ad.make_dual(0 * fast, fast), fast, 1e12 * fast, steps=5)
    assert torch.isnan(
        torch.func.vmap(lambda v: robot.rollout(step=0.1, stops=False)(0 * v, v, steps=3).q)(fast[None] * 1e300)[0, -1]
    ).all()


def test_steps_by_iteration_have_no_derivative():
    motion, q = qddot.load("two_link").rollout(method="variational"), torch.rand(3, 2, dtype=torch.float64)
    assert motion(q, None, steps=2).q.shape == (3, 3, 2)
    with pytest.raises(InputError, match=r'method="variational" is for NumPy arrays.*"semi_implicit" and "rk4" have'):
        torch.func.vmap(lambda q: motion(q, None, steps=2).q)(q)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there():
    with pytest.raises(DeviceError, match="PyTorch sees no GPU here"):
        qddot.load("two_link").rollout(device="cuda")(np.zeros((3, 2)), None, np.zeros(2), steps=5)
