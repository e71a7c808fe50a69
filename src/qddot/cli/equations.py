"""Command: print the equations of motion in closed form."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import click

from qddot.cli.arguments import (
    NOTATIONS,
    QuantityName,
    digits_option,
    g_option,
    robot_argument,
    robot_options,
    symbolic_option,
    symbols_option,
)
from qddot.cli.printing import plainly, print_json, tell

FORMS = (
    "mass_matrix", "coriolis_torque", "gravity_torque", "coriolis_matrix", "christoffel", "friction_torque", "spring_torque",
    "inverse_dynamics", "kinetic_energy", "potential_energy", "lagrangian", "hamiltonian", "mass_matrix_rate", "jacobian",
    "jacobian_dot", "transform", "centrifugal_matrix", "coriolis_products_matrix", "generalized_momentum", "hamilton.H",
    "hamilton.qd", "hamilton.pd", "stacked.A", "stacked.L", "stacked.W", "stacked.G", "stacked.V", "stacked.Vdot", "stacked.F",
    "constraints.residual", "constraints.A", "constraints.Adot", "constraints.lam", "constraints.qdd", "constraints.P",
    "constraints.N", "constraints.reduced",
)  # fmt: skip
"""Quantities that have a closed form."""

STYLED = ("text", "latex", "mathml")
DIGITS, EXACT = 6, 7  # digits of rounded numbers; decimals with up to EXACT digits are printed as given


@click.command(epilog=f"Quantities: {', '.join(FORMS)}.")
@robot_argument
@click.argument("quantities", metavar="[QUANTITY]...", type=QuantityName(FORMS), nargs=-1)
@click.option("--format", "style", type=click.Choice((*STYLED, "python", "c")), default="text")
@click.option(
    "--notation",
    type=click.Choice(NOTATIONS),
    help="Author whose letters are used: M or B, c or V, g or G; for text, latex and mathml.",
)
@digits_option
@g_option
@symbols_option
@symbolic_option
@robot_options
def command(
    robot: Any, quantities: tuple[str, ...], style: str, notation: str | None, digits: int | None, g: str | None, symbols: str,
    as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Print the equations of motion of ROBOT in closed form: tau = M qdd + c + g, with friction and springs if it has them, or
    each QUANTITY.

    \b
    qddot equations point_mass_2r --symbolic --g g
    qddot derive point_mass_2r --symbolic -o arm.pdf   # or .html, .tex
    qddot equations puma560 mass_matrix --symbols inertial --format latex
    """
    import qddot
    from qddot.symbolic.derivation import with_gravity_symbol
    from qddot.symbolic.equations import Equations
    from qddot.symbolic.printing.printer import printer_for
    from qddot.symbolic.printing.shown import summands

    said = [name for name, value in (("--notation", notation), ("--digits", digits)) if value is not None]
    if said and style not in STYLED:
        raise click.UsageError(f"{said[0]} does not apply to --format {style}")
    written: dict[str, Any] = {}
    if style in STYLED:
        written = {"lhs": True, "notation": notation or "qddot", "rounded": True}
        written |= {"digits": digits or DIGITS, "exact": max(digits or 0, EXACT)}
    with plainly("computing closed forms"):
        loaded = qddot.load(robot, **how)
        found = Equations(loaded.model if g is None else with_gravity_symbol(loaded.model, g)[0], symbols)
        whole = [] if quantities else summands(found)
        wanted = quantities or [form.name for form in whole]
        for note in found.notes:
            if note != found.exact_model.open_tree or not all(name.startswith("constraints.") for name in wanted):
                tell(f"note: {note}", err=True)
        if whole and found.alphabet.loads:
            tell("note: friction that grows with the load is not in tau_f; the quantity inverse_dynamics has all of it", err=True)
        texts = {}
        if whole and style in STYLED:
            texts["equation"] = printer_for(style, found, written).law(whole)
        for name in wanted:
            form = attrgetter(name)(found)
            texts[name] = getattr(form() if callable(form) else form, style)(**written)
    if as_json:
        print_json(texts)
    else:
        for text in texts.values():
            (tell if style == "text" else click.echo)(text)
