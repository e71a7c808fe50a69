"""What is built from `web/`: found where it was built, named where it was not."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from qddot import assets
from qddot.errors import NoAssetError

WEB = Path(__file__).parents[2] / "web"


def test_the_lock_file_has_no_hosts_and_every_hash():
    text = (WEB / "package-lock.json").read_text()
    assert "resolved" not in text
    assert "://" not in re.sub(r'"(url|funding)": [^\n]*', "", text)
    packages = json.loads(text)["packages"]
    assert all("integrity" in entry for name, entry in packages.items() if name)


def test_versions_are_exact():
    about = json.loads((WEB / "package.json").read_text())
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", x) for key in ("dependencies", "devDependencies") for x in about[key].values())


def test_a_missing_asset_says_how_to_get_it():
    with pytest.raises(NoAssetError, match=r"web/assets\.py"):
        assets.asset("nothing.js")


def test_the_font_is_a_rule_or_nothing(monkeypatch):
    monkeypatch.setattr(assets, "asset", lambda name: b"font")
    assets.math_font_css.cache_clear()
    assert base64.b64encode(b"font").decode() in assets.math_font_css()

    def missing(name):
        raise NoAssetError(name)

    monkeypatch.setattr(assets, "asset", missing)
    assets.math_font_css.cache_clear()
    assert assets.math_font_css() == ""
    assets.math_font_css.cache_clear()
