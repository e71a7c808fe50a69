"""Kinds of scalar: a field converts the model's numbers to its kind and evaluates the few functions that joints need."""

from __future__ import annotations

import math
import sys
from typing import Any, Protocol

import numpy as np

from qddot.model.scalar import Scalar


class Field(Protocol):
    """A kind of scalar. All other operations of the algorithms are `+ - * /`.

    Attributes:
        rounding: relative rounding error of one operation; 0 for exact scalars.
    """

    rounding: float

    def constant(self, x: Scalar) -> Scalar:
        """Convert a number (or SymPy expression) of the model to this kind of scalar; exact 0 and 1 stay exact."""
        ...

    def cos_sin(self, angle: Scalar) -> tuple[Scalar, Scalar]: ...

    def sign(self, x: Scalar) -> Scalar:
        """-1, 0 or 1."""
        ...

    def sqrt(self, x: Scalar) -> Scalar: ...

    def inverse_fourth_root(self, x: Scalar) -> Scalar:
        """`x^(-1/4)`."""
        ...

    def atan2(self, y: Scalar, x: Scalar) -> Scalar: ...

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        """Return `then` where `x > 0`, else `otherwise`; both are evaluated."""
        ...


def cos_sin(angle: float) -> tuple[float, float]:
    """Return (cos, sin) of a number; NaN if it is not finite, where Python's functions would raise."""
    return (math.cos(angle), math.sin(angle)) if math.isfinite(angle) else (math.nan, math.nan)


class Floats:
    """Plain numbers: reference values and debugging."""

    rounding = sys.float_info.epsilon

    def constant(self, x: Scalar) -> float:
        return x

    def cos_sin(self, angle: float) -> tuple[float, float]:
        return cos_sin(angle)

    def sign(self, x: float) -> float:
        return float(x > 0) - float(x < 0)

    def sqrt(self, x: float) -> float:
        return math.sqrt(x)

    def inverse_fourth_root(self, x: float) -> float:
        return 1 / self.sqrt(self.sqrt(x))

    def atan2(self, y: float, x: float) -> float:
        return math.atan2(y, x)

    def where_positive(self, x: float, then: float, otherwise: float) -> float:
        return then if x > 0 else otherwise


class Arrays(Floats):
    """NumPy arrays, element by element, for computations that are not compiled, such as those on columns of a log."""

    def cos_sin(self, angle: Any) -> tuple[Any, Any]:
        return np.cos(angle), np.sin(angle)

    def sign(self, x: Any) -> Any:
        return np.sign(x)

    def sqrt(self, x: Any) -> Any:
        return np.sqrt(x)

    def inverse_fourth_root(self, x: Any) -> Any:
        root = np.sqrt(x)
        if not isinstance(root, np.ndarray):  # of a number
            return super().inverse_fourth_root(x)
        np.sqrt(root, out=root)
        return np.divide(1.0, root, out=root)

    def atan2(self, y: Any, x: Any) -> Any:
        return np.arctan2(y, x)

    def where_positive(self, x: Any, then: Any, otherwise: Any) -> Any:
        return np.where(x > 0, then, otherwise)
