"""Settings shared by all tests; and after them, for each quantity the worst relative error found against the oracles."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from qddot.errors import MissingExtraError

settings.register_profile("qddot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("qddot"), max_examples=12)  # for tools/mutation.py
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "qddot"))

os.environ.setdefault("QDDOT_CACHE", "off")  # what is tested is compiled here and now


CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """Chromium from the system, driven by playwright without a download of its own. One for all: playwright runs once a process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM)
        yield opened
        opened.close()


@pytest.fixture
def cared_for(monkeypatch) -> list[int]:
    """How many states were computed with care, call by call."""
    from qddot.constraints.constrained import ConstrainedRobot

    counts, careful = [], ConstrainedRobot.accelerations

    def count(self, q, *arguments, **inputs):
        counts.append(q[..., 0].size)
        return careful(self, q, *arguments, **inputs)

    monkeypatch.setattr(ConstrainedRobot, "accelerations", count)
    return counts


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """A test that needs an extra which is not installed is skipped; some have no wheels for every Python and system."""
    return (yield from without_extras())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    return (yield from without_extras())


def without_extras():
    try:
        return (yield)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


worst: dict[str, float] = {}


def merge(found: dict[str, float]) -> None:
    for what, value in found.items():
        worst[what] = max(value, worst.get(what, 0.0))


def pytest_sessionfinish(session) -> None:
    comparison = sys.modules.get("tests.oracles.comparison")
    found = comparison.worst if comparison else {}
    if hasattr(session.config, "workeroutput"):  # in a worker of xdist: hand over
        session.config.workeroutput["worst"] = found
    else:
        merge(found)


def pytest_configure(config) -> None:
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Collector())


class Collector:
    """Beside xdist's workers: takes what each of them found."""

    def pytest_testnodedown(self, node) -> None:
        merge(getattr(node, "workeroutput", {}).get("worst", {}))


def pytest_terminal_summary(terminalreporter) -> None:
    if worst:
        terminalreporter.section("worst relative error against Pinocchio and MuJoCo")
        for what, value in sorted(worst.items()):
            terminalreporter.write_line(f"{what:<36} {value:.1e}")
