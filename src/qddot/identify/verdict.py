"""Can these parameters be trusted? If not, why not, and what would help."""

from __future__ import annotations

from dataclasses import dataclass

from qddot.identify.audit import Audit
from qddot.identify.base import Base
from qddot.identify.concern import Concern
from qddot.identify.convert import NOT_SI
from qddot.identify.doubts_of_motion import coloured, excitation, impossible, unidentifiable
from qddot.identify.doubts_of_records import disagreeing, validated
from qddot.identify.doubts_of_torques import UNEXPLAINED, clipped, dead, driving, explained_otherwise, unexplained, units
from qddot.identify.estimators import Estimate
from qddot.identify.reduction import Factors
from qddot.identify.residuals import Residuals
from qddot.identify.rest import blurred
from qddot.identify.seen import Seen
from qddot.identify.tally import Tally

__all__ = ["UNEXPLAINED", "Concern", "Unseen", "Verdict", "verdict"]


@dataclass(frozen=True)
class Verdict:
    """What is to be thought of a fit."""

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


@dataclass(frozen=True, eq=False)
class Unseen:
    """A log that was kept for validation: what the parameters leave of it, and its own factors."""

    left: Residuals | Tally
    factors: Factors


def verdict(
    base: Base,
    estimate: Estimate,
    seen: Seen | None = None,
    left: Residuals | Tally | None = None,
    audit: Audit | None = None,
    factors: Factors | None = None,
    unseen: Unseen | None = None,
) -> Verdict:
    """Everything that can be said of what is given.

    Serious concerns come first. Among them what is wrong with the torques comes before what they say too little of, and that before
    what rests on the parameters: friction that drives, recordings that ask for others.
    """
    names = base.columns.robot.joint_names
    found, silent = [*unidentifiable(base)], []
    if left is not None and seen is not None:
        silent = dead(names, seen.tau)
        found += silent + clipped(names, seen, left) + unexplained(names, left, seen.noise)
        if not silent:
            found += explained_otherwise(base, estimate, seen.excerpt, left, seen.noise)
    found += excitation(base, estimate, seen, left, factors)
    if left is not None and seen is not None:
        found += [] if silent else driving(base, estimate, seen.excerpt, left)
        found += units(base, estimate, seen.excerpt)
    if factors is not None and left is not None:
        found += disagreeing(estimate, factors, left.ends)
    if unseen is not None and left is not None and factors is not None:
        found += validated(estimate, factors, left, unseen.factors, unseen.left)
    found += [*coloured(base, estimate, left), *impossible(base, estimate), *blurred(base)]
    if audit is not None:
        found += [Concern("log", finding.message, serious=NOT_SI in finding.message) for finding in audit.warnings]
    return Verdict(tuple(sorted(found, key=lambda concern: not concern.serious)))
