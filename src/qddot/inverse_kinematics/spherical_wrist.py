"""All configurations of a six-joint arm whose last three axes meet in one point, in closed form (Pieper 1968).

In exponentials of the joints' screws at q = 0, `e1 e2 e3 e4 e5 e6 = T T0^-1 = G`. The last three do not move the wrist's centre c,
so `e1 e2 e3 c = G c` determines the first three joints, and `e4 e5 e6 = (e1 e2 e3)^-1 G`, a rotation, the others.

**Position.** Let `a` be the length of the common perpendicular of axes 1 and 2, p2 its foot on axis 2, alpha the angle between the
axes, and `u = e3 c - p2` the wrist seen from p2. A turn about axis 1 changes neither the height h of the wrist along it nor its
distance rho from p1. In the plane across axis 2, with x along the perpendicular, the turned u therefore satisfies

    sin(alpha) y' = h - cos(alpha) z        2 a x' = rho^2 - a^2 - |u|^2        x'^2 + y'^2 = x^2 + y^2

The right-hand sides are linear in the cosine and sine of q3, so the third equation is a quartic in tan(q3 / 2). If axes 1 and 2
intersect (a = 0) or are parallel (sin(alpha) = 0), one of the first two equations contains q3 alone, and the other joint follows
with two signs of a root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qddot.compile.evaluate import Evaluator
from qddot.model.configuration import neutral

TINY = 1e-9
"""Lengths below this fraction of the arm's length, and sines below this, count as zero."""

AWAY = 0.7368
"""Origin of q3 in the quartic, whose unknown tan(q3 / 2) is infinite half a turn away from it."""


@dataclass(frozen=True, eq=False)
class SphericalWrist:
    """An arm at q = 0: axes w (6, 3), a point p (6, 3) on each, the pose T0 of its frame, and the centre c of its wrist."""

    w: np.ndarray
    p: np.ndarray
    T0: np.ndarray
    c: np.ndarray
    length: float

    def solve(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations (n, s, 6), and which of them are solutions (n, s); a solution may occur twice."""
        G = poses @ np.linalg.inv(self.T0)
        R, c = G[:, :3, :3], G[:, :3, :3] @ self.c + G[:, :3, 3]
        arm, is_arm = self.position(c)
        wrist, is_wrist = self.orientation(arm, R[:, None])
        q = np.concatenate([np.broadcast_to(arm[:, :, None], (*wrist.shape[:3], 3)), wrist], axis=-1)
        exists = is_arm[:, :, None] & is_wrist
        return q.reshape(len(q), -1, 6), exists.reshape(len(q), -1)

    def position(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first three joints (n, 4, 3) that bring the wrist's centre to c (n, 3), and which of them exist (n, 4)."""
        w1, w2, w3 = self.w[:3]
        p1, p2, across = common_perpendicular(w1, self.p[0], w2, self.p[1])
        axes = np.stack([across, np.cross(w2, across), w2])  # x, y, z of the plane across axis 2
        a, sine, cosine = (p2 - p1) @ across, w1 @ axes[1], w1 @ w2
        meet, parallel = abs(a) < TINY * self.length, abs(sine) < TINY
        arm = self.c - self.p[2]
        along = w3 * (w3 @ arm)
        # u = still + b cos q3 + d sin q3, in these axes; and |u|^2 likewise
        still, b, d = (axes @ x for x in (self.p[2] + along - p2, arm - along, np.cross(w3, arm)))
        square = np.array([still @ still + b @ b, 2 * still @ b, 2 * still @ d])
        z = np.array([still[2], b[2], d[2]])
        one = np.array([1.0, 0.0, 0.0])
        height = ((c - p1) @ w1)[:, None] * one - cosine * z  # = sin(alpha) y'
        reach = (((c - p1) ** 2).sum(-1) - a * a)[:, None] * one - square  # = 2 a x'
        if meet or parallel:
            q3, exists = linear_roots(reach if meet else height)
            q3, exists = twice(q3), twice(exists)
        else:
            plane = product(square, one) - product(z, z)
            q3, exists = quartic_roots(
                product(height, height) * (2 * a) ** 2 + product(reach, reach) * sine**2 - plane * (2 * a * sine) ** 2
            )
        basis = np.stack([np.ones_like(q3), np.cos(q3), np.sin(q3)], axis=-1)
        u = basis @ np.stack([still, b, d])
        square_left = (u[..., :2] ** 2).sum(-1)
        if not parallel:
            y = np.einsum("nk,nsk->ns", height, basis) / sine
        if not meet:
            x = np.einsum("nk,nsk->ns", reach, basis) / (2 * a)
        if meet or parallel:
            other = square_left - (y if meet else x) ** 2
            exists = exists & (other >= -TINY * self.length**2)
            signed = np.sqrt(np.maximum(other, 0.0)) * [1, 1, -1, -1]
            x, y = (signed, y) if meet else (x, signed)
        q2 = np.arctan2(y, x) - np.arctan2(u[..., 1], u[..., 0])
        turned = np.stack([x, y, u[..., 2]], axis=-1) @ axes + p2 - p1
        q1 = angle_about(w1, turned, np.broadcast_to((c - p1)[:, None], turned.shape))
        return np.stack([q1, q2, q3], axis=-1), exists

    def orientation(self, arm: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the last three joints (n, s, 2, 3) that give the frame its rotation, for the first three (n, s, 3), and which
        exist."""
        w4, w5, w6 = self.w[3:]
        before = rotation(self.w[0], arm[..., 0]) @ rotation(self.w[1], arm[..., 1]) @ rotation(self.w[2], arm[..., 2])
        left = before.swapaxes(-1, -2) @ R  # = R4 R5 R6
        direction = left @ w6  # = R4 R5 w6, whose component along w4 depends on q5 alone
        A, B, C = w4 @ (w6 - w5 * (w5 @ w6)), w4 @ np.cross(w5, w6), (w4 @ w5) * (w5 @ w6)
        ratio = (direction @ w4 - C) / np.hypot(A, B)
        exists = np.abs(ratio) <= 1 + TINY
        spread = np.arccos(np.clip(ratio, -1, 1))
        q5 = np.arctan2(B, A) + np.stack([spread, -spread], axis=-1)
        R5 = rotation(w5, q5)
        q4 = angle_about(w4, R5 @ w6, np.broadcast_to(direction[..., None, :], (*q5.shape, 3)))
        rest = (rotation(w4, q4) @ R5).swapaxes(-1, -2) @ left[..., None, :, :]  # = R6
        beside = np.cross(w6, np.eye(3)[np.abs(w6).argmin()])
        q6 = angle_about(w6, np.broadcast_to(beside, (*q5.shape, 3)), rest @ beside)
        return np.stack([q4, q5, q6], axis=-1), np.broadcast_to(exists[..., None], q5.shape)


def spherical_wrist(evaluate: Evaluator, frame: str) -> SphericalWrist | None:
    """Return the arm that leads to a frame, if it has six hinges in series and the last three axes meet; else None."""
    mechanism = evaluate.model.mechanism
    zero = {"q": neutral(mechanism)}
    hinges = all(c.kind in ("revolute", "continuous") for c in mechanism.coordinates)
    if mechanism.nv != 6 or not hinges or evaluate.model.leaders:
        return None
    J = evaluate("jacobian", zero, {}, frame=frame, reference="space")
    w, v = J[:3].T, J[3:].T
    T0 = evaluate("transform", zero, {}, frame=frame)
    if not np.allclose(np.linalg.norm(w, axis=1), 1):  # the frame hangs on fewer joints
        return None
    p = np.cross(w, v)
    length = float(np.abs(p).max() + np.abs(T0[:3, 3]).max()) or 1.0
    across = np.eye(3) - w[3:, :, None] * w[3:, None, :]  # c has the least squared distances from the last three axes
    c, *_ = np.linalg.lstsq(across.reshape(9, 3), np.einsum("kij,kj->ki", across, p[3:]).ravel(), rcond=1e-9)
    off = np.linalg.norm(np.cross(w[3:], c - p[3:]), axis=1).max()
    parallel = lambda a, b: np.linalg.norm(np.cross(a, b)) < TINY  # noqa: E731
    first = np.cross(w[0], p[1] - p[0])
    if off > TINY * length or parallel(w[3], w[4]) or parallel(w[4], w[5]):
        return None
    if parallel(w[0], w[1]) and np.linalg.norm(first) < TINY * length:  # one axis twice
        return None
    return SphericalWrist(w, p, T0, c, length)


def common_perpendicular(w1, p1, w2, p2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the closest points of two axes, and the direction from one to the other (that of the cross product if they meet)."""
    n = np.cross(w1, w2)
    if np.linalg.norm(n) < TINY:
        foot = p2 - w1 * (w1 @ (p2 - p1))
        return p1, foot, (foot - p1) / np.linalg.norm(foot - p1)
    s, t, _ = np.linalg.solve(np.stack([w1, -w2, n], axis=1), p2 - p1)
    return p1 + s * w1, p2 + t * w2, n / np.linalg.norm(n)


def linear_roots(k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return angles (n, 2) with `k0 + k1 cos + k2 sin = 0`, k (n, 3), and which of them exist."""
    size = np.hypot(k[:, 1], k[:, 2])
    ratio = -k[:, 0] / np.where(size > 0, size, 1.0)
    spread = np.arccos(np.clip(ratio, -1, 1))
    middle = np.arctan2(k[:, 2], k[:, 1])
    exists = (np.abs(ratio) <= 1 + TINY) & (size > 0)
    return np.stack([middle + spread, middle - spread], axis=1), np.stack([exists, exists], axis=1)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two linear forms (..., 3) in (1, cos, sin): coefficients (..., 6) of 1, cos, sin, cos^2, cos sin,
    sin^2."""
    a0, a1, a2, b0, b1, b2 = (x[..., i] for x in (a, b) for i in range(3))
    return np.stack([a0 * b0, a0 * b1 + a1 * b0, a0 * b2 + a2 * b0, a1 * b1, a1 * b2 + a2 * b1, a2 * b2], axis=-1)


def quartic_roots(k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return angles (n, 4) at which a quadratic form k (n, 6), as `product` returns it, vanishes, and which of them are real."""
    c, s = np.cos(AWAY), np.sin(AWAY)  # cos(AWAY + x) = c cos x - s sin x
    k0, k1, k2, k3, k4, k5 = k.T
    k1, k2 = k1 * c + k2 * s, k2 * c - k1 * s
    k3, k4, k5 = (
        k3 * c * c + k4 * c * s + k5 * s * s,
        (k4 * (c * c - s * s) + 2 * (k5 - k3) * c * s),
        k3 * s * s - k4 * c * s + k5 * c * c,
    )
    # with t = tan(x / 2), multiplied by (1 + t^2)^2
    coefficients = np.stack(
        [k0 - k1 + k3, 2 * (k2 - k4), 2 * (k0 - k3) + 4 * k5, 2 * (k2 + k4), k0 + k1 + k3], axis=-1
    )  # of t^4, t^3, ..., 1
    companion = np.zeros((len(k), 4, 4))
    companion[:, [1, 2, 3], [0, 1, 2]] = 1.0
    companion[:, 0] = -coefficients[:, 1:] / coefficients[:, :1]
    t = np.linalg.eigvals(companion)
    return AWAY + 2 * np.arctan(t.real), np.abs(t.imag) < 1e-5 * (1 + np.abs(t))


def twice(x: np.ndarray) -> np.ndarray:
    """Return x repeated (n, 2 s), for the two signs of a root."""
    return np.concatenate([x, x], axis=1)


def rotation(w: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return rotations (..., 3, 3) about one axis by Rodrigues' formula."""
    W = np.cross(np.eye(3), w)  # [w]
    c, s = np.cos(angle)[..., None, None], np.sin(angle)[..., None, None]
    return np.eye(3) + s * W + (1 - c) * (W @ W)


def angle_about(w: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the angles (...) about w that turn a (..., 3) into b, both projected across w; 0 where they are parallel to w."""
    a, b = a - (a @ w)[..., None] * w, b - (b @ w)[..., None] * w
    return np.arctan2(np.cross(a, b) @ w, (a * b).sum(-1))
