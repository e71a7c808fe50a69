"""The joint types: how each moves its body, and the arithmetic of its coordinates.

A body's frame sits on its joint with z along the axis, so one hinge, one slider and one screw are enough. The motion subspace of
each type is constant in the body frame. Quaternions are `wxyz` and unit.

docs/architecture.md says what else is needed for a new joint type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np

from qddot.model.pose import from_quaternion
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Motion, Transform, Vec, rotation_z

KINDS = ("revolute", "continuous", "prismatic", "helical", "planar", "spherical", "free", "fixed")

SINGLE = ("revolute", "continuous", "prismatic", "helical")
"""Kinds with one coordinate: they may follow another joint, and carry a rotor or a spring."""

FAR = 1e9  # a limit beyond this means no limit

X, Y, Z = Vec(1, 0, 0), Vec(0, 1, 0), Vec(0, 0, 1)


class Moving(Protocol):
    """A joint as the algorithms see it."""

    @property
    def subspace(self) -> tuple[Motion, ...]: ...

    def transform(self, field, q: list[Scalar]) -> Transform: ...


class JointType(Moving, Protocol):
    """A joint with coordinates of its own, and their arithmetic for an integrator, on arrays (..., nq or nv)."""

    nq: int
    nv: int
    quaternion: bool  # True if q begins with a quaternion
    angle: bool  # True if q is an angle

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """dq/dt, over any scalar."""
        ...

    def neutral(self) -> np.ndarray: ...

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray: ...

    def random(self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, batch: tuple[int, ...] = ()) -> np.ndarray: ...


class Coordinate:
    """A joint with one ordinary coordinate."""

    nq = nv = 1
    quaternion, angle = False, True

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        return list(v)

    def neutral(self) -> np.ndarray:
        return np.zeros(1)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return q + v

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return end - start

    def random(self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, batch: tuple[int, ...] = ()) -> np.ndarray:
        """Draw uniformly within the limits; an open side extends to pi (or 1 m) from zero, or farther if the other limit does."""
        reach = self.reach
        bounded_below, bounded_above = lower > -FAR, upper < FAR
        low = np.where(bounded_below, lower, np.minimum(-reach, np.where(bounded_above, upper - 2 * reach, -reach)))
        high = np.where(bounded_above, upper, np.maximum(reach, low + 2 * reach))
        return rng.uniform(low, high, (*batch, 1))

    reach: ClassVar[float] = np.pi


class Revolute(Coordinate):
    """A hinge about z."""

    subspace = (Motion(w=Z),)

    def transform(self, field, q: list[Scalar]) -> Transform:
        return Transform(rotation_z(*field.cos_sin(q[0])), Vec())


class TurnedRevolute(Revolute):
    """A hinge about z whose body is turned, by a constant angle with this cosine and sine, relative to the frame that it moves."""

    def __init__(self, cos: float, sin: float) -> None:
        self.cos, self.sin = cos, sin

    def transform(self, field, q: list[Scalar]) -> Transform:
        c, s = field.cos_sin(q[0])
        return Transform(rotation_z(c * self.cos - s * self.sin, s * self.cos + c * self.sin), Vec())


class Prismatic(Coordinate):
    """A slider along z."""

    subspace = (Motion(v=Z),)
    angle = False
    reach = 1.0

    def transform(self, field, q: list[Scalar]) -> Transform:
        return Transform(Mat(), Vec(0, 0, q[0]))


class Helical(Coordinate):
    """A screw about z that advances `pitch` metres a radian."""

    def __init__(self, pitch: Scalar) -> None:
        self.pitch = pitch

    @property
    def subspace(self) -> tuple[Motion, ...]:
        return (Motion(w=Z, v=Vec(0, 0, self.pitch)),)

    def transform(self, field, q: list[Scalar]) -> Transform:
        return Transform(rotation_z(*field.cos_sin(q[0])), Vec(0, 0, field.constant(self.pitch) * q[0]))


class Rotor:
    """A shaft that spins about z with `sum rates_k qd_k`. It is symmetric about its axis, so its frame need not turn with it."""

    def __init__(self, rates: Sequence[Scalar]) -> None:
        self.rates = tuple(rates)

    @property
    def subspace(self) -> tuple[Motion, ...]:
        return tuple(Motion(w=Vec(0, 0, rate)) for rate in self.rates)

    def transform(self, field, q: list[Scalar]) -> Transform:
        return Transform()


class Spherical:
    """A ball joint: q is the quaternion of the body in the joint frame, qd the angular velocity in body axes."""

    nq, nv = 4, 3
    quaternion, angle = True, False
    subspace = (Motion(w=X), Motion(w=Y), Motion(w=Z))

    def transform(self, field, q: list[Scalar]) -> Transform:
        return Transform(from_quaternion(*q), Vec())

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        return quaternion_rate(q, v)

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return normalized(quaternion_product(q, quaternion_exp(v)))

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return quaternion_log(quaternion_product(conjugate(start), end))

    def random(self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, batch: tuple[int, ...] = ()) -> np.ndarray:
        return normalized(rng.normal(size=(*batch, 4)))


class Free:
    """Six freedoms: q is (quaternion wxyz, position xyz), qd the twist (omega, v) of the body in body axes."""

    nq, nv = 7, 6
    quaternion, angle = True, False
    subspace = (Motion(w=X), Motion(w=Y), Motion(w=Z), Motion(v=X), Motion(v=Y), Motion(v=Z))

    def transform(self, field, q: list[Scalar]) -> Transform:
        return Transform(from_quaternion(*q[:4]), Vec(*q[4:]))

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        return [*quaternion_rate(q[:4], v[:3]), *(from_quaternion(*q[:4]) @ Vec(*v[3:]))]

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        quaternion, position = q[..., :4], q[..., 4:]
        step = np.einsum("...ij,...j->...i", translation_factor(v[..., :3]), v[..., 3:])
        turned = normalized(quaternion_product(quaternion, quaternion_exp(v[..., :3])))
        return np.concatenate([turned, position + rotate_by(quaternion, step)], axis=-1)

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        w = quaternion_log(quaternion_product(conjugate(start[..., :4]), end[..., :4]))
        step = rotate_by(conjugate(start[..., :4]), end[..., 4:] - start[..., 4:])
        return np.concatenate([w, np.linalg.solve(translation_factor(w), step[..., None])[..., 0]], axis=-1)

    def random(self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, batch: tuple[int, ...] = ()) -> np.ndarray:
        return np.concatenate([normalized(rng.normal(size=(*batch, 4))), rng.uniform(-1, 1, size=(*batch, 3))], axis=-1)


def quaternion_rate(q: Sequence[Scalar], w: Sequence[Scalar]) -> list[Scalar]:
    """Return the rate of a unit quaternion that turns with angular velocity `w` in its own axes, over any scalar."""
    a, b, c, d = q
    x, y, z = (component / 2 for component in w)
    return [-(b * x + c * y + d * z), a * x + c * z - d * y, a * y + d * x - b * z, a * z + b * y - c * x]


# unit quaternions on arrays (..., 4) ---------------------------------------------------------------------------------------


def normalized(q: np.ndarray) -> np.ndarray:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - (av * bv).sum(-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def quaternion_exp(w: np.ndarray) -> np.ndarray:
    """The quaternion of the rotation vector `w` (..., 3)."""
    half = np.linalg.norm(w, axis=-1, keepdims=True) / 2
    return np.concatenate([np.cos(half), np.sinc(half / np.pi) / 2 * w], axis=-1)


def quaternion_log(q: np.ndarray) -> np.ndarray:
    """The rotation vector, of length at most pi, of a unit quaternion."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, q[..., :1])
    return 2 * q[..., 1:] / np.sinc(half / np.pi)


def rotate_by(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    twice = 2 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * twice + np.cross(q[..., 1:], twice)


def translation_factor(w: np.ndarray) -> np.ndarray:
    """Return `V(w)` of the exponential on SE(3): the translation of the twist (w, v) is `V(w) v`."""
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    square = angle**2
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.where(angle > 1e-4, (1 - np.cos(angle)) / square, 0.5 - square / 24)
        b = np.where(angle > 1e-2, (angle - np.sin(angle)) / (square * angle), 1 / 6 - square / 120 + square**2 / 5040)
    K = np.zeros((*w.shape[:-1], 3, 3))
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    K[..., 1, 0], K[..., 2, 0], K[..., 2, 1] = w[..., 2], -w[..., 1], w[..., 0]
    return np.eye(3) + a * K + b * (K @ K)
