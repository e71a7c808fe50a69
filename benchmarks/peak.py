"""What one core can do at most, measured: floating-point operations, and bytes read and written.

The first by independent chains of 8-wide fused multiply-adds, the second by loops that only load and store.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from timeit import Timer

import llvmlite.binding as llvm
import numpy as np
from timing import Job

from qddot.compile.fused import fused_products
from qddot.compile.kernel_ir import places
from qddot.graph.program import Operations, Program

CHAINS = 14  # more than latency times units of any core today; 14 accumulators and 2 operands fit 16 registers
WIDTH = 8
ROUNDS = 20_000
SPINS = 2 * WIDTH * CHAINS * ROUNDS
SINCOS, SINCOS_INSTRUCTIONS = 37, 20
"""Operations of a sine and cosine together, and their instructions; those on integers come on top."""


def fma_loop() -> str:
    """A function `void spin(i64 rounds, double* out)`."""
    vector = f"<{WIDTH} x double>"
    chains = range(CHAINS)
    phis = "\n".join(f"  %x{k} = phi {vector} [ zeroinitializer, %entry ], [ %y{k}, %loop ]" for k in chains)
    steps = "\n".join(f"  %y{k} = call {vector} @llvm.fma.v{WIDTH}f64({vector} %x{k}, {vector} %a, {vector} %b)" for k in chains)
    sums = "\n".join(f"  %s{k + 1} = fadd {vector} %s{k}, %y{k}" for k in chains)
    return f"""
declare {vector} @llvm.fma.v{WIDTH}f64({vector}, {vector}, {vector})
define void @spin(i64 %rounds, ptr %out) {{
entry:
  %a = load {vector}, ptr %out, align 8
  %bp = getelementptr double, ptr %out, i64 {WIDTH}
  %b = load {vector}, ptr %bp, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
  %s0 = fadd {vector} zeroinitializer, zeroinitializer
{sums}
  store {vector} %s{CHAINS}, ptr %out, align 8
  ret void
}}
"""


WAYS = ("through the caches", "around them")


def move_loop() -> str:
    """A function `void move.<way>(ptr in, i64 read, ptr out, i64 written, i64 rounds)` for each way: a round reads so many lines of
    64 bytes, and writes so many. What is read is added up, and the sum written, so that nothing can be left out."""
    return "\n".join(one_move(k, hint) for k, hint in enumerate(("", ", !nontemporal !0"))) + "\n!0 = !{i32 1}\n"


def one_move(way: int, hint: str) -> str:
    vector = "<8 x double>"
    return f"""
define void @move{way}(ptr %in, i64 %read, ptr %out, i64 %written, i64 %rounds) {{
entry:
  br label %round
round:
  %k = phi i64 [ 0, %entry ], [ %k1, %end ]
  %sum0 = phi {vector} [ zeroinitializer, %entry ], [ %sum, %end ]
  %from = mul i64 %k, %read
  %to = mul i64 %k, %written
  br label %reading
reading:
  %i = phi i64 [ 0, %round ], [ %i1, %reading ]
  %sum1 = phi {vector} [ %sum0, %round ], [ %sum, %reading ]
  %a = add i64 %from, %i
  %ap = getelementptr {vector}, ptr %in, i64 %a
  %x = load {vector}, ptr %ap, align 8
  %sum = fadd {vector} %sum1, %x
  %i1 = add i64 %i, 1
  %more_in = icmp slt i64 %i1, %read
  br i1 %more_in, label %reading, label %writing
writing:
  %j = phi i64 [ 0, %reading ], [ %j1, %writing ]
  %b = add i64 %to, %j
  %bp = getelementptr {vector}, ptr %out, i64 %b
  store {vector} %sum, ptr %bp, align 64{hint}
  %j1 = add i64 %j, 1
  %more_out = icmp slt i64 %j1, %written
  br i1 %more_out, label %writing, label %end
end:
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %rounds
  br i1 %more, label %round, label %done
done:
  ret void
}}
"""


@cache
def compiled() -> tuple[llvm.ExecutionEngine, dict[str, Callable]]:
    """The loops as functions; they live as long as the engine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(fma_loop() + move_loop()), machine)
    engine.finalize_object()
    number, place = ctypes.c_int64, ctypes.c_void_p
    kinds = {
        "spin": (number, place),
        "move0": (place, number, place, number, number),
        "move1": (place, number, place, number, number),
    }
    return engine, {name: ctypes.CFUNCTYPE(None, *kind)(engine.get_function_address(name)) for name, kind in kinds.items()}


def spinning() -> Callable[[], object]:
    """SPINS floating-point operations at the greatest rate of one core; a fused multiply-add counts as two."""
    spin, room = compiled()[1]["spin"], np.concatenate([np.full(WIDTH, 0.5), np.full(WIDTH, 1.0)])
    return lambda: spin(ROUNDS, room.ctypes.data)


def moving(read: int, written: int, states: int, way: str) -> Callable[[], object]:
    """Read and write so many bytes a state, 8 states at a time, and do nothing else."""
    move, rooms = compiled()[1][f"move{WAYS.index(way)}"], [even(size * states // 8) for size in (read, written)]
    rooms[0][:] = 1.0  # some memories take zeros twice as fast
    return lambda: move(rooms[0].ctypes.data, read // 8, rooms[1].ctypes.data, written // 8, states // 8)


def even(numbers: int) -> np.ndarray:
    """Memory that begins with a line of the caches."""
    room = np.zeros(numbers + 8)
    skip = -room.ctypes.data % 64 // 8
    return room[skip : skip + numbers]


def two_threads(seconds: float) -> dict[str, Job]:
    """Pure arithmetic, twice: in one thread, where it takes about so long, and in two, of which one is the caller's. Two gain 2 on
    idle cores, but for the time in which the second one wakes; nothing where others keep that one busy."""
    spin, rooms, pool = compiled()[1]["spin"], [np.ones(2 * WIDTH), np.ones(2 * WIDTH)], ThreadPoolExecutor(1)
    rounds = round(ROUNDS * seconds / 2 / min(Timer(spinning()).repeat(9, 1)))

    def work(room: np.ndarray) -> None:
        spin(rounds, room.ctypes.data)

    def shared() -> None:
        other = pool.submit(work, rooms[1])
        work(rooms[0])
        other.result()

    return {"1": Job(lambda: [work(room) for room in rooms], 1, list), "2": Job(shared, 1, list)}


def flops(program: Program) -> int:
    """Operations of one state: + - * / and square roots as one, an angle's sine and cosine together as SINCOS."""
    count = program.operations()
    return sum(count[op] for op in ("+", "-", "*", "/", "sqrt")) + SINCOS * Operations.of(program).angles


def instructions(program: Program) -> int:
    """The same in instructions, where a product that only goes into one sum is none of its own."""
    fused = len(fused_products(program.nodes, places(program)))
    return flops(program) - fused - (SINCOS - SINCOS_INSTRUCTIONS) * Operations.of(program).angles
