"""Dynamics as the tip feels it: task inertia and forces, ellipsoids, and a picture of them."""
