"""A reach by model-predictive path integral control: each step draws thousands of sequences of joint targets around the best one so
far, rolls all of them out, and takes their mean, weighted by what they cost (Williams, Aldrich and Theodorou 2017).

    python examples/mppi_on_gpu.py                     arm7, 1,024 samples on the CPU
    python examples/mppi_on_gpu.py panda.urdf 65536    on a GPU, where there is one

Needs PyTorch. Rollouts and poses are computed where its tensors are.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import torch

import qddot
from qddot.rollout import PDLaw

STEP, HOLD, HORIZON = 2e-3, 10, 16
"""s; steps for which a target is held; targets ahead: 0.32 s."""

SPREAD, TEMPERATURE = 0.15, 0.02
"""rad, of the targets drawn; m, of cost that makes a sample e times less important."""


class Reach:
    """Plans joint targets for a PD law so that the tip comes to a place.

    Args:
        frame: of the tip.
        goal: where, m (3,).
        samples: sequences drawn for each step.
    """

    def __init__(self, robot: qddot.Robot, frame: str, goal: np.ndarray, samples: int, device: str) -> None:
        self.robot, self.frame, self.samples = robot, frame, samples
        self.run = robot.rollout(PDLaw(kp=200, kd=30), step=STEP, stops=False)
        put = lambda x: torch.as_tensor(x, dtype=torch.float32, device=device)  # noqa: E731
        self.goal, self.lower, self.upper = put(goal), put(robot.limits.lower), put(robot.limits.upper)
        self.draw = torch.Generator(device).manual_seed(0)
        self.targets: torch.Tensor | None = None

    def plan(self, q: torch.Tensor, qd: torch.Tensor) -> torch.Tensor:
        """The target (nv) for the next HOLD steps."""
        mean = q.expand(HORIZON, -1).clone() if self.targets is None else torch.cat([self.targets[1:], self.targets[-1:]])
        noise = SPREAD * torch.randn((HORIZON, self.samples, len(q)), generator=self.draw, device=q.device)
        targets = torch.minimum(torch.maximum(mean[:, None] + noise.cumsum(0), self.lower), self.upper)
        places, speeds = self.run(q, qd, targets.repeat_interleave(HOLD, 0), every=HOLD, check=False)
        tips = self.robot.transform(places[1:], self.frame)[..., :3, 3]
        cost = (tips - self.goal).norm(dim=-1).mean(0) + 0.002 * speeds[1:].square().sum(-1).mean(0)
        weights = torch.softmax(-cost.nan_to_num(torch.inf) / TEMPERATURE, 0)
        self.targets = (weights[:, None] * targets).sum(1)
        return self.targets[0]


def main(path: str = "arm7", samples: int = 1024, seconds: float = 2.0) -> float:
    """How far from its goal the tip is in the end, m."""
    warnings.simplefilter("ignore")
    robot = qddot.load(path)
    fingers = {name: 0.0 for name in robot.joint_names if "finger" in name}
    robot = robot.with_locked(fingers) if fingers else robot
    device = "cuda" if torch.cuda.is_available() else "cpu"
    centre = (robot.limits.lower + robot.limits.upper) / 2
    frame = robot.frame_names[-1]
    goal = robot.transform(centre + 0.5, frame)[:3, 3]
    reach = Reach(robot, frame, goal, samples, device)
    q, qd = (torch.tensor(x, dtype=torch.float32, device=device) for x in (centre, 0 * centre))
    taken = []
    for _ in range(round(seconds / (HOLD * STEP))):
        began = time.perf_counter()
        target = reach.plan(q, qd)
        after = reach.run(q, qd, target, steps=HOLD, every=HOLD)
        q, qd = after.q[-1], after.qd[-1]
        taken.append(time.perf_counter() - began)
    distance = float((robot.transform(q, frame)[:3, 3] - reach.goal).norm())
    print(
        f"{robot.name} on {device}, {samples} samples of {HORIZON * HOLD} steps: {1e3 * np.median(taken):.2f} ms a step, "
        f"{1e3 * distance:.1f} mm from its goal after {seconds:g} s"
    )
    return distance


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
