"""How much does each number of `qddot/thresholds.py` matter? Take 30 % from it, add 30 %, and see what changes.

    python benchmarks/thresholds.py [--seconds 280] [--processes 2] [--only NAME] [--json counts.json]
    python benchmarks/thresholds.py --table counts.json > docs/thresholds.md

The cases are the logs of `corruptions.py`, one of each fault, some files, and the examples in the docstrings of identification and
of logs. Of a log's fit, the verdict may change (the kinds of its serious concerns), and the parameters, which are counted in their
standard deviations where the fit could be trusted before. Of a file, what is noticed when it is read; of an example, what it
prints. A case only counts for the numbers that a function of it names; an example that takes long, for those that a plain fit does
not name. Of a number near 1, the distance from 1 is changed: 0.95 is 0.965 and 0.935.

A number that changes nothing stands where any other would do as well; one that changes verdicts is where it was measured to be.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import gc
import importlib
import io
import json
import os
import pkgutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
from corruptions import CORRUPTIONS, world

import qddot
import qddot.identify
from qddot import thresholds
from qddot.errors import QddotError

FACTORS = (0.7, 1.3)
NAMES = tuple(name for name in vars(thresholds) if name.isupper())
ROOMS = ("qddot.identify", "qddot.logs")
LONG = 0.5  # s
CHUNKS = 4  # parts of the numbers of a case, so that no process waits long for the last one


class Outcome(NamedTuple):
    """Attributes:
    said: kinds of the serious concerns, or the error; what was noticed of a file; whether an example printed something else.
    theta, deviations: parameters of a fit that is trusted.
    """

    said: tuple[str, ...]
    theta: np.ndarray | None = None
    deviations: np.ndarray | None = None


# numbers ----------------------------------------------------------------------------------------------------------------------


def scaled(value: Any, factor: float) -> Any:
    """A number, or several, of the same kind: of one near 1 its distance from 1, whole ones by 1 at least, or by fours."""
    if isinstance(value, tuple):
        return tuple(scaled(each, factor) for each in value)
    if isinstance(value, int):
        unit = 4 if value >= 16 and value % 4 == 0 else 1
        change = max(unit, unit * round(abs(value * (factor - 1)) / unit))
        return max(1, value + (change if factor > 1 else -change))
    if isinstance(value, float) and 0.5 < value < 1.5 and value != 1.0:
        return 1 + (value - 1) * factor
    return value * factor


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """One number is another one, wherever it was imported or is the default of an argument."""
    value = getattr(thresholds, name)
    other = scaled(value, factor)
    modules = [
        thresholds,
        *(m for key, m in list(sys.modules.items()) if key.startswith(ROOMS) and getattr(m, name, None) is value),
    ]
    defaults = [(f, f.__defaults__, f.__kwdefaults__) for f in functions() if has_default(f, value)]
    for module in modules:
        setattr(module, name, other)
    for f, by_place, by_name in defaults:
        f.__defaults__ = by_place and tuple(other if x is value else x for x in by_place)
        f.__kwdefaults__ = by_name and {key: other if x is value else x for key, x in by_name.items()}
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, value)
        for f, by_place, by_name in defaults:
            f.__defaults__, f.__kwdefaults__ = by_place, by_name


@cache
def functions() -> list[FunctionType]:
    every = (f for f in gc.get_objects() if isinstance(f, FunctionType) and (f.__module__ or "").startswith(ROOMS))
    return [f for f in every if f.__defaults__ or f.__kwdefaults__]


def has_default(f: FunctionType, value: Any) -> bool:
    return any(x is value for x in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()))


def named_by(call: Callable[[], object]) -> set[str]:
    """Numbers that functions name which run in a call, or have as default of an argument."""
    codes: set[CodeType] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    by_default = {name for name in NAMES for f in functions() if f.__code__ in codes and has_default(f, getattr(thresholds, name))}
    return by_default | {name for code in codes for name in code.co_names if name in NAMES}


@cache
def named_by_a_fit() -> set[str]:
    return named_by(outcome_of("clean"))


# cases ------------------------------------------------------------------------------------------------------------------------


def cases() -> list[str]:
    """Every second log, then files and examples, then the other logs: what is first is done first."""
    logs = list(CORRUPTIONS)
    return [*logs[::2], *FILES, *examples(), *logs[1::2]]


@cache
def examples() -> dict[str, doctest.DocTest]:
    found = {}
    for room in ROOMS:
        package = importlib.import_module(room)
        for info in pkgutil.walk_packages(package.__path__, room + "."):
            with contextlib.suppress(ImportError):
                for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(info.name)):
                    if test.examples:
                        found[test.name] = test
    return found


Columns = dict[str, np.ndarray]


def columns(log: qddot.identify.Log, **units: float) -> Columns:
    """A log as named columns, each kind times a unit."""
    kinds = {"q": log.q, "qd": np.gradient(log.q, log.t, axis=0), "tau": log.tau}
    parts = {f"{kind}{j + 1}": x[:, j] * units.get(kind, 1.0) for kind, x in kinds.items() for j in range(x.shape[1])}
    return {"t": log.t * units.get("t", 1.0), **parts}


def without(table: Columns, rows: slice) -> Columns:
    return {name: np.delete(x, rows) for name, x in table.items()}


FILES: dict[str, Callable[[qddot.identify.Log], Columns]] = {
    "file: as it is": columns,
    "file: milliseconds": lambda log: columns(log, t=1e3),
    "file: degrees": lambda log: columns(log, q=180 / np.pi, qd=180 / np.pi),
    "file: rpm": lambda log: columns(log, qd=30 / np.pi),
    "file: no names": lambda log: {f"column {i}": x for i, x in enumerate(columns(log).values())},
    "file: times rounded": lambda log: {**columns(log), "t": np.round(log.t, 2)},
    "file: a pause": lambda log: without(columns(log), slice(2000, 2300)),
    "file: samples lost": lambda log: without(columns(log), slice(1000, 3000, 50)),
    "file: many turns": lambda log: {**columns(log), "q1": log.q[:, 0] + 0.5 * log.t},
    "file: wrapped": lambda log: {**columns(log), "q1": (3 * log.q[:, 0] + np.pi) % (2 * np.pi) - np.pi},
    "file: hot": lambda log: {**columns(log), "temperature": 300 + log.t},
}


def loaded(robot: qddot.Robot, table: Columns) -> Outcome:
    """What is noticed of a file, and what its numbers are taken for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        np.savetxt(path, np.stack(list(table.values()), axis=1), "%.9g", ",", header=",".join(table), comments="")
        try:
            log = qddot.identify.Log.load(path, robot)
        except QddotError as error:
            return Outcome((type(error).__name__,))
    sizes = (f"{np.ptp(log.t):.6g} {np.std(log.q):.6g} {np.std(log.tau):.6g} {len(log.t)}",)
    return Outcome((*sorted({f"{f.code} {f.message}" for f in log.findings}), *sizes))


def outcome_of(case: str) -> Callable[[], Outcome]:
    """A function that makes a case again."""
    if case in CORRUPTIONS:
        w = CORRUPTIONS[case].change(world("two_link", 0))
        return lambda: fitted(w.given, w.log)
    if case in FILES:
        clean = world("two_link", 0)
        return lambda: loaded(clean.robot, FILES[case](clean.log))
    return lambda: printed(examples()[case])


def fitted(robot: qddot.Robot, log: qddot.identify.Log) -> Outcome:
    try:
        fit = robot.identify(log)
    except (QddotError, np.linalg.LinAlgError, ValueError) as error:
        return Outcome((type(error).__name__,))
    serious = tuple(sorted({c.kind for c in fit.verdict.concerns if c.serious}))
    return Outcome(serious) if serious else Outcome((), fit.estimate.theta, fit.estimate.std)


def printed(test: doctest.DocTest) -> Outcome:
    """What an example prints that it should not."""
    said = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        test.globs.update(qddot=qddot, np=np)
        runner.run(test, out=said.write, clear_globs=False)
    return Outcome(("prints something else",) if runner.failures else ())


def looked_at(asked: tuple[str, int, str, float]) -> list[dict[str, Any]]:
    """What each number, one way and the other, changes in a case; nothing where an example does not run here."""
    case, chunk, only, until = asked
    warnings.simplefilter("ignore")
    if time.time() > until:
        return []
    again = outcome_of(case)
    usual = again()
    if case in examples() and usual.said:
        return []
    begun = time.process_time()
    named = named_by(again)
    if case in examples() and time.process_time() - begun > LONG:
        named -= named_by_a_fit()
    rows = []
    for name in sorted(named)[chunk::CHUNKS]:
        if only not in name:
            continue
        for factor in FACTORS:
            if time.time() > until:
                return rows
            with changed(name, factor):
                now = again()
            rows.append({"name": name, "case": case, "factor": factor, **difference(usual, now)})
    return rows


def difference(usual: Outcome, now: Outcome) -> dict[str, Any]:
    if usual.said != now.said:
        return {"before": usual.said, "after": now.said}
    if usual.theta is None or now.theta is None or usual.deviations is None:
        return {}
    if usual.theta.shape != now.theta.shape:
        return {"parameters": "others"}
    return {"deviations": float(np.max(np.abs(now.theta - usual.theta) / usual.deviations))}


# the table --------------------------------------------------------------------------------------------------------------------


def reasons() -> dict[str, tuple[str, str]]:
    """Each number as it is written, and the comment beside or above it."""
    found, above, ended = {}, "", True
    for line in Path(thresholds.__file__).read_text(encoding="utf-8").splitlines():
        head, _, beside = line.partition("  # ")
        name, _, value = head.partition(" = ")
        if line.startswith("# "):
            above = line[2:] if ended else f"{above} {line[2:]}"
        elif name in NAMES:
            found[name] = (value, beside or above)
        ended = not line.startswith("# ")
    return found


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The page, line by line."""
    why = reasons()
    logs = len({row["case"] for row in rows if row["case"] in CORRUPTIONS})
    files = len({row["case"] for row in rows if row["case"] in FILES})
    shown = len({row["case"] for row in rows}) - logs - files
    yield PAGE.format(count=len(NAMES), logs=logs, files=files, shown=shown)
    yield "| number | value | what it is, and why | in cases | verdicts changed | parameters moved | others changed |"
    yield "|---|---|---|---|---|---|---|"
    for name in NAMES:
        mine = [row for row in rows if row["name"] == name]
        fits, texts = ([row for row in mine if (row["case"] in CORRUPTIONS) is wanted] for wanted in (True, False))
        moved = max((row["deviations"] for row in fits if "deviations" in row), default=0.0)
        others = any("parameters" in row for row in fits)
        value, reason = why[name]
        yield (
            f"| `{name}` | `{value}` | {reason.replace('|', '/')} | {len({row['case'] for row in mine}) or 'none'} "
            f"| {counts(fits)} | {'others' if others else deviations(moved) if fits else ''} | {counts(texts)} |"
        )


def counts(rows: list[dict[str, Any]]) -> str:
    """How many cases end otherwise with less and with more; nothing where there are no cases."""
    if not rows:
        return ""
    low, high = (sum("after" in row for row in rows if row["factor"] == factor) for factor in FACTORS)
    return f"{low}, {high}" if low or high else "0"


def deviations(moved: float) -> str:
    return "0" if moved < 0.005 else f"{moved:.2g} s.d."


PAGE = """# Numbers that steer identification

Every threshold of identification stands in `src/qddot/thresholds.py` with its unit and its reason: {count} of them. This page shows
how much each matters. It was made smaller by 30 % and larger by 30 % (of a number near 1, its distance from 1), and what changed in
{logs} logs of a two-link arm, each with another fault, in {files} files and in {shown} examples of the documentation was counted:

- *verdicts changed*: logs whose serious concerns are of other kinds, with the smaller number and with the larger;
- *parameters moved*: the farthest that a parameter went, in its own standard deviations, in a fit that is trusted;
- *others changed*: files of which something else is noticed, and examples that print something else.

A number with zeros is uncritical: any other of its size would do as well. `python benchmarks/thresholds.py --json counts.json`
measures, and `python benchmarks/thresholds.py --table counts.json > docs/thresholds.md` writes this page.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1e9, help="after which nothing more is begun")
    parser.add_argument("--only", default="", help="only numbers with this in their name")
    parser.add_argument("--cases", default="", help="only cases with this in their name")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", help="a file for what was found")
    parser.add_argument("--table", help="write the page from such a file instead")
    asked = parser.parse_args()
    if asked.table:
        print("\n".join(table(json.loads(Path(asked.table).read_text(encoding="utf-8")))))
        return
    until = time.time() + asked.seconds
    todo = [(case, chunk, asked.only, until) for case in cases() if asked.cases in case for chunk in range(CHUNKS)]
    rows: list[dict[str, Any]] = []
    with Pool(asked.processes) as pool:
        for found in pool.imap_unordered(looked_at, todo):
            rows += found
            for row in found:
                if "after" in row:
                    print(f"{row['name']:24} x {row['factor']}  {row['case']}: {row['before']} -> {row['after']}", flush=True)
            if asked.json and found:
                Path(asked.json).write_text(json.dumps(rows), encoding="utf-8")
    print(f"{len(rows)} changes of {len({row['name'] for row in rows})} numbers in {len({row['case'] for row in rows})} cases")


if __name__ == "__main__":
    main()
