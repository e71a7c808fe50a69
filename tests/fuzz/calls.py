"""Calls of public functions with arguments nobody means: a sound call, one or two arguments of which are made odd.

What a sound call is, follows from the names of the parameters, so that a new method is tried without a word here, or, if it takes
something never heard of, is missed by `test_methods_have_sound_calls`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import qddot
from qddot import control
from qddot.logs import Log
from qddot.robot import Robot
from tests.fuzz.seeds import LOG, URDF


def takes_arguments(name: str, method: Any) -> bool:
    """By name, that is: of what takes any number of them one after the other, only `compute` is tried."""
    if name.startswith("_") or not callable(method):
        return False
    parameters = inspect.signature(method).parameters.values()
    return len(parameters) > 1 and (name == "compute" or all(p.kind is not p.VAR_POSITIONAL for p in parameters))


METHODS = sorted(name for name, method in vars(Robot).items() if takes_arguments(name, method))
SELDOM = ("derive", "properties", "identify", "excitation", "explore", "equations", "casadi", "export_c", "export_js")
SELDOM += ("animate", "plot", "inverse_kinematics", "assemblies")
"""Calls that take a tenth of a second or more when they are sound."""

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Inertia": (qddot.Inertia, {"mass": 1.0, "com": [0.1, 0.0, 0.0], "tensor": [0.1, 0.2, 0.2]}),
    "Drive": (qddot.Drive, {"viscous": 0.1, "coulomb": 0.2, "gear_ratio": 50.0, "rotor_inertia": 1e-4, "stiffness": 1.0}),
    "Limits": (qddot.Limits, {"lower": -1.0, "upper": 1.0, "velocity": 2.0, "effort": 3.0}),
    "Mimic": (qddot.Mimic, {"joint": "joint1", "multiplier": 2.0, "offset": 0.1}),
    "Transmission": (qddot.Transmission, {"joints": ["joint1", "joint2"], "matrix": [[50.0, 0.0], [30.0, 40.0]]}),
    "inertia_from_spatial_matrix": (qddot.inertia_from_spatial_matrix, {"G": np.eye(6).tolist()}),
    "connect": (qddot.connect, {"frame_a": "body_1", "frame_b": "body_2", "axes": "xy"}),
    "weld": (qddot.weld, {"frame_a": "body_1", "frame_b": "body_2", "pose": np.eye(4).tolist()}),
    "fixed_frame": (qddot.fixed_frame, {"frame": "body_2", "pose": np.eye(4).tolist()}),
    "contact_point": (qddot.contact_point, {"frame": "body_2", "normal": [0.0, 1.0, 0.0]}),
    "point_on_plane": (qddot.point_on_plane, {"frame": "body_2", "point": [0.1, 0.2, 0.0], "normal": [0.0, 1.0, 0.0]}),
    "point_on_line": (qddot.point_on_line, {"frame": "body_2", "point": [0.1, 0.2, 0.0], "direction": [1.0, 0.0, 0.0]}),
    "joint_equality": (qddot.joint_equality, {"joint": "joint2", "leader": "joint1", "multiplier": 2.0, "offset": 0.1}),
    "load_string": (qddot.load_string, {"text": URDF, "format": "urdf", "strict": False, "gravity": [0.0, 0.0, -9.81]}),
    "PD": (control.PD, {"robot": None, "reference": None, "kp": [20.0, 10.0], "kd": 5.0}),
    "ComputedTorque": (control.ComputedTorque, {"robot": None, "reference": None, "kp": [20.0, 10.0], "kd": 5.0}),
    "SlotineLi": (control.SlotineLi, {"robot": None, "reference": None, "bandwidth": 5.0, "kd": 2.0, "gain": 0.1}),
    "Hold": (control.Hold, {"q": [0.1, 0.2]}),
    "Quintic": (control.Quintic, {"start": [0.0, 0.0], "end": [1.0, 2.0], "duration": 1.0}),
    "Trapezoidal": (control.Trapezoidal, {"start": [0.0, 0.0], "end": [1.0, 2.0], "speed": 1.0, "acceleration": 2.0}),
    "Log": (Log, {"t": LOG["t"], "q": list(zip(LOG["q1"], LOG["q2"])), "tau": list(zip(LOG["tau1"], LOG["tau2"]))}),
}

NUMBERS = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, 1e154, 1e16, 3e6, 1e-200, 1e-310, 0.3)
TYPES = ("f4", "f2", "i8", "u1", "?", "c16", "S4", "U4", "O", "M8[ns]", "g", ">f8")
SHAPES = ((2,), (1, 2), (3, 2), (20, 2), (2, 2), (3,), (), (0, 2), (2, 0), (2, 1, 2), (1,), (17, 2))
WORDS = ("", "x", "q", "joint1", "body_1", "mass_matrix", "rk4", "RK45", "Radau", "variational", "newton-euler", "hamilton")
WORDS += ("all", "inertial", "craig", "space", "body", "rpy", "zyz", "auto", "aba", "crba", "float", "f8", "\0", "é" * 300)
THINGS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    7,
    1 << 70,
    10**400,
    1.5,
    math.nan,
    math.inf,
    -1e308,
    1e-320,
    1j,
    b"q",
    object(),
)
THINGS += ((), [], {}, [[1], [1, 2]], {"joint1": math.nan}, {"body_2": [0] * 6}, {"x": 1}, {1: 2}, [None], ["joint1"], ["x", "y"])
THINGS += (np.array(["a", "b"]), np.array([None, None]), np.array(1.0), np.nan, np.float32(3), np.ma.masked)
THINGS += (lambda *_: [0.0, 0.0], lambda *_: "text", range(2), iter([1.0, 2.0]), Path("nowhere"), "joint1")
FINE = dict.fromkeys(("starts", "iterations", "harmonics", "periods", "size"), (1, 2, 0, -1, 2.5, "a", None))
FINE |= dict.fromkeys(
    ("duration", "steps", "segments", "rate", "fps"), (1, 2, 0, -1, 1e-310, 1e308, math.nan, math.inf, "a", None, [1, 2])
)
TIMES = (0.003, [0.0, 0.001, 0.002], [0.0, 0.0], [1.0, 0.0], 0.0, [], 1e-9, -1.0, 1e308, math.nan, math.inf, "a", None, True, 1j)
FINE["t"] = (*TIMES, 10**400, object(), [[1], [1, 2]], ["a", "b"], [None], [0.0, math.nan], [0.0, 1e-320], np.array(0.002), b"1")
"""Numbers of tries are tried with small ones, and motions are short: a large one takes the time that was asked for."""


BOOLEANS = (True, False, True, False, 0, 1, None, "yes", 2)
MEANT: dict[str, tuple[Any, ...]] = {
    "method": ("rk4", "variational", "RK45", "Radau", "euler", "lagrange", "jacobian", "newton-euler", "auto", "aba", "crba"),
    "notation": ("qddot", "lynch-park", "craig", "spong", "siciliano"),
    "parameters": ("given", "inertial", "all", "fixed", "runtime"),
    "digits": (1, 3, 17, 0, 10**6),
    "gravity": ("g", "q1", "9", [0, 0, 0], [1e308] * 3),
    "reference": ("space", "body", "world_aligned"),
    "coordinates": ("zyx", "rpy", "rotation_vector", "quaternion"),
    "form": ("gradient", "christoffel", "rate"),
    "axes": ("parent", "world", "body"),
    "drives": ("with", "without"),
    "precision": ("double", "float"),
    "rows": (["x"], ["x", "y"], "x", ["x", "x"], [], ["wx"]),
    "step": (1e-3, 1e-4, 0.01, 1.0, 1e-12, -1e-3),
    "every": (1, 2, 100, 0),
    "tolerance": (1e-6, 1.0, 0.0, 1e-300),
    "damping": (0.0, 0.1, 1e300),
    "threads": (1, 2, 10**6, 0, -1),
    "dtype": ("f8", "f4", np.float32, float, "f2", int, complex),
    "seed": (0, 1, 2**64, -1),
    "torque": ([1.0, 2.0], np.zeros((5, 2)), lambda t, q, qd: -qd, lambda t, q, qd: [np.inf, 0.0]),
    "events": (lambda t, q, qd: q[0], [lambda t, q, qd: 1.0], lambda t, q, qd: np.nan),
    "out": (np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2)), (np.zeros((2, 2)), None), np.zeros(2, np.float32), np.ones(1)),
    **dict.fromkeys(("full", "abbreviate", "saturate", "stops", "moment", "check", "wrench", "progress"), BOOLEANS),
}
"""Values that are meant for some method."""


@cache
def robots() -> tuple[Robot, ...]:
    """A planar arm; one with friction, a slider and a joint that follows; and that one afloat."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        floating = qddot.load_string(URDF, floating=True, strict=False)
        return qddot.load("two_link"), qddot.load_string(URDF), floating.with_payload(1.0, frame="base", inertia=[0.1, 0.2, 0.3])


@cache
def recording() -> Log:
    columns = FUNCTIONS["Log"][1]
    return Log(**columns)


@cache
def motion(robot: Robot) -> Any:
    return robot.simulate(robot.random_configuration(3), None, 0.002)


def sound(robot: Robot, folder: Path) -> dict[str, Any]:
    """A value for each name that a parameter without a default has."""
    rates = dict.fromkeys(("v", "qd", "qdd", "tau", "jerk", "snap", "p", "qd0"), np.full(robot.nv, 0.2))
    q, tip = robot.random_configuration(3), robot.link_names[-1]
    leader, joint = robot.joint_names[-2:]
    return rates | {
        **dict.fromkeys(("q", "q0", "start", "end"), q),
        "t": 0.002,
        "values": {},
        "gravity": [0.0, 0.0, -9.81],
        "transmission": qddot.Transmission((leader, joint), ((50.0, 0.0), (30.0, 40.0))),
        "positions": {joint: 0.1},
        "joints": [joint],
        "mass": 1.0,
        "pose": np.eye(4),
        "link": tip,
        "base": robot.link_names[0],
        "tip": tip,
        "constraints": [qddot.joint_equality(joint, leader, 1.0, float(q[-1] - q[-2]))],
        "lam": [0.3],
        "wrenches": {tip: [0.1] * 6},
        "quantity": "mass_matrix",
        "quantities": ["gravity_torque"],
        "directory": folder / "code",
        "path": folder / "file",
        "motion": motion(robot),
        "log": dataclasses.replace(recording(), joint_names=robot.joint_names[-2:]),
    }


def call(random: Random, folder: Path) -> None:
    """One call; what it returns is looked at. The call is left in `mutant.txt`."""
    if random.random() < 0.3:
        function(random, folder)
    else:
        method(random, folder)


def method(random: Random, folder: Path) -> None:
    robot = random.choice(robots())
    name = random.choice(METHODS if random.random() < 0.1 else [name for name in METHODS if name not in SELDOM])
    arguments, optional = sound_call(robot, name, folder)
    for _ in range(random.choice((1, 1, 2))):
        which = random.choice([*arguments, *optional])
        keeps = ("directory", "path")  # paths that odd things would name are the working folder's
        arguments[which] = odd(random, which, arguments.get(which)) if which not in keeps else odd_path(random, folder)
    with written(folder, f"robots()[{robots().index(robot)}].{name}", arguments):
        try:
            result = bound(getattr(robot, name), arguments)
        except OSError:
            if not {"directory", "path"} & set(arguments):
                raise
            return  # a path that cannot be written to
        looked_at(result, check=bool(arguments.get("check", True)))


def sound_call(robot: Robot, name: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Arguments that must be given, and names of those that may be."""
    parameters = [p for p in inspect.signature(getattr(Robot, name)).parameters.values() if p.name != "self"]
    known = sound(robot, folder)
    needed = {p.name: known.get(p.name) for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
    if name.startswith(("constr", "project", "assembl")):
        needed["constraints"] = known["constraints"]
    if any(p.name == "frame" for p in parameters):
        needed["frame"] = robot.link_names[-1]
    match name:
        case "assemblies" | "assembly_mode":
            needed["hold"] = robot.joint_names[:-1]
        case "constraint_wrench":
            needed["constraints"] = [qddot.point_on_plane(robot.link_names[-1], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0])]
            needed |= {"moment": False, "lam": [0.3]}
        case "time_optimal":
            needed["path"] = np.stack([robot.home(), robot.home() + 0.1])
        case "simulate":
            needed |= {"qd0": known["qd0"], "t": known["t"]}
        case "inverse_kinematics":
            needed["pose"] = robot.transform(known["q"], needed["frame"])
        case "animate":
            needed["path"] = known["path"].with_suffix(".gif")
        case "compute":
            needed["q"] = known["q"]
        case "explore" | "export_js":  # without a path the page would be shown
            needed["path"] = known["path"].with_suffix(".html" if name == "explore" else ".mjs")
        case "task_space" | "manipulability" | "ellipsoids":
            needed["rows"] = ["z"] if len(robot.joint_names) > 2 else ["x"]
        case "excitation":
            wide = np.ones(robot.nv)
            limits = robot.limits._replace(lower=-wide, upper=wide, velocity=2 * wide)
            needed |= {"limits": limits, "acceleration": 5.0, "starts": 1, "iterations": 1}
    optional = [p.name for p in parameters if p.default is not p.empty]
    if any(p.kind is p.VAR_KEYWORD for p in parameters) and "q" in needed:
        optional += ["out", "dtype", "threads", "check", "parameters"]
    return needed, optional


def bound(called: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The call; `Robot.compute` takes its arrays by position."""
    if called.__name__ == "compute":
        return called(arguments.pop("quantities", None), arguments.pop("q", None), **arguments)
    return called(**arguments)


def function(random: Random, folder: Path) -> None:
    name = random.choice(sorted(FUNCTIONS))
    called, usual = FUNCTIONS[name]
    arguments = dict(usual)
    arm = robots()[0]
    fixed = {"robot": arm, "reference": control.Hold([0.1, 0.2])}
    arguments |= {key: fixed[key] for key in arguments if key in fixed}
    which = random.choice([key for key in arguments if key not in fixed])
    arguments[which] = odd(random, which, arguments[which])
    with written(folder, name, arguments):
        used(called(**arguments), arm)


def used(thing: Any, arm: Robot) -> None:
    """What can be computed with what a function made."""
    q, qd = [0.3, 0.4], [0.1, 0.2]
    if isinstance(thing, qddot.Inertia | qddot.Drive | qddot.Limits):
        given = {{qddot.Inertia: "inertias", qddot.Drive: "drives", qddot.Limits: "limits"}[type(thing)]: [thing]}
        single = qddot.from_dh([(0.1, 0.0, 0.0, 0.0)], convention="modified", **given)
        if not single.symbols:
            looked_at([single.mass_matrix([0.2]), single.inverse_dynamics([0.2], [0.1], [0.3]), single.random_configuration(1)])
    elif isinstance(thing, qddot.Transmission):
        looked_at(arm.with_transmission(thing).inverse_dynamics(q, qd, qd))
    elif type(thing).__name__ == "Constraint":
        looked_at([arm.constraint_residual(q, [thing]), arm.constraint_jacobian(q, [thing])])
        looked_at(arm.constraint_jacobian_dot(q, qd, [thing]))
    elif isinstance(thing, Robot):
        looked_at(thing.parameters())
    elif isinstance(thing, Log):
        looked_at([thing.t, thing.q, thing.tau])
        thing.audit()
    elif callable(thing) and not isinstance(thing, qddot.Mimic):
        reference = isinstance(thing, control.Hold | control.Quintic | control.Trapezoidal)
        looked_at(thing(0.1) if reference else thing(0.0, np.array(q), np.array(qd)))


def odd(random: Random, name: str, value: Any) -> Any:
    """Something else than a sound value: close to it, or nothing of the kind."""
    if name in FINE:
        return random.choice(FINE[name])
    kind = random.random()
    if name in MEANT and random.random() < 0.5:
        return random.choice(MEANT[name])
    if kind < 0.15:
        return random.choice(WORDS)
    if kind < 0.4 or value is None:
        return random.choice(THINGS)
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return random.choice(THINGS)
    return odd_array(random, array)


def odd_array(random: Random, array: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        match random.randrange(6):
            case 0 | 1 if array.size:
                changed = array.copy()
                changed.reshape(-1)[random.randrange(array.size)] = random.choice(NUMBERS)
                return changed
            case 2:
                return np.nan_to_num(array).astype(random.choice(TYPES))
            case 3:
                return np.resize(array, random.choice(SHAPES))
            case 4:
                batch = np.resize(array, (random.choice((2, 8, 9)), *array.shape))
                return random.choice((batch[::-1], np.asfortranarray(batch), np.ma.masked_invalid(batch), batch.tolist()))
            case _:
                return (array * random.choice(NUMBERS)).tolist()


def odd_path(random: Random, folder: Path) -> Any:
    names = (".", "missing/x.toml", "a\0b", "x" * 5000, "x" * 255, "x", "x.urdf", "x.html", "ü\u202e")
    return random.choice((*(folder / name for name in names), 3, b"x", 1.5, [], "x.js"))


def looked_at(result: Any, check: bool = True) -> None:
    """Raise `Silent` for a number in the result that is not finite."""
    from tests.fuzz.judge import Silent

    for number in numbers(result):
        if check and not np.isfinite(number).all():
            raise Silent(f"{type(result).__name__}: {number!r}"[:200])


def numbers(value: Any, depth: int = 0) -> Iterator[np.ndarray]:
    """Floating-point numbers in arrays, tuples, dictionaries and dataclasses that are plain data."""
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind in "fc"):
        yield np.asarray(value)
    elif isinstance(value, tuple | list) and depth < 3:
        for part in value:
            yield from numbers(part, depth + 1)
    elif isinstance(value, dict) and depth < 3:
        yield from numbers(list(value.values()), depth + 1)
    elif type(value).__name__ in ("Trajectory", "ContactMotion", "Bounces"):
        yield from numbers([getattr(value, name, 0.0) for name in ("t", "q", "qd", "tau", "force")], depth + 1)


@contextlib.contextmanager
def written(folder: Path, name: str, arguments: dict[str, Any]) -> Iterator[None]:
    """The call as text, and the folder as working directory: odd paths lead there."""
    told = ", ".join(f"{key}={re.sub('0x[0-9a-f]+', '', repr(value))[:300]}" for key, value in arguments.items())
    (folder / "mutant.txt").write_text(f"{name}({told})", "utf-8", "backslashreplace")
    with contextlib.chdir(folder):
        yield
