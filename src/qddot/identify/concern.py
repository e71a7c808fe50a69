"""One thing that speaks against a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Concern:
    """One thing that speaks against the parameters; a serious one says that they are not identified."""

    kind: str
    text: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def percent(share: float, digits: int = 0) -> str:
    """Of the torques; figures beyond all of them say nothing."""
    return f"{share:.{digits}%}" if share <= 1 else "more than 100%"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
