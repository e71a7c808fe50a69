"""Structural properties and bounds: the textbook's figures, and what must hold of every bound."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import qddot
from qddot.errors import InputError, UnknownNameError
from qddot.symbolic.properties.certify import largest_eigenvalue, largest_sum, least_eigenvalue, least_largest_sum, length
from qddot.symbolic.properties.domain import Domain
from qddot.symbolic.properties.harmonics import Harmonics
from qddot.symbolic.properties.optimum import CLIMBS, climbed
from qddot.symbolic.properties.reach import reach
from qddot.symbolic.properties.spectrum import Enclosure, Spectrum
from qddot.symbolic.properties.structure import identities
from tests.robots import random_model

QUARTER = (-np.pi / 2, np.pi / 2)
NORMS = (1, 2, np.inf)
m1, m2, L1, L2, g = sympy.symbols("m1 m2 L1 L2 g", positive=True)


@pytest.fixture(scope="module")
def textbook():
    robot = (
        qddot.Builder(gravity=(0, -g, 0))
        .body("upper", inertia=qddot.Inertia.point(m1, (L1, 0, 0)))
        .body("lower", "upper", xyz=(L1, 0, 0), inertia=qddot.Inertia.point(m2, (L2, 0, 0)))
        .robot()
    )
    return robot.properties(limits=QUARTER)


@pytest.fixture(scope="module")
def two_link():
    return qddot.load("two_link").properties()


def equal(a, b) -> bool:
    return sympy.expand(a - b) == 0


# the textbook's example ---------------------------------------------------------------------------------------------------


def test_norm_of_M_with_symbols(textbook):
    low = (m1 + m2) * L1**2 + 2 * m2 * L2**2
    for norm in (1, np.inf):
        assert equal(textbook.mu_1[norm].rigorous, low)
        assert equal(textbook.mu_2[norm].rigorous, low + 3 * m2 * L1 * L2)
        assert equal(textbook.mu_1[norm].attained, low)
        assert abs(textbook.mu_1[norm].q[1]) == pytest.approx(np.pi / 2)
        assert equal(textbook.mu_2[norm].attained, low + 3 * m2 * L1 * L2)
        assert textbook.mu_2[norm].q[1] == 0


def test_velocity_terms_with_symbols(textbook):
    assert equal(textbook.c_b[1].rigorous, m2 * L1 * L2)
    assert equal(textbook.c_b[1].attained, m2 * L1 * L2)
    assert equal(textbook.c_b[2].entries, 4 * m2 * L1 * L2)
    assert equal(textbook.c_b[2].rigorous, sympy.sqrt(3) * m2 * L1 * L2)
    assert float(textbook.c_b[2].attained / (m2 * L1 * L2)) == pytest.approx(1.6445, abs=5e-5)
    assert equal(textbook.c_b[np.inf].rigorous, 3 * m2 * L1 * L2)


def test_only_what_is_attained_is_called_tight(textbook):
    """Of the 2-norm of c only an estimate is known: sqrt(3) is guaranteed, 1.6445 was found."""
    assert not textbook.c_b[2].is_tight
    assert textbook.c_b[1].is_tight
    assert textbook.mu_2[1].is_tight
    estimate, tight = (next(x for x in repr(textbook).splitlines() if x.startswith(f"  c_b    {norm} ")) for norm in (2, 1))
    assert " ? " in estimate
    assert " yes " in tight


def test_gravity_with_symbols(textbook):
    assert equal(textbook.g_b[1].rigorous, (m1 + m2) * g * L1 + 2 * m2 * g * L2)
    assert equal(textbook.g_b[1].attained, textbook.g_b[1].rigorous)
    assert equal(textbook.g_b[np.inf].rigorous, (m1 + m2) * g * L1 + m2 * g * L2)
    assert equal(textbook.g_b[2].rigorous, (m1 + m2) * g * L1 + sympy.sqrt(2) * m2 * g * L2)


def test_structure_with_symbols(textbook):
    holds = {name: claim.holds for name, claim in textbook.claims.items()}
    assert holds.pop("skew_rate") is False
    assert holds.pop("skew_gradient") is False
    assert all(holds.values())
    assert all(claim.how.startswith("exact") for claim in textbook.claims.values())
    assert "are taken to be positive" in textbook.notes[-1]


def test_same_figures_with_numbers():
    found = qddot.load("point_mass_2r").properties(limits=QUARTER)
    assert found.mu_1[1].attained == pytest.approx(4)
    assert found.mu_2[1].attained == pytest.approx(7)
    assert found.c_b[1].attained == pytest.approx(1)
    assert found.c_b[2].attained == pytest.approx(1.644490529)
    assert found.c_b[2].entries == pytest.approx(4)
    assert found.g_b[1].attained == pytest.approx(4 * 9.81)
    assert found["positive_definite"].how.startswith("exact: the leading minors")


# laws of every bound ------------------------------------------------------------------------------------------------------


def check(robot, found, samples=400):
    """Rigorous bounds are beyond attained values, samples are within, and these are attained."""
    rng = np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(samples)])
    single = np.isfinite(found.lower) & np.isfinite(found.upper) & (robot.nq == robot.nv)
    q[:, single] = rng.uniform(found.lower[single], found.upper[single], (samples, single.sum()))
    qd = rng.normal(size=(samples, robot.nv))
    M, c, gravity = robot.mass_matrix(q), robot.coriolis_torque(q, qd), robot.gravity_torque(q)
    for norm in NORMS:
        sizes = np.linalg.norm(M, norm, axis=(1, 2))
        least = np.linalg.eigvalsh(M)[:, 0] if norm == 2 else sizes
        speeds = np.linalg.norm(qd, norm, axis=1)
        assert (least >= found.mu_1[norm].rigorous).all()
        assert (sizes <= found.mu_2[norm].rigorous).all()
        assert (np.linalg.norm(c, norm, axis=1) <= found.c_b[norm].rigorous * speeds**2).all()
        assert (np.linalg.norm(gravity, norm, axis=1) <= found.g_b[norm].rigorous).all()
        assert found.mu_1[norm].rigorous <= found.mu_1[norm].attained
        for bound in (found.mu_2[norm], found.c_b[norm], found.g_b[norm]):
            assert bound.rigorous >= bound.attained
            assert bound.coefficients >= bound.rigorous
        assert np.linalg.norm(robot.mass_matrix(found.mu_2[norm].q), norm) == pytest.approx(found.mu_2[norm].attained)
        assert np.linalg.norm(robot.gravity_torque(found.g_b[norm].q), norm) == pytest.approx(found.g_b[norm].attained)
        fast = found.c_b[norm]
        assert np.linalg.norm(fast.qd, norm) == pytest.approx(1)
        assert np.linalg.norm(robot.coriolis_torque(fast.q, fast.qd), norm) == pytest.approx(fast.attained)
    assert np.linalg.eigvalsh(robot.mass_matrix(found.mu_1[2].q))[0] == pytest.approx(found.mu_1[2].attained)


def test_two_link(two_link):
    check(qddot.load("two_link"), two_link)
    for bound in two_link.bounds:
        assert bound.attained == pytest.approx(bound.rigorous, rel=1e-5 if bound.name != "c_b" else 0.06)


@pytest.mark.parametrize("name", ["acrobot", "four_bar", "cart_pole"])
def test_catalog(name):
    robot = qddot.load(name)
    found = robot.properties()
    check(robot, found)
    assert found["positive_definite"].holds


def test_sliders_within_limits():
    robot = qddot.load("rp_arm")
    found = robot.properties(limits={robot.joint_names[1]: (0.2, 1.5)})
    check(robot, found)
    assert (found.lower[1], found.upper[1]) == (0.2, 1.5)
    assert found.mu_2[2].rigorous == pytest.approx(found.mu_2[2].attained, rel=1e-5)


@pytest.mark.slow
def test_puma_closely():
    robot = qddot.load("puma560")
    found = robot.properties(effort=0.2)
    check(robot, found)
    assert found["positive_definite"].how.startswith("exact")
    assert found.mu_1[2].rigorous == pytest.approx(found.mu_1[2].attained, rel=0.05)
    assert found.mu_2[1].rigorous == pytest.approx(found.mu_2[1].attained, rel=0.05)
    assert found.g_b[2].rigorous == pytest.approx(found.g_b[2].attained, rel=0.05)


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    robot = qddot.Robot(random_model(rng, 2, ("revolute", "prismatic", "helical"), mimic=0.3))
    found = robot.properties(limits=(-1, 1), effort=0.1)
    check(robot, found, 100)
    assert found["skew"].holds
    assert found["passivity"].holds


def test_quaternion_joints():
    robot = (
        qddot.Builder()
        .body("arm", axis="y", mass=1.0, com=(0.5, 0, 0), tensor=(0.1, 0.2, 0.3))
        .body("ball", "arm", joint="spherical", xyz=(1, 0, 0), mass=2.0, com=(0.1, 0, 0), tensor=(0.1, 0.1, 0.1))
        .robot()
    )
    found = robot.properties(effort=0.1)
    check(robot, found, 100)
    assert found["skew"].holds
    assert found["passivity"].holds
    assert "skew_rate" not in found.claims


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_bounds_from_lengths(seed):
    rng = np.random.default_rng(seed)
    robot = qddot.Robot(random_model(rng, 4, mimic=0.3))
    domain = Domain(robot.model, robot.equations().alphabet, (-1, 1))
    found = reach(robot.model, domain)
    q = domain.configurations(np.arange(robot.nv), rng.uniform(domain.start, domain.end, (200, robot.nv)))
    M = robot.mass_matrix(q)
    assert (abs(M).max(0) <= found.M).all()
    assert (abs(robot.gravity_torque(q)).max(0) <= found.g).all()
    assert np.linalg.eigvalsh(M).min() >= found.least
    if found.christoffel is not None:
        assert (abs(robot.christoffel(q)).max(0) <= found.christoffel + 1e-12).all()


# enclosures ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 2.0))
def test_enclosures_enclose(seed, size):
    rng = np.random.default_rng(seed)
    robot = qddot.Robot(random_model(rng, 3, ("revolute", "prismatic", "helical")))
    equations = robot.equations()
    spectrum = Spectrum.of(Harmonics(equations.alphabet, equations.mass_matrix.entries), robot.nq)
    centre, half = rng.uniform(-2, 2, (16, robot.nq)), rng.uniform(0, size, (16, robot.nq))
    found = spectrum.enclose(centre, half)
    M = robot.mass_matrix(centre + half * rng.uniform(-1, 1, centre.shape)).reshape(16, -1).T
    assert (abs(M - found.mid) <= found.spread + 1e-13 * abs(M).max()).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_norms_of_enclosures(seed, width):
    rng = np.random.default_rng(seed)
    mid, slope, radius = rng.normal(size=(3, 3, 1)), width * rng.normal(size=(3, 3, 2, 1)), width * rng.random((3, 3, 1))
    mid, slope, radius = (x + np.swapaxes(x, 0, 1) for x in (mid, slope, radius))
    e = Enclosure(mid, slope, radius)
    d = rng.uniform(-1, 1, (50, 2))
    noise = rng.uniform(-1, 1, (50, 3, 3))
    noise = (noise + np.swapaxes(noise, 1, 2)) / 2
    A = mid[..., 0] + np.einsum("ijk,bk->bij", slope[..., 0], d) + noise * radius[..., 0]
    values = np.linalg.eigvalsh(A)
    assert (values[:, -1] <= largest_eigenvalue(e)).all()
    assert (-values[:, 0] <= least_eigenvalue(e)).all()
    assert (np.linalg.norm(A, 2, axis=(1, 2)) <= length(e)).all()
    sums = np.linalg.norm(A, np.inf, axis=(1, 2))
    assert (sums <= largest_sum(e)).all()
    assert (-sums <= least_largest_sum(e)).all()


# what cannot be bounded, and what is not so -------------------------------------------------------------------------------


def test_unlimited_sliders():
    found = qddot.load("rp_arm").properties()
    for bounds in (found.mu_2, found.c_b, found.g_b):
        assert bounds[2].rigorous == np.inf
        assert "which has no limits: give some with limits=" in bounds[2].how
        assert bounds[2].attained is None
    assert found["skew"].holds


def test_bounds_of_unlimited_sliders_depend_on_q():
    """The arm whose second joint slides out: c grows with its distance, M with the square of it."""
    found = qddot.load("rp_arm", symbolic=True).properties()
    m1, m2, L1, I1, I2 = (sympy.Symbol(x, real=True) for x in ("m1", "m2", "L1", "I1", "I2"))
    q2 = sympy.Symbol("q2", real=True)
    assert equal(found.c_b[1].of_q, m2 * sympy.Abs(q2))
    assert equal(found.g_b[1].of_q, sympy.Rational(981, 100) * (m1 * L1 + m2 * sympy.Abs(q2) + m2))
    hinge = m1 * L1**2 + m2 * q2**2 + I1 + I2
    assert equal(found.mu_2[1].of_q, sympy.Max(m2, hinge))
    assert equal(found.mu_1[2].of_q, m2 * hinge / (m2 + hinge))
    assert "  m2*|q2|  " in str(found)
    assert "max(9.81*L1*m1 + 9.81*m2*|q2|, 9.81*m2)" in str(found)


@pytest.mark.parametrize("name", ["rp_arm", "slanted", "cart"])
def test_bounds_of_q_hold(name):
    robot = {
        "rp_arm": lambda: qddot.load("rp_arm"),
        "slanted": lambda: (
            qddot.Builder("slanted", gravity=(1, -2, -9))
            .body("turn", axis="y", mass=1.0, com=(0.2, 0.1, 0), tensor=(0.2, 0.2, 0.2))
            .body("out", "turn", "prismatic", axis="x", xyz=(0.1, 0.3, 0), mass=0.7, com=(0, 0.2, 0.1), tensor=(0.1, 0.1, 0.1))
            .body("wrist", "out", axis="z", xyz=(0.2, 0, 0), mass=0.4, com=(0.3, 0, 0.1), tensor=(0.1, 0.1, 0.1))
            .robot()
        ),
        "cart": lambda: (
            qddot.Builder("cart")
            .body("cart", joint="prismatic", axis="x", mass=1.0)
            .body("arm", "cart", axis="y", mass=1.0, com=(0.3, 0, 0), tensor=(0.1, 0.1, 0.1))
            .body("probe", "arm", "prismatic", axis="x", mass=0.5, com=(0.1, 0, 0), tensor=(0.1, 0.1, 0.1))
            .robot()
        ),
    }[name]()
    found, rng = robot.properties(effort=0.01), np.random.default_rng(0)
    for q, qd in rng.normal(size=(40, 2, robot.nv)) * 2:
        at = {sympy.Symbol(f"q{i + 1}", real=True): x for i, x in enumerate(q)}
        value = lambda bound, at=at: float(bound.of_q.subs(at))  # noqa: E731
        M, c, g = robot.mass_matrix(q), robot.coriolis_torque(q, qd), robot.gravity_torque(q)
        for p in NORMS:
            assert np.linalg.norm(c, p) <= value(found.c_b[p]) * np.linalg.norm(qd, p) ** 2 * (1 + 1e-12)
            assert np.linalg.norm(M, p) <= value(found.mu_2[p]) * (1 + 1e-12)
            least = np.linalg.eigvalsh(M)[0] if p == 2 else np.linalg.norm(M, p)
            assert found.mu_1[p].of_q is None or value(found.mu_1[p]) <= least * (1 + 1e-12)
            if found.g_b[p].of_q is not None:
                assert np.linalg.norm(g, p) <= value(found.g_b[p]) * (1 + 1e-12)


def test_least_eigenvalue_in_symbols():
    found = qddot.load("point_mass_2r", symbolic=True).properties()
    bound = found.mu_1[2].rigorous
    rng = np.random.default_rng(0)
    names = sorted(bound.free_symbols, key=str)
    for values in rng.uniform(0.2, 3, (20, len(names))):
        given = dict(zip(names, values))
        robot = qddot.load("point_mass_2r", symbolic=True).subs(given)
        M = robot.mass_matrix(rng.uniform(-np.pi, np.pi, (200, 2)))
        assert float(bound.subs(given)) <= np.linalg.eigvalsh(M)[:, 0].min()
    ones = float(bound.subs(dict.fromkeys(names, 1)))
    assert ones == pytest.approx(1 / 6)  # where the least eigenvalue is 3 - sqrt(8) = 0.1716
    assert found["positive_definite"].holds


def test_sliders_that_do_not_matter():
    """M of a cart with a pole does not depend on where the cart is."""
    robot = qddot.Builder().body("cart", joint="prismatic", axis="x", mass=1.0).robot()
    found = robot.properties()
    assert found.mu_1[2].attained == found.mu_2[2].attained == pytest.approx(1)
    assert found.c_b[2].rigorous == 0


def test_massless_link_is_a_counterexample():
    robot = qddot.Builder().body("arm", mass=1.0, com=(1, 0, 0)).body("ghost", "arm", xyz=(1, 0, 0), mass=0.0).robot()
    claim = robot.properties()["positive_definite"]
    assert claim.holds is False
    assert np.linalg.eigvalsh(robot.mass_matrix(claim.q))[0] == pytest.approx(0, abs=1e-12)


def test_singular_at_one_configuration():
    """A point mass on the axis of its hinge: M is singular where the second hinge is straight above the first axis."""
    robot = qddot.Builder(gravity=(0, -9.81, 0)).body("a").body("b", "a", xyz=(1, 0, 0), mass=1.0, com=(1, 0, 0)).robot()
    claim = robot.properties()["positive_definite"]
    assert claim.holds is False
    assert claim.how.startswith("computed")
    assert np.linalg.eigvalsh(robot.mass_matrix(claim.q))[0] == pytest.approx(0, abs=1e-8)


def test_friction_takes_power():
    claims = {claim.name: claim for claim in identities(qddot.load("arm7").equations())}
    assert claims["passivity"].statement == "d(K + P)/dt = tau . qd - friction . qd"
    assert claims["passivity"].holds


# input and output ---------------------------------------------------------------------------------------------------------


def test_limits_are_checked():
    robot = qddot.load("two_link")
    with pytest.raises(UnknownNameError):
        robot.properties(limits={"nonsense": (0, 1)})
    with pytest.raises(InputError, match="is not below upper"):
        robot.properties(limits=(1, -1))
    with pytest.raises(InputError, match="a pair"):
        robot.properties(limits=3)


def test_what_has_no_bounds_is_refused():
    with pytest.raises(InputError, match="effort=0 is not a positive number"):
        qddot.load("two_link").properties(effort=0)
    with pytest.raises(InputError, match="'stone' has no joint that moves"):
        qddot.Builder("stone").body("stone", None, "fixed", mass=1).robot().properties()


def test_tables_have_decimals():
    text = str(qddot.load("point_mass_2r", symbolic=True).properties(limits=QUARTER))
    assert "9.81*L1*m1 + 9.81*L1*m2 + 19.62*L2*m2" in text
    assert "1.64449*L1*L2*m2" in text
    assert "is 4*m2*L1*L2*s2*qd2" in text  # by which another C fails to be skew


def test_tables(two_link):
    text, markdown = str(two_link), two_link.markdown()
    assert "M(q) is positive definite" in text
    assert "rigorous: interval bound" in text
    assert "| mu_1 | 1 |" in markdown
    assert "n^2 max \\|Gamma_ijk\\|" in markdown
    assert repr(two_link) == text
    with pytest.raises(UnknownNameError):
        two_link["nonsense"]


def test_a_ridge_is_not_climbed_for_ever():
    """The 1-norm of c of one free body rises along a ridge by less than 1e-11 a step; so does this."""
    calls = 0

    def ridge(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return 1e-6 * x[:, 0] - (x[:, 1] - x[:, 0]) ** 2

    climbed(ridge, np.zeros(2), np.zeros(2), np.ones(2))
    assert calls == CLIMBS + 1
