"""Puts the explorer's script and the maths font into the package. Where they cannot be built, qddot installs without them.

QDDOT_WEB: unset, try; `require`, fail without them (releases, CI); `skip`, leave them out.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebBuildHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    @property
    def assets(self):
        """The module `web/assets.py`; None in a source that has been stripped of it."""
        path = Path(self.root, "web", "assets.py")
        if not path.is_file():
            return None
        spec = importlib.util.spec_from_file_location("qddot_web_assets", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def is_due(self) -> bool:
        return os.environ.get("QDDOT_WEB") != "skip" and self.assets is not None and not self.assets.is_fresh()

    def dependencies(self) -> list[str]:
        """Asked for before the build's environment is made: Node is fetched only where it will run."""
        return list(self.assets.NEEDED) if self.is_due() else []

    def initialize(self, version: str, build_data: dict) -> None:
        if not self.is_due():
            return
        try:
            self.assets.build()
        except Exception as problem:
            shutil.rmtree(self.assets.OUT, ignore_errors=True)  # a page of another version would not fit
            if os.environ.get("QDDOT_WEB") == "require":
                raise
            self.app.display_warning(f"built without the explorer's page: {problem}")
