"""Dynamics in task space: inertia and forces at a frame, ellipsoids and their plots."""
