"""Did computers compute the same bits? `python tests/platforms/compare.py FILES` of what `probe.py` wrote; exit status 1 if not.

Those with fused multiply-add are compared with each other, and so are those without.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def differences(reports: dict[str, dict]) -> list[str]:
    """One line for each computer that differs from the first of its kind."""
    first: dict[bool, str] = {}
    found = []
    for name, report in reports.items():
        reference = first.setdefault(report["about"]["fma"], name)
        expected, got = reports[reference]["digests"], report["digests"]
        odd = sorted(key for key in expected.keys() | got.keys() if expected.get(key) != got.get(key))
        if odd:
            found.append(f"{name} differs from {reference} in {len(odd)} of {len(expected)}: {', '.join(odd)}")
    return found


if __name__ == "__main__":
    reports = {path: json.loads(Path(path).read_text("utf-8")) for path in sys.argv[1:]}
    for name, report in reports.items():
        print(name, *report["about"].values())
    odd = differences(reports)
    print(*odd or ["all bits are the same"], sep="\n")
    sys.exit(bool(odd))
