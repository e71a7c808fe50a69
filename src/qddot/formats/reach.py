"""Files that a description may open: those of its own folder or package, and of packages that are found or given.

No path or link that leads out of these folders is opened, and the environment is not consulted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from urllib.parse import unquote

from qddot.errors import ModelError, ModelReferenceError, ModelSecurityError, ModelValueError

MANIFEST = "package.xml"
NEAR = 3  # up to so many folders above the description, a folder is a package by its name alone
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters at least: a single one is a drive
PACKAGES = ("package", "model")


class Refused(ValueError):
    """Refusal of something in a description: rule, kind of error and fix, to be raised again where the place is known."""

    def __init__(self, rule: str, kind: type[ModelError] = ModelValueError, fix: str = "") -> None:
        super().__init__(rule)
        self.rule, self.kind, self.fix = rule, kind, fix


class Reach:
    """The folders whose files a description may open.

    Args:
        path: that of the description; None for a text, which has no folder.
        packages: folders of packages, by name, besides those that are found above or beside the description.

    Attributes:
        folder: that of the description, or None.
        roots: folders whose files it may open.
    """

    def __init__(self, path: Path | None, packages: Mapping[str, str | PathLike[str]] | None = None) -> None:
        self.folder = None if path is None else path.resolve().parent
        self.packages = {name: Path(folder).resolve() for name, folder in (packages or {}).items()}
        self.roots = [*([own_package(self.folder)] if self.folder else []), *self.packages.values()]

    def at(self, path: Path) -> Reach:
        """Return the reach of a file that this description includes: paths start at its folder, the allowed folders are the
        same."""
        other = Reach(path, self.packages)
        other.roots = self.roots
        return other

    def package(self, name: str) -> Path:
        """Return the folder of a package: one that was given, one above the description, or one with a manifest beside one of
        those. Raises Refused: it is not found."""
        if name in self.packages:
            return self.packages[name]
        if self.folder and name and not set(name) & set("/\\") and name not in (".", ".."):
            for up, folder in enumerate((self.folder, *self.folder.parents)):
                is_package = (folder / MANIFEST).is_file()
                if folder.name == name and (is_package or up <= NEAR):
                    return self.found(name, folder)
                if (folder / name / MANIFEST).is_file():
                    return self.found(name, (folder / name).resolve())
        fix = f"give its folder: packages={{{name!r}: ...}}"
        where = f"above or beside {self.folder}" if self.folder else "from a text, which has no folder"
        raise Refused(f"the package {name!r} is not found {where}", ModelReferenceError, fix)

    def found(self, name: str, folder: Path) -> Path:
        """Add the folder of a package and return it."""
        self.packages[name] = folder
        self.roots.append(folder)
        return folder

    def within(self, name: str, folder: Path | None) -> Path:
        """Return the path of a file, relative to a folder. Raises Refused: it lies outside, or does not exist."""
        if folder is None and not Path(name).is_absolute():
            raise Refused(
                f"the file {name!r} has no folder to start from: the description is a text",
                ModelReferenceError,
                "load the description from a file",
            )
        path = Path(name) if folder is None else folder / name
        try:
            real = path.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise Refused(f"the file name {name[:80]!r} cannot be used: {error}", fix="name a file of the description") from None
        if not any(real.is_relative_to(root) for root in self.roots):
            raise Refused(
                f"the file {name!r} lies outside the folders of this description ({', '.join(map(str, self.roots)) or 'none'})",
                ModelSecurityError,
                "move it there, or give its package: packages={...}",
            )
        if not real.is_file():
            raise Refused(f"the file {name!r} does not exist", ModelReferenceError, f"it is looked for as {path}")
        return path

    def mesh(self, name: str) -> Path:
        """Return the mesh that a description names: relative to its folder, by `package://`, or by its full path (also `file://`).
        Raises Refused: it lies outside, does not exist, or would have to be fetched."""
        scheme = SCHEME.match(name)
        kind, rest = (scheme[1].lower(), unquote(name[scheme.end() :])) if scheme else ("", name)
        if kind in PACKAGES:
            package, _, rest = rest.lstrip("/").partition("/")
            return self.within(rest, self.package(package))
        if kind not in ("", "file"):
            raise Refused(f"a {kind} URI: nothing is fetched", ModelSecurityError, "save the mesh beside the description")
        return self.within(rest.removeprefix("//") if kind else rest, self.folder)


def own_package(folder: Path) -> Path:
    """Return the folder of the package that contains a folder; the folder itself if none does."""
    return next((above for above in (folder, *folder.parents) if (above / MANIFEST).is_file()), folder)
