"""The same bits on every processor with fused multiply-add, and on every processor without."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import cache

import pytest

from qddot.compile.llvm import this_computer
from qddot.compile.processor import computer
from tests.platforms import arm64, probe
from tests.platforms.compare import differences

X86 = platform.machine() in ("x86_64", "AMD64")
needs_fma = pytest.mark.skipif(not X86 or not this_computer().fma, reason="needs an x86-64 with fused multiply-add")


@cache
def digests(level: str) -> dict[str, str]:
    """Of code for less than this computer has, in a process of its own."""
    run = [sys.executable, "-W", "ignore", probe.__file__, *(["--level", level] if level else [])]
    said = subprocess.run(run, check=True, stdout=subprocess.PIPE, env={**os.environ, "QDDOT_CACHE": "off"}).stdout
    return json.loads(said)["digests"]


@needs_fma
@pytest.mark.slow
@pytest.mark.parametrize("level", ["avx2", "fma16"])
def test_vectors_of_any_length_give_the_same_bits(level):
    assert digests(level) == digests("")


@pytest.mark.slow
@pytest.mark.skipif(not X86 or this_computer().vector_bytes < 32, reason="needs an x86-64 with AVX")
def test_without_fused_multiply_add_too():
    assert digests("avx") == digests("sse2")


@needs_fma
@pytest.mark.slow
def test_aarch64_gives_the_bits_of_x86():
    """By emulation."""
    try:
        python = arm64.command()
    except arm64.Unavailable as reason:
        pytest.skip(str(reason))
    said = json.loads(subprocess.run([*python, probe.__file__], check=True, stdout=subprocess.PIPE).stdout)
    assert (said["about"]["machine"], said["about"]["fma"], said["about"]["direct_entry"]) == ("aarch64", True, "yes")
    assert said["digests"] == digests("")


@pytest.mark.parametrize(
    ("triple", "features", "expected"),
    [
        ("arm64-apple-darwin23.4.0", {}, (16, True)),  # LLVM lists none there
        ("aarch64-unknown-linux-gnu", {"neon": True}, (16, True)),
        ("aarch64-pc-windows-msvc", {}, (16, True)),
        ("x86_64-apple-darwin23.4.0", {"avx": True, "avx2": True, "fma": True}, (32, True)),
        ("x86_64-pc-windows-msvc", {"avx512f": True, "avx": True, "fma": True}, (64, True)),
        ("x86_64-unknown-linux-gnu", {"avx": True}, (32, False)),
        ("x86_64-unknown-linux-gnu", {"sse4.2": True}, (16, False)),
    ],
)
def test_what_a_computer_can(triple, features, expected):
    found = computer("22.1.0", triple, "some-cpu", features)
    assert (found.vector_bytes, found.fma) == expected


def test_computers_are_compared_with_their_kind():
    def report(fma: bool, bits: str) -> dict:
        return {"about": {"fma": fma}, "digests": {"arm7 mass_matrix": bits, "arm7 inverse_dynamics": "same"}}

    reports = {"linux": report(True, "a"), "old": report(False, "b"), "mac": report(True, "a"), "older": report(False, "b")}
    assert differences(reports) == []
    assert differences({**reports, "odd": report(True, "c")}) == ["odd differs from linux in 1 of 2: arm7 mass_matrix"]
