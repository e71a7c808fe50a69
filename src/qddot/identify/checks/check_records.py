"""Checks of recordings against each other, and of a log kept for validation against the fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.identify.checks.recordings import by_segment, disagreement, part
from qddot.identify.checks.verdict import Concern, percent
from qddot.identify.regression.estimators import Estimate
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.residuals import Errors, structure
from qddot.thresholds import DISAGREEMENT, UNCERTAIN, VALIDATION_NOTICEABLE, VALIDATION_WORSE


def disagreeing(estimate: Estimate, factors: Factors, ends: np.ndarray) -> list[Concern]:
    """Report a recording that does not seem to be of the same robot, or was not recorded like the others."""
    parts = by_segment(factors, ends)
    if len(parts) < 2:
        return []
    sizes = [len(one.R) for one in parts]
    starts = np.cumsum([0, *sizes])
    found = []
    for k, one in enumerate(parts):
        rest = part(factors, [*range(starts[k]), *range(starts[k + 1], starts[-1])])
        found.append(disagreement(estimate, factors.columns, one, rest))
    worst = int(np.argmax(found))
    if found[worst] < DISAGREEMENT:
        return []
    text = f"recording {worst + 1} and the others ask for different parameters: with the same ones, {np.sqrt(found[worst]):.2g} "
    text += "times as much torque remains unexplained. A payload, another unit or another zero?"
    return [Concern("recordings disagree", text)]


def validated(
    names: Sequence[str], estimate: Estimate, factors: Factors, left: Errors, other: Factors, unseen: Errors
) -> list[Concern]:
    """Report a log kept for validation that seems to be of another robot, or whose motion the fit cannot predict."""
    found = []
    apart = disagreement(estimate, factors.columns, factors, other)
    if apart > DISAGREEMENT:
        text = f"the log kept for validation asks for other parameters: with the same ones, {np.sqrt(apart):.2g} times as much "
        text += "torque of both remains unexplained. A payload, another unit or another zero?"
        found.append(Concern("validation disagrees", text))
    beyond = np.sqrt(max(unseen.relative**2 - left.relative**2, 0.0))
    if beyond > UNCERTAIN or beyond > max(VALIDATION_WORSE * left.relative, VALIDATION_NOTICEABLE):
        text = f"{percent(unseen.relative)} of the torques of the log kept for validation are not predicted, against "
        text += f"{left.relative:.2%} of the fit's own: the fit knows too little of such motion"
        found.append(Concern("validation", text))
    missed = structure(unseen.rms, left.rms) / np.where(left.size > 0, np.maximum(unseen.size, left.size), np.inf)
    bad = {name: float(share) for name, share in zip(names, missed) if share > UNCERTAIN}
    if bad and not found:
        told = ", ".join(f"{name} {percent(share)}" for name, share in bad.items())
        text = f"of single joints, more of the log kept for validation is not predicted than of the fit's own: {told} of their "
        found.append(Concern("validation", f"{text}torque (at most {UNCERTAIN:.0%})", joints=tuple(bad)))
    return found
