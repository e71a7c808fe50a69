"""Systems given by their energies instead of links and joints: `System(T, V, ...)`, with everything else a robot has."""

from qddot.system.system import System

__all__ = ["System"]
