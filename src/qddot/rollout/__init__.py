"""Rollouts: many motions at once, with their control law compiled into the step, on the CPU or in one kernel on a GPU."""

from qddot.rollout.adjoint import RolloutGradient
from qddot.rollout.laws import ComputedTorqueLaw, Moment, PDLaw
from qddot.rollout.rollout import Rollout
from qddot.rollout.start import States
from qddot.room import not_to_be_called

__all__ = ["ComputedTorqueLaw", "Moment", "PDLaw", "Rollout", "RolloutGradient", "States"]

not_to_be_called(__name__, "robot.rollout(law)")
