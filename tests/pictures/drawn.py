"""What a picture shows, in pixels."""

from __future__ import annotations

from typing import Any

import numpy as np


def pixels(ax: Any) -> np.ndarray:
    """(height, width, 3) bytes of the figure around some axes."""
    canvas = np.atleast_1d(ax)[0].figure.canvas
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def drawn(ax: Any) -> float:
    """The part of the figure that is not white."""
    return float((pixels(ax) < 250).any(axis=-1).mean())


def shows(ax: Any, ink: str, near: int = 12) -> bool:
    """Whether some pixels have this colour, `#rrggbb`."""
    rgb = np.array([int(ink[k : k + 2], 16) for k in (1, 3, 5)])
    return bool((np.abs(pixels(ax).astype(int) - rgb).max(axis=-1) <= near).any())
