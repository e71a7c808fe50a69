"""Command: write the interactive page."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import OutputFile, robot_argument, robot_options
from qddot.cli.printing import plainly, print_json


@click.command()
@robot_argument
@click.option("--output", "-o", type=OutputFile(".html", ".htm"), help="The .html file to write; without it the browser opens.")
@robot_options
def command(robot: Any, output: str | None, as_json: bool, **how: Any) -> None:
    """Show ROBOT as an interactive page: one HTML file that needs no server.

    \b
    qddot explore two_link
    qddot explore panda.urdf -o panda.html
    """
    import qddot
    from qddot.formats import symbol_values

    with plainly("making the page"):
        found, values = qddot.load(robot, **how), symbol_values(robot) if isinstance(robot, str) else {}
        letters = qddot.load(robot, symbolic=True, **how) if values else found
        used = {name: x for name, x in values.items() if name in map(str, letters.symbols)}
        page = letters.explore(output, values=used) if used else found.explore(output)
    if as_json:
        print_json({"files": [str(page.path)]})
    else:
        click.echo(page.path)
