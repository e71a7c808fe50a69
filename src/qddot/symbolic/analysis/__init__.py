"""What the torque shows of the parameters: linearity, base parameters, and the reasons."""
