"""The dependence of joint forces on parameters: linearity, base parameters, and why some parameters do not show."""
