"""Systems given by their energies instead of links and joints: `System(T, V, ...)`, with the other methods of a robot."""

from qddot.system.system import System

__all__ = ["System"]
