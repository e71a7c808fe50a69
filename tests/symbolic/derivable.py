"""Random robots to derive: every kind of joint, friction and drive, numbers, symbols, and names that derivations use too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy

import qddot
from qddot.model.description import Joint, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.joints import Z
from qddot.model.model import Model
from qddot.model.pose import from_rpy, unit
from qddot.model.spatial import Transform, Vec
from tests.robots import ALL, ONE_DOF

NAMES = (
    "m2",
    "l_1",
    "M_12",
    "omega_x1",
    "g_1",
    "b_1_12",
    "K1",
    "p1",
    "T2",
    "k1",
    "J_1",
    "sigma_3",
    "tau",
    "r_c1",
    "v_2",
    "λ",
    "a b_c",
)
"""Symbols that look like what a derivation introduces, or odd."""

SYMBOLIC = 0.15
"""How many of the numbers are symbols."""


def random_robot(seed: int) -> qddot.Robot:
    """One to three joints; the same for the same seed."""
    rng = np.random.default_rng(seed)
    names = iter(rng.permutation(NAMES))

    def number(low: float, high: float) -> float | sympy.Symbol:
        """A decimal as people write it, sometimes a long one, sometimes a symbol."""
        kind = rng.random()
        if kind < SYMBOLIC and (name := next(names, None)):
            return sympy.Symbol(str(name), positive=True)
        return float(rng.uniform(low, high)) if kind > 0.9 else round(float(rng.uniform(low, high)), 2)

    links, joints = [Link("base")], []
    coordinates = ("spherical", "free") if seed % 5 == 0 else ()
    kinds = [kind for kind in ALL if kind not in ("spherical", "free") or kind in coordinates]
    for i in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(kinds)) if i else str(rng.choice(ONE_DOF))
        angles = rng.choice([0, np.pi / 2, -np.pi / 2, np.pi / 6, 0.3, 1.234], 3)
        pose = Transform(from_rpy(*angles), Vec(number(0, 1), 0.0, number(0, 0.5) if rng.random() < 0.4 else 0.0))
        axis = unit(Vec(*rng.normal(size=3)))[0] if rng.random() < 0.2 else Z
        own = kind in ONE_DOF
        follows = Mimic("j0", float(rng.choice([-2.0, 0.5, 1.0])), 0.1) if own and i and rng.random() < 0.15 else None
        drive = random_drive(rng, number) if own and follows is None and rng.random() < 0.7 else None
        parent = links[int(rng.integers(len(links)))].name if rng.random() < 0.3 else links[-1].name
        pitch = 0.1 if kind == "helical" else 0.0
        joints.append(Joint(f"j{i}", kind, parent, f"l{i}", pose, axis, pitch=pitch, mimic=follows, drive=drive))
        links.append(Link(f"l{i}", random_inertia(rng, number)))
    gravity = [(0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (1.0, 2.0, -9.0), (0.0, 0.0, 0.0)][int(rng.integers(4))]
    robot = qddot.Robot(Model(f"random_{seed}", links, joints, gravity=gravity))
    free = [x for x in joints if x.kind in ONE_DOF and x.mimic is None and x.drive is None]
    if len(free) >= 2 and rng.random() < 0.6:
        motors = (Drive(rotor_inertia=0.01, viscous=0.1), Drive(coulomb=(0.2, 0.1), rotor_inertia=0.02))
        robot = robot.with_transmission(qddot.Transmission((free[0].name, free[1].name), ((10, 0), (5, -5)), motors))
    return robot


def random_inertia(rng: np.random.Generator, number) -> Inertia | None:
    kind = rng.random()
    if kind < 0.1:
        return None
    if kind < 0.3:
        return Inertia.point(number(0.5, 2), (number(0.1, 1), 0, 0))
    x, y, z = (round(float(v), 3) for v in rng.uniform(0.05, 0.3, 3))
    found = Inertia(round(float(rng.uniform(0.3, 3)), 2), (round(float(rng.normal()), 2), 0.1, 0), (x + y, 0, 0, x + z, 0, y + z))
    return replace(found, mass=number(0.5, 2)) if kind < 0.5 else found


def random_drive(rng: np.random.Generator, number) -> Drive:
    """A few of everything that a drive can have."""
    has = lambda chance: rng.random() < chance  # noqa: E731
    parts: dict = {}
    if has(0.5):
        parts["viscous"] = number(0.1, 1)
    if has(0.5):
        parts["coulomb"] = (0.3, 0.2) if has(0.5) else number(0.1, 0.3)
        if has(0.5):  # a static friction that is above the other, whatever is drawn for symbols
            parts["static"] = (0.6, 0.5) if isinstance(parts["coulomb"], tuple) else number(2.0, 3.0)
            parts["stribeck_velocity"] = number(0.05, 0.3) if has(0.7) else 0.0
    if has(0.25):
        parts["load_friction"] = number(0.05, 0.2)
    if has(0.3):
        parts |= {"stiffness": number(1, 5), "rest": 0.2}
    if has(0.5):
        parts |= {"rotor_inertia": number(0.001, 0.01), "gear_ratio": float(rng.choice([-20, 50]))}
        if has(0.4):
            parts["rotor_axis"] = (0, 1, 1)
    if has(0.2):
        parts |= {"series_stiffness": number(50, 100), "series_damping": 0.5}
    return Drive(**parts, side="motor" if has(0.2) and "series_stiffness" not in parts else "joint")
