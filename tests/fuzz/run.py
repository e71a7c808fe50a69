"""`make fuzz`: mutants of every input qddot reads, in workers that are restarted when one dies or hangs; ends with a table.

    python -m tests.fuzz.run --seconds 60 --workers 2 --seed 1

Every kind of input gets the same share of the time. What is found (a foreign exception, a result that is not finite without an
error, a crash, a hang) is kept in `tests/fuzz/corpus`, which `tests/fuzz/test_fuzz.py` reads again and again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.judge import KINDS, Silent, outcome

CORPUS = Path(__file__).with_name("corpus")
SMALL = 20_000  # bytes: only such mutants are kept
HANG = 20  # s of processor time for one mutant
SLICE = 20.0  # s that a worker lives, at most
BATCH = 20_000  # mutants of one kind in a row, at most
MEMORY = 8 * 2**30  # bytes a worker may ask for: more is a MemoryError, and a finding
ROWS = ("mutants", "accepted", "refused with line", "refused", "foreign", "silent", "crash", "hang")


class Hang(BaseException):
    """One mutant took too long; not an Exception, so that no reader takes it for a damaged file."""


def worker(kind: str, start: int, count: int, seed: int, folder: Path, seconds: float) -> None:
    """Some mutants; a line of JSON for each finding and for all that were harmless, the index of the present one in a file."""

    def stop(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts: Counter[str] = Counter()
    progress, end = folder / "index", time.monotonic() + seconds
    for index in range(start, start + count):
        progress.write_text(str(index))
        signal.setitimer(signal.ITIMER_PROF, HANG)
        try:
            counts[outcome(kind, index, seed, folder)] += 1
        except Hang as error:
            report("hang", kind, index, seed, folder, f"more than {HANG} s, in {where(error)}")
        except Silent as error:
            report("silent", kind, index, seed, folder, str(error))
        except Exception as error:
            report("foreign", kind, index, seed, folder, f"{type(error).__name__} in {where(error)}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if time.monotonic() > end:
            break
    print(json.dumps({"counts": counts}), flush=True)


def where(error: BaseException) -> str:
    """The last function of ours on the way to an error, and where it came from."""
    steps = traceback.extract_tb(error.__traceback__)
    ours = [step for step in steps if "/qddot/" in step.filename] or steps
    return " <- ".join(dict.fromkeys(f"{Path(step.filename).name}:{step.lineno}" for step in (steps[-1], ours[-1])))


def report(what: str, kind: str, index: int, seed: int, folder: Path, why: str) -> None:
    call = folder / "mutant.txt"
    told = {"mutant": call.read_text("utf-8")[:800]} if call.exists() else {}
    print(json.dumps({"finding": what, "kind": kind, "index": index, "seed": seed, "why": why[:300], **told}), flush=True)
    keep(folder)


def keep(folder: Path) -> None:
    """The present mutant goes into the corpus."""
    for path in folder.glob("mutant.*"):
        if path.suffix != ".txt" and path.stat().st_size <= SMALL:
            name = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            shutil.copy(path, CORPUS / f"{name}{path.suffix}")


@dataclass
class Job:
    """One worker and what it does."""

    process: subprocess.Popen
    kind: str
    start: int
    count: int
    folder: Path
    begun: float = field(default_factory=time.monotonic)

    @property
    def age(self) -> float:
        return time.monotonic() - self.begun


def run(
    kinds: list[str], seconds: float, workers: int, seed: int, most: int | None = None, batch: int = BATCH
) -> tuple[dict[str, Counter], list[dict]]:
    """Counts by kind, and what was found."""
    counts: dict[str, Counter] = {kind: Counter() for kind in kinds}
    findings: list[dict] = []
    jobs: list[Job] = []
    slice_ = min(SLICE, max(1.0, seconds * workers / len(kinds) / 2))
    at, spent, turn, end = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0.0), 0, time.monotonic() + seconds
    minute = time.monotonic() + 60

    def share(kind: str) -> tuple[float, int]:
        running = [job.age for job in jobs if job.kind == kind]
        return spent[kind] + sum(running), len(running)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:  # what a call has started may still write there
        while True:
            while len(jobs) < workers and time.monotonic() < end and (most is None or sum(at.values()) < most):
                kind = min(kinds, key=share)
                jobs.append(begin(kind, at[kind], batch, seed, Path(root) / str(turn), slice_))
                at[kind], turn = at[kind] + batch, turn + 1
            if not jobs:
                return counts, findings
            time.sleep(0.05)
            if time.monotonic() > minute:
                print(table(counts), file=sys.stderr, flush=True)
                minute += 60
            for job in list(jobs):
                if job.process.poll() is None and job.age < SLICE + 5 * HANG:
                    continue
                jobs.remove(job)
                spent[job.kind] += job.age
                left = finish(job, counts[job.kind], findings)
                if left and time.monotonic() < end:
                    jobs.append(begin(job.kind, left[0], left[1], seed, job.folder, slice_))


def begin(kind: str, start: int, count: int, seed: int, folder: Path, seconds: float) -> Job:
    folder.mkdir(exist_ok=True)
    told = map(str, (kind, start, count, seed, folder, seconds))
    environment = {**os.environ, "QDDOT_CACHE": "off", "OPENBLAS_NUM_THREADS": "1"}
    with (folder / f"said{start}").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.run", "--worker", *told],
            stdout=said,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    return Job(process, kind, start, count, folder)


def finish(job: Job, counts: Counter, findings: list[dict]) -> tuple[int, int] | None:
    """Take what a worker said; where it died or hung, what is left to do."""
    hung = job.process.poll() is None
    with contextlib.suppress(ProcessLookupError):  # with whatever it has started
        os.killpg(job.process.pid, signal.SIGKILL)
    job.process.wait()
    lines = (job.folder / f"said{job.start}").read_text("utf-8", "replace").splitlines()
    said = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    for line in said:
        if "finding" in line:
            findings.append(line)
            print(json.dumps(line), flush=True)
            counts[line["finding"]] += 1
            counts["mutants"] += 1
        else:
            counts.update(line["counts"])
            counts["mutants"] += sum(line["counts"].values())
    if said and "counts" in said[-1]:
        return None
    index = job.start
    with contextlib.suppress(OSError, ValueError):
        index = int((job.folder / "index").read_text())
    what = "hang" if hung else "crash"
    findings.append({"finding": what, "kind": job.kind, "index": index, "why": f"exit status {job.process.returncode}"})
    print(json.dumps(findings[-1]), flush=True)
    keep(job.folder)
    counts[what] += 1
    counts["mutants"] += index - job.start + 1  # what was harmless before it is not told apart
    left = job.start + job.count - index - 1
    return (index + 1, left) if left else None


def table(counts: dict[str, Counter]) -> str:
    total = sum(counts.values(), Counter())
    lines = [f"{'':<8}" + "".join(f"{row:>19}" for row in ROWS)]
    for kind, found in (*counts.items(), ("all", total)):
        lines.append(f"{kind:<8}" + "".join(f"{found[row]:>19,}" for row in ROWS))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--worker", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        kind, start, count, seed, folder, seconds = given.worker
        worker(kind, int(start), int(count), int(seed), Path(folder), float(seconds))
        return 0
    counts, findings = run(given.kinds, given.seconds, given.workers, given.seed)
    print(table(counts))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
