"""What differs on macOS and Windows, tried here with the facts of those systems."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.compile import cache

SOURCES = sorted(Path(qddot.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize(
    ("system", "environment", "expected"),
    [
        ("linux", {}, ".cache"),
        ("darwin", {}, "Library/Caches"),
        ("win32", {}, ".cache"),
        ("win32", {"LOCALAPPDATA": "/users/me/AppData/Local"}, "/users/me/AppData/Local"),
        ("linux", {"LOCALAPPDATA": "/elsewhere"}, ".cache"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, "/scratch"),
        ("darwin", {"XDG_CACHE_HOME": "/scratch"}, "/scratch"),
    ],
)
def test_where_a_system_keeps_what_can_be_made_again(system, environment, expected):
    place = Path(expected) if expected.startswith("/") else Path.home() / expected
    assert cache.usual_place(system, environment) == place


WITHOUT_POSIX = """
import os, sys, asyncio, concurrent.futures, ctypes, pathlib, subprocess, tempfile
import llvmlite.binding, numpy
functions = "getuid", "geteuid", "fork", "register_at_fork", "sched_getaffinity", "mkfifo"
for name in (*functions, "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "posix"):
    sys.modules[name] = None
import qddot
from qddot.compile import cache, emit
x = numpy.ones((3, 20000, 7))
first = qddot.load("arm7").inverse_dynamics(*x, threads=2)
made = len(cache.entries())
real = emit.llvm.parse_assembly
emit.llvm.parse_assembly = lambda text: real("") if not text else sys.exit("not in the cache")
again = qddot.load("arm7").inverse_dynamics(*x, threads=2)
assert (first == again).all()
print(made > 0, cache.clear() == made)
"""


def test_a_python_without_posix_computes_and_keeps_its_code(tmp_path):
    """As on Windows: no owners, no fork, no affinity."""
    run = [sys.executable, "-c", WITHOUT_POSIX]
    ended = subprocess.run(run, capture_output=True, text=True, env={**os.environ, cache.VARIABLE: str(tmp_path / "cache")})
    assert ended.stdout.split() == ["True", "True"], ended.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def in_use(*places: object, **options: object) -> None:
    raise PermissionError(13, "The process cannot access the file because it is being used by another process")


def test_an_entry_that_is_in_use_is_not_replaced(folder, monkeypatch):
    """Windows lets nobody replace or delete an open file."""
    expected = qddot.load("two_link").mass_matrix([0.1, 0.2])
    for path in cache.entries():
        path.write_bytes(b"damaged")
    monkeypatch.setattr(cache.write, "__defaults__", (in_use,))  # in place of os.replace
    np.testing.assert_array_equal(qddot.load("two_link").mass_matrix([0.1, 0.2]), expected)
    assert all(path.read_bytes() == b"damaged" for path in cache.entries())


def test_clearing_leaves_what_is_in_use(folder, monkeypatch):
    qddot.load("two_link").mass_matrix([0.1, 0.2])
    before = cache.entries()
    monkeypatch.setattr(Path, "unlink", in_use)
    assert cache.clear() == 0
    assert cache.entries() == before


def test_no_type_is_as_wide_as_a_long():
    """A C `long` has 32 bits on Windows, so nothing here may be one."""
    long = re.compile(r"\bc_u?long\b|\bnp\.u?long\b|dtype=[\"']u?l(?:ong)?[\"']|struct\.\w+\([\"'][^\"'<>]*[lL]")
    assert [path.name for path in SOURCES if long.search(path.read_text("utf-8"))] == []
