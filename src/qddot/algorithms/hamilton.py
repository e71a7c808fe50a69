"""Hamilton's view of the robot: momenta instead of velocities.

    p = dL/dqd = M qd        H(q, p) = p^T M^-1 p / 2 + V        qd = dH/dp        p' = -dH/dq + tau - friction

`-dH/dq` at constant p is `dL/dq` at constant qd, `C^T qd - g - springs`. For spherical and free joints, where qd is no rate of
coordinates, `p' = d(M qd)/dt` is what is computed.
"""

from __future__ import annotations

from qddot.algorithms.coriolis import mass_matrix_rate
from qddot.algorithms.drives import armature_torque
from qddot.algorithms.energy import potential_energy
from qddot.algorithms.factor import dot, times
from qddot.algorithms.forward_dynamics import delivered_torque, factored_mass_matrix
from qddot.algorithms.inverse_dynamics import Wrenches, load_torque, newton_euler
from qddot.algorithms.kinematics import Scalars, zeros
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Vec


def generalized_momentum(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Return p = M qd, as the forces that give the robot at rest, without gravity, the acceleration qd."""
    links = newton_euler(model, q, zeros(model.nv), qd, Vec())
    return [a + b for a, b in zip(links, armature_torque(model, qd))]


def hamiltonian(model: LiftedModel, q: Scalars, p: Scalars) -> tuple[Scalar, list[Scalar]]:
    """Return H(q, p), and margins that are positive where M has an inverse."""
    M, margins = factored_mass_matrix(model, q)
    return dot(p, M.solve(p)) / 2 + potential_energy(model, q), margins


def hamilton_rates(
    model: LiftedModel, q: Scalars, p: Scalars, tau: Scalars, f_ext: Wrenches | None = None
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return qd, dp/dt = M qdd + Mdot qd, and margins that are positive where M has an inverse."""
    M, margins = factored_mass_matrix(model, q)
    qd = M.solve(p)
    turning, load = times(mass_matrix_rate(model, q, qd), qd), load_torque(model, q, qd, zeros(model.nv), f_ext)
    return qd, [t + d - x for t, d, x in zip(turning, delivered_torque(model, qd, tau), load)], margins
