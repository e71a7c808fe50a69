"""Things that break meanwhile: a full disk, a clock that jumps, threads that do not start. The result is the same, or an error."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import qddot
from qddot.compile import cache, threads


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(path))
    return path


def expected() -> np.ndarray:
    return qddot.load("two_link").mass_matrix([0.1, 0.2])


def drafts(folder) -> list:
    return list(folder.rglob("draft-*"))


@pytest.mark.parametrize("call", ["mkstemp", "fdopen", "replace", "link"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_cannot_be_written_means_no_entry(folder, monkeypatch, call, code):
    owner = tempfile if call == "mkstemp" else os

    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as broken:
        broken.setattr(owner, call, fail)
        cache.recall(("some", "code"), lambda: b"machine code")
    assert cache.recall(("some", "code"), lambda: b"machine code") == b"machine code"
    assert drafts(folder) == []
    assert cache.recall(("some", "code"), lambda: pytest.fail("it was kept")) == b"machine code"


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
import qddot
print(qddot.load("two_link").mass_matrix([0.1, 0.2]).tolist())
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("room", [0, 10, 1000])
def test_a_write_that_breaks_off_leaves_nothing(folder, room):
    """A file system that takes only some bytes of a file."""
    found = subprocess.run([sys.executable, "-c", FULL, str(room)], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout.strip() == str(expected().tolist())
    assert drafts(folder) == []
    assert all(cache.read(folder, path) is not None for path in cache.entries())


@pytest.mark.parametrize("when", [0, 1, 2**31 - 1, 2**33])
def test_clocks_do_not_matter(folder, when, monkeypatch):
    first = expected()
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (when, when))
    monkeypatch.setattr("time.time", lambda: float(2**33 - when))
    assert all(cache.read(folder, path) is not None for path in cache.entries())
    np.testing.assert_array_equal(expected(), first)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_threads_that_do_not_start(started, monkeypatch):
    import qddot.compile.kernel as kernel

    monkeypatch.setattr(kernel, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "cores", lambda: 4)
    robot, x = qddot.load("two_link"), np.random.default_rng(0).normal(size=(3, 1000, 2))
    first, pool, count = robot.inverse_dynamics(*x, threads=1), threads.pool(), 0
    submit = pool.submit

    def fail(*arguments):
        nonlocal count
        count += 1
        if count > started:
            raise RuntimeError("can't start new thread")
        return submit(*arguments)

    monkeypatch.setattr(pool, "submit", fail)
    np.testing.assert_array_equal(robot.inverse_dynamics(*x, threads=4), first)
    assert count == started + 1


def test_a_thread_that_fails_leaves_its_work_to_others(monkeypatch):
    import qddot.compile.kernel as kernel

    monkeypatch.setattr(kernel, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "cores", lambda: 4)
    robot, x = qddot.load("two_link"), np.random.default_rng(0).normal(size=(3, 1000, 2))
    pool, submit = threads.pool(), threads.pool().submit

    def fail(work, k):
        return submit(work, k) if k != 2 else submit(lambda: (_ for _ in ()).throw(MemoryError()))

    expected = robot.inverse_dynamics(*x, threads=1)
    monkeypatch.setattr(pool, "submit", fail)
    np.testing.assert_array_equal(robot.inverse_dynamics(*x, threads=4), expected)
    with pytest.raises(qddot.InputError, match="no memory"):  # of slices, for arrays without equal steps, everybody has one
        robot.inverse_dynamics(x[0, ::-1].reshape(2, 500, 2)[:, :400], *x[1:, :800].reshape(2, 2, 400, 2), threads=4)


COMMAND = "from qddot.cli import main; main(prog_name='qddot')"


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by the shell")
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("info two_link >&-", 0, ""),
        ("catalog >&-", 0, ""),
        ("info two_link > /dev/full", 1, "No space left on device"),
        ("info - <&-", 2, "no standard input"),
        ("info two_link 2>&- | head -1", 0, "Robot 'two_link'"),
    ],
)
def test_commands_live_without_their_streams(line, code, words):
    shell = f'"{sys.executable}" -c "{COMMAND}" {line}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr
    assert "should not happen" not in done.stderr


def test_no_bar_without_a_terminal(monkeypatch):
    """As in a process without a console, where `sys.stderr` is None; or where it was closed."""
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        assert len(qddot.load("two_link").simulate([0, 0], t=0.01).t) == 11
