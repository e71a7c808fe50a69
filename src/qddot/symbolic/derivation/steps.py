"""Steps of a derivation: pieces of prose, tables and equations, each with the checks it passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qddot.arguments import file_path
from qddot.card import framed
from qddot.errors import InputError, QddotError

if TYPE_CHECKING:
    from qddot.model.diagram import Diagram
    from qddot.symbolic.derivation.document import Document
    from qddot.symbolic.derivation.figure import Figure
    from qddot.symbolic.equations import Equations
    from qddot.symbolic.form import Form


FRAME = 640
"""The height of the page inside a notebook, px."""


class DerivationError(QddotError, ArithmeticError):
    """A step of a derivation disagrees with the equations of motion, or with the compiled kernels."""


class Math(str):
    """LaTeX between words."""


Prose = tuple[str, ...]
"""Words as plain text, with `Math` between them. The writer of a document escapes the plain text."""


def say(template: str, **names: Any) -> Prose:
    """Return prose from a sentence with `$...$` around its mathematics; names replace `{...}` in the words only."""
    parts = template.split("$")
    return tuple(Math(x) if i % 2 else x.format(**names) for i, x in enumerate(parts) if x)


def paragraph(sentence: str, **names: Any) -> list[Prose]:
    """Return a list of one paragraph, to begin or continue prose with: see `say`."""
    return [say(sentence, **names)]


@dataclass(frozen=True)
class Writing:
    """The options of writing a derivation down: see `Robot.derive`."""

    notation: str = "qddot"  # the book whose letters are used
    digits: int | None = None  # digits of numbers; None: decimals as they were given, five digits of others
    full: bool = False  # True if everything is written out, however long


@dataclass(frozen=True)
class Equation:
    """An equation `left = formula = form`, in letters of no particular book: `Writing.notation` decides what a reader sees.

    Attributes:
        left: LaTeX of the quantity that is defined.
        formula: LaTeX of the formula by which it follows from earlier equations; empty if there is none.
        form: its exact value, in the letters of the robot or in letters that earlier equations define; None if there is only the
            formula.
        entry: LaTeX of one entry's name, with `@` for its indices, for a matrix or vector too wide for a line.
        parts: instead of one form, several whose sum it is, written in this order.
        role: the kind of terms, `"inertial"`, `"coriolis"`, `"gravity"`, `"friction"`; documents give each role its colour.
    """

    left: str
    formula: str = ""
    form: Form | None = None
    entry: str = ""
    role: str = ""
    parts: Sequence[Form] = ()


class Check(NamedTuple):
    """A comparison of numbers that has passed.

    Attributes:
        what: the quantity that was compared.
        against: the source of the numbers it was compared with.
        states: the number of random states.
        worst: the largest difference, as a fraction of the largest number compared.
    """

    what: str
    against: str
    states: int
    worst: float

    def __str__(self) -> str:
        difference = f"largest difference {self.worst:.0e} of scale" if self.worst else "no difference"
        return f"{self.what} checked against {self.against} at {self.states} random states: {difference}"


class Table(NamedTuple):
    """Rows of cells under a head."""

    head: tuple[Prose, ...]
    rows: list[tuple[Prose, ...]]


@dataclass(frozen=True)
class Step:
    """One step of a derivation.

    Attributes:
        title: the title in plain words.
        prose: paragraphs before the equations.
        equations: the equations in order.
        checks: the comparisons that it has passed.
        table: a table between prose and equations, if any.
        makes: names of the quantities that it ends with, such as `mass_matrix`.
    """

    title: str
    prose: Sequence[Prose] = ()
    equations: Sequence[Equation] = ()
    checks: Sequence[Check] = ()
    table: Table | None = None
    makes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Derivation:
    """The equations of motion of a robot, derived step by step and verified.

    Attributes:
        robot: the robot's name.
        method: `"lagrange"`, `"jacobian"` or `"newton-euler"`.
        equations: the closed forms that the last step agrees with, exactly.
        steps: the steps in order.
        notes: remarks before the first step, for example on angles that were read as others.
        is_abbreviated: True if documents have short names for combinations of parameters, each defined at its first step.
        writing: notation, digits, length.
        figure: the robot with its frames; None if there is nothing to draw.
        tree: links, joints, drives and loops; None for a chain that has only links and joints.
        drawn: random values that open symbols had in the checks.

    >>> derivation = qddot.load("point_mass_2r", symbolic=True).derive()
    >>> print(derivation.checks[0].what)
    Poses of all links
    >>> path = derivation.save("derivation.html")  # the text of .html(); .markdown() and .latex() give the others
    """

    robot: str
    method: str
    equations: Equations
    steps: Sequence[Step]
    notes: Sequence[Prose] = ()
    is_abbreviated: bool = False
    writing: Writing = Writing()
    figure: Figure | None = None
    tree: Diagram | None = None
    drawn: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        route = {"lagrange": "Lagrange", "jacobian": "Jacobians", "newton-euler": "Newton and Euler"}[self.method]
        return f"The equations of motion of {self.robot} after {route}"

    @property
    def checks(self) -> list[Check]:
        """The checks of all steps."""
        return [check for step in self.steps for check in step.checks]

    @cached_property
    def document(self) -> Document:
        """The contents of every format, in the notation asked for."""
        from qddot.symbolic.derivation.document import compose

        return compose(self)

    def __repr__(self) -> str:
        worst = max((check.worst for check in self.checks), default=0.0)
        lines = [
            f"Derivation of {self.robot!r} ({self.method}): {len(self.checks)} checks, largest difference {worst:.0e} of scale"
        ]
        return "\n".join(lines + [f"  {i}. {step.title}" for i, step in enumerate(self.steps, 1)])

    def markdown(self) -> str:
        """Return Markdown with LaTeX between dollars."""
        from qddot.symbolic.derivation.markdown import markdown

        return markdown(self)

    def latex(self) -> str:
        """Return a complete document for pdflatex."""
        from qddot.symbolic.derivation.latex_document import latex_document

        return latex_document(self)

    def html(self) -> str:
        """Return a self-contained page with MathML and its font, no script, nothing to fetch. It is well-formed XML too."""
        from qddot.symbolic.derivation.html_document import html_document

        return html_document(self)

    _repr_markdown_ = markdown

    def _repr_html_(self) -> str:
        """Return the page in a frame, with its table of contents and steps that fold."""
        return framed(self.html(), height=FRAME)

    def save(self, path: str | Path) -> Path:
        """Write a file: Markdown, LaTeX, HTML or PDF by its suffix (.md, .tex, .html, .pdf). Raises InputError: another suffix;
        MissingProgramError: a PDF, where no LaTeX is installed."""
        from qddot.symbolic.derivation.pdf import pdf

        path = file_path("path", path)
        writers = {".md": self.markdown, ".tex": self.latex, ".html": self.html, ".pdf": lambda: pdf(self.latex())}
        if path.suffix.lower() not in writers:
            raise InputError(f"{path.name!r} ends in {path.suffix!r}: a derivation is written to one of {', '.join(writers)}")
        content = writers[path.suffix.lower()]()
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def joined(parts: Iterable[str], word: str = "and") -> str:
    """Return `a, b and c`."""
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last
