"""Sensors that are late, drift, have play or another zero: torques and positions that are nearly those of the joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qddot.identify.checks.trial import Alternative, Left, Trial
from qddot.identify.regression.reduction import Samples
from qddot.logs.lowpass import convolved
from qddot.model.friction import smooth_step
from qddot.thresholds import DELAYS_TRIED, FRICTION_STEP, HYSTERESIS_WIDTHS, POSITION_STEP


def late(trial: Trial) -> Iterator[Alternative]:
    """tau(t) = tau_model(t - delay)."""
    slope = slopes(trial)
    (delay,), left = trial.with_columns(-slope[..., None])
    yield trial.told("delay", f"torques are {told_delay(delay)}", left)
    for j, name in enumerate(trial.names):
        found = [(0.0, *trial.with_columns(-(slope * trial.only(j))[..., None]))]
        for shift in DELAYS_TRIED:
            found.append((shift, np.zeros(1), trial.with_torques(shifted(trial, j, shift))))
        start, (more,), left = min(found, key=lambda each: each[2].noise[j])
        yield trial.told("delay", f"torques of {name} are {told_delay(start + more)}", left, j)


def clock(trial: Trial) -> Iterator[Alternative]:
    """tau(t) = tau_model(t - delay - e t): two clocks, of which one runs faster."""
    slope, t = slopes(trial), trial.signals.t - trial.signals.t[0]
    (_, rate), left = trial.with_columns(np.stack([-slope, -slope * t[:, None]], axis=-1))
    yield trial.told(
        "clock", f"the clock of the torques is {abs(rate):.2%} {'slow' if rate > 0 else 'fast'} against the other", left
    )


def slopes(trial: Trial) -> np.ndarray:
    """The rate (N, nv) at which predicted torques change."""
    tau, slope = trial.predicted(trial.motion), np.zeros_like(trial.motion.q)
    for segment in trial.signals.segments:
        slope[segment] = np.gradient(tau[segment], 1 / trial.signals.rate, axis=0)
    return slope


def told_delay(delay: float) -> str:
    return f"{abs(1e3 * delay):.2g} ms {'late' if delay > 0 else 'early'}"


def shifted(trial: Trial, j: int, delay: float) -> np.ndarray:
    """Torques as they would be if those of joint j came so much earlier, s; held at the ends of stretches."""
    tau, by = trial.motion.tau.copy(), round(delay * trial.signals.rate)
    for segment in trial.signals.segments:
        rows = np.clip(np.arange(segment.start, segment.stop) + by, segment.start, segment.stop - 1)
        tau[segment, j] = trial.motion.tau[rows, j]
    return tau


def drift(trial: Trial) -> Iterator[Alternative]:
    """tau + a t + b t^2, of one joint."""
    t = (trial.signals.t - trial.signals.t[0]) / np.ptp(trial.signals.t)
    for j, name in enumerate(trial.names):
        Z = trial.only(j)[:, None] * np.stack([t, t**2], axis=-1)[:, None]
        (a, b), left = trial.with_columns(Z)
        yield trial.told("drift", f"the torque of {name} drifts by {a + b:.3g} N m in the course of the log", left, j)


def zeros(trial: Trial) -> Iterator[Alternative]:
    """Positions of a joint counted from another zero."""
    for j, name in enumerate(trial.names):
        offset, left = zero_of(trial, j)
        text = f"positions of {name} are {abs(offset):.2g} rad (m) too {'small' if offset > 0 else 'large'}"
        yield trial.told("zero", text, left)


def zero_of(trial: Trial, j: int) -> tuple[float, Left]:
    """The offset of a joint's zero, and what it leaves."""
    q, aside = trial.motion.q, POSITION_STEP * trial.only(j)
    there, here = (trial.predicted(trial.motion._replace(q=q + s * aside)) for s in (1, -1))
    (offset,), left = trial.with_columns(((there - here) / (2 * POSITION_STEP))[..., None])
    return float(offset), left


def play(trial: Trial) -> Iterator[Alternative]:
    """Positions of a motor that turns round before its joint does; torques of a sensor that follows with play."""
    tau = trial.predicted(trial.motion)
    for j, name in enumerate(trial.names):
        size, left = trial.with_columns(backlash(trial, j, tau)[..., None])
        text = f"positions of {name} have {abs(2 * size[0]):.2g} rad (m) of play, as those of a motor behind a gear with backlash"
        yield trial.told("backlash", text, left, j)
        width = HYSTERESIS_WIDTHS * np.std(tau[:, j])
        lag = np.stack([following(tau[:, j], w) - tau[:, j] for w in width], axis=-1)
        found = [trial.with_columns(trial.only(j)[:, None] * lag[:, None, k : k + 1])[1] for k in range(len(width))]
        k = int(np.argmin([left.noise[j] for left in found]))
        text = f"the torque of {name} follows with a hysteresis of about {2 * width[k]:.2g} N m"
        yield trial.told("hysteresis", text, found[k], j)


def backlash(trial: Trial, j: int, tau: np.ndarray) -> np.ndarray:
    """Return what a position that is ahead by one unit in the direction of motion does to the torques (N, nv)."""
    q, qd, qdd, measured = trial.motion
    ahead = smooth_step(qd[:, j], FRICTION_STEP * max(float(np.std(qd[:, j])), 1e-12))
    low_pass, steps = trial.signals.low_pass, []
    for kernel in (low_pass.flat, low_pass.flat_slope, low_pass.flat_curvature):
        whole = np.zeros(len(ahead))
        for segment in trial.signals.segments:
            edge = len(kernel) // 2
            padded = np.pad(ahead[segment], edge, mode="edge")
            whole[segment] = convolved(padded[:, None], kernel)[: segment.stop - segment.start, 0]
        steps.append(POSITION_STEP * whole[:, None] * trial.only(j))
    moved = Samples(q + steps[0], qd + steps[1], qdd + steps[2], measured)
    return (trial.predicted(moved) - tau) / POSITION_STEP


def following(x: np.ndarray, width: float) -> np.ndarray:
    """Return what follows a signal (N,) with play: it moves only where the signal pushes it."""
    found, at = np.empty_like(x), float(x[0])
    for k, value in enumerate(x.tolist()):
        at = min(max(at, value - width), value + width)
        found[k] = at
    return found
