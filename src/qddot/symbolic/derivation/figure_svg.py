"""The figure of a derivation as SVG, its labels in MathML; colours are those of the page."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from qddot.symbolic.derivation.document import printable
from qddot.symbolic.derivation.figure import WIDTH, Disc, Figure, Label, Path

HEAD = "M0,0 L7,3 L0,6"
ARROWS = ("x", "y", "z", "measure", "gravity")


def svg(figure: Figure, math: Callable[[str], str]) -> str:
    """Return a `<figure>` element. `math`: LaTeX -> a `<math>` element."""
    markers = "".join(
        f'<marker id="to-{kind}" class="{kind}" orient="auto" markerUnits="userSpaceOnUse" markerWidth="8" markerHeight="7" '
        f'refX="6" refY="3"><path d="{HEAD}"/></marker>'
        for kind in ARROWS
    )
    shapes = "".join(drawn(shape, figure.height, math) for shape in figure.shapes)
    box = f'viewBox="0 0 {WIDTH:g} {figure.height:g}" width="{WIDTH:g}" height="{figure.height:g}"'
    caption = escape(printable(figure.caption))
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" class="arm" {box}><defs>{markers}</defs>{shapes}</svg>'
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def drawn(shape: Path | Disc | Label, height: float, math: Callable[[str], str]) -> str:
    if isinstance(shape, Path):
        points = " ".join(f"{x:.1f},{height - y:.1f}" for x, y in shape.points)
        arrow = f' marker-end="url(#to-{shape.kind})"' if shape.arrow else ""
        return f'<polyline class="{shape.kind}" fill="none" stroke="currentColor" points="{points}"{arrow}/>'
    x, y = shape.at[0], height - shape.at[1]
    if isinstance(shape, Disc):
        return f'<circle class="{shape.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{shape.radius:g}"/>'
    label = f'<div xmlns="http://www.w3.org/1999/xhtml" class="label">{math(str(shape.text))}</div>'
    return f'<foreignObject x="{x - 60:.1f}" y="{y - 14:.1f}" width="120" height="28">{label}</foreignObject>'
