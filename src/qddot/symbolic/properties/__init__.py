"""Properties of a robot in every state: structure, proved exactly, and bounds of its terms."""

from qddot.symbolic.properties.properties import Properties

__all__ = ["Properties"]
