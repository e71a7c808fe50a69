"""Reasons why torques do not fit a load: a gain, something else on the arm, a delay, a load that changed or is on another link.

Each is fitted instead of the load or together with it, and the one with the smallest residual beyond noise is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from qddot.identify.checks.sensor_faults import told_delay
from qddot.identify.load_equations import carrier
from qddot.identify.regression.signals import Signals, slopes
from qddot.robot import Robot
from qddot.thresholds import LOAD_AS_WELL, LOAD_CHANGES, MOST_OF_IT


class Reason(NamedTuple):
    """An alternative to a constant load on the given frame."""

    code: str
    columns: np.ndarray  # (N, nv, d): its columns of the regressor, at the log's samples
    text: Callable[[np.ndarray], str]  # describes it by the values of its parameters (d,); empty if nothing has these values


def gains(names: Sequence[str], tau: np.ndarray, Y: np.ndarray) -> Iterator[Reason]:
    """Yield the alternatives with a wrong gain of the torques, of all joints or of one.

    The torques (N, nv) then have another gain than those from which the arm was identified. A load, whose columns are Y (N, nv,
    10), absorbs the part that is proportional to it; the arm's own weight, inertia and friction show the gain.
    """

    def told(whose: str, x: np.ndarray) -> str:
        gain, mass = 1 / (1 + x[0]), x[1]
        if gain < 0 or mass < 0:
            return ""
        return f"{whose} are {gain:.4g} times what the arm's own would be, without which the load weighs {mass:.4g} kg"

    yield Reason("gain", np.concatenate([-tau[..., None], Y], axis=-1), lambda x: told("torques", x))
    for j, joint in enumerate(names if len(names) > 1 else ()):
        only = -tau[..., None] * np.eye(len(names))[j][:, None]
        yield Reason("gain", np.concatenate([only, Y], axis=-1), lambda x, joint=joint: told(f"torques of {joint}", x))


def bodies(robot: Robot, frame: str, columns: Callable[[str], np.ndarray]) -> Iterator[Reason]:
    """Yield the alternatives with another weight of a link: a hose or a cable that was not there, a tool that was taken off.

    Its mass and centre are found together with the load, which absorbs most of it. `columns(frame)` are the columns (N, nv, 10) of
    a load on any frame.
    """
    Y = columns(frame)

    def told(link: str, x: np.ndarray) -> str:
        known = "than when the arm was identified, without which the load weighs"
        return f"{link!r} carries more or less {known} {x[4]:.4g} kg" if x[4] > 0 else ""

    for link in robot.body_names:
        other = columns(link)[..., :4]
        if np.any(other) and carrier(robot, link)[0] != carrier(robot, frame)[0]:
            yield Reason("arm", np.concatenate([other, Y], axis=-1), lambda x, link=link: told(link, x))


def reasons(robot: Robot, signals: Signals, frame: str, columns: Callable[[str], np.ndarray]) -> Iterator[Reason]:
    """Yield the alternatives to a load on a frame; `columns(frame)` are the columns (N, nv, 10) of a load on any frame."""
    Y, late = columns(frame), -slopes(signals.tau, signals)[..., None]
    yield Reason("delay", np.concatenate([late, Y], axis=-1), lambda x: f"torques are {told_delay(x[0])}")
    for j, joint in enumerate(robot.joint_names):
        both = np.concatenate([late * np.eye(robot.nv)[j][:, None], Y], axis=-1)
        yield Reason("delay", both, lambda x, joint=joint: f"torques of {joint} are {told_delay(x[0])}")
    for time in np.linspace(signals.t[0], signals.t[-1], LOAD_CHANGES + 2)[1:-1]:
        after = Y * (signals.t > time)[:, None, None]
        yield Reason("load", np.concatenate([Y - after, after], axis=-1), lambda x, time=time: changed(time, x[0], x[10]))
    for link in reversed(robot.body_names):  # outer links first, since they are the likelier carriers
        other = columns(link)
        if np.any(other):
            yield Reason("frame", other, lambda x, link=link: f"the load sits on {link!r}, not on {frame!r}")


def changed(time: float, before: float, after: float) -> str:
    """Return the sentence on a load whose mass (kg) changes at a time (s)."""
    return f"the load changes at t = {time:.3g} s, from {before:.2f} to {after:.2f} kg"


def best_reason(
    found: Iterable[Reason], fitted: Callable[[np.ndarray], tuple[np.ndarray, float]], unexplained: float
) -> tuple[str, str, np.ndarray] | None:
    """Return code, text and parameters of the reason that explains most of the squared residual; None if none explains half of it.

    Args:
        found: the reasons; of those that explain nearly as much, the first is chosen.
        fitted: function that returns the parameters and the residual norm of a reason, given its columns.
        unexplained: residual norm of the load.
    """
    best, most = None, MOST_OF_IT
    for reason in found if unexplained > 0 else ():
        numbers, left = fitted(reason.columns)
        share = 1 - (left / unexplained) ** 2
        if reason.text(numbers) and share > most + (LOAD_AS_WELL if best else 0.0):
            best, most = (reason, numbers), share
    return None if best is None else (best[0].code, f"{best[0].text(best[1])}: that explains {most:.0%} of it", best[1])
