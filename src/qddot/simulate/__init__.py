"""Simulation: from an initial state and joint forces to a trajectory."""

from qddot.room import not_to_be_called

not_to_be_called(__name__, "robot.simulate(q0, t=1.0)")
