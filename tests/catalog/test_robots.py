"""Robots by name: what each says of itself, its figures beside those of others, and what is not known is not computed."""

import re
import sys
import tomllib

import numpy as np
import pytest

import qddot
from qddot import catalog
from qddot.catalog import wheel
from qddot.errors import InputError, UnknownNameError

PROMISED = {
    *("panda", "ur3e", "ur5e", "ur10e", "lwr4", "iiwa7", "iiwa14", "gen3", "stanford", "scara", "irb120", "leg", "quadruped"),
    *("quadrotor_arm", "furuta", "double_pendulum_cart", "reaction_wheel_pendulum"),
}
KINEMATIC = {"lwr4", "stanford"}
needs_wheel = pytest.mark.skipif(not catalog.installed(), reason="the wheel example-robot-data is not installed")


@pytest.mark.parametrize("name", qddot.catalog_names())
def test_every_file_says_what_the_robot_is_and_where_its_numbers_are_from(name):
    text = (catalog.BUNDLED / f"{name}.toml").read_text()
    entry = catalog.own_entry(name)
    assert len(entry.title) > 10
    assert re.search(r"own|textbook|\d{4}|description|Robot|Stanford|iiwa_stack|abb", entry.source), entry.source
    assert text.startswith("#")
    published = not re.search(r"own numbers|textbook", entry.source)
    if published and name != "puma560":  # each key of a table beside its source
        assert re.search(r"^#   [a-z, ]+: ", text, re.MULTILINE), name
    assert tomllib.loads(text)["about"]["title"] == entry.title


def test_the_promised_robots_are_there():
    assert set(qddot.catalog_names()) >= PROMISED
    assert {name for name in qddot.catalog_names() if qddot.load(name).model.kinematics_only} == KINEMATIC


@pytest.mark.parametrize("name", sorted(KINEMATIC))
def test_what_is_not_published_is_not_computed(name):
    robot = qddot.load(name)
    q = robot.home()
    assert robot.transform(q).shape == (4, 4)
    assert robot.jacobian(q).shape == (6, robot.nv)
    assert robot.frame_velocity(q, np.ones(robot.nv)).shape == (6,)
    assert robot.equations().transform().shape == (4, 4)
    zero = np.zeros(robot.nv)
    assert robot.regressor(q, zero, zero).shape == (robot.nv, 10 * robot.nv)  # which needs no masses: it is there to find them
    assert "kinematics only" in repr(robot)
    for call in (
        lambda: robot.mass_matrix(q),
        lambda: robot.gravity_torque(q),
        lambda: robot.inverse_dynamics(q, zero, zero),
        lambda: robot.forward_dynamics(q, zero, zero),
        lambda: robot.kinetic_energy(q, zero),
        lambda: robot.center_of_mass(q),
        lambda: robot.simulate(q, t=0.1),
        lambda: robot.equations().M,
        lambda: robot.derive(),
        robot.parameters,
    ):
        with pytest.raises(InputError, match=f"{name} has kinematics only, no dynamics: "):
            call()


def test_a_near_miss_suggests():
    with pytest.raises(UnknownNameError, match="did you mean 'panda'"):
        qddot.load("pandas")
    with pytest.raises(UnknownNameError, match="did you mean 'ur5e'"):
        qddot.load("ur5_e")


# beside others ----------------------------------------------------------------------------------------------------------


@needs_wheel
def test_panda_has_the_figures_of_the_wheel():
    ours, theirs = qddot.load("panda"), qddot.load("panda/panda")
    rng = np.random.default_rng(0)
    inertias = [{link.name: link.inertia for link in robot.model.links} for robot in (ours, theirs)]
    for k in range(1, 8):
        mine, other = inertias[0][f"link{k}"], inertias[1][f"panda_link{k}"]
        np.testing.assert_allclose(mine.ten_vector(), other.ten_vector(), rtol=1e-14)
    for _ in range(5):
        q = ours.random_configuration(rng)
        np.testing.assert_allclose(ours.transform(q), theirs.transform([*q, 0.0], "panda_link8"), atol=1e-14)
    for name in ("lower", "upper", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(ours.limits, name), getattr(theirs.limits, name)[:7])


@pytest.mark.parametrize(("name", "reach", "side", "height"), [("ur3e", 0.45675, 0.22315, 0.0665), ("ur5e", 0.8172, 0.2329, 0.0628),
                                                              ("ur10e", 1.18425, 0.2907, 0.06085)])  # fmt: skip
def test_universal_robots_stretch_out_as_their_table_says(name, reach, side, height):
    robot = qddot.load(name)  # at zero: a2 + a3 back, d4 + d6 aside, d1 - d5 up
    np.testing.assert_allclose(robot.transform(np.zeros(6))[:3, 3], [-reach, -side, height], atol=1e-12)


@pytest.mark.parametrize(("name", "height"), [("iiwa7", 1.266), ("iiwa14", 1.306), ("lwr4", 1.1785), ("gen3", 1.187385)])
def test_seven_joint_arms_stand_up_to_their_height(name, height):
    robot = qddot.load(name)
    tip = robot.transform(np.zeros(7))[:3, 3]
    np.testing.assert_allclose(tip[2], height, atol=1e-9)
    assert np.hypot(*tip[:2]) < 0.03


def test_the_furuta_pendulum_is_that_of_the_books():
    """M of Cazzolato and Prime 2011 for a rod: with the pendulum's angle theta from hanging."""
    robot, m, l, r = qddot.load("furuta"), 0.125, 0.335, 0.215
    J = 3.5842e-3 + 70**2 * 3.87e-7
    theta = 0.7
    M = robot.mass_matrix([0.4, theta])
    np.testing.assert_allclose(M[0, 0], J + m * r**2 + m * l**2 / 3 * np.sin(theta) ** 2, rtol=1e-12)
    np.testing.assert_allclose(abs(M[0, 1]), m * r * l / 2 * np.cos(theta), rtol=1e-12)
    np.testing.assert_allclose(M[1, 1], m * l**2 / 3, rtol=1e-12)


# wheels -----------------------------------------------------------------------------------------------------------------


@needs_wheel
def test_robots_of_the_wheel_have_names_and_licences():
    found = catalog.installed()
    assert len(found) > 70
    assert len(set(found.values())) == len(found)
    assert not set(found) & set(qddot.catalog_names())
    assert qddot.load("solo12").nv == 12
    entries = {entry.name: entry for entry in catalog.entries()}
    assert entries["solo12"].source == "example-robot-data"
    assert entries["talos_reduced"].licence != "not stated"


@needs_wheel
def test_robots_of_the_wheel_are_described_in_words():
    """Each by a phrase of its own, and no phrase is of a robot that is not there."""
    entries = [entry for entry in catalog.entries() if entry.source == catalog.WHEEL]
    titles = [entry.title for entry in entries if entry.path is not None]
    assert all(title.partition(": ")[0] in wheel.FOLDERS.values() for title in titles)
    twice = {title for title in titles if titles.count(title) > 1}
    assert twice <= {"Universal Robots, six joints: UR3"}  # of which one file is empty
    assert set(wheel.VARIANTS) <= {path.stem for path in catalog.installed().values()}


def test_without_the_wheel_the_error_says_how_to_get_more(monkeypatch):
    monkeypatch.setattr(catalog, "installed", dict)
    with pytest.raises(UnknownNameError, match=r"qddot\[robots\]"):
        qddot.load("solo12")


def test_robots_that_are_downloaded_by_their_package(tmp_path, monkeypatch):
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    head = "from types import SimpleNamespace as About\n"
    (package / "__init__.py").write_text(
        f"{head}DESCRIPTIONS = {{'toy_description': About(maker='ACME', robot='Toy', license_spdx='MIT', dof=1), "
        "'lost_description': About(), 'odd_description': About()}\n"
    )
    (tmp_path / "toy.urdf").write_text('<robot name="toy"><link name="base"/></robot>')
    (package / "toy_description.py").write_text(f"URDF_PATH = {str(tmp_path / 'toy.urdf')!r}\n")
    (package / "lost_description.py").write_text("raise OSError('no network')\n")
    (package / "odd_description.py").write_text("SRDF_PATH = 'x'\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [x for x in sys.modules if x.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    assert qddot.load("toy_description").name == "toy"
    toy = next(entry for entry in catalog.entries() if entry.name == "toy_description")
    assert (toy.title, toy.licence, toy.dof, toy.path) == ("ACME Toy", "MIT", 1, None)
    with pytest.raises(InputError, match="could not fetch lost_description: OSError: no network"):
        qddot.load("lost_description")
    with pytest.raises(InputError, match="neither URDF nor MJCF"):
        qddot.load("odd_description")
    with pytest.raises(UnknownNameError, match="did you mean 'toy_description'"):
        qddot.load("toys_description")
    for name in [x for x in sys.modules if x.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]
