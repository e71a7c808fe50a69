"""The fastest motion along a path within limits of speed, acceleration and torque: reachability analysis (Pham and Pham 2018).

Along a path q(s) with `x = s'^2` and `u = s''`

    qd = q' s'        qdd = q' u + q'' x        tau = (M q') u + (M q'' + c(q, q')) x + g + friction

so every limit is linear in u and x. On a grid of s, with u constant between two points, the values of x from which the end can
still be reached form intervals. They are found exactly, from the end to the start, by eliminating u (each upper bound of u against
each lower one). Then one pass from the start takes the largest u that stays within them. Limits hold at both ends of every interval
of the grid. Friction depends on s', the root of x, and is taken from the previous round; a few rounds are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import finite_array, finite_number, whole_number
from qddot.control.references import Reference
from qddot.errors import ConvergenceError, InputError, as_written

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from qddot.robot import Robot, RobotLimits

ROUNDS = 30
SETTING_OUT = 1e-12  # 1/s: a speed at which dry friction already acts
FASTEST = 1e6  # 1/s: limit of all speeds along a path
MOST_POINTS = 1_000_000
ROUNDING = 1e-9  # rad or m: by how much a path may exceed a position limit
CORNER = 1e-6
"""A jump of q' beyond this fraction of the largest slope is a corner."""


@dataclass(frozen=True, eq=False)
class TimedPath:
    """A path with the time at which each of its points is passed: a reference for controllers, called with t.

    Attributes:
        s, t: grid of the path and its times (n,), s.
        speed: s' (n,), 1/s.
        acceleration: s'' (n - 1,) between the points, 1/s^2.
        duration: s.

    >>> robot = qddot.load("panda")
    >>> path = robot.home() + np.linspace(0, 1, 50)[:, None] * [0.5, 0.3, 0, 0, 0, 0, 0]
    >>> timed = robot.time_optimal(path)
    >>> bool((abs(timed.torque()) <= robot.limits.effort * (1 + 1e-6)).all())  # no joint is asked for more than it has
    True
    >>> round(timed.duration, 2), timed(0.0).q.round(2)[:2]
    (0.27, array([0., 0.]))
    """

    robot: Robot
    path: Any
    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    def __repr__(self) -> str:
        return f"TimedPath of {self.robot.name!r}: {self.duration:.4g} s, {len(self.s)} points"

    def __call__(self, t: float | np.ndarray) -> Reference:
        """Return q, qd and qdd (..., nv) at times t (...); before the start and after the end the robot is at rest there."""
        time = np.clip(np.asarray(t, float), 0.0, self.duration)
        i = np.clip(np.searchsorted(self.t, time, side="right") - 1, 0, len(self.s) - 2)
        later = time - self.t[i]
        u = self.acceleration[i]
        s = np.clip(self.s[i] + later * (self.speed[i] + u * later / 2), self.s[0], self.s[-1])
        sd = np.maximum(self.speed[i] + u * later, 0.0)
        outside = (np.asarray(t) < 0) | (np.asarray(t) > self.duration)
        sd, u = np.where(outside, 0.0, sd)[..., None], np.where(outside, 0.0, u)[..., None]
        first = self.path(s, 1)
        return Reference(self.path(s), first * sd, first * u + self.path(s, 2) * sd**2)

    def torque(self) -> np.ndarray:
        """Return joint forces (2 n - 2, nv) at the start and end of every interval, N m; at rest with the friction of setting
        out."""
        q, first, second = (self.path(self.s, k) for k in (0, 1, 2))
        sides = []
        for at in (slice(None, -1), slice(1, None)):
            sd = np.maximum(self.speed[at, None], SETTING_OUT)
            qdd = first[at] * self.acceleration[:, None] + second[at] * sd**2
            sides.append(self.robot.inverse_dynamics(q[at], first[at] * sd, qdd))
        return np.stack(sides, axis=1).reshape(-1, self.robot.nv)


def time_optimal(
    robot: Robot, path: Any, limits: RobotLimits | None, acceleration: ArrayLike, points: int, start_speed: float, end_speed: float
) -> TimedPath:
    """See `Robot.time_optimal`."""
    if robot.nq != robot.nv:
        raise InputError("time_optimal is for joints whose qd is the rate of q: a spherical or free joint has none such")
    if limits is not None and type(limits) is not type(robot.limits):
        raise InputError(f"limits={as_written(limits)}: give limits as robot.limits has them, or None")
    given = robot.limits if limits is None else limits
    velocity, effort, most = (
        positive_limits(name, x, robot.nv)
        for name, x in (("velocity", given.velocity), ("effort", given.effort), ("acceleration", acceleration))
    )
    start_speed, end_speed = path_speed("start_speed", start_speed), path_speed("end_speed", end_speed)
    curve, s = as_path(robot, path, points)
    if not np.isfinite(np.concatenate([velocity, effort, most])).any():
        raise InputError(
            f"{robot.name} has no limit of speed or effort, and acceleration= is not given: there is no fastest motion"
        )
    q, first, second = (curve(s, k) for k in (0, 1, 2))
    refuse_beyond(robot, given, s, q)
    M, still = robot.mass_matrix(q), robot.gravity_torque(q) + robot.spring_torque(q)
    a = np.einsum("nij,nj->ni", M, first)
    b = np.einsum("nij,nj->ni", M, second) + robot.coriolis_torque(q, first)
    top = fastest(first, velocity)
    x = np.zeros(len(s))
    for _ in range(ROUNDS):
        rows = Rows.of(first, second, most) + Rows.of(a, b, effort, still + friction(robot, first, x))
        new, u = profile(rows, s, top, start_speed**2, end_speed**2)
        if np.abs(new - x).max() <= 1e-12 * max(new.max(), 1e-300):
            break
        x = new
    else:
        raise ConvergenceError("friction and speed along the path do not settle: raise the effort limits, or smooth the friction")
    speed = np.sqrt(new)
    slow = speed[1:] + speed[:-1]
    if not (slow > 0).all():
        raise ConvergenceError(f"the robot cannot leave s = {s[int(np.argmin(slow))]:.4g}: there its limits allow no speed at all")
    t = np.concatenate([[0.0], np.cumsum(2 * np.diff(s) / slow)])
    return TimedPath(robot, curve, s, t, speed, u)


def refuse_beyond(robot: Robot, limits: RobotLimits, s: np.ndarray, q: np.ndarray) -> None:
    """Refuse a path (n, nq) that exceeds the position limits. Raises InputError."""
    lower, upper = (finite_array(name, x, infinite=True) for name, x in (("lower", limits.lower), ("upper", limits.upper)))
    beyond = np.maximum(lower - q, q - upper)
    if beyond.max(initial=0.0) > ROUNDING:
        i, k = np.unravel_index(int(beyond.argmax()), beyond.shape)
        low, high = np.broadcast_to(lower, q.shape)[i, k], np.broadcast_to(upper, q.shape)[i, k]
        raise InputError(
            f"the path takes joint {robot.joint_names[k]!r} to {q[i, k]:.6g} at s = {s[i]:.4g}, beyond its limits [{low:g}, "
            f"{high:g}]: move the waypoints, or add some where the curve between them swings out"
        )


def positive_limits(name: str, value: ArrayLike, n: int) -> np.ndarray:
    """Return limits (n,), from one number for all or one for each. Raises InputError: another shape, or a number that is not
    positive."""
    array = finite_array(name, value, infinite=True)
    if array.shape not in ((), (1,), (n,)) or not (array > 0).all():
        raise InputError(f"{name}={as_written(value)}: ({n},) limits above zero, or one for all; inf where there is none")
    return np.broadcast_to(array, (n,))


def path_speed(name: str, value: float) -> float:
    """Return the speed at one end of the path, checked. Raises InputError: not a number between 0 and `FASTEST`."""
    if not 0 <= (speed := finite_number(name, value)) <= FASTEST:
        raise InputError(f"{name}={as_written(value)}: a speed along the path is from 0 to {FASTEST:g}")
    return speed


class Rows:
    """Constraints `p u + r x + k <= 0` at each grid point: arrays (n, m)."""

    def __init__(self, p: np.ndarray, r: np.ndarray, k: np.ndarray) -> None:
        self.p, self.r, self.k = p, r, k

    @staticmethod
    def of(p: np.ndarray, r: np.ndarray, limit: ArrayLike, offset: np.ndarray | float = 0.0) -> Rows:
        """Return the rows of `|p u + r x + offset| <= limit`, each divided by its limit; none for infinite limits."""
        limit = np.asarray(limit, float)
        real = np.isfinite(limit)
        p, r = p[:, real] / limit[real], r[:, real] / limit[real]
        k = np.broadcast_to(offset, (len(p), len(limit)))[:, real] / limit[real]
        return Rows(np.concatenate([p, -p], 1), np.concatenate([r, -r], 1), np.concatenate([k - 1, -k - 1], 1))

    def __add__(self, o: Rows) -> Rows:
        return Rows(*(np.concatenate([x, y], 1) for x, y in ((self.p, o.p), (self.r, o.r), (self.k, o.k))))

    def over(self, i: int, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows at both ends of the interval that begins at point i, in u and x of its start: at the end x is
        `x + 2 step u`."""
        later = self.p[i + 1] + 2 * step * self.r[i + 1]
        return tuple(np.concatenate(x) for x in ((self.p[i], later), (self.r[i], self.r[i + 1]), (self.k[i], self.k[i + 1])))  # type: ignore[return-value]


def profile(rows: Rows, s: np.ndarray, top: np.ndarray, first: float, last: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x (n,) at the points and u (n - 1,) between them of the fastest motion. Raises ConvergenceError: none keeps the
    limits."""
    n, steps = len(s), np.diff(s)
    low, high = np.zeros(n), np.zeros(n)
    low[-1], high[-1] = last, last
    if last > top[-1]:
        raise ConvergenceError(f"end_speed {np.sqrt(last):.4g} is more than the limits of speed allow, {np.sqrt(top[-1]):.4g}")
    for i in reversed(range(n - 1)):
        p, r, k = within(rows.over(i, steps[i]), steps[i], low[i + 1], high[i + 1])
        low[i], high[i] = interval(p, r, k, top[i])
        if low[i] > high[i]:
            raise ConvergenceError(
                f"no motion keeps the limits at s = {s[i]:.4g}: the torques that hold the robot there, or on its way, are beyond "
                "the effort limits"
            )
    if not low[0] - 1e-12 <= first <= high[0] * (1 + 1e-12):
        raise ConvergenceError(f"start_speed {np.sqrt(first):.4g}: the end is reached from at most {np.sqrt(high[0]):.4g}")
    x, u = np.zeros(n), np.zeros(n - 1)
    x[0] = first
    for i in range(n - 1):
        p, r, k = within(rows.over(i, steps[i]), steps[i], low[i + 1], high[i + 1])
        rising = p > 0
        u[i] = np.min(-(r[rising] * x[i] + k[rising]) / p[rising])
        x[i + 1] = np.clip(x[i] + 2 * steps[i] * u[i], low[i + 1], high[i + 1])
        u[i] = (x[i + 1] - x[i]) / (2 * steps[i])
    return x, u


def within(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray], step: float, low: float, high: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows with `low <= x + 2 step u <= high` added."""
    p, r, k = rows
    return np.append(p, [2 * step, -2 * step]), np.append(r, [1.0, -1.0]), np.append(k, [-high, low])


def interval(p: np.ndarray, r: np.ndarray, k: np.ndarray, top: float) -> tuple[float, float]:
    """Return the interval of x in [0, top] for which some u satisfies all rows: each upper bound of u is above each lower one."""
    size = 1e-14 * np.abs(p).max()
    up, down, none = p > size, p < -size, np.abs(p) <= size
    # u <= -(r x + k) / p above, u >= -(r x + k) / p below: slope and offset of their differences
    slope = ((-r[up] / p[up])[:, None] - (-r[down] / p[down])).ravel()
    offset = ((-k[up] / p[up])[:, None] - (-k[down] / p[down])).ravel()
    slope, offset = np.concatenate([slope, -r[none]]), np.concatenate([offset, -k[none]])  # slope x + offset >= 0
    low, high = 0.0, top
    rising, falling = slope > 0, slope < 0
    if rising.any():
        low = max(low, float(np.max(-offset[rising] / slope[rising])))
    if falling.any():
        high = min(high, float(np.min(-offset[falling] / slope[falling])))
    flat = ~rising & ~falling
    if (offset[flat] < -1e-12).any():
        return 1.0, 0.0
    return (low, high) if low <= high or low > high + 1e-12 * (1 + high) else (high, high)


def fastest(first: np.ndarray, velocity: ArrayLike) -> np.ndarray:
    """Return the largest x (n,) that the limits of joint speeds permit, at most `FASTEST` squared."""
    with np.errstate(divide="ignore"):
        speed = np.min(np.asarray(velocity, float) / np.abs(first), axis=1)
    return np.minimum(speed, FASTEST) ** 2


def friction(robot: Robot, first: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return friction (n, nv) at the speeds of a motion; at rest that of setting out."""
    speed = np.sqrt(np.maximum(x, 0.0))
    return robot.friction_torque(first * np.maximum(speed, SETTING_OUT)[:, None])


def as_path(robot: Robot, given: Any, points: int) -> tuple[Any, np.ndarray]:
    """Return a curve `path(s, derivative)` and its grid: a spline through waypoints (k, nq), or a piecewise polynomial of SciPy.
    Raises InputError: another shape, a path with a corner, or one that stands still."""
    from scipy.interpolate import CubicSpline

    if whole_number("points", points, 3) > MOST_POINTS:
        raise InputError(f"points={points}: a grid has at most {MOST_POINTS} of them")
    path: Any = given
    if not callable(given):
        waypoints = robot._evaluate.configuration("path", given)
        if waypoints.ndim != 2 or len(waypoints) < 2:
            raise InputError(f"path has shape {waypoints.shape}: waypoints (at least 2, {robot.nq}) are needed")
        if (np.abs(np.diff(waypoints, axis=0)).max(-1) == 0).any():
            raise InputError("two waypoints in a row are the same: the path stands still there")
        path = CubicSpline(np.linspace(0, 1, len(waypoints)), waypoints, bc_type="natural" if len(waypoints) < 4 else "not-a-knot")
    ends = getattr(path, "x", getattr(path, "t", None))
    if ends is None:
        raise InputError(
            "path is a function without a range: give waypoints, or a spline of SciPy such as CubicSpline, PPoly, BSpline"
        )
    knots: Any = np.unique(np.asarray(ends, float))
    if np.shape(path(knots[0])) != (robot.nq,):
        raise InputError(f"path gives {np.shape(path(knots[0]))} numbers at one s, the robot has ({robot.nq},)")
    inner, near = knots[1:-1], 1e-9 * (knots[-1] - knots[0])
    if len(inner):
        jump = np.abs(path(inner + near, 1) - path(inner - near, 1)).max(-1)
        scale = np.abs(path(knots, 1)).max() + near * np.abs(path(knots, 2)).max()
        if (jump > CORNER * scale + 4 * near * np.abs(path(knots, 2)).max()).any():
            where = float(inner[int(np.argmax(jump))])
            raise InputError(
                f"the path has a corner at s = {where:.4g}: a robot would have to stop there. Round it, or part the path"
            )
    return path, np.linspace(knots[0], knots[-1], points)
