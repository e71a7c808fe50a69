"""Single integration steps as traceable functions, for simulations, rollouts and exported code."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from qddot.algorithms.coriolis import coriolis_matrix
from qddot.algorithms.displacement import unit
from qddot.algorithms.drives import friction_slope, friction_torque, spring_torque
from qddot.algorithms.factor import Matrix, dot, factor, times, transposed
from qddot.algorithms.forward_dynamics import METHODS, Accelerations, held_bodies
from qddot.algorithms.inverse_dynamics import Wrenches, gravity_torque
from qddot.algorithms.kinematics import Scalars, coordinate_rates
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.algorithms.time_jet import TimeJet, over_time, time_jet
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar

ITERATIONS = 8
"""Iterations of the implicit step: each reduces the error by a factor of the order of (step times fastest rate) squared."""

CONVERGED = 64
"""Rounding errors of the velocity: the last correction of the implicit step must be smaller, or there is no result."""

CONTRACTION = 0.25
"""The second correction of the implicit step must be at most this fraction of the first: else the iteration may lead to another
solution than that of short steps."""


def rk4_step(
    model: LiftedModel, q: Scalars, qd: Scalars, tau: Scalars, dt: Scalars, method: str, f_ext: Wrenches | None = None
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return q and qd after `dt` with constant joint forces, and the margins of forward dynamics in the four stages."""
    return kutta(model, q, qd, dt[0], lambda _, q, qd: METHODS[method](model, q, qd, tau, f_ext))


def held_step(
    model: LiftedModel,
    q: Scalars,
    qd: Scalars,
    tau: Scalars,
    sliding: Scalars,
    moving: Scalars,
    dt: Scalars,
    f_ext: Wrenches | None = None,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return q, qd and margins after `dt` while some columns are held at rest and dry friction keeps its direction
    (see `held_bodies`)."""
    return kutta(model, q, qd, dt[0], lambda _, q, qd: held_bodies(model, q, qd, tau, sliding, moving, f_ext))


Accelerate = Callable[[Scalar, Scalars, Scalars], Accelerations]
"""A function (time since the step's beginning, q, qd) that returns accelerations and margins."""


def kutta(
    model: LiftedModel, q: Scalars, qd: Scalars, h: Scalar, accelerate: Accelerate
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return q and qd after the four stages of Kutta (1901), and the margins of all stages.

    Quaternions are integrated as four numbers each, and normalised at the end: the order stays four. The two middle stages have the
    same time, written as `h / 2` and `h - h / 2`: so the trace shares nothing between them, and `kutta_stage` has the same bits.
    """
    margins: list[Scalar] = []
    total: tuple[Scalars, Scalars] = ([0] * len(q), [0] * len(qd))
    point, later = (q, qd), 0
    for weight, reach in ((1, h / 2), (2, h - h / 2), (2, h), (1, None)):
        qdd, doubts = accelerate(later, *point)
        margins += doubts
        slopes = coordinate_rates(model, *point), qdd
        total = (along(total[0], slopes[0], weight), along(total[1], slopes[1], weight))  # now, so that no slope is kept for later
        if reach is not None:
            point, later = (along(q, slopes[0], reach), along(qd, slopes[1], reach)), reach
    return unit_quaternions(model, along(q, total[0], h / 6)), along(qd, total[1], h / 6), margins


def kutta_stage(
    model: LiftedModel,
    state: tuple[Scalars, Scalars],
    point: tuple[Scalars, Scalars],
    total: tuple[Scalars, Scalars],
    stage: Scalar,
    h: Scalar,
    accelerate: Accelerate,
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Compute one of the stages 0 to 3 of `kutta`, so that a loop's body is a quarter as long; four of them give the bits of
    `kutta`.

    Args:
        state: q and qd at the step's beginning.
        point: q and qd of this stage; in stage 0 those of the state.
        total: weighted sum of the slopes so far; in stage 0 zero.

    Returns:
        state, point and total for the next stage, after stage 3 those of the next step; and margins.
    """
    where = model.field.where_positive
    by_stage = lambda first, between, last: where(stage - 0.5, where(2.5 - stage, between, last), first)  # noqa: E731
    qdd, margins = accelerate(by_stage(0.0, h / 2, h), *point)
    slopes = coordinate_rates(model, *point), qdd
    sums = [along(x, slope, by_stage(1.0, 2.0, 1.0)) for x, slope in zip(total, slopes)]
    end = unit_quaternions(model, along(state[0], sums[0], h / 6)), along(state[1], sums[1], h / 6)
    ahead = [along(x, slope, where(1.5 - stage, h / 2, h)) for x, slope in zip(state, slopes)]
    then, otherwise = [*end, *end, *([0.0] * len(x) for x in sums)], [*state, *ahead, *sums]
    return [[where(stage - 2.5, a, b) for a, b in zip(*pair)] for pair in zip(then, otherwise)], margins


def semi_implicit(
    model: LiftedModel, q: Scalars, qd: Scalars, h: Scalar, accelerate: Accelerate
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return q and qd after one step of order one: first the velocities, then with them the coordinates. The energy of an
    oscillation does not grow."""
    qdd, margins = accelerate(0, q, qd)
    after = along(qd, qdd, h)
    return unit_quaternions(model, along(q, coordinate_rates(model, q, after), h)), after, margins


class Terms(NamedTuple):
    """Functions for the implicit step: `M(q)`, `C(q, qd)`, `dL/dq - friction` from q, qd and C, and `d friction / d qd` from q and
    qd. A tree of links has `OF_LINKS`, a system given by its energies has its own."""

    mass_matrix: Callable[..., Matrix]
    coriolis_matrix: Callable[..., Matrix]
    force: Callable[..., list[Scalar]]
    friction_slope: Callable[..., Matrix]


def force_at(model: LiftedModel, q: Scalars, qd: Scalars, C: Matrix) -> list[Scalar]:
    """Return dL/dq - friction, with dL/dq = C^T qd - g - springs, since Mdot = C + C^T."""
    parts = times(transposed(C), qd), gravity_torque(model, q), spring_torque(model, q), friction_torque(model, qd)
    return [t - g - s - f for t, g, s, f in zip(*parts)]


OF_LINKS = Terms(mass_matrix, coriolis_matrix, force_at, lambda model, q, qd: friction_slope(model, qd))


def variational_step(
    model: LiftedModel, q: Scalars, p: Scalars, tau: Scalars, dt: Scalars, terms: Terms = OF_LINKS
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
    """Return q and the momenta p = M qd after `dt` by the discrete Lagrangian `h L((q0 + q1)/2, (q1 - q0)/h)`, constant tau.

    With the mean velocity v, the midpoint m and the force `f = dL/dq(m, v) - friction(v) + tau`, `M(m) v = p0 + h/2 f` fixes v, and
    `p1 = M(m) v + h/2 f`. The map is symplectic: without friction and tau the energy stays near its value for good (Marsden and
    West 2001, section 2.3; friction is taken at the midpoint as in their section 3.2, so that however stiff, it slows down).

    Returns:
        q1, p1, the velocities qd1 that belong to p1, and margins that are positive where the iteration for v has converged.
    """
    h = dt[0]
    solved = factor(terms.mass_matrix(model, q))
    v = begin = solved.solve(p)
    corrections: list[list[Scalar]] = []
    for k in range(ITERATIONS):
        middle = along(q, v, h / 2)
        M, C = terms.mass_matrix(model, middle), terms.coriolis_matrix(model, middle, v)
        momentum, force = times(M, v), terms.force(model, middle, v, C)
        rest = [a + (f + t) * (h / 2) - b for a, f, t, b in zip(p, force, tau, momentum)]
        if k == 0:
            solved = factor([[a + b * (h / 2) for a, b in zip(*rows)] for rows in zip(M, terms.friction_slope(model, middle, v))])
        # the slope is M + h/2 (C - C^T + friction') up to terms of h^2; its inverse, to first order in C - C^T, is applied to rest
        first = solved.solve(rest)
        turning = [(a - b) * (h / 2) for a, b in zip(times(C, first), times(transposed(C), first))]
        corrections.append([a - b for a, b in zip(first, solved.solve(turning))])
        v = along(v, corrections[k], 1)
    end = [2 * m - a for m, a in zip(momentum, p)]  # p1 - p0 is twice what the half step added to p0
    tiny = lambda q, v: (1 + square(q)) * square(v) * (CONVERGED * model.field.rounding) ** 2  # noqa: E731  rounding of M grows with q
    first, second, *_, last = map(square, corrections)
    floor = tiny(q, [1.0, *begin])
    margins = [tiny(middle, v) + model.field.rounding**4 - last, floor + first * CONTRACTION**2 - second]
    q1 = along(q, v, h)
    return q1, end, factor(terms.mass_matrix(model, q1)).solve(end), margins


def variational_terms(
    model: LiftedModel, q: Scalars, v: Scalars, direction: Scalars, dt: Scalars
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
    """Return `M(m) v` and `dL/dq(m, v) - friction(v)` of the implicit step at the midpoint `m = q + h/2 v`, and their exact
    derivatives along `direction`, a rate of v."""
    return moving_terms(over_time(model), q, v, direction, dt[0], OF_LINKS)


def moving_terms(
    lifted: LiftedModel, q: Scalars, v: Scalars, direction: Scalars, h: Scalar, terms: Terms
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
    """Return the values of `variational_terms` for a model over scalars that carry their rates (`TimeJet`)."""
    speed = [TimeJet(a, b) for a, b in zip(v, direction)]
    middle = [TimeJet(a + b * (h / 2), c * (h / 2)) for a, b, c in zip(q, v, direction)]
    momentum = [time_jet(x) for x in times(terms.mass_matrix(lifted, middle), speed)]
    force = [time_jet(x) for x in terms.force(lifted, middle, speed, terms.coriolis_matrix(lifted, middle, speed))]
    return [x.x for x in momentum], [x.x for x in force], [x.dx for x in momentum], [x.dx for x in force]


def square(x: Scalars) -> Scalar:
    return dot(x, x)


def along(x: Scalars, direction: Scalars, h: Scalar) -> list[Scalar]:
    return [a + b * h for a, b in zip(x, direction)]


def unit_quaternions(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """Return q with its quaternions normalised."""
    end = list(q)
    for c in model.source.mechanism.coordinates:
        if c.parts[0].quaternion:
            i = c.q.start
            end[i : i + 4] = unit(model.field, q[i : i + 4])
    return end
