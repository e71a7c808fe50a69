"""Arithmetic of whole configurations, joint by joint: plain sums for coordinates, on the manifold for quaternions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from qddot.errors import InputError, as_written
from qddot.model.joints import JointType
from qddot.model.lower import Mechanism

QUATERNION_TOLERANCE = 1e-6
"""A quaternion is accepted as a rotation if its length differs from 1 by at most this."""


def neutral(mechanism: Mechanism) -> np.ndarray:
    """Zeros, and identity quaternions (nq,)."""
    return joint_by_joint(mechanism, (), lambda part, q, v: part.neutral())


def home(mechanism: Mechanism, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return neutral where the limits (nq,) allow it, else the middle of the range, or its end if it has only one (nq,)."""
    q = neutral(mechanism)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):  # inf - inf of open ranges, whose middle is not used
        inside = np.where(bounded, lower / 2 + upper / 2, np.where(np.isfinite(lower), lower, upper))
    return np.where((q < lower) | (q > upper), inside, q)


def batch_shape(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the leading shape that `size` means. Raises InputError: not a whole number or a tuple of them."""
    shape = () if size is None else (size,) if isinstance(size, (int, np.integer)) else size
    whole = isinstance(shape, Sequence) and all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape)
    if not whole or isinstance(size, bool):
        raise InputError(f"size={as_written(size)} is not a number of configurations, such as 100, or a shape, such as (10, 20)")
    return tuple(int(n) for n in shape)


def random_configuration(
    mechanism: Mechanism, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, batch: tuple[int, ...] = ()
) -> np.ndarray:
    """Random configurations (*batch, nq) within the limits; rotations without limits are uniform."""
    return joint_by_joint(mechanism, batch, lambda part, q, v: part.random(rng, lower[q], upper[q], batch))


def integrate(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The configuration (..., nq) reached from q by the displacement v (..., nv)."""
    q, v = together(q, v)
    return joint_by_joint(mechanism, q.shape[:-1], lambda part, i, k: part.integrate(q[..., i], v[..., k]))


def difference(mechanism: Mechanism, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The displacement (..., nv) from one configuration to another."""
    start, end = together(start, end)
    return joint_by_joint(mechanism, start.shape[:-1], lambda part, i, k: part.difference(start[..., i], end[..., i]))


def rate(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """dq/dt (..., nq)."""
    if mechanism.nq == mechanism.nv:
        return v
    q, v = together(q, v)

    def of(part: JointType, i: slice, k: slice) -> np.ndarray:
        return np.stack(part.rate(np.moveaxis(q[..., i], -1, 0), np.moveaxis(v[..., k], -1, 0)), axis=-1)  # type: ignore[arg-type]

    return joint_by_joint(mechanism, q.shape[:-1], of)


def normalized(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """q (..., nq) with its quaternions made unit. Raises InputError: a quaternion is zero."""
    if mechanism.nq == mechanism.nv:
        return q
    q = q.copy()
    for c in mechanism.coordinates:
        if c.parts[0].quaternion:
            part = q[..., c.q.start : c.q.start + 4]
            scale = np.abs(part).max(-1, keepdims=True, initial=0.0)  # guards the squares against overflow and underflow
            if (scale == 0).any():
                raise InputError(f"q[{c.q.start}:{c.q.start + 4}] of joint {c.name!r} is the quaternion 0: it has no direction")
            part = part / scale
            q[..., c.q.start : c.q.start + 4] = part / np.linalg.norm(part, axis=-1, keepdims=True)
    return q


def joint_by_joint(mechanism: Mechanism, batch: tuple[int, ...], f: Callable[[JointType, slice, slice], np.ndarray]) -> np.ndarray:
    """Concatenate `f(joint, its slice of q, its slice of qd)` over all joints along the last axis."""
    return np.concatenate([np.zeros((*batch, 0)), *(f(*part) for part in mechanism.parts())], axis=-1)


def together(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays with their leading dimensions broadcast."""
    try:
        batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise InputError(f"leading dimensions {a.shape[:-1]} and {b.shape[:-1]} do not fit") from None
    return np.broadcast_to(a, (*batch, a.shape[-1])), np.broadcast_to(b, (*batch, b.shape[-1]))
