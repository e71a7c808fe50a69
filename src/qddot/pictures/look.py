"""Figures in the common style of qddot, made by pyplot, so that scripts and notebooks find them.

Every picture follows one rule: it is drawn in `ax`, or in a new figure without it, and the axes are returned, one per panel.
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
"""Range of the colour scale from which joints get their colours: from dark to light, so that their order shows without colour,
too."""

NAMED = 7
"""Most curves in a legend: as many as fit beside a panel."""


@cache
def color(role: str) -> str:
    """Return the colour of a role on a light background, from `look.css`: `inertial`, `coriolis`, `gravity`, `friction`,
    `external`, `measured`, ..."""
    found = re.search(rf"--{role}: light-dark\((#\w+)", style_sheet())
    if found is None:
        raise KeyError(role)
    return found[1]


def pyplot() -> Any:
    """Return the module `matplotlib.pyplot`. Raises MissingExtraError: Matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_extra("matplotlib", "plot", "a picture") from None
    return plt


@contextmanager
def looking_so() -> Iterator[Any]:
    """Give pyplot, with qddot's style within the block.

    Only the settings of this style are restored: `rc_context` would also undo those that a notebook's backend, loaded by the first
    figure, makes so that figures are shown.
    """
    plt = pyplot()
    before = {name: plt.rcParams[name] for name in LOOK}
    plt.rcParams.update(LOOK)
    try:
        yield plt
    finally:
        plt.rcParams.update(before)


def one(ax: Axes | None, *, space: bool = False, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Return the axes to draw in, flat or in space: the given ones, or those of a new figure. Raises InputError: `ax` is not axes,
    or of the other kind."""
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
    """Axes (count,) of one figure. Their text says what they show; in marimo, which shows the result of a cell, they are drawn."""

    def __repr__(self) -> str:
        return f"{self.size} panels: {', '.join(x.get_ylabel() for x in self.flat)}"

    def _mime_(self) -> tuple[str, str]:
        file = io.BytesIO()
        self.flat[0].figure.savefig(file, format="png", dpi=100)
        return "text/html", f'<img alt="{escape(repr(self))}" src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'


def panels(ax: Any, count: int, *, size: tuple[float, float], sharex: bool = True) -> Panels:
    """Return axes (count,) above each other that share their time (`sharex`): the given ones, or those of a new figure. Raises
    InputError: `ax` has another number of axes."""
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
    """Refuse an object that is not axes of Matplotlib. Raises InputError."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InputError(f"ax={as_written(ax)} is not an Axes of matplotlib")


def curves(ax: Axes, t: np.ndarray, values: np.ndarray, names: Sequence[str], what: str, unit: str) -> None:
    """Draw a curve, a column of `values` (samples, n), for each name, in colours from dark to light."""
    import matplotlib

    shades = matplotlib.colormaps["viridis"](np.linspace(*CURVES, len(names)) if len(names) > 1 else [CURVES[0]])
    for column, name, shade in zip(values.T, names, shades):
        ax.plot(t, column, color=shade, label=name)
    ax.set_ylabel(f"{what} [{unit}]")


def beside(ax: Axes) -> None:
    """Add a legend to the right, where it hides nothing; of very many curves, whose colours go from dark to light, it names
    some."""
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
    """Return one name for each number of qd, or of q with `of="q"`."""
    spans = [(c.name, getattr(c, of)) for c in mechanism.coordinates]
    return [f"{name}[{i}]" if len(span) > 1 else name for name, span in spans for i in range(len(span))]


def units(mechanism: Mechanism, turning: str, sliding: str) -> str:
    """Return the unit of all coordinates, or both units: `rad`, `m` or `rad, m`."""
    parts = [part for c in mechanism.coordinates for part in c.parts]
    turns, slides = any(x.angle or x.quaternion for x in parts), any(not x.angle and x.nv != 3 for x in parts)
    return ", ".join(unit for unit, there in ((turning, turns), (sliding, slides)) if there)
