"""What cannot be followed, or is no number, is said in words of ours: with tensors as with NumPy arrays."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import qddot
from qddot.compile.kinds import library_of
from qddot.errors import InputError, SingularityError
from qddot.rollout import ComputedTorqueLaw, PDLaw
from tests.arrays.cases import with_quaternions

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")

LOST = "has a gradient, which would be lost"


def of_torch(x):
    return torch.tensor(np.asarray(x))


def of_jax(x):
    jax = pytest.importorskip("jax", reason="JAX is not installed: make test-arrays")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(x)


both = pytest.mark.parametrize("made", [of_torch, of_jax])


@pytest.fixture(scope="module")
def two():
    return qddot.load("two_link")


@pytest.fixture(scope="module")
def puma():
    return qddot.load("puma560")


@pytest.fixture(scope="module")
def gain():
    return torch.tensor(1.0, requires_grad=True)


LAWS = {
    "gain of PD": lambda k: PDLaw(kp=k, kd=20),
    "gains of computed torque": lambda k: ComputedTorqueLaw(kp=[k, k], kd=20),
    "factor": lambda k: lambda x: [k * (a - b) for a, b in zip(x.control, x.q)],
    "factor zero": lambda k: lambda x: [(k - 1.0) * a for a in x.q],
    "summand": lambda k: lambda x: [x.q[0] - k, k - x.q[1]],
    "divided": lambda k: lambda x: [x.q[0] / k, 1.0],
    "angle": lambda k: lambda x: [x.sin(k) * x.q[0], 1.0],
    "the force itself": lambda k: lambda x: [k, 0.0],
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_gradients_of_numbers_in_laws_are_refused(law, two, gain):
    z = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(InputError, match=LOST):
        two.rollout(law(gain))(z, None, z, steps=2)
    with torch.no_grad(), pytest.raises(InputError, match=LOST):  # what is compiled may be used with gradients later
        two.rollout(law(gain))(z, None, z, steps=2)
    assert torch.isfinite(two.rollout(law(gain.detach()))(z, None, z, steps=2).q).all()


def test_gradients_of_positions_and_weights_are_refused(two, gain):
    with pytest.raises(InputError, match="the position of joint 'joint1' has a gradient, which would be lost"):
        two.with_locked({"joint1": gain})
    with pytest.raises(InputError, match="Q has a gradient, which would be lost"):
        two.linearize([0.0, 0.0]).lqr(gain, 1.0)
    assert two.with_locked({"joint1": gain.detach()}).nv == 1


@pytest.mark.filterwarnings("error")
def test_gradients_of_numbers_in_constraints_are_refused(gain):
    robot, q = qddot.load("point_mass_2r"), torch.tensor([-1.0, 2.0], dtype=torch.float64)
    for constraint in (
        lambda x: qddot.holonomic(lambda s: s.position("tip").x - x),
        lambda x: qddot.point_on_plane("tip", [x, 0, 0], [1, 0, 0]),
        lambda x: qddot.point_on_plane("tip", x * torch.ones(3), [1, 0, 0]),
    ):
        with pytest.raises(InputError, match=LOST):
            robot.constraint_residual(q, constraint(gain))
        assert robot.constraint_residual(q, constraint(gain.detach())).shape == (1,)


def raised(call, *arguments, **options):
    with pytest.raises((InputError, SingularityError)) as found:
        call(*arguments, **options)
    return type(found.value), str(found.value)


@both
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_check_looks_at_inputs_that_no_result_depends_on(made, wrong, puma):
    q = np.zeros((3, 6))
    q[1, 0] = wrong
    for method in (puma.mass_matrix, puma.gravity_torque):
        said = raised(method, q)
        assert "q[1, 0] is" in said[1]
        assert raised(method, made(q), check=True) == said
        assert np.isfinite(np.asarray(method(made(q)))).all()  # they do not depend on it


@both
def test_check_looks_at_quaternions_and_variables(made, puma):
    robot = with_quaternions()
    q = robot.random_configuration(seed=0)
    assert np.allclose(np.asarray(robot.mass_matrix(made(q), check=True)), robot.mass_matrix(q), rtol=1e-12, atol=1e-12)
    start = next(c.q.start for c in robot.model.mechanism.coordinates if c.parts[0].quaternion)
    q[start : start + 4] *= 2
    said = raised(robot.mass_matrix, q)
    assert "length 2, not 1" in said[1]
    assert raised(robot.mass_matrix, made(q), check=True) == said
    arms, z = puma.with_variable("gravity", "payload"), np.zeros(6)
    for given in ({"payload": np.array(np.nan)}, {"gravity": np.array([0, np.nan, 0])}):
        tensors = {name: made(x) for name, x in given.items()}
        said = raised(arms.mass_matrix, z, variables=given)
        assert said[1] in ("payload is nan: inputs must be finite", "gravity[1] is nan: inputs must be finite")
        assert raised(arms.mass_matrix, made(z), variables=tensors, check=True) == said


@both
def test_rollouts_of_mixed_kinds_name_what_was_given(made, two):
    arms, z = two.with_variable("payload"), np.zeros(2)
    for run, options in (
        (arms.rollout(), {"variables": made(np.ones(1))}),
        (arms.rollout(), {"variables": {"payload": made(np.ones(()))}}),
        (two.rollout(), {"parameters": made(np.ones(20))}),
    ):
        for call in (lambda: run(z, None, z, steps=2, **options), lambda: run.linear(z, z, z, **options)):  # noqa: B023
            with pytest.raises(InputError, match=r"q0? is a NumPy array, but (variables|parameters)"):
                call()


@both
def test_results_can_be_copied_and_pickled(made, puma):
    q = made(np.full(6, 0.3))
    motion, shape = puma.simulate(q, None, 0.02), puma.ellipsoids(q)
    for copied in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert library_of(copied(motion).q) == library_of(q)
        assert np.array_equal(copied(motion).q, motion.q)
        assert repr(copied(shape)) == repr(shape)


@both
def test_dry_friction_at_rest_has_no_linearisation(made, puma):
    z = np.zeros(6)
    assert raised(puma.linearize, made(z)) == raised(puma.linearize, z)
    nowhere = puma.linearize(made(np.full(6, np.nan)), made(np.ones(6)), made(z))
    for ask in (lambda: nowhere.poles, nowhere.controllability):
        with pytest.raises(SingularityError, match="A is not finite"):
            ask()


def test_dry_friction_at_rest_where_nobody_can_look(puma):
    of_jax(0.0)
    import jax

    assert np.isnan(jax.jit(lambda q: puma.linearize(q).A)(np.zeros(6))).all()


CASES = {
    "nested": (lambda x, _: x.mass_matrix(torch.nested.nested_tensor([torch.zeros(6)] * 2)), "q is a nested tensor"),
    "nested, host": (lambda x, _: x.ellipsoids(torch.nested.nested_tensor([torch.zeros(6)] * 2)), "q is a nested tensor"),
    "list of names": (
        lambda x, _: x.with_variable(["payload"]),
        r"with_variable takes names such as 'payload' or 'link3.mass', not \['payload'\]",
    ),
    "frame": (lambda x, q: x.transform(q, ["a"]), r"frame=\['a'\] is not a name"),
    "complex": (lambda x, q: x.mass_matrix(q + 0j), "q holds torch.complex128: real numbers are needed"),
    "complex, host": (lambda x, q: x.ellipsoids(q + 0j), "q holds torch.complex128: real numbers are needed"),
    "None": (lambda x, q: x.inverse_dynamics(q, None, q), "qd=None is no array: a PyTorch tensor is needed, as q is"),
    "text": (lambda x, q: x.inverse_dynamics(q, "0", q), "qd='0' is no array"),
    "out": (lambda x, q: x.mass_matrix(q.numpy(), out=torch.zeros(6, 6)), "out is a PyTorch tensor, but the inputs are NumPy"),
    "variables": (
        lambda x, q: x.with_variable("payload").ellipsoids(q, variables={"payload": 1.0}),
        r"ellipsoids takes no variables: robot.with_values\(\{...\}\).ellipsoids",
    ),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(("call", "words"), CASES.values(), ids=CASES)
def test_errors_are_ours(call, words, puma):
    with pytest.raises(InputError, match=words):
        call(puma, torch.zeros(6, dtype=torch.float64))


def test_a_frame_is_not_traced(puma):
    q = of_jax(np.zeros(6))
    import jax

    with pytest.raises(InputError, match="is not a name"):
        jax.jit(lambda k: puma.transform(q, k))(1)


def test_manipulability_of_variables(puma):
    arms, q = puma.with_variable("joint2.xyz"), torch.full((6,), 0.7, dtype=torch.float64)
    base = torch.tensor(arms.variables["joint2.xyz"] + 0.1, requires_grad=True)
    found = arms.manipulability(q, variables={"joint2.xyz": base})
    expected = arms.with_values({"joint2.xyz": base.detach().numpy()}).manipulability(q.numpy())
    assert np.isclose(found.item(), expected, rtol=1e-12)
    found.backward()
    assert torch.isfinite(base.grad).all()


def test_environments_say_what_they_cannot_do(two):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from qddot.environments import Environment, Environments, Reach

    envs = Environments(Reach(two, effort=5.0), 3)
    envs.reset(seed=0)
    with pytest.raises(InputError, match="the actions have a gradient"):
        envs.step(torch.zeros(3, 2, requires_grad=True))
    with pytest.raises(InputError, match="the actions have a gradient"):
        Environment(Reach(two, effort=5.0)).step(torch.zeros(2, requires_grad=True))
    with pytest.raises(InputError, match="device='nowhere' cannot be used"):
        Environments(Reach(two, effort=5.0), 3, device="nowhere")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="device='cuda' cannot be used"):
            Environments(Reach(two, effort=5.0), 3, device="cuda")
