"""A prior for a physically consistent estimate, from a description whose links need not be bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.identify.pseudo_inertia import link_columns, pseudo_inertia
from qddot.model.inertia import Inertia

BALL = 0.05
"""Radius of the ball that stands for a link no body could be, m."""

LIGHT = 0.01
"""Of the mean mass of the links: what a link without mass gets."""


def plausible_prior(names: Sequence[str], parameters: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """(prior, replaced): parameters (p,) in which every link is a body with volume, and the links that were not.

    Each of those becomes a ball of 5 cm with its mass about its centre of mass; without mass, a light one at its origin.
    """
    found, replaced = np.array(parameters, dtype=float), []
    links = link_columns(names)
    mean = float(np.mean([max(found[columns[0]], 0.0) for columns in links.values()])) if links else 0.0
    for link, columns in links.items():
        mass, *moment = found[columns[:4]]
        if not is_body(found[columns]):
            com = [float(x) / mass if mass > 0 else 0.0 for x in moment]
            ball = Inertia.sphere(float(mass) if mass > 0 else LIGHT * mean or 1.0, BALL).shifted(com)
            found[columns] = np.array(ball.ten_vector(), float)
            replaced.append(link)
    return found, tuple(replaced)


def is_body(ten: np.ndarray) -> bool:
    """True if the pseudo-inertia is positive definite beyond rounding: by 1e-6 of what its mass and size make possible."""
    J = pseudo_inertia(ten)
    size = np.sqrt(np.maximum(np.diagonal(J), 0.0))
    return bool((size > 0).all() and np.linalg.eigvalsh(J / np.outer(size, size))[0] > 1e-6)
