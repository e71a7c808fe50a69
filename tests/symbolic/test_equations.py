"""The equations of motion: the same polynomials by every route, and the same numbers as the compiled kernels."""

import copy
import gc
import pickle
import weakref
from fractions import Fraction

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot.algorithms import coriolis
from qddot.algorithms.kinematics import world_columns, world_poses
from qddot.algorithms.stacked import multiplied_out, newton_euler_blocks
from qddot.errors import InputError, UnboundSymbolError, UnknownNameError
from qddot.symbolic.equations import Equations
from tests.symbolic.samples import assert_agrees, every_letter, random_arm

CATALOG = ("acrobot", "arm7", "cart_pole", "delta", "five_bar", "four_bar", "point_mass_2r", "puma560", "rp_arm", "two_link")
LONG = ("arm7", "puma560")


def same(form, entries) -> bool:
    """Identical elements of the ring."""
    return all(x == y for x, y in zip(form.entries.flat, np.array(entries, dtype=object).flat, strict=True))


# routes -----------------------------------------------------------------------------------------------------------------------


def jacobian_sum(E: Equations):
    """sum of m Jv^T Jv + Jw^T R I R^T Jw over bodies, I about the centre of mass (where there is one)."""
    model, n = E.lifted, E.nv
    X0 = world_poses(model, E.alphabet.q)
    S0 = world_columns(model, X0)
    total = np.zeros((n, n), dtype=int).astype(object)
    for body in E.exact_model.links:
        if body.inertia is None:
            continue
        m, h, I = body.inertia.rigid
        index, pose = model.frame(body.name)
        if index < 0:
            continue
        T = X0[index] @ pose
        com = h * (1 / m)
        about_com = np.array(I, dtype=object) - m * (com.dot(com) * np.eye(3, dtype=int) - np.array(com.outer(com), dtype=object))
        R, at = np.array(T.R, dtype=object), T.point(com)
        Jw, Jv = (np.zeros((3, n), dtype=int).astype(object) for _ in range(2))
        while index >= 0:
            for c, s in S0[index]:
                Jw[:, c], Jv[:, c] = Jw[:, c] + s.w, Jv[:, c] + (s.v + s.w.cross(at))
            index = model.bodies[index].parent
        total = total + m * (Jv.T @ Jv) + Jw.T @ (R @ about_com @ R.T) @ Jw
    return total


def lagrange(E: Equations):
    """d/dt dL/dqd - dL/dq."""
    return [(E.L.diff(f"qd{i + 1}").dt() - E.L.diff(f"q{i + 1}")).entries.item() for i in range(E.nv)]


@pytest.mark.parametrize("branched", [False, True])
@pytest.mark.parametrize("parameters", ["given", "inertial"])
@pytest.mark.parametrize("joints", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)])
def test_every_route_gives_the_same_polynomials(joints, parameters, branched):
    for case in range(2):
        E = Equations(random_arm(np.random.default_rng([case, joints]), joints, branched), parameters)
        a = E.alphabet
        stacked = multiplied_out(newton_euler_blocks(E.lifted, a.q, a.qd))
        assert same(E.M, stacked.M)
        assert same(E.c, stacked.c)
        assert same(E.g, stacked.g)
        assert same(E.mass_matrix_rate, stacked.Mdot)
        assert same(E.tau, lagrange(E))
        if parameters == "given":
            assert same(E.M, jacobian_sum(E))
        assert same(E.christoffel, coriolis.christoffel(E.lifted, a.q))
        assert same(E.C, coriolis.coriolis_matrix(E.lifted, a.q, a.qd))


@pytest.mark.parametrize("whole", [True, False], ids=["multiples", "any twist"])
def test_properties_hold_exactly(whole):
    E = Equations(random_arm(np.random.default_rng(4), 3, whole=whole))
    skew = E.mass_matrix_rate - E.C * 2
    assert skew == -skew.T
    assert E.M == E.M.T
    assert E.M @ E.qdd + E.C @ E.qd + E.g == E.tau
    assert E.qd @ E.M @ E.qd == E.T * 2
    assert E.g == [E.V.diff(f"q{i + 1}").entries.item() for i in range(3)]
    assert E.T.dt() + E.V.dt() == E.tau @ E.qd
    for form in ("rate", "gradient"):
        assert E.coriolis_matrix(form) @ E.qd == E.c
    for reference in ("space", "body", "world_aligned"):
        J = E.jacobian("l2", reference)
        assert J.dt() == E.jacobian_dot("l2", reference)
    R = E.transform("l2")[:3, :3]
    assert np.eye(3, dtype=int) == R @ R.T


def test_ball_joint_is_eulers_equation():
    robot = qddot.Builder(gravity=(0, 0, 0)).body("ball", None, "spherical", mass=1, tensor=(0.1, 0.2, 0.3)).robot()
    E = robot.equations()
    assert E.tau == [E.read(f"{i}/10*qdd{x} + ({k} - {j})/10*qd{y}*qd{z}") for i, j, k, x, y, z in
                     ((1, 2, 3, 1, 2, 3), (2, 3, 1, 2, 3, 1), (3, 1, 2, 3, 1, 2))]  # fmt: skip
    assert E.T.dt() == E.tau @ E.qd
    skew = E.mass_matrix_rate - E.C * 2
    assert skew == -skew.T


# numbers ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", ["given", "inertial", "all"])
@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x in LONG else x for x in CATALOG])
def test_catalog_robots_agree_with_their_kernels(name, parameters):
    robot = qddot.load(name)
    assert_agrees(robot, robot.equations(parameters), robot.link_names[-1], compiled=True)


@pytest.mark.parametrize("branched", [False, True], ids=["chain", "tree"])
@pytest.mark.parametrize("whole", [True, False], ids=["multiples", "any twist"])
@pytest.mark.parametrize("joints", [2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 5, 6, 7))])
def test_random_arms_agree_with_their_kernels(joints, whole, branched):
    robot = qddot.Robot(random_arm(np.random.default_rng([joints, whole]), joints, branched, whole))
    assert_agrees(robot, robot.equations(), robot.link_names[-1], compiled=joints in (3, 7))


def test_evaluation_in_floats_and_with_other_values():
    robot = qddot.load("two_link")
    E = robot.equations("inertial")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    assert_allclose(E.tau.evaluate(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-13)
    heavier = E.tau.evaluate(q, qd, qdd, parameters={"Izz2": 1.0}) - E.tau.evaluate(q, qd, qdd)
    assert_allclose(heavier, (1.0 - float(E.values["Izz2"])) * qdd.sum() * np.ones(2), rtol=1e-12)


# substitution -----------------------------------------------------------------------------------------------------------------


def test_substitution_takes_along_what_is_made_of_a_letter():
    a, alpha, k = sympy.symbols("a alpha k", positive=True)
    follower = qddot.Mimic("hinge_joint", k)
    robot = (
        qddot.Builder()
        .body("hinge", mass=1 / a, com=(sympy.sqrt(a), 0, 0), rpy=(alpha, 0, 0), drive=qddot.Drive(coulomb=0.5))
        .body("follower", "hinge", xyz=(1, 0, 0), mass=2, com=(1, 0, 0), mimic=follower)
        .robot()
    )
    E = robot.equations()
    q, qd, qdd = [0.3], [0.7], [-0.2]
    given = {"a": 4, "alpha": sympy.pi / 3, "k": 2}
    fixed = E.tau.subs(given)
    assert_allclose(fixed.evaluate(q, qd, qdd), robot.subs({a: 4, alpha: np.pi / 3, k: 2}).inverse_dynamics(q, qd, qdd), rtol=1e-13)
    with pytest.raises(InputError, match=r"q1 cannot become 0.3: cos\(3/10\*k\) is not a polynomial"):
        E.tau.subs({"q1": 0.3})
    moving = fixed.subs({"q1": 0.3, "qd1": -0.7, "qdd1": 0})
    assert_allclose(moving.evaluate(q), robot.subs({a: 4, alpha: np.pi / 3, k: 2}).inverse_dynamics(q, [-0.7], [0.0]), rtol=1e-13)


def test_what_cannot_be_substituted():
    a = sympy.Symbol("a", positive=True)
    E = qddot.Builder().body("l", mass=1 / a, com=(1, 0, 0), drive=qddot.Drive(coulomb=1.0)).robot().equations()
    with pytest.raises(InputError, match="s1 is bound to other letters"):
        E.g.subs({"s1": 1})
    with pytest.raises(InputError, match="is made of a, which can become a number or parameters"):
        E.M.subs({"a": E.q[0]})
    with pytest.raises(
        InputError, match="friction depends on sign_qd1, and these equations have no letter for what it would become"
    ):
        E.tau.subs({"qd1": E.q[0]})
    with pytest.raises(UnknownNameError, match="no letter 'b'"):
        E.M.subs({"b": 1})


def test_what_cannot_be_evaluated():
    E = qddot.load("point_mass_2r", symbolic=True).equations()
    with pytest.raises(UnboundSymbolError, match=r"[mL][12] has no value: give one"):
        E.M.evaluate([0, 0])
    with pytest.raises(UnknownNameError, match="no parameter 'M1'"):
        E.M.evaluate([0, 0], parameters={"M1": 1})
    with pytest.raises(InputError, match=r"q has shape \(3,\), \(2,\) is needed"):
        E.M.evaluate([0, 0, 0])


def test_quaternions_are_unit():
    robot = qddot.Builder().body("ball", None, "spherical", mass=1, com=(0, 0, 1)).robot()
    E = robot.equations()
    q = np.array([2.0, 0.4, -0.6, 0.2])
    unit = q / np.linalg.norm(q)
    assert_allclose(E.g.evaluate(unit * (1 + 1e-8)), robot.gravity_torque(unit), atol=1e-14)
    length = "of joint 'ball_joint' is a quaternion wxyz of length 2.13542, not 1: normalise it"
    with pytest.raises(InputError, match=rf"q\[0:4\] {length}"):
        E.g.evaluate(q)
    with pytest.raises(InputError, match=rf"q\[1, 0:4\] {length}"):
        E.g.lambdify()([unit, q])
    with pytest.raises(InputError, match=rf"q\[0:4\] {length}"):
        robot.gravity_torque(q)


# forms as values --------------------------------------------------------------------------------------------------------------


def test_letters_may_be_symbols_or_forms():
    robot = qddot.load("point_mass_2r", symbolic=True)
    E = robot.equations()
    m2 = next(s for s in robot.symbols if s.name == "m2")
    assert E.M.diff(m2) == E.M.diff("m2")
    assert E.M.diff(E.q[1]) == E.M.diff("q2")
    turned = E.M.subs({m2: 3, "q2": "q1 + pi/2"})
    assert turned[0, 1] == E.read("3*(L2**2 - L1*L2*sin(q1))")
    for bad in ([1, 2], None):
        with pytest.raises(InputError, match="q2 cannot become"):
            E.M.subs({"q2": bad})
    with pytest.raises(UnknownNameError, match="no letter '2'"):
        E.M.diff(2)


@pytest.mark.parametrize("q", [0.3, np.zeros((5, 2)), np.zeros((2, 2))])
def test_evaluation_is_of_one_state(q):
    E = qddot.load("two_link").equations()
    with pytest.raises(InputError, match=r"q has shape .*, \(2,\) is needed"):
        E.M.evaluate(q)


def test_evaluation_needs_numbers():
    E = qddot.load("two_link").equations("inertial")
    with pytest.raises(InputError, match="'b' is not a finite number"):
        E.M.evaluate([0, "b"])
    with pytest.raises(InputError, match="'heavy' is not a finite number"):
        E.M.evaluate([0, 0], parameters={"m2": "heavy"})
    for digits in (0, -3, 2.5):
        with pytest.raises(InputError, match=r"digits=.* is not a whole number from 1 on"):
            E.M.evaluate([0, 0], digits=digits)


def test_products_with_arrays_and_powers():
    E = qddot.load("point_mass_2r", symbolic=True).equations()
    rows = [[1, 2], [0, 1]]
    assert rows @ E.M == np.array(rows) @ E.M == (E.M.T @ np.array(rows).T).T
    assert (E.M**2)[0, 1] == E.M[0, 1] * E.M[0, 1]
    with pytest.raises(ArithmeticError, match="no polynomial"):
        E.M**-1


def test_copies_are_equal_and_live_by_themselves():
    E = qddot.load("point_mass_2r", symbolic=True).equations()
    for again in (pickle.loads(pickle.dumps(E)), copy.deepcopy(E)):
        assert again.tau == E.tau
        assert again.C == E.C
        assert again.alphabet.ring is not E.alphabet.ring
        assert again.M[0, 0] * again.M[0, 0] == E.M[0, 0] * E.M[0, 0]  # reduced by the same relations
        assert again.g.text() == E.g.text()
    assert pickle.loads(pickle.dumps(every_letter().tau)) == every_letter().tau


def test_nothing_keeps_equations_alive():
    E = qddot.load("two_link").equations()
    E.coriolis_matrix("rate"), E.base_parameters()
    alive = weakref.ref(E)
    del E
    gc.collect()
    assert alive() is None


def test_loops_that_are_left_open_are_named():
    assert qddot.load("four_bar").equations().notes == (
        "constraints 'loop': not imposed, these are the equations of the open tree; see Equations.constraints",
    )


def test_parameters_are_sorted_as_people_count():
    symbols = sympy.symbols("m10 m2 L1 alpha", positive=True)
    body = qddot.Builder().body("l", mass=symbols[0] + symbols[1], com=(symbols[2], symbols[3], 0)).robot()
    assert body.equations().parameters == ("L1", "alpha", "m2", "m10")


def test_a_constant_energy_is_exact():
    """A slider that moves level: its potential energy has no letter, and no rounding either."""
    slider = qddot.Builder("level").body("x", joint="prismatic", axis="x", xyz=(0, 0, 1 / 7), mass=1.25, com=(0, 0, 0.1)).robot()
    assert slider.equations().V.value == Fraction(125, 100) * (Fraction(1, 7) + Fraction(1, 10)) * Fraction(981, 100)
