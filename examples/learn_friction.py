"""Friction learnt from a recording by gradient descent through rollouts, with PyTorch.

    python examples/learn_friction.py

The viscous and the smoothed Coulomb friction of every joint of a Puma, and the load it carries, are variables of the robot. Short
rollouts start on the recording; Adam turns the numbers until they end as fast as the recording. That is simulated, with noise, by
an arm with other numbers, so that one sees how close they come.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

import qddot
import qddot.rollout

STEP, WINDOW, SECONDS = 0.005, 40, 8.0
SMOOTH = 0.05  # rad/s


def arm() -> qddot.Robot:
    """A Puma with friction as a data sheet might have it: none of it is right."""
    model = qddot.load("puma560").model
    friction = {"viscous": 2.0, "coulomb": 3.0, "smoothing_velocity": SMOOTH, "side": "joint"}
    robot = qddot.Robot(model.copy(joints=[replace(joint, drive=replace(joint.drive, **friction)) for joint in model.joints]))
    return robot.with_variable("payload", *(f"{joint}.{what}" for what in ("viscous", "coulomb") for joint in robot.joint_names))


def recording(robot: qddot.Robot, truth: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, speeds (samples, 6) and torques (samples - 1, 6) of a motion about a bent pose."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, SECONDS, STEP)
    waves = sum(np.sin(2 * np.pi * f * t[:, None] + rng.uniform(0, 6, 6)) * rng.uniform(0.2, 0.6, 6) for f in (0.3, 0.7, 1.1))
    pose = np.array([0.0, 0.8, -0.5, 0.0, 0.6, 0.0])
    hold = robot.rollout(qddot.rollout.PDLaw(kp=200, kd=20), step=STEP, stops=False, saturate=False)
    q, qd = hold(pose, None, pose + waves, variables=truth)
    tau = robot.gravity_torque(q[:-1]) + 200 * (pose + waves - q[:-1]) - 20 * qd[:-1]
    return q + 1e-5 * rng.normal(size=q.shape), qd + 1e-3 * rng.normal(size=qd.shape), tau


def learn(rounds: int = 300) -> dict[str, np.ndarray]:
    """The numbers that were looked for, found, and described, and the loss of each round."""
    torch.manual_seed(0)
    robot = arm()
    described = np.concatenate([np.atleast_1d(x) for x in robot.variables.values()])
    rng = np.random.default_rng(1)
    truth = np.concatenate([[1.5], rng.uniform(1.0, 4.0, 6), rng.uniform(1.0, 6.0, 6)])
    q, qd, tau = (torch.from_numpy(x) for x in recording(robot, truth))
    run = robot.rollout(step=STEP, stops=False, saturate=False)
    starts = torch.arange(0, len(tau) - WINDOW, WINDOW // 2)
    along = starts[None] + torch.arange(WINDOW)[:, None]
    ends = along[-1] + 1
    raw = torch.from_numpy(described).clone().requires_grad_()
    adam, losses = torch.optim.Adam([raw], lr=0.1), []
    for _ in range(rounds):
        adam.zero_grad()
        states = run(q[starts], qd[starts], tau[along], every=WINDOW, variables=raw)
        loss = torch.nn.functional.mse_loss(states.qd[-1], qd[ends])
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return {"truth": truth, "found": raw.detach().numpy(), "described": described, "loss": np.array(losses)}


def main() -> None:
    result = learn()
    names = list(arm().variables)
    print(f"{'':18s}{'described':>10s}{'learnt':>10s}{'true':>10s}")
    for name, a, b, c in zip(names, result["described"], result["found"], result["truth"]):
        print(f"{name:18s}{a:10.3f}{b:10.3f}{c:10.3f}")
    print(f"loss {result['loss'][0]:.3g} -> {result['loss'][-1]:.3g} in {len(result['loss'])} rounds")


if __name__ == "__main__":
    main()
