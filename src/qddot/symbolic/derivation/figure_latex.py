"""The figure of a derivation as a LaTeX picture, which needs no package (pict2e makes its lines finer, xcolor colours them)."""

from __future__ import annotations

import math as maths
from collections.abc import Callable, Iterator
from itertools import pairwise

from qddot.symbolic.derivation.figure import WIDTH, Disc, Figure, Label, Path

UNIT = "0.7pt"
THICK = {"link": "3pt", "joint": "0.8pt", "measure": "0.3pt", "gravity": "0.8pt"}
COLORS = {
    "link": "9AA5B1",
    "ground": "5F6368",
    "x": "C0392B",
    "y": "2E8B57",
    "z": "2C6FBB",
    "measure": "5F6368",
    "gravity": "009E73",
}
HEAD, SPREAD = 7.0, 0.4  # length of an arrow's head, rad between its line and its sides


def picture(figure: Figure, math: Callable[[str], str]) -> str:
    """A centred `picture` environment. `math` makes LaTeX of pdflatex's letters."""
    lines = [rf"\setlength{{\unitlength}}{{{UNIT}}}", rf"\begin{{picture}}({WIDTH:g},{figure.height:g})"]
    for shape in figure.shapes:
        lines += drawn(shape, math)
    between = "%\n"  # an end of line would be a space, which moves what follows
    return "\\begin{center}\n" + between.join([*lines, r"\end{picture}"]) + "\n\\end{center}"


def drawn(shape: Path | Disc | Label, math: Callable[[str], str]) -> Iterator[str]:
    if isinstance(shape, Label):
        yield rf"\put({shape.at[0]:.1f},{shape.at[1]:.1f}){{\makebox(0,0){{\small ${math(str(shape.text))}$}}}}"
        return
    if isinstance(shape, Disc):
        at, size = f"{shape.at[0]:.1f},{shape.at[1]:.1f}", 2 * shape.radius
        if shape.kind == "joint":
            yield rf"{{\color{{white}}\put({at}){{\circle*{{{size:g}}}}}}}\put({at}){{\circle{{{size:g}}}}}"
        else:
            yield rf"\put({at}){{\circle*{{{size:g}}}}}"
        return
    segments = [(a, b) for a, b in pairwise(shape.points) if maths.dist(a, b) > 0.2]  # LaTeX cannot draw what has no length
    if shape.arrow and segments:
        (x0, y0), (x1, y1) = segments[-1]
        back = maths.atan2(y0 - y1, x0 - x1)
        sides = [back + SPREAD, back - SPREAD]
        segments += [((x1 + HEAD * maths.cos(a), y1 + HEAD * maths.sin(a)), (x1, y1)) for a in sides]
    color = rf"\color[HTML]{{{COLORS[shape.kind]}}}" if shape.kind in COLORS else ""
    thick = rf"\linethickness{{{THICK.get(shape.kind, '0.6pt')}}}"
    curves = "".join(
        rf"\qbezier({a:.1f},{b:.1f})({(a + c) / 2:.1f},{(b + d) / 2:.1f})({c:.1f},{d:.1f})" for (a, b), (c, d) in segments
    )
    yield f"{{{color}{thick}{curves}}}"
