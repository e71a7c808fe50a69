"""What is to be thought of a fit: a list of concerns, and whether one of them is serious."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Concern:
    """One thing that speaks against the parameters; a serious one says that they are not identified.

    >>> print(qddot.identify.Concern("clipped", "joint1 was at its limit"))
    clipped: joint1 was at its limit
    """

    kind: str
    text: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Verdict:
    """What is to be thought of a fit.

    >>> verdict = qddot.identify.Verdict((qddot.identify.Concern("clipped", "joint1 was at its limit"),))
    >>> print(verdict)
    NOT identified
    - clipped: joint1 was at its limit
    >>> verdict.identified, verdict.has("clipped")
    (False, True)
    """

    concerns: tuple[Concern, ...] = ()

    @property
    def identified(self) -> bool:
        """True if nothing serious speaks against it."""
        return not any(concern.serious for concern in self.concerns)

    def __bool__(self) -> bool:
        return self.identified

    def __str__(self) -> str:
        head = "identified" if self.identified else "NOT identified"
        return "\n".join([head, *(f"- {concern}" for concern in self.concerns)])

    def has(self, kind: str) -> bool:
        """Whether there is a concern of this kind."""
        return any(concern.kind == kind for concern in self.concerns)


def percent(share: float, digits: int = 0) -> str:
    """Print a part of the torques; figures beyond all of them say nothing."""
    return f"{share:.{digits}%}" if share <= 1 else "more than 100%"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
