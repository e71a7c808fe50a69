"""Every method of a robot that takes arrays: which kinds, with or without gradients, as the page says."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from tests.arrays.test_kinds import Foreign

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")
jax = pytest.importorskip("jax", reason="JAX is not installed: make test-arrays")
jax.config.update("jax_enable_x64", True)

TENSORS = Path(__file__).parents[2] / "docs" / "tensors.md"
SHOWN = {"plot", "explore", "reduced", "excitation"}  # one configuration that is looked at, or a plan
ALIASES = {"rnea", "crba", "aba"}
RNG = np.random.default_rng(3)


@cache
def robot(name: str) -> qddot.Robot:
    return qddot.load(name)


@cache
def closed() -> tuple[np.ndarray, ...]:
    """State, joint forces, accelerations and multipliers of a five-bar linkage."""
    five, rng = robot("five_bar"), np.random.default_rng(0)
    q = five.project(five.home() + 0.05 * rng.normal(size=five.nq))
    qd, tau = five.project_velocity(q, rng.normal(size=five.nv)), rng.normal(size=five.nv)
    return q, qd, tau, *five.constrained_forward_dynamics(q, qd, tau)


def own(name: str, *inputs: str, **options):
    """A call of a method of a planar arm, by the names of its inputs."""
    return name, lambda call, given: getattr(call, name)(*(given[x] for x in inputs), **options), "two_link", inputs


WALL = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
XY = {"rows": ["x", "y"]}
Q, QD, QDD = ("q",), ("q", "qd"), ("q", "qd", "qdd")

PROGRAMS = [
    own("normalized", *Q),
    own("mass_matrix", *Q),
    own("mass_matrix_inverse", *Q),
    own("gravity_torque", *Q),
    own("spring_torque", *Q),
    own("christoffel", *Q),
    own("centrifugal_matrix", *Q),
    own("coriolis_products_matrix", *Q),
    own("potential_energy", *Q),
    own("center_of_mass", *Q),
    own("transform", *Q),
    own("transforms", *Q),
    own("jacobian", *Q),
    own("analytic_jacobian", *Q),
    own("centroidal_momentum_matrix", *Q),
    own("configuration_rate", *QD),
    own("mass_matrix_rate", *QD),
    own("coriolis_matrix", *QD),
    own("coriolis_torque", *QD),
    own("bias_torque", *QD),
    own("newton_euler_matrices", *QD),
    own("newton_euler_blocks", *QD),
    own("kinetic_energy", *QD),
    own("lagrangian", *QD),
    own("hamiltonian", *QD),
    own("generalized_momentum", *QD),
    own("momentum", *QD),
    own("centroidal_momentum_matrix_rate", *QD),
    own("frame_velocity", *QD),
    own("jacobian_dot", *QD),
    own("analytic_jacobian_dot", *QD),
    own("inverse_dynamics", *QDD),
    own("joint_wrenches", *QDD),
    own("inverse_dynamics_derivatives", *QDD),
    own("momentum_rate", *QDD),
    own("regressor", *QDD),
    own("frame_acceleration", *QDD),
    *(own(name, "q", "qd", "tau") for name in ("forward_dynamics", "forward_dynamics_derivatives")),
    own("friction_torque", "qd"),
    own("integrate", "q", "v"),
    own("difference", "q", "v"),
    own("torque_rates", "q", "qd", "qdd", "tau", "v"),
    own("hamiltonian_of_momentum", "q", "p"),
    own("hamilton_rates", "q", "p"),
    own("manipulability", *Q, **XY),
    own("zero_moment_point", *QDD, normal=(0, 1, 0)),
    own("linearize", *QD),
    own("task_space", *QD, **XY),
    ("external_wrench", lambda r, x: r.external_wrench(x["q"], {"body_2": x["wrench"]}), "two_link", ("q", "wrench")),
    ("compute", lambda r, x: r.compute(["mass_matrix", "bias_torque"], x["q"], x["qd"])["bias_torque"], "two_link", QD),
    ("derivative", lambda r, x: r.derivative("gravity_torque", x["q"], wrt="q"), "two_link", Q),
    ("constrained_forward_dynamics", lambda r, x: r.constrained_forward_dynamics(*x.values()), "five_bar", ("q", "qd", "tau")),
    (
        "constrained_inverse_dynamics",
        lambda r, x: r.constrained_inverse_dynamics(x["q"], x["qd"], x["qdd"], None, x["lam"], tolerance=None),
        "five_bar",
        ("q", "qd", "qdd", "lam"),
    ),
    *((name, lambda r, x, name=name: getattr(r, name)(x["q"]), "five_bar", Q) for name in ("constraint_residual",)),
    *((name, lambda r, x, name=name: getattr(r, name)(x["q"]), "five_bar", Q) for name in ("constraint_jacobian",)),
    ("constraint_projections", lambda r, x: r.constraint_projections(x["q"]), "five_bar", Q),
    ("constraint_jacobian_dot", lambda r, x: r.constraint_jacobian_dot(x["q"], x["qd"]), "five_bar", QD),
    ("project_velocity", lambda r, x: r.project_velocity(x["q"], x["v"]), "five_bar", ("q", "v")),
]
"""Name, call, robot and inputs of methods whose results have gradients."""

VALUES = [
    ("inverse_kinematics", lambda r, x: r.inverse_kinematics(x["pose"], **XY).q, "two_link", ("pose",)),
    ("inverse_kinematics_solutions", lambda r, x: r.inverse_kinematics_solutions(x["pose"], **XY).q, "two_link", ("pose",)),
    ("ellipsoids", lambda r, x: r.ellipsoids(x["q"]).mass, "two_link", Q),
    ("equilibrium", lambda r, x: r.equilibrium(x["q"])[:2], "two_link", Q),
    ("simulate", lambda r, x: (lambda m: (m.q, m.energy, m[3:].tau))(r.simulate(x["q"], x["qd"], 0.02)), "two_link", QD),
    ("time_optimal", lambda r, x: r.time_optimal(x["path"], acceleration=1.0).t, "two_link", ("path",)),
    ("project", lambda r, x: r.project(x["q"]), "five_bar", Q),
    ("assemblies", lambda r, x: r.assemblies(x["q"], hold=["left_motor", "right_motor"]), "five_bar", Q),
    ("assembly_mode", lambda r, x: r.assembly_mode(x["q"], hold=["left_motor", "right_motor"]), "five_bar", Q),
    (
        "constraint_wrench",
        lambda r, x: r.constraint_wrench(x["q"], x["one"], WALL, moment=False),
        "two_link",
        ("q", "one"),
    ),
]
"""Those that are computed with NumPy and SciPy."""


def numbers(name: str, inputs: tuple[str, ...]) -> dict[str, np.ndarray]:
    if name == "five_bar":
        q, qd, tau, qdd, lam = closed()
        found = {"q": q, "qd": qd, "tau": tau, "qdd": qdd, "lam": lam, "v": np.linspace(1, 2, len(qd))}
    else:
        found = {x: np.array(v) for x, v in (("q", [0.3, 0.8]), ("qd", [0.5, -0.7]), ("qdd", [0.2, 0.4]), ("tau", [1.0, -2.0]))}
        found |= {"v": np.array([0.4, 0.1]), "p": np.array([0.3, 0.2]), "wrench": np.linspace(-1, 1, 6), "one": np.array([2.0])}
        found |= {"pose": np.array([0.8, 0.4, 0.0]), "path": np.linspace([0.0, 0.0], [0.5, 1.0], 9)}
    return {x: found[x] for x in inputs}


def arrays_of(result) -> list:
    """All arrays of a result."""
    if isinstance(result, tuple):
        return [x for part in result for x in arrays_of(part)]
    if type(result).__name__ == "Linearization":
        return [result.A, result.B, result.qdd]
    if type(result).__name__ == "TaskSpace":
        return [result.M_C, result.J_bar, result.c_C, result.g_C, result.torque(result.V)]
    return [result]


KINDS = {
    "torch": (torch.from_numpy, lambda x: x.detach().numpy(), torch.Tensor),
    "jax": (jax.numpy.asarray, np.asarray, jax.Array),
    "dlpack": (Foreign, lambda x: x.array, Foreign),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "call", "which", "inputs"), [*PROGRAMS, *VALUES], ids=lambda x: x if isinstance(x, str) else "")
def test_the_kind_that_came_is_the_kind_that_goes(method, call, which, inputs, kind):
    made, back, instance = KINDS[kind]
    given = numbers(which, inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qddot.errors.RankWarning)
        expected = arrays_of(call(robot(which), given))
        found = call(robot(which), {name: made(x.copy()) for name, x in given.items()})
    if kind == "dlpack" and method in ("linearize", "task_space"):  # their objects compute with NumPy still
        found = [found.A, found.B, found.qdd] if method == "linearize" else [found.M_C, found.J_bar, found.c_C, found.g_C]
    found = arrays_of(found) if not isinstance(found, list) else found
    for a, b in zip(found, expected):
        assert isinstance(a, instance)
        np.testing.assert_allclose(back(a), b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("method", "call", "which", "inputs"), PROGRAMS, ids=lambda x: x if isinstance(x, str) else "")
def test_gradients_are_those_of_differences(method, call, which, inputs):
    given = numbers(which, inputs)
    way = {name: RNG.normal(size=x.shape) for name, x in given.items()}
    if which == "five_bar":  # along the constraints, off which a motion under them means little
        way["q"] = robot(which).project_velocity(given["q"], way["q"])
    weights = [RNG.normal(size=np.shape(x)) for x in arrays_of(call(robot(which), given))]

    def value(h: float) -> float:
        moved = {name: x + h * way[name] for name, x in given.items()}
        return sum(float((w * x).sum()) for w, x in zip(weights, arrays_of(call(robot(which), moved))))

    expected = (value(1e-5) - value(-1e-5)) / 2e-5
    tensors = {name: torch.tensor(x, requires_grad=True) for name, x in given.items()}
    loss = sum((torch.from_numpy(w) * x).sum() for w, x in zip(weights, arrays_of(call(robot(which), tensors))))
    loss.backward()
    slope = sum(float((x.grad * torch.from_numpy(way[name])).sum()) for name, x in tensors.items() if x.grad is not None)
    assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)

    def of_jax(h):
        moved = {name: x + h * way[name] for name, x in given.items()}
        return sum((w * x).sum() for w, x in zip(weights, arrays_of(call(robot(which), moved))))

    assert float(jax.jit(jax.grad(of_jax))(0.0)) == pytest.approx(slope, rel=1e-9, abs=1e-9)


COMPILED = ("linearize", "task_space", "zero_moment_point", "external_wrench", "hamilton_rates", "manipulability", "derivative")
COMPILED += ("compute", "constrained_forward_dynamics", "constrained_inverse_dynamics", "constraint_jacobian", "project_velocity")


@pytest.mark.parametrize(
    ("method", "call", "which", "inputs"), [x for x in PROGRAMS if x[0] in COMPILED], ids=lambda x: x if isinstance(x, str) else ""
)
def test_compiled_without_a_break(method, call, which, inputs):
    """Methods that are more than one operation; single ones see test_torch."""
    torch._dynamo.reset()  # one function, compiled again and again
    tensors, one = [torch.from_numpy(x) for x in numbers(which, inputs).values()], robot(which)

    def results(*x):
        return arrays_of(call(one, dict(zip(inputs, x))))

    for a, b in zip(torch.compile(results, fullgraph=True, backend="eager")(*tensors), results(*tensors)):
        assert torch.equal(a, b)


@pytest.mark.parametrize(("method", "call", "which", "inputs"), VALUES, ids=lambda x: x if isinstance(x, str) else "")
def test_no_gradient_is_dropped(method, call, which, inputs):
    given = numbers(which, inputs)
    tensors = {name: torch.tensor(x, requires_grad=name == inputs[-1]) for name, x in given.items()}
    with pytest.raises(
        InputError, match=rf"^{'|'.join(('q0', 'qd0', 'lam', *inputs))} has a gradient, and {method} cannot follow it"
    ):
        call(robot(which), tensors)
    with torch.no_grad():
        call(robot(which), tensors)
    with pytest.raises(InputError, match="has no values within jit, grad and vmap"):
        jax.jit(lambda x: arrays_of(call(robot(which), x))[0])({name: jax.numpy.asarray(x) for name, x in given.items()})
    with pytest.raises(InputError, match=r"has no values within torch\.compile and torch\.func"):
        torch.func.vmap(lambda *x: arrays_of(call(robot(which), dict(zip(inputs, x))))[0])(
            *(x.detach()[None] for x in tensors.values())
        )


def test_every_method_is_tried():
    taking = {
        name
        for name, method in vars(qddot.Robot).items()
        if not name.startswith("_") and inspect.isfunction(method) and "ArrayLike" in str(inspect.signature(method))
    }
    assert {name for name, *_ in (*PROGRAMS, *VALUES)} == taking - SHOWN - ALIASES


def test_the_page_lists_the_same():
    """The table of methods in docs/tensors.md."""
    table = TENSORS.read_text().split("## Which methods")[1].split("\n## ")[0]
    listed = [set(re.findall(r"`(\w+)`", row.split("|")[1])) for row in table.splitlines() if row.startswith("| `")]
    assert listed == [{name for name, *_ in PROGRAMS}, {name for name, *_ in VALUES}]
