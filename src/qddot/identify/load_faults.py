"""Reasons why torques do not fit a load: they are delayed, the load changed during the log, or it sits on another link.

Each is fitted instead of the load or together with it, and the one with the smallest residual beyond noise is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.identify.checks.sensor_faults import told_delay
from qddot.identify.regression.signals import Signals, slopes
from qddot.thresholds import LOAD_AS_WELL, LOAD_CHANGES, MOST_OF_IT

if TYPE_CHECKING:
    from qddot.robot import Robot


class Reason(NamedTuple):
    """An alternative to a constant load on the given frame."""

    code: str
    columns: np.ndarray  # (N, nv, d): columns of its parameters, at the log's samples
    text: Callable[[np.ndarray], str]  # describes it by the values of its parameters (d,)


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
    return f"the load changes at t = {time:.3g} s, from {before:.2f} to {after:.2f} kg"


def best_reason(
    found: Iterator[Reason], fitted: Callable[[np.ndarray], tuple[np.ndarray, float]], unexplained: float
) -> tuple[str, str] | None:
    """Code and text of the reason that explains most of the squared residual, if it explains more than half; among nearly equal
    ones the first. `fitted(columns)` returns parameters and residual norm of a reason, `unexplained` is the residual norm of the
    load."""
    best, most = None, MOST_OF_IT
    for reason in found:
        numbers, left = fitted(reason.columns)
        share = 1 - (left / unexplained) ** 2
        if share > most + (LOAD_AS_WELL if best else 0.0):
            best, most = (reason.code, reason.text(numbers)), share
    return None if best is None else (best[0], f"{best[1]}: that explains {most:.0%} of it")
