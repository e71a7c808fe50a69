"""The letters that a derivation introduces: those of a book, made different from the robot's own symbols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from qddot.arguments import word
from qddot.errors import InputError
from qddot.symbolic.printing.notation import NOTATIONS, split


def energies(notation: str) -> dict[str, str]:
    """Return LaTeX of the kinetic and the potential energy."""
    book = NOTATIONS[notation]
    letters = {"K": book.quantities["kinetic_energy"], "P": book.quantities["potential_energy"]}
    return {name: rf"\mathcal{{{x}}}" if x in book.script else x for name, x in letters.items()}


BOOKS: Mapping[str, Mapping[str, str]] = {
    "qddot": {},
    "lynch-park": {
        "q": r"\theta", **energies("lynch-park"), "V": r"\mathcal{V}", "F": r"\mathcal{F}", "G": r"\mathcal{G}",
        "S": r"\mathcal{A}",
    },
    "craig": {"q": r"\theta", "c": "V", "C": "V_m", "g": "G", "Q": "C", **energies("craig"), "V": r"\nu", "G": r"\mathcal{G}"},
    "siciliano": {"M": "B", **energies("siciliano"), "B": "D"},
    "featherstone": {"M": "H"},
}  # fmt: skip
"""The letters of each notation that differ from those in which the steps are written: `q`; `M`, `c`, `C`, `g` of the
equations of motion, and `Q`, `B`, which multiply squares and products of velocities in `c`; energies `K`, `P`; twists `V`,
wrenches `F`, inertias `G` and joint axes `S` of Newton and Euler."""

PROJECTION = r"\mathbb{P}"
"""The letter of the projection by constraints in the steps, to tell it from the potential energy `P`."""

TOKEN = re.compile(r"\\math(?:cal|bb)\{\w\}|\\mathrm\{[Aa]d\}|\\(?:vec|hat) \w|\\[A-Za-z]+|\\.|.", re.DOTALL)
ADJOINTS = (r"\mathrm{ad}", r"\mathrm{Ad}")  # whose subscripts are letters, no indices
ACCENTS = (r"\dot", r"\ddot", r"\hat", r"\tilde", r"\vec", r"\bar")
SPACED = re.compile(r"(\\(?:dot|ddot|hat|tilde|vec|bar)) \{")
WORDS = (r"\mathrm", r"\text", r"\operatorname", r"\mathsf", r"\begin", r"\end")
SPOKEN = re.compile(r"\\(?:mathrm|text|operatorname|mathsf|begin|end) ?\{[^{}]*\}")
NAME = re.compile(r"(\\math(?:cal|bb)\{\w\}|\\(?:vec|hat) \w|\\[A-Za-z]+|[A-Za-z])(_\{[^{}]*\}|_\w)?(?![(\w])")


class Vocabulary:
    """Turns the LaTeX of steps into that of a document, in the letters of the notation.

    A letter has a tilde if the robot has it too, or if the notation uses it for something else.

    Args:
        notation: see `BOOKS`.
        own: LaTeX of the robot's symbols.
        introduced: all LaTeX of the derivation but its closed forms.
        meant: names in it that mean the robot's symbol with the same name: `m_{1}` if that is the mass of link 1.

    Attributes:
        marked: letters that got a tilde.
        indexed: letters that the derivation writes with a subscript.
    """

    def __init__(self, notation: str, own: Iterable[str], introduced: Iterable[str], meant: Iterable[str]) -> None:
        self.names = {PROJECTION: "P", **BOOKS[notation]}
        taken, meant = set(own), set(meant)
        clashes, used = set(), set()
        for text in introduced:
            for head, subscript in NAME.findall(SPOKEN.sub("", text)):
                name = normal(self.names.get(head, head) + subscript)
                used |= {head} if subscript else set()
                if name in taken and name not in meant:
                    clashes.add(head)
        given = {self.names[head] for head in used & BOOKS[notation].keys()}
        clashes |= {head for head in used - BOOKS[notation].keys() if self._shown(head) in given}
        clashes |= {PROJECTION} if PROJECTION in used and "P" in used and self._shown("P") == "P" else set()
        self.marked = sorted(self._shown(head) for head in clashes)
        self.names |= {head: rf"\tilde{{{self._shown(head)}}}" for head in clashes}
        self.indexed = {self._shown(head) for head in used}

    def _shown(self, head: str) -> str:
        return self.names.get(head, head)

    def __call__(self, latex: str) -> str:
        """Return LaTeX with the letters of the document."""
        return SPACED.sub(r"\1{", "".join(self._renamed(latex)))

    def _renamed(self, latex: str) -> Iterator[str]:
        tokens = TOKEN.findall(latex)
        depth, low = 0, []  # depth of braces; depths at which subscripts began
        word = -1  # depth at which the words of a \mathrm{...} end
        before, base = "", ""  # the last two tokens
        for i, token in enumerate(tokens):
            below = before == "_" and base not in ADJOINTS
            if token == "{":
                depth += 1
                low += [depth] if below else []
            elif token == "}":
                low = [d for d in low if d != depth]
                depth -= 1
                word = -1 if depth <= word else word
            if token in WORDS:
                word = depth
            follows = next((x for x in tokens[i + 1 :] if not x.isspace()), "")
            is_index = (bool(low) or below) and follows != "_" and before not in ACCENTS
            name = token if word >= 0 or is_index else self._shown(token)
            yield f"{{{name}}}" if "{" in name[1:] and before in (*ACCENTS, "_", "^") else name
            base, before = (before, token) if not token.isspace() else (base, before)


def normal(name: str) -> str:
    """Return a name with braces around a subscript of one letter, as printers write it."""
    return re.sub(r"_(\w)$", r"_{\1}", name)


def check_notation(notation: str, symbols: Iterable[str], coordinates: int) -> None:
    """Refuse a notation that does not exist, or in which joint variables have the name of one of the robot's symbols."""
    word("notation", notation, BOOKS)
    variable = NOTATIONS[notation].variable
    numbers = {str(i + 1) for i in range(coordinates)}
    for symbol in sorted(symbols):
        head, subscripts = split(symbol)
        if head == variable and (not subscripts or (len(subscripts) == 1 and subscripts[0] in numbers)):
            raise InputError(
                f"notation={notation!r} writes joint variables as {variable!r}, and the robot has a symbol {symbol!r} of its own: "
                "choose another notation, or another name for the symbol"
            )
