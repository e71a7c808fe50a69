import numpy as np
import pytest
import sympy

from qddot.errors import ModelReferenceError, ModelStructureError, ModelValueError, ModelWarning
from qddot.formats.builder import Builder
from qddot.model.description import Limits, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from tests.formats.kinematics import rot, trans, world_pose

BALL = Inertia.sphere(1.0, 0.1)


def test_bodies_and_frames_stand_where_they_were_put():
    model = (
        Builder("arm", gravity=(0, 0, -1.62))
        .body("upper", xyz=(0, 0, 0.5), rpy=(0.1, 0.2, 0.3), axis=(0, 1, 0), inertia=BALL)
        .body("slide", "upper", "prismatic", axis="x", xyz=(1, 0, 0), inertia=BALL)
        .frame("tip", "slide", xyz=(0, 0, 0.2), rpy=(np.pi, 0, 0))
        .build()
    )
    upper = trans(z=0.5) @ rot("z", 0.3) @ rot("y", 0.2) @ rot("x", 0.1) @ rot("y", 0.7)
    np.testing.assert_allclose(world_pose(model, "upper", [0.7, 0.4]), upper, atol=1e-15)
    np.testing.assert_allclose(world_pose(model, "tip", [0.7, 0.4]), upper @ trans(1.4, 0, 0.2) @ rot("x", np.pi), atol=1e-15)
    assert model.gravity == (0, 0, -1.62)
    assert [joint.name for joint in model.joints] == ["upper_joint", "slide_joint"]


def test_parents_may_come_later():
    model = Builder().body("b", "a", inertia=BALL).body("a", inertia=BALL).build()
    assert [body.name for body in model.bodies] == ["a", "b"]


def test_mass_com_and_tensor_make_an_inertia():
    model = Builder().body("a", mass=2, com=(1, 0, 0), tensor=(1, 2, 2)).build()
    assert model.links[1].inertia == Inertia(2.0, (1, 0, 0), (1, 2, 2))


def test_limits_drive_mimic_pitch_and_symbols():
    m = sympy.Symbol("m", real=True)
    model = (
        Builder(base="ground", base_inertia=BALL)
        .body("a", joint_name="lead", mass=m, limits=(-1, 1), drive=Drive(viscous=0.2))
        .body("b", "a", joint_name="follow", inertia=BALL, mimic=Mimic("lead", -1.0))
        .body("c", "a", "helical", pitch=0.01, inertia=BALL, limits=Limits(velocity=3))
        .build()
    )
    assert model.root == "ground"
    assert model.mechanism.nq == 2
    assert model.joints[0].limits == Limits(-1, 1)
    assert model.joints[2].pitch == 0.01
    assert model.symbols == {m}


def test_limits_as_array_and_mimic_as_tuple():
    model = (
        Builder()
        .body("a", joint_name="j", inertia=BALL, limits=np.array([0, 1.0]))
        .body("b", "a", inertia=BALL, mimic=("j", 2, 0.5))
        .body("c", "a", inertia=BALL, mimic="j")
        .build()
    )
    assert model.joints[0].limits == Limits(0, 1)
    assert [joint.mimic for joint in model.joints[1:]] == [Mimic("j", 2.0, 0.5), Mimic("j")]


def test_angles_that_look_like_degrees_are_reported():
    with pytest.warns(ModelWarning, match=r"body 'a' '0 0 90': rpy is in radians .*are these degrees\?"):
        Builder().body("a", rpy=(0, 0, 90), inertia=BALL)


def test_an_axis_is_made_unit_and_reported():
    with pytest.warns(ModelWarning, match="body 'a' .*axis has length 2"):
        model = Builder().body("a", axis=(0, 0, 2), inertia=BALL).build()
    assert model.joints[0].axis == (0, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"axis": (0, 0, 0)}, "body 'a' axis=.*no direction"),
        ({"axis": "w"}, "unknown axis"),
        ({"xyz": (0, 0)}, "body 'a' xyz=.*3 numbers are needed, there are 2"),
        ({"rpy": (0, 0, float("nan"))}, r"rpy\[2\]='nan': not a finite number"),
        ({"mass": 1, "inertia": BALL}, "give one of them"),
        ({"com": (0, 0, 0)}, "without a mass"),
        ({"mass": 1, "tensor": (1, 2)}, "tensor"),
        ({"joint": "hinge"}, "unknown joint type"),
        ({"mass": "1 kg"}, r"^body 'a' mass='1 kg': .*\(write a number, or an expression such as 'l1/2' or 'pi/2'\)$"),
        ({"mass": 1, "com": (0, 0)}, "body 'a' com=.*3 numbers are needed"),
        ({"inertia": 1.0}, "body 'a' inertia='1.0': an Inertia is needed"),
        ({"inertia": BALL, "drive": 0.1}, "body 'a' drive='0.1': a Drive is needed"),
        ({"mimic": 3}, "body 'a' mimic='3': no joint to follow"),
        ({"mimic": ("j", "x")}, "body 'a' multiplier='x'"),
        ({"limits": 1}, "body 'a' limits='1': Limits or a pair"),
        ({"limits": (0, "x")}, "body 'a' upper='x'"),
        ({"parent": 1}, "body 'a' parent='1': a text is needed"),
    ],
)
def test_bad_values_are_refused_by_name(arguments, message):
    with pytest.raises(ModelValueError, match=message):
        Builder().body("a", **arguments).build()


def test_bad_structure_is_refused():
    with pytest.raises(ModelReferenceError, match="did you mean 'base'"):
        Builder().body("a", "bace", inertia=BALL).build()
    with pytest.raises(ModelStructureError, match="two links have the name 'a'"):
        Builder().body("a", inertia=BALL).body("a", inertia=BALL, joint_name="other").build()
    with pytest.raises(ModelReferenceError, match=r"frame 'tip'.*did you mean 'arm'"):
        Builder().body("arm", inertia=BALL).frame("tip", "arms").build()
    with pytest.raises(ModelValueError, match="gravity"):
        Builder(gravity=(0, 0))


def test_strict_refuses_a_massless_tip():
    with pytest.raises(ModelValueError, match="massless"):
        Builder().body("a").build(strict=True)
