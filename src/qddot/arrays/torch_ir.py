"""IR of an operation as a kernel of PyTorch's dispatcher, by PyTorch's stable C ABI.

`void op(StableIValue *stack, uint64_t n_args, uint64_t n_outs)` gets handles of tensors, which it must delete, and returns handles
of new ones. Device, type and shape of every tensor are checked before its memory is used; errors are thrown as PyTorch's own
exception. Tensors are read with any strides; only if their leading dimensions have no common step are they copied first.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from qddot.arrays.operation import Operation, core_steps, quoted
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
    core = core_steps(program, item)
    yield from texts(operation, target.place)
    yield from examine(item, target.device)
    yield from target.declarations()
    yield """define void @op(ptr %stack, i64 %nargs, i64 %nouts) uwtable {
entry:"""
    yield f"""%call = alloca {{ [{n} x ptr], [{n + len(core)} x i64] }}
%steps = getelementptr i8, ptr %call, i64 {8 * n}"""
    yield """%two = alloca [2 x i64]
%sizes = alloca [64 x i64]
%strides = alloca [64 x i64]
%word = alloca i64
%from = alloca ptr"""
    yield "%first = load ptr, ptr %stack"
    yield from target.number()
    yield f"""%e1 = call i32 {address("aoti_torch_get_dim")}(ptr %first, ptr %word)
%dim = load i64, ptr %word"""
    yield f"""%e2 = call i32 {address("aoti_torch_get_sizes")}(ptr %first, ptr %from)
%lead_sizes = load ptr, ptr %from"""
    yield f"%lead = sub i64 %dim, {len(program.inputs[0].shape)}"
    yield f"""%much = icmp ugt i64 %lead, {MOST_DIMENSIONS}
br i1 %much, label %wrong, label %lead_head"""
    yield """lead_head:
%k = phi i64 [ 0, %entry ], [ %k1, %lead_body ]
%count = phi i64 [ 1, %entry ], [ %count1, %lead_body ]"""
    yield """%more = icmp slt i64 %k, %lead
br i1 %more, label %lead_body, label %input0
lead_body:"""
    yield """%lp = getelementptr i64, ptr %lead_sizes, i64 %k
%l = load i64, ptr %lp
%ls = getelementptr i64, ptr %sizes, i64 %k"""
    yield """store i64 %l, ptr %ls
%count1 = mul i64 %count, %l
%k1 = add i64 %k, 1
br label %lead_head"""
    at = n
    for i, x in enumerate(program.inputs):
        after = f"input{i + 1}" if i + 1 < n_in else "outputs"
        want, where = f"ptr @shape{i}, i64 {len(x.shape)}, ptr %sizes, i64 %lead", f"ptr %data{i}, ptr %step{i}, ptr %core{i}"
        look = f"call i32 @examine(ptr %T{i}, {want}, {where})"
        yield f"""input{i}:
%data{i} = getelementptr ptr, ptr %call, i64 {i}
%step{i} = getelementptr i64, ptr %steps, i64 {i}"""
        yield f"""%core{i} = getelementptr i64, ptr %steps, i64 {at}
%slot{i} = getelementptr ptr, ptr %stack, i64 {i}"""
        yield f"""%t{i} = load ptr, ptr %slot{i}
%r{i} = {look.replace("%T", "%t")}"""
        yield f"switch i32 %r{i}, label %wrong [ i32 0, label %fits{i} i32 1, label %copy{i} ]"
        yield from target.fits(i, after)
        yield f"""copy{i}:
store ptr %t{i}, ptr %two
%format{i} = getelementptr i64, ptr %two, i64 1
store i64 0, ptr %format{i}
store ptr null, ptr %slot{i}"""
        yield f"%ec{i} = call i32 {address('aoti_torch_call_dispatcher')}(ptr @contiguous, ptr @empty, ptr %two)"
        yield f"""%fails{i} = icmp ne i32 %ec{i}, 0
br i1 %fails{i}, label %wrong, label %copied{i}
copied{i}:"""
        yield f"""%c{i} = load ptr, ptr %two
store ptr %c{i}, ptr %slot{i}
%s{i} = {look.replace("%T", "%c")}"""
        yield f"""%fine{i} = icmp eq i32 %s{i}, 0
br i1 %fine{i}, label %{after}, label %wrong"""
        at += len(x.shape)
    yield "outputs:"
    before = "outputs"
    for k, x in enumerate(program.outputs):
        yield f"%nd{k} = add i64 %lead, {len(x.shape)}"
        for d, s in enumerate(x.shape):
            yield f"""%cd{k}_{d} = add i64 %lead, {d}
%cs{k}_{d} = getelementptr i64, ptr %sizes, i64 %cd{k}_{d}
store i64 {s}, ptr %cs{k}_{d}"""
            yield f"""%ct{k}_{d} = getelementptr i64, ptr %strides, i64 %cd{k}_{d}
store i64 {math.prod(x.shape[d + 1 :])}, ptr %ct{k}_{d}"""
            step = f"%co{k}_{d} = getelementptr i64, ptr %steps, i64 {at + d}\nstore i64 {core[at + d - n]}, ptr %co{k}_{d}"
            yield step
        at += len(x.shape)
        yield f"""br label %head{k}
head{k}:
%j{k} = phi i64 [ %lead, %{before} ], [ %i{k}, %body{k} ]"""
        yield f"""%st{k} = phi i64 [ {x.size}, %{before} ], [ %su{k}, %body{k} ]
%go{k} = icmp sgt i64 %j{k}, 0"""
        yield f"""br i1 %go{k}, label %body{k}, label %ready{k}
body{k}:
%i{k} = sub i64 %j{k}, 1"""
        yield f"""%fp{k} = getelementptr i64, ptr %sizes, i64 %i{k}
%sz{k} = load i64, ptr %fp{k}
%up{k} = getelementptr i64, ptr %strides, i64 %i{k}"""
        yield f"""store i64 %st{k}, ptr %up{k}
%su{k} = mul i64 %st{k}, %sz{k}
br label %head{k}
ready{k}:"""
        code, sized = libtorch()[f"aoti_torch_dtype_{operation.dtype.name}"](), f"i64 %nd{k}, ptr %sizes, ptr %strides"
        made = f"{sized}, i32 {code}, i32 {target.device}, i32 %number, ptr %word"
        yield f"%em{k} = call i32 {address('aoti_torch_empty_strided')}({made})"
        yield f"""%broken{k} = icmp ne i32 %em{k}, 0
br i1 %broken{k}, label %wrong, label %room{k}
room{k}:
%out{k} = load ptr, ptr %word"""
        yield f"""%op{k} = getelementptr ptr, ptr %call, i64 {n_in + k}
%os{k} = getelementptr i64, ptr %steps, i64 {n_in + k}"""
        yield f"""store i64 {x.size * item}, ptr %os{k}
%eo{k} = call i32 {address("aoti_torch_get_data_ptr")}(ptr %out{k}, ptr %op{k})"""
        before = f"room{k}"
    yield from target.run()
    yield "done:"
    yield from delete_inputs(n_in, "x")
    for k in range(len(program.outputs)):
        yield f"""%rp{k} = getelementptr ptr, ptr %stack, i64 {k}
store ptr %out{k}, ptr %rp{k}"""
    yield """ret void
failed:"""
    for k in range(len(program.outputs)):
        yield f"%ef{k} = call i32 {address('aoti_torch_delete_tensor_object')}(ptr %out{k})"
    yield """br label %wrong
wrong:"""
    yield from delete_inputs(n_in, "y")
    yield f"""call void {address("aoti_torch_check")}(i1 0, ptr @where, ptr @where, i32 0, ptr @message)
ret void
}}"""


def examine(item: int, device: int) -> Iterable[str]:
    """Define `i32 examine(tensor, shape, rank, lead_sizes, lead, data, step, core)`: 0 if a tensor can be read without a copy, with
    its address, its step from state to state and its steps within one; 1 if its states have no common step; 2 if it must be
    refused."""
    name = {8: "float64", 4: "float32"}[item]
    code = libtorch()[f"aoti_torch_dtype_{name}"]()
    wanted, found = "ptr %shape, i64 %rank, ptr %lead_sizes, i64 %lead", "ptr %data, ptr %step, ptr %core"
    yield f"define internal i32 @examine(ptr %t, {wanted}, {found}) {{"
    yield """entry:
%kind = alloca i32
%number = alloca i64
%pointer = alloca ptr"""
    yield f"""%e1 = call i32 {address("aoti_torch_get_dtype")}(ptr %t, ptr %kind)
%type = load i32, ptr %kind
%real = icmp eq i32 %type, {code}"""
    yield f"""%e2 = call i32 {address("aoti_torch_get_device_type")}(ptr %t, ptr %kind)
%place = load i32, ptr %kind
%here = icmp eq i32 %place, {device}"""
    yield f"""%e3 = call i32 {address("aoti_torch_get_dim")}(ptr %t, ptr %number)
%dim = load i64, ptr %number
%both = add i64 %lead, %rank"""
    yield """%alike = icmp eq i64 %dim, %both
%a = and i1 %real, %here
%b = and i1 %a, %alike
br i1 %b, label %look, label %no
look:"""
    yield f"""%e4 = call i32 {address("aoti_torch_get_sizes")}(ptr %t, ptr %pointer)
%sizes = load ptr, ptr %pointer"""
    yield f"""%e5 = call i32 {address("aoti_torch_get_strides")}(ptr %t, ptr %pointer)
%strides = load ptr, ptr %pointer"""
    yield f"""%e6 = call i32 {address("aoti_torch_get_data_ptr")}(ptr %t, ptr %data)
br label %core_head
core_head:"""
    yield """%d = phi i64 [ 0, %look ], [ %d1, %core_next ]
%more = icmp slt i64 %d, %rank
br i1 %more, label %core_body, label %leading"""
    yield """core_body:
%wp = getelementptr i64, ptr %shape, i64 %d
%want = load i64, ptr %wp
%at = add i64 %lead, %d"""
    yield """%gp = getelementptr i64, ptr %sizes, i64 %at
%got = load i64, ptr %gp
%same = icmp eq i64 %want, %got"""
    yield """br i1 %same, label %core_next, label %no
core_next:
%rp = getelementptr i64, ptr %strides, i64 %at
%r = load i64, ptr %rp"""
    yield f"""%bytes = mul i64 %r, {item}
%cp = getelementptr i64, ptr %core, i64 %d
store i64 %bytes, ptr %cp
%d1 = add i64 %d, 1"""
    yield """br label %core_head
leading:
%last = sub i64 %lead, 1
store i64 0, ptr %step
br label %lead_head"""
    # from the last dimension to the first: `reach` is the stride that the next one must have, -1 at the beginning
    yield """lead_head:
%k = phi i64 [ %last, %leading ], [ %k1, %lead_next ]
%reach = phi i64 [ -1, %leading ], [ %reach1, %lead_next ]"""
    yield """%odd = phi i32 [ 0, %leading ], [ %odd1, %lead_next ]
%on = icmp sge i64 %k, 0
br i1 %on, label %lead_body, label %yes"""
    yield """lead_body:
%lp = getelementptr i64, ptr %lead_sizes, i64 %k
%l = load i64, ptr %lp
%sp = getelementptr i64, ptr %sizes, i64 %k"""
    yield """%s = load i64, ptr %sp
%equal = icmp eq i64 %l, %s
br i1 %equal, label %lead_size, label %no
lead_size:"""
    yield """%one = icmp sle i64 %s, 1
br i1 %one, label %lead_next, label %lead_step
lead_step:"""
    yield """%tp = getelementptr i64, ptr %strides, i64 %k
%stride = load i64, ptr %tp
%next = mul i64 %stride, %s"""
    yield f"""%inner = icmp eq i64 %reach, -1
%far = mul i64 %stride, {item}
%before = load i64, ptr %step"""
    yield """%chosen = select i1 %inner, i64 %far, i64 %before
store i64 %chosen, ptr %step
%joins = icmp eq i64 %stride, %reach"""
    yield """%fits = or i1 %inner, %joins
%odd2 = select i1 %fits, i32 %odd, i32 1
br label %lead_next
lead_next:"""
    yield """%reach1 = phi i64 [ %reach, %lead_size ], [ %next, %lead_step ]
%odd1 = phi i32 [ %odd, %lead_size ], [ %odd2, %lead_step ]"""
    yield """%k1 = sub i64 %k, 1
br label %lead_head
yes:
ret i32 %odd
no:
ret i32 2
}"""


def texts(operation: Operation, place: str) -> Iterable[str]:
    """Define the constant texts, and the shapes of the inputs."""
    program = operation.program
    needs = ", ".join(f"{x.name} (..., {', '.join(map(str, x.shape))})" for x in program.inputs)
    message = f"{program.name} needs {operation.dtype.name} tensors on {place}, of one leading shape: {needs}"
    for name, text in (("message", message), ("where", "qddot"), ("contiguous", "aten::contiguous"), ("empty", "")):
        plain = text.encode("ascii", "replace")
        yield f'@{name} = private constant [{len(plain) + 1} x i8] c"{quoted(plain)}\\00"'
    for i, x in enumerate(program.inputs):
        sizes = ", ".join(f"i64 {s}" for s in x.shape) or "i64 0"
        yield f"@shape{i} = private constant [{max(1, len(x.shape))} x i64] [{sizes}]"


def delete_inputs(count: int, tag: str) -> Iterable[str]:
    """Yield IR that deletes the handles of the inputs."""
    for i in range(count):
        yield f"""%d{tag}{i} = getelementptr ptr, ptr %stack, i64 {i}
%h{tag}{i} = load ptr, ptr %d{tag}{i}"""
        yield f"%e{tag}{i} = call i32 {address('aoti_torch_delete_tensor_object')}(ptr %h{tag}{i})"


def address(name: str) -> str:
    """Return the address of a function of PyTorch, as a constant of IR."""
    return constant(ctypes.cast(getattr(libtorch(), name), ctypes.c_void_p).value or 0)


def constant(place: int) -> str:
    return f"inttoptr (i64 {place} to ptr)"
