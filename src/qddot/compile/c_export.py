"""Export to C99: a header, a source, a self-test that checks them, and a CMakeLists.txt.

Identifiers and file names are made of `a-z`, `0-9` and `_`. The code refers to joints and frames by number. Names of joints appear
in comments only, reduced to letters, digits and `_.:-`, so that nothing in a name can end a comment.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qddot.algorithms.quantities import QUANTITIES
from qddot.arguments import file_path, word
from qddot.compile.c_selftest import STATES, expected, selftest
from qddot.compile.c_source import NOT_INLINED, PRECISIONS, Precision, c_function, prototype
from qddot.compile.evaluate import Evaluator
from qddot.compile.trace import Request
from qddot.errors import InputError, as_written, near_matches, unknown_name
from qddot.files import write_whole
from qddot.graph.program import Program
from qddot.model.lower import Coordinates
from qddot.model.model import Model
from qddot.model.variables import Variable

LONGEST = 32
"""Most characters of a name."""

WIDTH = 110
"""Most characters of a line of a comment or prototype."""

RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
        return short signed sizeof static struct switch typedef union unsigned void volatile while main
        alignas alignof and and_eq asm bitand bitor bool catch class co_await co_return co_yield compl concept const_cast consteval
        constexpr constinit decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq
        nullptr operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template this
        thread_local throw true try typeid typename using virtual wchar_t xor xor_eq
        assert complex ctype errno fenv inttypes iso646 limits locale malloc math memory setjmp signal stdalign stdarg stdatomic
        stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar unistd wchar wctype
        all clean edit_cache help install package rebuild_cache test
        c m dl gcc rt pthread stdc
        con prn aux nul com1 com2 com3 com4 lpt1 lpt2 lpt3
        """,
    )
)
"""Words that must not name a file or begin a function: of C and C++, headers, build targets, libraries, devices of Windows."""

UNITS = {"revolute": "rad", "continuous": "rad", "helical": "rad", "prismatic": "m"}


class Function(NamedTuple):
    """One exported quantity. `wrench`: True if external forces are an input."""

    name: str
    request: Request
    wrench: bool
    program: Program


Quantities = str | Sequence[str | tuple[str, Mapping[str, Any]]] | Mapping[str, Mapping[str, Any]]


def export_c(
    evaluator: Evaluator,
    directory: str | Path,
    quantities: Quantities,
    *,
    precision: str,
    name: str | None,
    options: Mapping[str, Any],
    draw: Callable[[np.random.Generator], np.ndarray],
    about: Callable[[str], str],
) -> list[Path]:
    """Write the files and return their paths; their contents depend on robot and arguments only.

    Args:
        draw: a function that returns a random configuration.
        about: a function that returns one sentence on a quantity.

    Raises:
        UnknownNameError, InputError: as `Robot.export_c`.
        OSError: a file cannot be written.
    """
    real = PRECISIONS[word("precision", precision, PRECISIONS)]
    prefix = chosen(name) if name is not None else identifier(evaluator.model.name)
    functions = plan(evaluator, f"{prefix}_", requests(quantities), options, real.dtype)
    for f in functions:
        refuse_empty(f.program)
    folder = file_path("directory", directory)
    kernel = lambda f: evaluator.kernels.joint_kernel((f.request,), real.dtype, wrench=f.wrench)  # noqa: E731
    states = random_states(evaluator.model, draw)
    files = {
        f"{prefix}.h": header(prefix, functions, real, evaluator.model, about),
        f"{prefix}.c": source(prefix, functions, real),
        f"{prefix}_selftest.c": selftest(prefix, {f.name: expected(kernel(f), states, real) for f in functions}, real),
        "CMakeLists.txt": BUILD.format(name=prefix),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_whole(folder / file, text.encode("ascii"))
    return [folder / file for file in files]


# requests -------------------------------------------------------------------------------------------------------------


def requests(quantities: Quantities) -> list[tuple[str, dict[str, Any]]]:
    """Return the names of quantities with their options. Raises InputError: the argument is neither names, nor pairs of name and
    options, nor a mapping; or it is empty."""
    items = [quantities] if isinstance(quantities, str) else quantities
    if not isinstance(items, Mapping | list | tuple | set):
        raise InputError(f"quantities={as_written(quantities)}: give a list of names, such as ['inverse_dynamics', 'mass_matrix']")
    pairs = list(items.items()) if isinstance(items, Mapping) else [(x, {}) if isinstance(x, str) else x for x in items]
    if not pairs:
        raise InputError("no quantities to export: name some, such as ['inverse_dynamics', 'mass_matrix']")
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], Mapping)):
            raise InputError(f"{pair!r} is neither the name of a quantity nor a pair such as ('jacobian', {{'frame': 'tool0'}})")
    return [(quantity, dict(options)) for quantity, options in pairs]


def plan(
    evaluator: Evaluator, prefix: str, wanted: list[tuple[str, dict[str, Any]]], common: Mapping[str, Any], dtype: np.dtype
) -> list[Function]:
    """Return the functions to write; their names begin with `prefix`. `common`: options for each quantity that has them. Raises
    UnknownNameError, InputError: as `Robot.export_c`."""
    for quantity, _ in wanted:
        if quantity not in QUANTITIES:
            raise unknown_name("quantity", quantity, QUANTITIES)
    known = {quantity: accepted(quantity) for quantity, _ in wanted}
    for option in common:
        if not any(option in names for names in known.values()):
            names = sorted(set().union(*known.values()))
            raise InputError(f"none of the quantities has an option {option!r}: {near_matches(option, names)}")
    functions: list[Function] = []
    for quantity, own in wanted:
        options = {**{x: common[x] for x in known[quantity] if x in common}, **own}
        wrench = options.pop("wrench", False)
        if not isinstance(wrench, bool):
            raise InputError(f"wrench={wrench!r} is neither True nor False")
        request = evaluator.kernels.request(quantity, options)
        if any((f.request, f.wrench) == (request, wrench) for f in functions):
            raise InputError(f"{quantity} is asked for twice with the same options")
        before = sum(f.request.quantity == quantity for f in functions)
        with np.errstate(over="ignore"):  # numbers too large for a float are refused later, by `Precision.literal`
            program = evaluator.kernels.program((request,), dtype, wrench=wrench)
        functions.append(Function(f"{prefix}{quantity}{f'_{before + 1}' if before else ''}", request, wrench, program))
    return functions


def accepted(quantity: str) -> tuple[str, ...]:
    """Return the names of a quantity's options."""
    return (*QUANTITIES[quantity].options, *(("wrench",) if QUANTITIES[quantity].forced else ()))


def refuse_empty(program: Program) -> None:
    """Refuse a program with an empty input or output: C has no arrays of size zero."""
    for x in (*program.inputs, *program.outputs):
        if not x.size:
            raise InputError(f"{program.name} of this robot has nothing in {x.name}: C has no empty arrays")


def random_states(model: Model, draw: Callable) -> dict[str, np.ndarray]:
    """Return random arrays (states, ...) for every possible input."""
    rng = np.random.default_rng(0)
    links = sum(body.is_link for body in model.bodies)
    q = np.array([draw(rng) for _ in range(STATES)]).reshape(STATES, model.mechanism.nq)
    vectors = {name: rng.normal(size=(STATES, model.mechanism.nv)) for name in ("qd", "qdd", "jerk", "snap", "tau", "p")}
    described = np.array([x for variable in model.variables for x in variable.default])
    variables = described + 0.1 * rng.uniform(size=(STATES, len(described))) * np.maximum(np.abs(described), 0.1)
    return {"q": q, **vectors, "wrench": rng.normal(size=(STATES, links, 6)), "variables": variables}


# names ----------------------------------------------------------------------------------------------------------------


def identifier(name: str) -> str:
    """Return a name for files and functions: of `a-z`, `0-9` and single `_`, no reserved word, not too long."""
    safe = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")[:LONGEST].rstrip("_") or "robot"
    return f"robot_{safe}" if safe in RESERVED or safe[0].isdigit() else safe


def chosen(name: str) -> str:
    """Return the name that the user gave. Raises InputError: it cannot name a file or begin a function."""
    if not isinstance(name, str) or name != identifier(name):
        suggestion = identifier(str(name))
        raise InputError(f"name={name!r} cannot begin the functions' names (a-z, 0-9, _; not reserved): {suggestion!r} could")
    return name


# files ----------------------------------------------------------------------------------------------------------------

CONVENTIONS = """
SI units, radians. Arrays are contiguous, matrices row-major. Six-vectors are angular first: twist [omega; v], wrench [moment;
force]. Inertias and drive constants are those of the robot when these files were written.

tau = M qdd + C qd + g + friction + springs - J^T f_ext. A torque of friction, gravity or springs is what the joints must exert
against it. A parameter wrench has one row a moving link: the external force on it, about the world's origin in world axes.

Nothing is allocated and no state is kept: every function may be called at any time from any thread. An output may be the same
array as an input, but not as another output. Inputs are not checked: a number that is not finite gives results that are not.

A function that returns something gives 0; or, where its quantity does not exist, the number (from 1) of the column of the mass
matrix that is not positive definite (of the analytic Jacobian: 1 where its angles are singular), and it then writes nothing.
"""

COMPILERS = """
Whether a product and a sum are rounded together is left to the compiler (GCC, Clang: -ffp-contract). Do not compile with
-ffast-math.
"""

QUATERNIONS = """
Quaternions are wxyz and must have unit length. A spherical joint has q = quaternion, qd = angular velocity in body axes; a free
joint has q = (quaternion, position), qd = (omega, v) in body axes. A derivative with respect to q is along the tangent.
"""

BUILD = """\
cmake_minimum_required(VERSION 3.10)
project({name} C)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()

enable_testing()
add_executable({name}_selftest {name}_selftest.c)
target_link_libraries({name}_selftest PRIVATE {name})
add_test(NAME {name}_selftest COMMAND {name}_selftest)

foreach(target {name} {name}_selftest)
  set_target_properties(${{target}} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${{target}} PRIVATE -Wall -Wextra -Werror -pedantic)
  endif()
endforeach()
"""


def header(prefix: str, functions: Sequence[Function], real: Precision, model: Model, about: Callable[[str], str]) -> str:
    """Return the text of the header: conventions, then a prototype for each function."""
    guard, frames = f"QDDOT_{prefix.upper()}_H", list(model.mechanism.frames)
    lines = [*comment(introduction(model, COMPILERS)), "", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for f in functions:
        lines += comment(description(f, frames, about))
        lines += [f"{wrapped(prototype(f.program, f.name, real))};", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def source(prefix: str, functions: Sequence[Function], real: Precision) -> str:
    """Return the text of the C file with every function."""
    bodies = [line for f in functions for line in c_function(f.program, f.name, real)]
    macro = [NOT_INLINED] if any(line.startswith("PART ") for line in bodies) else []
    return "\n".join([f'#include "{prefix}.h"', "", "#include <math.h>", "", *macro, *bodies])


def introduction(model: Model, of_the_language: str = "") -> list[str]:
    """Return the paragraphs of a file's first comment: conventions, sizes, joints, variables."""
    mechanism = model.mechanism
    nq, nv = mechanism.nq, mechanism.nv
    general = CONVENTIONS + of_the_language + (QUATERNIONS if nq != nv else "")
    order = f"q has nq = {nq} elements; qd, qdd and tau have nv = {nv}. Joints are numbered from 0, in the order of joint_names:"
    return [
        f"Equations of motion of a robot with {nv} degrees of freedom. Written by qddot: do not edit.",
        *(text.strip() for text in general.split("\n\n")),
        order,
        *(f"  {joint_line(k, c)}" for k, c in enumerate(mechanism.coordinates)),
        *variable_lines(model.variables),
    ]


def variable_lines(variables: Sequence[Variable]) -> Iterable[str]:
    """Yield, for each variable of the robot, its elements in the input `variables`, and its numbers in the description."""
    at = 0
    for x in variables:
        if not at:
            yield "These numbers are not constants here: they are the elements of variables, in SI units; as described:"
        yield f"  variables{elements(range(at, at + x.size))}  {in_comment(x.name)}  {', '.join(f'{v:.9g}' for v in x.default)}"
        at += x.size


def joint_line(number: int, c: Coordinates) -> str:
    """Return a joint's number, name, kind, coordinates and units."""
    unit = UNITS.get(c.kind)
    units = f": {unit}, {unit}/s, {unit}/s^2, {'N' if unit == 'm' else 'N m'}" if unit else ""
    return f"{number}  {in_comment(c.name)}  {c.kind}  q{elements(c.q)}  qd, qdd, tau{elements(c.v)}{units}"


def in_comment(name: str) -> str:
    """Return a name that is safe in a comment of C and JavaScript."""
    return re.sub("[^A-Za-z0-9_.:-]", "_", name)[:LONGEST]


def elements(indices: range) -> str:
    """Return consecutive indices as text: `[2]` or `[2..5]`."""
    return f"[{indices.start}]" if len(indices) == 1 else f"[{indices.start}..{indices.stop - 1}]"


def description(f: Function, frames: list[str], about: Callable[[str], str]) -> list[str]:
    """Return the lines of the comment above one function: its quantity, options and shapes; a frame by its number only."""
    lines = [f"{f.request.quantity.replace('_', ' ')}: {about(f.request.quantity)}"]
    if options := [f"{name} {frames.index(x) if name == 'frame' else x}" for name, x in f.request.options]:
        lines.append(f"Options: {', '.join(options)}.{COUNTED if 'frame' in dict(f.request.options) else ''}")
    if shapes := [f"{x.name} {' x '.join(map(str, x.shape))}" for x in (*f.program.inputs, *f.program.shown) if len(x.shape) > 1]:
        lines.append(f"Shapes: {', '.join(shapes)}.")
    if f.program.margins:
        lines.append("Returns 0, or where there is no result the number of a column.")
    return lines


def wrapped(head: str) -> str:
    """Return a prototype; a long one with one parameter a line."""
    return head if len(head) < WIDTH else head.replace("(", "(\n    ", 1).replace(", ", ",\n    ")


COUNTED = " Frames are numbered from 0, in the order of frame_names."


def comment(paragraphs: Sequence[str]) -> list[str]:
    """Return the lines of a block comment, with an empty line before each longer paragraph."""
    lines: list[str] = []
    for text in paragraphs:
        if len(text) > WIDTH and lines:
            lines.append("")
        lines += textwrap.wrap(text, WIDTH)
    if len(lines) == 1:
        return [f"/* {lines[0]} */"]
    return [f"/* {lines[0]}", *(f" * {line}".rstrip() for line in lines[1:]), " */"]
