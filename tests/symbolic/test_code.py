"""Closed forms as code: SymPy, Python, C and functions compute what the polynomials say, whatever symbols are called."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import sympy

import qddot
from qddot.errors import InputError, UnboundSymbolError, UnknownNameError
from qddot.symbolic.form import Form
from qddot.symbolic.printing.code import Program, PythonPrinter
from tests.symbolic.well_formed import assert_well_formed

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
HOSTILE = ("x}; system(1)", "__import__('os')", "lambda", "if", '"""', "a\\b", "m%1", "*/ int x;", "sin", "q", "out", "αβ")


# SymPy ------------------------------------------------------------------------------------------------------------------------


def test_sympy_is_exact(book):
    for form in (book.M, book.c, book.g, book.tau):
        back = [book.read(x) for x in sympy.flatten(form.sympy())]
        assert Form(book, back) == Form(book, form.entries.ravel())
    q1, q2 = sympy.symbols("q1 q2", real=True)
    L2, m2, g = sympy.symbols("L2 m2 g", positive=True)
    assert sympy.simplify(book.g[1].sympy() - g * m2 * L2 * sympy.cos(q1 + q2)) == 0
    assert book.christoffel.sympy().shape == (2, 2, 2)


@pytest.mark.parametrize("parameters", ["given", "inertial", "all"])
def test_sympy_of_puma_is_exact(parameters):
    e = qddot.load("puma560").equations(parameters)
    assert Form(e, [e.read(x) for x in sympy.flatten(e.M.sympy())]) == Form(e, e.M.entries.ravel())


# code -------------------------------------------------------------------------------------------------------------------------


def run_python(form: Form, *arrays, **parameters):
    scope: dict = {}
    source = form.python()
    exec(compile(source, "generated", "exec"), scope)
    return scope[form.name](*arrays, **parameters)


@pytest.mark.parametrize("parameters", ["given", "all"])
def test_python_runs(parameters):
    robot = qddot.load("puma560")
    e = robot.equations(parameters)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 4, 2, 6))
    assert np.allclose(run_python(e.M, q), robot.mass_matrix(q), rtol=1e-12, atol=1e-12)
    assert np.allclose(run_python(e.coriolis_torque, q, qd), robot.coriolis_torque(q, qd), rtol=1e-12, atol=1e-12)


def test_lambdify_equals_the_compiled_kernels():
    robot = qddot.load("puma560")
    e = robot.equations()
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.normal(size=(3, 10, 6))
    assert np.allclose(e.tau.lambdify()(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-11, atol=1e-11)
    assert np.allclose(e.tau.lambdify()(q), robot.inverse_dynamics(q, 0 * q, 0 * q), rtol=1e-11, atol=1e-11)
    assert np.allclose(e.T.lambdify()(q, qd), robot.kinetic_energy(q, qd))


def test_lambdify_takes_parameters(book):
    f = book.g.lambdify()
    values = {"L1": 1.0, "L2": 2.0, "m1": 3.0, "m2": np.array([4.0, 5.0]), "g": 9.81}
    got = f([0.1, 0.2], **values)
    for k in range(2):
        assert np.allclose(got[k], book.g.evaluate([0.1, 0.2], parameters=values | {"m2": values["m2"][k]}))
    with pytest.raises(UnboundSymbolError, match="m2 has no value"):
        f([0.1, 0.2], L1=1, L2=1, m1=1, g=1)
    with pytest.raises(UnknownNameError):
        f([0.1, 0.2], L3=1)
    with pytest.raises(InputError, match="q has shape"):
        f([0.1], **values)


def run_c(form: Form, arrays, p, directory) -> np.ndarray:
    (directory / "form.c").write_text(form.c())
    library = directory / "form.so"
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "form.c", "-o", str(library), "-lm"], cwd=directory, check=True, capture_output=True)
    out = np.empty(form.shape)
    inputs = [np.ascontiguousarray(x, dtype=float) for x in (*arrays, *([p] if p else []))]
    pointer = ctypes.POINTER(ctypes.c_double)
    function = getattr(ctypes.CDLL(str(library)), form.name)
    function(*(x.ctypes.data_as(pointer) for x in inputs), out.ctypes.data_as(pointer))
    return out


needs_compiler = pytest.mark.skipif(CC is None or sys.platform == "win32", reason="no C compiler on the path")


@needs_compiler
def test_c_runs(puma, book, tmp_path):
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 6))
    e = qddot.load("puma560").equations()
    assert np.allclose(run_c(e.tau, (q, qd, qdd), [], tmp_path), e.tau.evaluate(q, qd, qdd), rtol=1e-12)
    (tmp_path / "book").mkdir()
    order = book.g.c().split("/* p: ")[1].split(" */")[0].split(", ")
    values = dict(zip(order, (1.1, 1.2, 1.3, 1.4, 1.5)))
    got = run_c(book.g, (q[:2],), list(values.values()), tmp_path / "book")
    assert np.allclose(got, book.g.evaluate(q[:2], parameters=values), rtol=1e-14)


@needs_compiler
def test_c_of_a_constant_has_no_warnings(tmp_path):
    e = qddot.load("rp_arm").equations()
    constant = Form(e, [1, 2], "constant")
    assert np.array_equal(run_c(constant, ([0.0, 0.0],), [], tmp_path), [1, 2])


@needs_compiler
def test_hostile_names_are_harmless(tmp_path):
    arm = qddot.Builder('"""; import os', gravity=(0, -9.81, 0))
    symbols = [sympy.Symbol(name) for name in HOSTILE]
    arm.body("a", mass=symbols[0], com=symbols[1:4], tensor=symbols[4:7])
    arm.body("b", "a", xyz=symbols[7:10], mass=symbols[10], com=(symbols[11], 0, 0), tensor=(0, 0, 0))
    e = arm.robot().equations()
    form = e.M
    assert set(form.equations.parameters) <= set(HOSTILE)
    assert_well_formed(form.latex())
    ElementTree.fromstring(form.mathml())
    q = np.linspace(-1, 1, e.nq)
    values = {name: 0.3 + 0.1 * i for i, name in enumerate(HOSTILE)}
    expected = form.evaluate(q, parameters=values)
    assert np.allclose(form.lambdify()(q, **values), expected)
    program = Program(form, PythonPrinter)
    assert all(name.isidentifier() and name.isascii() for name in program.parameters.values())
    assert len(set(program.parameters.values())) == len(program.parameters)
    assert np.allclose(run_c(form, (q,), [values[name] for name in program.parameters], tmp_path), expected)


@pytest.mark.slow
def test_long_sums_are_cut_into_statements():
    e = qddot.load("arm7").equations()
    source = e.M.python()
    assert "t1 = t1 + " in source
    q = np.random.default_rng(6).normal(size=7)
    assert np.allclose(run_python(e.M, q), qddot.load("arm7").mass_matrix(q), atol=1e-12)
