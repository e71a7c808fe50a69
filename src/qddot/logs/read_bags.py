"""Reader of ROS 2 recordings: `sensor_msgs/msg/JointState` from rosbag2 (SQLite) and MCAP.

Messages are decoded here (CDR or JSON), so bags need no ROS, and those in SQLite no package at all.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from qddot.errors import InputError, missing_extra
from qddot.files import LOG_BYTES
from qddot.logs.table import Finding, Hints, Table, bad_row

ZSTD = b"\x28\xb5\x2f\xfd"
MOST = 2**24  # bytes per message
STAMP_KEYS = (("sec", "secs"), ("nanosec", "nsec", "nsecs"))  # of ROS 2, ROS 1 and bridges
JOINT_STATE = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")


@dataclass(frozen=True)
class JointState:
    """One message: stamp in nanoseconds, and names, positions, velocities and efforts of joints, as far as it has them."""

    stamp: int
    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class Cursor:
    """Reader of CDR data: little or big endian, each item aligned to its size after the four bytes of the header."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 4 or data[0] != 0 or data[1] > 1:
            raise ValueError("not plain CDR")
        self.data, self.at, self.order = data, 4, "<" if data[1] else ">"

    def take(self, code: str, size: int, count: int = 1) -> tuple:
        if count:
            self.at += (4 - self.at) % size  # the header's four bytes do not count
        end = self.at + size * count
        if end > len(self.data):
            raise ValueError("truncated")
        values = struct.unpack_from(f"{self.order}{count}{code}", self.data, self.at)
        self.at = end
        return values

    def text(self) -> str:
        (length,) = self.take("I", 4)
        (raw,) = self.take("s", 1, length)
        return raw.rstrip(b"\0").decode("utf-8", "replace")

    def doubles(self) -> np.ndarray:
        (length,) = self.take("I", 4)
        return np.array(self.take("d", 8, length))


def joint_state(data: bytes) -> JointState:
    """Decode one message. Raises ValueError: the bytes end too early, or are not CDR."""
    if data.lstrip()[:1] == b"{":
        return from_json(data)
    cursor = Cursor(data)
    (seconds,), (nanoseconds,) = cursor.take("i", 4), cursor.take("I", 4)
    cursor.text()
    (count,) = cursor.take("I", 4)
    if count > len(data):
        raise ValueError("truncated")
    names = tuple(cursor.text() for _ in range(count))
    return JointState(seconds * 10**9 + nanoseconds, names, cursor.doubles(), cursor.doubles(), cursor.doubles())


def from_json(data: bytes) -> JointState:
    """Decode a message of MCAP that is written as JSON; without a stamp, its stamp is 0. Raises ValueError: no names, names
    that are no texts, or values that are no numbers."""
    found = json.loads(data)
    stamp = found.get("header", {}).get("stamp", {})
    seconds, rest = (next((int(stamp[key]) for key in keys if key in stamp), 0) for keys in STAMP_KEYS)
    names = found.get("name")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("it names no joints")
    "".join(names).encode()  # raises ValueError: a name has half a character in it, and could not be printed
    try:
        numbers = [np.array(found.get(key) or [], dtype=float) for key in ("position", "velocity", "effort")]
    except TypeError as error:
        raise ValueError(str(error)) from None
    return JointState(seconds * 10**9 + rest, tuple(names), *numbers)


def unpacked(data: bytes) -> bytes:
    """Return a message unpacked, if the recorder packed it. Raises ValueError: it unpacks to more than the limit."""
    if data[:4] != ZSTD:
        return data
    try:
        import zstandard
    except ImportError:
        raise missing_extra("zstandard", "logs", "reading bags of packed messages") from None
    found = zstandard.ZstdDecompressor().stream_reader(data).read(MOST + 1)
    if len(found) > MOST:
        raise ValueError(f"it unpacks to more than {MOST} bytes")
    return found


def read_bag(path: Path, rows: int, hints: Hints) -> Iterator[Table]:
    """Yield blocks of at most `rows` messages of the one topic of joint states.

    Messages of other joints on the same topic, a gripper's, are left out: those that lack the robot's joints or, without a robot,
    those with fewer joints than the largest of the first block.
    """
    messages = from_sqlite(path, hints.topic) if path.suffix == ".db3" else from_mcap(path, hints.topic)
    row, names, by_header = 1, (), True
    while chunk := list(islice(messages, rows)):
        states, faults = [], {}
        for i, (_, data) in enumerate(chunk):
            try:
                states.append(joint_state(unpacked(data)))
            except ValueError as error:
                raise bad_row(path.name, row + i, f"the message is no JointState: {error}") from None
        if not names:
            wanted = set(hints.joint_names)
            about = [state for state in states if wanted and wanted <= set(state.names)] or states
            names = max(about, key=lambda state: len(state.names)).names
            by_header = len(states) == 1 or states[0].stamp != states[-1].stamp
        others = [state.names for state in states if set(state.names) != set(names)]
        kept = [i for i, state in enumerate(states) if set(state.names) == set(names)]
        findings = []
        if others:
            message = f"{path.name}: messages of other joints on the same topic left out: {', '.join(others[0])}"
            findings.append(Finding("found", "joints", message))
        if kept:
            stamps = [states[i].stamp if by_header else chunk[i][0] for i in kept]
            columns = columns_of(path.name, row, names, stamps, [states[i] for i in kept], hints.repair, faults)
            yield Table(path.name, columns, row, faults, findings=tuple(findings))
            row += len(kept)
    if row == 1:
        raise InputError(f"{path.name}: no messages of type {JOINT_STATE[0]}")


def columns_of(
    file: str, row: int, names: tuple[str, ...], stamps: list[int], states: list[JointState], repair: bool, faults: dict[int, str]
) -> dict[str, np.ndarray]:
    """Return columns `position/elbow`, ..., and the time in nanoseconds.

    A message that lacks numbers is added to `faults`; without `repair` it is refused.
    """
    for i, stamp in enumerate(stamps):
        if abs(stamp) >= 2**63:
            raise bad_row(file, row + i, f"its time of {stamp} ns is centuries away", "set the clock of the recorder")
    columns = {"time_ns": np.array(stamps, dtype=np.int64)}
    for key in ("position", "velocity", "effort"):
        if not any(len(getattr(state, key)) for state in states):
            continue
        values = np.full((len(states), len(names)), np.nan)
        for i, state in enumerate(states):
            given = getattr(state, key)
            if len(given) != len(names):
                faults[row + i] = f"{key} of {len(given)} joints, names of {len(names)}"
                if not repair:
                    raise bad_row(file, row + i, faults[row + i], "repair=True leaves such messages out")
                continue
            values[i] = given if state.names == names else [given[state.names.index(name)] for name in names]
        columns |= {f"{key}/{name}": values[:, j] for j, name in enumerate(names)}
    return columns


def from_sqlite(path: Path, wanted: str | None) -> Iterator[tuple[int, bytes]]:
    """(recorded nanoseconds, message) of the topic of joint states."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST)
        refuse_computed_tables(path, connection)
        topics = [(key, str(name), kind) for key, name, kind in connection.execute("SELECT id, name, type FROM topics")]
        states = {name: key for key, name, kind in topics if kind in JOINT_STATE}
        topic = the_one(path, states, wanted, [f"{name} ({kind})" for _, name, kind in topics])
        found = connection.execute("SELECT timestamp, data FROM messages WHERE topic_id = ? ORDER BY timestamp", (topic,))
        for row, (stamp, data) in enumerate(found, 1):
            if not isinstance(stamp, int) or not isinstance(data, bytes):
                raise bad_row(path.name, row, f"timestamp {stamp!r:.40}, data {data!r:.40}: not a whole number and bytes")
            yield stamp, data


def refuse_computed_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse views and computed columns, since a database could compute them without end. Raises InputError: topics or messages
    are missing, or no plain tables."""
    schema = dict(connection.execute("SELECT lower(name), upper(type || ' ' || sql) FROM sqlite_schema WHERE sql IS NOT NULL"))
    for name in ("topics", "messages"):
        if name not in schema:
            raise InputError(f"{path.name}: no table {name!r}: not a bag of rosbag2 (ros2 bag reindex mends a cut-off one)")
        if not schema[name].startswith("TABLE CREATE TABLE") or " AS " in schema[name] or "GENERATED" in schema[name]:
            raise InputError(f"{path.name}: {name!r} is computed and no plain table (record the bag anew with ros2 bag)")


def from_mcap(path: Path, wanted: str | None) -> Iterator[tuple[int, bytes]]:
    """(recorded nanoseconds, message) of the topic of joint states."""
    try:
        from mcap.reader import make_reader
    except ImportError:
        raise missing_extra("mcap", "logs", "reading MCAP") from None
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        if summary is None:
            raise InputError(f"{path.name}: no summary at the end: the recording was cut off (mcap recover mends it)")
        for chunk in summary.chunk_indexes:
            if rule := LOG_BYTES.over("size of a chunk", chunk.uncompressed_size):
                raise InputError(f"{path.name}: {rule}")
        schemas = {key: schema.name for key, schema in summary.schemas.items()}
        channels = list(summary.channels.values())
        states = {c.topic: c.topic for c in channels if is_joint_state(schemas.get(c.schema_id, ""), c.message_encoding)}
        everything = [f"{c.topic} ({schemas.get(c.schema_id) or 'no schema'}, {c.message_encoding})" for c in channels]
        topic = the_one(path, states, wanted, everything)
        for _, _, message in reader.iter_messages(topics=[str(topic)]):
            yield message.log_time, message.data


def is_joint_state(schema: str, encoding: str) -> bool:
    """Return True if a channel holds joint states that can be decoded; JSON schemas have no fixed names."""
    return (schema in JOINT_STATE and encoding == "cdr") or (schema.endswith("JointState") and encoding == "json")


def the_one(path: Path, topics: dict[str, int] | dict[str, str], wanted: str | None, everything: list[str]) -> int | str:
    """Return the wanted topic of joint states, or the only one."""
    if wanted is not None and wanted in topics:
        return topics[wanted]
    if len(topics) == 1 and wanted is None:
        return next(iter(topics.values()))
    if not topics:
        others = f" among {', '.join(everything[:8])}" if everything else ""
        raise InputError(f"{path.name}: no topic of type {JOINT_STATE[0]}{others} (record one, with position, velocity and effort)")
    problem = "several topics" if wanted is None else f"no topic {wanted!r}, but these"
    raise InputError(f"{path.name}: {problem} of joint states: {', '.join(topics)} (say which: topic={next(iter(topics))!r})")


def bag_files(folder: Path) -> list[Path]:
    """Return the files of a rosbag2 folder, in the order they were recorded."""
    files = [path for path in folder.iterdir() if path.suffix in (".db3", ".mcap")]
    return sorted(files, key=lambda path: (len(path.name), path.name))  # bag_2 before bag_10
