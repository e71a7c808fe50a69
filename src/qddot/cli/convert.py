"""Command: convert a description to another format."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import OutputFile, robot_argument, robot_options
from qddot.cli.printing import plainly, print_json, tell


@click.command()
@robot_argument
@click.argument("output", type=OutputFile(".urdf", ".xml", ".toml"))
@robot_options
def command(robot: Any, output: str, as_json: bool, **how: Any) -> None:
    """Write ROBOT as URDF or, for a name that ends in .toml, in qddot's own schema, and report what that format cannot express.

    \b
    qddot convert humanoid.xml humanoid.urdf
    qddot convert arm.urdf.xacro arm.toml --arg prefix=left_
    """
    import qddot
    from qddot.formats import symbol_values
    from qddot.formats.losses import losses

    is_urdf = not output.lower().endswith(".toml")
    with plainly("reading"):
        found = qddot.load(robot, **how)
        named = symbol_values(robot) if isinstance(robot, str) else {}
        (found.to_urdf if is_urdf else found.to_toml)(output)
    notes = [f"the symbols {', '.join(named)} are written as the numbers they stand for"] if named else []
    notes += losses(found.model, is_urdf)
    if as_json:
        print_json({"files": [output], "notes": notes})
        return
    for note in notes:
        tell(f"note: {note}", err=True)
    tell(f"{output}: {found.name}, {len(found.model.links)} links, {found.nv} dof")
