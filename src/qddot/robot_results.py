"""Tuples of arrays for methods of a robot that return several results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RobotLimits(NamedTuple):
    """Limits of positions (nq,) in rad or m, speeds (nv,) in rad/s or m/s, efforts (nv,) in N m or N; infinite if there is none."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class NewtonEuler(NamedTuple):
    """The stacked closed form: `M` (..., nv, nv), `c` (..., nv), `g` (..., nv), `Mdot` (..., nv, nv)."""

    M: np.ndarray
    c: np.ndarray
    g: np.ndarray
    Mdot: np.ndarray


class NewtonEulerBlocks(NamedTuple):
    """Blocks of the stacked form: six rows per body, in the order of the mechanism's bodies (`body_names`, with rotors after their
    links), each in the body's own frame, which is on the joint with z along the axis. Six-vectors are angular first.

        V = L A qd        Vdot = L (A qdd - ad_Aqd W V + Vdot_base)        F = L^T (G Vdot - ad_V^T G V)        tau = A^T F
        M = A^T L^T G L A        c = -A^T L^T (G L ad_Aqd W + ad_V^T G) V        g = A^T L^T G L Vdot_base

    Attributes:
        A: (..., 6 n, nv), the joints' motions.
        L: (..., 6 n, 6 n), `(1 - W)^-1`: in the rows of a body, the transforms from each of its ancestors.
        W: (..., 6 n, 6 n), in the rows of a body, the transform from its parent, in the parent's columns.
        G: (..., 6 n, 6 n), spatial inertias on the diagonal.
        ad_Aqd, ad_V: (..., 6 n, 6 n), brackets `[ad]` of the joints' velocities and of the twists, on the diagonal.
        V: (..., 6 n), twists.
        Vdot_base: (..., 6 n), minus the acceleration of gravity, in the frames of the bodies on the base.

    >>> robot, q, qd, qdd = qddot.load("two_link"), [0, 1], [1, 2], [3, 4]
    >>> blocks = robot.newton_euler_blocks(q, qd)
    >>> np.allclose(blocks.A.T @ blocks.L.T @ blocks.G @ blocks.L @ blocks.A, robot.mass_matrix(q))
    True
    >>> np.allclose(blocks.tau(qdd), robot.inverse_dynamics(q, qd, qdd))
    True
    >>> blocks.Vdot(qdd).shape, blocks.F(qdd).shape  # six rows a body
    ((12,), (12,))
    """

    A: np.ndarray
    L: np.ndarray
    W: np.ndarray
    G: np.ndarray
    ad_Aqd: np.ndarray
    ad_V: np.ndarray
    V: np.ndarray
    Vdot_base: np.ndarray

    def Vdot(self, qdd: ArrayLike) -> np.ndarray:
        """Return accelerations (..., 6 n) for qdd (..., nv), gravity included: a robot at rest seems to accelerate upwards."""
        turning = self.ad_Aqd @ (self.W @ self.V[..., None])
        return (self.L @ (self.A @ np.asarray(qdd, float)[..., None] - turning + self.Vdot_base[..., None]))[..., 0]

    def F(self, qdd: ArrayLike) -> np.ndarray:
        """Return wrenches (..., 6 n) that the joints transmit to their bodies, about the joint: moment in N m, then force in N."""
        turning = self.ad_V.swapaxes(-1, -2) @ (self.G @ self.V[..., None])
        return (self.L.swapaxes(-1, -2) @ (self.G @ self.Vdot(qdd)[..., None] - turning))[..., 0]

    def tau(self, qdd: ArrayLike) -> np.ndarray:
        """Return the joint forces `A^T F` (..., nv), without drives."""
        return (self.A.swapaxes(-1, -2) @ self.F(qdd)[..., None])[..., 0]


class TorqueRates(NamedTuple):
    """Torques of inverse dynamics along a motion and their rates, each (..., nv): N m, N m/s, N m/s^2."""

    tau: np.ndarray
    taud: np.ndarray
    taudd: np.ndarray


class HamiltonRates(NamedTuple):
    """`qd` and `pd`, the rate of the momenta, each (..., nv)."""

    qd: np.ndarray
    pd: np.ndarray


class InverseDerivatives(NamedTuple):
    """Derivatives of inverse dynamics, each (..., nv, nv)."""

    dtau_dq: np.ndarray
    dtau_dqd: np.ndarray
    dtau_dqdd: np.ndarray


class ForwardDerivatives(NamedTuple):
    """Derivatives of forward dynamics, each (..., nv, nv)."""

    dqdd_dq: np.ndarray
    dqdd_dqd: np.ndarray
    dqdd_dtau: np.ndarray
