"""The explorer: one HTML file in which a robot is seen, moved, computed and simulated, without a server."""
