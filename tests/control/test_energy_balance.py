"""The energy balance of every controller closes to the order of the integrator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Drive, Inertia, InputError, control
from qddot.control import (
    PD,
    ComputedTorque,
    ElasticFeedbackLinearisation,
    Hold,
    Impedance,
    OperationalSpace,
    SlotineLi,
    Task,
)

LINKS = [Inertia.box(1.0, (0.3, 0.1, 0.1)).shifted((-0.2, 0, 0)) for _ in range(2)]
ROWS = [(0.5, 0, 0, 0), (0.4, 0, 0, 0)]
ARM = qddot.from_dh(ROWS, inertias=LINKS, drives=[Drive(viscous=0.2)] * 2, gravity=(0, -9.81, 0))
GEAR = Drive(gear_ratio=100, rotor_inertia=2e-5, series_stiffness=400.0, viscous=0.1)
SOFT = qddot.from_dh(ROWS, inertias=LINKS, drives=[GEAR] * 2, gravity=(0, -9.81, 0))
TASK, Q0 = Task(ARM, rows=("x", "y")), np.array([0.3, 1.0])
HANG, GOAL = np.array([-np.pi / 2, 0]), TASK.position(Q0) + np.array([-0.1, 0.05])

LAWS = {
    PD: lambda: (ARM, PD(ARM, Hold([0.5, -0.3]), kp=10, kd=1), Q0),
    ComputedTorque: lambda: (ARM, ComputedTorque(ARM, Hold([0.5, -0.3]), kp=30, kd=5), Q0),
    OperationalSpace: lambda: (ARM, OperationalSpace(TASK, Hold(GOAL), kp=50, kd=10), Q0),
    Impedance: lambda: (ARM, Impedance(TASK, Hold(GOAL), stiffness=50, damping=4), Q0),
    SlotineLi: lambda: (ARM, SlotineLi(ARM, Hold([0.5, -0.3]), bandwidth=3, kd=1, gain=0.1, period=0.012), Q0),
    ElasticFeedbackLinearisation: lambda: (
        SOFT,
        ElasticFeedbackLinearisation(SOFT, Hold(HANG + np.array([0.3, 0.2])), rate=8.0),
        np.tile(HANG, 2),
    ),
}


def test_every_law_is_here():
    others = {"Cubic", "Hold", "Quintic", "Reference", "Task", "TimedPath", "Trapezoidal", "MomentumObserver", "gravity_stiffness"}
    others |= {"HybridForcePosition", "SetPointPD", "SlidingMode"}  # whose storage functions test_proofs looks at
    assert {law.__name__ for law in LAWS} == set(control.__all__) - others


@pytest.mark.parametrize("law", LAWS, ids=[law.__name__ for law in LAWS])
def test_the_balance_closes_with_order_four(law):
    """Half the step, a sixteenth of what is left, with viscous friction in the balance."""
    left = []
    for step in (4e-3, 2e-3):
        robot, torque, q0 = LAWS[law]()
        motion = robot.simulate(q0, None, 0.6, torque=torque, step=step, saturate=False, stops=False)
        left.append(abs(motion.energy_residual).max() / motion.kinetic_energy.max())
    assert left[0] < 1e-3
    assert left[0] / left[1] > 10


R, L, K, N = 2.0, 8e-3, 0.05, 30.0
COIL = Drive(viscous=0.2, gear_ratio=N, rotor_inertia=1e-5, resistance=R, inductance=L, torque_constant=K)
MOTORS = qddot.from_dh(ROWS, convention="standard", inertias=LINKS, drives=[COIL] * 2, gravity=(0, -9.81, 0))


class Amplifier:
    """The voltage with which motors at rest in their currents would give a controller's torque."""

    def __init__(self, law):
        self.law = law
        if hasattr(law, "period"):
            self.period = law.period

    def __call__(self, t, q, qd):
        return R * self.law(t, q, qd) / (N * K) + K * N * qd


@pytest.mark.parametrize("law", [x for x in LAWS if x is not ElasticFeedbackLinearisation], ids=lambda law: law.__name__)
def test_the_balance_closes_through_electric_motors(law):
    """Electrical energy in, less heat and friction, is mechanical and magnetic energy, whatever moves the arm."""
    left = []
    for step in (1e-3, 5e-4):
        _, torque, q0 = LAWS[law]()
        motion = MOTORS.simulate(q0, None, 0.15, voltage=Amplifier(torque), step=step, saturate=False, stops=False)
        left.append(abs(motion.energy_residual).max() / motion.kinetic_energy.max())
    assert left[0] < 1e-3
    assert left[0] / left[1] > 10


def test_forces_that_are_held_do_the_work_of_their_way():
    """Without friction the balance of a sampled law, and of a table, is that of the steps alone."""
    arm = qddot.from_dh(ROWS, inertias=LINKS, gravity=(0, -9.81, 0))
    law = lambda: SlotineLi(arm, Hold([0.5, -0.3]), bandwidth=3, kd=1, gain=0.1, period=0.012)  # noqa: E731
    motion = arm.simulate(Q0, None, 0.6, torque=law(), step=2e-3)
    assert abs(motion.energy_residual).max() < 1e-6 * motion.kinetic_energy.max()
    table = 3 * np.sin(np.outer(np.arange(31), [1.0, 2.0]))
    motion = arm.simulate(Q0, None, np.linspace(0, 0.6, 31), torque=table, step=2e-3)
    assert abs(motion.energy_residual).max() < 1e-6 * motion.kinetic_energy.max()
    assert_allclose(motion.work[-1], motion.energy[-1] - motion.energy[0], rtol=1e-6)
    for thinned in (arm.simulate(Q0, None, 0.6, torque=law(), step=2e-3, every=25), motion[::3]):
        with pytest.raises(InputError, match=r"joint forces jump at t = .* between two samples"):
            _ = thinned.energy_residual
