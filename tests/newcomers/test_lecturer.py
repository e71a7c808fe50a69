"""A lecturer: a handout in the letters of the book, figures, an arm for every student, solutions corrected by equality."""

import matplotlib
import matplotlib.pyplot as plt

import qddot
from tests.newcomers.commands import inside, said

matplotlib.use("Agg")


def test_ten_minutes(tmp_path):
    with inside(tmp_path):
        for notation, letter in (("craig", r"\theta"), ("siciliano", "B(q)")):
            said(f"qddot derive point_mass_2r --symbolic --notation {notation} -o {notation}.tex")
            assert letter in (tmp_path / f"{notation}.tex").read_text(encoding="utf-8")
        said("qddot derive rp_arm --symbolic -o handout.md")
        assert "$$" in (tmp_path / "handout.md").read_text(encoding="utf-8")
        ax = qddot.load("two_link").plot([0.5, 0.4], frames=True)
        plt.savefig("arm.svg")
        plt.close(ax.figure)
        assert "<svg" in (tmp_path / "arm.svg").read_text(encoding="utf-8")


def test_solutions_are_corrected_by_what_they_mean():
    eq = qddot.load("rp_arm", symbolic=True).equations()
    assert eq.c[0] == eq.read("2*m2*q2*qd1*qd2")
    assert eq.c[1] == eq.read("-m2*qd1*(q2*qd1)")
    printed_wrongly = eq.read("-m2*q2*qd2**2")
    assert eq.c[1] != printed_wrongly
    assert (eq.c[1] - printed_wrongly) == eq.read("m2*q2*(qd2**2 - qd1**2)")


def test_another_arm_for_everybody():
    torques = set()
    for number in range(4711, 4741):
        lengths = 0.3 + number % 7 / 20, 0.2 + number % 5 / 20
        arm = qddot.from_dh([(a, 0, 0, 0) for a in lengths], gravity=(0, -9.81, 0), inertias=[qddot.Inertia.point(1.0)] * 2)
        torques.add(tuple(arm.equations().g.evaluate([0.0, 0.0]).round(9)))
    assert len(torques) == 30
