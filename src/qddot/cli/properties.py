"""Properties of the equations."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import Numbers, robot_argument, robot_options, symbolic_option
from qddot.cli.printing import paragraph, plainly, print_json


@click.command()
@robot_argument
@click.option(
    "--limits", type=Numbers("-pi/2,pi/2", 2), metavar="LOW,HIGH", help="Of every joint, instead of the robot's: -pi/2,pi/2."
)
@symbolic_option
@robot_options
def command(robot: Any, limits: list[float] | None, as_json: bool, **how: Any) -> None:
    """Show what holds for the equations of ROBOT: definiteness, skewness, passivity, and bounds over the joint limits.

    \b
    qddot properties point_mass_2r --symbolic --limits -pi/2,pi/2
    """
    import qddot

    with plainly("looking for bounds"):
        text = str(qddot.load(robot, **how).properties(limits))
    if as_json:
        print_json({"text": text})
    else:
        click.echo(paragraph(text))
