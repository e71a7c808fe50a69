"""The sections of the report of a fit: the verdict, errors, methods, parameters, shortcomings, and the command to repeat it."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from qddot.card import Table
from qddot.errors import InputError, MissingExtraError
from qddot.identify.checks.explain import explanations
from qddot.identify.fit import Fit
from qddot.identify.report.document import Block, Code, Document, Figure, Items, Section, html, markdown
from qddot.identify.report.pdf import browser, pdf
from qddot.identify.report.plots import Shown, joint_plot, parameter_plot
from qddot.identify.report.shortcomings import shortcomings
from qddot.identify.report.tables import described_table, error_table, joint_table, link_table, parameter_table
from qddot.logs.log_summary import lasting
from qddot.pictures.look import pyplot

SUFFIXES = (".html", ".htm", ".pdf", ".md")
NO_FAILURES = "No joint has a residual beyond noise above a hundredth of its torque."


def report(fit: Fit, path: Path | None) -> str:
    """Return the report as Markdown; write it to `path` as HTML or PDF with plots, or as Markdown with plots in files beside it."""
    if path is not None and path.suffix not in SUFFIXES:
        raise InputError(f"{path.name}: a report is {', '.join(SUFFIXES)}")
    program = browser() if path is not None and path.suffix == ".pdf" else ""  # a missing browser is reported before the work
    found = document(fit)
    if path is None:
        return markdown(found)
    if path.suffix == ".md":
        numbers = itertools.count(1)

        def beside(figure: Figure) -> str:
            name = f"{path.stem}_{next(numbers)}.png"
            path.with_name(name).write_bytes(figure.draw("png"))
            return name

        path.write_text(markdown(found, beside), encoding="utf-8")
    elif path.suffix == ".pdf":
        path.write_bytes(pdf(html(found), program))
    else:
        path.write_text(html(found), encoding="utf-8")
    return markdown(found)


def document(fit: Fit) -> Document:
    """The report as data."""
    robot, shown, failures = fit.parameter_set.robot, Shown(fit), [str(one) for one in shortcomings(fit)]
    joints = [Figure(f"{joint}, {shown.where}", drawn(joint_plot, shown, j)) for j, joint in enumerate(robot.joint_names)]
    sections = [
        Section("Verdict", list(verdict(fit))),
        Section("Torques", [error_table(fit), *cross_validation(fit), joint_table(fit)]),
        Section("What was done to the data", [Items([*(f"{f.code}: {f.message}" for f in fit.findings), *how(fit)])]),
        Section("Each joint", joints),
        Section("Parameters", list(parameters(fit))),
        Section("As described and as identified", list(described(fit))),
        Section("Where the model fails", [Items(failures) if failures else NO_FAILURES]),
        Section("What to record next", [Items(str(fit.worth).splitlines())]),
        Section("How to repeat this fit", [f"qddot {version('qddot')}, the same data, and", Code(fit.command)]),
    ]
    return Document(f"Identification of {robot.name}", bool(fit.verdict), sections, robot.tree().svg())


def verdict(fit: Fit) -> Iterator[Block]:
    errors, where = (fit.training, "its own log") if fit.validation is None else (fit.validation, "the log kept for validation")
    said = "identified" if fit.verdict else "NOT identified"
    missed = f"{errors.relative:.2%} ({errors.relative_raw:.2%} as measured)"
    yield f"**{said}**: {fit.base.rank} base parameters; torques of {where} are predicted to {missed}."
    if fit.verdict.concerns:
        yield Items([str(concern) for concern in fit.verdict.concerns])


def cross_validation(fit: Fit) -> Iterator[Block]:
    """Yield the table of errors of each recording with parameters of the others."""
    found = fit.cross_validation
    if found is None:
        return
    rows = [[name, lasting(seconds), f"{own:.2%}", f"{error:.2%}"] for name, seconds, own, error in found.rows]
    yield Table([found.what, "duration", "error, fitted", "error, predicted by the others"], rows)


def how(fit: Fit) -> Iterator[str]:
    estimate = fit.estimate
    yield f"{estimate.method.upper()}, {estimate.samples} samples a joint in {estimate.blocks} blocks"
    yield f"condition number {estimate.condition:.3g} with scaled columns, {estimate.condition_raw:.3g} in SI units"
    yield f"rank gap of the base parameters {fit.base.gap:.2g}"


def parameters(fit: Fit) -> Iterator[Block]:
    if not fit.verdict.identified:
        yield "**These numbers are not identified parameters: see the verdict.**"
    yield (
        "A base parameter is a sum of parameters that no motion tells apart. It has the name of the one that is in no other sum, "
        "and may be negative even if that parameter cannot be."
    )
    yield parameter_table(fit)
    yield f"Essential ({len(fit.essential)} of {fit.base.rank}): {', '.join(fit.essential)}"
    yield Figure("Base parameters with their 95 % intervals", drawn(lambda: parameter_plot(fit, None).figure))
    reasons = list(dict.fromkeys(explanations(fit.base).values()))
    if reasons:
        yield "Why some parameters cannot be told apart:"
        yield Items(reasons)


def described(fit: Fit) -> Iterator[Block]:
    """Compare the description with the identified base parameters, and with `fit.robot`."""
    yield "Rows are marked if the described value is outside the identified interval."
    yield described_table(fit)
    if not fit.verdict.identified:
        return
    try:
        consistent = fit.consistent.parameters
    except MissingExtraError as error:
        yield str(error)
        return
    base = fit.base.K @ np.linalg.lstsq(fit.parameter_set.T, consistent - fit.parameter_set.constant, rcond=None)[0]
    outside = np.abs(fit.estimate.theta - base) > fit.estimate.reach * fit.estimate.std
    names = [name for name, far in zip(fit.base.names, outside) if far]
    points = ["links that can exist have all base parameters within their intervals"]
    if names:
        head = f"{len(names)} of {fit.base.rank} base parameters had to leave their intervals so that links can exist"
        points = [f"{head}: {', '.join(names)}"]
    where, errors = ("training", fit.training) if fit.validation is None else ("validation", fit.validation)
    filtered, raw = fit.robot_error
    text = f"torques of `fit.robot` are off by {filtered:.3%} filtered and {raw:.3%} raw ({where})"
    text += f"; those of `fit.predict` by {errors.relative:.3%} and {errors.relative_raw:.3%}"
    worse = f": {filtered / errors.relative:.2f} times as much, since {fit.robot_worse}" if fit.robot_worse else ""
    points += [f"{text}{worse}", *fit.implausible]
    if fit.left_out:
        points.append(f"a robot and a URDF cannot hold {', '.join(fit.left_out)}: `fit.robot` lacks them, `fit.predict` has them")
    yield "Base parameters do not determine how mass is shared among the links. These links are nearest to the description:"
    yield link_table(fit)
    yield Items(points)


# figures --------------------------------------------------------------------------------------------------------------------


def drawn(draw: Callable[..., Any], *arguments: Any) -> Callable[[str], bytes]:
    """Function that draws a picture as `"svg"` or `"png"` when it is called; the same bytes every time."""

    def picture(kind: str) -> bytes:
        plt = pyplot()
        with plt.rc_context({"svg.hashsalt": "qddot"}):
            figure, stream = draw(*arguments), io.BytesIO()
            figure.savefig(stream, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
            plt.close(figure)
        return stream.getvalue()

    return picture
