"""Quantities of a robot without symbols as arrays of waves, and enclosures of their values in a box of configurations.

In each box the variables are `centre + half * d`, every `d` in [-1, 1]. An entry is within `radius` of `mid + sum_k slope_k d_k`:
the overestimate shrinks with the square of the size of the box. Rounding errors are part of the radius; sines and cosines of NumPy
are assumed to be accurate to eight units in the last place.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from qddot.symbolic.properties.harmonics import Harmonics

EPS = sys.float_info.epsilon
CARE = 1e-12  # relative, more than the rounding of coefficients, which are sums of up to some thousand terms
FEW = 400  # the most waves that are all enclosed; of more, the smallest count as unknown
UNKNOWN = 0.004  # the largest part of the sum of an entry's amplitudes that may be unknown


class Enclosure(NamedTuple):
    """Entries in boxes: `mid` and `radius` (..., boxes), `slope` (..., variables, boxes)."""

    mid: np.ndarray
    slope: np.ndarray
    radius: np.ndarray

    @property
    def spread(self) -> np.ndarray:
        """The largest distance of the value from `mid`."""
        return abs(self.slope).sum(-2) + self.radius

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, -self.slope, self.radius)

    def __mul__(self, o: Enclosure) -> Enclosure:
        squares = self.slope * o.slope / 2  # d_k^2 lies in [0, 1], that is 1/2 plus or minus 1/2
        mine, other = abs(self.slope).sum(-2), abs(o.slope).sum(-2)
        a, b = abs(self.mid) + mine, abs(o.mid) + other
        radius = mine * other - abs(squares).sum(-2) + a * o.radius + b * self.radius + self.radius * o.radius
        rounding = (2 * squares.shape[-2] + 20) * EPS * (a + self.radius) * (b + o.radius)
        slope = self.mid[..., None, :] * o.slope + o.mid[..., None, :] * self.slope
        return Enclosure(self.mid * o.mid + squares.sum(-2), slope, radius + rounding)

    def __getitem__(self, entries: Any) -> Enclosure:  # type: ignore[override]
        return Enclosure(self.mid[entries], self.slope[entries], self.radius[entries])

    def reshape(self, *shape: int) -> Enclosure:
        """Return the enclosure with its entries in an array of this shape."""
        boxes, variables = self.mid.shape[-1], self.slope.shape[-2]
        return Enclosure(
            self.mid.reshape(*shape, boxes), self.slope.reshape(*shape, variables, boxes), self.radius.reshape(*shape, boxes)
        )


class Spectrum(NamedTuple):
    """Entries `sum_w (a_w cos(k_w . q) + b_w sin(k_w . q)) q^powers_w`."""

    shape: tuple[int, ...]  # shape of the array of entries
    # k, powers: (waves, nq)
    k: np.ndarray
    powers: np.ndarray
    # a, b: (entries, waves)
    a: np.ndarray
    b: np.ndarray

    @staticmethod
    def of(harmonics: Harmonics, nq: int) -> Spectrum:
        """Return the spectrum of entries with one product of parameters, which is left out."""
        (terms,) = harmonics.terms.values() or [{}]
        generators, angles = harmonics.alphabet.ring.generators, harmonics.angles
        number = {wave: w for w, wave in enumerate(dict.fromkeys(wave for _, wave in terms))}
        k, powers = np.zeros((len(number), nq)), np.zeros((len(number), nq), dtype=int)
        for wave, w in number.items():
            for n, m in wave.k:
                k[w, angles[n].coordinate] += m * float(angles[n].multiple)
            for i, e in wave.powers:
                powers[w, generators[i].of] += e
        a, b = np.zeros((2, int(np.prod(harmonics.shape)), len(number)))
        for (e, wave), pair in terms.items():
            a[e, number[wave]], b[e, number[wave]] = pair
        return Spectrum(harmonics.shape, k, powers, a, b)

    @property
    def variables(self) -> np.ndarray:
        """The indices of the entries of q that occur."""
        return np.flatnonzero((self.k != 0).any(0) | (self.powers != 0).any(0))

    def christoffel(self) -> Spectrum:
        """Return the Christoffel symbols Gamma_ijk of a mass matrix without powers of q."""
        n = self.shape[0]
        a, b = (x.reshape(n, n, -1) for x in (self.a, self.b))
        gradient = [np.einsum("ijw,wk->ijkw", x, self.k) for x in (b, -a)]  # of a cos + b sin: k (b cos - a sin)
        gamma = [(np.einsum("kjiw->ijkw", d) + np.einsum("kijw->ijkw", d) - d) / 2 for d in gradient]
        turning = self.k.any(1)
        return Spectrum((n, n, n), self.k[turning], self.powers[turning], *(x.reshape(n**3, -1)[:, turning] for x in gamma))

    def amplitudes(self) -> np.ndarray:
        """Return the amplitude of each wave (entries, waves)."""
        return np.hypot(self.a, self.b) * (1 + 8 * EPS)

    def magnitudes(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the sum of absolute coefficients of each entry (entries,)."""
        far = np.maximum(abs(low), abs(high))
        used = self.powers.any(0)
        powers = np.prod(far[used] ** self.powers[:, used], axis=1)
        return self.amplitudes() @ powers * (1 + len(self.k) * EPS + CARE)

    def compact(self) -> Compact:
        """Return the spectrum with equal entries only once, and without the smallest of many waves."""
        rows, which = np.unique(np.hstack([self.a, self.b]), axis=0, return_inverse=True)
        a, b = np.hsplit(rows, 2)
        size = np.hypot(a, b) * (1 + 8 * EPS)
        weight = size.max(0, initial=0.0) / max(size.sum(1).max(), sys.float_info.min)
        order = np.argsort(weight)
        small = order[np.cumsum(weight[order]) < UNKNOWN] if weight.size > FEW else order[:0]
        small = small[~self.powers[small].any(1)]
        keep = np.setdiff1d(order, small)
        kept = Spectrum((len(rows),), self.k[keep], self.powers[keep], a[:, keep], b[:, keep])
        return Compact(kept, size[:, small].sum(1), which.ravel())

    def enclose(self, centre: np.ndarray, half: np.ndarray) -> Enclosure:
        """Return the enclosure of the entries, flat, in boxes (boxes, nq)."""
        at = self.variables
        k, powers, centre, half = self.k[:, at], self.powers[:, at], centre[:, at], half[:, at]
        theta, r = k @ centre.T, abs(k) @ half.T * (1 + 8 * EPS)
        noise = (len(at) + 16) * EPS * (1 + abs(k) @ abs(centre).T)
        wide = r > 2.0  # such waves are enclosed by their amplitude alone
        r = np.where(wide, 0.0, r)
        c, s = (np.where(wide, 0.0, f(theta)) for f in (np.cos, np.sin))
        # cos d lies in [cos r, 1], sin d near a line through the origin
        middle, half_range = (1 + np.cos(r)) / 2, (1 - np.cos(r)) / 2
        chord = np.sinc(r / np.pi)
        line = chord + (1 - chord) / 4
        bend = np.arccos(line)
        miss = np.maximum(np.where(bend < r, np.sin(bend) - line * bend, 0.0), line * r - np.sin(r)) + 8 * EPS
        steps = k[:, :, None] * half.T * line[:, None, :]
        cosine = Enclosure(c * middle, -s[:, None, :] * steps, abs(c) * half_range + abs(s) * miss + noise * ~wide)
        sine = Enclosure(s * middle, c[:, None, :] * steps, abs(s) * half_range + abs(c) * miss + noise * ~wide)
        scale = self._powers(powers, centre, half)
        amplitude = Enclosure(np.zeros(r.shape), np.zeros(steps.shape), wide.astype(float))
        if scale is not None:
            cosine, sine, amplitude = cosine * scale, sine * scale, amplitude * scale
        mid, slope = (
            np.tensordot(self.a, x, 1) + np.tensordot(self.b, y, 1) for x, y in ((cosine.mid, sine.mid), (cosine.slope, sine.slope))
        )
        rounding = (len(k) + 32) * EPS + CARE
        radius = np.hypot(self.a, self.b) @ amplitude.radius
        for x, wave in ((self.a, cosine), (self.b, sine)):
            radius += abs(x) @ (wave.radius + rounding * (abs(wave.mid) + abs(wave.slope).sum(-2)))
        return Enclosure(mid, slope, radius * (1 + rounding))

    def _powers(self, powers: np.ndarray, centre: np.ndarray, half: np.ndarray) -> Enclosure | None:
        """Return the enclosure of `q^powers` for each wave; None if there are no powers."""
        if not powers.any():
            return None
        waves, variables, boxes = *powers.shape, len(centre)
        total = Enclosure(np.ones((waves, boxes)), np.zeros((waves, variables, boxes)), np.zeros((waves, boxes)))
        for v in range(variables):
            for e in range(powers[:, v].max()):
                with_it = powers[:, v] > e
                slope = np.zeros((waves, variables, boxes))
                slope[with_it, v] = half[:, v]
                total = total * Enclosure(np.where(with_it[:, None], centre[:, v], 1.0), slope, np.zeros((waves, boxes)))
        return total


class Compact(NamedTuple):
    """A spectrum with fewer entries and waves."""

    spectrum: Spectrum
    unknown: np.ndarray  # bound of the waves that are left out, for each entry of the spectrum
    which: np.ndarray  # index of its entry for each original entry

    def enclose(self, centre: np.ndarray, half: np.ndarray) -> Enclosure:
        """Return the enclosure of the original entries, flat."""
        mid, slope, radius = self.spectrum.enclose(centre, half)
        return Enclosure(mid, slope, radius + self.unknown[:, None])[self.which]
