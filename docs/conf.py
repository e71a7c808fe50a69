"""Sphinx: the pages are Markdown; their code runs in the tests as doctests."""

project = "qddot"
author = "The qddot authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
suppress_warnings = ["myst.xref_missing"]


def setup(app) -> None:
    """The page about the explorer has one in it, where this installation can make it."""

    def write_pages(app, error) -> None:
        from pathlib import Path

        import qddot
        from qddot.errors import NoAssetError

        values = {"l1": 0.5, "l2": 0.7, "m1": 0.5, "m2": 0.7, "r": 0.04}
        try:
            qddot.load("two_link", symbolic=True).explore(Path(app.outdir) / "two_link.html", values=values)
        except NoAssetError as problem:
            print(f"the docs are without the explorer's page: {problem}")

    app.connect("build-finished", write_pages)
