"""The figure of a derivation: centres of mass on their links, labels that can be read."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import qddot
from qddot.symbolic.derivation.figure import LABEL, Drawing, Label
from qddot.symbolic.derivation.figure_latex import lengthened
from qddot.symbolic.derivation.subject import Subject
from tests.symbolic.test_derivation_width import planar


def test_centres_of_mass_lie_on_their_links():
    drawing = Drawing(Subject(planar(3).model), on_joints=False)
    for body, above in zip(drawing.bodies, drawing.bodies[1:]):
        start, end, point = drawing.origin(body.index), drawing.origin(above.index), drawing.mass_point(body)
        np.testing.assert_allclose(point, (start + end) / 2, atol=1e-12)


@pytest.mark.parametrize("name", ["2R", "RP", "two_link", "point_mass_2r"])
@pytest.mark.parametrize("method", ["lagrange", "newton-euler"])
def test_labels_do_not_overlap(name, method):
    robot = planar(2) if name == "2R" else qddot.load({"RP": "rp_arm"}.get(name, name), symbolic=True)
    labels = [shape.at for shape in robot.derive(method).document.figure.shapes if isinstance(shape, Label)]
    assert len(labels) >= 2 * robot.nv + 2
    for (x, y), (u, v) in combinations(labels, 2):
        assert abs(x - u) >= 2 * LABEL[0] or abs(y - v) >= 2 * LABEL[1]


def test_the_tree_is_drawn_where_there_is_more_than_a_chain():
    assert '<figure class="tree">' not in qddot.load("rp_arm").derive().html()
    arm = qddot.Builder("geared").body("a_1", mass=1, com=(1, 0, 0), drive=qddot.Drive(gear_ratio=100, rotor_inertia=1e-5)).robot()
    derivation = arm.derive("newton-euler")
    assert "[gear 100, rotor 1e-05 kg m^2]" in derivation.markdown()
    assert r"\textasciigrave{}{-}{-}~a\_1~~a\_1\_joint: revolute about z~~[gear 100" in derivation.latex()
    assert "Kinematic tree of geared" in derivation.html()


def test_lines_in_latex_are_as_long_as_they_are_thick():
    """LaTeX without pict2e divides by the number of dots of a line, which would be 0."""
    (x0, y0), (x1, y1) = lengthened((1.0, 2.0), (1.3, 1.0), 4.0)
    assert max(abs(x1 - x0), abs(y1 - y0)) == pytest.approx(4.0)
    assert ((x0 + x1) / 2, (y0 + y1) / 2) == pytest.approx((1.15, 1.5))
    assert lengthened((0.0, 0.0), (9.0, 1.0), 4.0) == ((0.0, 0.0), (9.0, 1.0))
