"""Online identification of an arm's base parameters."""

from __future__ import annotations

import numpy as np

from qddot.arguments import positive_number
from qddot.errors import InputError
from qddot.identify.alignment import alignable
from qddot.identify.fit import Fit
from qddot.identify.online.online_columns import OnlineColumns
from qddot.identify.online.recursive import Recursive
from qddot.thresholds import PRIOR_DEVIATIONS, PRIOR_SPREAD


class OnlineIdentification(Recursive):
    """Estimates base parameters sample by sample, starting from those of a fit.

        online = OnlineIdentification(fit, rate=1000, memory=30)
        online.update(q, tau)                     # every millisecond
        online.parameters["joint2.viscous"]       # at any time

    Args:
        fit: an earlier fit of the arm, whose parameters are the prior and whose noise weights the joints.
        rate: samples a second.
        memory: s of motion after which a sample counts for 1/e; inf: nothing is forgotten.
        spread: the prior's standard deviation is this fraction of a parameter's value plus ten of the fit's standard deviations.
        cutoff: cut-off frequency of the low-pass, Hz; None: that of the fit.
        delay: by how much later than positions torques come, s, a sample and a half at most; positions are taken that much earlier.
            None: the delay of the fit's log, which a logger of another rate need not have: 0 if it is longer than that here. It
            cannot be found online.

    Attributes:
        compiled: True if machine code computes the columns; else (harmonics, coupled joints, friction by load) a sample takes some
            hundred microseconds.

    >>> arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(0.3, 0, 0), tensor=(0, 0.03, 0.03)).robot()
    >>> motion = arm.simulate([-1.5], t=np.arange(0, 10, 0.01), step=0.01, torque=lambda t, q, qd: [2 * np.sin(7 * t)])
    >>> fit = arm.identify(qddot.identify.Log(motion.t, motion.q, tau=motion.tau))
    >>> online = qddot.identify.OnlineIdentification(fit, rate=100)
    >>> for q, tau in zip(motion.q, motion.tau):
    ...     online.update(q, tau)
    ...
    >>> round(online.parameters["rod.mcx"], 3)
    0.3
    """

    def __init__(
        self,
        fit: Fit,
        *,
        rate: float,
        memory: float = np.inf,
        spread: float = PRIOR_SPREAD,
        cutoff: float | None = None,
        delay: float | None = None,
    ) -> None:
        self.base, estimate = fit.base, fit.estimate
        if not spread > 0:
            raise InputError(f"spread={spread!r} is not a positive part of the parameters")
        columns = OnlineColumns(fit.base)
        order, self.compiled = columns.order, columns.compiled
        names = [fit.base.names[k] for k in order]
        std = np.maximum(spread * np.abs(estimate.theta) + PRIOR_DEVIATIONS * estimate.std, 1e-9)
        prior, rest = (estimate.theta[order], std[order]), fit.parameter_set.rest_speeds
        cutoff = fit.signals.cutoff if cutoff is None else cutoff
        delay = alignable(fit.signals.delay, positive_number("rate", rate)) if delay is None else delay
        known = names, columns, columns.shape, prior, estimate.sigma, rest
        super().__init__(*known, rate=rate, cutoff=cutoff, memory=memory, delay=delay)
