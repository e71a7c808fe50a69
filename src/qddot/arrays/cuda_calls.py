"""Calls with CuPy arrays: quantities are computed on their GPU, on the current stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arrays.late import raise_earlier, raise_now
from qddot.arrays.on_device import ROWS, OnDevices, handling, layout
from qddot.arrays.operation import leads, misfit
from qddot.compile.given import known_names
from qddot.compile.kinds import is_on_gpu, library_of, mixed
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.arrays.guests import Guests


def compute(guests: Guests, quantity: str, inputs: Mapping[str, Any], options: Mapping[str, Any], fixed: tuple) -> Any:
    """Return a quantity of arrays on a GPU, as arrays of their library there. Raises InputError: arrays of several libraries, types
    or devices, or a shape that does not fit; DeviceError: the device fails."""
    first, q = next((name, x) for name, x in inputs.items() if library_of(x))
    handle = handling(first, q)
    for name, x in inputs.items():
        if type(x) is not type(q):
            raise mixed(name, x, first, q)
        if not is_on_gpu(x):
            raise InputError(f"{name} is not on a GPU, but {first} is: bring them together")
    views = {name: handle.view(x) for name, x in inputs.items()}
    for what, found in (("types", {v.dtype for v in views.values()}), ("devices", {v.device for v in views.values()})):
        if len(found) > 1:
            raise InputError(
                f"inputs have several {what}: {', '.join(f'{name} {v.dtype} on {v.device}' for name, v in views.items())}"
            )
    dtype = views[first].dtype
    if dtype not in ("float64", "float32"):
        raise InputError(f"{first} holds {dtype}, float64 or float32 is needed: {first}.astype('float64')")
    asked = options.get("dtype")
    if asked is not None and np.dtype(asked) != dtype:
        raise InputError(f"dtype={np.dtype(asked)}, but {first} holds {dtype}: convert the arrays, and leave dtype out")
    if guests.evaluate.model.variables or "variables" in options:
        known_names(guests.evaluate.model.variables, options.get("variables"))
        inputs = {**inputs, "variables": guests.packed(inputs, options.get("variables"))}
    operation = guests.operation(quantity, dtype, "wrench" in inputs, fixed)
    if operation.is_empty:
        raise InputError(f"{quantity} of {guests.evaluate.model.name} has no elements: there is nothing to compute on a GPU")
    arrays = [inputs[x.name] for x in operation.program.inputs]
    own = leads(operation.program, arrays)
    try:
        lead = np.broadcast_shapes(*own)
    except ValueError:
        raise misfit(operation.program, arrays) from None
    inputs_and_leads = zip(arrays, operation.program.inputs, own)
    spread = [a if shape in ((), lead) else handle.broadcast(a, (*lead, *x.shape)) for a, x, shape in inputs_and_leads]
    devices, check = operation.once(OnDevices), options.get("check")
    outputs, order = given_outputs(handle, operation, lead, options.get("out"), views[first])
    kernel = devices.kernel(views[first].device, order)
    raise_earlier(quantity, check, kernel)
    found = devices.run(handle, spread, lead, outputs, check, order)
    raise_now(guests, quantity, inputs, check, fixed, handle, kernel)
    return found[0] if len(found) == 1 else tuple(found)


def given_outputs(handle: Any, operation: Any, lead: tuple[int, ...], out: Any, like: Any) -> tuple[list[Any] | None, str]:
    """Return the arrays given as `out`, checked, and their layout. Raises InputError: another shape, type, device or layout."""
    if out is None:
        return None, ROWS
    given = list(out) if isinstance(out, tuple) else [out]
    if len(given) != len(operation.program.outputs):
        raise InputError(f"{operation.program.name} has {len(operation.program.outputs)} results: out is a tuple of as many arrays")
    for x, room in zip(operation.program.outputs, given):
        view, wanted = handle.view(room), (*lead, *x.shape)
        if view.shape != wanted or (view.dtype, view.device) != (like.dtype, like.device):
            raise InputError(
                f"out for {x.name} is {view.dtype} {view.shape} on {view.device}: {like.dtype} {wanted} on {like.device} is needed"
            )
    order = layout([handle.view(room) for room in given], [x.shape for x in operation.program.outputs])
    if order is None:
        raise InputError(
            "out must be contiguous, or have the states last in memory: cupy.moveaxis(cupy.empty((..., states)), -1, 0)"
        )
    return given, order
