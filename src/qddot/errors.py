"""What can go wrong, said so that the reader can fix it.

Every error about a description names the place (`panda.urdf:212`), the element, the value, the rule and the fix.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import NamedTuple


class Place(NamedTuple):
    """Where in a description something stands."""

    file: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file or "<description>"]
        parts += [str(n) for n in (self.line, self.column) if n is not None]
        return ":".join(parts)


class QddotError(Exception):
    """Base class of every error qddot raises on purpose."""


class ModelError(QddotError, ValueError):
    """A description that cannot become a robot.

    Attributes:
        place: file, line and column, as far as known.
        element: what is wrong, for example `joint 'elbow' > limit`.
        attribute: the attribute or key, for example `lower`.
        text: its value as written.
        fix: what to do about it, with which the message ends.
    """

    usual_fix = "correct the description"

    def __init__(
        self,
        rule: str,
        *,
        place: Place | None = None,
        element: str = "",
        attribute: str = "",
        text: str | None = None,
        fix: str = "",
    ) -> None:
        fix = fix or self.usual_fix
        self.place = place or Place()
        self.file, self.line, self.column = self.place
        self.element, self.attribute, self.text, self.rule, self.fix = element, attribute, text, rule, fix
        super().__init__(describe(rule, place, element, attribute, text, fix))


class ModelSyntaxError(ModelError):
    """The file is not well-formed XML, TOML, JSON or YAML."""

    usual_fix = "correct the file at this place"


class ModelFormatError(ModelError):
    """The file is well-formed but not a robot description we know."""

    usual_fix = "give a URDF, xacro, MJCF, or a file of qddot's own schema"


class ModelValueError(ModelError):
    """A number, name or type in the description breaks a rule."""

    usual_fix = "correct it there"


class ModelStructureError(ModelError):
    """Links and joints do not form one tree."""

    usual_fix = "connect every link but one to one parent, by one joint"


class ModelReferenceError(ModelError):
    """A name refers to something that does not exist."""

    usual_fix = "name something that is there"


class ModelSecurityError(ModelError):
    """The description asks for something no description may ask for (entities, absolute paths, code)."""

    usual_fix = "remove it from the description"


class ModelLimitError(ModelError):
    """The description is larger than the limit that protects the reader."""

    usual_fix = "make it smaller"


class UnboundSymbolError(QddotError, ValueError):
    """A number is wanted, but the model still holds symbols."""


class InputError(QddotError, ValueError):
    """An array handed to a method has the wrong shape, type or value."""


class UnknownNameError(QddotError, KeyError):
    """No frame, joint, link or robot of that name."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class SingularityError(QddotError, ArithmeticError):
    """The quantity does not exist here: a singular mass matrix, an orientation its coordinates cannot describe."""


class IntegrationError(QddotError, ArithmeticError):
    """A simulation that cannot go on: it diverges, or its step size vanishes.

    Attributes:
        time: s, where it still went well.
        step: the number of the step that did not.
        joint: where.
    """

    def __init__(self, message: str, *, time: float, step: int, joint: str = "") -> None:
        super().__init__(message)
        self.time, self.step, self.joint = time, step, joint


class ConvergenceError(QddotError, ArithmeticError):
    """An iteration ended without a solution."""


class MissingExtraError(QddotError, ImportError):
    """An optional package is needed for this and is not installed."""


class DeviceError(QddotError, RuntimeError):
    """A GPU that is not there, cannot run the code, or reports a failure."""


class MissingProgramError(QddotError, RuntimeError):
    """A program besides Python is needed for this and is not installed."""


class NoAssetError(QddotError, RuntimeError):
    """This installation lacks a file that is built, and not part of the source."""


class ModelWarning(UserWarning):
    """Something unusual in a description that was kept as it is."""


class InputWarning(UserWarning):
    """An array that is legal but probably not meant."""


class SpeedWarning(UserWarning):
    """Something works here, but slower than elsewhere."""


class RankWarning(UserWarning):
    """Some constraints follow from the others, so the force of each is not determined."""


def describe(
    rule: str, place: Place | None = None, element: str = "", attribute: str = "", text: str | None = None, fix: str = ""
) -> str:
    """One sentence: place, element, attribute and value, rule, fix."""
    subject = element
    if attribute:
        subject += f" {attribute}" if subject else attribute
    if text is not None:
        shown = text if len(text) <= 80 else text[:77] + "..."
        subject += f"={shown!r}" if attribute else f" {shown!r}"
    message = ": ".join(part for part in (str(place) if place else "", subject.strip(), rule) if part)
    return f"{message} ({fix})" if fix else message


def near_matches(name: str, known: Iterable[str]) -> str:
    """`did you mean 'tool0'?`, or the names there are, for the end of an error message."""
    names = list(known)
    plain = name.lower()
    within = [
        known for known in names if len(plain) > 2 and (plain in known.lower() or (len(known) > 3 and known.lower() in plain))
    ]
    close = list(dict.fromkeys([*difflib.get_close_matches(name, names, n=3, cutoff=0.5), *within]))[:4]
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not names:
        return "there are none"
    shown = ", ".join(repr(n) for n in names[:12])
    return f"known: {shown}" + (", ..." if len(names) > 12 else "")


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """The error for a misspelt name of a frame, joint or robot."""
    return UnknownNameError(f"no {kind} {name!r}: {near_matches(str(name), known)}")


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an optional package that is not installed."""
    return MissingExtraError(f"{purpose} needs the package {package!r}: pip install 'qddot[{extra}]'")


def stacklevel_outside() -> int:
    """The `stacklevel` for `warnings.warn` that points at the first caller outside qddot."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "qddot":
        frame, level = frame.f_back, level + 1
    return level
