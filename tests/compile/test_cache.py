"""Machine code on disk: found again, never trusted when damaged, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.compile import cache, emit

POSIX = pytest.mark.skipif(os.name != "posix", reason="owners and modes of files are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(path))
    return path


def expected() -> np.ndarray:
    return qddot.load("two_link").mass_matrix([0.1, 0.2])


def no_compiler(monkeypatch) -> None:
    """From here on, code must come from disk."""

    def refuse(*_):
        raise AssertionError("compiled, though it was in the cache")

    monkeypatch.setattr(emit.llvm, "parse_assembly", lambda text: refuse() if text else original(""))


original = emit.llvm.parse_assembly


def test_code_is_found_again(folder, monkeypatch):
    first = expected()
    assert cache.entries()
    no_compiler(monkeypatch)
    np.testing.assert_array_equal(expected(), first)
    with pytest.raises(AssertionError, match="compiled"):
        qddot.load("two_link", gravity=(0, 0, -1)).gravity_torque([0.1, 0.2])


DAMAGES = [lambda c: b"", lambda c: c[:-1], lambda c: c[:100] + bytes([c[100] ^ 1]) + c[101:], lambda c: b"x" + c]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entries_are_made_again(folder, damage):
    first = expected()
    for path in cache.entries():
        path.write_bytes(damage(path.read_bytes()))
    np.testing.assert_array_equal(expected(), first)
    assert all(cache.read(folder, path) is not None for path in cache.entries())


def exchange(a: Path, b: Path) -> None:
    x, y = a.read_bytes(), b.read_bytes()
    a.write_bytes(y)
    b.write_bytes(x)


def test_exchanged_entries_are_made_again(folder):
    """Each is sound by itself, but code for other inputs would read and write beyond its arrays."""
    small, large = qddot.load("two_link"), qddot.load("puma560")
    first = small.mass_matrix(small.neutral()), large.mass_matrix(large.neutral())
    paths = cache.entries()
    exchange(paths[0], paths[1])
    assert [cache.read(folder, path) for path in paths[:2]] == [None, None]
    np.testing.assert_array_equal(qddot.load("two_link").mass_matrix(small.neutral()), first[0])
    np.testing.assert_array_equal(qddot.load("puma560").mass_matrix(large.neutral()), first[1])
    assert all(cache.read(folder, path) is not None for path in paths)


def test_entries_of_another_cache_are_not_trusted(folder, tmp_path, monkeypatch):
    expected()
    other = tmp_path / "other"
    monkeypatch.setenv(cache.VARIABLE, str(other))
    cache.recall(("something",), lambda: b"code")  # makes a secret
    for path in folder.glob("??/*"):
        copy = other / path.relative_to(folder)
        copy.parent.mkdir(exist_ok=True, mode=0o700)
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        assert cache.read(other, copy) is None
    if os.name == "posix":
        assert (folder / cache.SECRET).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "spoil", [lambda p: p.unlink(), lambda p: p.write_bytes(b""), pytest.param(lambda p: p.chmod(0o666), marks=POSIX)]
)
def test_a_lost_secret_costs_the_entries_only(folder, spoil):
    first = expected()
    spoil(folder / cache.SECRET)
    assert all(cache.read(folder, path) is None for path in cache.entries())
    np.testing.assert_array_equal(expected(), first)
    assert all(cache.read(folder, path) is not None for path in cache.entries())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_what_is_no_file_is_not_waited_for(folder):
    first = expected()
    for path in [*cache.entries(), folder / cache.SECRET]:
        path.unlink()
        os.mkfifo(path, 0o600)
        np.testing.assert_array_equal(expected(), first)
    path = cache.entries()[0]
    path.unlink()
    path.symlink_to("/dev/zero")
    np.testing.assert_array_equal(expected(), first)


@POSIX
def test_a_directory_others_can_write_to_is_not_trusted(folder, monkeypatch):
    expected()
    folder.chmod(0o777)
    assert cache.read(folder, cache.entries()[0]) is None
    expected()


@pytest.mark.parametrize("place", [pytest.param("/proc/nowhere/cache", marks=POSIX), "file/cache"])
def test_an_unusable_directory_means_no_cache(place, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / place))
    assert expected().shape == (2, 2)


def test_it_can_be_turned_off(folder, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, "off")
    expected()
    assert not folder.exists()
    assert cache.entries() == []


def test_keys_tell_everything_apart(folder):
    made = []
    for parts in (("a", "b"), ("ab", ""), ("a", "b", ""), ("a", "c")):
        cache.recall(parts, lambda p=parts: made.append(p) or b"code")
    assert len(made) == 4
    assert cache.recall(("a", "b"), lambda: pytest.fail("made again")) == b"code"
    assert cache.clear() == 4
    assert cache.entries() == []


SCRIPT = """
import qddot, sys
for g in range(int(sys.argv[1])):
    qddot.load("puma560", gravity=(0, 0, g / 7)).mass_matrix([0] * 6)
print("done")
"""


def test_concurrent_processes_and_sudden_death(folder):
    environment = {**os.environ, cache.VARIABLE: str(folder)}
    run = [sys.executable, "-c", SCRIPT]
    doomed = [subprocess.Popen([*run, "50"], env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    time.sleep(1.5)
    for process in doomed:
        process.kill()
        process.wait()
    others = [subprocess.Popen([*run, "3"], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [p.communicate()[0].strip() for p in others] == ["done"] * 3
    finished = [path for path in cache.entries() if not path.name.startswith("draft-")]
    assert finished
    assert all(cache.read(folder, path) is not None for path in finished)


def test_only_our_own_files_are_cleared(folder):
    expected()
    mine = folder / "src" / "thesis.tex"
    mine.parent.mkdir()
    mine.write_text("years of work")
    other = cache.entries()[0].parent / "notes"
    other.write_text("more")
    assert cache.clear() > 0
    assert mine.exists()
    assert other.exists()


@POSIX
def test_a_subdirectory_or_file_others_can_write_to_is_not_trusted(folder):
    expected()
    path = cache.entries()[0]
    for place, mode in ((path.parent, 0o777), (path, 0o666)):
        before = place.stat().st_mode & 0o777
        place.chmod(mode)
        assert cache.read(folder, path) is None
        place.chmod(before)
        assert cache.read(folder, path) is not None


def test_home_is_expanded(monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, "~/somewhere")
    assert cache.directory() == Path.home() / "somewhere"
