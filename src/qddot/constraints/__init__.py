"""Constraints on a robot's motion: what they say, the equations they become, and the dynamics under them."""
