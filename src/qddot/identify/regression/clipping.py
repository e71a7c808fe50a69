"""Torques that stay at a value but for noise: the drive or the sensor could do no more (`logs/stops.py` finds exact ones)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qddot.thresholds import ASKED, BY_MEDIAN, FLAT, TOP_FEWEST, TOP_SHARES

if TYPE_CHECKING:
    from qddot.identify.regression.residuals import Residuals


def flat_levels(left: Residuals, noise: np.ndarray) -> np.ndarray:
    """The largest and smallest value (2, nv) at which filtered torques stay, but for their noise (nv,), where the model asks for
    more; nan where they do not.

    Samples are taken by what is predicted, which knows nothing of the noise. Where all is well, torques vary among them as
    predicted; friction that is the same all along, or a rest, is predicted to be flat.
    """
    levels = np.full((2, left.measured.shape[1]), np.nan)
    for j, least in enumerate(noise):
        measured, predicted = left.filtered_measured[:, j], left.filtered_predicted[:, j]
        for k, s in enumerate((1, -1)):
            order = np.argsort(-s * predicted)
            for share in TOP_SHARES:
                top = order[: max(TOP_FEWEST, int(share * len(order)))]
                varies, asked = spread(measured[top]), spread(predicted[top])
                if 2 * len(top) < len(order) and varies < FLAT * least and asked > ASKED * max(varies, least):
                    levels[k, j] = np.median(measured[top])
    return levels


def spread(x: np.ndarray) -> float:
    """Robust standard deviation."""
    return float(BY_MEDIAN * np.median(np.abs(x - np.median(x))))
