"""One step of an integrator as a closed formula: what simulation, an exported controller and an optimiser all advance by."""

from __future__ import annotations

from collections.abc import Callable

from qddot.algorithms.coriolis import coriolis_matrix
from qddot.algorithms.drives import spring_torque
from qddot.algorithms.factor import factor
from qddot.algorithms.forward_dynamics import METHODS, Accelerations, held_bodies
from qddot.algorithms.inverse_dynamics import Wrenches, gravity_torque
from qddot.algorithms.kinematics import Scalars, coordinate_rates
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar

ITERATIONS = 8
"""Of the implicit step: each gains a factor of the order of (step times fastest rate) squared."""

CONVERGED = 64
"""The last correction of the implicit step is below this many rounding errors of the velocity, or there is no result."""


def rk4_step(
    model: LiftedModel, q: Scalars, qd: Scalars, tau: Scalars, dt: Scalars, method: str, f_ext: Wrenches | None = None
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """q and qd after `dt`, with joint forces held; and the margins of forward dynamics in the four stages."""
    return kutta(model, q, qd, dt[0], lambda q, qd: METHODS[method](model, q, qd, tau, f_ext))


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
    """The same while some columns are held at rest and dry friction does not turn round (see `held_bodies`)."""
    return kutta(model, q, qd, dt[0], lambda q, qd: held_bodies(model, q, qd, tau, sliding, moving, f_ext))


def kutta(
    model: LiftedModel, q: Scalars, qd: Scalars, h: Scalar, accelerate: Callable[[Scalars, Scalars], Accelerations]
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """The four stages (Kutta 1901).

    Quaternions take part as four numbers each, and are made unit again at the end: the order stays four.
    """
    margins: list[Scalar] = []

    def slope(q: Scalars, qd: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        qdd, doubts = accelerate(q, qd)
        margins.extend(doubts)
        return coordinate_rates(model, q, qd), qdd

    dq1, dv1 = slope(q, qd)
    dq2, dv2 = slope(along(q, dq1, h / 2), along(qd, dv1, h / 2))
    dq3, dv3 = slope(along(q, dq2, h / 2), along(qd, dv2, h / 2))
    dq4, dv4 = slope(along(q, dq3, h), along(qd, dv3, h))
    mean = lambda *k: [(a + (b + c) * 2 + d) for a, b, c, d in zip(*k)]  # noqa: E731
    end = along(q, mean(dq1, dq2, dq3, dq4), h / 6)
    return unit_quaternions(model, end), along(qd, mean(dv1, dv2, dv3, dv4), h / 6), margins


def variational_step(
    model: LiftedModel, q: Scalars, p: Scalars, tau: Scalars, dt: Scalars
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
    """q and the momenta p = M qd after `dt` by the discrete Lagrangian `h L((q0 + q1)/2, (q1 - q0)/h)`, joint forces held.

    With the mean velocity v and the midpoint m, `M(m) v = p0 + h/2 (dL/dq(m, v) + tau)` fixes v, and
    `p1 = M(m) v + h/2 (dL/dq(m, v) + tau)`. The map is symplectic: without forces the energy stays near its value for good
    (Marsden and West 2001, section 2.3). Friction is not part of the Lagrangian: it belongs into tau.

    Returns:
        q1, p1, the velocities qd1 that belong to p1, and margins that are positive where the iteration for v has converged.
    """
    h = dt[0]
    solved = factor(mass_matrix(model, q))
    v = solved.solve(p)
    correction: list[Scalar] = []
    for k in range(ITERATIONS):
        middle = along(q, v, h / 2)
        M, force = mass_matrix(model, middle), lagrangian_gradient(model, middle, v)
        momentum = [sum((m * x for m, x in zip(row, v)), 0) for row in M]
        rest = [a + (f + t) * (h / 2) - b for a, f, t, b in zip(p, force, tau, momentum)]
        if k == 0:
            solved = factor(M)
        correction = solved.solve(rest)
        v = along(v, correction, 1)
    end = [2 * m - a for m, a in zip(momentum, p)]  # p1 - p0 is twice what the half step added to p0
    turned = 1 + sum((x * x for x in middle), 0)  # M(m) is as well known as m, whose rounding grows with it
    size = turned * sum((x * x for x in v), 0) * (CONVERGED * model.field.rounding) ** 2
    margins = [size + model.field.rounding**4 - sum((x * x for x in correction), 0)]
    q1 = along(q, v, h)
    return q1, end, factor(mass_matrix(model, q1)).solve(end), margins


def lagrangian_gradient(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """dL/dq = C^T qd - g - springs, since Mdot = C + C^T."""
    C, n = coriolis_matrix(model, q, qd), model.nv
    turning = [sum((C[i][k] * qd[i] for i in range(n)), 0) for k in range(n)]
    return [t - g - s for t, g, s in zip(turning, gravity_torque(model, q), spring_torque(model, q))]


def along(x: Scalars, direction: Scalars, h: Scalar) -> list[Scalar]:
    return [a + b * h for a, b in zip(x, direction)]


def unit_quaternions(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """q with its quaternions made unit."""
    end = list(q)
    for c in model.source.mechanism.coordinates:
        if c.parts[0].quaternion:
            i = c.q.start
            length = model.field.sqrt(sum((x * x for x in q[i : i + 4]), 0))
            end[i : i + 4] = [x / length for x in q[i : i + 4]]
    return end
