"""What is promised about the package itself: typed, documented, and loaded only as far as it is needed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import qddot

PROJECT = Path(__file__).parents[1]
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
EXTRAS = METADATA["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"test", "lint", "docs", "bench"}


def test_types_are_for_others_too():
    assert (Path(qddot.__file__).parent / "py.typed").exists()


def test_every_dependency_and_extra_has_its_reason_in_the_docs():
    page = (PROJECT / "docs" / "installation.md").read_text("utf-8")
    named = set(re.findall(r"`([\w-]+)`", "\n".join(line for line in page.splitlines() if line.startswith("|"))))
    core = {re.split(r"[<>=\[]", text)[0] for text in METADATA["project"]["dependencies"]}
    assert core | set(EXTRAS) <= named


def test_all_means_all():
    (all_of_them,) = EXTRAS["all"]
    assert set(re.findall(r"[\w-]+", all_of_them)) - {"qddot"} == set(EXTRAS) - FOR_DEVELOPERS - {"all"} - {
        "torch",
        "jax",
    }  # gigabytes, for those who have them anyway


def test_numbers_need_only_numpy_llvm_and_yaml():
    """SymPy, SciPy and FLINT weigh half of an installation and take a second to load."""
    script = """
import sys, qddot
robot = qddot.load("arm7")
robot.forward_dynamics([0.1] * 7, [0.0] * 7, [0.0] * 7)
step = robot.bind("mass_matrix")
step()
print(*{name.partition(".")[0] for name in sys.modules})
"""
    loaded = set(subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout.split())
    heavy = {"sympy", "mpmath", "scipy", "flint", "matplotlib", "rich", "click", "mujoco", "casadi", "pyarrow", "dask", "cvxpy"}
    assert "llvmlite" in loaded
    assert not loaded & heavy


def test_the_package_index_gets_no_link_that_leads_nowhere():
    (rule,) = METADATA["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    readme = (PROJECT / "README.md").read_text("utf-8")
    assert "](docs/" in readme
    shown = re.sub(rule["pattern"], rule["replacement"], readme)
    assert all(target.startswith("http") for target in re.findall(r"\]\(([^)]+)\)", shown))
    assert "Start (`docs/start.md`)" in shown


def test_make_explains_every_target():
    text = (PROJECT / "Makefile").read_text("utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", text, re.M)
    assert targets
    assert set(targets[1].split()) == set(re.findall(r"^([a-z-]+):.*## \w", text, re.M))
