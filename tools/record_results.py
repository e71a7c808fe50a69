"""Record some two hundred results of the library, so that a change meant to change none of them can show that it did not.

    python tools/record_results.py before.json
    (change something)
    python tools/record_results.py after.json
    python tools/record_results.py --compare before.json after.json

A result is text (equations, derivations, messages) or an array, of which the bytes count. The second command's exit status is 1
where a result differs, and it names each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qddot

STATES = 37
"""More than any vector is wide, and no multiple of one."""

QUANTITIES = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "coriolis_matrix": ("q", "qd"),
    "gravity_torque": ("q",),
    "friction_torque": ("qd",),
    "regressor": ("q", "qd", "qdd"),
    "kinetic_energy": ("q", "qd"),
    "potential_energy": ("q",),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "forward_dynamics_derivatives": ("q", "qd", "tau"),
}

WRONG = {
    "shape": lambda robot: robot.mass_matrix(np.zeros(robot.nq + 1)),
    "nan": lambda robot: robot.mass_matrix(np.full(robot.nq, np.nan)),
    "frame": lambda robot: robot.jacobian(np.zeros(robot.nq), frame="no such frame"),
    "option": lambda robot: robot.coriolis_matrix(np.zeros(robot.nq), np.zeros(robot.nv), form="none"),
    "method": lambda robot: robot.simulate(np.zeros(robot.nq), None, 1.0, method="none"),
}


def results() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names, and functions that compute what belongs to them."""
    for name in qddot.catalog_names():
        robot = qddot.load(name)
        if robot.symbols:
            yield f"{name}: equations", lambda robot=robot: equations(robot)
            continue
        yield from numbers(name, robot)
        yield f"{name}: equations", lambda robot=robot: equations(robot)
        yield f"{name}: motion", lambda robot=robot: robot.simulate(robot.neutral(), None, 0.05).q
        for what, call in WRONG.items():
            yield f"{name}: wrong {what}", lambda robot=robot, call=call: call(robot)
    for name in ("two_link", "rp_arm", "point_mass_2r"):
        for method in ("lagrange", "jacobian", "newton-euler"):
            for suffix in (".md", ".tex", ".html"):
                yield f"{name}: {method}{suffix}", lambda n=name, m=method, s=suffix: derivation(n, m, s)
    yield "two_link: properties", lambda: str(qddot.load("two_link").properties())
    for name in ("two_link", "puma560"):
        yield f"{name}: fit", lambda name=name: fit(name)


def numbers(name: str, robot: qddot.Robot) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every quantity for a batch of states; those of one state must be its rows."""
    rng = np.random.default_rng(1)
    state = {
        "q": np.array([robot.random_configuration(rng) for _ in range(STATES)]),
        **{key: rng.normal(size=(STATES, robot.nv)) for key in ("qd", "qdd", "tau")},
    }
    for quantity, arguments in QUANTITIES.items():
        yield f"{name}: {quantity}", lambda name=quantity, a=arguments: getattr(robot, name)(*(state[key] for key in a))


def equations(robot: qddot.Robot) -> str:
    written = robot.equations()
    return "\n".join(str(x) for x in (written.M, written.c, written.g, written.tau))


def derivation(name: str, method: str, suffix: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "derivation" + suffix)
        qddot.load(name).derive(method).save(path)
        return path.read_text(encoding="utf-8")


def fit(name: str) -> str:
    """A simulated log of a known arm, identified."""
    from qddot.identify import Log

    robot = qddot.load(name)
    t = np.arange(4000) / 500.0
    phase = np.arange(robot.nv)
    w = 1.0 + 0.37 * phase
    q, qd, qdd = (0.6 * x for x in (np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -(w**2) * np.sin(np.outer(t, w))))
    noise = np.random.default_rng(2).normal(size=qd.shape)
    tau = robot.inverse_dynamics(q, qd, qdd) + 0.01 * noise
    found = robot.identify(Log(t, q, tau))
    return f"{found}\n{found.verdict}"


def told(value: Any) -> str:
    """A text as it is, an array by its shape and a digest of its bytes."""
    if isinstance(value, tuple):
        return " ".join(map(told, value))
    if isinstance(value, str):
        return value
    array = np.ascontiguousarray(value)
    return f"{array.shape} {array.dtype} {hashlib.sha256(array.tobytes()).hexdigest()}"


def record() -> dict[str, str]:
    found = {}
    for name, compute in results():
        try:
            found[name] = told(compute())
        except qddot.QddotError as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """The number of results that differ, each named."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    for name in names:
        print(f"{name}\n  before: {before.get(name, 'absent')[:200]}\n  after:  {after.get(name, 'absent')[:200]}")
    print(f"{len(before)} results before, {len(after)} after, {len(names)} differ")
    return len(names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="compare two recordings instead of making one")
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    if given.compare:
        before, after = (json.loads(path.read_text()) for path in given.files)
        return min(compare(before, after), 1)
    warnings.simplefilter("ignore")
    found = record()
    given.files[0].write_text(json.dumps(found, indent=1))
    print(f"{len(found)} results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
