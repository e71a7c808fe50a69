"""A small SVG drawing of a robot for notebooks: outlines of its links, without Matplotlib."""

from __future__ import annotations

import numpy as np

from qddot.model.model import Model
from qddot.pictures.arm import METAL, Arm
from qddot.pictures.solids import outline
from qddot.pictures.view import from_a_corner, gravity_of, own_view

WIDTH, HEIGHT, MARGIN = 220.0, 190.0, 8.0  # px


def sketch(model: Model, q: np.ndarray) -> str:
    """Return the drawing of a robot in a configuration: straight on if it moves in a plane, otherwise from a corner."""
    view = own_view(model)
    view = from_a_corner(gravity_of(model)) if view is None else view
    arm = Arm(model, view, plain=True)
    poses = arm.poses(q)
    parts = [(ink, x.placed(poses[body]), x.kind != "rail") for body, ink, x in arm.solids[: arm.links]]
    if own_view(model) is None:
        parts.sort(key=lambda part: float((part[1] @ np.cross(*view)).mean()))  # nearer parts in front
    flat = [(ink, outline(points @ view.T)) for ink, points, _ in parts]
    seen = np.concatenate([points @ view.T for _, points, counts in parts if counts] or [np.zeros((1, 2))])  # rails are cut off
    low, size = seen.min(axis=0), np.maximum(np.ptp(seen, axis=0), 1e-9)
    scale = float(min((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / size))
    width, height = size * scale + 2 * MARGIN
    shapes = ""
    for ink, points in flat:
        x, y = ((points - low) * scale + MARGIN).T
        corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, height - y))
        shapes += f'<polygon points="{corners}" fill="{ink}" stroke="{METAL["base"]}" stroke-width="0.8"/>'
    label = 'role="img" aria-label="the robot"'
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" {label}>{shapes}</svg>'
