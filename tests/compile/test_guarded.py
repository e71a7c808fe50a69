"""Kernels and direct entries stay within their arrays: between forbidden pages, and under valgrind."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

POSIX = pytest.mark.skipif(os.name != "posix", reason="pages are protected by POSIX functions here")
BEYOND = """
import numpy as np
from tests.compile.guarded import Guards
a = Guards().array((3,), np.dtype(float), last={last})
np.lib.stride_tricks.as_strided(a, (4,), (8 if {last} else -8,)).sum()
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, "QDDOT_CACHE": "off"})


@POSIX
@pytest.mark.parametrize("last", [True, False])
def test_guards_see_a_single_number_too_far(last):
    assert run("-c", BEYOND.format(last=last)).returncode < 0


@POSIX
def test_nothing_is_touched_beyond_an_array():
    ended = run("-X", "faulthandler", "-m", "tests.compile.guarded")
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 1000


VALGRIND = shutil.which("valgrind")


@pytest.mark.slow
@pytest.mark.skipif(VALGRIND is None or platform.machine() != "x86_64", reason="needs valgrind on x86-64")
def test_valgrind_has_nothing_to_say(tmp_path):
    """About generated code: nothing; about the rest of the process: no invalid access, beyond those of the system's loader."""
    script = [sys.executable, "-m", "tests.compile.under_valgrind"]
    environment = {**os.environ, "QDDOT_CACHE": str(tmp_path / "cache"), "PYTHONMALLOC": "malloc"}
    report = tmp_path / "report.xml"
    subprocess.run(script, check=True, env=environment)  # so that LLVM has no work below
    watch = [str(VALGRIND), "--quiet", "--xml=yes", f"--xml-file={report}", "--num-callers=4"]
    ended = subprocess.run([*watch, *script], capture_output=True, text=True, env=environment)
    assert ended.stdout == "done\n", ended.stderr
    assert [found for found in complaints(report) if is_ours(*found)] == []


def complaints(report: Path) -> list[tuple[str, list[str]]]:
    """What kind, and the files of the functions it was in, innermost first; generated code is in none."""
    errors = ElementTree.parse(report).getroot().iter("error")
    return [(e.findtext("kind", ""), [f.findtext("obj", "") for f in e.findall("./stack[1]/frame")]) for e in errors]


def is_ours(kind: str, files: list[str]) -> bool:
    if kind in ("UninitCondition", "UninitValue"):  # CPython has some of its own
        return "" in files[:1]
    return "Leak" not in kind and "/ld-" not in files[0]
