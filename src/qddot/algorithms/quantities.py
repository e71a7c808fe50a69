"""Table of the quantities that a robot can compute: for each quantity its inputs, and the algorithm that gives its outputs.

A new quantity is one algorithm, one entry here and one method of `Robot`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from qddot.algorithms import (
    analytic,
    centroidal,
    coriolis,
    derivatives,
    displacement,
    energy,
    forward_dynamics,
    frame_motion,
    hamilton,
    inverse_dynamics,
    jacobian,
    joint_wrenches,
    kinematics,
    reaching,
    steps,
    task_inertia,
)
from qddot.algorithms.drives import friction_torque, spring_torque
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.algorithms.regressor import regressor
from qddot.algorithms.stacked import multiplied_out, newton_euler_blocks
from qddot.algorithms.torque_rates import torque_rates
from qddot.errors import InputError
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Transform


class Quantity(NamedTuple):
    """A quantity: `compute(model, *inputs, **options)` returns one value, or a tuple with one value for each of `outputs`.

    A last output `margins` is not for the user: where one of its elements is not positive, the quantity does not exist.
    """

    inputs: tuple[str, ...]
    outputs: dict[str, int]
    """Name and number of dimensions of each output."""

    compute: Callable
    options: dict[str, tuple[str, ...]] = {}
    """Choices for each option, the default first; () for a frame, which may be any, the tip by default."""

    forced: bool = False
    """True if external forces change it."""

    of_links: bool = False
    """True if it depends on single links or their frames. All others follow from the joint forces. They are computed, with fewer
    operations, for other bodies that need the same joint forces (base parameters, `model/regroup.py`), in other frames
    (`model/common_normals.py`)."""


def accelerations(model: LiftedModel, q, qd, tau, method: str, f_ext=None):
    if method == "aba" and forward_dynamics.shares_coordinates(model):
        raise InputError('method="aba" cannot couple joints that follow each other; use method="crba" or "auto"')
    return forward_dynamics.METHODS[method](model, q, qd, tau, f_ext)


def converted(convert: Callable, algorithm: Callable) -> Callable:
    """Return an algorithm whose result is converted."""
    return lambda *arguments, **options: convert(algorithm(*arguments, **options))


def homogeneous(T: Transform) -> list[list[Scalar]]:
    """Return a pose as a 4 x 4 matrix."""
    return [[*row, x] for row, x in zip(T.R, T.p)] + [[0, 0, 0, 1]]


CORIOLIS_FORMS = {
    "christoffel": coriolis.coriolis_matrix,
    "rate": coriolis.coriolis_matrix_from_rate,
    "gradient": coriolis.coriolis_matrix_from_gradient,
}


def coriolis_matrix(model: LiftedModel, q, qd, form: str):
    if form != "christoffel":
        refuse_quaternions(model, f'form="{form}"')
    return CORIOLIS_FORMS[form](model, q, qd)


def in_coordinates(algorithm: Callable) -> Callable:
    """Wrap an algorithm that differentiates with respect to q, so that it refuses models whose qd is not the rate of q."""

    def checked(model: LiftedModel, *inputs):
        refuse_quaternions(model, algorithm.__name__)
        return algorithm(model, *inputs)

    return checked


def refuse_quaternions(model: LiftedModel, what: str) -> None:
    if model.nq != model.nv:
        raise InputError(
            f"{what} needs joints whose qd is the rate of q; spherical and free joints have none such (Christoffel symbols)"
        )


def lagrangian(model: LiftedModel, q, qd):
    return energy.kinetic_energy(model, q, qd) - energy.potential_energy(model, q)


def hamiltonian(model: LiftedModel, q, qd):
    return energy.kinetic_energy(model, q, qd) + energy.potential_energy(model, q)


def stacked(model: LiftedModel, q, qd):
    return tuple(part.tolist() for part in multiplied_out(newton_euler_blocks(model, q, qd)))


def blocks(model: LiftedModel, q, qd):
    return tuple(part.tolist() for part in newton_euler_blocks(model, q, qd))


FRAME: dict[str, tuple[str, ...]] = {"frame": ()}
REFERENCE = {**FRAME, "reference": jacobian.REFERENCES}
ORIENTATION = {**FRAME, "coordinates": analytic.COORDINATES}

QUANTITIES: dict[str, Quantity] = {
    "mass_matrix": Quantity(("q",), {"M": 2}, mass_matrix),
    "mass_matrix_inverse": Quantity(("q",), {"Minv": 2, "margins": 1}, forward_dynamics.mass_matrix_inverse),
    "coriolis_matrix": Quantity(("q", "qd"), {"C": 2}, coriolis_matrix, {"form": tuple(CORIOLIS_FORMS)}),
    "coriolis_torque": Quantity(("q", "qd"), {"c": 1}, inverse_dynamics.coriolis_torque),
    "gravity_torque": Quantity(("q",), {"g": 1}, inverse_dynamics.gravity_torque),
    "friction_torque": Quantity(("qd",), {"friction": 1}, friction_torque),
    "spring_torque": Quantity(("q",), {"spring": 1}, spring_torque),
    "bias_torque": Quantity(("q", "qd"), {"bias": 1}, inverse_dynamics.bias_torque, {"drives": ("with", "without")}, forced=True),
    "inverse_dynamics": Quantity(("q", "qd", "qdd"), {"tau": 1}, inverse_dynamics.inverse_dynamics, forced=True),
    "joint_wrenches": Quantity(
        ("q", "qd", "qdd"),
        {"wrenches": 2},
        joint_wrenches.joint_wrenches,
        {"axes": joint_wrenches.AXES},
        forced=True,
        of_links=True,
    ),
    "forward_dynamics": Quantity(
        ("q", "qd", "tau"), {"qdd": 1, "margins": 1}, accelerations, {"method": ("auto", *forward_dynamics.METHODS)}, True
    ),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "qd", "qdd"), {"dtau_dq": 2, "dtau_dqd": 2, "dtau_dqdd": 2}, derivatives.inverse_dynamics_derivatives
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "qd", "tau"), {"dqdd_dq": 2, "dqdd_dqd": 2, "dqdd_dtau": 2, "margins": 1}, derivatives.forward_dynamics_derivatives
    ),
    "torque_rates": Quantity(("q", "qd", "qdd", "jerk", "snap"), {"tau": 1, "taud": 1, "taudd": 1}, in_coordinates(torque_rates)),
    "transform": Quantity(("q",), {"T": 2}, converted(homogeneous, kinematics.frame_pose), FRAME, of_links=True),
    "transforms": Quantity(
        ("q",), {"T": 3}, converted(lambda poses: list(map(homogeneous, poses)), kinematics.frame_poses), of_links=True
    ),
    "frame_velocity": Quantity(("q", "qd"), {"V": 1}, frame_motion.frame_velocity, REFERENCE, of_links=True),
    "frame_acceleration": Quantity(("q", "qd", "qdd"), {"A": 1}, frame_motion.frame_acceleration, REFERENCE, of_links=True),
    "jacobian": Quantity(("q",), {"J": 2}, converted(jacobian.rows, jacobian.jacobian), REFERENCE, of_links=True),
    "jacobian_dot": Quantity(("q", "qd"), {"Jdot": 2}, converted(jacobian.rows, jacobian.jacobian_rate), REFERENCE, of_links=True),
    "analytic_jacobian": Quantity(("q",), {"Ja": 2, "margins": 1}, analytic.analytic_jacobian, ORIENTATION, of_links=True),
    "analytic_jacobian_dot": Quantity(
        ("q", "qd"), {"Ja_dot": 2, "margins": 1}, analytic.analytic_jacobian_rate, ORIENTATION, of_links=True
    ),
    "christoffel": Quantity(("q",), {"Gamma": 3}, in_coordinates(coriolis.christoffel)),
    "centrifugal_matrix": Quantity(("q",), {"Q": 2}, in_coordinates(coriolis.centrifugal_matrix)),
    "coriolis_products_matrix": Quantity(("q",), {"B": 2}, in_coordinates(coriolis.coriolis_products_matrix)),
    "mass_matrix_rate": Quantity(("q", "qd"), {"Mdot": 2}, coriolis.mass_matrix_rate),
    "kinetic_energy": Quantity(("q", "qd"), {"T": 0}, energy.kinetic_energy),
    "potential_energy": Quantity(("q",), {"V": 0}, energy.potential_energy, of_links=True),
    "lagrangian": Quantity(("q", "qd"), {"L": 0}, lagrangian, of_links=True),
    "hamiltonian": Quantity(("q", "qd"), {"H": 0}, hamiltonian, of_links=True),
    "hamiltonian_of_momentum": Quantity(("q", "p"), {"H": 0, "margins": 1}, hamilton.hamiltonian, of_links=True),
    "generalized_momentum": Quantity(("q", "qd"), {"p": 1}, hamilton.generalized_momentum),
    "hamilton_rates": Quantity(("q", "p", "tau"), {"qd": 1, "pd": 1, "margins": 1}, hamilton.hamilton_rates, forced=True),
    "center_of_mass": Quantity(("q",), {"p": 1}, converted(list, energy.center_of_mass), of_links=True),
    "momentum": Quantity(("q", "qd"), {"h": 1}, converted(lambda h: list(h.components()), energy.momentum), of_links=True),
    "momentum_rate": Quantity(("q", "qd", "qdd"), {"hdot": 1}, centroidal.momentum_rate, of_links=True),
    "centroidal_momentum_matrix": Quantity(("q",), {"A": 2}, centroidal.centroidal_momentum_matrix, of_links=True),
    "centroidal_momentum_matrix_rate": Quantity(
        ("q", "qd"), {"Adot": 2}, centroidal.centroidal_momentum_matrix_rate, of_links=True
    ),
    "regressor": Quantity(("q", "qd", "qdd"), {"Y": 2}, regressor, of_links=True),
    "newton_euler_matrices": Quantity(("q", "qd"), {"M": 2, "c": 1, "g": 1, "Mdot": 2}, stacked, of_links=True),
    "newton_euler_blocks": Quantity(
        ("q", "qd"), {"A": 2, "L": 2, "W": 2, "G": 2, "ad_Aqd": 2, "ad_V": 2, "V": 1, "Vdot_base": 1}, blocks, of_links=True
    ),
}

STEPS: dict[str, Quantity] = {
    "rk4_step": Quantity(
        ("q", "qd", "tau", "dt"),
        {"q_next": 1, "qd_next": 1, "margins": 1},
        steps.rk4_step,
        {"method": ("auto", *forward_dynamics.METHODS)},
        True,
    ),
    "held_step": Quantity(
        ("q", "qd", "tau", "sliding", "moving", "dt"), {"q_next": 1, "qd_next": 1, "margins": 1}, steps.held_step, forced=True
    ),
    "variational_step": Quantity(
        ("q", "p", "tau", "dt"), {"q_next": 1, "p_next": 1, "qd_next": 1, "margins": 1}, in_coordinates(steps.variational_step)
    ),
    "variational_terms": Quantity(
        ("q", "v", "direction", "dt"), {"P": 1, "F": 1, "dP": 1, "dF": 1}, in_coordinates(steps.variational_terms)
    ),
    "reaching_step": Quantity(
        ("q", "moving", "damping", "target"),
        {"q_next": 1, "far": 1},
        reaching.reaching_step,
        {**FRAME, "rows": (), "limits": ("kept", "ignored")},
        of_links=True,
    ),
}
"""Single steps of a simulation, or of the search for a pose; `dt` has one element."""

BEHIND_FRICTION: dict[str, Quantity] = {
    "load_torque": Quantity(("q", "qd", "qdd"), {"load": 1}, inverse_dynamics.load_torque, forced=True),
    "delivered_torque": Quantity(("qd", "tau"), {"load": 1}, forward_dynamics.delivered_torque),
    "demanded_torque": Quantity(("qd", "load"), {"tau": 1}, inverse_dynamics.demanded_torque),
    "held_dynamics": Quantity(
        ("q", "qd", "tau", "sliding", "moving"), {"qdd": 1, "margins": 1}, forward_dynamics.held_bodies, forced=True
    ),
}
"""Terms of motions with constraints, contacts or stops, whose forces act on the load, behind the friction: inverse dynamics without
friction, the load that friction leaves of joint forces, the joint forces for a load, and accelerations while some joints are
held."""

CONFIGURATIONS: dict[str, Quantity] = {
    "integrate": Quantity(("q", "v"), {"q": 1}, displacement.integrate),
    "difference": Quantity(("start", "end"), {"v": 1}, displacement.difference),
    "configuration_rate": Quantity(("q", "qd"), {"rate": 1}, kinematics.coordinate_rates),
    "normalized": Quantity(("q",), {"q": 1}, steps.unit_quaternions),
}
"""Arithmetic of q, compiled for arrays of other libraries than NumPy."""

TASKS: dict[str, Quantity] = {
    "manipulability": Quantity(
        ("q",), {"w": 0}, task_inertia.manipulability, {**FRAME, "axes": task_inertia.AXES, "rows": ()}, of_links=True
    ),
    "task_inertia": Quantity(
        ("q",),
        {"M_C": 2, "J_bar": 2, "margins": 1},
        task_inertia.task_inertia,
        {**FRAME, "axes": task_inertia.AXES, "rows": (), "damping": ()},
    ),
}
"""Quantities of chosen rows of a frame's Jacobian; the options rows and damping are texts."""

COMPUTED = QUANTITIES | STEPS | BEHIND_FRICTION | CONFIGURATIONS | TASKS
"""Everything that can be compiled."""


def algorithm(model: LiftedModel, quantity: str) -> Callable:
    """Return the function that computes a quantity, of a tree of links or of a system given by its energies. Raises InputError: a
    system given by its energies does not have that quantity."""
    known = model.source.quantities or COMPUTED
    if quantity not in known:
        raise InputError(f"{model.source.name} has no {quantity}: it is given by its energies, without links and frames")
    return known[quantity].compute
