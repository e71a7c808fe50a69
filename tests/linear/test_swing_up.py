"""The worked example: cart-pole and acrobot swing up and stay there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "swing_up.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("swing_up", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pole_swings_up(example):
    motion, caught, left = example.swing("cart-pole", 9.0)
    assert caught < 6
    assert left < 1e-2
    assert np.abs(motion.q[:, 0]).max() < 2.4  # the track is that long


@pytest.mark.slow  # a chaotic motion: its time may differ between processors
def test_the_acrobot_swings_up(example):
    _, caught, left = example.swing("acrobot", 15.0)
    assert caught < 12
    assert left < 1e-2


def test_the_region_of_attraction_is_one_piece_about_the_top(example):
    angle, speed, holds = example.region(motions=400, seconds=3.0)
    n = 20
    grid = holds.reshape(n, n)
    assert 0.2 < holds.mean() < 0.6
    assert grid[n // 2 - 1 : n // 2 + 1, n // 2 - 1 : n // 2 + 1].all()
    assert (grid == grid[::-1, ::-1]).all()  # left and right are alike
    assert len(angle) == len(speed) == n * n
