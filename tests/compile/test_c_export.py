"""Exported C: compiles without a warning, computes what our kernels compute, needs only libm; names are in comments only."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.cli import main
from qddot.compile import c_source
from qddot.compile.c_export import RESERVED, identifier
from qddot.compile.c_source import PRECISIONS, c_function
from qddot.errors import InputError, ModelValueError, UnboundSymbolError, UnknownNameError
from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program
from qddot.robot import Robot
from tests.reference import BAD
from tests.robots import ALL, CLASSIC, random_model
from tests.slow import slow_but

CC, CXX, NM = shutil.which("gcc") or shutil.which("clang"), shutil.which("g++"), shutil.which("nm")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler (gcc or clang) on the path")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
FRAMED = [q for q, entry in QUANTITIES.items() if "frame" in entry.options]
INERTIA = qddot.Inertia(1, (0.1, 0, 0), np.eye(3) * 0.01)
IN_COORDINATES = ("christoffel", "centrifugal_matrix", "coriolis_products_matrix", "torque_rates")


def run(*command: object) -> str:
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(folder: Path, name: str, *flags: str) -> Path:
    """Compile; run the self-test; return the shared library."""
    flags = (*STRICT, *(flags or ("-O0",)))
    run(CC, *flags, "-fPIC", "-c", folder / f"{name}.c", "-o", folder / "lib.o")
    run(CC, *flags, folder / f"{name}_selftest.c", folder / "lib.o", "-lm", "-o", folder / "selftest")
    assert re.fullmatch(r"[1-9]\d* passed, 0 failed\n", run(folder / "selftest"))
    run(CC, "-shared", folder / "lib.o", "-lm", "-o", folder / "lib.so")
    return folder / "lib.so"


def call(library: Path, function: str, program: Program, arrays, dtype=np.float64) -> tuple[list[np.ndarray], int]:
    """One state through a compiled function."""
    f = getattr(ctypes.CDLL(str(library)), function)
    outputs = [np.full(x.shape, np.nan, dtype) for x in program.outputs if x.name != "margins"]
    code = f(*(np.ascontiguousarray(a, dtype).ctypes.data_as(ctypes.c_void_p) for a in (*arrays, *outputs)))
    return outputs, code


def states(robot: Robot, program: Program, seed: int):
    rng = np.random.default_rng(seed)
    return [robot.random_configuration(rng) if x.name == "q" else rng.normal(size=x.shape) for x in program.inputs]


def everything(robot: Robot) -> list:
    """Every quantity that exists, for the last frame, and a second Jacobian."""
    plain = [q for q in QUANTITIES if q not in IN_COORDINATES or robot.nq == robot.nv]
    plain = [q for q in plain if q != "coriolis_products_matrix" or robot.nv > 1]
    options = {q: {"frame": robot.frame_names[-1]} for q in FRAMED}
    second = ("jacobian", {"frame": robot.frame_names[-1], "reference": "body"})
    return [*((q, options.get(q, {})) for q in plain), second, ("inverse_dynamics", {"wrench": True})]


def short(robot: Robot) -> list:
    """Some of them: what is printed is printed alike."""
    kept = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "friction_torque", "transform", "jacobian", "kinetic_energy")
    return [(q, options) for q, options in everything(robot) if q in kept]


def agrees(robot: Robot, library: Path, name: str, wanted: list, tolerance: float, dtype=np.float64) -> None:
    """The compiled functions against the kernels, in states the self-test does not have."""
    seen: list[str] = []
    for quantity, options in wanted:
        seen.append(quantity)
        number = f"_{seen.count(quantity)}" if seen.count(quantity) > 1 else ""
        kernel = robot.kernel(quantity, dtype=dtype, **options)
        for seed in range(3):
            arrays = [a.astype(dtype) for a in states(robot, kernel.program, seed)]
            results = kernel(*arrays)
            results = results if isinstance(results, tuple) else (results,)
            found, code = call(library, f"{name}_{quantity}{number}", kernel.program, arrays, dtype)
            if kernel.program.outputs[-1].name == "margins":
                *results, margins = results
                assert code == next((k + 1 for k in reversed(range(margins.size)) if not margins[k] > 0), 0)
                if code:
                    assert all(np.isnan(x).all() for x in found)
                    continue
            for x, y in zip(found, results, strict=True):
                assert abs(x - y).max() <= tolerance * max(1.0, abs(y).max()), quantity


# what it computes -----------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("name", slow_but(CLASSIC, "puma560", "cart_pole"))
def test_every_quantity_of_the_catalog(name, tmp_path):
    robot = qddot.load(name)
    paths = robot.export_c(tmp_path, everything(robot))
    assert [p.name for p in paths] == [f"{name}.h", f"{name}.c", f"{name}_selftest.c", "CMakeLists.txt"]
    agrees(robot, built(tmp_path, name), name, everything(robot), 1e-12)
    needs_libm_and_nothing_else(tmp_path / "lib.o")


def needs_libm_and_nothing_else(library: Path) -> None:
    if NM is not None:
        symbols = [line.split() for line in run(NM, library).splitlines()]
        assert {s[-1].lstrip("_") for s in symbols if s[-2] == "U"} <= {"sin", "cos", "sqrt", "atan2", "GLOBAL_OFFSET_TABLE_"}
        assert not [s for s in symbols if s[-2] in "bBdDC"]  # no variable outlives a call


@needs_compiler
@pytest.mark.parametrize("wanted", slow_but((short, everything), short))
def test_every_joint_type(wanted, tmp_path):
    robot = Robot(random_model(np.random.default_rng(437), 9, mimic=0.2))
    assert {j.kind for j in robot.model.joints} == set(ALL)
    assert robot.mimics
    robot.export_c(tmp_path, wanted(robot))
    agrees(robot, built(tmp_path, "random"), "random", wanted(robot), 1e-10)
    assert "wxyz" in (tmp_path / "random.h").read_text()


@needs_compiler
@pytest.mark.parametrize("name", [pytest.param("puma560", marks=pytest.mark.slow), "cart_pole", "random"])
def test_single_precision(name, tmp_path):
    robot = Robot(random_model(np.random.default_rng(8), 4)) if name == "random" else qddot.load(name)
    wanted = short(robot) if name == "random" else everything(robot)
    robot.export_c(tmp_path, wanted, precision="float")
    text = (tmp_path / f"{name}.c").read_text()
    assert "double" not in text
    assert "sinf(" in text
    assert not re.search(r"\b\d+\.\d+(e-?\d+)?\b(?!f)", text)
    agrees(robot, built(tmp_path, name, "-O0", "-Wdouble-promotion"), name, wanted, 2e-3, np.float32)


@needs_compiler
@pytest.mark.parametrize("flags", [("-O2",), ("-O3", "-march=native", "-ffp-contract=fast")], ids=" ".join)
def test_optimised(flags, tmp_path):
    robot = qddot.load("puma560")
    wanted = [("inverse_dynamics", {}), ("forward_dynamics", {}), ("mass_matrix", {})]
    robot.export_c(tmp_path, wanted)
    agrees(robot, built(tmp_path, "puma560", *flags), "puma560", wanted, 1e-12)


@needs_compiler
@pytest.mark.parametrize("part", [1, 7, 40])
def test_long_functions_are_cut(part, tmp_path, monkeypatch):
    monkeypatch.setattr(c_source, "PART", part)
    robot = qddot.load("two_link")
    wanted = [("forward_dynamics_derivatives", {}), ("inverse_dynamics", {"wrench": True}), ("friction_torque", {})]
    robot.export_c(tmp_path, wanted)
    assert "PART void two_link_forward_dynamics_derivatives_part2(" in (tmp_path / "two_link.c").read_text()
    agrees(robot, built(tmp_path, "two_link"), "two_link", wanted, 1e-12)


@needs_compiler
def test_every_operation(tmp_path):
    t = Trace()
    x, y, z = (t.variable(0, k) for k in range(3))
    values = (
        *(t.sign(v) for v in (x, y, z, x + y)),
        t.atan2(x, y),
        t.atan2(1.5, x * y - z),
        t.sqrt(x * x),
        t.where_positive(x - y, x, 2.0),
        t.where_positive(x, -y, z - 1),
        *t.cos_sin(-x),
        x - (y - z),
        x - (y + z),
        x / (y * z),
        x / (y / z),
        -(x / y) * z,
        -(x + y) * 3,
        x - y * -3.0,
        x - (-y) * (z * -2.5),
        1.5 - x,
        -2.5 - y,
        x + -1e-300,
        x * 1e22,
        x,
        t.where_positive(z, t.where_positive(x, y, 1.0), t.where_positive(y, x, -1.0)) + 1,
        (x - y) * (z - x) / (x + z) - (y + x * (z + 1 / y)),
        -0.0,
        7,
    )
    program = Program("f", (Input("q", (3,)), Input("qd", (1,))), (Output("M", (len(values),), values),))
    (tmp_path / "f.c").write_text("#include <math.h>\n" + "\n".join(c_function(program, "f", PRECISIONS["double"])))
    run(CC, *STRICT, "-shared", "-fPIC", tmp_path / "f.c", "-lm", "-o", tmp_path / "f.so")
    from qddot.compile.kernel import Kernel

    kernel = Kernel(program, np.dtype(float))
    for q in ([0.3, -0.7, 1.1], [-2.0, 0.5, -0.25], [-0.1, -0.2, 3.0]):
        (found,), _ = call(tmp_path / "f.so", "f", program, [np.array(q), np.zeros(1)])
        np.testing.assert_allclose(found, kernel(np.array(q), np.zeros(1)), rtol=1e-13)
    (found,), _ = call(tmp_path / "f.so", "f", program, [np.zeros(3), np.zeros(1)])
    assert list(found[:4]) == [0, 0, 0, 0]


@needs_compiler
def test_an_output_may_be_an_input(tmp_path):
    robot = qddot.load("two_link")
    robot.export_c(tmp_path, ["forward_dynamics"])
    q, qd, tau = (np.array(x) for x in ([0.3, 0.4], [1.0, -2.0], [3.0, 5.0]))
    f = ctypes.CDLL(str(built(tmp_path, "two_link"))).two_link_forward_dynamics
    expected = robot.forward_dynamics(q, qd, tau)
    assert f(*(a.ctypes.data_as(ctypes.c_void_p) for a in (q, qd, tau, tau))) == 0
    np.testing.assert_allclose(tau, expected, rtol=1e-13)


@needs_compiler
def test_a_joint_that_moves_nothing_is_reported(tmp_path):
    arm = qddot.Builder("light").body("a", "base", axis=(0, 0, 1), inertia=INERTIA)
    robot = arm.body("b", "a", axis=(0, 1, 0)).robot()
    robot.export_c(tmp_path, ["forward_dynamics", "forward_dynamics_derivatives"])
    library = built(tmp_path, "light")
    for quantity in ("forward_dynamics", "forward_dynamics_derivatives"):
        outputs, code = call(library, f"light_{quantity}", robot.program(quantity), [np.zeros(2)] * 3)
        assert code == 2
        assert all(np.isnan(x).all() for x in outputs)


# what it is -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(CXX is None, reason="no C++ compiler on the path")
@needs_compiler
def test_it_links_with_cpp(tmp_path):
    qddot.load("two_link").export_c(tmp_path, ["potential_energy"])
    built(tmp_path, "two_link")
    twice = '#include "two_link.h"\n' * 2
    (tmp_path / "use.cpp").write_text(twice + "int main() { double q[2] = {0, 0}, V; two_link_potential_energy(q, &V); }\n")
    run(CXX, "-Wall", "-Wextra", "-Werror", "-pedantic", tmp_path / "use.cpp", tmp_path / "lib.o", "-lm", "-o", tmp_path / "use")
    run(tmp_path / "use")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on the path")
@needs_compiler
def test_cmake_builds_and_tests_it(tmp_path):
    qddot.load("two_link").export_c(tmp_path / "a b", ["inverse_dynamics"])
    run("cmake", "-S", tmp_path / "a b", "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    assert "100% tests passed" in run("ctest", "--test-dir", tmp_path / "build")


@needs_compiler
def test_the_self_test_notices_a_wrong_number(tmp_path):
    qddot.load("two_link").export_c(tmp_path, ["gravity_torque"])
    source = tmp_path / "two_link.c"
    source.write_text(source.read_text().replace("cos(", "sin(", 1))
    run(CC, *STRICT, source, tmp_path / "two_link_selftest.c", "-lm", "-o", tmp_path / "selftest")
    done = subprocess.run([tmp_path / "selftest"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.endswith("0 passed, 4 failed\n")


def test_readable(tmp_path):
    robot = qddot.load("arm7")
    robot.export_c(tmp_path, ["inverse_dynamics", ("jacobian", {"frame": "link3"}), ("jacobian", {"reference": "body"})])
    header, source = (tmp_path / "arm7.h").read_text(), (tmp_path / "arm7.c").read_text()
    assert "void arm7_inverse_dynamics(const double q[7], const double qd[7], const double qdd[7], double tau[7]);" in header
    assert f"Options: frame {robot.frame_names.index('link3')}, reference space." in header
    assert "Shapes: J 6 x 7." in header
    assert "void arm7_jacobian_2(const double q[7], double J[42]);" in header
    assert " * 6  joint7  revolute  q[6]  qd, qdd, tau[6]: rad, rad/s, rad/s^2, N m" in header.replace("   ", " ")
    body = source[source.index("arm7_inverse_dynamics") : source.index("arm7_jacobian")]
    assert body.count("sin(") == len(set(re.findall(r"sin\([^)]*\)", body)))
    assert max(map(len, (header + source).splitlines())) < 160


def test_the_same_robot_gives_the_same_files(tmp_path):
    for folder in ("a", "a", "b"):
        qddot.load("rp_arm").export_c(tmp_path / folder, {"mass_matrix": {}, "transform": {}})
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == sorted(["rp_arm.h", "rp_arm.c", "rp_arm_selftest.c", "CMakeLists.txt"])
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)


# names ----------------------------------------------------------------------------------------------------------------

HOSTILE = [
    "int",
    "??/",
    "*/ int x; /*",
    '"); system("true',
    "%s%n%d",
    "a\\",
    "a\nb",
    "../../etc/passwd",
    "$(touch x)",
    "__x__",
    "7dof",
    "",
    "x" * 300,
    "ROBOT é 机器人",
    "math",
    "m",
    "test",
    "com1",
    "<b>&amp;",
    "#define q 3",
    "t1",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_identifiers(name):
    made = identifier(name)
    assert re.fullmatch("[a-z](_?[a-z0-9])*", made)
    assert made not in RESERVED
    assert len(made) <= 40


def checked_files(folder: Path, names) -> None:
    """Nothing of these names is in any file: only our own words, and the prefix."""
    for path in folder.iterdir():
        text = path.read_text(encoding="ascii")
        assert not any(name in text for name in names if len(name) > 2 and not re.fullmatch("[A-Za-z0-9_.:-]+", name))
        assert "??" not in text
        assert "\\\n" not in text


@needs_compiler
@pytest.mark.parametrize("name", ["int", "*/ int x; /*", "a\\", "%s%n", "../up", "math", "m", "test"])
def test_hostile_names(name, tmp_path):
    link, joint = f"link {name}", f"joint {name}"
    robot = qddot.Builder(name).body(link, "base", joint_name=joint, axis=(0, 0, 1), inertia=INERTIA).robot()
    robot.export_c(tmp_path, ["inverse_dynamics", ("jacobian", {"frame": link})])
    checked_files(tmp_path, (link, joint))
    built(tmp_path, identifier(name))


@needs_compiler
@pytest.mark.parametrize("path", sorted({*BAD.glob("s*.urdf")} - {BAD / "s03_newline.urdf"}), ids=lambda path: path.stem)
def test_hostile_descriptions(path, tmp_path):
    """But for one that is refused when it is read."""
    robot = qddot.load(path)
    robot.export_c(tmp_path, ["inverse_dynamics", ("jacobian", {"frame": robot.frame_names[-1]})])
    assert all(re.fullmatch(r"[a-z0-9_]+\.[ch]|CMakeLists\.txt", p.name) for p in tmp_path.iterdir())
    checked_files(tmp_path, (*robot.frame_names, *robot.joint_names))
    built(tmp_path, identifier(robot.name))


# refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantities", "keywords", "error", "message"),
    [
        (["mas_matrix"], {}, UnknownNameError, "no quantity 'mas_matrix': did you mean 'mass_matrix'"),
        ([("jacobian", {"refrence": "body"})], {}, InputError, "jacobian has no option 'refrence': did you mean 'reference'"),
        ([("jacobian", {"reference": "boddy"})], {}, InputError, "reference='boddy' is not one of"),
        ([("jacobian", {"frame": "tipp"})], {}, UnknownNameError, "no frame 'tipp'"),
        (["jacobian", "mass_matrix"], {"referense": "body"}, InputError, "option 'referense': did you mean 'reference'"),
        (["mass_matrix"], {"reference": "body"}, InputError, "none of the quantities has an option 'reference'"),
        ([("mass_matrix", {"wrench": True})], {}, InputError, "mass_matrix does not depend on external forces"),
        ([("inverse_dynamics", {"wrench": "yes"})], {}, InputError, "wrench='yes' is neither"),
        (["jacobian", ("jacobian", {"reference": "space"})], {}, InputError, "twice with the same options"),
        ([], {}, InputError, "no quantities"),
        ([3], {}, InputError, "3 is neither"),
        ([("jacobian", "body")], {}, InputError, "is neither"),
        (["mass_matrix"], {"precision": "half"}, InputError, "precision='half' is not one of 'double', 'float'"),
        (["mass_matrix"], {"name": "My Arm"}, InputError, "'my_arm' could"),
        (["mass_matrix"], {"name": "int"}, InputError, "'robot_int' could"),
        (["mass_matrix"], {"name": "../x"}, InputError, "'x' could"),
    ],
)
def test_refusals(quantities, keywords, error, message, tmp_path):
    with pytest.raises(error, match=re.escape(message)):
        qddot.load("two_link").export_c(tmp_path / "made", quantities, **keywords)
    assert not (tmp_path / "made").exists()


def test_symbols_must_have_values(tmp_path):
    robot = qddot.Builder("arm").body("a", "base", axis=(0, 0, 1), mass=sp.Symbol("m"), com=(0.1, 0, 0)).robot()
    with pytest.raises(UnboundSymbolError, match="m"):
        robot.export_c(tmp_path, ["mass_matrix"])


def test_there_are_no_empty_arrays_in_c(tmp_path):
    with pytest.raises(InputError, match="C has no empty arrays"):
        qddot.Builder("stone").robot().export_c(tmp_path, ["mass_matrix"])


def test_a_number_too_large_for_single_precision(tmp_path):
    robot = qddot.Builder("arm").body("a", "base", axis=(0, 1, 0), mass=1e200, com=(0.1, 0, 0)).robot()
    with pytest.raises(ModelValueError, match="overflows float32"):
        robot.export_c(tmp_path, ["gravity_torque"], precision="float")


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "made").write_text("")
    with pytest.raises(OSError, match="made"):
        qddot.load("two_link").export_c(tmp_path / "made", ["mass_matrix"])


# the command line -----------------------------------------------------------------------------------------------------


def test_command_line(tmp_path):
    def call(*arguments):
        return CliRunner().invoke(main, ["export-c", *arguments])

    done = call("two_link", str(tmp_path), "jacobian", "inverse_dynamics", "--float", "--name", "arm", "-o", "reference=body")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [str(tmp_path / n) for n in ("arm.h", "arm.c", "arm_selftest.c", "CMakeLists.txt")]
    assert "void arm_jacobian(const float q[2], float J[12])" in (tmp_path / "arm.h").read_text()
    assert "reference body" in (tmp_path / "arm.h").read_text()
    assert call("two_link", str(tmp_path), "inverse_dynamics", "--wrench").exit_code == 0
    assert "const double wrench[12]" in (tmp_path / "two_link.h").read_text()
    assert "did you mean 'jacobian'" in call("two_link", str(tmp_path), "jacobin").stderr
    assert "cannot begin" in call("two_link", str(tmp_path), "jacobian", "--name", "a b").stderr
    assert call("two_link", str(tmp_path)).exit_code == 2
