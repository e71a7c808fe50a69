"""How many multiplications and additions a state costs, beside the best published counts.

    .venv/bin/python benchmarks/operations.py

Sines and cosines are not counted, by the custom of the field: every method needs them. Divisions count as multiplications, and
subtractions as additions. The Puma 560 is counted twice: with its drives (rotor inertias, friction), and without. The Stanford arm,
whose published masses contradict each other, is given links without any symmetry: with real ones it can only be less.

Published: the counts for a chain of n revolute joints with general geometry, as collected by R. Featherstone, Rigid Body Dynamics
Algorithms (Springer 2008), table 10.1: inverse dynamics by Balafoutis and Patel (1991), algorithm 5.7; mass matrix by composite
bodies, Featherstone (2005); forward dynamics by articulated bodies, McMillan et al. (1995). They hold for any
chain; qddot's hold for one robot, whose zeros and ones fold away. (The formulas were read in a public transcription of that table,
not in the book.) Counts for the Puma 560 in particular, and for trees, were looked for and not found in a source that could be
checked.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import table

import qddot
from robots import TITLES, case

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
PUBLISHED: dict[str, Callable[[int], tuple[int, int]]] = {
    "inverse_dynamics": lambda n: (93 * n - 108, 81 * n - 100),
    "forward_dynamics": lambda n: (224 * n - 259, 205 * n - 248),
    "mass_matrix": lambda n: (10 * n * n + 22 * n - 32, 6 * n * n + 37 * n - 43),
}
HEAD = ("robot", "quantity", "mul", "add", "sincos", "published: mul", "add")


def counts(robot: qddot.Robot, quantity: str) -> tuple[int, int, int]:
    """Multiplications and divisions; additions and subtractions; sines and cosines."""
    found = robot.program(quantity).operations()
    return found["*"] + found["/"], found["+"] + found["-"], found["sin"] + found["cos"]


def lines(title: str, robot: qddot.Robot, is_chain: bool) -> list[tuple[str, ...]]:
    rows = []
    for quantity in QUANTITIES:
        published = tuple(map(str, PUBLISHED[quantity](robot.nv))) if is_chain else ("not found", "not found")
        rows.append((title, quantity, *map(str, counts(robot, quantity)), *published))
    return rows


def without_drives(name: str) -> qddot.Robot:
    """A robot of the catalog, bare."""
    text = "\n".join(line for line in catalog_text(name).splitlines() if not line.startswith("drive"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.toml"
        path.write_text(text)
        return qddot.load(path)


def general_links(name: str) -> qddot.Robot:
    """The geometry of a robot of the catalog, with ten parameters of each link that are no zero."""
    robot, rng = qddot.load(name), np.random.default_rng(0)
    links = []
    for link in robot.model.links[1:]:
        root = rng.normal(size=(3, 3))
        tensor = root @ root.T + np.eye(3)
        links.append(replace(link, inertia=qddot.Inertia(float(rng.uniform(1, 2)), rng.normal(size=3), tensor)))
    return qddot.Robot(robot.model.copy(links=[robot.model.links[0], *links], kinematics_only=""))


def catalog_text(name: str) -> str:
    return (Path(qddot.__file__).parent / "catalog" / f"{name}.toml").read_text()


def main() -> None:
    warnings.simplefilter("ignore")
    rows = lines("Puma 560, no drives", without_drives("puma560"), True)
    rows += lines("Stanford, general links", general_links("stanford"), True)
    for name in ("puma560", "panda", "ur5", "g1"):
        rows += lines(TITLES[name], case(name).robot, case(name).is_chain)
    print(table.plain(HEAD, rows))


if __name__ == "__main__":
    main()
