"""The robots there are by name."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from shutil import get_terminal_size
from typing import Any

import click

from qddot.cli.arguments import json_option
from qddot.cli.printing import plainly, print_json, print_table, table
from qddot.progress import is_terminal

WIDE = 110  # characters of a terminal
NOUNS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slider", "helical": "screw", "spherical": "ball joint"}
COLUMNS = ("name", "dof", "mass, kg", "what it is", "numbers from", "licence")


@click.command()
@click.argument("search", required=False, default="")
@click.option("--ours", is_flag=True, help="Only those that come with qddot.")
@json_option
def command(search: str, ours: bool, as_json: bool) -> None:
    """List the robots that can be loaded by name, or those whose name or description contains SEARCH.

    \b
    qddot catalog
    qddot catalog ur
    """
    from qddot import catalog
    from qddot.errors import near_matches

    wanted = [x for x in catalog.containing(search) if not ours or (x.path is not None and x.path.parent == catalog.BUNDLED)]
    if not wanted:
        names = catalog.catalog_names() if ours else catalog.known_names()
        raise click.ClickException(f"no robot has {search!r} in it: {near_matches(search, names)}")
    with plainly(f"reading {len(wanted)} robots"):
        rows = [row(entry) for entry in wanted]
    if as_json:
        print_json(rows)
        return
    columns = COLUMNS if not is_terminal(sys.stdout) or get_terminal_size().columns >= WIDE else COLUMNS[:4]
    shown = table(*columns, right=("dof", "mass, kg"))
    for entry in rows:
        mass = "-" if entry["mass"] is None else f"{entry['mass']:.4g}"
        dof = "-" if entry["dof"] is None else str(entry["dof"])
        shown.add_row(*(entry["name"], dof, mass, entry["title"], entry["source"], entry["licence"])[: len(columns)])
    print_table(shown)
    if len(columns) < len(COLUMNS):
        click.echo("a wider terminal shows sources and licences, too", err=True)
    if not catalog.installed():
        click.echo(catalog.EXTRA, err=True)


def row(entry: Any) -> dict[str, Any]:
    """Return what is listed; a robot without masses has none, one that cannot be read has neither."""
    from qddot.catalog import WHEEL
    from qddot.errors import ModelError
    from qddot.formats import load_model
    from qddot.model.details import Details

    data: dict[str, Any] = {"name": entry.name, "dof": entry.dof, "mass": None}
    words = {"title": entry.title, "source": entry.source, "licence": entry.licence}
    if entry.path is None:
        return {**data, **words, "title": f"{entry.title} (downloaded when loaded)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load_model(entry.path)
        except ModelError as error:
            return {**data, **words, "title": f"{entry.title} (cannot be read: {error.rule})"}
    data["dof"] = model.mechanism.nv
    if entry.source == WHEEL:  # where a file's name is all there is
        known = letters(entry.title) in letters(entry.name)
        words["title"] = shape(model) if known else f"{entry.title} ({shape(model)})"
    if model.kinematics_only:
        return {**data, **words, "title": f"{words['title']} (kinematics only)"}
    return {**data, "mass": float(Details(model).mass), **words}


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.lower())


def shape(model: Any) -> str:
    """`12 hinges, 4 ends`: of a robot that nobody describes."""
    kinds = Counter(NOUNS.get(c.kind, f"{c.kind} joint") for c in model.mechanism.coordinates)
    if not kinds:
        return "nothing that moves"
    ends = len(set(range(len(model.bodies))) - {body.parent for body in model.bodies})
    joints = " and ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in kinds.items())
    return f"{joints} in a row" if ends == 1 else f"{joints}, {ends} ends"
