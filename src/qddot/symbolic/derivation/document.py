"""The contents of every document of a derivation, in order: title, figures, notes, sections with prose, equations and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qddot.model.diagram import Diagram
from qddot.symbolic.derivation.figure import Figure, Label
from qddot.symbolic.derivation.layout import Line, Writer
from qddot.symbolic.derivation.steps import Check, Derivation, Math, Prose, Step, Table, joined, say
from qddot.symbolic.derivation.subject import KERNELS
from qddot.symbolic.form import Form

TREE = "Links, their joints, and what drives or closes them"


class Display(NamedTuple):
    """One equation: its lines, and its role (see `Equation`)."""

    lines: list[Line]
    role: str = ""


class Section(NamedTuple):
    """A step in a document. `after` explains new letters; `checks` is one sentence, or none."""

    number: int
    title: str
    prose: list[Prose]
    table: Table | None
    displays: list[Display]
    after: list[Prose]
    abbreviations: list[Line]
    checks: list[Prose]


class Document(NamedTuple):
    title: str
    figure: Figure | None
    tree: Diagram | None
    notes: list[Prose]
    sections: list[Section]


def printable(words: str) -> str:
    """Return words with spaces for characters that cannot be printed, which XML does not allow."""
    return "".join(x if x.isprintable() else " " for x in words)


def compose(derivation: Derivation) -> Document:
    """Return the contents of a derivation, ready for any format."""
    writer = Writer(derivation)
    sections = [section(writer, number, step) for number, step in enumerate(derivation.steps, 1)]
    notes = [writer.prose(note) for note in derivation.notes]
    if writer.has_rounded:
        notes.append(say("Long numbers are rounded for display only: every step was computed exactly."))
    if writer.vocabulary.marked:
        notes.append(
            say("Letters of this derivation have a tilde where the plain letter is a symbol of the robot or means something else.")
        )
    if derivation.checks:
        notes.append(say("Every step was checked with numbers; the last section says how."))
        sections.append(Section(len(sections) + 1, "How the steps were checked", how_checked(derivation), None, [], [], [], []))
    figure = derivation.figure and labelled(writer, derivation.figure)
    return Document(derivation.title, figure, derivation.tree, notes, sections)


def how_checked(derivation: Derivation) -> list[Prose]:
    """Return paragraphs on how the derivation was checked."""
    found = [
        say(
            "Each was computed in {states} random states and compared with {kernels} unless it says otherwise; the number in "
            "parentheses is the largest difference, relative to the largest value compared.",
            states=max(check.states for check in derivation.checks),
            kernels=KERNELS,
        )
    ]
    if derivation.drawn:
        values = ", ".join(f"{name} = {value:g}" for name, value in derivation.drawn.items())
        found.append(say("For that, the open symbols had random values: {values}.", values=values))
    return found


def labelled(writer: Writer, figure: Figure) -> Figure:
    """Return the figure with LaTeX for labels that are closed forms, all of it in the letters of the notation."""

    def latex(text: Math | Form) -> Math:
        return Math(writer.vocabulary(text) if isinstance(text, Math) else writer.entry(text, text.entries.item()))

    shapes = (shape._replace(text=latex(shape.text)) if isinstance(shape, Label) else shape for shape in figure.shapes)
    return figure._replace(shapes=tuple(shapes))


def section(writer: Writer, number: int, step: Step) -> Section:
    prose = [writer.prose(part) for part in step.prose]
    table = step.table and Table(step.table.head, [tuple(writer.prose(cell) for cell in row) for row in step.table.rows])
    displays = [Display(lines, equation.role) for equation in step.equations if (lines := writer.lines(equation))]
    after, new = writer.new_angles(), writer.new_abbreviations()
    return Section(number, step.title, prose, table, displays, after, new, checks(step.checks))


def checks(done: Sequence[Check]) -> list[Prose]:
    """Return one sentence for all checks of a step; nothing if there are none."""
    if not done:
        return []
    parts = []
    for check in done:
        is_name = not check.what[1:2].islower() or check.what.startswith("Coriolis")
        what = check.what if is_name else check.what[0].lower() + check.what[1:]
        against = "" if check.against == KERNELS else f", against {check.against}"
        parts.append(f"{what.rstrip(',')}{against} ({check.worst:.0e})" if check.worst else f"{what}{against} (0)")
    return [say("Checked: {parts}.", parts=joined(parts))]
