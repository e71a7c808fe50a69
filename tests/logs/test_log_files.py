"""Files as other programs write them: each is read right, or refused in words that say what to do."""

from __future__ import annotations

import gzip
import sqlite3
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, MissingExtraError
from qddot.logs.log import Log

SAMPLES = 300
T = np.arange(SAMPLES) / 100
PHASE = 2 * np.pi * 0.5 * T[:, None] + np.arange(2)
DATA = {"t": T, "q": np.sin(PHASE), "qd": np.pi * np.cos(PHASE), "tau": 3 * np.sin(PHASE) + [1, 2]}
NAMES = ["t", "q1", "q2", "tau1", "tau2"]
VALUES = np.column_stack([DATA["t"], DATA["q"], DATA["tau"]])
FLIPPED = {key: values if values.ndim == 1 else values[:, ::-1] for key, values in DATA.items()}
EPOCH = 1_700_000_000


def lines(separator: str = ",", comma: bool = False, quote: str = "", tail: str = "", values: np.ndarray = VALUES) -> str:
    def text(x: float) -> str:
        return quote + (f"{x:.12g}".replace(".", ",") if comma else f"{x:.12g}") + quote

    return "".join(separator.join(map(text, row)) + tail + "\n" for row in values)


def same(log: Log, *keys: str, data: dict[str, np.ndarray] = DATA, tolerance: float = 1e-9) -> None:
    for key in keys or ("t", "q", "tau"):
        np.testing.assert_allclose(getattr(log, key), data[key], atol=tolerance, err_msg=key)


def said(log: Log, topic: str) -> str:
    return "\n".join(f.message for f in log.findings if f.code == topic)


# text -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "text", "encoding"),
    [
        (".csv", ";".join(NAMES) + "\n" + lines(";", comma=True), "utf-8"),
        (".csv", "\t".join(NAMES) + "\n" + lines("\t", comma=True), "utf-8"),
        (".csv", ",".join(NAMES) + "\n" + lines(",", comma=True, quote='"'), "utf-8"),
        (".csv", ";".join(f'"{name}"' for name in NAMES) + ";\n" + lines(";", comma=True, quote='"', tail=";"), "utf-8-sig"),
        (".csv", ",".join(NAMES) + ",\n" + lines(tail=","), "utf-8"),
        (".csv", ",".join(NAMES) + "\n" + lines(tail=","), "utf-8"),
        (".csv", ",".join(NAMES) + ",\n" + lines(), "utf-8"),
        (".csv", "\t".join(NAMES) + "\n" + lines("\t"), "utf-16"),
        (".csv", "sep=;\n" + ";".join(NAMES) + "\n" + lines(";"), "utf-8-sig"),
        (".csv", "|".join(NAMES) + "\n" + lines("|"), "utf-8"),
        (".txt", "# " + " ".join(NAMES) + "\n" + lines(" "), "utf-8"),
        (".log", "# a robot\n# in the lab, today\n# " + " ".join(NAMES) + "\n" + lines("   "), "utf-8"),
        (".dat", "% a robot\n\n" + ",".join(NAMES) + "\n\n" + lines(), "utf-8"),
        (".csv", "Recorder 3.1\nrobot;left\n\n" + ";".join(NAMES) + "\n" + lines(";"), "utf-8"),
        (".csv", ",".join(["", *NAMES]) + "\n" + lines(values=np.column_stack([np.arange(SAMPLES), VALUES])), "utf-8"),
    ],
)
def test_text(tmp_path: Path, suffix: str, text: str, encoding: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(text.encode(encoding))
    same(Log.load(path))
    for rows in (7, 100_000):
        np.testing.assert_allclose(np.concatenate([part.q for part in Log.chunks(path, rows=rows)]), DATA["q"], atol=1e-9)


def test_decimal_commas_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(";".join(NAMES) + "\n" + lines(";", comma=True))
    assert "commas for points" in said(Log.load(tmp_path / "a.csv"), "numbers")
    (tmp_path / "b.csv").write_text("t;q1;tau1\n" + "".join(f"{k / 10};{k};0\n" for k in range(100)) + "10,0;1;2\n")
    with pytest.raises(InputError, match=r"row 101: t = '10,0' is not a number \(a comma for a point\?"):
        Log.load(tmp_path / "b.csv")


def test_packed_text(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write(",".join(NAMES) + "\n" + lines())
    same(Log.load(tmp_path / "a.csv.gz"))
    (tmp_path / "a.mat.gz").write_bytes(b"")
    with pytest.raises(InputError, match="only text is read so: unpack it"):
        Log.load(tmp_path / "a.mat.gz")


def test_units_below_the_names(tmp_path: Path) -> None:
    scaled = VALUES * [1000, *[180 / np.pi] * 2, *[1000] * 2]
    (tmp_path / "a.csv").write_text(",".join(NAMES) + "\nms,deg,deg,mNm,mNm\n" + lines(values=scaled))
    log = Log.load(tmp_path / "a.csv")
    same(log)
    assert "units in the line below the names: ms, deg, mNm" in said(log, "columns")


def test_files_by_another_name(tmp_path: Path) -> None:
    text = ",".join(NAMES) + "\n" + lines()
    (tmp_path / "a.csv").write_bytes(gzip.compress(text.encode()))
    same(Log.load(tmp_path / "a.csv"))
    for suffix in (".h5", ".mat", ".npz", ".npy", ".parquet", ".feather", ".arrow", ".mcap", ".db3"):
        (tmp_path / f"a{suffix}").write_text(text)
        with pytest.raises(InputError, match=rf"a{suffix}: text, not {suffix} \(call it .csv"):
            Log.load(tmp_path / f"a{suffix}")


def test_a_single_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,q1,tau1\n0,1,2\n")
    with pytest.raises(InputError, match="a single row: no step that tells the unit of time"):
        Log.load(tmp_path / "a.csv")
    assert len(Log.load(tmp_path / "a.csv", time_unit="ms")) == 1


def test_signs_of_another_alphabet(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        ("t,q1 [°],q2 [°],tau1,tau2\n" + lines(values=VALUES * [1, 0.57, 0.57, 1, 1])).encode("cp1252")
    )
    np.testing.assert_allclose(Log.load(tmp_path / "a.csv").q, np.radians(0.57 * DATA["q"]), atol=1e-9)


@pytest.mark.parametrize(
    "form", ["2024-02-28T23:59:{:09.6f}", "2024-02-28 23:59:{:09.6f}Z", "2024-02-28T23:59:{:09.6f}+01:00", "23:59:{:09.6f}"]
)
def test_dates_and_clocks(tmp_path: Path, form: str) -> None:
    rows = "".join(f"{form.format(t)},{rest}\n" for t, rest in zip(T, lines(values=VALUES[:, 1:]).splitlines()))
    (tmp_path / "a.csv").write_text(",".join(NAMES) + "\n" + rows)
    log = Log.load(tmp_path / "a.csv")
    same(log, tolerance=1e-8)
    assert "t begins at" in said(log, "time")


def test_dates_past_midnight_and_other_dates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,q1,tau1\n2024-02-28T23:59:59.9,0,0\n2024-02-29T00:00:00,1,0\n2024-02-29T00:00:00.1,2,0\n")
    np.testing.assert_allclose(Log.load(tmp_path / "a.csv").t, [0, 0.1, 0.2], atol=1e-9)
    (tmp_path / "b.csv").write_text("t,q1,tau1\n01/31/2024 12:00:00,0,0\n01/31/2024 12:00:01,1,0\n")
    with pytest.raises(InputError, match=r"row 1: t = '01/31/2024 12:00:00' is not a number \(a date\? those like 2024-01-31T"):
        Log.load(tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (["2024-10-27T02:59:59.9+02:00", "2024-10-27T02:00:00.0+01:00", "2024-10-27T01:00:00.1Z"], [0, 0.1, 0.2]),
        (["2024-10-27T02:59:59.9+02:00", "2024-10-27T03:00:00.0+01:00", "2024-10-27T03:00:00.1+01:00"], [0, 3600.1, 3600.2]),
        (["2024-12-31 23:59:59.9-0530", "2025-01-01 05:30:00.0+00", "2024-12-31 18:30:00.1-1130"], [0, 0.1, 1800.2]),
    ],
)
def test_offsets_from_utc_count(tmp_path: Path, stamps: list[str], expected: list[float]) -> None:
    (tmp_path / "a.csv").write_text("t,q1,tau1\n" + "".join(f"{stamp},{i},0\n" for i, stamp in enumerate(stamps)))
    np.testing.assert_allclose(Log.load(tmp_path / "a.csv").t, expected, atol=1e-8)


def test_stamps_that_are_not_alike(tmp_path: Path) -> None:
    for first, second, told in (
        ("2024-10-27T02:00:00+02:00", "2024-10-27T02:00:01", "without an offset from UTC, unlike the first row"),
        ("02:00:00", "02:00:01Z", "with an offset from UTC"),
        ("2024-10-27T02:00:00", "02:00:01", "without a date"),
        ("2024-02-28T02:00:00", "2024-02-30T02:00:00", "no day of the calendar"),
        ("2024-02-28T02:00:00", "later", "no date and no time"),
    ):
        (tmp_path / "a.csv").write_text(f"t,q1,tau1\n{first},0,0\n{second},1,0\n")
        with pytest.raises(InputError, match=f"row 2: t = '.*{told}"):
            Log.load(tmp_path / "a.csv")


def test_dates_beside_times(tmp_path: Path) -> None:
    rows = ["2024-02-28,23:59:59.9,0,0", "2024-02-29,00:00:00,1,0", "2024-02-29,00:00:00.1,2,0"]
    (tmp_path / "a.csv").write_text("date,time,q1,tau1\n" + "\n".join(rows))
    log = Log.load(tmp_path / "a.csv")
    np.testing.assert_allclose(log.t, [0, 0.1, 0.2], atol=1e-9)
    assert "date and time begins at 2024-02-28 23:59:59.9" in said(log, "time")
    (tmp_path / "b.csv").write_text("time,q1,tau1\n" + "\n".join(row.partition(",")[2] for row in rows))
    with pytest.raises(InputError, match=r"row 2: t not increasing.*times of day beyond midnight"):
        Log.load(tmp_path / "b.csv")


def test_a_pause_is_no_rounding(tmp_path: Path) -> None:
    t = np.arange(400) / 100 + 3600 * (np.arange(400) > 199)
    np.savetxt(
        tmp_path / "a.csv", np.column_stack([t, np.sin(t), np.cos(t)]), delimiter=",", header="time [s],q1,tau1", comments=""
    )
    assert "rounded" not in said(Log.load(tmp_path / "a.csv"), "time")


def test_topics_echoed_as_text(tmp_path: Path) -> None:
    """`rostopic echo -p` has names in columns of their own, `ros2 topic echo --csv` no header at all."""
    robot = qddot.load("two_link")
    names = robot.joint_names[::-1]
    stamps = [divmod(round(t * 1e9), 10**9) for t in T]
    head = ["%time", "header.seq", "header.frame_id", *(f"{key}{i}" for key in ("name", "position", "effort") for i in range(2))]
    numbers = [
        f"{q[1]},{q[0]}|{qd[1]},{qd[0]}|{tau[1]},{tau[0]}".split("|") for q, qd, tau in zip(DATA["q"], DATA["qd"], DATA["tau"])
    ]
    (tmp_path / "a.csv").write_text(
        ",".join(head).replace("header", "field.header")
        + "\n"
        + "".join(
            f"{EPOCH + s}{n:09d},{k},base,{','.join(names)},{x[0]},{x[2]}\n" for k, ((s, n), x) in enumerate(zip(stamps, numbers))
        )
    )
    same(Log.load(tmp_path / "a.csv", robot), tolerance=1e-6)
    (tmp_path / "b.csv").write_text(
        "".join(f"{EPOCH + s},{n},base,{','.join(names)},{','.join(x)}\n" for (s, n), x in zip(stamps, numbers))
    )
    same(Log.load(tmp_path / "b.csv", robot), "t", "q", "qd", "tau")


def test_angles_that_start_anew_after_a_turn(tmp_path: Path) -> None:
    turning = np.column_stack([T, np.degrees(4 * T) % 360, np.degrees(DATA["q"][:, 0]) % 360, DATA["tau"]])
    (tmp_path / "a.csv").write_text("t,q1 [deg],q2 [deg],tau1,tau2\n" + lines(values=turning))
    log = Log.load(tmp_path / "a.csv")
    np.testing.assert_allclose(log.q, np.column_stack([4 * T, DATA["q"][:, 0]]), atol=1e-9)
    assert "joint1 jumps by a turn 1 times: counted on" in said(log, "angles")
    np.testing.assert_allclose(np.concatenate([part.q for part in Log.chunks(tmp_path / "a.csv", rows=11)]), log.q, atol=1e-9)


# arrays ---------------------------------------------------------------------------------------------------------------


def test_matlab(tmp_path: Path) -> None:
    from scipy.io import savemat

    robot = qddot.load("two_link")
    path = tmp_path / "a.mat"
    q, tau, t = DATA["q"], DATA["tau"], DATA["t"]
    names = np.array(robot.joint_names[::-1], dtype=object)
    savemat(path, {"t": t, "q": q[:, ::-1], "tau": tau[:, ::-1], "joint_names": names})
    same(Log.load(path, robot))
    samples = np.zeros(SAMPLES, dtype=[(key, object) for key in ("time", "q", "tau")])
    for k in range(SAMPLES):
        samples[k] = (t[k], q[k], tau[k])
    savemat(path, {"rec": samples})
    same(Log.load(path))
    cells = {key: np.empty(2, dtype=object) for key in ("q", "tau")}
    for key, cell in cells.items():
        for i in range(2):
            cell[i] = DATA[key][:, i : i + 1]
    savemat(path, {"t": t, **cells})
    same(Log.load(path))
    runs = np.zeros(2, dtype=[(key, object) for key in ("time", "q", "tau")])
    runs[0], runs[1] = (t[:150], q[:150], tau[:150]), (t[150:], q[150:], tau[150:])
    savemat(path, {"rec": runs})
    with pytest.raises(InputError, match=r"rec.time holds 2 arrays: several recordings"):
        Log.load(path)
    savemat(path, {"t": t, "q": q, "tau": tau[:-1]})
    with pytest.raises(InputError, match=r"no columns found for tau among t, q; left out tau \(299 long, not 300\)"):
        Log.load(path)
    savemat(path, {"data": VALUES})
    same(Log.load(path, columns={"t": 0, "q": [1, 2], "tau": range(3, 5)}))
    savemat(path, {"ans": np.column_stack([t, q, tau]).T})
    same(Log.load(path, robot))


def test_simulink(tmp_path: Path) -> None:
    from scipy.io import savemat

    path = tmp_path / "a.mat"
    q, tau, t = DATA["q"], DATA["tau"], DATA["t"][:, None]
    for along in (lambda x: x, lambda x: x.T[:, None]):  # (N, k), or (k, 1, N)
        signals = {name: {"values": along(x), "dimensions": 2, "label": ""} for name, x in (("q", q), ("tau", tau))}
        savemat(path, {name: {"time": t, "signals": one, "blockName": "m/Out"} for name, one in signals.items()})
        same(Log.load(path))
    scope = np.empty((1, 2), dtype=[("values", object), ("dimensions", object), ("label", object)])
    scope[0, 0], scope[0, 1] = (tau, 2, "tau_meas"), (q, 2, "q_meas")
    savemat(path, {"ScopeData": {"time": t, "signals": scope, "blockName": "m/Scope"}})
    same(Log.load(path))
    savemat(path, {"logs": {name: {"Time": t, "Data": x} for name, x in (("q", q), ("tau", tau))}})
    same(Log.load(path))
    savemat(path, {"out": {"tout": t, "q_meas": q, "tau_meas": tau}})
    same(Log.load(path))


def test_matlab_7_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\0" * 512)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "h5py", None)
        with pytest.raises(MissingExtraError, match=r"-v7.*needs the package 'h5py': pip install 'qddot\[logs\]'"):
            Log.load(path)
    h5py = pytest.importorskip("h5py")
    with pytest.raises(InputError, match=r"a.mat: damaged"):
        Log.load(path)
    robot = qddot.load("two_link")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in (("time", T[None]), ("q", DATA["q"].T[::-1]), ("tau", DATA["tau"].T[::-1])):
            file.create_dataset(f"rec/{name}", data=values).attrs["MATLAB_class"] = np.bytes_("double")
        names = file.create_dataset("joint_names", (2, 1), dtype=h5py.ref_dtype)
        names.attrs["MATLAB_class"] = np.bytes_("cell")
        for i, joint in enumerate(robot.joint_names[::-1]):
            text = file.create_dataset(f"#refs#/{i}", data=np.array([[ord(letter)] for letter in joint], dtype=np.uint16))
            text.attrs["MATLAB_class"] = np.bytes_("char")
            names[i, 0] = text.ref
    same(Log.load(path, robot))
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("T", data=np.zeros((6, 1), np.uint32)).attrs["MATLAB_object_decode"] = 3
    with pytest.raises(InputError, match=r"T: a MATLAB object; save arrays: table2struct"):
        Log.load(path)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["states/time"], file["states/position"], file["states/effort"] = DATA["t"], DATA["q"], DATA["tau"]
    same(Log.load(tmp_path / "a.h5"))


def test_numpy(tmp_path: Path) -> None:
    robot = qddot.load("two_link")
    names = np.array(robot.joint_names[::-1])
    for turned in (False, True):
        arrays = {key: values if values.ndim == 1 or not turned else values.T for key, values in FLIPPED.items()}
        np.savez(tmp_path / "a.npz", **arrays, names=names)
        same(Log.load(tmp_path / "a.npz", robot), "t", "q", "qd", "tau")
    np.save(tmp_path / "a.npy", VALUES)
    same(Log.load(tmp_path / "a.npy", columns={"t": 0, "q": [1, 2], "tau": [3, 4]}))
    records = np.zeros(SAMPLES, dtype=[("time", "M8[ns]"), ("q", "f8", 2), ("tau", "f8", 2)])
    records["time"] = np.datetime64("2024-01-01") + np.round(T * 1e9).astype("m8[ns]")
    records["q"], records["tau"] = DATA["q"], DATA["tau"]
    np.savez(tmp_path / "a.npz", log=records)
    same(Log.load(tmp_path / "a.npz"))


def test_parquet_of_joint_states(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    robot = qddot.load("two_link")
    order = [[1, 0] if k % 2 else [0, 1] for k in range(SAMPLES)]
    table = {
        "header": [
            {"stamp": {"sec": EPOCH + s, "nanosec": n}, "frame_id": "base"} for s, n in (divmod(round(t * 1e9), 10**9) for t in T)
        ],
        "name": [[robot.joint_names[i] for i in places] for places in order],
        "position": [row[places].tolist() for row, places in zip(DATA["q"], order)],
        "effort": [row[places].tolist() for row, places in zip(DATA["tau"], order)],
    }
    parquet.write_table(arrow.table(table), tmp_path / "a.parquet")
    same(Log.load(tmp_path / "a.parquet", robot))
    stamps = arrow.array((T * 1e9).round().astype("i8") + EPOCH * 10**9, arrow.timestamp("ns"))
    parquet.write_table(
        arrow.table({"stamp": stamps, "position": list(DATA["q"]), "effort": list(DATA["tau"])}), tmp_path / "b.parquet"
    )
    same(Log.load(tmp_path / "b.parquet"))
    ragged = [row[: 1 + (k != 7)].tolist() for k, row in enumerate(DATA["q"])]
    parquet.write_table(arrow.table({"t": T, "q": ragged, "tau": list(DATA["tau"])}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"c.parquet: row 8: q holds 1 numbers, the first 2"):
        Log.load(tmp_path / "c.parquet")


def stamped(arrow: Any, missing: Sequence[int] = ()) -> Any:
    stamps = (T * 1e9).round().astype("i8") + EPOCH * 10**9
    return arrow.array(stamps, arrow.timestamp("ns"), mask=np.isin(np.arange(SAMPLES), missing))


def save_arrow(arrow: Any, path: Path, table: Any, rows: int = 1000, compression: str | None = "zstd") -> None:
    options = arrow.ipc.IpcWriteOptions(compression=compression)
    new = arrow.ipc.new_stream if path.suffix == ".arrow" else arrow.ipc.new_file
    with new(str(path), table.schema, options=options) as file:
        file.write_table(table, max_chunksize=rows)


@pytest.mark.parametrize("name", ["a.feather", "a.arrow"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_arrow(tmp_path: Path, name: str, rows: int) -> None:
    arrow = pytest.importorskip("pyarrow")
    degrees = {f"pos{i + 1} [deg]": np.degrees(DATA["q"][:, i]) for i in range(2)}
    torques = {f"torque{i + 1} [mNm]": 1000 * DATA["tau"][:, i] for i in range(2)}
    table = arrow.table({"stamp": stamped(arrow), **degrees, **torques, "mode": ["auto"] * SAMPLES})
    save_arrow(arrow, tmp_path / name, table, rows)
    log = Log.load(tmp_path / name)
    same(log)
    assert "no numbers, left out: mode" in said(log, "columns")
    parts = list(Log.chunks(tmp_path / name, rows=100))
    assert [len(part) for part in parts] == [100, 100, 100]
    np.testing.assert_allclose(np.concatenate([part.t for part in parts]), T, atol=1e-9)


def test_arrow_of_joint_states(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    robot = qddot.load("two_link")
    order = [[1, 0] if k % 2 else [0, 1] for k in range(SAMPLES)]
    columns = {
        "stamp": stamped(arrow),
        "name": [[robot.joint_names[i] for i in places] for places in order],
        "position": [row[places].tolist() for row, places in zip(DATA["q"], order)],
        "effort": [row[places].tolist() for row, places in zip(DATA["tau"], order)],
        "covariance": [[[1.0]]] * SAMPLES,
    }
    save_arrow(arrow, tmp_path / "a.feather", arrow.table(columns))
    same(Log.load(tmp_path / "a.feather", robot))
    columns["name"][7] = ["finger", "thumb"]
    save_arrow(arrow, tmp_path / "b.feather", arrow.table(columns))
    with pytest.raises(InputError, match=r"b.feather: row 8: names of other joints than .*\(repair=True"):
        Log.load(tmp_path / "b.feather", robot)
    assert len(Log.load(tmp_path / "b.feather", robot, repair=True)) == SAMPLES - 1


@pytest.mark.parametrize("suffix", [".feather", ".parquet"])
def test_rows_of_arrow_that_are_no_samples(tmp_path: Path, suffix: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    def save(columns: dict[str, Any]) -> Path:
        path = tmp_path / f"a{suffix}"
        (save_arrow if suffix == ".feather" else lambda _, path, table: parquet.write_table(table, path))(
            arrow, path, arrow.table(columns)
        )
        return path

    ragged = [row[: 1 + (k != 7)].tolist() for k, row in enumerate(DATA["q"])]
    path = save({"t": T, "q": ragged, "tau": list(DATA["tau"])})
    with pytest.raises(InputError, match=rf"a{suffix}: row 8: q holds 1 numbers, the first 2 \(repair=True"):
        Log.load(path)
    assert len(Log.load(path, repair=True)) == SAMPLES - 1
    path = save({"stamp": stamped(arrow, [250]), "q": list(DATA["q"]), "tau": list(DATA["tau"])})
    with pytest.raises(InputError, match=rf"a{suffix}: row 251: .* is nan"):
        Log.load(path)
    parts = list(Log.chunks(path, rows=100, repair=True))
    np.testing.assert_allclose(np.concatenate([part.t for part in parts]), np.delete(T, 250), atol=1e-6)
    texts = [f"2024-02-28T23:59:{t + 50:09.6f}" for t in T]
    same(Log.load(save({"time": texts, "q": list(DATA["q"]), "tau": list(DATA["tau"])})), tolerance=1e-8)
    texts[4] = "later"
    path = save({"time": texts, "q": list(DATA["q"]), "tau": list(DATA["tau"])})
    with pytest.raises(InputError, match=r"row 5: time = 'later' is no date and no time"):
        Log.load(path)
    assert len(Log.load(path, repair=True)) == SAMPLES - 1


def test_arrow_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"t": T, "q1": DATA["q"][:, 0], "tau1": DATA["tau"][:, 0]})
    path = tmp_path / "a.feather"
    save_arrow(arrow, path, table.rename_columns(["t", "q1", "q1"]))
    with pytest.raises(InputError, match=r"a.feather: column 'q1' appears twice"):
        Log.load(path)
    save_arrow(arrow, path, table.slice(0, 0))
    with pytest.raises(InputError, match=r"a.feather: no samples"):
        Log.load(path)
    save_arrow(arrow, path, table)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(InputError, match=r"a.feather: truncated"):
        Log.load(path)
    path.write_bytes(b"FEA1" + whole[4:])
    with pytest.raises(InputError, match=r"Feather version 1"):
        Log.load(path)
    for kind in ("zstd", "lz4"):
        for columns in ({"t": np.zeros(10**6)}, {"name": arrow.array(["x" * 10**6] * 8).dictionary_encode()}):
            save_arrow(arrow, path, arrow.table(columns), 10**6, kind)
            with monkeypatch.context() as limited:
                limited.setenv("QDDOT_MAX_LOG_BYTES", "100000")
                with pytest.raises(InputError, match=r"size in memory \d+ is over the limit of 100000"):
                    Log.load(path)
    save_arrow(arrow, path, table)
    monkeypatch.setenv("QDDOT_MAX_LOG_COLUMNS", "2")
    with pytest.raises(InputError, match=r"number of columns 3 is over the limit of 2"):
        Log.load(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Feather and Arrow.*pip install 'qddot\[logs\]'"):
        Log.load(path)


def test_offsets_outside_of_their_buffer(tmp_path: Path) -> None:
    """Arrow would follow them, which ends the process."""
    arrow = pytest.importorskip("pyarrow")
    starts = np.arange(SAMPLES + 1, dtype="i4") * 2
    starts[200:202] = 2**30
    lists = arrow.ListArray.from_buffers(
        arrow.list_(arrow.float64()), SAMPLES, [None, arrow.py_buffer(starts)], children=[arrow.array(np.zeros(2 * SAMPLES))]
    )
    save_arrow(arrow, tmp_path / "a.feather", arrow.table({"t": T, "q": lists, "tau": lists}))
    with pytest.raises(InputError, match=r"a.feather: damaged, .* out of bounds"):
        Log.load(tmp_path / "a.feather")


# bags -----------------------------------------------------------------------------------------------------------------


def message(k: int, names: tuple[str, ...], *values: np.ndarray) -> bytes:
    """A JointState in CDR."""
    out = bytearray(
        struct.pack("<iI", EPOCH + k // 100, k % 100 * 10**7) + struct.pack("<I", 1) + b"\0\0\0\0" + struct.pack("<I", len(names))
    )
    for name in names:
        out += b"\0" * (-len(out) % 4) + struct.pack("<I", len(name) + 1) + name.encode() + b"\0"
    for array in values:
        out += b"\0" * (-len(out) % 4) + struct.pack("<I", len(array))
        if len(array):
            out += b"\0" * (-len(out) % 8) + struct.pack(f"<{len(array)}d", *array)
    return b"\0\1\0\0" + bytes(out)


def bag(path: Path, topics: dict[str, list[bytes]]) -> Path:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, format TEXT, offered_qos_profiles TEXT)")
        db.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
        for key, (topic, messages) in enumerate(topics.items(), 1):
            db.execute("INSERT INTO topics VALUES (?, ?, 'sensor_msgs/msg/JointState', 'cdr', '- history: 3')", (key, topic))
            db.executemany(
                "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", [(key, k, m) for k, m in enumerate(messages)]
            )
    db.close()
    return path


def test_several_topics_and_a_gripper(tmp_path: Path) -> None:
    robot = qddot.load("two_link")
    arm = [message(k, robot.joint_names, DATA["q"][k], DATA["qd"][k], DATA["tau"][k]) for k in range(SAMPLES)]
    wanted = [message(k, robot.joint_names, *np.zeros((3, 2))) for k in range(SAMPLES)]
    path = bag(tmp_path / "a.db3", {"/wanted": wanted, "/joint_states": arm})
    with pytest.raises(InputError, match=r"several topics of joint states: /wanted, /joint_states \(say which: topic="):
        Log.load(path)
    same(Log.load(path, topic="/joint_states"), "t", "q", "qd", "tau")
    with pytest.raises(InputError, match=r"no topic '/joints', but these of joint states: /wanted, /joint_states"):
        Log.load(path, topic="/joints")
    gripper = [message(k, ("finger",), *np.zeros((3, 1))) for k in range(SAMPLES)]
    both = bag(tmp_path / "b.db3", {"/joint_states": [one for pair in zip(gripper, arm) for one in pair]})
    for log in (Log.load(both), Log.load(both, robot)):
        same(log, "t", "q", "qd", "tau")
        assert "messages of other joints on the same topic left out: finger" in said(log, "joints")


def test_messages_that_lack_numbers(tmp_path: Path) -> None:
    names = ("a", "b")
    messages = [message(k, names, DATA["q"][k], [] if k == 5 else DATA["qd"][k], DATA["tau"][k]) for k in range(SAMPLES)]
    path = bag(tmp_path / "a.db3", {"/joint_states": messages})
    with pytest.raises(InputError, match=r"row 6: velocity of 0 joints, names of 2 \(repair=True"):
        Log.load(path)
    assert len(Log.load(path, repair=True)) == SAMPLES - 1


def test_packed_messages(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    pack = zstandard.ZstdCompressor().compress
    messages = [pack(message(k, ("a", "b"), DATA["q"][k], DATA["qd"][k], DATA["tau"][k])) for k in range(SAMPLES)]
    same(Log.load(bag(tmp_path / "a.db3", {"/joint_states": messages})), "t", "q", "qd", "tau")


# paths ----------------------------------------------------------------------------------------------------------------


def test_paths(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(",".join(NAMES) + "\n" + lines())
    assert len(Log.load(tmp_path.glob("*.csv")).segments) == 2
    with pytest.raises(InputError, match="no files: the list of paths is empty"):
        Log.load(tmp_path.glob("*.txt"))
    with pytest.raises(InputError, match=r"not from ndarray"):
        Log.load([VALUES])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"the robot is a PosixPath|the robot is a WindowsPath"):
        Log.load(qddot.load("two_link"), tmp_path / "a.csv")  # type: ignore[arg-type]
    (tmp_path / "c.csv").write_text("time,q1,q2,tau1,tau2\n" + lines())
    with pytest.raises(InputError, match=r"c.csv: no column 't', which the first file has.*add the logs"):
        Log.load([tmp_path / "a.csv", tmp_path / "c.csv"])


def test_files_beside_each_other_share_a_clock(tmp_path: Path) -> None:
    robot = qddot.load("two_link")
    first, second = robot.joint_names
    for shift in (0.0, 0.5):
        for name, key, order in (("q", "q", (second, first)), ("tau", "tau", (first, second))):
            values = np.column_stack([T + (shift if key == "tau" else 0), DATA[key] if key == "tau" else DATA[key][:, ::-1]])
            (tmp_path / f"{name}.csv").write_text(f"time,{','.join(order)}\n" + lines(values=values))
        files = {"q": tmp_path / "q.csv", "tau": tmp_path / "tau.csv"}
        if not shift:
            same(Log.load(files, robot))
            continue
        with pytest.raises(InputError, match=r"tau.csv: its times are not those of the other files"):
            Log.load(files, robot)
