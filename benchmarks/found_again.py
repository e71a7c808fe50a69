"""How well the parameters of a simulated Panda are found again, from a motion made by `robot.excitation`: 40 s at 1 kHz.

    python benchmarks/found_again.py

The truth has rotors and friction, whose law is not told to the fit. Errors are relative: of links and rotors as a whole and their
median one by one, of friction the worst, of torques along another motion, from the true motion and through the filter.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings

import numpy as np

from qddot.identify import Excitation, Log, ParameterSet
from robots import case

warnings.simplefilter("ignore")
SIZE = {"viscous": 2.0, "coulomb": 3.0, "offset": 0.3, "armature": 0.3}


def recorded(parameters: ParameterSet, theta: np.ndarray, motion: Excitation, noise: tuple[float, float]) -> Log:
    t, q, qd, qdd = motion.sample(1000.0)
    draw = np.random.default_rng(1)
    tau = parameters.matrix(q, qd, qdd) @ theta + noise[1] * draw.normal(size=q.shape)
    return Log(t, q + noise[0] * draw.normal(size=q.shape), tau, joint_names=parameters.robot.joint_names)


def main() -> None:
    robot = case("panda").robot
    how = {"acceleration": 10.0, "starts": 1, "friction": ("viscous", "coulomb", "offset")}
    motion, other = robot.excitation(period=9.0, periods=4, **how), robot.excitation(period=11.0, seed=7, iterations=10, **how)
    print(motion)
    parameters, draw = ParameterSet.of(robot), np.random.default_rng(0)
    kinds = [name.rpartition(".")[2] for name in parameters.names]
    theta = np.array([SIZE[k] * draw.uniform(0.5, 1.5) if k in SIZE else x for k, x in zip(kinds, parameters.described)])
    _, q, qd, qdd = other.sample(1000.0)
    tau = parameters.matrix(q, qd, qdd) @ theta
    print("position, torque noise | links and rotors | median of them | friction, worst | torque | torque, filtered")
    for noise in ((1e-5, 0.1), (1e-4, 0.5)):
        fit = robot.identify(recorded(parameters, theta, motion, noise), validation=recorded(parameters, theta, other, (0, 0)))
        true = fit.base.K @ theta
        error = fit.estimate.theta - true
        kinds = np.array([name.rpartition(".")[2] for name in fit.base.names])
        slides = np.isin(kinds, ("viscous", "coulomb"))
        moves = ~slides & (kinds != "offset")
        assert fit.validation is not None
        figures = (
            np.linalg.norm(error[moves]) / np.linalg.norm(true[moves]),
            np.median(np.abs(error[moves] / true[moves])),
            np.abs(error[slides] / true[slides]).max(),
            np.linalg.norm(fit.predict(q, qd, qdd) - tau) / np.linalg.norm(tau),
            fit.validation.relative,
        )
        print(f"{noise[0]:g} rad, {noise[1]:g} N m | " + " | ".join(f"{x:.3%}" for x in figures), flush=True)


if __name__ == "__main__":
    main()
