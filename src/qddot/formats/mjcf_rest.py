"""Parts of an MJCF file beyond the tree: constraints, which are kept as data, and the rest, which is reported.

Forces that are not kept would change the equations of motion: they give a warning, and an error when strict. The rest (actuators
with a control law of their own, limits of tendons) only gives a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from qddot.errors import ModelValueError, first_few
from qddot.formats.mjcf_actuators import Motors, actuator_count, is_motor, rotor
from qddot.formats.mjcf_compile import Compiled, pose_of, vec_of
from qddot.model.check import warn
from qddot.model.constraints import Connect, Constraint, Coupling, Weld
from qddot.model.spatial import Mat, Transform, Vec

CONNECT, WELD, COUPLING = 0, 1, 2  # of mjtEq
SITE = 6  # of mjtObj
FREE, BALL = 0, 1  # of mjtJoint
UPRIGHT = Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, 1.0, 0.0), Vec(0.0, 0.0, 1.0))


def constraints(compiled: Compiled, links: list[str]) -> list[Constraint]:
    """Return the equality constraints, with a warning, since the dynamics of the open tree do not enforce them."""
    model, found, off = compiled.model, [], compiled.is_off("EQUALITY", "CONSTRAINT")
    for i in range(model.neq):
        make = {CONNECT: _connect, WELD: _weld, COUPLING: _coupling}.get(int(model.eq_type[i]))
        if make is None:
            continue
        name = model.equality(i).name
        named = {"name": name, "active": bool(model.eq_active0[i]) and not off, "place": compiled.place("equality", name)}
        found.append(make(model, i, links, named))
    if found:
        names = first_few(repr(x.name) for x in found)
        rule = f"the equality constraints {names} are kept as data; the dynamics are those of the open tree"
        warn(rule, place=found[0].place, element="equality", fix="simulate and constrained_forward_dynamics enforce them")
    return found


def _connect(model: Any, i: int, links: list[str], named: dict) -> Connect:
    first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    if model.eq_objtype[i] == SITE:
        points = [vec_of(model.site_pos[x]) for x in (first, second)]
        first, second = int(model.site_bodyid[first]), int(model.site_bodyid[second])
    else:
        points = [vec_of(model.eq_data[i, :3]), vec_of(model.eq_data[i, 3:6])]
    return Connect(link1=links[first], link2=links[second], point1=points[0], point2=points[1], **named)


def _weld(model: Any, i: int, links: list[str], named: dict) -> Weld:
    """Return a weld. MuJoCo gives an anchor on the second body, and on the first the pose of the second at that anchor."""
    first, second, data = int(model.eq_obj1id[i]), int(model.eq_obj2id[i]), model.eq_data[i]
    if model.eq_objtype[i] == SITE:
        poses = [pose_of(model.site_pos[x], model.site_quat[x]) for x in (first, second)]
        first, second = int(model.site_bodyid[first]), int(model.site_bodyid[second])
    else:
        poses = [pose_of(data[3:6], data[6:10]), Transform(UPRIGHT, vec_of(data[:3]))]
    return Weld(link1=links[first], link2=links[second], pose1=poses[0], pose2=poses[1], **named)


def _coupling(model: Any, i: int, links: list[str], named: dict) -> Coupling:
    """Return a coupling. MuJoCo's polynomial is about the reference positions of both joints; ours is in the coordinates."""
    first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    reference = [float(model.qpos0[model.jnt_qposadr[x]]) if x >= 0 else 0.0 for x in (first, second)]
    about = model.eq_data[i, :5] if second >= 0 else model.eq_data[i, :1]
    shifted = np.polynomial.Polynomial(about)(np.polynomial.Polynomial([-reference[1], 1.0])) + reference[0]
    numbers = tuple(float(x) for x in np.trim_zeros(shifted.coef, "b")) or (0.0,)
    leader = model.joint(second).name if second >= 0 else None
    return Coupling(joint=model.joint(first).name, leader=leader, coefficients=numbers, **named)


# what is not kept -----------------------------------------------------------------------------------------------------


def report_rest(compiled: Compiled, strict: bool) -> None:
    """Warn of parts that the model does not keep. Raises ModelValueError: strict, and one changes the equations of motion."""
    for kind, names, rule, fix in _lost_forces(compiled.model):
        place = compiled.place(kind, names[0] if names else "")
        rule = f"{rule} of {first_few(map(repr, names))} is not a term of this model" if names else rule
        if strict:
            raise ModelValueError(rule, place=place, element=kind, fix=fix)
        warn(f"{rule}; it is ignored", place=place, element=kind, fix=fix)
    for kind, names, rule in _lost_data(compiled.model):
        warn(f"{first_few(map(repr, names))}: {rule}", place=compiled.place(kind, names[0]), element=kind)


def _lost_forces(model: Any) -> Iterable[tuple[str, list[str], str, str]]:
    """Yield (kind of element, names, term, fix) of each force that a model here cannot express."""
    joint, body, tendon, actuator = (_named(model, kind) for kind in ("joint", "body", "tendon", "actuator"))
    dofs = model.jnt_dofadr
    several, free = model.jnt_type <= BALL, model.jnt_type == FREE
    motors = Motors(model)
    driven = {a for group in motors.on.values() for a in group}
    every = range(actuator_count(model))
    rotors = [a not in driven and bool(rotor(model, "armature", a) or rotor(model, "damping", a)) for a in every]
    remove = "remove it"
    yield from (
        (kind, names, what, fix)
        for kind, names, what, fix in (
            ("joint", joint(several & (model.jnt_stiffness != 0)), "the spring", "use hinges, or remove the stiffness"),
            ("joint", joint(free & (model.dof_armature[dofs] != 0)), "the armature", "use <freejoint/>, or set it to 0"),
            ("joint", joint(free & (model.dof_frictionloss[dofs] != 0)), "the frictionloss", "use <freejoint/>, or set it to 0"),
            ("joint", joint(_any(model, "dof_dampingpoly")[dofs]), "the nonlinear damping", "keep the linear coefficient only"),
            ("joint", joint(_any(model, "jnt_stiffnesspoly")), "the nonlinear stiffness", "keep the linear coefficient only"),
            ("joint", joint(_any(model, "jnt_springyield")), "the yield of the spring", remove),
            ("body", body(model.body_gravcomp != 0), "the gravity compensation", "remove gravcomp, or add its torque to tau"),
            ("tendon", tendon(_tendon_forces(model)), "the stiffness, damping, friction or armature", "put it on the joints"),
            ("actuator", actuator(np.array(rotors, bool)), "the armature or damping", "give it to the joint"),
            ("equality", _other_equalities(model), "the tendon or distance constraint", remove),
        )
        if names
    )
    if model.opt.density or model.opt.viscosity:
        rule = f"a fluid of density {model.opt.density:g} and viscosity {model.opt.viscosity:g} drags on the bodies"
        yield "option", [], rule, "set both to 0, or add its forces by f_ext"


def _lost_data(model: Any) -> Iterable[tuple[str, list[str], str]]:
    """Return (kind of element, names, message) of each part that is not kept and does not change the equations of motion."""
    laws = np.array([not is_motor(model, a) for a in range(actuator_count(model))], bool)
    ranges, limited = model.jnt_actfrcrange, model.jnt_actfrclimited.astype(bool)
    uneven = limited & (ranges[:, 0] != -ranges[:, 1])
    ball = (model.jnt_type == BALL) & model.jnt_limited.astype(bool)
    found = (
        ("actuator", _named(model, "actuator")(laws), "it follows a law of its own; here tau is the force at the joint"),
        ("tendon", _named(model, "tendon")(np.ones(model.ntendon, bool)), "tendons are not kept"),
        ("joint", _named(model, "joint")(ball), "the limit of a ball joint is not kept"),
        ("joint", _named(model, "joint")(uneven), "the effort limit differs by direction; the larger one is kept"),
        ("body", _named(model, "body")(model.body_mocapid >= 0), "a mocap body stands still here"),
        ("key", [model.key(i).name or f"key {i}" for i in range(model.nkey)], "keyframes are not kept, and home() is none of them"),
    )
    return [(kind, names, rule) for kind, names, rule in found if names]


def _named(model: Any, kind: str) -> Callable[[np.ndarray], list[str]]:
    """Return a function from a mask to the names of the elements of a kind that it selects."""
    return lambda mask: [getattr(model, kind)(int(i)).name for i in np.flatnonzero(mask)]


def _any(model: Any, name: str) -> np.ndarray:
    """Return where an array of the compiled model is not zero; nowhere in older versions of MuJoCo, which do not have it."""
    size = model.nv if name.startswith("dof") else model.ntendon if name.startswith("tendon") else model.njnt
    values = getattr(model, name, None)
    return np.zeros(size, bool) if values is None else np.any(values != 0, axis=tuple(range(1, np.ndim(values))))


def _tendon_forces(model: Any) -> np.ndarray:
    names = ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "armature")
    return np.any([_any(model, f"tendon_{name}") for name in names], axis=0)


def _other_equalities(model: Any) -> list[str]:
    return [model.equality(i).name for i in range(model.neq) if model.eq_type[i] > COUPLING]
