"""Arguments of rollouts, checked, with one row for each motion; and the states that rollouts return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.compile.kinds import library_of
from qddot.errors import InputError, as_written

if TYPE_CHECKING:
    from qddot.robot import Robot


class States(NamedTuple):
    """States of a rollout: q (samples, ..., nq) and qd (samples, ..., nv), the first sample being the initial state.

    >>> q, qd = qddot.load("two_link").rollout()([0, 0], None, [7.0, 2.0], steps=100, every=50)
    >>> q.shape, qd.shape
    ((3, 2), (3, 2))
    """

    q: Any
    qd: Any


class Start(NamedTuple):
    """Arguments of a rollout."""

    q: np.ndarray
    qd: np.ndarray
    control: np.ndarray | None
    rest: dict[str, np.ndarray]  # inputs besides state and control
    batch: tuple[int, ...]
    count: int  # number of steps
    changes: bool  # True if each step has its own control, along the first dimension
    every: int
    check: bool = True  # True if a motion that cannot go on is an error; else it is NaN from there on

    @property
    def traced_by(self) -> tuple[int, bool]:
        """The arguments of `Rollout.step`: number of elements of the control, and True if inertial parameters are given."""
        return 0 if self.control is None else self.control.shape[-1], "parameters" in self.rest

    def wide(self, x: np.ndarray) -> np.ndarray:
        """Return an array with one row for each motion."""
        return np.ascontiguousarray(np.broadcast_to(x, (*self.batch, x.shape[-1])))

    def controls(self) -> np.ndarray | None:
        """Return the control with one row for each motion, without a copy."""
        if self.control is None:
            return None
        steps = self.control.shape[: int(self.changes)]
        one = self.control.shape[len(steps) :]
        between = (1,) * (len(self.batch) + 1 - len(one))
        return np.broadcast_to(self.control.reshape(*steps, *between, *one), (*steps, *self.batch, one[-1]))


def copied(x: Any) -> Any:
    """Return a copy of an array, or of all arrays of a dictionary; other values as they are."""
    if isinstance(x, Mapping):
        return {name: copied(y) for name, y in x.items()}
    if library_of(x) == "torch":
        return x.detach().clone()
    return x.copy() if hasattr(x, "copy") else x


def step_count(steps: Any, every: Any, control: Any) -> tuple[int, bool]:
    """Return the number of steps, and True if each has its own control. Raises InputError: numbers that do not fit."""
    if steps is None and (control is None or control.ndim < 2):
        raise InputError("how many steps? Give steps=, or a control (steps, ..., m) that changes from step to step")
    count = control.shape[0] if steps is None else steps
    for name, x in (("steps", count), ("every", every)):
        if not isinstance(x, (int, np.integer)) or x < 1:
            raise InputError(f"{name}={x!r} is not a whole number from 1")
    if count % every:
        raise InputError(f"{count} steps are no multiple of every={every}: keep each k-th of them with a k that divides it")
    return int(count), steps is None


def common_batch(*arrays: Any) -> tuple[int, ...]:
    """Return the leading dimensions that arrays have together. Raises InputError: they do not fit each other."""
    shapes = [x.shape[:-1] for x in arrays if x is not None]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(
            f"leading dimensions of q0, qd0, control and parameters do not fit: {', '.join(map(str, shapes))}"
        ) from None


def check_contacts(robot: Robot, contacts: Any, method: str) -> None:
    """Refuse contacts of another robot, or with a method that has none. Raises InputError."""
    if contacts is None:
        return
    from qddot.contact.shapes import Contacts

    if not isinstance(contacts, Contacts):
        raise InputError(f"contacts={as_written(contacts)}: qddot.contact.Contacts(robot, spheres, planes) is needed")
    if contacts.robot is not robot:
        raise InputError(f"contacts are those of another robot: make them of this one, Contacts({robot.name}, ...)")
    if method != "semi_implicit":
        raise InputError(f'method="{method}" knows no contacts: among them steps are of order one, method="semi_implicit"')
