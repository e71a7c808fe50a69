"""Identification while the robot moves: sample by sample, in constant time and memory."""
