"""The code of docs/tensors.md, block after block as a reader would run it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tensors.md"
ELSEWHERE = "A training run"
"""What is quoted there is an example that has a test of its own."""


def test_the_code_of_the_page_runs():
    for library in ("torch", "jax"):
        pytest.importorskip(library, reason=f"{library} is not installed: make test-arrays")
    names: dict[str, object] = {}
    for heading, section in re.findall(r"^#+ (.*?)\n(.*?)(?=^#|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if heading != ELSEWHERE else ():
            if "environments" in block:
                pytest.importorskip("gymnasium", reason="gymnasium is not installed: all but the last block was run")
            exec(compile(block, f"{PAGE.name}: {heading}", "exec"), names)
    assert {"tau", "loss", "slope", "J", "arms", "gradient"} <= names.keys()
