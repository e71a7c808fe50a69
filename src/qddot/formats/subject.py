"""Checked access to values of a description: a bad one is refused with its element and its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qddot.errors import ModelError, ModelValueError
from qddot.formats.expression import Scope
from qddot.model.check import warn
from qddot.model.description import Limits, Mimic
from qddot.model.pose import from_matrix, unit
from qddot.model.scalar import Scalar, as_scalar, is_symbolic
from qddot.model.spatial import Transform, Vec
from qddot.place import Place, place_of

UNIT_TOLERANCE = 1e-6
FULL_TURN = 2 * math.pi + 0.01  # the slack is for angles that were rounded


@dataclass(frozen=True)
class Subject:
    """An element of a description, such as `dh row 2` at `arm.toml:14`.

    Each method returns a valid value or raises `ModelValueError`.
    """

    element: str
    place: Place | None = None

    def at(self, place: Place | None) -> Subject:
        return replace(self, place=place or self.place)

    def error(self, rule: str, attribute: str = "", value: object = None, fix: str = "") -> ModelValueError:
        text = None if value is None else str(value)
        return ModelValueError(rule, place=self.where(attribute), element=self.element, attribute=attribute, text=text, fix=fix)

    def where(self, attribute: str) -> Place | None:
        """Return the place of an attribute."""
        return place_of(self.place, attribute.partition("[")[0])

    def number(self, attribute: str, value: object) -> Scalar:
        """Return a finite number or an expression, also from a text as in a file: `"l1/2"`."""
        if isinstance(value, str):
            try:
                return Scope().evaluate(value)
            except ValueError as error:
                fix = "write a number, or an expression such as 'l1/2' or 'pi/2'"
                raise self.error(str(error), attribute, value, fix) from None
        try:
            return as_scalar(value)
        except (TypeError, ValueError):
            raise self.error("not a finite number", attribute, value, "write a number or an expression") from None

    def real(self, attribute: str, value: object) -> float:
        """Return a finite number without symbols."""
        number = self.number(attribute, value)
        if is_symbolic(number):
            raise self.error("a plain number is needed here", attribute, value, "give its symbols values")
        return number

    def vector(self, attribute: str, values: object, size: int = 3) -> tuple[Scalar, ...]:
        """Return a tuple of `size` finite numbers or expressions."""
        if isinstance(values, (str, dict)) or not isinstance(values, (Sequence, np.ndarray)) or getattr(values, "ndim", 1) == 0:
            raise self.error(f"{size} numbers are needed", attribute, values, f"give a list of {size}")
        if len(values) != size:
            raise self.error(f"{size} numbers are needed, there are {len(values)}", attribute, list(values), f"give {size}")
        return tuple(self.number(f"{attribute}[{i}]", x) for i, x in enumerate(values))

    def angles(self, attribute: str, values: Sequence[Scalar]) -> Sequence[Scalar]:
        """Return the angles unchanged; warn of one beyond a full turn, which is probably meant in degrees."""
        if any(not is_symbolic(x) and abs(x) > FULL_TURN for x in values):
            shown = " ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in values)
            rule = f"{attribute} is in radians and this is more than a full turn: are these degrees?"
            warn(rule, place=self.where(attribute), element=self.element, text=shown)
        return values

    def instance(self, attribute: str, value: Any, kind: type) -> Any:
        """Return the value if it is of that type."""
        if not isinstance(value, kind):
            wanted = "a text" if kind is str else f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
            raise self.error(f"{wanted} is needed", attribute, value, f"give {wanted}")
        return value

    def made(self, make: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call `make`; an error that it raises is raised again with this element and its place."""
        try:
            return make(*arguments, **named)
        except ModelError as error:
            raise self.error(error.rule, error.attribute, error.text, error.fix) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise self.error(str(error)) from None

    def limits(self, value: Any) -> Limits:
        """Return limits from `Limits` or (lower, upper); infinite ones for None."""
        if value is None or isinstance(value, Limits):
            return value or Limits()
        pair = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim == 1)
        if isinstance(value, str) or not pair or len(value) != 2:
            raise self.error("Limits or a pair (lower, upper) is needed", "limits", value, "give two numbers, or None")
        return self.made(Limits, *value)

    def mimic(self, value: Any) -> Mimic | None:
        """Return a `Mimic` from one, from the name of the joint to follow, or from (joint, multiplier, offset); None for None."""
        if value is None or isinstance(value, Mimic):
            return value
        parts = (value,) if isinstance(value, str) else value
        if not isinstance(parts, (tuple, list)) or not 1 <= len(parts) <= 3 or not isinstance(parts[0], str):
            raise self.error("no joint to follow", "mimic", value, "name a joint, or give (joint, multiplier, offset)")
        return self.made(Mimic, *parts)

    def pose(self, attribute: str, matrix: Any) -> Transform:
        """Return a pose from a `Transform` or a 4 x 4 homogeneous matrix."""
        if isinstance(matrix, Transform):
            return matrix
        listed = isinstance(matrix, (Sequence, np.ndarray)) and not isinstance(matrix, str) and getattr(matrix, "ndim", 1) > 0
        if not listed or len(matrix) != 4:
            raise self.error("a pose is a 4 x 4 matrix", attribute, matrix, "give four rows of four numbers")
        rows = []
        for i, row in enumerate(matrix, 1):
            named = replace(self, element=" ".join(filter(None, (self.element, attribute, f"row {i}"))))
            if isinstance(row, str) or not isinstance(row, (Sequence, np.ndarray)) or len(row) != 4:
                raise named.error("a row of a 4 x 4 matrix has four numbers", value=row, fix="give four numbers")
            rows.append([named.number(f"column {j}", x) for j, x in enumerate(row, 1)])
        try:
            return from_matrix(rows)
        except ValueError as error:
            raise self.error(
                str(error), attribute, np.array(rows).tolist(), "a pose is in SE(3): rotation and translation"
            ) from None

    def direction(self, attribute: str, values: object) -> Vec:
        """Return a unit vector; another length is scaled with a warning, zero is refused."""
        numbers = self.vector(attribute, values)
        axis, length = unit(Vec(*numbers))
        if is_symbolic(length):
            return axis
        if length == 0:
            raise self.error("it has no direction", attribute, values, "give a vector that is not zero")
        if abs(length - 1) > UNIT_TOLERANCE:
            rule = f"{attribute} has length {length:.6g}; made unit"
            warn(rule, place=self.where(attribute), element=self.element, text=str(numbers))
        return axis
