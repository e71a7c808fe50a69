"""Every robot of the catalog beside every peer that is installed: who agrees, and what explains the others.

python tools/verify_table.py [NAME...]
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import qddot
from qddot import catalog
from qddot.errors import MissingExtraError, QddotError
from qddot.verify import PEERS, verify


def main(names: list[str]) -> int:
    warnings.simplefilter("ignore")
    counts, unexplained = Counter(), 0
    for entry in catalog.entries():
        if entry.path is None or (names and entry.name not in names):
            continue
        for peer in PEERS:
            try:
                found = verify(qddot.load(entry.path), peer, source=entry.path, states=2)
            except MissingExtraError:
                continue
            except QddotError as error:
                counts[peer, "not read"] += 1
                print(f"{entry.name:<32}{peer:<11}not read: {str(error).partition(': ')[2][:90]}")
                continue
            state = "agrees" if found.agrees else "not compared" if found.reason else "DIFFERS"
            counts[peer, state] += 1
            unexplained += state == "DIFFERS"
            if state != "agrees":
                worst = max((row.difference for row in found.rows), default=0.0)
                print(f"{entry.name:<32}{peer:<11}{state}: {found.reason[:120] or f'{worst:.1e}'}")
    for (peer, state), count in sorted(counts.items()):
        print(f"{peer:<11}{state:<13}{count}")
    return unexplained


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
