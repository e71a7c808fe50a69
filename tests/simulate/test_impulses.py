"""Forces within bounds: both ways to them, and the law that they obey."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.simulate.impulses import solve_bounded, sweep


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_end_where_the_active_set_does(seed: int) -> None:
    """Where guesses of what is inside of its bounds do not end, sweeps over the rows take over: to the same forces."""
    rng = np.random.default_rng(seed)
    N = rng.normal(size=(6, 4, 5))
    W, v = N @ np.swapaxes(N, -1, -2) + 0.1 * np.eye(4), rng.normal(size=(6, 4))
    lower, upper = -rng.uniform(0, 1, (6, 4)), rng.uniform(0, 1, (6, 4))
    p = sweep(W, v, lower, upper, np.zeros((6, 4)))
    np.testing.assert_allclose(p, solve_bounded(W, v, lower, upper), atol=1e-9)
    moves = v + (W @ p[..., None])[..., 0]
    assert (np.abs(moves[(p > lower + 1e-9) & (p < upper - 1e-9)]) < 1e-9).all()  # inside: what it acts on rests
    assert (moves[p <= lower] > -1e-9).all()  # at a bound: it is against the motion
    assert (moves[p >= upper] < 1e-9).all()
