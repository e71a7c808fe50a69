"""The robots of the benchmarks, and random states for them.

Every library reads the same stripped URDF: no meshes, no friction, the Panda's fingers fixed.
"""

from __future__ import annotations

import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import qddot

STATES = 4096
FOLDER = "cmeel.prefix/share/example-robot-data/robots"
FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
}
FIXED = {"panda_finger_joint1", "panda_finger_joint2"}
TITLES = {"panda": "Panda, 7 dof", "ur5": "UR5, 6 dof", "g1": "G1, 29 dof", "puma560": "Puma 560, 6 dof"}


@dataclass(frozen=True, eq=False)
class Case:
    """A robot with states: `q, qd, qdd, tau` are (STATES, nv), `frame` is its last moving link."""

    name: str
    robot: qddot.Robot
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    urdf: Path | None = None

    @property
    def frame(self) -> str:
        return self.robot.body_names[-1]

    @property
    def is_chain(self) -> bool:
        return self.name != "g1"


@cache
def case(name: str) -> Case:
    """A robot of FILES, or of the bundled catalog."""
    path = stripped(name) if name in FILES else None
    robot = qddot.load(path or name)
    n, rng = robot.nv, np.random.default_rng(0)
    q = rng.uniform(-2, 2, (STATES, n))
    qd, qdd = rng.normal(size=(2, STATES, n))
    return Case(name, robot, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd), path)


def stripped(name: str) -> Path:
    """A copy of a URDF with what matters to rigid-body dynamics."""
    tree = ET.parse(source(name))
    root = tree.getroot()
    for joint in root.findall("joint"):
        if joint.get("name") in FIXED:
            joint.set("type", "fixed")
            drop(joint, ("mimic", "limit", "axis"))
        joint.attrib.pop("dont_collapse", None)
        drop(joint, ("dynamics", "safety_controller"))
    for link in root.findall("link"):
        drop(link, ("visual", "collision"))
    for element in (*root.findall("joint"), *root.iter("inertial")):
        if element.find("origin") is None:  # some readers need what the format lets one leave out
            ET.SubElement(element, "origin", xyz="0 0 0", rpy="0 0 0")
    drop(root, ("transmission", "gazebo", "mujoco", "material", "sensor"))
    path = Path(work_folder().name) / f"{name}.urdf"
    tree.write(path)
    return path


def drop(parent: ET.Element, tags: tuple[str, ...]) -> None:
    """Remove the children with these tags."""
    for child in [c for c in parent if c.tag in tags]:
        parent.remove(child)


def source(name: str) -> Path:
    """A URDF of the package example-robot-data."""
    for path in (Path(folder) / FOLDER / FILES[name] for folder in sys.path):
        if path.exists():
            return path
    raise FileNotFoundError(f"{FILES[name]} of the package example-robot-data is not installed")


@cache
def work_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="qddot-bench-")
