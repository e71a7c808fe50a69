"""The notebooks in examples/notebooks run from top to bottom; their own assertions say what must come out."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")
NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_twelve():
    assert len(NOTEBOOKS) == 12


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code), "committed without outputs"
    names: dict[str, object] = {"__name__": path.stem}
    asserted = 0
    for cell in code:
        tree = ast.parse("".join(cell["source"]), f"{path.name}[{cell['id']}]")
        asserted += sum(isinstance(node, ast.Assert) for node in ast.walk(tree))
        exec(compile(tree, f"{path.name}[{cell['id']}]", "exec"), names)
    assert asserted, "a notebook asserts what it shows"
    plt.close("all")
