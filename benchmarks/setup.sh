#!/bin/sh
# A virtual environment for the benchmarks, .venv-bench, beside the project's own: qddot and every peer.
set -e
cd "$(dirname "$0")/.."
stamp=.venv-bench/.installed
test -x .venv-bench/bin/python || "${PYTHON:-python3.11}" -m venv .venv-bench
echo "*" > .venv-bench/.gitignore
if [ ! -e $stamp ] || [ pyproject.toml -nt $stamp ] || [ constraints.txt -nt $stamp ]; then
    .venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[bench]"
    touch $stamp
fi
