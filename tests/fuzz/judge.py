"""What became of a mutant: refused by an error of ours, or accepted with finite results. Everything else is a finding."""

from __future__ import annotations

import math
import tempfile
import traceback
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import qddot
from qddot.errors import InputError, ModelError, QddotError
from qddot.graph.replay import replay
from qddot.logs import Log
from qddot.model.field import Floats
from qddot.robot import Robot
from tests.fuzz import calls, mutate, objects, recordings
from tests.fuzz.seeds import DOCUMENTS, LOG, XML

ALLOWED = (QddotError, FileNotFoundError, PermissionError)
QUANTITIES = (
    "mass_matrix",
    "inverse_dynamics",
    "forward_dynamics",
    "gravity_torque",
    "center_of_mass",
    "potential_energy",
    "regressor",
)
OURS = str(Path(qddot.__file__).parent)
OWN_MISTAKES = (TypeError, AttributeError, LookupError, RecursionError, ArithmeticError, AssertionError)
LARGE = 12  # more degrees of freedom are not computed with


class Silent(AssertionError):
    """A result that is not finite, without an error."""


def outcome(kind: str, index: int, seed: int, folder: Path) -> str:
    """Of one mutant: `accepted`, `refused with line`, `refused`; findings are raised.

    The mutant is left in the folder, so that it can be looked at.
    """
    random = Random(f"{seed}:{kind}:{index}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            MAKERS[kind](random, folder)
        except ALLOWED as error:
            str(error).encode()  # a message that cannot be printed is a finding
            return "refused with line" if isinstance(error, ModelError) and error.line is not None else "refused"
    return "accepted"


# descriptions -------------------------------------------------------------------------------------------------------------


def from_xml(suffix: str) -> Callable[[Random, Path], None]:
    def check(random: Random, folder: Path) -> None:
        load(random, folder / f"mutant{suffix}", mutate.xml(random, XML[suffix]))

    return check


def from_document(suffix: str) -> Callable[[Random, Path], None]:
    def check(random: Random, folder: Path) -> None:
        load(random, folder / f"mutant{suffix}", mutate.document(random, random.choice(DOCUMENTS), suffix))

    return check


def load(random: Random, path: Path, data: bytes, quantities: int = 2) -> None:
    path.write_bytes(data)
    compute(random, qddot.load(path, strict=random.random() < 0.1, floating=random.random() < 0.05), quantities)


def from_dh(random: Random, folder: Path) -> None:
    table = mutate.change_value(random, {"rows": [[0.0, 0.0, 0.3, 0.0], [0.4, 1.5, 0.0, 0.0], [0.2, -1.2, 0.1, 0.5]], **parts()}, 2)
    (folder / "mutant.txt").write_text(repr(table), "utf-8", "backslashreplace")
    compute(random, qddot.from_dh(table.pop("rows", []), **made(table)))


def from_screws(random: Random, folder: Path) -> None:
    rows = [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -0.3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    table = mutate.change_value(random, {"rows": rows, **parts()}, 2)
    (folder / "mutant.txt").write_text(repr(table), "utf-8", "backslashreplace")
    table.pop("convention", None)
    compute(random, qddot.from_screws(table.pop("rows", []), **made(table)))


def parts() -> dict[str, Any]:
    return {
        "convention": "modified",
        "inertias": [{"mass": 1.0, "com": [0.1, 0.0, 0.0], "tensor": [0.1, 0.2, 0.2]} for _ in range(3)],
        "drives": [{"viscous": 0.1, "gear_ratio": 50.0, "rotor_inertia": 1e-4}, None, None],
        "limits": [[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]],
        "gravity": [0.0, 0.0, -9.81],
    }


def made(table: dict[str, Any]) -> dict[str, Any]:
    """Tables of keywords as the objects they describe; other keywords as they came."""
    named = {name: table[name] for name in parts() if name in table}
    for name, kind in (("inertias", qddot.Inertia), ("drives", qddot.Drive)):
        known = set(next(x for x in parts()[name] if x))
        if isinstance(named.get(name), list):
            named[name] = [kind(**{k: v for k, v in x.items() if k in known}) if isinstance(x, dict) else x for x in named[name]]
    return named


def compute(random: Random, robot: Robot, quantities: int = 2) -> None:
    """Quantities of an accepted robot: refused by name, or finite.

    A traced program is evaluated in plain Python; only where that overflows is it compiled, to see that the call says so.
    """
    if robot.symbols:
        robot = robot.subs(dict.fromkeys(map(str, robot.symbols), 1.0))
    if not np.isfinite(robot.parameters()).all():
        raise Silent("parameters")
    if not 0 < robot.nv <= LARGE:
        return
    q, v = robot.random_configuration(random.randrange(99)), np.full(robot.nv, 0.3)
    if not np.isfinite(q).all():
        raise Silent("random_configuration")
    for quantity in random.sample(QUANTITIES, quantities):
        program = robot.program(quantity)
        inputs = [q if x.name == "q" else v for x in program.inputs]
        try:
            values = replay(program, Floats(), *(x.tolist() for x in inputs))
            suspicious = not all(math.isfinite(x) for part in values for x in part)
        except (ArithmeticError, ValueError):
            suspicious = True
        if suspicious or random.random() < 0.005:
            for result in flat(robot.compute([quantity], *inputs)[quantity]):
                if not np.isfinite(result).all():
                    raise Silent(quantity)


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


# recordings ---------------------------------------------------------------------------------------------------------------


def recording(suffix: str) -> Callable[[Random, Path], None]:
    def check(random: Random, folder: Path) -> None:
        path = folder / f"mutant{suffix}"
        recordings.write(random, path, mutate.columns(random, LOG))
        read(path)

    return check


def read(path: Path) -> None:
    """A recording. What a library trips over is said of the file; what a reader itself trips over is a finding."""
    try:
        log = Log.load(path)
    except InputError as error:
        cause = error.__cause__
        if isinstance(cause, OWN_MISTAKES) and traceback.extract_tb(cause.__traceback__)[-1].filename.startswith(OURS):
            raise cause from None
        raise
    for array in (log.t, log.q, log.tau):
        if not np.isfinite(array).all():
            raise Silent("log")
    str(log.audit()).encode()


MAKERS: dict[str, Callable[[Random, Path], None]] = {
    "urdf": from_xml(".urdf"),
    "xacro": from_xml(".xacro"),
    "mjcf": from_xml(".xml"),
    "toml": from_document(".toml"),
    "json": from_document(".json"),
    "yaml": from_document(".yaml"),
    "dh": from_dh,
    "screws": from_screws,
    "csv": recording(".csv"),
    "npz": recording(".npz"),
    "npy": recording(".npy"),
    "mat": recording(".mat"),
    "hdf5": recording(".h5"),
    "parquet": recording(".parquet"),
    "feather": recording(".feather"),
    "arrow": recording(".arrow"),
    "mcap": recording(".mcap"),
    "db3": recording(".db3"),
    "call": calls.call,
    "object": objects.call,
}
NEEDED = {"mjcf": "mujoco", "hdf5": "h5py", "parquet": "pyarrow", "feather": "pyarrow", "arrow": "pyarrow", "mcap": "mcap"}
KINDS = tuple(kind for kind in MAKERS if kind not in NEEDED or find_spec(NEEDED[kind]))
"""What can be read here: some formats need packages that may not be installed."""


def again(path: Path) -> str:
    """A file of the corpus, judged as its mutant was."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy = Path(folder) / f"mutant{path.suffix}"
        try:
            if path.suffix in recordings.WRITERS:
                copy.write_bytes(path.read_bytes())
                read(copy)
            else:
                load(Random(0), copy, path.read_bytes(), len(QUANTITIES))
        except ALLOWED:
            return "refused"
    return "accepted"
