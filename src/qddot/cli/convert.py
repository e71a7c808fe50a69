"""One format into another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qddot.cli.arguments import robot_argument, robot_options
from qddot.cli.printing import plainly, print_json


@click.command()
@robot_argument
@click.argument("output", type=click.Path(dir_okay=False))
@robot_options
def command(robot: Any, output: str, as_json: bool, **how: Any) -> None:
    """Write ROBOT as a URDF or, for a name that ends in .toml, in qddot's own schema.

    \b
    qddot convert humanoid.xml humanoid.urdf
    qddot convert arm.urdf.xacro arm.toml --arg prefix=left_
    """
    import qddot

    suffix = Path(output).suffix.lower()
    if suffix not in (".urdf", ".xml", ".toml"):
        raise click.BadParameter(f"{output}: a description is written as .urdf or .toml", param_hint="OUTPUT")
    with plainly("reading"):
        found = qddot.load(robot, **how)
        (found.to_toml if suffix == ".toml" else found.to_urdf)(output)
    if as_json:
        print_json({"files": [output]})
