"""Low-pass without phase, by a symmetric kernel of finite length: its derivatives, and its use at every D-th sample only.

A finite kernel covers a finite part of the signal. So there is no ringing from the ends of a record, the lost samples there are
known exactly, and a record filtered in chunks equals the record filtered whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy.fft import irfft, next_fast_len, rfft

from qddot.errors import InputError
from qddot.thresholds import KERNEL_LENGTH, KERNEL_SHAPE, MOST_OF_IT, MOST_SAMPLES, SMOOTH_RATE

KERNELS_AT_ONCE = 8  # rows of a matrix of shifted kernels: few, so that it has few zeros, but enough for a fast product of matrices
LEAST_STRETCH = 2048  # smallest number of samples that are Fourier-transformed at a time
TOGETHER = 4  # stretches transformed together: enough for the vectors of a processor, few enough for its cache


@cache
def through_nine(at: float = 0.0) -> np.ndarray:
    """Return the weights (3, 9) of nine samples in the value, the slope and the curvature, per sample, of the polynomial through
    them, `at` samples after the middle one."""
    k = np.arange(-4.0, 5.0)
    each = [np.polynomial.Polynomial.fromroots(k[k != i]) / np.prod(i - k[k != i]) for i in k]  # 1 at one sample, 0 at the others
    return np.array([[p.deriv(order)(at) for p in each] for order in range(3)])


@dataclass(frozen=True)
class LowPass:
    """A low-pass with half the amplitude at `cutoff` (Hz), for signals of `rate` samples per second."""

    rate: float
    cutoff: float

    def __post_init__(self) -> None:
        if not (0 < self.cutoff <= self.rate / 4 and self.rate / self.cutoff < MOST_SAMPLES):
            raise InputError(
                f"cut-off {self.cutoff:g} Hz at {self.rate:g} samples a second: above 0 and at most a quarter of the rate"
            )

    @property
    def half(self) -> int:
        """Number of samples on each side of the kernel's middle."""
        return max(4, round(KERNEL_LENGTH / 2 * self.rate / self.cutoff))

    @cached_property
    def smooth(self) -> np.ndarray:
        """Taps (2 half + 1,) that preserve constants and straight lines."""
        k = np.arange(-self.half, self.half + 1)
        taps = np.sinc(2 * self.cutoff / self.rate * k) * np.kaiser(len(k), KERNEL_SHAPE)
        return taps / taps.sum()

    @cached_property
    def flat(self) -> np.ndarray:
        """Taps (2 half + 1,) for positions: `2 H - H^2` for the kernel H of twice the cut-off.

        If H changes a signal by 5e-5, this changes it by the square of that. Positions are on one side of `tau = Y pi` only, so an
        error of 5e-5 in accelerations would be larger than that by the noise of a quiet log.
        """
        k = np.arange(-(self.half // 2), self.half // 2 + 1)
        taps = np.sinc(4 * self.cutoff / self.rate * k) * np.kaiser(len(k), KERNEL_SHAPE)
        taps /= taps.sum()
        once = np.pad(taps, self.half - self.half // 2)
        return 2 * once - np.pad(np.convolve(taps, taps), self.half - 2 * (self.half // 2))

    @cached_property
    def slope(self) -> np.ndarray:
        """Taps (2 half + 9,) of the first derivative of the smoothed signal, per second."""
        return np.convolve(self.smooth, through_nine()[1, ::-1]) * self.rate

    @cached_property
    def curvature(self) -> np.ndarray:
        """Taps (2 half + 9,) of the second derivative of the smoothed signal."""
        return np.convolve(self.smooth, through_nine()[2, ::-1]) * self.rate**2

    @cached_property
    def flat_slope(self) -> np.ndarray:
        """Taps (2 half + 9,) of the first derivative of positions filtered by `flat`, per second."""
        return self.flat_derivatives()[1]

    @cached_property
    def flat_curvature(self) -> np.ndarray:
        """Taps (2 half + 9,) of the second derivative of positions filtered by `flat`."""
        return self.flat_derivatives()[2]

    def flat_derivatives(self, later: float = 0.0) -> list[np.ndarray]:
        """Return the taps (2 half + 9,) of positions filtered by `flat` and of their first two derivatives, `later` seconds, a few
        samples at most, after each one."""
        weights = through_nine(later * self.rate)
        return [np.convolve(self.flat, of[::-1]) * self.rate**order for order, of in enumerate(weights)]

    @property
    def step(self) -> int:
        """Number of samples of which one suffices to represent a signal as smooth as low-passed positions: columns of links, say,
        are computed at these samples only."""
        return max(1, int(self.rate / (SMOOTH_RATE * self.cutoff)))

    @property
    def factor(self) -> int:
        """Number of samples for one decimated sample, a multiple of `step`; a period of the cut-off has at least four of these."""
        factor = max(1, int(self.rate / (4 * self.cutoff)))
        return factor - factor % self.step

    @property
    def rows(self) -> int:
        """Number of decimated samples that a kernel covers on each side."""
        return -(-self.half // self.factor)

    def coarse(self, step: int) -> np.ndarray:
        """Return the taps of the kernel at every `step`-th sample, including the middle one, scaled to sum 1."""
        taps = self.smooth[self.half % step :: step]
        return taps / taps.sum()

    def decimated(self, x: np.ndarray, factor: int | None = None, *, lead: int = 0, trail: int = 0, step: int = 1) -> np.ndarray:
        """Return the smoothed signal at every `factor`-th sample: (N, ...) -> (M, ...).

        Here M = (lead + N + trail - 2 half - 1) // factor + 1. Only these samples are computed, and x is read once, in parts that
        stay in the cache. If each channel is contiguous, blocks of `factor` samples are multiplied by blocks of the kernel, and the
        products of successive blocks are added. Else several samples are computed at a time, by a matrix whose rows are the kernel,
        each shifted by `factor` samples.

        Args:
            factor: None: the low-pass's own.
            lead, trail: samples by which the first and the last kernel reach beyond the ends of x. There the kernel is cut
                and its rest scaled to sum 1. It then has a phase, but the same one for both sides of `tau = Y pi`.
            step: x holds every `step`-th sample only, of which the factor is a multiple: for signals in which no more happens.
        """
        factor = factor or self.factor
        flat = np.asarray(x, dtype=float)
        flat = flat if flat.ndim == 2 else flat.reshape(len(x), -1)
        if lead or trail:
            ends = ((lead, trail), (0, 0))
            within = self.decimated(np.pad(np.ones((len(x), 1)), ends), factor)
            return (self.decimated(np.pad(flat, ends), factor) / within).reshape(-1, *np.shape(x)[1:])
        smooth, factor = (self.smooth, factor) if step == 1 else (self.coarse(step), factor // step)
        taps = len(smooth)
        count = (len(x) - taps) // factor + 1
        if count < 1:
            raise InputError(f"{len(x)} samples are fewer than the {taps} the filter spans (a higher cut-off, or a longer log)")
        by_channel = flat.strides[0] == flat.itemsize  # true for some rows of such a signal, too
        out = np.empty((count, flat.shape[1]), order="F" if by_channel else "C")
        (by_blocks if by_channel else by_rows)(flat, smooth, factor, out)
        return out.reshape(count, *np.shape(x)[1:])

    def decimated_where(self, x: np.ndarray, kept: np.ndarray, **how: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the signal x (N, k) smoothed along the samples that are kept, and True for those of its rows, both (M, k), of
        whose kernel more than half lies on kept samples. `kept` is (N, k) or (N, 1); `how`: as for `decimated`.

        Where samples are left out, the kernel is cut and its rest scaled to sum 1, as at the ends of x. Other rows are arbitrary.
        """
        share = self.decimated(kept.astype(float), **how)
        counts = share > MOST_OF_IT
        return self.decimated(np.where(kept, x, 0.0), **how) / np.where(counts, share, 1.0), np.broadcast_to(
            counts, (len(share), x.shape[1])
        )


def by_blocks(x: np.ndarray, taps: np.ndarray, factor: int, out: np.ndarray) -> None:
    """Write a signal (N, k), convolved with a kernel, at every `factor`-th sample to `out` (M, k), channel by channel."""
    blocks = -(-len(taps) // factor)
    kernel = np.pad(taps, (0, blocks * factor - len(taps))).reshape(blocks, factor).T
    whole = min(len(out) + blocks - 1, len(x) // factor)
    products = np.zeros((len(out) + blocks - 1, blocks))
    step, item = products.strides
    # row i, column j: block i + j of the channel times block j of the kernel
    ways = as_strided(products, (*out.shape[:1], blocks), (step, step + item))
    for channel, found in zip(x.T, out.T):
        np.matmul(channel[: whole * factor].reshape(whole, factor), kernel, out=products[:whole])
        if whole < len(products):  # the last block is not complete: the kernel ends in it
            rest = channel[whole * factor :]
            products[whole] = rest @ kernel[: len(rest)]
        ways.sum(axis=1, out=found)


def by_rows(x: np.ndarray, taps: np.ndarray, factor: int, out: np.ndarray) -> None:
    """Write a signal (N, k), convolved with a kernel, at every `factor`-th sample to `out` (M, k), all channels at once."""
    at_once = min(len(out), KERNELS_AT_ONCE)
    kernels = np.zeros((at_once, len(taps) + (at_once - 1) * factor))
    for k, kernel in enumerate(kernels):
        kernel[k * factor : k * factor + len(taps)] = taps
    for start in range(0, len(out), at_once):
        some = kernels[: len(out) - start]
        span = len(taps) + (len(some) - 1) * factor
        np.matmul(some[:, :span], x[start * factor : start * factor + span], out=out[start : start + len(some)])


def convolved(x: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Return the convolution of a signal (N, k) with a kernel, without the ends that it does not cover: (N - taps + 1, k)."""
    return convolved_by(x, [taps])[0]


def convolved_by(x: np.ndarray, kernels: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the convolutions of a signal (N, k) with kernels of one length, without the ends: (N - taps + 1, k) each.

    A channel is cut into stretches eight times as long as a kernel, which overlap by a kernel, and is transformed once for all
    kernels.
    """
    (N, channels), taps = x.shape, len(kernels[0])
    count = N - taps + 1
    if count < 1:
        raise InputError(f"{N} samples are fewer than the {taps} the filter spans (a higher cut-off, or a longer log)")
    size: int = next_fast_len(min(N, max(LEAST_STRETCH, 8 * taps)), real=True)  # type: ignore[assignment]
    hop = size - taps + 1
    stretches = -(-count // hop)
    responses = [np.asarray(rfft(kernel, size)) for kernel in kernels]
    found = [np.empty((channels, stretches, hop)) for _ in kernels]
    padded = np.zeros(stretches * hop + taps - 1)
    overlapping = sliding_window_view(padded, size)[::hop]
    for j in range(channels):
        padded[:N] = x[:, j]
        for k in range(0, stretches, TOGETHER):
            some = slice(k, k + TOGETHER)
            spectra = np.asarray(rfft(overlapping[some]))
            for out, response in zip(found, responses):
                out[j, some] = np.asarray(irfft(spectra * response, size))[:, taps - 1 :]
    return [out.reshape(channels, -1)[:, :count].T for out in found]
