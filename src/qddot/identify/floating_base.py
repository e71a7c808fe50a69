"""Identification of humanoids and quadrupeds from the motion and the contact forces, without joint torques.

    Y_0(q, qd, qdd) pi = sum over contacts of (J_c^T w_c)_0          the six rows of the base, on which no motor acts

These rows alone determine every base parameter of the tree (Ayusawa, Venture and Nakamura 2014) and contain no joint friction:
force plates or six-axis sensors in the feet replace joint torque sensors. Joint torques, if there are any, add their own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from qddot.algorithms.regressor import INERTIAL
from qddot.arguments import finite_array
from qddot.errors import InputError
from qddot.identify.alignment import alignable, settled_delay, told_delay, told_fault
from qddot.identify.more_columns import covariance_by_blocks, errors, weighted
from qddot.identify.physical.consistent import Consistent, consistent
from qddot.identify.physical.identified import sound_body
from qddot.identify.regression.base import independent_columns, preference
from qddot.identify.regression.bodies import body_inertias, with_parameters, without_drives
from qddot.identify.regression.motions import moved
from qddot.identify.regression.residuals import relative
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import smoothed
from qddot.identify.scaling import nonzero
from qddot.logs.lowpass import LowPass
from qddot.logs.resample import onto
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import COLUMN_NOTHING


@dataclass(frozen=True, eq=False)
class FloatingBase:
    """Identified links of a robot with a floating base.

    Attributes:
        described: the robot as described.
        names: names of the base parameters (r,), each of which stands for a combination.
        theta: the base parameters (r,), by least squares.
        covariance: their covariance (r, r), by leaving out blocks of time.
        K: (r, 10 bodies): `theta = K pi`.
        R: triangular factor (r + 1, r + 1) of the weighted rows, forces last.
        error: |error| / |force| of the rows.
        findings: what was done to the samples: `delay`, by how much later than positions forces came, if they did.

    >>> robot, draw = qddot.load("quadrotor_arm"), np.random.default_rng(0)
    >>> q, (qd, qdd) = np.stack([robot.random_configuration(draw) for _ in range(50)]), draw.normal(size=(2, 50, robot.nv))
    >>> J = robot.jacobian(q, robot.body_names[0], reference="world_aligned")
    >>> ground = np.linalg.solve(J[..., :6].transpose(0, 2, 1), robot.inverse_dynamics(q, qd, qdd)[:, :6, None])[..., 0]
    >>> samples = qddot.identify.Samples(q, qd, qdd, np.zeros_like(qd))  # no torque is measured
    >>> found = qddot.identify.floating_base(robot, samples, {robot.body_names[0]: ground})
    >>> round(found.mass[0], 6), bool(abs(found.centre_of_mass(q) - robot.center_of_mass(q)).max() < 1e-6)
    (1.75, True)
    """

    described: Robot
    names: tuple[str, ...]
    theta: np.ndarray
    covariance: np.ndarray
    K: np.ndarray
    R: np.ndarray
    error: float
    findings: tuple[Finding, ...] = ()

    @property
    def std(self) -> np.ndarray:
        """Standard deviations of the base parameters (r,)."""
        return np.sqrt(np.diagonal(self.covariance))

    @cached_property
    def mass(self) -> tuple[float, float]:
        """Mass of the whole robot and its standard deviation, kg."""
        every = np.tile([1.0, *[0.0] * 9], self.K.shape[1] // 10)
        part = np.linalg.lstsq(self.K.T, every, rcond=None)[0]
        return float(part @ self.theta), float(np.sqrt(part @ self.covariance @ part))

    @cached_property
    def consistent(self) -> Consistent:
        """Physically consistent inertial parameters of all bodies (needs the extra `id`), as described where no motion shows
        them."""
        names = tuple(f"{body}.{name}" for body in self.described.body_names for name in INERTIAL)
        prior = np.concatenate([sound_body(ten) for ten in body_inertias(self.described).values()])
        return consistent(self.R[:, :-1] @ self.K, self.R[:, -1], names, prior)

    @cached_property
    def robot(self) -> Robot:
        """The robot with physically consistent links and the described drives."""
        ten = self.consistent.parameters.reshape(-1, 10)
        return with_parameters(self.described, dict(zip(self.described.body_names, ten)), {})

    def centre_of_mass(self, q: ArrayLike) -> np.ndarray:
        """Centre of mass of the whole robot (..., 3) at q (..., nq), m, in world axes."""
        return self.robot.center_of_mass(q)

    def __repr__(self) -> str:
        mass, std = self.mass
        head = f"{self.described.name}: {mass:.5g} +- {std:.2g} kg, {len(self.names)} base parameters"
        return f"{head}; {self.error:.2%} of the forces remain"


def floating_base(
    robot: Robot,
    samples: Samples,
    wrenches: Mapping[str, ArrayLike],
    *,
    torques: bool = False,
    rate: float | None = None,
    cutoff: float | None = None,
) -> FloatingBase:
    """Find the base parameters of a robot with a free base, from its motion and the measured contact wrenches.

    Args:
        robot: robot with a free base (`robot.with_floating_base()`).
        samples: q (N, nq), qd and qdd (N, nv) as a state estimator gives them, and tau (N, nv).
        wrenches: frame -> wrench of the ground on the robot (N, 6), at the frame's origin in world axes, moments first; the wrench
            of a force plate must be moved to that point.
        torques: True if tau of the joints, without friction, is used too; else it is ignored.
        rate, cutoff: Hz; if given, both sides go through a low-pass, samples must be consecutive, and forces that all came up to a
            sample and a half later or earlier than positions are taken at their time. Without them that cannot be found.

    Raises:
        InputError: no free base, wrong shapes, an unknown frame, or a motion that does not show every base parameter.

    >>> robot, draw = qddot.load("quadrotor_arm"), np.random.default_rng(0)
    >>> q, (qd, qdd) = np.stack([robot.random_configuration(draw) for _ in range(50)]), draw.normal(size=(2, 50, robot.nv))
    >>> J = robot.jacobian(q, robot.body_names[0], reference="world_aligned")
    >>> ground = np.linalg.solve(J[..., :6].transpose(0, 2, 1), robot.inverse_dynamics(q, qd, qdd)[:, :6, None])[..., 0]
    >>> samples = qddot.identify.Samples(q, qd, qdd, np.zeros_like(qd))  # no torque is measured
    >>> found = qddot.identify.floating_base(robot, samples, {robot.body_names[0]: ground})
    >>> len(found.names), bool(found.error < 1e-9)
    (24, True)
    """
    free = next((c for c in robot.model.mechanism.coordinates if len(c.v) == 6), None)
    if free is None:
        raise InputError(f"{robot.name} has no free joint: its base does not float (robot.with_floating_base(), or robot.identify)")
    if not wrenches:
        raise InputError("no contact wrenches: without them the ground's forces are not known (wrenches={frame: (N, 6)})")
    run = moved(robot, Samples(*samples))
    bare, N = without_drives(robot), len(run.samples.q)
    outside = {frame: finite_array(frame, wrench) for frame, wrench in wrenches.items()}
    for frame, wrench in outside.items():
        if wrench.shape != (N, 6):
            raise InputError(f"the wrench at {frame!r} has shape {wrench.shape}: ({N}, 6), moments before forces, is meant")
    rows_used = [k for k in range(robot.nv) if torques or k in free.v]
    names = tuple(f"{body}.{name}" for body in robot.body_names for name in INERTIAL)
    kept, K = combinations(bare, rows_used, names)
    joints = np.isin(np.arange(robot.nv), free.v, invert=True)
    forces = Forces(bare, run.samples._replace(tau=run.samples.tau * joints), outside)
    low_pass, Y = low_pass_of(rate, cutoff), bare.regressor(*run.motion)[..., kept]
    filtered = low_pass.decimated if low_pass else lambda x: x

    def rows_of(*columns: np.ndarray) -> list[np.ndarray]:
        return [filtered(np.column_stack([Y[:, k], *(column[:, k] for column in columns)])) for k in rows_used]

    measured, told = forces.through(lambda x: x), ()
    if low_pass and (delay := delay_of(forces, rows_of, low_pass)):
        told = told_fault(delay, low_pass.rate, "forces") or (told_delay(delay, low_pass.rate, "forces"),)
        measured = forces.after(alignable(delay, low_pass.rate), low_pass.rate)
    rows = rows_of(measured)
    check_shown(rows, [names[j] for j in kept])
    theta, sigma = weighted(rows)
    X = np.vstack([A / s for A, s in zip(rows, sigma)])
    R = np.asarray(np.linalg.qr(X, mode="r"))
    covariance = covariance_by_blocks(rows, sigma)
    return FloatingBase(robot, tuple(names[j] for j in kept), theta, covariance, K, R, relative(*errors(rows, theta)), told)


@dataclass(frozen=True)
class Forces:
    """Measured forces on a robot without drives: of contacts, and of its joints."""

    bare: Robot
    samples: Samples  # tau: those of joints; 0 for the free base
    outside: Mapping[str, np.ndarray]

    def through(self, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return generalised forces (N, nv) at each position, of measured ones (N, k) that go through a function first."""
        q, still = self.samples.q, np.zeros_like(self.samples.tau)
        pushes = {frame: change(wrench) for frame, wrench in self.outside.items()}
        pushed = self.bare.inverse_dynamics(q, still, still) - self.bare.inverse_dynamics(q, still, still, f_ext=pushes)
        return pushed + change(self.samples.tau)

    def after(self, seconds: float, rate: float) -> np.ndarray:
        """Return generalised forces (N, nv) of those measured so much after each position."""
        t = np.arange(len(self.samples.q)) / rate
        return self.through(lambda x: onto(t + seconds, t, x))

    def slopes(self, low_pass: LowPass) -> np.ndarray:
        """Return generalised forces (N, nv) a second of the slopes of low-passed ones."""
        every = [slice(0, len(self.samples.q))]
        return self.through(lambda x: np.gradient(smoothed(x, low_pass, every), 1 / low_pass.rate, axis=0))


def delay_of(forces: Forces, rows_of: Callable[..., list[np.ndarray]], low_pass: LowPass) -> float:
    """Return by how much later than positions forces came, s; 0 if that is not sure. `rows_of` makes the equations' rows."""
    late = -forces.slopes(low_pass)

    def further(beyond: float) -> tuple[float, float]:
        rows = rows_of(late, forces.after(beyond, low_pass.rate))
        (*_, step), sigma = weighted(rows)
        return float(step), float(np.sqrt(covariance_by_blocks(rows, sigma)[-1, -1]))

    return settled_delay(further, 0.0, low_pass.rate)


def combinations(robot: Robot, rows: list[int], names: tuple[str, ...]) -> tuple[list[int], np.ndarray]:
    """Indices of the independent columns in these rows of the regressor, and K (r, p) with `theta = K pi`, by random motions."""
    draw = np.random.default_rng(0)
    count = 2 * len(names) // len(rows) + 50
    q = np.stack([robot.random_configuration(draw) for _ in range(count)])
    Y = robot.regressor(q, *draw.normal(size=(2, count, robot.nv)))[:, rows].reshape(-1, len(names))
    size = np.linalg.norm(Y, axis=0)
    shows = size > COLUMN_NOTHING * size.max()
    Y = np.where(shows, Y / np.where(shows, size, 1.0), 0.0)
    kept, _ = independent_columns(Y, preference(names), np.ones(len(names)))
    K = np.linalg.lstsq(Y[:, kept], Y, rcond=None)[0] * size / size[kept][:, None]
    return kept, np.where(np.abs(K) < COLUMN_NOTHING * np.abs(K).max(), 0.0, K)


def check_shown(rows: list[np.ndarray], names: list[str]) -> None:
    """Refuse a motion that does not tell all base parameters apart."""
    X = np.vstack(rows)[:, :-1]
    size = np.linalg.norm(X, axis=0)
    still = [name for name, x in zip(names, size) if x <= COLUMN_NOTHING * size.max()]
    _, s, Vt = np.linalg.svd(X / nonzero(size), full_matrices=False)
    if still or len(X) < len(names) or s[-1] < COLUMN_NOTHING * s[0]:
        worst = still or [names[j] for j in np.argsort(-np.abs(Vt[-1]))[:3]]
        raise InputError(f"this motion does not show {', '.join(worst[:5])}: move every joint, and turn the base about all axes")


def low_pass_of(rate: float | None, cutoff: float | None) -> LowPass | None:
    """The filter for both sides of the equations, if there is one."""
    if rate is None and cutoff is None:
        return None
    if rate is None or cutoff is None:
        raise InputError(f"rate={rate}, cutoff={cutoff}: a low-pass takes both")
    return LowPass(rate, cutoff)
