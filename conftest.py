"""Examples in docstrings and pages: `qddot` and `np` are imported, and files are written into an empty folder."""

from __future__ import annotations

import os

import numpy as np
import pytest
from _pytest.doctest import DoctestItem

import qddot


@pytest.fixture(autouse=True)
def as_in_a_notebook(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, DoctestItem):
        os.environ.setdefault("MPLBACKEND", "Agg")
        request.getfixturevalue("doctest_namespace").update(qddot=qddot, np=np)
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
