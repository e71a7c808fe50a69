"""Mutation testing of the algorithms: every small change to their text must be noticed by a test.

    python tools/mutation.py --workers 2 --seconds 600 --sample 200

A mutant is one file of `src/qddot/algorithms` with one operator, sign, constant, index, condition or term changed. Tests that need
no other dynamics library are run against it until one fails: laws of physics first, then what else touches the algorithms. Ends
with a table, and a line for each mutant that nothing noticed.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = Path("qddot/algorithms")
TESTS = (
    ("tests/laws/test_physics.py",),
    ("tests/laws/test_derivatives.py", "tests/test_joint_wrenches.py", "tests/test_hamilton.py", "tests/compile/test_kernels.py"),
    ("tests/test_drive.py", "tests/test_transmission.py", "tests/test_elastic.py", "tests/hostile/test_numbers.py"),
    ("tests/textbook/test_peer_vectors.py", "tests/test_friction.py", "tests/test_inputs.py", "tests/test_first_minutes.py"),
)
"""Rounds: a mutant meets the next only if it survived the one before."""
FURTHER = {
    "steps.py": ("tests/simulate/test_euler.py", "tests/simulate/test_smooth.py", "tests/simulate/test_variational.py"),
    "displacement.py": ("tests/inverse_kinematics/test_search.py",),
    "reaching.py": ("tests/inverse_kinematics/test_search.py",),
}
"""A last round for some files."""
HANG = 120  # s of processor time for one round
SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}
SWAPS |= {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
SWAPS |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OTHER_NAME = {"x": "y", "y": "z", "z": "x", "angular": "linear", "linear": "angular", "a": "b", "b": "c", "c": "a"}


@dataclass(frozen=True)
class Mutant:
    """A file of the algorithms in which one node of the syntax tree is changed, in one of several ways."""

    file: str
    line: int
    node: int
    way: int

    def made(self) -> tuple[str, str]:
        """Its text, and what was changed."""
        tree = ast.parse((ROOT / "src" / FOLDER / self.file).read_text("utf-8"))
        place = nodes(tree)[self.node]
        replacement = changes(place)[self.way]
        before, after = (ast.unparse(x)[:70] if isinstance(x, ast.expr | ast.stmt) else "condition" for x in (place, replacement))
        Replace(place, replacement).visit(tree)
        return ast.unparse(ast.fix_missing_locations(tree)), f"{before} -> {after}"


def nodes(tree: ast.AST) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    every = nodes(ast.parse(path.read_text("utf-8")))
    skipped = {id(x) for node in every for part in without_effect(node) for x in ast.walk(part)}
    for k, node in enumerate(every):
        for way in range(len(changes(node)) if id(node) not in skipped else 0):
            yield Mutant(path.name, getattr(node, "lineno", 0), k, way)


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


def copied() -> Path:
    """A copy of the source for this worker's mutants."""
    home = Path(os.environ["MUTATION_HOME"]) / str(os.getpid())
    if not home.exists():
        shutil.copytree(ROOT, home, ignore=shutil.ignore_patterns(".*", "node_modules", "docs", "web"), symlinks=True)
    return home


def passes_unchanged(file: str) -> bool:
    """Whether a test file can tell a mutant at all."""
    return passes(copied(), [file])


def judge(given: tuple[Mutant, list[list[str]]]) -> tuple[str, Mutant]:
    """`killed` in one of the rounds of tests, or `survived`."""
    (mutant, rounds), home = given, copied()
    place = home / "src" / FOLDER / mutant.file
    original = place.read_text("utf-8")
    place.write_text(mutant.made()[0], "utf-8")
    try:
        return ("survived" if all(passes(home, files) for files in rounds) else "killed"), mutant
    finally:
        place.write_text(original, "utf-8")


def passes(home: Path, files: list[str]) -> bool:
    """Whether the tests notice nothing; in a child that has the heavy imports already, and none of qddot."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG))
        signal.alarm(5 * HANG)
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        os.chdir(home)
        sys.path[:0] = [str(home / "src"), str(home)]
        sys.dont_write_bytecode = True
        import pytest

        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        os._exit(int(pytest.main([*quiet, "-m", "not slow", *files])))
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 5)


def prepare() -> None:
    """What every test imports, once a worker."""
    import hypothesis
    import mpmath
    import numpy
    import pytest
    import scipy.linalg
    import sympy

    assert all((hypothesis, mpmath, numpy, pytest, scipy, sympy))


def until(end: float, results: Any) -> Iterator[tuple[str, Mutant]]:
    """What comes before a time."""
    with suppress(StopIteration, TimeoutError):
        while True:
            yield results.next(timeout=max(0.0, end - time.monotonic()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; 0: all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="*", help="of these files only")
    parser.add_argument("--survivors", type=Path, help="a file for those that nothing noticed, one JSON object a line")
    given = parser.parse_args()
    files = sorted((ROOT / "src" / FOLDER).glob("*.py"))
    every = [m for path in files if not given.files or path.name in given.files for m in mutants(path)]
    random.Random(given.seed).shuffle(every)
    chosen, end = every[: given.sample or None], time.monotonic() + given.seconds
    compileall.compile_dir(ROOT / "src", quiet=2)
    os.environ |= {"HYPOTHESIS_PROFILE": "quick", "QDDOT_CACHE": "off", "OPENBLAS_NUM_THREADS": "1"}
    found: dict[str, Counter[str]] = {path.name: Counter() for path in files}
    survivors: list[Mutant] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ["MUTATION_HOME"] = home
        if (ROOT.parent / "shared").exists():  # worked examples that tests read, where they are
            (Path(home) / "shared").symlink_to(ROOT.parent / "shared")
        with get_context("fork").Pool(given.workers, prepare) as pool:
            files_of_tests = sorted({file for files in (*TESTS, *FURTHER.values()) for file in files})
            sound = dict(zip(files_of_tests, pool.map(passes_unchanged, files_of_tests, 1)))
            print("left out, since they fail without any mutant:", [file for file in sound if not sound[file]], flush=True)
            rounds = [[file for file in files if sound[file]] for files in TESTS]
            last = {name: [[file for file in files if sound[file]]] for name, files in FURTHER.items()}
            tasks = [(mutant, [*rounds, *last.get(mutant.file, [])]) for mutant in chosen]
            for verdict, mutant in until(end, pool.imap_unordered(judge, tasks)):
                found[mutant.file][verdict] += 1
                if verdict == "survived":
                    survivors.append(mutant)
                    print(f"{mutant.file}:{mutant.line}: {mutant.made()[1]}", flush=True)
    if given.survivors:
        lines = (json.dumps({"file": m.file, "line": m.line, "change": m.made()[1]}) for m in survivors)
        given.survivors.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{'':<24}{'mutants':>9}{'tried':>9}{'killed':>9}{'survived':>10}")
    total = Counter(m.file for m in every)
    for name, counts in found.items():
        if total[name]:
            print(f"{name:<24}{total[name]:>9}{counts.total():>9}{counts['killed']:>9}{counts['survived']:>10}")
    everything = sum(found.values(), Counter())
    print(f"{'all':<24}{len(every):>9}{everything.total():>9}{everything['killed']:>9}{everything['survived']:>10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
