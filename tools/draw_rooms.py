"""Draw the rooms of the house and the one way that imports point, from import-linter's contract in pyproject.toml.

    python tools/draw_rooms.py docs/images/rooms.svg

A test compares the picture with the contract, so that it stays true.
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH, ROW, BOX, GAP = 760, 46, 30, 14

INSIDE = {
    "cli": "the command line",
    "identify": "a robot from its logs",
    "robot": "Robot, the one public class",
    "simulate": "motions",
    "control": "laws",
    "explore": "the page",
    "symbolic": "equations on paper",
    "constraints": "loops and contacts",
    "task_space": "at the tip",
    "compile": "machine code, C, JavaScript, GPU",
    "graph": "recorded programs",
    "formats": "URDF, MJCF, TOML",
    "algorithms": "one a file",
    "logs": "recordings",
    "model": "what a robot is",
}


def layers() -> list[list[str]]:
    """The contract's layers, outermost first, each a list of modules without the package's name."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [[name.strip().removeprefix("qddot.") for name in layer.split("|")] for layer in contracts[0]["layers"]]


def picture(rows: list[list[str]]) -> str:
    """The layers as an SVG: a row each, arrows from each to the next."""
    height = len(rows) * ROW + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        "<title>Rooms of qddot: each imports only from rows below it</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>',
    ]
    for i, names in enumerate(rows):
        y, width = GAP + i * ROW, (WIDTH - GAP) / len(names) - GAP
        for k, name in enumerate(names):
            x = GAP + k * (width + GAP)
            label = f'<tspan font-weight="600">{escape(name)}</tspan>'
            if name in INSIDE:
                label += f'<tspan fill="#555" dx="8">{escape(INSIDE[name])}</tspan>'
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BOX}" rx="5" fill="#eef4f9" stroke="#0072B2"/>')
            parts.append(f'<text x="{x + width / 2:.1f}" y="{y + 20}" text-anchor="middle" fill="#111">{label}</text>')
        if i + 1 < len(rows):
            middle = WIDTH / 2
            parts.append(
                f'<line x1="{middle}" y1="{y + BOX + 1}" x2="{middle}" y2="{y + ROW - 1}" stroke="#777" marker-end="url(#tip)"/>'
            )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(layers()), encoding="utf-8")
