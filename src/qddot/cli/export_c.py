"""Command: export C functions."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import (
    QuantityName,
    chosen_options,
    frame_option,
    quantity_options_option,
    robot_argument,
    robot_options,
    wrench_option,
)
from qddot.cli.printing import plainly, written


@click.command("export-c")
@robot_argument
@click.argument("directory", type=click.Path(file_okay=False))
@click.argument("quantities", metavar="QUANTITY...", type=QuantityName(), nargs=-1, required=True)
@click.option("--float", "single", is_flag=True, help="Single precision.")
@click.option("--name", help="Name of the files and prefix of every function; the robot's if not given.")
@frame_option
@wrench_option
@quantity_options_option
@robot_options
def command(
    robot: Any, directory: str, quantities: tuple[str, ...], single: bool, name: str | None, frame: str | None, wrench: bool,
    options: tuple[tuple[str, str], ...], as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Write C99 functions for each QUANTITY of ROBOT, and a self-test, into DIRECTORY.

    \b
    qddot export-c arm7 arm7_c inverse_dynamics mass_matrix
    cmake -S arm7_c -B arm7_c/build && cmake --build arm7_c/build
    ctest --test-dir arm7_c/build
    """
    import qddot

    with plainly("writing C"):
        precision = "float" if single else "double"
        chosen = chosen_options(options, frame, wrench)
        paths = qddot.load(robot, **how).export_c(directory, list(quantities), precision=precision, name=name, **chosen)
    written(paths, as_json)
