"""Base parameters: inertias with as many zeros as possible that give the same joint forces.

A mass distribution that is symmetric about a hinge can be moved to the body before the hinge: turning it about the axis changes
nothing. So can the second moments of a body that only slides. Moving these parts inward, from the tips to the base, leaves each
body with fewer numbers, and parts that reach the world drop out (Gautier and Khalil 1990). Up to rounding, this is exact for
everything that follows from joint forces: inverse and forward dynamics, mass and Coriolis matrix, kinetic energy. It changes the
potential energy, the momentum and the centre of mass.
"""

from __future__ import annotations

from collections.abc import Sequence

from qddot.model.joints import Prismatic, Revolute, Spherical
from qddot.model.lower import WORLD, Body
from qddot.model.spatial import ZERO, PseudoInertia, Vec, symmetric


def base_moments(bodies: Sequence[Body]) -> list[PseudoInertia]:
    """Return each body's moments of mass after regrouping."""
    moments = [body.moments for body in bodies]
    for body in reversed(bodies):
        i = body.index
        kept, moved = split(body, moments[i])
        moments[i] = kept
        if body.parent != WORLD:
            moments[body.parent] = moments[body.parent] + body.placement.out_pseudo(moved)
    return moments


def split(body: Body, moments: PseudoInertia) -> tuple[PseudoInertia, PseudoInertia]:
    """Return the moments that stay with a body, and those that its parent can carry instead, seen from the joint."""
    m, h, S = moments
    if isinstance(body.joint, Revolute):  # a line of mass on the axis
        kept = PseudoInertia(0.0, Vec(h.x, h.y, 0.0), symmetric(S.a.x, S.a.y, S.a.z, S.b.y, S.b.z, 0.0))
        return kept, PseudoInertia(m, Vec(0.0, 0.0, h.z), symmetric(0.0, 0.0, 0.0, 0.0, 0.0, S.c.z))
    if isinstance(body.joint, Prismatic):  # it never turns against its parent
        return PseudoInertia(m, h, ZERO), PseudoInertia(0.0, Vec(0.0, 0.0, 0.0), S)
    if isinstance(body.joint, Spherical):  # a point of mass in the centre
        return PseudoInertia(0.0, h, S), PseudoInertia(m, Vec(0.0, 0.0, 0.0), ZERO)
    return moments, PseudoInertia()
