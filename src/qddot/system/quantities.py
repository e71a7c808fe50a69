"""The quantities that a system can compute: those of a robot that need no links, each from derivatives of its Lagrangian."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qddot.algorithms import quantities as robots
from qddot.algorithms import steps
from qddot.algorithms.factor import Factor, Matrix, dot, factor, times, transposed
from qddot.algorithms.factor import held as without_held
from qddot.algorithms.steps import Terms, kutta
from qddot.algorithms.time_jet import TimeJetField
from qddot.errors import InputError
from qddot.model.scalar import Scalar
from qddot.system.model import LiftedSystem

Scalars = Sequence[Scalar]

ROUNDING = 16
"""A pivot below this many roundings of the diagonal is not significant."""


def attribute(name: str) -> Callable:
    """Return a quantity that is an attribute of the Lagrangian, as a function of q, or of q and qd."""
    return lambda model, *state: model.at(getattr(model.source.lagrangian, name), *state)


def bias(model: LiftedSystem, q: Scalars, qd: Scalars, drives: str = "with") -> list[Scalar]:
    found = model.source.lagrangian
    parts = found.bias if drives == "with" else [c + g for c, g in zip(found.coriolis, found.gravity)]
    return model.at(parts, q, qd)


def friction(model: LiftedSystem, qd: Scalars) -> list[Scalar]:
    """Return dD/dqd. Raises InputError: the dissipation depends on q, too."""
    found = model.source.lagrangian
    if any(x.has(*found.q) for x in found.friction):
        raise InputError("the dissipation of this system depends on q, too: see bias_torque(q, qd)")
    return model.at(found.friction, [0] * model.nv, qd)


def inverse_dynamics(model: LiftedSystem, q: Scalars, qd: Scalars, qdd: Scalars, f_ext: None = None) -> list[Scalar]:
    return [a + b for a, b in zip(times(mass_matrix(model, q), qdd), bias(model, q, qd))]


def mass_matrix(model: LiftedSystem, q: Scalars) -> list[list[Scalar]]:
    return model.at(model.source.lagrangian.mass_matrix, q)


def factored(model: LiftedSystem, q: Scalars) -> tuple[Factor, list[Scalar]]:
    """Return M factored, and margins that are positive where M is positive definite beyond rounding."""
    M = mass_matrix(model, q)
    solved = factor(M)
    return solved, [p - M[i][i] * (ROUNDING * model.field.rounding) for i, p in enumerate(solved.pivots)]


def accelerations(model: LiftedSystem, q: Scalars, qd: Scalars, tau: Scalars, method: str = "crba"):
    solved, margins = factored(model, q)
    return solved.solve([t - h for t, h in zip(tau, bias(model, q, qd))]), margins


def held(model: LiftedSystem, q: Scalars, qd: Scalars, tau: Scalars, sliding: Scalars, moving: Scalars):
    """Return accelerations while some coordinates are held, like `held_bodies` of a robot."""
    solved = without_held(mass_matrix(model, q), moving)
    return solved.solve([(t - h) * x for t, h, x in zip(tau, bias(model, q, qd), moving)]), list(solved.pivots)


def inverse_derivatives(model: LiftedSystem, q: Scalars, qd: Scalars, qdd: Scalars):
    by_q, by_qd = model.source.lagrangian.slopes
    return model.at(by_q, q, qd, qdd), model.at(by_qd, q, qd, qdd), mass_matrix(model, q)


def forward_derivatives(model: LiftedSystem, q: Scalars, qd: Scalars, tau: Scalars):
    """Return `dqdd/dx = -M^-1 dtau/dx` at the qdd that tau causes."""
    qdd, margins = accelerations(model, q, qd, tau)
    solved, _ = factored(model, q)
    by_q, by_qd, _ = inverse_derivatives(model, q, qd, qdd)
    minus = lambda slopes: transposed([solved.solve([-x for x in column]) for column in zip(*slopes)])  # noqa: E731
    return minus(by_q), minus(by_qd), solved.inverted(), margins


def mass_matrix_rate(model: LiftedSystem, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
    """Return `C + C^T` with the C of the Christoffel symbols; the part of b cancels, since it is skew."""
    C, n = model.at(model.source.lagrangian.coriolis_matrix, q, qd), range(model.nv)
    return [[C[i][j] + C[j][i] for j in n] for i in n]


def coriolis_matrix(model: LiftedSystem, q: Scalars, qd: Scalars, form: str = "christoffel"):
    if form != "christoffel":
        raise InputError(f'form="{form}" is for robots: a System has the Christoffel form of C')
    return model.at(model.source.lagrangian.coriolis_matrix, q, qd)


def energy(model: LiftedSystem, q: Scalars, qd: Scalars) -> Scalar:
    """Return the conserved energy `qd . dL/dqd - L = T2 - T0 + V`, with T2 the part of T that is quadratic in velocities."""
    found = model.source.lagrangian
    return model.at(2 * (found.T - found.T0) - sum(b * v for b, v in zip(found.b, found.qd)) - found.T + found.V, q, qd)


def hamiltonian(model: LiftedSystem, q: Scalars, p: Scalars):
    """Return `(p - b)^T M^-1 (p - b) / 2 - T0 + V`."""
    found = model.source.lagrangian
    solved, margins = factored(model, q)
    own = [a - b for a, b in zip(p, model.at(found.b, q))]
    return dot(own, solved.solve(own)) / 2 + model.at(found.V - found.T0, q), margins


def hamilton_rates(model: LiftedSystem, q: Scalars, p: Scalars, tau: Scalars):
    """Return `qd = M^-1 (p - b)` and `p' = dL/dq + tau - dD/dqd + Q`."""
    found = model.source.lagrangian
    solved, margins = factored(model, q)
    qd = solved.solve([a - b for a, b in zip(p, model.at(found.b, q))])
    rest = model.at(found.forces, q, qd)
    return qd, [a + t for a, t in zip(rest, tau)], margins


def rk4_step(model: LiftedSystem, q: Scalars, qd: Scalars, tau: Scalars, dt: Scalars, method: str = "crba"):
    return kutta(model, q, qd, dt[0], lambda _, q, qd: accelerations(model, q, qd, tau))


def held_step(model: LiftedSystem, q: Scalars, qd: Scalars, tau: Scalars, sliding: Scalars, moving: Scalars, dt: Scalars):
    return kutta(model, q, qd, dt[0], lambda _, q, qd: held(model, q, qd, tau, sliding, moving))


def force(model: LiftedSystem, q: Scalars, qd: Scalars, C: Matrix) -> list[Scalar]:
    """Return `dL/dq - dD/dqd + Q`. Raises InputError: momenta at rest, which the implicit step does not support."""
    found = model.source.lagrangian
    if any(x != 0 for x in found.b):
        raise InputError('method="variational" needs a T without terms linear in the velocities: use "rk4"')
    return model.at(found.forces, q, qd)


TERMS = Terms(mass_matrix, coriolis_matrix, force, lambda model, q, qd: model.at(model.source.lagrangian.friction_slope, q, qd))


def variational_step(model: LiftedSystem, q: Scalars, p: Scalars, tau: Scalars, dt: Scalars):
    return steps.variational_step(model, q, p, tau, dt, TERMS)


def variational_terms(model: LiftedSystem, q: Scalars, v: Scalars, direction: Scalars, dt: Scalars):
    return steps.moving_terms(LiftedSystem(model.source, TimeJetField(model.field)), q, v, direction, dt[0], TERMS)


COMPUTES: dict[str, Callable] = {
    "mass_matrix": mass_matrix,
    "mass_matrix_inverse": lambda model, q: (lambda s: (s[0].inverted(), s[1]))(factored(model, q)),
    "mass_matrix_rate": mass_matrix_rate,
    "coriolis_matrix": coriolis_matrix,
    "coriolis_torque": attribute("coriolis"),
    "christoffel": attribute("christoffel"),
    "gravity_torque": attribute("gravity"),
    "friction_torque": friction,
    "spring_torque": lambda model, q: [0.0] * model.nv,  # springs are part of V
    "bias_torque": bias,
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": accelerations,
    "inverse_dynamics_derivatives": inverse_derivatives,
    "forward_dynamics_derivatives": forward_derivatives,
    "kinetic_energy": attribute("T"),
    "potential_energy": attribute("V"),
    "lagrangian": lambda model, q, qd: model.at(model.source.lagrangian.T - model.source.lagrangian.V, q, qd),
    "hamiltonian": energy,
    "hamiltonian_of_momentum": hamiltonian,
    "generalized_momentum": attribute("momentum"),
    "hamilton_rates": hamilton_rates,
    "rk4_step": rk4_step,
    "held_step": held_step,
    "held_dynamics": held,
    "variational_step": variational_step,
    "variational_terms": variational_terms,
    "load_torque": inverse_dynamics,
    "delivered_torque": lambda model, qd, tau, sliding=None: list(tau),
    "demanded_torque": lambda model, qd, tau: list(tau),
}

QUANTITIES = {
    name: robots.COMPUTED[name]._replace(compute=compute, forced=False)
    for name, compute in COMPUTES.items()
    if name in robots.COMPUTED
} | robots.CONFIGURATIONS
