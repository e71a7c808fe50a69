"""Robots made in Python, without a description in a file: from DH tables, from screws, or body by body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

from qddot.formats.builder import Builder as _Builder
from qddot.formats.dh import dh_model
from qddot.formats.screws import screws_model
from qddot.robot import Robot


@wraps(dh_model)
def from_dh(rows: Sequence[Any], **options: Any) -> Robot:
    return Robot(dh_model(rows, **options))


@wraps(screws_model)
def from_screws(screws: Sequence[Any], *arguments: Any, **options: Any) -> Robot:
    return Robot(screws_model(screws, *arguments, **options))


class Builder(_Builder):
    __doc__ = _Builder.__doc__

    def robot(self, *, strict: bool = False) -> Robot:
        """Return the robot built so far; `build` describes the checks.

        >>> qddot.Builder("arm").body("rod", mass=1).robot().nv
        1
        """
        return Robot(self.build(strict=strict))
