"""Sphinx: the pages are Markdown; their code runs in the tests as doctests."""

project = "qddot"
author = "The qddot authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
suppress_warnings = ["myst.xref_missing"]
