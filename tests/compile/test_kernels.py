"""Compiled kernels against the same algorithms over floats, for every quantity, and as NumPy gufuncs."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.graph.expr import Expr
from qddot.model.field import Floats
from qddot.robot import Robot
from tests.robots import CLASSIC, ONE_DOF, random_model
from tests.slow import slow_but


def options(robot: Robot, quantity: str) -> dict[str, str]:
    frame = robot.frame_names[-1]
    return {
        "coriolis_matrix": {"form": "christoffel"},
        "forward_dynamics": {"method": "crba"},
        "joint_wrenches": {"axes": "parent"},
        "transform": {"frame": frame},
        "frame_velocity": {"frame": frame, "reference": "body"},
        "frame_acceleration": {"frame": frame, "reference": "world_aligned"},
        "jacobian": {"frame": frame, "reference": "body"},
        "jacobian_dot": {"frame": frame, "reference": "world_aligned"},
        "analytic_jacobian": {"frame": frame, "coordinates": "rotation_vector"},
        "analytic_jacobian_dot": {"frame": frame, "coordinates": "rotation_vector"},
    }.get(quantity, {})


def state(robot: Robot, names, rng, batch=()) -> list[np.ndarray]:
    def one(name):
        if name != "q":
            return rng.normal(size=(*batch, robot.nv))
        return np.array([robot.random_configuration(rng) for _ in range(int(np.prod(batch, dtype=int)))]).reshape(*batch, robot.nq)

    return [one(name) for name in names]


def over_floats(robot: Robot, quantity: str, arrays) -> list[np.ndarray]:
    entry = QUANTITIES[quantity]
    result = entry.compute(robot.model.over(Floats()), *(list(map(float, a)) for a in arrays), **options(robot, quantity))
    return [np.array(r, dtype=float) for r in (result if len(entry.outputs) > 1 else (result,))]


def close(value, wanted) -> None:
    np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-12 * max(1.0, abs(np.asarray(wanted)).max(initial=0)))


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", slow_but(CLASSIC, "arm7", "cart_pole", "four_bar"))
def test_every_quantity_of_every_catalog_robot(name, quantity):
    robot, rng = qddot.load(name), np.random.default_rng(7)
    arrays = state(robot, QUANTITIES[quantity].inputs, rng)
    kernel = robot.kernel(quantity, **options(robot, quantity))
    results = kernel(*arrays)
    for value, wanted in zip(
        results if isinstance(results, tuple) else (results,), over_floats(robot, quantity, arrays), strict=True
    ):
        close(value, wanted)


@pytest.mark.parametrize(
    "quantity",
    [
        q
        for q in QUANTITIES
        if "christoffel" not in q and q not in ("centrifugal_matrix", "coriolis_products_matrix", "torque_rates")
    ],
)
def test_every_quantity_with_every_joint_type(quantity):
    rng = np.random.default_rng(3)
    robot = Robot(random_model(rng, 8, mimic=0.3))
    assert robot.nq != robot.nv
    arrays = state(robot, QUANTITIES[quantity].inputs, rng)
    results = robot.kernel(quantity, **options(robot, quantity))(*arrays)
    for value, wanted in zip(
        results if isinstance(results, tuple) else (results,), over_floats(robot, quantity, arrays), strict=True
    ):
        close(value, wanted)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot(random_model(np.random.default_rng(1), 5, kinds=ONE_DOF))


@pytest.fixture(scope="module")
def motion(robot):
    rng = np.random.default_rng(2)
    return state(robot, ("q", "qd", "qdd"), rng, (4, 3))


def test_kernels_are_gufuncs(robot):
    ufunc = robot.kernel("inverse_dynamics").ufunc
    n = robot.nv
    assert isinstance(ufunc, np.ufunc)
    assert ufunc.signature == f"({n}),({n}),({n})->({n})"


def test_a_batch_is_its_rows_bitwise(robot, motion):
    batch = robot.inverse_dynamics(*motion)
    assert batch.shape == (4, 3, robot.nv)
    for index in np.ndindex(4, 3):
        np.testing.assert_array_equal(batch[index], robot.inverse_dynamics(*(a[index] for a in motion)))


def test_leading_dimensions_broadcast(robot, motion):
    q, qd, qdd = motion
    result = robot.inverse_dynamics(q[:, None, 0], qd[0], qdd[0, 0])
    assert result.shape == (4, 3, robot.nv)
    np.testing.assert_array_equal(result[2, 1], robot.inverse_dynamics(q[2, 0], qd[0, 1], qdd[0, 0]))


@pytest.mark.parametrize(
    "view",
    [
        lambda a: np.asfortranarray(a),
        lambda a: a[::-1],
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
        lambda a: np.moveaxis(np.moveaxis(a, -1, 0).copy(), 0, -1),
        lambda a: a.astype(">f8"),
    ],
    ids=["fortran", "reversed batch", "strided", "reversed", "transposed", "big endian"],
)
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "regressor", "inverse_dynamics_derivatives"])
def test_memory_layout_changes_no_bit(robot, motion, view, quantity):
    plain = [np.ascontiguousarray(view(a)).astype(float) for a in motion]
    method = getattr(robot, quantity)
    np.testing.assert_array_equal(np.array(method(*(view(a) for a in motion))), np.array(method(*plain)))


def test_strided_output(robot, motion):
    expected = robot.mass_matrix(motion[0])
    room = np.full((4, 3, 2 * robot.nv, 3 * robot.nv), np.nan)
    out = room[..., ::-2, ::3]
    returned = robot.mass_matrix(motion[0], out=out)
    assert returned is out
    np.testing.assert_array_equal(out, expected)
    assert np.isnan(room[..., ::2, :]).all()


def test_out_may_overlap_an_input(robot, motion):
    q, qd, qdd = (a.copy() for a in motion)
    expected = robot.inverse_dynamics(q, qd, qdd)
    robot.inverse_dynamics(q, qd, qdd, out=qdd)
    np.testing.assert_array_equal(qdd, expected)


def test_float32_is_computed_in_float32(robot, motion):
    single = robot.inverse_dynamics(*motion, dtype=np.float32)
    double = robot.inverse_dynamics(*motion)
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=2e-4, atol=2e-4 * abs(double).max())
    assert robot.inverse_dynamics(*(a.astype(np.float32) for a in motion)).dtype == np.float64


def test_an_empty_batch_gives_an_empty_result(robot):
    assert robot.mass_matrix(np.zeros((0, robot.nq))).shape == (0, robot.nv, robot.nv)


def test_a_robot_without_joints_has_empty_dynamics():
    robot = qddot.Builder("stone").robot()
    assert (robot.nq, robot.nv) == (0, 0)
    assert robot.inverse_dynamics([], [], []).shape == (0,)
    assert robot.forward_dynamics([], [], []).shape == (0,)
    assert robot.mass_matrix([]).shape == (0, 0)
    assert robot.mass_matrix(np.zeros((5, 0))).shape == (5, 0, 0)
    assert robot.jacobian([], "base").shape == (6, 0)
    assert robot.kinetic_energy([], []) == 0
    assert robot.transform([], "base").shape == (4, 4)
    for quantity in QUANTITIES:
        if quantity not in ("center_of_mass", "momentum"):
            getattr(robot, quantity)


def test_methods_share_compiled_kernels_and_threads_agree(robot, motion):
    from concurrent.futures import ThreadPoolExecutor

    fresh = Robot(robot.model)
    expected = robot.forward_dynamics(*motion)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: fresh.forward_dynamics(*motion), range(64)))
    for result in results:
        np.testing.assert_array_equal(result, expected)
    assert len(set(map(id, fresh._evaluate.kernels.made.values()))) == 1


def test_casadi_replays_the_graph(robot, motion):
    casadi = pytest.importorskip("casadi")
    for quantity in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        function = robot.casadi(quantity)
        assert isinstance(function, casadi.Function)
        arrays = [a[0, 0] for a in motion][: function.n_in()]
        value = function(*arrays)
        value = np.array(value[0] if isinstance(value, tuple) else value)
        close(value.reshape(getattr(robot, quantity)(*arrays).shape), getattr(robot, quantity)(*arrays))


def test_a_traced_scalar_cannot_be_branched_on(robot):
    value = robot.program("kinetic_energy").outputs[0].values[0]
    assert isinstance(value, Expr)
    with pytest.raises(TypeError, match="truth value"):
        bool(value)


def test_structure_disappears_from_the_graph():
    """A planar arm turns about one direction: its mass matrix depends on q2 alone."""
    program = qddot.load("two_link").program("mass_matrix")
    variables = {node.args for node in program.nodes if node.op == "var"}
    assert variables == {(0, 1)}
    assert sum(program.operations().values()) < 20


def test_a_ufunc_outlives_its_robot():
    """The machine code belongs to the gufunc, which may be all that is kept."""
    import gc

    kept = [qddot.load("two_link").kernel("mass_matrix").ufunc for _ in range(20)]
    gc.collect()
    expected = qddot.load("two_link").mass_matrix([0.1, 0.2])
    for ufunc in kept:
        np.testing.assert_array_equal(ufunc(np.array([0.1, 0.2])), expected)
        assert ufunc.__name__ == "mass_matrix"


def test_out_of_a_robot_without_joints():
    stone, out = qddot.Builder("stone").robot(), np.zeros((4, 4))
    stone.transform([], "base", out=out)
    np.testing.assert_array_equal(out, np.eye(4))
    assert stone.integrate(np.zeros((5, 0)), np.zeros((5, 0))).shape == (5, 0)


def test_casadi_of_a_robot_without_joints():
    pytest.importorskip("casadi")
    assert qddot.Builder("stone").robot().casadi("mass_matrix").size_out(0) == (0, 0)


def test_casadi_has_no_margins(robot):
    pytest.importorskip("casadi")
    assert robot.casadi("forward_dynamics").name_out() == ["qdd"]
