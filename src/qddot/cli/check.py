"""Command: check descriptions for errors and probable mistakes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from qddot.cli.arguments import RobotName, argument_option, completed, json_option, package_option
from qddot.cli.printing import in_options, paragraph, plainly, print_json, sentence, tell

STDIN = "<standard input>"
FEW = 5  # the most findings of one rule and file that are shown
COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Return the codes of rules that begin so, for the shell."""
    from qddot.lint import RULES

    return completed(RULES, incomplete)


@click.command(epilog="Exit status: 0 nothing wrong, 1 an error (with --strict: or a warning), 2 a wrong call.")
@click.argument("robots", metavar="ROBOT...", type=RobotName(), nargs=-1)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--all", "everything", is_flag=True, help="Show every finding, however many are alike.")
@click.option("--ignore", multiple=True, metavar="CODE", shell_complete=codes, help="Leave out a rule. May be repeated.")
@click.option("--rules", is_flag=True, help="List the rules and end.")
@json_option
@argument_option
@package_option
def command(
    robots: tuple[Any, ...], strict: bool, everything: bool, ignore: tuple[str, ...], rules: bool, as_json: bool, **how: Any
) -> None:
    """Check each ROBOT for errors and probable mistakes: units, inertias, centres of mass, limits, axes.

    \b
    qddot check arm.urdf
    qddot check --strict robots/*.urdf
    """
    from qddot.errors import QddotError
    from qddot.lint import RULES, Finding, Severity, lint

    if rules:
        rows = {code: {"severity": severity.name.lower(), "about": about} for code, (severity, about) in RULES.items()}
        if as_json:
            print_json(rows)
        else:
            for code, row in rows.items():
                tell(f"{code}  {row['severity']:<8} {row['about']}")
        return
    if not robots:
        raise click.UsageError("Missing argument 'ROBOT...'.")
    unknown = [code for code in ignore if code not in RULES]
    if unknown:
        raise click.BadParameter(f"no rule {unknown[0]}: see qddot check --rules", param_hint="--ignore")
    found = {}
    with plainly("reading"):
        for robot in robots:
            name = robot if isinstance(robot, str) else STDIN
            try:
                findings = lint(robot, **how)
            except (QddotError, OSError) as error:  # the other robots are checked all the same
                findings = [Finding("QD001", sentence(error))]
            found[name] = [x for x in findings if x.code not in ignore]
    counts = Counter(x.severity for findings in found.values() for x in findings)
    failed = counts[Severity.ERROR] > 0 or (strict and counts[Severity.WARNING] > 0)
    if as_json:
        print_json({"failed": failed, "robots": {name: [x.data() for x in findings] for name, findings in found.items()}})
    else:
        for name, findings in found.items():
            show(name, findings, everything)
        counted = [f"{counts[kind]} {kind.name.lower()}{'s' if counts[kind] != 1 else ''}" for kind in Severity]
        why = "; --strict counts warnings as errors" if failed and counts[Severity.ERROR] == 0 else ""
        tell(f"{len(found)} checked: {', '.join(counted)}{why}")
    sys.exit(int(failed))


def show(name: str, findings: list[Any], everything: bool) -> None:
    """Print a file's name and its findings, a line each; beyond a few of one rule only their number."""
    if findings:
        click.secho(name, bold=True)
    for code, alike in groupby(findings, key=lambda x: x.code):
        same = list(alike)
        kind = same[0].severity.name.lower()
        few = len(same) if everything or code == "QD001" else FEW  # each QD001 is another mistake
        for finding in same[:few]:
            fix = f" ({finding.fix})" if finding.fix else ""
            text = paragraph(f"  {line_of(finding.where, name):>7} {code} {kind}: {in_options(finding.message)}{fix}")
            click.echo(text.replace(f"{code} {kind}", click.style(f"{code} {kind}", fg=COLORS[kind]), 1))
        if len(same) > few:
            click.echo(f"{'':>10}{code}: {len(same) - few} more like these (--all shows them)")


def line_of(where: str, name: str) -> str:
    """Return `17:34` for a place in the file that is checked; with the file's name for one in a file that it includes."""
    found = re.fullmatch(r"(.*?):(\d+(?::\d+)?)", where)
    if found is None:
        return ""
    return found[2] if Path(found[1]).stem == Path(name).stem or name == STDIN else f"{Path(found[1]).name}:{found[2]}"
