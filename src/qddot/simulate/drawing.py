"""Trajectories as pictures: curves over time, and a stick figure that moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError, missing_extra
from qddot.model.lower import WORLD

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from qddot.robot import Robot
    from qddot.simulate.trajectory import Trajectory

MARGIN = 1.1  # around the motion


def plot(motion: Trajectory) -> Figure:
    """See `Trajectory.plot`."""
    figure = new_figure(8, 9)
    axes = figure.subplots(4, 1, sharex=True)
    names = [
        f"{c.name}[{i}]" if len(c.v) > 1 else c.name for c in motion.robot.model.mechanism.coordinates for i in range(len(c.v))
    ]
    signals = (("q [rad, m]", motion.q), ("qd [rad/s, m/s]", motion.qd), ("tau [N m, N]", motion.tau))
    for ax, (title, values) in zip(axes, signals):
        ax.plot(motion.t, values)
        ax.set_ylabel(title)
    axes[1].legend(names, fontsize="small", loc="upper right")
    for name in ("kinetic_energy", "potential_energy", "energy"):
        axes[3].plot(motion.t, getattr(motion, name), label=name.replace("_", " "))
    axes[3].set_ylabel("energy [J]")
    axes[3].set_xlabel("t [s]")
    axes[3].legend(fontsize="small")
    return figure


def animate(motion: Trajectory, path: str | Path | None, fps: float) -> FuncAnimation:
    """See `Trajectory.animate`."""
    suffix = "" if path is None else Path(path).suffix.lower()
    if path is not None and suffix not in (".gif", ".html"):
        raise InputError(f"{path}: an animation is saved as .gif or .html")
    figure = new_figure(6, 6)
    from matplotlib.animation import FuncAnimation

    times = np.arange(motion.t[0], motion.t[-1], 1 / fps)
    lines = stick_figure(motion.robot, motion.q[np.searchsorted(motion.t, times)])
    ax: Any = figure.add_subplot(projection="3d")
    points = np.concatenate([line.reshape(-1, 3) for line in lines])
    middle, reach = (points.max(0) + points.min(0)) / 2, max(float(np.ptp(points, axis=0).max()) / 2, 1e-3) * MARGIN
    ax.set(**{f"{x}lim": (m - reach, m + reach) for x, m in zip("xyz", middle)}, xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    ax.set_box_aspect((1, 1, 1))
    drawn = [ax.plot(*line[0].T, "o-", color="C0", markersize=3)[0] for line in lines]

    def show(k: int) -> list[Any]:
        for curve, line in zip(drawn, lines):
            curve.set_data_3d(*line[k].T)
        ax.set_title(f"t = {times[k]:.2f} s")
        return drawn

    film = FuncAnimation(figure, show, frames=len(times), interval=1000 / fps)
    if suffix == ".gif":
        film.save(str(path), writer="pillow", fps=int(fps))
    elif suffix == ".html":
        Path(str(path)).write_text(film.to_jshtml(fps=int(fps)), encoding="utf-8")
    return film


def stick_figure(robot: Robot, q: np.ndarray) -> list[np.ndarray]:
    """One line (samples, 2, 3) from each moving link to the one that carries it, and to each frame at an end."""
    bodies = [body for body in robot.model.bodies if body.is_link]
    link = {body.index: body.name for body in bodies}
    at = {name: robot.transform(q, name)[..., :3, 3] for name in robot.frame_names}
    root = at[robot.model.root]
    pairs = []
    for body in bodies:
        parent = body.parent
        while parent != WORLD and parent not in link:  # the sliders of a planar joint
            parent = robot.model.bodies[parent].parent
        pairs.append((root if parent == WORLD else at[link[parent]], at[body.name]))
    parents = {body.parent for body in bodies}
    for name, (index, _) in robot.model.mechanism.frames.items():
        if index in link and index not in parents and name != link[index]:
            pairs.append((at[link[index]], at[name]))
    return [np.stack(np.broadcast_arrays(a, b), axis=-2) for a, b in pairs]


def new_figure(width: float, height: float) -> Figure:
    """Without a window."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot", "drawing") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
