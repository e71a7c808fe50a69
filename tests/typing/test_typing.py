"""Public types are those that a user's type checker accepts under its strictest rules."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_users_script_has_types() -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright, of the extra lint, is not installed")
    found = subprocess.run([pyright, "tests/typing/user_script.py"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout
