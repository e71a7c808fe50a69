"""Files as programs should not write them: read where that is safe, refused at once with the right hint where it is not."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.logs.log import Log
from tests.logs.test_log_files import DATA, SAMPLES, VALUES, T, same

ROBOT = qddot.load("two_link")
QD = np.column_stack([VALUES[:, :3], DATA["qd"], VALUES[:, 3:]])


@pytest.mark.parametrize(
    "line",
    [
        '{t:.12g},"[{q[0]:.12g}, {q[1]:.12g}]","[{tau[0]:.12g}, {tau[1]:.12g}]"',
        "{t:.12g};[{q[0]:.12g} {q[1]:.12g}];({tau[0]:.12g}, {tau[1]:.12g})",
    ],
)
def test_cells_that_hold_lists(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lists.csv"
    rows = [line.format(t=t, q=q, tau=tau) for t, q, tau in zip(T, DATA["q"], DATA["tau"])]
    separator = ";" if ";" in line else ","
    path.write_text("\n".join([separator.join(("t", "q", "tau")), *rows]), encoding="utf-8")
    same(Log.load(path, ROBOT))


def test_numbers_without_names(tmp_path: Path) -> None:
    bare, with_rates, untimed = (tmp_path / name for name in ("bare.csv", "rates.txt", "untimed.npy"))
    np.savetxt(bare, VALUES, delimiter=",", fmt="%.12g")
    np.savetxt(with_rates, QD, fmt="%.12g")
    np.save(untimed, VALUES[:, 1:])
    same(Log.load(bare, ROBOT))
    same(Log.load(with_rates, ROBOT), "t", "q", "qd", "tau")
    same(Log.load(untimed, ROBOT, rate=100.0))
    np.savetxt(bare, QD[:, :5])  # no torques: velocities are not taken for them
    with pytest.raises(InputError, match="5 columns without names"):
        Log.load(bare, ROBOT)
    with pytest.raises(InputError, match="give the robot"):
        Log.load(bare)


def test_torques_of_friction_are_no_velocities_and_come_last(tmp_path: Path) -> None:
    """Wrists with little weight and much friction: their torques correlate with the velocities by more than 0.98."""
    path, rates = tmp_path / "bare.csv", np.gradient(DATA["q"], T, axis=0)
    tau = 0.05 * DATA["tau"] / np.ptp(DATA["tau"], axis=0) + [2.0, 1.5] * rates + [0.3, 0.2] * np.tanh(rates / 0.02)
    tau += 0.1 * np.random.default_rng(0).normal(size=tau.shape)
    assert np.corrcoef(tau[:, 0], rates[:, 0])[0, 1] > 0.98
    for columns, names in (((DATA["q"], tau), ("q", "tau")), ((DATA["q"], rates, tau), ("q", "qd", "tau"))):
        np.savetxt(path, np.column_stack([T, *columns]), fmt="%.12g")
        log = Log.load(path, ROBOT)
        for name, values in zip(names, columns):
            np.testing.assert_allclose(getattr(log, name), values, rtol=1e-10)
    np.savetxt(path, np.column_stack([T, DATA["q"], tau, rates]), fmt="%.12g")
    np.testing.assert_allclose(Log.load(path, ROBOT).tau, tau, rtol=1e-10)
    np.savetxt(path, np.column_stack([T, tau, DATA["q"]]), fmt="%.12g")
    with pytest.raises(InputError, match=r"5 columns without names, which are not time, positions.*in this order.*columns="):
        Log.load(path, ROBOT)


def test_one_column_of_everything(tmp_path: Path) -> None:
    path = tmp_path / "stacked.txt"
    np.savetxt(path, VALUES.ravel())
    with pytest.raises(InputError, match=r"one below the other\?.*reshape"):
        Log.load(path, ROBOT)


def test_stamps_that_were_rounded(tmp_path: Path) -> None:
    path = tmp_path / "rounded.csv"
    text = ["t,q1,q2,tau1,tau2", *(f"{t:.1f}," + ",".join(f"{x:.12g}" for x in row) for t, row in zip(T, VALUES[:, 1:]))]
    path.write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(InputError, match="rate="):
        Log.load(path, ROBOT)
    same(Log.load(path, ROBOT, rate=100.0))
    slow = np.round(np.arange(SAMPLES) / 80, 2)
    path.write_text("\n".join(["t,q1,q2,tau1,tau2", *(f"{t:.2f},{q},{q},1,{q}" for t, q in zip(slow, T))]), encoding="utf-8")
    assert any("rate=80" in finding.message for finding in Log.load(path, ROBOT).findings)
    lost = np.arange(2 * SAMPLES)[np.random.default_rng(0).random(2 * SAMPLES) > 0.2][:SAMPLES] / 100
    path.write_text("\n".join(["t,q1,q2,tau1,tau2", *(f"{t:.2f},{q},{q},1,{q}" for t, q in zip(lost, T))]), encoding="utf-8")
    assert not any("rounded" in finding.message for finding in Log.load(path, ROBOT).findings)


def bag_of_json(path: Path, names: list[str]) -> Path:
    writer = pytest.importorskip("mcap.writer")
    with path.open("wb") as file:
        mcap = writer.Writer(file)
        mcap.start()
        schema = mcap.register_schema(name="sensor_msgs/msg/JointState", encoding="jsonschema", data=b"{}")
        channel = mcap.register_channel(schema_id=schema, topic="/joint_states", message_encoding="json")
        for k, t in enumerate(T):
            message = {"header": {"stamp": {"sec": int(t), "nanosec": round(t % 1 * 1e9)}}, "name": names}
            message |= {"position": DATA["q"][k, ::-1].tolist(), "velocity": None, "effort": DATA["tau"][k, ::-1].tolist()}
            mcap.add_message(channel_id=channel, log_time=k, publish_time=k, data=json.dumps(message).encode())
        mcap.finish()
    return path


def test_joint_states_in_json(tmp_path: Path) -> None:
    same(Log.load(bag_of_json(tmp_path / "json.mcap", ["joint2", "joint1"]), ROBOT))


def test_names_that_cannot_be_printed(tmp_path: Path) -> None:
    """JSON may hold one half of a character that is written as two."""
    with pytest.raises(InputError, match="surrogates not allowed") as caught:
        Log.load(bag_of_json(tmp_path / "half.mcap", ["joint2", "joint\ud800"]), ROBOT)
    assert str(caught.value).encode()


def head(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def test_what_claims_to_be_huge_is_refused_at_once(tmp_path: Path) -> None:
    wide, claims, archive = (tmp_path / name for name in ("wide.csv", "claims.npy", "claims.npz"))
    wide.write_text(",".join(["1"] * 100_000) + "\n", encoding="utf-8")
    claims.write_bytes(head((10**12, 5)))
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("q.npy", head((10**12, 5)))
    for path, rule in ((wide, "QDDOT_MAX_LOG_COLUMNS"), (claims, "truncated"), (archive, "QDDOT_MAX_LOG_BYTES")):
        with pytest.raises(InputError, match=rule):
            Log.load(path, ROBOT)
