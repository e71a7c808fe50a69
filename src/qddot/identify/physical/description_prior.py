"""The description as a prior whose weight the log decides: links stay near those of CAD where the data leave them open.

    minimise  |R pi - r|^2 + sum over links of w_l D(J(pi_l), J(described_l))       D: the log-det divergence, see `consistent`

To second order D is a Gaussian prior whose precision is w_l times the curvature of D, so the probability of the torques given the
weights (their evidence) has a closed form,

    -2 log p(r | w) = log det S + e^T S^-1 e,     S = 1 + R C(w) R^T,     e = R (described) - r,

and a link's weight is the mean of the compared weights, in logarithms, each weighted by its evidence: only a link whose description
contradicts the torques loses its weight. `1 / sqrt(w)` is the relative error of a description. Friction, which descriptions rarely
have, is left to the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qddot.identify.physical.consistent import Consistent, consistent
from qddot.identify.physical.identified import identified_robot, sound_prior
from qddot.identify.physical.pseudo_inertia import BASIS, link_columns, pseudo_inertia
from qddot.identify.regression.estimators import equations
from qddot.robot import Robot
from qddot.thresholds import DESCRIPTION_ROUNDS, DESCRIPTION_WEIGHTS, INDEPENDENT, NO_EVIDENCE

if TYPE_CHECKING:
    from qddot.identify.fit import Fit


@dataclass(frozen=True, eq=False)
class NearDescription:
    """Links that agree with the log and stay as near to the description as it deserves.

    Attributes:
        fit: the fit to the log.
        weights: link -> weight of its description.
        consistent: all parameters, those of each link physically consistent.
        silent: links for which the log tells neither that the description is right nor that it is wrong.
    """

    fit: Fit
    weights: dict[str, float]
    consistent: Consistent
    silent: tuple[str, ...] = ()

    @property
    def deviations(self) -> dict[str, float]:
        """Link -> estimated relative error of its description: `1 / sqrt(weight)`."""
        return {link: float(1 / np.sqrt(weight)) for link, weight in self.weights.items()}

    @cached_property
    def robot(self) -> Robot:
        """The robot with these links, and the drives of the fit."""
        return identified_robot(self.fit.parameter_set, self.consistent.parameters)[0]

    def __repr__(self) -> str:
        told = {link: f"its description is off by about {off:.0%}" for link, off in self.deviations.items()}
        told |= dict.fromkeys(self.silent, "the log does not tell how good its description is")
        return "\n".join(f"{link}: {text}" for link, text in told.items())


def near_description(fit: Fit, weights: dict[str, float] | None = None) -> NearDescription:
    """See `Fit.near_description`."""
    parameter_set, estimate = fit.parameter_set, fit.estimate
    X, y = equations(fit.factors, estimate.sigma)
    known = estimate.std > 0
    ratio = float(np.median(estimate.std_classical[known] / estimate.std[known])) if known.any() else 1.0
    tempered = np.sqrt(INDEPENDENT) * min(ratio, 1.0)  # samples near in time are correlated, so they count less
    R, r = tempered * X @ fit.base.K, tempered * y
    names, prior = parameter_set.full_names, sound_prior(parameter_set)
    silent: tuple[str, ...] = ()
    if weights is None:
        whole = R @ np.linalg.pinv(parameter_set.T)
        weights, silent = by_evidence(whole, r + whole @ parameter_set.constant, names, prior)
    # 2 w D is -2 log of the prior, to second order; drives keep weight 1, a prior about as strong as one sample
    doubled = {link: 2 * weight for link, weight in weights.items()}
    T, constant = parameter_set.T, parameter_set.constant
    found = consistent(R, r, names, prior, T=T, constant=constant, gamma=1.0, weights=doubled)
    return NearDescription(fit, weights, found, silent)


def by_evidence(
    R: np.ndarray, r: np.ndarray, names: tuple[str, ...], prior: np.ndarray
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Choose link -> weight, one link after the other, in a few rounds; and list the links for which no weight has more evidence
    than another. `R`, `r`: (k, p) and (k,): equations of all parameters, with noise of variance 1."""
    links = link_columns(names)
    inside = np.concatenate(list(links.values()))
    drives = [k for k in range(len(names)) if k not in inside]
    Q = np.linalg.qr(R[:, drives])[0] if drives else np.zeros((len(R), 0))
    e = r - R[:, inside] @ prior[inside]
    e = e - Q @ (Q.T @ e)
    covariances = {}
    for link, columns in links.items():
        A = R[:, columns] - Q @ (Q.T @ R[:, columns])
        M = np.linalg.inv(pseudo_inertia(prior[columns])) @ BASIS
        curvature = np.einsum("aij,bji->ab", M, M)
        covariances[link] = A @ np.linalg.solve(curvature, A.T)
    weights, logs, most = dict.fromkeys(links, 1.0), np.log(DESCRIPTION_WEIGHTS), dict.fromkeys(links, 0.0)
    for _ in range(DESCRIPTION_ROUNDS):
        for link, own in covariances.items():
            rest = np.sum([np.eye(len(R)), *(c / weights[other] for other, c in covariances.items() if other != link)], axis=0)
            found = np.array([evidence(rest + own / w, e) for w in DESCRIPTION_WEIGHTS])
            share = np.exp((found - found.max()) / 2)
            weights[link], most[link] = float(np.exp(share @ logs / share.sum())), float(np.ptp(found))
    return weights, tuple(link for link, gain in most.items() if gain < NO_EVIDENCE)


def evidence(S: np.ndarray, e: np.ndarray) -> float:
    """Twice the log-probability of errors e with covariance S, up to a constant."""
    size, axes = np.linalg.eigh((S + S.T) / 2)
    size = np.maximum(size, 1.0)  # noise alone has variance 1, so a smaller one is rounding
    return -float(np.log(size).sum()) - float(np.sum((axes.T @ e) ** 2 / size))
