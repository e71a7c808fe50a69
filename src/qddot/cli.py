"""The command line: look at a robot, compute something, convert a description."""

from __future__ import annotations

import sys
import warnings

import click

import qddot
from qddot.errors import ModelWarning, QddotError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(qddot.__version__, prog_name="qddot")
def main() -> None:
    """Equations of motion of a robot, from its description.

    ROBOT is a file (.urdf, .toml, .json, .yaml) or a name from `qddot catalog`.
    """


class RobotName(click.ParamType):
    """A path or a catalog name, completed by the shell."""

    name = "robot"

    def convert(self, value, param, ctx):
        return value

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        names = [CompletionItem(n) for n in qddot.catalog_names() if n.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]


class Numbers(click.ParamType):
    """`0.1,0.2,0.3`."""

    name = "numbers"

    def convert(self, value, param, ctx):
        if isinstance(value, list):
            return value
        try:
            return [float(x) for x in value.replace(",", " ").split()]
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers such as 0.1,0.2,0.3", param, ctx)


def load(robot: str, strict: bool = False, floating: bool = False) -> qddot.Robot:
    """Load, with warnings and errors as plain lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            found = qddot.load(robot, strict=strict, floating=floating)
        except (QddotError, OSError) as error:
            raise click.ClickException(str(error)) from None
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    return found


strict_option = click.option("--strict", is_flag=True, help="Refuse inertias no real body has.")
floating_option = click.option("--floating", is_flag=True, help="Let the root link move freely.")


@main.command()
def catalog() -> None:
    """List the bundled robots."""
    for name in qddot.catalog_names():
        robot = qddot.load(name)
        click.echo(f"{name:<16}{robot.nv} dof   {', '.join(robot.joint_names)}")


@main.command()
@click.argument("robot", type=RobotName())
@strict_option
@floating_option
def info(robot: str, strict: bool, floating: bool) -> None:
    """Joints, links, mass and frames of a robot; problems with its description go to standard error."""
    found = load(robot, strict, floating)
    click.echo(repr(found))
    if not found.symbols:
        click.echo(f"  moving mass: {sum(body.inertia.m for body in found.model.bodies):.6g} kg")
    for name, drive in found.drives.items():
        click.echo(f"  drive of {name}: {drive}")
    click.echo(f"  frames: {', '.join(found.frame_names)}")


@main.command()
@click.argument("robot", type=RobotName())
@click.argument("quantity")
@click.option("--q", type=Numbers(), help="Configuration; neutral if not given.")
@click.option("--qd", type=Numbers(), help="Velocity; zero if not given.")
@click.option("--qdd", type=Numbers(), help="Acceleration; zero if not given.")
@click.option("--tau", type=Numbers(), help="Joint forces; zero if not given.")
@click.option("--frame", help="Frame of a pose or Jacobian.")
@floating_option
def compute(robot: str, quantity: str, q, qd, qdd, tau, frame: str | None, floating: bool) -> None:
    """Evaluate QUANTITY (mass_matrix, inverse_dynamics, jacobian, ...) in one state.

    \b
    qddot compute two_link mass_matrix --q 1.0472,1.5708
    qddot compute puma560 forward_dynamics --tau 0,5,0,0,0,0
    """
    from qddot.compile.quantities import QUANTITIES
    from qddot.errors import unknown_name

    found = load(robot, floating=floating)
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    try:
        if quantity not in QUANTITIES:
            raise unknown_name("quantity", quantity, QUANTITIES)
        default = {"q": found.neutral(), **dict.fromkeys(("qd", "qdd", "tau"), [0.0] * found.nv)}
        arrays = [default[name] if given[name] is None else given[name] for name in QUANTITIES[quantity].inputs]
        options = {"frame": frame} if frame is not None else {}
        result = getattr(found, quantity)(*arrays, **options)
    except (QddotError, TypeError) as error:
        raise click.ClickException(str(error)) from None
    for part in result if isinstance(result, tuple) else (result,):
        click.echo(str(part))


@main.command()
@click.argument("robot", type=RobotName())
@click.argument("output", type=click.Path(dir_okay=False))
@floating_option
def convert(robot: str, output: str, floating: bool) -> None:
    """Write ROBOT as a URDF file OUTPUT."""
    found = load(robot, floating=floating)
    try:
        found.to_urdf(output)
    except (QddotError, OSError) as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
