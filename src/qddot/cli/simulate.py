"""Command: simulate a motion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from qddot.cli.arguments import Numbers, OutputFile, completed, for_each_joint, robot_argument, robot_options, warn_of_degrees
from qddot.cli.printing import plainly, print_json, tell, working, written

FEW = 10  # the most events that are shown
SUFFIXES = {".csv": "a table", ".parquet": "a table", ".png": "a plot", ".svg": "a plot", ".pdf": "a plot"}
FILMS = (".gif", ".mp4")
METHODS = ("rk4", "variational", "euler", "RK45", "DOP853", "Radau")
SUFFIXES |= {".html": "a page to be played", ".gif": "a film", ".mp4": "a film"}


@click.command(epilog=f"Files by their suffix: {', '.join(f'{suffix} {what}' for suffix, what in SUFFIXES.items())}.")
@robot_argument
@click.option(
    "--time", "-t", "time", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True, help="Duration, s."
)
@click.option("--q0", type=Numbers(), help="First configuration; home, within the limits, if not given.")
@click.option("--qd0", type=Numbers(), help="First velocity; at rest if not given.")
@click.option("--torque", type=Numbers(), help="Constant joint forces; none if not given.")
@click.option(
    "--method",
    default="rk4",
    show_default=True,
    shell_complete=lambda ctx, param, incomplete: completed(METHODS, incomplete),
    help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.",
)
@click.option("--step", type=click.FloatRange(min=0, min_open=True), default=1e-3, show_default=True, help="Longest step, s.")
@click.option("--every", type=click.IntRange(1), default=1, help="Keep each k-th sample only.")
@click.option("--output", "-o", "outputs", type=OutputFile(*SUFFIXES), multiple=True, help="Write a file. May be repeated.")
@robot_options
def command(
    robot: Any, time: float, q0: list[float] | None, qd0: list[float] | None, torque: list[float] | None, method: str, step: float,
    every: int, outputs: tuple[str, ...], as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Simulate ROBOT from a state and print the state it reaches; -o motion.csv, motion.png or motion.html save the motion.

    Joints stop at their limits of position. Limits of speed and effort belong to motors and controllers, which are not simulated: a
    warning says where they are exceeded.

    \b
    qddot simulate acrobot --q0 1,0 -t 10 -o motion.png
    qddot simulate two_link --q0 0.3,0.4 -o motion.csv -o motion.html
    """
    import qddot

    with plainly("" if method == "rk4" else "simulating"):
        found = qddot.load(robot, **how)
        for_each_joint(found, "--q0", q0, positions=True)
        for_each_joint(found, "--qd0", qd0)
        for_each_joint(found, "--torque", torque)
        warn_of_degrees(found, "--q0", q0)
        start = found.home() if q0 is None else q0
        motion = found.simulate(start, qd0, time, torque=torque, method=method, step=step, every=every)
        for path in outputs:
            with working("" if Path(path).suffix in FILMS else f"writing {path}"):  # films have a bar of their own
                save(motion, path)
    end = {"t": motion.t[-1], "q": motion.q[-1], "qd": motion.qd[-1]}
    energy, off = motion.energy, motion.energy_residual[-1]
    for words in beyond(motion, torque):
        tell(f"warning: {words}", err=True)
    events = [{"kind": event.kind, "joint": event.joint, "t": event.time} for event in motion.events]
    if as_json:
        energies = {"first": energy[0], "last": energy[-1], "impacts": motion.impact_loss[-1], "unaccounted": off}
        print_json(
            {"robot": found.name, "samples": len(motion), "end": end, "energy": energies, "events": events, "files": outputs}
        )
        return
    tell(f"{found.name} after {end['t']:g} s, {len(motion)} samples")
    coordinates = found.model.mechanism.coordinates
    for c in coordinates:
        values = ", ".join(f"{x:.6g}" for x in end["q"][c.q.start : c.q.stop])
        rates = ", ".join(f"{x:.6g}" for x in end["qd"][c.v.start : c.v.stop])
        tell(f"  {c.name}: q {values}  qd {rates}")
    tell(f"  energy {energy[0]:.6g} J at first, {energy[-1]:.6g} J at last, unaccounted for {off:.2g} J")
    if stopped := at_their_stops(motion):
        tell(f"  {', '.join(stopped)} ran into stops, whose impacts took {motion.impact_loss[-1]:.4g} J")
    for event in events[:FEW]:
        tell(f"  {event['kind']} of {event['joint']} at {event['t']:.6g} s")
    if len(events) > FEW:
        tell(f"  ... and {len(events) - FEW} more events")
    written(list(outputs), False)


def at_their_stops(motion: Any) -> list[str]:
    """Return the names of joints that are at a limit in some sample."""
    found = []
    for c in motion.robot.model.mechanism.coordinates:
        if c.single:
            x = motion.q[:, c.q.start]
            if (x <= c.limits.lower).any() or (x >= c.limits.upper).any():
                found.append(c.name)
    return found


def beyond(motion: Any, torque: list[float] | None) -> Iterator[str]:
    """Yield sentences on joints that exceeded their limits of speed or effort."""
    singles = [c for c in motion.robot.model.mechanism.coordinates if c.single]
    speeds = [(c, float(abs(motion.qd[:, c.v.start]).max()), c.limits.velocity) for c in singles]
    forces = [(c, abs(torque[c.v.start]), c.limits.effort) for c in singles] if torque is not None else []
    for what, reached, slider, hinge in (("speed", speeds, "m/s", "rad/s"), ("effort", forces, "N", "N m")):
        over = [f"{c.name} {x:.3g} {slider if c.kind == 'prismatic' else hinge} (limit {y:g})" for c, x, y in reached if x > y]
        if over:
            yield f"limits of {what} are not enforced here, and were passed: {', '.join(over)}"


def save(motion: Any, path: str) -> None:
    """Write a motion to a file in the format of its suffix."""
    match Path(path).suffix.lower():
        case ".csv":
            motion.to_csv(path)
        case ".parquet":
            motion.to_parquet(path)
        case ".html":
            motion.explore(path)
        case ".gif" | ".mp4":
            motion.animate(path)
        case _:
            motion.plot()[0].figure.savefig(path, dpi=150)
