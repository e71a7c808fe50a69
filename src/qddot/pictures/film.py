"""Films of a moving robot: the background is drawn once, and each picture adds the moving parts to it."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from qddot.arguments import file_path, positive_number
from qddot.card import framed
from qddot.errors import InputError, as_written
from qddot.model.model import Model
from qddot.pictures.arm import Arm
from qddot.pictures.look import pyplot
from qddot.pictures.view import own_view
from qddot.progress import shown

FORMATS = (".gif", ".html", ".mp4")
MOST_PICTURES = 100_000
TRAIL = "#cc79a7"
FINE = 8
"""Points of the tip's path per picture: a fast tip may go around a bend between two pictures."""

SLOWEST = 1e-3
"""Least pictures per second: a GIF shows no picture for longer than ten minutes."""


def film(
    model: Model, t: np.ndarray, q: np.ndarray, path: str | Path | None, *, fps: float, ax: Any, progress: bool | None
) -> Film:
    """See `Trajectory.animate`."""
    if path is not None:
        refuse_suffix(file_path("path", path))
    made = Film(model, t, q, fps, ax)
    if path is not None:
        made.save(path, progress=progress)
        if ax is None:
            pyplot().close(made.ax.figure)
    return made


def refuse_suffix(path: Path) -> None:
    """Refuse a file name with an unknown suffix, or .mp4 without ffmpeg. Raises InputError."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a film is saved as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise InputError(f"{path}: .mp4 needs the program ffmpeg, which is not on the path: install it, or save .gif or .html")


class Film:
    """A robot in motion. A notebook plays it, `save` writes it, and a window shows it when `plt.show()` is called.

    Attributes:
        ax: the axes it is drawn in.
        t: (pictures,) times, s.

    >>> film = qddot.load("two_link").simulate([0, 0], t=0.2).animate()
    >>> film.t
    array([0.  , 0.04, 0.08, 0.12, 0.16, 0.2 ])
    >>> next(film.pictures()).shape[2]  # red, green and blue
    3
    >>> film.save("swing.gif")
    """

    def __init__(self, model: Model, t: np.ndarray, q: np.ndarray, fps: float, ax: Any = None) -> None:
        self.fps, self.name = positive_number("fps", fps), model.name
        if self.fps < SLOWEST:
            raise InputError(f"fps={as_written(fps)}: at least {SLOWEST:g} pictures a second")
        if not (pictures := (t[-1] - t[0]) * self.fps + 1e-6) < MOST_PICTURES:
            raise InputError(f"fps={as_written(fps)}: a film of {pictures:.3g} pictures, more than {MOST_PICTURES}: give fewer")
        self.t = t[0] + np.arange(int(pictures) + 1) / self.fps
        self.arm = Arm(model, None if hasattr(ax, "zaxis") else own_view(model))
        self.poses = [self.arm.poses(x) for x in q[np.clip(np.searchsorted(t, self.t), 0, len(t) - 1)]]
        self.motion = t, q
        few = self.poses[:: max(1, len(self.poses) // 60)]
        points = np.concatenate([self.arm.points(poses) for poses in few])
        self.ax = self.arm.axes(ax, points)
        self.moving = [*self.trail(), *self.arm.show(self.ax, self.poses[0], points), self.clock()]
        for artist in self.moving:
            artist.set_in_layout(False)  # otherwise the axes would move with them
        self.timer = self.window()

    def trail(self) -> list[Any]:
        """Draw the path of the tip, with all samples between two pictures; return its artists."""
        if self.arm.tip is None:
            return []
        t, q = self.motion
        fine = np.unique(np.linspace(0, len(t) - 1, min(len(t), FINE * len(self.t))).round().astype(int))
        self.way_t = t[fine]
        self.way = np.array([self.arm.page(self.arm.frame(self.arm.poses(x), self.arm.tip)[:3, 3]) for x in q[fine]])
        return self.ax.plot(*self.way[:1].T, color=TRAIL, lw=1.2, alpha=0.8, zorder=1.5 if self.arm.is_flat else 4)

    def clock(self) -> Any:
        """Return an empty text for the time, at the place of the title."""
        self.ax.set_title(" ")
        text = self.ax.text2D if hasattr(self.ax, "text2D") else self.ax.text
        return text(0.01, 1.01, "", transform=self.ax.transAxes, ha="left", va="bottom")

    def show(self, k: int) -> list[Any]:
        """Move to picture k; return the artists that changed."""
        self.arm.move(self.poses[k])
        if self.arm.tip is not None:
            so_far = np.searchsorted(self.way_t, self.t[k], side="right")
            (self.moving[0].set_data if self.arm.is_flat else self.moving[0].set_data_3d)(*self.way[: max(so_far, 1)].T)
        self.moving[-1].set_text(f"t = {self.t[k]:.2f} s")
        return self.moving

    def window(self) -> Any:
        """Return an animation that plays in a window; None if there is no window."""
        manager = self.ax.figure.canvas.manager
        if manager is None or not self.ax.figure.canvas.required_interactive_framework:
            return None
        from matplotlib.animation import FuncAnimation

        return FuncAnimation(self.ax.figure, self.show, frames=len(self.t), interval=1000 / self.fps, blit=self.arm.is_flat)

    # pictures ----------------------------------------------------------------------------------------------------------------

    def pictures(self) -> Iterator[np.ndarray]:
        """Yield each picture as (height, width, 3) bytes, of even height and width."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure, former = self.ax.figure, self.ax.figure.canvas
        canvas = FigureCanvasAgg(figure)
        try:
            for artist in self.moving:
                artist.set_visible(False)
            canvas.draw()
            behind = canvas.copy_from_bbox(figure.bbox)
            for artist in self.moving:
                artist.set_visible(True)
            self.arm.dot.set_visible(self.arm.tip is not None)
            for k in range(len(self.t)):
                canvas.restore_region(behind)
                for artist in sorted(self.show(k), key=lambda x: x.zorder):
                    if hasattr(artist, "do_3d_projection"):
                        artist.do_3d_projection()
                    self.ax.draw_artist(artist)
                seen = np.asarray(canvas.buffer_rgba())
                yield seen[: seen.shape[0] // 2 * 2, : seen.shape[1] // 2 * 2, :3].copy()
        finally:
            figure.set_canvas(former)

    def save(self, path: str | Path, *, progress: bool | None = None) -> None:
        """Write the film, as `.gif`, `.html` or `.mp4` (which needs the program ffmpeg).

        Args:
            progress: show a bar on stderr for films that take long; None: only if stderr is a terminal.

        Raises:
            InputError: another suffix, or `.mp4` without ffmpeg.
        """
        path = Path(path)
        refuse_suffix(path)
        write = {".gif": self.write_gif, ".html": self.write_html, ".mp4": self.write_mp4}[path.suffix.lower()]
        numbered = enumerate(self.pictures(), start=1)
        write(path, (x for _, x in shown(numbered, f"drawing {path.name}", len(self.t), lambda item: item[0], progress)))

    def write_gif(self, path: Path, pictures: Iterator[np.ndarray]) -> None:
        from PIL import Image

        first = Image.fromarray(next(pictures)).quantize(64)
        rest = (Image.fromarray(x).quantize(palette=first, dither=Image.Dither.NONE) for x in pictures)
        first.save(path, save_all=True, append_images=rest, duration=1000 / self.fps, loop=0, optimize=False)

    def write_mp4(self, path: Path, pictures: Iterator[np.ndarray]) -> None:
        first = next(pictures)
        size = f"{first.shape[1]}x{first.shape[0]}"
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{self.fps:g}", "-i", "-"]
        made = ["-pix_fmt", "yuv420p", "-movflags", "+faststart", "-y", str(path)]
        with subprocess.Popen(["ffmpeg", "-loglevel", "error", *raw, *made], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            assert run.stdin
            assert run.stderr
            try:
                for picture in (first, *pictures):
                    run.stdin.write(picture.tobytes())
                run.stdin.close()
            except BrokenPipeError:
                pass  # ffmpeg ended early; its message is read below
            said = run.stderr.read().decode(errors="replace").strip()
        if run.returncode:
            raise InputError(f"{path}: ffmpeg could not write it: {said}")

    # HTML --------------------------------------------------------------------------------------------------------------------

    def write_html(self, path: Path, pictures: Iterator[np.ndarray]) -> None:
        path.write_text(self.html(pictures), encoding="utf-8")

    def html(self, pictures: Iterator[np.ndarray] | None = None) -> str:
        """Return a page that plays the film, stops it, and goes to any picture.

        >>> qddot.load("two_link").simulate([0, 0], t=0.1).animate().html()[:4]
        '<!do'
        """
        from PIL import Image

        frames = []
        for picture in self.pictures() if pictures is None else pictures:
            stream = io.BytesIO()
            Image.fromarray(picture).quantize(48, method=Image.Quantize.FASTOCTREE).save(stream, "png", compress_level=6)
            frames.append(base64.b64encode(stream.getvalue()).decode())
        times = [round(float(t), 4) for t in self.t]
        return PLAYER.format(
            title=escape(self.name),
            last=len(frames) - 1,
            frames=json.dumps(frames, separators=(",", ":")),
            times=json.dumps(times),
            wait=1000 / self.fps,
        )

    def _repr_html_(self) -> str:
        """Return the player in a frame of its own. The figure is closed; otherwise the notebook would show it, too."""
        page = self.html()
        height, width = (int(x) for x in (self.ax.figure.bbox.height, self.ax.figure.bbox.width))
        pyplot().close(self.ax.figure)
        return framed(page, height=height + 64, width=str(width + 24), allowed="allow-scripts")

    def __repr__(self) -> str:
        return f"Film of {self.name!r}: {len(self.t)} pictures, {self.fps:g} a second; .save('film.mp4') writes it (.gif, .html)"


PLAYER = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ margin: 8px; font: 14px system-ui, sans-serif; font-variant-numeric: tabular-nums; background: #fff; color: #1b1b1b }}
img {{ display: block; max-width: 100% }}
form {{ display: flex; gap: 10px; align-items: center; max-width: 640px }} input {{ flex: 1 }}
button {{ font: inherit; padding: 2px 12px }}
</style></head><body>
<img id="picture" alt="{title} in motion">
<form><button id="play" type="button" aria-label="play or stop">stop</button>
<input id="at" type="range" min="0" max="{last}" value="0" aria-label="time"><output id="time"></output></form>
<script>
const frames = {frames}, times = {times}, wait = {wait};
const [picture, play, at, time] = ["picture", "play", "at", "time"].map((id) => document.getElementById(id));
let timer = 0;
function show(k) {{
  at.value = k;
  picture.src = "data:image/png;base64," + frames[k];
  time.value = times[k].toFixed(2) + " s";
}}
function run(on) {{
  clearInterval(timer);
  play.textContent = on ? "stop" : "play";
  if (on) timer = setInterval(() => show((+at.value + 1) % frames.length), wait);
}}
at.oninput = () => {{ run(false); show(+at.value); }};
play.onclick = () => run(play.textContent === "play");
show(0);
run(true);
</script></body></html>
"""
