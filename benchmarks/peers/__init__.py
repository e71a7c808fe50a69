"""Libraries qddot is measured against: one module each, with `NAME` and `jobs(case)`.

`jobs` returns what the library can do with a robot: work -> Job, under the names of qddot's quantities, with `single:` in front
for one call from Python. It raises ImportError if the library is not installed, and Unsupported for a robot it does not take.
"""

from __future__ import annotations

import importlib

from timing import Job

from robots import Case

PEERS = ("pinocchio", "mujoco", "adam_casadi", "adam_jax", "roboticstoolbox", "modern_robotics")


class Unsupported(Exception):
    """The library does not take this robot; the message says why."""


def jobs_of(peer: str, case: Case) -> dict[str, Job]:
    """A peer's jobs, under its name."""
    return importlib.import_module(f"peers.{peer}").jobs(case)


def name_of(peer: str) -> str:
    """What tables call a peer, installed or not."""
    try:
        return importlib.import_module(f"peers.{peer}").NAME
    except ImportError:
        return peer
