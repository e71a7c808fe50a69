"""Examples in docstrings and pages: `qddot` and `np` are imported, and files are written into an empty folder."""

from __future__ import annotations

import os

import numpy as np
import pytest
from _pytest.doctest import DoctestItem

import qddot
from qddot.assets import asset
from qddot.errors import NoAssetError


@pytest.fixture(autouse=True)
def as_in_a_notebook(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, DoctestItem):
        if any(page in x.source for x in request.node.dtest.examples for page in (".explore(", ".report(")):  # need what npm built
            try:
                asset("explorer.js")
            except NoAssetError as error:
                pytest.skip(str(error))
        os.environ.setdefault("MPLBACKEND", "Agg")
        request.getfixturevalue("doctest_namespace").update(qddot=qddot, np=np)
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
