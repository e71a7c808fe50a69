"""Command: print properties of the equations of motion, and bounds."""

from __future__ import annotations

import math
from typing import Any

import click

from qddot.cli.arguments import Numbers, robot_argument, robot_options, symbolic_option
from qddot.cli.printing import paragraph, plainly, print_json


@click.command()
@robot_argument
@click.option(
    "--limits", type=Numbers("-pi/2,pi/2", 2), metavar="LOW,HIGH", help="Limits of all joints, instead of the robot's: -pi/2,pi/2."
)
@symbolic_option
@robot_options
def command(robot: Any, limits: list[float] | None, as_json: bool, **how: Any) -> None:
    """Print properties of the equations of ROBOT: definiteness, skewness, passivity, and bounds over the joint limits.

    \b
    qddot properties point_mass_2r --symbolic --limits -pi/2,pi/2
    """
    import qddot

    with plainly("looking for bounds"):
        found = qddot.load(robot, **how).properties(limits)
    if as_json:
        print_json(properties_data(found))
    else:
        click.echo(paragraph(str(found)))


def properties_data(found: Any) -> dict[str, Any]:
    """Return the tables as data: unknown values are null; expressions with symbols, and infinity, are texts."""
    claims = [
        {"name": x.name, "statement": x.statement, "holds": x.holds, "how": x.how, "q": plain(x.q)} for x in found.claims.values()
    ]
    numbers = ("rigorous", "attained", "coefficients", "entries", "of_q", "q", "qd")
    bounds = [
        {"name": x.name, "norm": plain(x.norm), "tight": x.is_tight, "how": x.how}
        | {name: plain(getattr(x, name)) for name in numbers}
        for x in found.bounds
    ]
    box = {"lower": plain(found.lower), "upper": plain(found.upper)}
    return {"robot": found.name, "claims": claims, **box, "bounds": bounds, "notes": list(found.notes)}


def plain(x: Any) -> Any:
    """Return a number, an expression or an array as JSON has it."""
    if x is None:
        return None
    if hasattr(x, "tolist"):
        return [plain(float(value)) for value in x]
    if getattr(x, "free_symbols", None):
        return str(x)
    return float(x) if math.isfinite(x) else str(float(x))
