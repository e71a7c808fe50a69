"""The domain of bounds: the configurations within the joint limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from qddot.errors import InputError, unknown_name
from qddot.model.joints import quaternion_exp
from qddot.model.model import Model
from qddot.symbolic.exact.alphabet import Alphabet
from qddot.symbolic.properties.harmonics import Harmonics

FULL = math.pi * (1 + 4e-16)  # not less than pi


class Domain:
    """A box of configurations.

    Angles without limits go around once (more often where joints that follow turn by a fraction of them), parts of quaternions lie
    in [-1, 1], sliders without limits are open.

    Attributes:
        lower, upper: (nq,), infinite where open.
        start, end: (nv,), with a rotation vector instead of each quaternion, at most half a turn about each axis.
    """

    def __init__(self, model: Model, alphabet: Alphabet, limits: Any = None) -> None:
        self.mechanism = mechanism = model.mechanism
        self.lower, self.upper = np.full(mechanism.nq, -np.inf), np.full(mechanism.nq, np.inf)
        for c in mechanism.coordinates:
            if c.single:
                self.lower[c.q.start], self.upper[c.q.start] = c.limits.lower, c.limits.upper
        self._give(limits)
        self.start, self.end = np.zeros(mechanism.nv), np.zeros(mechanism.nv)
        self._turns: list[tuple[int, int]] = []  # where each quaternion begins in q, and its rates in qd
        plain: list[tuple[int, int]] = []  # place of each other coordinate in q, and of its rate in qd
        for part, at, columns in mechanism.parts():
            q, v = at.start, columns.start
            if part.quaternion:
                self._turns.append((q, v))
                self.lower[q : q + 4], self.upper[q : q + 4] = -1.0, 1.0
                self.start[v : v + 3], self.end[v : v + 3] = -np.pi, np.pi
                q, v = q + 4, v + 3
            elif part.angle and not (np.isfinite(self.lower[q]) and np.isfinite(self.upper[q])):
                self.lower[q], self.upper[q] = around(alphabet, q)
            plain += zip(range(q, at.stop), range(v, columns.stop))
        self._q, self._v = np.array(plain, dtype=int).reshape(-1, 2).T
        self.start[self._v], self.end[self._v] = self.lower[self._q], self.upper[self._q]

    def _give(self, limits: Any) -> None:
        """Replace the robot's limits by the caller's."""
        if isinstance(limits, Mapping):
            joints = {c.name: c for c in self.mechanism.coordinates}
            for name, pair in limits.items():
                if name not in joints:
                    raise unknown_name("joint", name, joints)
                at = slice(joints[name].q.start, joints[name].q.stop)
                self.lower[at], self.upper[at] = self._pair(pair, len(joints[name].q), f"limits of joint {name!r}")
        elif limits is not None:
            self.lower[:], self.upper[:] = self._pair(limits, self.mechanism.nq, "limits")

    def _pair(self, pair: Any, n: int, what: str) -> tuple[np.ndarray, np.ndarray]:
        try:
            low, high = (np.broadcast_to(np.asarray(x, dtype=float), n) for x in pair)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{what}: a pair (lower, upper) is needed, numbers or arrays ({n},)") from None
        if not (low <= high).all():
            raise InputError(f"{what}: lower {low} is not below upper {high}")
        return low, high

    def open_joints(self, harmonics: Harmonics) -> list[str]:
        """Return the joints without limits whose position itself occurs in a quantity, not only its sine: it has no bound."""
        _, plain = harmonics.coordinates()
        return [
            c.name
            for c in self.mechanism.coordinates
            if any(i in plain and not (np.isfinite(self.lower[i]) and np.isfinite(self.upper[i])) for i in c.q)
        ]

    def columns(self, variables: Any) -> np.ndarray:
        """Return the columns of qd that change these entries of q."""
        chosen = np.array(sorted(variables), dtype=int)
        turns = [range(v, v + 3) for q, v in self._turns if np.isin(range(q, q + 4), chosen).any()]
        return np.sort(np.concatenate([self._v[np.isin(self._q, chosen)], *turns])).astype(int)

    def configurations(self, columns: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return q (m, nq) for values (m, columns) of some columns, with the others in the middle of their range."""
        known = np.isfinite(self.start) & np.isfinite(self.end)
        rest = np.zeros(len(known))
        rest[known] = (self.start[known] + self.end[known]) / 2
        v = np.tile(rest, (len(x), 1))
        v[:, columns] = x
        q = np.empty((len(x), self.mechanism.nq))
        q[:, self._q] = v[:, self._v]
        for i, k in self._turns:
            q[:, i : i + 4] = quaternion_exp(v[:, k : k + 3])
        return q

    def middle(self) -> np.ndarray:
        """Return the configuration (nq,) in the middle, 0 where a joint is open."""
        return self.configurations(np.array([], dtype=int), np.zeros((1, 0)))[0]


def around(alphabet: Alphabet, coordinate: int) -> tuple[float, float]:
    """Return the interval from minus to plus half the common period of all sines and cosines of a coordinate."""
    multiples = [a.multiple for a in alphabet.angles if a.coordinate == coordinate and isinstance(a.multiple, Fraction)]
    multiples = multiples or [Fraction(1)]
    half = FULL * math.lcm(*(m.denominator for m in multiples)) / math.gcd(*(m.numerator for m in multiples))
    return -half, half
