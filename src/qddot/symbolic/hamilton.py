"""Hamilton's equations in closed form: momenta instead of velocities.

    p = dL/dqd = M qd        H(q, p) = p^T M^-1 p / 2 + P        qd = dH/dp = M^-1 p        pd = -dH/dq + tau - friction

`dH/dq` at constant p is `-dL/dq` at constant qd: `pd = dK/dq - g - springs + tau - friction` with `qd = M^-1 p`. The inverse of M
is its adjugate over its determinant.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.symbolic.exact.minors import mass_matrix_inverse
from qddot.symbolic.form import Form

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

LARGEST = 4
"""Joints: the inverse mass matrix of a longer arm is too long to be of use."""


class Hamilton:
    """Closed forms in q, momenta `p1, p2, ...` and joint forces `tau1, tau2, ...`; `evaluate` and `lambdify` take `p=` and `tau=`.

    A robot with more than four joints has only `M` and `p`: `M(q) qd = p` states what is too long to be written out.

    Attributes:
        equations: the robot's equations with these letters.
    """

    def __init__(self, equations: Equations) -> None:
        equations._needs_coordinates("Hamilton's equations")
        self.equations = equations

    def __repr__(self) -> str:
        return f"Hamilton's equations of {self.equations.model.name!r}, {self.equations.nv} dof"

    @property
    def p(self) -> Form:
        """The momenta (nv,), as letters."""
        return Form(self.equations, self.equations.alphabet.further["momentum"])

    @property
    def M(self) -> Form:
        """M(q) in `M qd = p`."""
        return self.equations.mass_matrix

    @cached_property
    def M_inverse(self) -> Form:
        """M^-1 (nv, nv), ratios of polynomials."""
        B, d = self._inverse
        return Form(self.equations, B / d, "mass_matrix_inverse")

    @cached_property
    def H(self) -> Form:
        """`p^T M^-1 p / 2 + P`."""
        B, d = self._inverse
        p = self.p.entries
        return Form(self.equations, p @ B @ p / 2 / d + self.equations.V._single(), "hamiltonian_of_momentum")

    @cached_property
    def qd(self) -> Form:
        """`dH/dp = M^-1 p` (nv,)."""
        B, d = self._inverse
        return Form(self.equations, B @ self.p.entries / d, "velocities_of_momentum")

    @cached_property
    def pd(self) -> Form:
        """`-dH/dq + tau - friction` (nv,)."""
        eq = self.equations
        if eq.alphabet.loads:
            raise InputError("friction grows with the load on a joint: there is no closed form of the rates of momenta")
        B, d = self._inverse
        u = B @ self.p.entries  # qd = u / d
        kinetic = [u @ eq.mass_matrix_gradient[:, :, k] @ u / 2 / (d * d) for k in range(eq.nv)]
        friction = [self._at_velocities(x) for x in eq.friction_torque.entries]
        forces = eq.alphabet.further["force"]
        still = eq.gravity_torque.entries + eq.spring_torque.entries
        rates = [a + t - f - g for a, t, f, g in zip(kinetic, forces, friction, still)]
        return Form(eq, rates, "rates_of_momentum")

    # intermediate results -------------------------------------------------------------------------------------------------

    def _at_velocities(self, x: Any) -> Any:
        """Return a friction torque with `qd = M^-1 p`. Raises InputError: it depends on the sign of a velocity, which has no
        letter in momenta."""
        if any(self.equations.alphabet.ring.generators[i].kind == "sign" for i in x.letters()):
            raise InputError("dry friction depends on the signs of velocities, and these have no letters in momenta")
        value = {self.equations.letter(f"qd{c + 1}"): v for c, v in enumerate(self.qd.entries)}
        return x.evaluate(lambda i: value.get(i, x.ring.letters[i]), lambda number: number)

    @cached_property
    def _inverse(self) -> tuple[np.ndarray, Any]:
        """(B, d) with `M^-1 = B / d`."""
        n = self.equations.nv
        if n > LARGEST:
            raise InputError(
                f"closed forms in momenta are for at most {LARGEST} joints, this robot has {n}: take M qd = p as it stands, or the "
                "numbers of Robot.hamilton_rates"
            )
        return mass_matrix_inverse(self.equations.mass_matrix.entries)
