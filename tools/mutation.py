"""Mutation testing of the algorithms: every small change to their text must be noticed by a test, or explained.

    python tools/mutation.py --workers 2 --sample 200
    python tools/mutation.py --workers 16 --survivors survivors.jsonl

A mutant is one file of `src/qddot/algorithms` with one operator, sign, constant, index, condition or term changed. First the values
of all quantities over plain numbers are compared with those that are kept (`tests/laws/test_values.py`: a fraction of a second);
what that does not notice meets tests that need no other dynamics library, file by file. Mutants that are no faults (rounding, or
nothing, would change) stand in `tests/data/mutation_equivalent.toml`, each with the reason. Ends with a line for each mutant that
nothing noticed (in the time given) or explained, and a table; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = Path("qddot/algorithms")
EXPLAINED = ROOT / "tests" / "data" / "mutation_equivalent.toml"
VALUES = "tests.laws.test_values"
TESTS = (
    ("tests/laws/test_long_chains.py",),
    ("tests/test_hamilton.py", "tests/test_joint_wrenches.py", "tests/test_drive.py", "tests/hostile/test_numbers.py"),
    ("tests/laws/test_derivatives.py", "tests/laws/test_physics.py"),
    ("tests/test_transmission.py", "tests/test_elastic.py", "tests/test_friction.py", "tests/compile/test_kernels.py"),
)
"""Rounds: a mutant meets the next only if it survived the one before."""
FURTHER = {
    "steps.py": ("tests/simulate/test_euler.py", "tests/simulate/test_smooth.py", "tests/simulate/test_variational.py"),
    "displacement.py": ("tests/inverse_kinematics/test_search.py",),
    "reaching.py": ("tests/inverse_kinematics/test_search.py",),
}
"""A last round for some files."""
HANG = 60  # s of processor time for one round
SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}
SWAPS |= {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
SWAPS |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OTHER_NAME = {"x": "y", "y": "z", "z": "x", "angular": "linear", "linear": "angular", "a": "b", "b": "c", "c": "a"}


@dataclass(frozen=True)
class Mutant:
    """A file of the algorithms in which one node of the syntax tree is changed, in one of several ways."""

    file: str
    line: int
    function: str
    change: str
    node: int
    way: int

    def text(self) -> str:
        tree = ast.parse((ROOT / "src" / FOLDER / self.file).read_text("utf-8"))
        place = nodes(tree)[self.node]
        Replace(place, changes(place)[self.way]).visit(tree)
        return ast.unparse(ast.fix_missing_locations(tree))

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is called where it is explained: so it is found again when lines move."""
        return self.file, self.function, self.change


def shown(node: ast.AST) -> str:
    return ast.unparse(node)[:70] if isinstance(node, ast.expr | ast.stmt) else "condition"


def nodes(tree: ast.AST) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    every = nodes(tree)
    homes = {
        id(x): node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef) for x in ast.walk(node)
    }
    skipped = {id(x) for node in every for part in without_effect(node) for x in ast.walk(part)}
    for k, node in enumerate(every):
        for way, other in enumerate(changes(node) if id(node) not in skipped else ()):
            change = f"{shown(node)} -> {shown(other)}"
            yield Mutant(path.name, getattr(node, "lineno", 0), homes.get(id(node), ""), change, k, way)


def without_effect(node: ast.AST) -> list[ast.AST]:
    """Parts of a node that say nothing to a computer, or only in an error: annotations, texts, messages."""
    parts: list[ast.AST | None] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        parts.append(node)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        parts.append(node)
    if isinstance(node, ast.FunctionDef):
        parts += node.decorator_list
    return [part for part in parts if part is not None]


def changes(node: ast.AST) -> list[ast.AST]:
    """What may stand in a node's place."""
    found: list[ast.AST] = []
    match node:
        case ast.BinOp(left, op, right):
            if type(op) in SWAPS:
                found.append(ast.BinOp(left, SWAPS[type(op)](), right))
            if isinstance(op, ast.Add | ast.Sub):
                found += [left, right]  # a term dropped
            if isinstance(op, ast.MatMult):
                found.append(ast.BinOp(right, op, left))
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            found.append(operand)
        case ast.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            found.append(ast.Constant(value + 1))
            found += [ast.Constant(-value)] if value else []
        case ast.Constant(value) if isinstance(value, bool):
            found.append(ast.Constant(not value))
        case ast.Compare(left, [op], right):
            found.append(ast.Compare(left, [SWAPS[type(op)]()], right))
        case ast.BoolOp(op, values):
            found.append(ast.BoolOp(SWAPS[type(op)](), values))
        case ast.IfExp(test, body, orelse):
            found.append(ast.IfExp(test, orelse, body))
        case ast.If(test, body, orelse):
            found.append(ast.If(ast.UnaryOp(ast.Not(), test), body, orelse))
        case ast.comprehension(target, iter_, [_, *rest], is_async):
            found.append(ast.comprehension(target, iter_, rest, is_async))
        case ast.AugAssign(target, op, value):
            found += [ast.AugAssign(target, SWAPS[type(op)](), value)] if type(op) in SWAPS else []
            found.append(ast.Pass())
        case ast.Call(ast.Name("reversed"), [argument]):
            found.append(argument)
        case ast.Call(function, [first, second, *rest], keywords) if not isinstance(first, ast.Starred):
            found.append(ast.Call(function, [second, first, *rest], keywords))
        case ast.Attribute(value, "T", context):
            found.append(value)
        case ast.Attribute(value, name, context) if name in OTHER_NAME:
            found.append(ast.Attribute(value, OTHER_NAME[name], context))
    return found


class Replace(ast.NodeTransformer):
    """Puts one node in another's place."""

    def __init__(self, place: ast.AST, replacement: ast.AST) -> None:
        self.place, self.replacement = place, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self.replacement if node is self.place else self.generic_visit(node)


# running the tests --------------------------------------------------------------------------------------------------------


class Source(importlib.abc.SourceLoader, importlib.abc.MetaPathFinder):
    """Imports one module from a text that stands nowhere else."""

    def __init__(self, module: str, path: Path, text: str) -> None:
        self.module, self.path, self.text = module, path, text

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.module else None

    def get_filename(self, fullname: str) -> str:
        return str(self.path)

    def get_data(self, path: str) -> bytes:
        return self.text.encode()

    def path_stats(self, path: str) -> Any:
        raise OSError("no file, and nothing to keep")


def judge(given: tuple[Mutant | None, list[list[str]]]) -> tuple[bool, Mutant | None]:
    """Whether a mutant survives: the values, or the rounds of tests if there are some."""
    mutant, rounds = given
    return all(passes(mutant, tests_pass, files) for files in rounds) if rounds else passes(mutant, values_are_right), mutant


def passes(mutant: Mutant | None, test: Callable[..., bool], *arguments: Any) -> bool:
    """Whether a test notices nothing of a mutant: in a child of its own, that may crash or hang."""
    child = os.fork()
    if not child:
        code = 1
        with suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG))
            signal.alarm(10 * HANG)
            with open(os.devnull, "w", encoding="utf-8") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            if mutant:
                module = f"{'.'.join(FOLDER.parts)}.{mutant.file.removesuffix('.py')}"
                sys.meta_path.insert(0, Source(module, ROOT / "src" / FOLDER / mutant.file, mutant.text()))
            code = int(not test(*arguments))
        os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def forget(*beginnings: str) -> None:
    """Modules that are to be imported again."""
    for name in [name for name in sys.modules if name.startswith(beginnings)]:
        del sys.modules[name]


def values_are_right() -> bool:
    forget("qddot.algorithms", "qddot.compile.trace", VALUES)
    kept = vars(importlib.import_module(VALUES))
    for test in [kept[name] for name in kept if name.startswith("test_")]:
        for mark in getattr(test, "pytestmark", [None]):
            for value in mark.args[1] if mark else [()]:
                test(value) if mark else test()
    return True


def tests_pass(files: list[str]) -> bool:
    forget("qddot", "tests")
    import pytest

    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*quiet, "-m", "not slow", *files])) in (0, 5)


def prepare() -> None:
    """What every test imports, once a worker."""
    import hypothesis
    import mpmath
    import pytest
    import scipy.linalg
    import sympy

    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    importlib.import_module(VALUES)
    assert all((hypothesis, mpmath, pytest, scipy, sympy))


def until(end: float, results: Any) -> Iterator[tuple[bool, Mutant]]:
    """What comes before a time."""
    with suppress(StopIteration, TimeoutError):
        while True:
            yield results.next(timeout=max(0.0, end - time.monotonic()))


def explained() -> dict[tuple[str, str, str], str]:
    """Why a mutant is no fault."""
    found = {}
    for entry in tomllib.loads(EXPLAINED.read_text("utf-8"))["equivalent"]:
        for change in entry["changes"]:
            found[entry["file"], entry["function"], change] = entry["why"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; 0: all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="*", help="of these files only")
    parser.add_argument("--again", type=Path, help="only those of an earlier file of survivors")
    parser.add_argument("--values-only", action="store_true", help="compare values, and run no other tests")
    parser.add_argument("--survivors", type=Path, help="a file for those that nothing noticed, one JSON object a line")
    given = parser.parse_args()
    files = sorted((ROOT / "src" / FOLDER).glob("*.py"))
    every = [m for path in files if not given.files or path.name in given.files for m in mutants(path)]
    if given.again:
        wanted = {
            tuple(json.loads(line)[key] for key in ("file", "function", "change"))
            for line in given.again.read_text("utf-8").splitlines()
        }
        every = [m for m in every if m.key in wanted]
    random.Random(given.seed).shuffle(every)
    reasons = explained()
    chosen, end = every[: given.sample or None], time.monotonic() + given.seconds
    os.environ |= {"HYPOTHESIS_PROFILE": "quick", "QDDOT_CACHE": "off", "OPENBLAS_NUM_THREADS": "1"}
    found: dict[str, Counter[str]] = {path.name: Counter(m.file for m in ()) for path in files}
    with get_context("fork").Pool(given.workers, prepare) as pool:

        def survivors_of(tasks: list[tuple[Mutant, list[list[str]]]], test: str) -> list[Mutant]:
            left = {mutant for mutant, _ in tasks}
            for survives, mutant in until(end, pool.imap_unordered(judge, tasks)):
                if not survives:
                    found[mutant.file][test] += 1
                    left.discard(mutant)
            return [mutant for mutant, _ in tasks if mutant in left]

        survivors = survivors_of([(mutant, []) for mutant in chosen], "by values")
        print(f"{len(survivors)} mutants leave all values as they are", flush=True)
        for mutant in survivors:
            found[mutant.file]["explained"] += mutant.key in reasons
        survivors = [mutant for mutant in survivors if mutant.key not in reasons]
        if not given.values_only:
            names = sorted({file for files in (*TESTS, *FURTHER.values()) for file in files})
            sound = {name for name, (passed, _) in zip(names, pool.map(judge, [(None, [[name]]) for name in names], 1)) if passed}
            print("left out, since they fail without any mutant:", sorted(set(names) - sound), flush=True)
            rounds = lambda file: [*TESTS, *([FURTHER[file]] if file in FURTHER else [])]  # noqa: E731
            tasks = [(m, [[x for x in files if x in sound] for files in rounds(m.file)]) for m in survivors]
            survivors = survivors_of(tasks, "by tests")
    for mutant in survivors:
        found[mutant.file]["survived"] += 1
        print(f"{mutant.file}:{mutant.line}: in {mutant.function}: {mutant.change}", flush=True)
    if given.survivors:
        lines = (json.dumps(dict(zip(("file", "function", "change", "line"), (*m.key, m.line)))) for m in survivors)
        given.survivors.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    columns = ("by values", "by tests", "explained", "survived")
    print(f"{'':<24}{'mutants':>9}" + "".join(f"{name:>11}" for name in columns))
    total = Counter(m.file for m in every)
    for name, counts in (*found.items(), ("all", sum(found.values(), Counter()))):
        if mutants_here := total[name] if name in total else len(every) * (name == "all"):
            print(f"{name:<24}{mutants_here:>9}" + "".join(f"{counts[column]:>11}" for column in columns))
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
