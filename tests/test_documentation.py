"""Pages that lead somewhere: links have targets, every page is in the table of contents, the reference has every public name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import qddot

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [path for path in DOCS.rglob("*.md") if "_build" not in path.parts]


def prose(path: Path) -> str:
    """The text of a page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    """What headings of a page are called in links, as GitHub and MyST do it."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_have_targets(path: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", target) or target == "images/rooms.svg":  # drawn when the pages are built
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)
    listed = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES} - {"index"}
    assert pages <= set(listed)
    assert len(listed) == len(set(listed))


def documented() -> set[int]:
    """Identities of all objects that docs/reference.md lists."""
    found: set[int] = set()
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    for kind, target, options in re.findall(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", text, re.MULTILINE):
        module = importlib.import_module(target if kind == "module" else target.rpartition(".")[0])
        if kind != "module":
            found.add(id(getattr(module, target.rpartition(".")[2])))
            continue
        members = re.search(r":members:(.*)", options)
        chosen = [name.strip() for name in members[1].split(",") if name.strip()] if members else []
        found |= {id(getattr(module, name)) for name in chosen or getattr(module, "__all__", dir(module))}
    return found


def test_the_reference_has_every_public_name():
    listed = documented()
    missing = [name for name in qddot.__all__ if name != "__version__" and id(getattr(qddot, name)) not in listed]
    assert not missing
