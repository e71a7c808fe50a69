"""Fixtures and settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("qddot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "qddot"))
