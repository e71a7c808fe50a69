"""Newton-Euler with every body stacked, in closed form: the blocks, and their products M, c, g and tau.

The formulas are those of `qddot.robot_results.NewtonEulerBlocks`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from qddot.algorithms.stacked import multiplied_out, newton_euler_blocks
from qddot.errors import unknown_name
from qddot.symbolic.form import Form

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations


class StackedForms:
    """Blocks with six rows a body. Bodies are links and rotors; friction, springs and reflected inertia at the joints are left out.

    Attributes:
        bodies: names, in order: body i has the rows `6 i` to `6 i + 5`.
        A, L, W, G, ad_Aqd, ad_V, V, Vdot_base: as in `qddot.robot_results.NewtonEulerBlocks`, of one state.
        M, c, g, Mdot: mass matrix, Coriolis torque, gravity torque and dM/dt from the blocks.
    """

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.bodies = tuple(body.name for body in equations.lifted.bodies)
        blocks = newton_euler_blocks(equations.lifted, equations.alphabet.q, equations.alphabet.qd)
        self.A, self.L, self.W, self.G, self.ad_Aqd, self.ad_V, self.V, self.Vdot_base = (
            Form(equations, x, f"stacked_{name}") for name, x in zip(blocks._fields, blocks)
        )
        M, c, g, Mdot = multiplied_out(blocks)
        self.M, self.c = Form(equations, M, "mass_matrix"), Form(equations, c, "coriolis_torque")
        self.g, self.Mdot = Form(equations, g, "gravity_torque"), Form(equations, Mdot, "mass_matrix_rate")

    @cached_property
    def Vdot(self) -> Form:
        """Accelerations (6 n,) minus gravity: at rest as if the base accelerated upwards with 9.81 m/s^2."""
        driven = self.A @ self.equations.qdd - self.ad_Aqd @ self.W @ self.V + self.Vdot_base
        return Form(self.equations, (self.L @ driven).entries, "stacked_Vdot")

    @cached_property
    def F(self) -> Form:
        """The wrenches (6 n,) that the joints transmit to their bodies, about the joint: moment, then force."""
        return Form(self.equations, (self.L.T @ (self.G @ self.Vdot - self.ad_V.T @ self.G @ self.V)).entries, "stacked_F")

    @cached_property
    def tau(self) -> Form:
        """A^T F (nv,)."""
        return Form(self.equations, (self.A.T @ self.F).entries, "inverse_dynamics")

    def block(self, form: Form, body: Any, other: Any = None) -> Form:
        """Return the six rows of a body (by its name or number), and of these, the six columns of another if one is given."""
        rows = self._rows(body)
        return form[rows] if other is None else form[rows, self._rows(other)]

    def _rows(self, body: Any) -> slice:
        if isinstance(body, str):
            if body not in self.bodies:
                raise unknown_name("body", body, self.bodies)
            body = self.bodies.index(body)
        return slice(6 * body, 6 * body + 6)

    def __repr__(self) -> str:
        n = 6 * len(self.bodies)
        return f"Stacked Newton-Euler form of {self.equations.model.name!r}: A {self.A.shape}, L, W, G {(n, n)} of {self.bodies}"
