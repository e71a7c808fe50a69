"""List the files that a reader passes through on three journeys, in the order in which a call first enters them.

    python tools/journey.py [inverse_dynamics | equations | identify]

A file counts when one of its functions runs; dataclasses' generated methods, and what runs while modules are imported, do not: each
journey was made once before, by another robot. A file is on the way where the journey goes on from it into another one, and at its
end; the others (`spatial`, `scalar`, `arguments`, ...) are looked into and left again, and marked so. A call from a later file back
into an earlier one is a return, each pair of files counted once. A public method or property of `Robot` that is called on the way
(`robot.regressor`) is a journey of its own, and not followed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import qddot

SOURCE = Path(qddot.__file__).parent


def inverse_dynamics(robot: qddot.Robot) -> Callable[[], Any]:
    q = np.zeros(2)
    return lambda: robot.inverse_dynamics(q, q, q)


def equations(robot: qddot.Robot) -> Callable[[], Any]:
    return lambda: robot.equations().M


def identify(robot: qddot.Robot) -> Callable[[], Any]:
    from qddot.identify import Log

    t = np.arange(4000) / 500.0
    w = np.array([1.0, 1.37])
    q, qd, qdd = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -(w**2) * np.sin(np.outer(t, w))
    tau = robot.inverse_dynamics(q, qd, qdd) + 0.01 * np.random.default_rng(2).normal(size=qd.shape)
    log = Log(t, q, tau)
    robot.identify(log)  # whatever is compiled is compiled now: that is the first journey
    return lambda: robot.identify(log)


def follow(call: Callable[[], Any]) -> None:
    """Make the call and print its journey."""
    first: dict[str, str] = {}
    on_the_way: set[str] = set()
    returns: set[tuple[str, str]] = set()

    aside: list[FrameType] = []  # where another journey began

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and aside and frame is aside[0]:
            aside.clear()
        if event != "call" or aside:
            return
        name = file_of(frame)
        if name is None:
            return
        if "robot.py" in first and begins_a_journey(frame):
            aside.append(frame)
            return
        caller = file_of(frame.f_back)
        if name not in first:
            first[name] = frame.f_code.co_name
            on_the_way.add(caller or name)
        elif caller is not None and caller != name and list(first).index(caller) > list(first).index(name):
            returns.add((caller, name))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    on_the_way.add(next(reversed(first)))
    for place, (name, function) in enumerate(first.items(), 1):
        print(f"  {place:3} {name:40} {function:24}{'' if name in on_the_way else ' looked into'}")
    between = sum({caller, name} <= on_the_way for caller, name in returns)
    print(f"  {len(first)} files, {len(on_the_way)} of them on the way; {len(returns)} returns, {between} of them between those")
    for caller, name in sorted(returns):
        print(f"      {caller} goes back to {name}")


def begins_a_journey(frame: FrameType) -> bool:
    """Is this a public method of `Robot`, called from another file?"""
    caller = file_of(frame.f_back)
    return file_of(frame) == "robot.py" and caller not in (None, "robot.py") and not frame.f_code.co_name.startswith("_")


def file_of(frame: FrameType | None) -> str | None:
    """The file of a function of ours, relative to the source; None for modules being imported and for what is not ours."""
    if frame is None or frame.f_code.co_name == "<module>":
        return None
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None


JOURNEYS = {"inverse_dynamics": inverse_dynamics, "equations": equations, "identify": identify}


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as empty:
        os.environ["QDDOT_CACHE"] = empty  # so that machine code is made, not found
        for name in sys.argv[1:] or JOURNEYS:
            print(name)
            JOURNEYS[name](qddot.load("acrobot"))()
            follow(JOURNEYS[name](qddot.load("two_link")))


if __name__ == "__main__":
    main()
