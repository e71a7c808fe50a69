"""The page in Firefox, over WebDriver BiDi, which it speaks by itself. Without a screen it has no WebGL: numbers are looked at."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

import qddot

FIREFOX = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)
READY = "async () => { while (!document.documentElement.dataset.lens) await new Promise((go) => setTimeout(go, 50)); return true; }"
SLID = """async () => {
  const slider = document.querySelectorAll(".controls input[type=range]")[1], before = explorerApp.frames;
  slider.value = 1 / 3;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  while (explorerApp.frames <= before) await new Promise((go) => setTimeout(go, 20));
  const { state, physics } = explorerApp;
  const shown = [...document.querySelectorAll("[data-entry^=mass_matrix]")].map((x) => x.number);
  return { q: [...state.q], M: [...physics.M], shown };
}"""
MOVED = """async () => {
  for (let k = 0; k < 500; k++) if (!explorerApp.simulation.advance()) throw new Error("stopped");
  return explorerApp.simulation.samples.map((s) => ({ q: [...s.q], qd: [...s.qd] }));
}"""
FONTS = "async () => { await document.fonts.ready; return [...document.fonts].map((x) => x.status); }"


@pytest.fixture
def firefox(asset, tmp_path) -> Iterator[Callable]:
    """`firefox(method, **parameters)` sends a command; `firefox.events` holds what the browser said by itself."""
    client = pytest.importorskip("websockets.sync.client")
    if FIREFOX is None:
        pytest.skip("no firefox on the path")
    profile = tmp_path / "profile"
    profile.mkdir()
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0", "about:blank"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr
        address = next((m[1] for line in process.stderr if (m := re.search(r"BiDi listening on (ws://\S+)", line))), None)
        if address is None:
            pytest.skip("this firefox does not start here")
        numbers = count(1)
        with client.connect(f"{address}/session", origin=None, max_size=None) as socket:

            def send(method: str, **parameters: Any) -> Any:
                number = next(numbers)
                socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
                while True:
                    got = json.loads(socket.recv(timeout=60))
                    if got.get("id") == number:
                        assert got["type"] == "success", got
                        return got["result"]
                    send.events.append(got)

            send.events = []  # type: ignore[attr-defined]
            send("session.new", capabilities={})
            yield send
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()  # type: ignore[union-attr]


def test_numbers_and_motion_in_firefox(firefox, tmp_path):
    robot = qddot.load("two_link")
    robot.explore(tmp_path / "arm.html")
    tab = firefox("browsingContext.getTree")["contexts"][0]["context"]
    firefox("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
    firefox("browsingContext.navigate", context=tab, url=(tmp_path / "arm.html").as_uri(), wait="complete")

    def asked(script: str) -> Any:
        text = f"({script})().then(JSON.stringify)"
        return json.loads(
            firefox("script.evaluate", expression=text, target={"context": tab}, awaitPromise=True)["result"]["value"]
        )

    assert asked(READY)
    assert "loaded" in asked(FONTS)
    found = asked(SLID)
    assert found["q"][1] == pytest.approx(1 / 3, abs=1e-15)
    want = robot.mass_matrix(found["q"]).ravel()
    assert np.abs(np.array(found["M"]) - want).max() <= 1e-12
    assert found["shown"] == found["M"]
    moved, motion = asked(MOVED), robot.simulate(found["q"], None, 0.5)
    assert np.abs(np.array(moved[-1]["q"]) - motion.q[-1]).max() <= 1e-6
    said = [x["params"] for x in firefox.events]
    assert [x["text"] for x in said if x.get("level") == "error" and "WebGL" not in (x["text"] or "")] == []
    asked_for = [x["request"]["url"] for x in said if "request" in x]
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in asked_for)
