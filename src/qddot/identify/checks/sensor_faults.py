"""Sensors that are late, drift, have play or another zero: torques and positions that are nearly those of the joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from qddot.identify.checks.normal_equations import Left
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.regression.reduction import Samples
from qddot.thresholds import DELAYS_TRIED, HYSTERESIS_WIDTHS, LONGEST_DELAY, PLAYS_TRIED, POSITION_STEP, REFINED


def late(trial: Trial) -> Iterator[Alternative]:
    """tau(t) = tau_model(t - delay)."""
    slope = slopes(trial)
    delay, left = best_delay(trial, slope, np.ones(trial.nv, bool))
    yield trial.told("delay", f"torques are {told_delay(delay)}", left)
    for j, name in enumerate(trial.names):
        delay, left = best_delay(trial, slope, trial.only(j))
        yield trial.told("delay", f"torques of {name} are {told_delay(delay)}", left, j)


def best_delay(trial: Trial, slope: np.ndarray, late: np.ndarray) -> tuple[float, Left]:
    """Delay of the torques of some joints (nv,), s, and the errors left without it."""
    (first,), left = trial.with_columns(-(slope * late)[..., None])
    found = [(float(first), left)]
    tried = (*DELAYS_TRIED, float(first)) if late.sum() == 1 else (float(first),)
    found += [(delay, trial.with_torques(shifted(trial, late, delay))) for delay in tried if abs(delay) < LONGEST_DELAY]
    return min(found, key=lambda each: float(np.sum(np.log(each[1].noise[late]))))


def clock(trial: Trial) -> Iterator[Alternative]:
    """tau(t) = tau_model(t - delay - e t): two clocks, of which one runs faster."""
    slope, t = slopes(trial), trial.signals.t - trial.signals.t[0]
    (_, rate), left = trial.with_columns(np.stack([-slope, -slope * t[:, None]], axis=-1))
    yield trial.told(
        "clock", f"the clock of the torques is {abs(rate):.2%} {'slow' if rate > 0 else 'fast'} against the other", left
    )


def slopes(trial: Trial) -> np.ndarray:
    """The rate (N, nv) at which predicted torques change."""
    tau, slope = trial.torques, np.zeros_like(trial.motion.q)
    for segment in trial.signals.segments:
        slope[segment] = np.gradient(tau[segment], 1 / trial.signals.rate, axis=0)
    return slope


def told_delay(delay: float) -> str:
    size = abs(1e3 * delay)
    return f"{round(size) if size > 10 else float(f'{size:.2g}')} ms {'late' if delay > 0 else 'early'}"


def shifted(trial: Trial, late: np.ndarray, delay: float) -> np.ndarray:
    """Torques as they would be if those of some joints (nv,) came so much earlier, s; held at the ends of stretches."""
    tau, t = trial.motion.tau.copy(), trial.signals.t
    for segment in trial.signals.segments:
        for j in np.flatnonzero(late):
            tau[segment, j] = np.interp(t[segment] + delay, t[segment], trial.motion.tau[segment, j])
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

    def moved(j: int, offset: float) -> Samples:
        return trial.motion._replace(q=trial.motion.q + offset * trial.only(j))

    for j, offset, left in refined(trial, moved):
        text = f"positions of {trial.names[j]} are {abs(offset):.2g} rad (m) too {'small' if offset > 0 else 'large'}"
        yield trial.told("zero", text, left)


def refined(trial: Trial, changed: Callable[[int, float], Samples]) -> Iterator[tuple[int, float, Left]]:
    """An error of each joint in turn, its size and what it leaves; of the joint that it explains most, to more digits."""
    found = [trial.sought(partial(changed, j), POSITION_STEP, 1) for j in range(trial.nv)]
    best = int(np.argmin([score(left) for _, left in found]))
    found[best] = min(found[best], trial.sought(partial(changed, best), POSITION_STEP, REFINED), key=lambda one: score(one[1]))
    for j, (size, left) in enumerate(found):
        yield j, size, left


def backlash(trial: Trial) -> Iterator[Alternative]:
    """Positions of a motor that turns round before its joint does."""
    found = [[(size, trial.instead(without_play(trial, j, size)(size))) for size in PLAYS_TRIED] for j in range(trial.nv)]
    best = int(np.argmin([min(score(left) for _, left in each) for each in found]))
    guess, _ = min(found[best], key=lambda one: score(one[1]))
    for _ in range(REFINED):
        found[best].append(trial.sought(without_play(trial, best, guess), POSITION_STEP, 2, guess))
        guess = abs(found[best][-1][0])
    for j, each in enumerate(found):
        size, left = min(each, key=lambda one: score(one[1]))
        text = f"positions of {trial.names[j]} have {abs(2 * size):.2g} rad (m) of play, as behind a gear with backlash"
        yield trial.told("backlash", text, left, j)


def score(left: Left) -> float:
    """The smaller, the more is explained."""
    return float(np.sum(np.log(left.noise)))


def without_play(trial: Trial, j: int, guess: float) -> Callable[[float], Samples]:
    """Makes the motion without so much play of joint j to each side; a guess says when the joint turned round, after its motor."""
    ahead = directions(trial, j, guess)

    def moved(size: float) -> Samples:
        q, qd, qdd = (x - size * more for x, more in zip(trial.motion[:3], ahead))
        return Samples(q, qd, qdd, trial.motion.tau)

    return moved


def directions(trial: Trial, j: int, play: float) -> list[np.ndarray]:
    """The direction in which joint j moves (N, nv), and its derivatives, as the filter of the positions makes them."""
    low_pass, qd = trial.signals.low_pass, trial.motion.qd[:, j]
    found = seen_through(trial, np.sign(qd), low_pass.flat_slope)
    for _ in range(2 * REFINED):
        found = seen_through(trial, np.sign(qd - play * found), low_pass.flat_slope)
    sign = np.sign(qd - play * found)
    kernels = (low_pass.flat, low_pass.flat_slope, low_pass.flat_curvature)
    return [seen_through(trial, sign, kernel)[:, None] * trial.only(j) for kernel in kernels]


def seen_through(trial: Trial, x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """A signal (N,) under a kernel; at the ends of stretches it goes on as it is."""
    found = np.zeros(len(x))
    for segment in trial.signals.segments:
        padded = np.pad(x[segment], len(kernel) // 2, mode="edge")
        found[segment] = np.convolve(padded, kernel, mode="valid")[: segment.stop - segment.start]
    return found


def hysteresis(trial: Trial) -> Iterator[Alternative]:
    """Torques of a sensor that follows with play."""
    tau = trial.torques
    for j, name in enumerate(trial.names):
        width = HYSTERESIS_WIDTHS * np.std(tau[:, j])
        lag = np.stack([following(tau[:, j], w) - tau[:, j] for w in width], axis=-1)
        found = [trial.with_columns(trial.only(j)[:, None] * lag[:, None, k : k + 1])[1] for k in range(len(width))]
        k = int(np.argmin([left.noise[j] for left in found]))
        text = f"the torque of {name} follows with a hysteresis of about {2 * width[k]:.2g} N m"
        yield trial.told("hysteresis", text, found[k], j)


def following(x: np.ndarray, width: float) -> np.ndarray:
    """Signal (N,) with play: it moves only where the given one pushes it."""
    found, at = np.empty_like(x), float(x[0])
    for k, value in enumerate(x.tolist()):
        at = min(max(at, value - width), value + width)
        found[k] = at
    return found
