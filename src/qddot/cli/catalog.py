"""Command: list the robots that can be loaded by name."""

from __future__ import annotations

import warnings
from typing import Any

import click

from qddot.cli.arguments import completed, json_option
from qddot.cli.printing import plainly, print_json, print_table, table, tell, terminal_width

WIDE, NARROW = 110, 76  # characters per line of a terminal: from WIDE on all columns, below NARROW no table
COLUMNS = ("name", "dof", "mass, kg", "what it is", "numbers from", "licence")


def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Return the robots' names that begin so, for the shell."""
    from qddot.catalog import known_names

    return completed(known_names(), incomplete)


@click.command()
@click.argument("search", required=False, default="", shell_complete=names)
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
    width = terminal_width() or WIDE
    columns = COLUMNS if width >= WIDE else COLUMNS[:4]
    shown = table(*columns, right=("dof", "mass, kg"))
    for entry in rows:
        mass = "-" if entry["mass"] is None else f"{entry['mass']:.4g}"
        dof = "-" if entry["dof"] is None else str(entry["dof"])
        shown.add_row(*(entry["name"], dof, mass, entry["title"], entry["source"], entry["licence"])[: len(columns)])
        if width < NARROW:
            tell(f"{entry['name']}: {dof} dof, {mass} kg\n    {entry['title']}")
    if width >= NARROW:
        print_table(shown)
    if len(columns) < len(COLUMNS):
        tell("a wider terminal shows sources and licences, too", err=True)
    if not catalog.installed():
        tell(catalog.EXTRA, err=True)


def row(entry: Any) -> dict[str, Any]:
    """Return a row of the list: name, degrees of freedom, mass (None without masses), and words; only the words if it cannot be
    read."""
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
    if model.kinematics_only:
        return {**data, **words, "title": f"{words['title']} (kinematics only)"}
    return {**data, "mass": float(Details(model).mass), **words}
