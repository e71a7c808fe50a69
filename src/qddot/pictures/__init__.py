"""Looks of a robot: its shapes, from where it is seen, and figures with the look of everything else that qddot shows."""
