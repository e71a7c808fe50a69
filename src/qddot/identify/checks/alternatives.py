"""Alternatives that may be true of a log: torques that come late, a joint counted backwards, a base that stands askew.

A fit that leaves torques unexplained has a reason. Each alternative is fitted as the model is, and the one that explains most of
what is unexplained is the reason (`trial.py` says how that is measured). Friction that no model has cannot hide in one of them: it
depends on other things.

What is true of a log is true of both its halves. With parameters of one half, an alternative must therefore predict the other half,
up to the limit that holds for the model itself; else it only is more freedom for parameters that the log does not determine, and
explains what any freedom would.

Small errors (a delay, a tilt, an offset of a zero) are one more column each, the derivative of the predicted torque by the error,
and their size is the column's parameter. Others (a sign, an order of joints, no gravity) are tried as they are.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain

import numpy as np

from qddot.identify.checks.arm_faults import askew, coupled, misdrawn
from qddot.identify.checks.changes import changes, contacts
from qddot.identify.checks.channel_faults import gains, order, signs, units
from qddot.identify.checks.clipping import clipping
from qddot.identify.checks.sensor_faults import backlash, clock, drift, hysteresis, late, pace, scales, warming, zeros
from qddot.identify.checks.several_faults import SMALL, several
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.regression.base import Base
from qddot.identify.regression.excerpt import few, many
from qddot.identify.regression.signals import Signals
from qddot.thresholds import AS_LITTLE, CLEARLY, MOST_OF_IT, UNCERTAIN

SIMPLEST = (
    *("sign", "axis", "order", "units", "gravity", "delay", "zero", "tilt", "drift", "clock", "scale", "warming"),
    *("brake", "friction changes", "gain changes", "contact", "load"),
    *("rate", "geometry", "backlash", "hysteresis", "coupled", "gain", "at a level"),
)
FOR_A_WHILE = ("brake", "friction changes", "gain changes", "contact", "load")
"""Kinds that hold for a part of a log only, or change in its course."""
AS_SIMPLE = {"tilt": "zero", "geometry": "rate"}  # kinds that are no simpler than another: of those, the one that explains more


TRIED = (
    *(late, askew, signs, order, units, zeros, scales, gains, coupled, changes, drift, warming, clock, pace, hysteresis),
    clipping,
)


class Alternatives:
    """A fit on some samples of its log, and what else may be true of them; nothing is tried before it is asked for."""

    def __init__(self, base: Base, theta: np.ndarray, signals: Signals) -> None:
        self.base, self.theta, self.signals = base, theta, signals

    def are_of(self, base: Base, theta: np.ndarray, signals: Signals) -> bool:
        """Whether they stand beside this very fit."""
        return self.base is base and self.theta is theta and self.signals is signals

    @cached_property
    def trial(self) -> Trial:
        return Trial(self.base, self.theta, few(self.signals))

    @cached_property
    def fine_trial(self) -> Trial:
        """The fit on many of its samples, for what happens while a joint turns: dry friction, play."""
        return Trial(self.base, self.theta, many(self.signals))

    @cached_property
    def found(self) -> list[Alternative]:
        """All that predict one half of the log from the other, the best first; of equals the simplest, and of such the better."""
        tried = chain(*(faults(self.trial) for faults in TRIED), backlash(self.fine_trial))  # a turn is over in a few samples
        found = [one for one in tried if one.unpredicted < UNCERTAIN]
        if max((one.share for one in found if one.kind != "rate"), default=0.0) < CLEARLY:
            found += [one for one in misdrawn(self.trial) if one.unpredicted < UNCERTAIN]
        best = next(iter(in_order(found)), None)
        if best is None or best.share < (CLEARLY if best.kind in SMALL else MOST_OF_IT):
            found += [one for one in several(self.trial) if one.unpredicted < UNCERTAIN]
        if max((one.share for one in found), default=0.0) < MOST_OF_IT:
            found += [one for one in contacts(self.trial) if one.unpredicted < UNCERTAIN]
        return in_order(found)

    @property
    def lasting(self) -> list[Alternative]:
        """Alternatives that hold all along: to leave out a part of a log explains a little of anything."""
        return [one for one in self.found if one.kind not in FOR_A_WHILE]


def in_order(found: list[Alternative]) -> list[Alternative]:
    """Alternatives as they are said: those first that leave about as little as the best, then by their share in per cent; of equals
    the simplest, and of such the better."""
    most = max((one.share for one in found), default=0.0)

    def preferred(one: Alternative) -> tuple[float, ...]:
        share, kind = round(one.share, 2), AS_SIMPLE.get(one.kind, one.kind)
        if 1 - one.share < AS_LITTLE * (1 - most):
            share = round(most, 2)
        return -share, SIMPLEST.index(kind), -one.share if kind in AS_SIMPLE.values() else 0.0

    return sorted(found, key=preferred)
