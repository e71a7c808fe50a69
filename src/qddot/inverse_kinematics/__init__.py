"""Inverse kinematics: one configuration by a batched search, or all of them, in closed form where there is one."""
