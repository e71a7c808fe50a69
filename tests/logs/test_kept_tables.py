"""A file is parsed once, however often its samples are gone through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.logs import Log, kept_tables, readers
from qddot.logs.kept_tables import Kept
from qddot.logs.table import Hints, Table, joined

ROWS = 2000


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lengths of the tables that readers made."""
    lengths: list[int] = []
    read = readers.read_file

    def counted(path: Path, rows: int, hints: Hints) -> Iterator[Table]:
        for table in read(path, rows, hints):
            lengths.append(len(table))
            yield table

    monkeypatch.setattr(readers, "read_file", counted)
    return lengths


@pytest.fixture
def path(tmp_path: Path) -> Path:
    robot, t, w = qddot.load("two_link"), np.arange(ROWS) / 100.0, np.array([1.0, 1.37])
    q, qd, qdd = (f(np.outer(t, w)) * w**k for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x))))
    tau = robot.inverse_dynamics(q, qd, qdd) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    np.savetxt(tmp_path / "run.csv", np.column_stack([t, q, tau]), delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    return tmp_path / "run.csv"


@pytest.mark.parametrize("rows", [100_000, 700])
def test_identification_parses_once(path: Path, parsed: list[int], rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_tables, "KEPT_IN_MEMORY", 10_000)  # so that a file serves, too
    robot = qddot.load("two_link")
    robot.identify(Log.chunks(path, robot, rows=rows), method="irls")
    assert sum(parsed) == ROWS


def test_every_pass_is_the_same(path: Path, parsed: list[int]) -> None:
    chunks = Log.chunks(path, rows=700)
    assert chunks.whole() is None  # which reads no further than it takes
    assert sum(parsed) == 1400
    first, second = list(chunks), list(chunks)
    assert [len(log) for log in first] == [700, 700, 600]
    assert all(np.array_equal(a.q, b.q) and a.findings == b.findings for a, b in zip(first, second))
    assert sum(parsed) == ROWS


def test_a_fault_is_told_in_every_pass() -> None:
    def broken() -> Iterator[Table]:
        yield Table("run.csv", {"t": np.zeros(3)})
        raise InputError("run.csv: row 4: no number")

    tables = Kept(broken())
    for _ in range(2):
        with pytest.raises(InputError, match="row 4"):
            list(tables)


def test_no_room_for_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_tables.tempfile.SpooledTemporaryFile, "write", full)
    with pytest.raises(InputError, match=r"no room for a recording .*No space left.*TMPDIR"):
        next(iter(Kept([Table("run.csv", {"t": np.zeros(3)})])))


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_blocks_make_the_whole_file(path: Path, suffix: str) -> None:
    """A file is read in blocks: joined, they are what one block of all rows is, with the faults where they were."""
    if suffix == ".npz":
        columns = joined(list(readers.read(path))).columns
        np.savez(path.with_suffix(suffix), **columns)
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[1501] = lines[1501].rpartition(",")[0]  # row 1501 lacks its last number
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    repaired = Hints(repair=True)
    whole, parts = (list(readers.read(path.with_suffix(suffix), rows, repaired)) for rows in (100_000, 300))
    assert (len(whole), len(parts)) == (1, 7)
    together = joined(parts)
    assert together.faults == whole[0].faults
    assert together.findings == whole[0].findings
    assert all(np.array_equal(together.columns[name], x, equal_nan=True) for name, x in whole[0].columns.items())


def test_blocks_that_do_not_go_together() -> None:
    first = Table("run.mcap", {"t": np.zeros(3), "q": np.zeros((3, 2))})
    others = {"'q' is of another width": {"t": np.ones(3), "q": np.ones((3, 4))}, "columns are missing": {"t": np.ones(3)}}
    for why, other in others.items():
        with pytest.raises(InputError, match=f"row 4.*{why}"):
            joined([first, Table("run.mcap", other, row=4)])


@pytest.mark.parametrize("rows", [7, 20, 21, 22])
def test_empty_lines_at_the_end(tmp_path: Path, rows: int) -> None:
    """However many rows a block has, and whether the last of it is such a line."""
    lines = ["t,q,tau", *(f"{k / 100},{k},{-k}" for k in range(20)), "", ""]
    (tmp_path / "run.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    together = joined(list(readers.read(tmp_path / "run.csv", rows)))
    assert len(together) == 20
    assert not together.faults
