"""Motion with many contacts, by steps of fixed length that do not locate impacts (Moreau 1988, Jean 1999).

    q_m = q + h/2 v        M (v+ - v) = h (tau - bias) + J^T r        q+ = q_m + h/2 v+        M and bias at the middle

with impulses r that obey Coulomb's law and, for restitution e, `u_n+ >= -e u_n-` at contacts whose gap at q_m has closed. An open
gap may close within the step, but not more: `u_n+ >= -gap / h`. So bodies do not penetrate, impacts need no search, and their
number does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from qddot.arguments import positive_number, whole_number
from qddot.compile.arrays import as_array
from qddot.contact.coulomb import impulses
from qddot.contact.drawing import plot
from qddot.contact.shapes import Contacts, Touching
from qddot.contact.stops import Stops, stops_of, warn_dry
from qddot.errors import InputError, IntegrationError, SingularityError, as_written
from qddot.explore.recording import Recording
from qddot.explore.show import Page, shown
from qddot.simulate.torque import TorqueLimits

if TYPE_CHECKING:
    from qddot.robot import Robot

SLOW = 2.0
"""Impacts slower than the fall of this many steps come from resting weight, and have no restitution."""

DEPTH = 1e-3
"""m: penetration is corrected to a millionth of this."""

DEEP = 1e-2
"""m: a start with more penetration than this is a mistake, not a remainder of earlier steps."""

RECOVERY = 0.2
"""Fraction of the penetration that each step removes, without adding speed."""


@dataclass(frozen=True, eq=False)
class ContactMotion:
    """Result of `simulate`.

    Attributes:
        t, q, qd: times (samples,), s, and states (samples, nq), (samples, nv).
        force: of all pairs (samples, pairs, 3), N, normal first; first each sphere with each plane, then the spheres with each
            other.
        depth: the deepest penetration (samples,), m.
        tau: joint forces of the motors (samples, nv), in the step before each sample.
        contact_torque: forces of contacts and stops in that step, as joint forces (samples, nv).

    >>> from qddot.contact import Contacts, Plane, Sphere
    >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
    >>> contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()])
    >>> motion = qddot.contact.simulate(contacts, [0.2], None, 0.5)
    >>> motion.force[-1, 0].round(3) + 0  # its weight
    array([9.81, 0.  , 0.  ])
    >>> motion.contact_torque[-1].round(3)
    array([9.81])
    """

    contacts: Contacts
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    force: np.ndarray
    depth: np.ndarray
    tau: np.ndarray
    contact_torque: np.ndarray

    @property
    def qdd(self) -> np.ndarray:
        """Accelerations (samples, nv) under the forces of motors and contacts.

        >>> from qddot.contact import Contacts, Plane, Sphere
        >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
        >>> motion = qddot.contact.simulate(Contacts(ball, [Sphere("ball", 0.1)], [Plane()]), [0.2], None, 0.5)
        >>> motion.qdd[[0, -1]].round(2) + 0  # it falls, and lies
        array([[-9.81],
               [ 0.  ]])
        """
        robot = self.contacts.robot
        force = self.tau + self.contact_torque - robot.bias_torque(self.q, self.qd)
        return np.linalg.solve(robot.mass_matrix(self.q), force[..., None])[..., 0]

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy (samples,), J."""
        return self.contacts.robot.hamiltonian(self.q, self.qd)

    def plot(self, ax: Any = None) -> np.ndarray:
        """Draw positions, speeds, normal forces and energy over time (needs the extra `plot`); returns the axes, one per panel.

        Args:
            ax: a list of four Matplotlib axes; a new figure if None.

        Raises:
            InputError: another number of axes.
            MissingExtraError: matplotlib is not installed.

        >>> from qddot.contact import Contacts, Plane, Sphere
        >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
        >>> contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()])
        >>> len(qddot.contact.simulate(contacts, [0.2], None, 0.2).plot())
        4
        """
        return plot(self, ax)

    def explore(self, path: str | Path | None = None) -> Page:
        """Show the motion in the robot's interactive page, with the shapes that touch and contact forces as arrows (see
        `Robot.explore`).

        Args:
            path: of the file to write; None: show it in the browser, or in the notebook.

        >>> from qddot.contact import Contacts, Plane, Sphere, simulate
        >>> arm = qddot.load("two_link")
        >>> table = Contacts(arm, [Sphere(arm.tip)], [Plane((0, -0.3, 0), (0, 1, 0))])
        >>> page = simulate(table, [0, 0], None, 0.3).explore("fall.html")
        """
        from qddot.explore.page import page

        robot = self.contacts.robot
        recording = Recording(self.t, self.q, self.qd, self.qdd, self.tau, external=self.contact_torque, contact=self.force)
        return shown(Page(page(robot, q=self.q[0], contacts=self.contacts, recording=recording), robot.name), path)

    def __repr__(self) -> str:
        touched = int((self.force[..., 0] > 0).any(0).sum())
        return (
            f"ContactMotion of {self.contacts.robot.name!r}: {len(self.t)} samples up to {self.t[-1]:g} s, {touched} pairs touched"
        )


def simulate(
    contacts: Contacts,
    q0: Any,
    qd0: Any,
    duration: float,
    *,
    torque: Callable | np.ndarray | None = None,
    step: float = 1e-3,
    every: int = 1,
) -> ContactMotion:
    """Simulate the motion of a robot among its contacts, by time stepping.

    Joint limits are inelastic stops, and joint forces are kept within their effort limits. Dry friction slows joints but does not
    hold them at rest, which an `InputWarning` says.

    Args:
        q0, qd0: state (nq,), (nv,); at rest if None.
        duration: s.
        torque: joint forces (nv,), or a function of (t, q, qd) that returns them.
        step: s; the method is of order one, and impacts take effect at the ends of steps.
        every: keep only each k-th sample.

    Raises:
        InputError: a state of another shape, or one in which bodies are deep inside each other.
        IntegrationError: the motion diverges.

    >>> from qddot.contact import Contacts, Plane, Sphere
    >>> ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
    >>> contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()])
    >>> qddot.contact.simulate(contacts, [0.2], None, 0.5).q[-1].round(4)
    array([0.1])
    """
    robot = contacts.robot
    q, qd = start_of(robot, q0, qd0)
    refuse_deep(contacts, q)
    stops, push = stops_of(robot, q), forces_of(torque, robot)
    warn_dry(robot)
    step, duration, every = positive_number("step", step), positive_number("duration", duration), whole_number("every", every)
    if not duration / step <= 1e8:
        raise InputError(f"duration={duration!r}, step={step!r}: not more than 1e8 steps")
    steps = max(round(duration / step), 1)
    gravity = float(np.linalg.norm(np.array(robot.model.gravity, float)))
    pairs = len(contacts.spheres) * len(contacts.planes) + len(contacts.pairs)
    kept = steps // every + 1
    shapes = ((), (robot.nq,), (robot.nv,), (pairs, 3), (), (robot.nv,), (robot.nv,))
    found = ContactMotion(contacts, *(np.zeros((kept, *shape)) for shape in shapes))
    found.q[0], found.qd[0], found.tau[0] = q, qd, push(0.0, q, qd)
    found.depth[0] = contacts.depth(q)
    last = np.zeros((pairs, 3))
    for k in range(steps):
        t = k * step
        tau = push(t, q, qd)
        try:
            q, qd, last, pushed, depth = one_step(contacts, stops, q, qd, tau, step, gravity, last)
        except (SingularityError, FloatingPointError) as error:
            raise IntegrationError(f"the motion cannot go on after t = {t:g} s: {error}", time=t, step=k) from error
        if (k + 1) % every == 0:
            i = (k + 1) // every
            found.t[i], found.q[i], found.qd[i], found.force[i], found.depth[i] = t + step, q, qd, last / step, depth
            found.tau[i], found.contact_torque[i] = tau, pushed / step
    return found


def one_step(
    contacts: Contacts, stops: Stops, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float, gravity: float, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Return q and qd after h, impulses of all pairs, impulses of pairs and stops on the joints, and the deepest penetration."""
    robot = contacts.robot
    middle = moved(robot, q, v * (h / 2))
    L = cholesky(robot.mass_matrix(middle, check=False))
    free = free_velocity(robot, L, middle, v, tau, h)
    reach = h * float(np.abs(free).max(initial=0.0)) * max(1.0, extent(contacts, middle)) + h * h * gravity
    at, r = contacts.touching(middle, within=reach), np.zeros_like(last)
    J = contacts.jacobian(middle, at)
    if contacts.restitution:  # a fast pair that is still open bounces in the step in which it has closed
        waits = (at.gap > 0) & (-(J @ v)[:, 0] > SLOW * gravity * h)
        at, J = Touching(*(x[~waits] for x in at)), J[~waits]
    ends = stops.gap(middle)
    met = ends <= h * np.abs(stops.jacobian[:, 0] @ free)  # reached within the step
    gap, J = np.concatenate([at.gap, ends[met]]), np.concatenate([J, stops.jacobian[met]])
    if not len(gap):
        return moved(robot, middle, free * (h / 2)), free, r, np.zeros(robot.nv), 0.0
    pairs, bodies = len(at.gap), np.arange(len(gap)) < len(at.gap)
    Y = solve_triangular(L, J.reshape(-1, robot.nv).T, lower=True, check_finite=False)
    W = Y.T @ Y
    before, c = J @ v, J @ free
    closed = gap <= 0
    bounces = bodies & closed & (-before[:, 0] > SLOW * gravity * h)
    c[:, 0] += np.where(bounces, contacts.restitution * before[:, 0], np.where(closed, 0.0, gap / h))
    start = np.concatenate([last[at.pair], np.zeros((len(gap) - pairs, 3))])
    found = impulses(W, c, contacts.friction, start, gravity * h)
    r[at.pair] = found[:pairs]
    after = free + solve_triangular(L, Y @ found.ravel(), lower=True, trans=1, check_finite=False)
    end = moved(robot, middle, after * (h / 2))
    sunk = np.minimum(gap, 0.0)
    if sunk.any():  # reduce penetration, without adding speed
        out = np.zeros_like(c)
        out[:, 0] = np.where(closed, RECOVERY * gap, gap)  # open gaps may close
        push = impulses(W, out, 0.0, least=DEPTH)
        end = moved(robot, end, solve_triangular(L, Y @ push.ravel(), lower=True, trans=1, check_finite=False))
    finite = np.isfinite(end).all() and np.abs(found).max() < min(h, 1.0) * np.finfo(float).max  # forces, impulses / h, too
    if not finite:
        raise FloatingPointError("a number is no longer finite")
    return end, after, r, J.reshape(-1, robot.nv).T @ found.ravel(), float(-sunk[:pairs].min(initial=0.0))


def moved(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the configuration reached from q by the displacement v, computed by a kernel."""
    return robot._evaluate("integrate", {"q": q, "v": v}, {"check": False})


def cholesky(M: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of a mass matrix. Raises SingularityError: it is not positive definite."""
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise SingularityError("the mass matrix is not positive definite there") from None


def free_velocity(robot: Robot, L: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float) -> np.ndarray:
    """Return qd after a step without contact, for `M = L L^T`.

    Coriolis forces are evaluated with the velocity at the middle of the step; otherwise fast rolling bodies would gain energy.
    Gravity, friction and joint forces, which contacts mostly balance, are left out of that half step.
    """
    change = lambda force: cho_solve((L, True), force, check_finite=False)  # noqa: E731
    turning = robot.coriolis_torque(q, v, check=False)
    half = v - h / 2 * change(turning)
    return v + h * change(tau - robot.bias_torque(q, v, check=False) + turning - robot.coriolis_torque(q, half, check=False))


def extent(contacts: Contacts, q: np.ndarray) -> float:
    """Return the distance that the robot reaches from its origin, m, which bounds the speeds of its points by its joint speeds."""
    return float(np.abs(contacts.robot.transforms(q, check=False)[..., :3, 3]).max(initial=0.0)) + float(contacts.radii.max())


def refuse_deep(contacts: Contacts, q: np.ndarray) -> None:
    """Refuse configurations (..., nq) in which bodies are deep inside each other."""
    depth = contacts.depth(q)
    if depth.max(initial=0.0) > DEEP:
        where = f" of motion {list(map(int, np.unravel_index(depth.argmax(), depth.shape)))}" if depth.ndim else ""
        inside = f"a pair{where} is {depth.max():.3g} m inside of each other at the start"
        raise InputError(f"{inside}: start outside (a plane's normal points out of it)")


def forces_of(torque: Any, robot: Any) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """Return joint forces as a function of (t, q, qd), checked to be nv finite numbers and kept within the limits of the drives."""
    nv, limits = robot.nv, TorqueLimits(robot)

    def checked(value: Any, when: str) -> np.ndarray:
        try:
            tau = np.asarray(value, float)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"torque{when} is {as_written(value)}: ({nv},) finite numbers are needed") from None
        if tau.shape != (nv,) or not np.isfinite(tau).all():
            what = f"has shape {tau.shape}" if tau.shape != (nv,) else "is not finite"
            raise InputError(f"torque{when} {what}: ({nv},) finite numbers are needed")
        return tau

    if callable(torque):
        return lambda t, q, qd: limits(checked(torque(t, q, qd), f" at t = {t:g} s"), qd)
    constant = np.zeros(nv) if torque is None else checked(torque, "")
    return lambda t, q, qd: limits(constant, qd)


def start_of(robot: Any, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial state of one motion, checked; at rest if qd0 is None."""
    q = robot._evaluate.configuration("q0", q0)
    qd = as_array("qd0", np.zeros(robot.nv) if qd0 is None else qd0, (robot.nv,))
    if q.ndim != 1 or qd.ndim != 1:
        raise InputError(f"q0 {q.shape} and qd0 {qd.shape}: contacts are followed for one motion, ({robot.nq},) and ({robot.nv},)")
    return q, qd
