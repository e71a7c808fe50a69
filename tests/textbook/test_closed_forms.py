"""The closed forms of the courses' worked examples, equal as polynomials and not merely at some points.

The texts are read from the reference data beside the repository, which write `2 L1 cos q2` for `2*L1*cos(q2)`.
"""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
import sympy

import qddot
from qddot.symbolic.equations import Equations
from tests.reference import SEED_EXAMPLES


@pytest.fixture(scope="module")
def examples():
    return json.loads(SEED_EXAMPLES.read_text())


def spelled_out(text: str) -> str:
    """`m2 (L1 cos q2 + L2^2)` as `m2*(L1*cos(q2)+L2**2)`."""
    text = re.sub(r"\b(cos|sin) (\w+)", r"\1(\2)", text).replace("^", "**")
    text = re.sub(r"\s*([-+/])\s*", r"\1", text)
    return re.sub(r"(?<=[\w)])\s*(?=\()(?<!cos)(?<!sin)|(?<=[\w)])\s+(?=\w)|(?<=\))(?=\w)", "*", text)


def read(E: Equations, text: str, **names: str):
    """A text in the letters of some equations, with abbreviations written out."""
    for name, meaning in names.items():
        text = re.sub(rf"\b{name}\b", f"({meaning})", text)
    return E.read(spelled_out(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m1 L1^2 + m2 (L1^2 + 2 L1 L2 cos q2 + L2^2)", "m1*L1**2+m2*(L1**2+2*L1*L2*cos(q2)+L2**2)"),
        ("-m2 L1 L2 sin q2 (2 qd1 qd2 + qd2^2)", "-m2*L1*L2*sin(q2)*(2*qd1*qd2+qd2**2)"),
        ("(m1+m2) L1 g cos q1 + m2 g L2 cos(q1+q2)", "(m1+m2)*L1*g*cos(q1)+m2*g*L2*cos(q1+q2)"),
        ("qd1 k/2", "qd1*k/2"),
        ("-49/400 (qd1+qd2) sin q2", "-49/400*(qd1+qd2)*sin(q2)"),
    ],
)
def test_spelling(text, expected):
    assert spelled_out(text) == expected


# two cylinders ----------------------------------------------------------------------------------------------------------------


def test_two_link_coriolis_matrix(examples):
    E = qddot.load("two_link").equations()
    texts = dict(entry.split(" = ") for entry in examples["two_link_dh"]["coriolis_matrix"].split("; "))
    assert [[read(E, texts[f"C{i}{j}"]) for j in (1, 2)] for i in (1, 2)] == E.C


def test_two_link_figures_are_those_printed(examples):
    data = examples["two_link_dh"]
    E = qddot.load("two_link").equations()
    q = [float(sympy.sympify(x)) for x in data["q"]]
    qd = [float(sympy.sympify(x)) for x in data["coriolis_torque"]["qd"]]
    np.testing.assert_allclose(E.M.evaluate(q), data["mass_matrix"], atol=5.1e-7)
    np.testing.assert_allclose(E.g.evaluate(q), data["gravity_torque"], atol=5.1e-5)
    np.testing.assert_allclose(E.c.evaluate(q, qd), data["coriolis_torque"]["value"], atol=5.1e-5)


# two point masses -------------------------------------------------------------------------------------------------------------

m1, m2, L1, L2, g, I1, I2 = sympy.symbols("m1 m2 L1 L2 g I1 I2", real=True)
Fs1, Fs2, Fv1, Fv2 = sympy.symbols("Fs1 Fs2 Fv1 Fv2", real=True)


def point_masses(rubbing: bool = False) -> qddot.Robot:
    drives = [qddot.Drive(coulomb=Fs, viscous=Fv) if rubbing else None for Fs, Fv in ((Fs1, Fv1), (Fs2, Fv2))]
    return (
        qddot.Builder("point_masses", gravity=(0, -g, 0))
        .body("upper", mass=m1, com=(L1, 0, 0), drive=drives[0])
        .body("lower", "upper", xyz=(L1, 0, 0), mass=m2, com=(L2, 0, 0), drive=drives[1])
        .frame("end1", "upper", (L1, 0, 0))
        .frame("tip", "lower", (L2, 0, 0))
        .robot()
    )


@pytest.fixture(scope="module")
def masses() -> Equations:
    return point_masses().equations()


def test_point_mass_terms(examples, masses):
    data, E = examples["point_mass_2r"], masses
    M11, M12, M22 = (read(E, data[name]) for name in ("M11", "M12", "M22"))
    assert E.M == [[M11, M12], [M12, M22]]
    assert E.c == [read(E, text) for text in data["c"]]
    assert E.g == [read(E, text) for text in data["g"]]


@pytest.mark.parametrize(("name", "form"), [("standard_C", "christoffel"), ("other_C_1", "rate"), ("other_C_2", "gradient")])
def test_point_mass_coriolis_matrices(examples, masses, name, form):
    data, E = examples["point_mass_2r"], masses
    C = E.coriolis_matrix(form)
    assert [[read(E, text, k=data["k"]) for text in row] for row in data[name]] == C
    assert C @ E.qd == E.c
    skew = E.mass_matrix_rate - C * 2
    assert (skew == -skew.T) == (form == "christoffel")
    assert E.qd @ skew @ E.qd == 0
    if form == "gradient":  # the last entry is printed without its sign, which would not give the same forces
        misprint = [[C[0, 0], C[0, 1]], [C[1, 0], -C[1, 1]]]
        assert np.array([[x.entries.item() for x in row] for row in misprint]) @ E.qd.entries != E.c


def test_point_mass_christoffel_symbols(examples, masses):
    E = masses
    k = read(E, examples["point_mass_2r"]["k"])
    assert E.christoffel[:, :, 0] == [[0, -k], [-k, -k]]
    assert E.christoffel[:, :, 1] == [[k, 0], [0, 0]]


def test_point_mass_centrifugal_entry(masses):
    """b_{1,22} by its definition with dm12/dq2 twice; with dm12/dq1 for one of them, as printed, it would be halved."""
    E = masses
    m12, m22 = E.M[0, 1], E.M[1, 1]
    b122 = (m12.diff("q2") + m12.diff("q2") - m22.diff("q1")) / 2
    assert b122 == E.read("-m2*L1*L2*sin(q2)") == E.christoffel[1, 1, 0]
    assert (m12.diff("q2") + m12.diff("q1") - m22.diff("q1")) / 2 != b122


def test_point_mass_friction_and_regressor():
    E = point_masses(rubbing=True).equations()
    smooth = point_masses().equations()
    friction = [E.read(f"Fv{i}*qd{i} + Fs{i}*sign_qd{i}") for i in (1, 2)]
    rest = E.tau - friction
    assert all(x == y for x, y in zip(rest.entries, smooth.tau.entries))
    columns = [E.tau.diff(name) for name in ("m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2")]
    total = sum((column * E.read(name) for column, name in zip(columns, ("m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2"))), E.tau * 0)
    assert total == E.tau
    y22 = "(L2**2 + L1*L2*cos(q2))*qdd1 + L2**2*qdd2 + L1*L2*qd1**2*sin(q2) + g*L2*cos(q1 + q2)"
    assert columns[0] == [E.read("L1**2*qdd1 + g*L1*cos(q1)"), 0]
    assert columns[1][1] == E.read(y22)
    assert E.tau[1] == E.read(f"m2*({y22}) + Fv2*qd2 + Fs2*sign_qd2")


def test_point_mass_tip_acceleration(examples, masses):
    data, E = examples["point_mass_2r"]["tip_acceleration_q_0_pi2_qdd_0"], masses
    at = (E.jacobian_dot("tip", "world_aligned") @ E.qd)[3:5].subs({"q1": 0, "q2": sympy.pi / 2})
    assert at == [read(E, data["x"]), read(E, data["y"])]


def test_gravity_is_minus_the_jacobians_times_the_acceleration(masses):
    E = masses
    J1, J2 = (E.jacobian(frame, "world_aligned")[3:] for frame in ("end1", "tip"))
    down = [0, -E.read("g"), 0]
    assert E.g == -(J1.T @ down * E.read("m1") + J2.T @ down * E.read("m2"))
    assert J1.T @ J1 * E.read("m1") + J2.T @ J2 * E.read("m2") == E.M


def test_channel_2r():
    """With the tip in the channel: exact values of the printed decimals 0.866 and 0.577."""
    E = qddot.load("point_mass_2r", gravity=(0, 0, 0)).equations()
    at = {"q1": -sympy.pi / 3, "q2": 2 * sympy.pi / 3, "qd1": 1, "qd2": 0}
    half_root = E.read("sqrt(3)/2")
    assert E.M.subs(at) == [[2, Fraction(1, 2)], [Fraction(1, 2), 1]]
    assert E.c.subs(at) == [0, half_root]
    assert E.jacobian("tip", "world_aligned")[3].subs(at) == [0, -half_root]
    assert E.jacobian_dot("tip", "world_aligned")[3].subs(at) == [-1, Fraction(-1, 2)]
    assert E.transform("tip")[0, 3].subs(at) == 1


# a hinge and a slider ---------------------------------------------------------------------------------------------------------


def rp_arm() -> Equations:
    return (
        qddot.Builder("rp_arm", gravity=(0, -g, 0))
        .body("arm", mass=m1, com=(L1, 0, 0), tensor=(0, I1, I1))
        .body("slide", "arm", "prismatic", axis="x", mass=m2, tensor=(0, I2, I2))
        .robot()
        .equations()
    )


def test_rp_arm(examples):
    data, E = examples["rp_arm"], rp_arm()
    assert E.tau == [read(E, data["tau1"]), read(E, data["tau2"])]
    assert read(E, data["lagrangian"]) == E.L
    assert E.c == [E.read("2*m2*q2*qd1*qd2"), E.read("-m2*q2*qd1**2")]  # printed once with the slider's own speed
    assert E.H == E.T + E.V


# three conventions ------------------------------------------------------------------------------------------------------------


def three_descriptions() -> dict[str, Equations]:
    """One spatial arm by a standard table, by Craig's table and by screws; link inertias moved from frame to frame."""
    d1, a2 = sympy.symbols("d1 a2", real=True)
    near = qddot.Inertia(m1, (0, L1, 0), (I1, I1, I2))
    far = qddot.Inertia(m2, (L2, 0, 0), (I1, I2, I2))
    # Standard: frame 1 stands turned by alpha at the end of link 1; its axes are x, z, -y of Craig's frame 1.
    standard = qddot.from_dh(
        [(0, sympy.pi / 2, d1, 0), (a2, 0, 0, 0)],
        inertias=[near, far.shifted((-a2, 0, 0))],
        gravity=(0, 0, -g),
    )
    craig_near = qddot.Inertia(m1, (0, 0, L1), (I1, I2, I1))
    craig = qddot.from_dh(
        [(0, 0, d1, 0), (0, sympy.pi / 2, 0, 0)],
        convention="modified",
        inertias=[craig_near, far],
        gravity=(0, 0, -g),
    )
    homes = [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, d1], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, d1], [0, 0, 0, 1]],
    ]
    screws = qddot.from_screws(
        [[0, 0, 1, 0, 0, 0], [0, -1, 0, d1, 0, 0]],
        homes,
        inertias=[craig_near, far],
        gravity=(0, 0, -g),
    )
    return {"standard": standard.equations(), "modified": craig.equations(), "screws": screws.equations()}


def test_three_conventions_give_identical_closed_forms():
    found = three_descriptions()
    reference = found.pop("standard")
    for E in found.values():
        for name in ("mass_matrix", "christoffel", "gravity_torque", "inverse_dynamics", "lagrangian"):
            ours, theirs = getattr(E, name).entries, getattr(reference, name).entries
            assert all(x == y for x, y in zip(ours.flat, theirs.flat)), name


@pytest.mark.parametrize("convention", ["standard", "modified", "screws"])
def test_three_conventions_of_the_planar_arm(convention, masses):
    """Seed 000 (standard table), 003 (Craig's table) and 004 (screws) of the same two point masses."""
    ends = [qddot.Inertia.point(m1, (L1, 0, 0)), qddot.Inertia.point(m2, (L2, 0, 0))]
    down = {"gravity": (0, -g, 0)}
    if convention == "standard":
        robot = qddot.from_dh([(L1, 0, 0, 0), (L2, 0, 0, 0)], inertias=[qddot.Inertia.point(m1), qddot.Inertia.point(m2)], **down)
    elif convention == "modified":
        robot = qddot.from_dh([(0, 0, 0, 0), (L1, 0, 0, 0)], convention="modified", inertias=ends, **down)
    else:
        homes = [[[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] for x in (0, L1)]
        robot = qddot.from_screws([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -L1, 0]], homes, inertias=ends, **down)
    E = robot.equations()
    for name in ("mass_matrix", "christoffel", "coriolis_torque", "gravity_torque", "inverse_dynamics", "lagrangian"):
        assert all(x == y for x, y in zip(getattr(E, name).entries.flat, getattr(masses, name).entries.flat)), name
