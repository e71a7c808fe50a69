"""An aarch64 Python on an x86-64 Debian: its root and wheels are unpacked below build/, and run by qemu. Nothing is installed.

`qemu-aarch64-static` and `mmdebstrap` are taken from the path, else downloaded by apt and unpacked beside the root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PLACE = PROJECT / "build" / "arm64"
TOOLS = {"qemu-aarch64-static": "qemu-user-static", "mmdebstrap": "mmdebstrap"}
PACKAGES = "python3,libstdc++6,libgcc-s1,zlib1g,libgomp1"
NEEDED = ("numpy", "llvmlite", "pyyaml")
"""What `import qddot`, `load` and the kernels need."""


class Unavailable(Exception):
    """Why there is no such Python here."""


def command() -> list[str]:
    """What to put before the arguments of Python.

    Raises:
        Unavailable: a tool, the root or a wheel could not be had.
    """
    PLACE.mkdir(parents=True, exist_ok=True)
    qemu, mmdebstrap = (tool(name, package) for name, package in TOOLS.items())
    root, site = PLACE / "root", PLACE / "site"
    if not (root / "usr/bin/python3.11").exists():
        shutil.rmtree(root, ignore_errors=True)
        run(
            [
                mmdebstrap,
                "--variant=extract",
                "--architectures=arm64",
                "--skip=check/qemu",
                f"--include={PACKAGES}",
                "bookworm",
                root,
            ]
        )
    if not (site / "llvmlite").exists():
        wheels(site)
    variables = {
        "PYTHONHOME": root / "usr",
        "PYTHONPATH": f"{site}:{PROJECT / 'src'}:{PROJECT}",
        "LD_LIBRARY_PATH": "/usr/lib/aarch64-linux-gnu",
        "QDDOT_CACHE": "off",
    }
    settings = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
    return [qemu, "-L", str(root), *settings, str(root / "usr/bin/python3.11"), "-W", "ignore"]


def tool(name: str, package: str) -> str:
    unpacked = PLACE / "tools" / "usr/bin" / name
    if found := shutil.which(name):
        return found
    if not unpacked.exists():
        run(["apt-get", "download", package], cwd=PLACE)
        for archive in PLACE.glob(f"{package}_*.deb"):
            run(["dpkg", "-x", archive, PLACE / "tools"])
    return str(unpacked)


def wheels(site: Path) -> None:
    """Unpack the pinned wheels of what is needed for aarch64."""
    folder = PLACE / "wheels"
    platforms = [f"--platform=manylinux{p}_aarch64" for p in ("2014", "_2_17", "_2_26", "_2_27", "_2_28")]
    kind = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", *platforms]
    pinned = ["--no-deps", f"--constraint={PROJECT / 'constraints.txt'}"]
    run([sys.executable, "-m", "pip", "download", "--quiet", *kind, *pinned, "--dest", folder, *NEEDED])
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(site)


def run(words: list[object], cwd: Path | None = None) -> None:
    try:
        subprocess.run([str(w) for w in words], cwd=cwd, check=True, capture_output=True, text=True, timeout=300, env=os.environ)
    except FileNotFoundError as error:
        raise Unavailable(f"{error.filename} is not on the path") from None
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise Unavailable(f"{words[0]} failed: {said[-1] if said else error}") from None
