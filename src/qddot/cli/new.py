"""Command: write a description to start from."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import click

from qddot.cli.arguments import json_option
from qddot.cli.printing import plainly, written

STARTER = """\
# {name}: a robot in qddot's own schema. SI units, radians. Numbers may be arithmetic with pi, sqrt, sin, cos and the symbols below.
# Look at it:  qddot info {file}      Judge it:  qddot check {file}      Its equations:  qddot equations {file} --symbolic

name = "{name}"
gravity = [0, 0, -9.81]                          # in the axes of the base

# Numbers with names; --symbolic leaves the names in the equations.
values = {{l1 = 0.4, l2 = 0.3, m1 = 2.0, m2 = 1.2}}

[[bodies]]
name = "upper_arm"
joint_name = "shoulder"                          # upper_arm_joint if left out
type = "revolute"                                # or continuous, prismatic, fixed, planar, spherical, free, helical
axis = "y"                                       # or [0, 1, 0], in the joint's frame
xyz = [0, 0, 0.5]                                # where the joint stands on the base; rpy or rpy_deg turn it
limits = {{lower = "-pi/2", upper = "pi/2", velocity = 4.0, effort = 60}}
# a shape about its centre of mass com, which is the joint if left out; its axis is z if left out
{shapes}
inertia = {{shape = "rod", mass = "m1", length = "l1", axis = "x", com = ["l1/2", 0, 0]}}
drive = {{gear_ratio = 100, rotor_inertia = 2e-5, viscous = 0.4, coulomb = 0.8}}

[[bodies]]
name = "forearm"
joint_name = "elbow"
parent = "upper_arm"
axis = "y"
xyz = ["l1", 0, 0]
limits = {{lower = -2.5, upper = 2.5, velocity = 10.0, effort = 30}}
# or from CAD: the tensor is about the centre of mass; six numbers are Ixx, Ixy, Ixz, Iyy, Iyz, Izz
inertia = {{mass = "m2", com = ["l2/2", 0, 0], tensor = [0.0005, 0.009, 0.009]}}

[[frames]]                                       # a tool, a sensor
name = "tool"
link = "forearm"
xyz = ["l2", 0, 0]
"""

TABLE = """\
# {name}: a Denavit-Hartenberg table in qddot's own schema. SI units, radians; numbers may be arithmetic with pi.
# Each row may also have name, limits, drive, and inertia: uncomment and fill in what dynamics needs.

name = "{name}"
convention = "{convention}"                      # standard: link frames at the far end; modified (Craig): at the joint
gravity = [0, 0, -9.81]
"""

ROW = """
[[dh]]
a = {a}
alpha = {alpha}
d = {d}
theta = {theta}{kind}
# inertia = {{mass = 1.0, com = [0, 0, 0], tensor = [0.01, 0.01, 0.01]}}
# limits = {{{limits}}}
"""
LIMITS = {  # is the joint prismatic? -> limits
    False: 'lower = "-pi", upper = "pi", velocity = 2.0, effort = 50',
    True: "lower = 0, upper = 0.5, velocity = 0.5, effort = 500",
}


def shapes() -> list[str]:
    """Return each shape with its dimensions: `sphere (radius)`."""
    from qddot.formats.text_inertia import ALIAS, SHAPES

    return [f"{name} ({', '.join(keys)})" if keys else name for name, keys in SHAPES.items() if name not in ALIAS.values()]


class WithShapes(click.Command):
    """A command whose help ends in a list of the shapes of links."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"Shapes of links, with mass and com, and their measures: {'; '.join(shapes())}.")


@click.command(cls=WithShapes)
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--dh", is_flag=True, help="Ask for a Denavit-Hartenberg table, row by row.")
@click.option("--convention", type=click.Choice(("standard", "modified")), help="Convention of the table; asked for if not given.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def command(file: str, dh: bool, convention: str | None, force: bool, as_json: bool) -> None:
    """Write a description to start from into FILE, which ends in .toml: a commented arm, or one from a DH table that you type in.

    \b
    qddot new arm.toml
    qddot new arm.toml --dh --convention modified
    """
    path = Path(file) if Path(file).suffix else Path(f"{file}.toml")
    if path.suffix.lower() != ".toml":
        raise click.BadParameter(f"{file}: it is written as .toml", param_hint="FILE")
    if path.exists() and not force:
        raise click.BadParameter(f"{path} is there already: --force replaces it", param_hint="FILE")
    from qddot.formats import load_text

    name = path.stem
    with plainly():
        text = table(name, convention) if dh else starter(name, path.name)
        with warnings.catch_warnings():  # about masses in a table, which are to be filled in
            warnings.simplefilter("ignore")
            load_text(text, format="toml")  # raises if the text cannot be read
        path.write_text(text, encoding="utf-8")
    written([path], as_json)


def starter(name: str, file: str) -> str:
    """Return the text of a commented arm to start from."""
    return STARTER.format(name=name, file=file, shapes=f"# shapes: {'; '.join(shapes())}")


def table(name: str, convention: str | None) -> str:
    """Return the text of a DH table from rows that are typed in; an empty line ends them."""
    if convention is None:
        convention = click.prompt("Convention", type=click.Choice(("standard", "modified")), default="standard", err=True)
    click.echo(
        "One joint per line: a alpha d theta, such as 0.4 pi/2 0 0, and p after it for a prismatic joint; an empty line ends.",
        err=True,
    )
    rows: list[dict[str, Any]] = []
    while True:
        line = click.prompt(f"joint {len(rows) + 1}", default="", show_default=False, err=True)
        if not line.strip():
            if rows:
                return TABLE.format(name=name, convention=convention) + "".join(ROW.format(**row) for row in rows)
            click.echo("at least one joint is needed", err=True)
            continue
        try:
            rows.append(row_of(line.replace(",", " ").split()))
        except ValueError as error:
            click.echo(f"not a row: {error}", err=True)


def row_of(words: list[str]) -> dict[str, Any]:
    """Return the fields of a row: numbers as typed, arithmetic in quotes. Raises ValueError: not four finite numbers, or
    degrees."""
    from qddot.formats.expression import Scope
    from qddot.formats.subject import FULL_TURN

    slider = len(words) == 5 and words[4].lower() in ("p", "prismatic")
    if len(words) != 4 and not slider:
        raise ValueError(f"four numbers are needed, a alpha d theta, and these are {len(words)}")
    for word in words[:4]:
        value = Scope(symbols=()).evaluate(word)
        if not math.isfinite(value):
            raise ValueError(f"{word} is not finite")
    for name, word in zip(("alpha", "theta"), (words[1], words[3])):
        if abs(Scope(symbols=()).evaluate(word)) > FULL_TURN:
            raise ValueError(f"{name} = {word} is beyond a full turn: angles are radians, 90 degrees are pi/2")
    shown = [word if is_number(word) else f'"{word}"' for word in words[:4]]
    kind = '\ntype = "prismatic"' if slider else ""
    return dict(zip(("a", "alpha", "d", "theta"), shown)) | {"kind": kind, "limits": LIMITS[slider]}


def is_number(word: str) -> bool:
    """Return True if a word is a number in TOML."""
    import tomllib

    try:
        return isinstance(tomllib.loads(f"x = {word}")["x"], int | float)
    except tomllib.TOMLDecodeError:
        return False
