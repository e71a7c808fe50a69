"""A slice of `make fuzz` with a fixed seed, the corpus of what was once found, and what must stay accepted."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

import qddot
from qddot.errors import QddotError
from tests.fuzz import calls, objects, recordings
from tests.fuzz.judge import KINDS, NEEDED, again, compute, load, outcome, read
from tests.fuzz.mutate import written
from tests.fuzz.run import CORPUS, ROWS, run, table
from tests.fuzz.seeds import DOCUMENTS, LOG, XML

MUTANTS = 80
INNOCENT = Path(__file__).with_name("innocent")


@pytest.mark.parametrize("kind", KINDS)
def test_mutants_are_refused_or_right(kind, tmp_path):
    found = {outcome(kind, index, 20261116, tmp_path) for index in range(MUTANTS)}
    assert "accepted" in found
    assert found & {"refused", "refused with line"}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.*")), ids=lambda path: path.name)
def test_what_was_once_found_stays_mended(path: Path):
    assert again(path) in ("accepted", "refused")


def test_workers_count_and_survive():
    counts, findings = run(["dh", "screws"], seconds=120, workers=1, seed=3, most=200, batch=100)
    assert findings == []
    assert {kind: n["mutants"] for kind, n in counts.items()} == {"dh": 100, "screws": 100}
    assert all(row in table(counts) for row in ROWS)


# what must stay accepted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", XML)
def test_seeds_are_accepted(suffix, tmp_path):
    load(Random(1), tmp_path / f"seed{suffix}", XML[suffix].encode())


@pytest.mark.parametrize("suffix", [".toml", ".json", ".yaml"])
@pytest.mark.parametrize("seed", range(len(DOCUMENTS)))
def test_documents_are_accepted(seed, suffix, tmp_path):
    path = tmp_path / f"seed{suffix}"
    path.write_bytes(written(DOCUMENTS[seed], suffix))
    compute(Random(1), qddot.load(path))


@pytest.mark.parametrize("suffix", recordings.WRITERS)
def test_recordings_are_accepted(suffix, tmp_path):
    """As libraries write them today."""
    kind = {".h5": "hdf5"}.get(suffix, suffix[1:])
    if kind in NEEDED and not find_spec(NEEDED[kind]):
        pytest.skip(f"{NEEDED[kind]} is not installed")
    path = tmp_path / f"seed{suffix}"
    recordings.write(recordings.Quiet(), path, LOG)
    read(path)


@pytest.mark.parametrize("path", sorted(INNOCENT.glob("*.*")), ids=lambda path: path.name)
def test_innocent_files_are_accepted(path: Path):
    """As they were written once."""
    assert again(path) == "accepted"


def refusals(name: str, folder: Path) -> list[str]:
    """Why no robot takes a sound call of a method; nothing if one does."""
    found = []
    for robot in calls.robots():
        arguments, _ = calls.sound_call(robot, name, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                calls.looked_at(calls.bound(getattr(robot, name), arguments))
                return []
            except (QddotError, OSError) as error:
                found.append(str(error))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", objects.CALLS)
def test_other_calls_are_sound(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, sound = objects.CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls.looked_at(function(**sound))


@pytest.mark.parametrize("names", [set(calls.METHODS) - set(calls.SELDOM), pytest.param(set(calls.SELDOM), marks=pytest.mark.slow)])
def test_methods_have_sound_calls(names, tmp_path):
    """So that an odd argument is refused for its own sake. A new method with parameters of new names need not be known at once."""
    lacking = {name: why for name in sorted(names & set(calls.METHODS)) if (why := refusals(name, tmp_path))}
    assert len(lacking) <= max(2, len(names) // 20), lacking
