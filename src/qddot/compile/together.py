"""Several quantities in one kernel, which shares what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.evaluate import Evaluator, Options, as_dtype, refuse_unknown
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.compile.trace import Request
    from qddot.graph.program import Program


def compute_together(evaluate: Evaluator, quantities: Sequence[Any], arrays: Sequence[Any], options: Options) -> dict[str, Any]:
    """Quantities (names, or pairs of name and options) by name.

    Raises:
        InputError: no quantity, one asked for twice, or the wrong number of arrays.
    """
    pairs = named_pairs(quantities)
    requests = tuple(evaluate.request(name, given) for name, given in pairs)
    if not requests or len({name for name, _ in pairs}) != len(pairs):
        raise InputError(f"each quantity once: {', '.join(name for name, _ in pairs) or 'there is none'}")
    refuse_unknown("compute", options)
    kernel = evaluate.joint_kernel(requests, as_dtype(options.get("dtype")))
    names = [x.name for x in kernel.program.inputs]
    if len(arrays) != len(names):
        raise InputError(f"these quantities need {', '.join(names)}: {len(names)} arrays, {len(arrays)} were given")
    inputs = dict(zip(names, arrays))
    results, margins = ([], None) if kernel.is_empty else evaluate.evaluate("compute", kernel, inputs, options)
    if kernel.is_empty or margins is not None:  # one by one: some are empty, or the one at fault says why
        return {request.quantity: alone(evaluate, request, inputs, options) for request in requests}
    return grouped(kernel.program, results, requests)


def named_pairs(quantities: Any) -> list[tuple[str, dict[str, str]]]:
    """(name, options) of each.

    Raises:
        InputError: not a list of names, or of pairs of name and options.
    """
    if not isinstance(quantities, (list, tuple, dict, set, frozenset)):
        raise InputError(f"quantities are a list of names, or of pairs (name, options), not {quantities!r:.80}")
    pairs = [(x, {}) if isinstance(x, str) else x for x in quantities]
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], dict):
            raise InputError(f"{pair!r:.80} is neither a name nor a pair (name, options)")
    return [(name, options) for name, options in pairs]


def alone(evaluate: Evaluator, request: Request, inputs: dict[str, Any], options: Options) -> Any:
    own = {x.name: inputs[x.name] for x in evaluate.program((request,)).inputs}
    return evaluate(request.quantity, own, options, **dict(request.options))


def grouped(program: Program, results: Sequence[np.ndarray], requests: Sequence[Request]) -> dict[str, Any]:
    """The outputs of a joint kernel by quantity."""
    if len(requests) == 1:
        return {requests[0].quantity: results[0] if len(results) == 1 else tuple(results)}
    found: dict[str, list[np.ndarray]] = {}
    for x, values in zip(program.outputs, results):
        found.setdefault(x.name.partition(".")[0], []).append(values)
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}
