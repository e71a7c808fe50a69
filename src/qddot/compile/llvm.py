"""A program as LLVM IR: one straight-line kernel over contiguous vectors, and around it the loop that NumPy calls.

The IR is written as text: a thousand operations take a millisecond, and a reader can see them. No flag lets LLVM reassociate or
contract, so what the graph says is what is computed.
"""

from __future__ import annotations

import struct
import threading
from collections import defaultdict
from collections.abc import Iterable

import llvmlite.binding as llvm
import numpy as np

from qddot.graph.expr import Expr
from qddot.graph.program import Program

BINARY = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
LIBRARY = {"sin": 1, "cos": 1, "atan2": 2}
LOOP = "loop"
THOROUGH = 4_000
"""Programs up to this many operations get LLVM's full effort."""
_lock = threading.Lock()


def compile_loop(program: Program, dtype: np.dtype) -> tuple[int, object]:
    """The address of a NumPy inner loop for the program, and what must stay alive with it."""
    with _lock:  # LLVM's set-up and module parsing are not thread-safe
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(module_text(program, dtype))
        module.verify()
        engine = llvm.create_mcjit_compiler(module, target_machine(len(program.nodes)))
        engine.finalize_object()
        return engine.get_function_address(LOOP), engine


def target_machine(operations: int) -> llvm.TargetMachine:
    """For this computer. The graph is already optimised, so LLVM's effort is only in scheduling and registers.

    That effort grows faster than the program: 8,000 operations take 0.5 s to run in 1.5 us, or 0.05 s to run in 2.7 us.
    """
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=2 if operations <= THOROUGH else 0,
    )


def module_text(program: Program, dtype: np.dtype) -> str:
    """The whole module."""
    real = {8: "double", 4: "float"}[dtype.itemsize]
    suffix = "f" if real == "float" else ""
    bits = {"double": "f64", "float": "f32"}[real]
    declarations = [f"declare {real} @{name}{suffix}({', '.join([real] * n)})" for name, n in LIBRARY.items()]
    declarations += [f"declare {real} @llvm.sqrt.{bits}({real})", "declare ptr @malloc(i64)", "declare void @free(ptr)"]
    return "\n".join([*declarations, *kernel(program, real, suffix, bits), *loop(program, dtype.itemsize, real), ""])


# the kernel: straight-line code over contiguous inputs and outputs -------------------------------------------------------


def kernel(program: Program, real: str, suffix: str, bits: str) -> Iterable[str]:
    """`void kernel(ptr in..., ptr out...)`."""
    names = [f"ptr noalias readonly %in{i}" for i in range(len(program.inputs))]
    names += [f"ptr noalias %out{i}" for i in range(len(program.outputs))]
    yield f"define internal void @kernel({', '.join(names)}) noinline nounwind {{"
    value = lambda x: f"%v{x.number}" if x.__class__ is Expr else literal(x, real)  # noqa: E731
    waiting: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for i, output in enumerate(program.outputs):
        for k, x in enumerate(output.values):
            if x.__class__ is Expr:
                waiting[x].append((i, k))
            else:
                yield from store(value(x), i, k, real)
    for node in program.nodes:
        yield from instruction(node, value, real, suffix, bits)
        for i, k in waiting.get(node, ()):  # at once, so that no register waits for the end
            yield from store(value(node), i, k, real)
    yield "ret void\n}"


def store(value: str, output: int, element: int, real: str) -> Iterable[str]:
    yield f"%p{output}_{element} = getelementptr inbounds {real}, ptr %out{output}, i64 {element}"
    yield f"store {real} {value}, ptr %p{output}_{element}"


def instruction(node: Expr, value, real: str, suffix: str, bits: str) -> Iterable[str]:
    """One node."""
    name, op, args = f"%v{node.number}", node.op, node.args
    if op == "var":
        source, element = args
        yield f"%a{node.number} = getelementptr inbounds {real}, ptr %in{source}, i64 {element}"
        yield f"{name} = load {real}, ptr %a{node.number}"
    elif op in BINARY:
        yield f"{name} = {BINARY[op]} {real} {value(args[0])}, {value(args[1])}"
    elif op == "neg":
        yield f"{name} = fneg {real} {value(args[0])}"
    elif op == "sqrt":
        yield f"{name} = call {real} @llvm.sqrt.{bits}({real} {value(args[0])})"
    elif op in LIBRARY:
        yield f"{name} = call {real} @{op}{suffix}({', '.join(f'{real} {value(x)}' for x in args)})"
    elif op == "sign":
        x = value(args[0])
        yield f"%p{node.number} = fcmp ogt {real} {x}, {literal(0.0, real)}"
        yield f"%n{node.number} = fcmp olt {real} {x}, {literal(0.0, real)}"
        below = f"%b{node.number}"
        yield f"{below} = select i1 %n{node.number}, {real} {literal(-1.0, real)}, {real} {literal(0.0, real)}"
        yield f"{name} = select i1 %p{node.number}, {real} {literal(1.0, real)}, {real} {below}"
    elif op == "select":
        yield f"%p{node.number} = fcmp ogt {real} {value(args[0])}, {literal(0.0, real)}"
        yield f"{name} = select i1 %p{node.number}, {real} {value(args[1])}, {real} {value(args[2])}"
    else:
        raise ValueError(f"no LLVM instruction for {op!r}")


def literal(x: float, real: str) -> str:
    """Every bit of a number; a float is written as the double that equals it."""
    x = float(np.float32(x)) if real == "float" else float(x)
    return f"0x{struct.pack('>d', x).hex().upper()}"


# the loop: void loop(char **args, intp *dimensions, intp *steps, void *data) ------------------------------------------


def loop(program: Program, itemsize: int, real: str) -> Iterable[str]:
    """NumPy's inner loop: the kernel for each state; arrays with other strides go through contiguous copies."""
    shapes = [x.shape for x in (*program.inputs, *program.outputs)]
    n_in, n = len(program.inputs), len(shapes)
    yield f"define void @{LOOP}(ptr %args, ptr %dimensions, ptr %steps, ptr %data) nounwind {{"
    yield "entry:\n%count = load i64, ptr %dimensions"
    for i in range(n):
        yield f"%ap{i} = getelementptr ptr, ptr %args, i64 {i}\n%base{i} = load ptr, ptr %ap{i}"
        yield f"%sp{i} = getelementptr i64, ptr %steps, i64 {i}\n%step{i} = load i64, ptr %sp{i}"
    yield from strides(shapes, itemsize)
    yield "%some = icmp sgt i64 %count, 0"
    yield "br i1 %some, label %choose, label %done"
    yield "choose:\nbr i1 %dense, label %fast, label %slow"
    yield from walk("fast", "choose", n, [f"call void @kernel({', '.join(f'ptr %fast_at{i}' for i in range(n))})"], [])
    yield from walk("slow", "buffers", n, list(copied_call(shapes, n_in, real)), buffers(shapes, itemsize))
    yield "done:\nret void\n}"


def strides(shapes: list[tuple[int, ...]], itemsize: int) -> Iterable[str]:
    """Load the core strides (they follow the outer ones in `steps`), and tell whether every core is contiguous."""
    at, dense = len(shapes), "true"
    for i, shape in enumerate(shapes):
        expected = itemsize
        for d in reversed(range(len(shape))):
            place = at + d
            yield f"%cp{i}_{d} = getelementptr i64, ptr %steps, i64 {place}\n%core{i}_{d} = load i64, ptr %cp{i}_{d}"
            if shape[d] > 1:
                yield f"%eq{i}_{d} = icmp eq i64 %core{i}_{d}, {expected}"
                yield f"%all{i}_{d} = and i1 {dense}, %eq{i}_{d}"
                dense = f"%all{i}_{d}"
            expected *= shape[d]
        at += len(shape)
    yield f"%dense = and i1 {dense}, true"


def walk(label: str, before: str, n: int, body: list[str], setup: Iterable[str]) -> Iterable[str]:
    """A loop over states; `%<label>_at<i>` is the address of argument i in the present state."""
    yield f"{label}:"
    lines = list(setup)
    if lines:  # room for copies, made once
        yield from lines
        yield f"br label %{label}_head\n{label}_head:"
    head, came_from = (f"{label}_head", label) if lines else (label, before)
    yield f"%{label}_k = phi i64 [ 0, %{came_from} ], [ %{label}_next, %{label}_end ]"
    for i in range(n):
        yield f"%{label}_o{i} = mul i64 %{label}_k, %step{i}"
        yield f"%{label}_at{i} = getelementptr i8, ptr %base{i}, i64 %{label}_o{i}"
    yield from body
    yield f"br label %{label}_end\n{label}_end:"
    yield f"%{label}_next = add i64 %{label}_k, 1\n%{label}_more = icmp slt i64 %{label}_next, %count"
    leave = "release" if lines else "done"
    yield f"br i1 %{label}_more, label %{head}, label %{leave}"
    if lines:
        yield "release:\ncall void @free(ptr %room)\nbr label %done"


def buffers(shapes: list[tuple[int, ...]], itemsize: int) -> Iterable[str]:
    """One piece of memory for contiguous copies of every argument."""
    sizes = [int(np.prod(shape, dtype=int)) * itemsize for shape in shapes]
    yield f"%room = call ptr @malloc(i64 {max(sum(sizes), 1)})"
    offset = 0
    for i, size in enumerate(sizes):
        yield f"%copy{i} = getelementptr i8, ptr %room, i64 {offset}"
        offset += size


def copied_call(shapes: list[tuple[int, ...]], n_in: int, real: str) -> Iterable[str]:
    """Gather the inputs, call the kernel, scatter the outputs."""
    for i in range(n_in):
        yield from copy_elements(i, shapes[i], real, gather=True)
    yield f"call void @kernel({', '.join(f'ptr %copy{i}' for i in range(len(shapes)))})"
    for i in range(n_in, len(shapes)):
        yield from copy_elements(i, shapes[i], real, gather=False)


def copy_elements(i: int, shape: tuple[int, ...], real: str, *, gather: bool) -> Iterable[str]:
    """Element by element between a strided core and its contiguous copy: nested loops, one for each core dimension."""
    if not shape:
        there, here = f"%slow_at{i}", f"%copy{i}"
        source, target = (there, here) if gather else (here, there)
        yield f"%e{i} = load {real}, ptr {source}\nstore {real} %e{i}, ptr {target}"
        return
    for d in range(len(shape)):
        yield f"br label %b{i}_{d}\nb{i}_{d}:\nbr label %h{i}_{d}\nh{i}_{d}:"
        yield f"%x{i}_{d} = phi i64 [ 0, %b{i}_{d} ], [ %y{i}_{d}, %t{i}_{d} ]"
    offset, flat = "0", "0"
    for d, size in enumerate(shape):
        yield f"%m{i}_{d} = mul i64 %x{i}_{d}, %core{i}_{d}\n%s{i}_{d} = add i64 {offset}, %m{i}_{d}"
        yield f"%f{i}_{d} = mul i64 {flat}, {size}\n%g{i}_{d} = add i64 %f{i}_{d}, %x{i}_{d}"
        offset, flat = f"%s{i}_{d}", f"%g{i}_{d}"
    yield f"%there{i} = getelementptr i8, ptr %slow_at{i}, i64 {offset}"
    yield f"%here{i} = getelementptr {real}, ptr %copy{i}, i64 {flat}"
    source, target = (f"%there{i}", f"%here{i}") if gather else (f"%here{i}", f"%there{i}")
    yield f"%e{i} = load {real}, ptr {source}\nstore {real} %e{i}, ptr {target}"
    for d in reversed(range(len(shape))):
        yield f"br label %t{i}_{d}\nt{i}_{d}:\n%y{i}_{d} = add i64 %x{i}_{d}, 1"
        yield f"%z{i}_{d} = icmp slt i64 %y{i}_{d}, {shape[d]}\nbr i1 %z{i}_{d}, label %h{i}_{d}, label %l{i}_{d}\nl{i}_{d}:"
