"""Recordings of robots: reading files, naming columns, converting to SI units, and auditing before any fit.

log = Log.load("run.csv", robot)
print(log.audit(robot))
"""

from qddot.logs.audit import Audit
from qddot.logs.log import Chunks, Log
from qddot.logs.table import Finding

__all__ = ["Audit", "Chunks", "Finding", "Log"]
