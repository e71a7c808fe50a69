"""Figures with the look of everything else that qddot shows: made by pyplot, so that scripts and notebooks find them.

One rule for every picture: `ax=` is where it is drawn, without it a new figure is made, and the axes come back, as many as there
are panels.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.assets import style_sheet
from qddot.errors import InputError, as_written, missing_extra
from qddot.model.lower import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOK = {
    "font.size": 9.5, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#5f6368", "axes.grid": True, "axes.axisbelow": True, "grid.color": "#e4e7ea",
    "grid.linewidth": 0.7, "lines.linewidth": 1.4, "legend.frameon": False, "legend.fontsize": 8.5, "xtick.color": "#5f6368",
    "ytick.color": "#5f6368", "savefig.dpi": 150,
}  # fmt: skip

CURVES = (0.05, 0.85)
"""From where to where of the colour scale joints are taken: from dark to light, so that their order shows without colour too."""

NAMED = 7
"""Curves in a legend: as many as fit beside a panel."""


@cache
def color(role: str) -> str:
    """Colour of a role, on paper, as `look.css` has it: `inertial`, `coriolis`, `gravity`, `friction`, `external`,
    `measured`, ..."""
    found = re.search(rf"--{role}: light-dark\((#\w+)", style_sheet())
    if found is None:
        raise KeyError(role)
    return found[1]


def pyplot() -> Any:
    """The module. Raises MissingExtraError: matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_extra("matplotlib", "plot", "a picture") from None
    return plt


@contextmanager
def looking_so() -> Iterator[Any]:
    """pyplot, and within the block what is made has the look.

    Only what the look sets is set back: `rc_context` would also undo what a notebook's backend, loaded by the first figure, sets so
    that figures are shown.
    """
    plt = pyplot()
    before = {name: plt.rcParams[name] for name in LOOK}
    plt.rcParams.update(LOOK)
    try:
        yield plt
    finally:
        plt.rcParams.update(before)


def one(ax: Axes | None, *, space: bool = False, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The axes to draw in, flat or in space: those given, or of a new figure. Raises InputError: an `ax` that is none, or of the
    other kind."""
    if ax is None:
        with looking_so() as plt:
            return plt.figure(figsize=size, layout="constrained").add_subplot(projection="3d" if space else None)
    pyplot()
    refuse_others(ax)
    if hasattr(ax, "zaxis") != space:
        made = 'plt.subplots(subplot_kw={"projection": "3d"})' if space else "plt.subplots()"
        raise InputError(f"ax is {'flat' if space else 'in space'}, this picture is not: make it with {made}, or leave it out")
    return ax


class Panels(np.ndarray):
    """Axes (count,) of one figure. It says what they show; marimo, which shows what a cell returns, draws them."""

    def __repr__(self) -> str:
        return f"{self.size} panels: {', '.join(x.get_ylabel() for x in self.flat)}"

    def _mime_(self) -> tuple[str, str]:
        file = io.BytesIO()
        self.flat[0].figure.savefig(file, format="png", dpi=100)
        return "text/html", f'<img alt="{escape(repr(self))}" src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'


def panels(ax: Any, count: int, *, size: tuple[float, float], sharex: bool = True) -> Panels:
    """Axes (count,) above each other that share their time (`sharex`): those given, or of a new figure. Raises InputError: `ax`
    holds another number of axes."""
    if ax is None:
        with looking_so() as plt:
            return plt.subplots(count, 1, sharex=sharex, squeeze=False, figsize=size, layout="constrained")[1][:, 0].view(Panels)
    pyplot()
    found = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    for each in found:
        refuse_others(each)
    if len(found) != count:
        raise InputError(f"ax has {len(found)} axes for {count} panels: give as many, choose fewer panels, or leave it out")
    return found.view(Panels)


def refuse_others(ax: Any) -> None:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InputError(f"ax={as_written(ax)} is not an Axes of matplotlib")


def curves(ax: Axes, t: np.ndarray, values: np.ndarray, names: Sequence[str], what: str, unit: str) -> None:
    """A curve (samples, n) for each name, in colours from dark to light."""
    import matplotlib

    shades = matplotlib.colormaps["viridis"](np.linspace(*CURVES, len(names)) if len(names) > 1 else [CURVES[0]])
    for column, name, shade in zip(values.T, names, shades):
        ax.plot(t, column, color=shade, label=name)
    ax.set_ylabel(f"{what} [{unit}]")


def beside(ax: Axes) -> None:
    """A legend to the right, where it hides nothing; of very many curves, whose colours go from dark to light, it names some."""
    handles, labels = ax.get_legend_handles_labels()
    some = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), NAMED)).round().astype(int))
    shown = [labels[k] for k in some]
    title = None if len(shown) == len(labels) else f"some of {len(labels)}"
    ax.legend(
        [handles[k] for k in some],
        shown,
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.03),
        frameon=False,
        handlelength=1.4,
    )


def coordinate_names(mechanism: Mechanism, of: str = "v") -> list[str]:
    """One for each number of qd, or of q where joints have quaternions (`of="q"`)."""
    spans = [(c.name, getattr(c, of)) for c in mechanism.coordinates]
    return [f"{name}[{i}]" if len(span) > 1 else name for name, span in spans for i in range(len(span))]


def units(mechanism: Mechanism, turning: str, sliding: str) -> str:
    """The unit of all coordinates, or both: `rad`, `m` or `rad, m`."""
    parts = [part for c in mechanism.coordinates for part in c.parts]
    turns, slides = any(x.angle or x.quaternion for x in parts), any(not x.angle and x.nv != 3 for x in parts)
    return ", ".join(unit for unit, there in ((turning, turns), (sliding, slides)) if there)
