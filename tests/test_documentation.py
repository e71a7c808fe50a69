"""Pages that lead somewhere: links have targets, every page is in the table of contents, the reference has every public name."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import runpy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import qddot
from qddot.lint import Severity, lint

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
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_robots_on_how_to_pages_are_real():
    """A description a reader copies raises no warning and no finding worse than a note."""
    robots = []
    for path in sorted((DOCS / "how_to").glob("*.md")):
        page = re.sub(r"^(>>>|\.\.\.) ", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        robots += re.findall(r"<robot name=.*?</robot>", page, re.DOTALL)
    assert robots
    for text in robots:
        assert [str(x) for x in lint(io.StringIO(text)) if x.severity < Severity.NOTE] == []


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)
    listed = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES} - {"index"}
    assert pages <= set(listed)
    assert len(listed) == len(set(listed))


PLAIN = {"command_line", "how_to/gpu", "speed", "installation", "reference", "thresholds", "trust"}  # of programs, times and rules


def test_every_page_that_speaks_of_formulas_or_pictures_has_one():
    """Rendered: an image, or a formula between dollars."""
    bare = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES if not re.search(r"!\[|\$[^\s(]", prose(path))}
    assert bare == PLAIN


EXTRAS = {
    "plot": r"\.plot\(|\.animate\(",
    "id": r"fit\.robot|fit\.consistent|near_description",
    "dist": r'engine="dask"',
    "gym": r"qddot\.environments|Environments\(",
    "casadi": r"\.casadi\(",
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_pages_say_which_extras_they_need(path: Path):
    """But for those that list everything there is."""
    text = path.read_text(encoding="utf-8")
    used = [extra for extra, call in EXTRAS.items() if re.search(call, text) and path.stem not in ("architecture", "reference")]
    assert not [extra for extra in used if not re.search(rf"`{extra}`|\[[\w,]*\b{extra}\b[\w,]*\]", text)]


def test_set_up_speaks_and_skips_are_explained():
    """What takes minutes says what it does, and why a test is skipped stands at the end of a run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in (".venv/.qddot", ".venv/.tests"):
        recipe = makefile.partition(f"\n{target}:")[2].partition("\n\n")[0]
        assert "@echo" in recipe
        assert "--quiet" not in recipe
    assert re.search(r'addopts = ".*-rs\b', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))


class Entry(NamedTuple):
    """A class or function that the reference lists, and which members of a class it shows."""

    name: str
    what: Any
    members: list[str]


def listed(options: str, key: str) -> list[str] | None:
    """Names after an option; None without it."""
    found = re.search(rf":{key}:(.*)", options)
    return found and [name.strip() for name in found[1].split(",") if name.strip()]


def reference() -> list[Entry]:
    """Everything in docs/reference.md."""
    found: list[Entry] = []
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    for kind, target, options in re.findall(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", text, re.MULTILINE):
        members, without = listed(options, "members"), listed(options, "exclude-members") or []
        if kind == "module":
            module = importlib.import_module(target)
            names = [] if members is None else members or getattr(module, "__all__", dir(module))
            chosen = {f"{target}.{name}": getattr(module, name) for name in names if name not in without}
            chosen = {name: what for name, what in chosen.items() if getattr(what, "__module__", "").startswith("qddot")}
            members = []  # of a module's classes all are shown
        else:
            module, _, name = target.rpartition(".")
            chosen = {target: getattr(importlib.import_module(module), name)}
        for name, what in chosen.items():
            shown = [] if members is None or not isinstance(what, type) else members or [*vars(what)]
            found.append(Entry(name, what, [member for member in shown if member not in without]))
    return found


def test_the_reference_has_every_public_name():
    there = {id(entry.what) for entry in reference()}
    missing = [name for name in qddot.__all__ if name != "__version__" and id(getattr(qddot, name)) not in there]
    assert not missing


def examples(what: Any) -> str:
    """The code in a docstring."""
    return "\n".join(re.findall(r"^ *(?:>>>|\.\.\.) (.*)$", what.__doc__ or "", re.MULTILINE))


def members_of(entry: Entry) -> dict[str, Any]:
    """The functions behind the methods and properties of a class that the reference shows, or the function itself."""
    if inspect.isfunction(entry.what):
        return {"": entry.what}
    found = {member: inspect.getattr_static(entry.what, member) for member in entry.members}
    for kind in ("__func__", "fget", "func"):  # class methods, properties, cached properties
        found = {member: getattr(what, kind, what) for member, what in found.items()}
    return {member: what for member, what in found.items() if inspect.isfunction(what)}


def returned(what: Any) -> set[str]:
    """The classes that a function's annotation says it returns."""
    return set(re.findall(r"\b[A-Z]\w+", str(what.__annotations__.get("return", ""))))


def test_every_public_name_has_an_example():
    """In its own docstring; of a method, that of its class may use it; of a property, that of its class will do; of a result, that
    of what returns it, or of a class that does."""
    entries = reference()
    methods = [(entry, what) for entry in entries for what in members_of(entry).values()]
    shown = {name for entry, what in methods if examples(what) or examples(entry.what) for name in returned(what)}
    missing = []
    for name, what, members in entries:
        of_class = examples(what)
        if not of_class and what.__name__ not in shown:
            missing.append(name)
        for member in members:
            method = inspect.getattr_static(what, member)
            method = getattr(method, "__func__", method)
            hidden = member.startswith("_") or not inspect.isfunction(method) or not method.__doc__
            excused = not of_class and what.__name__ in shown
            if not (hidden or excused or examples(method)) and not re.search(rf"\.{member}\b", of_class):
                missing.append(f"{name}.{member}")
    assert not missing


ELSEWHERE = {"Any", "Axes", "Callable", "Expr", "Fraction", "Function", "Iterator", "Mapping", "None", "Path", "Sequence", "Symbol"}
ALGEBRA = {"Mat", "PseudoInertia", "RigidInertia", "Scalar", "Transform", "Vec"}  # tuples of numbers or expressions


def test_the_reference_has_what_methods_return():
    entries = reference()
    there = {entry.what.__name__ for entry in entries} | ELSEWHERE | ALGEBRA
    missing = {
        f"{entry.name}.{member} -> {name}"
        for entry in entries
        for member, what in members_of(entry).items()
        if not member.startswith("_") or member == "__call__"
        for name in returned(what) - there
    }
    assert not missing


RIDDLES = re.compile(r"(What|Of|The same|Return what|As|By|With|Those|It|All of)\b")


def test_docstrings_begin_with_what_is_returned_or_done():
    """A noun phrase or the imperative; not `Of ...`, `What ...`, `With ...`, `Those ...`, which only the caller's code explains."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for path in sorted((ROOT / "src/qddot").rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]
        found += [f"{path.name}: {text[:60]}" for node in nodes if RIDDLES.match(text := ast.get_docstring(node) or "")]
    assert not found


def test_picture_of_rooms_is_that_of_the_contract() -> None:
    """`python tools/draw_rooms.py docs/images/rooms.svg` draws it."""
    rooms = runpy.run_path(str(ROOT / "tools" / "draw_rooms.py"))
    assert (DOCS / "images" / "rooms.svg").read_text(encoding="utf-8") == rooms["picture"](rooms["layers"]())


def test_every_module_has_its_place_on_the_page() -> None:
    """`docs/architecture.md` names each file, so that a stranger finds it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    words: dict[Path, set[str]] = {}  # of the rows of each folder
    folders: list[tuple[int, str]] = []  # indent and name of each folder that the row is in
    for row in page[page.index("    src/qddot/\n") : page.index("    tests/  ")].splitlines()[1:]:
        indent = len(row) - len(row.lstrip())
        folders = [outer for outer in folders if outer[0] < indent]
        if folder := re.match(r"(\w+)/", row.strip()):
            folders.append((indent, folder[1]))
        words.setdefault(Path(*(name for _, name in folders)), set()).update(re.findall(r"\w+", row))
    source = Path(qddot.__file__).parent
    paths = [path.relative_to(source) for path in source.rglob("*.py") if path.stem[0] != "_"]
    missing = [str(path) for path in paths if path.stem not in words.get(path.parent, set())]
    assert not missing
