"""Protocol of a library to compare with, and the description that it gets."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Protocol

import numpy as np

from qddot.errors import ModelError
from qddot.formats.urdf_writer import write_urdf
from qddot.formats.xml_tree import read_bytes
from qddot.model.model import Model

SHAPES = ("visual", "collision")
FOREIGN = ("gazebo", "transmission", "material", "sensor")


class Refusal(Exception):
    """Error of the other library: it refuses the robot, and why."""


class Peer(Protocol):
    """A library's model of a robot."""

    title: str  # its name and version
    conventions: list[str]  # sentences on its conventions that differ for this robot

    def __init__(self, model: Model, urdf: str) -> None: ...

    def answers(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mass matrix, gravity forces and Coriolis forces in our coordinates and conventions."""
        ...


def urdf_text(model: Model, path: Path | None) -> str:
    """Return the URDF of its file, or as written here; without shapes, which dynamics does not need."""
    if path is not None:
        data = read_bytes(path)
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "robot.urdf")
            try:
                write_urdf(model, file)
            except ModelError as error:
                raise Refusal(f"a URDF cannot hold it: {error}") from None
            data = file.read_bytes()
    root = ET.fromstring(data)
    for link in root.findall("link"):
        for tag in SHAPES:
            for shape in link.findall(tag):
                link.remove(shape)
    for tag in FOREIGN:
        for element in root.findall(tag):
            root.remove(element)
    return ET.tostring(root, encoding="unicode")
