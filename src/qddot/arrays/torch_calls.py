"""Calls with PyTorch tensors: their checks and errors, and the way to the operators."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from qddot.arrays.late import check_values, raise_earlier, raise_now
from qddot.arrays.on_device import ROWS, OnDevices, layout
from qddot.arrays.on_host import has_tangent
from qddot.arrays.operation import leads, misfit
from qddot.arrays.torch_cuda import HANDLE
from qddot.arrays.torch_guest import at_once, called, inner, operator_name, recorded
from qddot.compile.evaluate import refuse_shared
from qddot.compile.kinds import library_of, mixed
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.arrays.guests import Guests
    from qddot.arrays.operation import Operation

NAMES = {torch.float64: "float64", torch.float32: "float32"}
PLACES = ("cpu", "cuda") if torch.version.hip is None else ("cpu",)  # PyTorch for AMD GPUs also names its devices cuda


def compute(guests: Guests, quantity: str, inputs: Mapping[str, Any], options: Mapping[str, Any], fixed: tuple) -> Any:
    """Return a quantity of tensors, as tensors of the same type on the same device."""
    which = (quantity, common_dtype(quantity, inputs, options), "wrench" in inputs, fixed)
    operation = guests.operation(*which)
    tensors = evenly(operation, inputs)
    if options.get("out") is not None:
        return into(operation, tensors, options["out"])
    if options.get("check") and tensors[0].is_cuda and not (operation.is_empty or is_transformed()):
        return run_checked(guests, quantity, inputs, options["check"], fixed, operation, tensors)
    if operation.is_empty:
        found = constants(operation, tensors[0])
    elif is_transformed():
        found = getattr(torch.ops.qddot, guests.made(operator_name, *which))(*tensors)
    elif torch.autograd.forward_ad._current_level < 0 and not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
        found = called(operation, inner(operation), tensors)
    else:
        found = called(operation, recorded(operation), tensors)
    if not (fixed or options or operation.is_empty or "wrench" in inputs or "variables" in inputs or is_transformed()):
        keep_direct(guests, quantity, operation, tensors[0])
    if options.get("check"):
        if is_transformed():
            raise InputError("check=True needs values, and within torch.compile or torch.func there are none: check outside")
        arrays = {name: x.detach().cpu().numpy() for name, x in inputs.items()}
        are_finite = all(bool(torch.isfinite(x).all()) for x in (found if isinstance(found, tuple) else (found,)))
        check_values(guests, quantity, operation, arrays, fixed, are_finite)
    return found


def keep_direct(guests: Guests, quantity: str, operation: Operation, like: torch.Tensor) -> None:
    """Let further calls go to the operator directly: it checks the tensors itself, and those that it refuses come to `compute`."""
    ways = guests.ways.setdefault(quantity, {})
    if (like.dtype, like.is_cuda) in ways:
        return
    way = short_way(len(operation.program.inputs), at_once(operation), recorded(operation))
    ways[like.dtype, like.is_cuda] = way
    is_traced = torch.compiler.is_dynamo_compiling

    def of_several_types(*tensors: Any) -> Any:
        first = tensors[0]
        found = ways.get((first.dtype, first.is_cuda)) if isinstance(first, torch.Tensor) else None
        return found(*tensors) if found else None

    direct = way if len(ways) == 1 else of_several_types  # the operator refuses tensors of another type or device

    def in_python(*tensors: Any) -> Any:  # for torch.compile
        return None if is_traced() else direct(*tensors)

    guests.keep(quantity, type(like), direct, in_python)


def short_way(count: int, plain: Callable[..., Any], recorded: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `count` tensors that calls the operator, and returns None for tensors that it refuses (`compute` then
    broadcasts them, or raises the error). Its text is written for the count, since a loop over tensors takes longer."""
    names = [f"t{i}" for i in range(count)]
    given, asked = ", ".join(names), " or ".join(f"{name}.requires_grad" for name in names)
    text = f"""
def direct({", ".join(f"{name}=None" for name in names)}, *more):
    try:
        if more or transforms() is not None:
            return None
        if forward_mode._current_level >= 0 or ({asked}) and records():
            return recorded({given})
        return plain({given})
    except (RuntimeError, TypeError, AttributeError):
        return None
"""
    scope = {"plain": plain, "recorded": recorded, "forward_mode": torch.autograd.forward_ad, "records": torch.is_grad_enabled}
    scope["transforms"] = torch._C._functorch.peek_interpreter_stack
    exec(text, scope)
    return scope["direct"]  # type: ignore[return-value]


def is_transformed() -> bool:
    """Return True within `torch.compile` and the transforms of `torch.func`, where tensors have no values."""
    return torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None


def common_dtype(quantity: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the name of the type of all inputs. Raises InputError: arrays of other libraries, several types or devices, or
    unsupported ones."""
    first, q = next((name, x) for name, x in inputs.items() if library_of(x))
    for name, x in inputs.items():
        if not isinstance(x, torch.Tensor):
            raise mixed(name, x, first, q)
        if x.is_nested:
            raise InputError(
                f"{name} is a nested tensor: {name}.to_padded_tensor(0.0) makes one shape of it, or torch.stack its parts"
            )
        if x.dtype.is_complex:
            raise InputError(f"{name} holds {x.dtype}: real numbers are needed, float64 or float32")
        if x.dtype not in NAMES:
            fix = "q.double()" if not x.dtype.is_floating_point else "q.double() or q.float()"
            raise InputError(f"{name} holds {x.dtype}, float64 or float32 is needed: {fix.replace('q', name)}")
        if x.is_meta:
            raise InputError(f"{name} is on meta, where tensors have no values: make it on a CPU or an NVIDIA GPU")
        if x.device.type not in PLACES:
            raise InputError(f"{name} is on {x.device}: {quantity} runs on CPUs and NVIDIA GPUs; {name}.cpu() brings it there")
        if x.device != q.device:
            raise InputError(f"{name} is on {x.device}, but {first} is on {q.device}: {name}.to({first}.device) brings it there")
        if x.dtype != q.dtype:
            raise InputError(f"{name} holds {x.dtype}, but {first} holds {q.dtype}: {name}.to({q.dtype}) makes them one type")
        if x.layout != torch.strided:
            raise InputError(f"{name} is sparse: {name}.to_dense()")
    asked = options.get("dtype")
    if asked is not None and str(asked).rpartition(".")[2].rstrip("'>") != NAMES[q.dtype]:
        raise InputError(f"dtype={asked}, but {first} holds {q.dtype}: convert the tensors, {first}.to(...), and leave dtype out")
    if options.get("threads") is not None:
        raise InputError("threads belongs to NumPy arrays: PyTorch's own are set by torch.set_num_threads(n)")
    return NAMES[q.dtype]


def evenly(operation: Operation, inputs: Mapping[str, Any]) -> list[torch.Tensor]:
    """Return the inputs in the operation's order, with equal leading dimensions, without a copy."""
    program = operation.program
    given = [inputs[x.name] for x in program.inputs]
    tensors = [t.reshape(1) if t.ndim == 0 and x.shape == (1,) else t for t, x in zip(given, program.inputs)]
    found = leads(program, tensors)
    if all(lead == found[0] for lead in found):
        return tensors
    try:
        lead = torch.broadcast_shapes(*found)
    except RuntimeError:
        raise misfit(program, tensors) from None
    return [t.expand(*lead, *x.shape) for t, x in zip(tensors, program.inputs)]


def into(operation: Operation, tensors: list[torch.Tensor], out: Any) -> Any:
    """Compute into given tensors, and return them."""
    given = out if isinstance(out, tuple) else (out,)
    for x, target in zip(operation.program.outputs, given):
        if not isinstance(target, torch.Tensor):
            raise mixed(f"out for {x.name}", target, operation.program.inputs[0].name, tensors[0])
        if target.dtype != tensors[0].dtype or target.device != tensors[0].device:
            raise InputError(
                f"out for {x.name} holds {target.dtype} on {target.device}, the result is {tensors[0].dtype} on {tensors[0].device}"
            )
    if len(given) != len(operation.program.outputs):
        raise InputError(
            f"{operation.program.name} has {len(operation.program.outputs)} results: out is a tuple of as many tensors"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *given)):
        raise InputError("out= records no gradient: leave it out, or call under torch.no_grad()")
    if is_transformed():
        raise InputError("out= cannot be written within torch.compile or torch.func: use the result")
    if any(has_tangent(t) for t in (*tensors, *given)):
        raise InputError("out= records no tangent of forward mode: leave it out, or detach the inputs")
    lead = tensors[0].shape[: tensors[0].ndim - len(operation.program.inputs[0].shape)]
    for x, target in zip(operation.program.outputs, given):
        if tuple(target.shape) != (*lead, *x.shape):
            raise InputError(f"out for {x.name} has shape {tuple(target.shape)}, the result has {(*lead, *x.shape)}")
    places = [as_addresses(target) for target in given]
    refuse_shared(operation.program, places)
    torch.autograd.graph.increment_version(given)  # so that a graph that needs their old values raises an error
    if tensors[0].is_cuda:
        shared = any(np.may_share_memory(a, as_addresses(t)) for a in places for t in tensors)  # threads would overwrite inputs
        order = None if shared else layout([HANDLE.view(target) for target in given], [x.shape for x in operation.program.outputs])
        inputs = [t.detach() for t in tensors]
        found = operation.once(OnDevices).run(HANDLE, inputs, tuple(lead), given if order else None, order=order or ROWS)
        for target, values in zip(given, () if order else found):
            target.copy_(values)
        return out
    arrays = [t.detach().numpy() for t in tensors]
    targets = tuple([target.detach().numpy() for target in given])
    operation.kernel.run(arrays, targets, torch.get_num_threads())
    return out


def as_addresses(x: torch.Tensor) -> np.ndarray:
    """Return an array with the addresses of a tensor's numbers, only to compare addresses: they may be on a GPU."""
    view, item = HANDLE.view(x), x.itemsize
    strides = tuple(item * stride for stride in view.strides)
    places = {"data": (view.pointer, False), "shape": view.shape, "strides": strides, "typestr": f"<f{item}", "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__=places))


def constants(operation: Operation, like: torch.Tensor) -> Any:
    """Return the results for a robot without joints: constants if a quantity does not depend on q, else empty tensors."""
    lead = like.shape[: like.ndim - len(operation.program.inputs[0].shape)]
    found = [
        like.new_tensor([float(v) for v in x.values]).reshape(x.shape).expand(*lead, *x.shape).clone()
        for x in operation.program.outputs
    ]
    return found[0] if len(found) == 1 else tuple(found)


def run_checked(
    guests: Guests, quantity: str, inputs: Mapping[str, Any], check: Any, fixed: tuple, operation: Operation, tensors: list
) -> Any:
    """Return results on a GPU, checked by the notes of the kernel (see `late`). Raises InputError: a gradient is recorded as well,
    for which there is no check; SingularityError: a result is not finite, in this call or an earlier one."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        raise InputError("check= on a GPU records no gradient: leave it out, and look at the result, or call under torch.no_grad()")
    devices = operation.once(OnDevices)
    kernel = devices.kernel(tensors[0].get_device())
    raise_earlier(quantity, check, kernel)
    lead = tensors[0].shape[: tensors[0].ndim - len(operation.program.inputs[0].shape)]
    found = devices.run(HANDLE, tensors, tuple(lead), check=check)
    raise_now(guests, quantity, inputs, check, fixed, HANDLE, kernel)
    return found[0] if len(found) == 1 else tuple(found)
