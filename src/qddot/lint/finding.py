"""Findings, which are errors or probable mistakes, and the rules they come from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Severity(IntEnum):
    """Severity of a finding; the worst is the smallest.

    >>> qddot.lint.Severity.ERROR < qddot.lint.Severity.NOTE  # the worst first
    True
    """

    ERROR = 0
    WARNING = 1
    NOTE = 2


RULES: dict[str, tuple[Severity, str]] = {
    "QD001": (Severity.ERROR, "the description cannot be read"),
    "QD002": (Severity.ERROR, "a symbol without a value, where others have one"),
    "QD101": (Severity.WARNING, "something unusual that was kept as it is"),
    "QD201": (Severity.WARNING, "lengths look like millimetres"),
    "QD202": (Severity.WARNING, "masses look like grams"),
    "QD203": (Severity.WARNING, "an inertia too large for its link: other units, or about another point"),
    "QD204": (Severity.WARNING, "an inertia too small for its link, as placeholders are"),
    "QD205": (Severity.WARNING, "an inertia as an editor's default box has it"),
    "QD206": (Severity.NOTE, "every moving link has the same inertia"),
    "QD207": (Severity.WARNING, "a centre of mass on the wrong side of the joint"),
    "QD208": (Severity.WARNING, "a centre of mass far from its link"),
    "QD209": (Severity.ERROR, "a joint that moves no inertia: there are no accelerations"),
    "QD210": (Severity.NOTE, "no inertia at all: kinematics only"),
    "QD211": (Severity.NOTE, "symbols without values: equations only"),
    "QD212": (Severity.WARNING, "a centre of mass left in the joint of a long link"),
    "QD213": (Severity.WARNING, "a thin rod that lies across its link"),
    "QD214": (Severity.NOTE, "one moving link far heavier than every other"),
    "QD215": (Severity.WARNING, "a rotor that outweighs the whole arm"),
    "QD301": (Severity.WARNING, "limits that leave no motion"),
    "QD302": (Severity.WARNING, "a speed limit of zero"),
    "QD303": (Severity.NOTE, "an effort limit of zero: a passive joint"),
    "QD304": (Severity.NOTE, "zero is beyond the limits"),
    "QD305": (Severity.NOTE, "a joint without limits of position"),
    "QD306": (Severity.WARNING, "a joint that follows another beyond its own limits"),
    "QD307": (Severity.WARNING, "a weight that a joint cannot hold by far: masses like grams, or effort in other units"),
    "QD401": (Severity.NOTE, "an axis almost along a coordinate axis"),
    "QD402": (Severity.NOTE, "an angle almost a multiple of 90 degrees"),
    "QD403": (Severity.NOTE, "two joints in a row turn about the same line"),
    "QD501": (Severity.WARNING, "gravity that points up"),
    "QD502": (Severity.WARNING, "gravity of no planet: other units"),
}
"""Code -> severity and short description."""


@dataclass(frozen=True)
class Finding:
    """One error or probable mistake in a description.

    Attributes:
        code: one of `RULES`, which has its severity.
        message: the finding, with names and numbers.
        where: file, line and column, as far as known.
        fix: what to do about it; empty if the message says it.

    >>> finding = qddot.lint.lint("two_link")[0]
    >>> finding.data()["code"], finding.severity
    ('QD305', <Severity.NOTE: 2>)
    """

    code: str
    message: str
    where: str = ""
    fix: str = ""

    @property
    def severity(self) -> Severity:
        return RULES[self.code][0]

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{self.code} {self.severity.name.lower()}: {text}" + (f" ({self.fix})" if self.fix else "")

    def data(self) -> dict[str, Any]:
        """Return the finding as plain data, for JSON."""
        return {
            "code": self.code,
            "severity": self.severity.name.lower(),
            "message": self.message,
            "where": self.where,
            "fix": self.fix,
        }


def at(thing: Any, key: str = "") -> str:
    """Return the place of a link or joint, or of a key of it, in its file; empty if unknown."""
    return str(thing.place.of(key)) if thing.place and thing.place.file else ""
