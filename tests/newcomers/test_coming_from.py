"""The tables of docs/coming_from.md: what stands for a function of another library runs, and gives the numbers of that library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

import qddot

matplotlib.use("Agg")
PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def rows(section: str) -> list[tuple[str, str]]:
    """The first code of the left and of the right column."""
    lines = re.findall(r"^\| (`.+?) \| (`.+?) \|$", SECTIONS[section], re.MULTILINE)
    return [(left.split("`")[1], right.split("`")[1]) for left, right in lines]


def setup(section: str) -> str:
    return SECTIONS[section].partition("```python\n")[2].partition("```")[0]


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("coming_from") / "arm.urdf"
    qddot.load("panda").to_urdf(file)
    return state_of(file)


def with_drives(file: Path, coulomb: float) -> Path:
    """The Panda's file with viscous friction, a rotor behind a gear, and perhaps Coulomb friction at every joint."""
    drive = f'<dynamics damping="3" friction="{coulomb}"/>'
    drive += f'<qddot_drive gear_ratio="50" rotor_inertia="1e-4" viscous="3" coulomb="{coulomb}"/>'
    text = re.sub(r"<dynamics[^>]*/>|<qddot_drive[^>]*/>", "", file.read_text(encoding="utf-8"))
    changed = re.sub(r'(type="revolute".*?)</joint>', rf"\1{drive}</joint>", text, flags=re.DOTALL)
    made = file.with_name(f"drives_{coulomb}.urdf")
    made.write_text(changed, encoding="utf-8")
    return made


def state_of(file: Path) -> dict[str, Any]:
    robot = qddot.load(file)
    q, (qd, qdd) = robot.random_configuration(seed=0), np.random.default_rng(0).uniform(-1, 1, (2, 7))
    tau = robot.inverse_dynamics(q, qd, qdd)
    pose = robot.transform(q)
    state = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    return {"qddot": qddot, "np": np, "robot": robot, **state, "frame": "link5", "pose": pose, "file": file}


def run(code: str, names: dict[str, Any]) -> Any:
    return eval(code.replace('"arm.urdf"', "file"), names)


def test_every_library_has_its_table():
    assert [section.partition(",")[0].partition(" (")[0] for section in SECTIONS] == [
        "MATLAB",
        "Pinocchio",
        "Drake",
        "Robotics Toolbox",
        "MuJoCo",
        "SymPy mechanics",
    ]
    assert all(len(rows(section)) >= 5 for section in SECTIONS)


@pytest.mark.parametrize("section", ["MATLAB, Robotics System Toolbox", "Drake", "Robotics Toolbox (Corke)"])
def test_what_stands_for_it_runs(names, section):
    for theirs, here in rows(section):
        assert run(here, dict(names)) is not None, theirs


@pytest.mark.parametrize(("section", "package"), [("Pinocchio", "pinocchio"), ("MuJoCo", "mujoco")])
def test_both_columns_give_the_same_numbers(names, section, package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    beside = dict(names)
    exec(setup(section).replace('"arm.urdf"', "str(file)"), beside)
    for theirs, here in rows(section):
        np.testing.assert_allclose(run(here, beside), run(theirs, beside), rtol=1e-7, atol=1e-9, err_msg=theirs)


@pytest.mark.parametrize(("section", "package", "coulomb"), [("Pinocchio", "pinocchio", 0.4), ("MuJoCo", "mujoco", 0.0)])
def test_both_columns_agree_with_friction_and_rotors(names, section, package, coulomb):
    """MuJoCo without Coulomb friction, which is a soft constraint there."""
    pytest.importorskip(package, reason=f"{package} is not installed")
    beside = state_of(with_drives(names["file"], coulomb))
    for theirs, here in rows(section):
        exec(setup(section).replace('"arm.urdf"', "str(file)"), beside)  # anew: functions leave accelerations of theirs in data
        if "Regressor" not in theirs:  # it has columns for the drives here
            np.testing.assert_allclose(run(here, beside), run(theirs, beside), rtol=1e-7, atol=1e-9, err_msg=theirs)
    wrong = {
        "Pinocchio": "robot.rnea(q, qd, qdd) - pin.rnea(model, data, q, qd, qdd)",
        "MuJoCo": "robot.bias_torque(q, qd) - data.qfrc_bias",
    }
    assert np.abs(run(wrong[section], beside)).max() > 1  # friction is felt


TWO_ARMS = """<robot name="two"><link name="base"/>{}</robot>""".format(
    "".join(
        f"""<link name="{name}_link"><inertial><origin xyz="{x} 0 0"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/><origin xyz="0.3 0 0"/>
        <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/><dynamics damping="2" friction="0.5"/></joint>"""
        for name, parent, x in (("z", "base", 0.1), ("b", "base", 0.2), ("a", "z_link", 0.3))
    )
)


def test_friction_and_order_of_pinocchio(tmp_path):
    """The code of the page, on a tree whose joints Pinocchio sorts and whose friction it leaves out."""
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "two.urdf").write_text(TWO_ARMS)
    robot, model = qddot.load(tmp_path / "two.urdf"), pin.buildModelFromUrdf(str(tmp_path / "two.urdf"))
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    beside: dict[str, Any] = {"np": np, "pin": pin, "robot": robot, "model": model, "data": model.createData(), "q": q}
    exec(SECTIONS["Pinocchio"].split("```python\n")[2].partition("```")[0], beside)
    order, back = beside["order"], beside["back"]
    assert order != [0, 1, 2]
    np.testing.assert_allclose(beside["M"], robot.mass_matrix(q), atol=1e-12)
    theirs = pin.rnea(model, model.createData(), q[back], qd[back], qdd[back])[order]
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd), theirs, atol=1e-12)
    assert np.abs(robot.inverse_dynamics(q, qd, qdd) - theirs).max() > 0.1


def test_equations_are_those_of_sympy(names):
    sympy = pytest.importorskip("sympy")
    beside = dict(names)
    exec(setup("SymPy mechanics"), beside)
    t, numbers = (
        beside["dynamicsymbols"]._t,
        dict(zip(("q1", "q2", "qd1", "qd2", "qdd1", "qdd2"), (0.3, -0.8, 1.1, 0.4, -0.6, 0.9))),
    )
    numbers |= {"m1": 1.3, "m2": 0.7, "L1": 0.5, "L2": 0.4}
    functions = [beside["q1"], beside["q2"]]
    rates = {x.diff(t, order): numbers[f"q{'d' * order}{i}"] for order in (2, 1, 0) for i, x in enumerate(functions, 1)}

    def value(expression: Any) -> np.ndarray:
        plain = sympy.Matrix([expression] if isinstance(expression, sympy.Expr) else expression).subs(rates)
        return np.array(plain.subs({x: numbers[x.name] for x in plain.free_symbols}), float).ravel()

    for theirs, here in rows("SymPy mechanics"):
        np.testing.assert_allclose(value(run(here, beside)), value(run(theirs, beside)), rtol=1e-12, err_msg=theirs)


def test_a_robot_cannot_be_set():
    """As in MATLAB's `robot.Gravity = [0 0 -1.6]`, which would change nothing."""
    arm = qddot.load("two_link")
    for name in ("Gravity", "gravity", "payload", "model", "mass_matrix"):
        with pytest.raises(AttributeError, match="with_gravity"):
            setattr(arm, name, (0, 0, -1.6))
    assert arm.with_gravity((0, 0, -1.6)).gravity[2] == -1.6
    with pytest.raises(qddot.ModelValueError, match="three numbers are needed, there is one"):
        arm.with_gravity(-1.6)  # type: ignore[arg-type]
