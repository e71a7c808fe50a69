"""Figures of each test are closed after it."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def close():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
