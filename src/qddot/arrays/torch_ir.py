"""IR of an operation as a kernel of PyTorch's dispatcher, by PyTorch's stable C ABI.

`void op(StableIValue *stack, uint64_t n_args, uint64_t n_outs)` gets handles of tensors, which it must delete, and returns handles
of new ones. Device, type and shape of every tensor are checked before its memory is used; errors are thrown as PyTorch's own
exception. Tensors are read with any strides; only if their leading dimensions have no common step are they copied first.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from qddot.arrays.operation import PRODUCT, Operation, core_steps, needs, text_constant
from qddot.compile.lanes import MEMCPY
from qddot.compile.phrases import at, constant, counted, put
from qddot.errors import InputError

OLDEST = (2, 10)
"""The first version of PyTorch whose stable ABI has all of `NEEDED`."""

NEEDED = (
    "aoti_torch_get_dtype",
    "aoti_torch_get_device_type",
    "aoti_torch_get_dim",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_data_ptr",
    "aoti_torch_empty_strided",
    "aoti_torch_delete_tensor_object",
    "aoti_torch_call_dispatcher",
    "aoti_torch_check",
    "torch_parallel_for",
    "aoti_torch_library_init_fragment",
    "aoti_torch_library_def",
    "aoti_torch_library_init_impl",
    "aoti_torch_library_impl",
)

MOST_DIMENSIONS = 60
"""Most leading dimensions of a tensor."""


@cache
def libtorch() -> Any:
    """Return PyTorch's library. Raises InputError: its C interface is unknown."""
    import torch

    found = next(iter((Path(str(torch.__file__)).parent / "lib").glob("*torch_cpu.*")), None)
    library = ctypes.CDLL(str(found)) if found else None
    if library is None or not hasattr(library, "aoti_torch_abi_version"):
        raise InputError(
            f"PyTorch {torch.__version__} has no stable C interface: qddot needs PyTorch {OLDEST[0]}.{OLDEST[1]} or newer"
        )
    library.aoti_torch_abi_version.restype = ctypes.c_uint64
    version = library.aoti_torch_abi_version()
    major, minor = version >> 56, version >> 48 & 0xFF
    refuse_unknown_abi(major, minor, [name for name in NEEDED if not hasattr(library, name)])
    return library


def refuse_unknown_abi(major: int, minor: int, missing: list[str]) -> None:
    """Refuse an unknown ABI before anything is registered with PyTorch, which cannot be undone."""
    if major != OLDEST[0] or (major, minor) < OLDEST or missing:
        lacks = f" without {', '.join(missing)}" if missing else ""
        raise InputError(
            f"PyTorch's C interface is version {major}.{minor}{lacks}; qddot knows that of PyTorch {OLDEST[0]}.{OLDEST[1]} and "
            f"later versions {OLDEST[0]}.x: install such a version, or hand over NumPy arrays (q.numpy())"
        )


class Target(Protocol):
    """The parts of an operator that depend on the device of its tensors."""

    key: str  # the dispatch key
    device: int  # PyTorch's number for the type of device
    place: str  # the device in words, for messages

    def declarations(self) -> Iterable[str]: ...
    def number(self) -> Iterable[str]:
        """Yield IR for %number, the index of the first tensor's device among those of its type."""
        ...

    def fits(self, i: int, after: str) -> Iterable[str]:
        """Yield the block `fits<i>`, for an input that has a common step, which jumps to `after`, `copy<i>` or `wrong`."""
        ...

    def run(self) -> Iterable[str]:
        """Yield IR that computes, and jumps to `done` or `failed`."""
        ...


def boxed(operation: Operation, target: Target) -> Iterable[str]:
    """Yield the module with `@op`."""
    program, item = operation.program, operation.dtype.itemsize
    n_in, n = len(program.inputs), len(program.inputs) + len(program.outputs)
    core, kind = core_steps(program, item), libtorch()[f"aoti_torch_dtype_{operation.dtype.name}"]()
    yield from texts(operation, target.place)
    yield from (MEMCPY, PRODUCT)
    yield from examine(item, kind, target.device)
    yield from made(kind, target.device)
    yield from deleted(n_in)
    yield from target.declarations()
    yield f"""define void @op(ptr %stack, i64 %nargs, i64 %nouts) uwtable {{
%call = alloca {{ [{n} x ptr], [{n + len(core)} x i64] }}
%steps = getelementptr i8, ptr %call, i64 {8 * n}
%two = alloca [2 x i64]
%sizes = alloca [64 x i64]
%word = alloca i64
%first = load ptr, ptr %stack"""
    yield from target.number()
    yield asked("%dim", "dim", "%first", "i64")
    yield asked("%lead_sizes", "sizes", "%first", "ptr")
    yield f"""%lead = sub i64 %dim, {len(program.inputs[0].shape)}
%much = icmp ugt i64 %lead, {MOST_DIMENSIONS}
br i1 %much, label %wrong, label %few
few:
%lead_bytes = mul i64 %lead, 8
call void @llvm.memcpy.p0.p0.i64(ptr %sizes, ptr %lead_sizes, i64 %lead_bytes, i1 false)
%count = call i64 @product(ptr %sizes, i64 %lead)
br label %input0"""
    place = n
    for i, x in enumerate(program.inputs):
        after = f"input{i + 1}" if i + 1 < n_in else "outputs"
        want, where = f"ptr @shape{i}, i64 {len(x.shape)}, ptr %sizes, i64 %lead", f"ptr %data{i}, ptr %step{i}, ptr %core{i}"
        yield f"""input{i}:
%data{i} = getelementptr ptr, ptr %call, i64 {i}
%step{i} = getelementptr i64, ptr %steps, i64 {i}
%core{i} = getelementptr i64, ptr %steps, i64 {place}
%slot{i} = getelementptr ptr, ptr %stack, i64 {i}
%t{i} = load ptr, ptr %slot{i}
%r{i} = call i32 @examine(ptr %t{i}, {want}, {where})
switch i32 %r{i}, label %wrong [ i32 0, label %fits{i} i32 1, label %copy{i} ]"""
        yield from target.fits(i, after)
        yield f"""copy{i}:
store ptr %t{i}, ptr %two
{put("i64 0", "%two", 1, f"%format{i}")}
store ptr null, ptr %slot{i}
%ec{i} = call i32 {address("aoti_torch_call_dispatcher")}(ptr @contiguous, ptr @empty, ptr %two)
%fails{i} = icmp ne i32 %ec{i}, 0
br i1 %fails{i}, label %wrong, label %copied{i}
copied{i}:
%c{i} = load ptr, ptr %two
store ptr %c{i}, ptr %slot{i}
%s{i} = call i32 @examine(ptr %c{i}, {want}, {where})
%fine{i} = icmp eq i32 %s{i}, 0
br i1 %fine{i}, label %{after}, label %wrong"""
        place += len(x.shape)
    yield "outputs:\n%own_sizes = getelementptr i64, ptr %sizes, i64 %lead"
    for k, x in enumerate(program.outputs):
        for d, size in enumerate(x.shape):
            yield put(f"i64 {size}", "%own_sizes", d, f"%size{k}_{d}")
            yield put(f"i64 {core[place - n]}", "%steps", place, f"%within{k}_{d}")
            place += 1
        yield put(f"i64 {x.size * item}", "%steps", n_in + k, f"%from_state{k}")
        yield f"""%rank{k} = add i64 %lead, {len(x.shape)}
%broken{k} = call i1 @made(ptr %sizes, i64 %rank{k}, i32 %number, ptr %word)
br i1 %broken{k}, label %wrong, label %room{k}
room{k}:
%out{k} = load ptr, ptr %word
%op{k} = getelementptr ptr, ptr %call, i64 {n_in + k}
%eo{k} = call i32 {address("aoti_torch_get_data_ptr")}(ptr %out{k}, ptr %op{k})"""
    yield from target.run()
    yield "done:\ncall void @deleted(ptr %stack)"
    for k in range(len(program.outputs)):
        yield put(f"ptr %out{k}", "%stack", k, f"%result{k}")
    yield "ret void\nfailed:"
    for k in range(len(program.outputs)):
        yield f"%ef{k} = call i32 {address('aoti_torch_delete_tensor_object')}(ptr %out{k})"
    yield f"""br label %wrong
wrong:
call void @deleted(ptr %stack)
call void {address("aoti_torch_check")}(i1 0, ptr @where, ptr @where, i32 0, ptr @message)
ret void
}}"""


def asked(name: str, what: str, tensor: str, kind: str) -> str:
    """Return IR that asks PyTorch about a tensor, by way of %word."""
    return f"{name}_e = call i32 {address(f'aoti_torch_get_{what}')}(ptr {tensor}, ptr %word)\n{name} = load {kind}, ptr %word"


def examine(item: int, kind: int, device: int) -> Iterable[str]:
    """Define `i32 examine(tensor, shape, rank, lead_sizes, lead, data, step, core)`: 0 if a tensor can be read without a copy, with
    its address, its step from state to state and its steps within one; 1 if its states have no common step; 2 if it must be
    refused."""
    wanted, found = "ptr %shape, i64 %rank, ptr %lead_sizes, i64 %lead", "ptr %data, ptr %step, ptr %core"
    yield f"define internal i32 @examine(ptr %t, {wanted}, {found}) {{\n%word = alloca i64"
    yield asked("%type", "dtype", "%t", "i32")
    yield asked("%place", "device_type", "%t", "i32")
    yield asked("%dim", "dim", "%t", "i64")
    yield f"""%real = icmp eq i32 %type, {kind}
%here = icmp eq i32 %place, {device}
%both = add i64 %lead, %rank
%alike = icmp eq i64 %dim, %both
%a = and i1 %real, %here
%b = and i1 %a, %alike
br i1 %b, label %look, label %no
look:"""
    yield asked("%sizes", "sizes", "%t", "ptr")
    yield asked("%strides", "strides", "%t", "ptr")
    yield f"%e = call i32 {address('aoti_torch_get_data_ptr')}(ptr %t, ptr %data)\nstore i64 0, ptr %step"
    body = [at("%want", "%shape", "%d", "i64"), "%at = add i64 %lead, %d", at("%got", "%sizes", "%at", "i64")]
    body += ["%same = icmp eq i64 %want, %got\nbr i1 %same, label %fine, label %no\nfine:", at("%r", "%strides", "%at", "i64")]
    yield from counted("d", "%rank", [*body, f"%bytes = mul i64 %r, {item}", put("i64 %bytes", "%core", "%d", "%c")])
    # from the last dimension to the first: `reach` is the stride that the next one must have, -1 at the beginning
    yield f"""br label %lead_head
lead_head:
%k = phi i64 [ %lead, %d_done ], [ %k1, %lead_next ]
%reach = phi i64 [ -1, %d_done ], [ %reach1, %lead_next ]
%odd = phi i32 [ 0, %d_done ], [ %odd1, %lead_next ]
%on = icmp sgt i64 %k, 0
%k1 = sub i64 %k, 1
br i1 %on, label %lead_body, label %yes
lead_body:
{at("%l", "%lead_sizes", "%k1", "i64")}
{at("%s", "%sizes", "%k1", "i64")}
%equal = icmp eq i64 %l, %s
br i1 %equal, label %lead_size, label %no
lead_size:
%one = icmp sle i64 %s, 1
br i1 %one, label %lead_next, label %lead_step
lead_step:
{at("%stride", "%strides", "%k1", "i64")}
%next = mul i64 %stride, %s
%inner = icmp eq i64 %reach, -1
%far = mul i64 %stride, {item}
%before = load i64, ptr %step
%chosen = select i1 %inner, i64 %far, i64 %before
store i64 %chosen, ptr %step
%joins = icmp eq i64 %stride, %reach
%fits = or i1 %inner, %joins
%odd2 = select i1 %fits, i32 %odd, i32 1
br label %lead_next
lead_next:
%reach1 = phi i64 [ %reach, %lead_size ], [ %next, %lead_step ]
%odd1 = phi i32 [ %odd, %lead_size ], [ %odd2, %lead_step ]
br label %lead_head
yes:
ret i32 %odd
no:
ret i32 2
}}"""


def made(kind: int, device: int) -> Iterable[str]:
    """Define `i1 made(sizes, rank, number, place)`, which makes a contiguous tensor on the device of that number, and stores its
    handle at a place. It returns true if it fails."""
    yield f"""define internal i1 @made(ptr %sizes, i64 %rank, i32 %number, ptr %place) {{
entry:
%strides = alloca [64 x i64]
br label %head
head:
%d = phi i64 [ %rank, %entry ], [ %d1, %body ]
%stride = phi i64 [ 1, %entry ], [ %next, %body ]
%more = icmp sgt i64 %d, 0
br i1 %more, label %body, label %known
body:
%d1 = sub i64 %d, 1
{put("i64 %stride", "%strides", "%d1", "%own")}
{at("%size", "%sizes", "%d1", "i64")}
%next = mul i64 %stride, %size
br label %head
known:"""
    given = f"i64 %rank, ptr %sizes, ptr %strides, i32 {kind}, i32 {device}, i32 %number, ptr %place"
    yield f"%e = call i32 {address('aoti_torch_empty_strided')}({given})\n%failed = icmp ne i32 %e, 0\nret i1 %failed\n}}"


def deleted(count: int) -> Iterable[str]:
    """Define `deleted(stack)`, which deletes the handles of the inputs."""
    yield "define internal void @deleted(ptr %stack) {"
    delete = f"%e = call i32 {address('aoti_torch_delete_tensor_object')}(ptr %h)"
    yield from counted("i", str(count), [at("%h", "%stack", "%i", "ptr"), delete])
    yield "ret void\n}"


def texts(operation: Operation, place: str) -> Iterable[str]:
    """Define the constant texts, and the shapes of the inputs."""
    for name, text in (
        ("message", needs(operation, f"tensors on {place}, of")),
        ("where", "qddot"),
        ("contiguous", "aten::contiguous"),
        ("empty", ""),
    ):
        yield text_constant(name, text)
    for i, x in enumerate(operation.program.inputs):
        sizes = ", ".join(f"i64 {s}" for s in x.shape) or "i64 0"
        yield f"@shape{i} = private constant [{max(1, len(x.shape))} x i64] [{sizes}]"


def address(name: str) -> str:
    """Return the address of a function of PyTorch, as a constant of IR."""
    return constant(ctypes.cast(getattr(libtorch(), name), ctypes.c_void_p).value)
