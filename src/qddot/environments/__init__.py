"""Environments for reinforcement learning with Gymnasium's interface: one motion (`Environment`) or many at once (`Environments`).

    from qddot.environments import Environments, SwingUp

    envs = Environments(SwingUp(), 1024)
    observations, infos = envs.reset(seed=0)

Importing this module registers `gymnasium.make("qddot/Reach-v0")`, `"qddot/SwingUp-v0"` and `"qddot/Balance-v0"`. It needs the
extra `gym`.
"""

from qddot.environments.environment import Environment, Environments, register
from qddot.environments.tasks import Balance, Reach, SwingUp, Task

__all__ = ["Balance", "Environment", "Environments", "Reach", "SwingUp", "Task"]

register()
