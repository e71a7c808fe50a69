"""A robot drawn by Matplotlib: solid links, axes of joints, frames and the tip; seen straight on if it moves in a plane.

An `Arm` is drawn once, in one configuration; films then move the artists that it has drawn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qddot.algorithms.kinematics import world_poses
from qddot.arguments import flag
from qddot.errors import InputError
from qddot.model.field import Floats
from qddot.model.joints import Free, Rotor, Spherical
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.pose import to_matrix
from qddot.pictures.frames import XYZ, serial_frames, steps, table_kind
from qddot.pictures.look import color, one
from qddot.pictures.shapes import Shape
from qddot.pictures.solids import Solid, arrow, outline, solid
from qddot.pictures.view import AZIMUTH, ELEVATION, extent, gravity_of, own_view, thickness, unit, upward
from qddot.pictures.visuals import looks

METAL = {"base": "#5b6470", "drum": "#3c4654", "rail": "#3c4654", "even": "#b9c2cf", "odd": "#d9dde3"}
INK, FAINT, TIP = "#1b1b1b", "#5f6368", "#cc79a7"
LIGHT = np.array([0.4, -0.7, 0.3])
MARGIN = 1.1
GRAVITY = 30.0  # points: length of its arrow
WIDTH, HEIGHTS = 6.4, (3.0, 7.0)  # inches: width, and least and largest height, of a new figure for a planar robot
SEEN_THROUGH = 0.35  # opacity of links when frames are drawn
GENERAL = 0.37  # rad or m: position of joints that makes special configurations unlikely

FACES = 800
"""Most triangles of one mesh file: Matplotlib sorts and fills each of them."""

Poses = dict[int, np.ndarray]
"""Poses in the world (4 x 4), by the index of the body."""


def draw(model: Model, q: np.ndarray, ax: Any, frames: bool) -> Any:
    """See `Robot.plot`."""
    if q.ndim > 1:
        raise InputError(f"one configuration can be drawn, q has shape {q.shape}: choose one")
    arm = Arm(model, None if hasattr(ax, "zaxis") else own_view(model), frames=flag("frames", frames))
    poses = arm.poses(q)
    points = arm.points(poses)
    new = ax is None
    ax = arm.axes(ax, points)
    arm.show(ax, poses, points)
    if new:
        ax.set_title(model.name)
    return ax


class Arm:
    """A robot that can be drawn by `show` once, and then moved by `move` as often as needed.

    Args:
        view: (2, 3), the directions to the right and up on a flat page; None: draw it in space.
        frames: also draw the frames of all links with their names, and the distances of a Denavit-Hartenberg table.
        plain: draw drums and capsules, not the shapes of the description.
    """

    def __init__(self, model: Model, view: np.ndarray | None, *, frames: bool = False, plain: bool = False) -> None:
        self.model, self.lifted, self.reach = model, model.over(Floats()), extent(model)
        self.thickness = thickness(model)
        self.view = view
        self.normal = None if view is None else np.cross(*view)
        moving = [body for body in model.bodies if not isinstance(body.joint, Rotor)]
        self.hinges = [body.index for body in moving if not isinstance(body.joint, (Free, Spherical))]
        try:
            self.tip: str | None = model.tip
        except InputError:  # there are several ends
            self.tip = None
        self.chain = serial_frames(model) if frames else []
        self.names = ([model.root, *(body.name for body in moving if body.is_link)]) if frames else []
        self.table = self.kind_of_table()
        self.solids = self.metal(moving, plain or frames)
        self.links = len(self.solids)
        self.solids += self.arrows()

    def metal(self, moving: list, plain: bool) -> list[tuple[int, Any, Solid]]:
        """Return body, colour and solid of each shape; in a flat drawing later ones are in front."""
        look = looks(self.model, None if plain else FACES)
        closing = [(WORLD, METAL["drum"], solid(x)) for x in look.base if x["kind"] == "drum"]  # where loops meet the ground
        found = [(WORLD, ink(x, METAL["base"]), solid(x)) for x in look.base if x["kind"] != "drum"]
        for k, body in enumerate(moving):
            shade = METAL["odd" if k % 2 else "even"]
            shapes = sorted(look.bodies[body.index], key=lambda x: x["kind"] == "drum")
            found += [(body.index, ink(x, METAL.get(x["kind"], shade)), solid(x)) for x in shapes]
        return found + closing

    def arrows(self) -> list[tuple[int, Any, Solid]]:
        """Return the arrows of the frames that are drawn: of base and tip, or of all links."""
        found = []
        for name in self.names or [self.model.root, *([self.tip] if self.tip else [])]:
            body, pose = self.lifted.frame(name)
            T = to_matrix(pose)
            for k in (0, 2) if self.table else range(3):
                tip = T[:3, 3] + self.arrow_length * T[:3, k]
                found += [(body, XYZ[k], part) for part in arrow(T[:3, 3], tip, 0.12 * self.thickness)]
        return found

    @property
    def is_flat(self) -> bool:
        return self.view is not None

    @property
    def arrow_length(self) -> float:
        return (4.0 if self.names else 3.0) * self.thickness

    def kind_of_table(self) -> str | None:
        """Return the convention of the Denavit-Hartenberg table whose frames the chain has; None if it has no such frames."""
        if len(self.chain) < 2 or self.lifted.nq != self.lifted.nv:
            return None
        poses = self.poses(np.array([GENERAL + 0.1 * i for i in range(self.lifted.nq)]))
        return table_kind([self.frame(poses, name) for name in self.chain], self.reach)

    # places ------------------------------------------------------------------------------------------------------------------

    def poses(self, q: np.ndarray) -> Poses:
        return {index: to_matrix(pose) for index, pose in world_poses(self.lifted, [float(x) for x in q]).items()}

    def frame(self, poses: Poses, name: str) -> np.ndarray:
        """Return the pose (4, 4) of a frame in the world."""
        body, pose = self.lifted.frame(name)
        return poses[body] @ to_matrix(pose)

    def page(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3) as they are plotted: unchanged in space, projected (..., 2) on a flat page."""
        return points if self.view is None else points @ self.view.T

    def points(self, poses: Poses) -> np.ndarray:
        """Return the points (k, 3) that must be in view: all except the ends of rails."""
        seen = [x.placed(poses[body]) for body, _, x in self.solids if x.kind != "rail"]
        return np.concatenate([np.zeros((1, 3)), *seen])

    # drawing -----------------------------------------------------------------------------------------------------------------

    def show(self, ax: Any, poses: Poses, points: np.ndarray) -> list[Any]:
        """Draw the robot in axes with room for these points (k, 3); return the artists that `move` changes."""
        from matplotlib.collections import LineCollection, PolyCollection

        self.room(ax, self.page(points))
        thin = {"colors": FAINT, "linewidths": 0.9, "linestyles": "-."}
        if self.is_flat:
            self.surface = ax.add_collection(PolyCollection([], zorder=2))
            self.lines = ax.add_collection(LineCollection([], **thin, zorder=3))
        else:
            from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

            nothing = np.zeros((1, 3, 3))
            self.surface = ax.add_collection3d(Poly3DCollection(nothing, zorder=2), autolim=False)
            self.lines = ax.add_collection3d(Line3DCollection(nothing[:, :2], **thin, zorder=3), autolim=False)
        none = np.zeros((self.view is None) + 2)
        self.dot = ax.plot(*none[:, None], "o", ms=5, mfc="white", mec=TIP, mew=1.6, zorder=6, label="_tip")[0]
        self.dot.set_visible(self.tip is not None and not self.names)
        for text, at, style in self.labels(poses):
            ax.text(*self.page(at), text, zorder=7, clip_on=True, **style).set_in_layout(False)
        table = "\n".join(f"${step.letter}$ = {step.length:.4g} m" for step in self.steps(poses))
        beside = {"va": "top", "color": INK} | ({"xytext": (8, -60), "ha": "left"} if self.is_flat else {"xytext": (0, 0)})
        ax.annotate(
            table, (1.0, 1.0) if self.is_flat else (0.0, 1.0), xycoords="axes fraction", textcoords="offset points", **beside
        )
        self.move(poses)
        return [self.surface, self.lines, self.dot]

    def move(self, poses: Poses) -> None:
        """Move the drawn robot into another configuration."""
        if self.is_flat:
            self.surface.set_verts([outline(self.page(x.placed(poses[body]))) for body, _, x in self.solids])
            faded = SEEN_THROUGH if self.names else 1.0
            self.surface.set_facecolor([(ink, faded if k < self.links else 1.0) for k, (_, ink, _) in enumerate(self.solids)])
            self.surface.set_edgecolor([(METAL["base"] if k < self.links else ink) for k, (_, ink, _) in enumerate(self.solids)])
            self.surface.set_linewidth(0.7)
        else:
            faces, inks = self.lit(poses)
            self.surface.set_verts(faces)
            self.surface.set_facecolor(inks)
            self.surface.set_edgecolor("none" if self.names else inks)  # edges in the colour of the faces, so that no gaps show
            self.surface.set_linewidth(0.3)
        self.lines.set_segments(self.page(self.centre_lines(poses)))
        if self.tip:
            at = self.page(self.frame(poses, self.tip)[:3, 3])
            (self.dot.set_data if self.is_flat else self.dot.set_data_3d)(*at[:, None])

    def lit(self, poses: Poses) -> tuple[np.ndarray, np.ndarray]:
        """Return all faces (n, 4, 3), and their colours (n, 4) in a light from above."""
        from matplotlib.colors import to_rgba_array

        parts = [x.placed(poses[body])[x.faces] for body, _, x in self.solids]
        counts, faces = [len(x) for x in parts], np.concatenate(parts)
        a, b, c, d = faces.swapaxes(0, 1)
        normals = np.cross(c - a, d - b)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        bright = 0.76 + 0.3 * normals @ unit(LIGHT + upward(gravity_of(self.model)))
        inks = np.repeat(to_rgba_array([ink for _, ink, _ in self.solids]), counts, axis=0)
        inks[:, :3] = np.clip(inks[:, :3] * bright[:, None], 0, 1)
        if self.names:
            inks[: sum(counts[: self.links]), 3] = SEEN_THROUGH
        return faces, inks

    def centre_lines(self, poses: Poses) -> np.ndarray:
        """Return the axes of joints and the distances of a table, as lines (k, 2, 3)."""
        far = (7.0 if self.names else 3.2) * self.thickness
        axes = [(poses[i][:3, 3] - far * poses[i][:3, 2], poses[i][:3, 3] + far * poses[i][:3, 2]) for i in self.hinges]
        return np.array([*axes, *(step.line for step in self.steps(poses))]).reshape(-1, 2, 3)

    def steps(self, poses: Poses) -> list[Any]:
        return [*steps([self.frame(poses, x) for x in self.chain], self.table, self.reach)] if self.table else []

    def labels(self, poses: Poses) -> list[tuple[str, np.ndarray, dict[str, Any]]]:
        """Return text, place (3,) and style of each label: names of frames or of their axes, letters of distances."""
        found = []
        if self.table:
            frames = [self.frame(poses, name) for name in self.chain]
            for k in (0, 2):
                if self.normal is None or abs(frames[0][:3, k] @ self.normal) < 0.5:
                    ends = [T[:3, 3] + 1.3 * self.arrow_length * T[:3, k] for T in frames]
                    style = {"color": XYZ[k], "ha": "center", "va": "center"}
                    names = [f"{'xyz'[k]}_{{{i}}}" for i in range(len(ends))]
                    found += [(f"${text}$", at, style) for text, at in joined(names, ends, 0.5 * self.arrow_length)]
            small = {"color": INK, "size": 9, "ha": "left", "va": "bottom"}
            found += [(f" ${step.letter}$", step.line.mean(axis=0), small) for step in self.steps(poses)]
        else:
            from matplotlib.patheffects import withStroke

            places = [self.frame(poses, name)[:3, 3] for name in self.names]
            if self.normal is not None:
                places = [at - self.normal * (self.normal @ at) for at in places]  # projected on the page
            style = {"color": INK, "size": 8, "va": "top", "path_effects": [withStroke(linewidth=2.5, foreground="white")]}
            found += [(f"  {text}", at, style) for text, at in joined(self.names, places, 0.5 * self.arrow_length)]
        return found

    # around it ---------------------------------------------------------------------------------------------------------------

    def axes(self, ax: Any, points: np.ndarray) -> Any:
        """Return the given axes, or those of a new figure for these points (k, 3). Raises InputError: a flat `ax` for a robot in
        space."""
        if self.view is None:
            return one(ax, space=True, size=(8, 7.2) if self.names else (6.4, 5.6))
        wide, high = np.ptp(self.page(points), axis=0) + 0.3 * self.reach
        return one(ax, size=(WIDTH, float(np.clip(WIDTH * high / wide, *HEIGHTS))))

    def room(self, ax: Any, points: np.ndarray) -> None:
        """Set limits, names and units of the axes, and draw gravity; limits of axes that show something already only grow."""
        from matplotlib.ticker import MaxNLocator

        low, high = points.min(axis=0), points.max(axis=0)
        if ax.has_data():
            old = np.array([getattr(ax, f"get_{x}lim")() for x in "xyz"[: len(low)]])
            low, high = np.minimum(low, old[:, 0]), np.maximum(high, old[:, 1])
        middle, half = (low + high) / 2, MARGIN * np.maximum((high - low) / 2, (0.15 if self.is_flat else 0.35) * self.reach)
        ax.set(**{f"{x}lim": (m - h, m + h) for x, m, h in zip("xyz", middle, half)})
        if self.view is not None:
            ax.set_aspect("equal", adjustable="box")
            ax.set(xlabel=f"{direction_name(self.view[0])} [m]", ylabel=f"{direction_name(self.view[1])} [m]")
        else:
            ax.set_box_aspect(half, zoom=0.95)
            ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
            up = upward(gravity_of(self.model))
            ax.view_init(elev=math.degrees(ELEVATION), azim=math.degrees(AZIMUTH), vertical_axis="xyz"[int(np.argmax(abs(up)))])
            for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
                axis.set_pane_color((0.97, 0.975, 0.98))
                axis.set_major_locator(MaxNLocator(5))
        self.gravity(ax)

    def gravity(self, ax: Any) -> None:
        """Draw gravity as an arrow in the upper right corner, if its direction can be seen there."""
        seen = np.array([0.0, -1.0]) if self.view is None else self.page(unit(gravity_of(self.model)))
        if not gravity_of(self.model).any() or np.linalg.norm(seen) < 0.1:
            return
        ink, at = color("gravity"), (1.05, 0.88) if self.is_flat else (0.95, 0.88)
        end = {"xycoords": "axes fraction", "textcoords": "offset points", "color": ink, "annotation_clip": False}
        ax.annotate("$g$", at, (10, 0), va="center", ha="center", **end)
        ax.annotate("", at, tuple(-GRAVITY * seen), arrowprops={"arrowstyle": "-|>", "color": ink, "lw": 1.6}, **end)


def ink(shape: Shape, otherwise: str) -> Any:
    """Return the colour of the description, darkened so that white shows on paper, or another one if it has none."""
    return tuple(0.88 * x for x in shape["color"]) if "color" in shape else otherwise


def joined(names: list[str], places: list[np.ndarray], near: float) -> list[tuple[str, np.ndarray]]:
    """Return labels and their places, joining those that would overlap: `x_{1}`, and `x_{4}, x_{5}`."""
    found: list[tuple[str, np.ndarray]] = []
    for name, at in zip(names, places):
        same = next((k for k, (_, other) in enumerate(found) if np.linalg.norm(at - other) < near), None)
        if same is None:
            found.append((name, at))
        else:
            found[same] = (f"{found[same][0]}, {name}", found[same][1])
    return found


def direction_name(v: np.ndarray) -> str:
    """Return the name of a direction: `x`, or `(0.71, 0.71, 0)` if it is not along an axis."""
    k = int(np.argmax(abs(v)))
    return ("-" if v[k] < 0 else "") + "xyz"[k] if abs(v[k]) > 1 - 1e-6 else f"({', '.join(f'{x:.2g}' for x in v)})"
