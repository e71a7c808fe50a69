"""What came of an identification, for people: a table in the terminal, a page in Markdown or HTML with plots."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qddot.assets import style_sheet
from qddot.card import Card, Table
from qddot.errors import InputError, MissingExtraError
from qddot.identify.checks.positive import never_negative
from qddot.pictures.look import pyplot

if TYPE_CHECKING:
    from qddot.identify.fit import Fit


def states(fit: Fit) -> list[str]:
    """What each parameter may be called: identified only if the fit is, if the value can exist, and if it is known to a factor of
    two at least."""
    if not fit.verdict.identified:
        return ["not identified"] * fit.base.rank
    return [state(*each) for each in zip(fit.estimate.theta, fit.estimate.intervals, never_negative(fit.base))]


def state(value: float, interval: np.ndarray, positive: bool) -> str:
    low, high = interval
    if positive and high < 0:
        return "impossible: cannot be negative"
    if low <= 0 <= high:
        return "not distinguishable from 0"
    if high - low > abs(value):
        return f"poorly known: +- {(high - low) / 2 / abs(value):.0%}"
    return "identified"


def rows(fit: Fit) -> Iterator[tuple[str, ...]]:
    """Name, value, standard deviations (by blocks, classical), interval, state."""
    classical = dict(zip(fit.base.names, fit.estimate.std_classical))
    for (name, value), said in zip(fit.parameters.items(), states(fit)):
        low, high = fit.intervals[name]
        yield name, f"{value:.5g}", f"{fit.std[name]:.2g}", f"{classical[name]:.2g}", f"{low:.4g} to {high:.4g}", said


HEAD = ("base parameter", "value", "std (blocks)", "std (classical)", "95 % interval", "")
STANDS_FOR = "stands for"  # since a base parameter is a sum of parameters, of which only the first names it


def parameter_table(fit: Fit) -> Table:
    found = list(rows(fit))
    doubtful = frozenset(k for k, row in enumerate(found) if row[-1] != "identified")
    return Table([*HEAD, STANDS_FOR], [[*row, fit.base.combination(row[0])] for row in found], doubtful=doubtful)


def card(fit: Fit) -> Card:
    """As the fit shows itself: the verdict, errors of the torques, the parameters."""
    name, line = repr(fit).split(": ", 1)
    return Card(name, [line, str(fit.verdict)], [parameter_table(fit)])


def report(fit: Fit, path: Path | None) -> str:
    """The report in Markdown; into `path` as Markdown with plots in files beside it, or as HTML with plots in it."""
    text = markdown(fit)
    if path is None:
        return text
    if path.suffix not in (".md", ".html", ".htm"):
        raise InputError(f"{path.name}: a report is .md or .html")
    drawn = list(figures(fit))
    if path.suffix == ".md":
        links = []
        for k, (title, png) in enumerate(drawn, start=1):
            picture = path.with_name(f"{path.stem}_{k}.png")
            picture.write_bytes(png)
            links.append(f"## {title}\n\n![{title}]({picture.name})\n")
        path.write_text("\n".join([text, *links]), encoding="utf-8")
    else:
        path.write_text(page(text, drawn, fit.base.columns.robot.tree().svg()), encoding="utf-8")
    return text


# Markdown -------------------------------------------------------------------------------------------------------------------


def markdown(fit: Fit) -> str:
    parts = [f"# Identification of {fit.columns.robot.name}", "## Verdict", str(fit.verdict), "## Torques", "\n".join(torques(fit))]
    parts += ["## Parameters", "\n".join(parameters(fit))]
    if fit.verdict.identified:
        parts += ["## Robot", "\n".join(robot(fit))]
    parts += ["## How", "\n".join(how(fit))]
    return "\n\n".join(parts) + "\n"


def torques(fit: Fit) -> Iterator[str]:
    """Errors, filtered and raw."""
    yield "| | relative, filtered | relative, raw | NRMS, filtered | NRMS, raw |"
    yield "|---|---|---|---|---|"
    for name, errors in (("training", fit.training), ("validation", fit.validation)):
        if errors is not None:
            values = (errors.relative, errors.relative_raw, errors.nrms, errors.nrms_raw)
            yield f"| {name} | " + " | ".join("-" if np.isnan(x) else f"{x:.3%}" for x in values) + " |"
    yield ""
    yield "| joint | noise, N m | unseen blocks, N m | training, N m | validation, N m | validation raw, N m |"
    yield "|---|---|---|---|---|---|"
    unseen = fit.validation
    for j, joint in enumerate(fit.columns.robot.joint_names):
        values = [fit.estimate.sigma[j], fit.estimate.unseen[j], fit.training.rms[j]]
        values += [unseen.rms[j], unseen.rms_raw[j]] if unseen is not None else [np.nan, np.nan]
        yield f"| {joint} | " + " | ".join("-" if np.isnan(x) else f"{x:.4g}" for x in values) + " |"


def parameters(fit: Fit) -> Iterator[str]:
    if not fit.verdict.identified:
        yield "**These numbers are not identified parameters: see the verdict.**\n"
    yield "| " + " | ".join((*HEAD, STANDS_FOR)) + " |"
    yield "|---" * (len(HEAD) + 1) + "|"
    for row in rows(fit):
        yield "| " + " | ".join(row) + f" | {fit.base.combination(row[0])} |"
    yield ""
    yield f"Essential ({len(fit.essential)} of {fit.base.rank}): {', '.join(fit.essential)}"


def robot(fit: Fit) -> Iterator[str]:
    """What became of the parameters in `fit.robot`."""
    try:
        base = fit.base.K @ np.linalg.lstsq(fit.columns.T, fit.consistent.parameters - fit.columns.constant, rcond=None)[0]
    except MissingExtraError as error:
        yield str(error)
        return
    outside = np.abs(fit.estimate.theta - base) > fit.estimate.reach * fit.estimate.std
    names = [name for name, far in zip(fit.base.names, outside) if far]
    if names:
        head = f"{len(names)} of {fit.base.rank} base parameters had to leave their intervals so that links can exist"
        yield f"- {head}: {', '.join(names)}"
    else:
        yield "- links that can exist have all base parameters within their intervals"
    where, errors = ("training", fit.training) if fit.validation is None else ("validation", fit.validation)
    filtered, raw = fit.robot_error
    text = f"- torques of `fit.robot` are off by {filtered:.3%} filtered and {raw:.3%} raw ({where})"
    yield f"{text}; those of `fit.predict` by {errors.relative:.3%} and {errors.relative_raw:.3%}"
    if fit.left_out:
        yield f"- a robot and a URDF cannot hold {', '.join(fit.left_out)}: `fit.robot` lacks them, `fit.predict` has them"


def how(fit: Fit) -> Iterator[str]:
    estimate = fit.estimate
    yield f"- {estimate.method.upper()}, {estimate.samples} samples a joint in {estimate.blocks} blocks"
    yield f"- condition number {estimate.condition:.3g} with scaled columns, {estimate.condition_raw:.3g} in SI units"
    yield f"- rank gap of the base parameters {fit.base.gap:.2g}"
    for finding in fit.findings:
        yield f"- {finding.topic}: {finding.message}"


# HTML -----------------------------------------------------------------------------------------------------------------------


def page(text: str, drawn: Sequence[tuple[str, bytes]], tree: str = "") -> str:
    """The Markdown that `markdown` writes, as HTML, with pictures; `tree` is an SVG of the robot's."""
    body: list[str] = []
    for kind, lines in groupby(text.splitlines(), key=kind_of):
        rows = [line for line in lines if not line.startswith("|---")]
        if kind == "table":
            head, *rest = rows
            body.append(f"<div class='wide'><table>{table_row(head, 'th')}{''.join(map(table_row, rest))}</table></div>")
        elif kind == "list":
            body.append(f"<ul>{''.join(f'<li>{html.escape(row[2:])}</li>' for row in rows)}</ul>")
        elif kind == "head":
            levels = [len(row) - len(row.lstrip("#")) for row in rows]
            body += [f"<h{k}>{html.escape(row.strip('# '))}</h{k}>" for k, row in zip(levels, rows)]
        elif kind == "text":
            body += [f"<p>{html.escape(row.replace('**', ''))}</p>" for row in rows]
    for title, png in drawn:
        picture = base64.b64encode(png).decode()
        body.append(f"<h2>{html.escape(title)}</h2><img alt='{html.escape(title)}' src='data:image/png;base64,{picture}'>")
    body += [f"<h2>The robot</h2><div style='overflow-x:auto'>{tree}</div>"] if tree else []
    title = html.escape(text.splitlines()[0].strip("# "))
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    style, inside = f"<style>{style_sheet()}</style>", "\n".join(body)
    return f"<!doctype html><html lang='en'><head>{head}{style}</head><body class='qddot'>\n{inside}\n</body></html>\n"


def kind_of(line: str) -> str:
    """Return what kind of Markdown a line is: a table, a list, a heading, text."""
    starts = {"|": "table", "- ": "list", "#": "head"}
    return next((kind for start, kind in starts.items() if line.startswith(start)), "text" if line else "")


def table_row(line: str, kind: str = "td") -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(cell.strip())}</{kind}>" for cell in line.strip("|").split("|")) + "</tr>"


def figures(fit: Fit) -> Iterator[tuple[str, bytes]]:
    """Title and PNG of each plot."""
    for title, what in (("Measured and predicted torque", "torques"), ("Residuals", "residuals"), ("Parameters", "parameters")):
        found = fit.plot(what)
        figure = np.atleast_1d(found)[0].figure
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=90)
        pyplot().close(figure)
        yield title, stream.getvalue()
