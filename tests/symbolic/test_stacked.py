"""The stacked Newton-Euler form in blocks, in numbers and in letters; Craig's two matrices."""

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, UnknownNameError

BLOCKS = ("A", "L", "W", "G", "ad_Aqd", "ad_V", "V", "Vdot_base")


def tree():
    """Two branches, every kind of joint, a mimic joint."""
    return (
        qddot.Builder("tree", gravity=(1, -2, -9))
        .body("trunk", joint="planar", mass=2.0, com=(0.1, 0.2, 0), tensor=(0.1, 0.2, 0.3))
        .body("left", "trunk", axis="x", xyz=(0, 0.3, 0.1), mass=1.0, com=(0, 0, 0.4), tensor=(0.1, 0.1, 0.02))
        .body("slide", "left", "prismatic", axis="z", mass=0.5, com=(0.1, 0, 0), tensor=(0.01, 0.01, 0.01))
        .body("right", "trunk", "helical", axis="y", pitch=0.2, mass=0.7, com=(0.2, 0, 0), tensor=(0.02, 0.03, 0.03))
        .body("follower", "right", axis="z", xyz=(0.3, 0, 0), mass=0.3, com=(0.1, 0, 0), mimic=("left_joint", -0.5, 0.1))
        .robot()
    )


def ball():
    return qddot.Builder("ball").body("ball", joint="spherical", mass=1.0, com=(0, 0, -0.3), tensor=(0.1, 0.2, 0.25)).robot()


ROBOTS = {"two_link": qddot.load("two_link"), "rp_arm": qddot.load("rp_arm"), "tree": tree(), "ball": ball()}


@pytest.mark.parametrize("name", ROBOTS)
def test_blocks_in_letters_are_the_blocks_in_numbers(name):
    robot = ROBOTS[name]
    rng = np.random.default_rng(1)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    numbers, forms = robot.newton_euler_blocks(q, qd), robot.equations().stacked
    for block in BLOCKS:
        np.testing.assert_allclose(
            getattr(forms, block).evaluate(q, qd), getattr(numbers, block), rtol=0, atol=1e-12, err_msg=block
        )
    for made in ("Vdot", "F", "tau"):
        close(getattr(numbers, made)(qdd), getattr(forms, made).evaluate(q, qd, qdd))
    close(forms.tau.evaluate(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("name", ROBOTS)
def test_the_equations_of_the_notes_hold_among_the_blocks(name):
    robot = ROBOTS[name]
    rng = np.random.default_rng(2)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    A, L, W, G, ad_Aqd, ad_V, V, base = robot.newton_euler_blocks(q, qd)
    close(L @ (np.eye(len(L)) - W), np.eye(len(L)))
    close(L @ A @ qd, V)
    close(A.T @ L.T @ G @ L @ A, robot.mass_matrix(q))
    close(A.T @ L.T @ G @ L @ base, robot.gravity_torque(q))
    close(-A.T @ L.T @ (G @ L @ ad_Aqd @ W + ad_V.T @ G) @ L @ A @ qd, robot.coriolis_torque(q, qd))
    Vdot = L @ (A @ qdd - ad_Aqd @ W @ V + base)
    F = L.T @ (G @ Vdot - ad_V.T @ G @ V)
    close(A.T @ F, robot.inverse_dynamics(q, qd, qdd))
    turning = A.T @ L.T @ G @ L @ ad_Aqd @ W @ L @ A
    close(-turning - turning.T, robot.mass_matrix_rate(q, qd))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, abs(np.asarray(expected)).max(initial=0)))


def test_a_batch_of_blocks():
    q, qd = np.random.default_rng(0).normal(size=(2, 5, 2))
    blocks = ROBOTS["two_link"].newton_euler_blocks(q, qd)
    assert blocks.L.shape == (5, 12, 12)
    close(blocks.tau(q + qd), ROBOTS["two_link"].inverse_dynamics(q, qd, q + qd))


def test_blocks_of_two_point_masses():
    eq = qddot.load("point_mass_2r", symbolic=True).equations()
    s, read = eq.stacked, eq.read
    assert s.bodies == ("upper", "lower")
    assert s.block(s.A, "lower") == [[0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    step = s.block(s.W, "lower", "upper")
    assert step[:2, :2] == [[read("cos(q2)"), read("sin(q2)")], [read("-sin(q2)"), read("cos(q2)")]]
    assert step[3:, 2] == [read("L1*sin(q2)"), read("L1*cos(q2)"), 0]
    assert s.block(s.L, 1, 0) == step
    assert not s.block(s.L, 0, 1)
    assert s.block(s.G, 1, 1)[3:, 3:] == np.diag([read("m2")] * 3)
    assert s.block(s.V, "upper") == [0, 0, read("qd1"), 0, 0, 0]
    assert s.M == eq.M
    assert s.c == eq.c
    assert s.g == eq.g
    assert s.Mdot == eq.mass_matrix_rate
    assert s.tau == eq.tau
    assert s.block(s.F, "upper")[2] == eq.tau[0]
    with pytest.raises(UnknownNameError):
        s.block(s.F, "elbow")
    assert "begin{bmatrix}" in s.G.latex()


@pytest.mark.parametrize("name", ["two_link", "rp_arm", "tree"])
def test_craigs_matrices(name):
    robot = ROBOTS[name]
    eq = robot.equations()
    n = robot.nv
    q = np.random.default_rng(4).normal(size=n)
    close(eq.centrifugal_matrix.evaluate(q), robot.centrifugal_matrix(q))
    close(eq.coriolis_products_matrix.evaluate(q), robot.coriolis_products_matrix(q))
    v = eq.qd.entries
    squares, products = v**2, np.array([v[i] * v[j] for i in range(n) for j in range(i + 1, n)], dtype=object)
    assert eq.centrifugal_matrix @ squares + eq.coriolis_products_matrix @ products == eq.c


def test_craigs_matrices_of_two_point_masses_as_printed():
    eq = qddot.load("point_mass_2r", symbolic=True).equations()
    k = eq.read("m2*L1*L2*sin(q2)")
    assert eq.centrifugal_matrix == [[0, -k], [k, 0]]  # b_{1,22} with both derivatives by q2
    assert eq.coriolis_products_matrix == [[-2 * k], [0]]


@pytest.mark.parametrize("axes", ["body", "parent", "world"])
@pytest.mark.parametrize("name", ROBOTS)
def test_joint_wrenches_in_letters_are_those_in_numbers(name, axes):
    robot = ROBOTS[name]
    rng = np.random.default_rng(6)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    close(robot.equations().joint_wrenches(axes).evaluate(q, qd, qdd), robot.joint_wrenches(q, qd, qdd, axes=axes))


def test_a_hinge_carries_its_weight():
    eq = qddot.load("point_mass_2r", symbolic=True).equations()
    still = eq.joint_wrenches("world").subs({f"{x}{i}": 0 for x in ("qd", "qdd") for i in (1, 2)})
    assert still[0] == [0, 0, eq.g[0], 0, eq.read("9.81*(m1 + m2)"), 0]
    with pytest.raises(InputError, match="axes='joint'"):
        eq.joint_wrenches("joint")


def test_one_joint_has_no_products():
    eq = qddot.Builder("one").body("arm", mass=1.0, com=(1, 0, 0)).robot().equations()
    assert eq.coriolis_products_matrix.shape == (1, 0)


def test_a_derivation_writes_the_blocks():
    text = qddot.load("point_mass_2r", symbolic=True).derive("newton-euler").markdown()
    last = text[text.index("The stacked form") :]
    assert r"\mathcal{W} &= \begin{bmatrix} 0 & 0 \\ \mathrm{Ad}_{T_{2}^{-1}} & 0 \end{bmatrix}" in last
    assert r"= \begin{bmatrix} 1 & 0 \\ \mathrm{Ad}_{T_{2}^{-1}} & 1 \end{bmatrix}" in last
    assert r"\dot V &= \mathcal{L} \left( \mathcal{A} \ddot q" in last
    assert r"\tau &= \mathcal{A}^{\mathsf T} F \\" in last
    assert "rotors" not in last
    assert r"\mathrm{Ad}_{T^{-1}} (\omega, v) = (R^{\mathsf T} \omega" in text
