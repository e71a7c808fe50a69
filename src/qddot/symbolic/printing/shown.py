"""Equations as an object displays itself, in a terminal and in a notebook: M, c, g, friction and springs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from qddot.card import fragment
from qddot.symbolic.printing.mathml import DOTS, dotted
from qddot.symbolic.printing.text import brief

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations
    from qddot.symbolic.form import Form

JOINTS = 3
"""The most joints whose forms are displayed; for more, which fill pages and take time, the parts to ask for are listed."""

TERMS = 60
"""The most terms of a form that a notebook displays; of longer ones, the sizes of the entries."""


class Part(NamedTuple):
    """A summand of the equations: its letter, its arguments, its role, its form."""

    letter: str
    of: str
    role: str
    form: Form


def head(equations: Equations) -> str:
    letters = ", ".join(equations.parameters)
    return f"Equations of {equations.model.name!r}: {equations.nv} dof" + (f", parameters {letters}" if letters else "")


def parts(equations: Equations) -> list[Part]:
    """Return the summands with their letters; none for a robot with many joints."""
    if not 0 < equations.nv <= JOINTS:
        return []
    how = {
        "mass_matrix": ("M", "q", "inertial"),
        "coriolis_torque": ("c", "q, qd", "coriolis"),
        "gravity_torque": ("g", "q", "gravity"),
        "friction_torque": ("f", "qd", "friction"),
        "spring_torque": ("s", "q", "friction"),
    }
    return [Part(*how[form.name], form) for form in summands(equations)]


def summands(equations: Equations) -> list[Form]:
    """Return M, c, g, and friction and springs if there are any."""
    more = (equations.friction_torque, equations.spring_torque)
    return [equations.M, equations.c, equations.g, *(form for form in more if any(x != 0 for x in form.entries.flat))]


def law(found: list[Part]) -> str:
    """Return `tau = M(q) qdd + c(q, qd) + g(q)`."""
    first, *rest = found
    return " + ".join([f"tau = {first.letter}({first.of}) qdd", *(f"{x.letter}({x.of})" for x in rest)])


def text(equations: Equations) -> str:
    """Return the head and the forms; the terms of long entries are counted."""
    found = parts(equations)
    if not found:
        return head(equations)
    lines = [head(equations), f"  {law(found)}"]
    for part in found:
        rows = brief(part.form).split("\n")
        lines += [f"  {part.letter} = {rows[0]}", *(f"      {row}" for row in rows[1:])]
    return "\n".join(lines)


def html(equations: Equations) -> str:
    """Return a card with the forms as MathML."""
    found = parts(equations)
    title = f"<h3>{escape(head(equations))}</h3>"
    if not found:
        ask = ", ".join(f"<code>{x}</code>" for x in (".M", ".C", ".c", ".g", ".tau", ".M[0, 0]"))
        return fragment(f"{title}<p>Ask for a part: {ask}</p>")
    body = ""
    for part in found:
        size = sum(len(x) for x in part.form.entries.flat)
        form = part.form.mathml() if size <= TERMS else f"<code>{escape(brief(part.form))}</code>"
        body += (
            f'<div class="equation {part.role}"><math><mi>{part.letter}</mi><mo>=</mo></math><div class="math">{form}</div></div>'
        )
    return fragment(f"{title}<p>{typeset_law(found)}</p>{body}", has_math=True)


def typeset_law(found: list[Part]) -> str:
    """Return `tau = M(q) qdd + c(q, qd) + g(q)` as MathML."""
    q, qd, qdd = (dotted("<mi>q</mi>", DOTS[kind]) for kind in ("position", "velocity", "acceleration"))
    of = {"q": q, "qd": qd, "q, qd": f"{q}<mo>,</mo>{qd}"}
    first, *rest = (f'<mi>{x.letter}</mi><mo stretchy="false">(</mo>{of[x.of]}<mo stretchy="false">)</mo>' for x in found)
    return f"<math><mi>τ</mi><mo>=</mo>{'<mo>+</mo>'.join([first + qdd, *rest])}</math>"


def latex(equations: Equations) -> str | None:
    """Return M, c and g below each other; None if they are long, so that a notebook shows something else."""
    found = parts(equations)
    if not found or sum(len(x) for part in found for x in part.form.entries.flat) > 2 * TERMS:
        return None
    rows = r" \\ ".join(rf"{part.letter} &= {part.form.latex()}" for part in found)
    return rf"$\displaystyle \begin{{aligned}} {rows} \end{{aligned}}$"
