"""Command: measure speed on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from qddot.cli.arguments import QuantityName, robot_argument, robot_options
from qddot.cli.printing import plainly, print_json, print_table, table

USUAL = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "regressor")
LEAST = 0.2  # s of measuring per quantity


@click.command()
@robot_argument
@click.argument("quantities", metavar="[QUANTITY]...", type=QuantityName(), nargs=-1)
@click.option("--batch", type=click.IntRange(1), default=4096, show_default=True, help="States in a batch.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@robot_options
def command(robot: Any, quantities: tuple[str, ...], batch: int, threads: int, as_json: bool, **how: Any) -> None:
    """Measure the time of each QUANTITY of ROBOT on this machine: first call, one call, and one state of a batch.

    \b
    qddot bench arm7
    qddot bench panda.urdf inverse_dynamics --batch 100000 --threads 8
    """
    import numpy as np

    import qddot
    from qddot.algorithms.quantities import QUANTITIES

    rows = []
    with plainly("measuring"):
        found = qddot.load(robot, **how)
        rng = np.random.default_rng(0)
        frame = {"frame": found.frame_names[-1]}
        for name in quantities or USUAL:
            method, entry = getattr(found, name), QUANTITIES[name]
            options: dict[str, Any] = frame if "frame" in entry.options else {}
            many = [
                found.random_configuration(rng, batch) if x == "q" else rng.normal(size=(batch, found.nv)) for x in entry.inputs
            ]
            one = [x[0] for x in many]
            began = time.perf_counter()
            method(*one, **options)
            first = time.perf_counter() - began
            call = best(lambda: method(*one, **options))  # noqa: B023
            whole = best(lambda: method(*many, threads=threads, **options)) / batch  # noqa: B023
            operations = sum(found.operations(name, **options))
            rows.append({"quantity": name, "first_s": first, "call_s": call, "state_s": whole, "operations": operations})
    if as_json:
        print_json({"robot": found.name, "batch": batch, "threads": threads, "rows": rows})
        return
    numbers = ("first call", "one call", "a state of a batch", "operations")
    shown = table("quantity", *numbers, title=f"{found.name}, batches of {batch}, {threads} thread(s)", right=numbers)
    for row in rows:
        shown.add_row(row["quantity"], *(f"{si(row[key])}s" for key in ("first_s", "call_s", "state_s")), str(row["operations"]))
    print_table(shown)


def best(call: Callable[[], Any]) -> float:
    """Return seconds per call: the least of several runs that together take `LEAST`."""
    count, least = 1, float("inf")
    call()
    end = time.perf_counter() + LEAST
    while time.perf_counter() < end:
        began = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - began
        least = min(least, took / count)
        if took < LEAST / 20:
            count *= 2
    return least


def si(seconds: float) -> str:
    """Return a time with its prefix, such as `172 n`."""
    for factor, prefix in ((1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {prefix}"
    return f"{seconds / 1e-9:.3g} n"
