"""Several quantities in one kernel, which computes common terms once; and derivatives of a quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.compile.evaluate import Evaluator, Options, as_dtype, refuse_unknown
from qddot.compile.given import with_given
from qddot.errors import InputError, as_written

if TYPE_CHECKING:
    from qddot.compile.kernels import Kernels
    from qddot.compile.trace import Request
    from qddot.graph.program import Program


def compute_together(evaluate: Evaluator, quantities: Sequence[Any], arrays: Sequence[Any], options: Options) -> dict[str, Any]:
    """Return the results of quantities (names, or pairs of name and options) by name. Raises InputError: no quantity, one given
    twice, or the wrong number of arrays."""
    pairs = named_pairs(quantities)
    requests = tuple(evaluate.kernels.request(name, given) for name, given in pairs)
    if not requests or len({name for name, _ in pairs}) != len(pairs):
        raise InputError(f"each quantity once: {', '.join(name for name, _ in pairs) or 'there is none'}")
    refuse_unknown("compute", options)
    kernel = evaluate.kernels.joint_kernel(requests, as_dtype(options.get("dtype")))
    names = [x.name for x in kernel.program.inputs if x.name != "variables"]
    if len(arrays) != len(names):
        raise InputError(f"these quantities need {', '.join(names)}: {len(names)} arrays, {len(arrays)} were given")
    inputs = with_given(evaluate.model.variables, dict(zip(names, arrays)), options.get("variables"), kernel.dtype)
    results, margins = ([], None) if kernel.is_empty else evaluate.evaluate("compute", kernel, inputs, options)
    if kernel.is_empty or margins is not None:  # one by one: some are empty, or the singular one raises its error
        return {request.quantity: alone(evaluate, request, inputs, options) for request in requests}
    return grouped(kernel.program, results, requests)


def named_pairs(quantities: Any) -> list[tuple[str, dict[str, str]]]:
    """Return (name, options) of each quantity. Raises InputError: neither names nor pairs of name and options."""
    if not isinstance(quantities, (list, tuple, dict, set, frozenset)):
        raise InputError(f"quantities are a list of names, or of pairs (name, options), not {as_written(quantities)}")
    pairs = [(x, {}) if isinstance(x, str) else x for x in quantities]
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], dict):
            raise InputError(f"{as_written(pair)} is neither a name nor a pair (name, options)")
    return [(name, options) for name, options in pairs]


def alone(evaluate: Evaluator, request: Request, inputs: Mapping[str, Any], options: Options) -> Any:
    """Return the result of one of the quantities, computed by its own kernel."""
    own = {x.name: inputs[x.name] for x in evaluate.kernels.program((request,)).inputs if x.name != "variables"}
    return evaluate(request.quantity, own, options, **dict(request.options))


def grouped(program: Program, results: Sequence[np.ndarray], requests: Sequence[Request]) -> dict[str, Any]:
    """Return the outputs of a joint kernel by quantity."""
    if len(requests) == 1:
        return {requests[0].quantity: results[0] if len(results) == 1 else tuple(results)}
    found: dict[str, list[np.ndarray]] = {}
    for x, values in zip(program.outputs, results):
        found.setdefault(x.name.partition(".")[0], []).append(values)
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}


def differentiated(evaluate: Evaluator, quantity: str, arrays: Sequence[Any], wrt: str, options: dict[str, Any]) -> Any:
    """Return derivatives of a quantity's results with respect to one input. Raises InputError: the wrong number of arrays, or no
    such input."""
    own, rest = split_options(options)
    slope, dtype = slope_of(evaluate, quantity, wrt, tuple(rest.items())), as_dtype(own.get("dtype"))
    kernel = evaluate.kernels.compiled(("derivative", slope.request, wrt, dtype.char), lambda: slope.program(dtype), dtype)
    given = named_inputs(quantity, slope.inputs, arrays)
    inputs = with_given(evaluate.model.variables, given, own.get("variables"), dtype)
    return evaluate.result(quantity, kernel, inputs, own)


def split_options(options: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Return the options of a call, and the rest, those of a quantity."""
    own: Options = {name: x for name, x in options.items() if name in Options.__annotations__}  # type: ignore[assignment]
    return own, {name: x for name, x in options.items() if name not in own}


def named_inputs(quantity: str, names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    """Return arrays by the names of the inputs. Raises InputError: the wrong number of arrays."""
    if len(arrays) != len(names):
        raise InputError(f"{quantity} needs {', '.join(names)}: {len(names)} arrays, {len(arrays)} were given")
    return dict(zip(names, arrays))


class Slope(NamedTuple):
    """The derivative of a quantity with respect to one input. `inputs`: names of the arrays that the caller gives."""

    kernels: Kernels
    request: Request
    wrt: str
    inputs: list[str]

    def program(self, dtype: np.dtype) -> Program:
        from qddot.graph.tangent import jacobian

        return slope_program(self.kernels.program((self.request,), dtype), self.wrt, jacobian)


def slope_of(evaluate: Evaluator, quantity: str, wrt: str, options: Sequence[tuple[str, str]]) -> Slope:
    """Return the derivative of a quantity with respect to one input. Raises InputError: no such input."""
    request = evaluate.kernels.request(quantity, dict(options))
    names = [x.name for x in evaluate.kernels.program((request,)).inputs]
    if wrt not in names:
        more = ": choose some with robot.with_variable(...)" if wrt == "variables" else ""
        raise InputError(f"{quantity} has no input {wrt!r}, its inputs are {', '.join(names)}{more}")
    return Slope(evaluate.kernels, request, wrt, [name for name in names if name != "variables"])


def slope_program(program: Program, wrt: str, jacobian: Any) -> Program:
    """Return a program for the derivatives of a program's shown outputs, with its margins unchanged."""
    chosen = next(k for k, x in enumerate(program.inputs) if x.name == wrt)
    found = jacobian(replace(program, outputs=program.shown), chosen)
    return replace(found, outputs=(*found.outputs, *program.margins))
