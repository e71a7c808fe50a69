"""Dynamics in task space: inertia and forces at a frame.

    V = J qd                tau = J^T F + N tau_0
    F = M_C Vdot + c_C + g_C + d_C + F_tip

M_C and J_bar come from `qddot.algorithms.task_inertia`, which forms no product with a squared condition number. If J is square,
J_bar is J^-1, and these are the formulas of textbooks: `M_C = J^-T M J^-1`, `g_C = J^-T g`. All else is products of matrices, which
every library has: tensors in, tensors out, with gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.algorithms.task_inertia import SINGULAR
from qddot.arguments import positive_number
from qddot.arrays.guests import constant
from qddot.batched import T, times
from qddot.compile.arrays import as_array, first_index
from qddot.compile.evaluate import Evaluator, Options
from qddot.compile.kinds import library_of, mixed
from qddot.errors import InputError, SingularityError
from qddot.task_space.task import ORIENTATION, Task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from qddot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class TaskSpace:
    """Task-space dynamics of m rows in one state, or in a batch of states (...).

    Attributes:
        frame, rows: the frame, and the components of its motion.
        J, Jdot: Jacobian (..., m, nv) and its rate.
        V: task velocity (..., m), `J qd`.
        M_C: task inertia (..., m, m), `(J M^-1 J^T)^-1`; with damping `(J M^-1 J^T + damping^2 1)^-1`.
        J_bar: dynamically consistent inverse (..., nv, m), `M^-1 J^T M_C`; J^-1 where J is square.
        N: null-space projector (..., nv, nv), `1 - J^T J_bar^T`: joint forces `N tau_0` do not accelerate the task.
        C_C: (..., m, m), `(J_bar^T C - M_C Jdot) J_bar`, for which `dM_C/dt - 2 C_C` is skew.
        c_C: velocity-product force (..., m), `J_bar^T c - M_C Jdot qd`. If J is square, it is `C_C V`; for a redundant arm it also
            contains the effect of motion in the null space.
        g_C: force of gravity (..., m), `J_bar^T g`.
        d_C: force of friction and springs (..., m), `J_bar^T d`.
        M: mass matrix (..., nv, nv).
        free: joint accelerations (..., nv) without joint forces, `-M^-1 (c + g + d)`.
        given: the robot's variables, if any.

    >>> robot, q, qd, tau = qddot.load("two_link"), [0.3, 0.8], [1, 0], [2, 1]
    >>> tip = robot.task_space(q, qd, rows=["x", "y"])
    >>> a = tip.forward_dynamics(tau=tau)  # of the tip, m/s^2
    >>> np.allclose(a, tip.acceleration(robot.forward_dynamics(q, qd, tau)))
    True
    """

    frame: str
    rows: tuple[str, ...]
    J: np.ndarray
    Jdot: np.ndarray
    V: np.ndarray
    M_C: np.ndarray
    J_bar: np.ndarray
    N: np.ndarray
    C_C: np.ndarray
    c_C: np.ndarray
    g_C: np.ndarray
    d_C: np.ndarray
    M: np.ndarray
    free: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    robot: Robot
    given: Options

    def acceleration(self, qdd: ArrayLike) -> np.ndarray:
        """Return the task acceleration (..., m) of a joint motion: `J qdd + Jdot qd`.

        >>> tip = qddot.load("two_link").task_space([0, np.pi / 2], [1, 0], rows=["x", "y"])
        >>> tip.acceleration([0, 0]).round(3)  # turning without more: towards the base
        array([-0.5, -0.7])
        """
        return times(self.J, self._joints("qdd", qdd)) + times(self.Jdot, self.qd)

    def inverse_dynamics(self, Vdot: ArrayLike, F_tip: ArrayLike | None = None) -> np.ndarray:
        """Return the task force F (..., m) for a task acceleration: `M_C Vdot + c_C + g_C + d_C + F_tip`.

        Args:
            Vdot: (..., m).
            F_tip: force of the robot on its environment (..., m), in the task's components.

        >>> tip = qddot.load("two_link").task_space([0, np.pi / 2], [0, 0], rows=["x", "y"])
        >>> tip.inverse_dynamics([0, 0]).round(2) + 0  # N at the tip: what holds the arm
        array([0.  , 9.32])
        """
        F = times(self.M_C, self._task("Vdot", Vdot)) + self.c_C + self.g_C + self.d_C
        return F if F_tip is None else F + self._task("F_tip", F_tip)

    def torque(self, F: ArrayLike, tau_0: ArrayLike | None = None) -> np.ndarray:
        """Return joint forces (..., nv) that exert the task force F (..., m): `J^T F + N tau_0`, with any tau_0 (..., nv).

        >>> robot = qddot.load("two_link")
        >>> tip = robot.task_space([0, np.pi / 2], [0, 0], rows=["x", "y"])
        >>> np.allclose(tip.torque(tip.inverse_dynamics([0, 0])), robot.gravity_torque([0, np.pi / 2]))
        True
        """
        tau = times(T(self.J), self._task("F", F))
        return tau if tau_0 is None else tau + times(self.N, self._joints("tau_0", tau_0))

    def force(self, tau: ArrayLike) -> np.ndarray:
        """Return the task force (..., m) of joint forces: `J_bar^T tau`.

        >>> tip = qddot.load("two_link").task_space([0, np.pi / 2], [0, 0], rows=["x", "y"])
        >>> np.allclose(tip.torque(tip.force([1, 2])), [1, 2])  # two rows, two joints: nothing is lost
        True
        """
        return times(T(self.J_bar), self._joints("tau", tau))

    def forward_dynamics(
        self, F: ArrayLike | None = None, *, tau: ArrayLike | None = None, F_tip: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the task acceleration (..., m) that a task force F (..., m), or joint forces tau (..., nv), cause.

        It needs no inverse of J, and is exact also with damping.

        Args:
            F_tip: force of the robot on its environment (..., m), in the task's components.

        >>> tip = qddot.load("two_link").task_space([0, np.pi / 2], [0, 0], rows=["x", "y"])
        >>> tip.forward_dynamics(tip.inverse_dynamics([1, 2])).round(6)
        array([1., 2.])
        """
        if (F is None) == (tau is None):
            raise InputError("forward_dynamics needs one of F and tau")
        tau = self.torque(F) if F is not None else self._joints("tau", tau)
        if F_tip is not None:
            tau = tau - times(T(self.J), self._task("F_tip", F_tip))
        return self.acceleration(self.robot.forward_dynamics(self.q, self.qd, tau, **self.given))

    def regressor(self, qdd: ArrayLike) -> np.ndarray:
        """Return Y_C (..., m, p), `J_bar^T Y(q, qd, qdd)`: `Y_C @ robot.parameters()` is the task force of the motion, without
        F_tip.

        >>> robot = qddot.load("two_link")
        >>> tip = robot.task_space([0, np.pi / 2], [0, 0], rows=["x", "y"])
        >>> np.allclose(tip.regressor([0, 0]) @ robot.parameters(), tip.inverse_dynamics([0, 0]))
        True
        """
        return T(self.J_bar) @ self.robot.regressor(self.q, self.qd, self._joints("qdd", qdd), **self.given)

    def __repr__(self) -> str:
        states = f", {tuple(self.V.shape[:-1])} states" if self.V.ndim > 1 else ""
        return f"TaskSpace of {self.frame!r}: {', '.join(self.rows)}{states}"

    def _task(self, name: str, value: Any) -> np.ndarray:
        return self._read(name, value, len(self.rows))

    def _joints(self, name: str, value: Any) -> np.ndarray:
        return self._read(name, value, self.M.shape[-1])

    def _read(self, name: str, value: Any, size: int) -> np.ndarray:
        array = as_given(self.robot._evaluate, name, value, size, "q", self.q)
        refuse_misfit(name, array, self.V.shape[:-1], "this task space")
        return array


def task_space(robot: Robot, q: Any, qd: Any, task: Task, damping: float | None, variables: Any) -> TaskSpace:
    """Return the dynamics at a frame, from one kernel; for tensors, from one operation per quantity. Raises SingularityError: the
    rows are dependent in a state, or the mass matrix is not positive definite. For tensors these states give NaN instead."""
    evaluate, nv, damping = robot._evaluate, robot.nv, checked(damping)
    given: Options = {} if variables is None else {"variables": variables}
    refuse_load_friction(evaluate)
    if damping is None:
        refuse_too_many(task, nv)
    q, qd = as_given(evaluate, "q", q, robot.nq, "qd", qd), as_given(evaluate, "qd", qd, nv, "q", q)
    refuse_misfit("qd", qd, q.shape[:-1], "q")
    names = ["mass_matrix", "coriolis_matrix", "gravity_torque", "friction_torque", "spring_torque", "forward_dynamics"]
    rates, inertia = f"{task.quantity}_dot", {**task.asked, "damping": "" if damping is None else repr(damping)}
    asked = [*names, (task.quantity, task.options), (rates, task.options), ("task_inertia", inertia)]
    try:
        found = robot.compute(asked, q, qd, array_like(q, [0.0] * nv), **given)
    except SingularityError:
        refuse_dependent(evaluate, q, task, damping, given)
        raise
    M, C, g, friction, springs, free = (found[name] for name in names)
    J, Jdot = (found[name][..., task.picked, :] for name in (task.quantity, rates))
    M_C, J_bar = found["task_inertia"]
    to_task = T(J_bar)
    products = to_task @ C - M_C @ Jdot
    return TaskSpace(
        frame=task.frame,
        rows=task.rows,
        J=J,
        Jdot=Jdot,
        V=times(J, qd),
        M_C=M_C,
        J_bar=J_bar,
        N=array_like(q, [[float(i == j) for j in range(nv)] for i in range(nv)]) - T(J) @ to_task,  # np.eye breaks torch.compile
        C_C=products @ J_bar,
        c_C=times(products, qd),
        g_C=times(to_task, g),
        d_C=times(to_task, friction + springs),
        M=M,
        free=free,
        q=q,
        qd=qd,
        robot=robot,
        given=given,
    )


def as_given(evaluate: Evaluator, name: str, value: Any, size: int, other: str, like: Any) -> Any:
    """Return an array (..., size) that a caller gave, checked; one of another library must be of the library of `like`. Raises
    InputError: another shape, or arrays of two libraries."""
    if library_of(value) is None and library_of(like) is None:
        return evaluate.configuration(name, value) if name == "q" else as_array(name, value, (size,))
    if library_of(value) != library_of(like):
        raise mixed(name, value, other, like) if library_of(like) else mixed(other, like, name, value)
    if tuple(value.shape[-1:]) != (size,):
        raise InputError(f"{name} has shape {tuple(value.shape)}, expected (..., {size})")
    return value


def array_like(q: Any, numbers: list[Any]) -> Any:
    """Return numbers as an array of the library of q."""
    return constant(q, numbers) if library_of(q) else np.array(numbers)


def refuse_load_friction(evaluate: Evaluator) -> None:
    """Refuse friction that grows with the load: it depends on the accelerations, so it is not a force d_C of the state."""
    loaded = [body.joint_name for body in evaluate.model.bodies if body.drive.friction.load]
    loaded += [x.name.rpartition(".")[0] for x in evaluate.model.variables if x.name.endswith(".load_friction")]
    if loaded:
        raise InputError(
            f"joint {loaded[0]!r} has friction in proportion to its load, which is no force of the state alone and has no place in "
            "task space: leave load_friction out, or use inverse_dynamics and forward_dynamics"
        )


def refuse_too_many(task: Task, freedoms: int) -> None:
    """Refuse more rows than degrees of freedom, which are dependent everywhere."""
    if len(task.rows) > freedoms:
        raise SingularityError(
            f"the task has {len(task.rows)} rows ({', '.join(task.rows)}), the robot {freedoms} degrees of freedom: J has rank "
            f"{freedoms} at most, and an infinite condition number. Choose at most {freedoms} rows with rows=, or give damping=."
        )


def refuse_dependent(evaluate: Evaluator, q: np.ndarray, task: Task, damping: float | None, given: Options) -> None:
    """Refuse dependent rows; name the state and rank, from the singular values of `L^-1 J^T` with `M = L L^T`."""
    M, J = evaluate("mass_matrix", {"q": q}, given), evaluate(task.quantity, {"q": q}, given, **task.options)[..., task.picked, :]
    try:
        B = np.linalg.solve(np.linalg.cholesky(M), T(J))
    except np.linalg.LinAlgError:  # the mass matrix itself is singular
        return
    s = np.linalg.svd(B, compute_uv=False)
    if damping is not None:
        s = np.sqrt(np.concatenate([s, np.zeros((*s.shape[:-1], max(J.shape[-2] - s.shape[-1], 0)))], -1) ** 2 + damping**2)
    dependent = ~(s[..., -1] > SINGULAR * s[..., 0])
    if dependent.any():
        state = first_index(dependent)
        values = s[state]
        rank = int((values > SINGULAR * values[0]).sum())
        condition = values[0] / values[-1] if values[-1] > 0 else np.inf
        where = f" in state {list(state)}" if state else ""
        redundant = {*ORIENTATION["quaternion"]} <= {*task.rows}
        fix = "Keep three of qw, qx, qy, qz" if redundant else "Move away from this configuration, leave out rows"
        raise SingularityError(
            f"the rows {', '.join(task.rows)} of frame {task.frame!r} are dependent{where}: J has rank {rank} instead of "
            f"{len(values)}, its condition number (weighted by the inertia) is {condition:.3g}. {fix}, or give damping=."
        )


def refuse_misfit(name: str, array: Any, states: Any, whose: str) -> None:
    """Refuse an array whose leading dimensions do not broadcast with those of the states."""
    try:
        np.broadcast_shapes(tuple(array.shape[:-1]), tuple(states))
    except ValueError:
        raise InputError(f"leading dimensions {tuple(array.shape[:-1])} of {name} do not fit {tuple(states)} of {whose}") from None


def checked(damping: Any) -> float | None:
    """Return None or a positive number. Raises InputError: anything else."""
    if damping is None:
        return None
    try:
        return positive_number("damping", damping)
    except InputError as error:
        raise InputError(f"{error}: no direction appears heavier than 1 / damping^2") from None
