"""What can be done with a trajectory: tables, pictures, films, parts."""

import csv
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import qddot
from qddot import InputError, MissingExtraError, progress


@pytest.fixture(scope="module")
def motion():
    robot = qddot.load("two_link")
    return robot.simulate([0.3, 0.4], None, 0.1, torque=[0.1, 0.0], step=0.01)


def test_repr(motion):
    assert repr(motion) == f"Trajectory of {motion.robot.name!r}: 11 samples, t = 0 ... 0.1 s"
    assert len(motion) == 11


def test_columns(motion):
    names = [f"{x}{i}" for x in ("q", "qd", "qdd", "tau") for i in (1, 2)]
    assert list(motion.columns()) == ["t", *names, "kinetic_energy", "potential_energy"]


def test_csv_holds_every_digit(motion, tmp_path):
    path = tmp_path / "motion.csv"
    motion.to_csv(path)
    with path.open() as file:
        head, *rows = csv.reader(file)
    assert head == list(motion.columns())
    assert_array_equal(np.array(rows, float).T, list(motion.columns().values()))


def test_parquet(motion, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "motion.parquet"
    motion.to_parquet(path)
    table = parquet.read_table(path)
    assert table.column_names == list(motion.columns())
    assert_array_equal(table["q2"].to_numpy(), motion.q[:, 1])


def test_parquet_names_the_extra(motion, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"writing Parquet needs the package 'pyarrow': pip install 'qddot\[parquet\]'"):
        motion.to_parquet(tmp_path / "motion.parquet")


def test_parts(motion):
    part = motion[2:5]
    assert_array_equal(part.q, motion.q[2:5])
    assert_array_equal(part.qdd, motion.qdd[2:5])
    assert_array_equal(motion[-1].t, motion.t[-1:])
    assert_array_equal([sample.t[0] for sample in motion], motion.t)  # ends
    assert_array_equal(motion[np.int64(2)].q, motion.q[2:3])
    with pytest.raises(IndexError):
        motion[len(motion)]


def test_tables_and_pictures_show_one_motion():
    batch = qddot.load("two_link").simulate(np.zeros((3, 2)), None, 0.01)
    for show in (batch.columns, batch.plot, batch.animate):
        with pytest.raises(InputError, match=r"shows one motion, this has a batch \(3,\): take one with trajectory\[:, i\]"):
            show()
    assert batch[:, 1].columns()["q1"].shape == (11,)
    assert repr(batch).endswith("batch (3,)")


def test_a_bar_only_for_long_simulations(monkeypatch, capsys):
    robot = qddot.load("two_link")
    robot.simulate([0, 0], None, 0.01, progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    shown = robot.simulate([0, 0], None, 0.05, progress=True)
    assert "simulating" in capsys.readouterr().err
    quiet = robot.simulate([0, 0], None, 0.05)  # no terminal
    assert capsys.readouterr().err == ""
    assert_array_equal(shown.q, quiet.q)
