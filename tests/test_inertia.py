"""Mass, centre of mass and tensor of a body: shapes, moving, adding, other forms, and whether a real body has them."""

import re

import numpy as np
import pytest
import sympy
from numpy import array, pi
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose

import qddot
from qddot import Inertia, ModelValueError
from qddot.model.pose import from_rpy
from qddot.model.spatial import Transform, Vec

CASES = range(4)


def close(found, expected):
    assert_allclose(array(found, float), array(expected, float), rtol=1e-12, atol=1e-14)


def same(one, other):
    close(one.ten_vector(), other.ten_vector())


def cloud(case, n=6):
    """Point masses: a body every number of which can be summed by hand."""
    rng = np.random.default_rng(case)
    return rng.uniform(0.1, 2, n), rng.normal(size=(n, 3))


def tensor_of(masses, points):
    """Sum of m (|r|^2 1 - r r^T)."""
    return np.einsum("i,ij->j", masses, points**2).sum() * np.eye(3) - np.einsum("i,ij,ik->jk", masses, points, points)


def body(case):
    """A body with all ten numbers different from zero."""
    masses, points = cloud(case)
    com = masses @ points / masses.sum()
    return Inertia(masses.sum(), com, tensor_of(masses, points - com))


def rotation(case):
    return from_rpy(*np.random.default_rng([case, 1]).uniform(-3, 3, 3))


# shapes against integrals -----------------------------------------------------------------------------------------------------


def interval(a, b):
    """Gauss points and weights, exact for the polynomials at hand."""
    x, w = leggauss(6)
    return (b - a) / 2 * x + (a + b) / 2, (b - a) / 2 * w


def circle():
    return np.arange(8) * pi / 4, np.full(8, pi / 4)


def integral(mass, axes, place, density):
    """The tensor of a body whose points are `place(u, v, w)`, with this density over the three coordinates."""
    grids, weights = zip(*axes)
    u, v, w = np.meshgrid(*grids, indexing="ij")
    volume = np.einsum("i,j,k->ijk", *weights) * density(u, v, w)
    points = np.stack(np.broadcast_arrays(*place(u, v, w)), axis=-1).reshape(-1, 3)
    return tensor_of(mass * volume.ravel() / volume.sum(), points)


def one(u, v, w):
    return np.ones_like(u)


def tube(mass, outer, inner, length):
    axes = (interval(inner, outer), circle(), interval(-length / 2, length / 2))
    return integral(mass, axes, lambda r, t, z: (r * np.cos(t), r * np.sin(t), z), lambda r, t, z: r)


def test_point():
    point = Inertia.point(2.0, (1, 2, 3))
    assert point == Inertia(2.0, (1, 2, 3), 0)
    close(point.tensor, np.zeros((3, 3)))
    close(point.about(), tensor_of(array([2.0]), array([[1.0, 2.0, 3.0]])))


def test_sphere():
    axes = (interval(0, 0.3), interval(-1, 1), circle())
    place = lambda r, c, t: (r * np.sqrt(1 - c**2) * np.cos(t), r * np.sqrt(1 - c**2) * np.sin(t), r * c)  # noqa: E731
    close(Inertia.sphere(1.7, 0.3).tensor, integral(1.7, axes, place, lambda r, c, t: r**2))
    close(Inertia.sphere(1.7, 0.3).tensor, 2 / 5 * 1.7 * 0.3**2 * np.eye(3))


def test_box():
    size = (0.2, 0.5, 1.1)
    axes = [interval(-s / 2, s / 2) for s in size]
    close(Inertia.box(1.3, size).tensor, integral(1.3, axes, lambda x, y, z: (x, y, z), one))


@pytest.mark.parametrize("axis", "xyz")
def test_cylinders_and_rod(axis):
    turn = {"x": [2, 0, 1], "y": [1, 2, 0], "z": [0, 1, 2]}[axis]  # where each axis of the body stands in an upright one

    def turned(tensor):
        return tensor[np.ix_(turn, turn)]

    close(Inertia.hollow_cylinder(1.3, 0.4, 0.1, 0.9, axis).tensor, turned(tube(1.3, 0.4, 0.1, 0.9)))
    close(Inertia.solid_cylinder(1.3, 0.4, 0.9, axis).tensor, turned(tube(1.3, 0.4, 0.0, 0.9)))
    close(Inertia.rod(1.3, 0.9, axis).tensor, turned(np.diag([1, 1, 0]) * 1.3 * 0.9**2 / 12))


@pytest.mark.parametrize(
    "shape", [Inertia.sphere(1, 0.2), Inertia.box(1, (1, 2, 3)), Inertia.rod(1, 2, "x"), Inertia.hollow_cylinder(1, 2, 1, 3, "y")]
)
def test_shapes_are_centred_and_real(shape):
    assert shape.mass == 1
    assert tuple(shape.com) == (0, 0, 0)
    assert shape.is_consistent


def test_tube_is_a_cylinder_without_its_core():
    density = 3.0
    outer, core = density * pi * 0.4**2 * 2.0, density * pi * 0.1**2 * 2.0
    left = Inertia.hollow_cylinder(outer - core, 0.4, 0.1, 2.0)
    same(left + Inertia.solid_cylinder(core, 0.1, 2.0), Inertia.solid_cylinder(outer, 0.4, 2.0))


def test_unknown_axis():
    with pytest.raises(ValueError, match="axis='w': not one of x, y, z"):
        Inertia.rod(1.0, 1.0, "w")
    with pytest.raises(ValueError, match="not one of"):
        Inertia.rod(1.0, 1.0, "yz")


# ways to give a tensor --------------------------------------------------------------------------------------------------------


def test_tensor_as_diagonal_six_numbers_or_matrix():
    close(Inertia(1, tensor=(1, 2, 3)).tensor, np.diag([1, 2, 3]))
    full = [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]
    close(Inertia(1, tensor=(1, 0.1, 0.2, 2, 0.3, 3)).tensor, full)
    close(Inertia(1, tensor=full).tensor, full)
    close(Inertia(1, tensor=np.array(full)).tensor, full)
    close(Inertia(1).tensor, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ([[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]], "symmetric, got 0.1 and 0.2 for xy"),
        ([[1, 0, 0.1], [0, 1, 0], [0, 0, 1]], "symmetric, got 0.1 and 0.0 for xz"),
        ((1, 2), "got shape"),
        (5.0, "got shape"),
        (np.zeros((2, 2)), "got shape"),
        ((1, 2, float("nan")), "finite"),
    ],
)
def test_bad_tensor(tensor, message):
    with pytest.raises(ValueError, match=message):
        Inertia(1.0, tensor=tensor)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_numbers_are_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        Inertia(bad)
    with pytest.raises(ValueError, match="finite"):
        Inertia(1.0, (0, bad, 0))


@pytest.mark.parametrize("bad", ["1", True, None, 1j])
def test_numbers_are_real_numbers(bad):
    with pytest.raises(ModelValueError, match="neither a number nor a SymPy expression"):
        Inertia(bad)


def test_inertia_is_frozen():
    with pytest.raises(AttributeError):
        body(0).mass = 2.0


# moving and adding ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_parallel_axes_both_ways(case):
    """To a far point, and back from the ten numbers about it."""
    masses, points = cloud(case)
    there = array([0.7, -1.1, 0.4])
    inertia = body(case)
    close(inertia.about(there), tensor_of(masses, points - there))
    close(inertia.about(inertia.com), inertia.tensor)
    moved = inertia.shifted(-there)
    close(moved.about(), inertia.about(there))
    close(moved.tensor, inertia.tensor)
    same(Inertia.from_ten_vector(moved.ten_vector()).shifted(there), inertia)


@pytest.mark.parametrize("case", CASES)
def test_rotation_about_the_origin(case):
    masses, points = cloud(case)
    R = array(rotation(case), float)
    turned = body(case).rotated(rotation(case))
    close(turned.com, R @ array(body(case).com))
    close(turned.about(), tensor_of(masses, points @ R.T))
    close(turned.tensor, R @ array(body(case).tensor, float) @ R.T)
    close(np.linalg.eigvalsh(array(turned.tensor)), np.linalg.eigvalsh(array(body(case).tensor)))


@pytest.mark.parametrize("case", CASES)
def test_moved_into_another_frame_and_back(case):
    masses, points = cloud(case)
    pose = Transform(rotation(case), Vec(0.3, -0.8, 1.2))
    moved = body(case).moved(pose)
    close(moved.about(), tensor_of(masses, points @ array(pose.R, float).T + array(pose.p)))
    same(moved.moved(pose.inverse), body(case))


def test_quarter_turns_stay_exact():
    rod = Inertia.rod(1.0, 1.0, "z").rotated(from_rpy(0, pi / 2, 0))
    assert rod == Inertia.rod(1.0, 1.0, "x")


def test_addition_is_that_of_the_ten_numbers():
    a, b, c = (body(case) for case in (0, 1, 2))
    close((a + b).ten_vector(), array(a.ten_vector()) + array(b.ten_vector()))
    same(a + b, b + a)
    same((a + b) + c, a + (b + c))
    same(a + Inertia(), a)
    assert (Inertia() + Inertia()).mass == 0


def test_addition_of_points_is_their_cloud():
    masses, points = cloud(3)
    total = Inertia()
    for m, p in zip(masses, points):
        total = total + Inertia.point(m, p)
    same(total, body(3))


def test_massless_moments_add():
    total = Inertia(0, tensor=(1, 2, 3)) + Inertia(0, tensor=(3, 2, 1))
    close(total.tensor, 4 * np.eye(3))
    assert (total + Inertia.point(1.0)).mass == 1


# other forms ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_ten_vector_roundtrip(case):
    masses, points = cloud(case)
    m, hx, hy, hz, *moments = body(case).ten_vector()
    close([m, hx, hy, hz], [masses.sum(), *masses @ points])
    close(moments, tensor_of(masses, points)[np.triu_indices(3)])
    back = Inertia.from_ten_vector(body(case).ten_vector())
    close(back.com, body(case).com)
    close(back.tensor, body(case).tensor)


def test_ten_vector_without_mass():
    ten = [0, 0, 0, 0, 1, 0, 0, 2, 0, 3]
    assert Inertia.from_ten_vector(ten).ten_vector() == ten
    with pytest.raises(ValueError, match=r"first moment .* without mass"):
        Inertia.from_ten_vector([0, 0.1, 0, 0, 1, 0, 0, 2, 0, 3])


@pytest.mark.parametrize("case", CASES)
def test_rigid_form_is_the_ten_numbers(case):
    m, h, I = body(case).rigid
    close([m, *h], body(case).ten_vector()[:4])
    close(I, body(case).about())


@pytest.mark.parametrize("case", CASES)
def test_pseudo_inertia_is_the_second_moment_of_the_points(case):
    masses, points = cloud(case)
    ends = np.column_stack([points, np.ones(len(points))])
    close(body(case).pseudo_inertia(), np.einsum("i,ij,ik->jk", masses, ends, ends))


def test_symbolic_inertia():
    m, L = sympy.symbols("m L", positive=True)
    rod = Inertia.rod(m, L, "x").shifted((L / 2, 0, 0))
    assert rod.is_symbolic
    assert not body(0).is_symbolic
    assert sympy.simplify(rod.about()[2][2] - m * L**2 / 3) == 0
    assert sympy.simplify(Inertia.from_ten_vector(rod.ten_vector()).tensor[2][2] - m * L**2 / 12) == 0
    assert sympy.simplify(rod.pseudo_inertia()[0, 0] - m * L**2 / 3) == 0
    assert rod.inconsistency() == ""
    same(rod.map(lambda x: float(x.subs({m: 2, L: 3})) if hasattr(x, "subs") else x), Inertia.rod(2, 3, "x").shifted((1.5, 0, 0)))


# does a real body have it? ----------------------------------------------------------------------------------------------------

UNREAL = {
    "moment without mass": (
        Inertia(0.0, tensor=(0, 0.35, 0)),
        r"rotational inertia \(principal moments 0, 0, 0.35 kg m\^2\) without",
    ),
    "negative moment": (Inertia(1.0, tensor=(-0.1, 1, 1)), "not positive semi-definite: principal moments -0.1, 1, 1"),
    "indefinite products": (Inertia(1.0, tensor=(1, 2, 0, 1, 0, 1)), "not positive semi-definite: principal moments -1, 1, 3"),
    "triangle": (Inertia(1.0, tensor=(1, 1, 2.1)), "principal moments 1, 1, 2.1 kg m\\^2 break the triangle inequality"),
    "turned triangle": (Inertia(1.0, (1, 2, 3), (1, 1, 2.1)).rotated(rotation(0)), "triangle inequality"),
}


def test_a_negative_mass_is_refused():
    with pytest.raises(ModelValueError, match="mass='-1': a mass is not negative"):
        Inertia(-1)


@pytest.mark.parametrize(("inertia", "message"), UNREAL.values(), ids=UNREAL.keys())
def test_unreal_inertia_says_why(inertia, message):
    assert not inertia.is_consistent
    assert re.search(message, inertia.inconsistency())


@pytest.mark.parametrize(
    "inertia",
    [Inertia(), Inertia.point(1.0, (5, 5, 5)), Inertia(1.0, tensor=(1, 1, 2)), Inertia.rod(1e-9, 1e-4), Inertia.sphere(1e6, 1e3)],
    ids=["nothing", "point", "disc", "tiny", "huge"],
)
def test_limits_of_real_bodies_are_real(inertia):
    assert inertia.is_consistent


@pytest.mark.parametrize("seed", range(40))
def test_consistent_exactly_where_the_pseudo_inertia_is_semi_definite(seed):
    rng = np.random.default_rng(seed)
    moments = rng.uniform(-0.1, 1, 3)
    inertia = Inertia(rng.uniform(0.1, 2), rng.normal(size=3), moments).rotated(rotation(seed))
    least = np.linalg.eigvalsh(inertia.pseudo_inertia())[0]
    triangle = moments.min() >= 0 and 2 * moments.max() <= moments.sum()
    assert inertia.is_consistent == triangle == (least >= -1e-12)


INDEFINITE = """
[[dh]]
a = 0.5
inertia = {mass = 1, com = [0, 0, 0], tensor = [0.1, 0.1, -0.9]}
"""


def test_unreal_inertia_warns_and_is_refused_when_strict():
    def build(**options):
        return qddot.from_dh([(0.5, 0, 0, 0)], inertias=[Inertia(1.0, tensor=(1, 1, 2.1))], **options)

    with pytest.warns(qddot.ModelWarning, match="triangle inequality"):
        robot = build()
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(2.1 + 0.25)
    with pytest.raises(qddot.ModelValueError, match="triangle inequality"):
        build(strict=True)


def test_indefinite_mass_matrix_of_a_file_is_refused_and_of_numbers_kept(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(INDEFINITE)
    with pytest.raises(qddot.ModelValueError, match=r"arm\.toml:4.*mass matrix is not positive definite at the zero configuration"):
        qddot.load(path)
    kept = qddot.from_dh([(0.5, 0, 0, 0)], inertias=[Inertia(1.0, tensor=(0.1, 0.1, -0.9))])
    assert kept.mass_matrix([0.0])[0, 0] == pytest.approx(-0.65)
    assert_allclose(kept.regressor([0.1], [0.2], [0.3]) @ kept.parameters(), kept.inverse_dynamics([0.1], [0.2], [0.3]))
