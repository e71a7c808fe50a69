"""Sphinx: the pages are Markdown; their code runs in the tests as doctests."""

import re
from pathlib import Path

from latex2mathml.converter import convert

project = "qddot"
author = "The qddot authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "qddot"
html_show_copyright = False
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
suppress_warnings = ["myst.xref_missing", "ref.python"]  # links out of docs; shapes such as (samples, nv) that are no names


def as_code(app, what, name, obj, options, lines) -> None:
    """Between single backticks our docstrings have code, as Markdown does; bars around a word are a magnitude."""
    parts = re.split(r"(`+[^`]+`+)", "\n".join(lines))
    parts[1::2] = [f"``{part.strip('`')}``" for part in parts[1::2]]
    parts[::2] = [
        re.sub(r"^(?!\s*(?:>>>|\.\.\. )).*$", lambda line: line[0].replace("|", r"\|"), part, flags=re.MULTILINE)
        for part in parts[::2]
    ]
    text = re.sub(r"(``[^`]+``)(?=\w)", r"\1\\ ", "".join(parts))  # `x`s: the letter after code needs a space that is not shown
    lines[:] = text.split("\n")


def setup(app) -> None:
    """Formulas are MathML, which browsers draw without a script; the page about the explorer has one in it where it can be made."""

    def write_formula(display):
        def visit(self, node) -> None:
            import docutils.nodes

            formula = convert(node.astext(), display=display)
            block = f'<div style="margin: 0.6em 0; padding: 0.4em 0; overflow-x: auto">{formula}</div>'  # room for exponents
            self.body.append(block if display == "block" else formula)
            raise docutils.nodes.SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", write_formula("inline"), write_formula("block"))

    def write_pages(app, error) -> None:
        import qddot
        from qddot.errors import NoAssetError

        values = {"l1": 0.5, "l2": 0.7, "m1": 0.5, "m2": 0.7, "r": 0.04}
        try:
            qddot.load("two_link", symbolic=True).explore(Path(app.outdir) / "two_link.html", values=values)
        except NoAssetError as problem:
            print(f"the docs are without the explorer's page: {problem}")

    app.connect("autodoc-process-docstring", as_code, priority=900)
    app.connect("build-finished", write_pages)
