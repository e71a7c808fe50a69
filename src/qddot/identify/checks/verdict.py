"""The verdict on a fit: a list of concerns, of which the serious ones say that it is not identified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

KINDS = {
    "joint still": "insufficient excitation",
    "unknown elsewhere": "insufficient excitation",
    "halves disagree": "insufficient excitation",
    "known by chance": "insufficient excitation",
    "ill-conditioned": "insufficient excitation",
    "all torques": "unexplained torques",
    "beyond noise": "unexplained torques",
    "above the cut-off": "unexplained torques",
    "torque of a joint": "unexplained torques",
    "unequal joints": "unexplained torques",
    "torques of a load": "unexplained torques",
    "at a limit": "clipped torques",
    "at a level": "clipped torques",
    "recordings disagree": "inconsistent logs",
    "validation disagrees": "inconsistent logs",
    "few blocks": "coloured residuals",
    "remembered": "coloured residuals",
    "driving friction": "sign",
    "rate": "clock",
}
"""Code of a concern -> its kind, where several checks find the same kind of fault; else the code is the kind."""


@dataclass(frozen=True)
class Concern:
    """A reason to doubt the parameters; after a serious one they count as not identified.

    Attributes:
        code: identifies the check: a key of `KINDS`, a code of a log's findings or the kind of an alternative.
        text: the finding, with names and numbers.
        joints: the joints concerned; none if it concerns all.

    >>> print(qddot.identify.Concern("at a limit", "joint1 was at its limit"))
    clipped torques: joint1 was at its limit
    """

    code: str
    text: str
    serious: bool = True
    joints: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Kind of fault, as printed."""
        return KINDS.get(self.code, self.code)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Verdict:
    """Verdict on a fit.

    >>> verdict = qddot.identify.Verdict((qddot.identify.Concern("at a limit", "joint1 has clipped torques"),))
    >>> print(verdict)
    NOT identified
    - clipped torques: joint1 has clipped torques
    >>> verdict.identified, verdict.has("at a limit")
    (False, True)
    """

    concerns: tuple[Concern, ...] = ()

    @property
    def identified(self) -> bool:
        """True if no concern is serious."""
        return not any(concern.serious for concern in self.concerns)

    def __bool__(self) -> bool:
        return self.identified

    def __repr__(self) -> str:
        head = "identified" if self.identified else "NOT identified"
        return "\n".join([head, *(f"- {concern}" for concern in self.concerns)])

    def has(self, code: str) -> bool:
        """True if there is a concern with this code, or of this kind."""
        return any(code in (concern.code, concern.kind) for concern in self.concerns)


def percent(share: float, digits: int = 0) -> str:
    """Format a fraction of the torques; more than all of them is not a meaningful figure."""
    return f"{share:.{digits}%}" if share <= 1 else "more than 100%"


def between(low: float, high: float) -> str:
    """Format an interval, with as many digits as tell its ends apart.

    >>> from qddot.identify.checks.verdict import between
    >>> between(4.43272, 4.43328), between(-0.2, 1.6)
    ('4.4327 to 4.4333', '-0.2 to 1.6')
    """
    size, width = max(abs(low), abs(high)), high - low
    apart = int(np.floor(np.log10(size / width))) + 2 if 0 < width < np.inf else 0
    digits = min(max(apart, 4), 17)
    return f"{low:.{digits}g} to {high:.{digits}g}"


def listed(names: Sequence[str]) -> str:
    """Join names to `a`, `a and b`, or `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
