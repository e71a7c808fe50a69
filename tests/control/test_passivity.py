"""Impedance control is passive: nothing comes out at the tip that was not put in."""

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import qddot
from qddot import Drive, Inertia
from qddot.control import Hold, Impedance, Task

BODIES = [Inertia.box(2.0, (0.3, 0.1, 0.1)).shifted((-0.2, 0, 0)) for _ in range(3)]
SPATIAL = [(0, np.pi / 2, 0.3, 0), (0.4, 0, 0, 0), (0.4, 0, 0, 0)]
PLANAR = [(0.4, 0, 0, 0), (0.4, 0, 0, 0), (0.3, 0, 0, 0)]


def spatial():
    return qddot.from_dh(SPATIAL, inertias=BODIES), ("x", "y", "z"), [0.1, 0.6, -1.2]


def redundant():
    """Three joints for two coordinates: the elbow may swing while the tip stands still."""
    return qddot.from_dh(PLANAR, inertias=BODIES, gravity=(0, -9.81, 0)), ("x", "y"), [0.4, 0.8, -1.0]


def sprung():
    """With viscous friction, springs and rotors in the joints."""
    drive = Drive(viscous=0.4, stiffness=3.0, rotor_inertia=1e-4, gear_ratio=20)
    return qddot.from_dh(PLANAR, inertias=BODIES, drives=[drive] * 3, gravity=(0, -9.81, 0)), ("x",), [0.4, 0.8, -1.0]


def seven():
    robot = qddot.load("arm7")
    return robot, ("x", "y", "z"), [0.3, 0.5, -0.2, 1.2, 0.4, -0.6, 0.1]


ROBOTS = {"spatial": spatial, "redundant": redundant, "sprung": sprung, "seven": seven}


def push(t, q, qd):
    """A hand that shakes the tip."""
    return np.array([0, 0, 0, 20 * np.sin(7 * t), 15 * np.cos(5 * t), 10 * np.sin(3 * t)])


def start(name):
    robot, rows, q0 = ROBOTS[name]()
    rng = np.random.default_rng(4)
    return robot, Task(robot, rows=rows), np.array(q0), 2.0 * rng.normal(size=robot.nv)


def stored(law, motion):
    return np.array([float(law.storage(t, q, qd)) for t, q, qd in zip(motion.t, motion.q, motion.qd)])


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("damping", [0.0, 10.0])
def test_no_more_comes_out_at_the_port_than_went_in(name, damping):
    """At every sample, from a motion that also swings where the task does not look."""
    robot, task, q0, qd0 = start(name)
    law = Impedance(task, Hold(task.position(q0)), stiffness=300, damping=damping)
    pushed = lambda t, q, qd: {robot.tip: push(t, q, qd)}  # noqa: E731
    motion = robot.simulate(q0, qd0, 0.5, torque=law, f_ext=pushed, step=2e-3, saturate=False, stops=False)
    S = stored(law, motion)
    supplied = cumulative_simpson(motion.external_power, x=motion.t, initial=0)
    left = S - S[0] - supplied
    assert left.max() < 1e-5 * S.max()
    if damping == 0 and name in ("spatial", "redundant"):  # nothing takes energy away: it is all there
        assert abs(left).max() < 1e-5 * S.max()
    if damping:
        assert left[-1] < -0.01 * S.max()


@pytest.mark.parametrize("name", ROBOTS)
def test_a_moving_reference_supplies_what_it_pulls(name):
    """`S' = F . x' + x_r' . (K e + D e') - e'^T D e' - friction`: the hand that moves the reference is a second port."""
    robot, task, q0, qd0 = start(name)
    centre, n = task.position(q0), len(task.rows)

    def circle(t):
        phase = 4 * t + np.arange(n)
        return centre + 0.1 * (np.sin(phase) - np.sin(np.arange(n))), 0.4 * np.cos(phase), -1.6 * np.sin(phase)

    law = Impedance(task, circle, stiffness=300, damping=10.0)
    pushed = lambda t, q, qd: {robot.tip: push(t, q, qd)}  # noqa: E731
    motion = robot.simulate(q0, qd0, 0.5, torque=law, f_ext=pushed, step=2e-3, saturate=False, stops=False)
    S, states = stored(law, motion), list(zip(motion.t, motion.q, motion.qd))
    reference = [law.force(t, q, qd) @ law.reference(t).qd for t, q, qd in states]
    slip = [law.reference(t).qd - task.jacobian(q) @ qd for t, q, qd in states]
    lost = [(law.damping * s**2).sum() for s in slip] + motion.friction_loss
    net = cumulative_simpson(motion.external_power + reference - lost, x=motion.t, initial=0)
    assert abs(S - S[0] - net).max() < 1e-5 * S.max()
    assert min(lost) >= 0


def test_friction_is_made_up_for_when_asked():
    """Then nothing damps the swing of a redundant arm any more, and the storage still does not grow."""
    robot, task, q0, qd0 = start("sprung")
    ends = []
    for friction in (False, True):
        law = Impedance(task, Hold(task.position(q0)), stiffness=300, damping=0.0, friction=friction)
        S = stored(law, robot.simulate(q0, qd0, 0.5, torque=law, step=2e-3, saturate=False, stops=False))
        assert S.max() < S[0] * (1 + 1e-6)
        ends.append(S[-1] / S[0])
    assert ends[0] < 0.9
    assert abs(ends[1] - 1) < 1e-6
