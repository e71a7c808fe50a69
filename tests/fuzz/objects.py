"""What else can be called, beside the methods of a robot: each with a sound call, of which one argument is made odd."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import qddot
from qddot import contact, control, rigid_motion
from qddot.logs import Log
from qddot.robot import Robot
from tests.fuzz import calls

Sound = dict[str, Any]

Q, QD, TAU = [0.3, -0.7], [0.2, 0.4], [1.0, 0.5]
EYE = np.eye(4)


@cache
def arm() -> Robot:
    return qddot.load("two_link")


@cache
def system() -> Any:
    """A pendulum on a cart, by its energies."""
    return qddot.System("xd**2 + (xd**2 + 2*xd*ad*cos(a) + ad**2)/2", "9.81*cos(a)", coordinates=["x", "a"])


@cache
def ball() -> contact.Contacts:
    """One that falls."""
    builder = qddot.Builder("ball").body("b", joint="free", mass=1.0, tensor=(0.004, 0.004, 0.004))
    return contact.Contacts(builder.robot(), [contact.Sphere("b", 0.1)], [contact.Plane()])


@cache
def lift() -> contact.Contacts:
    """One on a vertical rail."""
    builder = qddot.Builder("lift").body("b", joint="prismatic", mass=1.0)
    return contact.Contacts(builder.robot(), [contact.Sphere("b", 0.1)], [contact.Plane()], restitution=0.5)


FALLING = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3]
STILL = [0.0] * 6


@cache
def motion() -> Any:
    return arm().simulate(Q, QD, 0.002)


@cache
def fit() -> Any:
    t = np.arange(600) / 100
    waves = [(0.2, 0.3, 1.0), (0.3, -0.2, 2.0), (-0.1, 0.2, 3.0)]
    q, qd, qdd = (sum(np.outer(w**k * np.cos(w * t + k * np.pi / 2), a) for *a, w in waves) for k in range(3))
    return arm().identify(Log(t, q, arm().inverse_dynamics(q, qd, qdd)))


@cache
def forms() -> Any:
    return arm().equations()


@cache
def rollout() -> Any:
    from qddot.rollout import PDLaw

    return arm().rollout(PDLaw(kp=20.0, kd=5.0))


@cache
def linear() -> Any:
    return arm().linearize(Q, QD, TAU)


def observer() -> Any:
    return control.MomentumObserver(arm(), 20.0)


def laws(name: str) -> Any:
    """A new one: some learn."""
    hold, place = control.Hold(Q), control.Task(arm(), rows=("x", "y"))
    match name:
        case "SetPointPD":
            return control.SetPointPD(arm(), Q, 20.0, 5.0)
        case "SlotineLi":
            return control.SlotineLi(arm(), hold, 5.0, 2.0, 0.1)
        case "SlidingMode":
            return control.SlidingMode(arm(), hold, 5.0, 2.0, 1.0)
        case "PD" | "ComputedTorque":
            return getattr(control, name)(arm(), hold, 20.0, 5.0)
    return getattr(control, name)(place, hold, 20.0, 5.0)


@cache
def excitation() -> Any:
    wide = np.ones(2)
    limits = arm().limits._replace(lower=-wide, upper=wide, velocity=2 * wide)
    return arm().excitation(limits=limits, acceleration=5.0, starts=1, iterations=1)


@cache
def fit_log() -> Log:
    t = np.arange(200) / 100
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    return Log(t, q, q)


def method(thing: Callable[[], Any], name: str) -> Callable[..., Any]:
    """Of something that is made when it is first called."""
    return lambda **arguments: getattr(thing(), name)(**arguments)


def called(thing: Callable[[], Any]) -> Callable[..., Any]:
    return method(thing, "__call__")


STATE = {"q": Q, "qd": QD}
WAY = {"t": 0.3, **STATE}
CALLS: dict[str, tuple[Callable[..., Any], Sound]] = {
    **{
        f"System.{name}": (method(system, name), sound)
        for name, sound in {
            "mass_matrix": {"q": Q},
            "inverse_dynamics": {**STATE, "qdd": QD},
            "forward_dynamics": {**STATE, "tau": TAU},
            "inverse_dynamics_derivatives": {**STATE, "qdd": QD},
            "linearize": {**STATE, "tau": TAU},
            "potential_energy": {"q": Q},
            "simulate": {"q0": Q, "qd0": QD, "t": 0.002, "torque": TAU},
            "subs": {"values": {}},
            "equilibrium": {"q": Q, "actuated": ["x"]},
            "hamilton_rates": {"q": Q, "p": QD, "tau": TAU},
        }.items()
    },
    "Trajectory.to_csv": (method(motion, "to_csv"), {"path": "motion.csv"}),
    "Trajectory.animate": (method(motion, "animate"), {"path": "motion.gif", "fps": 25.0}),
    "Contacts": (
        lambda **x: contact.Contacts(ball().robot, **x).depth(FALLING),
        {
            "spheres": [contact.Sphere("b", 0.1)],
            "planes": [contact.Plane()],
            "friction": 0.5,
            "restitution": 0.1,
        },
    ),
    "Sphere": (contact.Sphere, {"frame": "b", "radius": 0.1, "center": (0.0, 0.0, 0.0)}),
    "Plane": (contact.Plane, {"point": (0.0, 0.0, 0.0), "normal": (0.0, 0.0, 1.0)}),
    "Contacts.depth": (method(ball, "depth"), {"q": FALLING}),
    "Contacts.touching": (method(ball, "touching"), {"q": FALLING, "within": 1.0}),
    "contact.simulate": (
        lambda **x: contact.simulate(ball(), **x),
        {"q0": FALLING, "qd0": STILL, "duration": 0.003, "torque": STILL, "step": 1e-3, "every": 1},
    ),
    "contact.bounce": (
        lambda **x: contact.bounce(lift(), **x),
        {"q0": [0.3], "qd0": [0.0], "duration": 0.003, "torque": np.zeros(1), "rtol": 1e-9, "atol": 1e-9, "rest": 1e-5},
    ),
    "Rollout": (called(rollout), {"q0": Q, "qd0": QD, "control": Q, "steps": 2, "every": 1}),
    "Rollout.linear": (method(rollout, "linear"), {**STATE, "control": Q}),
    "Linearization.discrete": (method(linear, "discrete"), {"period": 0.01}),
    "Linearization.lqr": (method(linear, "lqr"), {"Q": np.eye(4), "R": np.eye(2), "period": 0.01}),
    "MomentumObserver": (partial(control.MomentumObserver, arm()), {"gain": 20.0, "period": 1e-3, "threshold": 1.0}),
    "MomentumObserver.update": (method(observer, "update"), {**STATE, "tau": TAU}),
    "MomentumObserver.observe": (method(observer, "observe"), {"q": [Q] * 3, "qd": [QD] * 3, "tau": [TAU] * 3}),
    "Excitation.q": (method(excitation, "q"), {"t": [0.0, 0.1]}),
    "Excitation.sample": (method(excitation, "sample"), {"rate": 100.0}),
    "Excitation.to_csv": (method(excitation, "to_csv"), {"path": "motion.csv", "rate": 100.0}),
    "Equations.mass_matrix.evaluate": (lambda **x: forms().mass_matrix.evaluate(**x), {"q": Q, "parameters": {}, "digits": 20}),
    "Equations.inverse_dynamics.evaluate": (
        lambda **x: forms().inverse_dynamics.evaluate(**x),
        {**STATE, "qdd": QD, "parameters": {}},
    ),
    "Equations.mass_matrix.subs": (lambda **x: forms().mass_matrix.subs(**x), {"values": {"q1": 0.5}}),
    "Equations.mass_matrix.diff": (lambda **x: forms().mass_matrix.diff(**x), {"variable": "q2"}),
    "Equations.jacobian": (method(forms, "jacobian"), {"frame": "body_2", "reference": "space"}),
    "Equations.regressor": (method(forms, "regressor"), {"parameters": []}),
    "Equations.linearize": (method(forms, "linearize"), {**STATE, "qdd": QD}),
    "Equations.task_space": (method(forms, "task_space"), {"frame": "body_2", "rows": ["x", "y"]}),
    "Fit.predict": (method(fit, "predict"), {"q": [Q] * 3, "qd": [QD] * 3, "qdd": [QD] * 3}),
    "Fit.robot_weighing": (method(fit, "robot_weighing"), {"total_mass": 5.0}),
    "Fit.near_description": (method(fit, "near_description"), {"weights": {}}),
    "Fit.bounded_intervals": (method(fit, "bounded_intervals"), {"bound": 1.0}),
    "Fit.to_urdf": (method(fit, "to_urdf"), {"path": "fit.urdf"}),
    "ParameterSet.fix": (lambda **x: fit().parameter_set.fix(**x), {"values": {}}),
    "ParameterSet.expect": (lambda **x: fit().parameter_set.expect(**x), {"priors": {}}),
    "ParameterSet.matrix": (lambda **x: fit().parameter_set.matrix(**x), {"q": [Q] * 3, "qd": [QD] * 3, "qdd": [QD] * 3}),
    "SetPointPD": (partial(control.SetPointPD, arm()), {"goal": Q, "kp": 20.0, "kd": 5.0}),
    "SetPointPD.storage": (lambda **x: control.SetPointPD(arm(), Q, 20.0, 5.0).storage(**x), WAY),
    "SlidingMode": (
        lambda **x: control.SlidingMode(arm(), control.Hold(Q), **x)(0.0, np.array(Q), np.array(QD)),
        {"bandwidth": 5.0, "kd": 2.0, "reach": 1.0, "width": 0.01},
    ),
    **{
        f"{law}.__call__": (called(partial(laws, law)), WAY)
        for law in ("PD", "SetPointPD", "ComputedTorque", "SlotineLi", "SlidingMode", "OperationalSpace", "Impedance")
    },
    "OperationalSpace": (
        lambda **x: control.OperationalSpace(control.Task(arm(), rows=("x", "y")), control.Hold([0.1, 0.2]), **x)(
            0.0, np.array(Q), np.array(QD)
        ),
        {"kp": 20.0, "kd": 5.0, "posture_damping": 0.1},
    ),
    "Task": (lambda **x: control.Task(arm(), **x).position(np.array(Q)), {"frame": "body_2", "rows": ["x", "y"]}),
    "Cubic": (lambda **x: control.Cubic(**x)(0.1), {"start": Q, "end": QD, "duration": 1.0}),
    "Quintic.__call__": (lambda **x: control.Quintic(Q, QD, 1.0)(**x), {"t": 0.3}),
    "Log.resampled": (lambda **x: fit_log().resampled(**x), {"rate": 50.0}),
    "Log.split": (lambda **x: fit_log().split(**x), {"fraction": 0.5}),
    "Builder.body": (
        lambda **x: qddot.Builder("b").body("a", **x).robot().mass_matrix([0.1]),
        {"axis": [0.0, 1.0, 0.0], "xyz": [0.1, 0.0, 0.0], "rpy": [0.0, 0.1, 0.0], "mass": 1.0, "com": [0.1, 0.0, 0.0]},
    ),
    "Builder.beam": (
        lambda **x: qddot.Builder("b").beam("a", **x).robot().parameters(),
        {"length": 1.0, "EI": 10.0, "mass_per_length": 1.0, "segments": 2},
    ),
    **{
        f"rigid_motion.{name}": (getattr(rigid_motion, name), sound)
        for name, sound in {
            "adjoint": {"T": EYE},
            "bracket": {"twist": STILL},
            "exp": {"twist": STILL, "angle": 0.3},
            "exp_rotation": {"w": [0.1, 0.2, 0.3]},
            "log": {"T": EYE},
            "log_rotation": {"R": EYE[:3, :3]},
            "nearest_rotation": {"matrix": EYE[:3, :3]},
            "screw": {"point": [0.1, 0.2, 0.3], "axis": [0.0, 0.0, 1.0], "pitch": 0.1},
            "skew": {"v": [0.1, 0.2, 0.3]},
        }.items()
    },
}

SELDOM = ("Trajectory.animate", "Fit.bounded_intervals", "Fit.near_description", "Fit.robot_weighing", "Fit.to_urdf")
"""Calls that take a tenth of a second or more when they are sound."""


def call(random: Random, folder: Path) -> None:
    """One call; what it returns is looked at. The call is left in `mutant.txt`."""
    name = random.choice(sorted(CALLS) if random.random() < 0.1 else [name for name in sorted(CALLS) if name not in SELDOM])
    function, sound = CALLS[name]
    which = random.choice(list(sound))
    value = calls.odd_path(random, folder) if which == "path" else calls.odd(random, which, sound[which])
    with calls.written(folder, name, {**sound, which: value}):
        try:
            result = function(**{**sound, which: value})
        except OSError:
            if which != "path":
                raise
            return  # a path that cannot be written to
        calls.looked_at(result)
