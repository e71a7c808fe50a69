"""With the README alone: an arm of one's own, its equations as PDF and HTML, a simulated plot and a page, in six commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib
import pytest

from qddot import assets
from qddot.errors import NoAssetError
from tests.newcomers.commands import commands, inside, said

matplotlib.use("Agg")
SIX = commands("README.md", "Six commands to begin with")


@pytest.fixture
def folder(tmp_path):
    with inside(tmp_path) as there:
        said(SIX[0])
        yield there


def the(ending: str) -> str:
    return next(command for command in SIX if command.endswith(ending))


def test_they_are_six_and_the_start_page_has_the_same():
    assert len(SIX) == 6
    assert commands("docs/start.md", "Six commands") == SIX


def test_a_description_its_equations_and_a_plot(folder: Path):
    assert "values = {" in (folder / "arm.toml").read_text()
    assert "0 errors, 0 warnings" in said(SIX[1])
    said(the("arm.html"))
    page = (folder / "arm.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    said(the("motion.png"))
    assert (folder / "motion.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_equations_as_pdf(folder: Path):
    said(the("arm.pdf"))
    assert (folder / "arm.pdf").read_bytes().startswith(b"%PDF")


def test_a_page_to_play_with(folder: Path):
    try:
        assets.asset("explorer.js")
    except NoAssetError as error:
        pytest.skip(str(error))
    said(the("page.html"))
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>arm</title>" in page
    assert "default-src 'none'" in page  # its own policy: nothing leaves it
