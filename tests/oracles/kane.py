"""Invented robots, built twice: with our builder, and as bodies of SymPy's mechanics, whose equations are Kane's."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import sympy
from sympy import Rational
from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia, outer

import qddot

KINDS = ("revolute", "prismatic", "helical", "planar", "spherical", "mimic")
WIDTH = {"revolute": 1, "prismatic": 1, "helical": 1, "planar": 3, "spherical": 3, "mimic": 0}
TURNS = (0, sympy.pi / 2, -sympy.pi / 2, sympy.pi / 3, sympy.pi / 4)
GRAVITY = (Rational(1, 2), -2, Rational(-981, 100))


@dataclass
class Body:
    """One body and its joint; numbers are rational, the mass is a letter."""

    kind: str
    parent: int | None
    axis: str
    xyz: tuple[Any, ...]
    rpy: tuple[Any, ...]
    com: tuple[Any, ...]
    tensor: tuple[Any, ...]
    mass: Any
    drive: dict[str, Any] = field(default_factory=dict)
    pitch: Any = 0
    multiplier: Any = 1


def invented(number: int) -> list[Body]:
    """A tree of two or three bodies; over twenty numbers every kind of joint and drive comes up."""
    rng = np.random.default_rng(number)
    part = lambda scale=10: Rational(int(rng.integers(-5, 6)), scale)  # noqa: E731
    kinds = [KINDS[number % 5], KINDS[(number // 2 + 1) % 3]]
    if number % 3 == 0 and sum(WIDTH[kind] for kind in kinds) <= 3:
        kinds.append("mimic" if kinds[0] == "revolute" and kinds[1] != "mimic" else "revolute")
    bodies = []
    for i, kind in enumerate(kinds):
        sides = [Rational(int(x), 50) for x in rng.integers(3, 6, 3)]
        body = Body(
            kind,
            None if i == 0 else int(rng.integers(0, i)) if kind != "mimic" else i - 1,
            "z" if kind == "planar" else "xyz"[int(rng.integers(3))],
            tuple(part() for _ in range(3)),
            (0, 0, TURNS[int(rng.integers(len(TURNS)))]) if i else (0, 0, 0),
            tuple(part() for _ in range(3)),
            tuple(sides),
            sympy.Symbol(f"m{i + 1}", positive=True),
            pitch=Rational(1, 5) if kind == "helical" else 0,
            multiplier=2 if kind == "mimic" else 1,
        )
        if WIDTH[kind] == 1:
            drives = [
                {"viscous": sympy.Symbol(f"b{i + 1}", positive=True)},
                {"stiffness": Rational(7, 2), "rest": Rational(1, 4), "viscous": Rational(1, 10)},
                {"rotor_inertia": Rational(1, 100), "gear_ratio": 9},
                {"coulomb": sympy.Symbol(f"F{i + 1}", positive=True), "viscous": Rational(3, 10)},
                {"rotor_inertia": Rational(1, 50), "gear_ratio": 5, "rotor_axis": "yzx"[int(rng.integers(3))]},
            ]
            body.drive = drives[(number + 2 * i) % len(drives)]
        bodies.append(body)
    return bodies


# ours -----------------------------------------------------------------------------------------------------------------------------


def number(x: Any) -> Any:
    if isinstance(x, str):
        return [float(x == axis) for axis in "xyz"]
    return x if getattr(x, "free_symbols", None) else float(x)


def ours(bodies: list[Body]) -> qddot.Robot:
    builder = qddot.Builder("invented", gravity=[float(x) for x in GRAVITY])
    for i, b in enumerate(bodies):
        place = {"xyz": [float(x) for x in b.xyz], "rpy": [float(x) for x in b.rpy]}
        mass = {"mass": b.mass, "com": [float(x) for x in b.com], "tensor": [float(x) for x in b.tensor]}
        drive = qddot.Drive(**{name: number(x) for name, x in b.drive.items()}) if b.drive else None
        joint = {"joint": "revolute" if b.kind == "mimic" else b.kind, "axis": b.axis, "pitch": float(b.pitch), "drive": drive}
        mimic = ("body0_joint", float(b.multiplier), 0.25) if b.kind == "mimic" else None
        parent = None if b.parent is None else f"body{b.parent}"
        builder.body(f"body{i}", parent, **joint, **place, **mass, mimic=mimic)
    return builder.robot()


# Kane's ---------------------------------------------------------------------------------------------------------------------------


def kane(bodies: list[Body]) -> tuple[sympy.Matrix, dict]:
    """tau, and what each coordinate, rate and acceleration is called in our equations."""
    starts = [0, *accumulate(WIDTH[b.kind] for b in bodies)]
    n = starts[-1]
    quaternions = [i for i, b in enumerate(bodies) if b.kind == "spherical"]
    u = [dynamicsymbols(f"u{k}") for k in range(n)]
    t = dynamicsymbols._t
    coordinates: list[Any] = []
    kinematic: list[Any] = []
    own: list[list[Any]] = []
    for i, b in enumerate(bodies):
        rates = u[starts[i] : starts[i + 1]]
        first = len(coordinates)
        if i in quaternions:
            w, x, y, z = mine = [dynamicsymbols(f"y{first + k}") for k in range(4)]
            a, c, e = rates
            half = [-(x * a + y * c + z * e), w * a + y * e - z * c, w * c + z * a - x * e, w * e + x * c - y * a]
            kinematic += [q.diff(t) - h / 2 for q, h in zip(mine, half)]
        elif b.kind == "mimic":
            own.append([b.multiplier * own[0][0] + Rational(1, 4)])
            continue
        else:
            mine = [dynamicsymbols(f"y{first + k}") for k in range(len(rates))]
            kinematic += [q.diff(t) - v for q, v in zip(mine, rates)]
        coordinates += mine
        own.append(mine)
    N, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(N, 0)
    gravity = sum((g * e for g, e in zip(GRAVITY, (N.x, N.y, N.z))), 0 * N.x)
    frames, points, rigid, loads = {None: N}, {None: origin}, [], []
    for i, b in enumerate(bodies):
        q, rates = own[i], u[starts[i] : starts[i + 1]]
        base, at = frames[b.parent], points[b.parent]
        fixed = base.orientnew(f"J{i}", "Body", [b.rpy[0], b.rpy[1], b.rpy[2]], "XYZ")
        axis = getattr(fixed, b.axis)
        joint = at.locatenew(f"P{i}", sum((c * e for c, e in zip(b.xyz, (base.x, base.y, base.z))), 0 * N.x))
        frame = ReferenceFrame(f"B{i}")
        shift = 0 * N.x
        if b.kind in ("revolute", "mimic", "helical"):
            frame.orient_axis(fixed, axis, q[0])
        elif b.kind == "planar":
            shift = q[0] * fixed.x + q[1] * fixed.y
            frame.orient_axis(fixed, axis, q[2])
        elif b.kind == "spherical":
            frame.orient_quaternion(fixed, q)
            frame.set_ang_vel(fixed, sum((r * e for r, e in zip(rates, (frame.x, frame.y, frame.z))), 0 * frame.x))
        else:
            frame.orient_axis(fixed, axis, 0)
        if b.kind in ("prismatic", "helical"):
            shift = q[0] * axis * (b.pitch if b.kind == "helical" else 1)
        moved = joint.locatenew(f"Q{i}", shift)
        centre = moved.locatenew(f"C{i}", sum((c * e for c, e in zip(b.com, (frame.x, frame.y, frame.z))), 0 * N.x))
        speeds = {y.diff(t): s for y, s in solved(kinematic, coordinates, t).items()}
        for point in (joint, moved, centre):
            point.set_vel(N, point.pos_from(origin).dt(N).subs(speeds))
        rigid.append(RigidBody(f"R{i}", centre, frame, b.mass, (inertia(frame, *b.tensor), centre)))
        loads.append((centre, b.mass * gravity))
        frames[i], points[i] = frame, moved
        rigid += rotors(b, i, q, base, at, N, origin)
    method = KanesMethod(N, q_ind=coordinates, u_ind=u, kd_eqs=kinematic)
    fr, frstar = method.kanes_equations(rigid, loads)
    tau = -(fr + frstar)
    for i, b in enumerate(bodies):
        if b.drive:
            v, q = u[starts[i]], own[i][0]
            tau[starts[i]] += b.drive.get("viscous", 0) * v + b.drive.get("coulomb", 0) * sympy.sign(v)
            tau[starts[i]] += b.drive.get("stiffness", 0) * (q - b.drive.get("rest", 0))
    names = {v.diff(t): sympy.Symbol(f"qdd{k + 1}", real=True) for k, v in enumerate(u)}
    names |= {v: sympy.Symbol(f"qd{k + 1}", real=True) for k, v in enumerate(u)}
    names |= {y: sympy.Symbol(f"q{k + 1}", real=True) for k, y in enumerate(coordinates)}
    return tau, names


def solved(kinematic: list[Any], coordinates: list[Any], t: Any) -> dict[Any, Any]:
    """Each coordinate -> its rate in speeds."""
    return {y: -(k - y.diff(t)) for y, k in zip(coordinates, kinematic)}


def rotors(b: Body, i: int, q: list[Any], base: Any, at: Any, N: Any, origin: Any) -> list[RigidBody]:
    """What spins in the motor: on the ground where only its reflected inertia counts, otherwise on the parent."""
    if "rotor_inertia" not in b.drive:
        return []
    turned, J = b.drive["gear_ratio"] * q[0], b.drive["rotor_inertia"]
    carrier, point = (base, at) if "rotor_axis" in b.drive else (N, origin)
    axis = getattr(carrier, b.drive.get("rotor_axis", "z"))
    frame = carrier.orientnew(f"M{i}", "Axis", [turned, axis])
    spin = getattr(frame, b.drive.get("rotor_axis", "z"))
    return [RigidBody(f"S{i}", point, frame, 0, (J * outer(spin, spin), point))]
