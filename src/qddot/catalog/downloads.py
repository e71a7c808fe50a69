"""Robots of the package `robot_descriptions`, if it is installed: some 200, each downloaded when it is loaded."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from qddot.errors import InputError

PACKAGE = "robot_descriptions"


def known() -> dict[str, Any]:
    """Return name -> the package's data about a robot; none if it is not installed. Nothing is downloaded."""
    return dict(import_module(PACKAGE).DESCRIPTIONS) if find_spec(PACKAGE) else {}


def fetch(name: str) -> Path:
    """Return the description's file, downloaded by the package if necessary. Raises InputError: it could not be fetched, or is
    neither URDF nor MJCF."""
    try:
        module = import_module(f"{PACKAGE}.{name}")
    except Exception as error:  # git, the network and the package raise errors of many types
        raise InputError(f"{PACKAGE} could not fetch {name}: {type(error).__name__}: {error}") from error
    path = getattr(module, "URDF_PATH", None) or getattr(module, "MJCF_PATH", None)
    if path is None:
        raise InputError(f"{PACKAGE} has {name} as neither URDF nor MJCF")
    return Path(path)
