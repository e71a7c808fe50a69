"""Printing of an HTML page as PDF by an installed browser."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from qddot.errors import MissingProgramError, QddotError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
SECONDS = 120


class PrintError(QddotError):
    """A browser is installed, but does not print the page."""


def browser() -> str:
    """Path of a browser that can print without a window. Raises MissingProgramError: none is installed."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise MissingProgramError(
            f"a report as PDF is printed by Chromium, Chrome or Edge, and none of {', '.join(BROWSERS)} is on the path: install "
            "one (Debian, Ubuntu: apt install chromium). Or save as .html, and print that"
        )
    return program


def pdf(page: str, program: str) -> bytes:
    """Print an HTML page by a browser and return the PDF file. Raises PrintError: the browser fails, with its last words."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile"]
        command = [program, *options, f"--print-to-pdf={made}", source.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise PrintError(f"{program} has not printed the report after {SECONDS} s (save it as .html, and print that)") from None
        if not made.exists():
            raise PrintError(f"{program} does not print the report: {done.stderr.strip()[-500:]}")
        return made.read_bytes()
