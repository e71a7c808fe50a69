"""Trace quantities of a model into one program, by running their algorithms over scalars that record operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.algorithms.forward_dynamics import shares_coordinates
from qddot.algorithms.quantities import COMPUTED, QUANTITIES, algorithm
from qddot.errors import InputError, as_written, near_matches, unknown_name
from qddot.graph.expr import Trace, without_collection
from qddot.graph.program import Input, Output, Program, output
from qddot.model.model import LiftedModel, Model
from qddot.model.overflow import overflow
from qddot.model.scalar import Scalar
from qddot.model.spatial import Force, RigidInertia, Vec, symmetric
from qddot.model.variables import is_inertial

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

FEW = 64
"""Most degrees of freedom for which forward dynamics by the mass matrix is tried: beyond, articulated bodies take fewer
operations."""

INPUTS = ("q", "qd", "p", "v", "direction", "qdd", "jerk", "snap", "tau", "load", "sliding", "moving", "dt", "damping", "target")
INPUTS += ("start", "end")
"""All inputs of quantities, in the order in which programs have them."""

ELSEWHERE = {"local": "body", "local_world_aligned": "world_aligned", "world": "space"}
"""Pinocchio's names of the references of velocities, and those of this library."""


class Request(NamedTuple):
    """A quantity with all its options (see `complete`)."""

    quantity: str
    options: tuple[tuple[str, str], ...] = ()


def complete(quantity: str, options: Mapping[str, str], tip: Callable[[], str]) -> Request:
    """Return a quantity with its options, checked, and defaults for the others. Raises UnknownNameError: no such quantity;
    InputError: no such option, or a value that is not one of its choices."""
    if not isinstance(quantity, str):
        raise InputError(f"{as_written(quantity)} is not the name of a quantity")
    if quantity not in COMPUTED:
        raise unknown_name("quantity", quantity, QUANTITIES)
    known = COMPUTED[quantity].options
    for name, value in options.items():
        if name not in known:
            raise InputError(f"{quantity} has no option {name!r}: {near_matches(name, known)}")
        if not isinstance(value, str) or (known[name] and value not in known[name]):
            word = as_written(value).rpartition(".")[2].strip("'")  # an enum is written with the name of its class
            hint = ELSEWHERE.get(word.lower()) if name == "reference" else None
            said = f" (Pinocchio's {word} is {hint!r})" if hint else ""
            kind = f"one of {', '.join(map(repr, known[name]))}" if isinstance(value, str) else "a name"
            raise InputError(f"{name}={as_written(value)} is not {kind}{said}")
    chosen = {name: options[name] if name in options else choices[0] if choices else tip() for name, choices in known.items()}
    return Request(quantity, tuple(chosen.items()))


def trace(
    model: Model, requests: Sequence[Request], dtype: DTypeLike = float, *, wrench: bool = False, runtime: bool = False
) -> Program:
    """Return quantities of a robot as one program, in which common terms are computed once.

    Args:
        requests: the quantities. A single one keeps the names of its outputs; for several the names are `quantity.output`.
        dtype: float64 or float32, the type in which the program will run.
        wrench: add an input (bodies, 6): external forces on the links, about the world's origin in world axes.
        runtime: add an input, the inertial parameters (10 bodies,) in the order of `Robot.parameters`.

    A robot with variables has one more input for them, the last.

    Raises:
        ModelValueError: numbers of the description are so large, or so small, that a constant of the program overflows.
    """
    requests = [with_shortest_method(model, request, wrench, runtime) for request in requests]
    if model.quantities and (wrench or runtime):
        raise InputError(f"{model.name} is given by its energies: external forces and inertial parameters need links")
    recorder = Trace(float(np.finfo(dtype).eps))
    inputs = program_inputs(model, requests, wrench, runtime)
    variables = {x.name: [recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(inputs)}
    outputs, margins = [], []
    with without_collection():
        made = [(request, x) for request in requests for x in record(model, request, recorder, variables)]
    for request, x in made:
        if x.name == "margins":
            margins += x.values
        else:
            outputs.append(x if len(requests) == 1 else x._replace(name=f"{request.quantity}.{x.name}"))
    if margins:
        outputs.append(Output("margins", (len(margins),), tuple(margins)))
    program = Program("_and_".join(r.quantity for r in requests), tuple(inputs), tuple(outputs))
    if not program.is_finite(float(np.finfo(dtype).max)):
        raise overflow(model, program.name, str(np.dtype(dtype)))
    return program


def program_inputs(model: Model, requests: Sequence[Request], wrench: bool, runtime: bool) -> list[Input]:
    """Return the inputs that any of the quantities needs, in the order of `INPUTS`, then wrench, parameters and variables."""
    wanted = {name for request in requests for name in COMPUTED[request.quantity].inputs}
    links = sum(body.is_link for body in model.bodies)
    sizes = {"dt": (1,), "damping": (1,), "target": (4, 4)} | dict.fromkeys(("q", "start", "end"), (model.mechanism.nq,))
    inputs = [Input(name, sizes.get(name, (model.mechanism.nv,))) for name in INPUTS if name in wanted]
    if wrench:
        inputs.append(Input("wrench", (links, 6)))
    if runtime:
        inputs.append(Input("parameters", (10 * links,)))
    if model.variables:
        inputs.append(Input("variables", (sum(x.size for x in model.variables),)))
    return inputs


def record(model: Model, request: Request, recorder: Trace, variables: Mapping[str, list]) -> list[Output]:
    """Run one algorithm over nodes of the trace, and return its outputs."""
    entry, options = COMPUTED[request.quantity], dict(request.options)
    lifted = recorded(model, recorder, variables, regrouped=not entry.of_links)
    if "wrench" in variables and entry.forced:
        options["f_ext"] = forces(model, variables["wrench"])  # type: ignore[assignment]
    values = algorithm(lifted, request.quantity)(lifted, *(variables[name] for name in entry.inputs), **options)
    if len(entry.outputs) == 1:
        values = (values,)
    return [output(name, value, rank) for (name, rank), value in zip(entry.outputs.items(), values, strict=True)]


def recorded(model: Model, recorder: Trace, variables: Mapping[str, list], *, regrouped: bool) -> LiftedModel:
    """Return the model over nodes of the trace, with variables and inertial parameters from the inputs if there are such. Raises
    InputError: a variable is an inertial parameter too."""
    if "parameters" in variables and (twice := [x.name for x in model.variables if is_inertial(x.name)]):
        raise InputError(f"{twice[0]} is a variable of this robot, so its inertial parameters cannot be given besides")
    if "variables" in variables:
        model = model.opened(variables["variables"])
    if "parameters" in variables:
        return LiftedModel(model, recorder, inertias=inertias(model, recorder, variables["parameters"]))
    return model.over(recorder, regrouped=regrouped)


def with_shortest_method(model: Model, request: Request, wrench: bool, runtime: bool) -> Request:
    """Return the request with method "auto" replaced by articulated bodies or the mass matrix, whichever takes fewer operations."""
    if dict(request.options).get("method") != "auto":
        return request
    if model.quantities or shares_coordinates(model):
        return Request(request.quantity, (("method", "crba"),))
    if model.mechanism.nv > FEW:
        return Request(request.quantity, (("method", "aba"),))
    ways = [Request(request.quantity, (("method", method),)) for method in ("aba", "crba")]
    return min(ways, key=lambda way: trace(model, [way], wrench=wrench, runtime=runtime).operations().total())


def forces(model: Model, values: Sequence[Scalar]) -> dict[int, Force]:
    """Return the external force on each link, by the index of its body, from the flat input."""
    links = [body.index for body in model.bodies if body.is_link]
    six = [values[k : k + 6] for k in range(0, len(values), 6)]
    return {i: Force(Vec(*x[:3]), Vec(*x[3:])) for i, x in zip(links, six, strict=True)}


def inertias(model: Model, recorder: Trace, values: Sequence[Scalar]) -> list[RigidInertia]:
    """Return each body's inertia, from ten parameters about its link's frame; bodies that are no links keep their own."""
    found, at = [], 0
    for body in model.bodies:
        if not body.is_link:
            found.append(body.over(recorder).inertia)
            continue
        m, hx, hy, hz, *moments = values[at : at + 10]
        found.append(body.over(recorder).link.out_inertia(RigidInertia(m, Vec(hx, hy, hz), symmetric(*moments))))
        at += 10
    return found
