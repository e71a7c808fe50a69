"""The closed forms of a system: `Equations` that are read from its energies instead of its links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from qddot.errors import InputError
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.ring import NotPolynomialError
from qddot.symbolic.form import Form
from qddot.symbolic.printing.notation import rate
from qddot.system.model import SystemModel, needs_links


class SystemEquations(Equations):
    """The exact equations `tau = M qdd + c + g + dD/dqd - Q` of a system, in its own coordinates or, equivalently, in the letters
    `q1, qd1, ...`."""

    model: SystemModel

    def __init__(
        self,
        model: SystemModel,
        symbols: str = "given",
        imposed: Sequence[Any] = (),
        *,
        further: Mapping[str, int] | None = None,
        constants: Sequence[Any] = (),
    ) -> None:
        if symbols != "given":
            raise InputError(f"symbols={symbols!r}: the symbols of a System are those it was given")
        energies = model.lagrangian
        own = [c for x in (energies.T, energies.V, energies.D, *energies.Q) for c in constants_in(x, {*energies.q, *energies.qd})]
        super().__init__(model, symbols, imposed, further=further, constants=[*dict.fromkeys(own), *constants])
        numbered = tuple(f"q{i + 1}" for i in range(self.nq))
        self.coordinates = () if energies.names == numbered else tuple(energies.names)
        letters = ((rate(name, dots), rate(q, dots)) for name, q in zip(energies.names, numbered) for dots in ("", "d", "dd"))
        self._letters = {name: letter for name, letter in letters if name != letter}

    def letter(self, name: Any) -> int:
        """Return the index of a letter; `theta`, `thetad` and `thetadd` belong to a coordinate `theta`."""
        return super().letter(self._letters.get(str(name), name))

    def _read(self, what: str, x: sympy.Expr) -> Any:
        """Read an expression as an exact polynomial. Raises InputError: it has no canonical closed form."""
        try:
            return self.read(x)
        except NotPolynomialError as error:
            raise InputError(
                f"{what} of {self.model.name} has no canonical closed form ({error}); its kernels do not need one, and "
                "system.energies has all expressions for SymPy"
            ) from None

    @cached_property
    def kinetic_energy(self) -> Form:
        """T(q, qd)."""
        return Form(self, self._read("T", self.model.lagrangian.T), "kinetic_energy")

    @cached_property
    def potential_energy(self) -> Form:
        """V(q)."""
        return Form(self, self._read("V", self.model.lagrangian.V), "potential_energy")

    @cached_property
    def dissipation(self) -> Form:
        """Rayleigh's function D(q, qd)."""
        return Form(self, self._read("the dissipation", self.model.lagrangian.D), "dissipation")

    @cached_property
    def generalized_forces(self) -> Form:
        """Generalised forces Q(q, qd), which act in addition to tau."""
        return Form(self, [self._read("a force", x) for x in self.model.lagrangian.Q], "generalized_forces")

    def _by(self, form: Form, letter: str) -> np.ndarray:
        """Return the derivatives of one entry with respect to all letters q, or qd."""
        return np.array([form.diff(f"{letter}{i + 1}")._single() for i in range(self.nv)], dtype=object)

    @cached_property
    def generalized_momentum(self) -> Form:
        """p = dT/dqd (nv,)."""
        return Form(self, self._by(self.kinetic_energy, "qd"), "generalized_momentum")

    @cached_property
    def mass_matrix(self) -> Form:
        """M(q) = d2T/dqd2, nv x nv."""
        return Form(self, np.array([self._by(p, "qd") for p in self.generalized_momentum]), "mass_matrix")

    @cached_property
    def coriolis_torque(self) -> Form:
        """`d/dt dT/dqd - M qdd - d(T - T0)/dq` (nv,): the forces due to velocities."""
        moving, inertial = self.generalized_momentum.dt().entries, self.mass_matrix.entries @ self.qdd.entries
        own = self.kinetic_energy - self.kinetic_energy.subs(dict.fromkeys((f"qd{i + 1}" for i in range(self.nv)), 0))
        return Form(self, moving - inertial - self._by(own, "q"), "coriolis_torque")

    @cached_property
    def gravity_torque(self) -> Form:
        """d(V - T0)/dq (nv,): the forces that hold the system at rest."""
        still = self.kinetic_energy.subs(dict.fromkeys((f"qd{i + 1}" for i in range(self.nv)), 0))
        return Form(self, self._by(self.potential_energy - still, "q"), "gravity_torque")

    @cached_property
    def friction_torque(self) -> Form:
        """dD/dqd - Q (nv,)."""
        return Form(self, self._by(self.dissipation, "qd") - self.generalized_forces.entries, "friction_torque")

    @cached_property
    def spring_torque(self) -> Form:
        """Zeros (nv,): springs are part of V."""
        return Form(self, [0] * self.nv, "spring_torque")

    @cached_property
    def load_torque(self) -> Form:
        """tau without friction (nv,)."""
        parts = self.mass_matrix.entries @ self.qdd.entries, self.coriolis_torque.entries, self.gravity_torque.entries
        return Form(self, sum(parts), "load_torque")

    @cached_property
    def inverse_dynamics(self) -> Form:
        """tau (nv,), the sum of all terms."""
        return Form(self, self.load_torque.entries + self.friction_torque.entries, "inverse_dynamics")

    @cached_property
    def hamiltonian(self) -> Form:
        """`qd . dL/dqd - L`, in q and qd."""
        return Form(
            self, (self.generalized_momentum @ self.qd - self.kinetic_energy + self.potential_energy).entries, "hamiltonian"
        )

    @cached_property
    def hamilton(self) -> Any:
        if any(x != 0 for x in self.model.lagrangian.b) or self.model.lagrangian.T0 != 0:
            raise InputError(
                "closed forms in momenta are for kinetic energies that are quadratic in velocities; see hamilton_rates"
            )
        return super().hamilton

    def regressor(self, parameters: Sequence[str] | None = None) -> Any:
        if parameters is None:
            raise InputError("a System has no standard parameters: name some of its symbols, regressor(['m', 'k'])")
        return super().regressor(parameters)


for _name in ("transform", "jacobian", "jacobian_dot", "task_space", "joint_wrenches", "base_parameters"):
    setattr(SystemEquations, _name, needs_links(_name))
for _name in ("stacked", "voltage", "motor_torque"):
    setattr(SystemEquations, _name, property(needs_links(_name)))


def constants_in(x: Any, letters: set) -> Iterator[Any]:
    """Yield the largest parts of an expression without coordinates and velocities; for sines and cosines those of their angles."""
    if not x.free_symbols & letters:
        if x.free_symbols:
            yield x
        return
    if isinstance(x, (sympy.sin, sympy.cos, sympy.tan)):
        inside: Any = x.args[0]
        still, _ = inside.as_independent(*letters, as_Add=True)
        if still.free_symbols:
            yield sympy.cos(still)
            yield from still.free_symbols
        yield from (s for s in x.free_symbols - letters)
        return
    for part in x.args:
        yield from constants_in(part, letters)
