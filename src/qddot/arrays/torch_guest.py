"""PyTorch tensors: operations as native operators, with derivatives of any order in both modes, under every transform.

Each operation becomes two operators. The inner one is machine code for the CPU or a kernel for a GPU, without derivatives; the
outer one has a kernel for the dispatch key Autograd, an `autograd.Function` with rules for both modes. If nothing is
differentiated, the inner one is called directly; a compiled graph has only inner ones, forward and backward, so that no Python
runs in it.
`torch.library.register_autograd` would be shorter, but with it `torch.func.jacfwd` silently returns zeros.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch import autograd_function

from qddot.arrays.operation import Operation
from qddot.arrays.torch_cpu import OnCpu
from qddot.arrays.torch_cuda import OnCuda
from qddot.arrays.torch_ir import Target, boxed, libtorch
from qddot.compile.llvm import load_module, this_computer
from qddot.errors import InputError

NAMESPACE = "qddot"

_kept: list[Any] = []  # PyTorch keeps operators for ever, so their code must never be freed

single_level = getattr(torch.autograd.function, "_SingleLevelFunction", None)
allowed = getattr(autograd_function, "enable_single_level_autograd_function", None)
below_autograd = getattr(torch._C, "_AutoDispatchBelowAutograd", None)
forward_mode = getattr(torch.autograd.forward_ad, "_set_fwd_grad_enabled", None)
if None in (single_level, allowed, below_autograd, forward_mode):  # torch.func itself is made of them
    raise InputError(f"PyTorch {torch.__version__} keeps torch.func elsewhere: qddot knows it as of PyTorch 2.10 to 2.15")


def inner(operation: Operation) -> Any:
    """Return the operator without derivatives."""
    return operation.once(native_operator)


def outer(operation: Operation) -> Any:
    """Return the operator with derivatives."""
    return operation.once(differentiable_operator)


def operator_name(operation: Operation) -> str:
    """Return the operator's name, which torch.compile can keep in a graph."""
    return outer(operation)._schema.name.partition("::")[2]


def recorded(operation: Operation) -> Any:
    """Return the function with derivatives for calls without transforms."""
    return operation.once(recording)


def native_operator(operation: Operation) -> Any:
    """Register machine code with PyTorch's dispatcher by its C interface, for the CPU, and for GPUs if there are any."""
    library, name, definition = libtorch(), operation.name, ctypes.c_void_p()
    told(library.aoti_torch_library_init_fragment(NAMESPACE.encode(), b"", 0, ctypes.byref(definition)), name)
    told(library.aoti_torch_library_def(definition, f"{name}{schema(operation)}".encode()), name)
    _kept.append((operation, definition))
    for target in (OnCpu, OnCuda) if torch.version.hip is None and torch.cuda.is_available() else (OnCpu,):
        implement(name, operation, operation.once(target))
    return with_rules(name, operation)


def implement(name: str, operation: Operation, target: Target) -> None:
    """Register an operator's code for one kind of device."""
    library, implementation = libtorch(), ctypes.c_void_p()
    code = load_module("\n".join(boxed(operation, target)), "op", this_computer(), kept=False)
    told(library.aoti_torch_library_init_impl(NAMESPACE.encode(), target.key.encode(), b"", 0, ctypes.byref(implementation)), name)
    told(library.aoti_torch_library_impl(implementation, name.encode(), ctypes.c_void_p(code.loop)), name)
    _kept.append((target, code, implementation))


def told(failed: int, name: str) -> None:
    """Raise InputError if PyTorch has refused an operator."""
    if failed:
        raise InputError(f"PyTorch {torch.__version__} refuses the operator {NAMESPACE}::{name}")


def differentiable_operator(operation: Operation) -> Any:
    """Register the operator with derivatives, and return it."""
    name = f"{operation.name}_d"
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    library.define(f"{name}{schema(operation)}")
    plain, rules = inner(operation), derivative_rules(operation)

    def differentiated(*tensors: torch.Tensor) -> Any:
        with allowed():  # type: ignore[misc]
            return rules.apply(*tensors)

    library.impl(name, differentiated, "Autograd")
    for key in ("CPU", "CUDA"):
        library.impl(name, plain, key)
    _kept.append(library)
    return with_rules(name, operation)


def derivative_rules(operation: Operation) -> Any:
    """Return the `autograd.Function` of an operation, for one level of transforms: value, vector-Jacobian and Jacobian-vector
    product."""
    plain = inner(operation)

    class Rules(single_level):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(*tensors):
            if torch._C._functorch.peek_interpreter_stack() is None:
                with below_autograd():  # type: ignore[misc]
                    return plain(*tensors)
            # the level below may differentiate too: both modes are off here, and must be on there
            with torch.enable_grad(), forward_mode(True), below_autograd():  # type: ignore[misc]
                return outer(operation)(*tensors)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, *weights):
            return gradients(operation, outer, ctx, weights)

        @staticmethod
        def jvp(ctx, *rates):
            moving = [i for i, rate in enumerate(rates) if rate is not None]
            return outer(operation.tangent(moving))(*ctx.saved_tensors, *(rates[i] for i in moving))

    return Rules


def recording(operation: Operation) -> Any:
    """Return the `autograd.Function` of an operation for calls without transforms, which takes a third of the time."""
    plain, back = at_once(operation), {}

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            return plain(*tensors)

        @staticmethod
        def backward(ctx, *weights):
            if is_followed():
                return gradients(operation, recorded, ctx, weights)
            needed = ctx.needs_input_grad
            if needed not in back:
                back[needed] = operation.cotangent([i for i, wanted in enumerate(needed) if wanted])
            tensors = (*ctx.saved_tensors, *weights)
            found = called(back[needed], at_once(back[needed]), tensors)
            return found if all(needed) else spread(found, needed)

        @staticmethod
        def jvp(ctx, *rates):
            moving = [i for i, rate in enumerate(rates) if rate is not None]
            return recorded(operation.tangent(moving))(*ctx.saved_tensors, *(rates[i] for i in moving))

    return Recorded.apply


def is_followed() -> bool:
    """Return True if the gradients being computed may be differentiated again: by create_graph=True, or by forward mode."""
    return torch.is_grad_enabled() or torch.autograd.forward_ad._current_level >= 0


def at_once(operation: Operation) -> Callable[..., Any]:
    """Return the fastest function for the value, for tensors with values and without derivatives."""
    return inner(operation)._op


def called(operation: Operation, way: Callable[..., Any], tensors: Sequence[Any]) -> Any:
    """Call an operator, and raise the driver's errors instead of PyTorch's. Raises DeviceError: there is no code for a device, or
    it failed."""
    try:
        return way(*tensors)
    except RuntimeError:
        error = operation.once(OnCuda).taken() if tensors[0].is_cuda else None
        if error is not None:
            raise error from None
        raise


def gradients(operation: Operation, way: Callable[[Operation], Callable], ctx: Any, weights: Sequence[Any]) -> tuple:
    """Return the gradients of the weighted results with respect to the inputs that need them, None for the others."""
    wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
    found = way(operation.cotangent(wanted))(*ctx.saved_tensors, *weights)
    return spread(found, ctx.needs_input_grad)


def spread(found: Any, needed: Sequence[bool]) -> tuple:
    """Return slopes in the places where they are needed, None in the others."""
    slopes = iter(found if isinstance(found, (tuple, list)) else (found,))
    return tuple(next(slopes) if wanted else None for wanted in needed)


def with_rules(name: str, operation: Operation) -> Any:
    """Return the operator of that name, after registering its shapes for tensors without values and its rule for `vmap`."""
    program, single = operation.program, len(operation.program.outputs) == 1
    rank = len(program.inputs[0].shape)

    def fake(*tensors: torch.Tensor) -> Any:
        lead = tensors[0].shape[: tensors[0].ndim - rank]
        for t, x in zip(tensors, program.inputs):
            if t.device != tensors[0].device or t.dtype != tensors[0].dtype or tuple(t.shape) != (*lead, *x.shape):
                raise RuntimeError(f"{program.name} needs tensors of one type, device and leading shape")
        made = tuple(tensors[0].new_empty((*lead, *x.shape)) for x in program.outputs)
        return made[0] if single else made

    torch.library.register_fake(f"{NAMESPACE}::{name}", fake)
    operator = getattr(getattr(torch.ops, NAMESPACE), name).default

    def batched(info: Any, dims: Sequence[int | None], *tensors: torch.Tensor) -> Any:
        pairs = zip(tensors, dims)
        full = [t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0) for t, d in pairs]
        found = operator(*full)
        return found, (0 if single else (0,) * len(program.outputs))

    torch.library.register_vmap(f"{NAMESPACE}::{name}", batched)
    return operator


def schema(operation: Operation) -> str:
    """Return the signature of an operator."""
    inputs = ", ".join(f"Tensor a{i}" for i in range(len(operation.program.inputs)))
    outputs = ", ".join("Tensor" for _ in operation.program.outputs)
    return f"({inputs}) -> {outputs if len(operation.program.outputs) == 1 else f'({outputs})'}"
