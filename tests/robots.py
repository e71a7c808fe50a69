"""Random robots for tests: any tree, every joint type, physically consistent links."""

from __future__ import annotations

import numpy as np

from qddot.model.description import Joint, Link, Mimic
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.model.pose import from_rpy, unit
from qddot.model.spatial import Transform, Vec

CLASSIC = ("acrobot", "arm7", "cart_pole", "delta", "five_bar", "four_bar", "point_mass_2r", "puma560", "rp_arm", "two_link")
"""Small robots of the catalog that between them have all it has, for tests of every quantity: the others would add time only."""

ONE_DOF = ("revolute", "continuous", "prismatic", "helical")
ALL = (*ONE_DOF, "planar", "spherical", "free", "fixed")


def random_inertia(rng: np.random.Generator) -> Inertia:
    """A cloud of point masses: consistent by construction."""
    masses, points = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3)) * 0.3
    mass = masses.sum()
    com = masses @ points / mass
    arms = points - com
    tensor = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    return Inertia(mass, com, tensor)


def random_pose(rng: np.random.Generator) -> Transform:
    return Transform(from_rpy(*rng.uniform(-np.pi, np.pi, 3)), Vec(*rng.normal(size=3) * 0.5))


def random_model(
    rng: np.random.Generator, joints: int, kinds=ALL, mimic: float = 0.0, chain: bool = False, name: str = "random"
) -> Model:
    """A tree with this many joints, links and joints in any order. The joint named `j0` always moves with one coordinate."""
    links, made = [Link("base")], []
    for i in range(joints):
        parent = links[i].name if chain else links[rng.integers(0, i + 1)].name
        kind = str(rng.choice(kinds)) if i else "revolute"
        axis, _ = unit(Vec(*rng.normal(size=3)))
        follows = None
        if i and kind in ONE_DOF and rng.random() < mimic:
            follows = Mimic("j0", float(rng.choice([-2.0, -0.5, 0.7, 1.0])), rng.normal())
        links.append(Link(f"l{i}", random_inertia(rng)))
        pitch = rng.normal() * 0.2 if kind == "helical" else 0.0
        made.append(Joint(f"j{i}", kind, parent, f"l{i}", random_pose(rng), axis, pitch=pitch, mimic=follows))
    order = rng.permutation(len(made))
    return Model(name, [links[i] for i in rng.permutation(len(links))], [made[i] for i in order])
