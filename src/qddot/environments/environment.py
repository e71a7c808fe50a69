"""Gymnasium's interfaces for a task: for one motion, and for many at once in one compiled batch."""

# pyright: reportMissingImports=false
from __future__ import annotations

from typing import Any

import numpy as np

from qddot.arguments import finite_array, is_recorded, whole_number
from qddot.environments.tasks import Balance, Reach, SwingUp, Task, module_for
from qddot.errors import InputError, as_written, missing_extra

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise missing_extra("gymnasium", "gym", "an environment for learning") from None


class Motions:
    """The states of n motions of a task, advanced together.

    Attributes:
        age: actions since each motion began (n,).
    """

    def __init__(self, task: Task, n: int) -> None:
        if not isinstance(task, Task):
            raise InputError(f"task={as_written(task)}: give one, such as qddot.environments.SwingUp()")
        self.task, self.n = task, n
        self.age: Any = np.zeros(n, int)
        self.q: Any = np.empty((n, 0))
        self.qd: Any = self.q
        self.goal: Any = self.q

    def restart(self, rng: np.random.Generator) -> None:
        """Restart all motions."""
        self.q, self.qd, self.goal = self.task.start(rng, self.n)
        self.age[:] = 0

    def restart_some(self, rng: np.random.Generator, which: np.ndarray) -> None:
        """Restart the motions for which the mask is true."""
        if which.all():
            self.restart(rng)
        elif which.any():
            self.q[which], self.qd[which], self.goal[which] = self.task.start(rng, int(which.sum()))
            self.age[which] = 0

    def act(self, action: Any) -> tuple[Any, Any, Any]:
        """Advance by one action; return rewards, and masks of the motions that have failed and of those that are cut off. A motion
        that cannot go on has failed, and keeps its last state. Raises InputError: not reset yet, or actions of another shape."""
        action = self.read(action)
        expected = (self.n, len(self.task.driven))
        if self.q.shape[-1] == 0:
            raise InputError("the motions have not begun: call reset() before step()")
        if tuple(action.shape) != expected:
            drives = f"{expected[1]} driven joints" if expected[1] > 1 else "one driven joint"
            raise InputError(f"the actions have shape {tuple(action.shape)}, expected {expected}: {self.n} motions, {drives}")
        action = module_for(action).clip(action, -1, 1)  # the reward too is that of the clipped action
        xp, (q, qd) = module_for(self.q), self.task.advance(self.q, self.qd, action)
        lost = xp.isnan(q).any(-1)
        self.q, self.qd = (xp.where(lost[:, None], before, after) for before, after in ((self.q, q), (self.qd, qd)))
        self.age += 1
        reward = self.task.reward(self.q, self.qd, action, self.goal)
        ended = self.task.ended(self.q, self.qd) | lost
        return reward, ended, (self.age >= self.task.horizon) & ~ended

    def read(self, action: Any) -> Any:
        """Return actions as an array. Raises InputError: they have a gradient, or are not finite numbers."""
        if is_recorded(action):
            raise InputError(
                "the actions have a gradient, and these environments compute with NumPy: hand over action.detach(), or make "
                'Environments(..., device="cpu"), whose rewards have gradients'
            )
        return finite_array("action", action)

    @property
    def seen(self) -> Any:
        """The observations."""
        return self.task.observe(self.q, self.qd, self.goal).astype(np.float32)


class Tensors(Motions):
    """The states of n motions as PyTorch tensors on a device, in float32.

    Attributes:
        starts: q, qd and goal of all motions as drawn by the last `restart`; restarted motions begin at a random one of these.
    """

    def __init__(self, task: Task, n: int, device: Any) -> None:
        try:
            import torch
        except ImportError:
            raise missing_extra("torch", "torch", "an environment on a device") from None
        super().__init__(task, n)
        try:
            self.torch, self.device = torch, torch.device(device)
            self.age = torch.zeros(n, dtype=torch.int64, device=self.device)
        except (RuntimeError, AssertionError, TypeError) as error:  # PyTorch's errors for a bad device, some of many lines
            raise InputError(f"device={as_written(device)} cannot be used: {str(error).splitlines()[0]}") from None
        self.draw = torch.Generator(self.device)
        self.starts: list[Any] = []

    def restart(self, rng: np.random.Generator) -> None:
        self.starts = [self.read(x) for x in self.task.start(rng, self.n)]
        self.q, self.qd, self.goal = (x.clone() for x in self.starts)
        self.draw.manual_seed(int(rng.integers(2**63)))
        self.age.zero_()

    def restart_some(self, rng: np.random.Generator, which: Any) -> None:
        row = self.torch.randint(self.n, (self.n,), generator=self.draw, device=self.device)
        choose = which[:, None]
        self.q, self.qd, self.goal = (
            self.torch.where(choose, start[row], x) for start, x in zip(self.starts, (self.q, self.qd, self.goal))
        )
        self.age = self.torch.where(which, 0, self.age)

    def read(self, action: Any) -> Any:
        """Return actions, or any numbers, as a tensor."""
        return self.torch.as_tensor(action, dtype=self.torch.float32, device=self.device)

    @property
    def seen(self) -> Any:
        return self.task.observe(self.q, self.qd, self.goal)


MOST = 10**7
"""Most motions at once; the states of so many take gigabytes."""


def whole_seed(seed: Any) -> int | None:
    """Return a seed, any kind of whole number, as Gymnasium takes it."""
    return None if seed is None else whole_number("seed", seed, 0)


def spaces(task: Task) -> tuple[Box, Box]:
    """Return the spaces of observations and actions of one motion."""
    return Box(-np.inf, np.inf, (task.observation,), np.float32), Box(-1.0, 1.0, (len(task.driven),), np.float32)


class Environment(gymnasium.Env):
    """A Gymnasium environment of one motion.

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
        super().reset(seed=whole_seed(seed))
        self.motions.restart(self.np_random)
        return self.motions.seen[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward, ended, cut = self.motions.act(self.motions.read(action)[None])
        return self.motions.seen[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {}


class Environments(gymnasium.vector.VectorEnv):
    """Many motions at once. A motion that has ended restarts at the next action, which it ignores (Gymnasium's NEXT_STEP).

    >>> envs = qddot.environments.Environments(qddot.environments.SwingUp(), 8)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (8, 5)

    Args:
        device: None for NumPy arrays; or a PyTorch device, such as `"cuda"`: then actions, observations and everything else are
            tensors there, states in float32; nothing is copied between host and device, and the host does not wait. Motions then
            restart at random initial states among those drawn by `reset`.
    """

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def __init__(self, task: Task, num_envs: int, device: Any = None) -> None:
        if whole_number("num_envs", num_envs) > MOST:
            raise InputError(f"num_envs={num_envs}: at most {MOST} motions at once")
        self.num_envs, self.device = num_envs, device
        self.motions = Motions(task, num_envs) if device is None else Tensors(task, num_envs, device)
        self.single_observation_space, self.single_action_space = spaces(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.done: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        super().reset(seed=whole_seed(seed))
        self.motions.restart(self.np_random)
        self.done = self.motions.age < 0
        return self.motions.seen, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict]:
        reward, ended, cut = self.motions.act(actions)
        again = self.done
        self.motions.restart_some(self.np_random, again)
        reward[again] = 0.0
        ended, cut = ended & ~again, cut & ~again
        self.done = ended | cut
        return self.motions.seen, reward, ended, cut, {}


def register() -> None:
    """Register the tasks with Gymnasium."""
    for task in (Reach, SwingUp, Balance):
        name = f"qddot/{task.__name__}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=lambda task=task, **options: Environment(task(**options)),
                vector_entry_point=lambda task=task, num_envs=1, device=None, **options: Environments(
                    task(**options), num_envs, device
                ),
            )
