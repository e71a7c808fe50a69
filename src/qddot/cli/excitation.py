"""Command: plan a motion for identification."""

from __future__ import annotations

from typing import Any

import click

from qddot.cli.arguments import Numbers, for_each_joint, robot_argument, robot_options
from qddot.cli.printing import plainly, print_json, tell, working, written


class Radius(click.ParamType):
    """An argument that is a number, or the word `described`."""

    name = "radius"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        return value if value == "described" else click.FLOAT.convert(value, param, ctx)


@click.command()
@robot_argument
@click.option("--csv", type=click.Path(dir_okay=False), metavar="FILE", help="Write t, q, qd and qdd there.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1000.0, help="Samples per second in the file.")
@click.option("--period", type=float, default=15.0, help="Period of the Fourier series, s.", show_default=True)
@click.option("--harmonics", type=int, default=5, help="Harmonics of the series.", show_default=True)
@click.option("--ramp", type=float, default=2.0, help="Duration of the start from rest and of the stop, s.", show_default=True)
@click.option("--periods", type=int, default=1, help="How often the series is repeated.", show_default=True)
@click.option("--velocity", type=Numbers(), help="Limit of all joints, or one per joint, instead of the robot's.")
@click.option("--acceleration", type=Numbers(), help="Limit of all joints, or one per joint; none if not given.")
@click.option("--radius", type=Radius(), help="Radius of capsules around the links, which must not touch, m, or 'described'.")
@click.option("--floor", type=float, help="Height of the floor, m (with --radius).")
@click.option(
    "--box",
    "boxes",
    type=Numbers("0.5,0,0.2,0.1,0.1,0.4", 6),
    multiple=True,
    help="Centre and edges of a box, six numbers, m (with --radius). May be repeated.",
)
@click.option("--home", type=Numbers(), help="Configuration where the motion starts and ends.")
@click.option("--seed", type=int, default=0, help="Seed of the random series from which the search starts.")
@robot_options
def command(
    robot: Any, csv: str | None, rate: float, velocity: list[float] | None, acceleration: list[float] | None,
    home: list[float] | None, as_json: bool, **rest: Any,
) -> None:  # fmt: skip
    """Plan a motion of ROBOT, from rest to rest and within all limits, from which its parameters can be identified best.

    \b
    qddot excitation arm.urdf --csv plan.csv --velocity 1.5 --acceleration 5
    """
    import qddot

    names = ("period", "harmonics", "ramp", "periods", "radius", "floor", "seed")
    options: dict[str, Any] = {name: rest.pop(name) for name in names}
    options["boxes"] = [(box[:3], box[3:]) for box in rest.pop("boxes")]
    with plainly():
        found = qddot.load(robot, **rest)
        if velocity is not None:
            options["limits"] = found.limits._replace(velocity=one_or_each(found, "--velocity", velocity))
        if acceleration is not None:
            options["acceleration"] = one_or_each(found, "--acceleration", acceleration)
        for_each_joint(found, "--home", home, positions=True)
        with working("searching") as say:
            motion = found.excitation(home=home, on_progress=say, **options)
        if csv is not None:
            motion.to_csv(csv, rate)
    if as_json:
        print_json({"robot": found.name, "motion": repr(motion), "files": [csv] if csv else []})
    else:
        tell(repr(motion))
        written([csv] if csv else [], False)


def one_or_each(robot: Any, option: str, values: list[float]) -> Any:
    """Return a number for each joint, from as many or from one for all."""
    import numpy as np

    if len(values) != 1:
        for_each_joint(robot, option, values)
    return np.broadcast_to(np.array(values, float), (robot.nv,)).copy()
