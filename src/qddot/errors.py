"""Errors and warnings, worded so that the reader can correct the cause.

Every error about a description names the place (`panda.urdf:212`), the element, the value, the rule and the fix.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

from qddot.place import Place


class QddotError(Exception):
    """Base class of every error qddot raises on purpose.

    >>> try:
    ...     qddot.load("pandaa")
    ... except qddot.QddotError as error:
    ...     print(type(error).__name__)
    UnknownNameError
    """

    def __reduce__(self) -> tuple:
        """Pickle the message and the attributes, whatever the arguments of `__init__` were: process pools pass errors on."""
        return rebuilt, (type(self), self.args, self.__dict__)


def rebuilt(kind: type[QddotError], args: tuple, attributes: dict[str, object]) -> QddotError:
    """Rebuild an error that was pickled.

    >>> import pickle
    >>> str(pickle.loads(pickle.dumps(qddot.ModelValueError("no number", fix="give one"))))
    'no number (give one)'
    """
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class ModelError(QddotError, ValueError):
    """A description that cannot become a robot.

    Attributes:
        place: file, line and column, as far as known.
        element: the part that is wrong, for example `joint 'elbow' > limit`.
        attribute: the attribute or key, for example `lower`.
        text: its value as written.
        fix: how to correct it, the end of the message.
        others: further errors of the same description, as far as it could be checked; 19 at most.

    >>> try:
    ...     qddot.load_string('{"bodies": [{"name": "rod", "type": "revolut"}]}')
    ... except qddot.ModelError as error:
    ...     print(error.attribute, "|", error.text, "|", error.line)
    type | revolut | 1
    """

    usual_fix = "correct the description"
    others: tuple[ModelError, ...] = ()

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

    def __str__(self) -> str:
        return f"{self.args[0]}; {len(self.others)} more in `others` of this error" if self.others else self.args[0]


class ModelSyntaxError(ModelError):
    """The file is not well-formed XML, TOML, JSON or YAML.

    >>> qddot.load_string("<robot>", format="urdf")
    Traceback (most recent call last):
        ...
    qddot.errors.ModelSyntaxError: <text>:1:8: not well-formed XML: no element found (correct the file at this ...
    """

    usual_fix = "correct the file at this place"


class ModelFormatError(ModelError):
    """The file is well-formed but not a known robot description.

    >>> qddot.load_string("<html></html>")
    Traceback (most recent call last):
        ...
    qddot.errors.ModelFormatError: <text>:1:1: the root is <html>, expected <robot> (this reads URDF; ...
    """

    usual_fix = "give a URDF, xacro, MJCF, or a file of qddot's own schema"


class ModelValueError(ModelError):
    """A number, name or type in the description breaks a rule.

    >>> qddot.Inertia(mass=-1.0)
    Traceback (most recent call last):
        ...
    qddot.errors.ModelValueError: inertia mass='-1': a mass is not negative (give its magnitude, in kg)
    """

    usual_fix = "correct it there"


class ModelStructureError(ModelError):
    """Links and joints do not form one tree.

    >>> qddot.Builder("arm").body("rod").body("rod").robot()
    Traceback (most recent call last):
        ...
    qddot.errors.ModelStructureError: link 'rod': two links have the name 'rod': first at an earlier place ...
    """

    usual_fix = "connect every link but one to one parent, by one joint"


class ModelReferenceError(ModelError):
    """A name refers to something that does not exist.

    >>> qddot.Builder("arm").body("rod", parent="bas").robot()
    Traceback (most recent call last):
        ...
    qddot.errors.ModelReferenceError: joint 'rod_joint': its parent link 'bas' does not exist (did you mean 'base'?)
    """

    usual_fix = "name something that is there"


class ModelSecurityError(ModelError):
    """The description asks for something that is not permitted (entities, absolute paths, code).

    >>> qddot.load_string('<!DOCTYPE r [<!ENTITY a "b">]><robot name="r"/>', format="urdf")
    Traceback (most recent call last):
        ...
    qddot.errors.ModelSecurityError: <text>:1: it declares a document type or an entity ('r'), which may pull ...
    """

    usual_fix = "remove it from the description"


class ModelLimitError(ModelError):
    """The description is larger than the limit that protects the reader.

    >>> qddot.load_string("[" * 100_000, format="json")
    Traceback (most recent call last):
        ...
    qddot.errors.ModelLimitError: <text>: nesting depth is over the limit of 256 (make it smaller)
    """

    usual_fix = "make it smaller"


class UnboundSymbolError(QddotError, ValueError):
    """A number is needed, but the model still holds symbols.

    >>> qddot.load("two_link", symbolic=True).mass_matrix([0, 0])
    Traceback (most recent call last):
        ...
    qddot.errors.UnboundSymbolError: two_link still holds the symbols l1, l2, m1, m2, r: give them values with ...
    """


class InputError(QddotError, ValueError):
    """An argument of a function or method has the wrong shape, type or value.

    >>> qddot.load("two_link").mass_matrix([0, 0, 0])
    Traceback (most recent call last):
        ...
    qddot.errors.InputError: q has shape (3,), expected (..., 2)
    """


class UnknownNameError(QddotError, KeyError):
    """No frame, joint, link or robot of that name.

    >>> qddot.load("two_link").transform([0, 0], frame="body2")
    Traceback (most recent call last):
        ...
    qddot.errors.UnknownNameError: no frame 'body2': did you mean 'body_2' or 'body_1'?
    """

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class SingularityError(QddotError, ArithmeticError):
    """The quantity does not exist here: a singular mass matrix, an orientation its coordinates cannot describe.

    >>> rod = qddot.Builder("rod").body("rod", mass=1).robot()  # a point mass on its axis
    >>> rod.forward_dynamics([0], [0], [1])
    Traceback (most recent call last):
        ...
    qddot.errors.SingularityError: the mass matrix of rod is not positive definite: nothing resists joint ...
    """


class IntegrationError(QddotError, ArithmeticError):
    """A simulation cannot go on: it diverges, or its step size vanishes.

    Attributes:
        time: s, the last time at which the motion was valid.
        step: the number of the step that failed.
        joint: the joint at which it failed.

    >>> runaway = qddot.Builder("cart").body("cart", joint="prismatic", mass=1).robot()
    >>> runaway.simulate([0.0], t=10.0, step=0.1, torque=lambda t, q, qd: 1e9 * (1 + abs(qd)) ** 3)
    Traceback (most recent call last):
        ...
    qddot.errors.IntegrationError: the motion diverges in step 1 after t = 0 s, at joint 'cart_joint' (its ...
    """

    def __init__(self, message: str, *, time: float, step: int, joint: str = "") -> None:
        super().__init__(message)
        self.time, self.step, self.joint = time, step, joint


class ConvergenceError(QddotError, ArithmeticError):
    """An iteration ended without a solution.

    >>> qddot.load("two_link").inverse_kinematics([3.0, 0, 0], rows=["x", "y"])
    Traceback (most recent call last):
        ...
    qddot.errors.ConvergenceError: pose was not reached by 'body_2' from 128 starts: at the closest ...
    """


class MissingExtraError(QddotError, ImportError):
    """An optional package that is needed is not installed.

    >>> issubclass(qddot.MissingExtraError, ImportError)  # what guards an import guards this, too
    True
    """


class DeviceError(QddotError, RuntimeError):
    """A GPU is missing, cannot run the code, or reports a failure; or the workers of a cluster die again and again.

    >>> issubclass(qddot.errors.DeviceError, RuntimeError)
    True
    """


class MissingProgramError(QddotError, RuntimeError):
    """A program other than Python that is needed is not installed.

    >>> issubclass(qddot.errors.MissingProgramError, RuntimeError)
    True
    """


class NoAssetError(QddotError, RuntimeError):
    """This installation lacks a file that is built, not part of the source.

    >>> issubclass(qddot.errors.NoAssetError, qddot.QddotError)
    True
    """


class ModelWarning(UserWarning):
    """Something unusual in a description that was kept as it is.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     arm = qddot.from_dh([(1, 0, 0, 0)])
    >>> print(caught[0].message)
    dh: no convention is given: the table is read as standard DH (say convention = "standard", or "modified" for Craig's)
    """


class InputWarning(UserWarning):
    """An argument is legal but probably not meant.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     M = qddot.load("two_link").mass_matrix([2e6, 0])  # counts of an encoder?
    >>> caught[0].category.__name__
    'InputWarning'
    """


class SpeedWarning(UserWarning):
    """Something works here, but slower than elsewhere.

    >>> issubclass(qddot.SpeedWarning, UserWarning)  # warnings.simplefilter("ignore", qddot.SpeedWarning) silences it
    True
    """


class RankWarning(UserWarning):
    """Some constraints depend on the others, so the force of each is not determined.

    >>> import warnings
    >>> robot = qddot.load("two_link")
    >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
    >>> q = robot.project([0.5, -0.5], wall)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = robot.constrained_forward_dynamics(q, [0, 0], [0, 0], [wall, wall])  # the same wall twice
    >>> caught[0].category.__name__
    'RankWarning'
    """


def as_written(value: object) -> str:
    """Return any value as Python writes it, cut to 80 characters, for an error message.

    >>> from qddot.errors import as_written
    >>> as_written([1.5, "two"]), as_written(10**5000)
    ("[1.5, 'two']", 'a whole number of thousands of digits')
    """
    try:
        return repr(value)[:80]
    except ValueError:  # Python does not write whole numbers beyond 4,300 digits
        return "a whole number of thousands of digits"


def first_few(words: Iterable[str], most: int = 6) -> str:
    """Return the first of some words and the number of the others: `a, b and 3 more`.

    >>> from qddot.errors import first_few
    >>> first_few("abc", 2)
    'a, b and 1 more'
    """
    several = list(words)
    return ", ".join(several[:most]) + (f" and {len(several) - most} more" if len(several) > most else "")


def describe(
    rule: str, place: Place | None = None, element: str = "", attribute: str = "", text: str | None = None, fix: str = ""
) -> str:
    """Return a message of one sentence: place, element, attribute and value, rule, fix."""
    subject = element
    if attribute:
        subject += f" {attribute}" if subject else attribute
    if text is not None:
        shown = text if len(text) <= 80 else text[:77] + "..."
        subject += f"={shown!r}" if attribute else f" {shown!r}"
    message = ": ".join(part for part in (str(place) if place else "", subject.strip(), rule) if part)
    return f"{message} ({fix})" if fix else message


def near_matches(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'tool0'?`, or the known names, for the end of an error message."""
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
    """Return the error for a misspelt name of a frame, joint or robot."""
    return UnknownNameError(f"no {kind} {name!r}: {near_matches(str(name), known)}")


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """Return the error for an optional package that is not installed."""
    return MissingExtraError(f"{purpose} needs the package {package!r}: pip install 'qddot[{extra}]'")


def stacklevel_outside() -> int:
    """Return the `stacklevel` for `warnings.warn` that points at the first caller outside qddot."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("qddot", "functools"):  # cached properties
        frame, level = frame.f_back, level + 1
    return level
