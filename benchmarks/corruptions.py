"""What goes wrong with logs of real arms, done to simulated ones: clocks, positions, torques, the description, the arm.

Each corruption has the names that a verdict may give it; one without names is tolerated: parameters must still be right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

import qddot
from qddot.identify import Log, ParameterSet, base_parameters
from qddot.model.friction import smooth_step
from qddot.robot import Robot
from robots import case

SECONDS, RATE = 20.0, 250.0
NOISE = (1e-5, 0.05)  # rad, N m
WELL_CONDITIONED = 100.0
STEP = 0.03  # rad/s, over which the simulated dry friction turns round

Torque = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class World(NamedTuple):
    """An arm, what is true of it, what is said of it, and a log of it.

    Attributes:
        robot: as it is.
        given: as it is described to whoever identifies it.
        parameter_set, theta: its parameters.
        more: torques (N, nv) beyond those of the parameters.
    """

    robot: Robot
    given: Robot
    parameter_set: ParameterSet
    theta: np.ndarray
    more: Torque | None
    log: Log
    draw: np.random.Generator

    def torque(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """The true torques (N, nv)."""
        tau = self.parameter_set.matrix(q, qd, qdd) @ self.theta + self.parameter_set.known_torque(q, qd, qdd)
        return tau if self.more is None else tau + self.more(q, qd, qdd)

    def motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The true motion of the log."""
        return series(self.robot, self.log.t, int(self.log.findings[0].message))

    def with_log(self, **arrays: np.ndarray) -> World:
        return self._replace(log=replace(self.log, **arrays))


Change = Callable[[World], World]


class Corruption(NamedTuple):
    """Attributes:
    change: what is done.
    names: of it, in a verdict; none where it is tolerated.
    planar: what it is besides in an arm of two parallel axes, the first level: its zero is the base's tilt, and a length is a
        rate, since gravity and inertia tell the one only by the other; so is a lean out of its plane, where gravity is weaker.
    physics: it is no fault of the log but a law that the simplest model lacks.
    """

    change: Change
    names: tuple[str, ...] = ()
    planar: tuple[str, ...] = ()
    physics: bool = False


def world(arm: str, seed: int) -> World:
    """A log of an arm: every seed has its motion, its friction and its noise."""
    if arm == "arm3":
        robot = sound_arm(seed)
    elif arm == "two_link":
        robot = qddot.load("two_link")
    else:
        robot = case(arm).robot
    parameter_set = ParameterSet.of(robot)
    theta = truth(parameter_set, seed)
    log = simulated(parameter_set, theta, SECONDS, RATE, NOISE, seed, motion=seed)
    note = qddot.logs.table.Finding("found", "motion", str(seed))
    return World(robot, robot, parameter_set, theta, None, replace(log, findings=(note,)), np.random.default_rng(1000 + seed))


def sound_arm(seed: int) -> Robot:
    """A random arm whose parameters some motion tells apart: axes that are nearly parallel are refused, and rightly."""
    for k in count(1000 * seed):
        robot = random_arm(k, 3)
        with suppress(qddot.QddotError):
            if base_parameters(ParameterSet.of(robot)).condition < WELL_CONDITIONED:
                return robot
    raise AssertionError("there is always another one")


# which joint ------------------------------------------------------------------------------------------------------------------


def loaded(w: World) -> int:
    """One of the joints that carry something: wrists that carry nothing show little of anything."""
    weight = np.std(w.robot.gravity_torque(w.log.q), axis=0)
    return int(w.draw.choice(np.flatnonzero(weight > 0.2 * weight.max())))


def inner(w: World) -> int:
    """One of the joints between others that carry something: the zero of the first is that of the base, and of the last that of
    its link, which nobody knows."""
    weight = np.std(w.robot.gravity_torque(w.log.q), axis=0)[1:-1]
    return 1 + int(w.draw.choice(np.flatnonzero(weight > 0.2 * weight.max()))) if len(weight) else 0


def busy(w: World) -> int:
    """One of the joints with much torque."""
    size = np.std(w.log.tau, axis=0)
    return int(w.draw.choice(np.flatnonzero(size > 0.2 * size.max())))


def one(w: World, j: int, value: float = 1.0, other: float = 0.0) -> np.ndarray:
    return np.where(np.arange(w.robot.nv) == j, value, other)


def on(w: World, j: int, f: Callable[[np.ndarray], np.ndarray]) -> World:
    tau = w.log.tau.copy()
    tau[:, j] = f(tau[:, j])
    return w.with_log(tau=tau)


# clocks and samples -----------------------------------------------------------------------------------------------------------


def jittered(w: World, share: float) -> World:
    return w.with_log(t=w.log.t + share / RATE * w.draw.uniform(-1, 1, len(w.log)))


def stamped_late(w: World) -> World:
    """Stamps of when a sample has been written, by a logger that has other things to do."""
    late = np.maximum.accumulate(w.log.t + w.draw.exponential(0.3, len(w.log)) / RATE)
    return w.with_log(t=late + 1e-6 * np.arange(len(late)) / RATE)


def kept(w: World, rows: np.ndarray) -> World:
    """Some rows, under a clock that ticks as if they were all."""
    log = w.log
    return w._replace(log=Log(np.arange(len(rows)) / RATE, log.q[rows], log.tau[rows], joint_names=log.joint_names))


def lost(w: World, share: float) -> World:
    return kept(w, np.flatnonzero(w.draw.random(len(w.log)) > share))


def doubled(w: World, share: float) -> World:
    return kept(w, np.repeat(np.arange(len(w.log)), np.where(w.draw.random(len(w.log)) < share, 2, 1)))


def burst(w: World, again: bool) -> World:
    """A tenth of a second that is missing, or written twice, three times in the log."""
    count, starts = int(0.1 * RATE), w.draw.integers(500, len(w.log) - 500, 3)
    times = np.ones(len(w.log), int)
    for start in starts:
        times[start : start + count] = 2 if again else 0
    rows = np.repeat(np.arange(len(w.log)), times)
    if again:  # as a block, not row by row
        pieces = np.split(np.arange(len(w.log)), np.sort(starts) + count)
        rows = np.concatenate([part if k == len(starts) else [*part, *part[-count:]] for k, part in enumerate(pieces)])
    return kept(w, rows)


def at_rate(w: World, rate: float) -> World:
    """A slower logger: every so manieth sample."""
    log, step = w.log, round(RATE / rate)
    return w._replace(log=Log(log.t[::step], log.q[::step], log.tau[::step], joint_names=log.joint_names, findings=log.findings))


def delayed(w: World, joints: slice | int, seconds: float, name: str = "tau") -> World:
    by, x = round(seconds * RATE), getattr(w.log, name)
    late = x[by:].copy()
    late[:, joints] = x[:-by, joints]
    rest = w.log[by:]
    return w._replace(log=replace(rest, **{name: late}))


def behind(w: World, seconds: float) -> World:
    """Torques of another moment of the cycle, or of another cycle; their noise stays."""
    then = series(w.robot, w.log.t - seconds, int(w.log.findings[0].message))
    return w.with_log(tau=w.log.tau + w.torque(*then) - w.torque(*w.motion()))


def slower_clock(w: World, share: float) -> World:
    t = w.log.t
    return w.with_log(tau=np.stack([np.interp((1 + share) * t, t, x) for x in w.log.tau.T], axis=1))


def low_passed(w: World, name: str, hertz: float) -> World:
    x = getattr(w.log, name)
    share, y = 1 - np.exp(-2 * np.pi * hertz / RATE), np.empty_like(x)
    y[0] = x[0]
    for k in range(1, len(x)):
        y[k] = y[k - 1] + share * (x[k] - y[k - 1])
    return w.with_log(**{name: y})


def with_pause(w: World) -> World:
    keep = (w.log.t < 8) | (w.log.t > 9.5)
    log = w.log
    return w._replace(log=Log(log.t[keep], log.q[keep], log.tau[keep], joint_names=log.joint_names))


def with_velocities(w: World, scale: float, hertz: float | None = None) -> World:
    _, qd, _ = w.motion()
    noisy = w.with_log(qd=scale * qd + 1e-3 * w.draw.normal(size=qd.shape))
    return low_passed(noisy, "qd", hertz) if hertz else noisy


# positions --------------------------------------------------------------------------------------------------------------------


def shifted(w: World, radians: float) -> World:
    return w.with_log(q=w.log.q + one(w, inner(w), radians))


def two_shifted(w: World, radians: float) -> World:
    """Zeros of the second and the third joint, one this way and one that; of an arm of two joints, the first one's."""
    off = np.zeros(w.robot.nv)
    off[[1, 2] if w.robot.nv > 2 else [0]] = [radians, -radians] if w.robot.nv > 2 else radians
    return w.with_log(q=w.log.q + off)


def scaled(w: World, joints: int | slice, factor: float) -> World:
    """Positions by another resolution of the encoder, another gear, gradians for degrees."""
    scale = np.ones(w.robot.nv)
    scale[joints] = factor
    return w.with_log(q=w.log.q * scale)


def rests(w: World, motion: bool, braked: bool = False) -> World:
    """One joint never moves, at a place of its own; or all stop for a second, three times, and friction holds what it likes, or
    brakes hold all and torques are nothing."""
    log, j = w.log, loaded(w)
    q, qd, qdd = w.motion()
    if motion:
        pace = np.ones(len(log))
        for start in (3.0, 8.0, 14.0):
            pace *= 1 - np.clip(np.minimum((log.t - start) / 0.5, (start + 2.0 - log.t) / 0.5), 0.0, 1.0)
        warped = np.concatenate([[0.0], np.cumsum((pace[1:] + pace[:-1]) / 2 / RATE)])
        at, rise = series(w.robot, warped, int(log.findings[0].message)), np.gradient(pace, 1 / RATE)[:, None]
        q, qd, qdd = at[0], at[1] * pace[:, None], at[2] * pace[:, None] ** 2 + at[1] * rise
    else:
        q, qd, qdd = (np.where(one(w, j) > 0, x, y) for x, y in ((q[:1], q), (0.0, qd), (0.0, qdd)))
    still = np.abs(qd) < 1e-9
    held = 0.5 * coulomb(w) * w.draw.uniform(-1, 1, w.robot.nv) * still
    noise = [size * w.draw.normal(size=q.shape) for size in NOISE]
    return w.with_log(q=q + noise[0], tau=np.where(braked & still, 0.0, w.torque(q, qd, qdd) + held) + noise[1])


def frozen(w: World, name: str) -> World:
    x, j, start = getattr(w.log, name).copy(), busy(w), int(w.draw.integers(1000, 3000))
    x[start : start + 250, j] = x[start, j]
    return w.with_log(**{name: x})


def stepped(w: World, radians: float) -> World:
    q = w.log.q.copy()
    q[int(w.draw.integers(1500, 3500)) :, loaded(w)] += radians
    return w.with_log(q=q)


def wrapped(w: World) -> World:
    j, q = loaded(w), w.log.q.copy()
    edge = np.median(q[:, j])
    q[:, j] = (q[:, j] - edge) % (2 * np.pi) + edge
    return w.with_log(q=q)


def play(x: np.ndarray, width: float) -> np.ndarray:
    """What follows a signal (N,) with play: it moves only where the signal pushes it."""
    y = np.empty_like(x)
    at = x[0]
    for k, value in enumerate(x):
        at = min(max(at, value - width), value + width)
        y[k] = at
    return y


def with_backlash(w: World, radians: float) -> World:
    """Positions of the motors, which turn round before their joints do."""
    _, qd, _ = w.motion()
    return w.with_log(q=w.log.q + radians / 2 * one(w, loaded(w)) * smooth_step(qd, STEP))


# torques ----------------------------------------------------------------------------------------------------------------------


def spiked(w: World) -> World:
    hit = w.draw.random(w.log.tau.shape) < 5e-4
    return w.with_log(tau=np.where(hit, w.log.tau + 8 * w.log.tau.std(axis=0) * w.draw.choice([-1, 1], hit.shape), w.log.tau))


def scattered(w: World, share: float, f: Callable[[np.ndarray], np.ndarray]) -> World:
    """Something happens to the torques of some rows, each by itself."""
    return w.with_log(tau=np.where(w.draw.random((len(w.log), 1)) < share, f(w.log.tau), w.log.tau))


def clipped(w: World, share: float) -> World:
    j = busy(w)
    top = np.quantile(np.abs(w.log.tau[:, j]), 1 - share)
    return on(w, j, lambda x: np.clip(x, -top, top))


def clipped_under_noise(w: World, share: float) -> World:
    """Clipped in the drive; its sensor adds a hundredth of the level."""
    j = busy(w)
    top = np.quantile(np.abs(w.log.tau[:, j]), 1 - share)
    return on(w, j, lambda x: np.clip(x, -top, top) + 0.01 * top * w.draw.normal(size=len(x)))


def exchanged(w: World, names: str) -> World:
    place = np.arange(w.robot.nv)
    i, j = w.draw.choice(min(w.robot.nv, 4), 2, replace=False)
    place[[i, j]] = j, i
    return w.with_log(**{name: getattr(w.log, name)[:, place] for name in names.split()})


def copied(w: World) -> World:
    """A channel that was mapped twice."""
    i, j = w.draw.choice(w.robot.nv, 2, replace=False)
    return on(w, int(i), lambda x: w.log.tau[:, j].copy())


def offset(w: World) -> World:
    j, theta = busy(w), w.theta.copy()
    size = float(np.std(w.log.tau[:, j]))
    theta[w.parameter_set.place(f"{w.robot.joint_names[j]}.offset")] += size
    return on(w, j, lambda x: x + size)._replace(theta=theta)


def in_currents(w: World) -> World:
    return w.with_log(tau=w.log.tau / w.draw.permutation(np.linspace(4, 25, w.robot.nv)))


def hysteretic(w: World) -> World:
    j = busy(w)
    true = w.torque(*w.motion())[:, j]
    return on(w, j, lambda x: x - true + play(true, 0.1 * np.std(true)))


def drifting(w: World) -> World:
    j = busy(w)
    return on(w, j, lambda x: x + 1.0 * np.std(x) * w.log.t / SECONDS)


def warming(w: World) -> World:
    """Friction of all joints that falls by a third while they warm."""
    gone = (1 - np.exp(-w.log.t / (SECONDS / 3)))[:, None] / 3
    _, qd, _ = w.motion()
    viscous = np.array([w.theta[w.parameter_set.place(f"{joint}.viscous")] for joint in w.robot.joint_names])
    return w.with_log(tau=w.log.tau - gone * (coulomb(w) * smooth_step(qd, STEP) + viscous * qd))


def noisy_for_a_while(w: World) -> World:
    some = (w.log.t > 11) & (w.log.t < 14)
    return w.with_log(tau=w.log.tau + 20 * NOISE[1] * some[:, None] * w.draw.normal(size=w.log.tau.shape))


def dragging(w: World) -> World:
    """A brake of any joint, for a fifth of the log, with a third of its torque."""
    j, start = int(w.draw.integers(w.robot.nv)), w.draw.uniform(3, 13)
    while_on = (w.log.t > start) & (w.log.t < start + 0.2 * SECONDS)
    return on(w, j, lambda x: x + while_on * 0.5 * np.std(x) * smooth_step(w.motion()[1][:, j], STEP))


def sliding_less(w: World) -> World:
    """Friction of a joint falls by 60 % at some time."""
    j, since = busy(w), w.log.t > w.draw.uniform(6, 14)
    name = w.robot.joint_names[j]
    qd, (viscous, dry) = w.motion()[1][:, j], (w.theta[w.parameter_set.place(f"{name}.{kind}")] for kind in ("viscous", "coulomb"))
    return on(w, j, lambda x: x - 0.6 * since * (viscous * qd + dry * smooth_step(qd, STEP)))


def weaker(w: World, joints: slice | int) -> World:
    """Torques that are a tenth smaller from some time on, or more and more: magnets that warm."""
    tau, t = w.log.tau.copy(), w.log.t
    less = np.where(t > w.draw.uniform(6, 14), 0.9, 1.0) if isinstance(joints, int) else 1 - 0.1 * (1 - np.exp(-t / 8))
    tau[:, joints] = (tau[:, joints].T * less).T
    return w.with_log(tau=tau)


def humming(w: World) -> World:
    return w.with_log(tau=w.log.tau + 0.5 * np.sin(2 * np.pi * 50 * w.log.t)[:, None])


# the arm and its description --------------------------------------------------------------------------------------------------


def carrying(w: World, since: float) -> World:
    """A load at the tip, a third of the arm's weight, from a share of the log on."""
    tip = max(w.robot.body_names, key=lambda name: w.robot.model.mechanism.frames[name][0])
    mass = 0.3 * sum(float(link.inertia.mass) for link in w.robot.model.links if link.inertia)
    heavy = w.robot.with_payload(mass, com=(0.02, 0.03, 0.05), frame=tip)
    extra = lambda q, qd, qdd: (  # noqa: E731
        heavy.inverse_dynamics(q, qd, qdd) - w.robot.inverse_dynamics(q, qd, qdd)
    )
    on = (w.log.t >= since * SECONDS)[:, None]
    more = extra if since == 0 else None
    return w._replace(more=more, log=replace(w.log, tau=w.log.tau + on * extra(*w.motion())))


def bumped(w: World) -> World:
    """Six short knocks, each from any side."""
    tau, size = w.log.tau.copy(), w.log.tau.std(axis=0)
    for middle in w.draw.uniform(2, 18, 6):
        tau += size * w.draw.choice([-1, 1], w.robot.nv) * np.exp(-(((w.log.t - middle) / 0.15) ** 2))[:, None]
    return w.with_log(tau=tau)


def touched(w: World) -> World:
    push = 3 * w.log.tau.std(axis=0) * np.exp(-(((w.log.t - w.draw.uniform(5, 15)) / 0.7) ** 2))[:, None]
    return w.with_log(tau=w.log.tau + push)


def with_two_tools(w: World) -> World:
    """Two recordings, in the second of which the arm carries something else."""
    half, loaded = len(w.log) // 2, carrying(w, 0.0).log
    return w._replace(log=w.log[:half] + loaded[half:])


def cable(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """A hose that pulls a joint back the more the further it goes one way."""
    j = int(np.argmax(np.std(w.robot.gravity_torque(w.log.q), axis=0)))
    reach = np.maximum(q[:, j] - w.log.q[:, j].mean(), 0.0) / np.std(w.log.q[:, j])
    return one(w, j) * 0.1 * np.std(w.log.tau[:, j]) * reach[:, None] ** 2


def hung(w: World, gravity: Callable[[np.ndarray], np.ndarray]) -> World:
    """The arm's own gravity is another one than described."""
    down = np.array([float(x) for x in w.robot.model.gravity])
    hung = w.robot.with_gravity(tuple(gravity(down)))
    parameter_set = ParameterSet.of(hung)
    tau = w.log.tau + (parameter_set.matrix(*w.motion()) - w.parameter_set.matrix(*w.motion())) @ w.theta
    return w._replace(robot=hung, parameter_set=parameter_set, log=replace(w.log, tau=tau))


def leaning(down: np.ndarray, degrees: float) -> np.ndarray:
    aside = np.linalg.svd(down[None])[2][1] * np.linalg.norm(down)
    return np.cos(np.radians(degrees)) * down + np.sin(np.radians(degrees)) * aside


def misdrawn(w: World, share: float) -> World:
    """The description has a link of another length: that of the longest, between two joints."""
    joints = w.robot.model.joints
    before = {joint.name: next((one for one in joints if one.child == joint.parent), None) for joint in joints}
    inner = [joint for joint in joints if before[joint.name] is not None]
    reach = lambda pose: [float(x) for x in pose.p]  # noqa: E731
    longest = max(inner, key=lambda joint: float(np.linalg.norm([*reach(joint.origin), *reach(before[joint.name].tip)])))

    def longer(pose: Any) -> Any:
        return pose._replace(p=type(pose.p)(*((1 + share) * x for x in reach(pose))))

    changed = [replace(joint, origin=longer(joint.origin)) if joint is longest else joint for joint in joints]
    changed = [replace(joint, tip=longer(joint.tip)) if joint.name == before[longest.name].name else joint for joint in changed]
    return w._replace(given=Robot(w.robot.model.copy(joints=changed)))


def resisted(w: World, law: Callable[[World, np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> World:
    """A friction, or a spring, that the simplest model lacks."""
    frozen = w

    def more(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return law(frozen, q, qd, qdd)

    return w._replace(more=more, log=replace(w.log, tau=w.log.tau + more(*w.motion())))


def coulomb(w: World) -> np.ndarray:
    return np.array([w.theta[w.parameter_set.place(f"{joint}.coulomb")] for joint in w.robot.joint_names])


def stribeck(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    usual = 0.2 * float(np.median(np.std(w.motion()[1], axis=0)))
    return 0.8 * coulomb(w) * smooth_step(qd, STEP) / (1 + (qd / usual) ** 2)


def by_load(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    still = {"viscous", "coulomb", "offset"}
    kinds = [name.rpartition(".")[2] not in still for name in w.parameter_set.names]
    load = w.parameter_set.matrix(q, qd, qdd)[..., kinds] @ w.theta[kinds]
    return 0.15 * np.abs(load) * smooth_step(qd, STEP)


def asymmetric(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    return 0.5 * coulomb(w) * smooth_step(qd, STEP) * (qd > 0)


def slowly(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    return coulomb(w) * (2 / np.pi * np.arctan(np.pi / 2 * qd / STEP) - smooth_step(qd, STEP))


def in_no_time(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    return coulomb(w) * (np.sign(qd) - smooth_step(qd, STEP))


def widely(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    return coulomb(w) * (np.tanh(qd / (5 * STEP)) - smooth_step(qd, STEP))


def cubic(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    return coulomb(w) * (qd / w.motion()[1].std(axis=0)) ** 3 / 3


def spring(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    weight = np.std(w.robot.gravity_torque(w.log.q), axis=0)
    j = int(np.argmax(weight))
    return one(w, j) * 0.5 * weight[j] * (q - w.log.q.mean(axis=0)) / np.std(w.log.q[:, j])


def cogging(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    return 0.5 * coulomb(w) * np.cos(7 * q + 1.0)


def coupled(w: World, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """A motor that turns with the sum of the last two joints."""
    i, j = w.robot.nv - 2, w.robot.nv - 1
    both = np.zeros_like(q)
    size = np.std(w.log.tau[:, [i, j]]) / np.std(qdd[:, [i, j]])
    both[:, i], both[:, j] = (0.3 * size * qdd[:, k] + 0.5 * coulomb(w)[i] * smooth_step(qd[:, i] + qd[:, j], STEP) for k in (j, i))
    return both


ALL = slice(None)
CORRUPTIONS: dict[str, Corruption] = {
    "clean": Corruption(lambda w: w),
    # tolerated
    "jitter 1 %": Corruption(lambda w: jittered(w, 0.01)),
    "jitter 20 %": Corruption(lambda w: jittered(w, 0.2)),
    "stamps late by chance": Corruption(stamped_late),
    "a pause of 1.5 s": Corruption(with_pause),
    "torque spikes 0.05 %": Corruption(spiked),
    "torques tenfold 2 %": Corruption(lambda w: scattered(w, 0.02, lambda x: 10 * x)),
    "torques zero 5 %": Corruption(lambda w: scattered(w, 0.05, lambda x: 0 * x)),
    "torques rounded": Corruption(lambda w: w.with_log(tau=np.round(w.log.tau, 1))),
    "positions of 16 bits": Corruption(lambda w: w.with_log(q=np.round(w.log.q * 2**16 / 6.4) * 6.4 / 2**16)),
    "noise for 3 s": Corruption(noisy_for_a_while),
    "hum of 50 Hz": Corruption(humming),
    "offset of a torque": Corruption(offset),
    "payload all along": Corruption(lambda w: carrying(w, 0.0)),
    "torques 0.5 ms late": Corruption(lambda w: behind(w, 5e-4)),
    "torques a cycle early": Corruption(lambda w: behind(w, -1 / RATE)),
    "velocities late": Corruption(lambda w: with_velocities(w, 1.0, 5.0)),
    "velocities in rpm": Corruption(lambda w: with_velocities(w, 30 / np.pi)),
    "Stribeck's curve": Corruption(lambda w: resisted(w, stribeck), physics=True),
    "friction by load": Corruption(lambda w: resisted(w, by_load), physics=True),
    "friction by direction": Corruption(lambda w: resisted(w, asymmetric), physics=True),
    "viscous, cubic": Corruption(lambda w: resisted(w, cubic), physics=True),
    "a spring": Corruption(lambda w: resisted(w, spring), physics=True),
    "cogging": Corruption(lambda w: resisted(w, cogging), physics=True),
    "velocities in deg/s": Corruption(lambda w: with_velocities(w, 180 / np.pi)),
    "velocities saturated": Corruption(
        lambda w: (lambda v: v.with_log(qd=np.clip(v.log.qd, *np.quantile(v.log.qd, (0.1, 0.9)))))(with_velocities(w, 1.0))
    ),
    "log of 50 Hz": Corruption(lambda w: at_rate(w, 50.0)),
    "stops of 1 s": Corruption(lambda w: rests(w, True)),
    "brakes at stops": Corruption(lambda w: rests(w, True, braked=True)),
    "friction as sign": Corruption(lambda w: resisted(w, in_no_time), physics=True),
    "friction as wide tanh": Corruption(lambda w: resisted(w, widely), physics=True),
    "friction as arctan": Corruption(lambda w: resisted(w, slowly), physics=True),
    "a cable pulls": Corruption(lambda w: resisted(w, cable), physics=True),
    # to be named
    "brakes, and a gain of 1.3": Corruption(lambda w: on(rests(w, True, braked=True), busy(w), lambda x: 1.3 * x), ("gain",)),
    "brakes, and 20 ms late": Corruption(lambda w: delayed(rests(w, True, braked=True), ALL, 0.02), ("delay",)),
    "zeros of two joints": Corruption(lambda w: two_shifted(w, 0.15), ("zero",), ("tilt",)),
    "a zero and a gain": Corruption(lambda w: on(shifted(w, 0.1), busy(w), lambda x: 1.15 * x), ("zero", "gain"), ("tilt",)),
    "all torques negated": Corruption(lambda w: w.with_log(tau=-w.log.tau), ("sign",)),
    "joints from tip to base": Corruption(lambda w: w.with_log(q=w.log.q[:, ::-1], tau=w.log.tau[:, ::-1]), ("order",)),
    "torques of three in a circle": Corruption(
        lambda w: w.with_log(tau=w.log.tau[:, [1, 2, 0, *range(3, w.robot.nv)] if w.robot.nv > 2 else [1, 0]]), ("order",)
    ),
    "six knocks": Corruption(bumped, ("contact",)),
    "angles of a joint 11 % large": Corruption(lambda w: scaled(w, loaded(w), 1.11), ("scale",)),
    "angles of a joint 5 % small": Corruption(lambda w: scaled(w, loaded(w), 0.95), ("scale",)),
    "all angles 11 % large": Corruption(lambda w: scaled(w, ALL, 1.11), ("scale",)),
    "all in gradians": Corruption(lambda w: scaled(w, ALL, 200 / np.pi), ("units",)),
    "microseconds": Corruption(lambda w: w.with_log(t=1e6 * w.log.t), ("units",)),
    "clock of all 10 % off": Corruption(lambda w: w.with_log(t=1.1 * w.log.t), ("clock",), ("geometry", "tilt")),
    "sign of a position": Corruption(lambda w: scaled(w, loaded(w), -1.0), ("sign",)),
    "positions exchanged": Corruption(lambda w: exchanged(w, "q"), ("order",)),
    "gears forgotten of two": Corruption(
        lambda w: w.with_log(tau=w.log.tau / np.where(np.arange(w.robot.nv) < w.robot.nv - 1, 80.0, 1.0)), ("gain", "units")
    ),
    "torques 30 ms early": Corruption(lambda w: w._replace(log=replace(w.log[:-8], tau=w.log.tau[8:])), ("delay",)),
    "torques through 10 Hz": Corruption(lambda w: low_passed(w, "tau", 10.0), ("delay",)),
    "friction that warms": Corruption(warming, ("warming",)),
    "two tools": Corruption(with_two_tools, ("inconsistent logs", "load")),
    "all in turns": Corruption(lambda w: scaled(w, ALL, 1 / (2 * np.pi)), ("units",)),
    "all positions negated": Corruption(lambda w: w.with_log(q=-w.log.q), ("sign",)),
    "positions one column off": Corruption(lambda w: w.with_log(q=np.roll(w.log.q, 1, axis=1)), ("order",)),
    "a torque copied": Corruption(copied, ("copied channel",)),
    "base tilted 25 degrees": Corruption(lambda w: hung(w, lambda g: leaning(g, 25.0)), ("tilt",), ("zero",)),
    "gravity upwards": Corruption(lambda w: hung(w, np.negative), ("gravity",)),
    "bursts lost": Corruption(lambda w: burst(w, False), ("lost samples",)),
    "bursts twice": Corruption(lambda w: burst(w, True), ("repeated samples",)),
    "one joint rests": Corruption(lambda w: rests(w, False), ("insufficient excitation",)),
    "a second of log": Corruption(lambda w: w._replace(log=w.log[1000:1250]), ("insufficient excitation", "coloured residuals")),
    "sign of a torque": Corruption(lambda w: on(w, busy(w), np.negative), ("sign",)),
    "axis reversed": Corruption(
        lambda w: (lambda s: w.with_log(q=s * w.log.q, tau=s * w.log.tau))(one(w, loaded(w), -1.0, 1.0)), ("axis",)
    ),
    "joints exchanged": Corruption(lambda w: exchanged(w, "q tau"), ("order",)),
    "torques exchanged": Corruption(lambda w: exchanged(w, "tau"), ("order",)),
    "torques one column off": Corruption(lambda w: w.with_log(tau=np.roll(w.log.tau, 1, axis=1)), ("order",)),
    "all torques 20 ms late": Corruption(lambda w: delayed(w, ALL, 0.02), ("delay",)),
    "one torque 100 ms late": Corruption(lambda w: delayed(w, busy(w), 0.1), ("delay",)),
    "positions 20 ms late": Corruption(lambda w: delayed(w, ALL, 0.02, "q"), ("delay",)),
    "torques through 3 Hz": Corruption(lambda w: low_passed(w, "tau", 3.0), ("delay",)),
    "clock of torques 0.3 % off": Corruption(lambda w: slower_clock(w, 0.003), ("clock",)),
    "time reversed": Corruption(lambda w: w.with_log(q=w.log.q[::-1], tau=w.log.tau[::-1]), ("time",)),
    "samples lost 2 %": Corruption(lambda w: lost(w, 0.02), ("lost samples",)),
    "samples lost 10 %": Corruption(lambda w: lost(w, 0.1), ("lost samples",)),
    "samples twice 2 %": Corruption(lambda w: doubled(w, 0.02), ("repeated samples",)),
    "milliseconds": Corruption(lambda w: w.with_log(t=1000 * w.log.t), ("units",)),
    "degrees": Corruption(lambda w: w.with_log(q=np.degrees(w.log.q)), ("units",)),
    "one joint in degrees": Corruption(lambda w: w.with_log(q=w.log.q * one(w, loaded(w), 180 / np.pi, 1.0)), ("units",)),
    "zero off 0.2 rad": Corruption(lambda w: shifted(w, 0.2), ("zero",), ("tilt",)),
    "zero off 5 degrees": Corruption(lambda w: shifted(w, -np.radians(5)), ("zero",), ("tilt",)),
    "frozen position": Corruption(lambda w: frozen(w, "q"), ("frozen channel",)),
    "position step 0.5 rad": Corruption(lambda w: stepped(w, 0.5), ("position step",)),
    "position step 0.03 rad": Corruption(lambda w: stepped(w, 0.03), ("position step",)),
    "encoder wraps": Corruption(wrapped, ("position step",)),
    "positions to 1 degree": Corruption(lambda w: w.with_log(q=np.radians(np.round(np.degrees(w.log.q)))), ("rounded positions",)),
    "positions to 0.1 degrees": Corruption(lambda w: w.with_log(q=np.radians(np.round(np.degrees(w.log.q), 1)))),
    "backlash of 1 degree": Corruption(lambda w: with_backlash(w, np.radians(1)), ("backlash",)),
    "torques in N mm": Corruption(lambda w: w.with_log(tau=1000 * w.log.tau), ("units",)),
    "torques in kN m": Corruption(lambda w: w.with_log(tau=w.log.tau / 1000), ("units",)),
    "currents": Corruption(in_currents, ("gain", "units")),
    "gain of a joint 1.3": Corruption(lambda w: on(w, busy(w), lambda x: 1.3 * x), ("gain",)),
    "gear ratio forgotten": Corruption(lambda w: on(w, busy(w), lambda x: x / 100), ("gain", "units")),
    "dead channel": Corruption(lambda w: on(w, busy(w), lambda x: 0 * x), ("dead channel",)),
    "frozen torque": Corruption(lambda w: frozen(w, "tau"), ("frozen channel",)),
    "torques zero 20 %": Corruption(lambda w: scattered(w, 0.2, lambda x: 0 * x), ("bad samples",)),
    "clipped 20 %": Corruption(lambda w: clipped(w, 0.2), ("clipped torques",)),
    "clipped 20 %, jitter 1 %": Corruption(lambda w: jittered(clipped(w, 0.2), 0.01), ("clipped torques",)),
    "clipped 15 %, then noise": Corruption(lambda w: clipped_under_noise(w, 0.15), ("clipped torques",)),
    "clipped 5 %": Corruption(lambda w: clipped(w, 0.05), ("clipped torques",)),
    "hysteresis": Corruption(hysteretic, ("hysteresis",)),
    "drift of a torque": Corruption(drifting, ("drift",)),
    "brake for 4 s": Corruption(dragging, ("brake",)),
    "friction less from some time": Corruption(sliding_less, ("friction changes",)),
    "torque of a joint less": Corruption(lambda w: weaker(w, busy(w)), ("gain changes",)),
    "torques less and less": Corruption(lambda w: weaker(w, ALL), ("gain changes",)),
    "contact of 2 s": Corruption(touched, ("contact",)),
    "load from halfway": Corruption(lambda w: carrying(w, 0.5), ("load",)),
    "no gravity": Corruption(lambda w: w.with_log(tau=w.log.tau - w.robot.gravity_torque(w.motion()[0])), ("gravity",)),
    "arm on a wall": Corruption(lambda w: hung(w, lambda g: leaning(g, 90.0)), ("gravity",)),
    "base tilted 8 degrees": Corruption(lambda w: hung(w, lambda g: leaning(g, 8.0)), ("tilt",), ("zero",)),
    "link length 10 % off": Corruption(lambda w: misdrawn(w, 0.1), ("geometry",), ("clock",)),
    "motors coupled": Corruption(lambda w: resisted(w, coupled), ("coupled",)),
}
