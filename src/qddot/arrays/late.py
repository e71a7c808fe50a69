"""Errors of kernels on a GPU: raised at once, after waiting for the device, or later, without waiting.

A kernel notes a state whose result is not finite in the host's memory. With `check="now"` the call waits for the device, reads the
note, and computes again on the CPU, which raises the error in full. With `check="later"` it does not wait: the next call with
`check="later"` of that quantity on that device raises the error, if the kernel has ended by then. Without a check the result is
NaN, and no error is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qddot.compile.arrays import as_array, check_configuration
from qddot.compile.gpu.driver import wait
from qddot.errors import InputError, SingularityError

if TYPE_CHECKING:
    from qddot.arrays.guests import Guests
    from qddot.arrays.on_device import Handling
    from qddot.arrays.operation import Operation
    from qddot.compile.gpu.device_kernel import Launcher

WAYS = (None, False, True, "now", "later")


def refuse_other_checks(check: Any) -> None:
    """Raise InputError unless `check` is one of `WAYS`."""
    if check not in WAYS:
        raise InputError(f"check={check!r}: 'now' (or True) waits for the device, 'later' does not; False looks at nothing")


def raise_earlier(quantity: str, check: Any, kernel: Launcher) -> None:
    """Raise the error of an earlier call with `check="later"`. Raises SingularityError: a result of it was not finite."""
    refuse_other_checks(check)
    if check == "later" and (state := kernel.later.take()) is not None:
        raise SingularityError(
            f"{quantity} was not finite in state {state} of an earlier call: an input was not, or the state was singular "
            '(check="now" says which)'
        )


def raise_now(
    guests: Guests, quantity: str, inputs: Mapping[str, Any], check: Any, fixed: tuple, handle: Handling, kernel: Launcher
) -> None:
    """Wait for a call's kernel, and raise its error, which the CPU computes. Raises InputError, SingularityError: an input is not
    finite, or the quantity does not exist there; DeviceError: the device failed."""
    if not check or check == "later":
        return
    wait(kernel.device, handle.stream(kernel.device.number))
    state = kernel.now.take()
    if state is not None:
        explain(guests, quantity, {name: handle.on_host(x) for name, x in inputs.items()}, fixed)
        raise SingularityError(f"{quantity} is not finite in state {state}")


def check_values(
    guests: Guests, quantity: str, operation: Operation, arrays: Mapping[str, Any], fixed: tuple, are_finite: bool
) -> None:
    """Check inputs, given as NumPy arrays, and results, which `are_finite` or not. Raises InputError, SingularityError: an input is
    not finite or no unit quaternion, or the quantity does not exist there."""
    check_inputs(guests, operation, arrays)
    if not are_finite:
        explain(guests, quantity, arrays, fixed)
        raise SingularityError(f"{quantity}: a result is not finite")


def check_inputs(guests: Guests, operation: Operation, arrays: Mapping[str, Any]) -> None:
    """Check inputs, given as NumPy arrays. Raises InputError: one of them (a variable by its own name) is not finite, or a
    quaternion is not of unit length."""
    for x in operation.program.inputs:
        array, start = arrays[x.name], 0
        if x.name == "variables":
            for one in guests.variables:
                part = array[..., start] if one.size == 1 else array[..., start : start + one.size]
                as_array(one.name, part, () if one.size == 1 else (one.size,), array.dtype)
                start += one.size
        else:
            as_array(x.name, array, x.shape, array.dtype)
        if x.name == "q":
            check_configuration(array, guests.evaluate.model.mechanism)


def explain(guests: Guests, quantity: str, arrays: Mapping[str, Any], fixed: tuple) -> None:
    """Compute again on the CPU, which raises the error."""
    guests.evaluate(quantity, arrays, {"dtype": next(iter(arrays.values())).dtype}, **dict(fixed))  # type: ignore[typeddict-item]
