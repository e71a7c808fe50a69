"""Plausible links: torques do not tell how base parameters are split into links, so sizes and densities decide.

A body is assumed to be about as large as its joints are apart, an ellipsoid around them. All links without a described mass get the
same density, which follows from the torques of the log. A link that comes out heavier than any metal, or with its centre of mass
far outside, is not plausible, however well it explains the torques.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from qddot.algorithms.regressor import INERTIAL
from qddot.errors import InputError
from qddot.identify.physical.pseudo_inertia import ten_vector
from qddot.identify.regression.base import Base, random_motions
from qddot.identify.regression.bodies import body_inertias, without_mass
from qddot.identify.regression.columns import Evaluator
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.scaling import column_lengths, nonzero
from qddot.robot import Robot
from qddot.thresholds import COLUMN_ROUNDING, DENSEST, FAR_CENTRE, LINK_DENSITY, LINK_RADIUS, WEIGHT_FACTOR


class Extent(NamedTuple):
    """An ellipsoid along the axes of a link's frame: centre (3,) and semi-axes (3,), m."""

    centre: np.ndarray
    half: np.ndarray

    @property
    def volume(self) -> float:
        """Volume, m^3."""
        return float(4 / 3 * np.pi * np.prod(self.half))

    def filled(self, mass: float) -> np.ndarray:
        """The ten inertial parameters (10,) of a homogeneous ellipsoid of this mass, kg."""
        J = np.empty((4, 4))
        J[:3, :3] = mass * (np.diag(self.half**2) / 5 + np.outer(self.centre, self.centre))
        J[:3, 3] = J[3, :3] = mass * self.centre
        J[3, 3] = mass
        return ten_vector(J)


def extents(robot: Robot) -> dict[str, Extent]:
    """Moving body -> the ellipsoid around its joints and everything fixed to it, as thick as links of arms usually are."""
    points = {body: np.array(list(points_of(robot, body))) for body in robot.body_names}
    length = {body: max(float(np.ptp(found, axis=0).max()), from_parent(robot, body)) for body, found in points.items()}
    usual = float(np.sqrt(np.mean(np.square(list(length.values()))))) or 1.0
    found = {}
    for body, where in points.items():
        low, high = where.min(axis=0), where.max(axis=0)
        thick = LINK_RADIUS * max(length[body], usual)
        found[body] = Extent((low + high) / 2, (high - low) / 2 + thick)
    return found


def points_of(robot: Robot, name: str) -> Iterator[list[float]]:
    """Yield, in a body's frame (3,), the origins of its link, its joint, the joints that it carries and the frames fixed to it."""
    model = robot.model
    body = next(body for body in model.bodies if body.name == name)
    back = body.link.inverse
    here = {frame: back @ pose for frame, (index, pose) in model.mechanism.frames.items() if index == body.index}
    places = [back, *here.values(), *(here[joint.parent] @ joint.origin for joint in model.joints if joint.parent in here)]
    for pose in places:
        yield [float(x) for x in pose.p]


def from_parent(robot: Robot, name: str) -> float:
    """Distance of a body's joint from the frame that carries it, m: what lies between may belong to either body."""
    origins = [joint.origin.p for joint in robot.model.joints if joint.child == name]
    return max((float(np.linalg.norm([float(x) for x in p])) for p in origins), default=0.0)


def filled_in(parameter_set: ParameterSet, R: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Free parameters (f,) as described, with ellipsoids for bodies without mass. Their density is fitted to `|R theta - r|`."""
    theta, extent = parameter_set.described.copy(), extents(parameter_set.robot)
    more = np.zeros(len(theta))
    for body in without_mass(parameter_set.robot):
        ten = dict(zip(INERTIAL, extent[body].filled(extent[body].volume)))
        for k, name in enumerate(parameter_set.names):
            owner, _, kind = name.rpartition(".")
            more[k] = ten[kind] if owner == body and kind in ten else more[k]
    if not more.any():
        return theta
    drives = [k for k, name in enumerate(parameter_set.names) if name.rpartition(".")[0] in parameter_set.robot.joint_names]
    links = np.setdiff1d(np.arange(len(theta)), drives)
    X = np.column_stack([R @ more, R[:, drives]])
    size = column_lengths(X)
    density = float((np.linalg.lstsq(X / size, r - R[:, links] @ theta[links], rcond=1e-9)[0] / size)[0])
    return theta + more * (density if 0 < density < DENSEST else LINK_DENSITY)


def keeping_load(base: Base, R: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add to the problem `|R theta - r|` equations that keep the load of the fit, with which friction grows, where torques leave it
    open. The weight of a vertical slider looks like an offset, for one, but friction grows with the weight alone."""
    parameter_set = base.parameter_set
    if parameter_set.carried is None:
        return R, r
    evaluator = Evaluator(parameter_set)
    load = evaluator.load_columns(*random_motions(parameter_set, 2 * len(base.K.T) // parameter_set.robot.nv + 50))
    load = load.reshape(-1, load.shape[-1]) @ parameter_set.T
    size = nonzero(np.linalg.norm(load, axis=0) + np.linalg.norm(R, axis=0))
    K = base.K / size
    _, s, Vt = np.linalg.svd(load / size - load / size @ np.linalg.pinv(K) @ K, full_matrices=False)
    rows = Vt[s > COLUMN_ROUNDING * np.linalg.norm(load / size)] * size
    if not len(rows):
        return R, r
    carried = np.linalg.lstsq(parameter_set.T, parameter_set.carried - parameter_set.constant, rcond=None)[0]
    wanted = rows @ carried
    weight = np.linalg.norm(r) / (np.linalg.norm(wanted) or 1.0)  # these equations count as much as all torques together
    return np.vstack([R, weight * rows]), np.append(r, weight * wanted)


def weighing(
    parameter_set: ParameterSet, R: np.ndarray, r: np.ndarray, free: np.ndarray, total_mass: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add to the problem `|R theta - r|` an equation for the total mass of the moving links, kg, and scale its prior `free` (f,)
    to it. Raises InputError: no mass is free."""
    owners, _, kinds = zip(*(name.rpartition(".") for name in parameter_set.names))
    links = np.isin(owners, parameter_set.robot.body_names)
    mass = links & (np.array(kinds) == "m")
    if not mass.any():
        raise InputError(f"no mass of {parameter_set.robot.name} is free: a total of {total_mass:g} kg has nothing to act on")
    known = sum(ten[0] for ten in body_inertias(parameter_set.robot).values()) - parameter_set.described[mass].sum()
    weight = np.linalg.norm(r) / total_mass  # this equation counts as much as all torques together
    free = np.where(links, free * (total_mass - known) / free[mass].sum(), free)
    return np.vstack([R, weight * mass]), np.append(r, weight * (total_mass - known)), free


def implausible(robot: Robot, described: Robot) -> list[str]:
    """Describe, a sentence each, the links that no real arm has. Links about as heavy as described are not questioned."""
    found, extent, before = [], extents(robot), body_inertias(described)
    for body, ten in body_inertias(robot).items():
        mass, size = float(ten[0]), extent[body]
        if mass < WEIGHT_FACTOR * before[body][0]:
            continue
        if mass > DENSEST * size.volume:
            found.append(f"{body} weighs {mass:.3g} kg, more than metal as large as its joints are apart")
        elif mass > 0 and np.linalg.norm((ten[1:4] / mass - size.centre) / size.half) > FAR_CENTRE:
            found.append(f"{body} has its centre of mass far outside, at ({', '.join(f'{x:.2g}' for x in ten[1:4] / mass)}) m")
    return found


def overweight(robot: Robot) -> str:
    """Return a sentence on an arm that is heavier than one of solid metal; empty if it is not."""
    mass = sum(float(ten[0]) for ten in body_inertias(robot).values())
    metal = DENSEST * sum(extent.volume for extent in extents(robot).values())
    if mass <= metal:
        return ""
    return f"by these torques the links weigh {mass:.3g} kg together, as large of solid metal they would weigh {metal:.3g} kg"
