"""Arguments of commands: robots, quantities, numbers, pairs; and options that several commands share."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from qddot.robot import Robot


FEW = 12  # the most names that are listed


class RobotName(click.ParamType):
    """A path, a catalog name, or - for standard input; completed by the shell."""

    name = "robot"

    def convert(self, value, param, ctx):
        if value == "-" and sys.stdin is None:
            raise click.UsageError("there is no standard input to read a description from: give a file", ctx)
        return sys.stdin.buffer if value == "-" else value

    def shell_complete(self, ctx, param, incomplete):
        """Return descriptions in this folder and robots by name; without either, any file. In bash an item that stands for files
        drops those before it, and shows files only if none follow."""
        from click.shell_completion import CompletionItem

        from qddot.catalog import known_names
        from qddot.formats.source import SUFFIXES

        here = [str(path) for path in sorted(Path().glob("*")) if path.suffix in SUFFIXES]
        return [CompletionItem(incomplete, type="file"), *completed([*here, *known_names()], incomplete)]


class QuantityName(click.ParamType):
    """One of some quantities, by default of all that a robot computes; completed by the shell."""

    name = "quantity"

    def __init__(self, known: Iterable[str] | None = None) -> None:
        self._known = known

    @property
    def known(self) -> Iterable[str]:
        if self._known is None:
            from qddot.algorithms.quantities import QUANTITIES

            self._known = tuple(QUANTITIES)
        return self._known

    def convert(self, value, param, ctx):
        from qddot.errors import unknown_name

        if value not in self.known:
            self.fail(str(unknown_name("quantity", value, self.known)), param, ctx)
        return value

    def shell_complete(self, ctx, param, incomplete):
        return completed(self.known, incomplete)


class Numbers(click.ParamType):
    """Numbers separated by commas, such as `0.1,pi/2,-3`. `example`: for messages; `size`: how many are needed, any if None."""

    name = "numbers"

    def __init__(self, example: str = "0.1,pi/2,-3", size: int | None = None) -> None:
        self.example, self.size = example, size

    def convert(self, value, param, ctx):
        if isinstance(value, list):
            return value
        found = [self.number(x, value, param, ctx) for x in (value.split(",") if "," in value else value.split())]
        if self.size is not None and len(found) != self.size:
            self.fail(f"{self.size} numbers are needed, such as {self.example}, and {value!r} has {len(found)}", param, ctx)
        return found

    def number(self, text: str, value: str, param: Any, ctx: Any) -> float:
        from qddot.formats.expression import Scope

        try:
            return Scope(symbols=()).evaluate(text)
        except ValueError:
            hint = "; angles are radians, 90 degrees are pi/2" if "deg" in value or "°" in value else ""
            self.fail(f"{text.strip()!r} in {value!r} is not a number: write them as {self.example}{hint}", param, ctx)


def for_each_joint(robot: Robot, option: str, values: Sequence[float] | None, positions: bool = False) -> None:
    """Refuse an option without one number for each coordinate (`positions`), or for each velocity, of the robot."""
    wanted = robot.nq if positions else robot.nv
    if values is None or len(values) == wanted:
        return
    sizes = {c.name: len(c.q if positions else c.v) for c in robot.model.mechanism.coordinates}
    names = [name if n == 1 else f"{name} ({n})" for name, n in sizes.items()]
    listed = ", ".join(names[:FEW]) + (f", ... {names[-1]}" if len(names) > FEW else "")
    many = f"{len(values)} number{'s were' if len(values) != 1 else ' was'} given"
    raise click.BadParameter(f"{many}, and {robot.name} takes {wanted}: {listed}", param_hint=option)


def warn_of_degrees(robot: Robot, option: str, q: Sequence[float] | None) -> None:
    """Warn of an angle on the command line that is beyond a full turn: it was probably meant in degrees."""
    from qddot.compile.arrays import FAR
    from qddot.errors import ModelWarning

    if q is None or len(q) != robot.nq:
        return
    for c in robot.model.mechanism.coordinates:
        if c.kind in ("revolute", "continuous") and 2 * math.pi < abs(q[c.q.start]) <= FAR:  # farther, the robot warns itself
            beyond = f"{c.name} at {q[c.q.start]:g} rad is beyond a full turn"
            warnings.warn(f"{option}: {beyond}; angles are radians, 90 degrees are pi/2", ModelWarning, stacklevel=2)


class Pair(click.ParamType):
    """An argument `name=value`; the value may be empty."""

    name = "name=value"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        name, sign, chosen = value.partition("=")
        if not (name and sign):
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return name, chosen


class Option(Pair):
    """An argument `name=value` with a value, for an option of a quantity; completed by the shell."""

    def convert(self, value, param, ctx):
        pair = super().convert(value, param, ctx)
        if not pair[1]:
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return pair

    def shell_complete(self, ctx, param, incomplete):
        from qddot.algorithms.quantities import QUANTITIES

        options = {(name, x) for entry in QUANTITIES.values() for name, choices in entry.options.items() for x in choices or ("",)}
        return completed(sorted(f"{name}={x}" for name, x in options), incomplete)


class OutputFile(click.Path):
    """A file to be written, whose suffix, one of some, is its format."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False)
        self.suffixes = suffixes

    def convert(self, value, param, ctx):
        path = super().convert(value, param, ctx)
        suffix = Path(str(path)).suffix
        if suffix.lower() not in self.suffixes:
            self.fail(f"{str(path)!r} ends in {suffix!r}, and may end in {', '.join(self.suffixes)}", param, ctx)
        return path

    def shell_complete(self, ctx, param, incomplete):
        """Return existing files, and the typed name with each suffix that it may have."""
        stem, dot, ending = incomplete.rpartition(".")
        stem = stem if dot and "/" not in ending else incomplete
        typed = [f"{stem}{suffix}" for suffix in self.suffixes] if stem and not stem.endswith("/") else []
        return [*super().shell_complete(ctx, param, incomplete), *completed(typed, incomplete)]


class LogFile(click.Path):
    """A recording; completed by the shell."""

    name = "log"

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=str)


class LogFileOrShare(LogFile):
    """A recording, or the part of another one as a number between 0 and 1."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            share = float(value)
        except ValueError:
            return super().convert(value, param, ctx)
        if not 0 < share < 1:
            self.fail(f"{value} is no part of a recording: a number between 0 and 1, or the name of a file", param, ctx)
        return share


def completed(names: Iterable[str], incomplete: str) -> list:
    """Return the names that begin so, for the shell."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def frames(ctx: click.Context, param: click.Parameter, incomplete: str) -> list:
    """Return links and frames of the robot on the command line, for the shell; none if it cannot be read."""
    from qddot.errors import QddotError
    from qddot.formats import load_model

    robot = next(iter(ctx.args), "")  # arguments are not parsed yet while an option lacks its value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load_model(robot)
        except (QddotError, OSError):
            return []
    return completed([x.name for x in (*model.links, *model.frames)], incomplete)


strict_option = click.option("--strict", is_flag=True, help="Refuse what is otherwise kept with a warning.")
floating_option = click.option("--floating", is_flag=True, help="Let the root link move freely.")
gravity_option = click.option(
    "--gravity",
    type=Numbers("0,0,-9.81", 3),
    metavar="X,Y,Z",
    help="Acceleration in the root's axes, m/s^2, instead of the file's.",
)
argument_option = click.option(
    "--arg", "arguments", type=Pair(), multiple=True, metavar="NAME=VALUE", callback=lambda ctx, param, pairs: dict(pairs),
    help="Value of a xacro file's argument. May be repeated.",
)  # fmt: skip
package_option = click.option(
    "--package", "packages", type=Pair(), multiple=True, metavar="NAME=FOLDER", callback=lambda ctx, param, pairs: dict(pairs),
    help="Folder of a ROS package that the description names. May be repeated.",
)  # fmt: skip
symbolic_option = click.option("--symbolic", is_flag=True, help="Keep symbols for which the file gives values.")
symbols_option = click.option(
    "--symbols",
    type=click.Choice(("given", "inertial", "all")),
    default="given",
    help="Which numbers become symbols: none; masses and inertias; offsets and gravity too.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
g_option = click.option("--g", "g", metavar="NAME", help="A symbol for the strength of gravity.")
digits_option = click.option("--digits", type=click.IntRange(1, 17), help="Significant digits of numbers.")
quantity_options_option = click.option(
    "--option", "-o", "options", type=Option(), multiple=True,
    help="Option of the quantity: reference=body, form=rate, coordinates=quaternion, method=crba. May be repeated.",
)  # fmt: skip
frame_option = click.option("--frame", shell_complete=frames, help="Frame of a pose or Jacobian; the only tip if not given.")
wrench_option = click.option("--wrench", is_flag=True, help="External forces as an input of dynamics.")

NOTATIONS = ("qddot", "lynch-park", "craig", "siciliano", "featherstone")


def robot_options(command: Callable) -> Callable:
    """Add the options for loading a robot, and `--json`."""
    for option in (json_option, package_option, argument_option, gravity_option, floating_option, strict_option):
        command = option(command)
    return command


def robot_argument(command: Callable) -> Callable:
    """Add the argument ROBOT."""
    return click.argument("robot", type=RobotName())(command)


def chosen_options(options: tuple[tuple[str, str], ...], frame: str | None, wrench: bool = False) -> dict[str, Any]:
    """Return the options of a quantity from those of the command."""
    return {**dict(options), **({"frame": frame} if frame is not None else {}), **({"wrench": True} if wrench else {})}
