"""The loop over vectors of states that NumPy calls: `void loop(char **args, intp *dimensions, intp *steps, int64 *task)`.

If the arrays of each state are contiguous, W states at a time are transposed in registers, computed together and transposed back
(see `results`). Fewer states, and arrays with other strides, are left to the loop over single states, which reads the task
(`singly`). An input that is not finite, or a very large q, raises the processor's flag for an invalid operation, which NumPy checks
afterwards. In a loop that is `watched`, a margin that is not positive raises that flag, too, and margins are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import NamedTuple

from qddot.compile import peaks, prefetch
from qddot.compile.kernel_ir import Emitter, is_short
from qddot.compile.lanes import Lanes
from qddot.compile.memory import leave_rooms, rooms
from qddot.compile.results import Results
from qddot.compile.transpose import read_columns, write_columns
from qddot.graph.expr import Expr, schedule
from qddot.graph.program import Input, Output, Program

UNROLLED = 16
"""Largest number of blocks of columns that are moved by straight-line code; more are moved in a loop."""


def define_loop(program: Program, lanes: Lanes, *, watched: bool = False) -> Iterable[str]:
    """Define the loop."""
    arguments = written(program, watched)
    n = len(arguments)
    yield from peaks.declarations(lanes)
    if not is_short(program, lanes):
        yield from Results(program, lanes, watched).define()
    yield "define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %task) nounwind {"
    yield "entry:\n%count = load i64, ptr %dimensions"
    for i in range(n):
        yield f"%ap{i} = getelementptr ptr, ptr %args, i64 {i}\n%base{i} = load ptr, ptr %ap{i}"
        yield f"%sp{i} = getelementptr i64, ptr %steps, i64 {i}\n%step{i} = load i64, ptr %sp{i}"
    yield f"%there = alloca ptr, i64 {n}\n%left = alloca i64"
    yield from peaks.begin(lanes)
    if watched:
        yield "%low = alloca i32\nstore i32 0, ptr %low"
    yield from strides([x.shape for x in arguments], lanes.bits // 8)
    yield f"%enough = icmp sge i64 %count, {lanes.width}\n%go = and i1 %enough, %dense\nbr i1 %go, label %wide, label %rest"
    yield from wide(program, lanes, watched)
    yield "br label %rest\nrest:\n%so_far = phi i64 [ 0, %entry ], [ %stop, %wide_done ]\n%others = sub i64 %count, %so_far"
    yield "%some = icmp sgt i64 %others, 0\nbr i1 %some, label %singly, label %finish\nsingly:\nstore i64 %others, ptr %left"
    for i in range(n):
        yield f"%rest_o{i} = mul i64 %so_far, %step{i}\n%rest{i} = getelementptr i8, ptr %base{i}, i64 %rest_o{i}"
        yield f"%rest_p{i} = getelementptr ptr, ptr %there, i64 {i}\nstore ptr %rest{i}, ptr %rest_p{i}"
    yield f"call void {lanes.function('singly')}(ptr %there, ptr %left, ptr %steps, ptr %task)\nbr label %finish\nfinish:"
    if watched:
        yield "%lows = load i32, ptr %low\n%some_low = icmp ne i32 %lows, 0"
    yield from peaks.judge(lanes, "%some_low" if watched else "false")
    yield "done:\nret void\n}"


def written(program: Program, watched: bool) -> tuple[Input | Output, ...]:
    """Return the arrays of a loop: inputs, and outputs, without the margins if they are watched."""
    return (*program.inputs, *(program.shown if watched else program.outputs))


def watch(margin: str, tag: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR that sets a bit of %low for each of W states whose margin is not positive."""
    bits = f"i{lanes.width}"
    yield f"{tag}_not = fcmp ule {lanes.number} {margin}, {lanes.literal(0.0)}"
    yield f"{tag}_bits = bitcast {lanes.truth} {tag}_not to {bits}"
    yield f"{tag}_wide = zext {bits} {tag}_bits to i32\n{tag}_so_far = load i32, ptr %low"
    yield f"{tag}_now = or i32 {tag}_so_far, {tag}_wide\nstore i32 {tag}_now, ptr %low"


def strides(shapes: Sequence[tuple[int, ...]], itemsize: int) -> Iterable[str]:
    """Yield IR that loads the strides within a state, which follow those between states in `steps`, and sets %dense if all arrays
    are contiguous within a state."""
    at, dense = len(shapes), "true"
    for i, shape in enumerate(shapes):
        expected = itemsize
        for d in reversed(range(len(shape))):
            yield f"%cp{i}_{d} = getelementptr i64, ptr %steps, i64 {at + d}\n%core{i}_{d} = load i64, ptr %cp{i}_{d}"
            if shape[d] > 1:
                yield f"%eq{i}_{d} = icmp eq i64 %core{i}_{d}, {expected}"
                yield f"%all{i}_{d} = and i1 {dense}, %eq{i}_{d}"
                dense = f"%all{i}_{d}"
            expected *= shape[d]
        at += len(shape)
    yield f"%dense = and i1 {dense}, true"


# W states at a time ---------------------------------------------------------------------------------------------------------


def wide(program: Program, lanes: Lanes, watched: bool) -> Iterable[str]:
    """Yield IR of the loop over W states at a time, which computes the first %stop states.

    These are all states if there are at least W: the last W states then overlap the ones before, and those in both are computed
    twice. But if results bypass the caches line by line, only whole vectors of states (%whole) are computed here.
    """
    W, results, short = lanes.width, Results(program, lanes, watched), is_short(program, lanes)
    arguments, emit = written(program, watched), Emitter(program, lanes)
    sizes = emit.trig_sizes()
    if not short:
        sizes |= {f"in{i}": x.size * results.vector for i, x in enumerate(program.inputs)}
        sizes |= {"results": results.room, "stages": results.stages[-1], "rows": -(-8 * len(arguments) // 64) * 64}
    yield f"wide:\n%whole = and i64 %count, {-W}"
    yield from rooms(sizes)
    if not short:
        yield from results.begin()
    yield f"%stop = select i1 {'false' if short else '%large'}, i64 %whole, i64 %count\n%last_k = sub i64 %stop, {W}"
    yield "br label %wide_head\nwide_head:\n%k = phi i64 [ 0, %wide ], [ %k_next, %wide_end ]"
    yield "%more = icmp slt i64 %k, %stop\nbr i1 %more, label %wide_body, label %wide_exit"
    yield "wide_body:"
    for i in range(len(arguments)):
        yield f"%o{i} = mul i64 %k, %step{i}\n%row{i}_0 = getelementptr i8, ptr %base{i}, i64 %o{i}"
        for r in range(1, W):
            yield f"%row{i}_{r} = getelementptr i8, ptr %row{i}_{r - 1}, i64 %step{i}"
    n_in = len(program.inputs)
    if short:
        for i in range(n_in, len(arguments)):  # rows are written during the kernel, so that those of the next states are prefetched
            yield f"%ahead{i} = mul i64 %step{i}, {W}\n%next{i} = getelementptr i8, ptr %row{i}_0, i64 %ahead{i}"
        pointers = [f"%next{i}" for i in range(n_in, len(arguments))]
        emit.afterwards = prefetch.between(emit.kept, prefetch.results(pointers, program, lanes))
        yield from in_registers(program, emit, watched)
    else:
        yield from results.tell()
        yield from with_angles(program, emit, gather)
        given = [f"ptr %in{i}" for i in range(n_in)]
        yield f"call void {lanes.kernel}({', '.join([*given, 'ptr %results', 'ptr %trig', 'ptr %rows'])})"
        yield from results.leave()
        for i, x in enumerate(results.outputs, len(program.inputs)):
            if not results.is_tabled(x):
                yield from scatter(i, x, results)
        for k, x in enumerate(program.outputs[-1].values if watched else ()):
            yield f"%margin{k}p = getelementptr {lanes.number}, ptr %results, i64 {results.slots[x]}"
            yield f"%margin{k} = load {lanes.number}, ptr %margin{k}p, align {results.vector}"
            yield from watch(f"%margin{k}", f"%margin{k}", lanes)
    yield f"br label %wide_end\nwide_end:\n%k_on = add i64 %k, {W}\n%k_left = icmp slt i64 %k_on, %stop"
    yield "%k_far = icmp sgt i64 %k_on, %last_k\n%k_back = and i1 %k_left, %k_far"
    yield "%k_next = select i1 %k_back, i64 %last_k, i64 %k_on\nbr label %wide_head\nwide_exit:"
    if not short:
        yield from results.end()
    yield from leave_rooms(sizes)
    yield "br label %wide_done\nwide_done:"


def with_angles(program: Program, emit: Emitter, read: Callable[[int, int, Emitter], Iterable[str]]) -> Iterable[str]:
    """Yield IR that reads the inputs: those with angles first, the others while sines and cosines are computed."""
    turning = {node.args[0] for node in schedule(emit.angles) if node.op == "var"}
    for i in sorted(turning):
        yield from read(i, program.inputs[i].size, emit)
    yield from emit.angles_first()
    for i, x in enumerate(program.inputs):
        if i not in turning:
            yield from read(i, x.size, emit)


def gather(i: int, size: int, emit: Emitter) -> Iterable[str]:
    """Yield IR that reads W rows of argument i and stores them as `size` vectors at %in<i>."""
    lanes = emit.lanes
    for block in blocks(i, size, lanes.half):
        yield from block.before
        columns = yield from enter(i, block, emit)
        for k, column in enumerate(columns):
            yield f"%r{block.tag}_{k} = getelementptr {lanes.number}, ptr %in{i}, i64 {block.index}"
            yield f"%r{block.tag}_{k}p = getelementptr {lanes.number}, ptr %r{block.tag}_{k}, i64 {k}"
            yield f"store {lanes.number} {column}, ptr %r{block.tag}_{k}p, align {lanes.bits // 8}"
        yield from block.after


def scatter(i: int, output: Output, results: Results) -> Iterable[str]:
    """Yield IR that writes an output of few elements from its slots in %results to W rows."""
    V = results.lanes.number
    for block in blocks_out(i, output.size, results.lanes):
        names = [f"%slot{block.tag}_{k}" for k in range(block.count)]
        for x, name in zip(output.values[int(block.index) :], names):
            yield f"{name}p = getelementptr {V}, ptr %results, i64 {results.slots[x]}"
            yield f"{name} = load {V}, ptr {name}p, align {results.vector}"
        yield from leave(i, block, names, results.lanes)


def enter(i: int, block: Block, emit: Emitter) -> Generator[str, None, list[str]]:
    """Yield IR that loads a block of W rows of argument i; return the names of its columns."""
    lanes = emit.lanes
    yield from addresses(i, block, lanes)
    columns, lines = read_columns([f"%at{block.tag}_{r}" for r in range(lanes.width)], block.count, lanes, f"%g{block.tag}")
    yield from lines
    new = [x for k, x in enumerate(columns) if k >= block.known and not is_watched(i, block, k, emit)]
    yield from peaks.note(emit.program.inputs[i].name, new, block.tag, lanes)
    return columns


def is_watched(i: int, block: Block, k: int, emit: Emitter) -> bool:
    """Return True if column k of a block is itself an angle, whose magnitude `sincos` checks."""
    return emit.lanes.fma and not block.before and (i, int(block.index) + k) in emit.turned


def leave(i: int, block: Block, columns: Sequence[str], lanes: Lanes) -> Iterable[str]:
    """Yield IR that stores a block of columns in W rows of argument i."""
    yield from addresses(i, block, lanes)
    yield from write_columns(columns, [f"%at{block.tag}_{r}" for r in range(lanes.width)], lanes, f"%s{block.tag}")


def addresses(i: int, block: Block, lanes: Lanes) -> Iterable[str]:
    """Yield IR for the address of a block of argument i in each of W rows."""
    for r in range(lanes.width):
        yield f"%at{block.tag}_{r} = getelementptr {lanes.real}, ptr %row{i}_{r}, i64 {block.index}"


def in_registers(program: Program, emit: Emitter, watched: bool) -> Iterable[str]:
    """Yield IR of the kernel with its transpositions.

    Each block of outputs is written, and each margin checked, as soon as it is computed.
    """
    lanes, n_in = emit.lanes, len(program.inputs)
    yield from with_angles(program, emit, take)
    margins = program.outputs[-1].values if watched else ()
    waiting = []  # (argument, block, its values, those that are not yet computed)
    for i, x in enumerate(program.shown if watched else program.outputs, n_in):
        for block in blocks_out(i, x.size, lanes):
            values = x.values[int(block.index) : int(block.index) + block.count]
            waiting.append((i, block, values, {v for v in values if v.__class__ is Expr}))
    leaves = [node for node in emit.places if node.__class__ is Expr and emit.is_leaf(node)]
    for node in (None, *leaves, *(node for part in emit.parts for node in part)):
        if node is not None:
            yield from emit.instruction(node)
        for i, block, values, missing in waiting:
            if (node in missing and len(missing) == 1) or (node is None and not missing):
                yield from leave(i, block, [emit.value(v) for v in values], lanes)
            missing.discard(node)
        for k, margin in enumerate(margins):
            if margin is node or (node is None and margin.__class__ is not Expr):
                yield from watch(emit.value(margin), f"%margin{k}", lanes)
        yield from emit.afterwards.get(node, ()) if node is not None else ()


def take(i: int, size: int, emit: Emitter) -> Iterable[str]:
    """Yield IR that loads the columns of argument i into registers, named in `emit.given`."""
    for block in blocks(i, size, emit.lanes.half):
        columns = yield from enter(i, block, emit)
        emit.given |= {(i, int(block.index) + k): columns[k] for k in range(block.count)}


class Block(NamedTuple):
    """Neighbouring columns of an argument that are moved together."""

    index: str  # the first column, a number or a register
    count: int
    tag: str
    known: int = 0  # number of its columns that the previous block contains, too
    before: Sequence[str] = ()  # IR before and after the block's code: none, or that of a loop over many blocks
    after: Sequence[str] = ()


def blocks(i: int, size: int, H: int) -> Iterable[Block]:
    """Yield the columns of argument i in blocks of H: every block if they are few, else one in a loop; the last may overlap."""
    whole = size - size % H
    if whole > UNROLLED * H:
        label, index = f"blocks{i}", f"%b{i}"
        before = [
            f"br label %{label}_entry\n{label}_entry:\nbr label %{label}\n{label}:",
            f"{index} = phi i64 [ 0, %{label}_entry ], [ {index}_next, %{label} ]",
        ]
        after = [
            f"{index}_next = add i64 {index}, {H}\n{index}_more = icmp slt i64 {index}_next, {whole}",
            f"br i1 {index}_more, label %{label}, label %{label}_exit\n{label}_exit:",
        ]
        yield Block(index, H, f"{i}_many", 0, before, after)
    else:
        for b in range(0, whole, H):
            yield Block(str(b), H, f"{i}_{b}")
    if whole == 0:
        yield Block("0", size, f"{i}_0")
    elif whole < size:
        yield Block(str(size - H), H, f"{i}_{size - H}", whole - (size - H))


def blocks_out(i: int, size: int, lanes: Lanes) -> Iterable[Block]:
    """Yield the columns of a short output in blocks of W, and the rest in blocks as those of an input."""
    whole = size - size % lanes.width
    for b in range(0, whole, lanes.width):
        yield Block(str(b), lanes.width, f"{i}_{b}")
    if size - whole == 1:  # one element of each row: plain stores
        yield Block(str(whole), 1, f"{i}_{whole}")
        return
    for block in blocks(i, size, lanes.half):
        if int(block.index) + block.count > whole:
            yield block
