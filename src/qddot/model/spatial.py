"""Spatial algebra over any scalar: floats, traced nodes, exact polynomials, SymPy expressions.

Six-vectors are pairs of three-vectors, angular part first; inertias are kept in blocks, never as 6 x 6 matrices. Scalars are
only added, subtracted and multiplied, so any kind will do. Plain 0 and 1 are legal scalars, so that products with the zeros
and ones of a robot's structure (a planar arm, an axis along z) disappear from recorded programs.

Notation follows Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapter 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, overload

from qddot.model.scalar import Scalar, as_scalar


class Vec(NamedTuple):
    """A three-vector."""

    x: Scalar = 0
    y: Scalar = 0
    z: Scalar = 0

    def __add__(self, o: Vec) -> Vec:  # type: ignore[override]
        return Vec(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o: Vec) -> Vec:
        return Vec(self.x - o.x, self.y - o.y, self.z - o.z)

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> Vec:  # type: ignore[override]
        return Vec(self.x * s, self.y * s, self.z * s)

    def __matmul__(self, m: Mat) -> Vec:
        """Row vector times matrix: `v @ R` is `R^T v`."""
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = m
        x, y, z = self
        return Vec(ax * x + bx * y + cx * z, ay * x + by * y + cy * z, az * x + bz * y + cz * z)

    def dot(self, o: Vec) -> Scalar:
        (a, b, c), (x, y, z) = self, o
        return a * x + b * y + c * z

    def cross(self, o: Vec) -> Vec:
        return Vec(self.y * o.z - self.z * o.y, self.z * o.x - self.x * o.z, self.x * o.y - self.y * o.x)

    def outer(self, o: Vec) -> Mat:
        return Mat(o * self.x, o * self.y, o * self.z)


class Mat(NamedTuple):
    """A 3 x 3 matrix, by rows."""

    a: Vec = Vec(1, 0, 0)
    b: Vec = Vec(0, 1, 0)
    c: Vec = Vec(0, 0, 1)

    @property
    def T(self) -> Mat:
        a, b, c = self
        return Mat(Vec(a.x, b.x, c.x), Vec(a.y, b.y, c.y), Vec(a.z, b.z, c.z))

    def __add__(self, o: Mat) -> Mat:  # type: ignore[override]
        return Mat(self.a + o.a, self.b + o.b, self.c + o.c)

    def __sub__(self, o: Mat) -> Mat:
        return Mat(self.a - o.a, self.b - o.b, self.c - o.c)

    def __mul__(self, s: Scalar) -> Mat:  # type: ignore[override]
        return Mat(self.a * s, self.b * s, self.c * s)

    @overload
    def __matmul__(self, o: Vec) -> Vec: ...
    @overload
    def __matmul__(self, o: Mat) -> Mat: ...
    def __matmul__(self, o: Vec | Mat) -> Vec | Mat:
        """Times a vector or a matrix."""
        if isinstance(o, Vec):
            return Vec(self.a.dot(o), self.b.dot(o), self.c.dot(o))
        return Mat(self.a @ o, self.b @ o, self.c @ o)

    @property
    def trace(self) -> Scalar:
        return self.a.x + self.b.y + self.c.z


ZERO = Mat(Vec(), Vec(), Vec())


def skew(v: Vec) -> Mat:
    """Return the matrix with `skew(v) @ u = v x u`."""
    return Mat(Vec(0, -v.z, v.y), Vec(v.z, 0, -v.x), Vec(-v.y, v.x, 0))


def diagonal(x: Scalar, y: Scalar, z: Scalar) -> Mat:
    return Mat(Vec(x, 0, 0), Vec(0, y, 0), Vec(0, 0, z))


def symmetric(xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> Mat:
    """Return the symmetric matrix with this upper triangle, row by row."""
    return Mat(Vec(xx, xy, xz), Vec(xy, yy, yz), Vec(xz, yz, zz))


def upper(m: Mat) -> tuple[Scalar, ...]:
    """Return the upper triangle of a symmetric matrix, row by row."""
    return m.a.x, m.a.y, m.a.z, m.b.y, m.b.z, m.c.z


class Motion(NamedTuple):
    """Velocity or acceleration of a body: rotation `w`, and translation `v` of the point at the frame's origin."""

    w: Vec = Vec()
    v: Vec = Vec()

    def __add__(self, o: Motion) -> Motion:  # type: ignore[override]
        return Motion(self.w + o.w, self.v + o.v)

    def __sub__(self, o: Motion) -> Motion:
        return Motion(self.w - o.w, self.v - o.v)

    def __neg__(self) -> Motion:
        return Motion(-self.w, -self.v)

    def __mul__(self, s: Scalar) -> Motion:  # type: ignore[override]
        return Motion(self.w * s, self.v * s)

    def cross(self, o: Motion) -> Motion:
        """`v x m`: the rate of a motion vector `m` that moves with velocity `v` (the Lie bracket, `ad_v m`)."""
        return Motion(self.w.cross(o.w), self.w.cross(o.v) + self.v.cross(o.w))

    def cross_force(self, f: Force) -> Force:
        """`v x* f`: the rate of a force vector `f` that moves with velocity `v`."""
        return Force(self.w.cross(f.n) + self.v.cross(f.f), self.w.cross(f.f))

    def components(self) -> tuple[Scalar, ...]:
        return (*self.w, *self.v)


class Force(NamedTuple):
    """Wrench or momentum: moment `n` about the frame's origin, force `f`."""

    n: Vec = Vec()
    f: Vec = Vec()

    def __add__(self, o: Force) -> Force:  # type: ignore[override]
        return Force(self.n + o.n, self.f + o.f)

    def __sub__(self, o: Force) -> Force:
        return Force(self.n - o.n, self.f - o.f)

    def __neg__(self) -> Force:
        return Force(-self.n, -self.f)

    def __mul__(self, s: Scalar) -> Force:  # type: ignore[override]
        return Force(self.n * s, self.f * s)

    def dot(self, m: Motion) -> Scalar:
        return self.n.dot(m.w) + self.f.dot(m.v)

    def components(self) -> tuple[Scalar, ...]:
        return (*self.n, *self.f)


class RigidInertia(NamedTuple):
    """Inertia of a rigid body about the frame's origin: mass `m`, first moment `h = m c`, tensor `I`."""

    m: Scalar = 0
    h: Vec = Vec()
    I: Mat = ZERO

    def __add__(self, o: RigidInertia) -> RigidInertia:  # type: ignore[override]
        return RigidInertia(self.m + o.m, self.h + o.h, self.I + o.I)

    def __matmul__(self, u: Motion) -> Force:
        return Force(self.I @ u.w + self.h.cross(u.v), u.v * self.m - self.h.cross(u.w))


class PseudoInertia(NamedTuple):
    """Moments of a body's mass: `m`, first moment `h = m c`, second moment `S` (the integral of r r^T), with `I = tr(S) 1 - S`.

    They are easier to add and to move than moments of inertia, and give the wrench of an acceleration with fewer products.
    """

    m: Scalar = 0
    h: Vec = Vec()
    S: Mat = ZERO

    @staticmethod
    def of(rigid: RigidInertia) -> PseudoInertia:
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = rigid.I
        S = symmetric(rest(xx, yy, zz), -xy, -xz, rest(yy, zz, xx), -yz, rest(zz, xx, yy))
        return PseudoInertia(rigid.m, rigid.h, S)

    @property
    def rigid(self) -> RigidInertia:
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.S
        return RigidInertia(self.m, self.h, symmetric(yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))

    def __add__(self, o: PseudoInertia) -> PseudoInertia:  # type: ignore[override]
        return PseudoInertia(self.m + o.m, self.h + o.h, self.S + o.S)

    def wrench(self, a: Vec, U: Mat) -> Force:
        """Return the wrench that accelerates the point of the body at the origin by `a`, and the points at r by `a + U r`."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.S
        turning = Vec(  # the integral of r x U r
            xy * U.c.x - xz * U.b.x + yz * (U.c.z - U.b.y) + yy * U.c.y - zz * U.b.z,
            xz * (U.a.x - U.c.z) + yz * U.a.y - xx * U.c.x - xy * U.c.y + zz * U.a.z,
            xx * U.b.x + xy * (U.b.y - U.a.x) + xz * U.b.z - yy * U.a.y - yz * U.a.z,
        )
        return Force(turning + self.h.cross(a), a * self.m + U @ self.h)


class ArticulatedInertia(NamedTuple):
    """Inertia of a body with moving children: a general symmetric map from motions to forces, `[[I, H], [H^T, M]]`."""

    I: Mat = ZERO
    H: Mat = ZERO
    M: Mat = ZERO

    @staticmethod
    def of(rigid: RigidInertia) -> ArticulatedInertia:
        return ArticulatedInertia(rigid.I, skew(rigid.h), diagonal(rigid.m, rigid.m, rigid.m))

    def __add__(self, o: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        return ArticulatedInertia(self.I + o.I, self.H + o.H, self.M + o.M)

    def __matmul__(self, u: Motion) -> Force:
        return Force(self.I @ u.w + self.H @ u.v, u.w @ self.H + self.M @ u.v)

    def minus_outer(self, u: Force, k: Force) -> ArticulatedInertia:
        """`self - u k^T`, for a `k` that is a multiple of `u` or part of a symmetric sum."""
        return ArticulatedInertia(self.I - u.n.outer(k.n), self.H - u.n.outer(k.f), self.M - u.f.outer(k.f))


class Transform(NamedTuple):
    """Pose of a child frame in its parent: `R` maps child axes to parent axes, `p` is the child's origin."""

    R: Mat = Mat()
    p: Vec = Vec()

    def __matmul__(self, o: Transform) -> Transform:
        return Transform(self.R @ o.R, self.p + self.R @ o.p)

    @property
    def inverse(self) -> Transform:
        return Transform(self.R.T, -(self.p @ self.R))

    def point(self, p: Vec) -> Vec:
        """Return a point of the child in parent coordinates."""
        return self.p + self.R @ p

    def into(self, m: Motion) -> Motion:
        """Convert a motion from the parent frame to the child frame."""
        return Motion(m.w @ self.R, (m.v - self.p.cross(m.w)) @ self.R)

    def out(self, m: Motion) -> Motion:
        """Convert a motion from the child frame to the parent frame."""
        w = self.R @ m.w
        return Motion(w, self.R @ m.v + self.p.cross(w))

    def into_force(self, f: Force) -> Force:
        """Convert a wrench from the parent frame to the child frame."""
        return Force((f.n - self.p.cross(f.f)) @ self.R, f.f @ self.R)

    def out_force(self, f: Force) -> Force:
        """Convert a wrench from the child frame to the parent frame."""
        force = self.R @ f.f
        return Force(self.R @ f.n + self.p.cross(force), force)

    def out_inertia(self, i: RigidInertia) -> RigidInertia:
        """Return the child's inertia about the parent's origin, in parent axes (rotation and parallel-axis theorem)."""
        h = self.R @ i.h
        first = h + self.p * i.m
        d = self.p.dot(h) + first.dot(self.p)
        shift = self.p.outer(first) + h.outer(self.p)
        return RigidInertia(i.m, first, rotate(self.R, i.I) + diagonal(d, d, d) - shift)

    def out_pseudo(self, i: PseudoInertia) -> PseudoInertia:
        """Return the child's moments of mass about the parent's origin, in parent axes."""
        h = self.R @ i.h
        cross = self.p.outer(h)
        S = rotate(self.R, i.S) + cross + cross.T + self.p.outer(self.p) * i.m
        return PseudoInertia(i.m, h + self.p * i.m, S)

    def out_articulated(self, a: ArticulatedInertia) -> ArticulatedInertia:
        """Convert an articulated inertia from the child frame to the parent frame."""
        M = rotate(self.R, a.M)
        H = turned(self.R, a.H)
        px = skew(self.p)
        top = H + px @ M
        return ArticulatedInertia(mirror(rotate(self.R, a.I) - top @ px + px @ H.T), top, M)


def rest(own: Scalar, one: Scalar, other: Scalar) -> Scalar:
    """Return `(one + other - own) / 2`: a second moment of mass from three moments of inertia.

    Floats that nearly cancel are subtracted first. Then the sum of two such moments has all digits of a moment of inertia, also if
    that is small beside the others, like that of a rod about its axis.
    """
    if isinstance(own, float) and isinstance(one, float) and isinstance(other, float) and abs(one - own) > abs(other - own):
        one, other = other, one
    total = one - own + other
    if not isinstance(total, int):
        return total / 2
    from fractions import Fraction  # imported only here, since it imports `decimal`

    return Fraction(total, 2)  # exact numbers stay exact


def rotate(R: Mat, I: Mat) -> Mat:
    """Return `R I R^T` for a symmetric `I`, computing each off-diagonal entry once."""
    return mirror(turned(R, I))


def turned(R: Mat, N: Mat) -> Mat:
    """Return `R N R^T`.

    For a rotation about a coordinate axis this takes fewer products than the matrix products: with cosine c, sine s and
    `u = s (N_xx - N_yy) + c (N_xy + N_yx)` the elements across the axis are `N_xx - s u`, `c u - N_yx`, `c u - N_xy`, `N_yy + s u`.
    """
    axes = plane(R)
    if axes is None:
        return R @ N @ R.T
    (k, i1, i2), (l, j1, j2), sign = axes
    c, s = R[i1][j1], -R[i1][j2]
    u = s * (N[j1][j1] - N[j2][j2]) + c * (N[j1][j2] + N[j2][j1])
    rows = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    rows[k][k], rows[i1][i1], rows[i2][i2] = N[l][l], N[j1][j1] - s * u, N[j2][j2] + s * u
    rows[i1][i2], rows[i2][i1] = (c * u - N[j2][j1]) * sign, (c * u - N[j1][j2]) * sign
    for i in (i1, i2):  # row and column of the axis transform like vectors
        rows[k][i] = (R[i][j1] * N[l][j1] + R[i][j2] * N[l][j2]) * R[k][l]
        rows[i][k] = (R[i][j1] * N[j1][l] + R[i][j2] * N[j2][l]) * R[k][l]
    return mat(rows)


def plane(R: Mat) -> tuple[tuple[int, int, int], tuple[int, int, int], int] | None:
    """Recognise a variable rotation about a coordinate axis, up to the order and signs of axes.

    Returns the axis and the two others before, the same after, and the sign of the 2 x 2 determinant; None for constant rotations
    and for all others.
    """
    for k, row in enumerate(R):
        for l, x in enumerate(row):
            if isinstance(x, (int, float)) and abs(x) == 1:  # might also be the rounded cosine of a small angle, up to 4.9e-12
                (i1, i2), (j1, j2) = ([m for m in range(3) if m != n] for n in (k, l))
                if any(y != 0 for y in (row[j1], row[j2], R[i1][l], R[i2][l])):
                    return None
                (c, minus_s), (s, c2) = ([R[i][j] for j in (j1, j2)] for i in (i1, i2))
                if isinstance(c, (int, float)):
                    return None
                if c2 == c and s == -minus_s:
                    return (k, i1, i2), (l, j1, j2), 1
                if c2 == -c and s == minus_s:
                    return (k, i1, i2), (l, j1, j2), -1
    return None


def mirror(m: Mat) -> Mat:
    """Return the symmetric matrix with the upper triangle of `m`."""
    return symmetric(*upper(m))


def rotation_z(c: Scalar, s: Scalar) -> Mat:
    """Return the rotation about z by the angle with this cosine and sine."""
    return Mat(Vec(c, -s, 0), Vec(s, c, 0), Vec(0, 0, 1))


def map_scalars(f: Callable[[Scalar], Scalar], thing: Any) -> Any:
    """Apply `f` to a scalar, or to every scalar inside a tuple or a (nested) tuple type of this module."""
    kind = thing.__class__
    if kind is Vec:  # a fast path for the most frequent case
        return Vec(f(thing.x), f(thing.y), f(thing.z))
    if isinstance(thing, tuple):
        parts = [map_scalars(f, part) for part in thing]
        return tuple(parts) if kind is tuple else kind(*parts)
    return f(thing)


def vec(values: Iterable[Scalar]) -> Vec:
    """Return the vector of three numbers. Raises ValueError: not three finite numbers or expressions."""
    if not isinstance(values, Iterable):
        raise ValueError("three numbers are needed, there is one")
    numbers = [as_scalar(x) for x in values]
    if len(numbers) != 3:
        raise ValueError(f"three numbers are needed, there are {len(numbers)}")
    return Vec(*numbers)


def mat(rows: Iterable[Iterable[Scalar]]) -> Mat:
    return Mat(*(Vec(*row) for row in rows))
