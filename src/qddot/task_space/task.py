"""Tasks: some rows of the Jacobian of one frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from qddot.compile.evaluate import Evaluator
from qddot.errors import InputError, unknown_name
from qddot.model.model import Model
from qddot.pictures.view import plane_normal

POSITION = ("x", "y", "z")

TWIST = ("wx", "wy", "wz", *POSITION)

ORIENTATION = {
    "rpy": ("roll", "pitch", "yaw"),
    "zyx": ("yaw", "pitch", "roll"),
    "quaternion": ("qw", "qx", "qy", "qz"),
    "rotation_vector": ("rx", "ry", "rz"),
}


class Task(NamedTuple):
    """Some rows of a frame's Jacobian: `quantity` with `options` gives all rows, `picked` are the indices of the chosen ones."""

    frame: str
    rows: tuple[str, ...]
    picked: list[int]
    quantity: str
    options: dict[str, str]

    @property
    def asked(self) -> dict[str, str]:
        """Options of `manipulability` and `task_inertia`."""
        frame, axes = self.options.values()
        return {"frame": frame, "axes": axes, "rows": ",".join(map(str, self.picked))}


def positions_in_reach(model: Model) -> tuple[str, ...]:
    """Return x, y and z; for a robot that moves in a plane of two of these axes, only these two."""
    normal = None if model.symbols else plane_normal(model)
    across = None if normal is None else int(abs(normal).argmax())
    if normal is None or across is None or abs(normal[across]) < 1 - 1e-9:
        return POSITION
    return POSITION[:across] + POSITION[across + 1 :]


def choose(
    evaluate: Evaluator, frame: str | None, reference: str, rows: Sequence[str] | str | None, coordinates: str | None = None
) -> Task:
    """Return the task that a user means. Raises UnknownNameError: no such frame, row or coordinates; InputError: no row, one named
    twice, or coordinates together with a reference."""
    frame = evaluate.model.tip if frame is None else frame
    if coordinates is None:
        known, quantity, options = TWIST, "jacobian", {"frame": frame, "reference": reference}
    elif not isinstance(coordinates, str) or coordinates not in ORIENTATION:
        raise unknown_name("coordinates", coordinates, ORIENTATION)
    elif not isinstance(reference, str) or reference != "world_aligned":
        raise InputError(f"coordinates={coordinates!r} go with world axes: leave reference={reference!r} out")
    else:
        known = (*ORIENTATION[coordinates], *POSITION)
        quantity, options = "analytic_jacobian", {"frame": frame, "coordinates": coordinates}
    if rows is not None and (not isinstance(rows, Iterable) or getattr(rows, "ndim", 1) == 0):
        raise InputError(f"rows={rows!r} is not a sequence of names, such as ('x', 'y')")
    chosen = known if rows is None else (rows,) if isinstance(rows, str) else tuple(rows)
    for row in chosen:
        if not isinstance(row, str) or row not in known:
            raise unknown_name("row", row, known)
    if not chosen or len(set(chosen)) != len(chosen):
        raise InputError(f"rows={chosen!r}: name each row once, of {', '.join(map(repr, known))}")
    return Task(frame, chosen, [known.index(row) for row in chosen], quantity, options)
