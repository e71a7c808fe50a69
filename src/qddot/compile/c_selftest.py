"""Write the C program that tests exported functions, by calling them with states whose results qddot's own kernels have computed.

Results must agree to a tolerance relative to the largest of them, or to the rounding error of the computation if that is larger:
a heavy arm on a light joint amplifies the last digit. That error is estimated by random rounding: the graph is evaluated a few
times, each operation off by up to half a unit in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from qddot.compile.c_source import PRECISIONS, Precision
from qddot.compile.kernel import Kernel
from qddot.graph.program import Program
from qddot.graph.replay import ARITHMETIC, evaluated

STATES = 4
"""Number of states in which each function is tested."""

RUNS = 8
"""Number of evaluations with random rounding."""

TOLERANCE = {"double": 1e-12, "float": 1e-4}
"""Least tolerance of a result, relative to the largest element."""

SAFETY = 30
"""Factor on the estimated rounding error, since compilers may round differently from the random runs."""

OPERATIONS = {
    **ARITHMETIC,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sign": np.sign,
    "atan2": np.arctan2,
    "select": lambda x, a, b: np.where(x > 0, a, b),
}


class Expected(NamedTuple):
    """Expected results of a function: `inputs` and `outputs` by name, each (states, size); `codes` (states,) that it returns, 0
    where there is a result."""

    program: Program
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    tolerances: Mapping[str, float]
    codes: np.ndarray


def expected(kernel: Kernel, states: Mapping[str, np.ndarray], precision: Precision) -> Expected:
    """Return the results of a kernel in states, arrays (states, *shape), without states whose result is not finite, or for which
    rounding decides whether it exists."""
    program = kernel.program
    arrays = [states[x.name].astype(precision.dtype) for x in program.inputs]
    with np.errstate(all="ignore"):
        results = kernel(*arrays)
        spread = rounding(program, arrays, float(np.finfo(precision.dtype).eps))
    results = results if isinstance(results, tuple) else (results,)
    flat = {x.name: result.reshape(STATES, -1) for x, result in zip(program.outputs, results, strict=True)}
    margin = flat.pop("margins", np.ones((STATES, 1)))
    codes = np.array([int(np.flatnonzero(row)[-1]) + 1 if row.any() else 0 for row in ~(margin > 0)])
    finite = np.all([np.isfinite(values).all(axis=1) for values in flat.values()], axis=0)
    kept = ~(np.abs(margin) < SAFETY * spread.pop("margins", 0)).any(axis=1) & (finite | (codes > 0))
    compared, least = kept & (codes == 0), TOLERANCE[precision.real]
    tolerances = {
        name: float(max(least * np.abs(flat[name][compared]).max(initial=0), SAFETY * spread[name][compared].max(initial=0)))
        for name in flat
    }
    inputs = {x.name: a.reshape(STATES, -1)[kept] for x, a in zip(program.inputs, arrays)}
    return Expected(program, inputs, {name: values[kept] for name, values in flat.items()}, tolerances, codes[kept])


def rounding(program: Program, arrays: Sequence[np.ndarray], unit: float) -> dict[str, np.ndarray]:
    """Return, for each output, the range (states, size) of its elements when every operation is rounded at random."""
    rng = np.random.default_rng(0)
    inputs = [np.broadcast_to(a.reshape(STATES, -1).astype(float).T[:, None], (a[0].size, RUNS, STATES)) for a in arrays]
    rounded = lambda exact: lambda *args: exact(*args) * (1 + unit * rng.uniform(-0.5, 0.5, (RUNS, STATES)))  # noqa: E731
    operations = {name: rounded(exact) for name, exact in OPERATIONS.items()}
    found = evaluated(program, operations, inputs, lambda x: np.full((RUNS, STATES), float(x)))
    return {x.name: np.array([np.ptp(v, axis=0) for v in values]).T for x, values in zip(program.outputs, found)}


# as C -----------------------------------------------------------------------------------------------------------------

HEAD = """\
/* Calls every function of {name}.h and compares with results computed by qddot. Do not edit. */
#include "{name}.h"

#include <math.h>
#include <stdio.h>

static int passed, failed;

static int agree(const {real} *found, const {real} *wanted, int size, double tolerance)
{{
    int k;
    for (k = 0; k < size; ++k)
        if (!(found[k] == wanted[k] || fabs((double)found[k] - (double)wanted[k]) <= tolerance))
            return 0;
    return 1;
}}

static void report(const char *function, int state, int good)
{{
    if (good) {{
        ++passed;
    }} else {{
        ++failed;
        printf("%s: wrong in state %d\\n", function, state);
    }}
}}
"""

TAIL = """
int main(void)
{{
{calls}
    printf("%d passed, %d failed\\n", passed, failed);
    return failed ? 1 : 0;
}}
"""


def selftest(name: str, functions: Mapping[str, Expected], precision: Precision) -> str:
    """Return the text of the program; `functions` by their names."""
    tested = {function: x for function, x in functions.items() if len(x.codes)}
    bodies = [line for function, x in tested.items() for line in test(function, x, precision)]
    calls = "\n".join(f"    test_{function}();" for function in tested) or "    (void)agree;\n    (void)report;"
    return HEAD.format(name=name, real=precision.real) + "\n".join(["", *bodies]) + TAIL.format(calls=calls)


def test(function: str, x: Expected, precision: Precision) -> Iterator[str]:
    """Yield the lines of a C function that tests one function in every state."""
    real, states = precision.real, len(x.codes)
    given, wanted = [i.name for i in x.program.inputs], [o.name for o in x.program.shown]
    call = f"{function}({', '.join([*(f'{n}[k]' for n in given), *(f'found_{n}' for n in wanted)])})"
    yield from (f"static void test_{function}(void)", "{")
    for name, values in (*x.inputs.items(), *x.outputs.items()):
        yield from table(f"static const {real} {name}[{states}][{values.shape[1]}]", values, precision)
    yield from (f"    {real} found_{name}[{x.outputs[name].shape[1]}];" for name in wanted)
    checks = [f"agree(found_{n}, {n}[k], {x.outputs[n].shape[1]}, {PRECISIONS['double'].literal(x.tolerances[n])})" for n in wanted]
    if x.program.margins:
        yield f"    static const int codes[{states}] = {{{', '.join(map(str, x.codes))}}};"
        yield from ("    int k;", f"    for (k = 0; k < {states}; ++k) {{", f"        const int code = {call};")
        yield f'        report("{function}", k, code == codes[k] && (code != 0 || ({" && ".join(checks)})));'
    else:
        yield from ("    int k;", f"    for (k = 0; k < {states}; ++k) {{", f"        {call};")
        yield f'        report("{function}", k, {" && ".join(checks)});'
    yield from ("    }", "}", "")


def table(head: str, rows: np.ndarray, precision: Precision) -> Iterator[str]:
    """Yield the lines that define a constant array of arrays."""
    yield f"    {head} = {{"
    for row in rows:
        yield f"        {{{', '.join(precision.literal(float(x)) for x in row)}}},"
    yield "    };"
