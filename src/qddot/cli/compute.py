"""Command: evaluate one quantity, in one state or in those of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

from qddot.cli.arguments import (
    Numbers,
    OutputFile,
    QuantityName,
    chosen_options,
    digits_option,
    for_each_joint,
    frame_option,
    quantity_options_option,
    robot_argument,
    robot_options,
    warn_of_degrees,
)
from qddot.cli.printing import plainly, print_json, tell, terminal_width, written

DIGITS, LEAST = 10, 4
MANY = 1000  # numbers that nobody reads one by one: the digits are not adapted to the terminal
DUST = 1e-10  # fraction of the largest number below which one is printed as 0; JSON and files have every bit

INPUTS = {
    "q": "Configuration, such as 0,pi/2; neutral if not given.",
    "qd": "Velocity; zero if not given.",
    "qdd": "Acceleration; zero if not given.",
    "jerk": "Third derivative of q; zero if not given.",
    "snap": "Fourth derivative of q; zero if not given.",
    "tau": "Joint forces; zero if not given.",
    "p": "Momenta M qd; zero if not given.",
}


def input_options(function: Any) -> Any:
    """Add an option for each input."""
    for name, words in reversed(INPUTS.items()):
        function = click.option(f"--{name}", type=Numbers(), help=words)(function)
    return function


class WithQuantities(click.Command):
    """A command whose help ends in a list of the quantities, which are loaded only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from qddot.algorithms.quantities import QUANTITIES

        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"Quantities: {', '.join(QUANTITIES)}.")


@click.command(cls=WithQuantities)
@robot_argument
@click.argument("quantity", type=QuantityName())
@input_options
@click.option(
    "--states", type=click.Path(exists=True, dir_okay=False), help="Many states: a CSV or Parquet file with columns q1, qd1, ..."
)
@click.option("--output", "-w", type=OutputFile(".csv", ".parquet"), help="Write the results there: .csv or .parquet.")
@frame_option
@quantity_options_option
@digits_option
@robot_options
def command(
    robot: Any, quantity: str, states: str | None, output: str | None, frame: str | None,
    options: tuple[tuple[str, str], ...], digits: int | None, as_json: bool, **rest: Any,
) -> None:  # fmt: skip
    """Evaluate QUANTITY of ROBOT (mass_matrix, inverse_dynamics, jacobian, ...) in one state, or in those of a file.

    \b
    qddot compute two_link mass_matrix --q pi/3,pi/2
    qddot compute puma560 jacobian -o reference=body
    qddot compute puma560 inverse_dynamics --states motion.csv -w torques.csv
    """
    import numpy as np

    import qddot
    from qddot.algorithms.quantities import QUANTITIES

    if states is not None or output is not None:
        from qddot.cli.states import read_states, write_results  # they bring SciPy: 0.3 s

    arrays = {name: rest.pop(name) for name in INPUTS}
    given = {name: x for name, x in arrays.items() if x is not None}
    entry, chosen = QUANTITIES[quantity], chosen_options(options, frame)
    refuse_unused(quantity, given, chosen)
    with plainly(f"computing {quantity}"):
        found = qddot.load(robot, **rest)
        for name, values in given.items():
            for_each_joint(found, f"--{name}", values, positions=name == "q")
        warn_of_degrees(found, "--q", given.get("q"))
        many, notes = read_states(found, states, entry.inputs) if states is not None else ({}, [])
        if both := set(many) & set(given):
            raise click.UsageError(f"--{sorted(both)[0]} is in {states}, too: give it once")
        for note in [*notes, *assumed(states, [name for name in entry.inputs if name not in many and name not in given])]:
            tell(f"note: {note}", err=True)
        if "q" in many and found.nq:
            warn_of_degrees(found, str(states), many["q"][np.abs(many["q"]).argmax(axis=0), range(found.nq)].tolist())
        state = dict.fromkeys(arrays, np.zeros(found.nv)) | {"q": found.neutral(), **many, **given}
        result = getattr(found, quantity)(*(state[name] for name in entry.inputs), **chosen)
        parts = dict(zip(entry.outputs, result if isinstance(result, tuple) else (result,)))
        if output is not None:
            write_results(output, parts, len(next(iter(many.values()))) if many else None)
            written([output], as_json)
            return
    if as_json:
        print_json({"robot": found.name, "quantity": quantity, **parts})
        return
    arrays = {name: np.asarray(part, float) for name, part in parts.items()}
    shown = digits or digits_that_fit(list(arrays.values()))
    for name, array in arrays.items():
        text = written_out(array, shown)
        click.echo(f"{name}:\n{text}" if len(parts) > 1 else text)
    if shown < (digits or DIGITS):
        tell(f"rounded to {shown} digits, which fit this terminal; --digits shows more", err=True)


def assumed(states: str | None, missing: list[str]) -> list[str]:
    """Return notes on inputs that a file lacks; none for a single state from the command line."""
    if states is None:
        return []
    positions = [f"q is not in {states}: neutral"] if "q" in missing else []
    others = [name for name in missing if name != "q"]
    return positions + ([f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} not in {states}: zero"] if others else [])


def digits_that_fit(arrays: list[Any]) -> int:
    """Return the number of digits that a terminal has room for, at least `LEAST`; all if there is no terminal."""
    width = terminal_width()
    if width is None or sum(array.size for array in arrays) > MANY:
        return DIGITS
    fits = (n for n in range(DIGITS, LEAST, -1) if all(len(x) <= width for a in arrays for x in written_out(a, n).splitlines()))
    return next(fits, LEAST)


def written_out(array: Any, digits: int) -> str:
    """Return a whole array as text, in columns; numbers that are rounding errors beside its largest one are printed as 0."""
    import numpy as np

    shown = np.where(np.abs(array) <= DUST * np.abs(array).max(initial=0.0), 0.0, array)
    width = max((len(f"{x:.{digits}g}") for x in shown.flat), default=0)
    how: dict[str, Any] = {"threshold": sys.maxsize, "max_line_width": sys.maxsize}
    return np.array2string(shown, formatter={"float_kind": lambda x: f"{x:.{digits}g}".rjust(width)}, **how)


def refuse_unused(quantity: str, inputs: Iterable[str], options: Iterable[str]) -> None:
    """Refuse inputs and options that the quantity does not depend on."""
    from qddot.algorithms.quantities import QUANTITIES
    from qddot.errors import near_matches

    entry = QUANTITIES[quantity]
    for name in inputs:
        if name not in entry.inputs:
            raise click.UsageError(f"{quantity} does not depend on --{name}, only on {', '.join(f'--{x}' for x in entry.inputs)}")
    for name in options:
        if name == "frame" and name not in entry.options:
            raise click.UsageError(f"{quantity} does not depend on --frame")
        if name not in entry.options:
            raise click.UsageError(f"{quantity} has no option {name!r}: {near_matches(name, entry.options)}")
