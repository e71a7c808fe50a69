"""Equations as lines of LaTeX: matrices where they fit, otherwise entry by entry; long sums are broken between terms."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from qddot.symbolic.derivation.named import NAMED
from qddot.symbolic.derivation.steps import Derivation, Equation, Math, Prose
from qddot.symbolic.derivation.vocabulary import Vocabulary
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.form import Form
from qddot.symbolic.printing.abbreviations import Abbreviations
from qddot.symbolic.printing.latex import LatexPrinter
from qddot.symbolic.printing.notation import Shown
from qddot.symbolic.printing.presentation import Presentation, Style
from qddot.symbolic.printing.tree import Symbol, Wave
from qddot.symbolic.robot_in_letters import RobotInLetters

WIDTH = 75  # width of a line, in letters
ALIGNED = 8  # least width of a left side, in letters
LONGEST = 150  # the most terms of an expression that is written out, unless asked for
DIGITS, GIVEN = 5, 7  # digits of numbers that are rounded; the most digits of decimals that are kept as they were given


class Line(NamedTuple):
    """`left` and `right` meet at the sign of equality; a line without `left` continues the one before."""

    left: str
    right: str


class Writer:
    """Writes the equations and the prose of one derivation, in its notation.

    Attributes:
        has_rounded: True if a number was written with fewer digits than it has.
    """

    def __init__(self, derivation: Derivation) -> None:
        self.equations, self.writing = derivation.equations, derivation.writing
        self.has_rounded = False
        digits = self.writing.digits
        kept = {"digits": digits or DIGITS, "exact": digits or GIVEN, "rounded": True}
        self.style = Style(group="rates", notation=self.writing.notation, **kept)
        self.vocabulary = vocabulary_of(derivation, self.style)
        self.abbreviations = Abbreviations(self.vocabulary.indexed) if derivation.is_abbreviated else None
        self._known: dict[int, tuple[RobotInLetters, Printer, Presentation]] = {}
        self._angles: dict[str, str] = {}  # subscript that occurred -> the angle it means
        self._told: set[str] = set()
        self._defined = 0

    def prose(self, prose: Prose) -> Prose:
        """Return prose in the letters of the notation."""
        return tuple(Math(self.vocabulary(x)) if isinstance(x, Math) else x for x in prose)

    def entry(self, form: Form, p: Any) -> str:
        """Return LaTeX of one polynomial of a form; its number of terms if it is too long."""
        length = form.equations.alphabet.length
        terms = length(p.num) + length(p.den) if isinstance(p, Ratio) else length(p)
        if terms > LONGEST and not self.writing.full:
            return rf"\langle \text{{{terms:,} terms}} \rangle".replace(",", "{,}")
        key = id(form.equations)
        if key not in self._known:
            printer = Printer(form.equations, self.style, self)
            own = form.equations is self.equations
            style = Style(**{**vars(self.style), "abbreviate": self.abbreviations}) if own else self.style
            self._known[key] = form.equations, printer, Presentation(form.equations, style)
        _, printer, presentation = self._known[key]
        return printer.expression(presentation.entry(p))

    def new_angles(self) -> list[Prose]:
        """Return a sentence on the sines and cosines that occurred for the first time since the last call."""
        new = {name: angle for name, angle in self._angles.items() if name not in self._told}
        self._told |= new.keys()
        said: list[str] = ["Here "]
        for i, (name, angle) in enumerate(new.items()):
            between = " are the cosine and sine of " if i == 0 else " those of "
            said += ["; " if i else "", Math(rf"c_{{{name}}}, s_{{{name}}}"), between, Math(angle)]
        return [(*said, ".")] if new else []

    def new_abbreviations(self) -> list[Line]:
        """Return the definitions of the abbreviations that were used for the first time since the last call."""
        if not self.abbreviations:
            return []
        printer = Printer(self.equations, self.style, self)
        found = list(self.abbreviations.definitions.items())[self._defined :]
        self._defined += len(found)
        pairs = [(printer.expression(Symbol(name, "constant")), printer.expression(body)) for name, body in found]
        return [line for name, body in pairs for line in broken(name, "", body)]

    def lines(self, equation: Equation) -> list[Line]:
        left, formula, form = self.vocabulary(equation.left), self.vocabulary(equation.formula), equation.form
        if equation.parts:
            texts = [self.entry(part, part.entries.item()) for part in equation.parts]
            return broken(left, formula, " + ".join(texts).replace("+ -", "- "))
        if form is None:
            return [Line(left, f"= {formula}" if formula else "")]
        if not form.entries.size:
            return []
        if form.shape == ():
            text = self.entry(form, form.entries.item())
            return broken(left, formula, text) if text != left else []
        return self.array(left, formula, self.vocabulary(equation.entry) or f"({left})_{{@}}", form)

    def array(self, left: str, formula: str, name: str, form: Form) -> list[Line]:
        rows = form.entries if form.ndim == 2 else form.entries[:, None]
        texts = [[self.entry(form, p) for p in row] for row in rows]
        widths = [max(width(row[j]) for row in texts) for j in range(len(texts[0]))]
        head = f"= {formula} " if formula else ""
        if sum(widths) + 2 * len(widths) + left_width(left) <= WIDTH:
            rows_of_latex = r" \\ ".join(" & ".join(row) for row in texts)
            matrix = rf"\begin{{bmatrix}} {rows_of_latex} \end{{bmatrix}}" if form else "0"
            if head and sum(widths) + 2 * len(widths) + left_width(left) + width(head) > WIDTH:
                return [Line(left, head), Line("", f"= {matrix}")]
            return [Line(left, f"{head}= {matrix}")]
        found = [Line(left, head)] if head else []
        mirrored = rows.shape[0] == rows.shape[1] and all(rows[i, j] == rows[j, i] for i in range(len(rows)) for j in range(i))
        zeros = False
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                if mirrored and j < i:
                    continue
                if text == "0":
                    zeros = True
                    continue
                index = str(i + 1) if form.ndim == 1 else f"{i + 1}{j + 1}" if max(rows.shape) < 10 else f"{i + 1},{j + 1}"
                other = f" = {name}".replace("@", index[::-1]) if mirrored and i != j and "," not in index else ""
                found += broken(name.replace("@", index) + other, "", text)
        if zeros:
            found.append(Line(r"\text{all other entries}", "= 0"))
        return found


class Printer(LatexPrinter):
    """A printer of LaTeX in the letters of a derivation that records abbreviated angles and rounding."""

    def __init__(self, equations: RobotInLetters, style: Style, writer: Writer) -> None:
        super().__init__(equations, style)
        self.writer = writer

    def symbol(self, x: Symbol) -> str:
        text = super().symbol(x)
        return self.writer.vocabulary(text) if x.kind == NAMED else text

    def number(self, x: Shown) -> str:
        self.writer.has_rounded |= x.rounded
        return super().number(x)

    def wave(self, node: Wave) -> str:
        text = super().wave(node)
        if text.startswith(("c_", "s_")):
            self.writer._angles.setdefault(self.subscript(node), self.expression(self.angle(node)))
        return text


def vocabulary_of(derivation: Derivation, style: Style) -> Vocabulary:
    """Return the vocabulary of a derivation: its letters and those of its robot."""
    symbols = LatexPrinter(derivation.equations, style)
    own = [symbols.symbol(Symbol(name)) for name in derivation.equations.parameters]
    every = [e for step in derivation.steps for e in step.equations]
    texts = {text for e in every for text in (e.left, e.formula)}
    for step in derivation.steps:
        cells = [cell for row in step.table.rows for cell in row] if step.table else []
        texts |= {part for prose in (*step.prose, *cells) for part in prose if isinstance(part, Math)}
    homes = {id(e.form.equations): e.form.equations for e in every if e.form is not None}.values()
    texts |= {symbols.symbol(Symbol(g.name)) for home in homes for g in home.alphabet.ring.generators if g.kind == NAMED}
    plain = LatexPrinter(derivation.equations, Style(notation=style.notation))
    meant = {e.left for e in every if e.form is not None and e.form.shape == () and is_symbol(plain, e.form, e.left)}
    meant |= {symbols.symbol(Symbol(f"i{k}")) for k in symbols.current_rates.values()}
    return Vocabulary(style.notation, own, texts, meant)


def is_symbol(printer: LatexPrinter, form: Form, name: str) -> bool:
    """Tell whether a form is nothing but the symbol that is printed as `name`."""
    p, ring = form.entries.item(), form.equations.alphabet.ring
    return any(p == letter and printer.symbol(Symbol(g.name)) == name for g, letter in zip(ring.generators, ring.letters))


def broken(left: str, formula: str, text: str) -> list[Line]:
    """Return `left = formula = text` in as many lines as needed; those that continue a sum are indented."""
    head = f"= {formula} " if formula else ""
    if left_width(left) + width(f"{head}= {text}") <= WIDTH:
        return [Line(left, f"{head}= {text}")]
    rows = [""]
    for term in summands(text):
        if rows[-1] and left_width(left) + 2 + width(f"{rows[-1]} {term}") > WIDTH:
            rows.append("")
        rows[-1] += f" {term}" if rows[-1] else term
    start = [Line(left, head), Line("", f"= {rows[0]}")] if head else [Line(left, f"= {rows[0]}")]
    return start + [Line("", rf"\quad {{}} {row}") for row in rows[1:]]


def summands(text: str) -> list[str]:
    """Cut before each + or - outside of all parentheses; inside of them too, if one term is too long for a line."""
    return [piece for part in cut(text) for piece in (opened(divided(part)) if width(part) > WIDTH - 12 else [part])]


def divided(text: str) -> str:
    """Return a fraction as one over the denominator times the numerator, which can be cut."""
    before, fraction, rest = text.partition(r"\frac{")
    if not fraction or before.strip("+- "):
        return text
    middle = closing(rest)
    above, below = rest[:middle], rest[middle + 2 :]
    end = closing(below)
    above = above if len(cut(above)) == 1 else rf"\left({above}\right)"
    return rf"{before}\frac{{1}}{{{below[:end]}}} {above}{below[end + 1 :]}"


def closing(text: str) -> int:
    """Return the index of the brace that closes one opened before the text."""
    depth = 1
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match.group() == "{" else -1
        if not depth:
            return match.start()
    return len(text)


def cut(text: str) -> list[str]:
    """Cut before each + or - outside of all parentheses."""
    parts, depth, start = [], 0, 0
    for match in re.finditer(r"[{}()\[\]]| [+-] ", text):
        token = match.group()
        if token in "{([":
            depth += 1
        elif token in "})]":
            depth -= 1
        elif depth == 0:
            parts.append(text[start : match.start()])
            start = match.start() + 1
    return [*parts, text[start:]]


def opened(text: str) -> list[str]:
    """Cut a product inside its longest factor in parentheses, which may then end on another line."""
    groups, starts, depth = [], [], 0
    for match in re.finditer(r"\\left\(|\\right\)|[{}]", text):
        token = match.group()
        if token in "{}":
            depth += 1 if token == "{" else -1
        elif token == r"\left(":
            starts.append((match, depth))
        else:
            left, outside = starts.pop()
            if not starts and outside == 0:
                groups.append((left, match))
    if not groups:
        return [text]
    left, right = max(groups, key=lambda pair: pair[1].start() - pair[0].end())
    first, *rest = cut(text[left.end() : right.start()])
    parts = [f"{text[: left.start()]}\\bigl({first}", *rest]
    parts[-1] += f"\\bigr){text[right.end() :]}"
    return parts


def width(latex: str) -> int:
    """Estimate the width in letters: indices are small, signs between terms have space around them."""
    text = re.sub(r"\\math(?:cal|bb)\{\w\}|\\d?dot\{\\?\w+\}", "x", latex)
    text = re.sub(r"\\(?:begin|end|text|bigl|bigr|mathrm|operatorname|mathsf|left|right|dot|ddot|hat|tilde|quad)\b", "", text)
    text = re.sub(r"\\[A-Za-z]+", lambda m: m.group() if m.group().endswith("frac") else "x", text)
    text = re.sub(r"[_^]\{([^{}]*)\}", lambda m: "x" * round(0.7 * len(m.group(1))), text)
    text = re.sub(r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: max(m.groups(), key=len), text)
    return len(re.sub(r"[{}\\_^ ]", "", text)) + len(re.findall(r" [-+=] ", text))


def left_width(left: str) -> int:
    """Return the width of a left side, at least that of neighbours that are probably aligned with it."""
    return max(width(left), ALIGNED)
