"""Equations that several files print."""

import pytest

import qddot
from tests.symbolic.samples import textbook


@pytest.fixture(scope="package")
def book():
    return textbook()


@pytest.fixture(scope="package")
def puma():
    return qddot.load("puma560").equations("all")
