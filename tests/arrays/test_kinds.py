"""Which library an array is of, and DLPack: with a library of our own, so that none has to be installed."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pytest

import qddot
from qddot.arrays.on_device import View, layout
from qddot.compile.kinds import library_of
from qddot.errors import InputError
from tests.arrays.cases import arm, states


class Foreign:
    """An array that speaks DLPack and the array API, and nothing else."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __array_namespace__(self):
        return types.SimpleNamespace(from_dlpack=lambda x: Foreign(np.from_dlpack(x)))


class Silent(Foreign):
    """One that takes nothing back."""

    def __array_namespace__(self):
        return types.SimpleNamespace()


def three(lead=(3,), dtype=float):
    return [states(arm(), lead)[x].astype(dtype) for x in ("q", "qd", "qdd")]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dlpack_in_dlpack_out(dtype):
    numbers = three(dtype=dtype)
    found = arm().inverse_dynamics(*map(Foreign, numbers))
    assert isinstance(found, Foreign)
    assert np.array_equal(found.array, arm().inverse_dynamics(*numbers, dtype=dtype))
    several = arm().inverse_dynamics_derivatives(*map(Foreign, numbers))
    assert all(np.array_equal(a.array, b) for a, b in zip(several, arm().inverse_dynamics_derivatives(*numbers, dtype=dtype)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda q, qd, qdd: (Foreign(q), qd, Foreign(qdd)), "qd is a NumPy array, but q is tests's array"),
        (lambda q, qd, qdd: (Foreign(q), Foreign(qd, (2, 0)), Foreign(qdd)), "qd is neither in the CPU's memory nor"),
        (lambda q, qd, qdd: (Foreign(q), Foreign(qd.astype(np.float32)), Foreign(qdd)), "q float64, qd float32, qdd float64"),
        (lambda q, qd, qdd: (Foreign(q.astype(int)), Foreign(qd), Foreign(qdd)), "q int64"),
        (lambda q, qd, qdd: map(Silent, (q, qd, qdd)), r"no from_dlpack: hand over np.from_dlpack\(q\)"),
        (lambda q, qd, qdd: (Foreign(q[:, :6]), Foreign(qd), Foreign(qdd)), r"q has shape \(3, 6\)"),
    ],
)
def test_wrong_inputs_are_named(spoil, message):
    with pytest.raises(InputError, match=message):
        arm().inverse_dynamics(*spoil(*three()))


def test_subclasses_of_numpy_are_numpy():
    class Own(np.ndarray):
        pass

    numbers = three()
    assert library_of(numbers[0].view(Own)) is None
    found = arm().inverse_dynamics(*(x.view(Own) for x in numbers))
    assert type(found) is np.ndarray
    assert np.array_equal(found, arm().inverse_dynamics(*numbers))


def test_nothing_is_imported_for_numpy_arrays():
    text = (
        "import sys, numpy as np, qddot; robot = qddot.load('two_link'); z = np.zeros(2); robot.inverse_dynamics(z, z, z);"
        "robot.inverse_dynamics(np.zeros((20, 2)), z, z); robot.simulate(z, None, 0.01);"
        "print([x for x in ('torch', 'jax', 'qddot.arrays.operation') if x in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_robot_with_guests_is_pickled_as_before():
    import pickle

    robot = qddot.load("two_link")
    robot.mass_matrix(np.zeros(2))
    assert pickle.loads(pickle.dumps(robot)).nv == 2


@pytest.mark.parametrize(
    ("memory", "order", "expected"),
    [
        ((4, 5, 7, 3), (0, 1, 2, 3), "rows"),
        ((7, 3, 4, 5), (2, 3, 0, 1), "states last"),
        ((7, 3, 5, 4), (3, 2, 0, 1), None),
        ((4, 5, 3, 7), (0, 1, 3, 2), None),
        ((1, 1, 7, 3), (0, 1, 2, 3), "rows"),
    ],
)
def test_in_which_order_results_lie(memory, order, expected):
    room = np.empty(memory).transpose(order)
    view = View(0, room.shape, tuple(s // 8 for s in room.strides), "float64", 0)
    assert layout([view], [(7, 3)]) == expected


def test_rollouts_of_dlpack_arrays():
    run = qddot.load("two_link").rollout(step=0.01)
    q0, control = np.array([0.1, 0.2]), np.ones((5, 2))
    found, expected = run(Foreign(q0), None, Foreign(control)), run(q0, None, control)
    assert np.array_equal(found.q.array, expected.q)
    found, expected = run.linear(Foreign(q0), Foreign(q0), Foreign(q0)), run.linear(q0, q0, q0)
    assert np.array_equal(found.B.array, expected.B)
