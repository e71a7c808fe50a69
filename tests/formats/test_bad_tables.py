"""Malformed tables and configurations: each must be refused, or kept with a warning, as the reference expects."""

import json
import warnings

import pytest

import qddot
from qddot import errors
from qddot.formats import load_model
from tests.reference import BAD

CASES = [c for c in json.loads((BAD / "expected.json").read_text())["files"] if c["category"] == "config"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_bad_configuration(case, strict, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whatever a file tries to write shows up here
    expected = case["expected_strict" if strict else "expected_default"]
    kind = getattr(errors, expected.partition("(")[0].partition(" ")[0], None)
    path = BAD / case["file"]
    if kind is None:
        assert expected.startswith("accept")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load_model(path, strict=strict)
        messages = [str(w.message) for w in caught if w.category is errors.ModelWarning]
        assert bool(messages) == ("ModelWarning" in expected)
        assert all(str(path) in message for message in messages)
    else:
        with pytest.raises(kind) as caught_error:
            load_model(path, strict=strict)
        error = caught_error.value
        assert type(error) is kind
        assert error.file == str(path)
        assert error.line
        if "attribute" in expected:
            assert error.element
            assert error.attribute
            assert error.text
        if "|R^T R-I|" in expected:
            assert "|R^T R - I|" in str(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ['{"name": "\\ud800arm", "bodies": []}', '{"name": "arm", "bodies": [{"\\udc00": 3}]}'])
def test_half_a_character_is_refused(text):
    with pytest.raises(errors.ModelSyntaxError, match="has half a character in it") as caught:
        qddot.load_string(text, "json")
    assert str(caught.value).encode()
