"""The explorer: one HTML file in which a robot is seen, moved, computed and simulated, without a server."""

from qddot.room import not_to_be_called

not_to_be_called(__name__, "robot.explore()")
