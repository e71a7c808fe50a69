"""Command: identify parameters from recordings."""

from __future__ import annotations

import dataclasses
import math
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from qddot.cli.arguments import LogFile, LogFileOrShare, Numbers, OutputFile, Pair, for_each_joint, robot_argument, robot_options
from qddot.cli.printing import in_options, paragraph, plainly, print_json, print_table, terminal_width, working, written
from qddot.files import LOG_BYTES

NOT_IDENTIFIED = 3
"""Exit status if the parameters cannot be trusted; 1 and 2 are errors."""

TABLE = 140  # characters per line of the whole table
LONG = LOG_BYTES.value // 16  # bytes of files that are read piece by piece


@click.command(epilog=f"Exit status: 0 identified, {NOT_IDENTIFIED} not identified (the verdict says why), 1 or 2 an error.")
@robot_argument
@click.argument("logs", metavar="LOG...", type=LogFile(), nargs=-1, required=True)
@click.option(
    "--validation", type=LogFileOrShare(), metavar="LOG|SHARE", multiple=True,
    help="Another recording, to be predicted by the fit, which may be repeated; or 0.3: the last three tenths of LOG.",
)  # fmt: skip
@click.option(
    "--report",
    type=OutputFile(".html", ".htm", ".pdf", ".md"),
    metavar="FILE",
    help="Write a report: .html, .pdf or .md, with plots.",
)
@click.option("--urdf", type=click.Path(dir_okay=False), metavar="FILE", help="Write the identified robot, if the verdict is good.")
@click.option("--cutoff", type=click.FloatRange(min=0, min_open=True), help="Cut-off of the low-pass, Hz; by default from the log.")
@click.option(
    "--velocity",
    type=click.Choice(("measured", "derivative")),
    help="Velocities: the log's, or of its positions; by default the better.",
)
@click.option("--method", type=click.Choice(("auto", "ols", "wls", "irls")), default="auto", help="Method of least squares.")
@click.option(
    "--columns", type=Pair(), multiple=True, metavar="QUANTITY=NAME[,NAME...]",
    help="Which columns of the files are t, q, qd, tau or current: q=pos, which numbered columns share, or one per joint, "
    "tau=shoulder,elbow. May be repeated.",
)  # fmt: skip
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Samples per second, if the files have no time.")
@click.option("--time-unit", type=click.Choice(("s", "ms", "us", "ns")), help="Unit of the files' time; by default guessed.")
@click.option("--gains", type=Numbers(), help="Torque per unit of the files' torque or current, one per joint.")
@click.option("--degrees/--radians", default=None, help="Unit of the files' angles; by default guessed.")
@click.option("--repair", is_flag=True, help="Leave out rows that are no samples instead of refusing the file.")
@robot_options
def command(
    robot: Any, logs: tuple[str, ...], validation: tuple[str | float, ...], report: str | None, urdf: str | None,
    cutoff: float | None, velocity: Any, method: str, columns: tuple[tuple[str, str], ...], rate: float | None,
    time_unit: str | None, gains: list[float] | None, degrees: bool | None, repair: bool, as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Identify the dynamic parameters of ROBOT from recordings of its motion, with their uncertainty and a verdict.

    A LOG is a CSV, NPZ, MAT, Parquet, Feather, MCAP or rosbag2 file; several are segments of one experiment.

    \b
    qddot identify arm.urdf run1.csv --validation run2.csv --report report.html
    qddot identify arm.urdf run1.csv run2.csv --urdf identified.urdf
    qddot identify arm.urdf run.csv --columns q=pos --columns tau=effort
    """
    import qddot

    given = {"columns": named_columns(columns) or None, "rate": rate, "time_unit": time_unit, "gains": gains}
    given |= {"degrees": degrees, "repair": repair or None}
    options: Any = {name: value for name, value in given.items() if value is not None}
    other: Any = kept(validation)
    with plainly():
        with working("reading"):
            from qddot.identify import Log

            found = qddot.load(robot, **how)
            for_each_joint(found, "--gains", gains)
            log = (Log.chunks if are_long(logs) else Log.load)(list(logs), found, **options)
            if isinstance(other, tuple):
                other = (Log.chunks if are_long(other) else Log.load)(list(other), found, **options) if other else None
        with working("identifying"):
            fit = found.identify(log, validation=other, cutoff=cutoff, velocity=velocity, method=method, progress=False)
        for finding in fit.findings:
            click.echo(paragraph(in_options(f"{finding.code}: {finding.message}"), sys.stderr), err=True)
        if as_json:
            print_json(fit_data(fit))
        else:
            click.echo(
                paragraph(f"verdict: {str(fit.verdict).splitlines()[0]}{'' if fit.verdict else ' (the reasons are below)'}") + "\n"
            )
            print_parameters(fit)
            click.echo(paragraph(f"verdict: {fit.verdict}"))
            if fit.validation is not None:
                click.echo(paragraph(predicted(fit)))
            if fit.cross_validation is not None:
                click.echo(paragraph(str(fit.cross_validation)))
        if report is not None:
            command = shlex.join(["qddot", *sys.argv[1:]])
            with working("writing the report"):
                dataclasses.replace(fit, command=command).report(report)
        if urdf is not None and fit.verdict:
            fit.to_urdf(urdf)
        if not as_json:
            written([x for x in (report, urdf if fit.verdict else None) if x is not None], False)
    if not fit.verdict:
        if urdf is not None:
            click.echo(f"{urdf} was not written", err=True)
        sys.exit(NOT_IDENTIFIED)


def kept(validation: tuple[str | float, ...]) -> float | tuple[str, ...]:
    """Return the share of the log that is kept for validation, or the names of other files."""
    shares = [one for one in validation if isinstance(one, float)]
    if not shares:
        return tuple(map(str, validation))
    if len(validation) > 1:
        raise click.BadParameter("a part of the log or other recordings, not both, and one part", param_hint="--validation")
    return shares[0]


def are_long(files: tuple[str, ...]) -> bool:
    """Return True if files are better read piece by piece, in constant memory; shorter ones tell more when they are read whole, as
    friction's change with a recorded temperature."""
    paths = [part for file in map(Path, files) for part in (file, *file.glob("*"))]  # a bag is a folder
    return sum(path.stat().st_size for path in paths if path.is_file()) > LONG


def named_columns(pairs: tuple[tuple[str, str], ...]) -> dict[str, str | list[str]]:
    """Return quantity -> a name that its columns share, or a name per joint."""
    found: dict[str, str | list[str]] = {}
    for quantity, value in pairs:
        if quantity in found:
            raise click.BadParameter(
                f"{quantity} is given twice; columns of several joints go into one: {quantity}=shoulder,elbow",
                param_hint="--columns",
            )
        names = [name.strip() for name in value.split(",")]
        if not all(names):
            raise click.BadParameter(f"{quantity}={value} lacks a name", param_hint="--columns")
        found[quantity] = names if len(names) > 1 else names[0]
    return found


def predicted(fit: Any) -> str:
    """Return the errors of the predicted torques in the recordings for validation, of all joints and of each."""
    unseen, joints = fit.validation, fit.parameter_set.robot.joint_names
    each = ", ".join(f"{joint} {rms:.3g}" for joint, rms in zip(joints, unseen.rms))
    missed = f"{unseen.relative:.2%} of the torque is not predicted ({unseen.relative_raw:.2%} unfiltered)"
    return f"validation: {missed}; rms, N m (N): {each}"


def print_parameters(fit: Any) -> None:
    """Print the table; in a narrow terminal two lines per parameter, so that no number and no name is cut."""
    from qddot.identify.report.tables import rows

    width = terminal_width()
    if width is None or width >= TABLE:
        print_table(fit.table())
        return
    found = [(name, value, f"({interval})", state) for name, value, _, _, interval, state in rows(fit)]
    wide = [max(map(len, column)) for column in zip(*found)]
    click.echo(paragraph("base parameter, value (95 % interval), and below it what it stands for, where that is more") + "\n")
    for name, value, interval, state in found:
        line = f"{name:<{wide[0]}} {value:>{wide[1]}} {interval:<{wide[2]}} {state}"
        line = line if len(line) <= width else paragraph(f"{name} {value} {interval} {state}")
        click.echo(line if state == "identified" else click.style(line, fg="yellow"))
        if (stands_for := fit.base.combination(name)) != name:
            click.echo(paragraph(f"    {stands_for}"))


def fit_data(fit: Any) -> dict[str, Any]:
    """Return the parameters and the verdict as data."""
    rows = []
    for name, value in fit.parameters.items():
        interval, stands_for = list(fit.intervals[name]), fit.base.combination(name)
        rows.append({"name": name, "value": value, "std": fit.std[name], "interval": interval, "stands_for": stands_for})
    return {
        "identified": fit.verdict.identified,
        "verdict": str(fit.verdict),
        "training": error_data(fit.training),
        "validation": None if fit.validation is None else error_data(fit.validation),
        "cross_validation": None if fit.cross_validation is None else fit.cross_validation.error,
        "parameters": rows,
    }


def error_data(errors: Any) -> dict[str, Any]:
    """Return the errors of torques, |error| / |tau| and the RMS of each joint; None if unknown, as for a log read in chunks."""
    found: dict[str, Any] = {name: finite(getattr(errors, name)) for name in ("relative", "relative_raw")}
    return found | {name: [finite(x) for x in getattr(errors, name)] for name in ("rms", "rms_raw")}


def finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
