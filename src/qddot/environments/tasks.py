"""Tasks for learning: initial states, observations, rewards and the end of motions.

Every method takes and returns arrays with one row for each motion, so that one motion and thousands are the same code. They are
NumPy arrays, or PyTorch tensors on any device. Only initial states are always drawn by NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import qddot
from qddot.arguments import positive_number, real_array, whole_number
from qddot.arrays.guests import constant, guest_module
from qddot.compile.kinds import library_of
from qddot.errors import InputError, as_written
from qddot.robot import Robot


def module_for(x: Any) -> Any:
    """Return the module with functions for an array: NumPy, or PyTorch with the names of NumPy."""
    return guest_module(x) if library_of(x) else np


class Start(NamedTuple):
    """Initial states of motions: q (n, nq), qd (n, nv), and the goal of each (n, m)."""

    q: np.ndarray
    qd: np.ndarray
    goal: np.ndarray


class Task:
    """A robot, its actuators and a goal. Actions are in [-1, 1], one for each driven joint; 1 is its largest joint force.

    Args:
        robot: the robot that moves, with dry friction and stops as described.
        period: time between two actions, s.
        step: longest step of the integrator, s.
        horizon: number of actions after which a motion is cut off.

    Attributes:
        effort: the largest joint forces (nv); 0 for passive joints.
        observation: number of elements of an observation.

    >>> task = qddot.environments.Balance()
    >>> start = task.start(np.random.default_rng(0), n=3)
    >>> task.observe(start.q, start.qd, start.goal).shape == (3, task.observation)
    True
    >>> task.forces(np.ones((1, 1)))  # one driven joint, N
    array([[20.,  0.]])
    >>> q, qd = task.advance(start.q, start.qd, np.zeros((3, 1)))  # nobody pushes
    >>> task.reward(q, qd, np.zeros((3, 1)), start.goal)
    array([1., 1., 1.])
    >>> task.ended(q, qd)  # not yet fallen
    array([False, False, False])
    """

    def __init__(self, robot: Robot, *, period: float, step: float, horizon: int, effort: Any = None) -> None:
        if not isinstance(robot, Robot):
            raise InputError(f"robot={as_written(robot)}: give one, such as qddot.load('cart_pole')")
        period, step, horizon = positive_number("period", period), positive_number("step", step), whole_number("horizon", horizon)
        if not period / step <= 1e6:
            raise InputError(f"period={period:g}, step={step:g}: at most 1e6 steps a period")
        given = robot.limits.effort if effort is None else real_array("effort", effort)
        if given.shape not in ((), (robot.nv,)):
            raise InputError(f"effort has shape {given.shape}: one number, or one for each of {robot.nv} joints")
        given = np.broadcast_to(given, (robot.nv,))
        if not np.isfinite(given).all():
            names = [name for name, x in zip(robot.joint_names, given) if not np.isfinite(x)]
            raise InputError(
                f"how strong are the joints {', '.join(names)} of {robot.name}? Give effort=, N m or N, 0 for passive ones"
            )
        self.robot, self.horizon, self.effort = robot, horizon, np.array(given)
        self.driven = np.flatnonzero(self.effort > 0)
        self.substeps = max(1, round(period / step))
        self.period = period
        self.run = robot.rollout(step=period / self.substeps, saturate=False)
        self._forces: dict[Any, Any] = {}

    def advance(self, q: Any, qd: Any, action: Any) -> tuple[Any, Any]:
        """Return the states after one period; NaN for a motion that cannot go on. On a GPU the host does not wait."""
        tau = module_for(action).clip(action, -1, 1) @ self.forces(q)
        after = self.run(q, qd, tau, steps=self.substeps, every=self.substeps, check=False)
        return after.q[-1], after.qd[-1]

    def forces(self, like: Any) -> Any:
        """Return the joint forces of full actions (m, nv), an array of the same library as `like`."""
        full = np.diag(self.effort)[self.driven]
        if not library_of(like):
            return full
        kind = (like.dtype, like.device)
        if kind not in self._forces:
            self._forces[kind] = constant(like, full.tolist())
        return self._forces[kind]

    @property
    def observation(self) -> int:
        start = self.start(np.random.default_rng(0), 1)
        return self.observe(start.q, start.qd, start.goal).shape[-1]

    def start(self, rng: np.random.Generator, n: int) -> Start:
        """Return random initial states of n motions."""
        raise NotImplementedError

    def observe(self, q: Any, qd: Any, goal: Any) -> Any:
        """Return the observations (n, observation) of n motions."""
        raise NotImplementedError

    def reward(self, q: Any, qd: Any, action: Any, goal: Any) -> Any:
        """Return the rewards (n,) for the states after an action."""
        raise NotImplementedError

    def ended(self, q: Any, qd: Any) -> Any:
        """Return True for each motion that has failed (n,)."""
        return module_for(q).zeros_like(q[:, 0]) > 0


class Reach(Task):
    """A tip moves to a random point within reach and stays there. Observed are sines and cosines of q, qd, the tip's position, and
    the vector from it to the goal.

    The reward is minus the distance (m), less a little for effort.

    >>> task = qddot.environments.Reach()
    >>> start = task.start(np.random.default_rng(0), n=2)
    >>> task.observe(start.q, start.qd, start.goal).shape, task.tip(start.q).shape
    ((2, 27), (2, 3))
    >>> bool((task.reward(start.q, start.qd, np.zeros((2, 7)), start.goal) < 0).all())  # minus the way to go, m
    True
    """

    def __init__(self, robot: Robot | None = None, *, frame: str | None = None, effort: Any = None, **options: Any) -> None:
        robot = robot or qddot.load("arm7")
        super().__init__(robot, effort=effort, **{"period": 0.02, "step": 0.005, "horizon": 250, **options})
        self.frame = frame or robot.tip

    def tip(self, q: Any) -> Any:
        return self.robot.transform(q, self.frame)[..., :3, 3]

    def start(self, rng: np.random.Generator, n: int) -> Start:
        draw = lambda: self.robot.random_configuration(rng, n)  # noqa: E731
        return Start(draw(), np.zeros((n, self.robot.nv)), self.tip(draw()))

    def observe(self, q: Any, qd: Any, goal: Any) -> Any:
        tip, xp = self.tip(q), module_for(q)
        return xp.concatenate([xp.cos(q), xp.sin(q), qd, tip, goal - tip], -1)

    def reward(self, q: Any, qd: Any, action: Any, goal: Any) -> Any:
        return -(((goal - self.tip(q)) ** 2).sum(-1) ** 0.5) - 1e-3 * (action**2).sum(-1)


class Pole(Task):
    """A pendulum on a cart; upright at q2 = pi. Observed are the cart's position, cosine and sine of the angle from upright, and
    speeds."""

    def __init__(self, robot: Robot | None = None, *, effort: Any = (20.0, 0.0), **options: Any) -> None:
        options = {"period": 0.02, "step": 0.005, "horizon": 500, **options}
        super().__init__(robot or qddot.load("cart_pole"), effort=effort, **options)

    def start(self, rng: np.random.Generator, n: int) -> Start:
        q, qd = rng.uniform(-0.05, 0.05, (2, n, 2))
        return Start(q, qd, np.zeros((n, 0)))

    def observe(self, q: Any, qd: Any, goal: Any) -> Any:
        tilt, xp = q[:, 1] - np.pi, module_for(q)
        return xp.stack([q[:, 0], xp.cos(tilt), xp.sin(tilt), qd[:, 0], qd[:, 1]], -1)


class SwingUp(Pole):
    """The pole swings up from hanging and stays upright. The reward is its height (-1 to 1), less distance and effort.

    >>> task = qddot.environments.SwingUp()
    >>> start = task.start(np.random.default_rng(0), n=2)
    >>> task.reward(start.q, start.qd, np.zeros((2, 1)), start.goal).round(2)  # hanging is worth least
    array([-1., -1.])
    """

    def reward(self, q: Any, qd: Any, action: Any, goal: Any) -> Any:
        return -module_for(q).cos(q[:, 1]) - 0.1 * q[:, 0] ** 2 - 1e-3 * (action**2).sum(-1)


class Balance(Pole):
    """The pole begins upright; it has failed beyond 12 degrees or at the end of the rail. The reward is 1 for every period.

    >>> task = qddot.environments.Balance()
    >>> start = task.start(np.random.default_rng(0), n=2)
    >>> task.reward(start.q, start.qd, np.zeros((2, 1)), start.goal), task.ended(start.q, start.qd)
    (array([1., 1.]), array([False, False]))
    """

    def __init__(self, robot: Robot | None = None, **options: Any) -> None:
        super().__init__(robot, **options)
        self.rail = self.robot.limits.upper[0]

    def start(self, rng: np.random.Generator, n: int) -> Start:
        q, qd, goal = super().start(rng, n)
        return Start(q + np.array([0, np.pi]), qd, goal)

    def reward(self, q: Any, qd: Any, action: Any, goal: Any) -> Any:
        return module_for(q).ones_like(q[:, 0])

    def ended(self, q: Any, qd: Any) -> Any:
        return (abs(q[:, 1] - np.pi) > np.deg2rad(12)) | (abs(q[:, 0]) >= self.rail)
