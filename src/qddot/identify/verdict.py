"""Can these parameters be trusted? If not, why not, and what would help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qddot.identify.base import Base, random_motions
from qddot.identify.estimators import Estimate
from qddot.identify.explain import explanations
from qddot.identify.log import Log
from qddot.identify.residuals import Residuals, rms
from qddot.identify.signals import Signals
from qddot.identify.tally import Tally

CONDITION = 1000.0  # of the weighted regressor with columns of length 1: beyond, noise is amplified a thousand times
UNCERTAIN = 0.15  # of the torques, in postures that the log need not have seen
UNEXPLAINED = 0.25  # of the torques
COLOUR = 0.2
APART = 3.0  # ratio of residuals between segments
ELSEWHERE = 300  # postures
STILL = 0.1  # rad: a joint that moves less has not moved


@dataclass(frozen=True)
class Concern:
    """One thing that speaks against the parameters; a serious one says that they are not identified."""

    kind: str
    text: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


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


def verdict(
    base: Base, estimate: Estimate, signals: Signals | None = None, left: Residuals | Tally | None = None, log: Log | None = None
) -> Verdict:
    """Everything that can be said; what needs the samples is left out for a log that was streamed."""
    found = [*unidentifiable(base), *excitation(base, estimate, signals)]
    if left is not None:
        found += [*unexplained(left), *coloured(base, estimate, left), *apart(left)]
    if log is not None:
        found += [Concern("log", finding.message, serious=False) for finding in log.audit(base.columns.robot).warnings]
    return Verdict(tuple(found))


def unidentifiable(base: Base) -> list[Concern]:
    """Parameters that the user singled out (others are fixed or tied) but that no motion shows by themselves."""
    columns = base.columns
    if len(columns.names) == len(columns.T) or base.rank == len(columns.names):
        return []
    return [Concern("not identifiable", reason) for reason in explanations(base).values()]


def excitation(base: Base, estimate: Estimate, signals: Signals | None) -> list[Concern]:
    """The motion does not tell the base parameters apart."""
    found = []
    if signals is not None:
        still = [name for name, reach in zip(base.columns.robot.joint_names, np.ptp(signals.q, axis=0)) if reach < STILL]
        if still:
            found.append(Concern("insufficient excitation", f"{listed(still)} moved by less than {STILL} rad"))
        doubt, worst_joint = uncertainty_elsewhere(base, estimate, signals)
        if doubt > UNCERTAIN:
            found.append(
                Concern(
                    "insufficient excitation",
                    f"torques in postures all over the workspace, at the log's speeds, would be uncertain by {doubt:.0%} "
                    f"(at most {UNCERTAIN:.0%}; worst at {worst_joint}): {motion(base, signals)}",
                )
            )
    if estimate.condition > CONDITION:
        worst = np.argsort(-np.abs(estimate.weakest))[:4]
        names = [base.names[j] for j in worst if abs(estimate.weakest[j]) > 0.1]
        why = f"; {motion(base, signals)}" if signals is not None else ""
        found.append(
            Concern(
                "insufficient excitation",
                f"the condition number of the scaled regressor is {estimate.condition:.3g} (at most {CONDITION:g}): in this motion "
                f"the columns of {listed(names)} are nearly proportional{why}. {remedy(base)}",
            )
        )
    return found


def uncertainty_elsewhere(base: Base, estimate: Estimate, signals: Signals) -> tuple[float, str]:
    """Standard deviation of predicted torques, by blocks, relative to the torques: anywhere within the joint limits, with speeds
    and accelerations such as the log has. And the joint where it is worst."""
    columns = base.columns
    q, qd, qdd = random_motions(columns, ELSEWHERE)
    qd, qdd = (x / rms(x) * rms(seen) for x, seen in ((qd, signals.qd), (qdd, signals.qdd)))
    Y = columns.matrix(q, qd, qdd)[..., list(base.independent)]
    variance = np.einsum("njr,rs,njs->j", Y, estimate.sandwich, Y)
    size = np.sum((Y @ estimate.theta) ** 2, axis=0)
    worst = int(np.argmax(variance / np.where(size > 0, size, 1.0)))
    return float(np.sqrt(variance.sum() / size.sum())), columns.robot.joint_names[worst]


def remedy(base: Base) -> str:
    if base.condition > CONDITION / 3:
        return f"Random motions would not do better (condition number {base.condition:.3g}): fix one of them, or give it a prior"
    return (
        f"A longer and richer motion separates them (robot.excitation): random ones have a condition number of {base.condition:.3g}"
    )


def motion(base: Base, signals: Signals) -> str:
    """How little the arm moved, in words."""
    reach, speed = np.ptp(signals.q, axis=0), np.abs(signals.qd).max(axis=0)
    seconds = len(signals) / signals.rate
    turns = [int(np.sum(np.diff(np.sign(np.where(np.abs(x) < 0.02 * s, 0, x))) != 0) // 2) for x, s in zip(signals.qd.T, speed)]
    j = int(np.argmin(reach))
    names = base.columns.robot.joint_names
    fewest = int(np.argmin(turns))
    return (
        f"in {seconds:.3g} s, {len(names)} joints for {base.rank} parameters, {names[j]} moved through {reach[j]:.2g} rad "
        f"at up to {speed[j]:.2g} rad/s and {names[fewest]} turned back {turns[fewest]} times"
    )


def unexplained(left: Residuals | Tally) -> list[Concern]:
    """A model that does not fit at all."""
    if left.relative <= UNEXPLAINED:
        return []
    text = f"{left.relative:.0%} of the filtered torques remain: are units, signs and the order of joints right?"
    return [Concern("unexplained torques", text)]


def coloured(base: Base, estimate: Estimate, left: Residuals | Tally) -> list[Concern]:
    """Residuals that are no noise: something is missing in the model."""
    chance = 4 / np.sqrt(left.samples)  # what white noise may show in so few samples
    names = [name for name, c in zip(base.columns.robot.joint_names, left.colour) if abs(c) > max(COLOUR, chance)]
    if not names:
        return []
    ratio = float(np.median(estimate.std / np.where(estimate.std_classical > 0, estimate.std_classical, 1.0)))
    most = np.abs(left.colour).max()
    text = f"those of {listed(names)} remember themselves (up to {most:.2f} after a period of the cut-off): the model misses "
    text += f"something there; standard deviations by blocks are {ratio:.2g} times the classical ones"
    return [Concern("coloured residuals", text, serious=False)]


def apart(left: Residuals | Tally) -> list[Concern]:
    """Segments that do not belong to the same robot, or were not recorded alike."""
    each = left.by_segment
    if len(each) < 2:
        return []
    rest = [np.median(np.delete(each, k)) for k in range(len(each))]
    bad = [k for k in range(len(each)) if each[k] > APART * rest[k]]
    text = "segment {} has residuals of {:.3g} N m, the others {:.3g} N m: payload, units or time?"
    return [Concern("inconsistent logs", text.format(k + 1, each[k], rest[k])) for k in bad]


def listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
