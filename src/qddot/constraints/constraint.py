"""Constraints: rows that must be zero, as functions of a state.

Constraints are compared by value, or by the function that they wrap, and each set of them is compiled once for a robot. So a
constraint from a function should be made once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from qddot.arguments import gradients_shown
from qddot.constraints.state import State
from qddot.errors import InputError
from qddot.model.scalar import Scalar


class Constraint(Protocol):
    """Rows that must be zero: of positions, `phi(q) = 0` (holonomic), or of velocities, `A(q) qd = 0`."""

    holonomic: ClassVar[bool]

    def rows(self, state: State) -> Iterable[Scalar]: ...


@dataclass(frozen=True)
class Function:
    """A constraint whose rows a Python function returns: one scalar, or several."""

    function: Callable[[State], Any]

    def rows(self, state: State) -> list[Scalar]:
        try:
            with gradients_shown():
                found = self.function(state)
        except (TypeError, AttributeError) as error:  # from math.cos, numpy.cos, numpy.hypot, a comparison and the like
            raise InputError(
                f"{self}: {error}. The numbers of a state are recorded, not known: they have + - * / **, state.cos, sin, sqrt and "
                "atan2, and cannot be compared or given to math and numpy"
            ) from error
        if found is None:
            raise InputError(f"{self}: it returns None, not one scalar or a list of them")
        rows = list(found) if isinstance(found, Iterable) else [found]
        if not rows:
            raise InputError(f"{self}: it returns no rows, so nothing would be constrained")
        return rows

    def __str__(self) -> str:
        return f"constraint {getattr(self.function, '__name__', self.function)!r}"


class Holonomic(Function):
    holonomic: ClassVar[bool] = True


class Pfaffian(Function):
    holonomic: ClassVar[bool] = False


def holonomic(function: Callable[[State], Any]) -> Constraint:
    """Make the constraint `phi(q) = 0`; also a decorator.

    Args:
        function: from a `State` to one scalar or a list of them, such as `lambda state: state.position("tip").x - 1`.

    >>> robot = qddot.load("two_link")
    >>> circle = qddot.holonomic(lambda state: state.position("body_2").x ** 2 + state.position("body_2").y ** 2 - 1)
    >>> q = robot.project([0.5, 1.0], circle)
    >>> round(float(np.linalg.norm(robot.transform(q)[:3, 3])), 9)
    1.0
    """
    return Holonomic(function)


def pfaffian(function: Callable[[State], Any]) -> Constraint:
    """Make the constraint `A(q) qd = 0`, such as rolling or a knife edge; also a decorator.

    Args:
        function: from a `State` to one scalar or a list of them, linear in `state.qd` and the results of `state.velocity` and
            `state.angular_velocity`.

    >>> robot = qddot.load("two_link")
    >>> geared = qddot.pfaffian(lambda state: state.qd[0] - 2 * state.qd[1])
    >>> robot.project_velocity([0, 1], [1, 0], geared).round(3)  # what is left of the motion once the gear has meshed
    array([0.823, 0.412])
    """
    return Pfaffian(function)
