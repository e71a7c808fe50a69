"""Command: export a JavaScript module."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import (
    OutputFile,
    QuantityName,
    chosen_options,
    frame_option,
    quantity_options_option,
    robot_argument,
    robot_options,
    wrench_option,
)
from qddot.cli.printing import plainly, written


@click.command("export-js")
@robot_argument
@click.argument("file", type=OutputFile(".mjs", ".js"))
@click.argument("quantities", metavar="QUANTITY...", type=QuantityName(), nargs=-1, required=True)
@frame_option
@wrench_option
@quantity_options_option
@robot_options
def command(
    robot: Any, file: str, quantities: tuple[str, ...], frame: str | None, wrench: bool,
    options: tuple[tuple[str, str], ...], as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Write each QUANTITY of ROBOT as a function of the JavaScript module FILE.

    \b
    qddot export-js arm7 arm7.mjs inverse_dynamics mass_matrix
    """
    import qddot

    with plainly("writing JavaScript"):
        path = qddot.load(robot, **how).export_js(file, list(quantities), **chosen_options(options, frame, wrench))
    written([path], as_json)
