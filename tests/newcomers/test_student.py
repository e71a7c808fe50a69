"""A student: the arm of the lecture notes, with the letters of the book, and does my own derivation agree?"""

import re

import numpy as np

import qddot
from tests.newcomers.commands import call, inside, said


def test_ten_minutes(tmp_path):
    with inside(tmp_path):
        assert "two_link" in said("qddot catalog two")
        shown = said("qddot info two_link")
        assert "2 dof" in shown
        assert "Drive(" not in shown  # words, not a class
        numbers = re.findall(r"-?\d+\.\d+", said("qddot compute two_link mass_matrix --q pi/3,pi/2 --digits 4"))
        assert [float(x) for x in numbers] == [0.3315, 0.1146, 0.1146, 0.1146]
        assert "9.81" in said("qddot equations point_mass_2r --symbolic")
        said("qddot derive point_mass_2r --symbolic --notation craig -o notes.html")
        assert "θ" in (tmp_path / "notes.html").read_text(encoding="utf-8")

    eq = qddot.load("point_mass_2r", symbolic=True).equations()
    mine = eq.read("-m2*L1*L2*sin(q2)*(2*qd1*qd2 + qd2**2)")  # from my exercise book
    assert eq.c[0] == mine
    assert eq.c[0] != eq.read("-m2*L1*L2*sin(q2)*qd2**2")

    arm = qddot.load("two_link")
    motion = arm.simulate([0.3, 0.4], t=1.0)
    assert np.ptp(motion.energy) < 1e-6
    assert motion.q.shape == (1001, 2)


def test_a_slip_of_the_pen_is_explained():
    wrong = call("qddot info two_lnik")
    assert wrong.exit_code == 1
    assert "two_link" in wrong.stderr
    assert "Traceback" not in wrong.stderr
