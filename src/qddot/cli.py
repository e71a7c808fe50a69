"""The command line: look at a robot, compute something, convert a description, identify parameters."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import click
import numpy as np

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.errors import QddotError, near_matches, unknown_name
from qddot.formats import symbol_values
from qddot.formats.expression import Scope

FORMS = (
    "mass_matrix",
    "coriolis_torque",
    "gravity_torque",
    "coriolis_matrix",
    "christoffel",
    "friction_torque",
    "spring_torque",
    "inverse_dynamics",
    "kinetic_energy",
    "potential_energy",
    "lagrangian",
    "hamiltonian",
    "mass_matrix_rate",
    "jacobian",
    "jacobian_dot",
    "transform",
    "centrifugal_matrix",
    "coriolis_products_matrix",
    "generalized_momentum",
    "hamilton.H",
    "hamilton.qd",
    "hamilton.pd",
    "stacked.A",
    "stacked.L",
    "stacked.W",
    "stacked.G",
    "stacked.V",
    "stacked.Vdot",
    "stacked.F",
    "constraints.residual",
    "constraints.A",
    "constraints.Adot",
    "constraints.lam",
    "constraints.qdd",
    "constraints.P",
    "constraints.N",
    "constraints.reduced",
)
"""What `equations` prints, and the first three if nothing is asked for."""

WIDE = 200  # characters of a table that goes to a file

WHOLE: dict[str, Any] = {"threshold": sys.maxsize, "linewidth": sys.maxsize, "precision": 10, "suppress": True}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(qddot.__version__, prog_name="qddot")
def main() -> None:
    """Equations of motion of a robot, from its description.

    ROBOT is a file (URDF, xacro, MJCF, .toml, .json, .yaml), a name from `qddot catalog`, or - for a description on standard input.
    SI units and radians.
    """


# what the arguments are -----------------------------------------------------------------------------------------------


class RobotName(click.ParamType):
    """A path, a catalog name, completed by the shell, or - for standard input."""

    name = "robot"

    def convert(self, value, param, ctx):
        return sys.stdin.buffer if value == "-" else value

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        return [*completed(qddot.catalog_names(), incomplete), CompletionItem(incomplete, type="file")]


class QuantityName(click.ParamType):
    """One of some quantities, by default of `QUANTITIES`, completed by the shell."""

    name = "quantity"

    def __init__(self, known: Iterable[str] = QUANTITIES) -> None:
        self.known = known

    def convert(self, value, param, ctx):
        if value not in self.known:
            self.fail(str(unknown_name("quantity", value, self.known)), param, ctx)
        return value

    def shell_complete(self, ctx, param, incomplete):
        return completed(self.known, incomplete)


class Numbers(click.ParamType):
    """`0.1,pi/2,-3`."""

    name = "numbers"

    def convert(self, value, param, ctx):
        if isinstance(value, list):
            return value
        try:
            return [Scope(symbols=()).evaluate(x) for x in (value.split(",") if "," in value else value.split())]
        except ValueError as error:
            self.fail(f"{value!r} is not a list of numbers such as 0.1,pi/2,-3: {error}", param, ctx)


class Pair(click.ParamType):
    """`name=value`; the value may be empty."""

    name = "name=value"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        name, sign, chosen = value.partition("=")
        if not (name and sign):
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return name, chosen


class Option(Pair):
    """`name=value`, completed by the shell."""

    def convert(self, value, param, ctx):
        pair = super().convert(value, param, ctx)
        if not pair[1]:
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return pair

    def shell_complete(self, ctx, param, incomplete):
        options = {(name, x) for entry in QUANTITIES.values() for name, choices in entry.options.items() for x in choices or ("",)}
        return completed(sorted(f"{name}={x}" for name, x in options), incomplete)


def completed(names: Iterable[str], incomplete: str) -> list:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


strict_option = click.option("--strict", is_flag=True, help="Refuse inertias no real body has and massless moving leaves.")
floating_option = click.option("--floating", is_flag=True, help="Let the root link move freely.")
gravity_option = click.option(
    "--gravity", type=Numbers(), metavar="X,Y,Z", help="Acceleration in the root's axes, m/s^2, instead of the file's."
)


argument_option = click.option(
    "--arg", "arguments", type=Pair(), multiple=True, metavar="NAME=VALUE", callback=lambda ctx, param, pairs: dict(pairs),
    help="Value of a xacro file's argument. May be repeated.",
)  # fmt: skip
package_option = click.option(
    "--package", "packages", type=Pair(), multiple=True, metavar="NAME=FOLDER", callback=lambda ctx, param, pairs: dict(pairs),
    help="Where a ROS package lies that a xacro file names. May be repeated.",
)  # fmt: skip


def robot_options(command: Callable) -> Callable:
    """The robot, and how to load it."""
    for option in (package_option, argument_option, gravity_option, floating_option, strict_option):
        command = option(command)
    return command


@contextmanager
def plainly() -> Iterator[None]:
    """Warnings and errors as plain lines on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (QddotError, OSError) as error:
            raise click.ClickException(str(error)) from None
        finally:
            for warning in caught:
                click.echo(f"warning: {warning.message}", err=True)


# commands -------------------------------------------------------------------------------------------------------------


@main.command()
def catalog() -> None:
    """List the bundled robots."""
    for name in qddot.catalog_names():
        robot = qddot.load(name)
        click.echo(f"{name:<16}{robot.nv} dof   {', '.join(robot.joint_names)}")


@main.command()
@click.argument("robot", type=RobotName())
@robot_options
def info(robot: str, **how: Any) -> None:
    """Joints, links, mass and frames of ROBOT; problems with its description go to standard error."""
    with plainly():
        found = qddot.load(robot, **how)
    click.echo(repr(found))
    if not found.symbols:
        click.echo(f"  moving mass: {sum(body.inertia.m for body in found.model.bodies):.6g} kg")
    for name, drive in found.drives.items():
        click.echo(f"  drive of {name}: {drive}")
    click.echo(f"  frames: {', '.join(found.frame_names)}")


@main.command()
@click.argument("robot", type=RobotName())
@robot_options
def parameters(robot: str, **how: Any) -> None:
    """Names and values of ROBOT's dynamic parameters, in the order of the regressor's columns."""
    with plainly():
        found = qddot.load(robot, **how)
        names, values = found.parameter_names, found.parameters()
    width = max(map(len, names), default=0)
    for name, value in zip(names, values, strict=True):
        click.echo(f"{name:<{width}}  {value:.12g}")


@main.command(epilog=f"Quantities: {', '.join(QUANTITIES)}.")
@click.argument("robot", type=RobotName())
@click.argument("quantity", type=QuantityName())
@click.option("--q", type=Numbers(), help="Configuration, such as 0,pi/2; neutral if not given.")
@click.option("--qd", type=Numbers(), help="Velocity; zero if not given.")
@click.option("--qdd", type=Numbers(), help="Acceleration; zero if not given.")
@click.option("--jerk", type=Numbers(), help="Third derivative of q; zero if not given.")
@click.option("--snap", type=Numbers(), help="Fourth derivative of q; zero if not given.")
@click.option("--tau", type=Numbers(), help="Joint forces; zero if not given.")
@click.option("--p", type=Numbers(), help="Momenta M qd; zero if not given.")
@click.option("--frame", help="Frame of a pose or Jacobian; the only tip if not given.")
@click.option(
    "--option", "-o", "options", type=Option(), multiple=True,
    help="Option of the quantity: reference=body, form=rate, coordinates=quaternion, method=crba. May be repeated.",
)  # fmt: skip
@robot_options
def compute(
    robot: str, quantity: str, q, qd, qdd, jerk, snap, tau, p, frame: str | None, options: tuple[tuple[str, str], ...], **how: Any
) -> None:
    """Evaluate QUANTITY of ROBOT (mass_matrix, inverse_dynamics, jacobian, ...) in one state.

    \b
    qddot compute two_link mass_matrix --q pi/3,pi/2
    qddot compute puma560 forward_dynamics --tau 0,5,0,0,0,0
    qddot compute puma560 jacobian -o reference=body
    """
    arrays = {"q": q, "qd": qd, "qdd": qdd, "jerk": jerk, "snap": snap, "tau": tau, "p": p}
    given = {name: x for name, x in arrays.items() if x is not None}
    chosen = dict([*options, *([("frame", frame)] if frame is not None else [])])
    refuse_unused(quantity, given, chosen)
    with plainly():
        found = qddot.load(robot, **how)
        state = dict.fromkeys(arrays, np.zeros(found.nv)) | {"q": found.neutral(), **given}
        result = getattr(found, quantity)(*(state[name] for name in QUANTITIES[quantity].inputs), **chosen)
    with np.printoptions(**WHOLE):
        if not isinstance(result, tuple):
            click.echo(str(result))
            return
        for name, part in zip(QUANTITIES[quantity].outputs, result):
            click.echo(f"{name}:\n{part}")


def refuse_unused(quantity: str, inputs: Iterable[str], options: Iterable[str]) -> None:
    """An argument the quantity does not depend on is a mistake, not a wish."""
    entry = QUANTITIES[quantity]
    for name in inputs:
        if name not in entry.inputs:
            raise click.UsageError(f"{quantity} does not depend on --{name}, only on {', '.join(f'--{x}' for x in entry.inputs)}")
    for name in options:
        if name == "frame" and name not in entry.options:
            raise click.UsageError(f"{quantity} does not depend on --frame")
        if name not in entry.options:
            raise click.UsageError(f"{quantity} has no option {name!r}: {near_matches(name, entry.options)}")


NOTATIONS = ("qddot", "lynch-park", "craig", "siciliano", "featherstone")
symbolic_option = click.option("--symbolic", is_flag=True, help="Leave symbols open for which the file gives values.")
parameters_option = click.option(
    "--parameters",
    type=click.Choice(("given", "inertial", "all")),
    default="given",
    help="Which numbers become symbols: none; masses and inertias; offsets and gravity too.",
)
output_option = click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write it to this file.")


@main.command(epilog=f"Quantities: {', '.join(FORMS)}.")
@click.argument("robot", type=RobotName())
@click.argument("quantities", metavar="[QUANTITY]...", type=QuantityName(FORMS), nargs=-1)
@click.option("--format", "style", type=click.Choice(("text", "latex", "mathml", "python", "c")), default="text")
@click.option(
    "--notation",
    type=click.Choice(NOTATIONS),
    help="Whose letters to write: M or B, c or V, g or G; for text, latex and mathml.",
)
@parameters_option
@symbolic_option
@robot_options
def equations(
    robot: str, quantities: tuple[str, ...], style: str, notation: str | None, parameters: str, **how: Any
) -> None:  # fmt: skip
    """The equations of motion of ROBOT in closed form: M, c and g, or each QUANTITY.

    \b
    qddot equations point_mass_2r --symbolic
    qddot equations puma560 mass_matrix --parameters inertial --format latex
    """
    shown = {"lhs": True, "notation": notation or "qddot"} if style in ("text", "latex", "mathml") else {}
    if notation and not shown:
        raise click.UsageError(f"--notation does not apply to --format {style}")
    with plainly():
        found = qddot.load(robot, **how).equations(parameters)
        wanted = quantities or FORMS[:3]
        for note in found.notes:
            if note != found.exact_model.open_tree or not all(name.startswith("constraints.") for name in wanted):
                click.echo(f"note: {note}", err=True)
        for name in wanted:
            form = attrgetter(name)(found)
            click.echo(getattr(form() if callable(form) else form, style)(**shown))


@main.command()
@click.argument("robot", type=RobotName())
@click.option("--method", type=click.Choice(("lagrange", "jacobian", "newton-euler")), default="lagrange")
@click.option("--constraints", is_flag=True, help="Go on to the motion under the constraints of the description.")
@click.option("--notation", type=click.Choice(NOTATIONS), default="qddot", help="Whose letters are used.")
@click.option("--digits", type=click.IntRange(1), help="Significant digits of numbers.")
@click.option("--g", "g", metavar="NAME", help="A symbol for the strength of gravity.")
@click.option("--full", is_flag=True, help="Write everything out, however long.")
@parameters_option
@symbolic_option
@output_option
@robot_options
def derive(
    robot: str, method: str, constraints: bool, notation: str, digits: int | None, g: str | None, full: bool, parameters: str,
    output: str | None, **how: Any,
) -> None:  # fmt: skip
    """Derive the equations of motion of ROBOT step by step; -o out.html, out.pdf, out.tex or out.md writes a document.

    \b
    qddot derive rp_arm --symbolic --g g
    qddot derive puma560 --method newton-euler -o puma560.html
    """
    with plainly():
        writing: dict[str, Any] = {"notation": notation, "digits": digits, "gravity": g, "full": full}
        found = qddot.load(robot, **how).derive(method, parameters, constraints or None, **writing)
        if output is not None:
            found.save(output)
        else:
            click.echo(found.markdown())


@main.command()
@click.argument("robot", type=RobotName())
@click.option("--limits", type=Numbers(), metavar="LOW,HIGH", help="Of every joint, instead of the robot's: -pi/2,pi/2.")
@symbolic_option
@robot_options
def properties(robot: str, limits: list[float] | None, **how: Any) -> None:
    """What holds for the equations of ROBOT: definiteness, skewness, passivity, and bounds over the joint limits.

    \b
    qddot properties point_mass_2r --symbolic --limits -pi/2,pi/2
    """
    with plainly():
        click.echo(str(qddot.load(robot, **how).properties(limits)))


@main.command()
@click.argument("robot", type=RobotName())
@click.argument("output", type=click.Path(dir_okay=False))
@robot_options
def convert(robot: str, output: str, **how: Any) -> None:
    """Write ROBOT as a URDF file OUTPUT."""
    with plainly():
        qddot.load(robot, **how).to_urdf(output)


@main.command()
@click.argument("robot", type=RobotName())
@click.argument("directory", type=click.Path(file_okay=False))
@click.argument("quantities", metavar="QUANTITY...", type=QuantityName(), nargs=-1, required=True)
@click.option("--float", "single", is_flag=True, help="Single precision.")
@click.option("--name", help="Of the files, with which every function begins; the robot's if not given.")
@click.option("--frame", help="Frame of poses and Jacobians; the only tip if not given.")
@click.option("--wrench", is_flag=True, help="External forces as an input of dynamics.")
@click.option(
    "--option", "-o", "options", type=Option(), multiple=True, help="As of `qddot compute`; for all quantities that have it."
)
@robot_options
def export_c(
    robot: str, directory: str, quantities: tuple[str, ...], single: bool, name: str | None, frame: str | None, wrench: bool,
    options: tuple[tuple[str, str], ...], **how: Any,
) -> None:  # fmt: skip
    """Write C99 functions for each QUANTITY of ROBOT, and a self-test, into DIRECTORY.

    \b
    qddot export-c arm7 arm7_c inverse_dynamics mass_matrix
    cmake -S arm7_c -B arm7_c/build && cmake --build arm7_c/build && ctest --test-dir arm7_c/build
    """
    chosen: dict[str, Any] = {
        **dict(options),
        **({"frame": frame} if frame is not None else {}),
        **({"wrench": True} if wrench else {}),
    }
    with plainly():
        paths = qddot.load(robot, **how).export_c(
            directory, list(quantities), precision="float" if single else "double", name=name, **chosen
        )
    for path in paths:
        click.echo(str(path))


@main.command()
@click.argument("robot", type=RobotName())
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("quantities", metavar="QUANTITY...", type=QuantityName(), nargs=-1, required=True)
@click.option("--frame", help="Frame of poses and Jacobians; the only tip if not given.")
@click.option("--wrench", is_flag=True, help="External forces as an input of dynamics.")
@click.option(
    "--option", "-o", "options", type=Option(), multiple=True, help="As of `qddot compute`; for all quantities that have it."
)
@robot_options
def export_js(
    robot: str, file: str, quantities: tuple[str, ...], frame: str | None, wrench: bool,
    options: tuple[tuple[str, str], ...], **how: Any,
) -> None:  # fmt: skip
    """Write each QUANTITY of ROBOT as a function of the JavaScript module FILE.

    \b
    qddot export-js arm7 arm7.mjs inverse_dynamics mass_matrix
    """
    chosen = {**dict(options), **({"frame": frame} if frame is not None else {}), **({"wrench": True} if wrench else {})}
    with plainly():
        click.echo(str(qddot.load(robot, **how).export_js(file, list(quantities), **chosen)))


@main.command()
@click.argument("robot", type=RobotName())
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="The .html file to write; without it the browser opens.")
@robot_options
def explore(robot: str, output: str | None, **how: Any) -> None:
    """Show ROBOT as an interactive page: one HTML file that needs no server.

    \b
    qddot explore two_link
    qddot explore panda.urdf -o panda.html
    """
    with plainly():
        found, values = qddot.load(robot, **how), symbol_values(robot) if isinstance(robot, str) else {}
        letters = qddot.load(robot, symbolic=True, **how) if values else found
        used = {name: x for name, x in values.items() if name in map(str, letters.symbols)}
        page = letters.explore(output, values=used) if used else found.explore(output)
    click.echo(output or repr(page))


# identification -------------------------------------------------------------------------------------------------------


class LogFile(click.Path):
    """A recording, completed by the shell."""

    name = "log"

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=str)


NOT_IDENTIFIED = 3
"""Exit status of a fit whose parameters cannot be trusted; 1 and 2 are errors."""


@main.command(epilog=f"Exit status: 0 identified, {NOT_IDENTIFIED} not identified (the verdict says why), 1 or 2 an error.")
@click.argument("robot", type=RobotName())
@click.argument("logs", metavar="LOG...", type=LogFile(), nargs=-1, required=True)
@click.option("--validation", type=LogFile(), multiple=True, help="Another recording, to be predicted. May be repeated.")
@click.option("--report", type=click.Path(dir_okay=False), metavar="FILE", help="Write a report: .html with plots, or .md.")
@click.option("--urdf", type=click.Path(dir_okay=False), metavar="FILE", help="Write the identified robot, if the verdict is good.")
@click.option("--cutoff", type=click.FloatRange(min=0, min_open=True), help="Of the low-pass, Hz; by default chosen from the log.")
@click.option("--method", type=click.Choice(("auto", "ols", "wls", "irls")), default="auto", help="Of least squares.")
@click.option(
    "--columns", type=Pair(), multiple=True, metavar="QUANTITY=NAME",
    help="Which columns of the files are t, q, qd, tau or current: q=pos, tau=effort. May be repeated.",
)  # fmt: skip
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Samples a second, where the files have no time.")
@click.option("--gains", type=Numbers(), help="Torque a unit of the files' torque or current, one a joint.")
@click.option("--degrees/--radians", default=None, help="Unit of the files' angles; by default guessed.")
@click.option("--repair", is_flag=True, help="Leave out rows that are no samples instead of refusing the file.")
@robot_options
def identify(
    robot: str, logs: tuple[str, ...], validation: tuple[str, ...], report: str | None, urdf: str | None, cutoff: float | None,
    method: str, columns: tuple[tuple[str, str], ...], rate: float | None, gains: list[float] | None, degrees: bool | None,
    repair: bool, **how: Any,
) -> None:  # fmt: skip
    """Dynamic parameters of ROBOT from recordings of its motion, with their uncertainty and a verdict.

    A LOG is a CSV, NPZ, MAT, Parquet, MCAP or rosbag2 file; several are segments of one experiment.

    \b
    qddot identify arm.urdf run1.csv --validation run2.csv --report report.html
    qddot identify arm.urdf run1.csv run2.csv --columns q=pos --columns tau=effort --urdf identified.urdf
    """
    if report is not None and not report.endswith((".html", ".htm", ".md")):
        raise click.BadParameter(f"{report}: a report is .html or .md", param_hint="--report")
    said = {"columns": dict(columns) or None, "rate": rate, "gains": gains, "degrees": degrees, "repair": repair or None}
    options: Any = {name: value for name, value in said.items() if value is not None}
    with plainly():
        from qddot.identify import Log

        found = qddot.load(robot, **how)
        log = Log.load(list(logs), found, **options)
        other = Log.load(list(validation), found, **options) if validation else None
        fit = found.identify(log, validation=other, cutoff=cutoff, method=method, progress=sys.stderr.isatty())
        for finding in fit.findings:
            click.echo(f"{finding.topic}: {finding.message}", err=True)
        printed(fit.table())
        click.echo(f"verdict: {fit.verdict}")
        if report is not None:
            fit.report(report)
        if urdf is not None and fit.verdict:
            fit.to_urdf(urdf)
    if not fit.verdict:
        if urdf is not None:
            click.echo(f"{urdf} was not written", err=True)
        sys.exit(NOT_IDENTIFIED)


@main.command()
@click.argument("robot", type=RobotName())
@click.option("--csv", type=click.Path(dir_okay=False), metavar="FILE", help="Write t, q, qd and qdd there.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1000.0, help="Samples a second in the file.")
@click.option("--period", type=float, default=15.0, help="Of the Fourier series, s.", show_default=True)
@click.option("--harmonics", type=int, default=5, help="Of the series.", show_default=True)
@click.option("--ramp", type=float, default=2.0, help="From rest and to rest, s.", show_default=True)
@click.option("--periods", type=int, default=1, help="How often the series is repeated.", show_default=True)
@click.option("--velocity", type=Numbers(), help="Limit of every joint, or one a joint, instead of the robot's.")
@click.option("--acceleration", type=Numbers(), help="Limit of every joint, or one a joint; else none.")
@click.option("--radius", type=float, help="Of capsules about the links that must not touch, m; else they may.")
@click.option("--home", type=Numbers(), help="Configuration where the motion starts and ends.")
@click.option("--seed", type=int, default=0, help="Of the random series the search begins with.")
@robot_options
def excitation(
    robot: str, csv: str | None, rate: float, velocity: list[float] | None, acceleration: list[float] | None,
    home: list[float] | None, **rest: Any,
) -> None:  # fmt: skip
    """A motion of ROBOT, from rest to rest and within all limits, that shows its dynamic parameters best.

    \b
    qddot excitation arm.urdf --csv plan.csv --velocity 1.5 --acceleration 5
    """
    names = ("period", "harmonics", "ramp", "periods", "radius", "seed")
    options: dict[str, Any] = {name: rest.pop(name) for name in names}
    with plainly():
        found = qddot.load(robot, **rest)
        if velocity is not None:
            options["limits"] = found.limits._replace(velocity=one_or_each("velocity", velocity, found.nv))
        if acceleration is not None:
            options["acceleration"] = one_or_each("acceleration", acceleration, found.nv)
        motion = found.excitation(home=home, progress=lambda line: click.echo(line, err=True), **options)
        click.echo(repr(motion))
        if csv is not None:
            motion.to_csv(csv, rate)


def one_or_each(name: str, values: list[float], n: int) -> np.ndarray:
    """A number for each of n joints."""
    if len(values) not in (1, n):
        raise click.BadParameter(f"{len(values)} numbers for {n} joints: one, or one a joint", param_hint=f"--{name}")
    return np.broadcast_to(np.array(values, float), (n,)).copy()


def printed(table: Any) -> None:
    """A table by `rich`, as wide as the terminal, or as wide as it needs where there is none."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


if __name__ == "__main__":
    main()
