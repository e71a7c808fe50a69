"""How fast the explorer's page is in headless Chromium: first frame, equations, script a frame while dragging; and its size.

    python benchmarks/explorer.py [--runs 5]

Times are those of the page itself (`data-ready`, `data-lens`: ms since navigation began). Dragging is timed by a clock around every
callback of `requestAnimationFrame` while the mouse moves the robot's tip; WebGL is Chromium's own, in software.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import qddot
from qddot.catalog import known_names

CLOCK = """
const ask = window.requestAnimationFrame.bind(window);
window.frameTimes = [];
window.requestAnimationFrame = f => ask(t => {
  const start = performance.now();
  f(t);
  window.frameTimes.push(performance.now() - start);
});
"""


def dragged(page: Page) -> list[float]:
    """Script time of each frame, ms, while the mouse drags the ball at the tip."""
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    across, up, _ = page.evaluate("explorerApp.view.tip.position.clone().project(explorerApp.view.camera).toArray()")
    x, y = box["x"] + (across + 1) / 2 * box["width"], box["y"] + (1 - up) / 2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate("window.frameTimes.length = 0")
    for k in range(120):
        page.mouse.move(x + 60 * ((k % 40) / 40 - 0.5), y + 40 * ((k % 30) / 30 - 0.5))
    page.mouse.up()
    return page.evaluate("window.frameTimes")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        print(
            "| robot | page | first frame | equations ready | script a frame while dragging: median, 90 % |\n|---|---|---|---|---|"
        )
        meshes = ["panda/panda"] if "panda/panda" in known_names() else []  # of the extra `robots`
        for name in ("two_link", "arm7", "panda", *meshes):
            path = Path(folder) / f"{name.replace('/', '_')}.html"
            qddot.load(name).explore(path)
            ready, lens, frames = [], [], []
            for _ in range(runs):
                page = browser.new_page(viewport={"width": 1280, "height": 860})
                page.add_init_script(CLOCK)
                page.goto(path.as_uri())
                for attribute, found in (("data-ready", ready), ("data-lens", lens)):
                    html = page.locator(f"html[{attribute}]")
                    html.wait_for(state="attached", timeout=20_000)
                    found.append(float(html.get_attribute(attribute) or "nan"))
                frames += dragged(page)
                page.close()
            cuts = statistics.quantiles(frames, n=10)
            drag = f"{cuts[4]:.1f} ms, {cuts[8]:.1f} ms of {len(frames)} frames"
            size, first, equations = path.stat().st_size / 1e6, statistics.median(ready), statistics.median(lens)
            print(
                f"| {name} | {size:.2f} MB | {first:.0f} ms ({max(ready):.0f}) | {equations:.0f} ms ({max(lens):.0f}) | {drag} |",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
