"""Write a program as a JavaScript function such as `function mass_matrix(q, M)`, which fills its last arrays.

The statements are those of C (see `c_source`), so a browser rounds as the graph says; sine and cosine are the browser's own, as
those of C are the library's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qddot.arguments import file_path
from qddot.compile.c_export import Quantities, comment, description, introduction, plan, requests
from qddot.compile.c_source import braced, straight_line
from qddot.compile.evaluate import Evaluator
from qddot.errors import InputError
from qddot.files import write_whole
from qddot.graph.program import Program


class JavaScript:
    """The `Language` of JavaScript: it has one kind of number, and its functions are in `Math`."""

    def literal(self, x: float) -> str:
        if math.isfinite(x):
            return repr(float(x)).removesuffix(".0")
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"

    def constant(self, name: str, code: str) -> str:
        return f"const {name} = {code};"

    def call(self, function: str, arguments: str) -> str:
        return f"Math.{function}({arguments})"

    def sign(self, code: str) -> str:
        return f"Math.sign({code})"

    def array(self, name: str, is_input: bool) -> str:
        return name

    def part_head(self, name: str, parameters: str) -> str:
        return f"function {name}({parameters})"

    def room(self, size: int) -> str:
        return f"const w = new Float64Array({size});"


def javascript_function(program: Program, name: str, prefix: str = "") -> Iterator[str]:
    """Yield the lines of the function, with `prefix` before its head, after those of its parts if it is long."""
    parts, lines = straight_line(program, name, JavaScript())
    arrays = ", ".join(x.name for x in (*program.inputs, *program.shown))
    yield from (*parts, *braced(f"{prefix}function {name}({arrays})", lines))


def export_js(
    evaluator: Evaluator, path: str | Path, quantities: Quantities, options: Mapping[str, Any], about: Callable[[str], str]
) -> Path:
    """Write a module and return its path; `about` is a function that returns one sentence on a quantity. Raises UnknownNameError,
    InputError: as `Robot.export_js`; OSError: the file cannot be written."""
    path = file_path("path", path)
    if path.suffix not in (".js", ".mjs"):
        raise InputError(f"{path.name!r} ends in {path.suffix!r}: a JavaScript module is written to .mjs or .js")
    lines, frames = [*comment(introduction(evaluator.model)), ""], list(evaluator.model.mechanism.frames)
    for f in plan(evaluator, "", requests(quantities), options, np.dtype(float)):
        lines += comment(description(f, frames, about))
        lines += javascript_function(f.program, f.name, "export ")
    write_whole(path, "\n".join(lines).encode("ascii"))
    return path
