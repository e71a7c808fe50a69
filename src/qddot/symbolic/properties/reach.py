"""Bounds from masses and lengths alone, for all angles: the speeds at which each joint can move each centre of mass.

They need no closed form, and for long arms they are closer than sums of coefficients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qddot.algorithms.drives import armatures
from qddot.algorithms.kinematics import path_to_root
from qddot.model.field import Floats
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import Model
from qddot.symbolic.properties.domain import Domain

UP = 1 + 1e-9  # more than all rounding


class Reach(NamedTuple):
    """Upper bounds of magnitudes, entry by entry, and a lower bound of the eigenvalues of M.

    Attributes:
        M, g: (nv, nv), (nv,).
        christoffel: (nv, nv, nv), or None where qd is not the rate of q.
        least: lower bound of the eigenvalues of M, from the inertia of each link about its centre of mass; 0 if none is known.
    """

    M: np.ndarray
    g: np.ndarray
    christoffel: np.ndarray | None
    least: float


def reach(model: Model, domain: Domain) -> Reach:
    """Return the bounds of a robot without symbols; infinite, or not a number, where a slider has no limits."""
    lifted = model.over(Floats())
    n = lifted.nv
    M, g, gamma = np.diag(armatures(lifted)).astype(float), np.zeros(n), np.zeros((n, n, n))
    weight = np.linalg.norm(lifted.gravity)
    for body in lifted.bodies:
        m, com, moments = centred(body)
        high, odd = abs(moments).max(), (moments[-1] - moments[0]) / 2
        turn, single, speed, bend = carried(lifted.bodies, body, com, domain, n)
        turning = np.outer(turn, turn)
        twist = high / 2 * (turning - np.diag(single)) + odd * turning  # a joint does not turn its own axis, only others do
        with np.errstate(invalid="ignore"):
            M += m * np.outer(speed, speed) + high * turning
            g += weight * m * speed
            gamma += m * bend[:, :, None] * speed + twist[:, :, None] * turn
    return Reach(M * UP, g * UP, gamma * UP if lifted.nq == n else None, least(lifted))


def carried(bodies: list[LiftedBody], body: LiftedBody, com: np.ndarray, domain: Domain, n: int):
    """Return upper bounds at unit rate of each column: the rate at which a body turns, the sum of its squares joint by joint (one
    column may move several), the speed of its centre of mass; and the second derivatives of the position of the latter."""
    turn, single, speed, bend = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, n))
    arm, beyond = com, 0.0  # from the joint: a constant vector in the body, and the largest distance from its end
    index = body.index
    while index != WORLD:
        at = bodies[index]
        for c, s in at.subspace:
            w, v = np.array(s.w, dtype=float), np.array(s.v, dtype=float)
            spin = np.linalg.norm(w)
            fast = np.linalg.norm(v)
            if spin:  # a slider turns nothing
                fast += np.linalg.norm(np.cross(w, arm)) + spin * beyond
                bend[c] += spin * speed  # the outer one of two joints is carried, the inner one turns it
                bend[:, c] += spin * speed
                bend[c, c] += spin * fast
                turn[c] += spin
                single[c] += spin * spin
            speed[c] += fast
        beyond += np.linalg.norm(arm) + travel(at, domain)
        arm, index = np.array(at.placement.p, dtype=float), at.parent
    return turn, single, speed, bend


def travel(body: LiftedBody, domain: Domain) -> float:
    """Return the largest distance by which a joint moves the origin of its body."""
    ends = np.stack([domain.lower, domain.upper])[:, list(body.coordinates)]
    if len(body.coordinates) != 1:  # a ball joint, or a free one: its position follows the quaternion
        return float(np.linalg.norm(abs(ends).max(0)[4:]))
    pitch = abs(body.joint.subspace[0].v.z)
    return float(abs(ends * body.rate + body.offset).max() * pitch) if pitch else 0.0


def centred(body: LiftedBody) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the mass of a body, its centre (3,), and the principal moments about it (3,), the least first."""
    m, I = body.inertia.m, np.array(body.inertia.I, dtype=float)
    com = np.array(body.inertia.h, dtype=float) / m if m else np.zeros(3)
    return m, com, np.linalg.eigvalsh(I - m * (com @ com * np.eye(3) - np.outer(com, com)))


def least(lifted) -> float:
    """Return a lower bound of the eigenvalues of M for hinges: `|qd_j| <= |w_j| + |w_parent|`, `2 T >= sum I_b |w_b|^2`."""
    n = lifted.nv
    if len(lifted.bodies) != n or any(
        len(b.columns) != 1 or b.rate != 1 or tuple(b.subspace[0][1].components()) != (0, 0, 1, 0, 0, 0) for b in lifted.bodies
    ):
        return 0.0
    moments, E = np.zeros(n), np.zeros((n, n))
    for body in lifted.bodies:
        moments[body.index] = centred(body)[2][0]
        for at in list(path_to_root(lifted, body.index))[:2]:
            E[body.columns[0], at] = 1.0
    rotors = min(armatures(lifted))
    if moments.min() <= 1e-9 * moments.max():
        return float(rotors)
    return float(1 / np.linalg.norm(E / np.sqrt(moments), 2) ** 2 / UP + rotors)
