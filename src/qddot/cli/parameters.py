"""Command: print the dynamic parameters."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import digits_option, robot_argument, robot_options
from qddot.cli.printing import plainly, print_json


@click.command()
@robot_argument
@digits_option
@robot_options
def command(robot: Any, digits: int | None, as_json: bool, **how: Any) -> None:
    """Print names and values of ROBOT's dynamic parameters, in the order of the regressor's columns."""
    import qddot

    with plainly("reading"):
        found = qddot.load(robot, **how)
        names, values = found.parameter_names, found.parameters()
    if as_json:
        print_json(dict(zip(names, values.tolist())))
        return
    width = max(map(len, names), default=0)
    for name, value in zip(names, values, strict=True):
        click.echo(f"{name:<{width}}  {value:.{digits or 12}g}")
