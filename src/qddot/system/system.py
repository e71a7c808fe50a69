"""`System`: a user's own Lagrangian with the methods of a robot: kernels, batches, simulation, closed forms, C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qddot.arguments import mapping
from qddot.constraints.constrained import as_constraints
from qddot.errors import InputError, unknown_name
from qddot.model.description import Limits
from qddot.robot import Robot
from qddot.symbolic.derivation.steps import Derivation
from qddot.system.derivation import derive
from qddot.system.equations import SystemEquations
from qddot.system.lagrangian import Lagrangian, as_names, in_letters, lagrangian, refuse_unknown_functions
from qddot.system.model import WITHOUT_LINKS, SystemModel, as_rows, needs_links


class System(Robot):
    """A mechanical system from its energies: `d/dt dL/dqd - dL/dq + dD/dqd - Q = tau` with `L = T - V`.

    >>> import qddot
    >>> pendulum = qddot.System("m*l**2*thetad**2/2", "-m*g*l*cos(theta)", coordinates=["theta"])
    >>> print(pendulum.equations().tau)
    [m*l*(l*thetadd + g*sin(theta))]

    Expressions are SymPy's, or texts of `+ - * / **`, `sin`, `cos`, `tan`, `sqrt`, `sign`, `abs`. The velocity of a coordinate `x`
    is written `xd`, that of `q1` `qd1`; SymPy's `dynamicsymbols` and their derivatives are accepted, too. Every other symbol is a
    parameter, which `subs` must give a value before numbers are computed. A system has all methods of a robot that need no links:
    dynamics, derivatives, energies, `simulate`, `linearize`, `equations`, `derive`, `export_c`, batches. Joint forces `tau` act
    along the coordinates.

    Args:
        T: kinetic energy, J: quadratic in the velocities; terms that are linear in them, or free of them, are permitted.
        V: potential energy, J.
        coordinates: their names, in the order of q.
        dissipation: Rayleigh's function, W: half the power that friction takes, such as `b*xd**2/2`.
        forces: coordinate -> generalised force in q and qd, N or N m, that acts in addition to tau.
        constraints: expressions that must be zero, of coordinates, or linear in velocities (`xd - r*phid`).
        limits: coordinate -> (lower, upper), the stops in a simulation.
        values: symbol or its name -> number.
        name: of the system.

    Raises:
        InputError: a velocity that T does not contain, or not quadratically; an unknown function; an explicit time.
        SingularityError: the mass matrix `d2T/dqd2` is singular at every q.
    """

    model: SystemModel

    def __init__(
        self,
        T: Any,
        V: Any = 0,
        *,
        coordinates: Sequence[Any] | str,
        dissipation: Any = 0,
        forces: Mapping[str, Any] | None = None,
        constraints: Sequence[Any] = (),
        limits: Mapping[str, Any] | None = None,
        values: Mapping[Any, float] | None = None,
        name: str = "system",
    ) -> None:
        names = as_names(coordinates)
        energies = lagrangian(names, T, V, dissipation, forces or {})
        several = [constraints] if isinstance(constraints, str) or hasattr(constraints, "free_symbols") else list(constraints)
        rows = []
        for i, x in enumerate(several, 1):
            expression = in_letters(f"constraint {i}", x, names)
            refuse_unknown_functions(f"constraint {i}", expression)
            rows.append(as_rows(i, expression, len(names)))
        for joint in limits or {}:
            if joint not in names:
                raise unknown_name("coordinate", joint, names)
        model = SystemModel(name, energies, rows, {x: as_limits(x, pair) for x, pair in (limits or {}).items()})
        super().__init__(System.of(model).subs(values).model if values else model)

    @classmethod
    def of(cls, model: SystemModel) -> System:
        """Return the system of a model."""
        found = cls.__new__(cls)
        Robot.__init__(found, model)
        return found

    def __reduce__(self) -> tuple:
        return type(self).of, (self.model,)

    def __repr__(self) -> str:
        names = ", ".join(self.joint_names)
        symbols = f"; symbols {', '.join(sorted(map(str, self.symbols)))}" if self.symbols else ""
        return f"System {self.name!r}: coordinates {names}{symbols}"

    @property
    def energies(self) -> Lagrangian:
        """T, V and their derivatives, as SymPy expressions in q1, qd1, ...: `energies.mass_matrix` and the like.

        >>> pendulum = qddot.System("m*l**2*thetad**2/2", "-m*g*l*cos(theta)", coordinates=["theta"])
        >>> pendulum.energies.T
        l**2*m*qd1**2/2
        """
        return self.model.lagrangian

    def subs(self, values: Mapping) -> System:
        """Return the system with symbols replaced by numbers or other expressions."""
        put = {}
        for key, value in mapping("values", values).items():
            found = [s for s in self.symbols if s.name == str(key)]
            if not found:
                raise unknown_name("symbol", str(key), map(str, self.symbols))
            put[found[0]] = value
        return System.of(self.model.subs(put))

    def with_variable(self, *names: str) -> System:
        """Return the system with some of its symbols turned into inputs of each call, as for a batch of different systems.

        They need a value first, which is then their default.

        >>> pendulum = qddot.System(
        ...     "m*l**2*thetad**2/2", "-m*g*l*cos(theta)", coordinates=["theta"], values={"m": 1, "l": 1, "g": 9.81}
        ... )
        >>> several = pendulum.with_variable("l")
        >>> several.forward_dynamics([1.0], [0.0], [0.0], variables={"l": [0.5, 1.0, 2.0]}).round(2).ravel()
        array([-16.51,  -8.25,  -4.13])
        """
        return System.of(super().with_variable(*names).model)  # type: ignore[arg-type]

    def with_values(self, values: Mapping[str, Any]) -> System:
        """Return the system without variables: their values become constants.

        >>> pendulum = qddot.System("m*l**2*thetad**2/2", coordinates=["theta"], values={"m": 1, "l": 1})
        >>> pendulum.with_variable("l").with_values({"l": 2.0}).mass_matrix([0.0])
        array([[4.]])
        """
        return System.of(super().with_values(values).model)  # type: ignore[arg-type]

    def equations(self, symbols: str = "given", constraints: Any = None) -> SystemEquations:
        """Return the equations of motion in closed form, exact (see `Equations`).

        Raises:
            InputError: they have no canonical form, since they are not polynomials of coordinates, sines and cosines.

        >>> pendulum = qddot.System("m*l**2*thetad**2/2", "-m*g*l*cos(theta)", coordinates=["theta"])
        >>> print(pendulum.equations().M)
        [[m*l**2]]
        """
        return SystemEquations(self.model, symbols, () if constraints is None else as_constraints(self.model, constraints))

    def _forced(self, quantity: str, inputs: dict[str, Any], f_ext: Any, f_tip: Any, options: Any, **fixed: str) -> Any:
        if f_ext is not None or f_tip is not None:
            raise InputError(f"f_ext, f_tip: {WITHOUT_LINKS}; give forces= of the System, or tau")
        return super()._forced(quantity, inputs, None, None, options, **fixed)

    def derive(self, method: str = "lagrange", **options: Any) -> Derivation:
        """Derive the equations of motion step by step from T and V, each step checked against the compiled kernels.

        >>> pendulum = qddot.System("m*l**2*thetad**2/2", "-m*g*l*cos(theta)", coordinates=["theta"])
        >>> path = pendulum.derive().save("pendulum.html")
        """
        return derive(self, method, **options)


def as_limits(name: str, pair: Any) -> Limits:
    """Return a pair (lower, upper) as limits of a coordinate. Raises InputError: not such a pair."""
    try:
        lower, upper = pair
        return Limits(float(lower), float(upper))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"limits of {name!r} are {pair!r}: a pair (lower, upper) is needed") from None


LINKS_ONLY = (
    "with_gravity", "with_floating_base", "with_payload", "with_tool", "with_transmission", "with_locked", "subtree", "chain",
    "tree", "explore", "identify", "excitation", "parameters", "properties", "to_urdf", "to_toml", "inverse_kinematics",
    "inverse_kinematics_solutions", "task_space", "ellipsoids", "manipulability", "external_wrench", "constraint_wrench",
)  # fmt: skip

for _name in LINKS_ONLY:
    setattr(System, _name, needs_links(_name))
