"""Rules on inertias: other units, placeholders, missing ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qddot.algorithms.mass_matrix import mass_matrix
from qddot.lint.finding import Finding, at
from qddot.model.configuration import random_configuration
from qddot.model.description import Joint, Link
from qddot.model.field import Floats
from qddot.model.inertia import Inertia
from qddot.model.model import Model

DEFAULTS = {10.0**k for k in range(-6, 3)}
WIDE, NARROW = 5.0, 0.005  # largest and smallest radius of gyration, in lengths of the link
LEAST = 0.1  # m: the length that a shorter link is taken to have
SINGULAR = 1e-13  # a pivot of M below this fraction of its largest element is zero
ALIKE = 3  # links
FAR = 0.1  # m: a link this long does not balance on its joint by chance
THIN = 1e-6  # moment of a rod about its axis, as a fraction of its largest moment
ACROSS = 0.01  # cosine of the angle between a rod and the way from the joint to its middle
UPRIGHT = 1e-6  # sine of an axis' angle with gravity
HEAVIEST = 30.0  # times the mass of the second heaviest link
ROTOR = 10.0  # times the inertia of the whole arm, stretched out


def inertia_findings(model: Model) -> Iterator[Finding]:
    moving = [link for link in model.links if model.mechanism.frames[link.name][0] >= 0]
    heavy = [link for link in moving if link.inertia is not None and link.inertia.mass > 0]
    if not model.bodies:
        return
    if not heavy:
        yield Finding("QD210", f"{model.name} has no mass: poses and Jacobians only", fix="give its links inertias")
        return
    length = lengths(model)
    tips = {joint.child: np.array(joint.tip.inverse.p, float) for joint in model.joints if swings(joint, model)}
    for link in heavy:
        yield from of_link(link, link.inertia, length[link.name])  # type: ignore[arg-type]
        if link.name in tips:
            yield from on_hinge(link, link.inertia, tips[link.name], length[link.name])  # type: ignore[arg-type]
    yield from heaviest(heavy)
    yield from rotors(model, sum(x.inertia.mass for x in heavy), sum(length.values()))  # type: ignore[union-attr]
    if len(heavy) >= ALIKE and len({(x.inertia.mass, x.inertia.tensor) for x in heavy}) == 1:  # type: ignore[union-attr]
        one: Inertia = heavy[0].inertia  # type: ignore[assignment]
        yield Finding("QD206", f"all {len(heavy)} moving links weigh {one.mass:g} kg with the same tensor", fix="give each its own")
    yield from massless(model)


def of_link(link: Link, inertia: Inertia, length: float) -> Iterator[Finding]:
    """Yield findings about the size of the inertia of a link with mass."""
    tensor, name = np.array(inertia.tensor, float), f"link {link.name!r}"
    moments = np.linalg.eigvalsh(tensor)
    with np.errstate(over="ignore"):  # for masses that are almost zero
        gyration = float(np.sqrt(max(moments[-1], 0.0) / inertia.mass))
    equal = moments[0] == moments[-1] and not (tensor - np.diag(np.diag(tensor))).any()
    body = f"{name}: {moments[-1]:.3g} kg m^2 with {inertia.mass:.3g} kg is a body"
    if equal and any(np.isclose(moments[0], x, rtol=1e-9) for x in DEFAULTS) and not np.any(np.array(inertia.com, float)):
        message = f"{name} has Ixx = Iyy = Izz = {moments[0]:g} kg m^2 and its centre of mass in the origin"
        yield Finding("QD205", message, at(link), "take the inertia from the CAD model, or a shape's")
    elif gyration > WIDE * max(length, LEAST):
        message = f"{body} {gyration:.3g} m wide, and the link is {length:.2g} m long"
        yield Finding("QD203", message, at(link), "give kg m^2 about the centre of mass")
    elif 0 < gyration < NARROW * length:
        message = f"{body} {gyration:.2g} m wide, and the link is {length:.2g} m long"
        yield Finding("QD204", message, at(link), "give kg m^2; a rod has m l^2 / 12")


def swings(joint: Joint, model: Model) -> bool:
    """Return True for a hinge whose link is not balanced on it: any but a vertical one on the base."""
    if joint.kind not in ("revolute", "continuous"):
        return False
    axis, g = np.array(joint.origin.R, float) @ np.array(joint.axis, float), np.array(model.gravity, float)
    return joint.parent != model.root or bool(np.linalg.norm(np.cross(axis, g)) > UPRIGHT * np.linalg.norm(g))


def on_hinge(link: Link, inertia: Inertia, hinge: np.ndarray, length: float) -> Iterator[Finding]:
    """Yield findings about the centre of mass of a link on a hinge; `hinge`: a point of its joint, in the link's frame."""
    com, name = np.array(inertia.com, float) - hinge, f"link {link.name!r}"
    moments, directions = np.linalg.eigh(np.array(inertia.tensor, float))
    is_rod = moments[1] > 0 and moments[0] <= THIN * moments[1] and np.isclose(moments[1], moments[2])
    rod = float(np.sqrt(12 * moments[2] / inertia.mass)) if is_rod else 0.0
    if not com.any() and max(length, rod) >= FAR:
        message = f"{name} is {max(length, rod):.2g} m long and has its centre of mass in its joint"
        yield Finding("QD212", message, at(link), "give com, the middle of the link, unless it is balanced")
    elif is_rod and abs(com @ directions[:, 0]) < ACROSS * np.linalg.norm(com) and np.linalg.norm(com) > rod / 4:
        message = f"{name} is a rod along {named(directions[:, 0])}, with its middle {np.linalg.norm(com):.2g} m beside the joint"
        yield Finding("QD213", message, at(link), "give its axis, the direction of the link")


def named(direction: np.ndarray) -> str:
    """Return `x`, `y` or `z` for a coordinate axis, else the numbers of a direction."""
    k = int(np.argmax(np.abs(direction)))
    return "xyz"[k] if abs(direction[k]) > 1 - 1e-9 else f"[{', '.join(f'{x:.2g}' for x in direction)}]"


def heaviest(heavy: list[Link]) -> Iterator[Finding]:
    """Yield a finding about a link that is much heavier than all others."""
    masses = sorted(((x.inertia.mass, x) for x in heavy), key=lambda x: -x[0])  # type: ignore[union-attr]
    if len(masses) > 1 and masses[0][0] > HEAVIEST * masses[1][0]:
        (most, link), (second, other) = masses[:2]
        rule = f"link {link.name!r} weighs {most:.4g} kg, the next heaviest, {other.name!r}, {second:.4g} kg"
        yield Finding("QD214", rule, at(link), "look at the units and the point of its mass")


def rotors(model: Model, mass: float, reach: float) -> Iterator[Finding]:
    """Yield findings about rotors with more inertia than all links together at the end of the arm."""
    for joint in model.joints:
        felt = float(joint.drive.at_joint.armature) if joint.drive else 0.0
        bound, unit = (mass, "kg") if joint.kind == "prismatic" else (mass * max(reach, LEAST) ** 2, "kg m^2")
        if felt > ROTOR * bound:
            message = f"is felt as {felt:.3g} {unit}, and the arm stretched out is {bound:.2g} {unit}"
            fix = "give rotor_inertia at the motor's shaft: gear_ratio^2 multiplies it"
            yield Finding("QD215", f"the rotor of joint {joint.name!r} {message}", at(joint, "drive"), fix)


def lengths(model: Model) -> dict[str, float]:
    """Return the length of each link: the largest distance of its joints, frames and centre of mass from its own joint."""
    found = {link.name: 0.0 for link in model.links}
    for joint in model.joints:
        found[joint.parent] = max(found[joint.parent], float(np.linalg.norm(np.array(joint.origin.p, float))))
        found[joint.child] = max(found[joint.child], float(np.linalg.norm(np.array(joint.tip.p, float))))
    for frame in model.frames:
        found[frame.link] = max(found[frame.link], float(np.linalg.norm(np.array(frame.pose.p, float))))
    for link in model.links:
        if link.inertia is not None:
            found[link.name] = max(found[link.name], 2 * float(np.linalg.norm(np.array(link.inertia.com, float))))
    return found


def massless(model: Model) -> Iterator[Finding]:
    """Yield findings about joints whose pivot of the mass matrix is zero in all configurations."""
    mechanism, far = model.mechanism, np.full(model.mechanism.nq, np.inf)
    lifted, smallest = model.over(Floats()), np.full(mechanism.nv, 0.0)
    for seed in range(3):
        q = random_configuration(mechanism, np.random.default_rng(seed), -far, far)
        M = np.array(mass_matrix(lifted, [float(x) for x in q]), float)
        smallest = np.maximum(smallest, pivots(M))
    names = {k: c.name for c in mechanism.coordinates for k in c.v}
    places = {joint.name: at(joint) for joint in model.joints}
    for name in dict.fromkeys(names[k] for k in np.flatnonzero(smallest <= 0).tolist()):
        fix = "give the links beyond it a mass, or fix the joint"
        yield Finding("QD209", f"joint {name!r} moves no inertia", places.get(name, ""), fix)


def pivots(M: np.ndarray) -> np.ndarray:
    """Return the pivots of the elimination from the last row up, leaves before their parents; 0 for one that is rounding noise."""
    A, found = M.copy(), np.zeros(len(M))
    for k in reversed(range(len(M))):
        pivot = A[k, k]
        if pivot <= SINGULAR * max(abs(M).max(), 1e-300):
            continue
        found[k] = pivot
        A[:k, :k] -= np.outer(A[:k, k], A[k, :k]) / pivot
    return found
