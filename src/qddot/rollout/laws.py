"""Control laws of rollouts: a law is a function of a `Moment`, which is traced once and becomes part of the compiled step.

>>> import qddot
>>> robot = qddot.load("two_link")
>>> def spring(x):  # any function of the state, of time and of the numbers in `control`
...     return [-20 * (q - goal) - 5 * qd for q, goal, qd in zip(x.q, x.control, x.qd)]
>>> q, qd = robot.rollout(spring, step=0.01)([0, 0], None, [1.0, 0.5], steps=1000, every=1000)
>>> q.shape
(2, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from qddot.algorithms.kinematics import Scalars
from qddot.algorithms.quantities import algorithm
from qddot.constraints.state import State
from qddot.control.gains import gains
from qddot.errors import InputError
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar


class Moment(State):
    """The argument of a law: one moment of a rollout. Its numbers are traced: they have `+ - * / **` and the functions here (see
    `qddot.constraints.state.State`), and cannot be compared.

    Quantities are those of the robot as described, whatever parameters the rollout has.

    Attributes:
        t: time since the rollout began, s.
        q, qd: coordinates (nq) and velocities (nv).
        control: the control (m) of this step.

    >>> def swing_up(x):  # pushes the way it goes while the first link is low, and holds against gravity once it is high
    ...     g = x.gravity_torque()
    ...     return [x.where_positive(x.sin(x.q[0]), g[0], 5 * x.qd[0]), 0.0]
    ...
    >>> robot = qddot.load("two_link")
    >>> robot.rollout(swing_up)([-1.4, 0], [0, 0], steps=200, every=200).q.shape
    (2, 2)
    """

    def __init__(self, model: LiftedModel, t: Scalar, q: Scalars, qd: Scalars, control: Scalars) -> None:
        super().__init__(model, q, qd)
        self.t, self.control = t, tuple(control)

    def gravity_torque(self) -> list[Scalar]:
        """Return the joint forces (nv) that hold the robot still against gravity and the springs of its drives.

        >>> robot = qddot.load("two_link")
        >>> hold = robot.rollout(lambda x: x.gravity_torque())
        >>> hold([0.3, 0.8], [0, 0], steps=1000, every=1000).q[-1].round(6)
        array([0.3, 0.8])
        """
        parts = (algorithm(self._model, name)(self._model, self.q) for name in ("gravity_torque", "spring_torque"))
        return [g + s for g, s in zip(*parts)]

    def inverse_dynamics(self, qdd: Scalars) -> list[Scalar]:
        """Return the joint forces (nv) for accelerations (nv).

        >>> robot = qddot.load("two_link")
        >>> lift = robot.rollout(lambda x: x.inverse_dynamics([1.0, 0.0]))  # half of t^2
        >>> lift([0, 0], [0, 0], steps=1000, every=1000).q[-1].round(3) + 0
        array([0.501, 0.   ])
        """
        return algorithm(self._model, "inverse_dynamics")(self._model, self.q, self.qd, qdd)

    def mass_matrix(self) -> list[list[Scalar]]:
        """Return M(q) as rows (nv, nv).

        >>> def push(x):  # the first joint is to accelerate by 1
        ...     return [g + row[0] for g, row in zip(x.gravity_torque(), x.mass_matrix())]
        ...
        >>> qddot.load("two_link").rollout(push)([0, 0], [0, 0], steps=10).qd[-1].round(3) + 0
        array([0.01, 0.  ])
        """
        return algorithm(self._model, "mass_matrix")(self._model, self.q)

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        """Return `then` where x > 0, else `otherwise`.

        >>> robot = qddot.load("two_link")
        >>> robot.rollout(lambda x: [x.where_positive(x.q[0], 1.0, -1.0), 0.0])([0, 0], None, steps=2).q.shape
        (3, 2)
        """
        return self._model.field.where_positive(x, then, otherwise)


Law = Callable[[Moment], Sequence[Scalar]]
"""A function that returns the joint forces (nv) at a moment."""


def applied(x: Moment) -> Sequence[Scalar]:
    """Return the control itself as joint forces."""
    return x.control


def nothing(x: Moment) -> Sequence[Scalar]:
    """Return zero joint forces."""
    return [0.0] * len(x.qd)


class PDLaw:
    """`tau = Kp e + Kd e'`, with `gravity` plus the gravity torque: `qddot.control.PD` within a rollout.

    The control is the reference position (n), or position and velocity (2 n).

    >>> robot = qddot.load("two_link")
    >>> run = robot.rollout(qddot.rollout.PDLaw(kp=50, kd=10))
    >>> run([0, 0], None, [1, 0.5], steps=5000, every=5000).q[-1].round(3)
    array([1. , 0.5])
    """

    def __init__(self, kp: ArrayLike, kd: ArrayLike, *, gravity: bool = True) -> None:
        self.kp, self.kd, self.gravity = kp, kd, gravity

    def __call__(self, x: Moment) -> Sequence[Scalar]:
        error, rate, _ = errors(self, x)
        return with_feedback(self, x.gravity_torque() if self.gravity else [0.0] * len(x.qd), error, rate)


class ComputedTorqueLaw:
    """`tau = M (qdd_r + Kp e + Kd e') + C qd + g + friction` of the robot as described: `qddot.control.ComputedTorque` within a
    rollout.

    The control is the reference position (n), or position and velocity (2 n), or these and the acceleration (3 n).

    >>> robot = qddot.load("two_link")
    >>> run = robot.rollout(qddot.rollout.ComputedTorqueLaw(kp=25, kd=10))
    >>> run([0, 0], None, [1, 0.5], steps=5000, every=5000).q[-1].round(3)
    array([1. , 0.5])
    """

    def __init__(self, kp: ArrayLike, kd: ArrayLike) -> None:
        self.kp, self.kd = kp, kd

    def __call__(self, x: Moment) -> Sequence[Scalar]:
        error, rate, qdd = errors(self, x)
        return x.inverse_dynamics(with_feedback(self, qdd, error, rate))


def with_feedback(law: Any, base: Sequence[Scalar], error: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
    """Return `base + Kp e + Kd e'`, each (n), with the gains of a law."""
    kp, kd = gains("kp", law.kp, len(base)), gains("kd", law.kd, len(base))
    return [b + float(p) * e + float(d) * v for b, p, e, d, v in zip(base, kp, error, kd, rate)]


def errors(law: Any, x: Moment) -> tuple[list[Scalar], list[Scalar], Sequence[Scalar]]:
    """Return e and e' for a control (q), (q, qd) or (q, qd, qdd), and its qdd, each (n). Raises InputError: another control."""
    n, name = len(x.qd), type(law).__name__
    if len(x.q) != n:
        raise InputError(f"{name} needs joints whose qd is the rate of q: spherical and free joints need a law of their own")
    if len(x.control) not in (n, 2 * n, 3 * n):
        raise InputError(
            f"{name} takes a control of {n} positions, {2 * n} with velocities or {3 * n} with accelerations, got "
            f"{len(x.control)} numbers"
        )
    want = [*x.control, *[0.0] * (3 * n - len(x.control))]
    return [a - b for a, b in zip(want, x.q)], [a - b for a, b in zip(want[n:], x.qd)], want[2 * n :]
