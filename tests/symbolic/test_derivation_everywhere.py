"""Every robot that loads is derived, by every route into every format: the LaTeX compiles, the HTML is valid and is seen.

All of it takes a quarter of an hour. `RESUME=1 pytest -m slow -n 0 <this file>` goes on where an earlier run with the same source
ended.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import html5lib
import pytest

import qddot
from qddot.errors import InputError
from qddot.symbolic.derivation.steps import Derivation
from tests.robots import CLASSIC
from tests.symbolic.derivable import random_robot
from tests.symbolic.test_derivation import FIRST, METHODS, check_documents

LATEX = pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
SOURCE = Path(qddot.__file__).parent
FEW = (3, 4)
MANY = [range(first, first + 10) for first in range(0, 200, 10)]


@pytest.fixture
def resumed(request):
    """Skips what has passed already with this source, where RESUME is set; remembers what passes."""
    cache, name = request.config.cache, "derivations/" + re.sub(r"\W", "_", request.node.name)
    source = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCE.rglob("*.py")))).hexdigest()
    if os.environ.get("RESUME") and cache.get(name, "") == source:
        pytest.skip("passed already")
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed == failed:
        cache.set(name, source)


def derivations(robot: qddot.Robot, **how) -> list[Derivation]:
    """By every route; two of them refuse joints whose qd is not the rate of q."""
    refused = METHODS[:2] if robot.nq != robot.nv else ()
    for method in refused:
        with pytest.raises(InputError, match="the rate of no coordinates"):
            robot.derive(method, **how)
    return [robot.derive(method, **how) for method in METHODS if method not in refused]


def set_in_all_formats(derivation: Derivation) -> None:
    page = check_documents(derivation)
    html5lib.HTMLParser(strict=True).parse(page)  # raises what browsers would have to mend
    assert page.count("<math ") == page.count("</math>") > 0


def random_derivations(seeds) -> list[Derivation]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # robots that could not be built, and angles read as others
        return [derivation for seed in seeds for derivation in derivations(random_robot(seed))]


def compile_together(documents: list[Derivation], folder) -> None:
    """One run of LaTeX for all of them: what breaks one breaks it."""
    texts = [derivation.latex() for derivation in documents]
    head, _, _ = texts[0].partition(r"\begin{document}")
    bodies = [text.partition(r"\begin{document}")[2].partition(r"\end{document}")[0] for text in texts]
    assert all(text.startswith(head) for text in texts)
    (folder / "all.tex").write_text(
        head + r"\begin{document}" + "\n\\clearpage\n".join(bodies) + r"\end{document}", encoding="utf-8"
    )
    command = ["pdflatex", "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


@pytest.mark.parametrize("seed", FEW)
def test_some_random_robots(seed):
    for derivation in random_derivations([seed]):
        set_in_all_formats(derivation)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_every_random_robot(seeds, tmp_path, resumed):
    made = random_derivations(seeds)
    for derivation in made:
        set_in_all_formats(derivation)
    if shutil.which("pdflatex"):
        compile_together(made, tmp_path)


@pytest.mark.slow
@LATEX
def test_latex_was_there():
    """So that a run without it shows: `test_every_random_robot` compiles what it derives only then."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIC)
def test_every_catalog_robot(name, tmp_path, resumed):
    given, opened = qddot.load(name), qddot.load(name, symbolic=True)
    robots = [given, opened] if opened.model.symbols else [given]
    made = [derivation for robot in robots for derivation in derivations(robot)]
    for derivation in made:
        set_in_all_formats(derivation)
    if shutil.which("pdflatex"):
        compile_together(made, tmp_path)


SEEN = """() => {
  const box = x => x.getBoundingClientRect();
  const maths = [...document.querySelectorAll('details[open] math')];
  return {
    count: maths.length,
    flat: maths.filter(m => box(m).width < 2 || box(m).height < 5).length,
    sunk: [...document.querySelectorAll('mover')].filter(m => box(m.children[1]).top > box(m.children[0]).bottom).length,
    dots: document.querySelectorAll('mover').length,
    errors: document.querySelectorAll('merror, parsererror').length,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    outside: [...document.querySelectorAll('.arm .label math')].filter(m => {
      const a = box(m), b = box(document.querySelector('.arm'));
      return a.left < b.left - 2 || a.right > b.right + 2 || a.top < b.top - 2 || a.bottom > b.bottom + 2;
    }).length,
  };
}"""


@pytest.mark.parametrize("width", [1100, 400])
@pytest.mark.parametrize("method", FIRST)
def test_a_browser_shows_the_page(browser, tmp_path, method, width):
    """Every formula has a size, dots are over their letters, and the page does not overflow."""
    path = qddot.load("rp_arm", symbolic=True).derive(method, gravity="g").save(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    seen = page.evaluate(SEEN)
    context.close()
    assert seen["count"] > 40
    assert seen["dots"] > 10
    assert {name: seen[name] for name in ("flat", "sunk", "errors", "wide", "outside")} == dict.fromkeys(
        ("flat", "sunk", "errors", "wide", "outside"), 0
    )
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_anchors_of_equations_are_their_numbers():
    page = qddot.load("rp_arm", symbolic=True).derive("lagrange").html()
    for name, target, number in re.findall(r'id="eq-([\d.]+)".*?<a href="#eq-([\d.]+)">\(([\d.]+)\)</a>', page):
        assert name == target == number
    assert 'id="eq-8.4"' in page
