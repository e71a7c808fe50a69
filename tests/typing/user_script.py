# pyright: strict
"""What a user writes, under the strictest rules of a type checker: every public result has a type."""

from pathlib import Path

import numpy as np

import qddot
from qddot.control import PD, Hold
from qddot.identify import Fit, Log, ParameterSet
from qddot.rollout import PDLaw


def dynamics(robot: qddot.Robot) -> float:
    q, qd, qdd = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, qd, qdd)
    M = robot.mass_matrix(q)
    limits = robot.limits
    names: tuple[str, ...] = robot.joint_names
    print(names, limits.upper, robot.kinetic_energy(q, qd), robot.transform(q), robot.jacobian(q))
    return float(tau.sum() + M[0, 0])


def on_paper(robot: qddot.Robot) -> str:
    equations = robot.equations()
    return str(equations.M) + equations.tau.latex() + str(robot.properties())


def motion(robot: qddot.Robot, folder: Path) -> int:
    law = PD(robot, Hold(robot.neutral()), kp=20.0, kd=5.0)
    found = robot.simulate(robot.neutral(), None, 0.1, torque=law)
    found.to_csv(folder / "run.csv")
    run = robot.rollout(PDLaw(kp=20.0, kd=5.0), step=1e-3)
    states = run(robot.neutral(), None, robot.neutral(), steps=10)
    return len(found.t) + len(states.q)


def identified(robot: qddot.Robot, path: Path) -> Fit:
    log = Log.load(path, robot)
    fit = robot.identify(log, parameter_set=ParameterSet.of(robot, armature=False))
    for concern in fit.verdict.concerns:
        print(concern.code, concern.joints, concern.text)
    value: float = next(iter(fit.parameters.values()))
    print(value, fit.robot.name)
    return fit


if __name__ == "__main__":
    arm = qddot.load("two_link")
    print(dynamics(arm), on_paper(arm), motion(arm, Path()), identified(arm, Path("run.csv")))
