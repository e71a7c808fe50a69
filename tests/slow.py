"""Some cases of a kind in `make test`, all of them in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(values: Iterable[Any], *fast: Any) -> list[Any]:
    """Values for `parametrize`: those not named are slow."""
    return [value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values]
