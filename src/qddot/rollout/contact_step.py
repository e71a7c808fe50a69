"""One step with contacts, stops and dry friction, traced without branches: time stepping (`qddot.contact.time_stepping`).

    q_m = q + h/2 v        M (v+ - v) = h (tau - bias) + J^T r        q+ = q_m + h/2 v+        M and bias at the middle

Impulses r of all pairs, stops and dry joints obey one law: each is the projection of `r - u / W` onto its bounds, where u is the
velocity along it. A normal impulse is not negative, a tangential pair is at most `mu` times its normal, dry friction is at most its
level. A fixed number of Gauss-Seidel sweeps over all of them is traced; a margin is positive if they have converged. Open contacts
take part with the speed at which they would close, so nothing branches and every target can run the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qddot.algorithms.drives import friction_torque
from qddot.algorithms.factor import Factor, dot, factor
from qddot.algorithms.inverse_dynamics import load_torque
from qddot.algorithms.kinematics import Scalars, coordinate_rates, path_to_root, world_columns, world_poses, zeros
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.algorithms.steps import along, unit_quaternions
from qddot.contact.shapes import Contacts, axes
from qddot.contact.time_stepping import RECOVERY, SLOW
from qddot.errors import InputError
from qddot.model.field import Field
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar, is_zero
from qddot.model.spatial import Vec
from qddot.simulate.traced_modes import Drive, Modes, clipped

SWEEPS, ROUNDS = 25, 3
"""Number of sweeps over all impulses, and of rounds over normal and tangential impulse of one contact."""

SOFT = 0.1
"""Relative regularisation of the linear problem for the initial impulses: redundant ones would else be enormous and opposite."""

ENOUGH = 0.1
"""Largest change of velocity by the last sweep, relative to the velocity without contact. For bodies that rest or slide it is about
1e-6; of 100,000 steps of chains that fall in a heap, seven had more than a hundredth, and none reached this."""

Row = list[Scalar]
"""One row of a Jacobian, (nv): its product with qd is a speed, and an impulse along it acts with the same numbers."""


class Touch(NamedTuple):
    """A contact: a pair of bodies, or a joint and its stop."""

    gap: Scalar  # m or rad
    rows: list[Row]  # the row of the gap's rate; with friction, two more of the slip
    bounces: bool  # True if restitution applies


class ContactStep:
    """One step of a robot with contacts that may close in it.

    Args:
        model: the traced robot.
        contacts: pairs of spheres and planes.
        modes: its stops and dry friction, or None.

    Raises:
        InputError: dry friction that grows with its load.
    """

    def __init__(self, model: LiftedModel, contacts: Contacts, modes: Modes | None) -> None:
        self.model, self.contacts = model, contacts
        self.limits = modes.stops if modes else {}
        self.dry = list(modes.dry) if modes else []
        if modes and any(dry.load for dry in modes.dry.values()):
            raise InputError("among contacts a rollout does not know dry friction that grows with its load: use load=0 there")
        self.gravity = float(np.linalg.norm(np.array(contacts.robot.model.gravity, float)))

    def step(self, q: Scalars, v: Scalars, h: Scalar, drive: Drive) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return q and qd after a step, and margins: the pivots of M, and one for the convergence of the impulses."""
        model = self.model
        middle = unit_quaternions(model, along(q, coordinate_rates(model, q, v), h / 2))
        solved = factor(mass_matrix(model, middle))
        free = self.without_contact(solved, middle, v, h, drive)
        problem = Impulses(model.field, solved, self.touches(middle), self.dry_bounds(v, h))
        r, margin = problem.solve(v, free, h, self.contacts, self.gravity * h)
        after = along(free, problem.response(r), 1)
        end = along(middle, coordinate_rates(model, middle, after), h / 2)
        end = along(end, coordinate_rates(model, middle, problem.response(problem.outward())), 1)
        return unit_quaternions(model, end), after, [*solved.pivots, margin]

    def without_contact(self, solved: Factor, q: Scalars, v: Scalars, h: Scalar, drive: Drive) -> list[Scalar]:
        """Return qd after a step without contacts and dry friction (see `qddot.contact.time_stepping.free_velocity`)."""
        none = zeros(self.model.nv)
        loads = [load_torque(self.model, q, x, none) for x in (v, none)]
        half = along(v, solved.solve([a - b for a, b in zip(*loads)]), -h / 2)
        forces = zip(drive(h / 2, q, v), friction_torque(self.model, v, none), load_torque(self.model, q, half, none))
        return along(v, solved.solve([t - f - b for t, f, b in forces]), h)

    def dry_bounds(self, v: Scalars, h: Scalar) -> dict[int, tuple[Scalar, Scalar]]:
        """Return column -> smallest and largest impulse of its dry friction: those of sliding either way at this speed."""
        n = self.model.nv
        none, forward, backward = (friction_torque(self.model, v, [float(way)] * n) for way in (0, 1, -1))
        return {c: ((none[c] - forward[c]) * h, (none[c] - backward[c]) * h) for c in self.dry}

    def touches(self, q: Scalars) -> list[Touch]:
        """Return all pairs and stops at a configuration, without pairs that no joint can open or close."""
        model, contacts = self.model, self.contacts
        X0 = world_poses(model, q)
        S0 = world_columns(model, X0)
        centers = []
        for sphere in contacts.spheres:
            body, pose = model.frame(sphere.frame)
            centers.append((body, (X0[body] @ pose).point(vector(sphere.center))))

        def rows(point: Vec, axes: Sequence[Vec], first: int, second: int | None = None) -> list[Row]:
            """Return the rows of the relative speed of two bodies at a point, along axes; the second is the world if None."""
            found = [zeros(model.nv) for _ in axes]
            for body, sign in ((first, 1), (second, -1)):
                for i in () if body is None else path_to_root(model, body):
                    for c, s in S0[i]:
                        speed = (s.v + s.w.cross(point)) * sign
                        for row, axis in zip(found, axes):
                            row[c] = row[c] + speed.dot(axis)
            return found

        found, used = [], 3 if contacts.friction else 1
        for (body, center), radius in zip(centers, contacts.radii):
            for point, triad in zip(contacts.points, axes(contacts.normals)):
                n, *slip = map(vector, triad)
                touch = rows(center - n * float(radius), (n, *slip)[:used], body)
                found.append(Touch((center - vector(point)).dot(n) - float(radius), touch, True))
        for i, j in contacts.pairs:
            (first, a), (second, b) = centers[i], centers[j]
            length, n, *slip = self.triad(a - b)
            touch = rows(a - n * float(contacts.radii[i]), (n, *slip)[:used], first, second)
            found.append(Touch(length - float(contacts.radii[i] + contacts.radii[j]), touch, True))
        return [*(touch for touch in found if not all(map(is_zero, touch.rows[0]))), *self.stops(q)]

    def triad(self, apart: Vec) -> tuple[Scalar, Vec, Vec, Vec]:
        """Return the length of a vector, its direction, and two unit vectors across."""
        sqrt, where = self.model.field.sqrt, self.model.field.where_positive
        length = sqrt(apart.dot(apart))
        n = apart * (1 / length)
        across = 0.5 - n.x * n.x
        t = Vec(where(across, 0.0, -n.z), where(across, n.z, 0.0), where(across, -n.y, n.x))  # n x ex, or n x ey
        t1 = t * (1 / sqrt(t.dot(t)))
        return length, n, t1, n.cross(t1)

    def stops(self, q: Scalars) -> list[Touch]:
        """Return, for each joint with limits, the nearer of them as a contact."""
        found, where = [], self.model.field.where_positive
        for c, (i, lower, upper) in self.limits.items():
            row = zeros(self.model.nv)
            if np.isfinite(lower) and np.isfinite(upper):
                above = q[i] - (lower + upper) / 2
                gap, row[c] = where(above, upper - q[i], q[i] - lower), where(above, -1.0, 1.0)
            else:
                gap, row[c] = (q[i] - lower, 1.0) if np.isfinite(lower) else (upper - q[i], -1.0)
            found.append(Touch(gap, [row], False))
        return found


class Impulses:
    """The impulses along the rows of some contacts, then of dry columns, with `W = J M^-1 J^T`, the velocities that they cause."""

    def __init__(self, field: Field, solved: Factor, touches: list[Touch], dry: dict[int, tuple[Scalar, Scalar]]) -> None:
        self.field, self.touches, self.bounds = field, touches, list(dry.values())
        nv = len(solved.pivots)
        self.rows = [row for touch in touches for row in touch.rows] + [[float(c == k) for k in range(nv)] for c in dry]
        self.moved = [solved.solve(row) for row in self.rows]  # M^-1 J^T
        half = [[dot(row, x) for x in self.moved[: i + 1]] for i, row in enumerate(self.rows)]
        n = range(len(self.rows))
        self.W = [[half[max(i, j)][min(i, j)] for j in n] for i in n]
        tiny = field.rounding * sum((self.W[i][i] for i in n), 0)  # so that a row that cannot move is not divided by zero
        self.inverse = [1 / (self.W[i][i] + tiny) for i in n]
        self.places, k = [], 0
        for touch in touches:
            self.places.append(slice(k, k + len(touch.rows)))
            if len(touch.rows) == 3:  # for both rows of slip, the larger eigenvalue of their block
                a, b, d = self.W[k + 1][k + 1], self.W[k + 1][k + 2], self.W[k + 2][k + 2]
                apart = (a - d) * (a - d) / 4 + b * b + tiny * tiny
                self.inverse[k + 1] = self.inverse[k + 2] = 1 / ((a + d) / 2 + field.sqrt(apart) + tiny)
            k += len(touch.rows)

    def solve(self, v: Scalars, free: Scalars, h: Scalar, contacts: Contacts, least: Scalar) -> tuple[list[Scalar], Scalar]:
        """Return all impulses, and a margin that is positive if the last sweep changed little.

        Args:
            v, free: qd before the step, and after one without contacts and dry friction.
            least: a speed that is small but counts, m/s.
        """
        before, speed = ([dot(row, x) for row in self.rows] for x in (v, free))
        c, takes_part = self.speeds_to_undo(before, speed, h, contacts.restitution, least)
        r = self.standing(c, takes_part)
        for _ in range(SWEEPS):
            last = list(r)
            for place, part in zip(self.places, takes_part):
                r[place] = self.of_one(place, c, r, contacts.friction, part)
            for i, (lower, upper) in enumerate(self.bounds, len(r) - len(self.bounds)):
                r[i] = clipped(self.field, r[i] - (c[i] + dot(self.W[i], r)) * self.inverse[i], lower, upper)
        left = [(a - b) * self.W[i][i] for i, (a, b) in enumerate(zip(r, last))]
        return r, ENOUGH**2 * (dot(speed, speed) + least * least) - dot(left, left)

    def speeds_to_undo(
        self, before: Scalars, speed: Scalars, h: Scalar, restitution: float, least: Scalar
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the speed that each impulse must cancel (an open gap may close, a bounce adds the speed back), and 1 for each
        contact that takes part, else 0: with restitution, a gap that closes fast is left to the step in which it is closed.
        """
        where, c, takes_part = self.field.where_positive, list(speed), []
        for place, touch in zip(self.places, self.touches):
            k = place.start
            fast = -before[k] - SLOW * least if restitution and touch.bounces else -1.0
            back = where(fast, restitution * before[k], 0.0)
            c[k] = speed[k] + where(touch.gap, touch.gap / h, back)
            takes_part.append(where(touch.gap, where(fast, 0.0, 1.0), 1.0))
        return c, takes_part

    def standing(self, c: Scalars, takes_part: Scalars) -> list[Scalar]:
        """Return the initial impulses: those after which all closing contacts are at rest, one linear problem."""
        n, closes = range(len(self.rows)), [1.0] * len(self.rows)
        for place, part in zip(self.places, takes_part):
            size = place.stop - place.start
            closes[place] = [self.field.where_positive(-c[place.start], part, 0.0)] * size
        W = [[self.W[i][j] * closes[i] * closes[j] for j in n] for i in n]
        for i in n:
            W[i][i] = W[i][i] * (1 + SOFT) + (1 - closes[i])
        return factor(W).solve([-x * closed for x, closed in zip(c, closes)])

    def of_one(self, place: slice, c: Scalars, r: Scalars, friction: float, part: Scalar) -> list[Scalar]:
        """Return the impulse of one contact, given those of all others."""
        own, others = range(place.start, place.stop), [j for j in range(len(r)) if not place.start <= j < place.stop]
        rest = [c[i] + sum((self.W[i][j] * r[j] for j in others), 0) for i in own]
        x = list(r[place])
        nearer = lambda k: x[k] - (rest[k] + dot(self.W[own[k]][place], x)) * self.inverse[own[k]]  # noqa: E731
        for _ in range(ROUNDS if len(x) == 3 else 1):
            normal = nearer(0)
            x[0] = self.field.where_positive(normal, normal, 0.0) * part
            if len(x) == 3:
                x[1:] = self.within(friction * x[0], nearer(1), nearer(2))
        return x

    def within(self, most: Scalar, t1: Scalar, t2: Scalar) -> tuple[Scalar, Scalar]:
        """Return the nearest tangential impulse that is not longer than `most`."""
        length = t1 * t1 + t2 * t2
        too_long = length - most * most
        where = self.field.where_positive
        scale = where(too_long, most / self.field.sqrt(where(too_long, length, 1.0)), 1.0)
        return t1 * scale, t2 * scale

    def outward(self) -> list[Scalar]:
        """Return impulses that reduce the penetration of contacts by a displacement, without changing velocities."""
        where, r = self.field.where_positive, zeros(len(self.rows))
        depths = [where(touch.gap, touch.gap, touch.gap * RECOVERY) for touch in self.touches]  # an open gap may close
        sunk = [(place.start, depth) for place, depth in zip(self.places, depths)]
        for _ in range(SWEEPS // 2):
            for k, depth in sunk:
                normal = r[k] - (depth + sum((self.W[k][j] * r[j] for j, _ in sunk), 0)) * self.inverse[k]
                r[k] = where(normal, normal, 0.0)
        return r

    def response(self, r: Scalars) -> list[Scalar]:
        """Return the change of qd by impulses."""
        return [sum((x[c] * impulse for x, impulse in zip(self.moved, r)), 0) for c in range(len(self.moved[0]))]


def vector(x: Sequence[float] | np.ndarray) -> Vec:
    return Vec(*map(float, x))
