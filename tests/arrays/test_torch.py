"""PyTorch tensors: the same numbers, derivatives of every kind, under every transform, and errors in our words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")

import qddot  # noqa: E402
from qddot.arrays import torch_ir  # noqa: E402
from qddot.arrays.torch_guest import inner  # noqa: E402
from qddot.errors import InputError, SingularityError  # noqa: E402
from tests.arrays.cases import (  # noqa: E402
    CALLS,
    arm,
    fresh_arm,
    parts,
    singular_where_the_mass_is_on_the_axis,
    states,
    with_quaternions,
    without_joints,
)

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def tensors(robot, lead=(), seed=0, dtype=torch.float64):
    return {name: torch.from_numpy(x).to(dtype) for name, x in states(robot, lead, seed).items()}


# values ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (1,), (3,), (37,), (2, 3), (0,), (2, 0, 3)])
@pytest.mark.parametrize("quantity", CALLS)
def test_same_bits_as_numpy(quantity, lead):
    robot, given = arm(), states(arm(), lead)
    found = getattr(robot, quantity)(*(torch.from_numpy(given[x]) for x in CALLS[quantity]))
    expected = getattr(robot, quantity)(*(given[x] for x in CALLS[quantity]))
    assert type(found) is type(expected) or isinstance(found, torch.Tensor)
    for ours, theirs in zip(parts(found), parts(expected), strict=True):
        assert ours.dtype == torch.float64
        assert ours.shape == theirs.shape
        assert np.array_equal(ours.numpy(), theirs)


def test_single_precision_stays_single():
    robot, given = arm(), tensors(arm(), (20,), dtype=torch.float32)
    found = robot.inverse_dynamics(given["q"], given["qd"], given["qdd"])
    assert found.dtype == torch.float32
    expected = robot.inverse_dynamics(*(given[x].numpy() for x in ("q", "qd", "qdd")), dtype=np.float32)
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize(
    "odd",
    [
        lambda x: x.T.contiguous().T,
        lambda x: torch.stack([x, x], 1)[:, 1],
        lambda x: torch.cat([x, x], -1)[:, : x.shape[-1]],
        lambda x: x.reshape(6, 4, -1).transpose(0, 1),
        lambda x: x.reshape(2, 3, 4, -1).permute(2, 0, 1, 3),
        lambda x: x[:1].expand(24, -1),
        lambda x: x[0].expand(2, 3, -1),
    ],
)
def test_strides(odd):
    robot, given = arm(), tensors(arm(), (24,))
    three = [odd(given[x]) for x in ("q", "qd", "qdd")]
    before = [x.clone() for x in three]
    expected = robot.inverse_dynamics(*(np.ascontiguousarray(x.numpy()) for x in three))
    assert np.array_equal(robot.inverse_dynamics(*three).numpy(), expected)
    assert all(torch.equal(a, b) for a, b in zip(three, before))


def test_leading_shapes_are_broadcast_and_so_are_gradients():
    robot, given = arm(), tensors(arm(), (5,))
    qd = given["qd"][0].clone().requires_grad_()
    tau = robot.inverse_dynamics(given["q"], qd, given["qdd"][:1])
    assert np.array_equal(
        tau.detach().numpy(), robot.inverse_dynamics(given["q"].numpy(), qd.detach().numpy(), given["qdd"][:1].numpy())
    )
    (found,) = torch.autograd.grad(tau.sum(), qd)
    full = qd.detach().expand(5, -1).clone().requires_grad_()
    (each,) = torch.autograd.grad(robot.inverse_dynamics(given["q"], full, given["qdd"][:1]).sum(), full)
    assert torch.allclose(found, each.sum(0), rtol=1e-14)


def test_results_into_tensors_that_are_there():
    robot, given = arm(), tensors(arm(), (6,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    room = torch.zeros(6, 14, dtype=torch.float64)[:, ::2]
    assert robot.inverse_dynamics(*three, out=room) is room
    assert torch.equal(room, robot.inverse_dynamics(*three))
    rooms = tuple(torch.zeros(6, 7, 7, dtype=torch.float64) for _ in range(3))
    robot.inverse_dynamics_derivatives(*three, out=rooms)
    assert all(torch.equal(a, b) for a, b in zip(rooms, robot.inverse_dynamics_derivatives(*three)))


def test_external_forces():
    robot, given, rng = arm(), states(arm(), (4,)), np.random.default_rng(1)
    wrench, stack = rng.normal(size=(4, 6)), rng.normal(size=(4, len(robot.body_names), 6))
    three = [given[x] for x in ("q", "qd", "qdd")]
    mine = [torch.from_numpy(x) for x in three]
    for forces in ({"f_ext": {robot.tip: wrench}}, {"f_tip": {robot.tip: wrench}}, {"f_ext": stack, "f_tip": {robot.tip: wrench}}):
        found = robot.inverse_dynamics(*mine, **{k: as_tensors(v) for k, v in forces.items()})
        assert np.allclose(found.numpy(), robot.inverse_dynamics(*three, **forces), rtol=1e-12, atol=1e-12)


def as_tensors(forces):
    return {k: torch.from_numpy(v) for k, v in forces.items()} if isinstance(forces, dict) else torch.from_numpy(forces)


def test_a_robot_without_joints():
    robot = without_joints()
    q = torch.zeros(3, 0, dtype=torch.float64)
    assert robot.inverse_dynamics(q, q, q).shape == (3, 0)
    assert torch.equal(robot.transform(q, "base"), torch.eye(4, dtype=torch.float64).expand(3, 4, 4))


def test_parameters_and_other_subclasses():
    robot, given = arm(), tensors(arm(), (3,))
    q = torch.nn.Parameter(given["q"])
    robot.gravity_torque(q).sum().backward()
    assert q.grad.shape == q.shape


# derivatives ----------------------------------------------------------------------------------------------------------------


def eager_and_transformed():
    robot = arm()
    return robot, lambda *x: robot.inverse_dynamics(*x)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "kinetic_energy"])
def test_gradcheck(quantity):
    robot = arm()
    given = [x.requires_grad_() for x in map(tensors(robot, (2,)).get, CALLS[quantity])]
    call = getattr(robot, quantity)
    assert torch.autograd.gradcheck(call, given, check_forward_ad=True)


def test_gradgradcheck():
    robot, call = eager_and_transformed()
    given = [x.requires_grad_() for x in map(tensors(robot, (2,)).get, CALLS["inverse_dynamics"])]
    assert torch.autograd.gradgradcheck(call, given, check_fwd_over_rev=True)


def test_some_inputs_need_no_gradient():
    robot, given = arm(), tensors(arm(), (3,))
    q = given["q"].clone().requires_grad_()
    tau = robot.inverse_dynamics(q, given["qd"], given["qdd"])
    (found,) = torch.autograd.grad(tau[:, 2].sum(), q)
    exact = robot.inverse_dynamics_derivatives(*(given[x].numpy() for x in ("q", "qd", "qdd"))).dtau_dq[:, 2]
    assert np.allclose(found.numpy(), exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd"])
def test_jacobians_by_transforms_are_the_exact_ones(transform):
    robot, call = eager_and_transformed()
    given = states(robot)
    three = [given[x] for x in ("q", "qd", "qdd")]
    found = getattr(torch.func, transform)(call, (0, 1, 2))(*map(torch.from_numpy, three))
    for ours, exact in zip(found, robot.inverse_dynamics_derivatives(*three)):
        assert np.abs(exact).max() > 0.01
        assert np.allclose(ours.numpy(), exact, rtol=1e-12, atol=1e-12)


def test_orders_and_modes_mix():
    robot, call = eager_and_transformed()
    three = [tensors(robot)[x] for x in ("q", "qd", "qdd")]
    f = torch.func
    ways = [f.jacrev(f.jacrev(call)), f.jacfwd(f.jacfwd(call)), f.jacfwd(f.jacrev(call)), f.jacrev(f.jacfwd(call)), f.hessian(call)]
    first, *others = (way(*three) for way in ways)
    assert first.abs().max() > 0.1
    assert all(torch.allclose(first, x, rtol=1e-11, atol=1e-11) for x in others)


def test_values_within_transforms_are_differentiated_outside():
    """What an inner transform returns besides its derivative is a function of the outer one's variables, too."""
    robot, call = eager_and_transformed()
    q, qd, qdd = (tensors(robot)[x] for x in ("q", "qd", "qdd"))
    f = torch.func
    exact = f.jacrev(call)(q, qd, qdd)
    for transform in (f.jacrev, f.jacfwd):
        assert torch.allclose(
            transform(lambda q: f.jvp(lambda qd: call(q, qd, qdd), (qd,), (qd,))[0])(q), exact, rtol=1e-12, atol=1e-12
        )
        assert torch.allclose(transform(lambda q: f.vjp(lambda qd: call(q, qd, qdd), qd)[0])(q), exact, rtol=1e-12, atol=1e-12)
    leaf = q.clone().requires_grad_()
    primal, tangent = f.jvp(lambda qd: call(leaf, qd, qdd), (qd,), (qd,))
    assert torch.allclose(torch.autograd.grad(primal.sum(), leaf, retain_graph=True)[0], exact.sum(0), rtol=1e-12, atol=1e-12)
    mixed = f.jacrev(lambda q: f.jacrev(lambda qd: call(q, qd, qdd))(qd) @ qd)(q)
    assert torch.allclose(torch.autograd.grad(tangent.sum(), leaf)[0], mixed.sum(0), rtol=1e-11, atol=1e-11)


def test_vmap():
    robot, call = eager_and_transformed()
    given = states(robot, (5,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    q, qd, qdd = map(torch.from_numpy, three)
    assert np.array_equal(torch.func.vmap(call)(q, qd, qdd).numpy(), robot.inverse_dynamics(*three))
    some = torch.func.vmap(call, (0, None, None))(q, qd[0], qdd[0])
    assert np.array_equal(some.numpy(), robot.inverse_dynamics(three[0], three[1][0], three[2][0]))
    columns = torch.func.vmap(call, (1, 1, 1), 1)(q.T, qd.T, qdd.T)
    assert np.array_equal(columns.numpy(), robot.inverse_dynamics(*three).T)
    nested = torch.func.vmap(torch.func.vmap(call, (None, 0, 0)), (0, None, None))(q, qd, qdd)
    assert np.array_equal(nested.numpy(), robot.inverse_dynamics(three[0][:, None], three[1], three[2]))


def test_forward_mode_with_dual_numbers():
    robot, given = arm(), tensors(arm(), (3,))
    q, qd, qdd, v = (given[x] for x in ("q", "qd", "qdd", "v"))
    with torch.autograd.forward_ad.dual_level():
        tau = robot.inverse_dynamics(torch.autograd.forward_ad.make_dual(q, v), qd, qdd)
        rate = torch.autograd.forward_ad.unpack_dual(tau).tangent
    exact = robot.inverse_dynamics_derivatives(q.numpy(), qd.numpy(), qdd.numpy()).dtau_dq
    assert np.allclose(rate.numpy(), np.einsum("...ij,...j->...i", exact, v.numpy()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("first", ["numpy", "torch", "compiled"])
def test_compiled_without_a_break(first):
    robot = fresh_arm()
    given = tensors(robot, (3,))
    loss = lambda q, qd, qdd: torch.sin(robot.inverse_dynamics(q, qd, qdd)).sum()  # noqa: E731
    three = [given[x].clone().requires_grad_() for x in ("q", "qd", "qdd")]
    if first == "numpy":  # then the method is machine code, which cannot be traced
        robot.inverse_dynamics(*(x[0].detach().numpy() for x in three))
    if first == "torch":
        robot.inverse_dynamics(*three)
    torch._dynamo.reset()
    value = torch.compile(loss, backend="aot_eager", fullgraph=True)(*three)
    found = torch.autograd.grad(value, three)
    expected = torch.autograd.grad(loss(*three), three)
    assert all(torch.allclose(a, b, rtol=1e-13, atol=1e-13) for a, b in zip(found, expected))


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian"])
def test_transforms_compiled(transform):
    robot, call = eager_and_transformed()
    three = [tensors(robot, (3,))[x] for x in ("q", "qd", "qdd")]
    each = torch.func.vmap(getattr(torch.func, transform)(call))
    torch._dynamo.reset()
    found = torch.compile(each, backend="aot_eager", fullgraph=True)(*three)
    assert found.abs().max() > 0.01
    assert torch.allclose(found, each(*three), rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="Inductor needs a C++ compiler")
def test_compiled_by_inductor():
    robot, given = arm(), tensors(arm(), (5,))
    q, qd, tau = (given[x].requires_grad_() for x in ("q", "qd", "qdd"))
    loss = lambda *x: robot.forward_dynamics(*x).square().sum()  # noqa: E731
    found = torch.autograd.grad(torch.compile(loss, fullgraph=True)(q, qd, tau), (q, qd, tau))
    for mine, eager in zip(found, torch.autograd.grad(loss(q, qd, tau), (q, qd, tau))):
        assert torch.allclose(mine, eager, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_the_direct_way_knows_several_types_and_leaves_the_rest(name):
    robot, given = fresh_arm(), tensors(arm(), (4,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    call = lambda *x, **how: getattr(robot, name)(*x, **how)  # noqa: E731
    for dtype in (torch.float64, torch.float32, torch.float64, torch.float32):
        for _ in range(3):
            found = call(*(x.to(dtype) for x in three))
            assert found.dtype == dtype
            expected = call(*(x.to(dtype).numpy() for x in three), dtype=str(dtype).removeprefix("torch."))
            assert np.array_equal(found.numpy(), expected)
    assert call(three[0], three[1][0], three[2][0]).shape == (4, 7)  # broadcast
    with pytest.raises(InputError, match=r"qd holds torch.float32, but q holds torch.float64"):
        call(three[0], three[1].float(), three[2])
    with pytest.raises(TypeError, match=name):
        call(*three[:2])
    leaf = three[2].clone().requires_grad_()
    assert call(three[0], three[1], leaf).requires_grad
    with torch.no_grad():
        assert not call(three[0], three[1], leaf).requires_grad


def test_a_compiled_step_enters_no_python_of_ours():
    robot, given = arm(), tensors(arm(), (3,))
    three = [given[x].clone().requires_grad_() for x in ("q", "qd", "qdd")]
    torch._dynamo.reset()
    step = torch.compile(lambda *x: robot.inverse_dynamics(*x).square().sum(), backend="aot_eager", fullgraph=True)
    step(*three).backward()
    entered = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        step(*three).backward()
    finally:
        sys.setprofile(None)
    ours = str(Path(qddot.__file__).parent)
    assert not [name for name in entered if name.startswith(ours)]


def test_opcheck():
    operation = arm()._guests.operation("inverse_dynamics", "float64", False, ())
    three = [tensors(arm(), (3,))[x] for x in ("q", "qd", "qdd")]
    assert set(torch.library.opcheck(inner(operation), three).values()) == {"SUCCESS"}


# quaternions ----------------------------------------------------------------------------------------------------------------


def test_quaternions_derivative_along_q():
    """The function of the numbers in q, quaternions made unit within: no part of its gradient is along a quaternion."""
    robot = with_quaternions()
    given = {name: x.requires_grad_() for name, x in tensors(robot, (2,)).items()}
    assert torch.autograd.gradcheck(robot.inverse_dynamics, [given[x] for x in ("q", "qd", "qdd")])
    (slope,) = torch.autograd.grad(robot.inverse_dynamics(given["q"], given["qd"], given["qdd"]).square().sum(), given["q"])
    for c in robot.model.mechanism.coordinates:
        if c.parts[0].quaternion:
            four = slice(c.q.start, c.q.start + 4)
            assert torch.allclose((slope[:, four] * given["q"][:, four]).sum(-1), torch.zeros(2, dtype=torch.float64), atol=1e-9)


def test_quaternions_derivative_along_the_tangent():
    robot = with_quaternions()
    given = states(robot)
    q, qd, qdd = (torch.from_numpy(given[x]) for x in ("q", "qd", "qdd"))
    zero = torch.zeros(robot.nv, dtype=torch.float64)
    exact = robot.inverse_dynamics_derivatives(given["q"], given["qd"], given["qdd"]).dtau_dq
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        found = transform(lambda v: robot.inverse_dynamics(robot.integrate(q, v), qd, qdd))(zero)
        assert np.allclose(found.numpy(), exact, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.1, 0.199, 0.201, 3.0])
def test_difference_is_that_of_numpy(size):
    """The angles lie on both sides of where series take over."""
    robot, rng = qddot.load("quadrotor_arm"), np.random.default_rng(0)
    start = np.stack([robot.random_configuration(rng) for _ in range(5)])
    v = rng.normal(size=(5, robot.nv))
    v[:, :3] *= size / np.linalg.norm(v[:, :3], axis=-1, keepdims=True)
    end = robot.integrate(start, v)
    found = robot.difference(torch.from_numpy(start), torch.from_numpy(end))
    assert np.allclose(found.numpy(), robot.difference(start, end), rtol=0, atol=3e-15)
    there = lambda v: robot.difference(torch.from_numpy(start), robot.integrate(torch.from_numpy(start), v)).sum(0)  # noqa: E731
    slopes = torch.func.jacfwd(there)(torch.from_numpy(v)).movedim(0, 1)
    assert torch.allclose(slopes, torch.eye(robot.nv, dtype=torch.float64).expand(5, -1, -1), rtol=0, atol=1e-13)


def test_zero_moment_point_and_several_quantities():
    robot, given = arm(), tensors(arm(), (3,))
    q, qd, qdd = (given[x] for x in ("q", "qd", "qdd"))
    found = robot.zero_moment_point(q, 0 * qd, 0 * qdd)
    assert np.allclose(found.numpy(), robot.zero_moment_point(q.numpy(), 0 * qd.numpy(), 0 * qdd.numpy()), rtol=0, atol=1e-14)
    assert robot.zero_moment_point(q, 0 * qd, 0 * qdd, normal=(0, 0, -1)).isnan().all()  # the ground would have to pull
    both = robot.compute(["mass_matrix", ("jacobian", {"reference": "body"})], q)
    assert torch.equal(both["jacobian"], robot.jacobian(q, reference="body"))
    with pytest.raises(InputError, match="these quantities need q, qd: 2 arrays, 1 were given"):
        robot.compute(["mass_matrix", "bias_torque"], q)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.09, 0.11, 2.0])
def test_integrate_is_that_of_numpy(size):
    robot = with_quaternions()
    given = states(robot, (4,))
    v = size * given["v"] / np.abs(given["v"]).max()
    found = robot.integrate(torch.from_numpy(given["q"]), torch.from_numpy(v))
    assert np.allclose(found.numpy(), robot.integrate(given["q"], v), rtol=1e-14, atol=1e-14)
    rate = robot.configuration_rate(torch.from_numpy(given["q"]), torch.from_numpy(v))
    assert np.allclose(rate.numpy(), robot.configuration_rate(given["q"], v), rtol=1e-14, atol=1e-14)


# a batch of different robots ------------------------------------------------------------------------------------------------


def test_variables_and_their_gradient():
    robot, given = arm().with_variable("payload", "gravity", "joint2.viscous"), tensors(arm(), (3,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    values = {"payload": torch.rand(3, dtype=torch.float64), "gravity": torch.rand(3, 3, dtype=torch.float64)}
    found = robot.inverse_dynamics(*three, variables=values)
    expected = robot.inverse_dynamics(*(x.numpy() for x in three), variables={k: x.numpy() for k, x in values.items()})
    assert np.array_equal(found.numpy(), expected)
    assert np.allclose(robot.inverse_dynamics(*three).numpy(), arm().inverse_dynamics(*(x.numpy() for x in three)), rtol=1e-12)
    of = lambda load, g: robot.forward_dynamics(*three, variables={"payload": load, "gravity": g})  # noqa: E731
    assert torch.autograd.gradcheck(of, [x.requires_grad_() for x in values.values()])
    torch._dynamo.reset()
    compiled = torch.compile(of, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(*values.values()), of(*values.values()), rtol=1e-13)
    with pytest.raises(InputError, match=r"payload is .*, but q is a PyTorch tensor"):
        robot.inverse_dynamics(*three, variables={"payload": np.ones(4)})
    with pytest.raises(InputError, match=r"payload holds torch.float32, but q holds torch.float64: payload.to\(q.dtype\)"):
        robot.inverse_dynamics(*three, variables={"payload": torch.ones(3)})
    with pytest.raises(InputError, match="this robot has no variables"):
        arm().inverse_dynamics(*three, variables=values)


# rollouts -------------------------------------------------------------------------------------------------------------------


def test_a_variable_may_be_one_number_for_all_states():
    robot = qddot.load("two_link").with_variable("payload")
    q = torch.rand(5, 2, dtype=torch.float64)
    for load in (1.5, torch.full((5,), 1.5, dtype=torch.float64)):
        found = robot.gravity_torque(q, variables={"payload": load})
        assert np.array_equal(found.numpy(), robot.gravity_torque(q.numpy(), variables={"payload": 1.5}))


def test_rollouts_and_their_gradient():
    import qddot

    robot = qddot.load("two_link").with_variable("payload", "joint1.viscous")
    run = robot.rollout(step=0.01, stops=False)
    rng = np.random.default_rng(0)
    numbers = [rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=(12, 3, 2))]
    q0, qd0, control = (torch.from_numpy(x).requires_grad_() for x in numbers)
    load, friction = torch.rand(3, dtype=torch.float64).requires_grad_(), torch.tensor(0.3, dtype=torch.float64).requires_grad_()
    of = lambda *x: run(*x[:3], every=4, variables={"payload": x[3], "joint1.viscous": x[4]})  # noqa: E731
    states = of(q0, qd0, control, load, friction)
    expected = run(*numbers, every=4, variables={"payload": load.detach().numpy(), "joint1.viscous": 0.3})
    assert np.array_equal(states.q.detach().numpy(), expected.q)
    assert torch.autograd.gradcheck(lambda *x: tuple(of(*x)), (q0, qd0, control, load, friction))
    assert not run(q0.detach(), None, control.detach()).q.requires_grad
    with pytest.raises(InputError, match="control is a NumPy array, but q0 is a PyTorch tensor"):
        run(q0, qd0, numbers[2])


# what goes wrong ------------------------------------------------------------------------------------------------------------

WRONG = {
    "a NumPy array": (
        lambda q, qd, qdd: (q, qd.numpy(), qdd),
        r"qd is a NumPy array, but q is a PyTorch tensor.*torch.as_tensor\(qd",
    ),
    "a list": (lambda q, qd, qdd: (q, qd.tolist(), qdd), "qd is 'list'"),
    "None": (lambda q, qd, qdd: (q, None, qdd), "qd=None is no array"),
    "another type": (
        lambda q, qd, qdd: (q, qd.float(), qdd),
        r"qd holds torch.float32, but q holds torch.float64: qd.to\(torch.float64\)",
    ),
    "integers": (lambda q, qd, qdd: (q.long(), qd, qdd), r"q holds torch.int64, float64 or float32 is needed: q.double\(\)"),
    "half precision": (lambda q, qd, qdd: (q.half(), qd.half(), qdd.half()), "q holds torch.float16"),
    "complex": (lambda q, qd, qdd: (q + 0j, qd, qdd), "q holds torch.complex128"),
    "a short row": (lambda q, qd, qdd: (q[:, :6], qd, qdd), r"q has shape \(3, 6\), expected \(..., 7\)"),
    "a number": (lambda q, qd, qdd: (q, qd[0, 0], qdd), r"qd has shape \(\), expected \(..., 7\)"),
    "other batches": (lambda q, qd, qdd: (q, qd[:2], qdd), r"leading dimensions.*q \(3, 7\), qd \(2, 7\)"),
    "sparse": (lambda q, qd, qdd: (q.to_sparse(), qd, qdd), "q is sparse"),
    "no memory": (lambda q, qd, qdd: (q.to("meta"), qd, qdd), "q is on meta"),
}


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_inputs_are_named(case, twice):
    spoil, message = WRONG[case]
    robot, given = fresh_arm(), tensors(arm(), (3,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    if twice:  # the direct way is there
        robot.inverse_dynamics(*three)
    with pytest.raises(InputError, match=message):
        robot.inverse_dynamics(*spoil(*three))


def test_options_that_are_not_for_tensors():
    robot, given = arm(), tensors(arm(), (3,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    with pytest.raises(InputError, match=r"torch.set_num_threads"):
        robot.inverse_dynamics(*three, threads=2)
    with pytest.raises(InputError, match=r"dtype=torch.float32, but q holds torch.float64"):
        robot.inverse_dynamics(*three, dtype=torch.float32)
    robot.inverse_dynamics(*three, dtype=torch.float64)
    robot.inverse_dynamics(*three, dtype=np.float64)
    with pytest.raises(InputError, match="has no option 'wrong'"):
        robot.inverse_dynamics(*three, wrong=1)
    with pytest.raises(InputError, match=r"out for tau is a NumPy array"):
        robot.inverse_dynamics(*three, out=np.zeros((3, 7)))
    with pytest.raises(InputError, match=r"out for tau has shape \(2, 7\)"):
        robot.inverse_dynamics(*three, out=torch.zeros(2, 7, dtype=torch.float64))
    with pytest.raises(InputError, match="records no gradient"):
        robot.inverse_dynamics(three[0].clone().requires_grad_(), *three[1:], out=torch.zeros(3, 7, dtype=torch.float64))
    with pytest.raises(InputError, match=r"f_ext\['flange'\] is a NumPy array"):
        robot.inverse_dynamics(*three, f_ext={"flange": np.zeros(6)})


def test_the_operator_looks_before_it_reads():
    """Without our front, as in a compiled graph with other tensors: PyTorch's own error, and no memory that is not theirs."""
    operator = inner(arm()._guests.operation("inverse_dynamics", "float64", False, ()))
    q, qd, qdd = (tensors(arm(), (4,))[x] for x in ("q", "qd", "qdd"))
    for wrong in ((q.float(), qd, qdd), (q[:3], qd, qdd), (q[:, :6], qd, qdd), (q[0, 0], qd, qdd), (q.reshape(2, 2, 7), qd, qdd)):
        for _ in range(3):
            with pytest.raises(RuntimeError, match=r"inverse_dynamics needs float64 tensors on the CPU"):
                operator(*wrong)
    assert operator(q, qd, qdd).shape == (4, 7)


def test_not_a_number_in_not_a_number_out_and_check_says_why():
    robot, given = arm(), tensors(arm(), (3,))
    q, qd, qdd = (given[x] for x in ("q", "qd", "qdd"))
    q[1, 2] = torch.nan
    found = robot.inverse_dynamics(q, qd, qdd)
    assert torch.isfinite(found).all(-1).tolist() == [True, False, True]
    with pytest.raises(InputError, match=r"q\[1, 2\] is nan"):
        robot.inverse_dynamics(q, qd, qdd, check=True)


def test_a_singular_state_has_no_numbers():
    robot = singular_where_the_mass_is_on_the_axis()
    q = torch.tensor([[0.0, 0.3], [0.0, torch.pi / 2]], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros_like(q)
    found = robot.forward_dynamics(q, zero, zero)
    assert found.isnan().all(-1).tolist() == [False, True]
    assert torch.autograd.grad(found.sum(), q)[0].isnan().any(-1).tolist() == [False, True]
    with pytest.raises(SingularityError, match="nothing resists joint"):
        robot.forward_dynamics(q.detach(), zero, zero, check=True)


def test_versions_of_the_interface_are_read():
    torch_ir.refuse_unknown_abi(2, 15, [])
    for major, minor, missing in ((2, 9, []), (3, 0, []), (1, 13, []), (2, 15, ["torch_parallel_for"])):
        with pytest.raises(
            InputError, match=r"PyTorch's C interface is version .*install such a version, or hand over NumPy arrays"
        ):
            torch_ir.refuse_unknown_abi(major, minor, missing)


def test_names_are_those_of_the_content():
    """The same in another process, so that a compiled graph kept in a file calls what it was made for."""
    which = ("inverse_dynamics", "float64", False, ())
    here = arm()._guests.operation(*which).name
    text = f"import qddot; print(qddot.load('arm7')._guests.operation{which}.name)"
    there = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()
    assert here == there
    assert here != arm().with_gravity([0, 0, -1.62])._guests.operation(*which).name
    assert here != arm()._guests.operation("inverse_dynamics", "float32", False, ()).name


def test_code_outlives_its_robot():
    robot = fresh_arm()
    three = [tensors(robot)[x] for x in ("q", "qd", "qdd")]
    expected = robot.inverse_dynamics(*three)
    operator = getattr(torch.ops.qddot, robot._guests.operation("inverse_dynamics", "float64", False, ()).name)
    del robot
    import gc

    gc.collect()
    assert torch.equal(operator(*three), expected)


def test_no_memory_is_lost():
    import resource

    robot, given = arm(), tensors(arm(), (50,))
    three = [given[x] for x in ("q", "qd", "qdd")]
    odd = [x.reshape(5, 10, 7).transpose(0, 1) for x in three]

    def most() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for _ in range(300):
        robot.inverse_dynamics(*three), robot.inverse_dynamics(*odd)
    before = most()
    for _ in range(6000):  # 17 MB of results, were they kept
        robot.inverse_dynamics(*three), robot.inverse_dynamics(*odd)
    assert most() - before < 8000


def test_friction_is_learnt_from_a_recording():
    from tests.examples.test_examples import example

    found = example("learn_friction").learn(rounds=120)
    assert found["loss"][-1] < 0.02 * found["loss"][0]
    before, after = (np.abs(found[x] - found["truth"])[1:].sum() for x in ("described", "found"))
    assert after < 0.35 * before
