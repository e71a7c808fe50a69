"""Filtering of a log chunk by chunk, with the result that the whole log would have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise

import numpy as np

from qddot.errors import InputError
from qddot.identify.regression.filter_choice import Velocity, chosen
from qddot.identify.regression.signals import Signals, prepared, streamed_span
from qddot.logs.log import Log
from qddot.logs.lowpass import LowPass
from qddot.logs.stamps import steadied
from qddot.thresholds import CHUNKS_HELD, GAP, MOVES


def stream(
    logs: Iterable[Log], cutoff: float | None = None, *, velocity: Velocity | None = None, delay: float = 0.0
) -> Iterator[Signals]:
    """`prepare` the chunks of a log (`Log.chunks`), each with as many samples of the one before as the filters need.

    The decimated samples of all chunks are those of the whole log, if it is evenly sampled. What the caller leaves open is chosen
    from the first chunk in which the arm moves.

    Raises:
        InputError: no stretch of the log is as long as the filter.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> len(list(qddot.identify.stream([log[:400], log[400:]])))  # a chunk at a time, however long the log
    2
    """
    logs = iter(logs)
    waiting = up_to_motion(logs)
    if not waiting:
        return
    rate, tail, some, begun = steadied(waiting[0]).rate, None, False, False
    cutoff, velocity, recorded, findings = chosen(steadied(waiting[-1]), cutoff, velocity, "from the first chunk that moves: ")
    low_pass = LowPass(rate, cutoff)
    span, factor = streamed_span(low_pass), low_pass.factor
    for log, following in pairwise(chain(waiting, logs, [None])):
        if log is None:
            break
        seamless = tail is not None and continues(tail, log, rate)
        whole = appended(tail, log) if tail is not None and seamless else log
        even = steadied(whole)
        goes_on = (seamless and begun, following is not None and continues(log, following, rate))
        found = prepared(even, rate, cutoff, velocity, [*findings], goes_on, recorded, delay)
        if found is not None:
            some = True
            yield found
        last = even.segments[-1]
        whole_kernels = max(0, (last.stop - last.start - span) // factor + 1)
        begun = whole_kernels > 0 or (goes_on[0] and len(whole.segments) == 1)
        tail = whole[last.start + whole_kernels * factor :]
    if not some:
        raise InputError(f"no stretch of the log is long enough for a low-pass at {cutoff:.3g} Hz")


def up_to_motion(logs: Iterator[Log]) -> list[Log]:
    """The first chunks, up to and including one in which a joint moves."""
    found = []
    for log in islice(logs, CHUNKS_HELD):
        found.append(log)
        if np.ptp(log.q, axis=0).max() > MOVES:
            break
    return found


def continues(before: Log, after: Log, rate: float) -> bool:
    """True if a chunk goes on where the one before stopped."""
    return 0 < after.t[0] - before.t[-1] < GAP / rate


def appended(before: Log, after: Log) -> Log:
    """Join two chunks of one record; the seam ends no segment."""
    whole = before + after
    seam = len(before)
    first = slice(0, after.segments[0].stop + seam)
    return dataclasses.replace(whole, segments=(first, *whole.segments[len(before.segments) + 1 :]))
