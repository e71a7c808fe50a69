"""Motion: from a state and joint forces to a trajectory."""
