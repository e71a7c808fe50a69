"""Laws every mechanism obeys, whatever its joints: no oracle but physics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qddot.algorithms import coriolis, energy, forward_dynamics, inverse_dynamics, regressor
from qddot.algorithms.drives import friction_torque
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.algorithms.stacked import multiplied_out, newton_euler_blocks
from qddot.model.description import Joint, Link
from qddot.model.drive import Drive
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.model.pose import from_rpy
from qddot.model.spatial import Transform, Vec
from qddot.robot import Robot
from tests.robots import ONE_DOF, random_model, random_pose

seeds = st.integers(0, 2**32 - 1)


class State:
    """A random mechanism over floats, in a random state."""

    def __init__(self, seed: int, joints: int = 6, **options):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.robot = Robot(random_model(rng, int(rng.integers(1, joints + 1)), **options))
        self.model = self.robot.model.over(Floats())
        self.q = self.robot.random_configuration(rng)
        self.qd, self.qdd = rng.normal(size=(2, self.robot.nv))

    def __call__(self, algorithm, *arrays) -> np.ndarray:
        return np.array(algorithm(self.model, *(list(map(float, a)) for a in arrays)), dtype=float)


@given(seeds)
def test_mass_matrix_is_symmetric_and_positive_definite(seed):
    s = State(seed, mimic=0.3)
    M = s(mass_matrix, s.q)
    np.testing.assert_allclose(M, M.T, rtol=1e-12, atol=1e-12 * abs(M).max())
    assert np.linalg.eigvalsh(M).min() > 0


@given(seeds)
def test_kinetic_energy_is_half_qd_M_qd(seed):
    s = State(seed, mimic=0.3)
    np.testing.assert_allclose(s(energy.kinetic_energy, s.q, s.qd), s.qd @ s(mass_matrix, s.q) @ s.qd / 2, rtol=1e-11)


@given(seeds)
def test_mass_matrix_rate_less_twice_coriolis_is_skew(seed):
    s = State(seed, mimic=0.3)
    C = s(coriolis.coriolis_matrix, s.q, s.qd)
    h = 1e-5
    ahead, behind = (s(mass_matrix, s.robot.integrate(s.q, sign * h * s.qd)) for sign in (1, -1))
    rate = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(rate, C + C.T, atol=1e-6 * max(1, abs(C).max(), abs(ahead).max()))
    np.testing.assert_allclose(C @ s.qd, s(inverse_dynamics.coriolis_torque, s.q, s.qd), atol=1e-11 * max(1, abs(C).max()))


@given(seeds)
def test_forward_after_inverse_is_identity(seed):
    s = State(seed)
    tau = s(inverse_dynamics.inverse_dynamics, s.q, s.qd, s.qdd)
    condition = np.linalg.cond(s(mass_matrix, s.q))
    for method in (forward_dynamics.articulated_bodies, forward_dynamics.composite_bodies):
        qdd, margins = method(s.model, *(list(map(float, a)) for a in (s.q, s.qd, tau)))
        assert min(margins) > 0
        np.testing.assert_allclose(qdd, s.qdd, atol=50 * condition * np.finfo(float).eps * max(1, abs(s.qdd).max()))


@given(seeds)
def test_torque_is_linear_in_the_parameters(seed):
    s = State(seed, mimic=0.3)
    Y = s(regressor.regressor, s.q, s.qd, s.qdd)
    pi = [value for _, value in regressor.named_parameters(s.model)]
    tau = s(inverse_dynamics.inverse_dynamics, s.q, s.qd, s.qdd)
    np.testing.assert_allclose(Y @ pi, tau, atol=1e-11 * max(1, abs(tau).max()))


@given(seeds)
def test_energy_changes_by_the_power_of_the_torques(seed):
    """dE/dt = tau . qd, with the derivative of E taken along the motion."""
    s = State(seed)
    tau = s(inverse_dynamics.inverse_dynamics, s.q, s.qd, s.qdd)
    h = 1e-5

    def total(t: float) -> float:
        q, qd = s.robot.integrate(s.q, t * s.qd), s.qd + t * s.qdd
        return s(energy.kinetic_energy, q, qd) + s(energy.potential_energy, q)

    rate, power = (total(h) - total(-h)) / (2 * h), tau @ s.qd
    assert rate == pytest.approx(power, abs=1e-6 * max(1, abs(total(0)), abs(power)))


@given(seeds)
def test_gravity_torque_is_the_gradient_of_potential_energy(seed):
    s = State(seed, mimic=0.3)
    h, g = 1e-5, s(inverse_dynamics.gravity_torque, s.q)
    for k, unit in enumerate(np.eye(s.robot.nv)):
        ahead, behind = (s(energy.potential_energy, s.robot.integrate(s.q, sign * h * unit)) for sign in (1, -1))
        assert (ahead - behind) / (2 * h) == pytest.approx(g[k], abs=1e-7 * max(1, abs(g).max(), abs(ahead)))


@given(seeds)
def test_newton_euler_stacked_agrees_with_the_recursions(seed):
    s = State(seed, joints=4, mimic=0.3)
    stacked = multiplied_out(newton_euler_blocks(s.model, list(s.q), list(s.qd)))
    C = s(coriolis.coriolis_matrix, s.q, s.qd)
    expected = (
        s(mass_matrix, s.q),
        s(inverse_dynamics.coriolis_torque, s.q, s.qd),
        s(inverse_dynamics.gravity_torque, s.q),
        C + C.T,
    )
    for value, wanted in zip(stacked, expected):
        np.testing.assert_allclose(value.astype(float), wanted, atol=1e-10 * max(1, abs(wanted).max()))


@given(seeds)
def test_all_forms_of_the_coriolis_matrix_give_the_same_torque(seed):
    s = State(seed, joints=4, kinds=ONE_DOF)
    c = s(inverse_dynamics.coriolis_torque, s.q, s.qd)
    gamma = s(coriolis.christoffel, s.q)
    tolerance = 1e-10 * max(1, abs(gamma).max() * abs(s.qd).max() ** 2)
    np.testing.assert_allclose(np.einsum("ijk,i,j->k", gamma, s.qd, s.qd), c, atol=tolerance)
    np.testing.assert_allclose(gamma, gamma.swapaxes(0, 1), atol=tolerance)
    for form in (coriolis.coriolis_matrix_from_rate, coriolis.coriolis_matrix_from_gradient):
        np.testing.assert_allclose(s(form, s.q, s.qd) @ s.qd, c, atol=tolerance)
    i, j = np.triu_indices(s.robot.nv, 1)
    products = s(coriolis.centrifugal_matrix, s.q) @ s.qd**2
    if len(i):
        products = products + s(coriolis.coriolis_products_matrix, s.q) @ (s.qd[i] * s.qd[j])
    np.testing.assert_allclose(products, c, atol=tolerance)


# what must change nothing -----------------------------------------------------------------------------------------------


def tau_and_mass(robot: Robot, q, qd, qdd) -> tuple[np.ndarray, np.ndarray]:
    model = robot.model.over(Floats())
    lists = [list(map(float, a)) for a in (q, qd, qdd)]
    return np.array(inverse_dynamics.inverse_dynamics(model, *lists)), np.array(mass_matrix(model, lists[0]))


def assert_same_dynamics(a: Robot, b: Robot, state) -> None:
    for x, y in zip(tau_and_mass(a, *state), tau_and_mass(b, *state)):
        np.testing.assert_allclose(x, y, atol=1e-11 * max(1, abs(x).max()))


@given(seeds)
def test_an_inserted_massless_link_changes_nothing(seed):
    s = State(seed)
    m = s.robot.model
    cut = m.joints[int(s.rng.integers(len(m.joints)))]
    step = random_pose(s.rng)
    upper = Joint("inserted", "fixed", cut.parent, "massless", cut.origin @ step)
    lower = Joint(cut.name, cut.kind, "massless", cut.child, step.inverse, cut.axis, cut.tip, cut.pitch, mimic=cut.mimic)
    joints = [lower if j is cut else j for j in m.joints]
    other = Model("longer", [*m.links, Link("massless")], [*joints, upper])
    assert Robot(other).joint_names == s.robot.joint_names
    assert_same_dynamics(s.robot, Robot(other), (s.q, s.qd, s.qdd))


@given(seeds)
def test_a_turned_world_changes_nothing(seed):
    s = State(seed)
    m = s.robot.model
    turn = from_rpy(*s.rng.uniform(-3, 3, 3))
    joints = [
        Joint(j.name, j.kind, j.parent, j.child, Transform(turn, Vec()) @ j.origin, j.axis, j.tip, j.pitch)
        if j.parent == m.root
        else j
        for j in m.joints
    ]
    assert_same_dynamics(s.robot, Robot(Model("turned", m.links, joints, gravity=turn @ m.gravity)), (s.q, s.qd, s.qdd))


@given(seeds)
def test_the_order_of_the_description_changes_nothing(seed):
    s = State(seed)
    m, rng = s.robot.model, s.rng
    other = Robot(
        Model(
            "shuffled", [m.links[i] for i in rng.permutation(len(m.links))], [m.joints[i] for i in rng.permutation(len(m.joints))]
        )
    )
    at = {c.name: c for c in other.model.mechanism.coordinates}
    q_map = np.concatenate([np.array(at[c.name].q) for c in m.mechanism.coordinates])
    v_map = np.concatenate([np.array(at[c.name].v) for c in m.mechanism.coordinates])
    q, qd, qdd = np.zeros_like(s.q), np.zeros_like(s.qd), np.zeros_like(s.qdd)
    q[q_map], qd[v_map], qdd[v_map] = s.q, s.qd, s.qdd
    tau, M = tau_and_mass(s.robot, s.q, s.qd, s.qdd)
    other_tau, other_M = tau_and_mass(other, q, qd, qdd)
    np.testing.assert_allclose(other_tau[v_map], tau, atol=1e-11 * max(1, abs(tau).max()))
    np.testing.assert_allclose(other_M[np.ix_(v_map, v_map)], M, atol=1e-11 * max(1, abs(M).max()))


@given(seeds)
def test_friction_only_takes_energy(seed):
    s = State(seed, kinds=ONE_DOF)
    m = s.robot.model
    drives = [Drive(viscous=s.rng.uniform(0, 2), coulomb=(s.rng.uniform(0, 2), s.rng.uniform(0, 2))) for _ in m.joints]
    joints = [Joint(j.name, j.kind, j.parent, j.child, j.origin, j.axis, j.tip, j.pitch, drive=d) for j, d in zip(m.joints, drives)]
    lifted = Model("rough", m.links, joints).over(Floats())
    assert np.dot(friction_torque(lifted, list(s.qd)), s.qd) > 0
    tau = inverse_dynamics.inverse_dynamics(lifted, list(s.q), list(s.qd), list(s.qdd))
    qdd, _ = forward_dynamics.articulated_bodies(lifted, list(s.q), list(s.qd), tau)
    np.testing.assert_allclose(qdd, s.qdd, atol=1e-7 * max(1, abs(s.qdd).max()))
