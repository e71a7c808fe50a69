"""Command: report on this installation: versions, extras, cache, threads, GPU."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import click

from qddot.cli.arguments import json_option
from qddot.cli.printing import plainly, print_json, tell

CORE = ("numpy", "scipy", "llvmlite", "sympy", "python-flint", "click", "pyyaml", "rich")
EXTRAS = {
    "plot": ("matplotlib", "matplotlib", "plots and films"),
    "mjcf": ("mujoco", "mujoco", "MJCF files; qddot verify --against mujoco"),
    "casadi": ("casadi", "casadi", "CasADi functions, exciting motions"),
    "id": ("cvxpy", "cvxpy", "identified parameters that a real body can have"),
    "dist": ("dask", "dask", "identification on a cluster"),
    "logs": ("mcap", "mcap", "MCAP and rosbag2 recordings"),
    "parquet": ("pyarrow", "pyarrow", "Parquet files"),
    "mesh": ("trimesh", "trimesh", "inertia from a mesh, meshes in the explorer"),
    "robots": ("example-robot-data", "", "80 more robots in the catalog"),
}
"""Extra -> distribution, module (empty: data only), purpose."""
BESIDE = {"pinocchio": ("pin", "pinocchio", "qddot verify --against pinocchio")}
"""Packages that are in no extra, likewise."""


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Print versions, extras, cache, threads and GPU of this installation, and check a computation."""
    with plainly("looking"):
        found = report()
    if as_json:
        print_json(found)
    else:
        for title, part in found.items():
            click.echo(click.style(title, bold=True))
            for name, value in part.items():
                good = None if not isinstance(value, dict) else value["present"]
                text = value["words"] if isinstance(value, dict) else str(value)
                mark = "" if good is None else click.style("yes " if good else "no  ", fg="green" if good else "yellow")
                tell(f"  {name:<14} {mark}{text}")
    sys.exit(0 if found["check"]["ok"] else 1)


def report() -> dict[str, dict[str, Any]]:
    """Return the report: title -> name -> text, or data of `part`."""
    import qddot
    from qddot.assets import asset
    from qddot.compile import cache, threads
    from qddot.errors import NoAssetError

    system = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    asked = os.environ.get(threads.VARIABLE, "not set")
    lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    folder = cache.directory()
    entries = cache.entries() if folder else []
    size = sum(path.stat().st_size for path in entries if path.exists())
    kept = f"{folder}, {len(entries)} kernels, {size / 2**20:.1f} MB" if folder else f"none ({cache.VARIABLE}=off)"
    try:
        page = f"built ({len(asset('explorer.js')) // 1024} kB)"
    except (NoAssetError, OSError) as error:
        page = str(error)
    return {
        "installation": {"qddot": qddot.__version__, **system, "python's lock": "on" if lock else "off"},
        "packages": {name: version(name) or "missing" for name in CORE},
        "extras": {name: part(*found, f"qddot[{name}]") for name, found in EXTRAS.items()},
        "beside them": {name: part(*found, found[0]) for name, found in BESIDE.items()},
        "speed": {
            "threads": f"{threads.thread_count(None)} on {threads.cores()} cores ({threads.VARIABLE}={asked})",
            "cache": kept,
            "GPU": gpu(),
        },
        "page": {"explorer": page},
        "check": check(),
    }


def version(distribution: str) -> str | None:
    """Return the version of an installed distribution; None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def part(distribution: str, module: str, purpose: str, installed_as: str) -> dict[str, Any]:
    """Return whether a package is installed (that of an extra stands for all of it), and what it is for."""
    found = version(distribution)
    there = found is not None and (not module or find_spec(module) is not None)
    how = f"{distribution} {found}" if there else f"pip install {installed_as}"
    return {"present": there, "words": f"{how}: {purpose}", "version": found}


def gpu() -> str:
    """Return the name of the GPU, or why there is none."""
    from qddot.compile.gpu.driver import device
    from qddot.errors import QddotError

    try:
        found = device()
        return f"{found.name}, compute capability {found.capability[0]}.{found.capability[1]}"
    except (QddotError, OSError) as error:
        return f"none ({error})"


def check() -> dict[str, Any]:
    """Return whether inverse dynamics recovers the torques of forward dynamics."""
    import numpy as np

    import qddot

    robot = qddot.load("two_link")
    q, qd, tau = np.array([0.3, -0.8]), np.array([1.0, 2.0]), np.array([0.5, -0.2])
    off = float(np.abs(robot.inverse_dynamics(q, qd, robot.forward_dynamics(q, qd, tau)) - tau).max())
    return {"ok": off < 1e-12, "two_link": f"inverse of forward dynamics off by {off:.1e} N m"}
