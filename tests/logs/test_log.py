"""Logs: every format gives the same arrays; what is no sample is named; what is guessed is said."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qddot
from qddot.errors import InputError
from qddot.logs.audit import velocity_agreement
from qddot.logs.log import Log
from qddot.logs.read_bags import joint_state
from tests.reference import BAD, RECORDINGS, needs_recordings


def motion(samples: int = 500, rate: float = 100.0, joints: int = 2) -> dict[str, np.ndarray]:
    t = np.arange(samples) / rate
    phase = 2 * np.pi * 0.5 * t[:, None] + np.arange(joints)
    return {"t": t, "q": np.sin(phase), "qd": np.pi * np.cos(phase), "tau": 3 * np.sin(phase) + np.arange(1, joints + 1)}


def table(data: dict[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    names = ["t"] + [f"{name}{j + 1}" for name in ("q", "qd", "tau") if name in data for j in range(data[name].shape[1])]
    return names, np.column_stack([data[name] for name in ("t", "q", "qd", "tau") if name in data])


def write_csv(path: Path, data: dict[str, np.ndarray], names: list[str] | None = None) -> Path:
    header, values = table(data)
    np.savetxt(path, values, delimiter=",", header=",".join(names or header), comments="", fmt="%.17g")
    return path


def same(log: Log, data: dict[str, np.ndarray], tolerance: float = 1e-12) -> None:
    for name, values in data.items():
        np.testing.assert_allclose(getattr(log, name), values, atol=tolerance, err_msg=name)


def messages(log: Log, topic: str) -> str:
    return "\n".join(f.message for f in log.findings if f.code == topic)


# formats --------------------------------------------------------------------------------------------------------------


def test_csv(tmp_path: Path) -> None:
    data = motion()
    log = Log.load(write_csv(tmp_path / "a.csv", data))
    same(log, data)
    assert log.joint_names == ("joint1", "joint2")
    assert log.segments == (slice(0, 500),)
    assert log.rate == pytest.approx(100)


def test_csv_without_header_by_numbers(tmp_path: Path) -> None:
    data = motion()
    path = tmp_path / "bare.csv"
    np.savetxt(path, table(data)[1], delimiter=";")
    with pytest.raises(InputError, match=r"bare.csv: 7 columns without names .*columns="):
        Log.load(path)
    log = Log.load(path, columns={"t": 0, "q": range(1, 3), "qd": [3, 4], "tau": range(5, 7)})
    same(log, data)


def test_npz(tmp_path: Path) -> None:
    data = motion()
    np.savez(
        tmp_path / "a.npz",
        times=data["t"],
        positions=data["q"],
        velocities=data["qd"],
        torques=data["tau"],
        target_positions=data["q"],
    )
    same(Log.load(tmp_path / "a.npz"), data)
    np.savez(tmp_path / "turned.npz", time=data["t"], q=data["q"].T, tau=data["tau"].T, gear=3.0)
    same(Log.load(tmp_path / "turned.npz"), {name: data[name] for name in ("t", "q", "tau")})


def test_npz_with_pickles_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", t=np.arange(3), q=np.array([{}, {}, {}], dtype=object))
    with pytest.raises(InputError, match=r"evil.npz: array 'q' holds pickled Python objects"):
        Log.load(tmp_path / "evil.npz")
    (tmp_path / "not.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match=r"not.npz: damaged, or not .npz: BadZipFile"):
        Log.load(tmp_path / "not.npz")


def test_mat(tmp_path: Path) -> None:
    from scipy.io import savemat

    data = motion()
    rec = {
        "time_cont": data["t"][None],
        "act_pos_mot_deg": np.degrees(data["q"]).T,
        "act_torque_nm": data["tau"].T,
        "ref_pos_deg": data["q"].T,
    }
    savemat(tmp_path / "a.mat", {"rec": rec, "n_axis": 2})
    log = Log.load(tmp_path / "a.mat")
    same(log, {name: data[name] for name in ("t", "q", "tau")})
    assert messages(log, "angles") == "in degrees, as the columns are named"


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    data = motion()
    names, values = table(data)
    parquet.write_table(arrow.table(dict(zip(names, values.T))), tmp_path / "a.parquet")
    same(Log.load(tmp_path / "a.parquet"), data)
    values = np.where(values == values[7, 1], np.nan, values)
    parquet.write_table(
        arrow.Table.from_arrays([arrow.array(v, from_pandas=True) for v in values.T], names), tmp_path / "b.parquet"
    )
    with pytest.raises(InputError, match=r"b.parquet: row 8: q1 is nan"):
        Log.load(tmp_path / "b.parquet")


def message(stamp_ns: int, names: list[str], *values: np.ndarray) -> bytes:
    """A JointState in CDR."""
    out = bytearray(struct.pack("<iI", *divmod(stamp_ns, 10**9)))

    def text(word: str) -> None:
        out.extend(b"\0" * (-len(out) % 4) + struct.pack("<I", len(word) + 1) + word.encode() + b"\0")

    text("base")
    out.extend(b"\0" * (-len(out) % 4) + struct.pack("<I", len(names)))
    for name in names:
        text(name)
    for array in values:
        out.extend(b"\0" * (-len(out) % 4) + struct.pack("<I", len(array)))
        if len(array):
            out.extend(b"\0" * (-len(out) % 8) + struct.pack(f"<{len(array)}d", *array))
    return b"\0\1\0\0" + bytes(out)


def recorded(data: dict[str, np.ndarray]) -> list[tuple[int, bytes]]:
    """Messages whose joints change places from one to the next."""
    made = []
    for k, t in enumerate(data["t"]):
        order = [0, 1] if k % 2 else [1, 0]
        stamp = 1_700_000_000_000_000_000 + round(t * 1e9)
        made.append(
            (stamp, message(stamp, [["elbow", "wrist"][i] for i in order], *(data[n][k, order] for n in ("q", "qd", "tau"))))
        )
    return made


def test_rosbag(tmp_path: Path) -> None:
    data = motion()
    with sqlite3.connect(tmp_path / "bag_0.db3") as db:
        db.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)")
        db.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
        db.execute("INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr')")
        db.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", recorded(data))
    db.close()
    log = Log.load(tmp_path / "bag_0.db3")
    assert log.joint_names == ("wrist", "elbow")
    flipped = {name: values if name == "t" else values[:, ::-1] for name, values in data.items()}
    same(log, flipped)
    same(Log.load(tmp_path), flipped)  # the folder of a bag


def test_mcap(tmp_path: Path) -> None:
    writer_of = pytest.importorskip("mcap.writer")
    data = motion()
    with (tmp_path / "a.mcap").open("wb") as file:
        writer = writer_of.Writer(file)
        writer.start(profile="ros2", library="test")
        schema = writer.register_schema(name="sensor_msgs/msg/JointState", encoding="ros2msg", data=b"")
        channel = writer.register_channel(topic="/joint_states", message_encoding="cdr", schema_id=schema)
        for stamp, payload in recorded(data):
            writer.add_message(channel_id=channel, log_time=stamp, publish_time=stamp, data=payload)
        writer.finish()
    log = Log.load(tmp_path / "a.mcap")
    same(log, {name: values if name == "t" else values[:, ::-1] for name, values in data.items()})


def test_a_truncated_message_is_no_joint_state() -> None:
    whole = message(5, ["elbow"], np.ones(1), np.ones(1), np.ones(1))
    assert joint_state(whole).effort == 1
    for end in range(len(whole)):
        with pytest.raises(ValueError, match=r"truncated|CDR"):
            joint_state(whole[:end])


def test_files_beside_each_other(tmp_path: Path) -> None:
    """Positions of motors in one file, currents in another, no time: as drives record them."""
    data, gears = motion(), np.array([[50.0, 0.0], [30.0, -40.0]])
    names = ["Joint_1", "Joint_2"]
    np.savetxt(tmp_path / "q.csv", (data["q"] - [0.1, 0.2]) @ gears.T, delimiter=",", header=",".join(names), comments="")
    np.savetxt(
        tmp_path / "i.csv", data["tau"] @ np.linalg.inv(gears) / [2.0, 4.0], delimiter=",", header=",".join(names), comments=""
    )
    files = {"q": tmp_path / "q.csv", "current": tmp_path / "i.csv"}
    log = Log.load(files, rate=100, motor_matrix=gears, offsets=[0.1, 0.2], gains=[2.0, 4.0])
    same(log, {name: data[name] for name in ("t", "q", "tau")}, 1e-9)
    assert "keeps power" in messages(log, "torque")
    with pytest.raises(InputError, match="no time column"):
        Log.load(files)
    np.savetxt(tmp_path / "i.csv", data["tau"][:-1], delimiter=",", header=",".join(names), comments="")
    with pytest.raises(InputError, match=r"q.csv: 500, i.csv: 499"):
        Log.load(files, rate=100)


@pytest.mark.parametrize(("kind", "package"), [("parquet", "pyarrow"), ("mcap", "mcap")])
def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package] or [package]:
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / f"a.{kind}").write_bytes(b"")
    with pytest.raises(qddot.MissingExtraError, match=rf"needs the package '{package}': pip install 'qddot\[logs\]'"):
        Log.load(tmp_path / f"a.{kind}")


def test_unknown_formats_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(InputError, match=r"a.xlsx: no reader for '.xlsx' \(known: .csv"):
        Log.load(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="no such file"):
        Log.load(tmp_path / "b.csv")


# what is no sample ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["0,0,0", "0.1,nan,0", "0.2,2,0"], "row 2: q1 is nan"),
        (["0,0,0", "0.1,1,inf", "0.2,2,0"], "row 2: tau1 is inf"),
        (["0,0,0", "0.1,,0", "0.2,2,0"], "row 2: q1 is empty"),
        (["0,0,0", "0.1,1,0", "0.1,2,0"], "row 3: t not increasing: 0.1 after 0.1"),
        (["0,0,0", "0.3,1,0", "0.1,2,0", "0.2,2,0", "0.4,2,0"], "row 3: t not increasing: 0.1 after 0.3; 1 more such rows"),
        (["0,0,0", "0.1,1,0", "0.2,2"], "row 3: 2 of 3 columns"),
        (["0,0,0", "0.1,1,0,7", "0.2,2,0"], "row 2: 4 of 3 columns"),
        (["0,0,0", "", "0.2,2,0"], "row 2: 0 of 3 columns"),
        (["0,0,0", "0.1,1_0,0"], "row 2: q1 = '1_0' is not a number"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: list[str], expected: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(["t,q1,tau1", *rows]) + "\n")
    with pytest.raises(InputError) as caught:
        Log.load(path)
    assert f"bad.csv: {expected}" in str(caught.value)
    if len(rows) > 2:
        log = Log.load(path, repair=True)
        assert len(log) < len(rows)
        assert expected.partition(";")[0] in messages(log, "rows")


@pytest.mark.parametrize("text", ["=1+1", "\"=cmd|' /C calc'!A0\"", "@SUM(A1)"])
def test_formulas_are_never_repaired(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.csv"
    path.write_text(f"t,q1,tau1\n0,0,0\n0.1,{text},0\n0.2,0,0\n")
    for repair in (False, True):
        with pytest.raises(InputError, match=r"row 2: q1 = .* is a formula"):
            Log.load(path, repair=repair)


@pytest.mark.parametrize(
    "content", [b"", b"t,q1,tau1\n", b"\n\n", b"\x00\xff\xfe", b"t,q1,tau1,q1\n0,0,0,0\n", b"t q1 tau1\n0 0\n", b"1,2\n"]
)
@pytest.mark.parametrize("kind", ["csv", "npz", "mat", "parquet", "db3", "mcap"])
def test_what_is_no_log(tmp_path: Path, content: bytes, kind: str) -> None:
    if kind in ("parquet", "mcap"):
        pytest.importorskip({"parquet": "pyarrow", "mcap": "mcap"}[kind])
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"a.{kind}"):
        Log.load(path)


@given(place=st.integers(0, 400), byte=st.binary(min_size=1, max_size=3))
def test_a_damaged_csv_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, place: int, byte: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = write_csv(folder / "whole.csv", motion(20)).read_bytes()
    (folder / "damaged.csv").write_bytes(text[:place] + byte + text[place + 1 :])
    with contextlib.suppress(InputError):
        Log.load(folder / "damaged.csv", rate=100)


def test_columns_of_text(tmp_path: Path) -> None:
    """A mode or a note is left out and named; text where a number belongs is not."""
    path = tmp_path / "a.csv"
    path.write_text('t,mode,q1,tau1,note\n0,AUTO,0,0,\n0.1,AUTO,1,2,"go, now"\n0.2,STOP,2,3,\n')
    log = Log.load(path)
    np.testing.assert_array_equal(log.tau[:, 0], [0, 2, 3])
    assert "text, left out: mode, note" in messages(log, "columns")
    path.write_text("t,mode,q1,tau1\n0,AUTO,none,0\n0.1,AUTO,1,2\n")
    with pytest.raises(InputError, match="row 1: q1 = 'none' is not a number"):
        Log.load(path)
    path.write_text("t,mode,q1,tau1\n0,AUTO,0,0\n0.1,=1+1,1,2\n")
    with pytest.raises(InputError, match=r"row 2: mode = '=1\+1' is a formula"):
        Log.load(path)


def test_the_bad_logs() -> None:
    expected = json.loads((BAD / "expected.json").read_text())
    entries = [entry for entry in expected["files"] if entry["category"] == "log"]
    found = [entry for entry in entries if (BAD / entry["file"]).exists()]
    assert found
    for entry in found:
        with pytest.raises(InputError) as caught:
            Log.load(BAD / entry["file"])
        assert entry["expected_default"].removeprefix("InputError").strip() in str(caught.value)


def test_a_log_made_by_hand_is_checked() -> None:
    data = motion()
    with pytest.raises(InputError, match=r"tau has shape \(500, 1\), q \(500, 2\)"):
        Log(data["t"], data["q"], data["tau"][:, :1])
    with pytest.raises(InputError, match="row 3: t not increasing"):
        Log(np.r_[0.0, 0.1, 0.05], np.zeros((3, 1)), np.zeros((3, 1)))
    with pytest.raises(InputError, match="row 2: q is not finite"):
        Log(np.arange(3.0), np.array([[0], [np.nan], [1]]), np.zeros((3, 1)))


# names, order, units --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ["Time", "Position1", "Position2", "Velocity1", "Velocity2", "Torque1", "Torque2"],
        ["timestamp", "actual_q_0", "actual_q_1", "actual_qd_0", "actual_qd_1", "actual_current_0", "actual_current_1"],
        ["time [s]", "pos1 (rad)", "pos2 (rad)", "vel1 (rad/s)", "vel2 (rad/s)", "tau1 (Nm)", "tau2 (Nm)"],
        ["t", "a/position", "b/position", "a/velocity", "b/velocity", "a/effort", "b/effort"],
        ["t", "joint1_pos", "joint2_pos", "joint1_vel", "joint2_vel", "joint1_torque", "joint2_torque"],
        ["t", "q[0]", "q[1]", "dq[0]", "dq[1]", "tau[0]", "tau[1]"],
    ],
)
def test_names(tmp_path: Path, names: list[str]) -> None:
    data = motion()
    same(Log.load(write_csv(tmp_path / "a.csv", data, names)), data)


def test_several_candidates(tmp_path: Path) -> None:
    t = np.arange(50.0) / 100
    values = np.column_stack([t, *[np.sin(t + k) for k in range(5)]])
    path = tmp_path / "a.csv"
    np.savetxt(path, values, delimiter=",", header="t,q1,Torque1,TorqueCur1,Cur1,target_q1", comments="")
    log = Log.load(path)
    np.testing.assert_allclose(log.tau[:, 0], np.sin(t + 1))
    assert "tau: Torque1, not TorqueCur1" in messages(log, "columns")
    np.testing.assert_allclose(Log.load(path, columns={"tau": "TorqueCur"}).tau[:, 0], np.sin(t + 2))
    np.savetxt(path, values[:, :5], delimiter=",", header="t,q1,TorqueA1,TorqueB1,x", comments="")
    with pytest.raises(InputError, match=r"tau could be TorqueA1 or TorqueB1 \(say which: columns="):
        Log.load(path)
    with pytest.raises(InputError, match=r"no column 'Torqe'.*did you mean"):
        Log.load(path, columns={"tau": "Torqe"})


def test_joint_order(tmp_path: Path) -> None:
    robot = qddot.load("two_link")
    first, second = robot.joint_names
    data = motion()
    names = ["t", *(f"{kind}/{joint}" for kind in ("position", "velocity", "effort") for joint in (second, first))]
    log = Log.load(write_csv(tmp_path / "a.csv", data, names), robot)
    same(log, {name: values if name == "t" else values[:, ::-1] for name, values in data.items()})
    assert "put in the robot's order" in messages(log, "joints")
    with pytest.raises(InputError, match=r"3 columns of q .* the robot has 2 joints"):
        Log.load(write_csv(tmp_path / "b.csv", motion(joints=3)), robot)


@pytest.mark.parametrize(("unit", "scale"), [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_time_units(tmp_path: Path, unit: str, scale: float) -> None:
    data = motion()
    path = write_csv(tmp_path / "a.csv", data | {"t": 5 + data["t"] * scale})
    log = Log.load(path)
    same(log, data, 1e-6)
    assert f"in {unit}: positions move by velocity" in messages(log, "time")
    without = write_csv(tmp_path / "b.csv", {name: (data | {"t": data["t"] * scale})[name] for name in ("t", "q", "tau")})
    assert f"in {unit}: a step is" in messages(Log.load(without), "time")


def test_sample_counts(tmp_path: Path) -> None:
    data = motion()
    counted = data | {"t": np.arange(500.0)}
    counted.pop("qd")
    path = write_csv(tmp_path / "a.csv", counted)
    with pytest.raises(InputError, match=r"t counts 0, 1, 2, ...: samples or milliseconds"):
        Log.load(path)
    np.testing.assert_allclose(Log.load(path, rate=100).t, data["t"])
    np.testing.assert_allclose(Log.load(path, time_unit="ms").t, data["t"] * 0.1)


def test_degrees(tmp_path: Path) -> None:
    data = motion()
    path = write_csv(tmp_path / "a.csv", data | {"q": np.degrees(data["q"]), "qd": np.degrees(data["qd"])})
    log = Log.load(path)
    same(log, data)
    assert "in degrees: joint" in messages(log, "angles")
    np.testing.assert_allclose(Log.load(path, degrees=False).q, np.degrees(data["q"]))


# audit ----------------------------------------------------------------------------------------------------------------


def warned(log: Log, topic: str, robot: qddot.Robot | None = None) -> str:
    return "\n".join(f.message for f in log.audit(robot).warnings if f.code == topic)


def test_a_clean_log_has_no_warnings() -> None:
    audit = Log(**motion()).audit()
    assert not audit.warnings
    assert "Log(500 samples of q, qd, tau, 2 joints, 100 Hz, 4.99 s)" in str(audit)


def test_gaps_and_lost_samples(tmp_path: Path) -> None:
    data = motion()
    kept = np.r_[0:100, 102:200, 300:500]
    log = Log.load(write_csv(tmp_path / "a.csv", {name: values[kept] for name, values in data.items()}))
    assert log.segments == (slice(0, 198), slice(198, 398))
    assert "1.01 s without samples at t = 1.99 s" in warned(log, "gap")
    assert warned(log, "missing").startswith("2 samples within segments")


def test_doubtful_channels() -> None:
    data = motion()
    rng = np.random.default_rng(1)
    jittered = data | {"t": data["t"] + 0.003 * rng.uniform(-1, 1, 500)}
    assert "steps vary by" in warned(Log(**jittered), "rate")
    assert "rests at its largest value 2" in warned(Log(**data | {"tau": np.clip(data["tau"], -2, 2)}), "saturated")
    still = data | {"q": data["q"] * [1, 0], "qd": data["qd"] * [1, 0], "tau": data["tau"] * [1, 0]}
    assert "joint2 moves by 0 rad only" in warned(Log(**still), "still")
    assert "tau of joint2 is 0 throughout" in warned(Log(**still), "constant")
    assert "scale 0.5" in warned(Log(**data | {"qd": 0.5 * data["qd"]}), "velocity")
    held = np.repeat(data["tau"][::4], 4, axis=0)
    assert "torques come at 25 Hz in a log of 100 Hz: each is written 4 times" in warned(Log(**data | {"tau": held}), "held")
    held[:, 1] = data["tau"][:, 1]
    assert "tau of joint1 repeats its last value in 76 %" in warned(Log(**data | {"tau": held}), "held")


def test_against_the_robot() -> None:
    robot = qddot.load("two_link", gravity=(0, -9.81, 0))
    data = motion()
    log = Log(**data | {"tau": robot.gravity_torque(data["q"])})
    assert not [f for f in log.audit(robot).warnings if f.code == "gravity"]
    assert "runs against the robot's weight" in warned(Log(**data | {"tau": -log.tau}), "gravity", robot)


# parts and wholes -----------------------------------------------------------------------------------------------------


def test_parts_and_wholes() -> None:
    log = Log(**motion())
    first, rest = log.split(0.7)
    assert (len(first), len(rest)) == (350, 150)
    both = rest + first
    assert both.segments == (slice(0, 150), slice(150, 500))
    np.testing.assert_array_equal(both[100:200].q, np.concatenate([log.q[450:], log.q[:50]]))
    assert both[100:200].segments == (slice(0, 50), slice(50, 100))
    with pytest.raises(InputError, match="log\\[a:b\\]"):
        log[::2]
    with pytest.raises(InputError, match="logs of different joints"):
        log + Log(**motion(joints=3))


def test_several_files_are_segments(tmp_path: Path) -> None:
    data = motion()
    paths = [write_csv(tmp_path / f"{k}.csv", data) for k in range(3)]
    log = Log.load(paths)
    assert log.segments == (slice(0, 500), slice(500, 1000), slice(1000, 1500))
    assert log.duration == pytest.approx(3 * 4.99)


@pytest.mark.parametrize("rate", [250.0, 40.0])
def test_resampled(rate: float) -> None:
    log = Log(**motion(2000, 100.0)).resampled(rate)
    assert log.rate == pytest.approx(rate)
    expected = np.sin(np.pi * log.t[:, None] + np.arange(2))
    np.testing.assert_allclose(log.q, expected, atol=1e-4)
    assert "cubic splines" in messages(log, "resampled")


def test_chunks(tmp_path: Path) -> None:
    data = motion(1001)
    path = write_csv(tmp_path / "a.csv", data)
    np.savez(tmp_path / "a.npz", **data)
    for source in (path, tmp_path / "a.npz"):
        chunks = list(Log.chunks(source, rows=250))
        assert [len(chunk) for chunk in chunks] == [250, 250, 250, 250, 1]
        for name, values in data.items():
            np.testing.assert_allclose(np.concatenate([getattr(chunk, name) for chunk in chunks]), values)
    lines = path.read_text().splitlines()
    lines[600] = lines[599]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"a.csv: row 600: t not increasing"):
        list(Log.chunks(path, rows=250))


# real arms ------------------------------------------------------------------------------------------------------------


@needs_recordings
def test_lwr() -> None:
    log = Log.load([RECORDINGS / "kuka_lwr4_flobaroid" / f"measurements_{k}.npz" for k in (1, 2, 3)])
    assert len(log.segments) == 3
    assert log.rate == pytest.approx(200, rel=1e-3)
    delay = velocity_agreement(log).delay
    np.testing.assert_allclose(delay, 2.5e-3, rtol=0.05)  # velocities are backward differences, half a step late


@needs_recordings
@pytest.mark.parametrize(("name", "rate"), [("ur10", 125), ("panda", 30)])
def test_bag_and_csv_agree(name: str, rate: float) -> None:
    bag, csv = (Log.load(RECORDINGS / "ur10_unisa" / f"{name}_exciting_trajectory.{kind}") for kind in ("db3", "csv"))
    assert bag.rate == pytest.approx(rate, rel=1e-3)
    for field in ("t", "q", "qd", "tau"):
        np.testing.assert_allclose(getattr(bag, field), getattr(csv, field), rtol=1e-7, atol=1e-8)


@needs_recordings
def test_kr300() -> None:
    log = Log.load([RECORDINGS / "kuka_kr300" / f"rec_{k}.mat" for k in "ABC"])
    assert len(log) == 3 * 2501
    assert np.abs(log.q).max() < np.pi
    assert "q: rec.act_pos_mot_deg (6 columns), not rec.act_pos_se_deg" in messages(log, "columns")


@needs_recordings
def test_gen3_counts_milliseconds() -> None:
    for path in sorted((RECORDINGS / "kinova_gen3").glob("*.csv")):
        log = Log.load(path, columns={"tau": "TorqueCur"})
        assert log.rate == pytest.approx(1000)
        assert log.n == 7


@needs_recordings
def test_tx40() -> None:
    gears = np.diag([32.0, 32, 45, -48, 45, 32])
    gears[5, 4] = 32
    files = {"q": RECORDINGS / "tx40_figaroh" / "pos_read_data.csv", "tau": RECORDINGS / "tx40_figaroh" / "curr_data.csv"}
    log = Log.load(files, rate=5000, motor_matrix=gears, offsets=[0, -np.pi / 2, np.pi / 2, 0, 0, 0])
    assert log.duration == pytest.approx(8.9998)
    np.testing.assert_allclose(log.q[0], 0, atol=1e-3)
