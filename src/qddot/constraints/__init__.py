"""Constraints on a robot's motion: their definition, their equations, and the dynamics under them."""
