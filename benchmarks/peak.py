"""What one core can do at most, measured: floating-point operations, and writes to memory.

The first by independent chains of 8-wide fused multiply-adds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding as llvm
import numpy as np
from timing import Job, interleave

from qddot.graph.program import Program

CHAINS = 14  # more than latency times units of any core today; 14 accumulators and 2 operands fit 16 registers
WIDTH = 8
ROUNDS = 20_000
SINCOS = 20
"""Operations of one sine or cosine: the pair costs about 40."""


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


def compiled() -> tuple[llvm.ExecutionEngine, Callable]:
    """The loop as a function; it lives as long as the engine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )
    module = llvm.parse_assembly(fma_loop())
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("spin")
    return engine, ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)


def two_threads() -> dict[str, Job]:
    """Pure arithmetic, twice: in one thread and in two. Two gain 2 on idle cores, nothing where others keep the second one busy."""
    engine, spin = compiled()
    rooms, pool = [np.ones(2 * WIDTH), np.ones(2 * WIDTH)], ThreadPoolExecutor(2)

    def work(room: np.ndarray, keep: llvm.ExecutionEngine = engine) -> None:
        spin(50 * ROUNDS, room.ctypes.data)

    return {"1": Job(lambda: [work(room) for room in rooms], 1, list), "2": Job(lambda: list(pool.map(work, rooms)), 1, list)}


def measured_peak(seconds: float = 0.5) -> float:
    """Floating-point operations a second of one core; a fused multiply-add counts as two."""
    engine, spin = compiled()
    room = np.concatenate([np.full(WIDTH, 0.5), np.full(WIDTH, 1.0)])
    job = Job(lambda: spin(ROUNDS, room.ctypes.data), 1, list)
    samples = interleave({"peak": job}, seconds)["peak"]
    del engine
    return 2.0 * WIDTH * CHAINS * ROUNDS / float(samples.min())


def fill_rate(seconds: float = 0.5) -> float:
    """Bytes a second that one core can write to memory: NumPy's fill of an array that no cache holds."""
    room = np.empty(1 << 23)
    samples = interleave({"": Job(lambda: room.fill(0.0), 1, list)}, seconds)[""]
    return room.nbytes / float(np.median(samples))


def bytes_out(program: Program) -> int:
    """What a state's results take, in double precision."""
    return 8 * sum(output.size for output in program.outputs)


def flops(program: Program) -> int:
    """Operations of one state: + - * / and square roots as one, sines and cosines as SINCOS."""
    count = program.operations()
    return sum(count[op] for op in ("+", "-", "*", "/", "sqrt")) + SINCOS * (count["sin"] + count["cos"])
