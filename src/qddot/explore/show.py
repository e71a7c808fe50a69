"""Output of a page: into a file, a browser, or the notebook that called for it."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from pathlib import Path

from qddot.arguments import file_path
from qddot.card import framed
from qddot.errors import InputError
from qddot.files import write_whole

HEIGHT = 860
"""px: height of the page inside a notebook."""


class Page:
    """The explorer as a self-contained document; in a notebook it shows itself.

    Attributes:
        html: the whole document.
        path: of the file that was written last, or None.
    """

    def __init__(self, html: str, name: str) -> None:
        self.html, self.name = html, name
        self.path: Path | None = None

    def save(self, path: str | Path) -> Path:
        """Write the file, whole or not at all, and return its path. Raises InputError: the name does not end in .html."""
        path = file_path("path", path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{path.name!r} ends in {path.suffix!r}: a page is written to .html")
        write_whole(path, self.html.encode())
        self.path = path
        return path

    def open(self) -> Path:
        """Show it in the browser, from a temporary file; return the path of the file."""
        folder = Path(tempfile.mkdtemp(prefix="qddot-"))
        path = self.save(folder / "explorer.html")
        if not webbrowser.open(path.as_uri()):
            print(f"no browser was found: open {path}", file=sys.stderr)
        return path

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own."""
        return framed(self.html, height=HEIGHT, allowed="allow-scripts")

    def __repr__(self) -> str:
        return f"Page of {self.name!r}: {len(self.html) / 1e6:.2f} MB of HTML; .save('page.html') writes it, .open() shows it"


def shown(page: Page, path: str | Path | None) -> Page:
    """Save the page if a path is given; otherwise open the browser, except in a notebook, which shows the page itself."""
    if path is not None:
        page.save(path)
    elif not in_notebook():
        page.open()
    return page


def in_notebook() -> bool:
    """True inside Jupyter, VS Code's notebooks and marimo."""
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and hasattr(shell, "kernel"):
            return True
    marimo = sys.modules.get("marimo")
    return bool(marimo is not None and marimo.running_in_notebook())
