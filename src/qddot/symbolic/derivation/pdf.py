"""LaTeX documents as PDF, set by the LaTeX program that is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from qddot.errors import MissingProgramError, QddotError

PROGRAMS = ("pdflatex", "lualatex", "tectonic")
SECONDS = 300


class LatexError(QddotError):
    """LaTeX is installed, but fails on the document."""


def pdf(latex: str) -> bytes:
    """Return the document as a PDF file. Raises MissingProgramError: no LaTeX is installed; LatexError: LaTeX fails."""
    program = next(filter(shutil.which, PROGRAMS), None)
    if program is None:
        raise MissingProgramError(
            "a PDF is set by LaTeX, and none of " + ", ".join(PROGRAMS) + " is installed: install TeX Live (Debian, Ubuntu: apt "
            "install texlive-latex-recommended; Fedora: dnf install texlive-collection-latexrecommended; macOS: MacTeX; Windows: "
            "MiKTeX). Or save as .html, and print that"
        )
    options = [] if program == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "derivation.tex").write_text(latex, encoding="utf-8")
        for _ in range(2):  # widths of long tables are known the second time
            done = subprocess.run(
                [program, *options, "derivation.tex"], cwd=folder, capture_output=True, text=True, errors="replace", timeout=SECONDS
            )
            if done.returncode:
                said = [line for line in done.stdout.splitlines() if line.startswith(("!", "l."))] or [done.stderr.strip()]
                raise LatexError(f"{program} does not take the document: {' '.join(said)[:500]}")
        return Path(folder, "derivation.pdf").read_bytes()
