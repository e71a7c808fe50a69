"""Coordinates in which every inertia is physically consistent, and nonlinear least squares in them (Rucker and Wensing 2022).

    J = U U^T,   U = exp(alpha) [[exp(d1), s12,     s13,     t1],
                                 [0,       exp(d2), s23,     t2],
                                 [0,       0,       exp(d3), t3],
                                 [0,       0,       0,       1 ]]

Every eta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3) is a positive definite pseudo-inertia, and each of those is one such ten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares

from qddot.errors import ConvergenceError, InputError
from qddot.identify.physical.pseudo_inertia import congruence, link_columns, nonnegative_columns, pseudo_inertia, ten_vector

ROWS, COLUMNS = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 1, 2, 2, 3, 3, 3])
"""Rows and columns of d1, d2, d3, s12, s23, s13, t1, t2, t3 in U."""


def factor(eta: np.ndarray) -> np.ndarray:
    """U (..., 4, 4) of log-Cholesky coordinates (..., 10)."""
    eta = np.asarray(eta, float)
    U = np.zeros((*eta.shape[:-1], 4, 4))
    U[..., 3, 3] = 1.0
    U[..., ROWS, COLUMNS] = np.concatenate([np.exp(eta[..., 1:4]), eta[..., 4:]], axis=-1)
    return np.exp(eta[..., 0])[..., None, None] * U


def to_ten(eta: np.ndarray) -> np.ndarray:
    """The ten inertial parameters (..., 10) of a link from its log-Cholesky coordinates (..., 10)."""
    U = factor(eta)
    return ten_vector(U @ np.swapaxes(U, -1, -2))


def from_ten(ten: np.ndarray) -> np.ndarray:
    """Log-Cholesky coordinates (..., 10) from a link's ten inertial parameters (..., 10). Raises InputError: no body with volume
    has these."""
    J = pseudo_inertia(np.asarray(ten, float))
    try:
        L = np.linalg.cholesky(J[..., ::-1, ::-1])
    except np.linalg.LinAlgError:
        raise InputError(
            f"ten numbers {np.array2string(np.asarray(ten), precision=4)}: the smallest eigenvalue of their pseudo-inertia is "
            f"{np.linalg.eigvalsh(J).min():.3g}, but a body with volume has a positive definite one"
        ) from None
    U = L[..., ::-1, ::-1]
    size = U[..., 3, 3]
    entries = U[..., ROWS, COLUMNS] / size[..., None]
    return np.concatenate([np.log(size)[..., None], np.log(entries[..., :3]), entries[..., 3:]], axis=-1)


def derivative(eta: np.ndarray) -> np.ndarray:
    """d to_ten / d eta (..., 10, 10): `dJ = dU U^T + U dU^T`."""
    eta = np.asarray(eta, float)
    U = factor(eta)
    dU = np.zeros((*eta.shape[:-1], 10, 4, 4))
    dU[..., 0, :, :] = U
    along = np.concatenate([np.exp(eta[..., 1:4]), np.ones_like(eta[..., 4:])], axis=-1)
    dU[..., np.arange(1, 10), ROWS, COLUMNS] = np.exp(eta[..., :1]) * along
    half = dU @ np.swapaxes(U, -1, -2)[..., None, :, :]
    return np.swapaxes(ten_vector(half + np.swapaxes(half, -1, -2)), -1, -2)


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates x (p,) of all parameters pi (p,) about a reference: `J = L J(x) L^T` with `J_reference = L L^T` for the links,
    `pi = scale x` for the others.

    A link's coordinates have neither units nor a frame: they are zero at the reference, 1 doubles or triples a mass or a length, or
    moves the centre of mass by a radius of gyration.
    """

    names: tuple[str, ...]  # of the parameters
    reference: np.ndarray  # pi (p,), its links positive definite
    scale: np.ndarray | None = None  # of the other parameters (p,); None: 1

    @cached_property
    def links(self) -> np.ndarray:
        """Indices of each link's ten parameters (links, 10)."""
        return np.array(list(link_columns(self.names).values()), dtype=int).reshape(-1, 10)

    @cached_property
    def unit(self) -> np.ndarray:
        """dpi/dx (p, p) with the links' coordinates replaced by the ten numbers of `L^-1 J L^-T`."""
        found = np.eye(len(self.names)) if self.scale is None else np.diag(self.scale)
        for columns in self.links:
            found[np.ix_(columns, columns)] = congruence(factor(from_ten(self.reference[columns])))
        return found

    def parameters(self, x: np.ndarray) -> np.ndarray:
        """pi (p,) from x (p,)."""
        k = np.array(x, dtype=float)
        k[self.links] = to_ten(k[self.links])
        return self.unit @ k

    def coordinates(self, pi: np.ndarray) -> np.ndarray:
        """x (p,) from pi (p,)."""
        x = np.linalg.solve(self.unit, pi)
        x[self.links] = from_ten(x[self.links])
        return x

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """dpi/dx (p, p)."""
        found = np.eye(len(x))
        for columns in self.links:
            found[np.ix_(columns, columns)] = derivative(x[columns])
        return self.unit @ found


def nonlinear_least_squares(
    residuals: Callable[[np.ndarray], np.ndarray],
    jacobian: Callable[[np.ndarray], np.ndarray],
    chart: Chart,
    start: np.ndarray,
    *,
    free: np.ndarray | None = None,
    gamma: float = 0.0,
    evaluations: int = 200,
) -> np.ndarray:
    """Find the consistent parameters pi (p,) with the smallest residuals, where these are nonlinear functions.

    Args:
        residuals: function of pi that returns (k,); in units of their noise if `gamma` is used. Where they are not finite, the step
            that led there is taken back and a shorter one is tried.
        jacobian: derivative of the residuals with respect to pi (k, p), as a function of pi.
        chart: coordinates of pi; drive constants stay at or above zero.
        start: pi (p,), its links positive definite.
        free: mask of the parameters (p,) that may change, see `chosen`; None: all.
        gamma: weight of the prior `gamma |x - x_reference|^2` in the chart's coordinates, for what the residuals leave open.
        evaluations: largest number of evaluations.

    Raises:
        InputError: residuals of the start that are not finite.
        ConvergenceError: not converged after so many evaluations.
    """
    x0, middle = chart.coordinates(start), chart.coordinates(chart.reference)
    moving = np.ones(len(x0), bool) if free is None else free
    if not np.isfinite(residuals(start)).all():
        raise InputError("the residuals of the start are not finite: it cannot be improved step by step")
    pull = np.sqrt(gamma)
    lower = np.full(len(x0), -np.inf)
    lower[nonnegative_columns(chart.names)] = 0.0

    def whole(y: np.ndarray) -> np.ndarray:
        """x, moved by y from the start: SciPy's first steps are then no longer than 1."""
        x = x0.copy()
        x[moving] += y
        return x

    def errors(y: np.ndarray) -> np.ndarray:
        x = whole(y)
        return np.concatenate([residuals(chart.parameters(x)), pull * (x - middle)[moving]])

    def errors_jacobian(y: np.ndarray) -> np.ndarray:
        x = whole(y)
        return np.vstack([(jacobian(chart.parameters(x)) @ chart.jacobian(x))[:, moving], pull * np.eye(len(y))])

    found = least_squares(
        errors,
        np.maximum(lower - x0, 0.0)[moving],
        jac=errors_jacobian,  # type: ignore[arg-type]
        bounds=((lower - x0)[moving], np.inf),
        max_nfev=evaluations,
    )
    if found.status < 1:
        raise ConvergenceError(f"not converged after {evaluations} evaluations: {found.message} (start nearer, or allow more)")
    return chart.parameters(whole(found.x))


def chosen(names: Sequence[str], free: Sequence[str] | None) -> np.ndarray:
    """Mask of the parameters (p,) that `free` means, names of links and parameters; None: all."""
    known = {*names, *(name.rpartition(".")[0] for name in names)}
    if unknown := [name for name in free or () if name not in known]:
        raise InputError(f"free={unknown[0]!r} is neither a parameter nor a link among {', '.join(names[:6])}, ...")
    wanted = None if free is None else set(free)
    moving = np.array([wanted is None or name in wanted or name.rpartition(".")[0] in wanted for name in names])
    for link, columns in link_columns(names).items():
        if moving[columns].any() and not moving[columns].all():
            raise InputError(f"free={sorted(wanted or ())}: of link {link!r} all ten numbers are free, or none (name the link)")
    return moving
