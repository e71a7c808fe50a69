"""Command: derive the equations of motion step by step."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import (
    NOTATIONS,
    OutputFile,
    digits_option,
    g_option,
    robot_argument,
    robot_options,
    symbolic_option,
    symbols_option,
)
from qddot.cli.printing import plainly, print_json, written


@click.command()
@robot_argument
@click.option("--method", type=click.Choice(("lagrange", "jacobian", "newton-euler")), default="lagrange")
@click.option("--constraints", is_flag=True, help="Include the motion under the constraints of the description.")
@click.option("--notation", type=click.Choice(NOTATIONS), default="qddot", help="Author whose letters are used.")
@digits_option
@g_option
@click.option("--full", is_flag=True, help="Write everything out, however long.")
@symbols_option
@symbolic_option
@click.option("--output", "-o", type=OutputFile(".html", ".pdf", ".tex", ".md"), help="Write the derivation to this file.")
@robot_options
def command(
    robot: Any, method: str, constraints: bool, notation: str, digits: int | None, g: str | None, full: bool, symbols: str,
    output: str | None, as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Derive the equations of motion of ROBOT step by step; -o out.html, out.pdf, out.tex or out.md writes a document.

    \b
    qddot derive rp_arm --symbolic --g g
    qddot derive puma560 --method newton-euler -o puma560.html
    """
    import qddot

    with plainly("deriving"):
        writing: dict[str, Any] = {"notation": notation, "digits": digits, "gravity": g, "full": full}
        found = qddot.load(robot, **how).derive(method, symbols, constraints or None, **writing)
        if output is not None:
            written([found.save(output)], as_json)
        elif as_json:
            print_json({"method": method, "markdown": found.markdown()})
        else:
            click.echo(found.markdown())
