"""What a robot touches, in its page."""

from __future__ import annotations

import json

import numpy as np
import pytest

import qddot
from qddot.contact import Contacts, Plane, Sphere, simulate
from qddot.errors import InputError
from qddot.explore.source import script
from tests.explore.test_browser import cells, held, settled, simulated


def table_arm() -> tuple[qddot.Robot, Contacts]:
    """An arm that falls onto a table, bounces and slides."""
    robot = qddot.load("two_link")
    table = Plane((0, -0.35, 0), (0, 1, 0))
    return robot, Contacts(robot, [Sphere(robot.tip, 0.03)], [table], friction=0.3, restitution=0.4)


def test_the_page_falls_and_bounces_as_python_does(opened):
    robot, contacts = table_arm()
    page = opened(robot, "q=0.3,0.4", contacts=contacts)
    samples = simulated(page, 0.8)
    motion = simulate(contacts, [0.3, 0.4], None, 0.8)
    assert (motion.force[..., 0] > 0).any()
    assert np.abs(np.array(samples[-1]["q"]) - motion.q[-1]).max() <= 1e-6
    assert samples[-1]["E"] == pytest.approx(motion.energy[-1], abs=1e-5)


def test_forces_of_contact_are_a_part_of_joint_forces(opened):
    """J^T f of what is drawn as an arrow; with motors off the parts add up to nothing."""
    robot, contacts = table_arm()
    page = opened(robot, "q=0.3,0.4&lens=inverse_dynamics,0,0", contacts=contacts)
    simulated(page, 1.5)
    settled(page, lambda: page.evaluate("explorerApp.simulation.seek(1.5)"))
    (push,) = json.loads(page.evaluate("JSON.stringify(explorerApp.simulation.pushes)"))
    at = held(page, "q qd M c g qdd external")
    J = robot.jacobian(at["q"], reference="world_aligned")
    arm = np.array(push["point"]) - robot.transform(at["q"])[:3, 3]
    assert at["external"] == pytest.approx(J[3:].T @ push["force"] + J[:3].T @ np.cross(arm, push["force"]), rel=1e-2)
    assert at["M"].reshape(2, 2) @ at["qdd"] + at["c"] + at["g"] == pytest.approx(at["external"], abs=1e-9)
    assert cells(page, "inverse_dynamics") == pytest.approx([0, 0], abs=1e-9)
    assert page.locator(".legend .external").is_visible()
    assert page.locator("#formula .term.external").get_attribute("data-value") == str(-at["external"][0])


@pytest.mark.slow
def test_legs_stand_on_the_ground_they_were_given(opened):
    """Motors hold the pose, the ground carries the weight, and stops of joints are kept."""
    robot = qddot.load("quadruped")
    feet = [Sphere(f"{x}_foot", 0.02) for x in ("front_left", "front_right", "rear_left", "rear_right")]
    contacts = Contacts(robot, feet, [Plane()], friction=0.8, among=False)
    page = opened(robot, "drive=hold", contacts=contacts, q=standing(robot))
    assert page.evaluate("explorerApp.view.ground.root.children.length") == 1
    page.evaluate("explorerApp.simulation.toggle()")
    page.evaluate("explorerApp.simulation.stop()")
    simulated(page, 0.8)
    carried = page.evaluate("explorerApp.simulation.pushes.reduce((sum, x) => sum + x.force[2], 0)")
    weight = robot.parameters()[: 10 * len(robot.body_names) : 10].sum() * 9.81
    assert carried == pytest.approx(weight, rel=0.1)
    assert held(page, "q")["q"][6] == pytest.approx(standing(robot)[6], abs=0.05)


def standing(robot: qddot.Robot) -> np.ndarray:
    q = robot.neutral()
    q[6], q[7:] = 0.35, np.tile([0.0, 0.6, -1.2], 4)
    return q


def test_a_motion_among_contacts_is_played_with_its_forces(opened, tmp_path):
    _, contacts = table_arm()
    motion = simulate(contacts, [0.3, 0.4], None, 0.8)
    path = tmp_path / "motion.html"
    motion.explore(path)
    page = opened(path)
    first = int(np.flatnonzero(motion.force[:, 0, 0] > 0)[0])
    settled(page, lambda: page.evaluate("t => explorerApp.simulation.seek(t)", float(motion.t[first]) + 1e-9))
    (push,) = json.loads(page.evaluate("JSON.stringify(explorerApp.simulation.pushes)"))
    assert push["point"][1] == pytest.approx(-0.35, abs=5e-3)
    assert push["force"][1] == pytest.approx(motion.force[first, 0, 0], rel=1e-6)
    assert held(page, "external")["external"] == pytest.approx(motion.contact_torque[first], rel=1e-6)
    assert np.abs(cells(page, "inverse_dynamics")).max() < 1e-6 * np.abs(motion.contact_torque[first]).max()  # motors are off


def test_python_of_a_page_with_contacts():
    robot, contacts = table_arm()
    inside: dict = {"qddot": qddot}
    exec(script(robot.model, contacts=contacts)["begin"], inside)
    again = inside["contacts"]
    assert (again.spheres, again.planes, again.friction, again.restitution) == (
        contacts.spheres,
        contacts.planes,
        contacts.friction,
        contacts.restitution,
    )


def test_contacts_of_another_robot_are_refused(asset):
    _, contacts = table_arm()
    with pytest.raises(InputError, match="another robot"):
        qddot.load("cart_pole").explore("page.html", contacts=contacts)
