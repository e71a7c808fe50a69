"""Parameters from a simulated closed loop."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import ConvergenceError, InputError
from qddot.identify import Log, ParameterSet
from qddot.identify.closed_loop import closed_loop
from qddot.identify.regression.bodies import body_inertias, with_parameters
from qddot.model.drive import Drive

pytest.importorskip("cvxpy")

ARM = qddot.load("two_link")
TRUE = with_parameters(
    ARM,
    {},
    {
        "joint1": Drive(viscous=0.4, coulomb=0.6, smoothing_velocity=0.03),
        "joint2": Drive(viscous=0.2, coulomb=0.3, smoothing_velocity=0.03),
    },
)
HEAVY = with_parameters(ARM, {body: 1.4 * ten for body, ten in body_inertias(ARM).items()}, {})
SET = ParameterSet.of(ARM, armature=False, offset=False)
W, A = 2 * np.pi * np.array([0.2, 0.5, 0.9]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])


def law(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return 60.0 * (A @ np.sin(W * t) - q) + 6.0 * (A @ (W * np.cos(W * t)) - qd)


def recorded(noise: float) -> Log:
    t = np.arange(250) / 50.0
    run = TRUE.simulate([0.0, 0.0], A @ W, t, torque=law, step=2e-3)
    draw = np.random.default_rng(0)
    tau = np.array([law(*state) for state in zip(t, run.q, run.qd)])
    return Log(
        t, run.q + noise * draw.normal(size=run.q.shape), tau + 0.02 * draw.normal(size=tau.shape), joint_names=ARM.joint_names
    )


@pytest.mark.slow
def test_noisy_positions_do_no_harm() -> None:
    log = recorded(0.01)
    found = closed_loop(ARM, log, law, parameter_set=SET, start=HEAVY, step=2e-3)
    assert found.rounds < 10
    true = dict(zip(SET.names, ParameterSet.of(TRUE, armature=False, offset=False).described))
    base = dict(zip(found.base.names, found.base.K @ np.array([true[name] for name in SET.names])))
    by_least_squares = ARM.identify(log, parameter_set=SET).parameters
    off = {name: (abs(found.parameters[name] - x), abs(by_least_squares[name] - x)) for name, x in base.items()}
    assert sum(a for a, _ in off.values()) < 0.5 * sum(b for _, b in off.values())
    assert all(a < 6 * found.std[name] + 0.02 * abs(base[name]) for name, (a, _) in off.items())
    assert found.parameters["joint1.coulomb"] == pytest.approx(0.6, abs=0.05)
    assert found.robot.drives["joint2"].viscous == pytest.approx(0.2, abs=0.05)
    assert (found.tracking < 0.02).all()


def test_what_is_no_controller_is_refused() -> None:
    with pytest.raises(InputError, match="law="):
        closed_loop(ARM, recorded(0.0), 3.0)  # type: ignore[arg-type]
    with pytest.raises(ConvergenceError, match="controller"):
        closed_loop(ARM, recorded(0.0), lambda t, q, qd: 300.0 * q + 30 * qd, parameter_set=SET, step=2e-3)
