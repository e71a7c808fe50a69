"""What columns are called: joints by name, units, measured and wanted channels, and what is said about each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.logs.column_names import parsed_name, places
from qddot.logs.log import Log

JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")
SHUFFLED = [2, 1, 0]


@pytest.fixture(scope="module")
def arm() -> qddot.Robot:
    """Three hinges one after the other, the last two in gravity."""
    builder = qddot.Builder("arm")
    for joint, parent, axis in zip(JOINTS, ("base", *JOINTS), "zyy"):
        how = {"xyz": (0.4, 0, 0), "mass": 2.0, "com": (0.2, 0, 0), "tensor": (0.01, 0.03, 0.03)}
        builder.body(joint.removesuffix("_joint"), parent.removesuffix("_joint"), axis=axis, **how)
    return builder.robot()


def motion(size: float = 1.0, joints: int = 3) -> dict[str, np.ndarray]:
    t = np.arange(600) / 100
    phase = 2 * np.pi * 0.5 * t[:, None] + np.arange(joints)
    return {"t": t, "q": size * np.sin(phase), "qd": size * np.pi * np.cos(phase), "tau": 3 * np.sin(phase) + np.arange(joints)}


def written(path: Path, names: list[str], *columns: np.ndarray) -> Path:
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


def numbered(pattern: str, joints: int = 3, first: int = 1) -> list[str]:
    return [pattern.format(i) for i in range(first, first + joints)]


def same(log: Log, data: dict[str, np.ndarray], tolerance: float = 1e-9) -> None:
    for name, values in data.items():
        np.testing.assert_allclose(getattr(log, name), values, atol=tolerance, err_msg=name)


def said(log: Log, topic: str, *levels: str) -> str:
    return "\n".join(f.message for f in log.findings if f.code == topic and (not levels or f.level in levels))


# joints ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Position3", ("Position", "3")),
        ("actual_q_0", ("actual_q", "0")),
        ("q_d[1]", ("q_d", "1")),
        ("tau_J_d[7]", ("tau_J_d", "7")),
        ("actuators[0].current_motor", ("actuators.current_motor", "0")),
        ("Joint 2 Position", ("Joint Position", "2")),
        ("elbow_pos", ("pos", "elbow")),
        ("position/panda_joint1", ("position", "panda_joint1")),
        ("/joint_states/wrist_1_joint/position", ("position", "joint_states/wrist_1_joint")),
        ("q1 [deg]", ("q", "1", "deg")),
        ("q [deg] 1", ("q", "1", "deg")),
        ("q1_deg", ("q_deg", "1")),
        ("tau_mNm_4", ("tau_mNm", "4")),
        ("dQ1", ("dQ", "1")),
        ("position[elbow]", ("position", "elbow")),
        ("position_cmd_elbow", ("position_cmd_elbow", "")),
    ],
)
def test_names_in_parts(name: str, expected: tuple[str, ...]) -> None:
    assert parsed_name(name)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/joint_states/elbow_joint/position", ("joint_states/position", "elbow_joint")),
        ("q_left_elbow_joint", ("q_left", "elbow_joint")),
        ("elbow_joint_pos", ("pos", "elbow_joint")),
        ("position_cmd_elbow_joint", ("position_cmd", "elbow_joint")),
        ("elbow_joint", ("elbow_joint", "")),
        ("q_shoulder_lift", ("q", "shoulder_lift_joint")),
    ],
)
def test_names_that_hold_a_joint(name: str, expected: tuple[str, str]) -> None:
    assert parsed_name(name, JOINTS)[:2] == expected


def test_which_label_means_which_joint() -> None:
    assert places(("elbow", "shoulder_lift", "shoulder_pan"), JOINTS) == [2, 1, 0]
    assert places(("left/elbow_joint", "left/shoulder_lift_joint", "left/shoulder_pan_joint"), JOINTS) == [2, 1, 0]
    assert places(("elbow", "shoulder", "base"), JOINTS) == [None, None, 0]  # two shoulders: neither is plain
    assert places(("1", "2", "3"), JOINTS) == [None] * 3
    assert places(("joint10", "joint1"), ("joint1", "joint10")) == [1, 0]


@pytest.mark.parametrize(
    "pattern", ["/joint_states/{}/KIND", "KIND_left_{}", "{}_KIND", "KIND[{}]", "KIND/{}", "robot.{}.KIND", "KIND.{}"]
)
def test_columns_named_by_joints_in_another_order(tmp_path: Path, arm: qddot.Robot, pattern: str) -> None:
    data = motion()
    names = [pattern.replace("KIND", kind).format(JOINTS[i]) for kind in ("position", "velocity", "effort") for i in SHUFFLED]
    columns = (data[key][:, SHUFFLED] for key in ("q", "qd", "tau"))
    log = Log.load(written(tmp_path / "a.csv", ["__time", *names], data["t"], *columns), arm)
    same(log, data)
    assert "put in the robot's order" in said(log, "joints", "found")


def test_each_quantity_in_an_order_of_its_own(tmp_path: Path, arm: qddot.Robot) -> None:
    data = motion()
    names = ["t", *(f"q_{JOINTS[i]}" for i in SHUFFLED), *(f"tau_{joint}" for joint in JOINTS)]
    path = written(tmp_path / "a.csv", names, data["t"], data["q"][:, SHUFFLED], data["tau"])
    same(Log.load(path, arm), {key: data[key] for key in ("q", "tau")})
    alone = Log.load(path)
    same(alone, {key: data[key][:, SHUFFLED] for key in ("q", "tau")})


def test_a_gripper_beside_the_arm(tmp_path: Path, arm: qddot.Robot) -> None:
    data = motion()
    joints = [*JOINTS, "finger_joint"]
    names = [f"/joint_states/{joint}/{kind}" for kind in ("position", "effort") for joint in joints]
    zero = np.zeros(len(data["t"]))
    log = Log.load(written(tmp_path / "a.csv", ["t", *names], data["t"], data["q"], zero, data["tau"], zero), arm)
    same(log, {key: data[key] for key in ("q", "tau")})


def test_joints_the_robot_does_not_know(tmp_path: Path, arm: qddot.Robot) -> None:
    data = motion()
    strange = written(
        tmp_path / "a.csv",
        ["t", *(f"{k}_{j}" for k in ("q", "tau") for j in ("swing", "lower", "upper"))],
        data["t"],
        data["q"],
        data["tau"],
    )
    log = Log.load(strange, arm)
    assert "calls joints swing, lower, upper, which the robot does not know" in said(log, "joints", "warning")
    partly = written(
        tmp_path / "b.csv",
        ["t", *(f"{k}_{j}" for k in ("q", "tau") for j in ("swing", "elbow", "upper"))],
        data["t"],
        data["q"],
        data["tau"],
    )
    with pytest.raises(
        InputError, match="no column that is plainly joint shoulder_pan_joint's: it calls joints swing, elbow_joint, upper"
    ):
        Log.load(partly, arm)
    told = {"q": ["q_swing", "q_elbow", "q_upper"], "tau": ["tau_swing", "tau_elbow", "tau_upper"]}
    assert "as told" in said(Log.load(partly, arm, columns=told), "joints", "found")


def test_a_log_in_another_order_than_the_robot(arm: qddot.Robot) -> None:
    data = motion()
    shuffled = {key: values if key == "t" else values[:, SHUFFLED] for key, values in data.items()}
    log = Log(**shuffled, joint_names=tuple(JOINTS[i] for i in SHUFFLED)).of(arm)
    same(log, data)
    assert log.joint_names == JOINTS
    assert "put in the robot's order, by name" in said(log, "joints", "found")
    wide = {key: values if key == "t" else np.column_stack([values, values[:, 0]]) for key, values in data.items()}
    same(Log(**wide, joint_names=(*JOINTS, "finger")).of(arm), data)
    with pytest.raises(
        InputError,
        match="does not have the robot's joints: the log has 3 joints, elbow_joint, hand, wrist; arm has 3, shoulder_pan",
    ):
        Log(**data, joint_names=("elbow_joint", "hand", "wrist")).of(arm)
    assert said(Log(**data).of(arm), "joints", "assumed").startswith("taken in the robot's order: the log has 3 joints, joint1")
    assert "taken in the robot's order" in said(Log(**data, joint_names=("a", "b", "c")).of(arm), "joints", "warning")


def test_identify_puts_joints_in_order(tmp_path: Path) -> None:
    robot = qddot.load("two_link")
    t = np.arange(2000) / 200
    phase = 2 * np.pi * np.outer(t, [0.3, 0.7]) + [0, 1]
    q, qd, qdd = (
        np.sin(phase),
        2 * np.pi * np.array([0.3, 0.7]) * np.cos(phase),
        -((2 * np.pi * np.array([0.3, 0.7])) ** 2) * np.sin(phase),
    )
    tau = robot.inverse_dynamics(q, qd, qdd) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    straight = Log(t, q, tau, joint_names=robot.joint_names)
    turned = Log(t, q[:, ::-1], tau[:, ::-1], joint_names=robot.joint_names[::-1])
    assert robot.identify(turned).parameters == pytest.approx(robot.identify(straight).parameters)
    turned_chunks = Log.chunks(
        written(
            tmp_path / "a.csv",
            ["t", *numbered("q_joint{}", 2)[::-1], *numbered("tau_joint{}", 2)[::-1]],
            t,
            q[:, ::-1],
            tau[:, ::-1],
        )
    )
    assert robot.identify(turned_chunks).parameters == pytest.approx(robot.identify(straight).parameters)


# units ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "scale"),
    [
        ("q{} (deg)", 180 / np.pi),
        ("q{} [°]", 180 / np.pi),
        ("q_deg_{}", 180 / np.pi),
        ("q{}_deg", 180 / np.pi),
        ("posDeg{}", 180 / np.pi),
        ("q{} [mrad]", 1000),
        ("q{} [rad]", 1),
        ("Joint {} Position (deg)", 180 / np.pi),
    ],
)
def test_small_angles_in_named_units(tmp_path: Path, pattern: str, scale: float) -> None:
    data = motion(size=0.01)
    names = ["Time (s)", *numbered(pattern), *numbered("tau{} (Nm)")]
    log = Log.load(written(tmp_path / "a.csv", names, data["t"], scale * data["q"], data["tau"]))
    same(log, {key: data[key] for key in ("t", "q", "tau")})
    assert "as the columns are named" in said(log, "angles", "found")


@pytest.mark.parametrize(
    ("pattern", "scale"),
    [
        ("tau{} [mNm]", 1000),
        ("tau_mNm_{}", 1000),
        ("torque{} (Ncm)", 100),
        ("torque {} [kN m]", 1e-3),
        ("Torque{} [N*m]", 1),
        ("effort{}_Nm", 1),
        ("torque{} (N.mm)", 1000),
    ],
)
def test_torques_in_named_units(tmp_path: Path, pattern: str, scale: float) -> None:
    data = motion()
    log = Log.load(
        written(tmp_path / "a.csv", ["t", *numbered("q{}"), *numbered(pattern)], data["t"], data["q"], scale * data["tau"])
    )
    same(log, {"tau": data["tau"]})
    assert "as the columns are named" in said(log, "torque", "found")


def test_currents(tmp_path: Path) -> None:
    data = motion()
    for pattern, scale in (("current{} [mA]", 1000), ("motor_current_mA_{}", 1000), ("tau{} [A]", 1), ("i{}", 1)):
        path = written(
            tmp_path / "a.csv", ["t", *numbered("q{}"), *numbered(pattern)], data["t"], data["q"], scale * data["tau"] / 2
        )
        log = Log.load(path, gains=[2, 2, 2])
        same(log, {"tau": data["tau"]})
        assert "without gains: not in N m" in said(Log.load(path), "torque", "warning")
    path = written(tmp_path / "b.csv", ["t", *numbered("q{}"), *numbered("torque{} [%]")], data["t"], data["q"], data["tau"])
    assert "a share of a rated torque" in said(Log.load(path), "torque", "warning")
    path = written(tmp_path / "c.csv", ["t", *numbered("q{}"), *numbered("torque{} [lbf.ft]")], data["t"], data["q"], data["tau"])
    assert "[lbf.ft] of tau is no unit known here" in said(Log.load(path), "units", "warning")
    path = written(tmp_path / "d.csv", ["t", *numbered("q{}"), *numbered("torque{}")], data["t"], data["q"], data["tau"])
    assert "the columns name no unit" in said(Log.load(path), "torque", "assumed")


@pytest.mark.parametrize(
    ("names", "angle", "speed"),
    [
        (("q{}", "speed_rpm_{}"), 1, 30 / np.pi),
        (("q{} [deg]", "qd{} [rad/s]"), 180 / np.pi, 1),
        (("q{}", "qd{} [deg/s]"), 1, 180 / np.pi),
        (("q{}", "vel_deg_per_s_{}"), 1, 180 / np.pi),
    ],
)
def test_velocities_in_units_of_their_own(tmp_path: Path, names: tuple[str, str], angle: float, speed: float) -> None:
    data = motion()
    header = ["t", *numbered(names[0]), *numbered(names[1]), *numbered("tau{}")]
    log = Log.load(written(tmp_path / "a.csv", header, data["t"], angle * data["q"], speed * data["qd"], data["tau"]))
    same(log, data)


@pytest.mark.parametrize(
    ("angle", "speed", "told"),
    [
        (180 / np.pi, 1, "rad/s, positions in degrees"),
        (1, 180 / np.pi, "degrees/s, positions in radians"),
        (1, 30 / np.pi, "turns a minute, positions in radians"),
        (180 / np.pi, 30 / np.pi, "turns a minute, positions in degrees"),
    ],
)
def test_velocities_that_are_not_the_derivative_of_positions(tmp_path: Path, angle: float, speed: float, told: str) -> None:
    data = motion()
    header = ["time [s]", *numbered("q{}"), *numbered("qd{}"), *numbered("tau{}")]
    log = Log.load(written(tmp_path / "a.csv", header, data["t"], angle * data["q"], speed * data["qd"], data["tau"]))
    same(log, data)
    assert told in said(log, "velocity", "assumed")


def test_a_slider_among_hinges(tmp_path: Path) -> None:
    data = motion()
    names = ["t", "q1 [deg]", "q2 [deg]", "q3 [mm]", *numbered("tau{}")]
    log = Log.load(written(tmp_path / "a.csv", names, data["t"], data["q"] * [180 / np.pi, 180 / np.pi, 1000], data["tau"]))
    same(log, {"q": data["q"]})


def test_time_units_in_words(tmp_path: Path) -> None:
    data = motion()
    for name, scale, unit in (
        ("time_ns", 1e9, "ns"),
        ("t [ms]", 1e3, "ms"),
        ("Zeit (µs)", 1e6, "us"),
        ("seconds", 1, "s"),
        ("ms", 1e3, "ms"),
        ("time [min]", 1 / 60, "min"),
    ):
        log = Log.load(
            written(tmp_path / "a.csv", [name, *numbered("q{}"), *numbered("tau{}")], data["t"] * scale, data["q"], data["tau"])
        )
        same(log, {"t": data["t"]})
        assert said(log, "time", "found") == f"in {unit}, as the column is named"


def test_seconds_and_nanoseconds(tmp_path: Path) -> None:
    data = motion()
    whole, rest = 1_700_000_000 + np.floor(data["t"]), np.round(data["t"] % 1 * 1e9)
    for first, second in (
        ("sec", "nanosec"),
        ("header.stamp.secs", "header.stamp.nsecs"),
        ("time_sec", "time_nsec"),
        ("ZeitInSec", "ZeitInNanoSec"),
    ):
        names = [first, second, *numbered("q{}"), *numbered("tau{}")]
        log = Log.load(written(tmp_path / "a.csv", names, whole, rest, data["q"], data["tau"]))
        same(log, {"t": data["t"]})


@pytest.mark.parametrize(
    ("rate", "unit", "scale"), [(1e4, "us", 1e6), (10, "ms", 1e3), (5e3, "ms", 1e3), (5, "s", 1), (20, "s", 1)]
)
def test_a_step_that_could_be_of_two_units(tmp_path: Path, rate: float, unit: str, scale: float) -> None:
    """100 us at 10 kHz or 100 ms at 10 Hz: the speed of the joints tells."""
    t = np.arange(2000) / rate
    q = np.sin(2 * np.pi * 0.4 * t[:, None] + np.arange(3))
    log = Log.load(written(tmp_path / "a.csv", ["t", *numbered("q{}"), *numbered("tau{}")], scale * t, q, q))
    np.testing.assert_allclose(log.t, t, atol=1e-9)
    assert f"in {unit}: a step is" in said(log, "time", "assumed")


# measured, and wanted -------------------------------------------------------------------------------------------------


def test_libfranka(tmp_path: Path) -> None:
    data = motion()
    other = np.zeros_like(data["q"])
    channels = {
        "q": "q",
        "q_d": "",
        "dq": "qd",
        "dq_d": "",
        "ddq_d": "",
        "tau_J": "tau",
        "tau_J_d": "",
        "dtau_J": "",
        "tau_ext_hat_filtered": "",
    }
    names = [f"{channel}[{i}]" for channel in channels for i in range(3)]
    columns = [data[key] if key else other for key in channels.values()]
    log = Log.load(
        written(tmp_path / "a.csv", ["time", *names, *numbered("O_F_ext_hat_K[{}]", 6)], data["t"], *columns, np.zeros((600, 6)))
    )
    same(log, data)
    assert log.qdd is None
    assert "not measured, left out: q_d, dq_d, ddq_d, tau_J_d" in said(log, "columns")


def test_positions_of_motors_beside_those_of_links(tmp_path: Path) -> None:
    data = motion()
    names = [f"{channel}[{i}]" for channel in ("theta", "dtheta", "q", "dq", "tau_J") for i in range(3)]
    motors = data["q"] + 0.01 * data["tau"]
    path = written(tmp_path / "a.csv", ["time", *names], data["t"], motors, data["qd"] + 1, data["q"], data["qd"], data["tau"])
    log = Log.load(path)
    same(log, data)
    assert "q: q0 ... q2, not theta0 ... theta2" in said(log, "columns", "assumed")
    bare = Log.load(written(tmp_path / "b.csv", ["time", *names[:3], *names[12:]], data["t"], motors, data["tau"]))
    same(bare, {"q": motors, "tau": data["tau"]})


def test_temps_are_times_in_french_and_temperatures_in_english(tmp_path: Path) -> None:
    data = motion()
    names, columns = [*numbered("q{}"), *numbered("tau{}")], (data["q"], data["tau"])
    french = Log.load(written(tmp_path / "a.csv", ["temps", *names], data["t"], *columns))
    same(french, {"t": data["t"]})
    assert french.temperature is None
    english = Log.load(written(tmp_path / "b.csv", ["temps", "time", *names], 30 + 0 * data["t"], data["t"], *columns))
    same(english, {"t": data["t"], "temperature": np.full((600, 3), 30.0)})


def test_limits_and_latencies_are_no_measurements(tmp_path: Path) -> None:
    data = motion()
    flat = np.full_like(data["tau"], 50.0)
    names = ["t", *numbered("q{}"), *numbered("current{} [A]"), *numbered("bound{} [Nm]")]
    log = Log.load(written(tmp_path / "a.csv", names, data["t"], data["q"], data["tau"], flat), gains=[1.0, 1.0, 1.0])
    same(log, {name: data[name] for name in ("t", "q", "tau")})
    noisy = 0.5 + np.random.default_rng(0).random(len(data["t"]))
    names = ["wait [ms]", *numbered("q{}"), *numbered("tau{}")]
    path = written(tmp_path / "b.csv", names, noisy, data["q"], data["tau"])
    assert len(Log.load(path, rate=100.0)) == len(noisy)
    with pytest.raises(InputError, match="no time column"):
        Log.load(path)


def test_units_tell_a_quantity_only_if_nothing_else_has_them(tmp_path: Path) -> None:
    data = motion()
    names = ["t", *numbered("A{} [°]"), *numbered("n{} [U/min]"), *numbered("M{} [Nm]")]
    columns = [data["t"], np.degrees(data["q"]), data["qd"] * 30 / np.pi, data["tau"]]
    log = Log.load(written(tmp_path / "a.csv", names, *columns))
    same(log, data)
    assert "tau: M1 [Nm] ... M3 [Nm], by their unit" in said(log, "columns", "assumed")
    for more in ("F{} [Nm]", "M_soll_{} [Nm]"):  # another one, or one with a word for what is wanted
        path = written(tmp_path / "b.csv", [*names, *numbered(more)], *columns, data["tau"])
        if "soll" in more:
            same(Log.load(path), data)
        else:
            with pytest.raises(InputError, match="no columns found for tau"):
                Log.load(path)
    with pytest.raises(InputError, match="no columns found for tau"):
        Log.load(written(tmp_path / "c.csv", [*names[:7], *numbered("F{} [N]")], *columns[:3], data["tau"]))


def test_wanted_values_in_german_and_french_are_left_out(tmp_path: Path) -> None:
    data = motion()
    for wanted in ("Sollwinkel_{}", "Soll Winkel {}", "consigne position {}", "position désirée {}"):
        names = ["t", *numbered("winkel_{}"), *numbered(wanted), *numbered("drehmoment_{}")]
        log = Log.load(written(tmp_path / "a.csv", names, data["t"], data["q"], data["q"] + 0.1, data["tau"]))
        same(log, {"q": data["q"], "tau": data["tau"]})


def test_rtde(tmp_path: Path) -> None:
    data = motion()
    names = ["timestamp"]
    for channel in (
        "target_q",
        "target_qd",
        "target_qdd",
        "target_current",
        "target_moment",
        "actual_q",
        "actual_qd",
        "actual_current",
    ):
        names += numbered(channel + "_{}", first=0)
    names += [
        *numbered("actual_TCP_pose_{}", first=0),
        *numbered("actual_TCP_speed_{}", first=0),
        *numbered("joint_temperatures_{}", first=0),
        "actual_robot_current",
    ]
    none = np.zeros((600, 3))
    columns = [none] * 5 + [data["q"], data["qd"], data["tau"] / 10, none, none, none, none[:, 0]]
    path = written(tmp_path / "a.csv", names, 1.7e9 + data["t"], *columns)
    log = Log.load(path, gains=[10, 10, 10])
    same(log, data, 1e-6)
    assert "current: actual_current_0" in said(log, "columns")


@pytest.mark.parametrize(
    "names",
    [
        ["Time", *numbered("AIPos A{}"), *numbered("MACur A{} [Nm]")],
        ["t", *numbered("msrJntPos_{}"), *numbered("msrJntTrq_{}")],
        ["t", *numbered("measuredJointPosition{}"), *numbered("measuredTorque{}")],
        ["time", *numbered("actuators[{}].position", first=0), *numbered("actuators[{}].torque", first=0)],
        ["time", *numbered("feedback_joints_{}"), *numbered("torque_{}")],
        ["ZEIT", *numbered("AXIS_ACT_A{}"), *numbered("TORQUE_AXIS_ACT_{}")],
        ["t", *numbered("J{}"), *numbered("TauJ{}")],
        ["t", *numbered("th{}"), *numbered("tau{}")],
        ["t", *numbered("axis{}.position_actual_value"), *numbered("axis{}.torque_actual_value")],
        ["t", *numbered("Achse {} Position"), *numbered("Achse {} Moment (Nm)")],
        ["Zeit", *numbered("Achse{}_Winkel"), *numbered("Achse{}_Drehmoment")],
        ["Zeit (s)", *numbered("Istposition {} (Grad)"), *numbered("Istmoment {} (Nm)")],
        ["Zeit", *numbered("Gelenkwinkel_{}"), *numbered("Gelenkmoment_{}")],
        ["Temps (s)", *numbered("Position articulaire {} (degrés)"), *numbered("Couple {} (N.m)")],
        ["temps", *numbered("angle_{}"), *numbered("couple_{}")],
        ["IPOC", *numbered("AIPos.A{}"), *numbered("TORQUE_AXIS_ACT.A{}")],
        ["Zeit", *numbered("AXIS_ACT.A{}"), *numbered("TORQUE_AXIS_ACT.A{}")],
        ["time", *numbered("MAIN.fbAxis[{}].NcToPlc.ActPos"), *numbered("MAIN.fbAxis[{}].ActTorque")],
        ["time", *(f"{axis}-axis position[deg]" for axis in "SLT"), *(f"{axis}-axis torque[Nm]" for axis in "SLT")],
        ["t [s]", *numbered("A{} [°]"), *numbered("M{} [Nm]")],
        ["t [s]", *numbered("angulo{} [deg]"), *numbered("par{} [Nm]")],
        ["時間[s]", *numbered("J{}角度[deg]"), *numbered("J{}トルク[Nm]")],
        ["tout", *numbered("yout.q_meas({})"), *numbered("yout.tau_meas({})")],
        ["t", *numbered("qpos_{}", first=0), *numbered("effort_{}", first=0)],
    ],
)
def test_names_of_controllers(tmp_path: Path, names: list[str]) -> None:
    data = motion()
    log = Log.load(written(tmp_path / "a.csv", names, data["t"], np.degrees(data["q"]), data["tau"]))
    same(log, {key: data[key] for key in ("t", "q", "tau")})


def test_only_wanted_or_outer_torques(tmp_path: Path) -> None:
    data = motion()
    for channel in ("tau_J_d", "tau_ext", "target_moment"):
        path = written(tmp_path / "a.csv", ["t", *numbered("q{}"), *numbered(channel + "[{}]")], data["t"], data["q"], data["tau"])
        with pytest.raises(InputError, match=f"no columns found for tau among .*; {channel} are wanted, or the tool's"):
            Log.load(path)
        same(Log.load(path, columns={"tau": channel}), {"tau": data["tau"]})


# audit ----------------------------------------------------------------------------------------------------------------


def test_torques_over_the_described_weight(arm: qddot.Robot) -> None:
    t = np.arange(3000) / 200
    w = 2 * np.pi * np.array([0.2, 0.5, 0.9])
    a = np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3], [0.6, -0.5, 0.2]])
    q, qd, qdd = (f @ a.T for f in (np.sin(np.outer(t, w)), np.cos(np.outer(t, w)) * w, -np.sin(np.outer(t, w)) * w**2))
    draw = np.random.default_rng(0)
    tau = arm.inverse_dynamics(q, qd, qdd) + np.sign(qd) + 0.1 * draw.normal(size=q.shape)
    log = Log(t, q + 1e-4 * draw.normal(size=q.shape), tau, joint_names=JOINTS)

    def gravity(changed: Log) -> str:
        return "\n".join(f"{f.level} {f.message}" for f in changed.audit(arm).findings if f.code == "gravity")

    assert gravity(log).startswith("found tau over that of the robot's weight")
    assert "warning tau is far from the robot's weight" in gravity(replace(log, tau=1000 * tau))
    assert "currents?" in gravity(replace(log, tau=tau / 12))
    one = gravity(replace(log, tau=tau * [1, 1, -1]))
    assert "against the robot's weight and inertia as described at elbow_joint -1" in one
    assert "with them at shoulder_lift_joint 1" in one


def test_segments_of_different_rates_miss_nothing() -> None:
    fast, slow = (Log(t, np.sin(t)[:, None], np.cos(t)[:, None]) for t in (np.arange(10_000) / 1000, np.arange(2500) / 125))
    topics = {f.code for f in (fast + slow).audit().warnings}
    assert "rates" in topics
    assert not {"missing", "rate"} & topics


def test_a_step_that_is_no_rate(tmp_path: Path) -> None:
    data = motion()
    path = written(
        tmp_path / "a.csv", ["t", *numbered("q{}"), *numbered("tau{}")], 45000 + data["t"] / 86400, data["q"], data["tau"]
    )
    with pytest.raises(InputError, match=r"a step of time is 1.157e-07, which is no rate between 1 Hz and 20000 Hz"):
        Log.load(path)


def test_joints_by_number_within_their_names(tmp_path: Path, arm: qddot.Robot) -> None:
    """`q_wrist_1` is the joint `wrist_1_joint`, not the first of something called a wrist."""
    assert parsed_name("q_wrist_1", ("elbow_joint", "wrist_1_joint")).label == "wrist_1_joint"
    data = motion()
    names = ["t", *(f"{key}_{JOINTS[i].removesuffix('_joint')}" for key in ("q", "tau") for i in SHUFFLED)]
    path = written(tmp_path / "a.csv", names, data["t"], data["q"][:, SHUFFLED], data["tau"][:, SHUFFLED])
    same(Log.load(path, arm), {key: data[key] for key in ("q", "tau")})


@pytest.mark.parametrize(
    ("names", "scale", "zero"),
    [
        (("temperature_1", "temperature_2"), 1, 0),
        (("T1 temp [degC]", "T2 temp [degC]"), 1, 0),
        (("temp1_K", "temp2_K"), 1, 273.15),  # by its size
        (("motor_temp_kelvin_1", "motor_temp_kelvin_2"), 1, 273.15),
        (("temp_2 (°F)", "temp_1 (°F)"), 9 / 5, 32),
        (("gear temperature",), 1, 0),  # of all joints
    ],
)
def test_temperatures(tmp_path, names, scale, zero) -> None:
    t, q, celsius = warming()
    mine = celsius[:, ::-1] if "_2" in names[0] else celsius[:, : len(names)]
    write_rows(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2", *names], t, q, q, scale * mine + zero)
    log = Log.load(tmp_path / "a.csv", degrees=False)
    expected = celsius if len(names) == 2 else celsius[:, [0, 0]]
    np.testing.assert_allclose(warmth(log), expected, atol=1e-9)
    np.testing.assert_allclose(warmth(log[10:20]), expected[10:20], atol=1e-9)
    assert warmth(log + log).shape == (400, 2)


def test_temperatures_that_are_no_joint_s_are_left_out_and_those_of_now_and_then_hold(tmp_path) -> None:
    t, q, celsius = warming()
    both = ["t", "q1", "q2", "tau1", "tau2"]
    write_rows(tmp_path / "a.csv", [*both, "temp_cpu", "temp_board"], t, q, q, celsius)
    log = Log.load(tmp_path / "a.csv", degrees=False)
    assert log.temperature is None
    assert any("not plainly one for each joint" in str(finding) for finding in log.findings)
    told = Log.load(tmp_path / "a.csv", degrees=False, columns={"temperature": "temp_board"})
    np.testing.assert_array_equal(warmth(told), celsius[:, [1, 1]])
    with pytest.raises(InputError, match="3 columns of temperature"):
        Log.load(tmp_path / "a.csv", degrees=False, columns={"temperature": [5, 6, 5]})
    rare = np.where(np.arange(200)[:, None] % 50 == 10, celsius, np.nan)
    np.savez(tmp_path / "b.npz", t=t, q=q, tau=q, temperature=rare)
    held = warmth(Log.load(tmp_path / "b.npz", degrees=False))
    np.testing.assert_array_equal(held[[0, 10, 59, 60, 199]], celsius[[10, 10, 10, 60, 160]])
    streamed = np.concatenate([warmth(part) for part in Log.chunks(tmp_path / "b.npz", degrees=False, rows=40)])
    np.testing.assert_array_equal(streamed, held)
    np.savez(tmp_path / "c.npz", t=t, q=q, tau=q, temperature=np.full_like(rare, np.nan))
    assert Log.load(tmp_path / "c.npz", degrees=False).temperature is None


def warming() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = np.arange(200) / 100
    return t, np.sin(t[:, None] * [2, 3]), 25 + t[:, None] * [3.0, 5.0]


def write_rows(path, names, *columns) -> None:
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="", encoding="utf-8")


def warmth(log: Log) -> np.ndarray:
    assert log.temperature is not None
    return log.temperature


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    names = ["time [s]", "q1", "q2", "q_d1", "i1", "i2", *(f"x{'abcdefghijklmnop'[i]}" for i in range(13)), "tau1", "tau2", "tau3"]
    np.savetxt(tmp_path / "a.csv", np.outer(np.arange(20), np.ones(22)), delimiter=",", header=",".join(names), comments="")
    told = said(Log.load(tmp_path / "a.csv"), "columns")
    assert "not used: i1 ... i2, xa, xb, xc, xd, xe, xf, xg, xh, xi, xj, xk, ... (15 in all)" in told
    log = Log.load(tmp_path / "a.csv", columns={"q": ["q1"], "tau": ["tau2"]})
    assert "not used: q2, i1 ... i2" in said(log, "columns")


@pytest.mark.parametrize("names", ["q1,q 1", "q01,q1", "q1,q_1", "q1 [deg],q1 [rad]", "elbow_pos,Elbow pos", "q1,Q1"])
def test_one_column_a_joint(tmp_path: Path, names: str) -> None:
    rows = "".join(f"{i},{i},{i},0,0\n" for i in range(20))
    (tmp_path / "a.csv").write_text(f"time [s],{names},tau1,tau2\n{rows}")
    with pytest.raises(InputError, match=r"are both of joint (1|[Ee]lbow) \(rename one|q could be"):
        Log.load(tmp_path / "a.csv")
    log = Log.load(tmp_path / "a.csv", columns={"q": names.split(","), "tau": ["tau1", "tau2"]})
    assert log.n == 2
