"""Programs as tables: the bits of code, in every precision, width and kind of operation."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.compile import kernel_ir, llvm
from qddot.compile.kernel import Kernel
from qddot.compile.kernel_ir import Emitter
from qddot.compile.lanes import Lanes
from qddot.compile.table_ir import KINDS, OTHER_SIGN, Rows, tabled
from qddot.graph.program import Program
from qddot.robot import Robot
from tests.robots import random_model

MIMIC = Robot(random_model(np.random.default_rng(2), 5, kinds=("revolute",), mimic=0.8))  # angles that are sums
FRICTION = qddot.from_dh(
    [(0.3, 0.1, 0.1, 0.0), (0.2, -0.2, 0.0, 0.3)],
    convention="modified",
    inertias=[qddot.Inertia(1.0, [0.1, 0.02, 0.03], [0.1, 0.2, 0.15])] * 2,
    drives=[qddot.Drive(viscous=0.1, coulomb=0.2, static=0.4, stribeck_velocity=0.1)] * 2,
)
CASES = {
    "long": ("puma560", "inverse_dynamics_derivatives", {}),
    "/": ("puma560", "forward_dynamics", {}),
    "sums of angles": (MIMIC, "mass_matrix", {}),
    "late angles": ("two_link", "rk4_step", {}),
    "atan2": ("two_link", "analytic_jacobian_dot", {"coordinates": "rotation_vector"}),
    "select": ("two_link", "reaching_step", {"rows": "x"}),
    "sign": (FRICTION, "inverse_dynamics", {}),
    "constants": ("two_link", "jacobian", {}),
}


def program(case: str, dtype: type) -> Program:
    robot, quantity, options = CASES[case]
    evaluate = (qddot.load(robot) if isinstance(robot, str) else robot)._evaluate
    return evaluate.kernels.program((evaluate.kernels.request(quantity, options),), dtype)


def results(made: Program, dtype: type, states: int) -> list[np.ndarray]:
    rng = np.random.default_rng(states)
    kernel = Kernel(made, np.dtype(dtype))
    found = kernel(*(rng.normal(size=(states, *x.shape)).astype(dtype) for x in made.inputs))
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES)
def test_a_table_computes_the_bits_of_code(case, dtype, monkeypatch):
    made = program(case, dtype)
    sizes = (3, 41)  # one by one; several at a time, and a rest
    code = [results(made, dtype, n) for n in sizes]
    monkeypatch.setattr(llvm, "LONG", -1)
    monkeypatch.setattr(kernel_ir, "SHORT", -1)
    for expected, n in zip(code, sizes):
        for a, b in zip(results(made, dtype, n), expected, strict=True):
            np.testing.assert_array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{a.itemsize}"))


def test_the_cases_have_every_kind_of_row():
    assert {kind for case in CASES for kind in Rows(Emitter(program(case, float), Lanes(1, "double", True, 8))).kinds} == set(KINDS)


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_rows_stay_within_the_places_and_read_what_was_written(case, fma, width):
    emit = Emitter(program(case, float), Lanes(width, "double", fma, 8))
    table = tabled(emit)
    sign = 1 << (8 * table.rows.itemsize - 1)
    given = table.constants_at + len(table.constants)
    written = set(range(given))
    for to, *operands in table.rows.tolist():
        assert {x & (sign - 1) for x in operands} <= written
        assert given <= to < table.size
        written.add(to)
    assert set(table.leaving) <= written
    assert sum(table.runs[1::2]) == len(table.rows)
    assert max(table.runs[::2], default=0) < len(KINDS)
    assert sign == OTHER_SIGN >> 16
