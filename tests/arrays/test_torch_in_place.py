"""PyTorch tensors that are written: no gradient of numbers that are gone. And where rollouts cannot be, in our words."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")

from torch.autograd import forward_ad  # noqa: E402

import qddot  # noqa: E402
from qddot.errors import InputError  # noqa: E402
from tests.arrays.cases import arm, states  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

WRITTEN = "modified by an inplace operation"
STEPS = 6


def three(lead=(4,)):
    given = states(arm(), lead)
    return [torch.from_numpy(given[x]) for x in ("q", "qd", "qdd")]


def motion():
    """A rollout, and all that it is given."""
    robot = qddot.load("two_link").with_variable("joint1.viscous")
    rng = np.random.default_rng(0)
    numbers = {"q0": rng.normal(size=(3, 2)), "qd0": rng.normal(size=(3, 2)), "control": rng.normal(size=(STEPS, 3, 2))}
    numbers |= {"parameters": robot.parameters() * 1.1, "variables": rng.uniform(size=(3, 1))}
    return robot.rollout(step=0.01, stops=False), numbers


# gradients of rollouts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["q0", "qd0", "control", "parameters", "variables"])
@pytest.mark.parametrize("wanted", ["q0", "control"])
def test_inputs_of_a_rollout_that_are_written_before_its_gradient_are_an_error(written, wanted):
    run, numbers = motion()
    given = {name: torch.from_numpy(x) for name, x in numbers.items()}
    leaf = given[wanted].clone().requires_grad_()
    given[wanted] = leaf * 1.0
    loss = run(**given).q.square().sum()
    (before,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    assert before.abs().max() > 0.1
    with torch.no_grad():
        given[written].add_(0.5)
    with pytest.raises(RuntimeError, match=WRITTEN):
        torch.autograd.grad(loss, leaf)


def test_states_of_a_rollout_may_be_written():
    run, numbers = motion()
    given = {name: torch.from_numpy(x) for name, x in numbers.items()}
    u = given["control"].requires_grad_()
    found = []
    for write in (False, True):
        states = run(**given)
        loss = (2 * states.q).sum() + states.qd.sum()
        with torch.no_grad():
            states.q.add_(float(write))
        found += torch.autograd.grad(loss, u)
    assert torch.equal(*found)


# out= -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [slice(None), slice(None, None, 2)])
def test_autograd_knows_of_what_out_overwrites(part):
    room = torch.ones(4, 7 * (part.step or 1), dtype=torch.float64)
    x = torch.ones_like(room, requires_grad=True)
    y = (x * room).sum()
    arm().inverse_dynamics(*three(), out=room[:, part])
    with pytest.raises(RuntimeError, match=WRITTEN):
        y.backward()


def test_autograd_knows_of_every_tensor_of_out():
    rooms = tuple(torch.zeros(4, 7, 7, dtype=torch.float64) for _ in range(3))
    arm().inverse_dynamics_derivatives(*three(), out=rooms)
    assert all(room._version == 1 for room in rooms)


def test_out_is_not_for_forward_mode():
    q = three()[0]
    room = torch.zeros(4, 7, dtype=torch.float64)
    with forward_ad.dual_level(), pytest.raises(InputError, match="out= records no tangent"):
        arm().gravity_torque(forward_ad.make_dual(q, q), out=room)
    assert not room.any()
    with forward_ad.dual_level():
        arm().gravity_torque(forward_ad.make_dual(q, q).detach(), out=room)
    assert torch.equal(room, arm().gravity_torque(q))


@pytest.mark.parametrize(
    "room", [torch.zeros(7).expand(4, 7), torch.zeros(4, 1).expand(4, 7), torch.zeros(10).as_strided((4, 7), (1, 1))]
)
def test_out_whose_elements_share_memory_is_refused(room):
    with pytest.raises(InputError, match=r"out for g has strides .*elements share memory"):
        arm().gravity_torque(three()[0].float(), out=room)


def test_results_of_one_call_must_not_share_memory_and_may_alternate():
    robot, room = arm(), torch.zeros(4, 7, 7, 3, dtype=torch.float64)
    with pytest.raises(InputError, match="two arrays of out share memory"):
        robot.inverse_dynamics_derivatives(*three(), out=(room[..., 0], room[..., 1], room[..., 0]))
    robot.inverse_dynamics_derivatives(*three(), out=tuple(room[..., k] for k in range(3)))
    assert torch.equal(room, torch.stack(robot.inverse_dynamics_derivatives(*three()), -1))


@pytest.mark.parametrize("size", [4, 5000])
def test_out_may_be_an_input(size):
    q, qd, qdd = three((size,))
    expected = arm().inverse_dynamics(q, qd, qdd)
    shifted = torch.cat([qdd, qdd[:1]])
    assert torch.equal(arm().inverse_dynamics(q, qd, shifted[:-1], out=shifted[1:]), expected)


# where rollouts cannot be ---------------------------------------------------------------------------------------------------


def short(q):
    return qddot.load("two_link").rollout(step=0.01)(q, None, steps=3).q


def test_rollouts_without_memory_are_refused():
    with pytest.raises(InputError, match="q0 is on meta, where tensors have no values"):
        short(torch.zeros(2, device="meta", dtype=torch.float64))


def test_a_compiled_function_leaves_its_graph_for_a_rollout():
    run = qddot.load("two_link").rollout(step=0.01)
    loss = lambda q: run(torch.sin(q), None, steps=3).q.square().sum()  # noqa: E731
    q = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    torch._dynamo.reset()
    (found,) = torch.autograd.grad(torch.compile(loss, backend="aot_eager")(q), q)
    assert torch.allclose(found, *torch.autograd.grad(loss(q), q), rtol=1e-13)
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="leave fullgraph=True out"):
        torch.compile(loss, backend="aot_eager", fullgraph=True)(q)


def test_simulate_advises_what_there_is():
    robot, q = qddot.load("two_link"), torch.rand(2, dtype=torch.float64)
    call = lambda q: robot.simulate(q, None, 0.01).q.sum()  # noqa: E731
    with pytest.raises(InputError, match=r"call it outside, or take robot.rollout, which can$"):
        torch.func.grad(call)(q)
    with forward_ad.dual_level(), pytest.raises(InputError, match=r"a tangent of forward mode.*or take robot.rollout, which can$"):
        call(forward_ad.make_dual(q, q))
    with pytest.raises(InputError, match=r"hand over q0.detach\(\), or take robot.rollout, which can"):
        call(q.requires_grad_())
