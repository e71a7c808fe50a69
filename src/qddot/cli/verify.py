"""Command: compare a robot with other libraries."""

from __future__ import annotations

import sys
from typing import Any

import click

from qddot.cli.arguments import robot_argument, robot_options
from qddot.cli.printing import paragraph, plainly, print_json


@click.command(epilog="Exit status: 0 all agree, 1 some differ or could not be compared.")
@robot_argument
@click.option(
    "--against", multiple=True, type=click.Choice(("pinocchio", "mujoco")), help="Library; all that are installed if not given."
)
@click.option("--states", type=click.IntRange(1), default=5, show_default=True, help="Number of random states.")
@click.option("--seed", type=int, default=0, show_default=True)
@robot_options
def command(robot: Any, against: tuple[str, ...], states: int, seed: int, as_json: bool, **how: Any) -> None:
    """Compare mass matrix, gravity and Coriolis forces of ROBOT with Pinocchio and MuJoCo, and list conventions that differ.

    A URDF file is read by the other library itself; any other robot is given to it as the URDF that qddot writes.

    \b
    qddot verify arm.urdf
    qddot verify puma560 --against pinocchio
    """
    import qddot
    from qddot import catalog
    from qddot.errors import MissingExtraError
    from qddot.verify import PEERS, verify

    source = catalog.find(robot) or robot if isinstance(robot, str) and not how["floating"] else None
    found = []
    with plainly("comparing"):
        loaded = qddot.load(robot, **how)
        for name in against or PEERS:
            try:
                found.append(verify(loaded, name, source=source, states=states, seed=seed))
            except MissingExtraError:
                if against:
                    raise
    if not found:
        raise click.ClickException("neither Pinocchio nor MuJoCo is installed: pip install pin mujoco")
    if as_json:
        print_json({"robot": loaded.name, "agrees": all(x.agrees for x in found), "comparisons": [x.data() for x in found]})
    else:
        for comparison in found:
            click.echo(paragraph(str(comparison)))
    sys.exit(0 if all(x.agrees for x in found) else 1)
