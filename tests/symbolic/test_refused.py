"""Questions about closed forms that have no answer: refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import qddot
from qddot import InputError

TWO_LINK = qddot.load("two_link")


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: TWO_LINK.derive(digits=0), "digits=0 is not a positive integer"),
        (lambda: TWO_LINK.derive(gravity="9 g"), "is not a letter for gravity"),
        (lambda: TWO_LINK.derive(constraints=[]), "constraints= is empty"),
        (lambda: TWO_LINK.equations().M.evaluate([0, 0], digits=10**9), "take too long"),
        (lambda: float(TWO_LINK.equations().M), "one entry is needed"),
        (lambda: TWO_LINK.equations().M.subs({"q1": object()}), "a number, an expression or a form of one entry is needed"),
        (lambda: TWO_LINK.equations().M.subs({"q1": "sqrt(-1)"}), r"sqrt\(-1\)"),
        (lambda: qddot.load("quadrotor_arm").equations().M[0, 0].diff("q1"), "no such derivative"),
    ],
)
def test_a_question_without_an_answer_is_refused(ask: Callable[[], Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        ask()
