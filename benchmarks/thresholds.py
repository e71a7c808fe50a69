"""How much does each number of `qddot/thresholds.py` matter? Halve and double it, and count the verdicts that change.

    python benchmarks/thresholds.py [--arm two_link] [--every 1] [--only NAME] [--processes 2] [--json counts.json]

The logs are those of `corruptions.py`, one of each fault. A number that changes nothing when it is halved and doubled is far from
every log there; one that changes much stands where it was measured to stand, or is there to be looked at again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from multiprocessing import Pool
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


import numpy as np
from corruptions import CORRUPTIONS, World, world

from qddot import thresholds
from qddot.errors import QddotError

FACTORS = (0.5, 2.0)


def names(only: str) -> list[str]:
    return [name for name in vars(thresholds) if name.isupper() and only in name]


def scaled(value: Any, factor: float) -> Any:
    """A number, or several, of the same kind."""
    if isinstance(value, tuple):
        return tuple(scaled(each, factor) for each in value)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def holders(name: str) -> list[Any]:
    """Modules that are loaded and have the number, `thresholds` among them."""
    value = getattr(thresholds, name)
    return [m for key, m in list(sys.modules.items()) if key.startswith("qddot") and getattr(m, name, None) is value]


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """One number is another one, wherever it was imported."""
    value, modules = getattr(thresholds, name), holders(name)
    for module in modules:
        setattr(module, name, scaled(value, factor))
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, value)


@cache
def corrupted(fault: str, arm: str) -> World:
    return CORRUPTIONS[fault].change(world(arm, 0))


def said(fault: str, arm: str) -> str:
    """The first serious concern of a log's verdict, by its kind."""
    w = corrupted(fault, arm)
    try:
        fit = w.given.identify(w.log)
    except (QddotError, np.linalg.LinAlgError, ValueError) as error:
        return type(error).__name__
    return next((c.kind for c in fit.verdict.concerns if c.serious), "")


def counted(asked: tuple[str, str, int]) -> tuple[str, list[list[str]]]:
    """Faults whose verdict changes when a number is halved, and doubled."""
    warnings.simplefilter("ignore")
    name, arm, every = asked
    faults = list(CORRUPTIONS)[::every]
    usual = {fault: before(fault, arm) for fault in faults}
    if len(holders(name)) == 1:  # no log comes there
        return name, [[], []]
    found = []
    for factor in FACTORS:
        with changed(name, factor):
            found.append([fault for fault in faults if said(fault, arm) != usual[fault]])
    return name, found


@cache
def before(fault: str, arm: str) -> str:
    return said(fault, arm)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arm", default="two_link")
    parser.add_argument("--every", type=int, default=1, help="only every so many of the faults")
    parser.add_argument("--only", default="", help="only numbers with this in their name")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", help="a file for the counts")
    asked = parser.parse_args()
    done: dict[str, list[list[str]]] = {}
    count = len(list(CORRUPTIONS)[:: asked.every])
    with Pool(asked.processes) as pool:
        for name, found in pool.imap_unordered(counted, [(name, asked.arm, asked.every) for name in names(asked.only)]):
            done[name] = found
            halved, doubled = map(len, found)
            faults = "; ".join(dict.fromkeys(chain(*found)))
            print(f"{name:24} halved {halved:2}, doubled {doubled:2} of {count}  {faults[:150]}", flush=True)
            if asked.json:
                with open(asked.json, "w", encoding="utf-8") as file:
                    json.dump(done, file, indent=1)


if __name__ == "__main__":
    main()
