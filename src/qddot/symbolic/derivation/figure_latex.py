"""The figure of a derivation as a LaTeX picture, which needs no package (pict2e makes its lines finer, xcolor colours them)."""

from __future__ import annotations

import math as maths
from collections.abc import Callable, Iterator
from itertools import pairwise

from qddot.symbolic.derivation.figure import WIDTH, Disc, Figure, Label, Path

UNIT = 0.7  # pt
THICK, FINE = {"link": 3.0, "joint": 0.8, "measure": 0.3, "gravity": 0.8}, 0.6  # pt
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
    """Return a centred `picture` environment. `math`: LaTeX -> LaTeX with signs that pdflatex knows."""
    lines = [rf"\setlength{{\unitlength}}{{{UNIT}pt}}", rf"\begin{{picture}}({WIDTH:g},{figure.height:g})"]
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
    thickness = THICK.get(shape.kind, FINE)
    segments = [lengthened(a, b, thickness / UNIT) for a, b in pairwise(shape.points) if maths.dist(a, b) > 0.2]
    if shape.arrow and segments:
        (x0, y0), (x1, y1) = segments[-1]
        back = maths.atan2(y0 - y1, x0 - x1)
        sides = [back + SPREAD, back - SPREAD]
        segments += [((x1 + HEAD * maths.cos(a), y1 + HEAD * maths.sin(a)), (x1, y1)) for a in sides]
    color = rf"\color[HTML]{{{COLORS[shape.kind]}}}" if shape.kind in COLORS else ""
    thick = rf"\linethickness{{{thickness}pt}}"
    curves = "".join(
        rf"\qbezier({a:.1f},{b:.1f})({(a + c) / 2:.1f},{(b + d) / 2:.1f})({c:.1f},{d:.1f})" for (a, b), (c, d) in segments
    )
    yield f"{{{color}{thick}{curves}}}"


def lengthened(a: tuple[float, float], b: tuple[float, float], least: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a line at least as long as `least`, its thickness: LaTeX cannot draw a shorter one."""
    more = max(0.0, least / max(abs(b[0] - a[0]), abs(b[1] - a[1])) - 1) / 2
    by = more * (b[0] - a[0]), more * (b[1] - a[1])
    return (a[0] - by[0], a[1] - by[1]), (b[0] + by[0], b[1] + by[1])
