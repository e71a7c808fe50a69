"""Exciting motions, which determine the dynamic parameters as well as the robot's limits allow."""
