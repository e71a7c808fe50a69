"""Errors of kernels on a GPU: at once, which waits for the device, or when somebody looks next, which does not.

A kernel notes a state whose result is no number in memory of the host. With `check="now"` the call waits for the device, looks
there, and computes again on the CPU, which says what is wrong. With `check="later"` it does not wait: what the kernel has noted is
raised by the next call with `check="later"` of that quantity on that device, if the kernel has ended by then. Without either the
result is NaN, and nobody says anything.
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
    if check not in WAYS:
        raise InputError(f"check={check!r}: 'now' (or True) waits for the device, 'later' does not; False looks at nothing")


def raise_earlier(quantity: str, check: Any, kernel: Launcher) -> None:
    """Raise what was wrong with an earlier call that nobody waited for. Raises SingularityError: a result was no number."""
    refuse_other_checks(check)
    if check == "later" and (state := kernel.later.take()) is not None:
        raise SingularityError(
            f"{quantity} was not finite in state {state} of an earlier call: an input was not, or the state was singular "
            '(check="now" says which)'
        )


def raise_now(
    guests: Guests, quantity: str, inputs: Mapping[str, Any], check: Any, fixed: tuple, handle: Handling, kernel: Launcher
) -> None:
    """After a call: wait for it, and let the CPU say what is wrong.

    Raises:
        InputError, SingularityError: an input is not finite, or the quantity does not exist there.
        DeviceError: the device failed.
    """
    if not check or check == "later":
        return
    wait(kernel.device, handle.stream(kernel.device.number))
    state = kernel.now.take()
    if state is not None:
        explain(guests, quantity, {name: handle.on_host(x) for name, x in inputs.items()}, fixed)
        raise SingularityError(f"{quantity} is not finite in state {state}")


def look_at_inputs(guests: Guests, operation: Operation, arrays: Mapping[str, Any]) -> None:
    """Look at inputs, seen as NumPy arrays, as at NumPy's own. Raises InputError: one of them is not finite, or a quaternion is not
    of unit length; variables go by their names."""
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
    """Compute again on the CPU, which raises the error in full."""
    guests.evaluate(quantity, arrays, {"dtype": next(iter(arrays.values())).dtype}, **dict(fixed))  # type: ignore[typeddict-item]
