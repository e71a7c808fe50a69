"""Adaptive control, which learns the parameters of the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array, positive_number
from qddot.batched import T, times
from qddot.control.elastic import refuse_elastic
from qddot.control.gains import gains
from qddot.control.law import checked, finite
from qddot.control.references import Follow, followed
from qddot.errors import InputError
from qddot.model.friction import NAMES

if TYPE_CHECKING:
    from qddot.robot import Robot


class SlotineLi:
    """Adaptive control that learns the parameters while it follows: `tau = Y(q, qd, qd_v, qdd_v) a + Kd s` (Slotine and Li 1987).

    With `s = e' + Lambda e` the estimate changes by `a' = Gamma Y^T s`. The torque error then goes to zero, although `a` need not
    converge to the true parameters. The law is sampled: simulate calls it once every `period`, and holds the torque in between.
    When it is used again, it continues with its last estimate.

    Args:
        robot: provides the regressor; its own parameters serve only as the default of `estimate`.
        bandwidth: Lambda, 1/s, one number or one per joint.
        gain: Gamma, one number or one per parameter.
        period: s.
        estimate: initial estimate of the parameters; those of the robot if None.

    >>> from qddot.control import Hold, SlotineLi
    >>> robot = qddot.load("two_link")
    >>> law = SlotineLi(robot, Hold([0.5, 0.5]), bandwidth=5, kd=5, gain=0.1, estimate=np.zeros(20))  # it knows nothing
    >>> motion = robot.simulate([0, 0], t=0.1, torque=law)
    >>> bool(law.estimate.any())  # and has begun to learn
    True
    """

    def __init__(
        self,
        robot: Robot,
        reference: Follow,
        bandwidth: ArrayLike,
        kd: ArrayLike,
        gain: ArrayLike,
        period: float = 1e-3,
        estimate: ArrayLike | None = None,
    ) -> None:
        refuse_elastic(robot, self)
        self.robot, self.reference, self.period = robot, followed(reference, robot.nq, robot.nv), positive_number("period", period)
        self.bandwidth, self.kd = gains("bandwidth", bandwidth, robot.nv), gains("kd", kd, robot.nv)
        self.gain = gains("gain", gain, len(robot.parameter_names))
        self.estimate = finite_array("estimate", robot.parameters() if estimate is None else estimate)
        if self.estimate.shape[-1:] != (len(robot.parameter_names),):
            raise InputError(
                f"estimate has shape {self.estimate.shape}: {len(robot.parameter_names)} parameters, see robot.parameter_names"
            )

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        want = self.reference(t)
        error = self.robot.difference(q, want.q)
        s = want.qd - qd + self.bandwidth * error
        virtual, virtual_rate = want.qd + self.bandwidth * error, want.qdd + self.bandwidth * (want.qd - qd)
        Y = slotine_li_regressor(self.robot, q, qd, virtual, virtual_rate)
        try:
            estimate = self.estimate + self.period * self.gain * times(T(Y), s)
        except ValueError:
            raise InputError(f"the state is a batch {s.shape[:-1]}, the estimate one of {self.estimate.shape[:-1]}") from None
        self.estimate = finite("the estimate", estimate)
        return times(Y, estimate) + self.kd * s


def slotine_li_regressor(robot: Robot, q: np.ndarray, qd: np.ndarray, v: np.ndarray, vd: np.ndarray) -> np.ndarray:
    """Return Y with `Y pi = M vd + C(q, qd) v + g + springs + friction(qd)`, for a velocity v other than that of the robot.

    C is that of the Christoffel symbols, for which `C(q, a) b` is symmetric in a and b; so it follows from the regressor at
    a + b, a and b.
    """
    zero = np.zeros(robot.nv)
    still = robot.regressor(q, zero, zero)
    frictionless = [name.rpartition(".")[2] not in NAMES for name in robot.parameter_names]
    squares = [robot.regressor(q, x, zero) - still for x in (qd + v, qd, v)]
    Y = robot.regressor(q, zero, vd) + (squares[0] - squares[1] - squares[2]) / 2
    return np.where(frictionless, Y, robot.regressor(q, qd, zero))
