"""Rotations and rigid motions as matrices: exponentials, logarithms, adjoints, screws. Everything takes batches.

Twists and wrenches are six numbers with the angular part first, as everywhere here (docs/conventions.md).

>>> from qddot import rigid_motion
>>> rigid_motion.exp([0, 0, 1, 0, -2, 0], 0.0)[:3, 3]
array([0., 0., 0.])
>>> quarter = rigid_motion.exp_rotation([0, 0, 1.5707963267948966])
>>> rigid_motion.log_rotation(quarter).round(6)
array([0.      , 0.      , 1.570796])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array
from qddot.errors import InputError

__all__ = [
    "adjoint", "bracket", "exp", "exp_rotation", "log", "log_rotation", "nearest_rotation", "rotation_error", "screw", "skew",
]  # fmt: skip

SMALL = 1e-4
"""rad: below it quotients of sine and cosine are taken from their series, whose next terms are below 1e-17 there."""

ORTHOGONAL = 1e-6
"""R is accepted as a rotation if the entries of `R^T R` differ from those of the identity by at most this."""


def skew(v: ArrayLike) -> np.ndarray:
    """Return `[v]` (..., 3, 3) with `[v] x = v cross x`, of vectors v (..., 3).

    >>> from qddot.rigid_motion import skew
    >>> skew([1, 2, 3]) @ [0, 0, 1]  # the cross product
    array([ 2., -1.,  0.])
    """
    x, y, z = np.moveaxis(numbers("v", v, (3,)), -1, 0)
    zero = np.zeros_like(x)
    return np.stack([np.stack(row, -1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))], -2)


def exp_rotation(w: ArrayLike) -> np.ndarray:
    """Return the rotation (..., 3, 3) about the axis of w (..., 3) by its length in rad: `exp([w])` (Rodrigues).

    >>> from qddot.rigid_motion import exp_rotation
    >>> exp_rotation([0, 0, np.pi / 2]).round(3) + 0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    w = numbers("w", w, (3,))
    a, b, _ = coefficients(np.linalg.norm(w, axis=-1)[..., None, None])
    W = skew(w)
    R = np.eye(3) + a * W + b * (W @ W)
    if not np.isfinite(R).all():
        raise InputError("w: its numbers are too large, the rotation is not finite")
    return R


def log_rotation(R: ArrayLike) -> np.ndarray:
    """Return the rotation vector w (..., 3), at most pi rad long, with `exp_rotation(w) = R` for rotations R (..., 3, 3).

    Half a turn has two logarithms; the one whose last nonzero component is positive is returned.

    Raises:
        InputError: R is not a rotation.

    >>> from qddot.rigid_motion import exp_rotation, log_rotation
    >>> log_rotation(exp_rotation([0.1, 0.2, 0.3])).round(9)
    array([0.1, 0.2, 0.3])
    """
    R = rotations(R)
    turn = axial(R)  # sin(angle) times the axis
    sine, cosine = np.linalg.norm(turn, axis=-1), (np.trace(R, axis1=-2, axis2=-1) - 1) / 2
    angle = np.arctan2(sine, cosine)
    # The antisymmetric part is accurate far from half a turn; near it the symmetric part, (1 - cos) n n^T + cos 1, is.
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sine > SMALL**2, angle / sine, 1.0)
    w = turn * scale[..., None]
    back = cosine < -0.5
    if np.any(back):
        w = np.where(back[..., None], near_half_turn(R, turn, angle), w)
    return w


def exp(twist: ArrayLike, angle: ArrayLike = 1.0) -> np.ndarray:
    """Return the motion `exp([twist] angle)` (..., 4, 4) of a twist or screw (..., 6), angular part first.

    Args:
        twist: rad and m, or a screw axis (`screw`), per unit of `angle`.
        angle: of the motion (...), rad, or m for a screw that only slides.

    >>> from qddot.rigid_motion import exp
    >>> exp([0, 0, np.pi / 2, 0, -1, 0]).round(3) + 0  # a quarter turn about the axis through (1, 0, 0)
    array([[ 0.   , -1.   ,  0.   ,  0.637],
           [ 1.   ,  0.   ,  0.   , -0.637],
           [ 0.   ,  0.   ,  1.   ,  0.   ],
           [ 0.   ,  0.   ,  0.   ,  1.   ]])
    """
    twist = product(numbers("twist", twist, (6,)), finite_array("angle", angle), "angle")
    w, v = twist[..., :3], twist[..., 3:]
    _, b, c = coefficients(np.linalg.norm(w, axis=-1)[..., None, None])
    W = skew(w)
    V = np.eye(3) + b * W + c * (W @ W)
    T = motion(exp_rotation(w), (V @ v[..., None])[..., 0])
    if not np.isfinite(T).all():
        raise InputError("twist: its numbers are too large, the motion is not finite")
    return T


def log(T: ArrayLike) -> np.ndarray:
    """Return the twist (..., 6), angular part first, with `exp(twist) = T` for rigid motions T (..., 4, 4).

    Raises:
        InputError: T is not a rigid motion.

    >>> from qddot.rigid_motion import exp, log
    >>> log(exp([0, 0, 0.5, 1, 0, 0])).round(9) + 0
    array([0. , 0. , 0.5, 1. , 0. , 0. ])
    """
    T = motions(T)
    w = log_rotation(T[..., :3, :3])
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    a, b, _ = coefficients(angle)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.where(angle < 1e-2, 1 / 12 + angle**2 / 720 + angle**4 / 30240, (1 - a / (2 * b)) / angle**2)
    W = skew(w)
    v = (np.eye(3) - W / 2 + d * (W @ W)) @ T[..., :3, 3:]
    return np.concatenate([w, v[..., 0]], axis=-1)


def adjoint(T: ArrayLike) -> np.ndarray:
    """Return `Ad_T` (..., 6, 6), which converts twists from a frame to the frame in which it has the pose T (..., 4, 4).

    >>> from qddot.rigid_motion import adjoint, exp
    >>> adjoint(exp([0, 0, np.pi / 2, 0, 0, 0])).round(3)[2] + 0  # turning about z keeps z
    array([0., 0., 1., 0., 0., 0.])
    """
    T = motions(T)
    R = T[..., :3, :3]
    Ad = np.zeros((*T.shape[:-2], 6, 6))
    Ad[..., :3, :3] = Ad[..., 3:, 3:] = R
    Ad[..., 3:, :3] = skew(T[..., :3, 3]) @ R
    return Ad


def bracket(twist: ArrayLike) -> np.ndarray:
    """Return `ad_V` (..., 6, 6) of twists V (..., 6): `ad_V W` is the Lie bracket of V and W.

    >>> from qddot.rigid_motion import bracket
    >>> bracket([0, 0, 1, 2, 0, 0])[:3, :3] + 0  # the upper left block is skew
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    twist = numbers("twist", twist, (6,))
    ad = np.zeros((*twist.shape, 6))
    ad[..., :3, :3] = ad[..., 3:, 3:] = skew(twist[..., :3])
    ad[..., 3:, :3] = skew(twist[..., 3:])
    return ad


def screw(point: ArrayLike, axis: ArrayLike, pitch: ArrayLike = 0.0) -> np.ndarray:
    """Return the screw (..., 6) of the line through `point` (..., 3) along `axis` (..., 3): a turn by 1 rad, `pitch` m forward.

    Raises:
        InputError: the axis has no direction.

    >>> from qddot.rigid_motion import screw
    >>> screw(point=[1, 0, 0], axis=[0, 0, 1]) + 0  # a hinge about z, 1 m away
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    point, axis = numbers("point", point, (3,)), numbers("axis", axis, (3,))
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    if np.any(length == 0):
        raise InputError("axis: a zero vector has no direction; give any vector along the screw")
    n = axis / length
    moved = product(n, finite_array("pitch", pitch), "pitch")
    try:
        shape = np.broadcast_shapes(point.shape, moved.shape)
    except ValueError:
        raise InputError(f"leading dimensions of point {point.shape[:-1]} and axis {moved.shape[:-1]} do not fit") from None
    return np.concatenate([np.broadcast_to(n, shape), np.cross(point, n) + moved], axis=-1)


def nearest_rotation(matrix: ArrayLike) -> np.ndarray:
    """Return the rotation (..., 3, 3) nearest to each matrix, in the sum of squared differences.

    >>> from qddot.rigid_motion import nearest_rotation
    >>> nearest_rotation(np.eye(3) + 1e-9).round(6) + 0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    U, _, Vt = np.linalg.svd(numbers("matrix", matrix, (3, 3)))
    U[..., -1] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    return U @ Vt


def rotation_error(matrix: ArrayLike) -> np.ndarray | float:
    """Return the Frobenius norm of `R^T R - 1` of matrices (..., 3, 3), 0 for a rotation; inf where det R is not positive.

    >>> from qddot.rigid_motion import exp_rotation, rotation_error
    >>> float(rotation_error(exp_rotation([0, 0, 0.1]))) < 1e-15
    True
    """
    R = numbers("matrix", matrix, (3, 3))
    error = np.linalg.norm(np.swapaxes(R, -1, -2) @ R - np.eye(3), axis=(-2, -1))
    return np.where(np.linalg.det(R) > 0, error, np.inf)[()]


def coefficients(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `sin x / x`, `(1 - cos x) / x^2` and `(x - sin x) / x^3`, accurate also near zero."""
    x2 = angle * angle
    half = np.sinc(angle / (2 * np.pi))  # sin(x/2) / (x/2), to avoid the difference of nearly equal numbers
    a, b = np.sinc(angle / np.pi), half * half / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(angle < 0.1, 1 / 6 - x2 / 120 + x2**2 / 5040 - x2**3 / 362880 + x2**4 / 39916800, (1 - a) / x2)
    return a, b, c


def axial(R: np.ndarray) -> np.ndarray:
    """Return the vector whose cross product is the antisymmetric part of R."""
    return np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], -1) / 2


def near_half_turn(R: np.ndarray, turn: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return the rotation vectors of turns by more than 120 degrees, from the largest column of `n n^T`."""
    c = np.cos(angle)[..., None, None]
    N = ((R + np.swapaxes(R, -1, -2)) / 2 - c * np.eye(3)) / (1 - c)
    largest = np.argmax(np.diagonal(N, axis1=-2, axis2=-1), axis=-1)
    n = np.take_along_axis(N, largest[..., None, None], axis=-1)[..., 0]
    n = n / np.linalg.norm(n, axis=-1, keepdims=True)
    along = np.sum(n * turn, axis=-1)
    last = np.take_along_axis(n, 2 - np.argmax(n[..., ::-1] != 0, axis=-1)[..., None], axis=-1)[..., 0]
    sign = np.where(along == 0, np.sign(last), np.sign(along))
    return n * (sign * angle)[..., None]


def motion(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    T = np.zeros((*R.shape[:-2], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    return T


def numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return the argument as floats of this trailing shape. Raises InputError: another shape, or not numbers."""
    found = finite_array(name, value)
    if found.shape[-len(shape) :] != shape:
        raise InputError(f"{name}: the shape is {found.shape}; it ends in {shape} here")
    return found


def product(vectors: np.ndarray, factors: np.ndarray, name: str) -> np.ndarray:
    """Return vectors (..., n), each times a factor (...)."""
    try:
        return vectors * factors[..., None]
    except ValueError:
        raise InputError(f"leading dimensions of {name} {factors.shape} and {vectors.shape[:-1]} do not fit") from None


def rotations(R: ArrayLike) -> np.ndarray:
    """Return rotations (..., 3, 3), checked. Raises InputError: not rotations."""
    R = numbers("R", R, (3, 3))
    if np.any(np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)) > ORTHOGONAL) or np.any(np.linalg.det(R) < 0):
        raise InputError("R: no rotation, R^T R is not the identity or det R is not 1; nearest_rotation makes it one")
    return R


def motions(T: ArrayLike) -> np.ndarray:
    """Return rigid motions (..., 4, 4), checked. Raises InputError: not rigid motions."""
    T = numbers("T", T, (4, 4))
    rotations(T[..., :3, :3])
    if np.any(T[..., 3, :] != [0, 0, 0, 1]):
        raise InputError("T: the last row of a rigid motion is 0 0 0 1")
    return T
