"""What sits on a joint, by itself and in every quantity of a robot that feels it."""

import numpy as np
import pytest
import sympy
from numpy import array
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Drive, ModelValueError
from qddot.model.description import Mimic
from qddot.model.drive import JointSide
from qddot.model.friction import ShaftFriction

RNG = np.random.default_rng(11)
Q, QD, QDD = RNG.uniform(-1, 1, (3, 2))
N, JM = -40.0, 2e-4

ROTOR = Drive(gear_ratio=N, rotor_inertia=JM)
SPRING = Drive(stiffness=3.0, rest=0.4)
DAMPER = Drive(damping=0.7)
FRICTION = Drive(viscous=0.3, coulomb=(0.5, 0.2))


def close(found, expected):
    assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def arm(*drives, **options):
    """Two links; the drives of as many joints."""
    inertias = [qddot.Inertia.box(1.0, (0.5, 0.1, 0.1)).shifted((-0.25, 0, 0)), qddot.Inertia.sphere(0.8, 0.1)]
    drives = [*drives, *[None] * (2 - len(drives))]
    return qddot.from_dh([(0.5, 0.3, 0.1, 0), (0.4, 0, 0, 0)], inertias=inertias, drives=drives, **options)


PLAIN = arm()


# a drive by itself ------------------------------------------------------------------------------------------------------------


def test_nothing_by_default():
    assert Drive().at_joint == JointSide(0.0, 0.0, 0.0, ShaftFriction())


def test_motor_side_values_at_the_joint():
    motor = Drive(
        viscous=0.02, coulomb=(0.3, 0.1), damping=0.01, stiffness=0.5, rest=0.2, gear_ratio=N, rotor_inertia=JM, side="motor"
    )
    found = motor.at_joint
    close(found.armature, N**2 * JM)
    close(found.friction.viscous, (N**2 * 0.03,) * 2)
    close(found.friction.coulomb, (40 * 0.3, 40 * 0.1))  # by |N|: the direction is that of the joint
    close(found.stiffness, N**2 * 0.5)
    assert found.rest == 0.2


def test_joint_side_values_stay_but_for_the_rotor():
    found = Drive(viscous=0.02, coulomb=0.3, stiffness=0.5, gear_ratio=N, rotor_inertia=JM).at_joint
    assert (found.friction.viscous, found.friction.coulomb, found.stiffness) == ((0.02, 0.02), (0.3, 0.3), 0.5)
    close(found.armature, N**2 * JM)


def test_motor_side_equals_the_same_drive_given_at_the_joint():
    motor = Drive(viscous=0.002, coulomb=(0.03, 0.01), stiffness=0.05, rest=0.1, gear_ratio=N, rotor_inertia=JM, side="motor")
    joint = Drive(
        viscous=0.002 * N**2, coulomb=(0.03 * 40, 0.01 * 40), stiffness=0.05 * N**2, rest=0.1, rotor_inertia=JM * N**2, side="joint"
    )
    one, other = arm(motor), arm(joint)
    close(one.inverse_dynamics(Q, QD, QDD), other.inverse_dynamics(Q, QD, QDD))
    close(one.potential_energy(Q), other.potential_energy(Q))


@pytest.mark.parametrize("name", ["viscous", "coulomb", "stiffness", "rotor_inertia"])
def test_negative_values_are_refused(name):
    with pytest.raises(ValueError, match=rf"drive {name}='-0\.1': .* not negative"):
        Drive(**{name: -0.1})


def test_a_negative_damping_feeds_energy_and_says_so():
    with pytest.warns(qddot.ModelWarning, match="joint 'joint1': a negative damping of -0.1: the joint gains energy by moving"):
        robot = arm(Drive(damping=-0.1))
    with pytest.raises(qddot.ModelValueError, match="a negative damping"):
        arm(Drive(damping=-0.1), strict=True)
    with pytest.warns(qddot.ModelWarning, match="negative damping of 'joint1' feeds energy"):
        motion = robot.with_gravity((0, 0, 0)).simulate([0, 0], [0.1, 0], 0.5)
    assert (np.diff(motion.energy) > 0).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gear_ratio": 0}, "gear_ratio='0.0': the motor would not turn"),
        ({"side": "load"}, "side='load': not one of joint, motor"),
        ({"coulomb": (1, 2, 3)}, "one number or a pair is needed"),
        ({"viscous": float("nan")}, "finite"),
        ({"rest": float("inf")}, "finite"),
        ({"coulomb": (0.1, float("nan"))}, "finite"),
    ],
)
def test_bad_values(given, message):
    with pytest.raises(ValueError, match=message):
        Drive(**given)


@pytest.mark.parametrize("given", [{"viscous": "0.1"}, {"stiffness": True}, {"coulomb": None}])
def test_values_are_numbers(given):
    with pytest.raises(ModelValueError, match="neither a number nor a SymPy expression"):
        Drive(**given)


def test_signs_that_carry_meaning_are_kept():
    assert Drive(gear_ratio=-3.0).gear_ratio == -3
    assert Drive(rest=-0.3).rest == -0.3
    assert Drive(coulomb=(0.4, -0.2)).coulomb == (0.4, 0.2)  # tables that write the negative direction with its sign


def test_map_and_symbols():
    k = sympy.Symbol("k", positive=True)
    drive = Drive(stiffness=k, coulomb=(k, 1.0), gear_ratio=2.0)
    numeric = drive.map(lambda x: float(x.subs({k: 5})) if x is k else x)
    assert numeric == Drive(stiffness=5.0, coulomb=(5.0, 1.0), gear_ratio=2.0)
    with pytest.raises(ValueError, match=r"stiffness='-1.0'"):
        drive.map(lambda x: -1.0 if x is k else x)


def test_seen_from_a_leader():
    side = JointSide(armature=1.0, stiffness=5.0, rest=0.6, friction=ShaftFriction(viscous=(2.0, 2.0), coulomb=(3.0, 4.0)))
    found = side.driven_by(-2.0, 0.1)
    assert (found.armature, found.friction.viscous, found.stiffness) == (4.0, (8.0, 8.0), 20.0)
    assert found.friction.coulomb == (8.0, 6.0)  # the leader moves the other way
    close(-2.0 * found.rest + 0.1, 0.6)


# rotors -----------------------------------------------------------------------------------------------------------------------


def test_rotor_in_mass_matrix_dynamics_and_energy():
    robot, reflected = arm(ROTOR), np.diag([N**2 * JM, 0])
    close(robot.mass_matrix(Q), PLAIN.mass_matrix(Q) + reflected)
    close(robot.inverse_dynamics(Q, QD, QDD), PLAIN.inverse_dynamics(Q, QD, QDD) + reflected @ QDD)
    close(robot.kinetic_energy(Q, QD), PLAIN.kinetic_energy(Q, QD) + QD @ reflected @ QD / 2)
    close(robot.coriolis_torque(Q, QD), PLAIN.coriolis_torque(Q, QD))
    close(robot.gravity_torque(Q), PLAIN.gravity_torque(Q))
    close(robot.momentum(Q, QD), PLAIN.momentum(Q, QD))


def test_rotor_alone_moves_a_massless_link():
    robot = qddot.Builder().body("shaft", drive=Drive(rotor_inertia=0.02, gear_ratio=5.0)).robot()
    close(robot.forward_dynamics([0.3], [0.0], [1.0]), [1.0 / 0.5])


# friction, springs and dampers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("speed", "torque"), [(2.0, 0.6 + 0.5), (-2.0, -0.6 - 0.2), (0.0, 0.0), (1e-9, 0.5 + 3e-10)])
def test_asymmetric_coulomb_friction(speed, torque):
    close(arm(FRICTION).friction_torque([speed, 1.0]), [torque, 0.0])
    close(arm(FRICTION).inverse_dynamics(Q, [speed, 1.0], QDD) - PLAIN.inverse_dynamics(Q, [speed, 1.0], QDD), [torque, 0])


def test_friction_opposes_motion():
    robot, speeds = arm(FRICTION, FRICTION), np.linspace(-3, 3, 101)[:, None] * [1.0, -1.0]
    assert ((robot.friction_torque(speeds) * speeds).sum(axis=-1) >= 0).all()


def test_damping_adds_to_viscous_friction():
    assert_array_equal(arm(Drive(viscous=0.2, damping=0.3)).friction_torque(QD), arm(Drive(viscous=0.5)).friction_torque(QD))


def test_spring():
    robot = arm(SPRING)
    pull = array([3.0 * (Q[0] - 0.4), 0])
    close(robot.spring_torque(Q), pull)
    close(robot.inverse_dynamics(Q, QD, QDD), PLAIN.inverse_dynamics(Q, QD, QDD) + pull)
    close(robot.potential_energy(Q), PLAIN.potential_energy(Q) + 1.5 * (Q[0] - 0.4) ** 2)
    close(robot.gravity_torque(Q), PLAIN.gravity_torque(Q))
    close(robot.spring_torque([0.4, 1.0]), [0, 0])


def test_bias_holds_everything_but_the_mass_matrix():
    robot = arm(SPRING, FRICTION)
    terms = robot.coriolis_torque(Q, QD) + robot.gravity_torque(Q) + robot.friction_torque(QD) + robot.spring_torque(Q)
    close(robot.bias_torque(Q, QD), terms)
    close(robot.inverse_dynamics(Q, QD, QDD), robot.mass_matrix(Q) @ QDD + terms)


EVERYTHING = Drive(0.3, (0.5, 0.2), 0.1, 3.0, 0.4, N, JM, "joint")


@pytest.mark.parametrize("drive", [ROTOR, SPRING, DAMPER, FRICTION, EVERYTHING])
@pytest.mark.parametrize("method", ["aba", "crba"])
def test_forward_dynamics_undoes_inverse_dynamics(drive, method):
    robot = arm(drive, drive)
    tau = robot.inverse_dynamics(Q, QD, QDD)
    assert_allclose(robot.forward_dynamics(Q, QD, tau, method=method), QDD, rtol=1e-11)


@pytest.mark.parametrize("drive", [ROTOR, SPRING, DAMPER, FRICTION, EVERYTHING])
def test_power_balance(drive):
    """What the motors and friction put in is what the energy of links, rotors and springs gains."""
    robot, h = arm(drive, drive), 1e-6
    tau = array([0.7, -1.2])
    qdd = robot.forward_dynamics(Q, QD, tau)
    later, earlier = (robot.hamiltonian(Q + t * QD + t**2 / 2 * qdd, QD + t * qdd) for t in (h, -h))
    power = QD @ (tau - robot.friction_torque(QD))
    assert_allclose((later - earlier) / (2 * h), power, rtol=1e-6)


def test_spring_and_damper_come_to_rest():
    """A pendulum without weight settles where its spring is relaxed."""
    robot = (
        qddot.Builder(gravity=(0, 0, 0))
        .body("arm", mass=1.0, com=(1, 0, 0), drive=Drive(damping=2.0, stiffness=3.0, rest=0.4))
        .robot()
    )
    q, qd, dt = array([1.5]), array([0.0]), 0.01
    for _ in range(2000):
        qd = qd + dt * robot.forward_dynamics(q, qd, [0.0])
        q = q + dt * qd
    assert_allclose(q, [0.4], atol=1e-6)


def test_every_constant_has_its_column_in_the_regressor():
    robot = arm(EVERYTHING, Drive(coulomb=0.2))
    names, Y = robot.parameter_names, robot.regressor(Q, QD, QDD)
    drive = [name for name in names if name.startswith("joint")]
    assert drive == [
        "joint1.armature",
        "joint1.viscous",
        "joint1.coulomb",
        "joint1.coulomb_negative",
        "joint1.stiffness",
        "joint2.coulomb",
    ]
    close(Y @ robot.parameters(), robot.inverse_dynamics(Q, QD, QDD))
    columns, values = dict(zip(names, Y.T)), dict(zip(names, robot.parameters()))
    close(columns["joint1.armature"], [QDD[0], 0])
    close(columns["joint1.viscous"], [QD[0], 0])
    close(columns["joint1.stiffness"], [Q[0] - 0.4, 0])
    close(columns["joint2.coulomb"], [0, np.sign(QD[1])])
    close([values[name] for name in drive], [N**2 * JM, 0.4, 0.5, 0.2, 3.0, 0.2])


@pytest.mark.parametrize("drive", [SPRING, DAMPER, ROTOR, FRICTION])
def test_derivatives_feel_the_drive(drive):
    robot = arm(drive)
    more, less = robot.inverse_dynamics_derivatives(Q, QD, QDD), PLAIN.inverse_dynamics_derivatives(Q, QD, QDD)
    side = drive.at_joint
    close(more.dtau_dq, less.dtau_dq + np.diag([side.stiffness, 0]))
    close(more.dtau_dqd, less.dtau_dqd + np.diag([side.friction.viscous[0], 0]))
    close(more.dtau_dqdd, less.dtau_dqdd + np.diag([side.armature, 0]))


def test_drive_on_a_follower_is_felt_by_its_leader():
    drive = Drive(viscous=0.3, coulomb=(0.5, 0.2), stiffness=3.0, rest=0.4, gear_ratio=N, rotor_inertia=JM)
    builder = qddot.Builder(gravity=(0, 0, 0)).body("leader", mass=1.0, com=(1, 0, 0))
    builder.body("follower", mass=0.0, drive=drive, mimic=Mimic("leader_joint", -2.0, 0.1))
    robot, (q, qd, qdd) = builder.robot(), (0.7, 0.6, -0.9)
    own = N**2 * JM * (-2 * qdd) + 0.3 * (-2 * qd) - 0.2 + 3.0 * (-2 * q + 0.1 - 0.4)  # the follower turns backwards
    close(robot.inverse_dynamics([q], [qd], [qdd]), [1.0 * qdd + -2 * own])


def test_drives_by_joint_name():
    assert arm(ROTOR).drives == {"joint1": ROTOR}
    assert PLAIN.drives == {}
