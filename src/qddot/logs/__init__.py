"""Recordings of robots: read, named, converted to SI units, and judged before any model is.

log = Log.load("run.csv", robot)
print(log.audit(robot))
"""

from qddot.logs.audit import Audit
from qddot.logs.log import Chunks, Log
from qddot.logs.table import Finding

__all__ = ["Audit", "Chunks", "Finding", "Log"]
