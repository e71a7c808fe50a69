"""The momentum of everything that moves as a linear function of qd, and its rate of change (Orin, Goswami and Lee 2013).

h = A_G(q) qd        h' = A_G qdd + A_G' qd        angular about the centre of mass, then linear; world axes
"""

from __future__ import annotations

from qddot.algorithms.energy import center_of_mass, momentum
from qddot.algorithms.factor import Matrix
from qddot.algorithms.kinematics import Scalars, coordinate_rates, joint_poses, world_poses
from qddot.algorithms.mass_matrix import composite_inertias
from qddot.algorithms.time_jet import TimeJet, over_time, time_jet
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Force


def centroidal_momentum_matrix(model: LiftedModel, q: Scalars) -> Matrix:
    """Return A_G (6 x n): column k is the momentum at qd = e_k, when everything beyond joint k moves as one rigid body."""
    X0, composite = world_poses(model, q), composite_inertias(model, joint_poses(model, q))
    c = center_of_mass(model, q)
    columns = [Force()] * model.nv
    for body in model.bodies:
        for k, s in body.subspace:
            about_origin = X0[body.index].out_force(composite[body.index] @ s)
            columns[k] = columns[k] + Force(about_origin.n - c.cross(about_origin.f), about_origin.f)
    return [list(row) for row in zip(*(column.components() for column in columns))] if columns else [[] for _ in range(6)]


def centroidal_momentum_matrix_rate(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """Return dA_G/dt, by computing A_G with scalars that carry their rates."""
    moving, position = in_motion(model, q, qd)
    return [[time_jet(x).dx for x in row] for row in centroidal_momentum_matrix(moving, position)]


def momentum_rate(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Return dh/dt (6,): moment about the centre of mass and force of everything external, gravity included."""
    moving, position = in_motion(model, q, qd)
    h = momentum(moving, position, [TimeJet(v, a) for v, a in zip(qd, qdd)])
    return [time_jet(x).dx for x in h.components()]


def in_motion(model: LiftedModel, q: Scalars, qd: Scalars) -> tuple[LiftedModel, list[TimeJet]]:
    """Return the model over scalars that carry their rates (`TimeJet`), and q as such scalars."""
    return over_time(model), [TimeJet(x, rate) for x, rate in zip(q, coordinate_rates(model, q, qd))]
