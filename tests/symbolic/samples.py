"""What the tests of the symbolic package share: a robot with every kind of letter, points to evaluate at, random arms."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import sympy

import qddot
from qddot.algorithms.coriolis import coriolis_matrix
from qddot.algorithms.drives import friction_torque
from qddot.algorithms.energy import kinetic_energy, potential_energy
from qddot.algorithms.inverse_dynamics import coriolis_torque, gravity_torque, inverse_dynamics
from qddot.algorithms.jacobian import jacobian, rows
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.model.description import Joint, Link
from qddot.model.field import Floats
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.model.pose import from_rpy
from qddot.model.spatial import Transform, Vec
from qddot.symbolic.equations import Equations
from qddot.symbolic.evaluate import Letters

DIGITS = 50


def number(x: Fraction):
    return mpmath.mpf(x.numerator) / x.denominator


def textbook() -> Equations:
    """Two point masses on massless rods, gravity and all lengths open."""
    L1, L2, m1, m2, g = sympy.symbols("L1 L2 m1 m2 g", positive=True)
    arm = qddot.Builder("textbook", gravity=(0, -g, 0))
    arm.body("upper", mass=m1, com=(L1, 0, 0), tensor=(0, 0, 0))
    arm.body("lower", "upper", xyz=(L1, 0, 0), mass=m2, com=(L2, 0, 0), tensor=(0, 0, 0))
    return arm.robot().equations()


def every_letter() -> Equations:
    """A hinge with dry friction, its follower, two ball joints in a row, and constants of every kind."""
    a, b, alpha, k = sympy.symbols("a b alpha k", positive=True)
    return (
        qddot.Builder("letters")
        .body("hinge", mass=a, com=(sympy.sqrt(a), 1 / b, 0), drive=qddot.Drive(coulomb=(0.2, 0.3)))
        .body("follower", "hinge", rpy=(alpha, 0, 0), mass=b, mimic=qddot.Mimic("hinge_joint", sympy.Rational(1, 2)))
        .body("turned", "hinge", mass=1, mimic=qddot.Mimic("hinge_joint", k))
        .body("ball", "hinge", "spherical", rpy=(math.pi / 4, math.pi / 3, 0), mass=sympy.sqrt(a + b))
        .body("second", "ball", "spherical", mass=sympy.pi)
        .robot()
        .equations()
    )


def values_at(equations: Equations, seed: int, rate: float | None = None) -> Letters:
    """The value of each letter at a random motion, in 60 digits (inside `mpmath.workdps`); `rate` is the first joint's."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2, 2, equations.nq), rng.uniform(-2, 2, equations.nv), rng.uniform(-2, 2, equations.nv)
    for c in equations.exact_model.mechanism.coordinates:
        if c.parts[0].quaternion:
            q[c.q.start : c.q.start + 4] /= np.linalg.norm(q[c.q.start : c.q.start + 4])
    if rate is not None:
        qd[0] = rate
    given = {
        g.name: float(x)
        for g, x in zip(equations.alphabet.ring.generators, rng.uniform(0.3, 2, 1000))
        if g.kind == "parameter" and g.name not in equations.values
    }
    return Letters(equations, {"q": q.tolist(), "qd": qd.tolist(), "qdd": qdd.tolist()}, given, mpmath.mp, number)


def value(p, letters: Letters):
    return p.evaluate(letters, number)


def random_arm(rng: np.random.Generator, joints: int, branched: bool = False, whole: bool = True) -> Model:
    """Revolute and prismatic joints, twists by multiples of 15 degrees (or any, with few decimals), round offsets and inertias."""
    links, made = [Link("base")], []
    for i in range(joints):
        parent = links[int(rng.integers(len(links))) if branched else -1].name
        angles = rng.integers(-11, 13, 3) * math.pi / 12 if whole else rng.uniform(-3, 3, 3).round(3)
        keep = rng.random(3) < 0.5  # most arms have many right angles
        pose = Transform(from_rpy(*np.where(keep, np.round(angles / (math.pi / 2)) * math.pi / 2, angles)), Vec(*decimals(rng, 3)))
        kind = "revolute" if rng.random() < 0.7 else "prismatic"
        axis = [0.0, 0.0, 0.0]
        axis[int(rng.integers(3))] = float(rng.choice([-1.0, 1.0]))
        made.append(Joint(f"j{i}", kind, parent, f"l{i}", pose, Vec(*axis)))
        links.append(Link(f"l{i}", random_inertia(rng)))
    return Model("arm", links, made, gravity=tuple(decimals(rng, 3)))


def random_inertia(rng: np.random.Generator) -> Inertia:
    x, y, z = (float(v) for v in rng.uniform(0.05, 0.3, 3).round(2))
    return Inertia(round(float(rng.uniform(0.3, 3)), 2), decimals(rng, 3), (x + y, 0.01, -0.01, x + z, 0.02, y + z))


def decimals(rng: np.random.Generator, n: int) -> list[float]:
    return [float(x) for x in np.where(rng.random(n) < 0.3, 0.0, rng.uniform(-1, 1, n).round(2))]


QUANTITIES = {
    "mass_matrix": ("q", mass_matrix),
    "coriolis_matrix": ("q qd", coriolis_matrix),
    "coriolis_torque": ("q qd", coriolis_torque),
    "gravity_torque": ("q", gravity_torque),
    "inverse_dynamics": ("q qd qdd", inverse_dynamics),
    "friction_torque": ("qd", friction_torque),
    "kinetic_energy": ("q qd", kinetic_energy),
    "potential_energy": ("q", potential_energy),
    "jacobian": ("q", lambda model, q, frame: rows(jacobian(model, q, frame))),
}


def deviation(
    robot: qddot.Robot,
    equations: Equations,
    frame: str,
    parameters=None,
    compiled: bool = False,
    seed: int = 0,
    without: tuple[str, ...] = (),
) -> dict[str, float]:
    """How far floats are from the closed forms in 50 digits: those of the algorithms, or of the compiled kernels. Each quantity is
    relative to its own largest entry, or to that of the mass matrix where it is larger (forces at unit speeds may cancel)."""
    rng = np.random.default_rng(seed)
    motion = {"q": robot.random_configuration(rng), "qd": rng.uniform(-1, 1, robot.nv), "qdd": rng.uniform(-1, 1, robot.nv)}
    lifted, found, floor = robot.model.over(Floats()), {}, 0.0
    for name, (inputs, algorithm) in QUANTITIES.items():
        if name in without:
            continue
        options = {"frame": frame} if name == "jacobian" else {}
        form = getattr(equations, name)
        form = form(**options) if callable(form) else form
        given = {x: motion[x] for x in inputs.split()}
        exact = form.evaluate(**{"q": motion["q"], **given}, parameters=parameters, digits=DIGITS)
        floats = getattr(robot, name)(*given.values(), **options) if compiled else algorithm(lifted, *given.values(), **options)
        pairs = list(zip(np.ravel(floats), np.ravel(exact)))
        off = max((float(abs(mpmath.mpf(float(x)) - y)) for x, y in pairs), default=0.0)
        largest = max((abs(float(y)) for _, y in pairs), default=0.0)
        floor = floor or largest or 1.0
        found[name] = off / max(largest, floor)
    return found


def assert_agrees(robot: qddot.Robot, equations: Equations, frame: str, **options) -> None:
    found = deviation(robot, equations, frame, **options)
    assert max(found.values()) <= 1e-13, found
