"""The expression graph: a scalar that records what is done to it, and programs made of such scalars."""
