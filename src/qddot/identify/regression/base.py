"""Base parameters: the combinations of parameters that any motion can show.

    Y theta = Y_B theta_B,    theta_B = theta_1 + K theta_2

Y_B are independent columns of Y. Which they are is decided on random motions, far from any trajectory, where the gap between
columns that depend on others and columns that do not is many orders of magnitude. Descriptions whose angles are rounded (1.5708
for pi/2) have axes that are not quite parallel: what shows only through that counts as dependent, and `Base.rounded` names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from qddot.errors import InputError
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.symbolic.analysis.base_parameters import PREFERRED
from qddot.thresholds import COLUMN_NOTHING, COLUMN_ROUNDING, RANK_GAP


@dataclass(frozen=True, eq=False)
class Base:
    """Which combinations of the free parameters show in the torques.

    Attributes:
        parameter_set: the parameters.
        independent: their columns that are kept (r,), as indices into `parameter_set.names`.
        K: (r, p): `theta_B = K theta`.
        gap: shortest independent over longest dependent part of a column, each relative to the longest column of its unit.
        condition: of the scaled independent columns on random motions: the best any log can do, about.
        shown: how many of the independent ones motion shows; priors make more parameters independent.
        rounded: parameter that is taken as dependent, though it shows -> which part of its column does.

    >>> base = qddot.identify.base_parameters(qddot.identify.ParameterSet.of(qddot.load("two_link")))
    >>> base.rank, len(base.parameter_set.names)
    (13, 28)
    >>> base.combination("body_1.Izz")  # what this number stands for
    'body_1.Izz - 0.25*body_1.m - 0.25*body_2.m + joint1.armature'
    """

    parameter_set: ParameterSet
    independent: tuple[int, ...]
    K: np.ndarray
    gap: float
    condition: float
    shown: int
    rounded: Mapping[str, float]

    def __repr__(self) -> str:
        robot, names = self.parameter_set.robot, self.parameter_set.names
        return f"Base of {robot.name}: {self.rank} of {len(names)} parameters, rank gap {self.gap:.2g}"

    @property
    def names(self) -> tuple[str, ...]:
        """A parameter of each combination, which is in no other (r,)."""
        return tuple(self.parameter_set.names[j] for j in self.independent)

    def completed(self, theta: np.ndarray) -> np.ndarray:
        """All parameters (P,) with these base parameters (r,): what does not show is as described."""
        free = self.parameter_set.described.copy()
        free[list(self.independent)] += theta - self.K @ free
        return self.parameter_set.full(free)

    @property
    def rank(self) -> int:
        return len(self.independent)

    @property
    def grouped(self) -> dict[str, dict[str, float]]:
        """Parameter that is not independent -> {base parameter: its part in it}; empty for one that never shows."""
        rest = [j for j in range(len(self.parameter_set.names)) if j not in self.independent]
        return {self.parameter_set.names[j]: {n: k for n, k in zip(self.names, self.K[:, j]) if k != 0} for j in rest}

    def combination(self, name: str) -> str:
        """Combination that a base parameter stands for, such as `link1.Izz + link2.Iyy + 0.16*link2.m`."""
        row = self.K[self.names.index(name)]
        text = name
        for j in np.flatnonzero(np.abs(row) > 1e-6 * np.abs(row).max()):  # the rest is rounding of the description
            if self.parameter_set.names[j] != name:
                k = row[j]
                text += (
                    f" {'-' if k < 0 else '+'} {'' if abs(abs(k) - 1) < 1e-9 else f'{abs(k):.6g}*'}{self.parameter_set.names[j]}"
                )
        return text

    @property
    def described(self) -> np.ndarray:
        """The base parameters of the robot as described (r,)."""
        return self.K @ self.parameter_set.described


def base_parameters(parameter_set: ParameterSet) -> Base:
    """The base of a set of parameters, by random motions: enough for twice as many equations as parameters.

    Raises:
        InputError: no clear gap between dependent and independent columns.

    >>> base = qddot.identify.base_parameters(qddot.identify.ParameterSet.of(qddot.load("two_link")))
    >>> base.names[:4]
    ('body_1.mcx', 'body_1.mcy', 'body_1.Izz', 'body_2.mcx')
    """
    p, n = len(parameter_set.names), parameter_set.robot.nv
    Y = parameter_set.matrix(*random_motions(parameter_set, 2 * p // max(n, 1) + 50)).reshape(-1, p)
    scale = np.linalg.norm(Y, axis=0)
    shows = scale > COLUMN_NOTHING * scale.max(initial=0.0)  # the rest is rounding
    scale = np.where(shows, scale, 1.0)
    Y = np.where(shows, Y / scale, 0.0)
    part = scale / compared(parameter_set.names, scale)
    order = sorted(
        preference(parameter_set.names), key=lambda j: part[j] < COLUMN_ROUNDING
    )  # what rounding made stands for nothing
    kept, left = independent_columns(Y, order, part)
    shown = len(kept)
    if parameter_set.priors:
        Y = np.vstack([Y, prior_rows(parameter_set)[0] != 0])
        kept, left = independent_columns(Y, order, part)
    dependent = [j for j in range(p) if j not in kept]
    longest = max((left[j] for j in dependent), default=0.0)
    gap = min((left[j] for j in kept), default=1.0) / max(longest, np.finfo(float).eps)
    if gap < RANK_GAP:
        least = parameter_set.names[min(kept, key=lambda j: left[j])]
        most = parameter_set.names[max(dependent, key=lambda j: left[j])]
        raise InputError(
            f"the columns of {parameter_set.robot.name} have no clear rank: beyond the others, {most} shows with {longest:.2g} of "
            f"its column, too little, and {least} with only {gap:.3g} times that (fix {least}: ParameterSet.fix)"
        )
    K = np.zeros((len(kept), p))
    K[range(len(kept)), kept] = 1.0
    if dependent:
        found = np.linalg.lstsq(Y[:, kept], Y[:, dependent], rcond=None)[0]
        found[np.abs(found) < max(1e-8, longest)] = 0.0
        K[:, dependent] = found * scale[dependent] / scale[kept][:, None]
    rounded = {parameter_set.names[j]: left[j] for j in dependent if left[j] > COLUMN_NOTHING}
    return Base(parameter_set, tuple(kept), K, gap, float(np.linalg.cond(Y[:, kept])), shown, rounded)


def compared(names: tuple[str, ...], lengths: np.ndarray) -> np.ndarray:
    """The longest column (p,) of the same unit: masses, first moments and moments of the links among themselves."""
    kinds = [name.rpartition(".")[2].removesuffix("_c") for name in names]
    units = [kind.rstrip("xyz") if kind in PREFERRED else "" for kind in kinds]
    longest = {unit: max(x for x, u in zip(lengths, units) if u == unit) for unit in set(units)}
    return np.array([longest[unit] or 1.0 for unit in units])


def random_motions(parameter_set: ParameterSet, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions within the limits (or anywhere), rates and accelerations of about one; each (count, nv)."""
    draw, robot = np.random.default_rng(0), parameter_set.robot
    q = robot.random_configuration(draw, count)
    qd, qdd = draw.normal(size=(2, count, robot.nv))
    return q, qd, qdd * 3.0


def prior_rows(parameter_set: ParameterSet) -> tuple[np.ndarray, np.ndarray]:
    """Priors as equations with unit variance: (A (k, p), b (k,)), `theta_i / s_i = mean_i / s_i`."""
    A, b = np.zeros((len(parameter_set.priors), len(parameter_set.names))), np.zeros(len(parameter_set.priors))
    for i, (name, (mean, deviation)) in enumerate(parameter_set.priors.items()):
        A[i, parameter_set.place(name)] = 1 / deviation
        b[i] = mean / deviation
    return A, b


def preference(names: tuple[str, ...]) -> list[int]:
    """The order in which columns are kept: drives last, link by link, within a link as the symbolic base parameters do."""
    kinds = [name.rpartition(".")[2].removesuffix("_c") for name in names]
    links = list(dict.fromkeys(name.rpartition(".")[0] for name, kind in zip(names, kinds) if kind in PREFERRED))
    inner = [j for j, kind in enumerate(kinds) if kind in PREFERRED]
    inner.sort(key=lambda j: (links.index(names[j].rpartition(".")[0]), PREFERRED.index(kinds[j])))
    return inner + [j for j, kind in enumerate(kinds) if kind not in PREFERRED]


def independent_columns(Y: np.ndarray, order: list[int], size: np.ndarray) -> tuple[list[int], Mapping[int, float]]:
    """Columns (sorted) that are no combination of those before them, and for every column the length of its part beyond them,
    where the column itself is as long as `size` says."""
    Q = np.zeros((len(Y), 0))
    kept, left = [], {}
    for j in order:
        y = Y[:, j]
        length = np.linalg.norm(y)
        for _ in range(2):  # twice is enough
            y = y - Q @ (Q.T @ y)
        left[j] = float(size[j] * np.linalg.norm(y) / length) if length > 0 else 0.0
        if left[j] > COLUMN_ROUNDING:
            kept.append(j)
            Q = np.column_stack([Q, y / np.linalg.norm(y)])
    return sorted(kept), left
