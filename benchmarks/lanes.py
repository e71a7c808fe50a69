"""The same batches with other vectors and in float32: AVX-512, AVX2 and SSE as far as this machine has them, and NEON on paper.

    .venv/bin/python benchmarks/lanes.py [--robots panda,g1] [--seconds 1]

Each row is a quantity of 4,096 states in one kernel without checks; times are the shortest of many, in processor time, in turn.
Where `llvm-mca` is installed, the kernel for two lanes is also compiled for a 64-bit ARM, and LLVM's model of that core says how
many cycles it takes (of straight code, from the first cache), beside what it says of fused multiply-adds alone: no machine.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import warnings
from functools import cache, partial

import llvmlite.binding as llvm
import numpy as np
import ours
import peak
import roofline
import table

from qddot.compile import singly
from qddot.compile.gufunc import make_gufunc
from qddot.compile.kernel_ir import kernel_name
from qddot.compile.lanes import Lanes
from qddot.compile.llvm import Computer, compile_program, module_text, single_lanes, this_computer
from qddot.graph.program import Program
from robots import TITLES, Case, case

WORKS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
CORE = "neoverse-n1"
NARROWER = {"AVX-512": (64, "native"), "AVX2": (32, "x86-64-v3"), "SSE4 and FMA": (16, "x86-64-v3")}


def measured(case: Case, work: str, seconds: float) -> tuple[str, ...]:
    """One state in each way, ns."""
    here, jobs = this_computer(), {}
    for name, (width, cpu) in NARROWER.items():
        if width <= here.vector_bytes:
            computer = here if cpu == "native" else Computer(cpu, "", width, True)
            for kind in (float, np.float32):
                jobs[name, np.dtype(kind).itemsize] = job(case, work, np.dtype(kind), computer)
    best = roofline.shortest(jobs, seconds)
    cells = [f"{best[key] / len(case.q) * 1e9:.1f}" if key in best else "" for name in NARROWER for key in ((name, 8), (name, 4))]
    program = ours.kernel(case, work).program
    cycles = on_paper(program)
    share = f"{100 * peak.flops(program) * best_on_paper() / cycles:.0f} %" if cycles else ""
    return (work, TITLES[case.name], *cells, f"{cycles:.0f}" if cycles else "", share)


def job(case: Case, work: str, dtype: np.dtype, computer: Computer):
    """The gufunc over vectors of one width, into arrays of its own."""
    options = ours.options(case, work)
    program = case.robot._evaluate.kernels.kernel(work, dtype, options).program
    width = computer.vector_bytes // dtype.itemsize
    wide = compile_program(program, Lanes(width, {8: "double", 4: "float"}[dtype.itemsize], computer.fma, width), computer)
    single = compile_program(program, single_lanes(dtype, computer), computer)
    task = singly.task(program, single.kernel, single_lanes(dtype, computer))
    ufunc = make_gufunc(program, wide.loop, task, dtype, (wide, single))
    arrays = [getattr(case, x.name).astype(dtype) for x in program.inputs]
    outs = tuple(np.empty((len(case.q), *x.shape), dtype) for x in program.outputs)
    return partial(ufunc, *arrays, out=outs)


def on_paper(program: Program) -> float:
    """Cycles a state of the kernel with two lanes on a 64-bit ARM, by LLVM's model of it; 0 where there is no llvm-mca."""
    if shutil.which("llvm-mca") is None:
        return 0.0
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    lanes = Lanes(2, "double", True, 2)
    machine = llvm.Target.from_triple("aarch64-linux-gnu").create_target_machine(cpu=CORE, opt=2, reloc="pic")
    text = machine.emit_assembly(llvm.parse_assembly(module_text(program, lanes)))
    kernel = kernel_name(lanes)[1:]
    count = text.count(f"{kernel}.")  # of its parts, or more
    parts = [x for k in range(count) for x in function(text, f"{kernel}.{k}")]
    lines = parts or max((function(text, name) for name in (kernel, "loop")), key=len)
    return modelled([x for x in lines if not re.match(r"\s*(\.|b\b|b\.|bl|cb|tb|ret|adrp|//)|.*:lo12:", x)]) / 2


@cache
def best_on_paper() -> float:
    """Cycles of one operation at the peak, by the same model: independent chains of fused multiply-adds of two lanes."""
    chains = [f"fmla v{k}.2d, v30.2d, v31.2d" for k in range(24)]
    return modelled(chains * 4) / (len(chains) * 4 * 4)


def modelled(code: list[str]) -> float:
    """Cycles of straight code."""
    command = ["llvm-mca", "-mtriple=aarch64", f"-mcpu={CORE}", "-iterations=10"]
    found = subprocess.run(command, input="\n".join(code), capture_output=True, text=True)
    cycles = re.search(r"Total Cycles:\s+(\d+)", found.stdout)
    return float(cycles[1]) / 10 if cycles else 0.0


def function(text: str, name: str) -> list[str]:
    """Lines of a function in assembly."""
    found = re.search(rf"^{re.escape(name)}:(.*?)^\.Lfunc_end", text, re.M | re.S)
    return [line for line in found[1].splitlines() if line.startswith("\t")] if found else []


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", default="panda,g1")
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    head = (
        "work",
        "robot",
        *(f"{name} {kind} [ns]" for name in NARROWER for kind in ("f64", "f32")),
        "ARM [cycles]",
        "of its peak",
    )
    print(table.plain(head, [measured(case(name), work, given.seconds) for name in given.robots.split(",") for work in WORKS]))


if __name__ == "__main__":
    main()
