"""Mass, centre of mass and inertia tensor of one rigid body; those of simple shapes; physical consistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qddot.errors import ModelValueError, as_written
from qddot.model.scalar import Scalar, as_scalar, is_symbolic, is_zero
from qddot.model.spatial import (
    Mat,
    PseudoInertia,
    RigidInertia,
    Transform,
    Vec,
    diagonal,
    map_scalars,
    rotate,
    symmetric,
    upper,
    vec,
)

AXES = "xyz"


@dataclass(frozen=True, init=False)
class Inertia:
    """A rigid body's inertia, in the axes of its link frame. Any number may be a SymPy expression.

    Args:
        mass: in kg.
        com: centre of mass in the link frame (3,), in m.
        tensor: rotational inertia about the centre of mass, in kg m^2: a 3 x 3 matrix, the diagonal (3,), the six numbers
            (Ixx, Ixy, Ixz, Iyy, Iyz, Izz), or 0.

    Raises:
        ModelValueError: not numbers, not finite, a negative mass, or a tensor that is not symmetric.

    >>> body = qddot.Inertia(mass=2.0, com=(0.1, 0, 0), tensor=(0.01, 0.02, 0.02))
    >>> two = body + qddot.Inertia.point(1.0, (0.4, 0, 0))  # welded together
    >>> two.mass, round(two.com.x, 3)
    (3.0, 0.2)
    >>> body.is_consistent, body.is_symbolic  # a real body has these numbers
    (True, False)
    """

    mass: Scalar
    com: Vec
    tensor: Mat

    def __init__(self, mass: Scalar = 0.0, com: Sequence[Scalar] = (0.0, 0.0, 0.0), tensor: object = 0) -> None:
        readers = {"mass": (as_scalar, mass), "com": (vec, com), "tensor": (_tensor, tensor)}
        for name, (read, value) in readers.items():
            try:
                object.__setattr__(self, name, read(value))
            except (TypeError, ValueError) as error:
                is_letter = isinstance(error, TypeError)  # `as_scalar`: neither a number nor an expression
                fix = 'a letter is a symbol of SymPy: sympy.symbols("m1")' if is_letter else ""
                raise ModelValueError(str(error), element="inertia", attribute=name, text=as_written(value), fix=fix) from None
        if not is_symbolic(self.mass) and self.mass < 0:
            fix = "give its magnitude, in kg"
            raise ModelValueError("a mass is not negative", element="inertia", attribute="mass", text=f"{self.mass:g}", fix=fix)

    def __repr__(self) -> str:
        return f"Inertia(mass={self.mass}, com={tuple(self.com)}, tensor={[list(row) for row in self.tensor]})"

    # shapes, centred on the origin ------------------------------------------------------------------------------------

    @staticmethod
    def point(mass: Scalar, com: Sequence[Scalar] = (0, 0, 0)) -> Inertia:
        """A point mass.

        >>> qddot.Inertia.point(2.0, (0.3, 0, 0)).about().c.z  # m r^2 about the origin
        0.18
        """
        return Inertia(mass, com)

    @staticmethod
    def sphere(mass: Scalar, radius: Scalar) -> Inertia:
        """A solid ball.

        >>> qddot.Inertia.sphere(1.0, 0.5).tensor.a.x  # 2/5 m r^2
        0.1
        """
        positive(radius=radius)
        i = 2 * mass * radius * radius / 5
        return Inertia(mass, tensor=(i, i, i))

    @staticmethod
    def box(mass: Scalar, size: Sequence[Scalar]) -> Inertia:
        """A solid box with edges `size` = (x, y, z).

        >>> round(qddot.Inertia.box(12.0, (1, 2, 3)).tensor.a.x, 6)  # m (y^2 + z^2) / 12
        13.0
        """
        x, y, z = size
        positive(x=x, y=y, z=z)
        xx, yy, zz = x * x, y * y, z * z
        return Inertia(mass, tensor=(mass * (yy + zz) / 12, mass * (xx + zz) / 12, mass * (xx + yy) / 12))

    @staticmethod
    def rod(mass: Scalar, length: Scalar, axis: str = "z") -> Inertia:
        """A thin rod along `axis`.

        >>> rod = qddot.Inertia.rod(3.0, 2.0, axis="x")
        >>> rod.tensor.a.x, rod.tensor.c.z  # nothing along it, m l^2 / 12 across
        (0.0, 1.0)
        """
        return Inertia.hollow_cylinder(mass, 0, 0, length, axis)

    @staticmethod
    def solid_cylinder(mass: Scalar, radius: Scalar, length: Scalar, axis: str = "z") -> Inertia:
        """A solid cylinder along `axis`.

        >>> qddot.Inertia.solid_cylinder(2.0, 0.5, 1.0).tensor.c.z  # m r^2 / 2 along its axis
        0.25
        """
        return Inertia.hollow_cylinder(mass, radius, 0, length, axis)

    @staticmethod
    def hollow_cylinder(mass: Scalar, outer_radius: Scalar, inner_radius: Scalar, length: Scalar, axis: str = "z") -> Inertia:
        """A tube along `axis`.

        >>> round(qddot.Inertia.hollow_cylinder(2.0, 0.1, 0.09, 1.0).tensor.c.z, 6)  # nearly m r^2
        0.0181
        """
        if not isinstance(axis, str) or axis not in tuple(AXES):
            raise ModelValueError("not one of x, y, z", element="inertia", attribute="axis", text=str(axis), fix="write axis='z'")
        positive(outer_radius=outer_radius, inner_radius=inner_radius, length=length)
        if not is_symbolic(outer_radius - inner_radius) and inner_radius > outer_radius:
            raise ModelValueError(
                f"larger than the outer radius {outer_radius}", element="inertia", attribute="inner_radius", text=str(inner_radius)
            )
        r2 = outer_radius * outer_radius + inner_radius * inner_radius
        across = mass * (3 * r2 + length * length) / 12
        moments = [across, across, across]
        moments[AXES.index(axis)] = mass * r2 / 2
        return Inertia(mass, tensor=moments)

    @staticmethod
    def from_mesh(mesh: Any, *, density: float | None = None, mass: float | None = None, scale: float = 1.0) -> Inertia:
        """Return the exact inertia of a homogeneous body bounded by these triangles, in the axes of the mesh.

        Args:
            mesh: path of a file (STL, OBJ, PLY, ...; needs the extra `mesh`), a pair (vertices (n, 3), triangles (m, 3)), or an
                object with such `vertices` and `faces`. Parts that overlap count twice.
            density: kg/m^3; give either this
            mass: or this, kg.
            scale: metres per unit of the mesh: 0.001 for millimetres.

        Raises:
            ModelValueError: the mesh is open, inside out, turned inconsistently, touches itself along an edge, is flat or empty; or
                not one of density and mass is given.
            ModelReferenceError: no such file.
            MissingExtraError: a file, and `trimesh` is not installed.

        >>> vertices = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        >>> faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
        >>> body = qddot.Inertia.from_mesh((vertices, faces), mass=1.0)  # a corner of a cube
        >>> body.com
        Vec(x=0.25, y=0.25, z=0.25)
        """
        from qddot.model.mesh import solid_of

        if (density is None) == (mass is None):
            raise ModelValueError("either a density or a mass is needed", element="inertia", fix="give one of density= and mass=")
        name, given = ("mass", mass) if density is None else ("density", density)
        if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 < given < np.inf:
            rule = "a positive number is needed"
            raise ModelValueError(rule, element="inertia", attribute=name, text=str(given), fix="give it in kg or kg/m^3")
        volume, centre, moments = solid_of(mesh, scale)
        per_volume = float(given) / volume if density is None else float(given)
        tensor = per_volume * (np.trace(moments) * np.eye(3) - moments)
        return Inertia(per_volume * volume, [float(x) for x in centre], tensor.tolist())

    # moving and adding ------------------------------------------------------------------------------------------------

    def shifted(self, offset: Sequence[Scalar]) -> Inertia:
        """Return the body with its centre of mass moved by `offset` (3,), in m.

        >>> qddot.Inertia.rod(1.0, 0.5, "x").shifted((0.25, 0, 0)).com.x  # a rod that begins at the origin
        0.25
        """
        return Inertia(self.mass, self.com + vec(offset), self.tensor)

    def moved(self, pose: Transform) -> Inertia:
        """Return the body as seen from another frame, in which the present frame has this pose.

        >>> from qddot.model.spatial import Transform, Vec
        >>> qddot.Inertia.point(1.0, (0.1, 0, 0)).moved(Transform(p=Vec(0, 0, 1))).com
        Vec(x=0.1, y=0.0, z=1.0)
        """
        return Inertia(self.mass, pose.point(self.com), rotate(pose.R, self.tensor))

    def rotated(self, R: Mat) -> Inertia:
        """Return the body turned about the origin by `R`.

        >>> from qddot.model.pose import from_rpy
        >>> turned = qddot.Inertia.rod(3.0, 2.0, axis="x").rotated(from_rpy(0, 0, np.pi / 2))
        >>> round(turned.tensor.a.x, 9)  # now it lies along y
        1.0
        """
        return self.moved(Transform(R, Vec(0.0, 0.0, 0.0)))

    def about(self, point: Sequence[Scalar] = (0, 0, 0)) -> Mat:
        """Return the tensor about another point (parallel-axis theorem), in kg m^2.

        >>> rod = qddot.Inertia.rod(3.0, 2.0, axis="x")
        >>> rod.about((1, 0, 0)).c.z  # about its end: m l^2 / 3
        4.0
        """
        return self.tensor + steiner(self.mass, self.com - Vec(*point))

    def __add__(self, other: Inertia) -> Inertia:
        """Return the inertia of two bodies welded together."""
        if is_zero(self.mass) and is_zero(other.mass):
            return Inertia(0.0, self.com, self.tensor + other.tensor)
        mass = self.mass + other.mass
        com = (self.com * self.mass + other.com * other.mass) * (1 / mass)
        return Inertia(mass, com, self.about(com) + other.about(com))

    # other forms ------------------------------------------------------------------------------------------------------

    @property
    def rigid(self) -> RigidInertia:
        """(m, h, I) about the frame's origin, as the algorithms use it."""
        return RigidInertia(self.mass, self.com * self.mass, self.about())

    @property
    def moments(self) -> PseudoInertia:
        """(m, h, S) about the frame's origin, moved there from the centre of mass, so that no digits are lost however far it is."""
        about_com = PseudoInertia.of(RigidInertia(self.mass, Vec(), self.tensor))
        return Transform(p=self.com).out_pseudo(about_com)

    def ten_vector(self) -> list[Scalar]:
        """(m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz), the tensor about the frame's origin: torque is linear in these.

        >>> qddot.Inertia.point(2.0, (0.5, 0, 0)).ten_vector()
        [2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.5]
        """
        m, h, I = self.rigid
        return [m, *h, *upper(I)]

    @staticmethod
    def from_ten_vector(values: Sequence[Scalar]) -> Inertia:
        """The inverse of `ten_vector`.

        Raises:
            ValueError: a first moment without mass, or a negative mass.

        >>> qddot.Inertia.from_ten_vector([2, 1, 0, 0, 0, 0, 0, 0.5, 0, 0.5]).com.x
        0.5
        """
        m, hx, hy, hz, *moments = map(as_scalar, values)
        h, about_origin = Vec(hx, hy, hz), symmetric(*moments)
        if is_zero(m):
            if any(not is_zero(x) for x in h):
                raise ValueError(f"a first moment {tuple(h)} without mass")
            return Inertia(m, Vec(0.0, 0.0, 0.0), about_origin)
        com = h * (1 / m)
        return Inertia(m, com, about_origin - steiner(m, com))

    def pseudo_inertia(self) -> np.ndarray:
        """The 4 x 4 matrix `[[Sigma, h], [h^T, m]]`, `Sigma` the second moment of mass: positive semi-definite for a real body.

        >>> np.linalg.eigvalsh(qddot.Inertia.sphere(5.0, 1.0).pseudo_inertia())  # none is negative
        array([1., 1., 1., 5.])
        """
        _, h, I = self.rigid
        I = np.array(I, dtype=object if self.is_symbolic else float)
        h = np.array(h, dtype=I.dtype)
        sigma = I.trace() / 2 * np.eye(3, dtype=int) - I
        return np.block([[sigma, h[:, None]], [h[None, :], np.array([[self.mass]], dtype=I.dtype)]])

    def inconsistency(self, tolerance: float = 1e-9) -> str:
        """Return the reason why no real body has these numbers; empty if one does (to `tolerance` of the largest moment).

        >>> qddot.Inertia(1.0, tensor=(0.1, 0.1, 0.5)).inconsistency()
        'principal moments 0.1, 0.1, 0.5 kg m^2 break the triangle inequality: the largest exceeds the sum of the others'
        """
        if self.is_symbolic:
            return ""
        tensor = np.array(self.tensor, float)
        largest = abs(tensor).max() or 1.0
        with np.errstate(over="ignore"):
            moments = (np.linalg.eigvalsh(tensor / largest) * largest).tolist()  # of plain numbers sums may overflow
        scale = max(max(map(abs, moments)), abs(self.mass) * float(self.com.dot(self.com)), 1e-300)
        shown = ", ".join(f"{x:.4g}" for x in moments)
        if self.mass == 0 and any(moments):
            return f"rotational inertia (principal moments {shown} kg m^2) without mass"
        if moments[0] < -tolerance * scale:
            return f"inertia tensor is not positive semi-definite: principal moments {shown} kg m^2"
        if moments[0] + moments[1] < moments[2] - tolerance * scale:
            return f"principal moments {shown} kg m^2 break the triangle inequality: the largest exceeds the sum of the others"
        return ""

    @property
    def is_consistent(self) -> bool:
        """True if a distribution of positive mass has exactly this inertia."""
        return not self.inconsistency()

    @property
    def is_symbolic(self) -> bool:
        return any(is_symbolic(x) for x in (self.mass, *self.com, *upper(self.tensor)))

    def map(self, f) -> Inertia:
        return Inertia(f(self.mass), map_scalars(f, self.com), map_scalars(f, self.tensor))


def positive(**lengths: Scalar) -> None:
    """Refuse a negative length of a shape."""
    for name, value in lengths.items():
        if not is_symbolic(value) and value < 0:
            raise ModelValueError(
                "a length is not negative", element="inertia", attribute=name, text=str(value), fix="give its magnitude"
            )


def steiner(mass: Scalar, d: Vec) -> Mat:
    """`m (|d|^2 1 - d d^T)`."""
    square = d.dot(d)
    return (diagonal(square, square, square) - d.outer(d)) * mass


def _tensor(values: object) -> Mat:
    """Return a 3 x 3 tensor from any form that `Inertia` takes. Raises ValueError: another shape, or not symmetric."""
    if isinstance(values, Mat):
        return map_scalars(as_scalar, values)
    array = np.array(values, dtype=object)
    if array.shape == () and is_zero(array.item()):
        return diagonal(0.0, 0.0, 0.0)
    numbers = [as_scalar(x) for x in array.ravel()]
    if array.shape == (3,):
        return diagonal(*numbers)
    if array.shape == (6,):
        return symmetric(*numbers)
    if array.shape == (3, 3):
        rows = [numbers[0:3], numbers[3:6], numbers[6:9]]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            a, b = rows[i][j], rows[j][i]
            if a != b and (is_symbolic(a - b) or abs(a - b) > 1e-9 * max(abs(a), abs(b))):
                raise ValueError(f"an inertia tensor is symmetric, got {a} and {b} for {AXES[i]}{AXES[j]}")
        return Mat(*(Vec(*row) for row in rows))
    raise ValueError(f"an inertia tensor is a number triple, six numbers or 3 x 3, got shape {array.shape}")
