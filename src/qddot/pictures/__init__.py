"""Pictures of a robot: its shapes, the view, and figures in the common style of qddot."""
