# `make demo` and `make test` do all the set-up themselves: a virtual environment in .venv and the pinned dependencies.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Two workers share the cores; linear algebra that starts threads of its own would only get in their way.
export OPENBLAS_NUM_THREADS := 1
ARRAYS := .venv-arrays/bin/python
PIP := $(BIN)/python -m pip --disable-pip-version-check
WEB := $(wildcard web/*.* web/.npmrc web/src/*)
SOURCES := pyproject.toml constraints.txt hatch_build.py $(WEB)

# Modules that are for PyTorch or JAX alone import them, which only the environment of test-arrays has.
DOCTESTS := --doctest-modules src/qddot --doctest-glob="*.md" README.md docs \
	--ignore-glob="src/qddot/*/torch_*.py" --ignore-glob="src/qddot/*/jax_*.py"

.PHONY: help setup setup-tests demo test test-all test-arrays lint fuzz soak mutation docs package bench clean

help: ## say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.qddot ## a virtual environment in .venv with qddot itself, enough for the demo (about 0.6 GB)

setup-tests: .venv/.tests ## the same with Pinocchio, MuJoCo and all else that tests, checks and docs need (about 2.7 GB)

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit('qddot needs Python 3.11 or newer, this is ' + sys.version.split()[0]) if sys.version_info < (3, 11) else None"
	$(PYTHON) -m venv .venv

.venv/.qddot: $(SOURCES) | .venv/bin/python
	@echo "Installing qddot and what it needs into .venv: numpy, scipy, sympy, LLVM and FLINT, about 0.6 GB."
	$(PIP) install --no-compile --constraint constraints.txt --editable .
	touch $@

.venv/.tests: $(SOURCES) | .venv/bin/python
	@echo "Installing qddot, its extras, oracles and checkers into .venv: about 2.7 GB, a few minutes."
	$(PIP) install --no-compile --constraint constraints.txt --editable ".[test,lint,docs]"
	touch .venv/.qddot $@

demo: setup ## a textbook arm beside its printed figures, then a 7R arm from a URDF with 4096 states
	$(BIN)/python examples/demo.py

test: lint ## every check but the slow ones: style, types, layers, tests, examples in the docs
	$(BIN)/python -m pytest -n 2 -m "not slow"
	$(BIN)/python -m pytest -n 2 $(DOCTESTS)

test-all: lint ## the slow ones too: other processors by emulation, memory checked by valgrind
	$(BIN)/python -m pytest -n 2
	$(BIN)/python -m pytest -n 2 $(DOCTESTS)

# PyPI's PyTorch for Linux on x86 is built for CUDA and would bring 4 GB of libraries that nothing on a CPU calls.
.venv-arrays/.ready: constraints-arrays.txt tools/torch_without_cuda.py
	$(PYTHON) -m venv .venv-arrays
	$(ARRAYS) -m pip install --quiet --constraint constraints-arrays.txt numpy scipy llvmlite sympy python-flint click pyyaml rich \
		pytest pytest-xdist hypothesis mpmath gymnasium jax filelock networkx jinja2 fsspec typing_extensions
	$(ARRAYS) -m pip install --quiet --constraint constraints-arrays.txt --no-deps torch $(if $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m)),nvidia-cuda-runtime nvidia-cuda-cupti)
	$(ARRAYS) tools/torch_without_cuda.py
	$(ARRAYS) -W ignore -c "import jax, torch"
	touch $@

test-arrays: .venv-arrays/.ready ## PyTorch and JAX, in an environment of its own (about 2.2 GB)
	PYTHONPATH=src $(ARRAYS) -m pytest -n 2 tests/arrays tests/environments tests/newcomers/test_learning_researcher.py

lint: setup-tests ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

# make fuzz SECONDS=28800 in the night
SECONDS ?= 600
SEED ?= $(shell date +%j)
fuzz: setup-tests ## every call with every odd argument, then mutants of everything that is read, for SECONDS
	$(BIN)/python -m tests.fuzz.grid
	$(BIN)/python -m tests.fuzz.run --seconds $(SECONDS) --seed $(SEED)

# make soak CALLS=1000000000 OVER=3600
CALLS ?= 10000000
OVER ?= 0
soak: setup-tests ## CALLS calls from eight threads with memory flat, spread over OVER seconds
	$(BIN)/python tools/soak.py --calls $(CALLS) --over $(OVER)

WORKERS ?= 2
mutation: setup-tests ## every small change to the algorithms must be noticed by a test, or explained
	$(BIN)/python tools/mutation.py --workers $(WORKERS)

docs: setup-tests ## the documentation, in docs/_build/html
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html

package: .venv/bin/python ## source archive, wheel and bill of materials in dist/, checked, and installed in an empty environment
	.ci/package

bench: ## speed beside other libraries, in an environment of its own
	PYTHON=$(PYTHON) benchmarks/setup.sh
	.venv-bench/bin/python benchmarks/speed.py
	.venv-bench/bin/python benchmarks/operations.py
	.venv-bench/bin/python benchmarks/core.py
	.venv-bench/bin/python benchmarks/rollouts.py
	test ! -e .venv-arrays/.ready || PYTHONPATH=src $(ARRAYS) benchmarks/arrays.py
	.venv-bench/bin/python benchmarks/loops.py
	.venv-bench/bin/python benchmarks/steps.py
	.venv-bench/bin/python benchmarks/lanes.py
	.venv-bench/bin/python benchmarks/equations.py
	.venv-bench/bin/python benchmarks/identification.py
	.venv-bench/bin/python benchmarks/found_again.py

clean: ## delete everything that make has made
	rm -rf .venv .venv-arrays .venv-bench build dist docs/_build .pytest_cache .ruff_cache .hypothesis
