"""qddot's side of every comparison."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from timing import Job

from qddot.compile.evaluate import Options
from qddot.compile.kernel import Kernel
from robots import Case

HAS_THREADS = "threads" in Options.__annotations__
os.environ.setdefault("QDDOT_THREADS", "1")  # unless a job asks for more


def options(case: Case, work: str) -> dict[str, str]:
    """What a quantity needs besides the state."""
    return {"frame": case.frame, "reference": "world_aligned"} if work == "jacobian" else {}


def kernel(case: Case, work: str) -> Kernel:
    return case.robot.kernel(work, **options(case, work))


def batch(case: Case, work: str) -> Job:
    """The public method on all states, checks included, into arrays made beforehand, with one thread."""
    program = kernel(case, work).program
    arrays = [getattr(case, x.name) for x in program.inputs]
    outs = tuple(np.empty((len(case.q), *x.shape)) for x in program.outputs if x.name != "margins")
    method = partial(getattr(case.robot, work), *arrays, **options(case, work))
    return Job(partial(method, out=outs if len(outs) > 1 else outs[0]), len(case.q), lambda: list(outs))


def alone(case: Case, work: str) -> Job:
    """The compiled gufunc on all states, without checks."""
    found = kernel(case, work)
    arrays = [getattr(case, x.name) for x in found.program.inputs]
    outs = tuple(np.empty((len(case.q), *x.shape)) for x in found.program.outputs)
    return Job(partial(found.ufunc, *arrays, out=outs), len(case.q), lambda: list(outs))


def single(case: Case, work: str) -> Job:
    """One call from Python, as a user writes it."""
    arrays = [getattr(case, x.name)[0].copy() for x in kernel(case, work).program.inputs]
    call = partial(getattr(case.robot, work), *arrays, **options(case, work))
    return Job(call, 1, lambda: [np.asarray(call())[None]])


def job(case: Case, work: str) -> Job:
    """By the names that peers use."""
    kind, _, name = work.rpartition(": ")
    return single(case, name) if kind == "single" else batch(case, name)


def threaded(case: Case, states: int) -> dict[str, Job]:
    """Inverse dynamics of many states with one thread and with two."""
    q, qd, qdd = (np.resize(x, (states, case.robot.nv)) for x in (case.q, case.qd, case.qdd))
    out = np.empty_like(q)
    method = case.robot.inverse_dynamics
    if HAS_THREADS:
        runs = {str(k): partial(method, q, qd, qdd, out=out, threads=k) for k in (1, 2)}
    else:
        ufunc, pool = kernel(case, "inverse_dynamics").ufunc, ThreadPoolExecutor(2)
        halves = [tuple(x[part] for x in (q, qd, qdd, out)) for part in (np.s_[: states // 2], np.s_[states // 2 :])]
        runs = {"1": partial(ufunc, q, qd, qdd, out), "2": lambda: list(pool.map(lambda arrays: ufunc(*arrays), halves))}
    return {name: Job(run, states, lambda: [out]) for name, run in runs.items()}
