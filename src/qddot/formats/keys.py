"""Typed access to the keys of one table in a file; every error names the table, the key, the text and its place."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection
from typing import Any

from qddot.errors import ModelError, ModelLimitError, ModelValueError, near_matches
from qddot.formats.document import Node
from qddot.formats.expression import Scope
from qddot.formats.subject import Subject
from qddot.model.faults import together
from qddot.model.joints import KINDS
from qddot.model.pose import from_rpy
from qddot.model.scalar import Scalar, is_symbolic
from qddot.model.spatial import Mat, Transform, Vec

POSE = ("xyz", "rpy", "rpy_deg")
ORIGIN = (0.0, 0.0, 0.0)

MASS = "inertia = {mass = ..., com = [x, y, z], tensor = [...]}"
DRIVE = "drive = {viscous = ..., coulomb = ..., gear_ratio = ..., rotor_inertia = ...}"
TYPE = 'type = "revolute"'
ELSEWHERE = {
    **dict.fromkeys(("mass", "com", "tensor", "center_of_mass", "shape"), MASS),
    **dict.fromkeys(("friction", "damping", "viscous", "coulomb", "gear_ratio", "gear", "rotor_inertia", "stiffness"), DRIVE),
    **dict.fromkeys(("origin", "position", "offset", "translation"), "xyz = [x, y, z]"),
    **dict.fromkeys(("rotation", "orientation"), "rpy = [roll, pitch, yaw], or rpy_deg"),
    **dict.fromkeys(("joint", "joint_type", "kind"), TYPE),
    **dict.fromkeys(("effort", "velocity", "lower", "upper"), "limits = {lower = ..., upper = ..., velocity = ..., effort = ...}"),
}
"""Key that is often written in the wrong table -> what to write instead."""


class Keys:
    """A table `{key: value}` that may have the `known` keys and no others. Raises ModelValueError: not a table, or a key that is
    not known."""

    def __init__(self, node: Node, element: str, known: Collection[str], scope: Scope) -> None:
        self.node, self.element, self.scope = node, element, scope
        if not isinstance(node.value, dict):
            raise self.subject().error(f"a table with some of the keys {', '.join(known)} is needed", value=node.shown)
        unknown = [self.unknown(key, value, known) for key, value in node.value.items() if key not in known]
        if unknown:
            raise together(unknown)

    def unknown(self, key: str, value: Node, known: Collection[str]) -> ModelValueError:
        """Return the error for an unknown key, with a similar known key, or the table it belongs to."""
        belongs = ELSEWHERE.get(key) or next((ELSEWHERE[x] for x in difflib.get_close_matches(key, ELSEWHERE, 1, 0.85)), "")
        if belongs == TYPE and value.value in KINDS:
            belongs = f'type = "{value.value}"'
        fix = f"write {belongs}" if belongs.partition(" ")[0] in known else near_matches(key, known)
        return Subject(self.element, value.place).error("unknown key", key, value.shown, fix)

    def __contains__(self, key: str) -> bool:
        return key in self.node.value

    def subject(self, node: Node | None = None) -> Subject:
        return Subject(self.element, (node or self.node).place)

    def error(self, rule: str, key: str, fix: str = "") -> ModelValueError:
        """Return an error about the value of a key, or about its absence."""
        node = self.node.value.get(key)
        return self.subject(node).error(rule, key, node and node.shown, fix)

    def made(self, make: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call `make`; an error that it raises is raised again with the place and the text of the key that it names."""
        try:
            return make(*arguments, **named)
        except ModelError as error:
            if error.attribute in self:
                raise self.error(error.rule, error.attribute, error.fix) from None
            raise self.subject().error(error.rule, error.attribute, error.text, error.fix) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise self.subject().error(str(error)) from None

    def get(self, key: str) -> Node:
        if key not in self:
            raise self.error("it is missing", key, f"add {key}")
        return self.node.value[key]

    # what a value may be ------------------------------------------------------------------------------------------------------

    def number(self, key: str, default: Scalar | None = None) -> Scalar:
        return default if default is not None and key not in self else self.scalar(self.get(key), key)

    def real(self, key: str, default: float) -> float:
        return self.subject(self.node.value.get(key)).real(key, self.number(key, default))

    def length(self, key: str) -> Scalar:
        value = self.number(key)
        if not is_symbolic(value) and value < 0:
            raise self.error("a length is not negative", key, "give its magnitude")
        return value

    def vector(self, key: str, default: tuple[Scalar, ...] | None = None, size: int = 3) -> tuple[Scalar, ...]:
        if default is not None and key not in self:
            return default
        node = self.get(key)
        return self.subject(node).vector(key, self.array(node, key), size)

    def text(self, key: str, default: str | None = None) -> str:
        if default is not None and key not in self:
            return default
        if not isinstance(self.get(key).value, str):
            raise self.error("a text is needed", key, "put it in quotes")
        return self.get(key).value

    def flag(self, key: str) -> bool:
        if key not in self:
            return False
        if not isinstance(self.get(key).value, bool):
            raise self.error("true or false is needed", key, "write true or false, without quotes")
        return self.get(key).value

    def items(self, key: str) -> list[Node]:
        """Return the nodes of a list; none if the key is absent."""
        if key not in self:
            return []
        if not isinstance(self.get(key).value, list):
            raise self.error("a list is needed", key, "put it in brackets: [...]")
        return self.get(key).value

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        self.get(key)
        found = self.items(key)
        for node in found:
            if not isinstance(node.value, str):
                raise self.subject(node).error("a text is needed", key, node.shown, "put it in quotes")
        return [node.value for node in found]

    def pose(self, key: str) -> Transform | None:
        """Return a pose from 4 x 4 numbers, or a table of xyz and rpy; None if the key is absent."""
        if key not in self:
            return None
        node = self.get(key)
        if isinstance(node.value, dict):
            return Keys(node, f"{self.element} > {key}", POSE, self.scope).placement()
        return self.subject(node).pose(key, self.array(node, key))

    def placement(self) -> Transform:
        """Return the pose given by `xyz` (m) and `rpy` (rad) or `rpy_deg`."""
        return Transform(self.rotation(), Vec(*self.vector("xyz", ORIGIN)))

    def rotation(self) -> Mat:
        return from_rpy(*self.subject(self.node.value.get("rpy")).angles("rpy", self.rpy()))

    def rpy(self) -> tuple[Scalar, ...]:
        """Return roll, pitch and yaw, rad."""
        if "rpy_deg" not in self:
            return self.vector("rpy", ORIGIN)
        if "rpy" in self:
            raise self.error("rpy is given too", "rpy_deg", "keep one")
        return tuple(map(_radians, self.vector("rpy_deg")))

    # nodes to numbers ---------------------------------------------------------------------------------------------------------

    def scalar(self, node: Node, attribute: str) -> Scalar:
        """Return a number, or the value of an expression."""
        subject = self.subject(node)
        if isinstance(node.value, str):
            try:
                value = self.scope.evaluate(node.value)
                for symbol in getattr(value, "free_symbols", ()):
                    self.scope.places.setdefault(str(symbol), node.place)
                return value
            except ModelLimitError as error:
                raise ModelLimitError(
                    error.rule, place=node.place, element=self.element, attribute=attribute, text=node.text
                ) from None
            except ValueError as error:
                raise subject.error(str(error), attribute, node.text, "correct the expression") from None
        if isinstance(node.value, bool) or not isinstance(node.value, float):
            raise subject.error("a number is needed", attribute, node.shown, "write a number, or an expression in quotes")
        if not math.isfinite(node.value):
            raise subject.error("not a finite number", attribute, node.text, "write a finite number")
        return node.value

    def array(self, node: Node, attribute: str) -> Any:
        """Return a number, or nested lists of numbers."""
        if not isinstance(node.value, list):
            return self.scalar(node, attribute)
        return [self.array(item, f"{attribute}[{i}]") for i, item in enumerate(node.value)]


def _radians(degrees: Scalar) -> Scalar:
    """Return an angle in degrees as radians, without full turns."""
    if not is_symbolic(degrees):
        return math.radians(math.remainder(degrees, 360.0) if abs(degrees) > 360 else degrees)
    import sympy

    return degrees * sympy.pi / 180
