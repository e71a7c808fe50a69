"""A batch on a cluster: each task computes some of the states. States are independent, so the bits are those of one machine."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from qddot.cluster import in_cluster
from qddot.compile.arrays import as_array
from qddot.compile.evaluate import Evaluator, Options, as_dtype
from qddot.compile.given import with_given
from qddot.compile.together import compute_together, named_pairs

STATES = 50_000
"""Most states in one task."""


def compute_spread(
    evaluate: Evaluator, quantities: Sequence[Any], arrays: Sequence[Any], options: Options, address: Any
) -> dict[str, Any]:
    """Compute as `compute_together` does, by the workers of a Dask cluster."""
    dtype = as_dtype(options.get("dtype"))
    requests = tuple(evaluate.kernels.request(name, given) for name, given in named_pairs(quantities))
    shapes = {x.name: x.shape for x in evaluate.kernels.program(requests, dtype).inputs}
    names = [name for name in shapes if name != "variables"]
    given = with_given(evaluate.model.variables, dict(zip(names, arrays)), options.get("variables"), dtype)
    read = {name: as_array(name, given[name], shapes[name], dtype) for name in shapes}
    if "q" in read:
        read["q"] = evaluate.configuration("q", read["q"], dtype)
    lead = np.broadcast_shapes(*(a.shape[: a.ndim - len(shapes[name])] for name, a in read.items()))
    flat = {name: np.broadcast_to(a, (*lead, *shapes[name])).reshape(-1, *shapes[name]) for name, a in read.items()}
    count = math.prod(lead)
    rest = {name: x for name, x in options.items() if name != "variables"}
    recipe = pickle.dumps((evaluate.model, quantities, names, rest))
    size = max(1, min(STATES, -(-count // 2)))
    parts = list(in_cluster(at_worker, ((recipe, part) for part in pieces(flat, count, size)), address))
    return {name: joined([part[name] for part in parts], lead) for name in parts[0]}


def pieces(flat: Mapping[str, np.ndarray], count: int, size: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield the arrays in pieces of `size` states, at least one piece."""
    for begin in range(0, max(count, 1), size):
        yield {name: a[begin : begin + size] for name, a in flat.items()}


def joined(parts: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """Return the results of all pieces as one array, or tuple of arrays, with the batch's leading dimensions."""
    if isinstance(parts[0], tuple):
        return tuple(joined(each, lead) for each in zip(*parts))
    whole = np.concatenate(parts)
    return whole.reshape(*lead, *whole.shape[1:])


def at_worker(recipe: bytes, part: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Compute one piece, in a worker."""
    evaluate, quantities, names, options = unpacked(recipe)
    own = {**options, "threads": 1} | ({"variables": part["variables"]} if "variables" in part else {})
    return compute_together(evaluate, quantities, [part[name] for name in names], own)  # type: ignore[arg-type]


@lru_cache(maxsize=4)
def unpacked(recipe: bytes) -> tuple[Evaluator, Any, list[str], dict[str, Any]]:
    """Return the robot's evaluator and the request; cached, so that a worker compiles once and not for every piece."""
    model, quantities, names, options = pickle.loads(recipe)
    return Evaluator(model), quantities, names, options
