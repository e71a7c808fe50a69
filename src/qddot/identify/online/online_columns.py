"""The regressor of base parameters for one state at a time.

Parameters that a `Drive` can have are compiled: one call of the robot's own regressor, with friction in it. With others (coupled
joints, friction by the load) the columns are computed as in `identify`, in some hundred microseconds a sample.
"""

from __future__ import annotations

import numpy as np

from qddot.identify.physical.identified import identified_robot
from qddot.identify.regression.base import Base, random_motions
from qddot.model.friction import OTHER_WAY


class OnlineColumns:
    """Computes the entries of the regressor that may differ from zero, see `Rows`.

    Attributes:
        order: order of the base parameters (r,): those that only the first joints feel come first, so that rows of outer joints
            begin with zeros.
        shape: True for entries (nv, r) that may differ from zero, in this order.
        compiled: True if one call of machine code computes them.
    """

    def __init__(self, base: Base) -> None:
        self._set, self._independent = base.parameter_set, np.array(base.independent, int)
        motions = random_motions(self._set, 20)
        Y = self._set.matrix(*motions)[..., self._independent]
        seen = np.any(Y != 0, axis=0)
        self.order = np.lexsort((np.arange(base.rank), -np.argmax(seen[::-1], axis=0))).tolist()
        self.shape = seen[:, self.order]
        self._independent = self._independent[self.order]
        self._entries = np.flatnonzero(self.shape)
        self.compiled = self._compile() and self._agrees(motions)

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, out: np.ndarray) -> np.ndarray | None:
        """Write the entries to `out`; return the known torque (nv,), or None."""
        if not self.compiled:
            moved = self._set.evaluator().at(q[None], qd[None], qdd[None])
            rows = [moved.row(j) @ self._set.T[used][:, self._independent] for j, used in enumerate(moved.evaluator.used)]
            np.concatenate(rows).take(self._entries, out=out, mode="clip")
            return moved.known()[0] if moved.evaluator.knows else None
        bound = self._bound
        bound.q, bound.qd, bound.qdd = q, qd, qdd
        Y = bound()
        (Y if self._T is None else Y @ self._T).take(self._picked, out=out, mode="clip")
        return Y @ self._constant if self._knows else None

    def _compile(self) -> bool:
        """Make a robot whose own regressor has all columns. Return False if there is none."""
        parameter_set, names = self._set, self._set.full_names
        if parameter_set.is_loaded:
            return False
        ones = np.array([2.0 if name.endswith(OTHER_WAY) else 1.0 for name in names])  # nonzero, so that each has a column
        links = len(parameter_set.T) - len(parameter_set.terms)
        ones[:links] = parameter_set.full(parameter_set.described)[:links]
        whole, left_out = identified_robot(parameter_set, ones)
        place = {name: k for k, name in enumerate(whole.parameter_names)}
        if left_out or not set(names) <= set(place):
            return False
        at = [place[name] for name in names]
        T = np.zeros((len(place), len(self._independent)))
        T[at] = parameter_set.T[:, self._independent]
        self._constant = np.array([float(x) if name.endswith(".stiffness") else 0.0 for name, x in zip(place, whole.parameters())])
        self._constant[at] = parameter_set.constant
        self._knows = bool(np.any(self._constant))
        picks = np.argmax(T != 0, axis=0)
        plain = np.array_equal(T, np.eye(len(T))[:, picks])
        joint, column = np.nonzero(self.shape)
        self._T, self._picked = (None, joint * len(T) + picks[column]) if plain else (T, self._entries)
        self._bound = whole.bind("regressor")
        return True

    def _agrees(self, motions: tuple[np.ndarray, np.ndarray, np.ndarray]) -> bool:
        """True if machine code agrees with the parameter set in random states, known torques included."""
        Y = self._set.matrix(*motions)[..., self._independent]
        known, out = self._set.known_torque(*motions), np.empty(len(self._entries))
        self.compiled = True
        for q, qd, qdd, whole, torque in zip(*motions, Y, known):
            found = self(q, qd, qdd, out)
            same = np.allclose(out, whole.ravel()[self._entries], rtol=1e-9, atol=1e-9)
            if not same or not np.allclose(0.0 if found is None else found, torque, rtol=1e-9, atol=1e-9):
                return False
        return True
