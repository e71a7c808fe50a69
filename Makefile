# `make demo` and `make test` do all the set-up themselves: a virtual environment in .venv and the pinned dependencies.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Two workers share the cores; linear algebra that starts threads of its own would only get in their way.
export OPENBLAS_NUM_THREADS := 1
STAMP := .venv/.installed

.PHONY: setup demo test test-all lint docs bench clean

setup: $(STAMP)

WEB := $(wildcard web/*.* web/.npmrc web/src/*)

$(STAMP): pyproject.toml constraints.txt hatch_build.py $(WEB)
	$(PYTHON) -c "import sys; sys.exit('qddot needs Python 3.11 or newer, this is ' + sys.version.split()[0]) if sys.version_info < (3, 11) else None"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test,lint,docs]"
	touch $@

demo: setup
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"
	$(BIN)/python -m pytest --doctest-modules src/qddot --doctest-glob="*.md" README.md docs

test-all: lint
	$(BIN)/python -m pytest -n 2
	$(BIN)/python -m pytest --doctest-modules src/qddot --doctest-glob="*.md" README.md docs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: setup
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html

bench:
	PYTHON=$(PYTHON) benchmarks/setup.sh
	.venv-bench/bin/python benchmarks/speed.py
	.venv-bench/bin/python benchmarks/operations.py
	.venv-bench/bin/python benchmarks/core.py
	.venv-bench/bin/python benchmarks/rollouts.py
	.venv-bench/bin/python benchmarks/loops.py
	.venv-bench/bin/python benchmarks/equations.py
	.venv-bench/bin/python benchmarks/identification.py
	.venv-bench/bin/python benchmarks/found_again.py

clean:
	rm -rf .venv .venv-bench build dist docs/_build .pytest_cache .ruff_cache .hypothesis
