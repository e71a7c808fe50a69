"""Rollouts: many motions at once, with the law that drives them compiled into the step, on the CPU or in one kernel on a GPU."""

from qddot.rollout.adjoint import RolloutGradient
from qddot.rollout.laws import PD, ComputedTorque, Moment
from qddot.rollout.rollout import Rollout, States

__all__ = ["PD", "ComputedTorque", "Moment", "Rollout", "RolloutGradient", "States"]
