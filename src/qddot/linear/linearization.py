"""A robot's dynamics to first order: `x' = A x + B u` for the deviations x of its state and u of its joint forces.

    x = (difference(q0, q), qd - qd0)        A = [E, 1; dqdd/dq, dqdd/dqd]        B = [0; dqdd/dtau = M^-1]

The lower blocks are the closed-form derivatives of forward dynamics. E is zero, except for joints with quaternions in motion: their
deviation is expressed in axes that move along, so `d' = (qd - qd0) - ad(qd0) d`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arguments import names, positive_number, refuse_recorded
from qddot.arrays.guests import constant, guest_module
from qddot.compile.arrays import as_array
from qddot.compile.evaluate import Options
from qddot.compile.kinds import guest
from qddot.errors import ConvergenceError, InputError, SingularityError, as_written

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from qddot.model.model import Model
    from qddot.robot import Robot


AT_REST = 1e-7
"""A pole counts as stable if its real part is below this, relative to the largest number in A. Rounding may move a pole at zero by
1e-8."""


class Discrete(NamedTuple):
    """`x[k+1] = A x[k] + B u[k]` with u held over each period: A (..., 2 nv, 2 nv), B (..., 2 nv, m); `period` in s.

    >>> step = qddot.load("two_link").linearize([-np.pi / 2, 0]).discrete(period=0.01)
    >>> step.A.shape, step.B.shape, step.period
    ((4, 4), (4, 2), 0.01)
    """

    A: np.ndarray
    B: np.ndarray
    period: float


@dataclass(frozen=True, eq=False)
class Linearization:
    """`x' = A x + B u` about a state.

    Attributes:
        A: (..., 2 nv, 2 nv).
        B: (..., 2 nv, m), one column per joint that is driven.
        q, qd, tau: the state and its joint forces, (..., nq), (..., nv), (..., nv).
        qdd: the accelerations there (..., nv); zero in an equilibrium.
        actuated: names of the joints that are driven.

    >>> acrobot = qddot.load("acrobot")
    >>> upright = acrobot.linearize([np.pi, 0], actuated=["elbow"])
    >>> upright.A.shape, upright.B.shape
    ((4, 4), (4, 1))
    >>> bool((upright.poles.real > 0).any())  # it falls
    True
    """

    robot: Robot
    A: np.ndarray
    B: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray
    actuated: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Linearization of {self.robot.name!r}: {self.A.shape[-1]} states, {self.B.shape[-1]} inputs"

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues (..., 2 nv) of A, 1/s.

        Raises:
            SingularityError: A is not finite.
        """
        refuse_unknown_matrix(self.A)
        return module_of(self.A).linalg.eigvals(self.A)

    def discrete(self, period: float) -> Discrete:
        """Return the exact system sampled every `period` s with u held in between: `exp([A B; 0 0] period) = [A_d B_d; 0 1]`.

        >>> hanging = qddot.load("two_link").linearize([-np.pi / 2, 0])
        >>> hanging.discrete(0.01).A.shape
        (4, 4)
        """
        period, xp = positive_number("period", period), module_of(self.A)
        n, m = self.B.shape[-2:]
        none = 0 * self.B.swapaxes(-1, -2)
        rows = xp.concatenate([self.A, self.B], -1), xp.concatenate([none, none[..., :m]], -1)
        with np.errstate(all="ignore"):
            step = exponential(xp.concatenate(rows, -2) * period)
        if xp is np and not np.isfinite(step).all():
            raise InputError(f"period={period:g} s is too long: by then what is unstable has grown beyond all numbers")
        return Discrete(step[..., :n, :n], step[..., :n, n:], period)

    def controllability(self) -> np.ndarray:
        """Return the rank (...) of `[B, A B, A^2 B, ...]`: 2 nv if feedback can place every pole.

        Raises:
            SingularityError: A is not finite.

        >>> acrobot = qddot.load("acrobot")
        >>> int(acrobot.linearize([np.pi, 0], actuated=["elbow"]).controllability())  # one motor is enough
        4
        """
        refuse_unknown_matrix(self.A)
        xp, rtol = module_of(self.A), 1e-10 if self.A.dtype.itemsize == 8 else 1e-5
        A = self.A / (abs(self.A).sum((-1, -2))[..., None, None] + 1e-30)  # the rank does not depend on the unit of time
        blocks = [self.B]
        for _ in range(self.A.shape[-1] - 1):
            blocks.append(A @ blocks[-1])
        return xp.linalg.matrix_rank(xp.concatenate(blocks, -1), rtol=rtol)

    def lqr(self, Q: ArrayLike, R: ArrayLike, period: float | None = None) -> StateFeedback:
        """Return the feedback `u = -K x` that minimises the integral of `x^T Q x + u^T R u`, or its sum if sampled every `period`
        s.

        Args:
            Q: (2 nv, 2 nv), or its diagonal (2 nv,), or one number.
            R: (m, m), or its diagonal, or one number.

        Raises:
            InputError: a batch, weights of other shapes, Q not positive semidefinite or R not positive definite.
            ConvergenceError: no feedback makes the integral finite, since an unstable pole is not controllable.

        >>> acrobot = qddot.load("acrobot")
        >>> upright = acrobot.linearize([np.pi, 0], actuated=["elbow"])
        >>> feedback = upright.lqr(Q=1.0, R=1.0)
        >>> motion = acrobot.simulate([np.pi + 0.02, 0], t=4.0, step=0.02, torque=feedback)
        >>> motion.q[-1].round(3)  # it stands
        array([3.142, 0.   ])
        """
        from scipy.linalg import solve_continuous_are, solve_discrete_are

        if guest((self.A,)):
            raise InputError(
                "lqr is computed by SciPy, of NumPy arrays: linearise at q.detach().cpu().numpy(), or at np.asarray(q) of JAX"
            )
        if self.A.ndim != 2:
            raise InputError(f"lqr is for one state, this is a batch {self.A.shape[:-2]}")
        n, m = self.B.shape
        if not m:
            raise InputError("no joint is actuated: there is nothing to feed back to")
        Q, R = weight("Q", Q, n, least=-1e-12), weight("R", R, m, least=1e-300)
        A, B = (self.A, self.B) if period is None else self.discrete(period)[:2]
        driven = f"{self.controllability()} of {n} directions of the state can be driven, and one that cannot does not come to rest"
        hopeless = f"no feedback of {', '.join(self.actuated)} makes the cost finite: {driven}"
        try:
            S = (solve_continuous_are if period is None else solve_discrete_are)(A, B, Q, R)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise ConvergenceError(f"{hopeless} ({error})") from None
        K = np.linalg.solve(R, B.T @ S) if period is None else np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        poles = np.linalg.eigvals(A - B @ K)
        slowest = float(poles.real.max() if period is None else np.abs(poles).max() - 1)
        if not slowest < -AT_REST * max(1.0, float(np.abs(A).max())):
            raise ConvergenceError(hopeless)
        return StateFeedback(self, K, S, poles, period)


@dataclass(frozen=True, eq=False)
class StateFeedback:
    """The controller `tau = tau0 - K x`, a `torque` for `Robot.simulate`.

    Attributes:
        K: (m, 2 nv).
        S: (2 nv, 2 nv): `x^T S x` is the cost of the motion from x, and falls along it: a Lyapunov function.
        poles: of the closed loop (2 nv,), 1/s, or, sampled, those of a step.
        period: s, or None.

    >>> robot = qddot.load("two_link")
    >>> feedback = robot.linearize([0.3, 0.8]).lqr(Q=100.0, R=1.0)
    >>> np.allclose(feedback(0.0, [0.3, 0.8], [0, 0]), robot.gravity_torque([0.3, 0.8]))  # at its goal it holds the arm
    True
    >>> feedback.K.shape
    (2, 4)
    """

    linearization: Linearization
    K: np.ndarray
    S: np.ndarray
    poles: np.ndarray
    period: float | None = None

    def deviation(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Return the deviation x (..., 2 nv) of states.

        >>> feedback = qddot.load("two_link").linearize([0.3, 0.8]).lqr(Q=100.0, R=1.0)
        >>> feedback.deviation([0.4, 0.8], [0, 1]).round(3)
        array([0.1, 0. , 0. , 1. ])
        """
        lin = self.linearization
        return np.concatenate([lin.robot.difference(lin.q, q), np.asarray(qd, float) - lin.qd], axis=-1)

    def cost(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Return the cost `x^T S x` (...) of states.

        >>> feedback = qddot.load("two_link").linearize([0.3, 0.8]).lqr(Q=100.0, R=1.0)
        >>> float(feedback.cost([0.3, 0.8], [0, 0]))  # nothing from where it shall be
        0.0
        """
        x = self.deviation(q, qd)
        return np.einsum("...i,ij,...j->...", x, self.S, x)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        lin = self.linearization
        u = -self.deviation(q, qd) @ self.K.T
        tau = np.zeros((*u.shape[:-1], lin.robot.nv)) + lin.tau
        tau[..., driven_columns(lin.robot, lin.actuated)] += u
        return tau


def linearize(robot: Robot, q: Any, qd: Any, tau: Any, actuated: Sequence[str] | None, given: Options) -> Linearization:
    """See `Robot.linearize`; `given` are the robot's variables, if any."""
    nv = robot.nv
    if not nv:
        raise InputError(f"{robot.name} has no joints: there is nothing to linearize")
    if robot.model.constraints:
        raise InputError(
            f"{robot.name} has constraints, and the linearisation is that of an open tree: choose coordinates that fulfil them, or "
            "take A and B of a step, robot.rollout(stops=False).linear(q, qd, tau)"
        )
    driven = robot.joint_names if actuated is None else names("actuated", actuated)
    columns = driven_columns(robot, driven)
    q, qd, tau = as_given(robot, q, qd, tau, given)
    if (still := values_at_hand(qd)) is not None:
        refuse_dry_rest(robot, still)
    slopes, xp = robot.forward_dynamics_derivatives(q, qd, tau, **given), module_of(q)
    one = array_like(q, [[float(i == j) for j in range(nv)] for i in range(nv)]) + 0 * slopes.dqdd_dq
    A = xp.concatenate([xp.concatenate([carried(robot, qd) + 0 * one, one], -1), xp.concatenate(slopes[:2], -1)], -2)
    B = xp.concatenate([0 * slopes.dqdd_dtau, slopes.dqdd_dtau], -2)[..., columns]
    qdd = robot.forward_dynamics(q, qd, tau, **given)
    if guest((q,)):
        A, B, qdd = without_dry_rest(robot, qd, A, B, qdd)
    return Linearization(robot, A, B, q, qd, tau, qdd, driven)


def as_given(robot: Robot, q: Any, qd: Any, tau: Any, given: Options) -> tuple[Any, Any, Any]:
    """Return the state and its joint forces, with one leading shape."""
    still = array_like(q, [0.0] * robot.nv)
    if guest((q, qd, tau)):
        tau = robot.inverse_dynamics(q, still if qd is None else qd, still, **given) if tau is None else tau
        qd = still if qd is None else qd
    else:
        q = robot._evaluate.configuration("q", q)
        qd = as_array("qd", still if qd is None else qd, (robot.nv,))
        tau = robot.inverse_dynamics(q, qd, still, **given) if tau is None else as_array("tau", tau, (robot.nv,))
    try:
        batch = np.broadcast_shapes(*(tuple(x.shape[:-1]) for x in (q, qd, tau)))
    except ValueError:
        shown = ", ".join(f"{name} {tuple(x.shape)}" for name, x in (("q", q), ("qd", qd), ("tau", tau)))
        raise InputError(f"leading dimensions of the inputs do not fit each other: {shown}") from None
    q, qd, tau = (module_of(q).broadcast_to(x, (*batch, x.shape[-1])) for x in (q, qd, tau))
    return q, qd, tau


def driven_columns(robot: Robot, names: Sequence[str]) -> list[int]:
    """Return the columns of qd that belong to joints, in the order given."""
    return [k for joint in robot.model.mechanism.named(names) for k in joint.v]


def carried(robot: Robot, qd: Any) -> Any:
    """Return E (..., nv, nv): -ad(qd) in the columns of joints with quaternions; linear in qd."""
    n = robot.nv
    E = [[0.0] * (n * n) for _ in range(n)]  # one matrix for each element of qd, stored row by row
    for c in robot.model.mechanism.coordinates:
        if c.parts[0].quaternion:
            i = c.v.start
            places = [(i, i, i)] if len(c.v) == 3 else [(i, i, i), (i, i + 3, i + 3), (i + 3, i + 3, i)]
            for speed, row, column in places:
                for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # -[w], the bracket of an angular velocity
                    E[speed + x][(row + y) * n + column + z] = 1.0
                    E[speed + x][(row + z) * n + column + y] = -1.0
    return (qd @ array_like(qd, E)).reshape((*qd.shape[:-1], n, n))


def exponential(A: Any) -> Any:
    """Return exp(A), computed by the library of the array."""
    if guest((A,)) == "torch":
        return module_of(A).linalg.matrix_exp(A)
    if guest((A,)) == "jax":
        from jax.scipy.linalg import expm  # pyright: ignore[reportMissingImports]
    else:
        from scipy.linalg import expm
    return expm(A)


def refuse_dry_rest(robot: Robot, qd: np.ndarray) -> None:
    """Refuse states at rest with dry friction, which has a step there and no derivative. Raises SingularityError: a shaft with dry
    friction that is not smoothed stands still in some state."""
    for body, sticks in zip(robot.model.bodies, robot.model.sticking):
        if sticks and not np.abs(qd[..., list(body.columns)]).min(initial=np.inf) > 0:
            raise SingularityError(
                f"joint {body.joint_name!r} has dry friction and rests: its force is any within bounds, and has no slope. Give its "
                "drive a smoothing_velocity, or linearise about a motion"
            )


def values_at_hand(x: Any) -> np.ndarray | None:
    """Return the values of an array as a NumPy array; None for an array on a GPU, or while a function is traced."""
    library = guest((x,))
    if library is None:
        return x
    if library == "torch":
        from qddot.arrays.torch_calls import is_transformed

        return None if is_transformed() or x.device.type != "cpu" else x.detach().numpy()
    if library == "jax":
        import jax  # pyright: ignore[reportMissingImports]

        return None if isinstance(x, jax.core.Tracer) or any(d.platform != "cpu" for d in x.devices()) else np.asarray(x)
    return None


def refuse_unknown_matrix(A: Any) -> None:
    """Refuse a matrix that is not finite, for which libraries give no error, or an unclear one. Raises SingularityError."""
    values = values_at_hand(A)
    if values is not None and not np.isfinite(values).all():
        raise SingularityError(
            "A is not finite: an input was not, the mass matrix is singular, or a shaft with dry friction rests, whose force has "
            "no slope there"
        )


def without_dry_rest(robot: Robot, qd: Any, *results: Any) -> Any:
    """Return results that are NaN in states in which a shaft with dry friction stands still, for tensors that cannot be checked."""
    for k in robot._guests.known(sticking_columns):
        exists = module_of(qd).where(qd[..., k] == 0, float("nan"), 1.0)
        results = tuple(x * exists.reshape((*exists.shape, *[1] * (x.ndim - exists.ndim))) for x in results)
    return results


def sticking_columns(model: Model) -> tuple[int, ...]:
    """Return the columns of shafts whose dry friction is not smoothed."""
    return tuple(k for body, sticks in zip(model.bodies, model.sticking) if sticks for k in body.columns)


def module_of(array: Any) -> Any:
    """Return the module with the functions for an array."""
    return guest_module(array) if guest((array,)) else np


def array_like(array: Any, numbers: list[Any]) -> Any:
    """Return numbers as an array of the same library, dtype and device."""
    return constant(array, numbers) if guest((array,)) else np.array(numbers)


def weight(name: str, value: ArrayLike, n: int, least: float) -> np.ndarray:
    """Return a symmetric matrix (n, n), checked to have no eigenvalue below `least` times its largest."""
    refuse_recorded(name, value)
    shown = f"{name} of shape {np.shape(value)}" if isinstance(value, np.ndarray) else f"{name}={as_written(value)}"
    refusal = InputError(f"{shown}: a number, {n} numbers, or a symmetric matrix ({n}, {n}) is needed")
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    if array.shape in ((), (n,)):
        array = np.diag(np.broadcast_to(array, (n,)))
    if array.shape != (n, n) or not np.isfinite(array).all() or not np.allclose(array, array.T, rtol=1e-12, atol=0):
        raise refusal
    eigenvalues = np.linalg.eigvalsh(array)
    if eigenvalues[0] < least * max(abs(eigenvalues[-1]), 1e-300) or (least > 0 and eigenvalues[0] <= 0):
        sort = "positive definite" if least > 0 else "positive semidefinite"
        raise InputError(f"{name} is not {sort}: its least eigenvalue is {eigenvalues[0]:.3g}")
    return array
