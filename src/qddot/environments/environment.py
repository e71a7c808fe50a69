"""Gymnasium's interfaces around a task: for one motion, and for many at once in one compiled batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.environments.tasks import Balance, Reach, SwingUp, Task
from qddot.errors import missing_extra

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise missing_extra("gymnasium", "gym", "an environment for learning") from None


class Motions:
    """States of n motions of a task, advanced together."""

    def __init__(self, task: Task, n: int) -> None:
        self.task, self.n = task, n
        self.age = np.zeros(n, int)
        self.q = self.qd = self.goal = np.empty((n, 0))

    def restart(self, rng: np.random.Generator, which: np.ndarray) -> None:
        """Begin some motions again (indices)."""
        start = self.task.start(rng, len(which))
        if len(which) == self.n:
            self.q, self.qd, self.goal = start
        else:
            self.q[which], self.qd[which], self.goal[which] = start
        self.age[which] = 0

    def act(self, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, and which motions have failed, and which are cut off."""
        self.q, self.qd = self.task.advance(self.q, self.qd, action)
        self.age += 1
        reward = self.task.reward(self.q, self.qd, action, self.goal)
        ended = self.task.ended(self.q, self.qd)
        return reward, ended, (self.age >= self.task.horizon) & ~ended

    @property
    def seen(self) -> np.ndarray:
        return self.task.observe(self.q, self.qd, self.goal).astype(np.float32)


def spaces(task: Task) -> tuple[Box, Box]:
    """Spaces of observations and actions of one motion."""
    return Box(-np.inf, np.inf, (task.observation,), np.float32), Box(-1.0, 1.0, (len(task.driven),), np.float32)


class Environment(gymnasium.Env):
    """One motion.

    >>> env = qddot.environments.Environment(qddot.environments.Balance())
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> float(reward)
    1.0
    """

    metadata = {"render_modes": []}

    def __init__(self, task: Task) -> None:
        self.motions = Motions(task, 1)
        self.observation_space, self.action_space = spaces(task)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.motions.restart(self.np_random, np.arange(1))
        return self.motions.seen[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward, ended, cut = self.motions.act(np.asarray(action, float)[None])
        return self.motions.seen[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {}


class Environments(gymnasium.vector.VectorEnv):
    """Many motions at once. A motion that has ended begins again with the next action, which it ignores (Gymnasium's NEXT_STEP).

    >>> envs = qddot.environments.Environments(qddot.environments.SwingUp(), 8)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (8, 5)
    """

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def __init__(self, task: Task, num_envs: int) -> None:
        self.motions, self.num_envs = Motions(task, num_envs), num_envs
        self.single_observation_space, self.single_action_space = spaces(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.done = np.zeros(num_envs, bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.motions.restart(self.np_random, np.arange(self.num_envs))
        self.done[:] = False
        return self.motions.seen, {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        again = np.flatnonzero(self.done)
        reward, ended, cut = self.motions.act(np.asarray(actions, float))
        if len(again):
            self.motions.restart(self.np_random, again)
            reward[again], ended[again], cut[again] = 0.0, False, False
        self.done = ended | cut
        return self.motions.seen, reward, ended, cut, {}


def register() -> None:
    """Tell Gymnasium the names of the tasks."""
    for task in (Reach, SwingUp, Balance):
        name = f"qddot/{task.__name__}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=lambda task=task, **options: Environment(task(**options)),
                vector_entry_point=lambda task=task, num_envs=1, **options: Environments(task(**options), num_envs),
            )
