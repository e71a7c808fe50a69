"""A recorded motion with its derivatives: a filtered log, or samples whose derivatives are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.identify.regression import record
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import Signals, prepare
from qddot.robot import Robot

Recorded = record.Recorded | Samples


class Moved(NamedTuple):
    """A motion, and the filter for every signal along it, torques and columns of the model alike."""

    samples: Samples
    filtered: Callable[[np.ndarray], np.ndarray]
    signals: Signals | None = None  # None for samples

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd."""
        return self.samples.q, self.samples.qd, self.samples.qdd


def moved(robot: Robot, recorded: Recorded, cutoff: float | None = None, delay: float = 0.0) -> Moved:
    """Low-pass and differentiate a recorded motion, whose torques came `delay` seconds later; take samples as they are. Raises
    InputError: other joints, shapes, numbers that are not finite, a log shorter than the filter."""
    if not isinstance(recorded, Samples):
        signals = prepare(record.whole(robot, recorded), cutoff, delay=delay)
        return Moved(Samples(signals.q, signals.qd, signals.qdd, signals.tau_raw), signals.decimated, signals)
    arrays = Samples(*(np.atleast_2d(np.asarray(x, float)) for x in recorded))
    for name, array in zip(Samples._fields, arrays):
        if array.shape != (len(arrays.q), robot.nq if name == "q" else robot.nv):
            raise InputError(f"{name} has shape {array.shape}: {len(arrays.q)} samples of {robot.nv} joints are meant")
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds a number that is not finite")
    return Moved(arrays, lambda x: x)
