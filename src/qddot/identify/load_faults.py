"""Reasons why torques do not fit a load: another gain, they come late, the load was taken up on the way, it sits on another link.

Each is fitted in the place of the load, or beside it, and the one that leaves least of what is no noise is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.identify.checks.sensor_faults import told_delay
from qddot.identify.regression.signals import Signals
from qddot.thresholds import LOAD_AS_WELL, LOAD_CHANGES, MOST_OF_IT

if TYPE_CHECKING:
    from qddot.robot import Robot


class Reason(NamedTuple):
    """An alternative to a load that is there all along."""

    code: str
    columns: np.ndarray  # (N, nv, d): what multiplies its numbers, at the log's samples
    text: Callable[[np.ndarray], str]  # of its numbers (d,)


def gains(names: Sequence[str], tau: np.ndarray, Y: np.ndarray) -> Iterator[Reason]:
    """Alternatives in which torques (N, nv) beside a load, whose columns are Y (N, nv, 10), have another gain than those by which
    the arm is known: all of them, or a joint's. The load scales with them and hides it; the arm's own weight, inertia and friction
    do not."""

    def told(whose: str, x: np.ndarray) -> str:
        return f"{whose} are {1 / (1 + x[0]):.4g} times what the arm's own would be, without which the load weighs {x[1]:.4g} kg"

    yield Reason("gain", np.concatenate([-tau[..., None], Y], axis=-1), lambda x: told("torques", x))
    for j, joint in enumerate(names if len(names) > 1 else ()):
        only = -tau[..., None] * np.eye(len(names))[j][:, None]
        yield Reason("gain", np.concatenate([only, Y], axis=-1), lambda x, joint=joint: told(f"torques of {joint}", x))


def reasons(robot: Robot, signals: Signals, frame: str, columns: Callable[[str], np.ndarray]) -> Iterator[Reason]:
    """Alternatives to a load on a frame; `columns(frame)` are those of a load on any (N, nv, 10)."""
    Y, nv = columns(frame), robot.nv
    slope = np.concatenate([np.gradient(signals.tau[s], 1 / signals.rate, axis=0) for s in signals.segments])
    late = -slope[..., None]
    yield Reason("delay", np.concatenate([late, Y], axis=-1), lambda x: f"torques are {told_delay(x[0])}")
    for j, joint in enumerate(robot.joint_names):
        only = late * np.eye(nv)[j][:, None]
        yield Reason(
            "delay", np.concatenate([only, Y], axis=-1), lambda x, joint=joint: f"torques of {joint} are {told_delay(x[0])}"
        )
    for time in np.linspace(signals.t[0], signals.t[-1], LOAD_CHANGES + 2)[1:-1]:
        after = Y * (signals.t > time)[:, None, None]
        yield Reason("load", np.concatenate([Y - after, after], axis=-1), lambda x, time=time: changed(time, x[0], x[10]))
    for link in reversed(robot.body_names):  # of links that explain the same, the outer one carries loads
        other = columns(link)
        if np.any(other):
            yield Reason("frame", other, lambda x, link=link: f"the load sits on {link!r}, not on {frame!r}")


def changed(time: float, before: float, after: float) -> str:
    return f"the load changes at t = {time:.3g} s, from {before:.2f} to {after:.2f} kg"


def best_reason(
    found: Iterable[Reason], fitted: Callable[[np.ndarray], tuple[np.ndarray, float]], unexplained: float
) -> tuple[str, str, np.ndarray] | None:
    """Code, words and numbers of the reason that explains most of the square of what is unexplained, if that is most of it; of
    those that do nearly as well, the first. `fitted(columns)` returns its numbers and what it leaves unexplained."""
    best, most = None, MOST_OF_IT
    for reason in found if unexplained > 0 else ():
        numbers, left = fitted(reason.columns)
        share = 1 - (left / unexplained) ** 2
        if share > most + (LOAD_AS_WELL if best else 0.0):
            best, most = (reason, numbers), share
    return None if best is None else (best[0].code, f"{best[0].text(best[1])}: that explains {most:.0%} of it", best[1])
