"""Configurations that bring a frame to a pose: one by a batched search, all of them, or by a closed form."""
