"""Comparison with other libraries: mass matrix and forces of Pinocchio and MuJoCo, translated to our conventions."""

from __future__ import annotations

from qddot.room import not_to_be_called
from qddot.verify.compare import PEERS, Comparison, Row, verify

__all__ = ["PEERS", "Comparison", "Row", "verify"]

not_to_be_called(__name__, "qddot.verify.verify(robot, 'pinocchio')")
