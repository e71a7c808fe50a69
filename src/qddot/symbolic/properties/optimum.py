"""The largest value of a function in a box, by many starts and a local search. The value found is attained, if not the largest."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

STARTS = 1024
CORNERS = 10  # the most dimensions in which all corners are tried
CLIMBS = 4000  # the most steps of the local search: along a ridge (one free body's c in the 1-norm) it would go on for minutes


def maximise(
    f: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    ceiling: float = np.inf,
    hints: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the largest value found, and its point.

    Args:
        f: function of many points (m, n) at once.
        ceiling: a known upper bound of `f`: the search ends where it is reached.
        hints: further points (m, n) to start from.
    """
    n = len(low)
    if n == 0 or (low == high).all():
        return float(f(low[None])[0]), low
    points = [low + (high - low) * np.random.default_rng(0).random((STARTS, n)), [(low + high) / 2]]
    if n <= CORNERS:
        points.append(np.array(list(product(*zip(low, high)))))
    starts = np.concatenate([*points, np.empty((0, n)) if hints is None else hints])
    values = f(starts)
    value, x = climbed(f, starts[np.argmax(values)], low, high)
    if value >= ceiling - 1e-9 * abs(ceiling):
        return value, x
    from scipy.optimize import differential_evolution

    population = starts[np.argsort(-values)[: 12 * n + 8]]
    found = differential_evolution(
        lambda x: -f(np.atleast_2d(x.T)),
        list(zip(low, high)),
        init=population,  # type: ignore[arg-type]
        vectorized=True,
        updating="deferred",
        polish=False,
        maxiter=40 + 15 * n,
        tol=1e-9,
        rng=0,
    )
    return max((value, x), climbed(f, found.x, low, high), key=lambda pair: pair[0])


def climbed(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the value and point reached from x by steps along the axes, halved when none leads up: gradients mislead at kinks, as
    maxima of norms may be."""
    value, step = float(f(x[None])[0]), 1e-3
    directions = np.concatenate([np.eye(len(x)), -np.eye(len(x))]) * (high - low)
    for _ in range(CLIMBS):
        around = np.clip(x + step * directions, low, high)
        values = f(around)
        best = int(np.argmax(values))
        if values[best] > value:
            value, x = float(values[best]), around[best]
        else:
            step /= 2
            if step < 1e-13:
                break
    return value, x
