"""What a robot can compute: for each quantity its inputs, and the algorithm that gives its outputs.

A new quantity is one algorithm, one entry here and one method of `Robot`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from qddot.algorithms import analytic, coriolis, derivatives, energy, forward_dynamics, inverse_dynamics, jacobian, kinematics
from qddot.algorithms.drives import friction_torque, spring_torque
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.algorithms.regressor import regressor
from qddot.algorithms.stacked import stacked_newton_euler
from qddot.errors import InputError, near_matches, unknown_name
from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program, output
from qddot.model.model import LiftedModel, Model
from qddot.model.scalar import Scalar
from qddot.model.spatial import Force, Transform, Vec


class Quantity(NamedTuple):
    """`compute(model, *inputs, **options)` returns one value, or a tuple with one value for each of `outputs` (name: dimensions).

    A last output `margins` is not for the user: where one of its elements is not positive, the quantity does not exist.
    """

    inputs: tuple[str, ...]
    outputs: dict[str, int]
    compute: Callable
    options: dict[str, tuple[str, ...]] = {}


def complete(quantity: str, options: Mapping[str, str], tip: Callable[[], str]) -> dict[str, str]:
    """A quantity's options, checked, with defaults filled in.

    Raises:
        UnknownNameError: no such quantity.
        InputError: no such option, or none of its choices.
    """
    if quantity not in QUANTITIES:
        raise unknown_name("quantity", quantity, QUANTITIES)
    known = QUANTITIES[quantity].options
    for name, value in options.items():
        if name not in known:
            raise InputError(f"{quantity} has no option {name!r}: {near_matches(name, known)}")
        if known[name] and value not in known[name]:
            raise InputError(f"{name}={value!r} is not one of {', '.join(map(repr, known[name]))}")
    return {name: options[name] if name in options else choices[0] if choices else tip() for name, choices in known.items()}


def trace(model: Model, quantity: str, dtype: DTypeLike = float, *, wrench: bool = False, **options: str) -> Program:
    """Record a quantity of a robot.

    Args:
        quantity: a key of `QUANTITIES`.
        dtype: float64 or float32, of the arithmetic the program will run in.
        wrench: add a last input (bodies, 6): external forces on the links, about the world's origin in world axes.
        options: all of the quantity's (see `complete`).
    """
    if options.get("method") == "auto":
        return shortest_forward_dynamics(model, dtype, wrench)
    entry, recorder = QUANTITIES[quantity], Trace(float(np.finfo(dtype).eps))
    sizes = {"q": model.mechanism.nq}
    inputs = [Input(name, (sizes.get(name, model.mechanism.nv),)) for name in entry.inputs]
    links = [body.index for body in model.bodies if body.is_link]
    if wrench:
        inputs.append(Input("wrench", (len(links), 6)))
    variables = [[recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(inputs)]
    lifted = model.over(recorder, regrouped=quantity not in NEEDS_ALL_PARAMETERS)
    if wrench:
        options["f_ext"] = forces(links, variables.pop())  # type: ignore[assignment]
    values = entry.compute(lifted, *variables, **options)
    if len(entry.outputs) == 1:
        values = (values,)
    outputs: list[Output] = [output(name, value, rank) for (name, rank), value in zip(entry.outputs.items(), values, strict=True)]
    return Program(quantity, tuple(inputs), tuple(outputs))


FEW = 64
"""Up to this many degrees of freedom the mass matrix may be the shorter way to forward dynamics."""


def shortest_forward_dynamics(model: Model, dtype: DTypeLike, wrench: bool) -> Program:
    """By articulated bodies or by the mass matrix, whichever takes fewer operations."""
    methods = ["crba"] if forward_dynamics.shares_coordinates(model) else ["aba", "crba"] if model.mechanism.nv <= FEW else ["aba"]
    found = [trace(model, "forward_dynamics", dtype, wrench=wrench, method=method) for method in methods]
    return min(found, key=lambda program: program.operations().total())


def accelerations(model: LiftedModel, q, qd, tau, method: str, f_ext=None):
    if method == "aba" and forward_dynamics.shares_coordinates(model):
        raise InputError('method="aba" cannot couple joints that follow each other; use method="crba" or "auto"')
    return forward_dynamics.METHODS[method](model, q, qd, tau, f_ext)


def forces(links: Sequence[int], values: Sequence[Scalar]) -> dict[int, Force]:
    """One force a body, from the flat input."""
    six = [values[k : k + 6] for k in range(0, len(values), 6)]
    return {i: Force(Vec(*x[:3]), Vec(*x[3:])) for i, x in zip(links, six, strict=True)}


def homogeneous(T: Transform) -> list[list[Scalar]]:
    return [[*row, x] for row, x in zip(T.R, T.p)] + [[0, 0, 0, 1]]


def frame_transform(model: LiftedModel, q, frame: str):
    return homogeneous(kinematics.frame_pose(model, q, frame))


def geometric_jacobian(model: LiftedModel, q, frame: str, reference: str):
    return jacobian.rows(jacobian.jacobian(model, q, frame, reference))


def geometric_jacobian_dot(model: LiftedModel, q, qd, frame: str, reference: str):
    return jacobian.rows(jacobian.jacobian_rate(model, q, qd, frame, reference))


CORIOLIS_FORMS = {
    "christoffel": coriolis.coriolis_matrix,
    "rate": coriolis.coriolis_matrix_from_rate,
    "gradient": coriolis.coriolis_matrix_from_gradient,
}


def coriolis_matrix(model: LiftedModel, q, qd, form: str):
    if form != "christoffel":
        needs_coordinates(model, f'form="{form}"')
    return CORIOLIS_FORMS[form](model, q, qd)


def in_coordinates(algorithm: Callable) -> Callable:
    """For what is defined by derivatives with respect to q: only where qd is the rate of q."""

    def checked(model: LiftedModel, *inputs):
        needs_coordinates(model, algorithm.__name__)
        return algorithm(model, *inputs)

    return checked


def needs_coordinates(model: LiftedModel, what: str) -> None:
    if model.nq != model.nv:
        raise InputError(
            f"{what} needs joints whose qd is the rate of q; spherical and free joints have none such (Christoffel symbols)"
        )


def lagrangian(model: LiftedModel, q, qd):
    return energy.kinetic_energy(model, q, qd) - energy.potential_energy(model, q)


def hamiltonian(model: LiftedModel, q, qd):
    return energy.kinetic_energy(model, q, qd) + energy.potential_energy(model, q)


def centre_of_mass(model: LiftedModel, q):
    return list(energy.center_of_mass(model, q))


def momentum(model: LiftedModel, q, qd):
    return list(energy.momentum(model, q, qd).components())


def stacked(model: LiftedModel, q, qd):
    return tuple(part.tolist() for part in stacked_newton_euler(model, q, qd))


FRAME: dict[str, tuple[str, ...]] = {"frame": ()}

NEEDS_ALL_PARAMETERS = frozenset(
    ("potential_energy", "lagrangian", "hamiltonian", "center_of_mass", "momentum", "regressor", "newton_euler_matrices")
)
"""What does not follow from the joint forces alone; everything else may use base parameters."""

QUANTITIES: dict[str, Quantity] = {
    "mass_matrix": Quantity(("q",), {"M": 2}, mass_matrix),
    "coriolis_matrix": Quantity(("q", "qd"), {"C": 2}, coriolis_matrix, {"form": tuple(CORIOLIS_FORMS)}),
    "coriolis_torque": Quantity(("q", "qd"), {"c": 1}, inverse_dynamics.coriolis_torque),
    "gravity_torque": Quantity(("q",), {"g": 1}, inverse_dynamics.gravity_torque),
    "friction_torque": Quantity(("qd",), {"friction": 1}, friction_torque),
    "spring_torque": Quantity(("q",), {"spring": 1}, spring_torque),
    "bias_torque": Quantity(("q", "qd"), {"bias": 1}, inverse_dynamics.bias_torque),
    "inverse_dynamics": Quantity(("q", "qd", "qdd"), {"tau": 1}, inverse_dynamics.inverse_dynamics),
    "forward_dynamics": Quantity(
        ("q", "qd", "tau"), {"qdd": 1, "margins": 1}, accelerations, {"method": ("auto", *forward_dynamics.METHODS)}
    ),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "qd", "qdd"), {"dtau_dq": 2, "dtau_dqd": 2, "dtau_dqdd": 2}, derivatives.inverse_dynamics_derivatives
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "qd", "tau"), {"dqdd_dq": 2, "dqdd_dqd": 2, "dqdd_dtau": 2, "margins": 1}, derivatives.forward_dynamics_derivatives
    ),
    "transform": Quantity(("q",), {"T": 2}, frame_transform, FRAME),
    "jacobian": Quantity(("q",), {"J": 2}, geometric_jacobian, {**FRAME, "reference": jacobian.REFERENCES}),
    "jacobian_dot": Quantity(("q", "qd"), {"Jdot": 2}, geometric_jacobian_dot, {**FRAME, "reference": jacobian.REFERENCES}),
    "analytic_jacobian": Quantity(
        ("q",), {"Ja": 2, "margins": 1}, analytic.analytic_jacobian, {**FRAME, "coordinates": analytic.COORDINATES}
    ),
    "christoffel": Quantity(("q",), {"Gamma": 3}, in_coordinates(coriolis.christoffel)),
    "centrifugal_matrix": Quantity(("q",), {"C": 2}, in_coordinates(coriolis.centrifugal_matrix)),
    "coriolis_products_matrix": Quantity(("q",), {"B": 2}, in_coordinates(coriolis.coriolis_products_matrix)),
    "mass_matrix_rate": Quantity(("q", "qd"), {"Mdot": 2}, coriolis.mass_matrix_rate),
    "kinetic_energy": Quantity(("q", "qd"), {"T": 0}, energy.kinetic_energy),
    "potential_energy": Quantity(("q",), {"V": 0}, energy.potential_energy),
    "lagrangian": Quantity(("q", "qd"), {"L": 0}, lagrangian),
    "hamiltonian": Quantity(("q", "qd"), {"H": 0}, hamiltonian),
    "center_of_mass": Quantity(("q",), {"p": 1}, centre_of_mass),
    "momentum": Quantity(("q", "qd"), {"h": 1}, momentum),
    "regressor": Quantity(("q", "qd", "qdd"), {"Y": 2}, regressor),
    "newton_euler_matrices": Quantity(("q", "qd"), {"M": 2, "c": 1, "g": 1, "Mdot": 2}, stacked),
}
