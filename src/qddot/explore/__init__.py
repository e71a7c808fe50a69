"""The explorer: one HTML file, without a server, that shows, moves, computes and simulates a robot."""

from qddot.room import not_to_be_called

not_to_be_called(__name__, "robot.explore()")
