"""Comparison with another library in random states, and the conventions that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from qddot.errors import InputError, QddotError, near_matches
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.robot import Robot
from qddot.verify.coordinates import Untranslated, driven_joints
from qddot.verify.mujoco_peer import MuJoCo
from qddot.verify.peer import Peer, Refusal, urdf_text
from qddot.verify.pinocchio_peer import Pinocchio

PEERS: Mapping[str, type[Peer]] = {"pinocchio": Pinocchio, "mujoco": MuJoCo}
LITTLE = 1e-3  # kg and kg m^2 added to links that MuJoCo refuses
TOLERANCE = 1e-8  # fraction of a quantity's size; rounding of a URDF with 17 digits and of two algorithms is below it


@dataclass(frozen=True)
class Row:
    """One quantity: the largest difference over all states, as a fraction of its size (see `sizes`), and its joint.

    >>> found = qddot.verify.verify(qddot.load("two_link"), "pinocchio")
    >>> found.rows[0].quantity, found.rows[0].agrees
    ('mass matrix', True)
    """

    quantity: str
    difference: float
    joint: str = ""

    @property
    def agrees(self) -> bool:
        return self.difference <= TOLERANCE


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison with one library.

    Attributes:
        against: the library, with its version.
        read: what it read: the file itself, or a URDF written here.
        rows: the quantities; none if the robot could not be compared.
        conventions: differences in convention, which were translated.
        reason: why nothing was compared; empty if something was.

    >>> found = qddot.verify.verify(qddot.load("two_link"), "pinocchio")
    >>> found.agrees, found.data()["quantities"][0]["quantity"]
    (True, 'mass matrix')
    """

    against: str
    read: str
    rows: tuple[Row, ...] = ()
    conventions: tuple[str, ...] = ()
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """True if every quantity agrees; False if one differs, or if nothing could be compared."""
        return bool(self.rows) and all(row.agrees for row in self.rows)

    def __str__(self) -> str:
        verdict = "agrees" if self.agrees else f"not compared: {self.reason}" if self.reason else "DIFFERS"
        lines = [f"{self.against}, from {self.read}: {verdict}"]
        for row in self.rows:
            lines.append(f"  {row.quantity:<16} {row.difference:8.1e}" + ("" if row.agrees else f"  at joint {row.joint!r}"))
        return "\n".join([*lines, *(f"  convention: {words}" for words in self.conventions)])

    def data(self) -> dict[str, Any]:
        """Return the comparison as plain data, for JSON."""
        rows = [{"quantity": r.quantity, "difference": r.difference, "agrees": r.agrees, "joint": r.joint} for r in self.rows]
        whole = {"against": self.against, "read": self.read, "agrees": self.agrees, "reason": self.reason}
        return {**whole, "quantities": rows, "conventions": list(self.conventions)}


def verify(robot: Robot, against: str, *, source: str | Path | None = None, states: int = 5, seed: int = 0) -> Comparison:
    """Compare mass matrix, Coriolis and gravity forces of the links with another library, in random states.

    >>> import qddot
    >>> from qddot.verify import verify
    >>> verify(qddot.load("two_link"), "pinocchio").agrees  # doctest: +SKIP
    True

    Args:
        against: `"pinocchio"` or `"mujoco"`.
        source: the URDF file of the robot, which the other library reads itself; None: it reads what `to_urdf` writes.

    Raises:
        InputError: no such library.
        MissingExtraError: it is not installed.
        UnboundSymbolError: the robot has symbols.
    """
    if against not in PEERS:
        raise InputError(f"against={against!r}: {near_matches(against, PEERS)}")
    bare = Robot(without_drives(robot.model))
    own = source is not None and str(source).lower().endswith(".urdf")
    read = "the file itself" if own else "the URDF that qddot writes"
    added: list[str] = []
    if against == "mujoco" and (odd := fixed_moments_without_mass(bare.model)):
        links = [replace(link, inertia=None) if link.name in odd else link for link in bare.model.links]
        bare = Robot(bare.model.copy(links=links))
        added.append(f"MuJoCo drops the moments of {', '.join(odd)}, which have no mass and are fixed: left out here, too")
    try:
        driven_joints(bare.model)
        try:
            peer = PEERS[against](bare.model, urdf_text(bare.model, Path(str(source)) if own else None))
        except Refusal as refusal:
            if against != "mujoco":
                raise
            bare, read = Robot(thickened(bare.model)), "the URDF that qddot writes"
            peer = PEERS[against](bare.model, urdf_text(bare.model, None))
            added.append(f"{refusal}; a little mass and inertia was added to every link on both sides")
    except (Refusal, Untranslated) as error:
        return Comparison(against, read, reason=str(error))
    rng = np.random.default_rng(seed)
    found: dict[str, Row] = {}
    names = [c.name for c in bare.model.mechanism.coordinates for _ in c.v]
    for _ in range(states):
        q, qd = bare.random_configuration(rng), rng.normal(size=bare.nv)
        try:
            here = {"mass matrix": bare.mass_matrix(q), "gravity": bare.gravity_torque(q), "Coriolis": bare.coriolis_torque(q, qd)}
        except QddotError as error:
            return Comparison(peer.title, read, reason=f"qddot: {error}")
        there = dict(zip(here, peer.answers(q, qd)))
        inertia, force = sizes(bare.model, here["mass matrix"], qd)
        for quantity, ours in here.items():
            error = np.abs(ours - there[quantity]) / (inertia if quantity == "mass matrix" else force)
            at = np.unravel_index(int(np.argmax(error)), error.shape)[0] if error.size else 0
            row = Row(quantity, float(error.max(initial=0)), names[at] if names else "")
            if quantity not in found or row.difference > found[quantity].difference:
                found[quantity] = row
    return Comparison(peer.title, read, tuple(found.values()), (*added, *conventions(robot.model, peer)))


def sizes(model: Model, M: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
    """Return the sizes of inertias and of forces in a state, by the terms that they are sums of: rounding errors scale with them.

    The forces themselves may cancel, as gravity does at the hinge of a door. They are sums of terms as large as `|M| |qd|^2`, and
    of weights, at most `|g| sqrt(m M_ii)` about joint i (Cauchy-Schwarz: `sum m_k r_k <= sqrt(sum m_k) sqrt(sum m_k r_k^2)`).
    """
    inertia = float(np.abs(M).max(initial=0))
    mass = sum(link.inertia.mass for link in model.links if link.inertia is not None)
    weight = float(np.linalg.norm(np.array(model.gravity, float))) * float(np.sqrt(mass * np.diag(M).max(initial=0)))
    return max(inertia, 1e-300), max(weight, inertia * float(qd @ qd), 1e-300)


def without_drives(model: Model) -> Model:
    """Return the model with its links alone, since friction, springs, gears and rotors differ between libraries."""
    joints = [replace(joint, drive=None) for joint in model.joints]
    return model.copy(joints=joints, transmissions=(), constraints=(), doubtful=())


def fixed_moments_without_mass(model: Model) -> list[str]:
    """Return the names of links that are fixed to others and have a tensor, but no mass."""
    fixed = {joint.child for joint in model.joints if joint.kind == "fixed"}
    return [x.name for x in model.links if x.name in fixed and x.inertia and x.inertia.mass == 0 and x.inertia != Inertia()]


def thickened(model: Model) -> Model:
    """Return the model with so much mass and inertia added to every link that each is a body with volume."""
    links = []
    for link in model.links:
        inertia = link.inertia or Inertia()
        low, middle, high = np.linalg.eigvalsh(np.array(inertia.tensor, float))
        more = max(high - low - middle, -2 * low, 0.0) + LITTLE
        tensor = np.array(inertia.tensor, float) + more * np.eye(3)
        links.append(replace(link, inertia=Inertia(inertia.mass + LITTLE, inertia.com, tensor.tolist())))
    return model.copy(links=links)


def conventions(model: Model, peer: Peer) -> list[str]:
    """Return sentences on the conventions that differ for this robot, and on what was not compared."""
    found = []
    if any(joint.drive for joint in model.joints) or model.transmissions:
        found.append("friction, springs, gears and rotors are part of the dynamics here; the links alone were compared")
    if model.constraints:
        found.append("closed loops are left open")
    return found + peer.conventions
