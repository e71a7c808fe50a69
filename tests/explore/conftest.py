"""Pages opened in a real browser.

The page's own rules forbid `eval`, and with it playwright's `wait_for_function`: wait for an attribute, or in a loop of the page.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qddot import assets
from qddot.errors import NoAssetError


@pytest.fixture(scope="session")
def asset() -> None:
    """Tests of pages need the bundle; where it had to be built, its absence is a failure."""
    try:
        assets.asset("explorer.js")
    except NoAssetError as error:
        if os.environ.get("QDDOT_WEB") == "require":
            raise
        pytest.skip(f"the explorer's script is not built: {error}")


@pytest.fixture
def opened(asset, browser, tmp_path) -> Iterator[Callable]:
    """`opened(robot, fragment)`: its page, ready. At the end nothing was complained about and nothing was asked of the network."""
    contexts, said, asked = [], [], []

    def open_page(robot, fragment: str = "", *, width: int = 1280, height: int = 860, scheme: str = "light", **how):
        path = robot if isinstance(robot, Path) else tmp_path / f"{len(contexts)}.html"
        if not isinstance(robot, Path):
            robot.explore(path, **how)
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and said.append(m.text))
        page.on("pageerror", lambda e: said.append(str(e)))
        page.on("request", lambda r: asked.append(r.url))
        page.goto(path.as_uri() + (f"#{fragment}" if fragment else ""))
        for attribute in ("data-ready", "data-lens"):
            page.locator(f"html[{attribute}]").wait_for(state="attached", timeout=20_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [x for x in asked if not x.startswith(("file:", "data:", "blob:"))] == []
