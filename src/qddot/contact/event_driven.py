"""Motion with few contacts, as accurate as an adaptive method: each impact is located, and resting contacts stay closed.

Between impacts closed contacts exert forces by Coulomb's law for accelerations: friction acts against sliding, and a sticking
contact has any force within the cone that keeps it there. An impact obeys Newton's law of restitution with Coulomb friction of
impulses. A ball that bounces lower and lower comes to rest after finitely many impacts: below a speed the contact stays closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qddot.arguments import positive_number
from qddot.contact.coulomb import impulses
from qddot.contact.shapes import Contacts, Touching
from qddot.contact.stops import Stops, stops_of, warn_dry
from qddot.contact.time_stepping import forces_of, start_of
from qddot.errors import InputError, IntegrationError
from qddot.simulate.adaptive import marked

LONGEST = 1e6
"""s: steps are at most 0.05 s long."""

CLOSED = 1e-9
"""m: a gap this small counts as closed."""

OPEN = 1e-12
"""m: gap that a separating pair is given, so that it counts as open and its next impact is a new one."""

RESTS = 3e-5
"""m/s: below this speed a contact neither bounces nor slides. It exceeds the speed after a fall through OPEN, so that a ball that
bounces lower and lower does come to rest."""

MOST = 10_000
"""Most impacts and changes of contact."""


@dataclass(frozen=True, eq=False)
class Bounces:
    """Result of `bounce`.

    Attributes:
        t, q, qd: times (samples,), s, and states (samples, nq), (samples, nv).
        impacts: their times, and the pairs that touched: first each sphere with each plane, then the spheres with each other.

    >>> from qddot.contact import Contacts, Plane, Sphere
    >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
    >>> contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()], restitution=0.5)
    >>> found = qddot.contact.bounce(contacts, [1.1], None, 0.6)
    >>> found.times.round(4)  # sqrt(2 h / g)
    array([0.4515])
    """

    contacts: Contacts
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    impacts: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)

    @property
    def times(self) -> np.ndarray:
        """Times of the impacts, s."""
        return np.array([t for t, _ in self.impacts])

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy (samples,), J."""
        return self.contacts.robot.hamiltonian(self.q, self.qd)


def bounce(
    contacts: Contacts,
    q0: Any,
    qd0: Any,
    duration: float,
    *,
    torque: Callable | np.ndarray | None = None,
    rtol: float = 1e-11,
    atol: float = 1e-12,
    rest: float = RESTS,
) -> Bounces:
    """Simulate the motion of a robot with a few contacts, impact by impact.

    Args:
        q0, qd0: state (nq,), (nv,); at rest if None.
        duration: s.
        torque: joint forces (nv,), or a smooth function of (t, q, qd) that returns them.
        rtol, atol: of the adaptive method (DOP853).
        rest: m/s; after a slower impact the contact stays closed.

    Raises:
        InputError: a state in which bodies are inside each other, or joints with quaternions.
        IntegrationError: endlessly many impacts, a motion that diverges, or a joint that goes beyond its limits.

    >>> from qddot.contact import Contacts, Plane, Sphere
    >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
    >>> contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()], restitution=0.5)
    >>> qddot.contact.bounce(contacts, [1.1], None, 2.0).q[-1].round(6)  # after ever lower bounces it lies on the ground
    array([0.1])
    """
    from scipy.integrate import solve_ivp

    robot = contacts.robot
    if robot.nq != robot.nv:
        raise InputError("bounce is for joints whose qd is the rate of q; simulate takes quaternions, too")
    q, qd = start_of(robot, q0, qd0)
    if contacts.touching(q).gap.min() < -CLOSED:
        raise InputError(f"a pair is {-contacts.touching(q).gap.min():.3g} m inside of each other at the start")
    n, t = robot.nq, 0.0
    times, states, met = [0.0], [np.concatenate([q, qd])], []
    stops, push = stops_of(robot, q), forces_of(torque, robot)
    warn_dry(robot)
    duration, rtol, atol = (positive_number(name, x) for name, x in (("duration", duration), ("rtol", rtol), ("atol", atol)))
    rest = positive_number("rest", rest)
    if duration > LONGEST:
        raise InputError(f"duration={duration:g} s: at most {LONGEST:g} s, from collision to collision")
    q, qd, _ = impact(contacts, q, qd, rest)
    for _ in range(MOST):
        held = Held(contacts, push, rest, t, q, qd)
        start = np.concatenate([q, held.stilled(q, qd)])
        run = solve_ivp(held.rates, (t, duration), start, "DOP853", rtol=rtol, atol=atol, events=held.events(q), max_step=0.05)
        if not run.success:
            raise IntegrationError(
                f"the motion cannot go on after t = {run.t[-1]:g} s: {run.message}", time=float(run.t[-1]), step=len(met)
            )
        times += list(run.t[1:])
        states += list(run.y.T[1:])
        t, (q, qd) = float(run.t[-1]), (run.y[:n, -1], run.y[n:, -1])
        if t >= duration:
            found = np.array(states)
            refuse_beyond(stops, robot, times, found)
            return Bounces(contacts, np.array(times), found[:, :n], found[:, n:], met)
        q, qd, pairs = impact(contacts, q, qd, rest)
        if pairs:
            met.append((t, pairs))
            times.append(t)
            states.append(np.concatenate([q, qd]))
    raise IntegrationError(f"{MOST} impacts up to t = {t:g} s: take rest= larger, or time stepping", time=t, step=MOST)


def refuse_beyond(stops: Stops, robot: Any, times: list[float], states: np.ndarray) -> None:
    """Refuse a motion in which a joint went beyond its limits, since `bounce` has no stops."""
    gaps = stops.side * (states[:, stops.q] - stops.bound)
    if (gaps < -CLOSED).any():
        k = int((gaps < -CLOSED).any(1).argmax())
        place = stops.q[gaps[k].argmin()]
        name = next(c.name for c in robot.model.mechanism.coordinates if c.single and c.q.start == place)
        raise IntegrationError(
            f"joint {name!r} goes beyond its limits at t = {times[k]:g} s, and bounce knows no stops: simulate does",
            time=times[k],
            step=k,
            joint=name,
        )


def impact(contacts: Contacts, q: np.ndarray, qd: np.ndarray, rest: float) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return the state after the impacts of all pairs that close now, and the pairs that were faster than `rest`."""
    at = contacts.touching(q, within=CLOSED * 10)
    if not len(at.gap):
        return q, qd, ()
    J = contacts.jacobian(q, at)
    before = J @ qd
    if not (before[:, 0] < -1e-13).any():
        return q, qd, ()
    fast = before[:, 0] < -rest
    inverse = np.linalg.inv(contacts.robot.mass_matrix(q))
    flat = J.reshape(-1, len(qd))
    c = before.copy()
    c[:, 0] += np.where(fast, contacts.restitution * before[:, 0], 0.0)
    r = impulses(flat @ inverse @ flat.T, c, contacts.friction)
    outward = np.linalg.lstsq(J[:, 0], -np.minimum(at.gap, 0.0), rcond=1e-9)[0]  # the error of the located time
    return q + outward, qd + inverse @ flat.T @ r.ravel(), tuple(int(p) for p in at.pair[fast])


class Held:
    """Contacts that stay closed until the next event, and their forces; which of them slide is decided at the start. A state
    y is (q, qd)."""

    def __init__(self, contacts: Contacts, push: Callable, rest: float, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        self.contacts, self.push, self.rest = contacts, push, rest
        at = contacts.touching(q, within=CLOSED * 10)
        u = contacts.jacobian(q, at) @ qd if len(at.gap) else np.zeros((0, 3))
        closed = u[:, 0] <= rest
        self.pairs = at.pair[closed]
        speed = np.linalg.norm(u[closed][:, 1:], axis=1)
        self.slides = speed > 10 * rest
        if len(self.pairs):  # drop those that separate at once
            _, force, _ = self.solved(t, q, qd)
            stays = force[:, 0] > 0
            self.pairs, self.slides = self.pairs[stays], self.slides[stays]
            if len(self.pairs):
                _, _, rates = self.solved(t, q, qd)
                self.slides = self.slides | (np.linalg.norm(rates[:, 1:], axis=1) > 1e-7 * (1 + np.abs(rates).max()))

    def stilled(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return qd with the remaining speed of sticking contacts removed."""
        standing = self.pairs[~self.slides]
        if not len(standing):
            return qd
        contacts = self.contacts
        J = contacts.jacobian(q, chosen(contacts.touching(q), standing)).reshape(-1, len(qd))
        inverse = np.linalg.inv(contacts.robot.mass_matrix(q))
        return qd - inverse @ J.T @ np.linalg.lstsq(J @ inverse @ J.T, J @ qd, rcond=1e-9)[0]

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return dy/dt."""
        q, qd = np.split(y, 2)
        free = not len(self.pairs)
        qdd = self.contacts.robot.forward_dynamics(q, qd, self.push(t, q, qd)) if free else self.solved(t, q, qd)[0]
        return np.concatenate([qd, qdd])

    def solved(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the accelerations of the joints, and force (N) and acceleration (m/s^2) at each contact, each (k, 3), normal
        first."""
        contacts, robot, tau = self.contacts, self.contacts.robot, self.push(t, q, qd)
        at = chosen(contacts.touching(q), self.pairs)
        J = contacts.jacobian(q, at)
        h = 1e-6
        bias = [contacts.jacobian(q + side * h * qd, chosen(contacts.touching(q + side * h * qd), self.pairs)) for side in (1, -1)]
        drift = (bias[0] - bias[1]) / (2 * h) @ qd
        inverse = np.linalg.inv(robot.mass_matrix(q))
        flat = J.reshape(-1, robot.nv)
        free = inverse @ (tau - robot.bias_torque(q, qd))
        W, c = flat @ inverse @ flat.T, J @ free + drift
        k = len(self.pairs)
        u = J @ qd
        if self.slides.all():  # the direction of friction is known: one linear problem
            speed = np.linalg.norm(u[:, 1:], axis=1, keepdims=True)
            direction = np.where(speed > self.rest, u[:, 1:], c[:, 1:])
            length = np.linalg.norm(direction, axis=1, keepdims=True)
            D = np.zeros((3 * k, k))
            for i in range(k):
                D[3 * i, i] = 1.0
                D[3 * i + 1 : 3 * i + 3, i] = -contacts.friction * direction[i] / max(float(length[i, 0]), 1e-300)
            normal = np.linalg.lstsq((W @ D)[::3], -c[:, 0], rcond=1e-12)[0]
            force = (D @ normal).reshape(k, 3)
        elif not self.slides.any():  # all stick, as far as the cones permit
            force = -np.linalg.lstsq(W, c.ravel(), rcond=1e-12)[0].reshape(k, 3)
            if (np.linalg.norm(force[:, 1:], axis=1) > contacts.friction * force[:, 0] * (1 + 1e-9)).any():
                force = impulses(W, c, contacts.friction)
        else:
            force = impulses(W, c, contacts.friction)
        rates = (W @ force.ravel()).reshape(k, 3) + c
        return free + inverse @ flat.T @ force.ravel(), force, rates

    # events ---------------------------------------------------------------------------------------------------------------

    def events(self, q: np.ndarray) -> list[Any]:
        """Return the events at which other contacts are closed, or other ones slide, after a start from q."""
        opened = OPEN - np.minimum(self.contacts.touching(q).gap, 0.0)  # pairs that separate now count as open
        found = [lambda t, y: self.gap(y, opened)]
        found += [self.pressure, self.hold] if len(self.pairs) else []
        return [marked(lambda t, y, event=event: event(t, y), True, -1) for event in found]

    def gap(self, y: np.ndarray, opened: np.ndarray) -> float:
        """Return the least gap that is not held: an impact where it becomes zero."""
        q, _ = np.split(y, 2)
        return float(np.delete(self.contacts.touching(q).gap + opened, self.pairs).min(initial=1.0))

    def pressure(self, t: float, y: np.ndarray) -> float:
        """Return the least normal force: a contact opens where it becomes zero."""
        return float(self.solved(t, *np.split(y, 2))[1][:, 0].min())

    def hold(self, t: float, y: np.ndarray) -> float:
        """Return a number that is zero where a sliding contact comes to rest, or a sticking one reaches the edge of its cone."""
        q, qd = np.split(y, 2)
        contacts = self.contacts
        if self.slides.any():
            u = contacts.jacobian(q, chosen(contacts.touching(q), self.pairs)) @ qd
            return float(np.linalg.norm(u[self.slides][:, 1:], axis=1).min() - self.rest)
        _, force, _ = self.solved(t, q, qd)
        return float((contacts.friction * force[:, 0] - np.linalg.norm(force[:, 1:], axis=1)).min() + 1e-9)


def chosen(at: Touching, pairs: np.ndarray) -> Touching:
    return Touching(*(x[pairs] for x in at))
