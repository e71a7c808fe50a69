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
        held = Held(contacts, q, qd, push(t, q, qd), rest)
        qd = held.stilled(q, qd)
        events = [closing(contacts, n, held.pairs, q)]
        if len(held.pairs):
            events += [leaving(held, n, push), sliding(held, n, push)]
        rate = rates_of(held, n, push)
        run = solve_ivp(rate, (t, duration), np.concatenate([q, qd]), "DOP853", rtol=rtol, atol=atol, events=events, max_step=0.05)
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


def rates_of(held: Held, n: int, push: Callable) -> Callable:
    """Return dy/dt of the state y = (q, qd), as a function of (t, y)."""
    return lambda t, y: np.concatenate([y[n:], held.accelerate(y[:n], y[n:], push(t, y[:n], y[n:]))])


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
    """Contacts that stay closed until the next event, and their forces; which of them slide is decided at the start."""

    def __init__(self, contacts: Contacts, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, rest: float) -> None:
        self.contacts, self.rest = contacts, rest
        at = contacts.touching(q, within=CLOSED * 10)
        u = contacts.jacobian(q, at) @ qd if len(at.gap) else np.zeros((0, 3))
        closed = u[:, 0] <= rest
        self.pairs = at.pair[closed]
        speed = np.linalg.norm(u[closed][:, 1:], axis=1)
        self.slides = speed > 10 * rest
        if len(self.pairs):  # drop those that separate at once
            force, rates = self.forces(q, qd, tau)
            stays = force[:, 0] > 0
            self.pairs, self.slides = self.pairs[stays], self.slides[stays]
            if len(self.pairs):
                force, rates = self.forces(q, qd, tau)
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

    def accelerate(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        robot = self.contacts.robot
        if not len(self.pairs):
            return robot.forward_dynamics(q, qd, tau)
        return self._solve(q, qd, tau)[0]

    def forces(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return force (N) and acceleration (m/s^2), each (k, 3), normal first, at each contact."""
        return self._solve(q, qd, tau)[1:]

    def _solve(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        contacts, robot = self.contacts, self.contacts.robot
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


def chosen(at: Touching, pairs: np.ndarray) -> Touching:
    return Touching(*(x[pairs] for x in at))


def closing(contacts: Contacts, n: int, held: np.ndarray, q: np.ndarray) -> Any:
    """Return the event of an impact: the least gap that is not held becomes zero. Pairs that separate now count as open."""
    opened = OPEN - np.minimum(contacts.touching(q).gap, 0.0)
    gap = lambda y: np.delete(contacts.touching(y[:n]).gap + opened, held)  # noqa: E731
    return marked(lambda t, y: float(gap(y).min(initial=1.0)), True, -1)


def leaving(held: Held, n: int, push: Callable) -> Any:
    """Return the event that a contact opens: the least normal force becomes zero."""
    return marked(lambda t, y: float(held.forces(y[:n], y[n:], push(t, y[:n], y[n:]))[0][:, 0].min()), True, -1)


def sliding(held: Held, n: int, push: Callable) -> Any:
    """Return the event that a sliding contact comes to rest, or that a sticking one reaches the edge of its cone."""
    contacts = held.contacts

    def event(t: float, y: np.ndarray) -> float:
        q, qd = y[:n], y[n:]
        if held.slides.any():
            u = contacts.jacobian(q, chosen(contacts.touching(q), held.pairs)) @ qd
            return float(np.linalg.norm(u[held.slides][:, 1:], axis=1).min() - held.rest)
        force = held.forces(q, qd, push(t, q, qd))[0]
        return float((contacts.friction * force[:, 0] - np.linalg.norm(force[:, 1:], axis=1)).min() + 1e-9)

    return marked(event, True, -1)
