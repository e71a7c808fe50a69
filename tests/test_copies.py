"""Every changed copy of a robot keeps everything of its description that the change is not about."""

import inspect
import pickle
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot import Drive, Frame, Inertia, Limits, Mimic, Robot, Transmission
from qddot.identify.regression.bodies import body_inertias, with_parameters, without_drives
from qddot.model.constraints import Connect, Coupling, Weld
from qddot.model.description import Joint, Link, Visual
from qddot.model.model import PARTS, Model
from qddot.model.pose import from_rpy
from qddot.model.spatial import Transform, Vec
from qddot.model.variables import variable
from qddot.place import Place
from qddot.symbolic.exact.rounded_angles import rounded_angles

A, B = Transform(from_rpy(0.1, 0.2, 0.3), Vec(0.1, 0.2, 0.3)), Transform(from_rpy(1.5708, 0.0, 0.0), Vec(0.0, 0.1, 0.0))
RIGID = Drive(
    viscous=0.1, viscous_quadratic=0.01, viscous_cubic=0.001, offset=0.05, smoothing_velocity=0.02,
    coulomb=(0.2, 0.3), damping=0.01, stiffness=2.0, rest=0.1, gear_ratio=50.0, rotor_inertia=1e-4, static=0.4,
    side="motor", stribeck_velocity=0.1, load_friction=0.1, rotor_axis=Vec(1.0, 0.0, 0.0), torque_speed=(3.0, 40.0),
)  # fmt: skip
ELASTIC = Drive(rotor_inertia=1e-4, series_stiffness=100.0, series_damping=0.5)
MOTOR = Drive(viscous=1e-3, coulomb=1e-2, rotor_inertia=1e-4)


def place(line: int) -> Place:
    return Place("robot.toml", line, 1)


def link(k: int) -> Link:
    drawn = Visual("mesh", (1.0, 1.0, 2.0), Transform(p=Vec(0.1, 0.0, 0.0)), (1.0, 0.0, 0.0), Path(f"link{k}.stl"))
    return Link(f"link{k}", Inertia.box(1.0 + k, (0.1, 0.2, 0.3)).shifted((0.1, 0.0, 0.0)), place(k), (drawn,), 2)


def joint(k: int, kind: str, parent: int, **rest) -> Joint:
    return Joint(f"joint{k}", kind, f"link{parent}", f"link{k}", place=place(k), **({"origin": A} | rest))


def everything() -> Model:
    """A robot in which every field of every part has a value other than its default."""
    limits = Limits(-1.0, 2.0, 3.0, 4.0)
    joints = [
        joint(1, "revolute", 0, axis=Vec(1.0, 0.0, 0.0), tip=A, limits=limits, drive=RIGID),
        joint(2, "helical", 1, pitch=0.1, rate=2.0, limits=limits, origin=B),
        joint(3, "revolute", 2, mimic=Mimic("joint2", 0.5, 0.1)),
        joint(4, "prismatic", 3, limits=limits),
        joint(5, "revolute", 4),
        joint(
            6,
            "revolute",
            5,
            drive=Drive(viscous=0.1, resistance=1.0, inductance=1e-3, torque_constant=0.05, harmonics=((3, 0.1, 0.2),)),
        ),
    ]
    model = Model(
        "everything",
        [link(k) for k in range(7)],
        joints,
        [Frame("tool", "link6", B, place(9))],
        (0.1, 0.2, -9.7),
        end="tool",
        constraints=[
            Connect("pin", "link1", "link5", Vec(0.1, 0, 0), Vec(0, 0.1, 0), False, place(10), "xy"),
            Weld("weld", "link1", "link5", A, B, False, place(11)),
            Coupling("cam", "joint4", "joint5", (0.1, 0.2, 0.3), False, place(12)),
        ],
        transmissions=[
            Transmission(("joint4", "joint5"), [[10, 0], [5, 5]], [MOTOR, MOTOR], ("left", "right"), place(13)),
        ],
    )
    return model.copy(variables=(variable(model, "link3.mass"),))


def leaves(thing: object, path: str = "") -> dict[str, object]:
    """Every value in a model, by where it stands. Named things stand under their names."""
    if isinstance(thing, Model):
        parts = [(name, getattr(thing, name)) for name in PARTS if name != "doubtful"]
    elif is_dataclass(thing):
        parts = [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    elif isinstance(thing, tuple) and thing and hasattr(thing[0], "place"):
        parts = [(getattr(x, "name", str(k)), x) for k, x in enumerate(thing)]
    else:
        return {path: thing}
    return {key: value for name, part in parts for key, value in leaves(part, f"{path}/{name}").items()}


def robot() -> Robot:
    return Robot(everything())


def parameters(robot: Robot) -> Robot:
    ten = body_inertias(robot)["link6"]
    return with_parameters(robot, {"link6": 2 * ten}, {"joint6": Drive(viscous=0.2)})


SYMBOL = sympy.Symbol("m", positive=True)
COPIES = {  # what makes a copy, and what it may change
    "copy": (lambda r: r.model.copy(), ()),
    "map": (lambda r: r.model.map(lambda x: x), ()),
    "pickle": (lambda r: pickle.loads(pickle.dumps(r)), ()),
    "subs": (lambda r: Robot(r.model.copy(gravity=(0.1, SYMBOL, -9.7))).subs({SYMBOL: 0.2}), ()),
    "with_gravity": (lambda r: r.with_gravity((1.0, 2.0, 3.0)), ("/gravity",)),
    "with_transmission": (
        lambda r: r.with_transmission(Transmission(("joint5", "joint6"), [[1, 1]], motors=("third",))),
        ("/transmissions/1",),
    ),
    "other constraints": (lambda r: r.model.copy(constraints=()), ("/constraints",)),
    "with_payload": (
        lambda r: r.with_payload(0.5, (0, 0, 0.1), frame="link6"),
        ("/links/payload", "/joints/payload_joint", "/end"),
    ),
    "with_variable": (lambda r: r.with_variable("gravity"), ("/variables",)),
    "with_values": (
        lambda r: r.with_values({"link3.mass": 7.0}),
        ("/links/link3/inertia/mass", "/variables"),
    ),
    "with_tool": (lambda r: r.with_tool(np.eye(4), name="gripper"), ("/frames/gripper", "/end")),
    "subtree": (lambda r: r.subtree("link0"), ()),
    "chain": (lambda r: r.chain("link0", "tool"), ()),
    "with_floating_base": (lambda r: r.with_floating_base(), ("/links/world", "/joints/floating_base")),
    "with_locked": (lambda r: r.with_locked({"joint6": 0.3}), ("/joints/joint6",)),
    "rounded_angles": (lambda r: rounded_angles(r.model), ("/joints/joint2/origin", "/frames/tool/pose")),
    "with_parameters": (parameters, ("/links/link6/inertia", "/joints/joint6/drive")),
    "without_drives": (without_drives, ("/joints/*/drive", "/transmissions")),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_keeps_what_it_is_not_about(name):
    make, about = COPIES[name]
    before = robot()
    made = make(before)
    old, new = leaves(before.model), leaves(made.model if isinstance(made, Robot) else made)
    for pattern in about:
        start, _, end = pattern.partition("*")
        assert any(key.startswith(start) and end in key for key in {*old, *new}), f"nothing is at {pattern}"
        for values in (old, new):
            for key in [k for k in values if k.startswith(start) and end in k[len(start) :]]:
                del values[key]
    assert old.keys() == new.keys()
    assert {key: new[key] for key in old if new[key] != old[key]} == {}


def test_every_way_to_a_copy_is_tried():
    ways = {
        name
        for cls in (Model, Robot)
        for name in vars(cls)
        if name.startswith("with_") or name in ("copy", "map", "subs", "subtree", "chain")
    }
    assert ways <= COPIES.keys()


def test_every_field_has_a_value_that_could_be_lost():
    """A part added to a description must be added to `everything`, and then survive."""
    model, seen = everything(), {}
    for name, parameter in inspect.signature(Model).parameters.items():
        if name not in ("strict", "doubtful", "name"):
            default = parameter.default
            usual = () if default is inspect.Parameter.empty else default if default is None else tuple(default)
            assert getattr(model, name) != usual, name

    def visit(thing: object) -> None:
        if is_dataclass(thing):
            for field in fields(thing):
                value = getattr(thing, field.name)
                default = field.default if field.default is not MISSING else None
                seen.setdefault((type(thing).__name__, field.name), set()).add(value != default)
                visit(value)
        elif isinstance(thing, tuple):
            for part in thing:
                visit(part)

    for name in PARTS:
        visit(getattr(model, name))
    visit(ELASTIC)  # an elastic joint has no mimic, gyroscope or transmission beside it in one robot
    assert [name for name, values in seen.items() if True not in values] == []


# coupled motors, seen from outside --------------------------------------------------------------------------------------------


def differential() -> Robot:
    rows = [(0.3, 1.5708, 0.1, 0.0), (0.4, 0.0, 0.0, 0.0), (0.2, 0.0, 0.0, 0.0)]
    arm = qddot.from_dh(rows, inertias=[link(k).inertia for k in (1, 2, 3)], convention="standard")
    drive = Drive(viscous=0.02, coulomb=0.05, rotor_inertia=2e-3)
    return arm.with_transmission(Transmission(("joint2", "joint3"), [[10, 0], [-10, 10]], [drive, drive]))


def test_a_robot_as_read_keeps_its_motors():
    arm = differential()
    q = [0.1, 0.2, 0.3]
    assert_allclose(Robot(rounded_angles(arm.model)).mass_matrix(q), arm.mass_matrix(q), atol=1e-4)
    assert_allclose(arm.equations().M.evaluate(q), Robot(rounded_angles(arm.model)).mass_matrix(q), rtol=1e-12)


def test_identification_knows_the_coupled_motors():
    """They are taken as described: what is found is the rest, and the robot that is made of it needs the measured torques."""
    from qddot.identify import ParameterSet
    from qddot.identify.physical.identified import identified_robot

    arm, rng = differential(), np.random.default_rng(0)
    motion = rng.normal(size=(3, 60, 3))
    tau = arm.inverse_dynamics(*motion)
    parameters = ParameterSet.of(arm, coulomb=None, offset=False)
    found = np.linalg.lstsq(
        parameters.matrix(*motion).reshape(-1, len(parameters.names)), (tau - parameters.known_torque(*motion)).ravel()
    )
    again, left = identified_robot(parameters, parameters.full(found[0]))
    assert left == ()
    assert again.model.transmissions == arm.model.transmissions
    assert_allclose(again.inverse_dynamics(*motion), tau, atol=1e-8)
