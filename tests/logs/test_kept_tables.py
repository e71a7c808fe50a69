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
from qddot.logs.table import Hints, Table

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
