"""Where the figures and files that others published, and inputs that are meant to be refused, are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
BAD = DATA / "bad"
PEER_VECTORS = DATA / "peer_vectors.json"
SEED_EXAMPLES = DATA / "seed_examples.json"

RECORDINGS = Path(os.environ.get("QDDOT_RECORDINGS", DATA / "recordings"))
"""Whole logs of real arms, which are too large to be kept in the repository. tests/data/README.md says where they come from."""

needs_recordings = pytest.mark.skipif(
    not RECORDINGS.exists(), reason="the logs of real arms are not here: tests/data/README.md says where they come from"
)
