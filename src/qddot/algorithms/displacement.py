"""Displacements between configurations, over any scalar: sums for coordinates, exponentials for quaternions."""

from __future__ import annotations

from collections.abc import Sequence

from qddot.algorithms.kinematics import Scalars
from qddot.model.field import Field
from qddot.model.model import LiftedModel
from qddot.model.pose import from_quaternion
from qddot.model.scalar import Scalar
from qddot.model.spatial import Vec

SMALL = 1e-2
"""Below this square of an angle, functions are power series: six terms are exact to rounding, and so are their derivatives."""


def integrate(model: LiftedModel, q: Scalars, v: Scalars) -> list[Scalar]:
    """Return the configuration reached from q by the displacement v. It is smooth everywhere: its derivative at v = 0 is that along
    the tangent."""
    reached: list[Scalar] = []
    for part, at, columns in model.source.mechanism.parts():
        here, by = q[at], v[columns]
        if not part.quaternion:
            reached += [a + b for a, b in zip(here, by)]
            continue
        reached += turned(model.field, here[:4], by[:3])
        if part.nv == 6:
            step = from_quaternion(*here[:4]) @ screw_step(model.field, Vec(*by[:3]), Vec(*by[3:]))
            reached += [a + b for a, b in zip(here[4:], step)]
    return reached


def difference(model: LiftedModel, start: Scalars, end: Scalars) -> list[Scalar]:
    """Return the displacement from one configuration to another, the shorter way round; the inverse of `integrate`."""
    found: list[Scalar] = []
    for part, at, _ in model.source.mechanism.parts():
        a, b = start[at], end[at]
        if not part.quaternion:
            found += [y - x for x, y in zip(a, b)]
            continue
        a = unit(model.field, a[:4]) + list(a[4:])
        w, beyond = rotation_vector(model.field, a[:4], unit(model.field, b[:4]))
        found += w
        if part.nv == 6:
            moved = from_quaternion(*a[:4]).T @ (Vec(*b[4:]) - Vec(*a[4:]))
            across = w.cross(moved)
            found += moved - across * 0.5 + w.cross(across) * beyond
    return found


def unit(field: Field, q: Scalars) -> list[Scalar]:
    """Return a vector divided by its length."""
    length = field.sqrt(sum((x * x for x in q), 0.0))
    return [x / length for x in q]


def rotation_vector(field: Field, a: Scalars, b: Scalars) -> tuple[Vec, Scalar]:
    """Return the vector w of the rotation from the unit quaternion a to b, in the axes of a; and the factor c in
    `1 - w x / 2 + c w x w x`, which takes a body's translation to its velocity (`screw_step` backwards)."""
    A, B = Vec(*a[1:]), Vec(*b[1:])
    cosine, v = a[0] * b[0] + A.dot(B), B * a[0] - A * b[0] - A.cross(B)
    side = field.where_positive(cosine, 1.0, field.where_positive(-cosine, -1.0, 1.0))
    cosine, v = cosine * side, v * side
    square = v.dot(v)  # sin(angle / 2)^2
    sine, near = split(field, square)
    half = field.atan2(sine, cosine)
    arcsine = (2, 1 / 3, 3 / 20, 5 / 56, 35 / 576, 63 / 1408, 231 / 6656, 143 / 5120)
    factor = field.where_positive(near, series(square, arcsine), 2 * half / sine)
    w = v * factor
    safe = field.where_positive(near, 1.0, half)
    bernoulli = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000)
    c = field.where_positive(near, series(w.dot(w), bernoulli), (1 - half * cosine / sine) / (4 * safe * safe))
    return w, c


def turned(field: Field, q: Scalars, w: Scalars) -> list[Scalar]:
    """Return the quaternion `q exp(w / 2)`."""
    a, b, c, d = q
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    angle, near = split(field, square)
    cosine, sine = field.cos_sin(angle / 2)
    s = field.where_positive(near, series(square, (1 / 2, -1 / 48, 1 / 3840, -1 / 645120, 1 / 185794560)), sine / angle)
    e = field.where_positive(near, series(square, (1, -1 / 8, 1 / 384, -1 / 46080, 1 / 10321920)), cosine)
    x, y, z = (component * s for component in w)
    product = [
        a * e - b * x - c * y - d * z,
        a * x + b * e + c * z - d * y,
        a * y - b * z + c * e + d * x,
        a * z + b * y - c * x + d * e,
    ]
    return unit(field, product)


def screw_step(field: Field, w: Vec, v: Vec) -> Vec:
    """Return how far a body's origin moves, in its initial axes, while the body turns by w and moves with constant v in its own."""
    square = w.x * w.x + w.y * w.y + w.z * w.z
    angle, near = split(field, square)
    cosine, sine = field.cos_sin(angle)
    safe = angle * angle
    once = field.where_positive(near, series(square, (1 / 2, -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800)), (1 - cosine) / safe)
    twice = field.where_positive(
        near, series(square, (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800)), (angle - sine) / (safe * angle)
    )
    across = w.cross(v)
    return v + across * once + w.cross(across) * twice


def split(field: Field, square: Scalar) -> tuple[Scalar, Scalar]:
    """Return the root of a square (1 where it is small, for divisions), and a number that is positive where it is small."""
    near = SMALL - square
    return field.sqrt(field.where_positive(near, 1.0, square)), near


def series(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """Return a polynomial's value, by Horner's rule; the constant term comes first."""
    total: Scalar = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total
