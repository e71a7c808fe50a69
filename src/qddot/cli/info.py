"""Command: print links, joints and masses of a robot."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import robot_argument, robot_options
from qddot.cli.printing import plainly, print_json, print_table, tell, terminal_width


@click.command()
@robot_argument
@click.option("--details", is_flag=True, help="Masses, centres of mass and tensors of the links, too.")
@robot_options
def command(robot: Any, details: bool, as_json: bool, **how: Any) -> None:
    """Print joints, limits, drives, mass and frames of ROBOT; problems with its description go to standard error.

    \b
    qddot info panda
    qddot info arm.urdf --details
    """
    import qddot
    from qddot.model.details import drive_words, plain

    with plainly("reading"):
        found = qddot.load(robot, **how)
    said = found.details()
    if as_json:
        data = {"name": found.name, "dof": found.nv, "nq": found.nq, "gravity": [plain(x) for x in found.model.gravity]}
        data |= {"links": found.link_names, "frames": found.frame_names, "moving_mass": plain(said.mass)}
        print_json({**data, "symbols": sorted(map(str, found.symbols)), "joints": said.rows()})
        return
    if terminal_width() is not None:
        print_table(found)
    else:
        click.echo(repr(found))
    if not found.symbols and not found.model.kinematics_only:
        click.echo(f"  moving mass: {said.mass:.6g} kg")
    for joint in found.model.joints:
        if joint.drive is not None and (words := drive_words(joint.drive, joint.kind)):
            tell(f"  drive of {joint.name}: {words}")
    tell(f"  frames: {', '.join(found.frame_names)}")
    if details:
        tell("\n" + "\n".join(str(said).splitlines()[1:]))
