"""A fit is refused where the log or the description is wrong, and says what is wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify import Fit, Log, ParameterSet, base_parameters, prepare, stream
from qddot.identify.checks.alternatives import Alternatives, in_order
from qddot.identify.checks.changes import best_stretch, friction_columns, from_then_on
from qddot.identify.checks.halves import unpredicted
from qddot.identify.checks.judge import verdict
from qddot.identify.checks.positive import never_negative
from qddot.identify.checks.trial import Alternative
from qddot.identify.regression.motion_summary import MotionSummary
from qddot.identify.regression.record import Recorded
from tests.identify.arms import random_arm
from tests.identify.simulated import ROBOTS, series, simulated, truth
from tests.reference import RECORDINGS, needs_recordings

ARM = random_arm(0, 3)
PARAMETERS = ParameterSet.of(ARM)
THETA = truth(PARAMETERS)
LOG = simulated(PARAMETERS, THETA, 20.0, 200.0, (1e-5, 0.05), 1)
OTHER = simulated(PARAMETERS, THETA, 20.0, 200.0, (1e-5, 0.05), 2, 3)


def changed(log: Log = LOG, **arrays) -> Log:
    return Log(**{"t": log.t, "q": log.q, "tau": log.tau, "joint_names": log.joint_names} | arrays)


def late(samples: int) -> Log:
    return changed(t=LOG.t[samples:], q=LOG.q[samples:], tau=LOG.tau[:-samples])


def channel(joint: int, values) -> Log:
    tau = LOG.tau.copy()
    tau[:, joint] = values
    return changed(tau=tau)


def friction() -> np.ndarray:
    """The friction (N, 3) in the torques of the log."""
    kinds = [name.rpartition(".")[2] in ("viscous", "coulomb") for name in PARAMETERS.names]
    _, qd, qdd = series(ARM, LOG.t)
    return PARAMETERS.matrix(LOG.q, qd, qdd) @ np.where(kinds, THETA, 0.0)


def fitted(log: Recorded, **options) -> Fit:
    return ARM.identify(log, parameter_set=PARAMETERS, **options)


def test_good_logs_are_identified() -> None:
    fit = fitted(LOG, validation=OTHER)
    assert fit.verdict, fit.verdict
    assert fitted(LOG + OTHER).verdict
    assert fitted(simulated(PARAMETERS, THETA, 20.0, 200.0, (1e-4, 0.5), 1)).verdict


SIGNS = np.array([1.0, 1.0, -1.0])
AGAINST = np.sign(np.gradient(LOG.q, LOG.t, axis=0))
DRAGGED = 2.0 * ((LOG.t > 6) & (LOG.t < 10)) * AGAINST[:, 2]
LATER = LOG.t > 12
LESS = (
    np.where(LATER, 0.6, 0.0)
    * (
        np.gradient(LOG.q, LOG.t, axis=0) * [THETA[PARAMETERS.place(f"{j}.viscous")] for j in ARM.joint_names]
        + AGAINST * [THETA[PARAMETERS.place(f"{j}.coulomb")] for j in ARM.joint_names]
    )[:, 1]
)
ORDER = [0, 2, 1]
WRONG = {
    "sign": (changed(tau=LOG.tau * SIGNS), ("j2",)),
    "axis": (changed(q=LOG.q * SIGNS, tau=LOG.tau * SIGNS), ("j2",)),
    "order": (changed(q=LOG.q[:, ORDER], tau=LOG.tau[:, ORDER]), ("j1", "j2")),
    "delay": (late(4), ()),
    "zero": (changed(q=LOG.q + np.array([0, 0.2, 0])), ()),
    "scale": (changed(q=LOG.q * np.array([1, 1.11, 1])), ()),
    "rate": (changed(t=1.1 * LOG.t), ()),
    "warming": (changed(tau=LOG.tau - (0.4 * LOG.t / LOG.t[-1])[:, None] * friction()), ()),
    "gain": (channel(2, 1000 * LOG.tau[:, 2]), ("j2",)),
    "gravity": (changed(tau=LOG.tau - ARM.gravity_torque(LOG.q)), ()),
    "dead channel": (channel(1, 0.0), ("j1",)),
    "at a limit": (changed(tau=np.clip(LOG.tau, -20, 20)), ("j0",)),
    "bad samples": (changed(tau=np.where(np.random.default_rng(0).random((len(LOG), 1)) < 0.2, 0.0, LOG.tau)), ()),
    "brake": (channel(2, LOG.tau[:, 2] + DRAGGED), ("j2",)),
    "friction changes": (channel(1, LOG.tau[:, 1] - LESS), ("j1",)),
    "gain changes": (channel(1, LOG.tau[:, 1] * np.where(LATER, 0.9, 1.0)), ("j1",)),
    "torque of a joint": (channel(2, LOG.tau[::-1, 1]), ("j2",)),
}


@pytest.mark.parametrize(
    ("q", "text"),
    [
        (LOG.q * SIGNS, "positions of j2 have the other sign"),
        (LOG.q[:, ORDER], "positions of j1 and j2 are exchanged"),
        (1.11 * LOG.q, "all positions are 11.0% too large"),
        (LOG.q * np.array([1, 1, 0.95]), "positions of j2 are 5.0% too small"),
    ],
)
def test_positions_alone_that_are_wrong_are_named(q: np.ndarray, text: str) -> None:
    assert fitted(changed(q=q)).verdict.concerns[0].text.startswith(text)


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_named(code: str) -> None:
    log, joints = WRONG[code]
    fit = fitted(log)
    assert not fit.verdict
    assert (code, joints) in [(concern.code, concern.joints) for concern in fit.verdict.concerns], fit.verdict


def test_a_unit_comes_before_what_is_wrong_besides() -> None:
    """A brake that drags is the lesser fault in torques a thousand times too large."""
    dragged = channel(2, LOG.tau[:, 2] + DRAGGED)
    verdict = fitted(replace(dragged, tau=1000 * dragged.tau)).verdict
    assert [concern.code for concern in verdict.concerns[:2]] == ["units", "brake"], verdict


def test_a_small_joint_is_judged_by_itself() -> None:
    """What a wrist is off by, hardly shows in all torques together."""
    noise = np.convolve(np.random.default_rng(0).normal(size=len(LOG)), np.ones(40) / 40, "same")
    size = float(np.std(LOG.tau[:, 2]))
    fit = fitted(channel(2, LOG.tau[:, 2] + 0.5 * size * noise / noise.std()))
    assert fit.training.relative < 0.25
    assert ("torque of a joint", ("j2",)) in [(concern.code, concern.joints) for concern in fit.verdict.concerns], fit.verdict


def test_validation_is_judged_joint_by_joint_and_changes_no_fit() -> None:
    tau = OTHER.tau.copy()
    small = int(np.argmin(tau.std(axis=0)))
    tau[:, small] *= 1.3
    fit, alone = fitted(LOG, validation=changed(OTHER, tau=tau)), fitted(LOG)
    assert [c.joints for c in fit.verdict.concerns if c.code == "validation"] in ([(f"j{small}",)], [()]), fit.verdict
    np.testing.assert_array_equal(fit.estimate.theta, alone.estimate.theta)


def test_changes_between_recordings_say_which() -> None:
    heavier = THETA * np.where([name.startswith(("l2.m", "l2.I")) for name in PARAMETERS.names], 1.5, 1.0)
    fit = fitted(LOG + simulated(PARAMETERS, heavier, 20.0, 200.0, (1e-5, 0.05), 2, 3))
    assert "from recording 2 on the arm carries another load" in str(fit.verdict)


def test_a_long_delay_is_no_clock() -> None:
    """A first derivative says 129 ms, and with more parameters a clock seems to explain more."""
    first = fitted(late(30)).verdict.concerns[0]
    assert first.kind == "delay"
    assert 145 < int(re.findall(r"torques are (\d+) ms late", first.text)[0]) < 155
    assert "clock" not in first.text


def test_a_change_is_placed_by_all_that_changes_together() -> None:
    """Viscous friction rises and Coulomb friction falls: in the proportions that they had, they would hardly have changed."""
    v = np.gradient(LOG.q[:, 1], LOG.t)
    log = channel(1, LOG.tau[:, 1] + LATER * (1.5 * v - 1.5 * np.sign(v)))
    fit = fitted(log)
    trial = Alternatives(fit.base, fit.estimate.theta, fit.signals).trial
    start, stop = best_stretch(trial, friction_columns(trial)[1], to_the_end=True)
    assert 20.0 * start / stop == pytest.approx(12.0, abs=0.5)
    assert stop == len(trial.given)


def test_a_contact_comes_after_what_explains_a_while_clearly() -> None:
    """It is left out, whatever it is, and so explains all that a brake does."""
    contact, brake, weak = (
        Alternative(kind, "", share, 0.0, ()) for kind, share in (("contact", 0.97), ("brake", 0.93), ("brake", 0.6))
    )
    assert [one.kind for one in in_order([contact, brake])] == ["brake", "contact"]
    assert [one.kind for one in in_order([contact, weak])] == ["contact", "brake"]


def test_texts_say_how_much() -> None:
    """How late, how far off, how often: what a person needs to mend it."""
    for log, says in ((WRONG["delay"][0], "torques are 20 ms late"), (WRONG["zero"][0], "positions of j1 are 0.2")):
        assert says in str(fitted(log).verdict)


def test_a_tilted_base_is_named() -> None:
    down = np.array([float(x) for x in ARM.model.gravity])
    aside = np.linalg.svd(down[None])[2][1]
    tilted = ARM.with_gravity(tuple(down * np.cos(0.1) + np.linalg.norm(down) * aside * np.sin(0.1)))
    fit = tilted.identify(LOG)
    assert not fit.verdict
    assert fit.verdict.has("tilt")


def test_play_behind_a_gear_is_named_with_its_size() -> None:
    """Positions of a motor, which turns before its joint does."""
    for seed in range(3):
        motion = series(ARM, LOG.t, seed)
        tau = PARAMETERS.matrix(*motion) @ THETA + 0.05 * np.random.default_rng(seed).normal(size=LOG.tau.shape)
        ahead = 0.01 * np.tanh(motion[1] / 0.05) * [0, 1, 0]
        fit = fitted(changed(q=motion[0] + ahead, tau=tau))
        (said,) = [concern for concern in fit.verdict.concerns if concern.serious]
        assert (said.code, said.joints) == ("backlash", ("j1",)), fit.verdict
        assert 0.018 < float(said.text.split(" rad")[0].split()[-1]) < 0.022, said


def test_coupled_motors_are_named() -> None:
    parameters = ParameterSet.of(ARM, coupled=[("j1", "j2")])
    log = simulated(
        parameters,
        truth(parameters) + [0.8 if "+" in name else 0 for name in parameters.names],
        20.0,
        200.0,
        (1e-5, 0.05),
        1,
    )
    assert ARM.identify(log, parameter_set=parameters).verdict
    fit = ARM.identify(log, parameter_set=PARAMETERS)
    assert not fit.verdict
    assert [c.joints for c in fit.verdict.concerns if c.code == "coupled"] == [("j1", "j2")]


def test_recordings_that_ask_for_different_parameters_are_refused() -> None:
    heavier = THETA * np.where([name.startswith(("l2.m", "l2.I")) for name in PARAMETERS.names], 1.5, 1.0)
    loaded = simulated(PARAMETERS, heavier, 20.0, 200.0, (1e-5, 0.05), 2, 3)
    fit = fitted(LOG + loaded)
    assert not fit.verdict
    assert fit.verdict.has("recordings disagree")
    fit = fitted(LOG, validation=loaded)
    assert not fit.verdict
    assert fit.verdict.has("validation disagrees")


def test_recordings_of_different_rates_are_no_contradiction() -> None:
    slow = simulated(PARAMETERS, THETA, 10.0, 100.0, (1e-5, 0.05), 2, 3)
    assert not fitted(simulated(PARAMETERS, THETA, 40.0, 200.0, (1e-5, 0.05), 1) + slow).verdict.has("inconsistent logs")


def test_validation_that_is_not_predicted_refuses() -> None:
    fit = fitted(LOG, validation=changed(tau=-LOG.tau))
    assert not fit.verdict
    assert fit.verdict.has("validation")


def test_units_of_torque_are_told() -> None:
    fit = fitted(changed(tau=1000 * LOG.tau))
    assert fit.verdict.has("units")


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_units_are_told_by_inertia_where_no_weight_shows(unit: float) -> None:
    """A SCARA lifts by a slider only, whose weight is the same everywhere, like an offset."""
    scara = qddot.load("scara")
    parameters = ParameterSet.of(scara)
    theta = np.array([x * (0.05 if name.startswith("joint4") else 1.0) for name, x in zip(parameters.names, truth(parameters))])
    log = simulated(parameters, theta, 20.0, 200.0, (1e-6, 0.01), 1)
    verdict = scara.identify(changed(log, tau=unit * log.tau), parameter_set=parameters).verdict
    assert (not verdict, verdict.has("units")) == (unit != 1.0, unit != 1.0), verdict


@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_milliseconds_are_told(rate: float) -> None:
    log = simulated(PARAMETERS, THETA, 10.0, rate, (1e-5, 0.05), 1)
    assert fitted(changed(log, t=1000 * log.t)).verdict.concerns[0].code == "units"


def test_a_negative_gain_is_a_sign() -> None:
    (said, *_) = fitted(channel(2, -0.7 * LOG.tau[:, 2])).verdict.concerns
    assert (said.code, said.joints) == ("sign", ("j2",)), said


@pytest.mark.parametrize("seed", [0, 3])
def test_friction_of_joints_that_move_in_turn_is_no_load(seed: int) -> None:
    """Parameters of either part of such a log take in friction that the model lacks, but predict its other moves no better."""
    draw = np.random.default_rng(seed)
    t = np.arange(0, 40, 1 / 200)
    q, qd, qdd = np.zeros((3, len(t), 3))
    here = draw.uniform(-1, 1, 3)
    for k in range(40):  # a move of 0.8 s each second
        j, way, s = k % 3, draw.uniform(-1.2, 1.2) - here[k % 3], slice(200 * k, 200 * k + 200)
        x = np.clip((t[s] - k) / 0.8, 0, 1)
        q[s] = here
        q[s, j] += way * (10 * x**3 - 15 * x**4 + 6 * x**5)
        qd[s, j] = way / 0.8 * 30 * (x**2 - 2 * x**3 + x**4)
        qdd[s, j] = way / 0.64 * 60 * (x - 3 * x**2 + 2 * x**3)
        here[j] += way
    rough = ParameterSet.of(ARM, stribeck=0.3, load=True, asymmetric=True)
    size = {"stribeck": 3.0, "load": 0.1, "coulomb_negative": 4.0, "viscous_negative": 2.0}
    theta = truth(rough, seed) + [size.get(name.rpartition(".")[2], 0.0) for name in rough.names]
    tau = rough.carrying(theta).matrix(q, qd, qdd) @ theta + 0.05 * draw.normal(size=q.shape)
    fit = fitted(Log(t, q + 1e-6 * draw.normal(size=q.shape), tau, joint_names=ARM.joint_names))
    assert not list(from_then_on(Alternatives(fit.base, fit.estimate.theta, fit.signals).trial))


def test_positions_in_coarse_steps_hide_no_other_fault() -> None:
    coarse = changed(q=np.radians(np.round(np.degrees(LOG.q))))
    assert fitted(coarse).verdict.concerns[0].code == "rounded positions"
    assert fitted(changed(coarse, tau=LOG.tau * SIGNS)).verdict.concerns[0].code == "sign"
    fine = np.radians(np.round(4 * np.degrees(LOG.q)) / 4)  # a hundredth of the accelerations, which does no harm
    assert fitted(changed(q=fine)).verdict


def test_residuals_that_drift_make_intervals_wider() -> None:
    log = simulated(PARAMETERS, THETA, 40.0, 100.0, (1e-5, 0.05), 1)
    drifting = fitted(changed(log, tau=log.tau + np.cumsum(np.random.default_rng(0).normal(size=log.tau.shape), axis=0) / 10))
    assert drifting.estimate.memory > 1.3
    assert fitted(log).estimate.memory < 1.1


def test_closed_loops_and_columns_of_another_robot_are_refused() -> None:
    loop = qddot.load("four_bar")
    log = Log(LOG.t, np.tile(LOG.q[:, :1], loop.nv), np.tile(LOG.tau[:, :1], loop.nv))
    with pytest.raises(InputError, match="closed loops"):
        loop.identify(log)
    with pytest.raises(InputError, match="the parameters are of"):
        ARM.identify(LOG, parameter_set=ParameterSet.of(random_arm(1, 3)))


def test_a_rest_does_not_decide_about_the_filter() -> None:
    draw = np.random.default_rng(0)
    rest = changed(q=LOG.q[:1] + 1e-5 * draw.normal(size=LOG.q.shape), tau=LOG.tau[:1] + 0.05 * draw.normal(size=LOG.q.shape))
    alone = prepare(LOG).cutoff
    assert prepare(rest + LOG).cutoff == alone == prepare(LOG + rest).cutoff
    whole = changed(rest, t=LOG.t - LOG.t[-1] - 0.005), LOG
    assert next(stream(iter(whole))).cutoff == alone


# too little motion --------------------------------------------------------------------------------------------------------


def calmed(calm: np.ndarray) -> Log:
    """The motion of `LOG`, less of it where `calm` (N, nv) is below 1."""
    t, draw = LOG.t, np.random.default_rng(0)
    q = series(ARM, t)[0] * calm
    qd = np.gradient(q, t, axis=0, edge_order=2)
    tau = PARAMETERS.matrix(q, qd, np.gradient(qd, t, axis=0, edge_order=2)) @ THETA
    return changed(q=q, tau=tau + 0.05 * draw.normal(size=q.shape))


def test_a_log_whose_halves_do_not_predict_each_other_is_refused() -> None:
    fading = 0.5 - 0.5 * np.tanh((LOG.t - LOG.t[-1] / 2)[:, None] * 2.0)
    fit = fitted(calmed(np.where([False, True, True], fading, 1.0)))
    assert not fit.verdict
    assert fit.verdict.has("halves disagree"), fit.verdict
    good = fitted(LOG)
    assert np.all(unpredicted(good.estimate, good.factors, good.training.ends) < 0.01 * good.training.size)


def test_a_poor_motion_beside_a_rich_one_does_no_harm() -> None:
    poor = calmed(np.tile([1.0, 0.0, 0.0], (len(LOG.t), 1)))
    assert not fitted(poor).verdict
    assert fitted(LOG + poor).verdict, fitted(LOG + poor).verdict


def test_parameters_that_chance_would_make_known() -> None:
    estimate = fitted(LOG).estimate
    assert estimate.known.mean() > 0.8
    lost = replace(estimate, sandwich=1e8 * estimate.sandwich)
    assert lost.known.sum() < lost.by_chance < 0.2 * len(lost.theta)
    signals = prepare(LOG)
    assert verdict(lost.base, lost, MotionSummary.of([signals], signals)).has("known by chance")
    assert replace(estimate, theta=np.ones(69)).by_chance == 7  # 69 / 20, and the spread of it


def test_alternatives_that_do_not_predict_are_not_named() -> None:
    fit = fitted(late(4)[:300])  # 1.5 s: any freedom explains much of what is left
    assert not fit.verdict
    assert fit.verdict.has("insufficient excitation")
    assert all(found.unpredicted < 0.15 for found in Alternatives(fit.base, fit.estimate.theta, fit.signals).found)


# base parameters ----------------------------------------------------------------------------------------------------------


def test_a_geometry_that_is_rounded_has_the_same_base() -> None:
    """1.5708 for pi/2 makes axes that are not quite parallel."""
    arms = [qddot.from_dh([{"d": 0.1, "a": 0.3, "alpha": alpha, "theta": 0.0}] * 2 + [{"d": 0.2, "a": 0, "alpha": 0, "theta": 0}])
            for alpha in (np.pi / 2, 1.5708)]  # fmt: skip
    exact, rounded = (base_parameters(ParameterSet.of(arm)) for arm in arms)
    assert rounded.names == exact.names
    assert not exact.rounded
    assert rounded.condition < 1.1 * exact.condition


@pytest.mark.skipif(ROBOTS is None, reason="example-robot-data is not installed")
def test_a_rounded_description_is_told() -> None:
    assert ROBOTS is not None
    base = base_parameters(ParameterSet.of(qddot.load(ROBOTS / "xarm_description/urdf/xarm7.urdf")))
    assert base.rank == 69
    assert base.condition < 100
    assert list(base.rounded.values()) == [pytest.approx(4e-6, rel=0.5)]
    base_parameters(ParameterSet.of(qddot.load(ROBOTS / "bravo7_description/urdf/bravo7_no_ee.urdf")))


def test_priors_do_not_spoil_the_condition_of_the_data() -> None:
    plain, known = ARM.identify(LOG), ARM.identify(LOG, parameter_set=PARAMETERS.expect({"*.m": (None, 0.2)}))
    assert known.verdict, known.verdict
    assert known.base.rank > known.base.shown == plain.base.rank
    assert known.estimate.condition < 10 * plain.estimate.condition
    assert base_parameters(ParameterSet.of(qddot.load("two_link"), armature=False).expect({"*.m": (None, 0.05)})).rank > 0
    with pytest.raises(InputError, match="a finite number is needed"):
        PARAMETERS.fix({"*.m": np.nan})


def test_what_can_never_be_negative() -> None:
    base = base_parameters(PARAMETERS)
    sure = dict(zip(base.names, never_negative(base)))
    assert sure["j0.viscous"]
    assert not sure["j0.offset"]
    assert not any(flag for name, flag in sure.items() if name.endswith(("mcx", "Ixy", "Iyz")))
    draw = np.random.default_rng(0)
    for _ in range(20):  # any robot that can exist
        assert np.all((base.K @ (THETA * scales(PARAMETERS.names, draw)))[never_negative(base)] >= 0)


def scales(names: tuple[str, ...], draw: np.random.Generator) -> np.ndarray:
    """A positive factor for each link and drive."""
    factors = {owner: draw.uniform(0.1, 10) for owner in {name.rpartition(".")[0] for name in names}}
    return np.array([factors[name.rpartition(".")[0]] for name in names])


# real arms ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_recordings
def test_a_real_log_with_a_reversed_torque_is_refused() -> None:
    robot = qddot.load(RECORDINGS / "kuka_lwr4_flobaroid/kuka_lwr4_gaz.urdf")
    log = Log.load(RECORDINGS / "kuka_lwr4_flobaroid/measurements_1.npz", robot)
    fit = robot.identify(Log(log.t, log.q, log.tau * [1, 1, 1, 1, 1, 1, -1], joint_names=log.joint_names))
    assert not fit.verdict
    assert fit.verdict.has("sign")


GEN3 = RECORDINGS / "kinova_gen3"
SHORT = {
    "5 s": ("opti_traj_testing1",),
    "a tilt would only be more freedom": ("RecordTrajectory_quadratic",),
    "a rich motion and one of a single joint": ("opti_traj_testing1", "joint_2_trapez"),
    "three motions": ("opti_traj_testing1", "opti_traj_testing2", "RecordTrajectory_quadratic"),
}


@cache
def gen3() -> qddot.Robot:
    return qddot.load(GEN3 / "gen3.urdf")


@needs_recordings
@pytest.mark.parametrize(
    "files", [pytest.param(x, id=name, marks=[pytest.mark.slow] * (len(x) > 1 or name == "5 s")) for name, x in SHORT.items()]
)
def test_real_logs_that_are_too_short_for_their_parameters_are_refused(files: tuple[str, ...]) -> None:
    fit = gen3().identify([GEN3 / f"{name}.csv" for name in files])
    assert not fit.verdict
    assert fit.verdict.has("insufficient excitation"), fit.verdict


# logs that are streamed, or in another unit ----------------------------------------------------------------------


def test_torques_that_nothing_explains_are_refused_beyond_their_noise() -> None:
    push = 8.0 * np.sign(np.sin(2 * np.pi * 0.61 * LOG.t + 3 * np.sin(0.4 * LOG.t)))
    fit = fitted(channel(1, LOG.tau[:, 1] + push))
    assert 0.1 < fit.training.relative < 0.25
    assert not fit.verdict
    assert fit.verdict.has("beyond noise"), fit.verdict
    noisy = fitted(changed(tau=LOG.tau + 30.0 * np.random.default_rng(0).normal(size=LOG.tau.shape)))
    assert noisy.training.relative > 0.1
    assert not noisy.verdict.has("beyond noise")


SCARA = """
gravity = [0, 0, -9.81]
[[dh]]
name = "j1"
a = 0.4
d = 0.3
limits = [-2.5, 2.5]
inertia = {mass = 8.0, com = [-0.2, 0, 0.02], tensor = [0.02, 0.12, 0.12]}
[[dh]]
name = "j2"
a = 0.3
alpha = "pi"
limits = [-2.5, 2.5]
inertia = {mass = 4.0, com = [-0.15, 0.01, 0], tensor = [0.01, 0.04, 0.04]}
[[dh]]
name = "z"
type = "prismatic"
limits = [0.0, 0.3]
inertia = {mass = 1.5, com = [0, 0, -0.1], tensor = [0.004, 0.004, 0.001]}
[[dh]]
name = "tool"
limits = [-3.0, 3.0]
inertia = {mass = 0.7, com = [0.03, 0.01, 0.03], tensor = [0.001, 0.002, 0.0015]}
"""


def test_a_weight_that_is_always_the_same_is_no_unit(tmp_path: Path) -> None:
    (tmp_path / "scara.toml").write_text(SCARA)
    parameters = ParameterSet.of(qddot.load(tmp_path / "scara.toml"))
    for seed in range(3):
        log = simulated(parameters, truth(parameters), 20.0, 200.0, (1e-5, 0.05), seed, seed)
        assert not parameters.robot.identify(log, parameter_set=parameters).verdict.has("units")


def test_torques_in_another_unit_refuse() -> None:
    assert not fitted(changed(tau=1000 * LOG.tau)).verdict
    assert fitted(changed(tau=5 * LOG.tau)).verdict  # a rough description


def test_a_log_is_judged_as_a_whole_when_streamed(tmp_path: Path) -> None:
    """A long rest comes first, and says nothing of what follows."""
    draw = np.random.default_rng(0)
    rest = np.tile(LOG.q[:1], (2 * len(LOG), 1))
    still = np.zeros_like(rest)
    tau = PARAMETERS.matrix(rest, still, still) @ THETA + 0.05 * draw.normal(size=rest.shape)
    rest += 1e-5 * draw.normal(size=rest.shape)
    np.savez(tmp_path / "0.npz", t=np.arange(len(rest)) / 200, q=rest, tau=tau)
    np.savez(tmp_path / "1.npz", t=LOG.t, q=LOG.q, tau=LOG.tau)
    np.savez(tmp_path / "2.npz", t=OTHER.t, q=OTHER.q, tau=OTHER.tau)
    files = [tmp_path / f"{k}.npz" for k in range(3)]
    whole, streamed = fitted(Log.load(files, ARM)), fitted(Log.chunks(files, ARM, rows=4000))
    assert whole.verdict, whole.verdict
    assert streamed.verdict, streamed.verdict
    assert streamed.signals.cutoff == pytest.approx(whole.signals.cutoff, rel=0.2)
    assert streamed.training.relative == pytest.approx(whole.training.relative, rel=0.1)


@pytest.mark.slow
def test_faults_after_the_first_chunk_are_seen(tmp_path: Path) -> None:
    tau = OTHER.tau.copy()
    level = np.percentile(np.abs(tau[:, 1]), 85)
    tau[:, 1] = np.clip(tau[:, 1], -level, level)
    np.savez(tmp_path / "1.npz", t=LOG.t, q=LOG.q, tau=LOG.tau)
    np.savez(tmp_path / "2.npz", t=OTHER.t, q=OTHER.q, tau=tau)
    fit = fitted(Log.chunks([tmp_path / "1.npz", tmp_path / "2.npz"], ARM, rows=2000))
    assert fit.verdict.has("clipped torques"), fit.verdict


def test_a_streamed_log_says_how_long_it_is(tmp_path: Path) -> None:
    small = changed(q=LOG.q[:1] + 0.02 * (LOG.q - LOG.q[:1]))
    np.savez(tmp_path / "run.npz", t=small.t, q=small.q, tau=small.tau)
    for log in (small, Log.chunks(tmp_path / "run.npz", ARM, rows=1500)):
        seconds = re.search(r"in ([\d.]+) s, 3 joints", str(fitted(log).verdict))
        assert seconds
        assert float(seconds[1]) > 18  # of 20, less the filter's ends
