"""Where the descriptions of example-robot-data are; None if it is not installed."""

import sys
from pathlib import Path

ROBOTS = next((p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists()), None)
