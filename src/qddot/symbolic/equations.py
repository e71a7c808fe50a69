"""A robot's equations of motion in closed form: each quantity by the algorithm that the compiled kernels are made from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.algorithms import energy, inverse_dynamics
from qddot.algorithms.drives import friction_torque, spring_torque
from qddot.algorithms.joint_wrenches import AXES, joint_wrenches
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.arguments import word
from qddot.symbolic import coriolis
from qddot.symbolic.analysis.base_parameters import BaseParameters, base_parameters, identifiability
from qddot.symbolic.analysis.linearity import Regressor, regressor
from qddot.symbolic.circuits import motor_torque, voltage
from qddot.symbolic.form import Form
from qddot.symbolic.forward import Forward, LinearForms, linearized
from qddot.symbolic.hamilton import Hamilton
from qddot.symbolic.printing import shown
from qddot.symbolic.robot_in_letters import RobotInLetters
from qddot.symbolic.stacked import StackedForms
from qddot.symbolic.task_space import TaskSpace, task_space

if TYPE_CHECKING:
    from qddot.symbolic.constrained import Constrained


class Equations(RobotInLetters):
    """`tau = M(q) qdd + C(q, qd) qd + g(q) + friction(qd) + springs(q)` of one robot, exactly.

    Joint variables are written `q1, qd1, qdd1, ...`, sines and cosines `s1, c1`. Quantities are computed when first asked for.

    Attributes:
        notes: sentences about numbers read as others, such as an angle 1.5708 as pi/2, and about what was left out.
        values: the value of each symbol that stands for a number (see `Robot.equations`).
        coordinates: names of the joint variables; empty if they are `q1, q2, ...`.

    >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
    >>> equations.parameters
    ('L1', 'L2', 'm1', 'm2')
    >>> print(equations.M)  # c2 is cos(q2)
    [[2*m2*L1*L2*c2 + (m1 + m2)*L1**2 + m2*L2**2, m2*L2*(L1*c2 + L2)],
     [m2*L2*(L1*c2 + L2), m2*L2**2]]
    >>> print(equations.tau[1])
    m2*L2*(L1*c2*qdd1 + L2*qdd1 + L2*qdd2 + L1*s2*qd1**2 + 9.81*c12)
    """

    def __repr__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)

    def _repr_latex_(self) -> str | None:
        return shown.latex(self)

    # the equation of motion -----------------------------------------------------------------------------------------------

    @cached_property
    def mass_matrix(self) -> Form:
        """M(q), nv x nv."""
        return Form(
            self, np.reshape(np.array(mass_matrix(self.lifted, self.alphabet.q), object), (self.nv, self.nv)), "mass_matrix"
        )

    @cached_property
    def mass_matrix_gradient(self) -> np.ndarray:
        """dM_ij/dq_k (nv, nv, nv)."""
        return coriolis.gradient(self.mass_matrix.entries, self.alphabet.derivative)

    @cached_property
    def christoffel(self) -> Form:
        """Gamma_ijk of the first kind, `(dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k) / 2`, so that `c_k = sum_ij Gamma_ijk qd_i qd_j`."""
        self._needs_coordinates("christoffel")
        return Form(self, coriolis.christoffel(self.mass_matrix_gradient), "christoffel")

    @cached_property
    def mass_matrix_rate(self) -> Form:
        """dM/dt, nv x nv."""
        return Form(self, self.mass_matrix.dt().entries, "mass_matrix_rate")

    def coriolis_matrix(self, form: str = "christoffel") -> Form:
        """C(q, qd), nv x nv: `"christoffel"`: `(Mdot + U^T - U) / 2`, `"rate"`: `Mdot - U/2`, `"gradient"`: `U^T - U/2`,
        where `U_ij = sum_k dM_jk/dq_i qd_k`.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.coriolis_matrix())
        [[-m2*L1*L2*s2*qd2, -m2*L1*L2*s2*(qd1 + qd2)],
         [m2*L1*L2*s2*qd1, 0]]
        """
        if word("form", form, coriolis.FORMS) not in self._coriolis:
            self._coriolis[form] = Form(self, coriolis.matrix(self, form), "coriolis_matrix")
        return self._coriolis[form]

    @cached_property
    def _coriolis(self) -> dict[str, Form]:
        return {}

    @cached_property
    def centrifugal_matrix(self) -> Form:
        """Q(q), nv x nv, in `c = Q(q) [qd_i^2] + B(q) [qd_i qd_j]`. Craig calls it C(q); it is not the C(q, qd) of `c = C qd`."""
        self._needs_coordinates("centrifugal_matrix")
        return Form(self, np.einsum("iik->ki", self.christoffel.entries), "centrifugal_matrix")

    @cached_property
    def coriolis_products_matrix(self) -> Form:
        """Craig's B(q), nv x nv (nv - 1) / 2; its columns belong to `qd_1 qd_2, qd_1 qd_3, ..., qd_(n-1) qd_n`."""
        self._needs_coordinates("coriolis_products_matrix")
        return Form(self, coriolis.products(self.christoffel.entries), "coriolis_products_matrix")

    @cached_property
    def stacked(self) -> StackedForms:
        """Newton-Euler with every body stacked: the blocks of `M = A^T L^T G L A`, of c and of g (see `StackedForms`)."""
        return StackedForms(self)

    @cached_property
    def coriolis_torque(self) -> Form:
        """c(q, qd) = C qd (nv,)."""
        return Form(self, inverse_dynamics.coriolis_torque(self.lifted, self.alphabet.q, self.alphabet.qd), "coriolis_torque")

    @cached_property
    def gravity_torque(self) -> Form:
        """g(q) (nv,)."""
        return Form(self, inverse_dynamics.gravity_torque(self.lifted, self.alphabet.q), "gravity_torque")

    @cached_property
    def friction_torque(self) -> Form:
        """Friction torques (nv,), without those that grow with the load."""
        return Form(self, friction_torque(self.lifted, self.alphabet.qd), "friction_torque")

    @cached_property
    def spring_torque(self) -> Form:
        """Torques of the springs (nv,)."""
        return Form(self, spring_torque(self.lifted, self.alphabet.q), "spring_torque")

    @cached_property
    def inverse_dynamics(self) -> Form:
        """tau (nv,), the sum of all terms."""
        load = list(self.load_torque.entries)
        return Form(self, inverse_dynamics.demanded_torque(self.lifted, self.alphabet.qd, load), "inverse_dynamics")

    def joint_wrenches(self, axes: str = "body") -> Form:
        """Return the wrenches (links, 6) that the joints transmit in a motion, moment first, about the joints' origins.

        Args:
            axes: `"body"`, `"parent"` or `"world"`, as in `Robot.joint_wrenches`.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.joint_wrenches()[1][5])  # no force out of the plane
        0
        >>> print(equations.joint_wrenches()[1][2] == equations.tau[1])
        True
        """
        word("axes", axes, AXES)
        a = self.alphabet
        return Form(self, joint_wrenches(self.lifted, a.q, a.qd, a.qdd, axes), "joint_wrenches")

    @cached_property
    def load_torque(self) -> Form:
        """tau without friction (nv,): `M qdd + C qd + g` and springs. Friction that grows with the load has it as `load1, ...`."""
        a = self.alphabet
        load = inverse_dynamics.load_torque(self.lifted, a.q, a.qd, a.qdd)
        a.know_loads(load)
        return Form(self, load, "load_torque")

    @cached_property
    def constraints(self) -> Constrained:
        """The motion under constraints: A, its rate, multipliers, projections and the reduced equations (see `Constrained`).

        Raises:
            InputError: no constraints were given to `Robot.equations`, and the description has none.
        """
        from qddot.constraints.constrained import as_constraints
        from qddot.symbolic.constrained import constrained

        return constrained(self.model, self.exact_model.symbolic, as_constraints(self.model, self.imposed or None))

    @cached_property
    def voltage(self) -> Form:
        """Voltages `u = R i + L di/dt + k w` (m,) of the electric motors at speeds w, in the letters `i1, id1, ...` of their
        currents and the rates of these. Without an inductance `id1` does not occur: `i = (u - k w) / R`."""
        return Form(self, voltage(self), "voltage")

    @cached_property
    def motor_torque(self) -> Form:
        """Joint forces `N^T k i` (nv,) of the electric motors in the letters `i1, ...` of their currents."""
        return Form(self, motor_torque(self), "motor_torque")

    # energy ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def kinetic_energy(self) -> Form:
        """K(q, qd) of links and rotors."""
        return Form(self, energy.kinetic_energy(self.lifted, self.alphabet.q, self.alphabet.qd), "kinetic_energy")

    @cached_property
    def potential_energy(self) -> Form:
        """P(q) of gravity and springs."""
        return Form(self, energy.potential_energy(self.lifted, self.alphabet.q), "potential_energy")

    @cached_property
    def lagrangian(self) -> Form:
        """L = K - P."""
        return Form(self, (self.kinetic_energy - self.potential_energy).entries, "lagrangian")

    @cached_property
    def hamiltonian(self) -> Form:
        """H = K + P, in q and qd."""
        return Form(self, (self.kinetic_energy + self.potential_energy).entries, "hamiltonian")

    @cached_property
    def generalized_momentum(self) -> Form:
        """p = M qd (nv,), the derivative of L with respect to qd."""
        return Form(self, self.mass_matrix.entries @ self.qd.entries, "generalized_momentum")

    @cached_property
    def hamilton(self) -> Hamilton:
        """Hamilton's equations in q and the momenta `p1, p2, ...`: H, qd = dH/dp, pd = -dH/dq + tau - friction (see `Hamilton`)."""
        further = {"momentum": self.nv, "force": self.nv}
        return Hamilton(type(self)(self.model, self.exact_model.symbolic, further=further))

    def forward(self) -> Forward:
        """Return forward dynamics: `qdd = M^-1 (tau - h)` in the letters `tau1, tau2, ...` of the joint forces for up to three
        joints; for more, the steps of a solution with M factored (see `Forward`).

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.forward().qdd[0].subs({"q2": "pi/2", "qd1": 0, "qd2": 0, "tau1": 0, "tau2": 0}))
        -9.81*c1/L1
        """
        return Forward(type(self)(self.model, self.exact_model.symbolic, further={"force": self.nv}))

    def linearize(self, q: Any = None, qd: Any = None, qdd: Any = None) -> LinearForms:
        """Return A and B of `x' = A x + B u` for small deviations x = (q - q0, qd - qd0) and u = tau - tau0, in closed form.

            equations.linearize(q=["pi", 0], qd=0, qdd=0).A     # about an equilibrium
            equations.linearize().A                             # about any motion, in its letters q, qd, qdd

        Args:
            q, qd, qdd: the motion: numbers, SymPy expressions or texts, one for each joint or one for all; letters if None. Joint
                forces are those that cause it.

        Raises:
            InputError: more than three joints whose q is left open; joints with quaternions; dry friction with qd given.
            SingularityError: the mass matrix is singular there.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.linearize(q=["-pi/2", 0], qd=[0, 0]).A[2])  # hanging
        [-9.81/L1, 9.81*m2/(m1*L1), 0, 0]
        """
        return linearized(self, q, qd, qdd)

    # parameters -----------------------------------------------------------------------------------------------------------

    def regressor(self, parameters: Sequence[str] | None = None) -> Regressor:
        """Return (Y, remainder, names) with `tau = Y pi + remainder`.

        Args:
            parameters: names of symbols, in the order of the columns; by default the columns of `Robot.regressor`.

        Raises:
            UnknownNameError: there is no such parameter.
            InputError: tau is not linear in them: two of them are multiplied, or one is squared.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> found = equations.regressor(["m1", "m2"])
        >>> found.names, found.Y.shape
        (('m1', 'm2'), (2, 2))
        """
        return regressor(self, parameters)

    def base_parameters(self) -> BaseParameters:
        """Return the base parameters: the fewest combinations of the standard parameters (those of `Robot.regressor`) that
        determine tau, exactly.

        >>> base = qddot.load("two_link", symbolic=True).equations().base_parameters()
        >>> base
        6 combinations of 20 parameters (2 of them alone, 12 never)
        """
        return self._base_parameters

    @cached_property
    def _base_parameters(self) -> BaseParameters:
        return base_parameters(self)

    def identifiability(self, parameters: Sequence[str]) -> BaseParameters:
        """Tell which of the given parameters (names of symbols) can be found from motion and joint forces, and why others cannot.
        `print` the result for the verdict in words.

        Raises:
            UnknownNameError, InputError: as `regressor`.

        >>> qddot.load("point_mass_2r", symbolic=True).equations().identifiability(["m1", "m2"])
        2 combinations of 2 parameters (2 of them alone, 0 never)
        """
        return identifiability(self, parameters)

    def task_space(
        self, frame: str | None = None, rows: Sequence[str] | None = None, reference: str = "world_aligned"
    ) -> TaskSpace:
        """Return the equation of motion at a frame of a small arm, `F = M_C Vdot + C_C V + g_C` with `V = J qd` (see `TaskSpace`).

        Args:
            frame: name; the tip of the only chain if None.
            rows: parts of the velocity, of `wx, wy, wz, x, y, z`, as many as joints or fewer: `["x", "y"]` of an arm in a plane.
            reference: as in `Robot.jacobian`.

        Raises:
            SingularityError: the rows of the Jacobian depend on one another at every q.
            InputError: more rows than joints, or too many joints for a closed form.

        >>> task = qddot.load("point_mass_2r", symbolic=True).equations().task_space(rows=["x", "y"])
        >>> print(task.M_C[0, 0])  # what the tip weighs along x
        m2 + m1*c12**2/s2**2
        """
        return task_space(self, frame, rows, reference)

    # short names, as in textbooks -----------------------------------------------------------------------------------------

    @property
    def M(self) -> Form:
        return self.mass_matrix

    @property
    def C(self) -> Form:
        return self.coriolis_matrix()

    @property
    def c(self) -> Form:
        return self.coriolis_torque

    @property
    def g(self) -> Form:
        return self.gravity_torque

    @property
    def tau(self) -> Form:
        return self.inverse_dynamics

    @property
    def T(self) -> Form:
        return self.kinetic_energy

    @property
    def V(self) -> Form:
        return self.potential_energy

    @property
    def L(self) -> Form:
        return self.lagrangian

    @property
    def H(self) -> Form:
        return self.hamiltonian
