"""Parameters as the torque shows them: linearity, base parameters, and the reasons."""
