"""Files that are none, or that unpack to more than anybody has: refused at once, with the limit and how to raise it."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot import InputError, ModelError, ModelFormatError, ModelLimitError
from qddot.formats import source
from qddot.logs import Log, readers


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
@pytest.mark.parametrize("suffix", source.SUFFIXES)
def test_a_description_is_a_file(tmp_path, suffix):
    fifo, device = tmp_path / f"fifo{suffix}", tmp_path / f"zero{suffix}"
    os.mkfifo(fifo)
    device.symlink_to("/dev/zero")
    for path, kind in ((fifo, "a FIFO"), (device, "a device")):
        with pytest.raises(ModelFormatError, match=f"it is {kind} and not a file"):
            qddot.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
@pytest.mark.parametrize("suffix", readers.SUFFIXES)
def test_a_recording_is_a_file(tmp_path, suffix):
    fifo, device = tmp_path / f"fifo{suffix}", tmp_path / f"zero{suffix}"
    os.mkfifo(fifo)
    device.symlink_to("/dev/zero")
    for path, kind in ((fifo, "a FIFO"), (device, "a device")):
        with pytest.raises(InputError, match=f"it is {kind} and not a file"):
            Log.load(path)


def test_included_files_are_files(tmp_path):
    os.mkfifo(tmp_path / "part.xml")
    (tmp_path / "arm.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    (tmp_path / "arm.xacro").write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="part.xml"/></robot>'
    )
    for name in ("arm.xml", "arm.xacro"):
        with pytest.raises(ModelError):
            qddot.load(tmp_path / name)


@pytest.mark.parametrize(
    "text", [".".join(["a"] * 50_000) + " = 1\n", "[" + " . ".join(["a"] * 50_000) + "]\n", "x = {" + "a." * 9999 + "a = 1}\n"]
)
def test_dotted_keys_without_end_are_refused_before_they_are_tables(tmp_path, text):
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(ModelLimitError, match=r"deep.toml:1: a dotted key has more than 256 parts"):
        qddot.load(path)


def test_long_lists_of_numbers_are_no_dotted_keys(tmp_path):
    path = tmp_path / "wide.toml"
    path.write_text("dh = [" + ", ".join(["[0.1, 0.2, 0.3, 0.4]"] * 200) + "]\n")
    assert qddot.load(path).nv == 200


@pytest.mark.parametrize(("suffix", "variable"), [(".toml", "DOCUMENT"), (".yaml", "DOCUMENT"), (".urdf", "DESCRIPTION")])
def test_the_size_of_a_description_is_limited(tmp_path, suffix, variable, monkeypatch):
    path = tmp_path / f"large{suffix}"
    with path.open("wb") as file:
        file.truncate((65 if variable == "DESCRIPTION" else 5) * 2**20)
    with pytest.raises(
        ModelLimitError, match=rf"over the limit of \d+ \(raise it by the environment variable QDDOT_MAX_{variable}_BYTES"
    ):
        qddot.load(path)
    monkeypatch.setenv(f"QDDOT_MAX_{variable}_BYTES", str(70 * 2**20))
    with pytest.raises(ModelError, match=r"NUL|not well-formed|empty"):
        qddot.load(path)


# recordings ---------------------------------------------------------------------------------------------------------------


def npy(shape: tuple[int, ...], data: bytes = b"") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


def wide_csv(folder: Path) -> Path:
    path, n = folder / "wide.csv", 100_000
    path.write_text(",".join(["t", *(f"q{i}" for i in range(n))]) + "\n" + ",".join(["0.1"] * (n + 1)) + "\n")
    return path


def long_line(folder: Path) -> Path:
    path = folder / "long.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"t,q1,tau1\n0,1,2\n")
        for _ in range(100):
            file.write(b"1" * 10**6)
    return path


def claiming_npy(folder: Path) -> Path:
    path = folder / "claim.npy"
    path.write_bytes(npy((10**12, 3), b"\0" * 100))
    return path


def bomb(folder: Path) -> Path:
    path = folder / "bomb.npz"
    rows = 40_000_000
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("q.npy", "w", force_zip64=True) as file,
    ):
        file.write(npy((rows, 8)))
        for _ in range(4):  # a part of what it claims: enough to see the ratio
            file.write(b"\0" * 2**24)
    return path


def claiming_npz(folder: Path) -> Path:
    path = folder / "claim.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", npy((1000, 3)))
    return path


def mat_bomb(folder: Path) -> Path:
    from scipy.io import savemat

    path = folder / "bomb.mat"
    savemat(path, {"rec": {"q": np.zeros((300_000, 8))}}, do_compression=True)
    return path


def hdf_bomb(folder: Path) -> Path:
    h5py = pytest.importorskip("h5py")
    path = folder / "bomb.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("q", (10**9, 8), "f8", chunks=(10**5, 8))  # never written, so a few kilobytes
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (wide_csv, "number of columns 100001 is over the limit of 10000 .*QDDOT_MAX_LOG_COLUMNS"),
        (long_line, "line 3: its length 1000001 is over the limit of 1000000 .*QDDOT_MAX_LOG_LINE"),
        (claiming_npy, "claim.npy: truncated: its header claims 24000000000000 bytes"),
        (bomb, "size in memory 2560000000 is over the limit of 2147483648 .*QDDOT_MAX_LOG_BYTES"),
        (claiming_npz, "array 'q' is truncated"),
        (hdf_bomb, "size in memory 64000000000 is over the limit"),
    ],
)
def test_recordings_beyond_measure_are_refused_at_once(tmp_path, make, message):
    with pytest.raises(InputError, match=message):
        Log.load(make(tmp_path))


def test_a_packed_mat_file_is_measured_before_it_is_unpacked(tmp_path, monkeypatch):
    path = mat_bomb(tmp_path)
    assert path.stat().st_size < 100_000
    monkeypatch.setenv("QDDOT_MAX_LOG_BYTES", "10000000")
    with pytest.raises(InputError, match=r"bomb.mat: size in memory \d+ is over the limit of 10000000"):
        Log.load(path)


def test_a_recording_too_large_to_keep_can_be_read_in_parts(tmp_path, monkeypatch):
    path = tmp_path / "run.csv"
    t = np.linspace(0, 10, 1001)
    np.savetxt(path, np.column_stack([t, np.sin(t), np.cos(t)]), delimiter=",", header="t,q1,tau1", comments="")
    monkeypatch.setenv("QDDOT_MAX_LOG_BYTES", "10000")
    with pytest.raises(InputError, match=r"size in memory \d+ is over the limit of 10000 .*piece by piece: Log.chunks"):
        Log.load(path)
    assert sum(len(part) for part in Log.chunks(path, rows=100)) == 1001
