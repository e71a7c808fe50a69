"""Alternatives for sensors: delays, drifts, play, or another zero of torques or positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from qddot.identify.checks.normal_equations import Left, score
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import slopes
from qddot.logs.lowpass import convolved
from qddot.thresholds import (
    DELAYS_TRIED,
    HYSTERESIS_WIDTHS,
    LEAST_CLOCK,
    LEAST_PLAY,
    LONGEST_DELAY,
    MOST_OF_IT,
    PACES_TRIED,
    POSITION_STEP,
    REFINED,
    TURN_DEGREE,
)


def late(trial: Trial) -> Iterator[Alternative]:
    """Torques, of all joints or of one, that are delayed: tau(t) = tau_model(t - delay)."""
    slope = slopes(trial.torques, trial.signals)
    delay, left = best_delay(trial, slope, np.ones(trial.nv, bool))
    yield trial.told("delay", f"torques are {told_delay(delay)}", left)
    for j, name in enumerate(trial.names):
        delay, left = best_delay(trial, slope, trial.only(j))
        yield trial.told("delay", f"torques of {name} are {told_delay(delay)}", left, j)


def best_delay(trial: Trial, slope: np.ndarray, late: np.ndarray) -> tuple[float, Left]:
    """Delay of the torques of the joints `late` (nv,), s, and the residuals without it; of all joints by Gauss-Newton steps with
    the parameters, since a slope holds for short delays only."""

    def late_by(theta: np.ndarray) -> np.ndarray:
        return -slopes(trial.regressor.torques(trial.whole, theta), trial.signals)[..., None]

    (first,), left = trial.with_columns(-(slope * late)[..., None])
    delay, found = float(first), [(float(first), left)]
    if late.sum() == 1:
        tried = (*DELAYS_TRIED, delay)
        found += [(each, trial.with_torques(shifted(trial, late, each))) for each in tried if abs(each) < LONGEST_DELAY]
    for _ in range(REFINED if late.all() else 0):
        if abs(delay) >= LONGEST_DELAY:
            break
        tau = shifted(trial, late, delay)
        found.append((delay, trial.with_torques(tau)))
        delay += float(trial.with_torques_and(tau, late_by)[0][0])
    return min(found, key=lambda each: float(np.sum(np.log(each[1].noise[late]))))


def clock(trial: Trial) -> Iterator[Alternative]:
    """Torques whose clock runs faster or slower than that of the positions: tau(t) = tau_model(t - delay - rate t)."""
    t = trial.signals.t - trial.signals.t[0]

    def late_by(theta: np.ndarray) -> np.ndarray:
        slope = slopes(trial.regressor.torques(trial.whole, theta), trial.signals)
        return np.stack([-slope, -slope * t[:, None]], axis=-1)

    sizes, left = trial.with_columns(late_by(trial.theta), passing=True)
    for _ in range(REFINED):  # a slope holds for short delays only, and they grow
        delay = sizes[0] + sizes[1] * t
        if np.abs(delay).max() > LONGEST_DELAY:
            break
        tau = shifted(trial, np.ones(trial.nv, bool), delay)
        left = min(left, trial.with_torques(tau), key=score)
        sizes = sizes + trial.with_torques_and(tau, late_by)[0]
    if abs(sizes[1]) < max(LEAST_CLOCK, 1 / (trial.signals.rate * t.max())):  # a delay: it changes by less than a sample
        return
    text = f"the clock of the torques is {abs(sizes[1]):.2%} {'slow' if sizes[1] > 0 else 'fast'} against the other"
    yield trial.told("clock", text, left)


def told_delay(delay: float) -> str:
    size = abs(1e3 * delay)
    return f"{round(size) if size > 10 else float(f'{size:.2g}')} ms {'late' if delay > 0 else 'early'}"


def shifted(trial: Trial, late: np.ndarray, delay: float | np.ndarray) -> np.ndarray:
    """Torques (N, nv) with those of the joints `late` (nv,) shifted to earlier times by a delay, s, or by one at each sample (N,);
    constant at segment ends."""
    tau, t = trial.motion.tau.copy(), trial.signals.t
    at = t + delay
    for segment in trial.signals.segments:
        for j in np.flatnonzero(late):
            tau[segment, j] = np.interp(at[segment], t[segment], trial.motion.tau[segment, j])
    return tau


def drift(trial: Trial) -> Iterator[Alternative]:
    """A torque that drifts, of one joint: tau + a t + b t^2."""
    t = trial.signals.elapsed - trial.signals.elapsed[0]
    t = t / t[-1]
    for j, name in enumerate(trial.names):
        Z = trial.only(j)[:, None] * np.stack([t, t**2], axis=-1)[:, None]
        (a, b), left = trial.with_columns(Z, passing=True)
        yield trial.told("drift", f"the torque of {name} drifts by {a + b:.3g} N m in the course of the log", left, j)


def zeros(trial: Trial) -> Iterator[Alternative]:
    """Positions of a joint that are counted from another zero."""

    def moved(j: int, offset: float) -> Samples:
        return trial.motion._replace(q=trial.motion.q + offset * trial.only(j))

    for j, offset, left in refined(trial, moved):
        yield trial.told("zero", told_zero(trial.names[j], offset), left)


def told_zero(name: str, offset: float) -> str:
    return f"positions of {name} are {abs(offset):.2g} rad (m) too {'small' if offset > 0 else 'large'}"


def scales(trial: Trial) -> Iterator[Alternative]:
    """Positions, of one joint or of all, that are scaled: the true ones are 1 + size times as large."""

    def stretched(joints: np.ndarray, size: float) -> Samples:
        q, qd, qdd = ((1 + size * joints) * x for x in trial.motion[:3])
        return Samples(q, qd, qdd, trial.motion.tau)

    found = refined(trial, lambda j, size: stretched(trial.only(j), size))
    each = [(f"positions of {trial.names[j]} are", size, left) for j, size, left in found]
    together = trial.sought(partial(stretched, np.ones(trial.nv)), POSITION_STEP, REFINED)
    for what, size, left in [*each, ("all positions are", *together)] if trial.nv > 1 else each:
        if size > -MOST_OF_IT:
            wrong = 1 / (1 + size) - 1
            text = f"{what} {abs(wrong):.1%} too {'large' if wrong > 0 else 'small'} (by the resolution of an encoder, or a gear?)"
            yield trial.told("scale", text, left)


def pace(trial: Trial) -> Iterator[Alternative]:
    """Times in a wrong unit: the motion was 1 + size times as fast as recorded, which shows against gravity."""

    def faster(size: float) -> Samples:
        rate = 1 + size
        return trial.motion._replace(qd=rate * trial.motion.qd, qdd=rate**2 * trial.motion.qdd)

    tried = [trial.sought(faster, POSITION_STEP, REFINED, start) for start in PACES_TRIED]
    size, left = min((one for one in tried if one[0] > -1), key=lambda one: score(one[1]), default=(0.0, trial.left))
    text = f"the motion was {1 + size:.3g} times as fast as the clock says (another rate of samples?)"
    yield trial.told("rate", text, left)


def warming(trial: Trial) -> Iterator[Alternative]:
    """Friction, of all joints or of one, that changes in the course of the log."""
    t = trial.signals.elapsed - trial.signals.elapsed[0]
    t = t / t[-1]
    changing = trial.sliding_torques[..., None] * np.stack([t, t**2], axis=-1)[:, None]
    joints = [(f"of {name}", trial.only(j), (j,)) for j, name in enumerate(trial.names)]
    for what, some, named in [("of all joints", np.ones(trial.nv, bool), ()), *joints]:
        (a, b), left = trial.with_columns(changing * some[:, None], passing=True)
        text = f"friction {what} changes by {a + b:+.0%} in the course of the log, as where joints warm (thermal_friction)"
        yield trial.told("warming", text, left, *named)


def refined(trial: Trial, changed: Callable[[int, float], Samples]) -> Iterator[tuple[int, float, Left]]:
    """Fit the same kind of error to each joint in turn and yield joint, size and residuals; with further Gauss-Newton steps for the
    joint at which it explains most."""
    found = [trial.sought(partial(changed, j), POSITION_STEP, 1) for j in range(trial.nv)]
    best = int(np.argmin([score(left) for _, left in found]))
    found[best] = min(found[best], trial.sought(partial(changed, best), POSITION_STEP, REFINED), key=lambda one: score(one[1]))
    for j, (size, left) in enumerate(found):
        yield j, size, left


def backlash(trial: Trial) -> Iterator[Alternative]:
    """Positions measured at a motor, behind a gear with backlash: the motor turns round before its joint does."""
    ahead = [directions(trial, j) for j in range(trial.nv)]

    def moved(j: int, size: float) -> Samples:
        q, qd, qdd = (x - size * more for x, more in zip(trial.motion[:3], ahead[j]))
        return Samples(q, qd, qdd, trial.motion.tau)

    for j, size, left in refined(trial, moved):
        if abs(2 * size) < LEAST_PLAY:
            continue
        text = f"positions of {trial.names[j]} have {abs(2 * size):.2g} rad (m) of play, as behind a gear with backlash"
        yield trial.told("backlash", text, left, j)


def directions(trial: Trial, j: int) -> list[np.ndarray]:
    """The direction in which joint j moves (N, nv) and its derivatives, filtered like positions."""
    low_pass, sign = trial.signals.low_pass, np.concatenate([direction(trial, j, s) for s in trial.signals.segments])
    kernels = (low_pass.flat, low_pass.flat_slope, low_pass.flat_curvature)
    return [seen_through(trial, sign, kernel)[:, None] * trial.only(j) for kernel in kernels]


def direction(trial: Trial, j: int, segment: slice) -> np.ndarray:
    """Direction of joint j along a segment (N,): 1 or -1, with a value between them at samples around a turn.

    A motor goes through the play while its joint turns, some time after its own turn: its speed then has a pulse, and is smooth
    around it. So the turn of the joint is found by a fit of a pulse and a polynomial to the speed of the motor.
    """
    qd, low_pass = trial.motion.qd[segment, j], trial.signals.low_pass
    half, reach = low_pass.half, low_pass.half // 2
    calm = convolved(np.pad(qd[:, None], ((half, half), (0, 0)), mode="edge"), low_pass.smooth)[:, 0]
    at = np.flatnonzero(np.diff(np.sign(calm)))
    at = at[(at >= half) & (at < len(qd) - half)]
    pulses = np.stack([np.roll(low_pass.flat, k) for k in range(-reach, reach + 1)], axis=1)  # its taps are small at the ends
    smooth = np.linalg.qr(np.polynomial.legendre.legvander(np.linspace(-1, 1, 2 * half + 1), TURN_DEGREE))[0]
    pulses -= smooth @ (smooth.T @ pulses)
    pulses /= np.linalg.norm(pulses, axis=0)
    turns = []
    for k in at.tolist():
        found = np.abs(pulses.T @ qd[k - half : k + half + 1])
        best = int(np.clip(np.argmax(found), 1, 2 * reach - 1))
        before, here, after = found[best - 1 : best + 2]
        bend = before - 2 * here + after
        turns.append(k + best - reach + (np.clip((before - after) / (2 * bend), -0.5, 0.5) if bend < 0 else 0.0))
    return alternating(np.array(turns), float(np.sign(calm[at[0]])) if len(at) else float(np.sign(calm.mean())), len(qd))


def alternating(turns: np.ndarray, first: float, count: int) -> np.ndarray:
    """A signal (count,) that starts with `first` and changes its sign at each of the `turns`, in samples, which may be fractions:
    the nearest sample then has a value in between."""
    found = np.full(count, first)
    for k, turn in enumerate(np.sort(turns)):
        found -= (-1) ** k * 2 * first * np.clip(np.arange(count) - turn + 0.5, 0.0, 1.0)
    return found


def seen_through(trial: Trial, x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolve a signal (N,) with a kernel; at the ends of segments it is continued by its last value."""
    found = np.zeros(len(x))
    for segment in trial.signals.segments:
        padded = np.pad(x[segment], len(kernel) // 2, mode="edge")
        found[segment] = np.convolve(padded, kernel, mode="valid")[: segment.stop - segment.start]
    return found


def hysteresis(trial: Trial) -> Iterator[Alternative]:
    """Torques of a sensor with hysteresis."""
    tau = trial.torques
    for j, name in enumerate(trial.names):
        width = HYSTERESIS_WIDTHS * np.std(tau[:, j])
        lag = np.stack([following(tau[:, j], w) - tau[:, j] for w in width], axis=-1)
        found = [trial.with_columns(trial.only(j)[:, None] * lag[:, None, k : k + 1])[1] for k in range(len(width))]
        k = int(np.argmin([left.noise[j] for left in found]))
        text = f"the torque of {name} follows with a hysteresis of about {2 * width[k]:.2g} N m"
        yield trial.told("hysteresis", text, found[k], j)


def following(x: np.ndarray, width: float) -> np.ndarray:
    """Output (N,) of a play operator: it stays as long as the input is within `width` of it, and is pushed along beyond."""
    found, at = np.empty_like(x), float(x[0])
    for k, value in enumerate(x.tolist()):
        at = min(max(at, value - width), value + width)
        found[k] = at
    return found
