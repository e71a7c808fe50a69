"""A slice of `make fuzz` with a fixed seed, the corpus of what was once found, and odd arguments for every public method."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qddot
from qddot import QddotError
from qddot.robot import Robot
from tests.fuzz.judge import KINDS, again, outcome
from tests.fuzz.run import CORPUS, ROWS, run, table

MUTANTS = {"log": 60}  # of each kind; reading a recording takes longer
USUAL = 300


@pytest.mark.parametrize("kind", KINDS)
def test_mutants_are_refused_or_right(kind, tmp_path):
    found = {outcome(kind, index, 20261116, tmp_path) for index in range(MUTANTS.get(kind, USUAL))}
    assert "accepted" in found
    assert found & {"refused", "refused with line"}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.*")), ids=lambda path: path.name)
def test_what_was_once_found_stays_mended(path: Path):
    assert again(path) in ("accepted", "refused")


def test_workers_count_and_survive():
    counts, findings = run(["dh", "screws"], seconds=120, workers=1, seed=3, most=400, batch=200)
    assert findings == []
    assert {kind: n["mutants"] for kind, n in counts.items()} == {"dh": 200, "screws": 200}
    assert all(row in table(counts) for row in ROWS)


# every public method --------------------------------------------------------------------------------------------------------

EXCLUDED = {"derive", "properties", "identify", "excitation", "equations", "casadi", "export_c", "export_js", "explore"}
EXCLUDED |= {"to_urdf", "to_toml"}  # they would write files
METHODS = sorted(
    name
    for name, method in vars(Robot).items()
    if not name.startswith("_") and callable(method) and name not in EXCLUDED and len(inspect.signature(method).parameters) > 1
)
SIZES = st.sampled_from([0, 1, 2, 2, 2, 3, 20])
ODD = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e308, 1e-310, 1e200, 3e6, 0.3]
ODD_THINGS = [None, "q", b"q", 3, 1j, True, [], {}, [[1], [1, 2]], np.array(["a", "b"]), np.array([None, None]), object(), 1 << 70]


@st.composite
def arrays(draw):
    shape = draw(st.sampled_from([(2,), (2,), (2,), (1, 2), (3, 2), (20, 2), (2, 2), (3,), (), (0, 2), (2, 0), (2, 1, 2)]))
    values = np.array(draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=4)))
    array = np.resize(values, shape)
    with np.errstate(all="ignore"):
        single = array.astype(np.float32)
    return draw(st.sampled_from([array, single, array[..., ::-1] if array.ndim else array, np.asfortranarray(array)]))


THINGS = st.one_of(arrays(), arrays(), arrays(), st.sampled_from(ODD_THINGS))
KEYWORDS = {
    "out": st.one_of(arrays(), st.sampled_from([None, (), (None,)])),
    "dtype": st.sampled_from([np.float32, float, int, "f8", None, "x"]),
    "threads": st.sampled_from([1, 2, 10**6, 0, -1, "a", None]),
    "check": st.booleans(),
    "frame": st.sampled_from(["body_1", "x", 3, None]),
}


@pytest.fixture(scope="module")
def robot() -> Robot:
    return qddot.load("two_link")


@settings(max_examples=400)
@given(st.data())
def test_every_method_returns_numbers_or_our_error(robot, data):
    name = data.draw(st.sampled_from(METHODS))
    parameters = [p for p in inspect.signature(getattr(Robot, name)).parameters.values() if p.name != "self"]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = [k for k in KEYWORDS if k in {p.name for p in parameters} or any(p.kind is p.VAR_KEYWORD for p in parameters)]
    chosen = data.draw(st.sets(st.sampled_from(taken), max_size=2)) if taken else set()
    keywords = {k: data.draw(KEYWORDS[k]) for k in sorted(chosen)}
    arguments = [data.draw(THINGS, label=p) for p in needed]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = getattr(robot, name)(*arguments, **keywords)
        except QddotError:
            return
    if keywords.get("check", True):
        for value in result if isinstance(result, tuple) else (result,):
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                assert np.isfinite(value).all()
