"""The view of a page as text, the part behind the # of its address: `q=0.3,1.1&lens=gravity_torque,1,0`.

The page ignores invalid parts of its own address, which anybody may have written, and says so. A view that a program gives is
checked here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from qddot.errors import InputError, as_written, near_matches
from qddot.explore.lens import SHOWN
from qddot.symbolic.printing.notation import NOTATIONS

if TYPE_CHECKING:
    from qddot.robot import Robot

SWITCH = ("on", "off")
WORDS = {
    "friction": SWITCH,
    "coriolis": SWITCH,
    "drive": ("free", "gravity", "hold"),
    "show": ("frames", "axes", "centres", "path", "boxes", ""),
    "ellipsoid": ("none", "velocity", "force", "mass"),
    "notation": tuple(NOTATIONS),
    "form": ("numbers", "letters"),
    "abbreviated": SWITCH,
}
"""Keys whose value is one of these words; for `show` any of them, separated by commas."""

LISTS = {"lens": SHOWN, "strip": ("tau", "residual", "g", "c", "qd", "q", "")}
"""Keys whose value begins with one of these words, followed by indices."""

SINGLE = ("payload", "tip", "speed", "time")


def checked(view: object, robot: Robot) -> str:
    """Return the text, checked. Raises InputError: not a text, an unknown key or word, or the wrong number of numbers."""
    if not isinstance(view, str):
        raise InputError(f"view={as_written(view)}: give what stands behind the # of a page's address, as text")
    counts = {
        "q": robot.nq,
        "qd": robot.nv,
        "qdd": robot.nv,
        "gravity": 3,
        "camera": 7,
        "run": 1 + robot.nq + robot.nv,
        **dict.fromkeys(SINGLE, 1),
    }
    keys = [*counts, *WORDS, *LISTS]
    for key, value in parse_qsl(view.removeprefix("#"), keep_blank_values=True):
        if key not in keys:
            raise InputError(f"view: there is no {as_written(key)} in an address of this page: {near_matches(key, keys)}")
        if key in counts and len(numbers := finite(value)) != counts[key]:
            raise InputError(f"view: {key}={as_written(value)}: {counts[key]} finite numbers are needed, there are {len(numbers)}")
        known = WORDS.get(key) or LISTS.get(key)
        for word in value.split(",")[: None if key == "show" else 1]:
            if known and word not in known:
                raise InputError(f"view: {key}={as_written(value)}: no {as_written(word)}: {near_matches(word, known)}")
    return view


def finite(text: str) -> list[float]:
    """Return the finite numbers among those separated by commas."""
    found = []
    for piece in text.split(","):
        try:
            number = float(piece)
        except ValueError:
            continue
        found += [number] if math.isfinite(number) else []
    return found
