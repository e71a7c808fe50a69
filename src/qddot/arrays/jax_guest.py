"""JAX arrays: operations as two primitives, lowered to machine code that XLA calls.

`value` is an operation, `rate` its derivative along rates of the inputs; it is linear in these, so its transpose is the gradient.
With these rules every transform of JAX works, to any order. `jax.custom_jvp` with `linear_call` would be shorter, but has no rule
for `vmap`.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from qddot.arrays.operation import Operation
from qddot.arrays.xla_ir import call_loop, handler
from qddot.compile.llvm import load_module, this_computer
from qddot.errors import InputError

_kept: list[Any] = []  # XLA keeps targets for ever, so their code must never be freed


def target(operation: Operation) -> str:
    """Return the name under which the machine code of an operation is registered with XLA."""
    return registered(operation, handler(operation, call_loop(operation)), "cpu")


def cuda_target(operation: Operation) -> str:
    """Return the name of the target for GPUs, which are all taken to be of the type of the first."""
    from qddot.arrays.on_device import OnDevices
    from qddot.arrays.xla_cuda_ir import CAPTURED, launch

    return registered(operation, handler(operation, launch(operation, operation.once(OnDevices).kernel(0)), CAPTURED), "CUDA")


def registered(operation: Operation, lines: Iterable[str], platform: str) -> str:
    """Register a handler with XLA, and return its name."""
    code = load_module("\n".join(lines), "handler", this_computer(), kept=False)
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = f"qddot_{operation.name}"
    jax.ffi.register_ffi_target(name, capsule(code.loop, None, None), platform=platform)
    _kept.append((operation, code))
    return name


def lead_of(operation: Operation, arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the leading dimensions of a call: each input has them, or none."""
    return max((a.shape[: a.ndim - len(x.shape)] for a, x in zip(arrays, operation.program.inputs)), key=len)


def run(operation: Operation, arrays: Sequence[Any], name: Callable[[Operation], str]) -> list[Any]:
    """Call the machine code by JAX's foreign function interface."""
    lead = lead_of(operation, arrays)
    out = [jax.ShapeDtypeStruct((*lead, *x.shape), operation.dtype) for x in operation.program.outputs]
    return list(jax.ffi.ffi_call(operation.once(name), out)(*arrays))


def primitive(name: str, of: Callable[..., Operation]) -> Primitive:
    """Return a primitive whose parameters determine the operation, by `of`."""
    p = Primitive(name)
    p.multiple_results = True

    def lowered(name):
        return mlir.lower_fun(lambda *arrays, **which: run(of(**which), arrays, name), multiple_results=True)

    def elsewhere(ctx, *arrays, **which):
        raise InputError(
            f"{of(**which).program.name} runs on CPUs and NVIDIA GPUs, not on {ctx.module_context.platforms[0]}: move its inputs "
            "with jax.device_put(q, jax.devices('cpu')[0])"
        )

    @cache
    def jitted(**which):
        return jax.jit(lambda *arrays: p.bind(*arrays, **which))

    def at_once(*arrays, **which):
        with jax.disable_jit(False):  # with jit disabled, this would call itself without end
            return jitted(**which)(*arrays)

    p.def_impl(at_once)
    p.def_abstract_eval(lambda *avals, **which: results(of(**which), avals))
    mlir.register_lowering(p, lowered(target), platform="cpu")
    mlir.register_lowering(p, lowered(cuda_target), platform="cuda")
    mlir.register_lowering(p, elsewhere)

    def batched(arrays, axes, **which):
        operation = of(**which)
        inner = [
            jax.core.ShapedArray(a.shape if d is None else a.shape[:d] + a.shape[d + 1 :], a.dtype) for a, d in zip(arrays, axes)
        ]
        lead = (next(a.shape[d] for a, d in zip(arrays, axes) if d is not None), *lead_of(operation, inner))
        full = []
        for a, d, x in zip(arrays, axes, operation.program.inputs):
            if d is None and a.ndim == len(x.shape):
                full.append(a)  # a single state keeps no leading dimensions
                continue
            a = a[None] if d is None else jnp.moveaxis(a, d, 0)
            if a.ndim == 1 + len(x.shape):
                a = a.reshape(a.shape[0], *[1] * (len(lead) - 1), *x.shape)
            full.append(jnp.broadcast_to(a, (*lead, *x.shape)))
        found = p.bind(*full, **which)
        return found, [0] * len(found)

    batching.primitive_batchers[p] = batched

    def jvp(arrays, rates, **which):
        operation = of(**which)
        moving = tuple(i for i, rate in enumerate(rates) if not isinstance(rate, ad.Zero))
        found = p.bind(*arrays, **which)
        return found, rate_p.bind(*arrays, *(rates[i] for i in moving), operation=operation, inputs=moving)

    ad.primitive_jvps[p] = jvp
    return p


def results(operation: Operation, avals: Sequence[Any]) -> list[Any]:
    """Return the shapes and types of the results; within `shard_map` they vary over the mesh as the inputs do."""
    lead, like = lead_of(operation, avals), max(avals, key=lambda a: a.ndim)
    shapes = [(*lead, *x.shape) for x in operation.program.outputs]
    if not getattr(like, "manual_axis_type", None):
        return [jax.core.ShapedArray(s, operation.dtype) for s in shapes]
    spec = jax.sharding.PartitionSpec
    return [like.update(shape=s, sharding=like.sharding.update(spec=spec(*[None] * len(s)))) for s in shapes]


value_p = primitive("qddot", lambda operation: operation)
rate_p = primitive("qddot_rate", lambda operation, inputs: operation.tangent(inputs))


def transposed(weights, *arrays, operation: Operation, inputs: tuple[int, ...]):
    """Return the transpose of `rate`: the gradients of the weighted results with respect to the chosen inputs."""
    n = len(operation.program.inputs)
    lead = lead_of(operation.tangent(inputs), [a.aval if ad.is_undefined_primal(a) else a for a in arrays])
    full = [
        jnp.zeros((*lead, *x.shape), operation.dtype) if isinstance(w, ad.Zero) else w
        for w, x in zip(weights, operation.program.outputs)
    ]
    slopes = value_p.bind(*arrays[:n], *full, operation=operation.cotangent(inputs))
    back = []
    for rate, slope in zip(arrays[n:], slopes):
        spread = slope.ndim - rate.aval.ndim if ad.is_undefined_primal(rate) else 0
        back.append(slope.sum(tuple(range(spread))) if spread else slope)
    return [None] * n + [b if ad.is_undefined_primal(r) else None for b, r in zip(back, arrays[n:])]


ad.primitive_transposes[rate_p] = transposed
