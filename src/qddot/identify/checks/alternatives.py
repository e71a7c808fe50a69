"""Alternatives: other explanations of a log, such as delayed torques, a joint counted backwards or a tilted base.

Each alternative is fitted like the model, and the one that explains most of the residual is taken as its reason (`trial.py` defines
the share). Friction that the model lacks is not mistaken for one of them, since it depends on other signals.

An alternative must hold in both halves of a log: with parameters of one half it must predict the other, up to the limit that holds
for the model itself. Otherwise it only adds freedom to parameters that the log does not determine. Nor may its parameters be those
of no arm: all positions reversed explain a gravity that points upwards, with inertia and friction that are negative.

Small errors (a delay, a tilt, an offset of a zero) add a column each, the derivative of the predicted torque with respect to the
error, whose parameter is the size of the error. Others (a sign, an order of joints, no gravity) are tried as they are.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain

import numpy as np

from qddot.errors import InputError
from qddot.identify.checks.arm_faults import askew, coupled, misdrawn
from qddot.identify.checks.changes import changes, contacts
from qddot.identify.checks.channel_faults import gains, order, signs, units
from qddot.identify.checks.clipping import clipping
from qddot.identify.checks.normal_equations import fitted
from qddot.identify.checks.sensor_faults import backlash, clock, drift, hysteresis, late, pace, scales, warming, zeros
from qddot.identify.checks.several_faults import SMALL, several
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.drive_terms import POWERS
from qddot.identify.regression.excerpt import few, many, taken
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.residuals import rms
from qddot.identify.regression.signals import Signals
from qddot.thresholds import AS_LITTLE, CLEARLY, MATTERS, MOST_OF_IT, STRIBECK_SPEEDS, UNCERTAIN

SIMPLEST = (
    *("sign", "axis", "order", "units", "gravity", "delay", "zero", "tilt", "drift", "clock", "scale", "warming"),
    *("brake", "friction changes", "gain", "gain changes", "contact", "load"),
    *("rate", "geometry", "backlash", "hysteresis", "coupled", "at a level"),
)
FOR_A_WHILE = ("brake", "friction changes", "gain changes", "contact", "load")
"""Kinds that hold for a part of a log only, or change in its course."""
AT_TURNS = ("backlash", "hysteresis")
"""Kinds that show where something turns back, and hardly elsewhere."""
PASSING = (*FOR_A_WHILE, "drift", "clock", "warming")
"""Kinds that take a log long enough to repeat its motion: in a short one, parameters that it leaves open look like them."""
AS_SIMPLE = {"tilt": "zero", "geometry": "rate"}  # equally simple kinds, of which the one that explains more is preferred


TRIED = (
    *(late, askew, signs, order, units, zeros, scales, gains, coupled, changes, drift, warming, clock, pace, hysteresis),
    clipping,
)
ABSORBED = (askew, zeros, scales, gains, pace, misdrawn)
"""Faults that parameters may absorb nearly, while torques of other motions are wrong."""


class Alternatives:
    """The alternatives to a fit, on an excerpt of its log; nothing is tried before it is asked for."""

    def __init__(self, base: Base, theta: np.ndarray, signals: Signals) -> None:
        self.base, self.theta, self.signals = base, theta, signals

    def are_of(self, base: Base, theta: np.ndarray, signals: Signals) -> bool:
        """True if these are the alternatives to exactly this fit."""
        return self.base is base and self.theta is theta and self.signals is signals

    @cached_property
    def trial(self) -> Trial:
        return Trial(self.base, self.theta, few(self.signals))

    @cached_property
    def fine_trial(self) -> Trial:
        """The fit on many samples, for effects within the short time in which a joint turns: dry friction, play."""
        return Trial(self.base, self.theta, many(self.signals))

    @cached_property
    def noise(self) -> np.ndarray:
        """Rms white noise of the filtered torques (nv,), N m, from the spectrum of the residual: at high frequencies torques have
        the steps of friction as well, which the fit explains. Of the torques themselves in an excerpt without its noise."""
        if self.signals.thinned > 1:
            return self.signals.noise
        middle = self.signals.middle
        trial = Trial(self.base, self.theta, taken(self.signals, range(middle.start, middle.stop)))
        residual = trial.motion.tau - trial.known_torques - trial.torques
        return np.minimum(self.signals.noise, self.signals.noise_of(residual))

    @cached_property
    def found(self) -> list[Alternative]:
        """The alternatives that predict one half of the log from the other, in the order of `in_order`."""
        tried = chain(*(faults(self.trial) for faults in TRIED), backlash(self.fine_trial))
        found = [one for one in tried if one.unpredicted < UNCERTAIN and self.is_of_an_arm(one)]
        if max((one.share for one in found if one.kind != "rate"), default=0.0) < CLEARLY:
            found += [one for one in misdrawn(self.trial) if one.unpredicted < UNCERTAIN]
        best = next(iter(in_order(found)), None)
        if best is None or best.share < (CLEARLY if best.kind in SMALL else MOST_OF_IT):
            found += [one for one in several(self.trial) if one.unpredicted < UNCERTAIN]
        if max((one.share for one in found), default=0.0) < MOST_OF_IT:
            found += [one for one in contacts(self.trial) if one.unpredicted < UNCERTAIN]
        return in_order(found)

    @cached_property
    def absorbed(self) -> list[Alternative]:
        """Faults that may leave only a trace, on many samples, since few blur the steps of friction by more than that."""
        found = chain(*(faults(self.fine_trial) for faults in ABSORBED))
        return in_order([one for one in found if one.unpredicted < UNCERTAIN])

    @cached_property
    def with_any_friction(self) -> Alternatives | None:
        """The alternatives to a fit with all laws of friction that depend on the speed alone; None if the log, or what is known of
        the parameters, does not allow for it."""
        parameter_set = self.base.parameter_set
        if len(parameter_set.T) - len(parameter_set.names) > len(parameter_set.dropped):
            return None
        usual = STRIBECK_SPEEDS[0] * float(np.median(rms(self.signals.qd)))
        any_friction = {"viscous": len(POWERS), "asymmetric": True, "stribeck": usual}
        try:
            base = base_parameters(ParameterSet.of(parameter_set.robot, **{**parameter_set.asked, **any_friction}))
        except InputError:
            return None
        theta = Trial(base, np.zeros(base.rank), many(self.signals)).fit[0]
        return Alternatives(base, theta, self.signals)

    def is_of_an_arm(self, one: Alternative) -> bool:
        """False if the parameters that an alternative takes are those of no arm."""
        return one.left is None or one.left.theta is None or self.trial.is_an_arm(one.left.theta[: self.base.rank])

    @cached_property
    def is_only_at_turns(self) -> bool:
        """True if nothing that matters is left where joints slide on, each fifth of the log predicted by the others: what friction
        does where it holds a joint for a moment looks like many faults. False if joints hardly slide on."""
        trial = self.trial
        slides = (trial.holding < MATTERS * trial.size) & trial.moving
        if slides.sum(axis=0).min() < 2 * self.base.rank:
            return False
        left = fitted(trial.in_fifths.of_rows(slides), 1)[1]
        size = np.sqrt(np.sum((trial.measured * slides) ** 2, axis=0))
        return bool(np.all(left.unseen < MATTERS * size))

    def told_by(self, poor: bool) -> list[Alternative]:
        """Alternatives that a log can tell: all of them, or of a `poor` one those that do not change in its course."""
        return [one for one in self.found if not (poor and one.kind in PASSING)]

    @property
    def lasting(self) -> list[Alternative]:
        """Alternatives that hold for the whole log: one for a part of it explains a little of any residual."""
        return [one for one in self.found if one.kind not in FOR_A_WHILE]


def in_order(found: list[Alternative]) -> list[Alternative]:
    """Sort alternatives: first those that leave about as little as the best one, then by share in per cent; among equal shares the
    simplest first, among equally simple kinds the one that explains more. A contact, which is left out whatever it is, comes after
    another effect for a while that explains clearly."""
    most = max((one.share for one in found), default=0.0)
    clear = max((one.share for one in found if one.kind in FOR_A_WHILE and one.kind not in ("contact", "load")), default=0.0)

    def preferred(one: Alternative) -> tuple[float, ...]:
        share, kind = round(one.share, 2), AS_SIMPLE.get(one.kind, one.kind)
        if 1 - one.share < AS_LITTLE * (1 - most):
            share = round(most, 2)
        if one.kind == "contact" and clear > CLEARLY:
            share = min(share, round(clear, 2))
        return -share, SIMPLEST.index(kind), -one.share if kind in AS_SIMPLE.values() else 0.0

    return sorted(found, key=preferred)
