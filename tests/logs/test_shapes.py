"""Tables of other shapes: a row for each joint, lists and names in cells, dates as people write them, quantities apart."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.logs.log import Log

ROBOT = qddot.load("two_link")
T = np.arange(300) / 100
Q = np.sin(np.pi * T[:, None] + np.arange(2))
TAU = 3 * Q + [1, 2]


def written(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def same(log: Log) -> None:
    for found, known in ((log.t, T), (log.q, Q), (log.tau, TAU)):
        np.testing.assert_allclose(found, known, atol=1e-6)


def tall_rows(order: tuple[int, ...] = (0, 1), names: tuple[str, ...] = ("joint1", "joint2")) -> list[str]:
    return [f"{t:.3f},{names[j]},{q[j]:.9g},{tau[j]:.9g}" for t, q, tau in zip(T, Q, TAU) for j in order]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_row_for_each_joint(tmp_path: Path, order: tuple[int, ...]) -> None:
    log = Log.load(written(tmp_path / "a.csv", "time,joint,position,effort", tall_rows(order)), ROBOT)
    same(log)
    assert any("a row for each joint" in found.message for found in log.findings)
    same(Log.load(written(tmp_path / "b.csv", "time,joint,position,effort", tall_rows(order, ("1", "2"))), ROBOT))


def test_a_row_for_each_joint_that_is_not_sorted_or_not_whole(tmp_path: Path) -> None:
    rows = tall_rows()
    for few in (slice(None), slice(40)):
        with pytest.raises(InputError, match=r"a row for each joint, as 'joint' says.*sort"):
            Log.load(written(tmp_path / "a.csv", "time,joint,position,effort", rows[::2][few] + rows[1::2][few]), ROBOT)
    with pytest.raises(InputError, match=r"row 11: .* is empty"):
        Log.load(written(tmp_path / "b.csv", "time,joint,position,effort", rows[:21] + rows[22:]), ROBOT)
    assert len(Log.load(tmp_path / "b.csv", ROBOT, repair=True)) == 299
    with pytest.raises(InputError, match="a row of 'gripper'; the first time has joint1, joint2"):
        Log.load(written(tmp_path / "c.csv", "time,joint,position,effort", [*rows, "9.0,gripper,0,0"]), ROBOT)


@pytest.mark.parametrize("quote", ["'", '""'])
def test_lists_of_numbers_beside_lists_of_names(tmp_path: Path, quote: str) -> None:
    rows = [
        f'{t:.3f},"[{quote}joint2{quote}, {quote}joint1{quote}]","[{q[1]:.9g}, {q[0]:.9g}]","[{tau[1]:.9g}, {tau[0]:.9g}]"'
        for t, q, tau in zip(T, Q, TAU)
    ]
    same(Log.load(written(tmp_path / "a.csv", "Time,name,position,effort", rows), ROBOT))


@pytest.mark.parametrize(
    ("pattern", "separator"),
    [("%d.%m.%Y %H:%M:%S,%f", ";"), ("%Y/%m/%d %H:%M:%S.%f", ","), ("%I:%M:%S.%f %p", ","), ("%d.%m.%Y, %H:%M:%S.%f", ";")],
)
def test_dates_as_people_write_them(tmp_path: Path, pattern: str, separator: str) -> None:
    """Over noon, and over midnight at the end of a month where there is a date."""
    begin = datetime(2026, 2, 28, 23, 59, 58) if "d" in pattern else datetime(2026, 2, 28, 11, 59, 58)
    stamps = [(begin + timedelta(seconds=float(t))).strftime(pattern) for t in T]
    rows = [separator.join([stamp, *(f"{x:.9g}" for x in (*q, *tau))]) for stamp, q, tau in zip(stamps, Q, TAU)]
    same(Log.load(written(tmp_path / "a.csv", separator.join(["time", "q1", "q2", "tau1", "tau2"]), rows), ROBOT))


def test_dates_that_may_be_read_in_two_ways_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"31\.01\.2024 12:00:00 and"):
        Log.load(written(tmp_path / "a.csv", "time,q1,tau1", ["02/03/2026 12:00:00,0,0", "02/03/2026 12:00:01,0,0"]))
    with pytest.raises(InputError, match="no clock with AM and PM"):
        Log.load(written(tmp_path / "b.csv", "time,q1,tau1", ["11:00:00 AM,0,0", "13:00:01 PM,0,0"]))


def test_quantities_in_rows_of_their_own_are_not_called_repairable(tmp_path: Path) -> None:
    rows = [
        f"{t:.3f},{q[0]:.9g},{q[1]:.9g},," if k % 2 else f"{t:.3f},,,{q[0]:.9g},{q[1]:.9g}" for k, (t, q) in enumerate(zip(T, Q))
    ]
    with pytest.raises(InputError, match=r"no row has all columns: .*np\.interp") as refused:
        Log.load(written(tmp_path / "a.csv", "t,q1,q2,tau1,tau2", rows), ROBOT)
    assert "repair" not in str(refused.value)


def test_a_row_that_is_left_out_leaves_a_gap_and_no_rounded_stamps(tmp_path: Path) -> None:
    rows = [f"{t:.3f},{q[0]:.9g},{q[1]:.9g},{tau[0]:.9g},{tau[1]:.9g}" for t, q, tau in zip(T, Q, TAU)]
    rows[77] = f"{T[77]:.3f},,,,"
    log = Log.load(written(tmp_path / "a.csv", "t,q1,q2,tau1,tau2", rows), ROBOT, repair=True)
    assert len(log) == 299
    assert not any("rounded" in found.message for found in log.findings)


def test_dates_of_parquet_are_time_whatever_they_are_called(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name in ("ts", "__index_level_0__"):
        dates = arrow.array((1.7e18 + 1e9 * T).astype(np.int64), arrow.timestamp("ns"))
        table = arrow.table({"q1": Q[:, 0], "q2": Q[:, 1], "tau1": TAU[:, 0], "tau2": TAU[:, 1], name: dates})
        parquet.write_table(table, tmp_path / "a.parquet")
        same(Log.load(tmp_path / "a.parquet", ROBOT))


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [("x.mcap", b"\x89MCAP0\r\n", "damaged"), ("x.parquet", b"PAR1PAR1", "damaged"), ("x.npz", b"a,b", "text")],
)
def test_a_file_of_nothing_but_its_mark_is_damaged(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=told):
        Log.load(tmp_path / name)


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder without a bag"):
        Log.load(tmp_path)


def test_a_log_that_is_too_short_for_any_filter() -> None:
    with pytest.raises(InputError, match=r"\(a longer log\)"):
        ROBOT.identify(Log(T[:5], Q[:5], TAU[:5], joint_names=ROBOT.joint_names))
