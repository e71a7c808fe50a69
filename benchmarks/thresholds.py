"""How much does each number of `qddot/thresholds.py` matter? Take 30 % from it, add 30 %, and see what changes.

    python benchmarks/thresholds.py [--each] [--seconds 280] [--processes 2] [--only NAME] [--json counts.json]
    python benchmarks/thresholds.py --table counts.json each.json > docs/thresholds.md

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
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
TOGETHER = 16  # numbers that are changed at once: most change nothing


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
    """Logs, files, examples: what is first is done first."""
    return [*CORRUPTIONS, *FILES, *examples()]


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


def looked_at(asked: tuple[str, str, float, bool]) -> list[dict[str, Any]]:
    """What each number, one way and the other, changes in a case; nothing where an example does not run here."""
    case, only, until, each = asked
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
    wanted = [name for name in NAMES if name in named and only in name]
    random.Random(0).shuffle(wanted)  # numbers of one check, changed together, might undo each other
    rows: list[dict[str, Any]] = []

    def look(names: list[str], factor: float) -> None:
        """Change several numbers at once, and only where that changes something, fewer of them."""
        if time.time() > until or not names:
            return
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(changed(name, factor))
            found = difference(usual, again())
        if "after" in found and len(names) > 1:
            look(names[: len(names) // 2], factor)
            look(names[len(names) // 2 :], factor)
        else:
            rows.extend({"name": name, "case": case, "factor": factor, **(found if len(names) == 1 else {})} for name in names)

    size = 1 if each else TOGETHER
    for first in range(0, len(wanted), size):
        for factor in FACTORS:
            look(wanted[first : first + size], factor)
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
    of = {name: [row for row in rows if row["name"] == name] for name in NAMES}
    steering = [name for name in NAMES if any("after" in row and row["case"] in CORRUPTIONS for row in of[name])]
    moving = [name for name in NAMES if name not in steering and any("after" in row or moved(row) >= SEEN for row in of[name])]
    seen = {kind: len({row["case"] for row in rows if is_of(row)}) for kind, is_of in KINDS.items()}
    parts = {"steering": len(steering), "moving": len(moving), "unseen": sum(not of[name] for name in NAMES)}
    changes = [row for row in rows if "after" in row and row["case"] in CORRUPTIONS]
    named = [(is_named(row, "before"), is_named(row, "after")) for row in changes]
    how = {"changes": len(changes), "lost": named.count((True, False)), "gained": named.count((False, True))}
    how["trusted"] = sum(not row["after"] for row in changes)
    yield PAGE.format(count=len(NAMES), **seen, **parts, **how, uncritical=len(NAMES) - sum(parts.values()))
    yield "| number | value | what it is, and why | cases | verdicts changed | parameters moved | others changed |"
    yield "|---|---|---|---|---|---|---|"
    for name in NAMES:
        fits, texts = ([row for row in of[name] if (row["case"] in CORRUPTIONS) is wanted] for wanted in (True, False))
        measured = [row for row in fits if "deviations" in row or "parameters" in row]
        farthest = max(map(moved, measured), default=None)
        value, reason = why[name]
        shown = "" if farthest is None else "0" if farthest < SEEN else f"{farthest:.2g} s.d."
        cases = len({row["case"] for row in of[name]})
        cells = (f"`{name}`", f"`{value}`", reason.replace("|", "/"), f"{cases}", counts(fits), shown, counts(texts))
        yield f"| {' | '.join(cells)} |"


KINDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "logs": lambda row: row["case"] in CORRUPTIONS,
    "files": lambda row: row["case"] in FILES,
    "shown": lambda row: row["case"] not in CORRUPTIONS and row["case"] not in FILES,
    "each": lambda row: "deviations" in row or "parameters" in row,
}
SEEN = 0.01  # standard deviations


def is_named(row: dict[str, Any], when: str) -> bool:
    """Whether a verdict names the fault that its log has."""
    fault = CORRUPTIONS[row["case"]]
    return bool({*fault.names, *fault.planar} & set(row[when]))


def moved(row: dict[str, Any]) -> float:
    """How far parameters went, in standard deviations: infinitely where they are other ones, as those of another law."""
    return np.inf if "parameters" in row else row.get("deviations", 0.0)


def counts(rows: list[dict[str, Any]]) -> str:
    """How many cases end otherwise with less and with more; nothing where there are no cases."""
    if not rows:
        return ""
    low, high = (sum("after" in row for row in rows if row["factor"] == factor) for factor in FACTORS)
    return f"{low}, {high}" if low or high else "0"


PAGE = """# Thresholds of identification

All {count} thresholds of identification are in `src/qddot/thresholds.py`, each with its unit and the reason for its size. This page
shows how much each matters. Each was made smaller and larger by 30 % (for a number near 1: by 30 % of its distance from 1), in
{logs} logs of a two-link arm, each with another fault, in {files} files and in {shown} examples of docstrings. The columns count
the changes (16 November 2026):

- *cases*: logs, files and examples that use the number;
- *verdicts changed*: logs with other kinds of serious concerns, for the smaller number and for the larger one;
- *parameters moved*: the largest change of a parameter, in its own standard deviations, in {each} logs whose fits are trusted;
- *others changed*: files with other findings, and examples with another output.

{steering} numbers change a verdict somewhere, {changes} times in all. Most of these changes concern additional faults: the true
fault of a log is no longer named {lost} times, is named only then {gained} times, and a fit becomes trusted {trusted} time(s).
{moving} more numbers move a parameter by a hundredth of its standard deviation or more, or change a text. {unseen} are used in no
case. The other {uncritical} are uncritical here: any number of similar size would do.

    python benchmarks/thresholds.py --json counts.json                              # verdicts and texts
    python benchmarks/thresholds.py --each --json each.json                         # parameters, one number at a time
    python benchmarks/thresholds.py --table counts.json each.json > docs/thresholds.md
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1e9, help="after which nothing more is begun")
    parser.add_argument("--only", default="", help="only numbers with this in their name")
    parser.add_argument("--cases", default="", help="only cases with this in their name")
    parser.add_argument("--each", action="store_true", help="one number at a time, so that small moves of parameters are seen, too")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", help="a file for what was found")
    parser.add_argument("--table", nargs="+", help="write the page from such files instead")
    asked = parser.parse_args()
    if asked.table:
        print("\n".join(table([row for path in asked.table for row in json.loads(Path(path).read_text(encoding="utf-8"))])))
        return
    until = time.time() + asked.seconds
    todo = [(case, asked.only, until, asked.each) for case in cases() if asked.cases in case]
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
