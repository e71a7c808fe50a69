"""Base parameters: the combinations of parameters that a motion can reveal.

    Y theta = Y_B theta_B,    theta_B = theta_1 + K theta_2

Y_B are independent columns of Y. They are chosen on random motions rather than on a recorded one, since there the gap between
dependent and independent columns is many orders of magnitude. In descriptions with rounded angles (1.5708 for pi/2) parallel axes
are not quite parallel: a parameter that shows only through that counts as dependent, and `Base.rounded` names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from qddot.errors import InputError
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.model.friction import LOAD
from qddot.symbolic.analysis.base_parameters import PREFERRED
from qddot.thresholds import COLUMN_NOTHING, COLUMN_ROUNDING, RANK_GAP


@dataclass(frozen=True, eq=False)
class Base:
    """The combinations of free parameters that the torques depend on.

    Attributes:
        parameter_set: the parameters.
        independent: the columns that are kept (r,), as indices into `parameter_set.names`.
        K: (r, p): `theta_B = K theta`.
        gap: ratio of the smallest remainder of an independent column to the largest of a dependent one, after projection on the
            columns before it; each relative to the longest column of its unit.
        condition: condition number of the scaled independent columns on random motions, about the best that any log can reach.
        shown: number of independent parameters that motion reveals; priors make more parameters independent.
        rounded: parameter taken as dependent only because of rounded angles -> the fraction of its column that is independent.

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
        """For each combination the one parameter that is in no other (r,)."""
        return tuple(self.parameter_set.names[j] for j in self.independent)

    def completed(self, theta: np.ndarray) -> np.ndarray:
        """All parameters (P,) with these base parameters (r,); directions that torques do not show stay as described."""
        free = self.parameter_set.described.copy()
        free[list(self.independent)] += theta - self.K @ free
        return self.parameter_set.full(free)

    def matrix(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """The regressor of the base parameters (N, nv, r)."""
        return self.parameter_set.matrix(q, qd, qdd)[..., list(self.independent)]

    @property
    def rank(self) -> int:
        return len(self.independent)

    @property
    def grouped(self) -> dict[str, dict[str, float]]:
        """Dependent parameter -> {base parameter: its coefficient in that combination}; empty if no torque depends on it."""
        rest = [j for j in range(len(self.parameter_set.names)) if j not in self.independent]
        return {self.parameter_set.names[j]: {n: k for n, k in zip(self.names, self.K[:, j]) if k != 0} for j in rest}

    def combination(self, name: str) -> str:
        """The combination that a base parameter stands for, such as `link1.Izz + link2.Iyy + 0.16*link2.m`."""
        row = self.K[self.names.index(name)]
        text = name
        for j in np.flatnonzero(np.abs(row) > 1e-6 * np.abs(row).max()):  # smaller ones come from rounded descriptions
            other, k = self.parameter_set.names[j], row[j]
            if other != name:
                text += f" {'-' if k < 0 else '+'} {'' if abs(abs(k) - 1) < 1e-9 else f'{abs(k):.6g}*'}{other}"
        return text

    @property
    def described(self) -> np.ndarray:
        """The base parameters of the robot as described (r,)."""
        return self.K @ self.parameter_set.described


def base_parameters(parameter_set: ParameterSet) -> Base:
    """Find the base parameters of a set by random motions, with at least twice as many equations as parameters.

    Raises:
        InputError: no clear gap between dependent and independent columns.

    >>> base = qddot.identify.base_parameters(qddot.identify.ParameterSet.of(qddot.load("two_link")))
    >>> base.names[:4]
    ('body_1.mcx', 'body_1.mcy', 'body_1.Izz', 'body_2.mcx')
    """
    p, n = len(parameter_set.names), parameter_set.robot.nv
    Y = parameter_set.matrix(*random_motions(parameter_set, 2 * p // max(n, 1) + 50)).reshape(-1, p)
    scale = np.linalg.norm(Y, axis=0)
    shows = scale > COLUMN_NOTHING * scale.max(initial=0.0)  # smaller columns are rounding errors
    scale = np.where(shows, scale, 1.0)
    Y = np.where(shows, Y / scale, 0.0)
    part = scale / compared(parameter_set.names, scale)
    # columns that only rounding made come last: they stand for no combination
    order = sorted(preference(parameter_set.names), key=lambda j: part[j] < COLUMN_ROUNDING)
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
    """For each column (p,) the length of the longest one of its unit: masses, first moments, moments of inertia, friction by the
    load, whose columns are as large as that, or other constants of drives."""
    kinds = [name.rpartition(".")[2].removesuffix("_c") for name in names]
    units = [kind.rstrip("xyz") if kind in PREFERRED else kind if kind == LOAD else "" for kind in kinds]
    longest = {unit: max(x for x, u in zip(lengths, units) if u == unit) for unit in set(units)}
    return np.array([longest[unit] or 1.0 for unit in units])


def random_motions(parameter_set: ParameterSet, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q within the limits, qd of about 1 and qdd of about 3; each (count, nv)."""
    draw, robot = np.random.default_rng(0), parameter_set.robot
    q = robot.random_configuration(draw, count)
    qd, qdd = draw.normal(size=(2, count, robot.nv))
    return q, qd, qdd * 3.0


def prior_rows(parameter_set: ParameterSet) -> tuple[np.ndarray, np.ndarray]:
    """Priors as equations `theta_i / s_i = mean_i / s_i` of unit variance: (A (k, p), b (k,))."""
    priors = parameter_set.priors
    mean, deviation = np.reshape([*priors.values()], (-1, 2)).T
    rows = np.eye(len(parameter_set.names))[[parameter_set.place(name) for name in priors]]
    return rows / deviation[:, None], mean / deviation


def preference(names: tuple[str, ...]) -> list[int]:
    """The order in which columns are tried: link by link, within a link as for the symbolic base parameters, drives last."""
    kinds = [name.rpartition(".")[2].removesuffix("_c") for name in names]
    links = list(dict.fromkeys(name.rpartition(".")[0] for name, kind in zip(names, kinds) if kind in PREFERRED))
    inner = [j for j, kind in enumerate(kinds) if kind in PREFERRED]
    inner.sort(key=lambda j: (links.index(names[j].rpartition(".")[0]), PREFERRED.index(kinds[j])))
    return inner + [j for j, kind in enumerate(kinds) if kind not in PREFERRED]


def independent_columns(Y: np.ndarray, order: list[int], size: np.ndarray) -> tuple[list[int], Mapping[int, float]]:
    """The independent columns (sorted), found one after the other by Gram and Schmidt's method, and for every column the length of
    what is left of it after projection on those kept before; `size` are the lengths of the columns themselves."""
    Q = np.zeros((len(Y), 0))
    kept, left = [], {}
    for j in order:
        y = Y[:, j]
        length = np.linalg.norm(y)
        for _ in range(2):  # the second pass removes the rounding errors of the first
            y = y - Q @ (Q.T @ y)
        left[j] = float(size[j] * np.linalg.norm(y) / length) if length > 0 else 0.0
        if left[j] > COLUMN_ROUNDING:
            kept.append(j)
            Q = np.column_stack([Q, y / np.linalg.norm(y)])
    return sorted(kept), left
