"""The expression graph: scalars that record operations with them, and programs made of such scalars."""
