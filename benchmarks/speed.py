"""qddot against other libraries, in one interleaved run.

    benchmarks/setup.sh                               makes .venv-bench, with every peer
    .venv-bench/bin/python benchmarks/speed.py        about three minutes
        --quick                                       under 40 s: fewer samples, Pinocchio and MuJoCo only
        --robots panda,ur5,g1,puma560
        --json PATH                                   default benchmarks/results.json
        --markdown                                    the table for a README

Every library reads the same description; its numbers are compared before it is timed. Times are medians of one state. A ratio is
the peer's time over qddot's, of samples taken one after the other; its quartiles are beside it. Batches are of 4,096 states; slow
peers run fewer of them, which does not change their time for one. Peers are the packages that pip installs, not built for this
machine; qddot compiles for it, which is part of the comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from timeit import Timer

import numpy as np
import ours
import peers
import roofline
import table
import waits
from peak import two_threads
from table import Row
from timing import Job, Spread, interleave

from robots import TITLES, Case
from robots import case as make_case

BATCHES = roofline.WORKS
SINGLES = ("single: inverse_dynamics", "single: forward_dynamics", "single: mass_matrix")
TARGETS = {"inverse_dynamics": 50.0, "single: inverse_dynamics": 1 / 0.3}  # against Pinocchio; every other batch: 40
MANY = 65_536
QUICK_PEERS = ("pinocchio", "mujoco")
QUICK_WORKS = {"g1": ("inverse_dynamics", "forward_dynamics", "single: inverse_dynamics")}


def compare(case: Case, quick: bool, missing: list[str]) -> list[Row]:
    """Every work of a robot against every peer that has it."""
    offers = {peer: offer(peer, case, missing) for peer in (QUICK_PEERS if quick else peers.PEERS)}
    rows = []
    for work in works(case, quick):
        others = {peer: jobs[work] for peer, jobs in offers.items() if work in jobs}
        if others:
            rows += measure(case, work, others, 0.25 if quick else 1.5, missing)
    return rows


def works(case: Case, quick: bool) -> tuple[str, ...]:
    """What is measured of a robot."""
    every = (*BATCHES, *SINGLES)
    return QUICK_WORKS.get(case.name, every) if quick else every


def offer(peer: str, case: Case, missing: list[str]) -> dict[str, Job]:
    """What a peer can do with a robot; nothing, and a line that says why, if it cannot."""
    try:
        return peers.jobs_of(peer, case)
    except ImportError as error:
        missing.append(f"{peer}: not installed ({error})")
    except peers.Unsupported as error:
        missing.append(f"{peers.name_of(peer)}, {TITLES[case.name]}: {error}")
    except Exception as error:  # another library's failure is a result, too
        missing.append(f"{peers.name_of(peer)}, {TITLES[case.name]}: fails with {type(error).__name__}: {error}")
    return {}


def measure(case: Case, work: str, others: Mapping[str, Job], seconds: float, missing: list[str]) -> list[Row]:
    """One work: check the numbers, then time all of them in turn."""
    jobs: dict[str, Job] = {"qddot": ours.job(case, work)}
    deviations: dict[str, float] = {}
    jobs["qddot"].run()
    for peer, job in others.items():
        try:
            job.run()
            deviations[peer] = deviation(jobs["qddot"].result(), job.result())
            jobs[peer] = job
        except Exception as error:
            missing.append(f"{peers.name_of(peer)}, {TITLES[case.name]}, {work}: fails with {type(error).__name__}: {error}")
    samples = interleave(jobs, seconds)
    mine = samples.pop("qddot")
    return [
        Row(
            work=work,
            robot=case.name,
            peer=peers.name_of(peer),
            qddot=Spread.of(mine),
            other=Spread.of(theirs),
            ratio=Spread.of(theirs / mine),
            deviation=deviations[peer],
            target=TARGETS.get(work, None if work.startswith("single") else 40.0) if peer == "pinocchio" else None,
        )
        for peer, theirs in samples.items()
    ]


def deviation(mine: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    """The largest difference of any output, relative to its largest element."""
    pairs = [(a[: len(b)], b) for a, b in zip(mine, theirs, strict=True)]
    return max(float(abs(a - b).max() / abs(a).max()) for a, b in pairs)


def limits(cases: Sequence[Case], quick: bool) -> list[roofline.Row]:
    """How near each batch comes to what one core can do at all."""
    seconds = 0.05 if quick else 0.3
    return [roofline.measured(case, work, seconds) for case in cases for work in works(case, quick) if work in BATCHES]


def threads(case: Case, seconds: float) -> dict[str, Spread]:
    """How much faster two threads are than one: for inverse dynamics, and for pure arithmetic that takes as long, in turn."""
    batch = ours.threaded(case, MANY)
    kinds = {"inverse dynamics": batch, "pure arithmetic": two_threads(min(Timer(batch["1"].run).repeat(9, 1)))}
    samples = interleave({f"{kind} {n}": job for kind, jobs in kinds.items() for n, job in jobs.items()}, seconds)
    return {kind: Spread.of(samples[f"{kind} 1"] / samples[f"{kind} 2"]) for kind in kinds}


def say(title: str, text: str) -> None:
    print(f"\n{title}\n\n{text}", flush=True)


def wait_lines(found: Mapping[str, float]) -> str:
    return "\n".join(f"{name:<58}{value:8.3f}" for name, value in found.items())


def all_waits(cases: Sequence[Case], quick: bool) -> dict[str, float]:
    """Import, compilation and memory, in s and MB."""
    found = waits.imports(3 if quick else 7)
    for case in cases if not quick else cases[:1]:
        for quantity in ("inverse_dynamics", "forward_dynamics_derivatives") if not quick else ("inverse_dynamics",):
            for name, value in waits.compilation(case.urdf or Path(case.name), quantity, 1 if quick else 3).items():
                found[f"{case.name} {quantity}: {name}"] = value
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--robots", default="panda,ur5,g1,puma560")
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results.json")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


def timed(step: Callable, *inputs, notes: dict[str, float]):
    """A step's result; its duration goes into the notes."""
    start = time.perf_counter()
    result = step(*inputs)
    notes[step.__name__] = notes.get(step.__name__, 0.0) + time.perf_counter() - start
    return result


def main() -> None:
    warnings.simplefilter("ignore")
    given, missing, notes = arguments(), [], {}
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load before this run {load:.1f}", flush=True)
    cases = [make_case(name) for name in given.robots.split(",")]
    rows: list[Row] = []
    for one in cases:
        rows += timed(compare, one, given.quick, missing, notes=notes)
    if given.quick:
        missing.append(f"left out by --quick: {', '.join(p for p in peers.PEERS if p not in QUICK_PEERS)}; most works of G1")
    share = timed(limits, cases, given.quick, notes=notes)
    shares = {(row.robot, row.work): f"{100 * row.share:.0f} % of {row.limit}" for row in share}
    say(
        "Times of one state, and qddot's share of what binds it",
        table.plain(table.HEAD, [table.cells(row, shares.get((row.robot, row.work), "")) for row in rows]),
    )
    say("Not measured", "\n".join(missing) or "nothing")
    say("Share of what one core can do at all, by the limit that binds (benchmarks/roofline.py)", roofline.text(share))
    gains = timed(threads, cases[0], 1.0 if given.quick else 3.0, notes=notes)
    how = "threads=2" if ours.HAS_THREADS else "two Python threads, half of the states each"
    lines = "\n".join(f"{kind}: {gain.median:.2f} ({gain.low:.2f} .. {gain.high:.2f})" for kind, gain in gains.items())
    say(f"Two threads over one, {MANY} states, {how}; pure arithmetic is what the machine has to give meanwhile", lines)
    waited = timed(all_waits, [one for one in cases if one.urdf], given.quick, notes=notes)
    say("Waiting [s] and memory [MB]", wait_lines(waited))
    if given.markdown:
        say("Markdown", table.markdown(table.MARKDOWN_HEAD, [table.markdown_cells(row) for row in rows]))
    results = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "load before": load,
        "rows": table.as_json(rows),
        "missing": missing,
        "shares": [{**vars(row), "limit": row.limit, "share": row.share} for row in share],
        "threads": {kind: vars(gain) for kind, gain in gains.items()},
        "waits": waited,
        "durations": notes,
    }
    given.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\n{sum(notes.values()):.0f} s; written to {given.json.name}")


if __name__ == "__main__":
    main()
