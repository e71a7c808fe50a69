"""`make fuzz`, once through: every argument of every public call, with every odd value there is, one at a time.

    python -m tests.fuzz.grid --workers 2

Random mutants (`tests.fuzz.run`) meet a pair of an argument and a value now and then; here each pair comes once. Ends with a line
for each place where an error was not ours or a result was not finite, and the number of calls; exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from qddot import control
from tests.fuzz import calls, objects
from tests.fuzz.judge import ALLOWED
from tests.fuzz.run import HANG, Hang, where

EVERY_SEVENTH = 7
"""Of the odd values of calls that take a tenth of a second or more."""

Case = tuple[str, str, Any, Callable[[dict[str, Any]], None]]


def odd_values(name: str, value: Any) -> Iterator[Any]:
    """Everything that an argument is tried with."""
    if name in calls.FINE:
        yield from calls.FINE[name]
        return
    yield from (*calls.MEANT.get(name, ()), *calls.THINGS, *calls.WORDS)
    try:
        array = np.array([] if value is None else value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return
    if not array.size:
        return
    with np.errstate(all="ignore"):
        for x in calls.NUMBERS:
            for place in sorted({0, array.size - 1}):
                changed = array.copy()
                changed.reshape(-1)[place] = x
                yield changed
            yield from ((array * x).tolist(), np.full(array.shape, x))
        yield from (np.nan_to_num(array).astype(kind) for kind in calls.TYPES)
        yield from (np.resize(array, shape) for shape in calls.SHAPES)
        batch = np.resize(array, (9, *array.shape))
        yield from (batch[::-1], np.asfortranarray(batch), np.ma.masked_invalid(batch), batch.tolist())
    if array.ndim == 1:
        yield from ([x, *array.tolist()[1:]] for x in (10**400, None, "a", 1j, np.float32(1)))


def cases(folder: Path) -> Iterator[Case]:
    """(Call, argument, odd value, the call itself with that argument)."""
    for k, robot in enumerate(calls.robots()):
        for name in calls.METHODS:
            needed, optional = calls.sound_call(robot, name, folder)
            sparse = EVERY_SEVENTH if name in calls.SELDOM else 1
            for which in (x for x in (*needed, *optional) if x not in ("directory", "path")):
                for value in list(odd_values(which, needed.get(which)))[k % sparse :: sparse]:
                    yield f"robots()[{k}].{name}", which, value, partial(method, robot, name, folder)
    fixed = {"robot": calls.robots()[0], "reference": control.Hold([0.1, 0.2])}
    for name, (called, usual) in calls.FUNCTIONS.items():
        sound = usual | {key: value for key, value in fixed.items() if key in usual}
        for which in (x for x in usual if x not in fixed):
            for value in odd_values(which, usual[which]):
                yield name, which, value, partial(function, called, sound)
    for name, (called, sound) in objects.CALLS.items():
        sparse = EVERY_SEVENTH if name in objects.SELDOM else 1
        for which in (x for x in sound if x != "path"):
            for value in list(odd_values(which, sound[which]))[::sparse]:
                yield name, which, value, partial(thing, called, sound)


def function(called: Callable[..., Any], sound: dict[str, Any], given: dict[str, Any]) -> None:
    calls.used(called(**sound | given), calls.robots()[0])


def thing(called: Callable[..., Any], sound: dict[str, Any], given: dict[str, Any]) -> None:
    calls.looked_at(called(**sound | given))


def method(robot: Any, name: str, folder: Path, given: dict[str, Any]) -> None:
    needed, _ = calls.sound_call(robot, name, folder)
    calls.looked_at(calls.bound(getattr(robot, name), needed | given), check="check" not in given)


def tried(part: tuple[int, int]) -> tuple[int, dict[tuple[str, str], str]]:
    """How many calls of one part there were, and by error and place the first that was not refused in our words."""

    def stop(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, stop)
    warnings.simplefilter("ignore")
    first, parts = part
    count, found = 0, {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        for k, (name, which, value, call) in enumerate(cases(Path(folder))):
            if k % parts != first:
                continue
            count += 1
            signal.setitimer(signal.ITIMER_PROF, HANG)
            try:
                call({which: value})
            except ALLOWED:
                pass
            except (Exception, Hang) as error:
                told = f"{name}({which}={value!r:.100}): {type(error).__name__}: {str(error)[:150]}"
                found.setdefault((type(error).__name__, where(error)), told)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        os.chdir("/")
    return count, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parts = 4 * (workers := parser.parse_args().workers)
    total, findings = 0, {}
    with get_context("spawn").Pool(workers) as pool:
        for count, found in pool.imap_unordered(tried, [(k, parts) for k in range(parts)]):
            total += count
            for place in found.keys() - findings.keys():
                print(place[1], found[place], flush=True)
            findings = found | findings
    print(f"{total:,} calls, {len(findings)} places where an error is not ours, a result not finite, or the end far")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
