"""Descriptions from memory, called by the name of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qddot.formats import read_model
from qddot.formats.source import Description
from qddot.model.model import Model


def parse_urdf(data: bytes, file: str, **how: Any) -> Model:
    """The robot in the content of a URDF file of that name, which need not be there."""
    return read_model(Description(data, file, "urdf", Path(file)), **how)
