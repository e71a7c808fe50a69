"""Rates of inverse dynamics along a motion, by running it over scalars that carry their rates."""

from __future__ import annotations

from qddot.algorithms.inverse_dynamics import inverse_dynamics
from qddot.algorithms.kinematics import Scalars
from qddot.algorithms.time_jet import TimeJet, TimeJetField, time_jet
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar


def torque_rates(
    model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, jerk: Scalars, snap: Scalars
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return tau, dtau/dt and d2tau/dt2 along a motion with this jerk and snap (third and fourth derivative of q)."""
    position, speed, acceleration = (
        [TimeJet(*x) for x in zip(*rates)] for rates in ((q, qd, qdd), (qd, qdd, jerk), (qdd, jerk, snap))
    )
    lifted = LiftedModel(model.source, TimeJetField(model.field))
    tau = [time_jet(x) for x in inverse_dynamics(lifted, position, speed, acceleration)]
    return [t.x for t in tau], [t.dx for t in tau], [t.ddx for t in tau]
