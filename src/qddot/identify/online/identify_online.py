"""Base parameters of an arm while it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import InputError
from qddot.identify.online.recursive import Prior, Recursive
from qddot.identify.physical.identified import identified_robot
from qddot.identify.regression.base import Base, random_motions
from qddot.model.friction import OTHER_WAY
from qddot.thresholds import PRIOR_DEVIATIONS, PRIOR_SPREAD

if TYPE_CHECKING:
    from qddot.identify.fit import Fit


class OnlineIdentification(Recursive):
    """Base parameters, sample by sample, from those of a fit on.

        online = OnlineIdentification(fit, rate=1000, memory=30)
        online.update(q, tau)                     # every millisecond
        online.parameters["joint2.viscous"]       # when it is wanted

    Args:
        fit: made of the arm before; its parameters are the prior, and its noise weighs the joints.
        rate: samples a second.
        memory: s of motion after which a sample counts for 1/e; inf: nothing is forgotten.
        spread: of a parameter's value, and ten of its standard deviations: how far it may go from the fit.
        cutoff: of the low-pass, Hz; the fit's if None.

    Raises:
        InputError: friction by load, harmonics or coupled joints, whose columns are found by turns or in a log as a whole.

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
        self, fit: Fit, *, rate: float, memory: float = np.inf, spread: float = PRIOR_SPREAD, cutoff: float | None = None
    ) -> None:
        self.base, estimate = fit.base, fit.estimate
        if not spread > 0:
            raise InputError(f"spread={spread!r} is not a positive part of the parameters")
        columns = CompiledColumns(fit.base)
        order = columns.order
        names = [fit.base.names[k] for k in order]
        std = spread * np.abs(estimate.theta) + PRIOR_DEVIATIONS * estimate.std
        super().__init__(
            names,
            columns,
            columns.shape,
            Prior(estimate.theta[order], np.maximum(std, 1e-9)[order]),
            estimate.sigma,
            fit.parameter_set.rest_speeds,
            rate=rate,
            cutoff=fit.signals.cutoff if cutoff is None else cutoff,
            memory=memory,
        )


class CompiledColumns:
    """The regressor of base parameters as one compiled call; columns in the order of the joints that feel them first."""

    def __init__(self, base: Base) -> None:
        parameter_set, robot = base.parameter_set, base.parameter_set.robot
        unknown = [t.name for t in parameter_set.terms if len(t.rows) > 1 or t.name.rpartition(".")[2][:3] in ("cos", "sin")]
        if unknown or parameter_set.is_loaded or robot.model.transmissions:
            what = unknown[0] if unknown else "friction by load" if parameter_set.is_loaded else "a motor of several joints"
            raise InputError(f"{what} is not identified while the robot moves (leave it out: ParameterSet.of)")
        names = parameter_set.full_names
        ones = np.array([2.0 if name.endswith(OTHER_WAY) else 1.0 for name in names])  # so that each has a column
        links = len(parameter_set.T) - len(parameter_set.terms)
        ones[:links] = parameter_set.full(parameter_set.described)[:links]
        whole, _ = identified_robot(parameter_set, ones)
        place = {name: k for k, name in enumerate(whole.parameter_names)}
        at = [place[name] for name in names]
        T = np.zeros((len(place), base.rank))
        T[at] = parameter_set.T[:, list(base.independent)]
        self._constant = np.zeros(len(place))
        self._constant[at] = parameter_set.constant
        for joint, drive in robot.drives.items():
            if f"{joint}.stiffness" in place:
                self._constant[place[f"{joint}.stiffness"]] = drive.at_joint.stiffness
        self._bound = whole.bind("regressor")
        Y = parameter_set.matrix(*random_motions(parameter_set, 20))[..., list(base.independent)]
        seen = np.any(Y != 0, axis=0)
        self.order = np.lexsort((np.arange(base.rank), -np.argmax(seen[::-1], axis=0))).tolist()
        self.shape, T = seen[:, self.order], T[:, self.order]
        picks = np.argmax(T != 0, axis=0)
        plain = np.array_equal(T, np.eye(len(T))[:, picks])
        self._T = None if plain else T
        joint, column = np.nonzero(self.shape)
        self._entries = joint * len(T) + picks[column] if plain else joint * base.rank + column
        self._knows = bool(np.any(self._constant))

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, out: np.ndarray) -> np.ndarray | None:
        """The entries of the regressor, see `Rows`."""
        bound = self._bound
        bound.q, bound.qd, bound.qdd = q, qd, qdd
        Y = bound()
        (Y if self._T is None else Y @ self._T).take(self._entries, out=out, mode="clip")
        return Y @ self._constant if self._knows else None
