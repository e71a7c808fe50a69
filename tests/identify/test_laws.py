"""A law of friction that a log asks for is found, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify import Fit, Log, ParameterSet, estimation
from qddot.identify.checks.positive import never_negative
from qddot.robot import Robot
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

ARM = random_arm(1, 4)
SIZE = {
    "stribeck": 2.0,
    "load": 0.15,
    "viscous_quadratic": 0.5,
    "viscous_cubic": 0.3,
    "viscous_negative": 3.0,
    "coulomb_negative": 4.0,
}

LAWS: dict[str, dict[str, Any]] = {
    "Stribeck": {"stribeck": 0.2},
    "load": {"load": True},
    "directions": {"asymmetric": True},
    "powers": {"viscous": 3},
}


def found(options: dict[str, Any]) -> tuple[Any, ParameterSet, np.ndarray]:
    parameters = ParameterSet.of(ARM, **options)
    theta = truth(parameters) + [SIZE.get(name.rpartition(".")[2], 0.0) for name in parameters.names]
    return ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), 1)), parameters, theta


@pytest.mark.parametrize("word", LAWS)
def test_a_law_that_is_there_is_added_first(word: str) -> None:
    fit, parameters, theta = found(LAWS[word])
    assert fit.verdict, fit.verdict
    said = [finding.message for finding in fit.findings if finding.code == "friction"]
    assert word in said[0]
    assert fit.training.relative < 0.005
    t = np.linspace(0, 6, 300)
    q, qd, qdd = (f(t[:, None] * [1.0, 1.3, 0.7, 1.6]) for f in (np.sin, np.cos, lambda x: -np.sin(x)))
    true = parameters.carrying(theta).matrix(q, qd, qdd) @ theta if parameters.is_loaded else parameters.matrix(q, qd, qdd) @ theta
    assert np.linalg.norm(fit.predict(q, qd, qdd) - true) < 0.02 * np.linalg.norm(true)


def test_a_law_whose_columns_cannot_be_told_apart_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_rank(*_: object) -> None:
        raise InputError("no clear rank")

    monkeypatch.setattr(estimation, "dry_speeds", no_rank)
    fit = found(LAWS["Stribeck"])[0]
    assert not [finding for finding in fit.findings if finding.code == "friction"]


def test_speeds_of_dry_friction_are_found_together() -> None:
    """Stribeck's and that of the step at rest, of which the one takes in what the other lacks: links are biased by either."""
    for seed in range(3):
        parameters = ParameterSet.of(ARM, stribeck=0.2, standstill=0.03)
        theta = truth(parameters, seed) + [SIZE.get(name.rpartition(".")[2], 0.0) for name in parameters.names]
        fit = ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), seed, motion=seed))
        assert fit.parameter_set.asked["stribeck"] == pytest.approx(0.2, rel=0.02)
        assert fit.parameter_set.widths == pytest.approx(np.full(4, 0.03), rel=0.1)


def test_each_joint_has_a_stribeck_speed_of_its_own() -> None:
    """Ratios of up to six: with one speed for all, links take in what is left."""
    speeds = dict(zip(ARM.joint_names, (0.1, 0.6, 0.25, 0.4)))
    parameters = ParameterSet.of(ARM, stribeck=speeds)
    theta = truth(parameters) + [SIZE.get(name.rpartition(".")[2], 0.0) for name in parameters.names]
    fit = ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), 1))
    assert fit.verdict, fit.verdict
    assert fit.parameter_set.asked["stribeck"] == pytest.approx(speeds, rel=0.05)
    assert fit.training.relative < 0.002  # 0.01 with one speed
    assert fit.left_out == ()
    assert fit.robot_error[0] < 1.001 * fit.training.relative


def test_a_joint_without_a_stribeck_speed_has_no_such_curve() -> None:
    one, *others = ARM.joint_names
    names = ParameterSet.of(ARM, stribeck={one: 0.2}).names
    assert f"{one}.stribeck" in names
    assert not {f"{joint}.stribeck" for joint in others}.intersection(names)
    with pytest.raises(qddot.UnknownNameError):
        ParameterSet.of(ARM, stribeck={"elbow": 0.2})


@pytest.mark.parametrize("seed", [0, 1])
def test_all_laws_of_friction_at_once(seed: int) -> None:
    """As real joints have them: a law that alone comes out impossible is part of another that is found later."""
    parameters = ParameterSet.of(ARM, stribeck=0.2, load=True, viscous=3, asymmetric=True)
    theta = truth(parameters, seed) + [SIZE.get(name.rpartition(".")[2], 0.0) for name in parameters.names]
    loaded = parameters.carrying(theta)
    fit = ARM.identify(simulated(loaded, theta, 20.0, 200.0, (1e-5, 0.05), seed, motion=seed))
    assert fit.verdict, fit.verdict
    added = " ".join(finding.message for finding in fit.findings if finding.code == "friction")
    assert [word for word in LAWS if word not in added] == []
    q, qd, qdd = series(ARM, np.linspace(0, 10, 500), 7)
    true = loaded.matrix(q, qd, qdd) @ theta
    assert np.linalg.norm(fit.predict(q, qd, qdd) - true) < 3e-3 * np.linalg.norm(true)
    known = dict(zip(parameters.names, theta))
    value = fit.base.K @ np.array([known[name] for name in fit.parameter_set.names])
    low, high = fit.estimate.intervals.T
    assert np.mean((low < value) & (value < high)) > 0.85


def test_friction_by_direction_has_an_offset_besides() -> None:
    """Where a joint nearly rests an offset is no friction, and links would take it in."""
    fit, _, theta = found(LAWS["directions"])
    true = dict(zip(fit.parameter_set.names, theta))
    offsets = [name for name in true if name.endswith(".offset")]
    assert len(offsets) == 4
    for name in offsets:
        low, high = fit.intervals[name]
        assert high - low < 0.6
        assert abs(fit.parameters[name] - true[name]) < high - low
    assert fit.training.rms.max() < 0.05 * np.linalg.norm(fit.signals.low_pass.smooth)  # nothing but noise is left


def test_an_offset_is_left_out_that_cannot_be_told_from_friction_by_direction() -> None:
    assert not [name for name in ParameterSet.of(ARM, asymmetric=True, coulomb="sign").names if name.endswith("offset")]


def test_nothing_is_added_where_nothing_is_missing() -> None:
    fit, *_ = found({})
    assert not [finding for finding in fit.findings if finding.code == "friction"]


def with_more_torque(robot: Robot, more: Any, seed: int, period: float = 10.0) -> Fit:
    """The fit of a log whose joints have torques besides: `more(parameters, theta, q, qd, qdd)` (N, nv)."""
    parameters = ParameterSet.of(robot)
    theta, draw, t = truth(parameters, seed), np.random.default_rng(seed), np.arange(4000) / 200
    motion = series(robot, t, seed, period)
    tau = parameters.matrix(*motion) @ theta + more(parameters, theta, *motion)
    q, tau = (x + size * draw.normal(size=x.shape) for x, size in ((motion[0], 1e-5), (tau, 0.05)))
    return robot.identify(Log(t, q, tau, joint_names=robot.joint_names))


def orders_of(fit: Fit, joint: str) -> set[str]:
    return {name for name in fit.parameters if name.startswith((f"{joint}.cos", f"{joint}.sin"))}


@pytest.mark.parametrize("orders", [(3, 8), (5, 12), (6, 7)])
def test_two_harmonics_of_one_joint_are_both_found(orders: tuple[int, int]) -> None:
    """One alone may stand between them, and springs that push would take in the rest."""
    one, other = orders

    def cogging(parameters: ParameterSet, theta: np.ndarray, q: np.ndarray, *_: np.ndarray) -> np.ndarray:
        return np.eye(6)[1] * (2.0 * np.cos(one * q + 1.0) + 1.4 * np.cos(other * q + 0.3))

    robot = qddot.load("irb120")
    fit = with_more_torque(robot, cogging, 1)
    assert fit.verdict
    assert not fit.verdict.has("robot")
    assert orders_of(fit, robot.joint_names[1]) == {f"{robot.joint_names[1]}.{f}{k}" for k in orders for f in ("cos", "sin")}
    assert fit.training.relative < 0.002  # 0.037 with one of them
    assert fit.robot_error[0] < 1.001 * fit.training.relative
    assert not [name for name in fit.parameters if name.endswith("stiffness")]


@pytest.mark.parametrize(("way", "power", "part"), [(1.0, 2, 0.5), (-1.0, 2, 0.7), (-1.0, 1, 0.3)])
def test_what_pulls_at_a_joint_beyond_a_position_is_found(way: float, power: int, part: float) -> None:
    """A hose that pulls more and more, or a cable that becomes taut, at any place and either way."""
    robot, joint = qddot.load("irb120"), 1
    q = series(robot, np.arange(0, 20.0, 0.004), 3)[0][:, joint]
    edge = float(np.quantile(q, part))

    def cable(parameters: ParameterSet, theta: np.ndarray, q: np.ndarray, *_: np.ndarray) -> np.ndarray:
        return np.eye(6)[joint] * way * 6.0 * np.maximum(way * (q - edge), 0.0) ** power

    fit = with_more_torque(robot, cable, 3)
    name = robot.joint_names[joint]
    assert fit.verdict, fit.verdict
    assert list(fit.parameter_set.asked["pulls"]) == [name]
    at, seen_way = fit.parameter_set.asked["pulls"][name]
    assert seen_way == way
    assert at == pytest.approx(edge, abs=0.1)
    assert fit.training.relative < 0.002  # 0.02 and more without
    assert set(fit.left_out) == {f"{name}.pull", f"{name}.pull_rise"}
    assert fit.verdict.has("robot")  # which lacks them, and says so
    assert any("a cable that pulls" in finding.message for finding in fit.findings)


def test_a_pull_has_an_edge_and_a_way() -> None:
    name = ARM.joint_names[0]
    with pytest.raises(qddot.InputError, match="1, above the edge, or -1, below it"):
        ParameterSet.of(ARM, pulls={name: (0.1, 2)})
    with pytest.raises(qddot.UnknownNameError):
        ParameterSet.of(ARM, pulls={"elbow": (0.1, 1)})
    q = np.array([[-0.5, 0, 0, 0], [0.5, 0, 0, 0]])
    found = ParameterSet.of(ARM, pulls={name: (-0.1, -1)})
    pulled = found.matrix(q, 0 * q, 0 * q)[:, 0, [found.place(f"{name}.{kind}") for kind in ("pull", "pull_rise")]]
    assert pulled == pytest.approx(np.array([[-0.4, -0.16], [0, 0]]))


@pytest.mark.parametrize("seed", range(4))
def test_a_slider_whose_friction_steps_at_most_of_its_speed_has_no_other_law(seed: int) -> None:
    """0.03 m/s at 0.04 to 0.05 rms: what is slow for a hinge is usual for it."""
    fit = with_more_torque(qddot.load("scara"), lambda parameters, theta, *motion: 0.0, seed, period=14.0)
    assert fit.verdict, fit.verdict
    assert not [finding for finding in fit.findings if finding.code == "friction"]
    assert fit.parameter_set.widths == pytest.approx(np.full(4, 0.03), rel=0.1)


@pytest.mark.parametrize("seed", [0, 2])
def test_friction_by_the_load_of_a_rotor_that_is_not_described(seed: int) -> None:
    """The last joint of this arm turns a rotor and hardly a link: as described, it carries nothing."""
    robot = qddot.load("scara")
    loaded = ParameterSet.of(robot, load=True)

    def by_load(parameters: ParameterSet, theta: np.ndarray, *motion: np.ndarray) -> np.ndarray:
        known = dict(zip(parameters.names, theta))
        true = np.array([0.15 if name.endswith(".load") else known[name] for name in loaded.names])
        return loaded.carrying(true).matrix(*motion) @ true - parameters.matrix(*motion) @ theta

    fit = with_more_torque(robot, by_load, seed)
    assert fit.verdict, fit.verdict
    found = {name: value for name, value in fit.parameters.items() if name.endswith(".load")}
    assert len(found) == 4
    assert list(found.values()) == pytest.approx([0.15] * 4, rel=0.1)
    assert fit.left_out == ()
    assert max(fit.robot_error[0], fit.training.relative) < 0.002  # 0.022 and 0.005 without that of the last joint


def test_no_law_has_a_term_that_no_drive_has() -> None:
    """A spring that pushes one joint away from its middle: no spring, and no friction that drives, is taken for it."""
    stiff = np.array([0.0, -8.0, 0.0, 0.0])
    fit = with_more_torque(ARM, lambda parameters, theta, q, *_: stiff * q, 1)
    usual = ParameterSet.of(ARM).names
    bad = never_negative(fit.base) & (fit.estimate.theta < 0)
    assert not [name for name, is_bad in zip(fit.base.names, bad) if is_bad and name not in usual]


def test_a_robot_that_predicts_worse_is_part_of_the_verdict() -> None:
    """Asked for by name, a spring may push; no robot has one."""
    parameters = ParameterSet.of(ARM, spring=True)
    theta = truth(parameters) + [-8.0 * (name == "j1.stiffness") for name in parameters.names]
    fit = ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), 1), parameter_set=parameters)
    assert fit.verdict.has("impossible values")
    assert fit.robot_worse
    assert fit.verdict.has("robot")


@pytest.mark.parametrize("seed", [6, 10])
def test_a_spring_is_no_pull(seed: int) -> None:
    """With an edge at the end of the recorded range a pull leaves as little, and predicts other torques beyond it."""

    def spring(parameters: ParameterSet, theta: np.ndarray, q: np.ndarray, *_: np.ndarray) -> np.ndarray:
        return np.eye(6)[2] * 8.0 * (q - 0.4)

    robot = qddot.load("irb120")
    fit = with_more_torque(robot, spring, seed)
    name = robot.joint_names[2]
    assert not fit.parameter_set.asked.get("pulls")
    low, high = fit.intervals[f"{name}.stiffness"]
    assert low < 8.0 < high
    assert high - low < 0.2
