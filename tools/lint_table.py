"""What `qddot check` finds in the URDFs of folders, and whether an error is false: a robot that Pinocchio and MuJoCo agree on.

python tools/lint_table.py FOLDER...      # without any, the wheel example-robot-data
"""

from __future__ import annotations

import sys
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import qddot
from qddot import catalog
from qddot.errors import QddotError
from qddot.lint import RULES, Severity, lint
from qddot.verify import PEERS, verify
from qddot.verify.peer import Refusal, urdf_text


def agreed(path: Path) -> bool:
    """Whether both peers read the file itself and agree with it; of a file that qddot refuses, whether both read it at all."""
    try:
        robot = qddot.load(path)
    except (QddotError, OSError):
        return read_by_both(path)
    try:
        found = [verify(robot, peer, source=path, states=2) for peer in PEERS]
    except QddotError:
        return False
    return all(x.agrees and x.read == "the file itself" for x in found)


def read_by_both(path: Path) -> bool:
    nothing = qddot.load_string('<robot name="r"><link name="base"/></robot>').model
    try:
        text = urdf_text(nothing, path)
        for peer in PEERS.values():
            peer(nothing, text)
    except (Refusal, QddotError, ET.ParseError):
        return False
    return True


def main(folders: list[str]) -> int:
    warnings.simplefilter("ignore")
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.urdf"))] or sorted(catalog.installed().values())
    robots, findings, false = Counter(), Counter(), []
    for path in files:
        found = lint(path)
        findings.update(x.code for x in found)
        robots.update({x.code for x in found})
        if any(x.severity is Severity.ERROR for x in found) and agreed(path):
            false.append(path)
    print(f"{len(files)} URDFs")
    print(f"{'code':<7}{'severity':<10}{'robots':>7}{'findings':>10}  about")
    for code, (severity, about) in RULES.items():
        if findings[code]:
            print(f"{code:<7}{severity.name.lower():<10}{robots[code]:>7}{findings[code]:>10}  {about}")
    clean = len(files) - sum(1 for path in files if any(x.severity < Severity.NOTE for x in lint(path)))
    print(f"{clean} without error or warning; {len(false)} false errors" + "".join(f"\n  {path}" for path in false))
    return len(false)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
